"""JUnit cases of a run's rows, by which a build shows which of its tests failed: by their ids, else the question.

A row that lost points fails where the gate does that its metric decides, as the exit code; elsewhere it is skipped,
since a build that passes has no failing test. Of a large run those that failed have cases first, up to `MOST`.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from basic_control.data.deciding import find_holding_values
from basic_control.metrics.analysis.policy import reaches
from basic_control.tasks.compare.rows import ShownRow, list_failed, list_worst_first
from basic_control.tasks.exchange.frames import Side
from basic_control.tasks.report.junit_cases import Part, open_case, strip_forbidden
from basic_control.tasks.report.language import say, say_reason
from basic_control.tasks.report.rows import cut, describe_ending, describe_remarks, line_of

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
