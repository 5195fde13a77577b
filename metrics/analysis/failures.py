"""Causes of responses that could not be scored, or not for all they may be, most frequent first."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from basic_control.data.characters import shorten
from basic_control.data.records import NO_CONTEXTS, ONLY_CALLS, Status
from basic_control.data.suites import Suite
from basic_control.data.truncation import THINKING_ALONE
from basic_control.metrics.stats.missing import LOST

# As in: not asked: the budget of 5 USD is spent; … so that no budget in money can be kept
_SPENT = re.compile(r"the budget of .{1,60}? is spent|no budget in money can be kept")
LONGEST = 200
"""Maximum length of a cause, in characters."""
_OWN = r"[0-9a-f]{8,}|\d+"
"""Parts that vary between messages of one cause: numbers and hexadecimal ids."""


@dataclass(frozen=True, slots=True)
class FailureCount:
    """`n` responses with one cause for no score, or only part of one.

    It is a failed model call (`model_error`), a content filter (`filtered`), a judge (`judge_failed`), or a package
    that the sandbox lacks (`unsupported`); or the reply is thinking alone, or calls of tools
    where a text was to be scored (`no_answer`), or came without contexts (`not_applicable`; `scored` if that is 0).
    """

    status: Status
    cause: str
    n: int


def failures(
    scores: pl.DataFrame, items: pl.DataFrame, suite: Suite, *, replies: pl.DataFrame | None = None
) -> dict[str, tuple[FailureCount, ...]]:
    """Count the causes of a suite's unscored responses, by model.

    `replies` are the scores of all rows, also of those whose question others ask (default: `scores`): rows of one
    question may come with contexts and without.

    A row of `scores` belongs to one metric; a failed call counts once for all metrics of a suite. Messages that
    differ only in numbers and ids, and unreadable replies at one judge step, are one cause, shown by its first
    message.
    """
    if replies is None:
        replies = scores
    is_silent = (pl.col("status") == "no_answer") & pl.col("reason").is_in([THINKING_ALONE, ONLY_CALLS])
    has_cause = pl.col("status").is_in([*LOST, "unsupported"]) | is_silent
    unscored = scores.filter(has_cause, pl.col("metric").is_in(suite.value_metrics))
    suite_rows = unscored.join(items.filter(suite=suite.name), on="item_id", how="semi", maintain_order="left")
    rows = suite_rows.unique(["model", "item_id", "repeat", "status"], keep="first", maintain_order=True)
    texts = [_message(*row) for row in rows.select("status", "reason", "details").iter_rows()]
    # Equal causes are counted by a key; people read the first message that had it.
    key = pl.when(pl.col("status") == "model_error").then(pl.col("cause").str.replace_all(_OWN, "#"))
    causes = (
        rows.with_columns(cause=pl.Series(texts, dtype=pl.String))
        .with_columns(key=key.otherwise("reason"))
        .with_columns(cause=pl.col("cause").first().over("key"))
        .group_by("model", "status", "key", maintain_order=True)
        .agg(pl.col("cause").first(), n=pl.len())
    )
    # A reply without contexts is no failed one, so it is counted apart.
    joined = pl.concat([causes, _count_without_contexts(replies, items, suite)], how="diagonal_relaxed")
    counts: dict[str, tuple[FailureCount, ...]] = {}
    ordered = joined.sort("n", descending=True, maintain_order=True)
    for (model,), of_model in ordered.group_by("model", maintain_order=True):
        counts[str(model)] = tuple(map(FailureCount, *of_model.select("status", "cause", "n").get_columns()))
    return counts


def _count_without_contexts(replies: pl.DataFrame, items: pl.DataFrame, suite: Suite) -> pl.DataFrame:
    """Count, by model and status, the rows whose reply came without contexts, however many metrics say so."""
    is_without = (pl.col("reason") == NO_CONTEXTS) & pl.col("metric").is_in(suite.value_metrics)
    rows = replies.filter(is_without).join(items.filter(suite=suite.name), on="item_id", how="semi")
    by_metric = rows.group_by("model", "status", "metric", maintain_order=True).len("n")
    return by_metric.group_by("model", "status", maintain_order=True).agg(
        pl.col("n").max(), cause=pl.lit(NO_CONTEXTS).first()
    )


def find_spent_budget(causes: Iterable[FailureCount]) -> str:
    """Return what says that the run's budget is spent; '' if it is not."""
    for failure in causes:
        match = _SPENT.search(failure.cause)
        if match:
            return match[0]
    return ""


_KINDS: Mapping[Status, str] = {
    "model_error": "failed calls",
    "filtered": "replies that a content filter stopped",
    "judge_failed": "replies without a score",
    "unsupported": "programs that cannot run here",
}


def describe_lost(causes: Iterable[FailureCount]) -> str:
    """Return the most frequent cause of each kind and how many others there are; '' if nothing failed."""
    failure_counts = list(causes)
    texts = []
    for status, kind in _KINDS.items():
        of_kind = [failure for failure in failure_counts if failure.status == status]
        if of_kind:
            texts.append(f"{kind} ({_format_commonest(of_kind)})")
    return " + ".join(texts)


def describe_all_failed(causes: Iterable[FailureCount]) -> str:
    """Return why all of a model's calls failed: the most frequent cause, and how many others there are."""
    failed = [failure for failure in causes if failure.status == "model_error"]
    n = sum(failure.n for failure in failed)
    cause = _format_commonest(failed).removeprefix(f"{n} × ").removeprefix(f"{n}, of them ")
    return f"{n} of {n} calls failed: {cause}"


def _format_commonest(causes: Iterable[FailureCount]) -> str:
    """Return the most frequent cause with its number, and how many others there are."""
    times = Counter[str]()
    for failure in causes:
        times[failure.cause] += failure.n
    (cause, n), *rarer_causes = times.most_common()
    if not rarer_causes:
        return f"{n} × {cause}"
    return f"{times.total()}, of them {n} × {cause}; other causes: {len(rarer_causes)}"


def _message(status: Status, reason: str, details: str) -> str:
    """Return a failed row's message: its error, a judge's error if no judge could be read, else its reason."""
    error = next(_list_errors(json.loads(details or "{}")), "")
    text = " ".join((error or reason or "no message").split())
    if reason and error and status == "judge_failed":
        text = f"{reason}: {text}"
    return shorten(text, LONGEST)


def _list_errors(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield the errors in a score's details: its own first, then its judges'."""
    sources = [details]
    judges = details.get("judges")
    if isinstance(judges, Mapping):
        left_out = details.get("left_out", {})
        sources += (judge.get("details", {}) for name, judge in judges.items() if name not in left_out)
    for source in sources:
        error = source.get("error")
        if error and isinstance(error, str):
            yield error
