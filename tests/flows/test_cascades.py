"""Cascades in runs: the small judge decides alone where labels or its exam show that it may, else the large one."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.conftest import Run
from tests.helpers.exam import exam_items
from tests.helpers.runs import latest
from tests.helpers.scored import scores_of
from tests.servers import Answer
from tests.servers.deciding import DecidingServer
from tests.servers.running import serve, serve_openai

N = 120


def number_in(text: str) -> int:
    match = re.search(r"Reply (\d+)\.", text)
    assert match, text
    return int(match[1])


def truth(number: int) -> str:
    return "2" if number % 2 else "0"


def sure(number: int) -> bool:
    """Say of which replies the small judge is sure: four in five."""
    return number % 5 != 0


def decide(state: str, _instructions: str, labels: list[str]) -> Mapping[str, float]:
    """Be right and sure of most, and wrong and unsure of the rest."""
    number = number_in(state)
    right = labels.index("2") if truth(number) == "2" else labels.index("0")
    shares = [0.0] * len(labels)
    if sure(number):
        shares[right] = 0.9 + number / 10_000
        shares[1] = 1 - shares[right]
    else:
        shares[2 - right], shares[1] = 0.6, 0.4
    return dict(zip(labels, shares, strict=True))


def rate(body: dict[str, Any]) -> str:
    """Answer as the large judge does: always right."""
    number = number_in(body["messages"][1]["content"])
    return json.dumps({"reason": "as it is", "rating": int(truth(number))})


def configure(folder: Path, small: str, large: str, **changes: Any) -> Path:
    rows = [
        {"question": f"Question {n}?", "response": f"Reply {n}.", "retrieved_contexts": [f"Text {n}."]}
        for n in range(N)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judges = [
        {"name": "small", "provider": "openai", "base_url": f"{small}/v1", "api": "decisions", "deadline_s": 20},
        {"name": "large", "provider": "openai", "base_url": large, "deadline_s": 20},
        {"cascade": ["small", "large"], "error": 0.1, "check": 0.2, **changes},
    ]
    suite = {
        "name": "support",
        "items": {"data": str(folder / "rows.jsonl")},
        "responses_of": "bot",
        "threshold": 0.4,
        "metrics": {"response_groundedness": {}},
    }
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump({"judges": judges, "suites": [suite]}), encoding="utf-8")
    return path


def label_all(run: Run, tmp_path: Path, n: int) -> None:
    """Label n replies of the latest run as they are."""
    folder = latest(tmp_path)
    drawn = run(folder.name, "--n", str(n), command="label")
    assert drawn.returncode == 0, drawn.stderr
    sheet = pl.read_csv(folder / "labels.csv", infer_schema=False)
    labels = [str(int(truth(number_in(text))) / 2) for text in sheet["response"]]
    sheet.with_columns(label=pl.Series(labels)).write_csv(tmp_path / "filled.csv")
    joined = run(folder.name, "--labels", str(tmp_path / "filled.csv"), command="label")
    assert joined.returncode == 0, joined.stderr


def read_decisions(tmp_path: Path) -> list[dict[str, Any]]:
    rows = scores_of(tmp_path).values()
    details = [
        json.loads(row["details"])["judges"]["small+large"]
        for row in rows
        if row["metric"] == "response_groundedness"
    ]
    return [judged["cascade"] for judged in details]


def test_with_labels_the_small_judge_decides_what_it_is_sure_of_and_a_share_is_checked(
    run: Run, tmp_path: Path
) -> None:
    server = DecidingServer(decide)
    with serve(server.build()) as small, serve_openai(rate) as large:
        file = configure(tmp_path, small, large.base_url)
        first = run(str(file))
        assert "Traceback" not in first.stderr
        assert len(large.requests) == N, "without labels or exam the large judge decides all"
        assert server.questions == N
        assert {entry["by"] for entry in read_decisions(tmp_path)} == {"large"}
        label_all(run, tmp_path, N)
        plan = run("--dry-run", str(file))
        done = run(str(file))
    assert "Traceback" not in done.stderr + plan.stderr
    decided = read_decisions(tmp_path)
    alone = [entry for entry in decided if entry["by"] == "small"]
    assert len(alone) == sum(map(sure, range(N)))
    assert all(entry["confidence"] >= 0.9 for entry in alone)
    assert 0 < sum(entry["checked"] for entry in alone) < len(alone) / 2
    assert server.questions == N, "everything that it was asked before is remembered"
    results = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    (cascade,) = results["cascades"]
    assert (cascade["judge"], cascade["source"], cascade["n_alone"], cascade["n_escalated"]) == (
        "small+large",
        "labels",
        96,
        24,
    )
    assert cascade["n_checked"] == sum(entry["checked"] for entry in alone)
    assert cascade["n_contradicted"] == 0
    assert cascade["rule"]["bound"] <= 0.1
    assert "the small judge decides about 80% alone, by 120 own labels" in plan.stdout
    (report,) = (latest(tmp_path) / "reports").glob("*.html")
    assert "96 of 120" in report.read_text(encoding="utf-8")


def test_after_labels_a_run_from_nothing_asks_the_large_judge_only_what_is_left(run: Run, tmp_path: Path) -> None:
    server = DecidingServer(decide)
    with serve(server.build()) as small, serve_openai(rate) as large:
        file = configure(tmp_path, small, large.base_url, check=0)
        run(str(file))
        label_all(run, tmp_path, N)
        before = len(large.requests)
        run(str(file), "--fresh")
    assert len(large.requests) - before == N - sum(map(sure, range(N)))
    assert server.questions == 2 * N


def test_with_the_large_judge_down_what_is_stored_is_enough_and_nothing_new_is_begun(
    run: Run, tmp_path: Path
) -> None:
    server = DecidingServer(decide)
    with serve(server.build()) as small:
        with serve_openai(rate) as large:
            file = configure(tmp_path, small, large.base_url, check=0)
            run(str(file))
            label_all(run, tmp_path, N)
            # Under this label the large judge is asked what the small one hands over, and no more.
            online = run(str(file), "--set", "fresh=a")
        offline = run(str(file), "--set", "fresh=a")
        assert offline.returncode == online.returncode, offline.stderr
        assert "large: its server did not answer; stored replies" in " ".join(offline.stdout.split())
        # Nothing is put to the small judge where nobody would decide what it hands over.
        questions = server.questions
        failed = run(str(file), "--set", "fresh=b")
        assert failed.returncode == 2, failed.stdout
        assert "replies are not stored, the first to 'Question 0?'" in " ".join(failed.stderr.split())
        assert server.questions == questions


def test_labels_joined_before_the_small_judge_was_there_count_once_it_has_judged_the_replies(
    run: Run, tmp_path: Path
) -> None:
    server = DecidingServer(decide)
    with serve(server.build()) as small, serve_openai(rate) as large:
        file = configure(tmp_path, small, large.base_url)
        settings = yaml.safe_load(file.read_text(encoding="utf-8"))
        alone = tmp_path / "alone.yaml"
        alone.write_text(yaml.safe_dump({**settings, "judges": settings["judges"][1:2]}), encoding="utf-8")
        run(str(alone))
        label_all(run, tmp_path, N)
        first = run(str(file))
        assert {entry["by"] for entry in read_decisions(tmp_path)} == {"large"}
        assert f"{N} labels did not count" in " ".join(first.stdout.split())
        # Called otherwise, it is the same judge.
        settings["judges"][0]["model"], settings["judges"][0]["name"] = "small", "tiny"
        settings["judges"][2]["cascade"] = ["tiny", "large"]
        file.write_text(yaml.safe_dump(settings), encoding="utf-8")
        second = run(str(file))
    assert "Traceback" not in first.stderr + second.stderr
    (cascade,) = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["cascades"]
    assert (cascade["source"], cascade["rule"]["n_labelled"], cascade["n_alone"]) == ("labels", N, 96)
    assert "did not count" not in second.stdout
    assert server.questions == N


def test_the_price_saved_is_that_of_the_replies_not_put_to_the_large_judge(run: Run, tmp_path: Path) -> None:
    server = DecidingServer(decide)

    def answer(body: dict[str, Any]) -> Answer:
        return Answer(rate(body), tokens_in=2000, tokens_out=1)

    with serve(server.build()) as small, serve_openai(answer) as large:
        file = configure(tmp_path, small, large.base_url)
        settings = yaml.safe_load(file.read_text(encoding="utf-8"))
        settings["judges"][1] |= {"price_in": 500.0, "price_out": 0.0}
        file.write_text(yaml.safe_dump(settings), encoding="utf-8")
        run(str(file))
        label_all(run, tmp_path, N)
        n_before = len(large.requests)
        run(str(file), "--fresh")
        n_saved = N - (len(large.requests) - n_before)
    (report,) = (latest(tmp_path) / "reports").glob("*.md")
    (line,) = [line for line in report.read_text(encoding="utf-8").splitlines() if "| small+large |" in line]
    assert 0 < n_saved < 96
    # A call of 2 000 tokens costs 1, at 500 the million.
    assert f"| {n_saved} | {n_saved}.00 " in line


def test_a_large_judge_that_contradicts_what_was_decided_alone_is_told(run: Run, tmp_path: Path) -> None:
    server = DecidingServer(decide)

    def contradict(body: dict[str, Any]) -> str:
        number = number_in(body["messages"][1]["content"])
        return json.dumps({"reason": "x", "rating": 2 - int(truth(number))})

    replies = {"now": rate}

    def answer(body: dict[str, Any]) -> str:
        return replies["now"](body)

    with serve(server.build()) as small, serve_openai(answer) as large:
        file = configure(tmp_path, small, large.base_url, check=1)
        run(str(file))
        label_all(run, tmp_path, N)
        replies["now"] = contradict
        done = run(str(file), "--fresh")
    results = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    (cascade,) = results["cascades"]
    assert cascade["n_checked"] == cascade["n_contradicted"] == cascade["n_alone"] == 96
    assert "the large judge contradicts 96 of 96 decisions" in done.stdout


def test_the_exam_decides_where_there_are_no_labels_and_is_named(run: Run, tmp_path: Path) -> None:
    def know(state: str, _instructions: str, labels: list[str]) -> Mapping[str, float]:
        if re.search(r"Reply \d+\.", state):
            return decide(state, "", labels)
        digest = hashlib.sha256(state.encode()).digest()[0]
        return {
            label: 0.9 if n == digest % len(labels) else 0.1 / (len(labels) - 1) for n, label in enumerate(labels)
        }

    server = DecidingServer(know)

    def answer(body: dict[str, Any]) -> str:
        is_ours = re.search(r"Reply \d+\.", body["messages"][1]["content"])
        return rate(body) if is_ours else '{"reason": "x", "rating": 1}'

    with serve(server.build()) as small, serve_openai(answer) as large:
        file = configure(tmp_path, small, large.base_url)
        sets = ("--set", "judges_exam.items.steps=[groundedness]")
        exam = run(str(file), "--judge", "small+large", "--n", "20", *sets, command="exam")
        assert "Traceback" not in exam.stderr
        run(str(file))
    results = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    (cascade,) = results["cascades"]
    assert cascade["source"] == "exam"
    assert cascade["n_alone"] == 0, "a small judge that guesses may decide nothing alone"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cascade": ["large", "small"]}, "expected a judge that decides"),
        ({"cascade": ["small", "nobody"]}, "names 'nobody'"),
        ({"cascade": ["small"]}, "cascade"),
        ({"error": 0}, "error"),
    ],
)  # fmt: skip
def test_a_cascade_that_cannot_be_is_refused(
    run: Run, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    file = configure(tmp_path, "http://127.0.0.1:9", "http://127.0.0.1:9/v1", **change)
    done = run(str(file))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def configure_answers(folder: Path, small: str, large: str) -> Path:
    """Write the run with a metric of three verdicts in place of the ratings."""
    path = configure(folder, small, large, check=0)
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["suites"][0]["metrics"] = {"answers_question": {}}
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return path


PARTLY = json.dumps({"reason": "half of it", "verdict": "PARTLY"})


def test_of_a_metric_whose_exam_nobody_took_the_large_judge_decides_all(run: Run, tmp_path: Path) -> None:
    def be_sure(_state: str, _instructions: str, labels: list[str]) -> Mapping[str, float]:
        return dict(zip(labels, (1.0, 0.0, 0.0), strict=True))

    server = DecidingServer(be_sure)
    with serve(server.build()) as small, serve_openai(lambda _: PARTLY) as large:
        result = run(str(configure_answers(tmp_path, small, large.base_url)))
    assert "Traceback" not in result.stderr
    assert {row["value"] for row in scores_of(tmp_path).values()} == {0.5}


def test_of_three_verdicts_a_small_judge_that_knows_the_exam_decides_alone(run: Run, tmp_path: Path) -> None:
    """The large one, which finds half of it in everything, is asked for its exam only."""
    items = exam_items("en", 30, steps=["answers_question"])
    truth_of = {item.facts["questions"][0]["values"]["response"]: item.facts["truth"] for item in items}

    def know(state: str, _instructions: str, labels: list[str]) -> Mapping[str, float]:
        texts = [text for text in truth_of if text in state]
        # What is no question of the exam it finds answered.
        label = truth_of[max(texts, key=len)] if texts else labels[0]
        return {name: 0.95 if name == label else 0.025 for name in labels}

    server = DecidingServer(know)
    with serve(server.build()) as small, serve_openai(lambda _: PARTLY) as large:
        path = configure_answers(tmp_path, small, large.base_url)
        exam = run(str(path), "--judge", "small", "--n", "30", command="exam")
        result = run(str(path))
    assert "Traceback" not in exam.stderr + result.stderr
    assert not large.requests
    (cascade,) = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["cascades"]
    assert (cascade["source"], cascade["n_alone"]) == ("exam", N)
    assert {row["value"] for row in scores_of(tmp_path).values()} == {1.0}
