"""Any table: CSV, JSONL, Parquet, a JSON list; columns are recognised by name, or named by the user."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from basic_control.data.errors import InputError
from basic_control.tasks.exchange.records import (
    Found,
    Recorded,
    build_score,
    conversation,
    read_count,
    read_expected,
    read_number,
    text_of,
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


def _named(source: Source) -> dict[str, str]:
    """Return the file's columns by our names: those that the user gives, then those recognised."""
    there = {str(name).strip().lower(): str(name) for name in reversed([*source.head])}
    found = {ours: there[name] for ours, names in NAMES.items() for name in reversed(names) if name in there}
    for ours, theirs in source.columns.items():
        if ours not in NAMES:
            raise InputError(f"--columns {ours}={theirs}: expected one of {', '.join(NAMES)}.")
        if theirs not in source.head:
            listed = ", ".join(map(str, source.head))
            raise InputError(
                f"{source.path}: found no column {theirs!r}, given by --columns; expected one of {listed}."
            )
    taken = {*source.columns.values()}
    return {**{ours: one for ours, one in found.items() if one not in taken}, **source.columns}


def fits(source: Source) -> bool:
    """Return whether columns for a question or its id, and for a score, are recognised."""
    found = _named(source)
    return "score" in found and bool({"id", "question"} & found.keys())


_READ: Mapping[str, Callable[[Any], Any]] = {
    "id": text_of, "question": conversation, "answer": read_expected, "model": text_of, "suite": text_of,
    "template": text_of, "finish_reason": text_of, "error": text_of, "judge": text_of,
    "response": lambda value: None if value is None else text_of(value),
    "repeat": lambda value: None if (turn := read_number(value)) is None else read_count(int(turn)),
}  # fmt: skip
"""Parsers of a column's cells, by our name for it; scores excepted."""
_BLANK: Mapping[str, Any] = {ours: convert(None) for ours, convert in _READ.items()}


def read(source: Source) -> Iterator[Found]:
    """Read a table.

    Raises:
        InputError: a column is missing, or none has the question, or the score.
    """
    named = _named(source)
    if "score" not in named or not {"id", "question"} & named.keys():
        lacking = "score" if "score" not in named else "question"
        raise InputError(
            f"{source.path}: found the columns {', '.join(map(str, source.head)) or 'none'}, none of them a "
            f"{lacking}. Name it: --columns {lacking}=COLUMN"
        )
    metrics, unnamed = {named["score"]: named["score"]}, source.path.name.partition(".")[0]
    if "score" not in source.columns:
        metrics |= {str(name): str(name) for name in source.head if str(name).strip().lower() in NAMES["score"]}
    taken = {*named.values(), *metrics.values()}
    more = [name for name in source.head if str(name) not in taken]
    there = [(ours, named[ours], convert) for ours, convert in _READ.items() if ours in named]
    for row in source.rows():
        given = dict(_BLANK)
        for ours, column, convert in there:
            given[ours] = convert(row.get(column))
        judge, error = given.pop("judge"), given["error"]
        yield Recorded(
            scores={
                name: build_score(row.get(column), judge=judge, error=error) for name, column in metrics.items()
            },
            target=given.pop("model") or unnamed,
            facts={str(name): row.get(name) for name in more} if more else _NOTHING,
            **given,
        )
    shares = {str(name): read_number(source.head[name]) for name in more}
    if passed := [name for name, one in shares.items() if one is not None and 0 <= one <= 1]:
        yield f"Possible scores that are not read: {', '.join(passed)}. To read one: --columns score={passed[0]}"
