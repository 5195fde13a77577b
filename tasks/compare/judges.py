"""Compare a run with the same replies judged by another judge."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import polars as pl

from basic_control.config.settings import Settings
from basic_control.data.loading import list_judged_metrics
from basic_control.metrics.analysis.rejudging import JudgesCompared, VerdictChange, compare_judges, compare_verdicts
from basic_control.tasks.compare.runs import RunComparison, compare_sides
from basic_control.tasks.compare.sides import side_of
from basic_control.tasks.exchange.tables import Side
from basic_control.tasks.judges.labels import LABELS, criteria_of, label_rows, load_judged
from basic_control.tasks.judges.recorded import members_in
from basic_control.tasks.store.runs import Run, find, read_results


@dataclass(frozen=True, slots=True)
class RejudgedComparison:
    """Two judges of one run's replies: `names`, the old one's first; `pairs` compare the scores that they give."""

    names: tuple[str, str]
    judges: Sequence[JudgesCompared]
    verdicts: Sequence[VerdictChange]
    pairs: RunComparison

    @property
    def holds(self) -> bool:
        """Whether all verdicts are the same."""
        return all(change.holds for change in self.verdicts)


def compare_rejudged(settings: Settings, before: str, after: str, judge: str) -> RejudgedComparison:
    """Compare a run with its replies as judged by another judge.

    Raises:
        InputError: a table of either run is not intact.
    """
    runs = [find(name, Path(settings.store.runs)) for name in (before, after)]
    names = _name_sides(runs[0], judge)
    metrics = [(suite.name, name) for suite in settings.suites for name in list_judged_metrics(suite)]
    old, new = (_side(run, label, settings) for run, label in zip(runs, names, strict=True))
    replies = load_judged(runs[1], settings.store.root)
    labels = label_rows(replies, Path(settings.store.runs) / LABELS, criteria_of(settings.suites))
    (_, first), (_, second) = (read_results(run.folder) for run in runs)
    return RejudgedComparison(
        names,
        compare_judges(old.scores, new.scores, labels, metrics),
        compare_verdicts(first.models, second.models),
        compare_sides([old, new], root=settings.store.root, language=settings.report.language, rescore=False),
    )


def _name_sides(run: Run, judge: str) -> tuple[str, str]:
    """Return what both sides are called: by their judges."""
    identities = run.manifest.get("judge_identities", {})
    # A cascade that was asked stands for its judges.
    members = [members for name, members in members_in(run.configuration).items() if name in identities]
    in_cascades = set(chain.from_iterable(members))
    judges = ", ".join(name for name in identities if name not in in_cascades) or run.name
    return judges, judge if judge != judges else f"{judge} (anew)"


def _side(run: Run, label: str, settings: Settings) -> Side:
    """Return a run as a side that is called by its judge, as far as its suites were judged again."""
    side = side_of(run, settings.store.root)
    suites = pl.col("suite").is_in(settings.suite_names)
    declared = tuple(suite for suite in side.suites if suite.name in settings.suite_names)
    return replace(
        side, name=label, items=side.items.filter(suites), scores=side.scores.filter(suites), suites=declared
    )
