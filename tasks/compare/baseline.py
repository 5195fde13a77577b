"""Baselines: pinned from a finished run, checked before a run, compared with after it.

Source: SPEC 10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from basic_control.data.tables import ITEMS
from basic_control.metrics.analysis.baseline import (
    BaselineComparison,
    ComparedSide,
    compare_with_baseline,
    match_models,
)
from basic_control.metrics.analysis.provenance import differences, refuse
from basic_control.tasks.compare.gating import score_again
from basic_control.tasks.compare.provenance import read_provenance
from basic_control.tasks.compare.sides import load_side, select_deciding_scores
from basic_control.tasks.plan import BaselineRule, Plan
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.store.baselines import Baseline, read_baseline
from basic_control.tasks.store.runs import Run
from basic_control.tasks.store.tables import Damaged, Store


def pin(name: str, run: Run, root: str = "") -> Baseline:
    """Create a baseline from a finished run; `root` is its store's current location, if moved.

    Raises:
        InputError: the run's tables are not intact.
    """
    side = load_side(run, root)
    scores = select_deciding_scores(side, side.suite_metrics)
    pinned = ComparedSide(name, side.items, scores, side.replies, side.provenance)
    manifest = run.manifest
    return Baseline(name, str(manifest.get("run", run.name)), str(manifest.get("started", "")), pinned, side.tables)


def check_baseline(rule: BaselineRule, manifest: Mapping[str, Any], targets: Sequence[str] = ()) -> None:
    """Reject, before any call, a configuration that could not be compared with the baseline afterwards.

    Raises:
        InputError: the baseline cannot be read, other rules decided its scores, or it has other models.
    """
    if not rule.name:
        return
    side = read_baseline(rule.name).side
    changed_rules = differences(side.provenance, read_provenance(manifest))
    refuse(side.name, changed_rules, allow_different=rule.allow_different)
    # Models are only checked where their names are known before the run.
    if targets:
        match_models(side.name, targets, side.models)


def compare_planned(
    plan: Plan, manifest: Mapping[str, Any], scores: pl.DataFrame, items: pl.DataFrame, texts: pl.DataFrame
) -> BaselineComparison | None:
    """Compare a run's scores with the planned baseline; None if there is none.

    `texts` are the replies: item_id, model, repeat, text.

    Raises:
        InputError: the two cannot be compared.
    """
    rule = plan.baseline
    if not rule.name:
        return None
    baseline = read_baseline(rule.name)
    questions = items.unique("item_id", maintain_order=True)
    scores = scores.join(questions.select("item_id", "suite"), on="item_id", maintain_order="left")
    run = ComparedSide("", questions, scores, texts, read_provenance(manifest))
    # The baseline's replies are scored by what scored the run, so that only the replies differ.
    judges = manifest.get("judge_identities") or {}
    scores_before, rescored_units = score_again(
        baseline.side, baseline.tables, run.provenance, judges, lambda: plan
    )
    questions_before = _add_texts(baseline, open_store(plan.store))
    return compare_with_baseline(
        replace(baseline.side, scores=scores_before, items=questions_before),
        run,
        max_drop=rule.max_drop,
        pinned=baseline.run,
        rescored=rescored_units,
        allow_different=rule.allow_different,
        targets=[*plan.members],
    )


def _add_texts(baseline: Baseline, store: Store) -> pl.DataFrame:
    """Return a baseline's questions with their prompts and answers, as far as the store still has them."""
    try:
        texts = store.read_all([*baseline.tables.get("items", ())], ITEMS).select("item_id", "prompt", "answer")
    except Damaged:
        texts = ITEMS.frame([]).select("item_id", "prompt", "answer")
    questions = baseline.side.items.drop("prompt", "answer")
    return questions.join(texts.unique("item_id"), on="item_id", how="left", maintain_order="left")
