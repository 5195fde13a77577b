"""Table schemas, checked at every read and write."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from data.errors import InputError


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table's name, its columns in order, and the key that makes its rows unique.

    Later stages do not depend on the `volatile` columns, which describe one run only. Tables of earlier versions
    may lack the `added` columns.
    """

    name: str
    columns: Mapping[str, pl.DataType]
    key: tuple[str, ...] = ()
    volatile: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    def frame(self, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
        """Build a frame of this table from rows; a missing column is null."""
        return pl.DataFrame(list(rows), schema=dict(self.columns), orient="row", infer_schema_length=None)

    def check(self, frame: pl.DataFrame, *, where: str = "") -> pl.DataFrame:
        """Return the frame if it has exactly this table's columns, types and a unique key.

        Raises:
            InputError: it does not; the message names the columns.
        """
        expected = dict(self.columns)
        if lacks := [name for name in self.added if name not in frame.columns]:
            order = [name for name in expected if name in {*frame.columns, *lacks}]
            frame = frame.with_columns(pl.lit(None, expected[name]).alias(name) for name in lacks).select(order)
        found = dict(frame.schema)
        here = f"table {self.name}{where and f' in {where}'}"
        if found != expected:
            wrong = [
                f"{name}: {found.get(name, 'missing')} instead of {expected.get(name, 'nothing')}"
                for name in {**expected, **found}
                if found.get(name) != expected.get(name)
            ]
            raise InputError(f"{here}: {'; '.join(wrong)}.")
        if self.key and frame.select(pl.struct(self.key).is_duplicated().any()).item():
            raise InputError(f"{here}: rows repeat in {', '.join(self.key)}.")
        return frame


_S, _I, _F, _B = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()

ITEMS = TableSchema(
    "items",
    {
        "item_id": _S, "suite": _S, "family": _S, "version": _I, "level": _S, "language": _S,
        "template": _S, "seed": _I, "index": _I, "prompt": _S, "answer": _S, "facts": _S,
        "question_id": _S, "text_digest": _S, "answer_digest": _S,
    },
    key=("item_id",),
    added=("question_id", "text_digest", "answer_digest"),
)  # fmt: skip
"""A question and its expected answer; the added columns identify the question independently of the prompt."""
REQUESTS = TableSchema(
    "requests",
    {
        "request_id": _S, "item_id": _S, "model": _S, "step": _S, "subject": _S, "subject_repeat": _I, "key": _S,
        "repeat": _I, "payload": _S,
    },
    added=("subject", "subject_repeat"),
)  # fmt: skip
"""For a judge's request, `subject` and `subject_repeat` are the judged response, and `key` the question."""
RESPONSES = TableSchema(
    "responses",
    {
        "request_id": _S, "text": _S, "reasoning": _S, "error": _S, "error_kind": _S, "finish_reason": _S,
        "tokens_in": _I, "tokens_out": _I, "extra": _S, "latency_s": _F, "cached": _B, "stop_tokens": _S,
    },
    key=("request_id",),
    volatile=("cached",),
    added=("extra", "stop_tokens"),
)  # fmt: skip
"""A call and how it ended; `extra` is JSON: what came beside its text (as in `Reply`), null where nothing.
`stop_tokens` stood at the end of the text, where the server had leaked them; null where it had not."""
VERDICTS = TableSchema(
    "verdicts",
    {
        "item_id": _S, "model": _S, "repeat": _I, "correct": _B, "status": _S, "reason": _S, "details": _S,
    },
    key=("item_id", "model", "repeat"),
)  # fmt: skip
JUDGEMENTS = TableSchema(
    "judgements",
    {
        "item_id": _S, "model": _S, "repeat": _I, "metric": _S, "judge": _S, "found": _S, "failure": _S,
        "error": _S, "n_calls": _I, "n_repairs": _I,
    },
    key=("item_id", "model", "repeat", "metric", "judge"),
)  # fmt: skip
EVIDENCE = TableSchema(
    "evidence",
    {
        "item_id": _S, "model": _S, "repeat": _I, "number": _I, "source_id": _S, "url": _S, "final_url": _S,
        "http_status": _I, "digest": _S, "fetched_at": _S, "match": _F, "span": _S, "verdict": _S, "reason": _S,
    },
    key=("item_id", "model", "repeat", "number"),
    volatile=("fetched_at",),
)  # fmt: skip
"""A cited source and the finding on it; `fetched_at` is null if nothing was fetched."""
SCORES = TableSchema(
    "scores",
    {
        "item_id": _S, "model": _S, "repeat": _I, "metric": _S, "version": _I, "value": _F, "status": _S,
        "reason": _S, "details": _S,
    },
    key=("item_id", "model", "repeat", "metric"),
)  # fmt: skip
SUMMARY = TableSchema(
    "summary",
    {
        "suite": _S, "family": _S, "level": _S, "language": _S, "model": _S, "metric": _S,
        "n_asked": _I, "n_scored": _I, "n_no_answer": _I, "n_model_error": _I, "n_judge_failed": _I,
        "n_not_applicable": _I, "mean": _F, "ci_low": _F, "ci_high": _F,
        "n_truncated": _I, "upper": _F, "upper_low": _F, "upper_high": _F,
        "lower": _F, "lower_low": _F, "lower_high": _F,
    },
    key=("suite", "family", "level", "language", "model", "metric"),
    added=("n_truncated", "upper", "upper_low", "upper_high", "lower", "lower_low", "lower_high"),
)  # fmt: skip

TABLES: Mapping[str, TableSchema] = {
    t.name: t for t in (ITEMS, REQUESTS, RESPONSES, VERDICTS, JUDGEMENTS, EVIDENCE, SCORES, SUMMARY)
}
