"""Decisions on two sets of results: runs, pinned baselines, or other tools' files, the older one scored again.

Source: SPEC 10.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from config.declared import recorded
from config.settings import Settings
from data.batches import Ref
from data.draw import content_id
from data.errors import InputError
from data.tables import ITEMS
from metrics.analysis.baseline import BaselineComparison, RunSide, compare_with_baseline, matched
from metrics.analysis.rules import changed_units, differences, refuse
from tasks.compare.provenance import provenance_of
from tasks.plan import BaselineRule, Plan, resolve
from tasks.runtime.storage import open_store
from tasks.store.baselines import KEPT, Baseline, read
from tasks.store.runs import Run, items_of, load, replies
from tasks.store.tables import Damaged, Store

Judges = Mapping[str, Mapping[str, str]]
"""The identities of a run's judges by name."""


def pin(name: str, run: Run, root: str = "") -> Baseline:
    """Create a baseline from a finished run; `root` is its store's current location, if moved.

    Raises:
        InputError: the run's tables are not intact.
    """
    side = side_of(run.manifest, load(run, "scores", root), items_of(run, root), replies(run, root))
    deciding = pl.DataFrame(
        [(suite, metric) for suite, rules in side.provenance.suites.items() for metric in rules.score],
        schema={"suite": pl.String, "metric": pl.String},
        orient="row",
    )
    scores = side.scores.join(deciding, on=["suite", "metric"], how="semi")
    return Baseline(
        name,
        str(run.manifest.get("run", run.name)),
        str(run.manifest.get("started", "")),
        replace(side, scores=scores),
        tables_of(run),
    )


def tables_of(run: Run) -> dict[str, tuple[Ref, ...]]:
    """Return a run's tables by which its replies can be scored again."""
    return {kind: tuple(map(Ref.read, run.manifest["tables"].get(kind, ()))) for kind in KEPT}


def side_of(manifest: Mapping[str, Any], scores: pl.DataFrame, items: pl.DataFrame, texts: pl.DataFrame) -> RunSide:
    """Return a run of ours as a side; `texts` are the replies: item_id, model, repeat, text."""
    drawn = items.unique("item_id", maintain_order=True)
    by_suite = scores.join(drawn.select("item_id", "suite"), on="item_id", how="inner", maintain_order="left")
    return RunSide(by_suite, drawn, provenance_of(manifest), reply_digests(texts))


def reply_digests(texts: pl.DataFrame) -> pl.DataFrame:
    """Return a digest of each reply (item_id, model, repeat, `text`) as `reply`; null if there is none."""
    digest = pl.col("text").map_elements(lambda text: content_id("reply", text), pl.String, skip_nulls=True)
    return texts.select("item_id", "model", "repeat", reply=digest)


def check(rule: BaselineRule, manifest: Mapping[str, Any], targets: Sequence[str] = ()) -> None:
    """Reject, before any call, a configuration that could not be compared with the baseline afterwards.

    Raises:
        InputError: the baseline cannot be read, other rules decided its scores, or it has other models.
    """
    if rule.name:
        known = read(rule.name)
        differing = differences(known.side.provenance, provenance_of(manifest))
        refuse(known.name, differing, allow_different=rule.allow_different)
        if targets:
            matched(known.name, targets, known.side.models)


def against(
    baseline: Baseline,
    run: RunSide,
    rule: BaselineRule,
    *,
    plan: Callable[[], Plan | None],
    judges: Judges,
    targets: Sequence[str] = (),
) -> BaselineComparison:
    """Compare a run with a baseline, whose replies are first scored again if only scoring units changed.

    `plan` returns what the run asked, None if that is no longer known; `judges` are its judges' identities,
    `targets` its models, if some may have no score.

    Raises:
        InputError: the two cannot be compared.
    """
    rescored: Sequence[str] = ()
    changed = changed_units(baseline.side.provenance, run.provenance)
    if changed and baseline.tables and (asked := plan()):
        from tasks.compare.rescore import rescore  # imports Prefect, which few comparisons need

        baseline, rescored = rescore(asked, baseline, run.provenance, judges)
    return compare_with_baseline(
        baseline.name,
        baseline.run,
        baseline.side,
        run,
        max_drop=rule.max_drop,
        rescored=rescored,
        allow_different=rule.allow_different,
        targets=targets,
    )


def plan_of(run: Run, root: str = "") -> Plan | None:
    """Return what a finished run asked; `root` is its store's current location, if moved.

    None if its data or plug-ins are missing here, without which nothing is scored.
    """
    store = {**run.configuration.get("store", {}), **({"root": root} if root else {})}
    try:
        return resolve(Settings.model_validate({**recorded(run.configuration), "store": store}))
    except (InputError, ValueError):
        return None


def planned(
    plan: Plan, manifest: Mapping[str, Any], scores: pl.DataFrame, items: pl.DataFrame, texts: pl.DataFrame
) -> BaselineComparison | None:
    """Compare a run's scores with the planned baseline; None if there is none.

    `texts` are the replies: item_id, model, repeat, text.

    Raises:
        InputError: the two cannot be compared.
    """
    if not plan.baseline.name:
        return None
    known = read(plan.baseline.name)
    worded = replace(known, side=replace(known.side, items=_with_texts(known, open_store(plan.store))))
    run = side_of(manifest, scores, items, texts)
    judges = manifest.get("judge_identities") or {}
    return against(worded, run, plan.baseline, plan=lambda: plan, judges=judges, targets=[*plan.members])


def _with_texts(known: Baseline, store: Store) -> pl.DataFrame:
    """Return a baseline's questions with their prompts and answers, as far as the store still has them."""
    try:
        texts = store.read_all([*known.tables.get("items", ())], ITEMS).select("item_id", "prompt", "answer")
    except Damaged:
        texts = ITEMS.frame([]).select("item_id", "prompt", "answer")
    questions = known.side.items.drop("prompt", "answer", strict=False)
    return questions.join(texts.unique("item_id"), on="item_id", how="left", maintain_order="left")
