"""Causes of responses that could not be scored, or not for all they may be, most frequent first."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from basic_control.data.records import NO_CONTEXTS, ONLY_CALLS, Status
from basic_control.data.suites import Suite
from basic_control.data.truncation import THINKING_ALONE
from basic_control.metrics.stats.missing import LOST

# As in: not asked: the budget of 5 USD is spent; … so that no budget in money can be kept
_SPENT = re.compile(r"the budget of .{1,60}? is spent|no budget in money can be kept")
LONGEST = 200
"""Maximum length of a cause, in characters."""
_OWN = re.compile(r"[0-9a-f]{8,}|\d+")
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
    is_silent = (pl.col("status") == "no_answer") & pl.col("reason").is_in([THINKING_ALONE, ONLY_CALLS])
    has_cause = pl.col("status").is_in([*LOST, "unsupported"]) | is_silent
    lost = scores.filter(has_cause, pl.col("metric").is_in(suite.value_metrics))
    own = lost.join(items.filter(suite=suite.name), on="item_id", how="semi", maintain_order="left")
    rows = own.unique(["model", "item_id", "repeat", "status"], keep="first", maintain_order=True)
    causes: dict[str, Counter[tuple[Status, str]]] = {}
    messages: dict[str, str] = {}
    for model, status, reason, details in rows.select("model", "status", "reason", "details").iter_rows():
        message = _message(status, reason, details)
        key = _OWN.sub("#", message) if status == "model_error" else reason
        messages.setdefault(key, message)
        causes.setdefault(model, Counter())[status, key] += 1
    without_contexts = _count_without_contexts(scores if replies is None else replies, items, suite)
    for model, status, count in without_contexts.iter_rows():
        messages[NO_CONTEXTS] = NO_CONTEXTS
        causes.setdefault(model, Counter())[status, NO_CONTEXTS] += count
    return {
        model: tuple(FailureCount(status, messages[key], n) for (status, key), n in counts.most_common())
        for model, counts in causes.items()
    }


def _count_without_contexts(replies: pl.DataFrame, items: pl.DataFrame, suite: Suite) -> pl.DataFrame:
    """Count, by model and status, the rows whose reply came without contexts, however many metrics say so."""
    is_without = (pl.col("reason") == NO_CONTEXTS) & pl.col("metric").is_in(suite.value_metrics)
    rows = replies.filter(is_without).join(items.filter(suite=suite.name), on="item_id", how="semi")
    by_metric = rows.group_by("model", "status", "metric", maintain_order=True).len("n")
    return by_metric.group_by("model", "status", maintain_order=True).agg(pl.col("n").max())


def spent_budget(causes: Iterable[FailureCount]) -> str:
    """Return what says that the run's budget is spent; '' if it is not."""
    found = (_SPENT.search(cause.cause) for cause in causes)
    return next((match[0] for match in found if match), "")


_KINDS: Mapping[Status, str] = {
    "model_error": "failed calls",
    "filtered": "replies that a content filter stopped",
    "judge_failed": "replies without a score",
    "unsupported": "programs that cannot run here",
}


def lost(listed: Iterable[FailureCount]) -> str:
    """Return the most frequent cause of each kind and how many others there are; '' if nothing failed."""
    found = list(listed)
    kinds = ((kind, [one for one in found if one.status == status]) for status, kind in _KINDS.items())
    return " + ".join(f"{kind} ({_commonest(own)})" for kind, own in kinds if own)


def all_failed(listed: Iterable[FailureCount]) -> str:
    """Return why all of a model's calls failed: the most frequent cause, and how many others there are."""
    own = [one for one in listed if one.status == "model_error"]
    n = sum(one.n for one in own)
    said = _commonest(own).removeprefix(f"{n} × ").removeprefix(f"{n}, of them ")
    return f"{n} of {n} calls failed: {said}"


def _commonest(listed: Iterable[FailureCount]) -> str:
    causes = Counter[str]()
    for one in listed:
        causes[one.cause] += one.n
    (cause, n), *others = causes.most_common()
    if not others:
        return f"{n} × {cause}"
    return f"{causes.total()}, of them {n} × {cause}; other causes: {len(others)}"


def _message(status: Status, reason: str, details: str) -> str:
    """Return a failed row's message: its error, a judge's error if no judge could be read, else its reason."""
    found = json.loads(details or "{}")
    judges = found.get("judges")
    of_judges = (one.get("details", {}) for one in judges.values()) if isinstance(judges, Mapping) else ()
    errors = (one.get("error") for one in (found, *of_judges))
    told = next((said for said in errors if said and isinstance(said, str)), "")
    text = " ".join((told or reason or "no message").split())
    if reason and told and status == "judge_failed":
        text = f"{reason}: {text}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
