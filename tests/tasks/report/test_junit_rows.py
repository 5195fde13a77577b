"""A build shows which rows failed: by their own ids, with what was asked, replied and expected."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from basic_control.tasks.report import junit
from basic_control.tasks.report.failed_rows import build_side
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.store.runs import find_run, load_replies
from tests.conftest import Run
from tests.servers.running import serve_openai
from tests.tasks.report.screens import three_metrics, two_prompts

# What the readers' usual schema (Jenkins, xunit-plugin) has: of each element its attributes, and what it holds.
SCHEMA = {
    "testsuites": ({"name", "tests", "failures", "errors", "time"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
        {"testcase", "system-out", "system-err", "properties"},
    ),
    "testcase": (
        {"name", "classname", "time"},
        {"failure", "error", "skipped", "system-out", "system-err", "properties"},
    ),
    "failure": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "skipped": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}


def declare(data: ReportData) -> ReportData:
    """Return a run whose manifest holds its configuration, as that of a real one."""
    return replace(data, manifest={**data.manifest, "configuration": data.plan.configuration})


def list_row_cases(top: ET.Element) -> list[ET.Element]:
    """Return the cases of rows, of a document that is counted right."""
    gates, rows = top.findall("testsuite")
    assert (gates.get("name"), rows.get("name")) == ("gates", "rows")
    for suite in (top, gates, rows):
        kinds = Counter(element.tag for element in suite.iter())
        counts = [int(suite.get(name, 0)) for name in ("tests", "failures", "errors")]
        assert counts == [kinds["testcase"], kinds["failure"], kinds["error"]]
    return rows.findall("testcase")


def check_schema(element: ET.Element) -> None:
    """Check that an element, and all within it, has only what the schema knows."""
    attributes, children = SCHEMA[element.tag]
    assert set(element.attrib) <= attributes, element.tag
    assert {child.tag for child in element} <= children, element.tag
    for child in element:
        if child.tag != "properties":
            check_schema(child)


def list_classes(cases: Sequence[ET.Element], kind: str) -> set[str]:
    return {str(case.get("classname")) for case in cases if case.find(kind) is not None}


def find_failures(cases: Sequence[ET.Element]) -> dict[str, str]:
    """Return the messages of failures by their rows' names."""
    failures: dict[str, str] = {}
    for case in cases:
        failure = case.find("failure")
        if failure is not None:
            failures[str(case.get("name"))] = str(failure.get("message"))
    return failures


def test_rows_of_the_model_that_fails_are_failures_and_those_of_one_that_passes_are_tolerated(
    tmp_path: Path,
) -> None:
    top = junit.compose(declare(two_prompts(tmp_path)))
    check_schema(top)
    cases = list_row_cases(top)
    assert len(cases) == 120, "one a reply"
    # 50 % of the one are right and 85 % of the other, at a threshold of 70 %
    assert list_classes(cases, "failure") == {"gpt-4o-mini [plain].tickets"}
    assert list_classes(cases, "skipped") == {"gpt-4o-mini [steps].tickets"}
    assert {str(case.get("name")) for case in cases} == {f"q{n}" for n in range(60)}, "declared ids"
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == 120
    kinds = [kind.tag for case in cases for kind in case]
    assert kinds == sorted(kinds), "failures, then what is tolerated"
    assert not [*cases[-1]], "what is right comes last"


def test_a_row_fails_by_the_metrics_whose_gates_fail(tmp_path: Path) -> None:
    """Of alpha `contains` alone is below its threshold: what is wrong by it is named first."""
    data = declare(three_metrics(tmp_path))
    failures = find_failures(list_row_cases(junit.compose(data)))
    metrics = {message.partition(": ")[0] for message in failures.values()}
    assert metrics == {"contains", "contains, exact_match", "contains, exact_match, refusal"}
    # Where another gate fails, a row that is wrong by `contains` alone is tolerated.
    rows = junit.build_row_cases(build_side(data), {("tickets", "alpha", "exact_match")})
    metrics = {message.partition(": ")[0] for message in find_failures(rows.cases).values()}
    assert metrics == {"exact_match, contains", "exact_match, contains, refusal"}
    assert list_classes(rows.cases, "skipped") == {"alpha.tickets", "beta.tickets"}


