"""Comparison of runs: pairing of equal items, significant differences, and the items that changed."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from basic_control.data.questions import format_expected, format_question
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.baseline import NOTHING
from basic_control.metrics.analysis.observations import KEY, question_values, values_of
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
from basic_control.metrics.analysis.score_remarks import read_reason
from basic_control.metrics.analysis.stopping import may_stop


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """A model in a run; `label` is unique among all models."""

    label: str
    model: str
    run: str


def label_models(models: Mapping[str, Sequence[str]]) -> list[ComparedModel]:
    """Name the models of several runs (run -> models), in order; a model in several runs is named with its run."""
    pairs: list[tuple[str, str]] = []
    for run, names in models.items():
        pairs += ((run, name) for name in names)
    long_labels = [f"{name} @ {run}" for run, name in pairs]
    times = Counter(name for _, name in pairs)
    labels = [*long_labels]
    for number, (_, name) in enumerate(pairs):
        if times[name] == 1:
            labels[number] = name
    if len(set(labels)) < len(labels):  # a label clashes with one that includes its run
        labels = long_labels
    return [ComparedModel(label, name, run) for label, (run, name) in zip(labels, pairs, strict=True)]


def fields(models: Sequence[ComparedModel], *, every: bool = False) -> list[list[ComparedModel]]:
    """Return the groups of models within which all pairs are compared.

    A model in several runs is compared with itself; if there is no such model, or with `every`, all are compared
    with all.
    """
    by_name: dict[str, list[ComparedModel]] = {}
    for model in models:
        by_name.setdefault(model.model, []).append(model)
    repeated = [group for group in by_name.values() if len(group) > 1]
    if every or not repeated:
        return [list(models)]
    return repeated


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
        suite.name
        for suite in suites
        if suite.stop and may_stop(items.filter(suite=suite.name), strata=bool(suite.strata))
    }
    is_chosen = pl.lit(value=True)
    if metrics:
        is_chosen = pl.col("metric").is_in(metrics)
    orders: list[list[str]] = []
    drafts: list[DraftedComparison] = []
    for field in compared:
        order = [model.label for model in field]
        orders.append(order)
        values = question_values(scores.filter(pl.col("model").is_in(order), is_chosen), items)
        if metrics or not suites:
            lines = metrics_to_compare(values, suites)
        else:
            lines = scores_to_compare(suites, values["metric"].unique().to_list())
        lines = [replace(line, in_rounds=line.suite in followed) for line in lines]
        drafts += draft_comparisons(values, lines, pairs_in(values, order, crossed))
    # Holm's correction needs all fields' pairs at once.
    pairs = conclude([draft for draft in drafts if draft.comparison.n])
    groupings: list[Grouping] = []
    for order in orders:
        # Of two models the pair says it all.
        if len(order) > 2:  # noqa: PLR2004 - see above
            labels = {*order}
            groupings += groups(
                [pair for pair in pairs if pair.test.p_value is not None and {pair.model_a, pair.model_b} <= labels]
            )
    return pairs, groupings


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
    suite_items = items.filter(pl.col("suite") == pair.suite).unique("item_id", maintain_order=True)
    is_chosen = pl.col("metric").is_in([*metrics]), pl.col("model").is_in([pair.model_b, pair.model_a])
    rows = scores.filter(*is_chosen).join(suite_items.select("item_id"), on="item_id", how="semi")
    values = values_of(rows, metrics).drop_nulls("value")
    sides = {"before": pair.model_b, "after": pair.model_a}
    before, after = (
        values.filter(model=model).select(*KEY, **{f"{side}_value": "value", f"{side}_status": "status"})
        for side, model in sides.items()
    )
    gain = pl.col("after_value") - pl.col("before_value")
    loss_word, gain_word = "fell", "rose"
    if pair.yes_no:
        loss_word, gain_word = "right to wrong", "wrong to right"
    change = pl.when(pl.col("gain") < 0).then(pl.lit(loss_word)).otherwise(pl.lit(gain_word))
    facts = suite_items.select("item_id", "suite", "family", "level", "language", "prompt", "answer", "facts")
    # Losses come first, each part from its greatest change; ties by family and item, so that the order is stable.
    order = [pl.col("gain") > 0, pl.col("gain").abs(), "family", *KEY]
    changed = (
        before.join(after, on=KEY)
        .with_columns(gain=gain)
        .filter(pl.col("gain").abs() > NOTHING)
        .with_columns(change=change)
        .join(facts, on="item_id")
        .sort(*order, descending=[False, True, False, False, False])
    )
    for side, model in sides.items():
        reasons = _join_reasons(rows.filter(model=model).join(changed, on=KEY, how="semi"), [*metrics])
        reasons = reasons.rename({"reason": f"{side}_reason"})
        changed = changed.join(reasons, on=KEY, how="left", maintain_order="left")
    # People are shown the question, of rows without a prompt too.
    shown_columns = [
        _format_column(changed, "prompt", format_question),
        _format_column(changed, "answer", format_expected),
    ]
    return changed.with_columns(shown_columns).drop("facts")


def _format_column(frame: pl.DataFrame, name: str, show: Callable[[str, Mapping[str, Any]], str]) -> pl.Series:
    """Return a column of texts as `show` writes each with its row's `facts`."""
    rows = frame.select(name, "facts").iter_rows()
    texts = [show(text or "", json.loads(facts or "{}")) for text, facts in rows]
    return pl.Series(name, texts, pl.String())


def _join_reasons(rows: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """Return the reason or judges' verdicts behind each item and repeat's score; all reasons of several metrics."""
    reason_rows = []
    for *key, name, reason, details in rows.select(*KEY, "metric", "reason", "details").iter_rows():
        text = read_reason(reason, details)
        if text and len(metrics) > 1:
            text = f"{name}: {text}"
        if text:
            reason_rows.append((*key, text))
    kinds = {**rows.select(KEY).schema, "reason": pl.String()}
    frame = pl.DataFrame(reason_rows, schema=kinds, orient="row")
    return frame.group_by(KEY, maintain_order=True).agg(pl.col("reason").str.join("; "))


def count_common(scores: Mapping[str, pl.DataFrame], items: pl.DataFrame) -> dict[str, tuple[list[int], int]]:
    """Count each suite's distinct questions: in each run, and common to all runs that have the suite."""
    questions = items.select("item_id", "suite", question=pl.coalesce("text_digest", "item_id")).unique("item_id")
    run_questions = [questions.join(frame, on="item_id", how="semi") for frame in scores.values()]
    counts = {}
    for suite in questions["suite"].unique(maintain_order=True).sort():
        question_sets = [set(frame.filter(suite=suite)["question"]) for frame in run_questions]
        counts[str(suite)] = (list(map(len, question_sets)), len(set.intersection(*question_sets)))
    return counts


def question_sets(items: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Return each suite's number of distinct questions, and digests of the questions and expected answers.

    They do not depend on the order of rows or on batches.
    """
    question = pl.coalesce("text_digest", "item_id").alias("question")
    facts = {}
    for (suite,), rows in items.group_by("suite"):
        questions = rows.select(question, answer=pl.col("answer_digest").fill_null("")).unique()
        facts[str(suite)] = {
            "n": questions["question"].n_unique(),
            "digest": _digest(questions["question"].unique()),
            "answers": _digest(questions.select(pl.concat_str("question", "answer", separator=" "))["question"]),
        }
    return dict(sorted(facts.items()))


def _digest(column: pl.Series) -> str:
    return hashlib.sha256("\n".join(column.sort().to_list()).encode()).hexdigest()[:16]
