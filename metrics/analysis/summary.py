"""Cells of the report: counts, means and intervals, for every cell and for what they roll up to."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from data.errors import InputError
from data.records import STATUSES, VALUED
from data.tables import SUMMARY
from metrics.analysis.values import placed
from metrics.stats.intervals import Codes, Floats, MeanEstimate, PooledSample, estimate, independent, pool
from metrics.stats.missing import LOST

ROLL_UPS: tuple[tuple[str, ...], ...] = (
    (),
    ("level",),
    ("language",),
    ("family",),
    ("family", "level"),
    ("family", "language"),
    ("family", "level", "language"),
)
"""The dimensions that stay apart, beside suite, model and metric; the others are '' (all of them)."""

_DIMENSIONS = ("suite", "family", "level", "language")
_SCORED, _TRUNCATED = STATUSES.index("scored"), STATUSES.index("truncated")
_LOST = [STATUSES.index(status) for status in LOST]
_HOLLOW = [STATUSES.index(status) for status in VALUED if status != "scored"]


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One row of the summary: what was asked, how it ended, the mean and its 95 % interval.

    `lower` is the mean were all rows wrong that were asked and are not scored (`n_model_error`, `n_judge_failed`),
    `upper` the mean were these right, and all whose reply was cut; each with its interval. None where no row makes
    a difference.
    """

    suite: str
    family: str
    level: str
    language: str
    model: str
    metric: str
    n_asked: int
    n_scored: int
    n_no_answer: int
    n_model_error: int
    n_judge_failed: int
    n_not_applicable: int
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    n_truncated: int = 0
    upper: float | None = None
    upper_low: float | None = None
    upper_high: float | None = None
    lower: float | None = None
    lower_low: float | None = None
    lower_high: float | None = None

    @property
    def n_lost(self) -> int:
        """How many rows were asked and are not scored."""
        return self.n_model_error + self.n_judge_failed

    @property
    def coverage(self) -> float | None:
        """The share of applicable rows that were scored; None where nothing applied."""
        applicable = self.n_asked - self.n_not_applicable
        return self.n_scored / applicable if applicable else None


@dataclass(frozen=True, slots=True)
class Total:
    """A model's TOTAL in percent, unrounded, over the families in `included`.

    None where an applicable family has nothing scored (it stands in `missing`), or where no family applies.
    `left_out` are the families that were not applicable. `lower` and `upper` are the TOTAL at the families' bounds;
    None where they make no difference.
    """

    percent: float | None
    included: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    upper: float | None = None
    lower: float | None = None


def summarise(scores: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """Sum scores up into the summary table.

    A row of `scores` is a metric's value for an item, a model and a repeat; of the result, a cell: one for each
    suite, family, level, language, model and metric that occurs, and one for each of `ROLL_UPS`, where '' means
    all. A mean is taken over rows (TOTAL, which weighs families equally, is `totals`). `n_asked` counts all
    rows; `n_scored` those with a value: status `scored`, and `no_answer` and `truncated`, whose value is 0 unless
    the metric gave it one; so n_asked = n_scored + n_model_error + n_judge_failed + n_not_applicable. Where
    nothing is scored, mean and interval are null. A mean is over questions: repeats enter by their mean.

    A metric is yes/no when all its values are 0 or 1; one with values outside 0 and 1 has no bounds.
    Intervals: `metrics.stats.intervals`; clusters are the templates of a family, the unit is the question, whose
    repeats enter by their mean.

    Raises:
        InputError: a row whose item is not in `items`, whose status is unknown, or that is scored and has no
            finite value.
    """
    coded = _coded(scores, items)
    kinds = _kinds(coded)
    groups = _groups(coded)
    parts = list(dict.fromkeys(groups.values()))
    lost = [part for part in parts if _partly(coded.counts[list(part)])]
    cut = [part for part in parts if coded.counts[list(part), _TRUNCATED].any()]

    def estimated(rows: _Coded, listed: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], MeanEstimate]:
        each = [kinds[coded.leaves[part[0]][-1]] for part in listed]
        pools = _pools(rows, listed, [yes_no for yes_no, _ in each])
        return {
            part: estimate(sample, yes_no=yes_no, bounded=bounded)
            for part, sample, (yes_no, bounded) in zip(listed, pools, each, strict=True)
        }

    uppers = estimated(_bound(coded, kinds, best=True), [*{*lost, *cut}]) if lost or cut else {}
    lowers = estimated(_bound(coded, kinds, best=False), lost) if lost else {}
    return SUMMARY.frame(_rows(groups, estimated(coded, parts), lowers, uppers, coded.counts))


