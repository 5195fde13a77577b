"""Convert recorded replies to the tables of a run: items, scores, replies.

Source: SPEC 15, 18.
"""

import marshal
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from tempfile import SpooledTemporaryFile
from typing import Any, NamedTuple

import polars as pl

from data.draw import content_id
from data.errors import InputError
from data.questions import identify, identify_text
from data.records import Item
from data.tables import ITEMS, SCORES
from tasks.exchange.records import UNREAD, Log, Recorded, Stated

UNNAMED = "results"
"""The suite of files that name none."""
_BEGINNING = 300
"""Characters kept of questions and expected answers; the full texts are read when they are shown."""
_SHOWN = 60
_KEY = {name: SCORES.columns[name] for name in ("item_id", "model", "repeat")}
Scales = Mapping[str, tuple[float, float]]
"""The minimum and maximum of metrics whose values lie outside 0 and 1."""


@dataclass(frozen=True, slots=True)
class LogTables:
    """A log's tables; `replies` has item_id, model, repeat, error, and `at`, the position of its texts.

    `metrics` are those of `scores`, in order. `kinds` maps each metric to `yes_no`, `share` or `rating` (of a
    declared scale).
    """

    items: pl.DataFrame
    scores: pl.DataFrame
    replies: pl.DataFrame
    metrics: tuple[str, ...]
    kinds: Mapping[str, str]
    remarks: tuple[str, ...]


class Row(NamedTuple):
    """A recorded reply without its texts, which are at `at`: there may be hundreds of thousands.

    `prompt` and `answer` are their beginnings, `words` distinguishes the question from others of its id, None
    without a text; the digests are those of the question and of the expected answer.
    """

    id: str
    suite: str
    target: str
    repeat: int
    template: str
    cut: bool
    error: str
    scores: Mapping[str, Stated]
    words: str | None
    text_digest: str
    answer_digest: str
    prompt: str
    answer: str
    at: int

    @property
    def asked(self) -> tuple[str, str]:
        """The question's id and text."""
        return self.id, self.words or ""


