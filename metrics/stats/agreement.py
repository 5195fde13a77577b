"""Agreement between judges, and of a model with itself on repeats."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from basic_control.data.records import VALUED
from basic_control.metrics.stats.intervals import Interval, MeanEstimate, mean_interval, wilson

_NOTHING = 1e-12
_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class JudgeFailures:
    """How often a judge's call or reply failed: the share with its interval; None if the judge was not asked.

    `n_unsure` of its ratings rest on an answer of which it said that it is unsure.
    """

    judge: str
    n_asked: int
    n_failed: int
    rate: float | None
    interval: Interval
    n_unsure: int = 0


@dataclass(frozen=True, slots=True)
class Agreement:
    """Krippendorff's alpha over the `n_units` with several ratings, and its 95 % interval; None if undefined."""

    alpha: float | None
    interval: Interval
    n_units: int


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """Krippendorff's alpha over the units with several ratings, and each judge's failures.

    `alpha`, with its 95 % `interval`, is on the interval `scale`; None if no unit has two ratings, or all ratings
    are equal.
    """

    scale: str
    alpha: float | None
    n_units: int
    judges: tuple[JudgeFailures, ...]
    interval: Interval = field(default_factory=Interval)


@dataclass(frozen=True, slots=True)
class Repeats:
    """Statistics of k repeats for a yes/no metric of a model; means over the items with at least k answers.

    `pass_at`: at least one of k answers is right; `pass_all` (pass^k): all of them are; `agreement`: two answers to
    an item score the same. None if no item has enough scored answers; the intervals are over items.
    """

    suite: str
    model: str
    metric: str
    k: int
    n_items: int
    pass_at: MeanEstimate
    pass_all: MeanEstimate
    agreement: MeanEstimate


def agreement(ratings: pl.DataFrame) -> Agreement:
    """Compute Krippendorff's alpha of numbers: 1 agreement, 0 chance level, below 0 disagreement.

    A row of `ratings` is one rating, in any order: `unit` (what was rated) and `value` (null: none). Units with a
    single rating do not count. None if alpha is undefined. For yes/no values it equals nominal alpha. The 95 %
    interval is a bootstrap over units with random weights, with one unit of chance agreement added: full agreement
    on a few units does not prove agreement on all.

    Source: Krippendorff 2011, of intervals; Rubin 1981 (the Bayesian bootstrap); the added unit ours.
    """
    valued = ratings.select("unit", pl.col("value").cast(pl.Float64)).drop_nulls()
    rated = valued.filter(pl.len().over("unit") > 1)
    units, n_ratings = rated["unit"].n_unique(), rated.height
    # Centre first: sums of squares keep their precision.
    at = pl.col("value") - rated["value"].mean()
    by_unit = rated.with_columns(at=at).group_by("unit", maintain_order=True)
    grouped = by_unit.agg(n=pl.len(), total=pl.col("at").sum(), squares=(pl.col("at") ** 2).sum())
    size, totals, squares = (grouped[name].to_numpy().astype(float) for name in ("n", "total", "squares"))
    unlike = (squares - totals**2 / size) * size / (size - 1)
    spread = float(squares.sum()) * n_ratings / max(n_ratings - 1, 1)
    if spread <= _NOTHING:
        return Agreement(None, Interval(), units)
    alpha = 1 - float(unlike.sum()) / spread
    rng = np.random.default_rng(0)
    weights = rng.gamma(1.0, size=(_DRAWS, units))
    extra = rng.gamma(1.0, size=_DRAWS)
    n = weights @ size
    expected = weights @ squares - (weights @ totals) ** 2 / n
    # The added unit has the mean size, and the spread of all ratings.
    chance = extra * size.mean() * expected / n
    alphas = 1 - (weights @ unlike + chance) / np.maximum(expected * (1 + extra * size.mean() / n), _NOTHING)
    low, high = np.quantile(alphas, [0.025, 0.975]).tolist()
    return Agreement(alpha, Interval(min(low, alpha), max(high, alpha), "bootstrap", units), units)


