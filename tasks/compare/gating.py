"""The verdict on a file or a run by separate rules: against a threshold, and against a baseline."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import polars as pl

from basic_control.data.errors import InputError
from basic_control.data.suites import ALL, Suite
from basic_control.metrics.analysis.baseline import BaselineComparison, compare_with_baseline
from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.metrics.analysis.policy import Policy
from basic_control.metrics.analysis.results import Participants, Results, SuiteFindings, model_results
from basic_control.metrics.analysis.rules import Provenance, SuiteRules
from basic_control.metrics.analysis.scores import Circumstances, suite_headlines
from basic_control.metrics.analysis.stopping import against
from basic_control.metrics.analysis.summary import summarise
from basic_control.metrics.analysis.values import observations
from basic_control.metrics.analysis.verdict import RunVerdict, verdict_of
from basic_control.metrics.stated import NAME as STATED
from basic_control.tasks.compare.alignment import align_scores
from basic_control.tasks.compare.sides import FileForm, list_shared_metrics, select_deciding_scores, sides
from basic_control.tasks.exchange.records import UNNAMED_JUDGE
from basic_control.tasks.exchange.tables import Side
from basic_control.tasks.plan import BaselineRule
from basic_control.tasks.store.runs import Run, load_results


def gate(
    new: str,
    *,
    runs: Path,
    root: str = "",
    rule: BaselineRule,
    metric: str = "",
    threshold: float | None = None,
    form: FileForm | None = None,
) -> tuple[RunVerdict, BaselineComparison | None, list[Side]]:
    """Return whether a run or file passes: by its scores' `threshold`, and by the `rule` against a baseline.

    Besides the verdict and the comparison: the sides as they were read. `metric` is the one that decides; by
    default a run's scores, or the first metric that both files have. A run's scores are those of its results,
    decided as in the run: by its `gate`, errors included. Rules that differ from the baseline's are refused, or
    named if allowed.

    Raises:
        InputError: something cannot be read, or the two cannot be compared.
    """
    whole = sides([rule.name, new] if rule.name else [new], runs=runs, root=root, form=form)
    side, rescored = whole[-1], ()
    if rule.name:  # both by one code, before anything is compared
        whole[0], rescored = align_scores(whole[0], side, root)
    chosen = _choose(whole, metric)
    for compared in whole:
        if not chosen:
            break
        if select_deciding_scores(compared, chosen.items())["value"].count() == 0:
            names = ", ".join(dict.fromkeys(chosen.values()))
            raise InputError(f"{compared.name}: no reply has a score by {names}, so nothing can be decided.")
    comparison = None
    if rule.name:
        comparison = compare_with_baseline(
            _narrow(whole[0], chosen, opposite=side),
            _narrow(side, chosen, opposite=whole[0]),
            max_drop=rule.max_drop,
            rescored=rescored,
            allow_different=rule.allow_different,
        )
    measured = Results({}, ())
    if side.run and not chosen:
        measured = _read_results(side.run, threshold)
    elif threshold is not None:
        measured = _measure(side, chosen)
    # A run is decided as it was configured.
    configured: Mapping[str, object] = {}
    if side.run:
        configured = side.run.configuration
    policy = Policy(
        "interval" if configured.get("gate") == "interval" else "point",
        threshold,
        dict.fromkeys(_list_deciding(measured.models), threshold),
        undecided="pass" if configured.get("undecided") == "pass" else "undecided",
        regressions=comparison is not None,
    )
    return verdict_of(replace(measured, baseline=comparison), policy), comparison, whole


def measure_file(name: str, runs: Path) -> tuple[Side, Results, RunVerdict]:
    """Return a file of another tool with its results by its main metrics, and the verdict of no threshold.

    Raises:
        InputError: it cannot be read.
    """
    (side,) = sides([name], runs=runs)
    measured = _measure(side, _choose([side], ""))
    return side, measured, verdict_of(measured, Policy("point"))


def _list_deciding(models: Sequence[ModelResult]) -> Iterator[tuple[str, str]]:
    """Yield the headlines that a threshold is for: those that had one, in a suite without any each one."""
    for model in models:
        suites = {headline.suite for headline in model.headlines if headline.decided.threshold is not None}
        for headline in model.headlines:
            # Nobody sets a threshold on the share of rows that is only shown beside the metrics.
            is_measured = headline.suite not in suites and headline.metric != ALL
            if is_measured or headline.decided.threshold is not None:
                yield headline.suite, headline.metric


def _choose(whole: Sequence[Side], metric: str) -> dict[str, str]:
    """Return the metric that decides each suite: the first that all have; none if runs have their own scores."""
    shared = list_shared_metrics(whole)
    if metric and not all(metric in side.scores["metric"].unique() for side in whole):
        raise InputError(f"--metric {metric}: expected a metric that both have: {', '.join(shared) or 'none'}.")
    if metric:
        return dict.fromkeys(chain.from_iterable(side.items["suite"].unique() for side in whole), metric)
    if not any(side.is_file for side in whole):
        return {}
    if not shared:
        raise InputError(f"{whole[-1].name}: found no metric in common with {whole[0].name}.")
    chosen: dict[str, str] = {}
    for suite in chain.from_iterable(side.score for side in whole):
        first_side, *other_sides = (side.score[suite] for side in whole if suite in side.score)
        shared_metrics = set(first_side).intersection(*other_sides)
        chosen[suite] = next((name for name in first_side if name in shared_metrics), first_side[0])
    return chosen


def _narrow(side: Side, chosen: Mapping[str, str], *, opposite: Side) -> Side:
    """Return a side with the facts that decide its scores by the `chosen` metrics; unchanged without any.

    All of them are known if both sides are runs or baselines of ours, else only what files state.
    """
    if not chosen:
        return side
    is_whole = not (side.is_file or opposite.is_file)
    provenance = side.provenance
    if not is_whole:
        provenance = Provenance(provenance.suites, tested=provenance.tested if side.is_file else {})
    suites = {}
    pairs = select_deciding_scores(side, chosen.items()).select("suite", "metric").unique(maintain_order=True)
    for suite, metric in pairs.rows():
        rules = provenance.suites.get(suite, SuiteRules(()))
        stated = {name: value for name, value in rules.rules.items() if name == "strata" and value}
        stated |= _judges(side, opposite, metric)
        kept_rules = rules.rules if is_whole else stated
        suites[suite] = SuiteRules((metric,), kept_rules, rules.defaults, in_rounds=rules.in_rounds)
    return replace(side, provenance=replace(provenance, suites=suites))


def _judges(side: Side, opposite: Side, metric: str) -> dict[str, str]:
    """Return the judges of a file's metric as a rule, if both sides name theirs."""
    judges, opposite_judges = (
        sorted(file.judged.get(metric, UNNAMED_JUDGE).split(", ")) for file in (side, opposite)
    )
    return {} if UNNAMED_JUDGE in (*judges, *opposite_judges) else {f"judges.{metric}": ", ".join(judges)}


