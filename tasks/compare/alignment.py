"""Scores of two sides by the same code: the earlier replies scored again, if only scoring units changed since.

Source: SPEC 10.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import polars as pl

from config.declared import recorded
from config.settings import Settings
from data.batches import Ref
from data.draw import content_id
from data.errors import InputError
from metrics.analysis.baseline import RunSide
from metrics.analysis.rules import Provenance, changed_units
from tasks.compare.provenance import provenance_of
from tasks.compare.sides import placed
from tasks.exchange.tables import Side
from tasks.plan import Plan, resolve
from tasks.store.baselines import KEPT, Baseline
from tasks.store.runs import Run

Judges = Mapping[str, Mapping[str, str]]
"""The identities of a run's judges by name."""


def score_again(
    baseline: Baseline, provenance: Provenance, judges: Judges, plan: Callable[[], Plan | None]
) -> tuple[Baseline, Sequence[str]]:
    """Score a baseline's replies by what scored the run of `provenance`, if only that has changed since.

    `plan` returns what the run asked, None if that is no longer known; `judges` are its judges' identities. Return
    the baseline, and the units by which all of its replies were scored again.
    """
    if not (baseline.tables and changed_units(baseline.side.provenance, provenance)):
        return baseline, ()
    asked = plan()
    if not asked:
        return baseline, ()
    from tasks.compare.rescore import rescore  # imports Prefect, which few comparisons need

    return rescore(asked, baseline, provenance, judges)


def align_scores(old: Side, new: Side, root: str = "") -> tuple[Side, Sequence[str]]:
    """Score a side's replies by what scored the later run, as `score_again`; files stay as they are."""
    run, known = new.run, old.pinned
    if run is None or old.is_file:
        return old, ()
    if old.run:
        before = RunSide(placed(old), old.items, provenance_of(old.run.manifest), reply_digests(old.replies))
        known = Baseline(old.name, old.name, "", before, tables_of(old.run))
    if known is None:
        return old, ()
    judges = run.manifest.get("judge_identities") or {}
    again, units = score_again(known, provenance_of(run.manifest), judges, lambda: plan_of(run, root))
    scores = again.side.scores.drop("suite")
    return (replace(old, scores=scores.select(old.scores.columns)), units) if units else (old, ())


def plan_of(run: Run, root: str = "") -> Plan | None:
    """Return what a finished run asked; `root` is its store's current location, if moved.

    None if its data or plug-ins are missing here, without which nothing is scored.
    """
    store = {**run.configuration.get("store", {}), **({"root": root} if root else {})}
    try:
        return resolve(Settings.model_validate({**recorded(run.configuration), "store": store}))
    except (InputError, ValueError):
        return None


def tables_of(run: Run) -> dict[str, tuple[Ref, ...]]:
    """Return a run's tables by which its replies can be scored again."""
    return {kind: tuple(map(Ref.read, run.manifest["tables"].get(kind, ()))) for kind in KEPT}


def reply_digests(texts: pl.DataFrame) -> pl.DataFrame:
    """Return a digest of each reply (item_id, model, repeat, `text`) as `reply`; null if there is none."""
    digest = pl.col("text").map_elements(lambda text: content_id("reply", text), pl.String, skip_nulls=True)
    return texts.select("item_id", "model", "repeat", reply=digest)