def test_a_large_run_has_cases_of_failing_rows_first_and_says_how_many_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(junit, "MOST", 10)
    data = declare(two_prompts(tmp_path))
    top = junit.compose(data)
    cases = list_row_cases(top)
    assert (len(cases), len(find_failures(cases))) == (10, 10)
    text = str(top.findtext("testsuite[@name='rows']/system-out"))
    assert "10 rows have a case" in text
    assert "110 are left out" in text
    assert f"`basic-control show {data.run} -n 120`" in text


ROWS = [
    {"id": "refund: twice", "question": "May I <b>return</b> it & when?", "answer": "thirty days"},
    {"id": "empty", "question": "Which day?", "answer": "Monday"},
    {"id": "large", "question": "Say much.", "answer": "little"},
    {"question": "No id of its own " + "x" * 300, "answer": "yes"},
    {"id": "right", "question": "Two and two?", "answer": "four"},
]
REPLIES = {
    "May I": "No\x1b[31m]]>\x0b\ufffe <x/> & never",
    "Which day?": "",
    "Say much.": "abc " * 250_000,
    "No id": "no",
    "Two": "four",
}


def test_a_build_reads_what_a_model_wrote_whatever_it_is(run: Run, tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> str:
        question = str(body["messages"][-1]["content"])
        return next(text for beginning, text in REPLIES.items() if question.startswith(beginning))

    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    suite = {"name": "desk", "items": {"data": str(data)}, "prompt": "{{ question }}", "metrics": ["contains"],
             "threshold": 0.9, "repeats": 2}  # fmt: skip
    path = tmp_path / "junit.xml"
    # One row of five is right, twice each.
    with serve_openai(reply) as server:
        model = {"name": "m1.5", "provider": "openai", "base_url": server.base_url}
        done = run("--set", f"models=[{json.dumps(model)}]", "--set", f"suites=[{json.dumps(suite)}]",
                   "--set", "gate=point", "--junit", str(path))  # fmt: skip
    assert done.returncode == 1, done.stderr
    # What came is cut and made readable, whatever it is.
    assert path.stat().st_size < 100_000, "a reply of a megabyte is cut"
    top = ET.parse(path).getroot()  # noqa: S314 - our own file
    check_schema(top)
    cases = list_row_cases(top)
    assert {case.get("classname") for case in cases} == {"m1.5.desk"}
    failures = find_failures(cases)
    for name in ("refund: twice", "empty", "large"):
        assert {name, f"{name} (2)"} < failures.keys()
    assert len(failures) == 8
    assert not [name for name in failures if len(name) > 110]
    assert {str(case.get("name")) for case in cases} - failures.keys() == {"right", "right (2)"}
    message = failures["refund: twice"]
    assert message.startswith("contains: refund: twice: May I <b>return</b> it & when? → ")
    assert message.endswith("<U+FFFE> <x/> & never (expected thirty days)")
    texts = {str(case.get("name")): str(case.findtext("failure")) for case in cases}
    assert "No<U+001B>[31m]]><U+000B>" in texts["refund: twice"]
    assert "Question: Which day?" in texts["empty"]
    assert "Expected: Monday" in texts["empty"]
    assert "contains 0: " in texts["empty"]
    # A reply's time is its call's; the rows of a gate are those of the run.
    times = Counter(f"{seconds:.3f}" for seconds in load_replies(find_run("last", tmp_path / "runs"))["latency_s"])
    assert Counter(str(case.get("time")) for case in cases) == times
    total = float(str(top.get("time")))
    assert total == pytest.approx(sum(float(str(case.get("time"))) for case in cases), abs=1e-3)
    gated = run("last", "--threshold", "0.9", "--junit", str(path), command="gate")
    assert gated.returncode == 1, gated.stderr
    again = ET.parse(path).getroot()  # noqa: S314 - our own file
    check_schema(again)
    assert [*map(ET.tostring, list_row_cases(again))] == [*map(ET.tostring, cases)]