def judge_ratings(scores: pl.DataFrame) -> pl.DataFrame:
    """Read each judge's own score from the details of a scores table, as rows for `judge_agreement`.

    Columns: metric, unit (item, model and repeat), judge, value (null: that judge failed), is_unsure. Judges for
    whom the metric was not applicable are left out, and so are scores that needed no judge (computed, or settled by
    a shortcut): they would count as agreement without failures.
    """
    texts = dict.fromkeys(("metric", "unit", "judge"), pl.String())
    schema = pl.Schema({**texts, "value": pl.Float64(), "is_unsure": pl.Boolean()})
    rows = []
    judged = scores.filter(pl.col("details").str.contains('"judges"', literal=True))
    columns = judged.select("item_id", "model", "repeat", "metric", "details")
    for item_id, model, repeat, metric, details in columns.iter_rows():
        judges = json.loads(details).get("judges")
        # What a file says of judges may have any form.
        for judge, verdict in judges.items() if isinstance(judges, dict) else ():
            if not isinstance(verdict, dict) or verdict.get("status") == "not_applicable":
                continue
            if verdict.get("n_calls") != 0:
                unit, is_unsure = json.dumps([item_id, model, repeat]), bool(verdict.get("n_unsure"))
                rows.append((metric, unit, judge, verdict.get("value"), is_unsure))
    return pl.DataFrame(rows, schema=schema, orient="row")


def judge_agreement(ratings: pl.DataFrame) -> JudgeAgreement:
    """Compute agreement and failures of judges.

    A row of `ratings` is one judge's rating of one unit: `unit`, `judge`, `value` (null: the call failed or its
    reply could not be parsed), `is_unsure`. Leave out what was not applicable, which is no failure.
    """
    failed, unsure = pl.col("value").null_count(), pl.col("is_unsure").sum()
    counts = ratings.group_by("judge").agg(asked=pl.len(), failed=failed, unsure=unsure).sort("judge")
    judges = tuple(
        JudgeFailures(judge, n, failed, failed / n, wilson(failed, n), unsure)
        for judge, n, failed, unsure in counts.iter_rows()
    )
    overall = agreement(ratings)
    return JudgeAgreement("interval", overall.alpha, overall.n_units, judges, overall.interval)


def pass_at(n: int, c: int, k: int) -> float:
    """Return the probability that at least one of k answers is right, drawn from n of which c are; n >= k.

    Source: Chen et al. 2021 (pass@k).
    """
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_all(n: int, c: int, k: int) -> float:
    """Return the probability that all of k answers are right, drawn from n of which c are; n >= k.

    Source: Yao et al. 2024 (pass^k).
    """
    return math.comb(c, k) / math.comb(n, k)


def repeats(
    scores: pl.DataFrame, *, k: int, suite: str = "", templates: Mapping[str, int] | None = None
) -> tuple[Repeats, ...]:
    """Compute pass@k, pass^k and agreement for each model and each yes/no metric of a suite's scores; k > 0.

    A row is a metric's value for an item, a model and a repeat. For an item with n scored repeats of which c are
    right, pass@k = 1 - C(n - c, k) / C(n, k) and pass^k = C(c, k) / C(n, k): unbiased for any n >= k. Agreement is
    the share of an item's pairs of repeats that score the same. `templates` are the numbers of items' templates
    (-1, the default: none), which intervals heed.

    Source: Chen et al. 2021 (pass@k); Yao et al. 2024 (pass^k).
    """
    counts = (
        scores.filter(pl.col("status").is_in(VALUED))
        .with_columns(pl.col("value").fill_null(0.0))
        .filter(((pl.col("value") == 0) | (pl.col("value") == 1)).all().over("metric"))
        .group_by("model", "metric", "item_id")
        .agg(n=pl.len(), c=(pl.col("value") == 1).sum())
        .sort("model", "metric", "item_id")
    )
    measured = []
    for (model, metric), items in counts.group_by("model", "metric", maintain_order=True):
        rows = [(n, c, (templates or {}).get(item, -1)) for item, n, c in items.select("item_id", "n", "c").rows()]
        # An item with fewer repeats than k says nothing of k of them.
        of_k = [row for row in rows if row[0] >= k]
        of_two = [row for row in rows if row[0] > 1]
        agreeing = [(math.comb(c, 2) + math.comb(n - c, 2)) / math.comb(n, 2) for n, c, _ in of_two]
        means = (
            _average([pass_at(n, c, k) for n, c, _ in of_k], of_k),
            _average([pass_all(n, c, k) for n, c, _ in of_k], of_k),
            _average(agreeing, of_two),
        )
        measured.append(Repeats(suite, str(model), str(metric), k, len(of_k), *means))
    return tuple(measured)


def _average(values: Sequence[float], rows: Sequence[tuple[int, int, int]]) -> MeanEstimate:
    """Return the mean of items' values; an item's row ends with its template."""
    return mean_interval(values, clusters=[template for *_, template in rows])
