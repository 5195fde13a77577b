"""Convert recorded replies to the tables of a run: items, scores, replies.

Source: SPEC 15, 18.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from basic_control.data.draw import content_id
from basic_control.data.errors import InputError
from basic_control.data.messages import MESSAGES, SYSTEM, write_message, write_transcript
from basic_control.data.questions import identify_question, identify_text
from basic_control.data.records import Item, Message
from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.baseline import ComparedSide
from basic_control.metrics.analysis.other_tools import StatedScore
from basic_control.metrics.analysis.provenance import Provenance, SuiteRules
from basic_control.tasks.exchange.logs import UNREAD, Log, Material, Recorded
from basic_control.tasks.store.baselines import Tables
from basic_control.tasks.store.runs import Run

UNNAMED = "results"
"""The suite of files that name none."""
_SHOWN = 60
_BETWEEN = "\n\n"
_MOST_EXAMPLES = 100
"""Empty lines of a text that was sent after which its question may begin: a stranger's file may have a million."""
_S = pl.String()
_ROWS = {
    "id": _S, "suite": _S, "model": _S, "repeat": pl.Int64(), "template": _S, "cut": pl.Boolean(),
    "filtered": pl.Boolean(), "error": _S, "prompt": _S, "answer": _S, "text": _S, "words": _S, "text_digest": _S,
    "answer_digest": _S,
}  # fmt: skip
_STATED = {"row": pl.UInt32(), "metric": _S, "value": pl.Float64(), "status": _S, "judge": _S, "reason": _S}
Scales = Mapping[str, tuple[float, float]]
"""The minimum and maximum of metrics whose values lie outside 0 and 1; the other way round if less is better."""


@dataclass(frozen=True, slots=True)
class LogFrames:
    """A log's recorded replies (`rows`), and the scores stated of them (`stated`), by the number of the row.

    In `rows`, `words` is the digest of the question's text, null if only its id is known; `text_digest` also covers
    options and contexts.
    """

    rows: pl.DataFrame
    stated: pl.DataFrame
    facts: Mapping[str, str]
    remarks: tuple[str, ...]
    lower_is_better: frozenset[str]

    @property
    def metrics(self) -> list[str]:
        """The scores that any reply has, the main one first."""
        return self.stated["metric"].unique(maintain_order=True).to_list()

    def values(self) -> dict[str, pl.DataFrame]:
        """Return each metric's values with the numbers of their rows, missing ones left out."""
        valued = self.stated.drop_nulls("value")
        return {name: valued.filter(metric=name).select("row", "value") for name in self.metrics}

    def judges(self) -> dict[str, str]:
        """Return the judges' names by the metrics that they scored."""
        judged = self.stated.filter(pl.col("judge") != "").group_by("metric", maintain_order=True)
        return dict(judged.agg(pl.col("judge").unique(maintain_order=True).str.join(", ")).iter_rows())


@dataclass(frozen=True, slots=True)
class Side(ComparedSide):
    """A side as it was read; the scores of a file are those that it states, its provenance what else it states.

    `suites` are a run's. `judged` maps a file's metrics to their judges, `kinds` to `yes_no`, `share` or `rating`
    (of a declared scale); `verified` are its own scores beside ours. `run` is our run, `tables` are those by which
    the replies of a run or a baseline can be scored again.
    """

    suites: tuple[Suite, ...] = ()
    judged: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    verified: tuple[StatedScore, ...] = ()
    run: Run | None = None
    tables: Tables = field(default_factory=dict)

    @property
    def is_file(self) -> bool:
        """Whether it is a file of another tool."""
        return not self.tables

    @property
    def metrics_by_suite(self) -> dict[str, tuple[str, ...]]:
        """The compared metrics of each suite, the main one first."""
        return {suite: rules.score for suite, rules in self.provenance.suites.items()}

    @property
    def suite_metrics(self) -> list[tuple[str, str]]:
        """The compared metrics with their suites: pairs of a suite and a metric."""
        pairs: list[tuple[str, str]] = []
        for suite, metrics in self.metrics_by_suite.items():
            pairs.extend((suite, metric) for metric in metrics)
        return pairs


