"""The verdict on a file or a run by separate rules: against a threshold, and against a baseline.

Scores of two sides are by the same code: earlier replies are scored again if only scoring units changed since.

Source: SPEC 10.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.config.settings import Settings
from basic_control.data.errors import InputError, propose_name
from basic_control.data.suites import ALL, Suite
from basic_control.metrics.analysis.baseline import BaselineComparison, ComparedSide, compare_with_baseline
from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.metrics.analysis.observations import observations
from basic_control.metrics.analysis.overlaps import list_overlaps
from basic_control.metrics.analysis.policy import Gate, Policy
from basic_control.metrics.analysis.provenance import Provenance, SuiteRules, list_changed_units
from basic_control.metrics.analysis.results import Participants, Results, SuiteFindings, model_results
from basic_control.metrics.analysis.scores import Circumstances, suite_headlines
from basic_control.metrics.analysis.stopping import against
from basic_control.metrics.analysis.summary import summarise
from basic_control.metrics.analysis.verdict import RunVerdict, verdict_of
from basic_control.metrics.stated import NAME as STATED
from basic_control.tasks.compare.sides import (
    FileForm,
    find_newest,
    list_shared_metrics,
    read_sides,
    select_deciding_scores,
)
from basic_control.tasks.exchange.frames import Side
from basic_control.tasks.exchange.logs import UNNAMED_JUDGE
from basic_control.tasks.plan import BaselineRule, Plan, resolve
from basic_control.tasks.store.baselines import BASELINES, Tables, find_path, list_files
from basic_control.tasks.store.runs import LAST, Run, load_results

Judges = Mapping[str, Mapping[str, str]]
"""The identities of a run's judges by name."""


def score_again(
    side: ComparedSide, tables: Tables, provenance: Provenance, judges: Judges, plan: Callable[[], Plan | None]
) -> tuple[pl.DataFrame, Sequence[str]]:
    """Score a side's replies by what scored the run of `provenance`, if only that has changed since.

    `tables` hold the replies, `plan` returns what the run asked, None if that is no longer known; `judges` are its
    judges' identities. Return the side's scores, and the units by which all of its replies were scored again.
    """
    is_changed = bool(tables and list_changed_units(side.provenance, provenance))
    planned = plan() if is_changed else None
    if not planned:
        return side.scores, ()
    from basic_control.tasks.compare.rescore import rescore  # imports Prefect, which few comparisons need

    return rescore(planned, side, tables, provenance, judges)


def align_scores(old: Side, new: Side, root: str = "") -> tuple[Side, Sequence[str]]:
    """Score a side's replies by what scored the later run, as `score_again`; files stay as they are."""
    run = new.run
    if run is None:
        return old, ()
    judges = run.manifest.get("judge_identities") or {}
    scores, units = score_again(old, old.tables, new.provenance, judges, lambda: recover_plan(run, root))
    return replace(old, scores=scores), units


def recover_plan(run: Run, root: str = "") -> Plan | None:
    """Return what a finished run asked; `root` is its store's current location, if moved.

    None if its data or plug-ins are missing here, without which nothing is scored.
    """
    store = dict(run.configuration.get("store", {}))
    if root:
        store["root"] = root
    try:
        return resolve(Settings.model_validate({**run.configuration, "store": store}))
    except (InputError, ValueError):
        return None


