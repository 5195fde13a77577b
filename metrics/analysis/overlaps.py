"""Suites that ask the same questions: a question is one unit of their overall score, whatever the number of suites.

Source: SPEC 9.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from basic_control.data.deciding import has_one_headline, headlines, weight_of
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.observations import Observations, join_clusters, question_values, weight_by
from basic_control.metrics.analysis.summary import k_answers, of_suite
from basic_control.metrics.stats.intervals import Floats, Stratum, join_parts, units_of

_NOTHING = 1e-12
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Overlap:
    """Suites that ask the same questions, as a model answered them.

    `correlations` are those of the suites' scores, in [0, 1], a row and a column a suite; `n_units` is the number
    of distinct units of all of them: questions, or their templates.
    """

    suites: tuple[str, ...]
    correlations: tuple[tuple[float, ...], ...]
    n_units: int


def list_overlaps(once: Observations, suites: Sequence[Suite]) -> dict[str, tuple[Overlap, ...]]:
    """Return each model's overlaps among the suites that an overall score joins; none without a shared question."""
    weighing = list(filter(weight_of, suites)) or list(filter(has_one_headline, suites))
    scores = {suite.name: headlines(suite)[0] for suite in weighing}
    overlaps: dict[str, tuple[Overlap, ...]] = {}
    for group in _group_suites(once.items.filter(pl.col("suite").is_in([*scores]))):
        influences = pl.concat(_list_influences(once, scores[suite]) for suite in sorted(group))
        for (model,), rows in influences.group_by("model", maintain_order=True):
            overlaps[str(model)] = (*overlaps.get(str(model), ()), _build_overlap(rows))
    return overlaps


def _group_suites(items: pl.DataFrame) -> list[set[str]]:
    """Return the groups of suites that share questions, directly or by way of another suite."""
    if "text_digest" not in items.columns:
        return []
    by_question = (
        items.filter(pl.col("text_digest") != "").group_by("text_digest").agg(pl.col("suite").unique().sort())
    )
    groups: list[set[str]] = []
    for (suites,) in by_question.select(pl.col("suite")).unique().iter_rows():
        joined = {*suites}
        apart: list[set[str]] = []
        # A group that has one of the suites is joined with them.
        for group in groups:
            if group & joined:
                joined |= group
            else:
                apart.append(group)
        groups = [*apart, joined]
    return [group for group in groups if len(group) >= _PAIR]


def _list_influences(once: Observations, suite: Suite) -> pl.DataFrame:
    """Return how far each question moves each model's score in a suite; a row: model, suite, question, cluster."""
    rows = of_suite(once.scores, once.items, suite)
    if suite.of_k:
        rows = k_answers(rows, suite)
    values = question_values(rows, once.items).drop_nulls("value")
    cell = ["model", "metric"]
    if suite.strata:
        cell.append("family")
    centred = (pl.col("value") - pl.col("value").mean().over(cell)) / pl.len().over(cell)
    return values.select("model", "suite", "question", "cluster", influence=centred * weight_by(suite.shares))


def _build_overlap(rows: pl.DataFrame) -> Overlap:
    """Return how a model's scores in several suites hang together; a row of `rows` is a question of a suite."""
    questions = join_clusters(rows)
    codes = units_of(questions.height, questions["cluster"].to_numpy().astype(np.int64)).codes
    placed = rows.drop("cluster").join(
        questions.select("question", unit=pl.Series(codes, dtype=pl.Int64)), on="question", maintain_order="left"
    )
    suites = placed["suite"].unique().sort().to_list()
    columns = placed["suite"].replace_strict({name: n for n, name in enumerate(suites)}, return_dtype=pl.Int64)
    n_units = int(codes.max(initial=-1)) + 1
    influences, presence = np.zeros((n_units, len(suites))), np.zeros((n_units, len(suites)))
    cells = placed["unit"].to_numpy(), columns.to_numpy()
    np.add.at(influences, cells, placed["influence"].to_numpy())
    presence[cells] = 1.0
    # Suites in which nothing varies are taken as alike as the questions that they share.
    correlations = np.clip(_correlate(influences, presence.T @ presence / _root(presence)), 0.0, 1.0)
    return Overlap(tuple(suites), tuple(map(tuple, correlations.tolist())), n_units)


def _root(columns: Floats) -> Floats:
    """Return the product of the lengths of every two columns."""
    squares = np.square(columns).sum(axis=0)
    products: Floats = np.sqrt(np.outer(squares, squares))
    return products


def _correlate(columns: Floats, otherwise: Floats) -> Floats:
    """Return the cosine of every two columns, whose sums are 0; `otherwise` where one of them has no spread."""
    products = _root(columns)
    is_constant = products <= _NOTHING
    cosines: Floats = np.where(is_constant, otherwise, columns.T @ columns / np.where(is_constant, 1.0, products))
    return cosines


def join_overlaps(parts: Mapping[str, Stratum], overlaps: Sequence[Overlap]) -> list[Stratum]:
    """Return the independent parts of a weighted mean over suites: those that overlap are joined into one."""
    joined = dict(parts)
    strata: list[Stratum] = []
    for overlap in overlaps:
        numbers = [number for number, suite in enumerate(overlap.suites) if suite in joined]
        if len(numbers) < _PAIR:
            continue
        members = [joined.pop(overlap.suites[number]) for number in numbers]
        correlations = np.array(overlap.correlations)[np.ix_(numbers, numbers)]
        n_units = min(overlap.n_units, sum(member.units for member in members))
        strata.append(join_parts(members, correlations)._replace(units=n_units))
    return [*joined.values(), *strata]
