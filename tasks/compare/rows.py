"""A run's rows for people, the worst first: what was asked, what came back, and what was expected.

Everything in a row may be a model's or a stranger's text: whoever shows it makes control characters visible.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import polars as pl

from basic_control.data.deciding import UNSCORED, find_holding_values, list_deciding
from basic_control.data.messages import SYSTEM, is_conversation, read_messages, write_call, write_transcript
from basic_control.data.prefixes import cut_shared_beginnings
from basic_control.data.questions import WHOLE, build_content, format_expected
from basic_control.data.records import Message
from basic_control.data.suites import ALL, Suite
from basic_control.data.tools import TOOL_CALLS
from basic_control.metrics.analysis.policy import TOLERANCE
from basic_control.metrics.analysis.score_remarks import Remark, list_remarks
from basic_control.tasks.compare.sides import select_deciding_scores
from basic_control.tasks.exchange.frames import Side

KEY = ("item_id", "model", "repeat")
ANSWERED = frozenset({"scored", "no_answer", "truncated"})
"""States of replies that count in a mean; all others are missing."""


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A reply as one metric scored it; `value` is in [0, 1], None where it is missing.

    `name` is the question's own one, '' if its row has none; `latency_s` is the reply's, None if it is not known.
    `failed_by` are the metrics by which the reply does not hold, where several make what decides its suite.
    """

    suite: str
    model: str
    metric: str
    question: str
    reply: str
    expected: str
    value: float | None
    status: str
    reason: str
    remarks: tuple[Remark, ...] = ()
    name: str = ""
    item_id: str = ""
    repeat: int = 0
    failed_by: tuple[str, ...] = ()
    latency_s: float | None = None

    @property
    def is_unscored(self) -> bool:
        """Whether nothing measured it although a score was due: no judge that counts, or no reply."""
        return self.status in UNSCORED

    @property
    def is_unjudged(self) -> bool:
        """Whether a reply came that no judge which counts has scored."""
        return self.status == "judge_failed"

    @property
    def is_failed(self) -> bool:
        """Whether it was scored and has less than the full score."""
        if self.status == "not_applicable" or self.is_unscored:
            return False
        return self.value is None or self.value < 1

    @property
    def is_imperfect(self) -> bool:
        """Whether it has less than the full score, or none although one was due."""
        return self.is_failed or self.is_unscored


def list_worst_first(side: Side, metrics: Collection[str] = ()) -> list[ShownRow]:
    """Return a run's rows by the metrics that decide, or by the `metrics` named; the worst first.

    Of several metrics a reply is shown by the one that gives it least. Replies that are not scored come after those
    that lost points; within equal values the order is that of asking.
    """
    scores = _sort_scores(side, metrics).unique(KEY, keep="first", maintain_order=True)
    failed_by = _find_failing_metrics(side)
    rows = _build_rows(side, scores)
    keys = scores.select(KEY).iter_rows()
    return [replace(row, failed_by=failed_by.get(key, ())) for row, key in zip(rows, keys, strict=True)]


def _find_failing_metrics(side: Side) -> dict[tuple[Any, ...], tuple[str, ...]]:
    """Return by reply the metrics by which it does not hold, of the suites that several metrics decide."""
    deciding = []
    for suite in side.suites:
        names = [name for name in list_deciding(suite) if name != ALL]
        least = find_holding_values(suite)
        if len(names) > 1:
            deciding.extend((suite.name, name, least.get(name, 1.0)) for name in names)
    schema = {"suite": pl.String, "metric": pl.String, "least": pl.Float64}
    scores = side.scores.join(pl.DataFrame(deciding, schema, orient="row"), on=["suite", "metric"])
    value = pl.col("value").fill_null(0)
    is_scored = ~pl.col("status").is_in([*UNSCORED, "not_applicable"])
    is_failed = is_scored & ((value == 0) | (value < pl.col("least") - TOLERANCE))
    failed = scores.filter(is_failed).group_by(KEY, maintain_order=True).agg("metric")
    return {tuple(key): tuple(names) for *key, names in failed.iter_rows()}


def list_failed(side: Side, metrics: Collection[str] = ()) -> list[ShownRow]:
    """Return a run's rows without the full score by each metric that decides, or is named; the worst first.

    A reply has a row for each metric by which it lost points or is not scored; `all`, which joins them, has none
    unless named.
    """
    scores = _sort_scores(side, metrics)
    if not metrics:
        scores = scores.filter(pl.col("metric") != ALL)
    return [row for row in _build_rows(side, scores) if row.is_imperfect]


