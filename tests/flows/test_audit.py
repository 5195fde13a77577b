"""The page for those who answer: each of the seven questions that somebody has who reads nothing else."""

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from basic_control.config.about import About
from basic_control.flows.cli.application import main
from tests.conftest import TOP, Run
from tests.helpers.finished import HOSTILE
from tests.helpers.runs import latest

ABOUT = {
    "purpose": "Answers customers about tickets",
    "owner": "Support quality, Ada Example",
    "decision": "Release of the assistant in May",
    "population": "Tickets of the last quarter",
    "data_licence": "CC-BY-4.0",
}
TOPICS = ("refund", "delivery")


def write_evaluation(folder: Path, *, n_wrong: int = 2, **changes: Any) -> Path:
    """Write an evaluation of ten recorded replies of which some are wrong, and one was not given."""
    rows = []
    for number in range(10):
        reply = "I cannot say." if number < n_wrong else f"It is case {number}."
        row = {"question": f"Ticket {number}?", "answer": f"case {number}", "response": reply}
        rows.append({**row, "retrieved_contexts": [f"It is case {number}."], "topic": TOPICS[number < 4]})
    rows[-1]["response"] = ""
    data = folder / "tickets.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {
        "name": "tickets",
        "items": {"data": str(data)},
        "responses_of": "assistant-7",
        "metrics": {"contains": {"threshold": 0.6}, "response_groundedness": {"threshold": 0.3}},
        "slices": ["topic"],
    }
    judges = [{"name": "overlap", "provider": "rules"}]
    configuration = {"models": [], "judges": judges, "suites": [suite], "about": ABOUT, **changes}
    path = folder / "eval.json.yaml"
    path.write_text(json.dumps(configuration), encoding="utf-8")
    return path


def audit(tmp_path: Path, run: str = "last", *options: str) -> str:
    """Write a run's page and return its Markdown, without its backslashes."""
    assert main(["audit", run, "--set", f"store.runs={tmp_path}/runs", *options]) == 0
    folder = max((tmp_path / "runs").glob("2*")) if run == "last" else tmp_path / "runs" / run
    return (folder / "audit" / "audit.md").read_text(encoding="utf-8").replace("\\", "")


def find_section(page: str, title: str) -> str:
    """Return what stands under a title."""
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture
def page(run: Run, tmp_path: Path) -> str:
    done = run(str(write_evaluation(tmp_path)))
    assert done.returncode == 0, done.stdout + done.stderr
    return audit(tmp_path)


def test_it_says_what_was_tested_and_by_whom(page: str) -> None:
    assert "assistant-7" in find_section(page, "What was tested")
    head = page.partition("\n## ")[0]
    labels = {
        "owner": "Tested by",
        "purpose": "For",
        "decision": "Decision",
        "population": "The questions stand for",
    }
    for key, label in labels.items():
        assert f"- **{label}:** {ABOUT[key]}" in head
    data = find_section(page, "Data")
    assert all(
        text in data for text in ("tickets.jsonl", "| 10 |", "all rows", ABOUT["data_licence"], "not looked")
    )


def test_functions_of_one_file_are_told_apart(run: Run, tmp_path: Path) -> None:
    """They have one digest, that of their file."""
    (tmp_path / "app.py").write_text("def old(prompt):\n    return 'a'\n\n\ndef new(prompt):\n    return 'b'\n")
    (tmp_path / "rows.jsonl").write_text('{"question": "Q?", "answer": "a"}\n')
    entry = {"provider": "python", "python": sys.executable}
    models = [{**entry, "name": name, "function": f"{tmp_path}/app.py:{name}"} for name in ("old", "new")]
    suite = {"name": "s", "items": {"data": f"{tmp_path}/rows.jsonl"}, "prompt": "{{ question }}"}
    suites = [{**suite, "metrics": ["exact_match"]}]
    path = tmp_path / "eval.json.yaml"
    path.write_text(json.dumps({"models": models, "suites": suites, "gate": "off"}))
    assert run(str(path)).returncode == 0
    tested = find_section(audit(tmp_path), "What was tested")
    assert "app.py:old" in tested
    assert "app.py:new" in tested


