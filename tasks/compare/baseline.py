"""Comparison of a run with its configured baseline, and pinning a finished run as a baseline."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from data.batches import Ref
from data.draw import content_id
from data.tables import ITEMS
from metrics.analysis.baseline import (
    BaselineComparison,
    RunSide,
    compare_with_baseline,
    matched,
    refuse,
    unlike,
)
from tasks.compare.provenance import provenance_of
from tasks.plan import BaselineRule, Plan
from tasks.runtime.storage import open_store
from tasks.store.baselines import KEPT, Baseline, read
from tasks.store.runs import Run, items_of, load, replies
from tasks.store.tables import Damaged, Store


def pin(name: str, run: Run, root: str = "") -> Baseline:
    """Create a baseline from a finished run; `root` is its store's current location, if moved.

    Raises:
        InputError: the run's tables are not intact.
    """
    provenance = provenance_of(run.manifest)
    items = items_of(run, root).unique("item_id", maintain_order=True)
    scores = load(run, "scores", root).join(items.select("item_id", "suite"), on="item_id", how="inner")
    pairs = pl.DataFrame(
        [(suite, metric) for suite, rules in provenance.suites.items() for metric in rules.score],
        schema={"suite": pl.String, "metric": pl.String},
        orient="row",
    )
    return Baseline(
        name,
        str(run.manifest.get("run", run.name)),
        str(run.manifest.get("started", "")),
        provenance,
        items.select("item_id", "suite", pl.col("family").fill_null(""), *ITEMS.added),
        scores.join(pairs, on=["suite", "metric"], how="semi"),
        reply_digests(replies(run, root)),
        {kind: tuple(map(Ref.read, run.manifest["tables"].get(kind, ()))) for kind in KEPT},
    )


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
        refuse(known.name, unlike(known.provenance, provenance_of(manifest)), allow_different=rule.allow_different)
        if targets:
            matched(known.name, targets, known.scores["model"].unique(maintain_order=True).to_list())


def _with_texts(known: Baseline, store: Store) -> pl.DataFrame:
    """Return a baseline's questions with their prompts and answers, as far as the store still has them."""
    try:
        texts = store.read_all([*known.tables.get("items", ())], ITEMS).select("item_id", "prompt", "answer")
    except Damaged:
        texts = ITEMS.frame([]).select("item_id", "prompt", "answer")
    return known.questions.join(texts.unique("item_id"), on="item_id", how="left", maintain_order="left")


def against(
    plan: Plan, manifest: Mapping[str, Any], scores: pl.DataFrame, items: pl.DataFrame, texts: pl.DataFrame
) -> BaselineComparison | None:
    """Compare a run's scores with the planned baseline; None if there is none.

    `texts` are the replies: item_id, model, repeat, text. If only a version or a source of a scoring unit differs,
    the baseline's replies are scored again first.

    Raises:
        InputError: the two cannot be compared.
    """
    from tasks.compare.rescore import rescore  # imports Prefect, which is not needed to pin a run

    if not plan.baseline.name:
        return None
    provenance = provenance_of(manifest)
    judges = manifest.get("judge_identities") or {}
    known, rescored = rescore(plan, read(plan.baseline.name), provenance, judges)
    return compare_with_baseline(
        known.name,
        known.run,
        RunSide(known.scores, _with_texts(known, open_store(plan.store)), known.provenance, known.replies),
        RunSide(scores, items, provenance, reply_digests(texts)),
        max_drop=plan.baseline.max_drop,
        strata=[one.name for one in plan.suites if one.suite.strata],
        known=unlike(known.provenance, provenance, rescored),
        allow_different=plan.baseline.allow_different,
        targets=[*plan.members],
    )
