"""Score a baseline's replies again, without a call, if only a version or source of a scoring unit changed."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter

import polars as pl

from basic_control.data.batches import Batch, Cell, Ref
from basic_control.data.deciding import parts_of_all
from basic_control.data.errors import InputError
from basic_control.data.loading import verifiers_of
from basic_control.data.plugins import metric
from basic_control.data.records import Metric
from basic_control.data.suites import ALL, Suite
from basic_control.data.tables import SCORES, TABLES
from basic_control.data.units import identity_of
from basic_control.metrics.analysis.baseline import ComparedSide
from basic_control.metrics.analysis.joint import joint_scores
from basic_control.metrics.analysis.judged import LeftOut, collect_left_out, judge_statuses
from basic_control.metrics.analysis.provenance import Provenance, has_same_rules, list_changed_units
from basic_control.tasks.judges.passports import PassportFinder
from basic_control.tasks.plan import MetricPlan, Plan, SuitePlan
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.sandbox import kotlin_tools
from basic_control.tasks.score import measure, score, score_judged
from basic_control.tasks.store.baselines import KEPT, Tables
from basic_control.tasks.store.tables import Damaged
from basic_control.tasks.verify import verify


def rescore(
    plan: Plan, side: ComparedSide, tables: Tables, provenance: Provenance, judges: Mapping[str, Mapping[str, str]]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Score a side's replies by today's metrics and families, as far as the store still has them in `tables`.

    Return its scores, and the units by which all of its replies were scored again. Unchanged are scores decided by
    other rules, scores from comparisons with another target's replies, and those of metrics and families that did
    not score the run of `provenance`, whose judges' identities are `judges`.
    """
    before = side.provenance
    changed = list_changed_units(before, provenance)
    examined = PassportFinder(plan.suites, judges, open_store(plan.store))
    scored: list[pl.DataFrame] = []
    is_rescored: dict[str, bool] = {}
    for suite in plan.suites:
        for name in suite.suite.metric_names:
            facts = _units(suite.suite, name)
            units = [unit for unit in facts if unit in changed]
            if not units or not has_same_rules(before, provenance, suite.name, name):
                continue
            frames: list[pl.DataFrame] = []
            # Only the code that scored the run gives scores that can be compared with the run's.
            if all(unit == provenance.units.get(name, unit) for name, unit in facts.items()):
                models = side.scores.filter(suite=suite.name, metric=name)["model"].unique(maintain_order=True)
                with suppress(Damaged, InputError):  # part of it is no longer in the store
                    frames = [*_score_again(suite, suite.find_metric(name), models, tables, examined)]
            scored += frames
            is_rescored |= {unit: bool(frames) and is_rescored.get(unit, True) for unit in units}
    if not scored:
        return side.scores, ()
    compared = side.scores.select("suite", "metric").unique()  # parts of metrics too, if they are
    fresh = pl.concat(scored).join(compared, on=["suite", "metric"], how="semi", maintain_order="left")
    old = side.scores.join(fresh, on=["suite", "model", "metric"], how="anti", maintain_order="left")
    scores = _join_again(pl.concat([old, fresh.select(old.columns)]), plan)
    return scores, tuple(unit for unit, done in is_rescored.items() if done)


def _join_again(scores: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Say anew of which replies all parts hold, where a side's scores say so."""
    frames = []
    for (suite, name), rows in scores.group_by("suite", "metric", maintain_order=True):
        if name != ALL or suite not in plan.suite_names:
            frames.append(rows)
            continue
        parts = pl.concat([SCORES.frame([]), scores.filter(suite=suite)], how="diagonal_relaxed")
        joint = joint_scores(parts.select([*SCORES.columns]), parts_of_all(plan.find_suite(str(suite)).suite))
        frames.append(joint.with_columns(suite=pl.lit(suite)).select(scores.columns))
    return pl.concat(frames)


def _units(suite: Suite, name: str) -> dict[str, dict[str, object]]:
    """Return version and source of a metric's scoring units: itself, or the verifiers that it uses."""
    units = verifiers_of(suite) if metric(name).verifies else (identity_of(Metric, name),)
    return {unit.name: {"version": unit.version, "source": unit.source} for unit in units}


def _score_again(
    suite: SuitePlan, metric_plan: MetricPlan, models: Iterable[str], tables: Tables, examined: PassportFinder
) -> Iterator[pl.DataFrame]:
    """Yield the scores of each model's replies in a suite by one metric, if the store has all it needs."""
    store = open_store(suite.store)
    refs = {kind: [*tables.get(kind, ())] for kind in KEPT}
    # A reply is read with its request and its item; judgements and evidence only some metrics need.
    if not (refs["items"] and refs["requests"] and refs["responses"]):
        raise InputError("the baseline does not say where its replies are")
    frames = {kind: store.read_all(refs_of_kind, TABLES[kind]) for kind, refs_of_kind in refs.items()}
    items = frames["items"].filter(pl.col("suite") == suite.name).unique("item_id", maintain_order=True)
    names = [judge.name for judge in metric_plan.judges if judge.name in examined.identities]
    out = collect_left_out(
        judge_statuses(suite.suite, metric_plan.name, names, {*items["language"]}, examined.passport)
    )
    templates = dict(map(attrgetter("name", "template"), suite.targets))
    for model in models:
        if suite.find_opponent(metric_plan.name, model):
            raise InputError("it takes another target's replies to the same items")
        replies = _replies(frames, items, model)
        written = {kind: store.write(TABLES[kind], frame) for kind, frame in replies.items()}
        evidence = None
        if replies["evidence"].height:
            evidence = written["evidence"]
        cell = Cell(suite.name, model)
        batch = Batch(cell, written["items"], written["requests"], written["responses"], evidence)
        batch = replace(batch, template=templates.get(model))
        judgements = store.write(
            TABLES["judgements"], replies["judgements"].filter(pl.col("metric") == metric_plan.name)
        )
        scores = store.read(_score_batch(suite, metric_plan, batch, judgements, out))
        yield scores.with_columns(suite=pl.lit(suite.name))


def _replies(frames: dict[str, pl.DataFrame], items: pl.DataFrame, model: str) -> dict[str, pl.DataFrame]:
    """Return a model's rows of each frame that belong to `items`."""
    parts = {}
    for kind in ("requests", "judgements", "evidence"):
        rows = frames[kind].filter(pl.col("model") == model)
        parts[kind] = rows.join(items, on="item_id", how="semi", maintain_order="left")
    # Responses name no model: they are found by their requests.
    responses = frames["responses"].unique("request_id", maintain_order=True)
    answered = responses.join(parts["requests"], on="request_id", how="semi", maintain_order="left")
    return {"items": items, "responses": answered, **parts}


def _score_batch(suite: SuitePlan, metric_plan: MetricPlan, batch: Batch, judgements: Ref, out: LeftOut) -> Ref:
    """Score a batch of replies by one metric; if it has judges, from the findings of those that count."""
    unit, store, identity = metric(metric_plan.name), suite.store, identity_of(Metric, metric_plan.name)
    if unit.verifies:
        tools = suite.sandbox
        runner = kotlin_tools.describe_tools(tools.kotlin_compiler, tools.java)
        families = verifiers_of(suite.suite)
        verdicts = verify.function(store, batch, families=families, tools=tools, runner=runner)
        return score.function(store, verdicts, metric=identity)
    if not unit.steps:
        return measure.function(store, batch, metric=identity, options=metric_plan.options)
    options, aggregate = metric_plan.options, metric_plan.aggregate
    return score_judged.function(
        store, batch, judgements, metric=identity, options=options, aggregate=aggregate, left_out=out
    )
