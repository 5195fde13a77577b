"""JUnit XML: a case for each gate, which fails if the exit code does."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from data.characters import visible
from metrics.analysis.baseline import BaselineComparison
from prompts.phrases import ENGLISH, phrase
from tasks.report.passports import warnings
from tasks.report.regressions import baseline_of, regression
from tasks.report.report_data import ReportData
from tasks.report.verdict_table import model_rows, model_values
from tasks.report.words import measure, parts, shared, why
from tasks.store.tables import write_atomically

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: object) -> str:
    """Return text with characters that XML 1.0 forbids written as U+XXXX: it may come from a model."""
    return visible(_FORBIDDEN.sub(lambda sign: f"<U+{ord(sign[0]):04X}>", str(text)))


def case_of(name: str, of: str, outcome: str, told: str, *, counts: bool, passes: bool) -> ET.Element:
    """Return a gate's test case; `counts`: it affects the exit code, `passes`: undecided counts as passed."""
    case = ET.Element("testcase", name=clean(name), classname=clean(of), time="0.000")
    if outcome == "error":
        ET.SubElement(case, "error", type=outcome, message=clean(told))
    elif not counts:
        if outcome not in {"none", "pass", "held"}:
            ET.SubElement(case, "skipped", message=clean(f"{outcome}, and the gate is off: {told}"))
    elif outcome in {"fail", "regressed"} or (outcome == "undecided" and not passes):
        ET.SubElement(case, "failure", type=outcome, message=clean(told)).text = clean(told)
    elif outcome == "undecided":
        ET.SubElement(case, "skipped", message=clean(f"undecided: {told}"))
    ET.SubElement(case, "system-out").text = clean(told)
    return case


def gates(data: ReportData) -> list[ET.Element]:
    """Return the cases of all gates: each model in each suite and overall, and each suite against the baseline."""
    policy, results = data.plan.policy, data.results
    waiting, language = results["final"].get("waiting"), data.language
    passes = policy.undecided == "pass" and not waiting  # which leaves a run undecided, whatever the gate
    warned: dict[tuple[str, str], list[str]] = {}
    for name, suite, said in warnings(results, language):
        warned.setdefault((name, suite), []).append(f"{shared('warning', language)}: {said}")
    cases = []
    for row in model_rows(results, ENGLISH):
        model = row.model
        for part in parts(model, ENGLISH):
            told = _told(part, language)
            counts = policy.gate != "off" or bool(waiting and part["outcome"] == "undecided")
            case = case_of(part["suite"], model["model"], part["outcome"], told, counts=counts, passes=passes)
            if part == row.part and (values := model_values(row, language)):
                listed = ET.SubElement(case, "properties")
                for name, value in values.items():
                    ET.SubElement(listed, "property", name=clean(name), value=clean(value))
            if told_of := warned.get((model["model"], part["suite"])):
                ET.SubElement(case, "system-err").text = clean("\n".join(told_of))
            cases.append(case)
    comparison = baseline_of(results)
    changes = against_baseline(comparison, language, counts=policy.regressions, passes=passes) if comparison else ()
    return [*cases, *changes]


def against_baseline(
    comparison: BaselineComparison, language: str, *, counts: bool, passes: bool
) -> Iterator[ET.Element]:
    """Yield the cases of a comparison with a baseline: each headline, and what is missing."""
    of = f"baseline {comparison.name}"
    for change in comparison.headlines:
        name, told = f"{of}.{change.pair.model_a}", regression(change, language)
        yield case_of(change.pair.suite, name, change.decision.outcome, told, counts=counts, passes=passes)
    for what in () if comparison.allowed else comparison.missing:
        told = phrase("regression.missing", language, what=what)
        yield case_of(what, of, "regressed", told, counts=counts, passes=passes)


def _told(part: Mapping[str, Any], language: str) -> str:
    score = "no score" if part["score"] is None else f"score {part['score']:.4f}"
    if not part.get("measured", True):
        score = "no measured score"
    low, high = (part["score"] if part.get(end) is None else part[end] for end in ("lower", "upper"))
    bound = "" if low == high else f" (from {low:.4f} to {high:.4f})"
    if named := measure(part):
        score = f"{named} {score}, mean {part['mean']:.4f}" if part["mean"] is not None else f"{named} {score}"
    limit = "no threshold" if part["threshold"] is None else f"threshold {part['threshold']:g}"
    told = f"{score}{bound}, {limit}: {part['outcome']}"
    said = why(part, language)
    return f"{told}; {said}" if said else told


def document(name: str, cases: Sequence[ET.Element], started: datetime) -> ET.Element:
    """Return cases as a document of one test suite."""
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    counts = {name: str(sum(case.find(kind) is not None for case in cases)) for name, kind in kinds.items()}
    counts = {"tests": str(len(cases)), **counts, "time": "0.000"}
    top = ET.Element("testsuites", {"name": f"basic-control {clean(name)}", **counts})
    own = {"name": "gates", "timestamp": started.isoformat(timespec="seconds")}
    ET.SubElement(top, "testsuite", {**own, **counts}).extend(cases)
    ET.indent(top)
    return top


def compose(data: ReportData) -> ET.Element:
    """Return the document of all gates."""
    return document(data.run, gates(data), data.started)


def text_of(cases: Sequence[ET.Element], name: str) -> str:
    """Return cases as the text of a separate document."""
    top = document(name, cases, datetime.now(UTC))
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(top, encoding='unicode')}\n"


def write(data: ReportData, path: Path) -> Path:
    """Write the run as JUnit XML."""
    return write_atomically(path, ET.tostring(compose(data), encoding="utf-8", xml_declaration=True))