class Texts:
    """Each row's question, answer and response, in a temporary unnamed file: they may be gigabytes."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=8 << 20)  # noqa: SIM115 - it lives as long as its texts
        self._end = 0

    def keep(self, *texts: str | None) -> int:
        """Store a row's texts, and return their position.

        Raises:
            InputError: the disk is full.
        """
        whole = marshal.dumps(texts)
        try:
            self._file.write(whole)
        except OSError as error:
            raise InputError(
                f"the texts of a file cannot be kept in the temporary folder ({error.strerror}); name another by "
                "TMPDIR."
            ) from error
        at, self._end = self._end, self._end + len(whole)
        return at

    def read(self, at: int) -> list[str | None]:
        """Return the question, answer and response of a row; None for a response that was never written."""
        self._file.seek(at)
        return [*marshal.load(self._file)]  # noqa: S302 - of what was written above


def slimmed(rows: Iterable[Recorded], texts: Texts) -> Iterator[Row]:
    """Yield rows without their texts, which are stored in `texts`.

    Raises:
        InputError: a row names no question.
    """
    for row in rows:
        blank = not row.question or row.question.isspace()
        if blank and not row.id:
            raise InputError("a row names no question: found neither a text nor an id, expected one of them.")
        asked = row.id if blank else row.question
        answer = row.answer if isinstance(row.answer, str) else "; ".join(row.answer)
        words, expected = identify_text(asked, answer)
        text = words
        if row.choices or row.contexts or (answer is not row.answer and len(row.answer) > 1):
            facts = {"question": asked, "options": row.choices, "contexts": row.contexts, "answer": row.answer}
            _, text, expected = identify(Item(prompt="", answer=answer, facts=facts))
        yield Row(
            row.id, row.suite or UNNAMED, row.target, row.repeat or 0, row.template, row.finish_reason == "length",
            row.error, row.scores, None if blank else words, text, expected, asked[:_BEGINNING],
            answer[:_BEGINNING], texts.keep(asked, answer, row.response),
        )  # fmt: skip


def shared_ids(logs: Sequence[Log[Row]], known: Collection[str] = ()) -> set[str]:
    """Return the declared ids that name one question in at least two logs (or in `known`, those of runs).

    An id with several texts in one log names none, nor do row numbers if there are texts.
    """
    seen = Counter(dict.fromkeys(known, 1))
    for log in logs:
        texts: dict[str, str | None] = {}
        several = {row.id for row in log.rows if row.id and texts.setdefault(row.id, row.words) != row.words}
        if not (_counting(texts) and all(row.id and row.words is not None for row in log.rows)):
            seen.update(one for one in texts if one not in several)
    return {one for one, n in seen.items() if n > 1}


def _counting(ids: Collection[str]) -> bool:
    """Return whether ids only count rows, from 0 or 1 on."""
    return any(all(one == str(n) for n, one in enumerate(ids, first)) for first in (0, 1))


def _refuse_twofold(log: Log[Row], *, by_id: bool) -> None:
    """Reject ids with several texts in one suite; row numbers need not be ids if there are texts."""
    texts: dict[tuple[str, str, str], Row] = {}
    twice: dict[str, tuple[str, str]] = {}
    for row in log.rows:
        first = texts.setdefault((row.suite, row.target, row.id), row)
        if row.id and first.words != row.words:
            twice[row.id] = first.prompt, row.prompt
    if twice and (by_id or not _counting({row.id: None for row in log.rows})):
        (one, (text, other)), n = next(iter(twice.items())), len(twice)
        raise InputError(
            f"found {n} ids with several texts in one suite, such as {one!r} for {text[:_SHOWN]!r} and for "
            f"{other[:_SHOWN]!r}; expected one text for each id. Correct them, or name a table's column of "
            "suites: --columns suite=…"
        )


def tabulate(
    log: Log[Row],
    *,
    ids: Collection[str] = (),
    by_id: bool = False,
    scales: Scales | None = None,
    apart: Collection[str] = (),
) -> LogTables:
    """Return a log's tables.

    `ids` are the declared ids that count (others add nothing to the question's text); `by_id`: not all sides have
    texts, so ids alone identify questions. `apart` are metrics that are kept though they equal another.

    Raises:
        InputError: no score lies in [0, 1], or an id names two texts.
    """
    _refuse_twofold(log, by_id=by_id)
    kept, kinds, remarks = _scaled(log, scales or {}, apart)
    items: dict[str, tuple[str, ...]] = {}
    scores: list[tuple[Any, ...]] = []
    replies: list[tuple[Any, ...]] = []
    turns = Counter[tuple[str, str]]()
    # Rows without a known order count in the file's order.
    for row in sorted(log.rows, key=attrgetter("repeat")):
        text, expected = row.text_digest, row.answer_digest
        if by_id and row.id and row.words is not None:
            text, _ = identify_text(row.id, "")
        named = row.id if row.id in ids else text
        item_id = content_id("recorded", row.suite, named, text, expected)
        items.setdefault(item_id, (item_id, row.suite, row.template, row.prompt, row.answer, named, text, expected))
        turn = turns[item_id, row.target]
        turns[item_id, row.target] += 1
        key = (item_id, row.target, turn)
        replies.append((*key, row.at, row.error or None))
        scores += ((*key, name, *_cell(row, one, kept[name])) for name, one in row.scores.items() if name in kept)
    said = _frame(replies, {**_KEY, "at": pl.Int64(), "error": pl.String()})
    made = _frame(scores, {name: SCORES.columns[name] for name in (*_KEY, "metric", "value", "status", "reason")})
    made = made.with_columns(version=pl.lit(0, SCORES.columns["version"]), details=pl.lit("{}"))
    checked = SCORES.check(made.select([*SCORES.columns]))
    return LogTables(_items(items), checked, said, tuple(kept), kinds, tuple(remarks))


def _frame(rows: list[tuple[Any, ...]], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Make a frame of rows, and release them: there may be many."""
    columns = [*zip(*rows, strict=True)] or [()] * len(schema)
    rows.clear()
    return pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=dict(schema))


