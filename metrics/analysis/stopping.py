"""Suites that ask until decided: the order of their questions, and their confidence sequences.

A stratum is a family at a level in a language. With strata (`Suite.strata`) an observation is a round: one item of
every stratum, families weighed equally. Otherwise it is an item, and looks are taken only after whole rounds: fixed
bets remain valid for items of different strata once each stratum has been sampled. Questions that share a template
stay together: the template is one observation, its value the mean over its questions. A question's place follows
from the seed and from what is asked, so recorded replies do not move it.

Source: SPEC 9, 12.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise
from operator import attrgetter
from statistics import fmean
from typing import NamedTuple

import numpy as np
import polars as pl

from basic_control.data.deciding import headlines
from basic_control.data.draw import content_id
from basic_control.data.errors import InputError
from basic_control.data.suites import Stop, Suite
from basic_control.data.tables import SUMMARY
from basic_control.metrics.analysis.observations import Observations, observations, question_values, weight_by
from basic_control.metrics.stats.calibration import ExamTable, bounds
from basic_control.metrics.stats.intervals import Codes, Floats
from basic_control.metrics.stats.sequential import Look, Side, find_decided, follow, side

GROWTH = 0.15
"""Fraction by which each round increases the number of questions asked."""
MIN_TEMPLATES = 10
"""Number of shared templates below which nothing stops early."""
COLUMN = "unit"
STRATUM = ("family", "level", "language")
_STRATUM = "_stratum"
_ORDER = "_order"
_TURN = "_turn"


def order_items(items: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return items in an order drawn from the seed and their questions, rows of one question as they stand."""
    question = _question(items)
    order = [content_id("order", seed, text) for text in items.select(question).to_series()]
    drawn = items.with_columns(pl.Series(_ORDER, order, dtype=pl.String))
    return drawn.sort(_ORDER, "index", "item_id").drop(_ORDER)


def unit_of() -> pl.Expr:
    """Return the unit of each item: its template, or itself."""
    template = pl.concat_str("family", "template", separator="\0", ignore_nulls=True)
    return pl.when(pl.col("template").fill_null("") != "").then(template).otherwise("item_id").alias(COLUMN)


def count_shared(items: pl.DataFrame) -> int:
    """Count the templates that two questions or more share."""
    return int(_list_units(items, strata=False)["is_shared"].sum())


def stratum_of() -> pl.Expr:
    """Return the stratum of each item's unit: of a template that occurs in several, the first of them."""
    return pl.concat_str(STRATUM, separator="\0", ignore_nulls=True).min().over(COLUMN)


def may_stop(items: pl.DataFrame, *, strata: bool) -> bool:
    """Return whether a suite of these items may stop early: no templates are shared, or enough of them.

    With strata there must be as many rounds, each of one unit of every stratum.
    """
    units = _list_units(items, strata=strata)
    return not units["is_shared"].sum() or _may_stop(units)


def take_turns(items: pl.DataFrame) -> pl.DataFrame:
    """Order items by turns of one item of every stratum."""
    turn = pl.int_range(pl.len()).over(STRATUM)
    return items.with_columns(turn.alias(_TURN)).sort(_TURN, *STRATUM).drop(_TURN)


def cut_into_templates(drawn: pl.DataFrame, seed: int, stop: Stop, *, strata: bool) -> list[pl.DataFrame]:
    """Split items that share templates into rounds of whole templates, in an order drawn from the seed.

    With strata, units come in turns of one of every stratum. The first round has `MIN_TEMPLATES` shared templates
    and turns at least. Where `stop.most` questions have fewer, there is one round: nothing stops early.
    """
    ordered = _order_units(_list_units(drawn, strata=strata), seed)
    units = ordered.filter(pl.col("n").cum_sum() <= stop.most)
    n_strata = ordered[_STRATUM].n_unique()
    if units[_STRATUM].n_unique() < n_strata:
        # Whole templates of every stratum are more than may be asked.
        return [take_turns(drawn).head(stop.most)]
    if not _may_stop(units):
        return [_join_items(units, drawn)]
    whole = units.head(_count_turns(units) * n_strata)
    turns = whole.group_by(_TURN, maintain_order=True).agg(pl.col("n", "is_shared").sum())
    items = _join_items(whole, drawn)
    return [items[start:end] for start, end in pairwise((0, *_list_looks(turns, stop.first)))]


def _list_looks(turns: pl.DataFrame, n_first: int) -> list[int]:
    """Return the numbers of questions after which a look is taken: at least `n_first`, and at the end of a turn."""
    n_asked, n_shared = (turns[name].cum_sum().to_numpy() for name in ("n", "is_shared"))
    last = len(n_asked) - 1
    first = max(int(np.searchsorted(n_asked, n_first)), int(np.searchsorted(n_shared, MIN_TEMPLATES)))
    looks = [int(n_asked[min(max(first, MIN_TEMPLATES - 1), last)])]
    while looks[-1] < n_asked[last]:
        aim = looks[-1] + max(1, math.ceil(GROWTH * looks[-1]))
        looks.append(int(n_asked[min(int(np.searchsorted(n_asked, aim)), last)]))
    return looks