def ask_as_sent(log: Log, digests: Collection[str]) -> Log:
    """Return a log whose rows are asked as they were sent, where that is a question of one of our runs.

    `digests` are those of our runs' questions. Examples may stand before a question, with empty lines between them.
    """
    if not digests:
        return log

    def name_question(row: Recorded) -> Recorded:
        for text in _list_endings(row.material.sent):
            if identify_text(text, "")[0] in digests:
                return row._replace(question=text, material=Material())
        for messages in _list_conversations(row):
            if _identify_conversation(messages, row.answer)[0] in digests:
                return row._replace(material=Material(messages=messages))
        return row

    return replace(log, rows=tuple(map(name_question, log.rows)))


def _list_endings(sent: str) -> Iterator[str]:
    """Yield what may be the question of a text that was sent: the whole, then what follows its last empty lines."""
    if not sent:
        return
    yield sent
    # A question may have empty lines itself: it is as long as possible.
    parts = sent.rsplit(_BETWEEN, _MOST_EXAMPLES)
    for start in range(1, len(parts)):
        yield _BETWEEN.join(parts[start:])


def _list_conversations(row: Recorded) -> Iterator[tuple[Message, ...]]:
    """Yield what may be the question of a conversation: the whole, then without its system messages.

    Behind worked examples it is the file's own question.
    """
    messages = row.turns.before
    if not row.turns.is_chat:
        return
    only_system = True
    for start in range(min(len(messages), _MOST_EXAMPLES)):
        ending = messages[start:]
        if only_system or write_transcript(ending) == row.question:
            yield ending
        only_system = only_system and messages[start].role in SYSTEM


def _identify_conversation(messages: Sequence[Message], answer: str | list[str]) -> tuple[str, str]:
    """Return the digests of a conversation that is a question, and of its expected answer, as of a row of ours."""
    facts = {MESSAGES: [*map(write_message, messages)], "answer": answer}
    text = answer if isinstance(answer, str) else "; ".join(answer)
    _, text_digest, answer_digest = identify_question(Item(prompt="", answer=text, facts=facts))
    return text_digest, answer_digest


def build_frames(log: Log) -> LogFrames:
    """Return a log's replies and scores as frames."""
    stated: list[tuple[Any, ...]] = []
    for n, row in enumerate(log.rows):
        for name, score in row.scores.items():
            stated.append((n, name, score.value, score.status, score.judge, score.reason))
    return LogFrames(
        _frame([*map(_row, log.rows)], _ROWS), _frame(stated, _STATED), log.facts, log.remarks, log.lower_is_better
    )


def _frame(rows: Sequence[tuple[Any, ...]], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    columns = [*zip(*rows, strict=True)] or [()] * len(schema)
    return pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=dict(schema))


def _row(row: Recorded) -> tuple[Any, ...]:
    """Return a row of `LogFrames.rows`."""
    blank = not row.question.strip()
    question = row.id if blank else row.question
    # Alternatives are one text here, and stay apart in the question's identity below.
    answer = row.answer if isinstance(row.answer, str) else "; ".join(row.answer)
    words, expected = identify_text(question, answer)
    text = words
    choices, contexts, _, messages = row.material
    if messages:
        text, expected = _identify_conversation(messages, row.answer)
    elif choices or contexts or (isinstance(row.answer, list) and len(row.answer) > 1):
        facts = {"question": question, "options": choices, "contexts": contexts, "answer": row.answer}
        _, text, expected = identify_question(Item(prompt="", answer=answer, facts=facts))
    return (
        row.id, row.suite or UNNAMED, row.target, row.repeat or 0, row.template, row.cut, row.is_filtered,
        row.error, question, answer, row.response, None if blank else words, text, expected,
    )  # fmt: skip


def find_shared_ids(logs: Iterable[LogFrames], ids_of_runs: Collection[str] = ()) -> set[str]:
    """Return the declared ids that name one question in at least two logs (or in `known`, those of runs).

    An id with several texts in one log names none, nor do row numbers if there are texts.
    """
    earlier_ids, shared = {*ids_of_runs}, set[str]()
    for log in logs:
        texts = pl.col("words").n_unique()
        declared = log.rows.filter(pl.col("id") != "").group_by("id", maintain_order=True).agg(texts)
        whole = (log.rows["id"] != "").all() and not log.rows["words"].null_count()
        if not (whole and _are_row_numbers(declared["id"].to_list())):
            log_ids = {*declared.filter(pl.col("words") == 1)["id"]}
            shared |= earlier_ids & log_ids
            earlier_ids |= log_ids
    return shared


