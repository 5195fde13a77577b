"""Suites that ask until decided: the order of their questions, and their confidence sequences.

A stratum is a family at a level in a language. With strata (`Suite.strata`) an observation is a round: one item of
every stratum, families weighed equally. Otherwise it is an item, and looks are taken only after whole rounds: fixed
bets remain valid for items of different strata once each stratum has been sampled. Where items share templates, an
observation is a template (`rounds`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from statistics import fmean

import numpy as np
import polars as pl

from basic_control.data.deciding import headlines
from basic_control.data.errors import InputError
from basic_control.data.suites import Stop, Suite
from basic_control.data.tables import SUMMARY
from basic_control.metrics.analysis.rounds import (
    COLUMN,
    GROWTH,
    MIN_TEMPLATES,
    count_shared,
    cut_into_templates,
    ordered,
    unit_of,
)
from basic_control.metrics.analysis.values import Observations, observations, question_values, weight_by
from basic_control.metrics.stats.calibration import ExamTable, bounds
from basic_control.metrics.stats.intervals import Codes, Floats
from basic_control.metrics.stats.sequential import Look, Side, decided, follow, side

_STRATUM = ("family", "level", "language")


@dataclass(frozen=True, slots=True)
class ConfidenceSequence:
    """How the interval of a model's score, or of the difference to another model (`against`), narrowed.

    The score is the headline of that `suite` and `metric`. `alpha` is the probability that the sequence is ever
    wrong. `looks` are the confidence sequence, their `n` the observations: items (of the metric that has most), or
    rounds if the suite has strata; `questions` is the number asked at each look. `threshold` (0 for a difference;
    None: there is none) is excluded after `decided` questions, with the whole interval on `side` of it; None and ''
    if it is not excluded. If the judge took an exam, `corrected` is the interval of the true mean after the last
    look, allowing for the judge's errors: it must exclude the threshold as well.
    """

    suite: str
    model: str
    against: str
    alpha: float
    threshold: float | None
    most: int
    asked: int
    decided: int | None
    side: Side
    looks: tuple[Look, ...]
    questions: tuple[int, ...]
    corrected: tuple[float, float] | None = None
    metric: str = ""


def against(sequence: ConfidenceSequence, threshold: float) -> ConfidenceSequence:
    """Return the sequence against another threshold, with the side on which its looks' interval lies."""
    now: Side = side(sequence.looks[-1], threshold) if sequence.looks else ""
    if sequence.corrected and side(Look(0, 0.0, *sequence.corrected), threshold) != now:
        now = ""
    return replace(sequence, threshold=threshold, side=now)


def cut_into_rounds(items: pl.DataFrame, suite: Suite, stop: Stop) -> list[pl.DataFrame]:
    """Split a suite's items into rounds, in an order drawn from the suite's seed and the items' content.

    Each has the same number of items of every stratum; if strata differ in size and the suite's score does not
    weigh them equally, items come in one random order. Templates that questions share come whole.

    Raises:
        InputError: fewer questions may be asked than there are strata.
    """
    drawn = ordered(items, suite.seed)
    if not suite.strata and count_shared(drawn):
        return cut_into_templates(drawn, suite.seed, stop)
    sizes = drawn.group_by(_STRATUM).len()["len"]
    strata = len(sizes) if suite.strata or sizes.n_unique() == 1 else 1
    if stop.most < strata:
        raise InputError(
            f"suite {suite.name}: stop.most is {stop.most}, expected at least {strata}, one question for each "
            "family, level and language."
        )
    if strata > 1:
        turns = drawn.with_columns(_turn=pl.int_range(pl.len()).over(_STRATUM)).sort("_turn", *_STRATUM)
        drawn = turns.head(min(sizes) * strata).drop("_turn")
    return [drawn[start:end] for start, end in pairwise((0, *ends(stop, strata, drawn.height)))]


def ends(stop: Stop, strata: int, there: int) -> list[int]:
    """Return the numbers of questions after which a look is taken: whole rounds of one item of each stratum."""
    most = min(stop.most, there) // strata * strata
    found = [min(most, math.ceil(stop.first / strata) * strata)]
    while found[-1] < most:
        step = max(1, math.ceil(GROWTH * found[-1] / strata)) * strata
        found.append(min(most, found[-1] + step))
    return found