def _read_results(run: Run, threshold: float | None) -> Results:
    """Return the stored results of a run's models, headline by headline."""
    _, verdict = load_results(run)

    def follow(headline: Headline) -> Headline:
        """Return a headline whose sequence, if it has one, is followed against the threshold."""
        stopping = headline.measured.stopping
        if stopping is None or threshold is None:
            return headline
        return replace(headline, measured=replace(headline.measured, stopping=against(stopping, threshold)))

    models = tuple(replace(model, headlines=tuple(map(follow, model.headlines))) for model in verdict.models)
    return Results({}, models, waiting={run.name: verdict.waiting})


def _measure(side: Side, chosen: Mapping[str, str]) -> Results:
    """Return the results of a side's models by the chosen metrics, suite by suite; a TOTAL where it has strata."""
    ours = Suite(name=STATED, items={}, metrics={STATED: {}}, weight=1)
    strata = {suite.name: suite.strata for suite in side.suites}
    suites = [ours.model_copy(update={"name": name, "strata": strata.get(name, "")}) for name in chosen]
    scores = select_deciding_scores(side, chosen.items()).drop("suite").with_columns(metric=pl.lit(STATED))
    once = observations(scores, side.items)
    suite_of = once.items.select("item_id", "suite")
    members: dict[str, list[str]] = {}
    for model, suite in (
        once.scores.join(suite_of, on="item_id").select("model", "suite").unique(maintain_order=True).rows()
    ):
        members.setdefault(model, []).append(suite)
    summary, facts = summarise(once.scores, once.items), Circumstances()
    findings = [SuiteFindings(suite_headlines(suite, [*members], once, summary, facts), facts) for suite in suites]
    return Results({}, model_results(findings, Participants(suites, members)))
