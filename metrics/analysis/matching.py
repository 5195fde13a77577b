"""Runs set side by side: the same items paired, what differs beyond chance, and what changed on which item."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from data.questions import shown_answer, shown_question
from data.suites import Suite
from metrics.analysis.baseline import values_of
from metrics.analysis.pairs import (
    Comparison,
    Grouping,
    UncorrectedComparison,
    concluded,
    drafted,
    groups,
)

_NOTHING = 1e-12
KEY = ("item_id", "repeat")


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """A model in a run: `label` names it among all, `place` is its place in the order in which runs were given."""

    label: str
    model: str
    run: str
    place: int


def compared_models(models: Mapping[str, Sequence[str]]) -> list[ComparedModel]:
    """Name the models of several runs (run -> models), in order; a model of several runs is named with its run."""
    pairs = [(run, model) for run, listed in models.items() for model in listed]
    names = [model for _, model in pairs]
    labels = [model if names.count(model) == 1 else f"{model} @ {run}" for run, model in pairs]
    if len(set(labels)) < len(labels):  # a model is called as another one with its run
        labels = [f"{model} @ {run}" for run, model in pairs]
    return [
        ComparedModel(label, model, run, n)
        for n, (label, (run, model)) in enumerate(zip(labels, pairs, strict=True))
    ]


def fields(listed: Sequence[ComparedModel], *, every: bool = False) -> list[list[ComparedModel]]:
    """Return the groups within which every two are compared.

    A model that took part in several runs is compared with itself; where there is no such model, or with
    `every`, all are compared with all.
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
    """Compare every two of each field on every headline of `suites`, or on `metrics`, each by itself.

    None of the pairs in `crossed` is compared. `scores` name their models by label. Each difference is the
    later-given minus the earlier-given (`model_a` is the later). Holm's correction is over all headlines and pairs,
    of all fields; pairs without a common question are left out. Groups: of each field of three or more.

    A pair of a suite that was looked at in between (`stop`) has its difference, and neither interval nor test.
    """
    looked = {suite.name for suite in suites if suite.stop}
    drafts: list[UncorrectedComparison] = []
    for field in compared:
        order = [one.label for one in sorted(field, key=lambda one: one.place)]
        own = scores.filter(pl.col("model").is_in(order))
        drafts += drafted(own, items, suites, metrics=metrics, order=order, crossed=crossed)
    kept = [draft for draft in drafts if draft.seen.n]
    found = concluded([replace(one, sample=None, ends=None) if one.seen.suite in looked else one for one in kept])
    grouped: list[Grouping] = []
    for field in compared:
        labels = {one.label for one in field}
        if len(labels) > 2:  # noqa: PLR2004 - of two, the pair says it all
            grouped += groups([p for p in found if p.suite not in looked and {p.model_a, p.model_b} <= labels])
    return found, grouped


def changes(
    scores: pl.DataFrame, items: pl.DataFrame, pair: Comparison, metrics: Sequence[str] = ()
) -> pl.DataFrame:
    """Return what changed from one of a pair to the other, the greatest losses first, then the greatest gains.

    A row is an item and repeat on which the two differ in the mean of `metrics` (the pair's own unless given): the
    items' columns, and of `before` (the earlier-given, `model_b`) and `after` each value, status and reason.
    `change` is 'right to wrong' or 'wrong to right' where all values are 0 or 1, else 'fell' or 'rose'.
    """
    metrics = metrics or (pair.metric,)
    own = items.filter(pl.col("suite") == pair.suite).unique("item_id", maintain_order=True)
    chosen = pl.col("metric").is_in(metrics), pl.col("model").is_in([pair.model_b, pair.model_a])
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
        .filter(pl.col("gain").abs() > _NOTHING)
        .with_columns(change=pl.when(pl.col("gain") < 0).then(pl.lit(lost)).otherwise(pl.lit(won)))
        .join(
            own.select("item_id", "suite", "family", "level", "language", "prompt", "answer", "facts"), on="item_id"
        )
        .sort(
            pl.col("gain") > 0, pl.col("gain").abs(), "family", *KEY, descending=[False, True, False, False, False]
        )
    )
    for side, model in sides.items():
        said = _said(rows.filter(model=model).join(found, on=KEY, how="semi"), metrics)
        found = found.join(said.rename({"reason": f"{side}_reason"}), on=KEY, how="left", maintain_order="left")
    facts = [json.loads(text or "{}") for text in found["facts"]]
    read = [  # as people read it: of rows without a prompt their question
        pl.Series(name, [show(text or "", own) for text, own in zip(found[name], facts, strict=True)], pl.String())
        for name, show in (("prompt", shown_question), ("answer", shown_answer))
    ]
    return found.with_columns(read).drop("facts")


def _said(rows: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """Return why each item and repeat was scored as it was, or what judges said; of several metrics all reasons."""
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
    """Count each suite's questions, equal ones once: of every run, and those that all of its runs asked."""
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
    """Return each suite's number of questions, equal ones once, and digests of which they are and what is expected.

    Neither the rows' order nor their batches make a difference to them.
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
