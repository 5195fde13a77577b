"""JUnit XML: a case for each gate, which fails if the exit code does, and one for each row, by its id or question.

A row that lost points fails where the gate does that its metric decides, as the exit code; elsewhere it is skipped,
since a build that passes has no failing test. What no judge scored is skipped too. Of a large run those that failed
have cases first, up to `MOST`.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

from basic_control.data.deciding import find_holding_values
from basic_control.data.suites import ALL
from basic_control.metrics.analysis.baseline import BaselineComparison
from basic_control.metrics.analysis.headlines import Headline
from basic_control.metrics.analysis.policy import reaches
from basic_control.tasks.compare.rows import ShownRow, list_failed, list_worst_first
from basic_control.tasks.exchange.frames import Side
from basic_control.tasks.report.failed_rows import build_side
from basic_control.tasks.report.junit_cases import Gate, Part, open_case, strip_forbidden
from basic_control.tasks.report.language import say, say_reason, use_language
from basic_control.tasks.report.passports import warnings
from basic_control.tasks.report.regressions import pair_name, regression
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.rows import cut, describe_ending, describe_remarks, line_of
from basic_control.tasks.report.verdict_table import model_rows, model_values
from basic_control.tasks.report.words import explain_outcome, headlines_of, measure, score_id
from basic_control.tasks.store.tables import write_atomically

MOST = 1_000
"""Cases of rows in a file: a build's page shows each."""
LONGEST_NAME, LONGEST_LINE, LONGEST_TEXT = 100, 400, 1_200
"""Characters of a name, a message, and a text below it: GitLab reads 30 MB, and 1 000 cases of these at most 25."""
RowKey = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True)
class RowCases:
    """The cases of a run's rows; `n_omitted` rows have none, of which `n_omitted_failed` lost points."""

    cases: Sequence[ET.Element]
    n_omitted: int = 0
    n_omitted_failed: int = 0


def build_row_cases(side: Side, failing_parts: Collection[Part], metrics: Collection[str] = ()) -> RowCases:
    """Return the cases of a run's rows, one a reply: those that fail first, then those that are tolerated.

    `metrics` are those that decide, where they are not the suites' own.
    """
    holding_values = {suite.name: find_holding_values(suite) for suite in side.suites}
    losses: dict[RowKey, list[ShownRow]] = {}
    for row in list_failed(side, metrics):
        if not _holds(row, holding_values):
            losses.setdefault(_get_key(row), []).append(row)
    rows = list_worst_first(side, metrics)
    names = _name_rows(side, rows)
    # What fails is named first, and comes first; the order is otherwise that of `show`.
    failing_keys: set[RowKey] = set()
    for key, lost in losses.items():
        lost.sort(key=lambda loss: not _fails(loss, failing_parts))
        if _fails(lost[0], failing_parts):
            failing_keys.add(key)
    rows.sort(key=lambda row: (_get_key(row) not in failing_keys, _get_key(row) not in losses))
    cases = []
    for row in rows[:MOST]:
        key = _get_key(row)
        case = open_case(names[key], _name_class(row), row.latency_s or 0.0)
        if key in losses:
            _add_loss(case, losses[key], is_failing=key in failing_keys)
        cases.append(case)
    return RowCases(cases, max(0, len(rows) - MOST), max(0, len(losses) - MOST))


def _holds(row: ShownRow, holding_values: Mapping[str, Mapping[str, float]]) -> bool:
    """Return whether a row holds by its metric though it may have less than the full score; 0 never does."""
    return bool(row.value) and reaches(row.value or 0.0, holding_values.get(row.suite, {}).get(row.metric, 1.0))


def _fails(loss: ShownRow, failing_parts: Collection[Part]) -> bool:
    """Return whether a row that lost points by a metric did so before a gate that fails."""
    # Nobody judged the reply: it neither holds nor fails.
    if loss.is_unjudged:
        return False
    return any((loss.suite, loss.model, metric) in failing_parts for metric in (loss.metric, ""))


def _get_key(row: ShownRow) -> RowKey:
    return row.suite, row.model, row.item_id, row.repeat


def _name_class(row: ShownRow) -> str:
    """Return a row's class: Jenkins takes what stands before the last full stop for a package."""
    return ".".join(filter(None, (row.model, row.suite)))


def _name_rows(side: Side, rows: Sequence[ShownRow]) -> dict[RowKey, str]:
    """Return each row's name, unique in its class: of equal ones GitLab reads the first alone.

    Repeats are numbered as they were asked, so that a build finds each again in the next one.
    """
    positions = {item_id: position for position, item_id in enumerate(side.items["item_id"])}
    names: dict[RowKey, str] = {}
    counts = Counter[tuple[str, str]]()
    for row in sorted(rows, key=lambda row: (positions[row.item_id], row.repeat)):
        name = row.name or " ".join(row.question.split()) or row.item_id
        name = cut(name, LONGEST_NAME)
        counts[_name_class(row), name] += 1
        n_alike = counts[_name_class(row), name]
        if n_alike > 1:
            name = f"{name} ({n_alike})"
        names[_get_key(row)] = name
    return names


def _add_loss(case: ET.Element, lost: Sequence[ShownRow], *, is_failing: bool) -> None:
    """Add to a row's case by which metrics it lost points, and what was asked, replied and expected."""
    metrics = ", ".join(row.metric for row in lost)
    message = strip_forbidden(f"{metrics}: {line_of(lost[0], LONGEST_LINE)}")
    if not is_failing and all(row.is_unscored for row in lost):
        # The line says itself that it is not scored.
        ET.SubElement(case, "skipped", message=message)
        return
    if not is_failing:
        ET.SubElement(case, "skipped", message=strip_forbidden(say("junit.tolerated", text=message)))
        return
    kind, type_name = "failure", metrics
    # Nothing was measured: a build tells a call that failed from a reply that is wrong.
    if all(row.value is None for row in lost):
        kind, type_name = "error", lost[0].status
    element = ET.SubElement(case, kind, type=type_name, message=message)
    # GitLab shows the text alone, and no message.
    element.text = strip_forbidden("\n".join(_quote(lost)))