def confidence_sequences(
    rounds: Sequence[pl.DataFrame],
    scores: pl.DataFrame,
    suite: Suite,
    models: Sequence[str],
    alpha: float,
    *,
    exams: Mapping[str, ExamTable] | None = None,
) -> tuple[ConfidenceSequence, ...]:
    """Follow each model by each headline against its threshold and, if it is `ranked`, every pair of models.

    `rounds` are the items asked, in order; `scores` may include other suites. `alpha` is per sequence. Rows of one
    question are one observation; its value is the mean of the metrics of the headline's score, each of its mean
    over repeats. If a metric does not apply to every question, each metric is followed by itself, at an equal share
    of `alpha`: the score is the mean of their means, not of the questions'. A truncated response lies between its
    value and 1, a failed call or an unreadable judge reply between 0 and 1. `exams` are those of a headline's
    judges. Nothing is followed where fewer than `MIN_TEMPLATES` templates are shared.
    """
    put = pl.concat(rounds)
    if not suite.strata and 0 < count_shared(put) < MIN_TEMPLATES:
        return ()
    once = observations(scores.join(put, on="item_id", how="semi"), put)
    found: list[ConfidenceSequence] = []
    for score in headlines(suite):
        exam = (exams or {}).get(score.headline)
        found += _of_headline(rounds, scores, score, models, alpha, once=once, exam=exam)
    return tuple(found)


def _of_headline(
    rounds: Sequence[pl.DataFrame],
    scores: pl.DataFrame,
    suite: Suite,
    models: Sequence[str],
    alpha: float,
    *,
    once: Observations,
    exam: ExamTable | None,
) -> list[ConfidenceSequence]:
    """Follow the models by one headline: the only score of `suite`."""
    put = pl.concat(rounds)
    asked = put.select("item_id", *_STRATUM, unit_of()).with_row_index("at", 1)
    reached: dict[str, int] = dict(
        asked.join(scores, on="item_id").group_by("model").agg(pl.col("at").max()).iter_rows()
    )
    values = question_values(once.scores.filter(pl.col("metric").is_in(suite.value_metrics)), once.items)
    sides = {str(model): own for (model,), own in values.group_by("model") if own["value"].count()}
    there = [model for model in models if model in sides]
    key = ["item_id", "metric"]
    followed = [(model, "", sides[model].select(*key, low="lower", high="upper"), exam) for model in there]
    for one, other in combinations(there, 2) if _ranked(suite) else ():
        paired = sides[one].join(sides[other], on=key, suffix="_other")
        differences = paired.select(
            *key, low=pl.col("lower") - pl.col("upper_other"), high=pl.col("upper") - pl.col("lower_other")
        )
        followed.append((one, other, differences, None))
    numbers = np.cumsum([frame.height for frame in rounds])
    return [
        _confidence_sequence(
            asked.join(values, on="item_id").sort("at", "metric"),
            numbers[: np.searchsorted(numbers, min(reached[model], reached[against or model])) + 1],
            suite,
            model,
            against,
            alpha=alpha,
            exam=known,
        )
        for model, against, values, known in followed
    ]


def undecided_models(found: Sequence[ConfidenceSequence], suite: Suite, models: Sequence[str]) -> list[str]:
    """Return the models that need more questions; a model without any value so far does not."""
    found = [one for one in found if one.looks]
    if _ranked(suite) and len(models) > 1:
        due = {name for one in found if one.against and one.decided is None for name in (one.model, one.against)}
    else:
        due = {one.model for one in found if not one.against and one.decided is None}
    return [name for name in models if name in due]


def sequences(suite: Suite, models: int) -> int:
    """Return the number of sequences of a suite, for dividing `alpha`."""
    of_one_headline = models + (math.comb(models, 2) if _ranked(suite) else 0)
    return len(headlines(suite)) * of_one_headline


def _ranked(suite: Suite) -> bool:
    return suite.stop is not None and suite.stop.when == "ranked"


def with_sequence_intervals(
    summary: pl.DataFrame, found: Sequence[ConfidenceSequence], suites: Sequence[Suite]
) -> pl.DataFrame:
    """Return a summary in which suites with interim looks have only their sequence's interval.

    The interval is that of a headline, so it is set on the suite-wide row only if that row is the headline: of a
    single metric, without strata.
    """
    followed = {one.suite for one in found}
    monitored = {suite.name: suite.strata for suite in suites if suite.name in followed}
    kept = summary.with_columns(
        pl.when(~pl.col("suite").is_in(list(monitored))).then(name).alias(name) for name in ("ci_low", "ci_high")
    )
    ends_of = [
        (one.suite, one.model, one.metric, "", "", "", one.looks[-1].low, one.looks[-1].high)
        for one in found
        if one.looks and not one.against and one.metric and not monitored[one.suite]
    ]
    columns = ("suite", "model", "metric", "family", "level", "language")
    schema = dict.fromkeys(columns, pl.String) | dict.fromkeys(("low", "high"), pl.Float64)
    joined = kept.join(
        pl.DataFrame(ends_of, schema, orient="row"), on=SUMMARY.key, how="left", maintain_order="left"
    )
    whole = joined.with_columns(ci_low=pl.coalesce("ci_low", "low"), ci_high=pl.coalesce("ci_high", "high"))
    return whole.drop("low", "high")