OVER_ALL = (pl.col("level") == "") & (pl.col("language") == "")
"""The rows of a summary table over all levels and languages."""
OF_SUITES = OVER_ALL & (pl.col("family") == "")
OF_FAMILIES = OVER_ALL & (pl.col("family") != "")


def cells(summary: pl.DataFrame) -> tuple[SummaryRow, ...]:
    """Read the rows of a summary table."""
    filled: Iterator[dict[str, Any]] = (
        {**row, "n_truncated": row.get("n_truncated") or 0} for row in summary.iter_rows(named=True)
    )
    return tuple(SummaryRow(**row) for row in filled)


def totals(summary: pl.DataFrame, *, suite: str, metric: str) -> dict[str, Total]:
    """Compute each model's TOTAL in a suite from a summary table.

    A family all of whose rows are not applicable is left out; one that was asked and has nothing scored makes
    TOTAL None (SPEC 1: a composite is null when one of its components is).
    """
    families = summary.filter(OF_FAMILIES, suite=suite, metric=metric)
    found: dict[str, Total] = {}
    for (model,), group in families.group_by("model", maintain_order=True):
        listed = cells(group)
        counted = [cell for cell in listed if cell.n_asked > cell.n_not_applicable]
        mean = _mean([cell.mean for cell in counted])
        lower, upper = (
            _mean([cell.mean if end is None else end for cell, end in zip(counted, ends, strict=True)])
            if mean is not None and any(end is not None for end in ends)
            else None
            for ends in ([cell.lower for cell in counted], [cell.upper for cell in counted])
        )
        found[str(model)] = Total(
            percent=None if mean is None else 100 * mean,
            included=tuple(cell.family for cell in counted if cell.mean is not None),
            left_out=tuple(cell.family for cell in listed if cell not in counted),
            missing=tuple(cell.family for cell in counted if cell.mean is None),
            upper=None if upper is None else 100 * upper,
            lower=None if lower is None else 100 * lower,
        )
    return found


def rounded(value: float, places: int) -> float:
    """Round to a number of decimals as on paper: halves away from zero, of the number as it is written.

    0.8225 is stored a little below itself, and a mean may be off in its last bit: the value is first read to
    twelve decimals.
    """
    written = Decimal(repr(round(value, 12)))
    return float(written.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP))


def percent(share: float) -> str:
    """Write a share of 1 as a percentage; without decimals where there are none."""
    return f"{rounded(100 * share, 1):.1f}%".replace(".0%", "%")


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


_Key = tuple[str, str, str, str, str, str]


class _Coded(NamedTuple):
    """Scores as small numbers: `rows` has leaf (the finest cell), item, cluster and value.

    The value could be more where the reply was `cut`, and anything where it is `lost`.
    """

    rows: pl.DataFrame
    leaves: list[_Key]
    counts: Codes
    repeated: bool