def _build_rows(side: Side, scores: pl.DataFrame) -> list[ShownRow]:
    """Return a row for each score, in their order."""
    get_key = itemgetter(*KEY)
    replies = {get_key(reply): reply for reply in side.replies.iter_rows(named=True)}
    items = {item["item_id"]: item for item in side.items.iter_rows(named=True)}
    questions = _format_questions(side)
    options = {(suite.name, name): suite.metrics[name] for suite in side.suites for name in suite.metrics}
    rows: list[ShownRow] = []
    # What was asked, what came, and what the score that decides says of it.
    for score in scores.iter_rows(named=True):
        item = items[score["item_id"]]
        facts = json.loads(item.get("facts") or "{}")
        reply = replies.get(get_key(score), {})
        rows.append(
            ShownRow(
                suite=score["suite"] or "",
                model=score["model"],
                metric=score["metric"],
                question=questions[score["item_id"]],
                reply=str(reply.get("text") or write_calls(reply.get("extra")) or reply.get("error") or ""),
                expected=format_expected(item["answer"] or "", facts),
                value=score["value"],
                status=score["status"],
                reason=score["reason"] or "",
                remarks=list_remarks(score["details"], options.get((score["suite"], score["metric"]), {})),
                name=find_name(item, facts),
                item_id=score["item_id"],
                repeat=score["repeat"],
                latency_s=reply.get("latency_s"),
            )
        )
    return rows


def write_calls(extra: str | None) -> str:
    """Return the calls of tools that a reply made, a line each, from what came besides its text; '' if none."""
    calls = json.loads(extra or "{}").get(TOOL_CALLS) or ()
    return "\n".join(write_call(call["name"], call["arguments"]) for call in calls)


def find_name(item: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """Return the id that a row has from its author, as of a test; '' without one."""
    declared = str(item.get("question_id") or "")
    if declared and declared != item.get("text_digest"):
        language = f"{item.get('language') or ''} "
        return " ".join(declared.removeprefix(language).split())
    identifier = facts.get("id")
    if isinstance(identifier, str | int) and not isinstance(identifier, bool):
        return " ".join(str(identifier).split())
    return ""


def _format_questions(side: Side) -> dict[str, str]:
    """Return each item's question, without what it begins with like others of its suite, such as examples."""
    columns_by_suite = {suite.name: list_prompt_columns(suite) for suite in side.suites}
    questions_by_suite: dict[str, dict[str, str]] = {}
    for item in side.items.iter_rows(named=True):
        suite = item["suite"] or ""
        # Of a suite that is not declared any more, the whole prompt is shown.
        columns = columns_by_suite.get(suite, frozenset())
        question = describe_question(item, json.loads(item.get("facts") or "{}"), columns)
        questions_by_suite.setdefault(suite, {})[item["item_id"]] = question
    questions: dict[str, str] = {}
    for suite_questions in questions_by_suite.values():
        questions |= shorten_questions(suite_questions)
    return questions


def shorten_questions(questions: Mapping[str, str]) -> dict[str, str]:
    """Return a suite's questions, by any key, with an ellipsis in place of what they begin with alike."""
    return dict(zip(questions, cut_shared_beginnings([*questions.values()]), strict=True))


def _sort_scores(side: Side, metrics: Collection[str]) -> pl.DataFrame:
    """Return the scores by the metrics that decide, or are named: the lowest first, the full ones last.

    What is not scored stands between them, so that a reply which one metric left unscored is not shown as right.
    """
    if metrics:
        scores = side.scores.filter(pl.col("metric").is_in([*metrics]))
    else:
        scores = select_deciding_scores(side, side.suite_metrics)
    scores = scores.filter(pl.col("status") != "not_applicable")
    is_full = (pl.col("value") >= 1).fill_null(False)  # noqa: FBT003 - the name of Polars' argument is its own
    order = [is_full, pl.col("value").is_null(), pl.col("value")]
    return scores.sort(order, maintain_order=True)


def describe_question(item: Mapping[str, Any], facts: Mapping[str, Any], columns: Collection[str]) -> str:
    """Return what tells a question from its neighbours: the contents of the columns that the prompt reads.

    Without such columns, as in a generated family, it is the whole prompt.
    """
    content = None
    if columns:
        content = build_content("", facts, columns)
    if not isinstance(content, Mapping) or not content:
        question = facts.get("question")
        if isinstance(question, str) and question.strip():
            return question
        return str(item["prompt"] or "")
    # Contexts are long and shared; the question beside them is what differs.
    telling_columns = [name for name in content if name != "contexts"] or [*content]
    return " | ".join(_write_value(content[name]) for name in telling_columns)


def _write_value(value: Any) -> str:
    """Return a column's value as text; of a conversation what its user said last."""
    if is_conversation(value):
        with suppress(ValueError):
            return _write_last_turn(read_messages(value))
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _write_last_turn(messages: Sequence[Message]) -> str:
    """Return what a user said last, with … for the turns before it."""
    last = len(messages) - 1
    while last and messages[last].role != "user":
        last -= 1
    text = write_transcript(messages[last : last + 1])
    has_turns_before = any(message.role not in SYSTEM for message in messages[:last])
    return f"… {text}" if has_turns_before else text


def list_prompt_columns(suite: Suite) -> frozenset[str]:
    """Return the columns that a suite's prompts read; none where they read the whole row."""
    from basic_control.prompts import find_columns  # Jinja, which a comparison of files does not need

    prompts = filter(None, suite.prompts_by_name.values())
    columns = frozenset[str]().union(*map(find_columns, prompts))
    if WHOLE in columns:
        return frozenset()
    return columns
