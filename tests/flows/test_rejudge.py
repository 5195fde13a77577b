"""Another judge of a run's replies: what it is asked, and how it is compared, as computed by hand."""

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.conftest import TOP, Run
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

N = 40


def number_in(text: str) -> int:
    match = re.search(r"Reply (\d+)\.", text)
    assert match, text
    return int(match[1])


def lenient(body: dict[str, Any]) -> str:
    """Hold all but every tenth reply for grounded."""
    return rating(2 if number_in(body["messages"][1]["content"]) % 10 else 0)


def strict(body: dict[str, Any]) -> str:
    """Hold every second reply for grounded."""
    return rating(2 if number_in(body["messages"][1]["content"]) % 2 else 0)


def rating(value: int) -> str:
    return json.dumps({"reason": "as it is", "rating": value})


def answer(body: dict[str, Any]) -> str:
    """Reply to question n."""
    match = re.search(r"Question (\d+)", body["messages"][-1]["content"])
    assert match
    return f"Reply {match[1]}."


def configure(folder: Path, model: str, old: str, new: str) -> Path:
    rows = [{"question": f"Question {n}?", "retrieved_contexts": [f"Text {n}."]} for n in range(N)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def entry(name: str, url: str) -> Mapping[str, Any]:
        return {"name": name, "provider": "openai", "base_url": url, "deadline_s": 20}

    suite = {
        "name": "support",
        "items": {"data": str(folder / "rows.jsonl")},
        "prompt": "{{ question }}",
        "threshold": 0.8,
        "judges": ["old"],
        "metrics": {"response_groundedness": {}, "regex": {"pattern": "Reply"}},
        "score": ["response_groundedness"],
    }
    told = {"models": [entry("bot", model)], "judges": [entry("old", old), entry("new", new)], "suites": [suite]}
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(told), encoding="utf-8")
    return path


def test_only_the_new_judge_is_asked_and_both_are_compared_as_by_hand(run: Run, tmp_path: Path) -> None:
    with serve_openai(answer) as model, serve_openai(lenient) as old, serve_openai(strict) as new:
        file = configure(tmp_path, model.base_url, old.base_url, new.base_url)
        first = run(str(file))
        assert first.returncode == 0, first.stdout + first.stderr
        counts = len(model.requests), len(old.requests), len(model.lookups), len(old.lookups)
        # The cache is gone: what the run left is enough.
        for path in (tmp_path / "store").glob("*.db*"):
            path.unlink()
        done = run("last", "--judge", "new", command="rejudge")
        after = len(model.requests), len(old.requests), len(model.lookups), len(old.lookups)
    assert "Traceback" not in done.stderr, done.stderr
    assert after == counts, "nobody but the new judge is asked, nor looked up"
    assert len(new.requests) == N
    assert done.returncode == 1, done.stdout + done.stderr
    text = " ".join(done.stdout.split())
    assert "support, bot: pass by old, fail by new: the verdict changes" in text
    # old: 36 of 40 grounded; new: 20, each of them among old's: equal on 20 + 4.
    assert "24/40 = 60%" in text
    # Chance agreement: 0.9 * 0.5 + 0.1 * 0.5 = 0.5; (0.6 - 0.5) / 0.5.
    assert "0.20 [" in text
    assert "by new −40" in text
    page = (latest(tmp_path) / "rejudged.html").read_text(encoding="utf-8")
    assert "How far the judges agree" in page
    assert "the verdict changes" in page


def test_a_new_judge_that_is_down_is_known_before_anything_is_begun(run: Run, tmp_path: Path) -> None:
    """What it said before is enough without its server."""
    with serve_openai(answer) as model, serve_openai(lenient) as old:
        with serve_openai(strict) as new:
            file = configure(tmp_path, model.base_url, old.base_url, new.base_url)
            assert run(str(file), "--limit", "20").returncode == 0
            before = latest(tmp_path).name
            online = run(before, "--judge", "new", command="rejudge")
        offline = run(before, "--judge", "new", command="rejudge")
        assert offline.returncode == online.returncode == 1, offline.stderr
        # Of these replies it has judged twenty.
        assert run(str(file)).returncode == 0
        runs = sorted((tmp_path / "runs").iterdir())
        failed = run("last", "--judge", "new", command="rejudge")
    assert failed.returncode == 2, failed.stdout
    assert f"20 of {N} replies are not stored, the first to 'Question " in " ".join(failed.stderr.split())
    assert sorted((tmp_path / "runs").iterdir()) == runs, "it leaves no run behind"