def _by_metric(rows: pl.DataFrame, shares: Mapping[str, float]) -> list[pl.DataFrame]:
    """Return the values of each metric or, if every question has all of them, their means by weight."""
    weight = weight_by(shares)
    mean = {name: (pl.col(name) * weight).sum() / weight.sum() for name in ("low", "high")}
    means = rows.group_by("at", COLUMN, *_STRATUM, maintain_order=True).agg(**mean)
    if rows.height == means.height * rows["metric"].n_unique():
        return [means]
    return rows.partition_by("metric", maintain_order=True)


def _observations(rows: pl.DataFrame, suite: Suite) -> tuple[Floats, Floats, Codes]:
    """Return lower and upper observations in order, and after how many questions each was complete."""
    if not suite.strata or rows.is_empty():
        rows = rows.group_by(COLUMN).agg(pl.col("low", "high").mean(), pl.col("at").max()).sort("at")
        return rows["low"].to_numpy(), rows["high"].to_numpy(), rows["at"].to_numpy().astype(np.int64)
    parts = rows.partition_by(*_STRATUM, maintain_order=True)
    whole = min(part.height for part in parts)
    families = [part["family"][0] for part in parts]
    weights = np.array([1 / len({*families}) / families.count(family) for family in families])
    low, high = (weights @ np.stack([part[name].to_numpy()[:whole] for part in parts]) for name in ("low", "high"))
    came = np.max(np.stack([part["at"].to_numpy()[:whole] for part in parts]).astype(np.int64), axis=0)
    # Rounding may bring a weighted sum of ones above 1
    return np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0), came


def _confidence_sequence(
    rows: pl.DataFrame,
    numbers: Codes,
    suite: Suite,
    model: str,
    against: str,
    *,
    alpha: float,
    exam: ExamTable | None,
) -> ConfidenceSequence:
    """Follow one sequence: of a model's items, or of the differences of two.

    `rows` are the values in the items' order (`at`), `numbers` the questions asked at each look.
    """
    of_metrics = _by_metric(rows, suite.shares)
    weights = [suite.shares[part["metric"][0]] if len(of_metrics) > 1 else 1.0 for part in of_metrics]
    parts = [_observations(part, suite) for part in of_metrics]
    seen = np.stack([np.searchsorted(came, numbers, side="right") for *_, came in parts])
    counts, first = np.unique(seen, axis=1, return_index=True)
    whole = counts.min(axis=0) > 0
    questions = numbers[first[whole]].tolist()

    def looks_at(alpha: float) -> tuple[Look, ...]:
        each = [
            follow(
                low,
                alpha=alpha / len(parts),
                looks=own[whole].tolist(),
                bounds=(-1.0, 1.0) if against else (0.0, 1.0),
                ceiling=high,
            )
            for (low, high, _), own in zip(parts, counts, strict=True)
        ]
        return tuple(_mean(looks, weights) for looks in zip(*each, strict=True))

    looks = looks_at(alpha)
    threshold = 0.0 if against else suite.threshold
    deciding, corrected = None if threshold is None else decided(looks, threshold), None
    if exam and looks and threshold is not None:
        # Half of alpha is for the run, half for the judge's exam.
        true = [Look(one.n, one.mean, *bounds((one.low, one.high), exam, alpha / 2)) for one in looks_at(alpha / 2)]
        corrected = true[-1].low, true[-1].high
        sides = [[side(look, threshold) for look in each] for each in (looks, true)]
        agreed = zip(looks, *sides, strict=True)
        deciding = next((look for look, seen_on, true_on in agreed if seen_on == true_on != ""), None)
    return ConfidenceSequence(
        suite=suite.name,
        model=model,
        against=against,
        alpha=alpha,
        threshold=threshold,
        most=suite.stop.most if suite.stop else 0,
        asked=int(numbers[-1]),
        decided=questions[looks.index(deciding)] if deciding else None,
        side=side(deciding, threshold) if deciding and threshold is not None else "",
        looks=looks,
        questions=tuple(questions),
        corrected=corrected,
        metric=suite.headline,
    )


def _mean(looks: Sequence[Look], weights: Sequence[float]) -> Look:
    """Return the look at the mean of several means that were looked at after the same questions."""
    ends = (fmean([getattr(look, name) for look in looks], weights) for name in ("mean", "low", "high"))
    return Look(max(look.n for look in looks), *ends)