def _coded(scores: pl.DataFrame, items: pl.DataFrame) -> _Coded:
    """Join scores with their items, number the finest cells and count how their rows ended."""
    dimensions = items.select(pl.col(_DIMENSIONS).fill_null("")).unique().sort(_DIMENSIONS)
    models, metrics = (scores[name].unique().sort() for name in ("model", "metric"))
    rows = scores.select(
        "item_id",
        "value",
        model=pl.col("model").cast(pl.Enum(models)).to_physical(),
        metric=pl.col("metric").cast(pl.Enum(metrics)).to_physical(),
        status=pl.col("status").cast(pl.Enum(STATUSES), strict=False).to_physical(),
    ).join(_known(items, dimensions), on="item_id", how="left")
    _check(rows, scores)
    rows = rows.select(
        "item",
        "cluster",
        "status",
        # sorted so, the cells of a model and metric that roll up lie side by side
        leaf=(pl.col("model").cast(pl.Int64) * len(metrics) + pl.col("metric")) * len(dimensions) + pl.col("cell"),
        value=pl.when(pl.col("status") == _SCORED)
        .then("value")
        .when(pl.col("status").is_in(_HOLLOW))
        .then(pl.col("value").fill_null(0.0)),
        cut=pl.col("status") == _TRUNCATED,
        lost=pl.col("status").is_in(_LOST),
    )
    slots = len(models) * len(metrics) * len(dimensions)
    width = len(STATUSES)
    ended = (rows["leaf"] * width + rows["status"]).to_numpy()
    counts = np.bincount(ended, minlength=slots * width).reshape(slots, width)
    used = np.flatnonzero(counts.sum(axis=1))
    number = np.zeros(slots, np.int64)
    number[used] = np.arange(len(used))
    cells = dimensions.rows()
    names = [(model, metric) for model in models for metric in metrics]
    leaves = [(*cells[slot % len(cells)], *names[slot // len(cells)]) for slot in used.tolist()]
    rows = rows.with_columns(leaf=pl.Series(number[rows["leaf"].to_numpy()]))
    return _Coded(rows.drop("status"), leaves, counts[used], repeated=scores["repeat"].n_unique() > 1)


def _known(items: pl.DataFrame, dimensions: pl.DataFrame) -> pl.DataFrame:
    """Give each item its number, its cell's and its template's (-1: none)."""
    filled = items.select("item_id", pl.col(_DIMENSIONS).fill_null("")).with_row_index("item")
    return (
        filled.join(dimensions.with_row_index("cell"), on=_DIMENSIONS)
        .join(placed(items).select("item_id", "cluster"), on="item_id")
        .select("item_id", "item", "cell", "cluster")
    )


def _check(rows: pl.DataFrame, scores: pl.DataFrame) -> None:
    finite = pl.col("value").is_finite()
    hollow = pl.col("value").is_null() & (pl.col("status") == _SCORED)
    for wrong, problem in (
        (pl.col("cell").is_null(), "its item is not in the items table; pass the items of the same run"),
        (pl.col("status").is_null(), f"expected a status among {', '.join(STATUSES)}"),
        (hollow | ~finite, "expected a finite value; what cannot be scored needs a status that says so"),
    ):
        bad = rows.select(wrong.fill_null(value=False).arg_max(), any=wrong.any()).row(0)
        if bad[1]:
            row = scores.row(bad[0], named=True)
            raise InputError(
                f"scores: item {row['item_id']!r}, model {row['model']!r}, metric {row['metric']!r} has status "
                f"{row['status']!r} and value {row['value']}: {problem}."
            )


def _kinds(coded: _Coded) -> dict[str, tuple[bool, bool]]:
    """Say for each metric whether it is yes/no, and whether its values lie in [0, 1]."""
    value = pl.col("value")
    seen = coded.rows.group_by("leaf").agg(
        yes_no=((value == 0) | (value == 1)).all(), low=value.min(), high=value.max()
    )
    found: dict[str, tuple[bool, bool]] = {}
    for leaf, yes_no, low, high in seen.iter_rows():
        metric = coded.leaves[leaf][-1]
        within = low is None or (low >= 0 and high <= 1)
        before, bounded = found.get(metric, (True, True))
        found[metric] = (before and yes_no, bounded and within)
    return found


def _partly(counts: Codes) -> bool:
    """Say whether some of a cell's rows are scored, and some were asked and are not."""
    ended = counts.sum(axis=0)
    return bool(ended[_LOST].any() and ended[[_SCORED, *_HOLLOW]].any())


def _bound(coded: _Coded, kinds: Mapping[str, tuple[bool, bool]], *, best: bool) -> _Coded:
    """Return the scores were all that is missing, or was cut, right; or were all that is missing wrong."""
    ends = [float(best) if kinds[leaf[-1]][1] else None for leaf in coded.leaves]
    end = pl.col("leaf").replace_strict(list(range(len(ends))), ends, return_dtype=pl.Float64)
    open_ = pl.col("lost") | pl.col("cut") if best else pl.col("lost")
    value = pl.when(open_).then(pl.coalesce(end, "value")).otherwise("value")
    return coded._replace(rows=coded.rows.with_columns(value=value))


def _groups(coded: _Coded) -> dict[_Key, tuple[int, ...]]:
    """List the leaves of each cell; what a roll-up covers is not listed by a finer cell of the same key."""
    found: dict[_Key, tuple[int, ...]] = {}
    for kept in ROLL_UPS:
        here: dict[_Key, list[int]] = {}
        for leaf, (suite, *own, model, metric) in enumerate(coded.leaves):
            family, level, language = (
                value if name in kept else "" for name, value in zip(_DIMENSIONS[1:], own, strict=True)
            )
            here.setdefault((suite, family, level, language, model, metric), []).append(leaf)
        found = {**{key: tuple(leaves) for key, leaves in here.items()}, **found}
    return dict(sorted(found.items()))


def _pools(coded: _Coded, parts: Sequence[tuple[int, ...]], yes_no: Sequence[bool]) -> list[PooledSample]:
    """Gather the scored questions of each list of leaves, with the mean of their repeats."""
    rows = coded.rows.filter(pl.col("value").is_not_null())
    if coded.repeated:
        # by value: a mean must not depend on the order in which replies came
        grouped = rows.sort("value").group_by("leaf", "item", "cluster")
        rows = grouped.agg(pl.col("value").mean(), answers=pl.len().cast(pl.Float64))
    rows = rows.sort("leaf", "value")
    edges = np.searchsorted(rows["leaf"].to_numpy(), np.arange(len(coded.leaves) + 1))
    values: Floats = rows["value"].to_numpy()
    clusters: Codes = rows["cluster"].to_numpy()
    answers = rows["answers"].to_numpy() if coded.repeated else None
    clustered = bool((clusters >= 0).any())
    found = []
    for part, plain in zip(parts, yes_no, strict=True):
        at = _slices(edges, part)
        own = _take(values, at)
        told = independent(own, _take(answers, at)) if plain and answers is not None else None
        found.append(pool(own, answers=told, clusters=_take(clusters, at) if clustered else None))
    return found


def _slices(edges: npt.NDArray[np.int64], part: tuple[int, ...]) -> list[slice]:
    """Return where the leaves' units lie, neighbours joined."""
    found: list[slice] = []
    for leaf in part:
        start, stop = int(edges[leaf]), int(edges[leaf + 1])
        if found and found[-1].stop == start:
            start = found.pop().start
        found.append(slice(start, stop))
    return found


_Number = TypeVar("_Number", np.float64, np.int64)


def _take(column: npt.NDArray[_Number], slices: Sequence[slice]) -> npt.NDArray[_Number]:
    return column[slices[0]] if len(slices) == 1 else np.concatenate([column[at] for at in slices])


def _rows(
    groups: Mapping[_Key, tuple[int, ...]],
    estimates: Mapping[tuple[int, ...], MeanEstimate],
    lowers: Mapping[tuple[int, ...], MeanEstimate],
    uppers: Mapping[tuple[int, ...], MeanEstimate],
    counts: Codes,
) -> Iterator[dict[str, Any]]:
    for key, part in groups.items():
        estimated = estimates[part]
        ended = dict(zip(STATUSES, counts[list(part)].sum(axis=0).tolist(), strict=True))
        yield {
            **dict(zip(SUMMARY.key, key, strict=True)),
            "n_asked": sum(ended.values()),
            "n_scored": ended.pop("scored") + ended["no_answer"] + ended["truncated"],
            **{f"n_{status}": count for status, count in ended.items()},
            "mean": estimated.mean,
            "ci_low": estimated.interval.low,
            "ci_high": estimated.interval.high,
            **_ends("lower", lowers.get(part)),
            **_ends("upper", uppers.get(part)),
        }


def _ends(name: str, found: MeanEstimate | None) -> dict[str, float | None]:
    """Return the columns of a bound and of its interval."""
    low, high = (found.interval.low, found.interval.high) if found else (None, None)
    return {name: found.mean if found else None, f"{name}_low": low, f"{name}_high": high}