def _question(items: pl.DataFrame) -> pl.Expr:
    """Return what identifies the question of each item."""
    if "text_digest" not in items.columns:
        return pl.col("item_id")
    digest = pl.col("text_digest")
    return pl.when(digest.fill_null("") != "").then(digest).otherwise("item_id")


def _list_units(items: pl.DataFrame, *, strata: bool) -> pl.DataFrame:
    """Return each unit with its number of items, whether it is a template of several questions, and its stratum.

    Without strata all units are of one.
    """
    stratum = stratum_of() if strata else pl.lit("")
    questions = pl.struct("level", "language", question=_question(items))
    by_unit = items.with_columns(unit_of()).with_columns(stratum.alias(_STRATUM))
    return by_unit.group_by(COLUMN, maintain_order=True).agg(
        pl.col(_STRATUM).first(),
        n=pl.len().cast(pl.Int64),
        is_shared=(questions.n_unique() > 1).cast(pl.Int64),
    )


def _order_units(units: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return units by turns of one of every stratum, in an order drawn from the seed."""
    order = [content_id("order", seed, unit) for unit in units[COLUMN]]
    drawn = units.with_columns(pl.Series(_ORDER, order, dtype=pl.String)).sort(_ORDER)
    turn = pl.int_range(pl.len()).over(_STRATUM)
    return drawn.with_columns(turn.alias(_TURN)).sort(_TURN, _STRATUM)


def _count_turns(units: pl.DataFrame) -> int:
    """Count the turns that have a unit of every stratum."""
    n_units = units.group_by(_STRATUM).len()["len"].to_list()
    return min(n_units, default=0)


def _may_stop(units: pl.DataFrame) -> bool:
    """Return whether there are turns and shared templates enough to stop early."""
    n_shared = int(units["is_shared"].sum())
    return min(n_shared, _count_turns(units)) >= MIN_TEMPLATES


def _join_items(units: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """Return the items of units, in the units' order."""
    by_unit = items.with_columns(unit_of())
    return units.select(COLUMN).join(by_unit, on=COLUMN, how="left", maintain_order="left_right").drop(COLUMN)


_COLUMNS = attrgetter("n", "mean", "low", "high")


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
    drawn = order_items(items, suite.seed)
    is_shared = count_shared(drawn) > 0
    sizes = drawn.group_by(STRATUM).len()["len"]
    is_even = sizes.n_unique() == 1 and not is_shared
    strata = len(sizes) if suite.strata or is_even else 1
    if stop.most < strata:
        raise InputError(
            f"suite {suite.name}: stop.most is {stop.most}, expected at least {strata}, one question for each "
            "family, level and language."
        )
    if is_shared:
        return cut_into_templates(drawn, suite.seed, stop, strata=bool(suite.strata))
    if strata > 1:
        drawn = take_turns(drawn).head(min(sizes) * strata)
    return [drawn[start:end] for start, end in pairwise((0, *ends(stop, strata, drawn.height)))]


def ends(stop: Stop, strata: int, n_items: int) -> list[int]:
    """Return the numbers of questions after which a look is taken: whole rounds of one item of each stratum."""
    limit = min(stop.most, n_items) // strata * strata
    counts = [min(limit, math.ceil(stop.first / strata) * strata)]
    while counts[-1] < limit:
        step = max(1, math.ceil(GROWTH * counts[-1] / strata)) * strata
        counts.append(min(limit, counts[-1] + step))
    return counts


def compute_sequences(
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
    judges. Nothing is followed where too few templates are shared (`may_stop`).
    """
    items = pl.concat(rounds)
    if not may_stop(items, strata=bool(suite.strata)):
        return ()
    once = observations(scores.join(items, on="item_id", how="semi"), items)
    followed: list[ConfidenceSequence] = []
    for score in headlines(suite):
        exam = (exams or {}).get(score.headline)
        followed += _follow_headline(rounds, scores, score, models, alpha, once=once, exam=exam)
    return tuple(followed)


class _Followed(NamedTuple):
    """What a sequence follows: a model's values, or its differences from another (`against`); low and high."""

    model: str
    against: str
    values: pl.DataFrame
    exam: ExamTable | None


def _follow_headline(
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
    ordered_items = pl.concat(rounds).select("item_id", *STRATUM, unit_of()).with_row_index("at", 1)
    ordered_items = ordered_items.select("at", "item_id", "family", COLUMN, stratum_of().alias("stratum"))
    by_model = ordered_items.join(scores, on="item_id").group_by("model").agg(pl.col("at").max())
    reached: dict[str, int] = dict(by_model.iter_rows())
    values = question_values(once.scores.filter(pl.col("metric").is_in(suite.value_metrics)), once.items)
    numbers = np.cumsum([*map(len, rounds)])
    sequences_followed = []
    for model, against, own_values, table in _pair_models(values, suite, models, exam):
        # A model that is decided is asked no further: of two the one that was asked less says how far they go.
        n_asked = min(reached[model], reached[against or model])
        rows = ordered_items.join(own_values, on="item_id").sort("at", "metric")
        looks = numbers[: np.searchsorted(numbers, n_asked) + 1]
        sequences_followed.append(_confidence_sequence(rows, looks, suite, model, against, alpha=alpha, exam=table))
    return sequences_followed


def _pair_models(
    values: pl.DataFrame, suite: Suite, models: Sequence[str], exam: ExamTable | None
) -> Iterator[_Followed]:
    """Yield what is followed: each model that has a value, and each pair of them where models are ranked."""
    by_model = {str(model): rows for (model,), rows in values.group_by("model")}
    present = [model for model in models if model in by_model and by_model[model]["value"].count()]
    key = ["item_id", "metric"]
    for model in present:
        yield _Followed(model, "", by_model[model].select(*key, low="lower", high="upper"), exam)
    if not _is_ranked(suite):
        return
    for model, rival in combinations(present, 2):
        paired = by_model[model].join(by_model[rival], on=key, suffix="_rival")
        low, high = pl.col("lower") - pl.col("upper_rival"), pl.col("upper") - pl.col("lower_rival")
        yield _Followed(model, rival, paired.select(*key, low=low, high=high), None)


def list_undecided(followed: Sequence[ConfidenceSequence], suite: Suite, models: Sequence[str]) -> list[str]:
    """Return the models that need more questions; a model without any value so far does not."""
    is_pairwise = _is_ranked(suite) and len(models) > 1
    due: set[str] = set()
    for sequence in followed:
        is_open = bool(sequence.looks) and sequence.decided is None
        if is_open and bool(sequence.against) == is_pairwise:
            due |= {sequence.model, sequence.against}
    return [name for name in models if name in due]


def sequences(suite: Suite, models: int) -> int:
    """Return the number of sequences of a suite, for dividing `alpha`."""
    of_one_headline = models
    if _is_ranked(suite):
        of_one_headline += math.comb(models, 2)
    return len(headlines(suite)) * of_one_headline


def _is_ranked(suite: Suite) -> bool:
    return suite.stop is not None and suite.stop.when == "ranked"


def with_sequence_intervals(
    summary: pl.DataFrame, followed: Sequence[ConfidenceSequence], suites: Sequence[Suite]
) -> pl.DataFrame:
    """Return a summary in which suites with interim looks have only their sequence's interval.

    The interval is that of a headline, so it is set on the suite-wide row only if that row is the headline: of a
    single metric, without strata.
    """
    names = {sequence.suite for sequence in followed}
    strata = {suite.name: suite.strata for suite in suites}
    is_monitored = pl.col("suite").is_in([*names.intersection(strata)])
    blank = [pl.when(~is_monitored).then(name).alias(name) for name in ("ci_low", "ci_high")]
    limits = []
    for sequence in followed:
        is_headline = sequence.metric and not sequence.against and not strata[sequence.suite]
        if sequence.looks and is_headline:
            last = sequence.looks[-1]
            key = (sequence.suite, sequence.model, sequence.metric, "", "", "")
            limits.append((*key, last.low, last.high))
    columns = ("suite", "model", "metric", "family", "level", "language")
    schema = dict.fromkeys(columns, pl.String) | dict.fromkeys(("low", "high"), pl.Float64)
    frame = pl.DataFrame(limits, schema, orient="row")
    joined = summary.with_columns(blank).join(frame, on=SUMMARY.key, how="left", maintain_order="left")
    whole = joined.with_columns(ci_low=pl.coalesce("ci_low", "low"), ci_high=pl.coalesce("ci_high", "high"))
    return whole.drop("low", "high")


def _by_metric(rows: pl.DataFrame, shares: Mapping[str, float]) -> list[pl.DataFrame]:
    """Return the values of each metric or, if every question has all of them, their means by weight."""
    weight = weight_by(shares)
    mean = {name: (pl.col(name) * weight).sum() / weight.sum() for name in ("low", "high")}
    means = rows.group_by("at", COLUMN, "family", "stratum", maintain_order=True).agg(**mean)
    if rows.height == means.height * rows["metric"].n_unique():
        return [means]
    return rows.partition_by("metric", maintain_order=True)


def _observations(rows: pl.DataFrame, suite: Suite) -> tuple[Floats, Floats, Codes]:
    """Return lower and upper observations in order, and after how many questions each was complete."""
    units = (
        rows.group_by("family", "stratum", COLUMN).agg(pl.col("low", "high").mean(), pl.col("at").max()).sort("at")
    )
    if not suite.strata or rows.is_empty():
        return units["low"].to_numpy(), units["high"].to_numpy(), units["at"].to_numpy().astype(np.int64)
    strata = units.partition_by("stratum")
    n_rounds = min(map(len, strata))
    families = [stratum["family"][0] for stratum in strata]
    sizes = np.array([*map(families.count, families)])
    weights = 1 / len({*families}) / sizes
    # A row a stratum, a column a round: each round has one unit of every stratum.
    heads = [stratum.head(n_rounds) for stratum in strata]
    low, high, position = (_stack_columns(heads, name) for name in ("low", "high", "at"))
    ends_at = np.max(position.astype(np.int64), axis=0)
    # Rounding may bring a weighted sum of ones above 1
    return np.clip(weights @ low, -1.0, 1.0), np.clip(weights @ high, -1.0, 1.0), ends_at


def _stack_columns(frames: Sequence[pl.DataFrame], name: str) -> Floats:
    return np.stack([frame[name].to_numpy() for frame in frames])


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
    frames = _by_metric(rows, suite.shares)
    parts, weights = [], []
    for frame in frames:
        parts.append(_observations(frame, suite))
        # The mean of several metrics has none of their names, and is all that is followed.
        weights.append(suite.shares[frame["metric"][0]] if "metric" in frame.columns else 1.0)
    # A look after which no metric has another observation is none.
    reached = np.stack([np.searchsorted(ends_at, numbers, side="right") for *_, ends_at in parts])
    counts, first = np.unique(reached, axis=1, return_index=True)
    is_usable = counts.min(axis=0) > 0
    questions = numbers[first[is_usable]].tolist()
    values = [(low, high) for low, high, _ in parts]
    looks_at = partial(
        _follow_parts, values, counts[:, is_usable].tolist(), weights, least=-1.0 if against else 0.0
    )
    looks = looks_at(alpha)
    threshold = 0.0 if against else suite.threshold
    deciding, corrected = None, None
    if threshold is not None:
        deciding = find_decided(looks, threshold)
    if exam and looks and threshold is not None:
        # Half of alpha is for the run, half for the judge's exam.
        halves = looks_at(alpha / 2)
        true_looks = [_allow_for_errors(look, exam, alpha / 2) for look in halves]
        corrected = true_looks[-1].low, true_looks[-1].high
        deciding = _find_agreed(looks, true_looks, threshold)
    limit = 0
    if suite.stop:
        limit = suite.stop.most
    decided_after: int | None = None
    decided_side: Side = ""
    if deciding and threshold is not None:
        decided_after, decided_side = questions[looks.index(deciding)], side(deciding, threshold)
    return ConfidenceSequence(
        suite=suite.name,
        model=model,
        against=against,
        alpha=alpha,
        threshold=threshold,
        most=limit,
        asked=int(numbers[-1]),
        decided=decided_after,
        side=decided_side,
        looks=looks,
        questions=tuple(questions),
        corrected=corrected,
        metric=suite.headline,
    )


def _follow_parts(
    parts: Sequence[tuple[Floats, Floats]],
    counts: Sequence[Sequence[int]],
    weights: Sequence[float],
    alpha: float,
    *,
    least: float,
) -> tuple[Look, ...]:
    """Follow the mean of several metrics' means, each at an equal share of `alpha`, after so many observations."""
    by_part = []
    for (low, high), looks in zip(parts, counts, strict=True):
        bounds_of_values = (least, 1.0)
        by_part.append(follow(low, alpha=alpha / len(parts), looks=looks, bounds=bounds_of_values, ceiling=high))
    return tuple(_mean(looks, weights) for looks in zip(*by_part, strict=True))


def _allow_for_errors(look: Look, exam: ExamTable, alpha: float) -> Look:
    """Return a look at the true mean, allowing for a judge's errors in its exam."""
    return Look(look.n, look.mean, *bounds((look.low, look.high), exam, alpha))


def _find_agreed(looks: Sequence[Look], true_looks: Sequence[Look], threshold: float) -> Look | None:
    """Return the first look at which both means lie on one side of the threshold; None without one."""
    for look, true_look in zip(looks, true_looks, strict=True):
        if side(look, threshold) == side(true_look, threshold) != "":
            return look
    return None


def _mean(looks: Sequence[Look], weights: Sequence[float]) -> Look:
    """Return the look at the mean of several means that were looked at after the same questions."""
    counts, *columns = zip(*map(_COLUMNS, looks), strict=True)
    mean, low, high = (fmean(column, weights) for column in columns)
    return Look(max(counts), mean, low, high)
