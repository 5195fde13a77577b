"""Baselines: pinned from a finished run, checked before a run, compared with after it.

Source: SPEC 10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from data.tables import ITEMS
from metrics.analysis.baseline import BaselineComparison, RunSide, compare_with_baseline, matched
from metrics.analysis.rules import differences, refuse
from tasks.compare.alignment import reply_digests, score_again, tables_of
from tasks.compare.provenance import provenance_of
from tasks.plan import BaselineRule, Plan
from tasks.runtime.storage import open_store
from tasks.store.baselines import Baseline, read
from tasks.store.runs import Run, items_of, load, replies
from tasks.store.tables import Damaged, Store


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


def side_of(manifest: Mapping[str, Any], scores: pl.DataFrame, items: pl.DataFrame, texts: pl.DataFrame) -> RunSide:
    """Return a run of ours as a side; `texts` are the replies: item_id, model, repeat, text."""
    drawn = items.unique("item_id", maintain_order=True)
    by_suite = scores.join(drawn.select("item_id", "suite"), on="item_id", how="inner", maintain_order="left")
    return RunSide(by_suite, drawn, provenance_of(manifest), reply_digests(texts))


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
    run = side_of(manifest, scores, items, texts)
    judges = manifest.get("judge_identities") or {}
    known, units = score_again(read(rule.name), run.provenance, judges, lambda: plan)
    before = replace(known.side, items=_with_texts(known, open_store(plan.store)))
    return compare_with_baseline(
        known.name,
        known.run,
        before,
        run,
        max_drop=rule.max_drop,
        rescored=units,
        allow_different=rule.allow_different,
        targets=[*plan.members],
    )


def _with_texts(known: Baseline, store: Store) -> pl.DataFrame:
    """Return a baseline's questions with their prompts and answers, as far as the store still has them."""
    try:
        texts = store.read_all([*known.tables.get("items", ())], ITEMS).select("item_id", "prompt", "answer")
    except Damaged:
        texts = ITEMS.frame([]).select("item_id", "prompt", "answer")
    questions = known.side.items.drop("prompt", "answer", strict=False)
    return questions.join(texts.unique("item_id"), on="item_id", how="left", maintain_order="left")