def decide_gate(
    new: str,
    *,
    runs: Path,
    root: str = "",
    rule: BaselineRule,
    metric: str = "",
    threshold: float | None = None,
    gate: Gate | None = None,
    form: FileForm | None = None,
) -> tuple[RunVerdict, BaselineComparison | None, list[Side]]:
    """Return whether a run or file passes: by its scores' `threshold`, and by the `rule` against a baseline.

    Besides the verdict and the comparison: the sides as they were read. `metric` is the one that decides; by
    default a run's scores, or the first metric that both files have. A run's scores are those of its results,
    errors included. `gate` says how they are decided: by default as in the run, and of a file by the score
    (`point`). Rules that differ from the baseline's are refused, or named if allowed.

    Raises:
        InputError: something cannot be read, or the two cannot be compared.
    """
    # Alone `last` is compared with the one before, and gated by itself.
    new = find_newest(new, runs)
    names = [new]
    if rule.name:
        _check_baseline_name(rule.name, runs)
        names = [rule.name, new]
    form = replace(form or FileForm(), requested=[*filter(None, [metric])])
    sides = read_sides(names, runs=runs, root=root, form=form)
    side, rescored = sides[-1], ()
    if rule.name:  # both by one code, before anything is compared
        sides[0], rescored = align_scores(sides[0], side, root)
    deciding_metrics = choose_metrics(sides, metric)
    _check_scores(sides, deciding_metrics)
    comparison = None
    if rule.name:
        comparison = compare_with_baseline(
            _narrow(sides[0], deciding_metrics, opposite=side),
            _narrow(side, deciding_metrics, opposite=sides[0]),
            max_drop=rule.max_drop,
            rescored=rescored,
            allow_different=rule.allow_different,
        )
    results = Results({}, ())
    if side.run and not deciding_metrics:
        results = _read_results(side.run, threshold)
    elif threshold is not None:
        results = _measure(side, deciding_metrics)
    # A run is decided as it was configured.
    configuration: Mapping[str, object] = {}
    if side.run:
        configuration = side.run.configuration
    configured: Gate = "interval" if configuration.get("gate") == "interval" else "point"
    policy = Policy(
        gate or configured,
        threshold,
        dict.fromkeys(_list_deciding(results.models), threshold),
        undecided="pass" if configuration.get("undecided") == "pass" else "undecided",
        regressions=comparison is not None,
    )
    return verdict_of(replace(results, baseline=comparison), policy), comparison, sides


def _check_baseline_name(name: str, runs: Path) -> None:
    """Reject a name that is nothing to compare with: no pinned baseline, no run, no file."""
    is_there = name == LAST or (runs / name).is_dir() or Path(name).exists() or find_path(name).is_file()
    if is_there:
        return
    pinned = [path.stem for path in list_files()]
    names = ", ".join(pinned) or "none"
    raise InputError(
        f"--baseline {name}: found neither a pinned baseline ({BASELINES} contains {names}), nor a run in {runs}, "
        f"nor a file.{propose_name(name, pinned)} Set one from a finished run: "
        f"basic-control baseline set {name} RUN."
    )


def measure_file(name: str, runs: Path) -> tuple[Side, Results, RunVerdict]:
    """Return a file of another tool with its results by its main metrics, and the verdict of no threshold.

    Raises:
        InputError: it cannot be read.
    """
    (side,) = read_sides([name], runs=runs)
    results = _measure(side, choose_metrics([side], ""))
    return side, results, verdict_of(results, Policy("point"))


def _list_deciding(models: Sequence[ModelResult]) -> Iterator[tuple[str, str]]:
    """Yield the headlines that a threshold is for: those that had one, in a suite without any each one."""
    for model in models:
        with_thresholds = [headline for headline in model.headlines if headline.decided.threshold is not None]
        suites = {headline.suite for headline in with_thresholds}
        for headline in model.headlines:
            # Nobody sets a threshold on the share of rows that is only shown beside the metrics.
            is_measured = headline.suite not in suites and headline.metric != ALL
            if is_measured or headline.decided.threshold is not None:
                yield headline.suite, headline.metric


def choose_metrics(sides: Sequence[Side], metric: str) -> dict[str, str]:
    """Return the metric that decides each suite: the first that all have; none if runs have their own scores."""
    shared = list_shared_metrics(sides)
    if metric:
        if not all(metric in side.scores["metric"].unique() for side in sides):
            expected = ", ".join(shared) or "none"
            kind = "a metric that both have" if len(sides) > 1 else f"one of the metrics of {sides[0].name}"
            raise InputError(f"--metric {metric}: expected {kind}: {expected}.")
        return dict.fromkeys(chain.from_iterable(side.items["suite"].unique() for side in sides), metric)
    if not any(side.is_file for side in sides):
        return {}
    if not shared:
        raise InputError(f"{sides[-1].name}: found no metric in common with {sides[0].name}.")
    metric_by_suite: dict[str, str] = {}
    for suite in chain.from_iterable(side.metrics_by_suite for side in sides):
        metrics_by_side = [side.metrics_by_suite[suite] for side in sides if suite in side.metrics_by_suite]
        first_metrics = metrics_by_side[0]
        shared_metrics = set(first_metrics).intersection(*metrics_by_side)
        metric_by_suite[suite] = next((name for name in first_metrics if name in shared_metrics), first_metrics[0])
    return metric_by_suite


