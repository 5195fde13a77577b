"""The verdict on a file or a run by separate rules: against a threshold, and against a baseline."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from config.declared import recorded
from config.settings import Settings
from data.errors import InputError
from data.suites import MAX_DROP, Suite
from metrics.analysis.baseline import (
    BaselineComparison,
    Provenance,
    RunSide,
    SuiteRules,
    changed_units,
    compare_with_baseline,
    unlike,
)
from metrics.analysis.headlines import Headline
from metrics.analysis.policy import Policy
from metrics.analysis.results import Participants, Results, SuiteFindings, model_results
from metrics.analysis.scores import Circumstances, suite_headlines
from metrics.analysis.stopping import against
from metrics.analysis.summary import summarise
from metrics.analysis.values import observations
from metrics.analysis.verdict import RunVerdict, verdict_of
from metrics.stated import NAME as STATED
from prompts.phrases import ENGLISH
from tasks.compare.baseline import pin, reply_digests
from tasks.compare.provenance import provenance_of
from tasks.compare.sides import FileForm, decisive, placed, remarks, shared_metrics, sides
from tasks.exchange.records import UNNAMED_JUDGE
from tasks.exchange.tables import Side
from tasks.plan import resolve
from tasks.store.baselines import Baseline
from tasks.store.runs import Run, results


def gate(
    new: str,
    *,
    runs: Path,
    root: str = "",
    baseline: str = "",
    metric: str = "",
    max_drop: float = MAX_DROP,
    threshold: float | None = None,
    allow_different: bool = False,
    form: FileForm | None = None,
) -> tuple[RunVerdict, BaselineComparison | None, list[str]]:
    """Return whether a run or file passes: `threshold` for its scores, `max_drop` below the baseline's.

    Besides the verdict and the comparison: remarks on the files, as `compare` makes them. `metric` is the one that
    decides; by default a run's scores, or the first metric that both files have. A run's scores are those of its
    results, decided as in the run: by its `gate`, errors included. Rules that differ from the baseline's
    are refused, or named if `allow_different`.

    Raises:
        InputError: something cannot be read, or the two cannot be compared.
    """
    found = sides([baseline, new] if baseline else [new], runs=runs, root=root, form=form)
    chosen = _chosen(found, metric)
    named = dict.fromkeys(chosen.values())
    for side in found if chosen else ():
        if decisive(side, chosen)["value"].count() == 0:
            raise InputError(f"{side.name}: no reply has a score by {', '.join(named)}, so nothing can be decided.")
    held = None
    if baseline:
        held = _compared(found[0], found[1], chosen, max_drop, root, allow_different=allow_different)
    run = found[-1].run
    results = Results({}, ())
    if run and not chosen:
        results = _recorded(run, threshold)
    elif threshold is not None:
        results = _scored(found[-1], chosen)
    told = run.configuration if run else {}
    policy = Policy(
        "interval" if told.get("gate") == "interval" else "point",
        threshold,
        {(one.suite, one.metric): threshold for model in results.models for one in model.headlines},
        undecided="pass" if told.get("undecided") == "pass" else "undecided",
        regressions=held is not None,
    )
    return verdict_of(replace(results, baseline=held), policy), held, [*remarks(found, ENGLISH)]


def _chosen(found: Sequence[Side], metric: str) -> dict[str, str]:
    """Return the metric that decides each suite: the first that all have; none if runs have their own scores."""
    there = shared_metrics(found)
    if metric and not all(metric in side.scores["metric"].unique() for side in found):
        raise InputError(f"--metric {metric}: expected a metric that both have: {', '.join(there) or 'none'}.")
    if metric:
        return dict.fromkeys((suite for side in found for suite in side.items["suite"].unique()), metric)
    if all(side.run for side in found):
        return {}
    if not there:
        raise InputError(f"{found[-1].name}: found no metric in common with {found[0].name}.")
    chosen = {}
    for suite in dict.fromkeys(suite for side in found for suite in side.score):
        own = [side.score[suite] for side in found if suite in side.score]
        chosen[suite] = next((one for one in own[0] if all(one in other for other in own)), own[0][0])
    return chosen


def _compared(
    baseline: Side, new: Side, chosen: Mapping[str, str], max_drop: float, root: str, *, allow_different: bool
) -> BaselineComparison:
    first, run = baseline.run, new.run
    named = [
        {metric for metric, judge in side.judged.items() if UNNAMED_JUDGE not in judge.split(", ")}
        for side in (baseline, new)
    ]
    judged = named[0] & named[1]
    before, after = (_provenance(side, chosen, judged, whole=bool(first and run)) for side in (baseline, new))
    old, own = _side(baseline, before), _side(new, after)
    units: Sequence[str] = ()
    if first and run and changed_units(before, after):
        again, units = _rescored(pin(baseline.name, first, root), run, after, root)
        others = old.scores.join(again, on=["suite", "metric"], how="anti", maintain_order="left")
        old = replace(old, scores=pl.concat([others, again.select(others.columns)]))
    return compare_with_baseline(
        baseline.name,
        baseline.name,
        old,
        own,
        max_drop=max_drop,
        strata=[suite.name for suite in new.suites if suite.strata],
        known=unlike(before, after, units),
        allow_different=allow_different,
    )


def _provenance(side: Side, chosen: Mapping[str, str], judged: Collection[str], *, whole: bool) -> Provenance:
    """Return what decides a side's scores by the `chosen` metrics; in part (not `whole`) beside a file's.

    Both sides name the judge of the metrics in `judged`.
    """
    if side.run and whole and not chosen:
        return provenance_of(side.run.manifest)
    there = decisive(side, chosen).select("suite", "metric").unique(maintain_order=True).iter_rows()
    known = provenance_of(side.run.manifest, chosen) if side.run and whole else Provenance({}, tested=side.stated)
    blank = SuiteRules(())
    suites = {suite: replace(known.suites.get(suite, blank), score=(name,)) for suite, name in there}
    for suite, own in suites.items():
        if (name := own.score[0]) in judged:
            judges = ", ".join(sorted(side.judged[name].split(", ")))
            suites[suite] = replace(own, rules={f"judges.{name}": judges})
    return replace(known, suites=suites)


def _side(side: Side, provenance: Provenance) -> RunSide:
    items = side.items.unique("item_id", maintain_order=True)
    return RunSide(placed(side), items, provenance, reply_digests(side.replies))


def _rescored(known: Baseline, run: Run, provenance: Provenance, root: str) -> tuple[pl.DataFrame, Sequence[str]]:
    """Return a baseline's scores, recomputed with today's units if those scored the run, and these units."""
    from tasks.compare.rescore import rescore  # imports Prefect, which few comparisons need

    store = {**run.configuration.get("store", {}), **({"root": root} if root else {})}
    try:
        plan = resolve(Settings.model_validate({**recorded(run.configuration), "store": store}))
    except (InputError, ValueError):  # its data or plug-ins are missing here, without which nothing is scored
        return known.scores, ()
    again, units = rescore(plan, known, provenance, run.manifest.get("judge_identities") or {})
    return again.scores, units


def _recorded(run: Run, threshold: float | None) -> Results:
    """Return the stored results of a run's models, headline by headline."""
    _, verdict = results(run)

    def judged(headline: Headline) -> Headline:
        """Return a headline whose sequence, if it has one, is followed against the threshold."""
        stopping = headline.measured.stopping
        if stopping is None or threshold is None:
            return headline
        return replace(headline, measured=replace(headline.measured, stopping=against(stopping, threshold)))

    models = tuple(replace(model, headlines=tuple(map(judged, model.headlines))) for model in verdict.models)
    return Results({}, models, waiting={run.name: verdict.waiting})


def _scored(side: Side, chosen: Mapping[str, str]) -> Results:
    """Return the results of a side's models by the chosen metrics, suite by suite; a TOTAL where it has strata."""
    ours = Suite(name=STATED, items={}, metrics={STATED: {}}, weight=1)
    strata = {suite.name: suite.strata for suite in side.suites}
    suites = [ours.model_copy(update={"name": name, "strata": strata.get(name, "")}) for name in chosen]
    scores = decisive(side, chosen).drop("suite").with_columns(metric=pl.lit(STATED))
    once = observations(scores, side.items)
    taken = once.scores.join(once.items.select("item_id", "suite"), on="item_id")
    members = {
        str(model): [suite.name for suite in suites if suite.name in own["suite"].unique()]
        for (model,), own in taken.group_by("model", maintain_order=True)
    }
    summary, facts = summarise(once.scores, once.items), Circumstances()
    findings = [SuiteFindings(suite_headlines(suite, [*members], once, summary, facts), facts) for suite in suites]
    return Results({}, model_results(findings, Participants(suites, members)))
