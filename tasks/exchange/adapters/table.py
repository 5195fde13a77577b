"""Any table: CSV, JSONL, Parquet, a JSON list; columns are recognised by name, or named by the user."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from basic_control.data.errors import InputError, propose_name
from basic_control.tasks.exchange.logs import (
    Found,
    Recorded,
    build_score,
    join_messages,
    join_parts,
    read_count,
    read_expected,
    read_stated_value,
)
from basic_control.tasks.exchange.source import Source

TOOL = "a table"
_NOTHING: Mapping[str, Any] = {}
ANY = True
"""Reads what no other adapter recognises."""
NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "question_id", "sample_id", "item_id", "case_id", "test_id", "uid"),
    "question": ("question", "input", "prompt", "query", "problem", "instruction"),
    "answer": ("answer", "expected", "reference", "target", "ground_truth", "expected_output", "ideal", "label"),
    "response": ("response", "output", "completion", "prediction", "actual_output", "reply", "generated"),
    "model": ("model", "target_model", "provider", "system"),
    "suite": ("suite", "task", "dataset", "benchmark"),
    "template": ("template", "cluster", "template_id"),
    "repeat": ("repeat", "epoch", "trial", "run"),
    "finish_reason": ("finish_reason", "stop_reason"),
    "error": ("error",),
    "judge": ("judge", "judge_model", "grader", "evaluator"),
    "score": ("score", "correct", "pass", "passed", "is_correct", "success", "accuracy", "exact_match", "grade"),
}
"""Our names, and their known aliases as columns."""


def _find_columns(source: Source) -> dict[str, str]:
    """Return the file's columns by our names: those that the user gives, then those recognised."""
    # Of equal names the first column counts, and of several aliases the first in our list.
    by_lower_name = {str(name).strip().lower(): str(name) for name in reversed([*source.head])}
    columns: dict[str, str] = {}
    for ours, aliases in NAMES.items():
        for alias in reversed(aliases):
            if alias in by_lower_name:
                columns[ours] = by_lower_name[alias]
    for ours, theirs in source.columns.items():
        if ours not in NAMES:
            raise InputError(f"--columns {ours}={theirs}: expected one of {', '.join(NAMES)}.")
        if theirs not in source.head:
            names = ", ".join(map(str, source.head))
            raise InputError(
                f"{source.path}: found no column {theirs!r}, given by --columns; expected one of {names}."
                f"{propose_name(theirs, source.head)}"
            )
    # A column that the user gives a name has no second one.
    used_columns = {*source.columns.values()}
    recognised = {ours: column for ours, column in columns.items() if column not in used_columns}
    return {**recognised, **source.columns}


def fits(source: Source) -> bool:
    """Return whether columns for a question or its id, and for a score, are recognised."""
    columns = _find_columns(source)
    return "score" in columns and bool({"id", "question"} & columns.keys())


def _read_reply(value: Any) -> str | None:
    """Return a reply's text; None for none, which an empty one is not."""
    if value is None:
        return None
    return join_parts(value)


def _read_repeat(value: Any) -> int | None:
    number = read_stated_value(value)
    if number is None:
        return None
    return read_count(int(number))


_READ: Mapping[str, Callable[[Any], Any]] = {
    "id": join_parts, "question": join_messages, "answer": read_expected, "model": join_parts, "suite": join_parts,
    "template": join_parts, "finish_reason": join_parts, "error": join_parts, "judge": join_parts,
    "response": _read_reply, "repeat": _read_repeat,
}  # fmt: skip
"""Parsers of a column's cells, by our name for it; scores excepted."""
_BLANK: Mapping[str, Any] = {ours: parse(None) for ours, parse in _READ.items()}


def read(source: Source) -> Iterator[Found]:
    """Read a table.

    Raises:
        InputError: a column is missing, or none has the question, or the score.
    """
    columns = _find_columns(source)
    _check_columns(source, columns)
    metrics, default_model = {columns["score"]: columns["score"]}, source.path.name.partition(".")[0]
    if "score" not in source.columns:
        metrics |= {str(name): str(name) for name in source.head if str(name).strip().lower() in NAMES["score"]}
    used_columns = {*columns.values(), *metrics.values()}
    extra_columns = [name for name in source.head if str(name) not in used_columns]
    parsers = [(ours, columns[ours], parse) for ours, parse in _READ.items() if ours in columns]
    for row in source.rows():
        # The fields of a row by their names in `Recorded`, but for the judge, who is one of each score.
        cells = dict(_BLANK)
        for ours, column, parse in parsers:
            cells[ours] = parse(row.get(column))
        judge, error = cells.pop("judge"), cells["error"]
        facts = _NOTHING
        if extra_columns:
            facts = {str(name): row.get(name) for name in extra_columns}
        yield Recorded(
            scores={
                name: build_score(row.get(column), judge=judge, error=error) for name, column in metrics.items()
            },
            target=cells.pop("model") or default_model,
            facts=facts,
            **cells,
        )
    possible_scores = [str(name) for name in extra_columns if _is_share(source.head[name])]
    if possible_scores:
        yield (
            f"Possible scores that are not read: {', '.join(possible_scores)}. "
            f"To read one: --columns score={possible_scores[0]}"
        )


def _is_share(value: Any) -> bool:
    number = read_stated_value(value)
    return number is not None and 0 <= number <= 1


def _check_columns(source: Source, columns: Mapping[str, str]) -> None:
    """Refuse a table without a score, or without questions and their ids."""
    if "score" in columns and {"id", "question"} & columns.keys():
        return
    lacking = "score"
    if "score" in columns:
        lacking = "question"
    raise InputError(
        f"{source.path}: found the columns {', '.join(map(str, source.head)) or 'none'}, none of them a "
        f"{lacking}. Name it: --columns {lacking}=COLUMN"
    )