def _quote(lost: Sequence[ShownRow]) -> Iterator[str]:
    """Yield what a row's scores say, a line each, and its texts."""
    row = lost[0]
    texts = {"question": row.question, "reply": row.reply, "expected": row.expected}
    for name, text in texts.items():
        if text:
            yield say(f"junit.{name}", text=cut(text, LONGEST_TEXT))
    for loss in lost:
        value = say("junit.no_score") if loss.value is None else f"{loss.value:.4g}"
        remarks = "; ".join(describe_remarks(loss)) or say_reason(loss.reason) or describe_ending(loss)
        yield cut(f"{loss.metric} {value}: {remarks}", LONGEST_LINE)


_OVERALL = "overall"
"""The name of the overall score's case, in every language."""


def list_gates(data: ReportData) -> Iterator[Gate]:
    """Yield all gates: each model in each suite and overall, and each suite against the baseline."""
    policy, models, baseline = data.plan.policy, data.verdict.models, data.results.baseline
    waiting = data.verdict.waiting
    # Calls that wait leave a run undecided, whatever the gate.
    undecided_passes = policy.undecided == "pass" and not waiting
    warning_texts: dict[Part, list[str]] = {}
    for warning in warnings(headlines_of(models), data.results.judged, data.run):
        texts = warning_texts.setdefault((warning.suite, warning.model, warning.metric), [])
        texts.append(f"{say('common.warning')}: {warning.text}")
    for row in model_rows(models, data.results.spending):
        for score in row.model.scores:
            name, parts, outcome = score_id(score), [score], score.decided.outcome
            properties: dict[str, str] = {}
            if score is row.score:
                properties = model_values(row)
            # An overall score is of each suite that has a share in it.
            if not score.suite:
                name, parts = _OVERALL, [*row.model.headlines_with_weight]
            yield Gate(
                name,
                score.model,
                outcome,
                _summary(score),
                decides_exit=policy.gate != "off" or bool(waiting and outcome == "undecided"),
                undecided_passes=undecided_passes,
                parts=[(part.suite, part.model, name_metric(part.metric)) for part in parts],
                properties=properties,
                warnings=warning_texts.get((score.suite, score.model, score.metric), ()),
            )
    if baseline:
        yield from against_baseline(baseline, decides_exit=policy.regressions, undecided_passes=undecided_passes)


def name_metric(metric: str) -> str:
    """Return the one metric that decides a gate; '' where several do together."""
    return "" if metric == ALL else metric


def against_baseline(
    comparison: BaselineComparison, *, decides_exit: bool = True, undecided_passes: bool
) -> Iterator[Gate]:
    """Yield the gates of a comparison with a baseline: each headline, and what is missing."""
    build_gate = partial(Gate, decides_exit=decides_exit, undecided_passes=undecided_passes)
    comparison_name = f"baseline {comparison.name}"
    for change in comparison.headlines:
        pair = change.pair
        name, class_name = pair_name(pair, comparison), f"{comparison_name}.{pair.model_a}"
        parts = [(pair.suite, pair.model_a, name_metric(pair.metric))]
        yield build_gate(name, class_name, change.decision.outcome, regression(change), parts=parts)
    if not comparison.allowed:
        for what in comparison.missing:
            yield build_gate(what, comparison_name, "regressed", say("regression.missing", what=what))


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
    limit = "no threshold"
    if threshold is not None:
        limit = f"threshold {threshold:g}"
    sentence = f"{score}, {limit}: {headline.decided.outcome}"
    reason = explain_outcome(headline)
    return f"{sentence}; {reason}" if reason else sentence


def document(name: str, gates: Iterable[Gate], started: datetime, rows: RowCases | None = None) -> ET.Element:
    """Return gates as a document: a test suite of them, and one of rows, if there are any."""
    rows, cases = rows or RowCases([]), [gate.build_case() for gate in gates]
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
    counts["time"] = f"{math.fsum(float(case.get('time', '0')) for case in cases):.3f}"
    return counts


def compose(data: ReportData) -> ET.Element:
    """Return the document of all gates and rows."""
    with use_language(data.language):
        gates = [*list_gates(data)]
        rows = build_row_cases(build_side(data), list_failing_parts(gates))
        return document(data.run, gates, data.start_time, rows)


def list_failing_parts(gates: Iterable[Gate]) -> set[Part]:
    """Return the scores that gates which fail are about."""
    return {part for gate in gates if gate.is_failing for part in gate.parts}


def text_of(gates: Iterable[Gate], name: str, side: Side | None = None, metrics: Collection[str] = ()) -> str:
    """Return gates as the text of a separate document, with a case for each row of the `side` that they gate.

    `metrics` are those that decide, where they are not the side's own.
    """
    gates, rows = [*gates], None
    if side:
        rows = build_row_cases(side, list_failing_parts(gates), metrics)
    top = document(name, gates, datetime.now(UTC), rows)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{ET.tostring(top, encoding='unicode')}\n"


def write(data: ReportData, path: Path) -> Path:
    """Write the run as JUnit XML."""
    return write_atomically(path, ET.tostring(compose(data), encoding="utf-8", xml_declaration=True))