def _are_row_numbers(ids: Sequence[str]) -> bool:
    """Return whether ids only count rows, from 0 or 1 on."""
    numbers = [*map(str, range(len(ids) + 1))]
    return [*ids] in (numbers[:-1], numbers[1:])


def _refuse_twofold(rows: pl.DataFrame, *, by_id: bool) -> None:
    """Reject ids with several texts in one suite; row numbers need not be ids if there are texts."""
    declared = rows.filter(pl.col("id") != "").with_columns(
        pl.col("words", "prompt").first().over("suite", "model", "id").name.prefix("first_")
    )
    twice = declared.filter(pl.col("words").ne_missing(pl.col("first_words")))
    if twice.height and (by_id or not _are_row_numbers(rows["id"].unique(maintain_order=True).to_list())):
        identifier, text, second = twice.select("id", "first_prompt", "prompt").row(0)
        raise InputError(
            f"found {twice['id'].n_unique()} ids with more than one text in a suite, such as {identifier!r} for "
            f"{text[:_SHOWN]!r} and for {second[:_SHOWN]!r}; expected one text for each id. Correct them, or name "
            "the column of suites: --columns suite=…"
        )


def tabulate(
    name: str, log: LogFrames, *, ids: Collection[str], by_id: bool, scales: Scales, apart: Collection[str]
) -> Side:
    """Return a log as a side of a comparison.

    `ids` are the declared ids that count (others add nothing to the question's text); `by_id`: not all sides have
    texts, so ids alone identify questions. `apart` are metrics that are kept though they equal another.

    Raises:
        InputError: no score lies in [0, 1], or an id names two texts.
    """
    _refuse_twofold(log.rows, by_id=by_id)
    scales_of_metrics, kinds, remarks = _scale_metrics(log, scales, apart)
    # Rows without a known order count in the file's order.
    rows = log.rows.with_row_index("row").sort("repeat", maintain_order=True)
    if by_id:
        digests = []
        for identifier, words, text_digest in rows.select("id", "words", "text_digest").iter_rows():
            is_named = identifier and words is not None
            digests.append(identify_text(identifier, "")[0] if is_named else text_digest)
        rows = rows.with_columns(text_digest=pl.Series(digests, dtype=pl.String))
    key = pl.when(pl.col("id").is_in([*ids])).then("id").otherwise("text_digest")
    rows = rows.with_columns(question_id=key)
    identity = rows.select("suite", "question_id", "text_digest", "answer_digest").iter_rows()
    rows = rows.with_columns(
        item_id=pl.Series([content_id("recorded", *identifier) for identifier in identity], dtype=pl.String),
        error=pl.when(pl.col("error") != "").then("error"),
    ).with_columns(repeat=pl.int_range(pl.len()).over("item_id", "model"))
    blank = {name: pl.lit("") for name in ("family", "level", "language")} | {"facts": pl.lit("{}")}
    nothing = {name: pl.lit(None, ITEMS.columns[name]) for name in ("version", "seed", "index")}
    items = rows.unique("item_id", keep="first", maintain_order=True).with_columns(**blank, **nothing)
    suite_of = items.select("item_id", "suite")
    scores = _scores(rows, log.stated, scales_of_metrics).join(suite_of, on="item_id", maintain_order="left")
    suites = {}
    for (suite,), suite_scores in scores.group_by("suite", maintain_order=True):
        present = {*suite_scores["metric"]}
        suites[str(suite)] = SuiteRules(tuple(metric for metric in scales_of_metrics if metric in present))
    return Side(
        name,
        items.select([*ITEMS.columns]),
        scores,
        rows.select("item_id", "model", "repeat", "text", "error"),
        Provenance(suites, tested=log.facts),
        judged=log.judges(),
        kinds=kinds,
        remarks=tuple(remarks),
    )


