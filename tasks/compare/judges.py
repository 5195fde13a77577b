"""Compare a run with the same replies judged by another judge."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import polars as pl

from basic_control.config.settings import Settings
from basic_control.data.loading import list_judged_metrics
from basic_control.metrics.analysis.rejudging import JudgesCompared, VerdictChange, compare_judges, compare_verdicts
from basic_control.tasks.compare.comparison import RunComparison, compare_sides
from basic_control.tasks.compare.sides import load_side
from basic_control.tasks.exchange.frames import Side
from basic_control.tasks.judges.cascades import members_in
from basic_control.tasks.judges.labels import LABELS, criteria_of, label_rows, load_judged
from basic_control.tasks.store.runs import Run, find_run, read_results


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
    runs = [find_run(name, Path(settings.store.runs)) for name in (before, after)]
    names = _name_sides(runs[0], judge)
    suite_metrics: list[tuple[str, str]] = []
    for suite in settings.suites:
        suite_metrics.extend((suite.name, name) for name in list_judged_metrics(suite))
    old, new = map(partial(_load_judged_side, settings=settings), runs, names)
    # People's labels of the replies say which judge is right where the two differ.
    replies = load_judged(runs[1], settings.store.root)
    labels = label_rows(replies, Path(settings.store.runs) / LABELS, criteria_of(settings.suites))
    _, old_verdict = read_results(runs[0].folder)
    _, new_verdict = read_results(runs[1].folder)
    return RejudgedComparison(
        names,
        compare_judges(old.scores, new.scores, labels, suite_metrics),
        compare_verdicts(old_verdict.models, new_verdict.models),
        compare_sides([old, new], root=settings.store.root, language=settings.report.language, rescore=False),
    )


def _name_sides(run: Run, judge: str) -> tuple[str, str]:
    """Return what both sides are called: by their judges."""
    identities = run.manifest.get("judge_identities", {})
    # A cascade that was asked stands for its judges.
    in_cascades: set[str] = set()
    for cascade, members in members_in(run.configuration).items():
        if cascade in identities:
            in_cascades.update(members)
    judges_before = ", ".join(name for name in identities if name not in in_cascades) or run.name
    if judge == judges_before:
        return judges_before, f"{judge} (anew)"
    return judges_before, judge


def _load_judged_side(run: Run, label: str, settings: Settings) -> Side:
    """Return a run as a side that is called by its judge, as far as its suites were judged again."""
    side = load_side(run, settings.store.root)
    suites = tuple(suite for suite in side.suites if suite.name in settings.suite_names)
    is_rejudged = pl.col("suite").is_in(settings.suite_names)
    items, scores = side.items.filter(is_rejudged), side.scores.filter(is_rejudged)
    return replace(side, name=label, items=items, scores=scores, suites=suites)
