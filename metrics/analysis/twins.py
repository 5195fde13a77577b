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
from basic_control.metrics.analysis.observations import question_values
from basic_control.metrics.analysis.pairs import Comparison, conclude, draft_comparisons, metrics_to_compare
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
    results = []
    for suite in suites:
        suite_items = items.filter(pl.col("suite") == suite.name)
        if suite.twins is None or suite_items.is_empty():
            continue
        ids = suite_items.select("item_id", original="item_id")
        for name in list_right_metrics(suite):
            # A twin has an id of its own, so it belongs to the suite by its original's.
            is_metric = pl.col("metric") == name
            original_scores = scores.filter(is_metric).join(ids, on="item_id", how="semi")
            twin_scores = twins.filter(is_metric).join(ids, on="original", how="semi")
            for model in original_scores["model"].unique(maintain_order=True):
                before, after = (frame.filter(pl.col("model") == model) for frame in (original_scores, twin_scores))
                if not after.is_empty():
                    results.append(_summarise_twins(suite, str(model), name, by_kind(before, after), suite_items))
    return results


def list_right_metrics(suite: Suite) -> Iterator[str]:
    """Yield the metrics, or metric parts, that decide whether a suite's answers are right."""
    for name in suite.score_metrics:
        right = metric(name).right
        yield f"{name}.{right}" if right else name


def _summarise_twins(suite: Suite, model: str, name: str, values: pl.DataFrame, items: pl.DataFrame) -> TwinResult:
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
    kinds = {*values["model"].unique()}
    # Each kind is compared with the originals, changed numbers with the placebo, changed names, if there is one.
    opposites = dict.fromkeys((kind for kind in reversed(TWIN_KINDS) if kind in kinds), ORIGINAL)
    if "numbers" in kinds and _PLACEBO in kinds:
        opposites["numbers"] = _PLACEBO
    questions = question_values(values, items)
    drafts = draft_comparisons(questions, metrics_to_compare(questions), [*opposites.items()])
    comparisons = {comparison.model_a: comparison for comparison in conclude(drafts)}
    for kind in TWIN_KINDS:
        if kind in comparisons:
            yield _build_difference(kind, comparisons[kind])


def _build_difference(kind: str, comparison: Comparison) -> TwinDifference:
    """Return what a comparison shows of a kind of twins."""
    outcome = _outcome(comparison)
    needed = None
    if outcome == "unknown" and comparison.test.detectable:
        # Number of pairs that would show 5 points with the observed spread.
        times = (comparison.test.detectable / MARGIN) ** 2
        if comparison.n and 1 < times <= FARTHEST:
            needed = math.ceil(comparison.n * times)
    return TwinDifference(
        kind=kind,
        against=comparison.model_b,
        n=comparison.n,
        mean=comparison.mean_a,
        mean_against=comparison.mean_b,
        difference=comparison.difference,
        interval=comparison.test.interval,
        p_adjusted=comparison.test.p_adjusted,
        detectable=comparison.test.detectable,
        outcome=outcome,
        needed=needed,
    )


def _outcome(comparison: Comparison) -> TwinOutcome:
    low, high = comparison.test.interval.low, comparison.test.interval.high
    if comparison.significant and comparison.difference:
        return "falls" if comparison.difference < 0 else "rises"
    is_near = low is not None and high is not None and low >= -MARGIN and high <= MARGIN
    return "same" if is_near and not comparison.missing.hangs else "unknown"


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


def add_counts(counts: Sequence[TwinCount]) -> list[TwinCount]:
    """Add up the counts of batches."""
    sums = Counter[tuple[str, str, str]]()
    for count in counts:
        sums[count.suite, count.kind, count.reason] += count.n
    return [TwinCount(*key, n) for key, n in sorted(sums.items(), key=lambda pair: (*pair[0][:2], -pair[1]))]


def count_twins(counts: Sequence[TwinCount]) -> Mapping[tuple[str, str], tuple[int, int]]:
    """Return the number of originals with a twin, and of all originals, by suite and kind."""
    numbers: dict[tuple[str, str], tuple[int, int]] = {}
    for count in counts:
        n_twins, n_originals = numbers.get((count.suite, count.kind), (0, 0))
        if not count.reason:  # a reason says why there is no twin
            n_twins += count.n
        numbers[count.suite, count.kind] = (n_twins, n_originals + count.n)
    return numbers
