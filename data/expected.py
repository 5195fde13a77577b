"""The expected answers of a suite's rows: read before anything is asked, so that none is missing or misread."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from basic_control.data.errors import InputError, plural
from basic_control.data.loading import offered, whole
from basic_control.data.options import options_of
from basic_control.data.plugins import loader, metric
from basic_control.data.records import Expectation, Item, Metric, Sample
from basic_control.data.suites import Suite

_HOLDS_TEXTS = re.compile(r"\.[ct]sv(?:\.gz)?$", re.IGNORECASE)  # rows.csv, rows.tsv.gz
FIRST = 3
"""Rows that a message shows."""
SHOWN = 80
"""Characters of a value that a message shows."""


@dataclass(frozen=True, slots=True)
class ExpectedAnswers:
    """How the metrics of a suite read its rows' expected answers.

    `options` are those of metrics that all rows complete; `readings` counts the rows of each metric, column and
    form; `n_unread` counts those that a metric leaves out, `left_out` holds the positions of the rows that every
    metric does, in the order of the draw. `problems` are messages about rows that nobody allowed to leave out.
    """

    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    readings: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    n_unread: Mapping[str, int] = field(default_factory=dict)
    left_out: frozenset[int] = frozenset()
    problems: tuple[str, ...] = ()


def read_expected(suite: Suite, required: Sequence[str]) -> ExpectedAnswers:
    """Read the expected answers of a suite's drawn rows by each of its metrics that needs one.

    Raises:
        InputError: the data cannot be read, or a metric fails on a row.
    """
    unit = loader(suite.loader)
    units = {name: metric(name) for name in suite.used if metric(name).expects}
    if unit.generated or not units:
        return ExpectedAnswers()
    completed = {name: _completed(suite, one) for name, one in units.items() if one.completes}
    options = {name: options_of(one, completed.get(name, suite.options(name))) for name, one in units.items()}
    readings = Counter[tuple[str, str, str]]()
    unread: dict[str, list[tuple[Item, Expectation]]] = {name: [] for name in units}
    left_out = set[int]()
    of_texts = any(_HOLDS_TEXTS.search(file.name) for file in unit.files(suite.source))
    n_rows = 0
    for position, item in enumerate(unit.load(offered(suite), required)):
        n_rows += 1
        expectations = {name: _read(units[name], _sample(item), options[name]) for name in units}
        answer = item.facts.get("answer")
        if of_texts and isinstance(answer, bool | list):
            reading = "a boolean" if isinstance(answer, bool) else "a list"
            readings[suite.loader, _column(suite, "answer"), reading] += 1
        for name, expectation in expectations.items():
            if expectation.problem:
                unread[name].append((item, expectation))
            else:
                column = _column(suite, expectation.column)
                readings.update((name, column, reading) for reading in expectation.readings)
        if len(units) == len(suite.used) and all(one.problem for one in expectations.values()):
            left_out.add(position)
    problems = [_problem(suite, name, rows, n_rows) for name, rows in unread.items() if rows]
    if suite.skip_unreadable:
        problems = [_nothing_left(suite, n_rows)] if len(left_out) == n_rows else []
    return ExpectedAnswers(
        options=completed,
        readings=dict(readings),
        n_unread={name: len(rows) for name, rows in unread.items() if rows},
        left_out=frozenset(left_out) if suite.skip_unreadable else frozenset(),
        problems=tuple(problems),
    )


def _sample(item: Item) -> Sample:
    return {"answer": item.answer, **item.facts}


def _completed(suite: Suite, unit: Metric) -> Mapping[str, Any]:
    """Return a metric's options completed by all rows of the data, drawn or not."""
    samples = map(_sample, loader(suite.loader).load(whole(suite), ()))
    options = suite.options(unit.name)
    return unit.completes(samples, options) if unit.completes else options


def _read(unit: Metric, sample: Sample, options: Mapping[str, Any]) -> Expectation:
    try:
        return unit.expects(sample, options) if unit.expects else Expectation()
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"metric {unit.name} raised {type(error).__name__} ({error}) as it read an expected answer. It must "
            "accept any row: fix it."
        ) from error


def _column(suite: Suite, column: str) -> str:
    """Return the file's name of a column."""
    columns = suite.source.get("columns")
    return str(columns.get(column, column)) if isinstance(columns, Mapping) else column


def _problem(suite: Suite, name: str, rows: Sequence[tuple[Item, Expectation]], n_rows: int) -> str:
    """Return the message about the rows whose expected answer a metric cannot read."""
    columns = dict.fromkeys(_column(suite, expectation.column) for _, expectation in rows)
    noun = "column" if len(columns) == 1 else "columns"
    first = "; ".join(_shown(item, expectation) for item, expectation in rows[:FIRST])
    return (
        f"suite {suite.name}: {name} cannot read the expected answer, {noun} {', '.join(columns)}, of "
        f"{len(rows)} of {plural(n_rows, 'row')}: {first}{'; …' if len(rows) > FIRST else ''}. Correct "
        f"{'it' if len(rows) == 1 else 'them'}, or set `skip_unreadable: true` in the suite, and the metric leaves "
        "such rows out."
    )


def _shown(item: Item, expectation: Expectation) -> str:
    value = _sample(item).get(expectation.column)
    text = "nothing" if value is None else repr(value).replace("\\\\", "\\")  # '2\pi' as it stands in the file
    text = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return f"row {item.index + 1}: found {text}, {expectation.problem}"


def _nothing_left(suite: Suite, n_rows: int) -> str:
    return (
        f"suite {suite.name}: no metric can read the expected answer of any of {plural(n_rows, 'row')}; expected "
        "at least one. Correct them, or name the right column under `columns`."
    )


def remarks(suite: Suite, expected: ExpectedAnswers) -> Iterator[tuple[str, Mapping[str, Any]]]:
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
