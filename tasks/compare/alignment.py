"""Scores of two sides by the same code: the earlier replies scored again, if only scoring units changed since.

Source: SPEC 10.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import polars as pl

from basic_control.config.settings import Settings
from basic_control.data.errors import InputError
from basic_control.metrics.analysis.baseline import ComparedSide
from basic_control.metrics.analysis.provenance import Provenance, list_changed_units
from basic_control.tasks.exchange.frames import Side
from basic_control.tasks.plan import Plan, resolve
from basic_control.tasks.store.baselines import Tables
from basic_control.tasks.store.runs import Run

Judges = Mapping[str, Mapping[str, str]]
"""The identities of a run's judges by name."""


def score_again(
    side: ComparedSide, tables: Tables, provenance: Provenance, judges: Judges, plan: Callable[[], Plan | None]
) -> tuple[pl.DataFrame, Sequence[str]]:
    """Score a side's replies by what scored the run of `provenance`, if only that has changed since.

    `tables` hold the replies, `plan` returns what the run asked, None if that is no longer known; `judges` are its
    judges' identities. Return the side's scores, and the units by which all of its replies were scored again.
    """
    is_changed = bool(tables and list_changed_units(side.provenance, provenance))
    planned = plan() if is_changed else None
    if not planned:
        return side.scores, ()
    from basic_control.tasks.compare.rescore import rescore  # imports Prefect, which few comparisons need

    return rescore(planned, side, tables, provenance, judges)


def align_scores(old: Side, new: Side, root: str = "") -> tuple[Side, Sequence[str]]:
    """Score a side's replies by what scored the later run, as `score_again`; files stay as they are."""
    run = new.run
    if run is None:
        return old, ()
    judges = run.manifest.get("judge_identities") or {}
    scores, units = score_again(old, old.tables, new.provenance, judges, lambda: recover_plan(run, root))
    return replace(old, scores=scores), units


def recover_plan(run: Run, root: str = "") -> Plan | None:
    """Return what a finished run asked; `root` is its store's current location, if moved.

    None if its data or plug-ins are missing here, without which nothing is scored.
    """
    store = dict(run.configuration.get("store", {}))
    if root:
        store["root"] = root
    try:
        return resolve(Settings.model_validate({**run.configuration, "store": store}))
    except (InputError, ValueError):
        return None