def _items(rows: dict[str, tuple[str, ...]]) -> pl.DataFrame:
    names = ("item_id", "suite", "template", "prompt", "answer", "question_id", "text_digest", "answer_digest")
    blank = {name: pl.lit("") for name in ("family", "level", "language")} | {"facts": pl.lit("{}")}
    nothing = {name: pl.lit(None, kind) for name, kind in ITEMS.columns.items() if name not in {*names, *blank}}
    found = _frame([*rows.values()], {name: ITEMS.columns[name] for name in names})
    return found.with_columns(**blank, **nothing).select([*ITEMS.columns])


def _cell(row: Row, one: Stated, scale: tuple[float, float]) -> tuple[float | None, str, str]:
    """Return a score's value, status and reason; a cut reply that is not fully right is `truncated`."""
    if one.value is None or row.error:
        return None, "model_error" if row.error else one.status, one.reason or row.error[:200]
    low, high = scale
    value = min(max((one.value - low) / (high - low), 0.0), 1.0)
    return value, "truncated" if row.cut and value < 1 else "scored", one.reason


def _values(log: Log[Row]) -> dict[str, list[float | None]]:
    return {
        name: [row.scores[name].value if name in row.scores else None for row in log.rows] for name in log.metrics
    }


def differing(logs: Iterable[Log[Row]]) -> set[str]:
    """Return the metrics that equal an earlier one in every row in some logs, but not in others."""
    alike, apart = set[str](), set[str]()
    for log in logs:
        values = [*_values(log).items()]
        for n, (name, own) in enumerate(values):
            (alike if any(own == other for _, other in values[:n]) else apart).add(name)
    return alike & apart


def _scaled(
    log: Log[Row], scales: Scales, apart: Collection[str]
) -> tuple[dict[str, tuple[float, float]], dict[str, str], list[str]]:
    """Return the metrics with a scale, their scales and kinds; and why others are left out."""
    values = _values(log)
    kept: dict[str, tuple[float, float]] = {}
    kinds, remarks = {}, list(log.remarks)
    for name, own in values.items():
        known = [one for one in own if one is not None]
        low, high = scales.get(name, (0.0, 1.0))
        least, most = min(known, default=low), max(known, default=high)
        if least < low or most > high:
            what = f"{name}: found values from {least:g} to {most:g}, expected {low:g} to {high:g}; it is left out."
            remarks.append(f"{what} Say the least and the most that it can be: --scale {name}={least:g}..{most:g}")
        elif name not in apart and (same := next((other for other in kept if known and values[other] == own), "")):
            remarks.append(f"{name} is the same as {same} in every row, so it is not compared beside it.")
        elif known or not kept:
            kept[name] = (low, high)
            plain = {*known} <= {low, high}
            kinds[name] = "rating" if name in scales else "yes_no" if plain else "share"
    if not kept:
        failed = [row.error for row in log.rows if row.error]
        why = f"{len(failed)} of {len(log.rows)} rows failed ({failed[0]}). " if failed else ""
        raise InputError(f"found no score in [0, 1]. {why}{' '.join(remarks)}".rstrip())
    if not any(one is not None for name in kept for one in values[name]):
        unread = next((one.reason for row in log.rows for one in row.scores.values() if UNREAD in one.reason), "")
        if unread:
            raise InputError(f"found {unread}; expected 0 to 1, true or false, pass or fail, C or I, yes or no.")
    return kept, kinds, remarks


def judges_of(log: Log[Row]) -> dict[str, str]:
    """Return the judges' names by the metrics that they scored."""
    given = ((metric, one.judge) for row in log.rows for metric, one in row.scores.items() if one.judge)
    named: dict[str, dict[str, None]] = {}
    for metric, judge in given:
        named.setdefault(metric, {})[judge] = None
    return {metric: ", ".join(judges) for metric, judges in named.items()}
