"""JUnit XML: a case for each gate, which fails if the exit code does, and one for each row."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from basic_control.data.suites import ALL
from basic_control.metrics.analysis.baseline import BaselineComparison
from basic_control.metrics.analysis.headlines import Headline
from basic_control.tasks.report.failed_rows import build_side
from basic_control.tasks.report.junit_cases import build_case, is_failing, strip_forbidden
from basic_control.tasks.report.junit_rows import Gate, RowCases, build_row_cases
from basic_control.tasks.report.language import say, use_language
from basic_control.tasks.report.passports import warnings
from basic_control.tasks.report.regressions import pair_name, regression
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.verdict_table import model_rows, model_values
from basic_control.tasks.report.words import explain_outcome, headlines_of, measure, score_id
from basic_control.tasks.store.tables import write_atomically

_OVERALL = "overall"
"""The name of the overall score's case, in every language."""


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
            name = score_id(score) if score.suite else _OVERALL
            case = build_case(
                name,
                score.model,
                outcome,
                _summary(score),
                decides_exit=_decides(data, outcome),
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


def find_failing_gates(data: ReportData) -> set[Gate]:
    """Return the gates that fail the build: by a threshold, overall, or against the baseline."""
    policy, baseline = data.plan.policy, data.results.baseline
    undecided_passes = policy.undecided == "pass" and not data.verdict.waiting
    failing_gates: set[Gate] = set()
    for model in data.verdict.models:
        for score in model.scores:
            outcome = score.decided.outcome
            if is_failing(outcome, decides_exit=_decides(data, outcome), undecided_passes=undecided_passes):
                # An overall score fails by each suite that has a share in it.
                parts: Sequence[Headline] = [score]
                if not score.suite:
                    parts = model.headlines_with_weight
                failing_gates |= {(part.suite, model.model, _name_metric(part.metric)) for part in parts}
    if baseline is None:
        return failing_gates
    for change in baseline.headlines:
        outcome = change.decision.outcome
        if is_failing(outcome, decides_exit=policy.regressions, undecided_passes=undecided_passes):
            failing_gates.add((change.pair.suite, change.pair.model_a, _name_metric(change.pair.metric)))
    return failing_gates


def _name_metric(metric: str) -> str:
    """Return the one metric that decides a gate; '' where several do together."""
    return "" if metric == ALL else metric


def _decides(data: ReportData, outcome: str) -> bool:
    """Return whether an outcome at a threshold affects the exit code: calls that wait do, whatever the gate."""
    return data.plan.policy.gate != "off" or bool(data.verdict.waiting and outcome == "undecided")


def document(name: str, cases: Sequence[ET.Element], started: datetime, rows: RowCases | None = None) -> ET.Element:
    """Return cases as a document: a test suite of gates, and one of rows, if there are any."""
    rows = rows or RowCases([])
    counts = _count([*cases, *rows.cases])
    # The usual schema has no count of skipped cases over all suites.
    del counts["skipped"]
    top = ET.Element("testsuites", {"name": f"basic-control {strip_forbidden(name)}", **counts})
    attributes = {"timestamp": started.isoformat(timespec="seconds")}
    ET.SubElement(top, "testsuite", {"name": "gates", **attributes, **_count(cases)}).extend(cases)
    # Rows stand apart from gates, whose number says how many decisions there were.
    if rows.cases:
        suite = ET.SubElement(top, "testsuite", {"name": "rows", **attributes, **_count(rows.cases)})
        suite.extend(rows.cases)
        if rows.n_omitted:
            numbers = {"k": len(rows.cases), "n": rows.n_omitted, "failed": rows.n_omitted_failed}
            total = len(rows.cases) + rows.n_omitted
            ET.SubElement(suite, "system-out").text = say("junit.omitted", run=name, total=total, **numbers)
    ET.indent(top)
    return top


def _count(cases: Sequence[ET.Element]) -> dict[str, str]:
    """Return the counts of cases by how they ended, as the attributes of a test suite."""
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    counts = {"tests": str(len(cases))}
    for attribute, kind in kinds.items():
        n = sum(case.find(kind) is not None for case in cases)
        counts[attribute] = str(n)
    counts["time"] = "0.000"
    return counts


def compose(data: ReportData) -> ET.Element:
    """Return the document of all gates and rows."""
    with use_language(data.language):
        rows = build_row_cases(build_side(data), find_failing_gates(data))
        return document(data.run, gates(data), data.start_time, rows)


def text_of(cases: Sequence[ET.Element], name: str) -> str:
    """Return cases as the text of a separate document."""
    top = document(name, cases, datetime.now(UTC))
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(top, encoding='unicode')}\n"


def write(data: ReportData, path: Path) -> Path:
    """Write the run as JUnit XML."""
    return write_atomically(path, ET.tostring(compose(data), encoding="utf-8", xml_declaration=True))
