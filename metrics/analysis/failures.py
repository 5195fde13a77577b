"""Why calls brought nothing that could be scored: their causes, the commonest first."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from data.records import Status
from data.suites import Suite
from metrics.stats.missing import LOST

LONGEST = 200
"""Characters of a cause that are kept."""
_OWN = re.compile(r"[0-9a-f]{8,}|\d+")
"""What differs between messages of one cause: numbers, and ids in hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Why `n` replies are not scored: the model's call failed (`model_error`), or judges did (`judge_failed`)."""

    status: Status
    cause: str
    n: int


def failures(
    scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite]
) -> dict[tuple[str, str], tuple[FailureCount, ...]]:
    """Count the causes of what was asked and is not scored, by model and suite.

    A row of `scores` is one metric's; a call that failed counts once for all of a suite's metrics. Messages that
    differ only in numbers and ids, and a judge's step that could not be read, are one cause, told by its first
    message.
    """
    metrics = {name for suite in suites for name in suite.scored_by}
    lost = scores.filter(pl.col("status").is_in(LOST), pl.col("metric").is_in(metrics))
    placed = lost.join(items.select("item_id", "suite").unique("item_id"), on="item_id", maintain_order="left")
    rows = placed.unique(["suite", "model", "item_id", "repeat", "status"], keep="first", maintain_order=True)
    counted: dict[tuple[str, str], Counter[tuple[Status, str]]] = {}
    first: dict[str, str] = {}
    told = rows.select("model", "suite", "status", "reason", "details")
    for model, suite, status, reason, details in told.iter_rows():
        said = _message(status, reason, details)
        key = _OWN.sub("#", said) if status == "model_error" else reason
        first.setdefault(key, said)
        counted.setdefault((model, suite), Counter())[status, key] += 1
    return {
        pair: tuple(FailureCount(status, first[key], n) for (status, key), n in causes.most_common())
        for pair, causes in counted.items()
    }


_KINDS: Mapping[Status, str] = {"model_error": "failed calls", "judge_failed": "replies without a score"}


def lost(listed: Iterable[FailureCount]) -> str:
    """Say what failed: of each kind the commonest cause, and how many others there are; '' for nothing."""
    found = list(listed)
    kinds = ((kind, [one for one in found if one.status == status]) for status, kind in _KINDS.items())
    return " + ".join(f"{kind} ({_commonest(own)})" for kind, own in kinds if own)


def all_failed(listed: Iterable[FailureCount]) -> str:
    """Say why each of a model's calls failed: the commonest cause, and how many others there are."""
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
    """Return what a failed row says: its error, a judge's where no judge could be read, else its reason."""
    found = json.loads(details or "{}")
    judges = found.get("judges")
    of_judges = (one.get("details", {}) for one in judges.values()) if isinstance(judges, Mapping) else ()
    errors = (one.get("error") for one in (found, *of_judges))
    told = next((said for said in errors if said and isinstance(said, str)), "")
    text = " ".join((told or reason or "no message").split())
    if reason and told and status == "judge_failed":
        text = f"{reason}: {text}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
