"""Any table: CSV, JSONL, Parquet, a JSON list; its columns are recognised, or the user names them."""

from collections.abc import Iterator, Mapping
from typing import Any

from data.errors import InputError
from tasks.exchange.records import Log, Recorded, Stated, conversation, counted, expected, number, stated, text_of
from tasks.exchange.source import Source

TOOL = "a table"
FORM = "table"
_NOTHING: Mapping[str, Any] = {}
ANY = True
"""It reads what no other adapter knows."""
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
"""Ours, and what the columns may be called."""


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
                f"{source.path}: found no column {theirs!r}, which --columns names; there are {listed}."
            )
    taken = {*source.columns.values()}
    return {**{ours: one for ours, one in found.items() if one not in taken}, **source.columns}


def fits(source: Source) -> bool:
    """Tell whether the columns of a question, or its id, and of a score are recognised."""
    found = _named(source)
    return "score" in found and bool({"id", "question"} & found.keys())


def _scores(row: Mapping[str, Any], metrics: Mapping[str, str], judge: str, error: str) -> dict[str, Stated]:
    return {name: stated(row.get(column), judge=judge, error=error) for name, column in metrics.items()}


def _metrics(source: Source, named: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of scores by the metric's name, the one named first."""
    main = named["score"]
    others = {} if "score" in source.columns else {
        str(name): str(name) for name in source.head if str(name).strip().lower() in NAMES["score"]
    }  # fmt: skip
    return {main: main, **others}


def _rows(source: Source, named: Mapping[str, str]) -> Iterator[Recorded]:
    taken = {*named.values(), *_metrics(source, named).values()}
    more = [name for name in source.head if str(name) not in taken]
    metrics, unnamed = _metrics(source, named), source.path.name.partition(".")[0]

    def cell(row: Mapping[str, Any], ours: str) -> Any:
        return row.get(named[ours]) if ours in named else None

    for row in source.rows():
        said, error = cell(row, "response"), text_of(cell(row, "error"))
        turn = number(cell(row, "repeat"))
        yield Recorded(
            text_of(cell(row, "id")),
            conversation(cell(row, "question")),
            expected(cell(row, "answer")),
            None if said is None else text_of(said),
            _scores(row, metrics, text_of(cell(row, "judge")), error),
            text_of(cell(row, "model")) or unnamed,
            text_of(cell(row, "suite")),
            repeat=None if turn is None else counted(int(turn)),
            template=text_of(cell(row, "template")),
            finish_reason=text_of(cell(row, "finish_reason")),
            error=error,
            facts={str(name): row.get(name) for name in more} if more else _NOTHING,
        )


def read(source: Source) -> Log:
    """Read a table.

    Raises:
        InputError: a column is not there, or none says what is asked, or how it was scored.
    """
    named = _named(source)
    if "score" not in named or not {"id", "question"} & named.keys():
        lacking = "score" if "score" not in named else "question"
        raise InputError(
            f"{source.path}: found the columns {', '.join(map(str, source.head)) or 'none'}, none of them a "
            f"{lacking}. Name it: --columns {lacking}=COLUMN"
        )
    return Log(TOOL, tuple(_rows(source, named)), {})
