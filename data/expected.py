"""The expected answers of a suite's rows: read before anything is asked, so that none is missing or misread."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from basic_control.data.characters import shorten
from basic_control.data.errors import InputError, plural
from basic_control.data.loading import offer_items, select_all_rows
from basic_control.data.options import options_of
from basic_control.data.plugins import loader, metric
from basic_control.data.records import Expectation, Item, Metric, Sample
from basic_control.data.suites import Suite

_HOLDS_TEXTS = re.compile(r"\.[ct]sv(?:\.gz)?$", re.IGNORECASE)  # rows.csv, rows.tsv.gz
_TYPED: Mapping[type, str] = {bool: "a boolean", list: "a list"}
FIRST = 3
"""Rows that a message shows."""
SHOWN = 80
"""Characters of a value that a message shows."""


@dataclass(frozen=True, slots=True)
class ExpectedAnswers:
    """How the metrics of a suite read its rows' expected answers.

    `options` are those of metrics that all rows complete; `readings` counts the rows of each metric, column and
    form; `doubtful` counts those that may be meant otherwise, `n_unread` those that a metric leaves out, `left_out`
    holds the positions of the rows that every metric does, in the order of the draw. `problems` are messages about
    rows that nobody allowed to leave out.
    """

    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    readings: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    doubtful: Mapping[tuple[str, str], int] = field(default_factory=dict)
    n_unread: Mapping[str, int] = field(default_factory=dict)
    left_out: frozenset[int] = frozenset()
    problems: tuple[str, ...] = ()


def read_expected(suite: Suite, required: Sequence[str]) -> ExpectedAnswers:
    """Read the expected answers of a suite's drawn rows by each of its metrics that needs one.

    Raises:
        InputError: the data cannot be read, or a metric fails on a row.
    """
    unit = loader(suite.loader)
    metrics = {name: metric(name) for name in suite.metric_names if metric(name).expects}
    if unit.generated or not metrics:
        return ExpectedAnswers()
    completed = {name: _complete_options(suite, user) for name, user in metrics.items() if user.completes}
    options: dict[str, dict[str, Any]] = {}
    for name, user in metrics.items():
        options[name] = options_of(user, completed.get(name, suite.options(name)))
    readings, doubtful = Counter[tuple[str, str, str]](), Counter[tuple[str, str]]()
    unread: dict[str, list[tuple[Item, Expectation]]] = {name: [] for name in metrics}
    left_out = set[int]()
    has_texts = any(_HOLDS_TEXTS.search(file.name) for file in unit.files(suite.source))
    n_rows = 0
    for position, item in enumerate(unit.load(offer_items(suite), required)):
        n_rows += 1
        # A file whose cells are all texts has booleans and lists only by our reading, which people should know of.
        reading = _TYPED.get(type(item.facts.get("answer")), "")
        if has_texts and reading:
            readings[suite.loader, _name_column(suite, "answer"), reading] += 1
        n_unread = 0
        for name, user in metrics.items():
            expectation = _read(user, _build_sample(item), options[name])
            if expectation.problem:
                n_unread += 1
                unread[name].append((item, expectation))
            else:
                column = _name_column(suite, expectation.column)
                doubtful[name, column] += expectation.is_doubtful
                for form in expectation.readings:
                    readings[name, column, form] += 1
        # A row is asked as long as some metric can score its reply, with or without an expected answer.
        if n_unread == len(suite.metric_names):
            left_out.add(position)
    unread = {name: rows for name, rows in unread.items() if rows}
    counts = {name: len(rows) for name, rows in unread.items()}
    if not suite.skip_unreadable:
        problems = [_describe_unread(suite, name, rows, n_rows) for name, rows in unread.items()]
        return ExpectedAnswers(completed, dict(readings), dict(doubtful), counts, problems=tuple(problems))
    problems = [_describe_empty(suite, n_rows)] if len(left_out) == n_rows else []
    return ExpectedAnswers(completed, dict(readings), dict(doubtful), counts, frozenset(left_out), tuple(problems))


def _build_sample(item: Item) -> Sample:
    return {"answer": item.answer, **item.facts}


def _complete_options(suite: Suite, user: Metric) -> Mapping[str, Any]:
    """Return a metric's options completed by all rows of the data, drawn or not."""
    options = suite.options(user.name)
    if user.completes is None:
        return options
    samples = map(_build_sample, loader(suite.loader).load(select_all_rows(suite), ()))
    return user.completes(samples, options)


def _read(unit: Metric, sample: Sample, options: Mapping[str, Any]) -> Expectation:
    if unit.expects is None:
        return Expectation()
    try:
        return unit.expects(sample, options)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"metric {unit.name} raised {type(error).__name__} ({error}) as it read an expected answer. It must "
            "accept any row: fix it."
        ) from error


def _name_column(suite: Suite, column: str) -> str:
    """Return the file's name of a column."""
    columns = suite.source.get("columns")
    if not isinstance(columns, Mapping):
        return column
    return str(columns.get(column, column))


def _describe_unread(suite: Suite, name: str, rows: Sequence[tuple[Item, Expectation]], n_rows: int) -> str:
    """Return the message about the rows whose expected answer a metric cannot read."""
    columns: dict[str, None] = {}
    for _, expectation in rows:
        columns[_name_column(suite, expectation.column)] = None
    noun = "column" if len(columns) == 1 else "columns"
    pronoun = "it" if len(rows) == 1 else "them"
    examples = [_format_unread(item, expectation) for item, expectation in rows[:FIRST]]
    if len(rows) > FIRST:
        examples.append("…")
    return (
        f"suite {suite.name}: {name} cannot read the expected answer, {noun} {', '.join(columns)}, of "
        f"{len(rows)} of {plural(n_rows, 'row')}: {'; '.join(examples)}. Correct {pronoun} in "
        f"{suite.source.get('data', suite.loader)}, or set `skip_unreadable: true` in the suite, and the metric "
        "leaves such rows out."
    )


def _format_unread(item: Item, expectation: Expectation) -> str:
    value = _build_sample(item).get(expectation.column)
    text = "nothing"
    if value is not None:
        text = repr(value).replace("\\\\", "\\")  # '2\pi' as it stands in the file
    return f"row {item.index + 1}: found {shorten(text, SHOWN)}, {expectation.problem}"


def _describe_empty(suite: Suite, n_rows: int) -> str:
    return (
        f"suite {suite.name}: no metric can read the expected answer of any of {plural(n_rows, 'row')}; expected "
        "at least one. Correct them, or name the right column under `columns`."
    )


def list_doubts(suite: Suite, expected: ExpectedAnswers) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield what may be misread, as the names of phrases and their values."""
    for (name, column), n in Counter(expected.doubtful).most_common():
        if n:
            yield "common.read_in_two_ways", {"suite": suite.name, "metric": name, "column": column, "n": n}


def list_remarks(suite: Suite, expected: ExpectedAnswers) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield what people should be told, as the names of phrases and their values."""
    forms: dict[tuple[str, str], list[str]] = {}
    for (name, column, reading), n in expected.readings.items():
        forms.setdefault((name, column), []).append(f"{reading} ({n})")
    for (name, column), counted in forms.items():
        values = {"suite": suite.name, "metric": name, "column": column, "readings": ", ".join(counted)}
        yield "common.read_as", values
    if suite.skip_unreadable:
        for name, n in expected.n_unread.items():
            yield "common.rows_left_out", {"suite": suite.name, "metric": name, "n": n}
    if expected.left_out:
        yield "common.not_asked", {"suite": suite.name, "n": len(expected.left_out)}
