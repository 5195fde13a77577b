"""Twins: whether a model does as well on renewed items as on their originals.

Pairs are a twin and its original, or two twins of one original; interval, test and decision are the same as in all
comparisons (`metrics.analysis.pairs`), with Holm's correction over the kinds.

Source: SPEC 17.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from basic_control.data.batches import TwinCount
from basic_control.data.plugins import metric
from basic_control.data.suites import TWIN_KINDS, Suite
from basic_control.metrics.analysis.pairs import Comparison, conclude, draft_comparisons, metrics_to_compare
from basic_control.metrics.analysis.values import question_values
from basic_control.metrics.stats.intervals import Interval, mean_interval

MARGIN = 0.05
"""Equivalence margin, in either direction."""
FARTHEST = 1000
"""Maximum number of pairs reported as needed, as a multiple of the pairs available."""
ORIGINAL = "original"
_PLACEBO = "names"

TwinOutcome = Literal["falls", "rises", "same", "unknown"]


@dataclass(frozen=True, slots=True)
class TwinDifference:
    """A model's paired difference: mean on the twins of a kind minus mean on what they are compared with.

    `against` is the originals, or for `numbers` the placebo, `names`, if there is one. Interval and outcome are at
    the Holm-corrected level: `falls` and `rises` if the interval excludes 0, `same` if it lies within 5 points of
    0, else `unknown`: then `needed` pairs would show 5 points, if that can be computed.
    """

    kind: str
    against: str
    n: int
    mean: float | None
    mean_against: float | None
    difference: float | None
    interval: Interval
    p_adjusted: float | None
    detectable: float | None
    outcome: TwinOutcome
    needed: int | None


@dataclass(frozen=True, slots=True)
class TwinResult:
    """Results on the twins of a suite for a model, by a metric.

    `robust` is the share of originals that are right in every twin too, among the `n_robust` that have every kind
    and are scored in all. It decides nothing.
    """

    suite: str
    model: str
    metric: str
    differences: tuple[TwinDifference, ...]
    robust: float | None
    robust_interval: Interval
    n_robust: int


def twin_results(
    scores: pl.DataFrame,
    items: pl.DataFrame,
    twins: pl.DataFrame,
    suites: Sequence[Suite],
) -> list[TwinResult]:
    """Compare twins with their originals, for each suite, model and metric of correctness.

    A row of `scores` is a metric's value for an original, a model and a repeat, a row of `items` an original;
    `twins` is the same for twins, with their `kind` and their `original`, the item's id.
    """
    found = []
    for suite in suites:
        own = items.filter(pl.col("suite") == suite.name)
        if suite.twins is None or own.is_empty():
            continue
        for name in right_by(suite):
            there = scores.filter(pl.col("metric") == name).join(own.select("item_id"), on="item_id", how="semi")
            drawn = own.select(original="item_id")
            renewed = twins.filter(pl.col("metric") == name).join(drawn, on="original", how="semi")
            for model in there["model"].unique(maintain_order=True):
                before, after = (one.filter(pl.col("model") == model) for one in (there, renewed))
                if not after.is_empty():
                    found.append(_result(suite, str(model), name, by_kind(before, after), own))
    return found


def right_by(suite: Suite) -> Iterator[str]:
    """Yield the metrics, or metric parts, that decide whether a suite's answers are right."""
    for name in suite.score_metrics:
        right = metric(name).right
        yield f"{name}.{right}" if right else name


def _result(suite: Suite, model: str, name: str, values: pl.DataFrame, items: pl.DataFrame) -> TwinResult:
    scored = _in_all(values, items, suite.twins.kinds if suite.twins else ())
    share = mean_interval(scored["value"].to_numpy(), clusters=scored["cluster"].to_numpy(), yes_no=True)
    return TwinResult(
        suite=suite.name,
        model=model,
        metric=name,
        differences=tuple(differences(values, items)),
        robust=share.mean,
        robust_interval=share.interval,
        n_robust=scored.height,
    )


def by_kind(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Return one scores table of originals and twins: kinds are the models, an original's twins its repeats."""
    kinds = after.with_columns(
        item_id="original",
        model="kind",
        repeat=pl.int_range(pl.len()).over("original", "kind", "metric").cast(before.schema["repeat"]),
    )
    return pl.concat([before.with_columns(model=pl.lit(ORIGINAL)), kinds.select(before.columns)])


def differences(values: pl.DataFrame, items: pl.DataFrame) -> Iterator[TwinDifference]:
    """Yield the paired difference of each kind present; `values` from `by_kind`, for one model and metric."""
    there = {*values["model"].unique()}
    order = [ORIGINAL, *(kind for kind in reversed(TWIN_KINDS) if kind in there)]
    wanted = {kind: _PLACEBO if kind == "numbers" and _PLACEBO in there else ORIGINAL for kind in order[1:]}
    questions = question_values(values, items)
    drafts = draft_comparisons(questions, metrics_to_compare(questions), [*wanted.items()])
    told = {one.model_a: one for one in conclude(drafts)}
    for kind in TWIN_KINDS:
        if one := told.get(kind):
            outcome = _outcome(one)
            # Number of pairs that would show 5 points with the observed spread.
            times = (one.test.detectable / MARGIN) ** 2 if one.test.detectable and outcome == "unknown" else 0.0
            yield TwinDifference(
                kind=kind,
                against=one.model_b,
                n=one.n,
                mean=one.mean_a,
                mean_against=one.mean_b,
                difference=one.difference,
                interval=one.test.interval,
                p_adjusted=one.test.p_adjusted,
                detectable=one.test.detectable,
                outcome=outcome,
                needed=math.ceil(one.n * times) if one.n and 1 < times <= FARTHEST else None,
            )


def _outcome(one: Comparison) -> TwinOutcome:
    low, high = one.test.interval.low, one.test.interval.high
    if one.significant and one.difference:
        return "falls" if one.difference < 0 else "rises"
    near = low is not None and high is not None and low >= -MARGIN and high <= MARGIN
    return "same" if near and not one.missing.hangs else "unknown"


def _in_all(values: pl.DataFrame, items: pl.DataFrame, kinds: Sequence[str]) -> pl.DataFrame:
    """Return for each original that has all `kinds`, with every reply scored, whether all are right: 1 or 0."""
    originals = (
        question_values(values, items)
        .group_by("item_id", "cluster")
        .agg(
            value=(pl.col("value") == 1).all(ignore_nulls=False).cast(pl.Float64),
            is_lost=(pl.col("n_lost") > 0).any(),
            kinds=pl.col("model").n_unique(),
        )
    )
    complete = (pl.col("kinds") == 1 + len(kinds)) & ~pl.col("is_lost")
    return originals.filter(complete).drop_nulls("value").sort("item_id")


def joined_counts(listed: Sequence[TwinCount]) -> list[TwinCount]:
    """Add up the counts of batches."""
    joined = Counter[tuple[str, str, str]]()
    for one in listed:
        joined[one.suite, one.kind, one.reason] += one.n
    return [TwinCount(*key, n) for key, n in sorted(joined.items(), key=lambda pair: (*pair[0][:2], -pair[1]))]


def shares(listed: Sequence[TwinCount]) -> Mapping[tuple[str, str], tuple[int, int]]:
    """Return the number of originals with a twin, and of all originals, by suite and kind."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for one in listed:
        made, every = found.get((one.suite, one.kind), (0, 0))
        found[one.suite, one.kind] = (made + (0 if one.reason else one.n), every + one.n)
    return found