def tutorial() -> list[list[str]]:
    """Return the commands of the tutorial, word by word."""
    text = (TOP / "docs" / "judges.md").read_text(encoding="utf-8").partition("## Your judge retires")[2]
    block = text.partition("```sh\n")[2].partition("```")[0]
    return [shlex.split(line)[1:] for line in block.splitlines()]


def test_the_tutorials_commands_say_who_is_wrong_by_labels(run: Run, tmp_path: Path) -> None:
    with serve_openai(answer) as model, serve_openai(lenient) as old, serve_openai(lenient) as new:
        file = configure(tmp_path, model.base_url, old.base_url, new.base_url)
        judges = yaml.safe_load(file.read_text(encoding="utf-8"))
        file.write_text(yaml.safe_dump({**judges, "judges": judges["judges"][:1]}), encoding="utf-8")
        (tmp_path / "judges.yaml").write_text(yaml.safe_dump({"judges": judges["judges"]}), encoding="utf-8")
        run(str(file))
        folder = latest(tmp_path)
        values = {"RUN": folder.name, "NEW": "new", "labels.csv": str(tmp_path / "filled.csv")}
        values |= {"judges.yaml": str(tmp_path / "judges.yaml"), "40": "12"}
        first, draw, join, again = ([values.get(word, word) for word in words] for words in tutorial())
        before = run(*first[1:], command=first[0])
        assert before.returncode == 0, before.stdout + before.stderr
        assert run(*draw[1:], command=draw[0]).returncode == 0
        sheet = pl.read_csv(folder / "labels.csv", infer_schema=False)
        numbers = [number_in(text) for text in sheet["response"]]
        labels = pl.Series(["yes" if n % 5 else "no" for n in numbers])
        sheet.with_columns(label=labels).write_csv(tmp_path / "filled.csv")
        kept = run(*join[1:], command=join[0])
        assert kept.returncode == 0, kept.stderr
        asked = len(new.requests)
        done = run(*again[1:], command=again[0])
    assert asked == len(new.requests) == N, "the second one asks nothing anew"
    assert done.returncode == 0, done.stdout + done.stderr
    text = " ".join(done.stdout.split())
    assert "the verdict holds" in text
    wrong = sum(bool(n % 10) != bool(n % 5) for n in numbers)
    assert text.count(f"{wrong}/12") == 2, "both judges say the same"


def test_of_several_verdicts_each_names_its_metric_and_the_rules_are_a_judge(run: Run, tmp_path: Path) -> None:
    row = {
        "question": "Who?",
        "response": "Anna wrote it.",
        "reference": "Anna wrote it.",
        "retrieved_contexts": ["-"],
    }
    (tmp_path / "rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    suite: dict[str, Any] = {"name": "s", "items": {"data": str(tmp_path / "rows.jsonl")}, "threshold": 0.5}
    suite["metrics"] = {"factual_correctness": {"claims": "sentences"}, "faithfulness": {"claims": "sentences"}}
    judge = {"name": "first", "provider": "rules"}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump({"judges": [judge], "suites": [suite]}), encoding="utf-8")
    assert run(str(tmp_path / "run.yaml")).returncode == 1
    # By its provider's name alone it is the entry that ships, which takes an exam first.
    done = run("last", "--judge", "rules", command="rejudge")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "s, factual_correctness, responses of rows: pass by first and by rules: the verdict holds" in text
    assert "s, faithfulness, responses of rows: fail by first and by rules: the verdict holds" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--judge", "nobody"), "found no judge of that name; expected one of old, new,"),
        (("--judge", "new", "--suite", "other"), "judges score no suite of that name, expected one of support"),
    ],
)
def test_what_cannot_be_judged_again_is_refused_by_name(
    run: Run, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    with serve_openai(answer) as model, serve_openai(lenient) as old:
        run(str(configure(tmp_path, model.base_url, old.base_url, old.base_url)))
        done = run(latest(tmp_path).name, *words, command="rejudge")
    assert done.returncode == 2
    assert message in done.stderr
    missing = run("20200101_000000", "--judge", "new", command="rejudge")
    assert missing.returncode == 2
    assert "Traceback" not in missing.stderr
