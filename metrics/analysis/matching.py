"""Comparison of runs: pairing of equal items, significant differences, and the items that changed."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from basic_control.data.questions import format_expected, format_question
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.baseline import NOTHING
from basic_control.metrics.analysis.pairs import (
    Comparison,
    DraftedComparison,
    Grouping,
    conclude,
    draft_comparisons,
    groups,
    metrics_to_compare,
    pairs_in,
    scores_to_compare,
)
from basic_control.metrics.analysis.rounds import may_stop
from basic_control.metrics.analysis.values import KEY, question_values, values_of


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """A model in a run; `label` is unique among all models."""

    label: str
    model: str
    run: str


def compared_models(models: Mapping[str, Sequence[str]]) -> list[ComparedModel]:
    """Name the models of several runs (run -> models), in order; a model in several runs is named with its run."""
    pairs = [(run, model) for run, listed in models.items() for model in listed]
    names = [model for _, model in pairs]
    labels = [model if names.count(model) == 1 else f"{model} @ {run}" for run, model in pairs]
    if len(set(labels)) < len(labels):  # a label clashes with one that includes its run
        labels = [f"{model} @ {run}" for run, model in pairs]
    return [ComparedModel(label, model, run) for label, (run, model) in zip(labels, pairs, strict=True)]


def fields(listed: Sequence[ComparedModel], *, every: bool = False) -> list[list[ComparedModel]]:
    """Return the groups of models within which all pairs are compared.

    A model in several runs is compared with itself; if there is no such model, or with `every`, all are compared
    with all.
    """
    by_model: dict[str, list[ComparedModel]] = {}
    for one in listed:
        by_model.setdefault(one.model, []).append(one)
    several = [group for group in by_model.values() if len(group) > 1]
    return [list(listed)] if every or not several else several


def compare_fields(
    scores: pl.DataFrame,
    items: pl.DataFrame,
    compared: Sequence[Sequence[ComparedModel]],
    suites: Sequence[Suite] = (),
    metrics: Sequence[str] = (),
    *,
    crossed: Collection[frozenset[str]] = (),
) -> tuple[list[Comparison], list[Grouping]]:
    """Compare all pairs of each field, in order, on every headline of `suites`, or on each of `metrics`.

    Pairs in `crossed` are skipped. `scores` identify models by label. Each difference is the later-given minus the
    earlier-given (`model_a` is the later). Holm's correction covers all headlines and pairs of all fields; pairs
    without a common question are left out. Groups are computed for fields of three or more.

    A suite that was asked in rounds (`stop`) is tested by a sequence; its TOTAL has a difference alone.
    """
    followed = {
        suite.name for suite in suites if suite.stop and (suite.strata or may_stop(items.filter(suite=suite.name)))
    }
    drafts: list[DraftedComparison] = []
    for field in compared:
        order = [model.label for model in field]
        chosen = pl.col("metric").is_in(metrics) if metrics else pl.lit(value=True)
        values = question_values(scores.filter(pl.col("model").is_in(order), chosen), items)
        if metrics or not suites:
            lines = metrics_to_compare(values, suites)
        else:
            lines = scores_to_compare(suites, values["metric"].unique().to_list())
        lines = [replace(line, in_rounds=line.suite in followed) for line in lines]
        drafts += draft_comparisons(values, lines, pairs_in(values, order, crossed))
    pairs = conclude([draft for draft in drafts if draft.comparison.n])
    grouped: list[Grouping] = []
    for field in compared:
        labels = {model.label for model in field}
        own = [pair for pair in pairs if pair.test.p_value is not None and {pair.model_a, pair.model_b} <= labels]
        # Of two models the pair says it all.
        grouped += groups(own) if len(labels) > 2 else ()  # noqa: PLR2004 - see above
    return pairs, grouped


def changes(
    scores: pl.DataFrame,
    items: pl.DataFrame,
    pair: Comparison,
    metrics: Sequence[str] | Mapping[str, float] = (),
) -> pl.DataFrame:
    """Return what changed from one of a pair to the other: greatest losses first, then greatest gains.

    A row is an item and repeat on which the two differ in the mean of `metrics` (the pair's own by default; a
    mapping has their weights): the item's columns, and the value, status and reason of `before` (the earlier-given,
    `model_b`) and `after`. `change` is 'right to wrong' or 'wrong to right' if all values are 0 or 1, else 'fell'
    or 'rose'.
    """
    metrics = metrics or (pair.metric,)
    own = items.filter(pl.col("suite") == pair.suite).unique("item_id", maintain_order=True)
    chosen = pl.col("metric").is_in([*metrics]), pl.col("model").is_in([pair.model_b, pair.model_a])
    rows = scores.filter(*chosen).join(own.select("item_id"), on="item_id", how="semi")
    values = values_of(rows, metrics).drop_nulls("value")
    sides = {"before": pair.model_b, "after": pair.model_a}
    before, after = (
        values.filter(model=model).select(*KEY, **{f"{side}_value": "value", f"{side}_status": "status"})
        for side, model in sides.items()
    )
    gain = pl.col("after_value") - pl.col("before_value")
    lost, won = ("right to wrong", "wrong to right") if pair.yes_no else ("fell", "rose")
    found = (
        before.join(after, on=KEY)
        .with_columns(gain=gain)
        .filter(pl.col("gain").abs() > NOTHING)
        .with_columns(change=pl.when(pl.col("gain") < 0).then(pl.lit(lost)).otherwise(pl.lit(won)))
        .join(
            own.select("item_id", "suite", "family", "level", "language", "prompt", "answer", "facts"), on="item_id"
        )
        .sort(
            pl.col("gain") > 0, pl.col("gain").abs(), "family", *KEY, descending=[False, True, False, False, False]
        )
    )
    for side, model in sides.items():
        said = _said(rows.filter(model=model).join(found, on=KEY, how="semi"), [*metrics])
        found = found.join(said.rename({"reason": f"{side}_reason"}), on=KEY, how="left", maintain_order="left")
    facts = [json.loads(text or "{}") for text in found["facts"]]
    read = [  # shown to people: the question, for rows without a prompt
        pl.Series(name, [show(text or "", own) for text, own in zip(found[name], facts, strict=True)], pl.String())
        for name, show in (("prompt", format_question), ("answer", format_expected))
    ]
    return found.with_columns(read).drop("facts")


def _said(rows: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """Return the reason or judges' verdicts behind each item and repeat's score; all reasons of several metrics."""
    told = []
    for *key, name, reason, details in rows.select(*KEY, "metric", "reason", "details").iter_rows():
        judges = {} if reason else json.loads(details or "{}").get("judges") or {}
        if said := reason or "; ".join(dict.fromkeys(found for one in judges.values() for found in _reasons(one))):
            told.append((*key, said if len(metrics) == 1 else f"{name}: {said}"))
    kinds = {**rows.select(KEY).schema, "reason": pl.String()}
    found = pl.DataFrame(told, schema=kinds, orient="row")
    return found.group_by(KEY, maintain_order=True).agg(pl.col("reason").str.join("; "))


def _reasons(said: Any) -> Iterator[str]:
    if isinstance(said, Mapping):
        for name, value in said.items():
            if isinstance(value, str) and value and name.endswith("reason"):
                yield value
            else:
                yield from _reasons(value)
    elif isinstance(said, list):
        for one in said:
            yield from _reasons(one)


def common(scores: Mapping[str, pl.DataFrame], items: pl.DataFrame) -> dict[str, tuple[list[int], int]]:
    """Count each suite's distinct questions: in each run, and common to all runs that have the suite."""
    questions = items.select("item_id", "suite", question=pl.coalesce("text_digest", "item_id")).unique("item_id")
    asked = [
        frame.select("item_id").unique().join(questions, on="item_id", how="left") for frame in scores.values()
    ]
    found = {}
    for suite in questions["suite"].unique(maintain_order=True).sort():
        own = [{*frame.filter(pl.col("suite") == suite)["question"]} for frame in asked]
        found[str(suite)] = ([len(one) for one in own], len(set.intersection(*own)))
    return found


def question_sets(items: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return each suite's number of distinct questions, and digests of the questions and expected answers.

    They do not depend on the order of rows or on batches.
    """
    question = pl.coalesce("text_digest", "item_id").alias("question")
    found = {}
    for (suite,), own in items.group_by("suite"):
        asked = own.select(question, answer=pl.col("answer_digest").fill_null("")).unique()
        found[str(suite)] = {
            "n": asked["question"].n_unique(),
            "digest": _digest(asked["question"].unique()),
            "answers": _digest(asked.select(pl.concat_str("question", "answer", separator=" "))["question"]),
        }
    return dict(sorted(found.items()))


def _digest(column: pl.Series) -> str:
    return hashlib.sha256("\n".join(column.sort().to_list()).encode()).hexdigest()[:16]
