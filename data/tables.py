"""The schemas of the tables that flow, checked at every read and write."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from data.errors import InputError


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table's name, its columns in order, and what makes one of its rows one of a kind.

    Later stages do not depend on the `volatile` columns, which tell of one run only. Tables of earlier versions may
    lack the `added` columns.
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
            InputError: it has not; the message names the columns.
        """
        expected = dict(self.columns)
        if lacks := [name for name in self.added if name not in frame.columns]:
            missing = (pl.lit(None, expected[name]).alias(name) for name in lacks)
            frame = frame.with_columns(*missing).select(
                *(n for n in expected if n in {*frame.columns, *self.added})
            )
        found = dict(frame.schema)
        if found != expected:
            wrong = [
                f"{name}: {found.get(name, 'missing')} instead of {expected.get(name, 'nothing')}"
                for name in [*expected, *(n for n in found if n not in expected)]
                if found.get(name) != expected.get(name)
            ]
            if not wrong:
                wrong = [f"columns in the order {list(found)} instead of {list(expected)}"]
            raise InputError(f"table {self.name}{where and f' in {where}'}: {'; '.join(wrong)}.")
        if self.key and frame.select(pl.struct(self.key).is_duplicated().any()).item():
            raise InputError(f"table {self.name}{where and f' in {where}'}: rows repeat in {', '.join(self.key)}.")
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
"""A question and what is expected; the added columns say which question it is, whatever prompt asks it."""
REQUESTS = TableSchema(
    "requests",
    {
        "request_id": _S, "item_id": _S, "model": _S, "step": _S, "subject": _S, "subject_repeat": _I, "key": _S,
        "repeat": _I, "payload": _S,
    },
    added=("subject", "subject_repeat"),
)  # fmt: skip
"""A judge's request tells which reply it is about (`subject`, `subject_repeat`) and which question (`key`)."""
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
"""A cited source and what was found of it; `fetched_at` is null where nothing was fetched."""
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

MEANINGS: Mapping[str, str] = {
    "item_id": "the item: a hash of what makes it",
    "suite": "the suite's name",
    "family": "the family, or the loader's name for such rows",
    "version": "of the unit that made it: family, loader or metric",
    "level": "easy, medium, hard, a rung of a scale, or nothing",
    "language": "en, ru, zh, …; nothing where it is not known",
    "template": "rows of one template are not independent: intervals are clustered by it",
    "seed": "the seed that the item was drawn with",
    "index": "its number within family, level, language and seed",
    "prompt": "what is asked, before a system message and a suite's own prompt",
    "answer": "what is expected",
    "facts": "JSON: what prompts, verifiers and metrics may use of the row",
    "question_id": "the question, whatever prompt asks it: a hash of what is asked, or the row's declared id",
    "text_digest": "a hash of what is asked; the same as `question_id` unless that is declared",
    "answer_digest": "a hash of what is expected; nothing where nothing is",
    "request_id": "a hash of all that could change the reply",
    "model": "the model, with its prompt's name where a suite has several; in requests also a judge",
    "step": "which question: `answer`, or a judge's step",
    "subject": "of a judge's request: whose reply it is about",
    "subject_repeat": "of a judge's request: which of that model's repeats",
    "key": "of a judge's request: which part of the reply it is about",
    "repeat": "0 for the first time that a question is asked, 1 for the second, …",
    "payload": "JSON: messages and parameters as they are sent",
    "text": "the reply, without its thinking",
    "reasoning": "the reply's thinking",
    "error": "what went wrong, in words; nothing where it went well",
    "error_kind": "which kind of failure it was",
    "finish_reason": "why the reply ended: `stop`, `length`, …",
    "tokens_in": "tokens of the prompt, as the server counts them",
    "tokens_out": "tokens of the reply, thinking included",
    "extra": "JSON: what came back beside the text, such as an application's contexts",
    "latency_s": "seconds from the call to its end; a remembered reply keeps its first",
    "stop_tokens": "what the server leaked at the reply's end, which is no part of `text`; null where nothing",
    "cached": "whether this run took it from the reply cache",
    "correct": "the verifier's verdict; null where there is none",
    "status": "`scored`, `no_answer`, `truncated`, `model_error`, `judge_failed` or `not_applicable`",
    "reason": "the verdict's or score's reason, in words",
    "details": "JSON: the parts behind it",
    "metric": "the metric, or a part of it (`cot.l1`)",
    "judge": "the judge's name",
    "found": "JSON: what the judge said, read and checked",
    "failure": "why there is no judgement: the call failed, or its reply could not be read",
    "n_calls": "calls that it took",
    "n_repairs": "replies that had to be asked for again because they could not be read",
    "number": "the citation's number in the reply",
    "source_id": "the cited passage",
    "url": "the cited address",
    "final_url": "where it led",
    "http_status": "what its server answered; null where it was not asked",
    "digest": "SHA-256 of what was fetched",
    "fetched_at": "when, in UTC; null where nothing was fetched",
    "match": "how well the quoted text is found there, 0 to 100",
    "span": "the text that was found",
    "verdict": "VERIFIED, UNCERTAIN or LIKELY_FABRICATED",
    "value": "the score, 0 to 1; null unless there is one",
    "n_asked": "rows that were asked",
    "n_scored": "rows with a score",
    "n_no_answer": "rows whose reply holds no answer: scored 0, counted apart",
    "n_model_error": "rows whose call failed",
    "n_judge_failed": "rows whose judge failed",
    "n_not_applicable": "rows to which the metric does not apply",
    "n_truncated": "rows whose reply was truncated and is not right",
    "mean": "their mean, 0 to 1",
    "ci_low": "the lower end of its 95 % interval",
    "ci_high": "the upper end",
    "upper": "the mean if all that is missing or truncated were right",
    "upper_low": "the lower end of that mean's interval",
    "upper_high": "the upper end of that mean's interval",
    "lower": "the mean if all that is missing were wrong",
    "lower_low": "the lower end of that mean's interval",
    "lower_high": "the upper end of that mean's interval",
}
"""What each column holds, for people (docs/reference.md); a name means the same in every table."""