def test_it_says_with_which_judge_how_sure_and_against_what(page: str) -> None:
    assert "**overlap:** rules" in find_section(page, "Judges and their errors")
    assert "not" in find_section(page, "Judges and their errors")
    # 7 of 10 right, as Wilson's interval has it.
    scores = find_section(page, "Scores, the worst first")
    assert "| 70% | 39.7–89.2 | 60% | **Pass** | 10 / 10, no answer 1 |" in scores
    against = "The thresholds that stand beside the scores. No baseline, an earlier run to compare with, was set."
    assert against in find_section(page, "Against what")
    assert "rackets" not in page, "nothing is missing of a score"
    assert "topic = delivery" in find_section(page, "Slices (95 % intervals), the worst first")


def test_it_says_what_was_left_out_and_whether_it_may_be_released(page: str) -> None:
    assert "**Yes:** assistant-7" in find_section(page, "Released by these criteria?")
    assert "what no suite asks" in find_section(page, "Limits")
    left_out = find_section(page, "Left out")
    assert "Nothing was left out: all rows were asked and scored, every judge counts" in left_out
    assert "**Not looked at:** how far a repeated answer agrees (each question was asked once)" in left_out
    assert "no answer 1" in page


def test_criteria_stand_with_their_time_and_hash_before_anything_is_asked(tmp_path: Path, page: str) -> None:
    folder = latest(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    digest = hashlib.sha256((folder / "criteria.json").read_bytes()).hexdigest()
    assert manifest["criteria"]["sha256"] == digest
    assert manifest["criteria"]["fixed"] == manifest["started"]
    assert digest in find_section(page, "Criteria")
    assert "No earlier run" in find_section(page, "Criteria")


def test_a_threshold_that_moved_once_replies_were_known_is_listed_with_its_date(run: Run, tmp_path: Path) -> None:
    path = str(write_evaluation(tmp_path, n_wrong=5))
    first = run(path)
    assert first.returncode == 1
    # The threshold moves once the first run has shown where the score lies.
    before = latest(tmp_path).name
    assert run(path, "--set", "suites.0.metrics.contains.threshold=0.3", "--name", "later").returncode == 0
    page = audit(tmp_path)
    criteria = find_section(page, "Criteria")
    assert f"Earlier runs on questions of the same source: 1 ({before})" in criteria
    assert "Fixed before this run's first call, " in criteria
    assert "but not before replies to these questions were known" in criteria
    assert re.search(r"Changed, 20\d\d-\d\d-\d\d .*: tickets.metrics", criteria)
    deviations = find_section(page, "Deviations")
    assert "suites.0.metrics.contains.threshold=0.3" in deviations
    assert "Looks at these questions before this run: 1." in deviations
    # The same again changes nothing, and is one look more.
    assert run(path, "--set", "suites.0.metrics.contains.threshold=0.3").returncode == 0
    entry = json.loads((latest(tmp_path) / "manifest.json").read_text(encoding="utf-8"))["criteria"]
    assert (entry["n_earlier"], len(entry["changes"])) == (2, 1)
    assert entry["since"] == entry["changes"][0]["at"] < entry["fixed"]


def test_what_the_run_is_for_is_no_part_of_what_it_asks(run: Run, tmp_path: Path) -> None:
    path = write_evaluation(tmp_path, about={})
    assert run(str(path)).returncode == 0
    before = latest(tmp_path)
    page = audit(tmp_path)
    assert page.partition("\n## ")[0].count(":** ____") == 4
    done = run("--run", before.name, "--rerun", "report", "--set", "about.owner=Ada")
    assert done.returncode == 0, done.stderr
    assert "**Tested by:** Ada" in audit(tmp_path)
    first, second = (
        json.loads((folder / "manifest.json").read_text("utf-8")) for folder in (before, latest(tmp_path))
    )
    assert first["tables"] == second["tables"]
    fresh = {row["stage"] for row in second["stages"] if not row["cached"]}
    assert fresh <= {"judge", "results", "gate", "report"}, "judge: of rules, which no call asks"


def test_hostile_texts_stay_texts(run: Run, tmp_path: Path) -> None:
    about = dict.fromkeys(ABOUT, HOSTILE)
    assert run(str(write_evaluation(tmp_path, about=about, report={"name": HOSTILE}))).returncode == 0
    page = audit(tmp_path)
    html = (latest(tmp_path) / "audit" / "audit.html").read_text(encoding="utf-8")
    for text in (page, html):
        assert "<script>alert" not in text
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "&lt;script&gt;alert" in html
    assert "default-src &#39;none&#39;" in html


@pytest.mark.usefixtures("page")
def test_the_statement_is_in_totos_test_result(tmp_path: Path) -> None:
    folder = latest(tmp_path)
    statement = json.loads((folder / "audit" / "statement.json").read_text(encoding="utf-8"))
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert [subject["name"] for subject in statement["subject"]] == ["assistant-7"]
    assert all(re.fullmatch("[0-9a-f]{64}", subject["digest"]["sha256"]) for subject in statement["subject"])
    predicate = statement["predicate"]
    assert predicate["result"] == "PASSED"
    assert "assistant-7 tickets contains" in predicate["passedTests"]
    assert predicate["failedTests"] == predicate["warnedTests"] == []
    for file in predicate["configuration"]:
        assert file["digest"]["sha256"] == hashlib.sha256((folder / file["name"]).read_bytes()).hexdigest()


def test_the_command_on_the_page_finds_what_was_changed(
    tmp_path: Path, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = latest(tmp_path)
    command = re.search(r"\*\*Check them with:\*\* .*(store verify .*)", page)
    assert command
    words = command[1].split()
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert all(digest in printed for digest in re.findall("[0-9a-f]{64}", find_section(page, "Hashes (SHA-256)")))
    # One figure of a document is changed.
    for name in ("results.json", "criteria.json"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content.replace(b"0.6", b"0.1"))
        assert main(words) == 1, name
        assert f"DAMAGED  {name}: found SHA-256" in capsys.readouterr().out
        # Nor is it overlooked among all runs, or put on a page to be signed.
        places = ["--set", f"store.runs={folder.parent}", "--set", f"store.root={tmp_path / 'store'}"]
        assert main(["store", "verify", *places]) == 1, name
        assert f"DAMAGED  run {folder.name}: {name}: found SHA-256" in capsys.readouterr().out
        pages = {path: path.read_bytes() for path in (folder / "audit").iterdir()}
        assert main(["audit", folder.name, *places[:2]]) == 2, name
        assert f"{name}: found SHA-256" in capsys.readouterr().err
        assert pages == {path: path.read_bytes() for path in (folder / "audit").iterdir()}
        (folder / name).write_bytes(content)
    assert main(words) == 0


def test_without_a_verdict_no_statement_says_passed(run: Run, tmp_path: Path) -> None:
    suite = json.loads(write_evaluation(tmp_path).read_text(encoding="utf-8"))["suites"][0]
    path = write_evaluation(tmp_path, suites=[{**suite, "metrics": {"contains": {}}}])
    assert run(str(path)).returncode == 0
    page = audit(tmp_path)
    assert "**No criterion was set:** assistant-7" in page
    statement = json.loads((latest(tmp_path) / "audit" / "statement.json").read_text(encoding="utf-8"))
    assert statement["predicate"]["result"] == "WARNED"


def test_a_regression_releases_nothing(run: Run, tmp_path: Path) -> None:
    path = str(write_evaluation(tmp_path, n_wrong=0))
    assert run(path).returncode == 0
    places = ["--set", f"store.runs={tmp_path}/runs", "--set", f"store.root={tmp_path}/store"]
    pinned = str(tmp_path / "pinned.json")
    assert main(["baseline", "set", pinned, latest(tmp_path).name, *places]) == 0
    write_evaluation(tmp_path, n_wrong=9)
    done = run(path, "--baseline", pinned, "--fail-on", "regression")
    assert done.returncode == 1, done.stdout + done.stderr
    page = audit(tmp_path)
    assert "**No:** assistant-7" in find_section(page, "Released by these criteria?")
    against = find_section(page, "Against what")
    assert against.count("contains, assistant-7: regressed") == 1, "told once"
    assert "response_groundedness, assistant-7: regressed" in against
    digest = hashlib.sha256((tmp_path / "tickets.jsonl").read_bytes()).hexdigest()
    assert f"**SHA-256 of the data of tickets:** {digest}" in find_section(page, "Data")
    assert f" to {digest}." in find_section(page, "Criteria"), "whole, where it replaced another"
    assert "baseline from – to " in find_section(page, "Criteria")
    assert "tickets, contains, assistant-7: topic = refund" in find_section(
        page, "Slices (95 % intervals), the worst first"
    )


@pytest.mark.usefixtures("page")
def test_a_run_of_before_says_what_it_did_not_record(tmp_path: Path) -> None:
    path = latest(tmp_path) / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    for key in ("criteria", "digests", "labels"):
        del manifest[key]
    del manifest["rerun"]["sets"]
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert "was not recorded" in find_section(audit(tmp_path), "Criteria")


def test_another_tools_file_is_audited_once_it_is_a_run(run: Run, tmp_path: Path) -> None:
    rows = [{"question": f"Q{n}", "answer": "yes", "response": "yes", "score": float(n < 8)} for n in range(10)]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main(["audit", str(log), "--set", f"store.runs={tmp_path}/runs"]) == 2
    assert main(["exchange", "read", str(log), "--to", str(tmp_path / "read")]) == 0
    done = run(str(tmp_path / "read" / "run.yaml"))
    assert done.returncode in {0, 1}, done.stderr
    page = audit(tmp_path)
    assert "replies that came with the data" in page
    assert "rows.jsonl" in find_section(page, "Data")
    against = find_section(page, "Against what")
    assert "No threshold was set. No baseline" in against
    assert "None: no threshold was set" in find_section(page, "Criteria")
    stated = (
        "exact_match 100% here, 80% by the tool that recorded the replies; 2 of 10 replies are scored otherwise"
    )
    assert stated in against
    silent = "metrics that decide nothing, as no threshold was set: 2 (exact_match and stated)"
    assert silent in find_section(page, "Left out")


def test_what_was_left_out_is_listed_with_its_number(run: Run, tmp_path: Path) -> None:
    """Rows that were not drawn, rows without contexts, and a metric without a threshold."""
    path = write_evaluation(tmp_path)
    data = tmp_path / "tickets.jsonl"
    rows = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    for row in rows[:8]:
        row["retrieved_contexts"] = []
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    configuration = json.loads(path.read_text(encoding="utf-8"))
    (suite,) = configuration["suites"]
    suite["items"]["sample"] = {"method": "first", "n": 9}
    suite["metrics"] = {"contains": {"threshold": 0.1}, "response_groundedness": {}}
    path.write_text(json.dumps(configuration), encoding="utf-8")
    run(str(path))
    left_out = find_section(audit(tmp_path), "Left out")
    assert "Nothing was left out" not in left_out
    assert "**tickets, assistant-7:** rows without a score: not applicable 8" in left_out
    assert (
        "**tickets:** metrics that decide nothing, as no threshold was set: 1 (response_groundedness)" in left_out
    )
    assert "**tickets:** 9 rows were asked (the first rows), the other rows of its source were not" in left_out


@pytest.mark.parametrize(
    "path", ["eval.yaml", *(f"{kind}/eval.yaml" for kind in ("rag", "chat", "choice", "tools"))]
)
def test_what_init_writes_shows_how_to_say_whom_it_is_for(path: str) -> None:
    text = (TOP / "config" / "init" / path).read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("# about: ")]
    about = yaml.safe_load(line.removeprefix("# "))["about"]
    assert About.model_validate(about).owner
    assert not {*about} - {*About.model_fields}
