"""Targets and suites whose names would be taken for another's, from the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

SCORED = {"metrics": ["exact_match"], "threshold": 0.8}
NO_PAGE = ("--set", "report.html=false", "--set", "gate=point")


def write_replies(path: Path, n_right: int) -> str:
    """Write recorded replies to 20 questions, of which so many are right."""
    rows = [{"question": f"Q{n}", "answer": "yes", "response": "yes" if n < n_right else "no"} for n in range(20)]
    path.parent.mkdir(exist_ok=True)
    text = ",".join(rows[0]) + "\n" + "".join(",".join(row.values()) + "\n" for row in rows)
    if path.suffix == ".jsonl":
        text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return str(path)


def suite(name: str, data: str, **keys: Any) -> dict[str, Any]:
    """Return a suite of exact matches over a file."""
    return {"name": name, "items": {"data": data}, **SCORED, **keys}


def words(*suites: dict[str, Any], **keys: Any) -> list[str]:
    """Return the settings of a run of these suites."""
    listed = [f"{key}={json.dumps(value)}" for key, value in {"suites": suites, **keys}.items()]
    return [*NO_PAGE, *(word for text in listed for word in ("--set", text))]


def scores(folder: Path) -> dict[str, list[float]]:
    """Return the suites' scores by model of the last run."""
    document = json.loads((latest(folder) / "results.json").read_text(encoding="utf-8"))
    return {model["model"]: [one["score"] for one in model["suites"]] for model in document["final"]["models"]}


@pytest.mark.parametrize(("first", "second"), [("gpt/replies.csv", "llama/replies.csv"), ("a.csv", "a.jsonl")])
def test_replies_in_two_files_of_one_name_are_not_one_models(
    run: Run, tmp_path: Path, first: str, second: str
) -> None:
    good, bad = write_replies(tmp_path / first, 18), write_replies(tmp_path / second, 6)
    done = run(*words(suite("one", good), suite("two", bad)))
    assert done.returncode == 2, done.stdout
    said = " ".join(done.stderr.split())
    assert "found two targets named 'responses of" in said
    assert "responses_of: NAME" in said
    unwrapped = said.replace(" ", "")
    assert good in unwrapped
    assert bad in unwrapped


def test_replies_of_one_file_or_of_one_stated_name_are_joined(run: Run, tmp_path: Path) -> None:
    good, bad = write_replies(tmp_path / "a/replies.csv", 18), write_replies(tmp_path / "b/replies.csv", 6)
    again = str(tmp_path / "b" / ".." / "a" / "replies.csv")
    assert run(*words(suite("one", good), suite("two", again))).returncode == 0
    assert scores(tmp_path) == {"responses of replies": [0.9, 0.9]}
    stated = [suite(name, data, responses_of="bot") for name, data in (("one", good), ("two", bad))]
    assert run(*words(*stated)).returncode == 1
    assert scores(tmp_path) == {"bot": [0.9, 0.3]}
    assert run(*words(suite("one", good), suite("two", bad, responses_of="bot"))).returncode == 1
    assert scores(tmp_path) == {"responses of replies": [0.9], "bot": [0.3]}


@pytest.mark.parametrize("n_suites", [1, 2])
def test_a_model_named_as_another_with_its_prompt_is_refused(run: Run, tmp_path: Path, n_suites: int) -> None:
    data = tmp_path / "q.jsonl"
    data.write_text('{"question": "Q", "answer": "yes"}\n', encoding="utf-8")
    prompted = suite("one", str(data), prompts={"a": "{{ question }}"})
    plain = suite("two", str(data), prompt="{{ question }}", models=["m0 [a]"])
    with serve_openai(lambda _body: "yes") as server:
        shared = {"provider": "openai", "base_url": server.base_url}
        models = [{"name": name, **shared} for name in ("m0", "m0 [a]")]
        if n_suites == 1:
            prompted["prompts"] = {"a": "{{ question }}", "": "Say: {{ question }}"}
            done = run(*words(prompted, models=models))
        else:
            done = run(*words({**prompted, "models": ["m0"]}, plain, models=models))
        assert not server.requests
    assert done.returncode == 2, done.stdout
    assert "found two targets named 'm0 [a]'" in " ".join(done.stderr.split())


def test_a_model_named_as_a_files_replies_is_refused(run: Run, tmp_path: Path) -> None:
    recorded = write_replies(tmp_path / "replies.csv", 18)
    data = tmp_path / "q.jsonl"
    data.write_text('{"question": "Q", "answer": "yes"}\n', encoding="utf-8")
    model = {"name": "responses of replies", "provider": "openai", "base_url": "http://127.0.0.1:9/v1"}
    done = run(*words(suite("one", recorded), suite("two", str(data), prompt="{{ question }}"), models=[model]))
    assert done.returncode == 2, done.stdout
    assert "found two targets named 'responses of replies'" in " ".join(done.stderr.split())


@pytest.mark.parametrize("name", ["overall", "all", "Overall", "ALL"])
def test_a_suite_has_no_scores_name(run: Run, tmp_path: Path, name: str) -> None:
    done = run(*words(suite(name, write_replies(tmp_path / "replies.csv", 18))))
    assert done.returncode == 2, done.stdout
    assert f"'{name}' is the name of a score in reports; rename the suite" in " ".join(done.stderr.split())


@pytest.mark.parametrize("name", ["overall2", "all.v1", "overall-all"])
def test_a_suite_may_have_a_name_like_a_scores(run: Run, tmp_path: Path, name: str) -> None:
    assert run(*words(suite(name, write_replies(tmp_path / "replies.csv", 18)))).returncode == 0


def test_files_reached_through_links_are_told_apart_by_what_they_are(run: Run, tmp_path: Path) -> None:
    """Folders under other names: two files are two models' replies, and one file reached twice is one's."""
    good = write_replies(tmp_path / "gpt/replies.csv", 18)
    write_replies(tmp_path / "llama/replies.csv", 6)
    for link, folder in (("new", "llama"), ("old", "gpt")):
        (tmp_path / link).symlink_to(tmp_path / folder, target_is_directory=True)
    (tmp_path / "again.csv").symlink_to(tmp_path / "gpt/replies.csv")
    refused = run(*words(suite("one", good), suite("two", str(tmp_path / "new/replies.csv"))))
    assert refused.returncode == 2, refused.stdout
    assert "found two targets named 'responses of replies'" in " ".join(refused.stderr.split())
    assert run(*words(suite("one", good), suite("two", str(tmp_path / "old/replies.csv")))).returncode == 0
    assert scores(tmp_path) == {"responses of replies": [0.9, 0.9]}
    assert run(*words(suite("one", good), suite("two", str(tmp_path / "again.csv")))).returncode == 0
    assert scores(tmp_path) == {"responses of replies": [0.9], "responses of again": [0.9]}


def test_suites_whose_names_differ_in_case_alone_are_two(run: Run, tmp_path: Path) -> None:
    good, bad = write_replies(tmp_path / "a.csv", 18), write_replies(tmp_path / "b.csv", 6)
    done = run(*words(suite("alpha", good, responses_of="bot"), suite("Alpha", bad, responses_of="bot")))
    assert done.returncode == 1, done.stderr
    assert scores(tmp_path) == {"bot": [0.9, 0.3]}
    table = (latest(tmp_path) / "tables/verdict.csv").read_text(encoding="utf-8-sig").splitlines()
    shown = {line.split(",")[1]: line for line in table if line.startswith("bot,")}
    assert "90" in shown["alpha"]
    assert "30" in shown["Alpha"]