def _scores(rows: pl.DataFrame, stated: pl.DataFrame, scales_of_metrics: Scales) -> pl.DataFrame:
    """Return the scores table; a score of a truncated reply that is not fully right is `truncated`."""
    ends = pl.DataFrame(
        [(name, *scale) for name, scale in scales_of_metrics.items()], ["metric", "low", "high"], orient="row"
    )
    keys = rows.select("row", "item_id", "model", "repeat", "cut", "filtered", "error")
    joined = keys.join(stated, on="row", maintain_order="left_right").join(ends, on="metric", maintain_order="left")
    failed, valued = pl.col("error").is_not_null(), pl.col("value").is_not_null()
    scaled = ((pl.col("value") - pl.col("low")) / (pl.col("high") - pl.col("low"))).clip(0, 1) + 0.0  # no -0
    complete = joined.with_columns(
        value=pl.when(~failed).then(scaled),
        # What the other tool has scored stays scored, whatever stopped the reply.
        status=pl.when((failed | ~valued) & pl.col("filtered"))
        .then(pl.lit("filtered"))
        .when(failed)
        .then(pl.lit("model_error"))
        .when(valued & pl.col("cut") & (scaled < 1))
        .then(pl.lit("truncated"))
        .when(valued)
        .then(pl.lit("scored"))
        .otherwise("status"),
        reason=pl.when(pl.col("reason") != "")
        .then("reason")
        .otherwise(pl.col("error").str.head(200).fill_null("")),
        version=pl.lit(0, SCORES.columns["version"]),
        details=pl.lit("{}"),
    )
    return SCORES.check(complete.select([*SCORES.columns]))


def find_differing(logs: Iterable[LogFrames]) -> set[str]:
    """Return the metrics that equal an earlier one in every row in some logs, but not in others."""
    equal, apart = set[str](), set[str]()
    for log in logs:
        frames: list[pl.DataFrame] = []
        for name, frame in log.values().items():
            if any(frame.equals(earlier) for earlier in frames):
                equal.add(name)
            else:
                apart.add(name)
            frames.append(frame)
    return equal & apart


def _scale_metrics(
    log: LogFrames, scales: Scales, apart: Collection[str]
) -> tuple[dict[str, tuple[float, float]], dict[str, str], list[str]]:
    """Return the metrics with a scale, their scales and kinds; and why others are left out."""
    values = log.values()
    kept_scales: dict[str, tuple[float, float]] = {}
    kinds, remarks = {}, list(log.remarks)

    def is_like(earlier: str, name: str) -> bool:
        may_equal = name not in apart and (earlier in log.lower_is_better) == (name in log.lower_is_better)
        return may_equal and values[name].height > 0 and values[earlier].equals(values[name])

    # A value outside its scale would be read as another one: the metric is left out, and the message says how to.
    for name, frame in values.items():
        numbers = frame["value"].to_list()
        low, high = scales.get(name, (0.0, 1.0))
        smallest, greatest = min(numbers, default=low), max(numbers, default=high)
        if smallest < low or greatest > high:
            remarks.append(
                f"{name}: found values from {smallest:g} to {greatest:g}, expected {low:g} to {high:g}; left out. "
                f"Give its minimum and maximum: --scale {name}={smallest:g}..{greatest:g}"
            )
            continue
        twins = [earlier for earlier in kept_scales if is_like(earlier, name)]
        if twins:
            remarks.append(f"{name} is the same as {twins[0]} in every row, so it is not compared separately.")
        elif numbers or not kept_scales:
            kept_scales[name] = (low, high)
            if name in log.lower_is_better:
                kept_scales[name] = (high, low)
                remarks.append(f"{name}: less is better; {low:g} counts as 100 %, {high:g} as 0 %.")
            kinds[name] = "yes_no" if {*numbers} <= {low, high} else "share"
            if name in scales:
                kinds[name] = "rating"
    _refuse_unscored(log, kept_scales, remarks)
    return kept_scales, kinds, remarks


def _refuse_unscored(log: LogFrames, names: Collection[str], remarks: Iterable[str]) -> None:
    """Reject a log none of whose metrics has a score that can be compared; `names` are those with a scale."""
    if not names:
        failed = log.rows.filter(pl.col("error") != "")["error"]
        why = ""
        if len(failed):
            why = f"{len(failed)} of {log.rows.height} rows failed ({failed[0]}). "
        raise InputError(f"found no score in [0, 1]. {why}{' '.join(remarks)}".rstrip())
    values = log.values()
    unread = log.stated.filter(pl.col("reason").str.contains(UNREAD, literal=True))["reason"]
    if len(unread) and not any(values[name].height for name in names):
        raise InputError(f"found {unread[0]}; expected 0 to 1, true or false, pass or fail, C or I, yes or no.")
