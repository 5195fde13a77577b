"""What cascades did in a run: what the small judge decided alone, and what the large one says of a part of it."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from basic_control.metrics.cascade import Decider
from basic_control.metrics.stats.cascade import CascadeRule, lower_bound


@dataclass(frozen=True, slots=True)
class CascadeFinding:
    """What a cascade did for a metric of a suite in one language.

    `rule` was found on `source`: 'labels', 'exam', or '' if nothing was known. The small judge decided `n_alone`
    replies, the large one `n_escalated`. Of those decided alone it saw `n_checked` too, and says otherwise of
    `n_contradicted`; `contradicts`: more than the tolerated `error` explains. `n_unanswered` labelled
    replies the small judge had not judged before.
    """

    suite: str
    metric: str
    judge: str
    language: str
    source: str
    error: float
    rule: CascadeRule
    n_alone: int
    n_escalated: int
    n_checked: int
    n_contradicted: int
    contradicts: bool
    n_unanswered: int = 0

    @property
    def calls_saved(self) -> int:
        """The replies of which the large judge was not asked."""
        return self.n_alone - self.n_checked


@dataclass(frozen=True, slots=True)
class CascadeUse:
    """A cascade of a suite's metric: its judges, and the tolerated error and its level."""

    suite: str
    metric: str
    judge: str
    members: tuple[str, ...]
    error: float
    level: float


def find_cascades(
    uses: Iterable[CascadeUse],
    scores: pl.DataFrame,
    items: pl.DataFrame,
    decider: Callable[[CascadeUse, str], Decider],
) -> list[CascadeFinding]:
    """Return what each cascade did, from a run's scores and items tables."""
    findings = []
    for use in uses:
        languages = items.filter(suite=use.suite).select("item_id", "language").unique("item_id")
        rows = scores.filter(metric=use.metric).join(languages, on="item_id")
        for (language,), group in rows.sort("language").group_by("language", maintain_order=True):
            details = [json.loads(text).get("judges", {}).get(use.judge, {}) for text in group["details"]]
            decided = [judged["cascade"] for judged in details if judged.get("cascade")]
            findings.append(_find(use, str(language), decided, decider(use, str(language))))
    return findings


def _find(use: CascadeUse, language: str, decided: Sequence[Mapping[str, Any]], decider: Decider) -> CascadeFinding:
    alone = [entry for entry in decided if entry["by"] == use.members[0]]
    checked = [entry for entry in alone if entry["checked"] and entry["large"] is not None]
    contradicted = sum(entry["large"] != entry["small"] for entry in checked)
    # The large judge may err too: only what chance does not explain is told.
    least = lower_bound(contradicted, len(checked), use.level) if checked else 0.0
    return CascadeFinding(
        suite=use.suite,
        metric=use.metric,
        judge=use.judge,
        language=language,
        source=decider.source,
        error=use.error,
        rule=decider.rule,
        n_alone=len(alone),
        n_escalated=len(decided) - len(alone),
        n_checked=len(checked),
        n_contradicted=contradicted,
        contradicts=least > use.error,
        n_unanswered=decider.n_unanswered,
    )
