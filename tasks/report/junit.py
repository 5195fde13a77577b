"""JUnit XML: a case for each gate, which fails if the exit code does."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from basic_control.data.characters import make_visible
from basic_control.metrics.analysis.baseline import BaselineComparison
from basic_control.metrics.analysis.headlines import Headline
from basic_control.tasks.report.language import say, use_language
from basic_control.tasks.report.passports import warnings
from basic_control.tasks.report.regressions import pair_name, regression
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.verdict_table import model_rows, model_values
from basic_control.tasks.report.words import explain_outcome, headlines_of, measure, score_id
from basic_control.tasks.store.tables import write_atomically

_OVERALL = "overall"
"""The name of the overall score's case, in every language."""
# What XML 1.0 cannot hold even escaped, such as U+0000 or U+FFFE.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def strip_forbidden(text: object) -> str:
    """Return text with characters that XML 1.0 forbids written as U+XXXX: it may come from a model."""
    return make_visible(_FORBIDDEN.sub(lambda sign: f"<U+{ord(sign[0]):04X}>", str(text)))


def build_case(
    name: str, class_name: str, outcome: str, text: str, *, decides_exit: bool, undecided_passes: bool
) -> ET.Element:
    """Return a gate's test case, which fails only if the gate affects the exit code (`decides_exit`)."""
    case = ET.Element("testcase", name=strip_forbidden(name), classname=strip_forbidden(class_name), time="0.000")
    if outcome == "error":
        ET.SubElement(case, "error", type=outcome, message=strip_forbidden(text))
    elif not decides_exit:
        if outcome not in {"none", "pass", "held"}:
            ET.SubElement(case, "skipped", message=strip_forbidden(f"{outcome}, and the gate is off: {text}"))
    elif outcome in {"fail", "regressed"} or (outcome == "undecided" and not undecided_passes):
        ET.SubElement(case, "failure", type=outcome, message=strip_forbidden(text)).text = strip_forbidden(text)
    elif outcome == "undecided":
        ET.SubElement(case, "skipped", message=strip_forbidden(f"undecided: {text}"))
    ET.SubElement(case, "system-out").text = strip_forbidden(text)
    return case


def gates(data: ReportData) -> list[ET.Element]:
    """Return the cases of all gates: each model in each suite and overall, and each suite against the baseline."""
    policy, models, baseline = data.plan.policy, data.verdict.models, data.results.baseline
    waiting = data.verdict.waiting
    # Calls that wait leave a run undecided, whatever the gate.
    undecided_passes = policy.undecided == "pass" and not waiting
    warning_texts: dict[tuple[str, str, str], list[str]] = {}
    for warning in warnings(headlines_of(models), data.results.judged, data.run):
        texts = warning_texts.setdefault((warning.model, warning.suite, warning.metric), [])
        texts.append(f"{say('common.warning')}: {warning.text}")
    cases = []
    for row in model_rows(models, data.results.spending):
        for score in row.model.scores:
            outcome = score.decided.outcome
            decides_exit = policy.gate != "off" or bool(waiting and outcome == "undecided")
            name = score_id(score) if score.suite else _OVERALL
            case = build_case(
                name,
                score.model,
                outcome,
                _summary(score),
                decides_exit=decides_exit,
                undecided_passes=undecided_passes,
            )
            if score is row.score:
                _add_properties(case, model_values(row))
            texts = warning_texts.get((score.model, score.suite, score.metric), [])
            if texts:
                ET.SubElement(case, "system-err").text = strip_forbidden("\n".join(texts))
            cases.append(case)
    if baseline:
        cases += against_baseline(baseline, decides_exit=policy.regressions, undecided_passes=undecided_passes)
    return cases


def _add_properties(case: ET.Element, values: Mapping[str, str]) -> None:
    """Add values by their titles to a case; nothing if there are none."""
    if not values:
        return
    properties = ET.SubElement(case, "properties")
    for title, value in values.items():
        ET.SubElement(properties, "property", name=strip_forbidden(title), value=strip_forbidden(value))


def against_baseline(
    comparison: BaselineComparison, *, decides_exit: bool, undecided_passes: bool
) -> Iterator[ET.Element]:
    """Yield the cases of a comparison with a baseline: each headline, and what is missing."""
    comparison_name = f"baseline {comparison.name}"
    for change in comparison.headlines:
        name, class_name = pair_name(change.pair, comparison), f"{comparison_name}.{change.pair.model_a}"
        outcome, text = change.decision.outcome, regression(change)
        yield build_case(
            name, class_name, outcome, text, decides_exit=decides_exit, undecided_passes=undecided_passes
        )
    if comparison.allowed:
        return
    for what in comparison.missing:
        text = say("regression.missing", what=what)
        yield build_case(
            what, comparison_name, "regressed", text, decides_exit=decides_exit, undecided_passes=undecided_passes
        )


def _summary(headline: Headline) -> str:
    """Return a headline's score with four decimals, its bounds, threshold and outcome, and why."""
    measured, threshold = headline.measured, headline.decided.threshold
    score = "no score"
    if not headline.missing.is_measured:
        score = "no measured score"
    elif measured.score.mean is not None:
        score = f"score {measured.score.mean:.4f}"
    name = measure(headline)
    if name:
        score = f"{name} {score}"
        if measured.mean.mean is not None:
            score += f", mean {measured.mean.mean:.4f}"
    low, high = headline.at("lower").mean, headline.at("upper").mean
    if low != high:
        score += f" (from {low:.4f} to {high:.4f})"
    if headline.missing.n_filtered:
        score += f", {headline.missing.n_filtered} stopped by a content filter"
    limit = "no threshold" if threshold is None else f"threshold {threshold:g}"
    sentence = f"{score}, {limit}: {headline.decided.outcome}"
    reason = explain_outcome(headline)
    return f"{sentence}; {reason}" if reason else sentence


def document(name: str, cases: Sequence[ET.Element], started: datetime) -> ET.Element:
    """Return cases as a document of one test suite."""
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    counts = {"tests": str(len(cases))}
    for attribute, kind in kinds.items():
        n = sum(case.find(kind) is not None for case in cases)
        counts[attribute] = str(n)
    counts["time"] = "0.000"
    top = ET.Element("testsuites", {"name": f"basic-control {strip_forbidden(name)}", **counts})
    attributes = {"name": "gates", "timestamp": started.isoformat(timespec="seconds")}
    ET.SubElement(top, "testsuite", {**attributes, **counts}).extend(cases)
    ET.indent(top)
    return top


def compose(data: ReportData) -> ET.Element:
    """Return the document of all gates."""
    with use_language(data.language):
        return document(data.run, gates(data), data.start_time)


def text_of(cases: Sequence[ET.Element], name: str) -> str:
    """Return cases as the text of a separate document."""
    top = document(name, cases, datetime.now(UTC))
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(top, encoding='unicode')}\n"


def write(data: ReportData, path: Path) -> Path:
    """Write the run as JUnit XML."""
    return write_atomically(path, ET.tostring(compose(data), encoding="utf-8", xml_declaration=True))
