"""JUnit XML: a case for each gate, which fails if the exit code does."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from basic_control.data.characters import make_visible
from basic_control.metrics.analysis.baseline import BaselineComparison
from basic_control.metrics.analysis.headlines import Headline
from basic_control.tasks.report.language import say, speaking
from basic_control.tasks.report.passports import warnings
from basic_control.tasks.report.regressions import pair_name, regression
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.verdict_table import model_rows, model_values
from basic_control.tasks.report.words import explain_outcome, headlines_of, measure, score_id
from basic_control.tasks.store.tables import write_atomically

_OVERALL = "overall"
"""The name of the overall score's case, in every language."""
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: object) -> str:
    """Return text with characters that XML 1.0 forbids written as U+XXXX: it may come from a model."""
    return make_visible(_FORBIDDEN.sub(lambda sign: f"<U+{ord(sign[0]):04X}>", str(text)))


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
    policy, models, baseline = data.plan.policy, data.verdict.models, data.results.baseline
    waiting = data.verdict.waiting
    passes = policy.undecided == "pass" and not waiting  # which leaves a run undecided, whatever the gate
    warned: dict[tuple[str, str, str], list[str]] = {}
    for warning in warnings(headlines_of(models), data.results.judged, data.run):
        warned.setdefault((warning.model, warning.suite, warning.metric), []).append(
            f"{say('common.warning')}: {warning.text}"
        )
    cases = []
    for row in model_rows(models, data.results.spending):
        for score in row.model.scores:
            outcome = score.decided.outcome
            counts = policy.gate != "off" or bool(waiting and outcome == "undecided")
            name = score_id(score) if score.suite else _OVERALL
            case = case_of(name, score.model, outcome, _summary(score), counts=counts, passes=passes)
            if score is row.score and (values := model_values(row)):
                listed = ET.SubElement(case, "properties")
                for title, value in values.items():
                    ET.SubElement(listed, "property", name=clean(title), value=clean(value))
            if texts := warned.get((score.model, score.suite, score.metric)):
                ET.SubElement(case, "system-err").text = clean("\n".join(texts))
            cases.append(case)
    if baseline:
        cases += against_baseline(baseline, counts=policy.regressions, passes=passes)
    return cases


def against_baseline(comparison: BaselineComparison, *, counts: bool, passes: bool) -> Iterator[ET.Element]:
    """Yield the cases of a comparison with a baseline: each headline, and what is missing."""
    of = f"baseline {comparison.name}"
    for change in comparison.headlines:
        name, told = f"{of}.{change.pair.model_a}", regression(change)
        yield case_of(
            pair_name(change.pair, comparison), name, change.decision.outcome, told, counts=counts, passes=passes
        )
    for what in () if comparison.allowed else comparison.missing:
        told = say("regression.missing", what=what)
        yield case_of(what, of, "regressed", told, counts=counts, passes=passes)


def _summary(headline: Headline) -> str:
    """Return a headline's score with four decimals, its bounds, threshold and outcome, and why."""
    measured, threshold = headline.measured, headline.decided.threshold
    mean = measured.score.mean
    score = "no score" if mean is None else f"score {mean:.4f}"
    if not headline.missing.is_measured:
        score = "no measured score"
    low, high = headline.at("lower").mean, headline.at("upper").mean
    bound = "" if low == high else f" (from {low:.4f} to {high:.4f})"
    if name := measure(headline):
        score = f"{name} {score}" + ("" if measured.mean.mean is None else f", mean {measured.mean.mean:.4f}")
    limit = "no threshold" if threshold is None else f"threshold {threshold:g}"
    reason = explain_outcome(headline)
    n_filtered = headline.missing.n_filtered
    stopped = f", {n_filtered} stopped by a content filter" if n_filtered else ""
    return f"{score}{bound}{stopped}, {limit}: {headline.decided.outcome}{f'; {reason}' if reason else ''}"


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
    with speaking(data.language):
        return document(data.run, gates(data), data.start_time)


def text_of(cases: Sequence[ET.Element], name: str) -> str:
    """Return cases as the text of a separate document."""
    top = document(name, cases, datetime.now(UTC))
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(top, encoding='unicode')}\n"


def write(data: ReportData, path: Path) -> Path:
    """Write the run as JUnit XML."""
    return write_atomically(path, ET.tostring(compose(data), encoding="utf-8", xml_declaration=True))