def _check_scores(sides: Sequence[Side], metric_by_suite: Mapping[str, str]) -> None:
    """Reject sides without a score by the metrics that decide, if these are chosen."""
    for side in sides:
        if metric_by_suite and select_deciding_scores(side, metric_by_suite.items())["value"].count() == 0:
            names = ", ".join(dict.fromkeys(metric_by_suite.values()))
            raise InputError(f"{side.name}: no reply has a score by {names}, so nothing can be decided.")


def _narrow(side: Side, metric_by_suite: Mapping[str, str], *, opposite: Side) -> Side:
    """Return a side with the facts that decide its scores by the chosen metrics; unchanged without any.

    All of them are known if both sides are runs or baselines of ours, else only what files state.
    """
    if not metric_by_suite:
        return side
    provenance = side.provenance
    has_all_facts = not side.is_file and not opposite.is_file
    if side.is_file:
        provenance = Provenance(provenance.suites, tested=provenance.tested)
    elif opposite.is_file:
        provenance = Provenance(provenance.suites)
    scores = select_deciding_scores(side, metric_by_suite.items())
    suites: dict[str, SuiteRules] = {}
    for suite, metric in scores.select("suite", "metric").unique(maintain_order=True).rows():
        suite_rules = provenance.suites.get(suite, SuiteRules(()))
        rules = suite_rules.rules
        if not has_all_facts:
            # Of a run beside a file only what a file could say as well.
            rules = {name: value for name, value in rules.items() if name == "strata" and value}
            rules.update(_state_judges(side, opposite, metric))
        suites[suite] = SuiteRules((metric,), rules, suite_rules.defaults, in_rounds=suite_rules.in_rounds)
    return replace(side, provenance=replace(provenance, suites=suites))


def _state_judges(side: Side, opposite: Side, metric: str) -> dict[str, Any]:
    """Return the judges of a file's metric as a rule, if both sides name theirs."""
    judges = side.judged.get(metric, UNNAMED_JUDGE).split(", ")
    opposite_judges = opposite.judged.get(metric, UNNAMED_JUDGE).split(", ")
    if UNNAMED_JUDGE in (*judges, *opposite_judges):
        return {}
    return {f"judges.{metric}": ", ".join(sorted(judges))}


def _read_results(run: Run, threshold: float | None) -> Results:
    """Return the stored results of a run's models, headline by headline."""
    _, verdict = load_results(run)

    def follow_threshold(headline: Headline) -> Headline:
        """Return a headline whose sequence, if it has one, is followed against the threshold."""
        stopping = headline.measured.stopping
        if stopping is None or threshold is None:
            return headline
        return replace(headline, measured=replace(headline.measured, stopping=against(stopping, threshold)))

    models = tuple(
        replace(model, headlines=tuple(map(follow_threshold, model.headlines))) for model in verdict.models
    )
    return Results({}, models, waiting={run.name: verdict.waiting})


def _measure(side: Side, metric_by_suite: Mapping[str, str]) -> Results:
    """Return the results of a side's models by the chosen metrics, suite by suite; a TOTAL where it has strata."""
    ours = Suite(name=STATED, items={}, metrics={STATED: {}}, weight=1)
    strata = {suite.name: suite.strata for suite in side.suites}
    scores = select_deciding_scores(side, metric_by_suite.items())
    once = observations(scores.drop("suite").with_columns(metric=pl.lit(STATED)), side.items)
    scores = once.scores.join(once.items.select("item_id", "suite"), on="item_id")
    members: dict[str, list[str]] = {}
    for model, suite in scores.select("model", "suite").unique(maintain_order=True).rows():
        members.setdefault(model, []).append(suite)
    summary, facts = summarise(once.scores, once.items), Circumstances()
    suites: list[Suite] = []
    findings: list[SuiteFindings] = []
    for name in metric_by_suite:
        suite = ours.model_copy(update={"name": name, "strata": strata.get(name, "")})
        suites.append(suite)
        findings.append(SuiteFindings(suite_headlines(suite, [*members], once, summary, facts), facts))
    return Results({}, model_results(findings, Participants(suites, members), list_overlaps(once, suites)))
