"""Conclude: join the suites into one gated verdict, and write what it rests on as `results.json`."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, TypedDict

import polars as pl

from artifacts.store import write_atomically
from config.settings import Settings
from data.batches import Asked, Ref
from data.exits import Exit
from data.plugins import metric
from data.suites import Suite
from data.tables import ITEMS, SCORES
from metrics.corrected import CorrectedMean, corrected_means
from metrics.effort import efforts
from metrics.explainability import EXPLAINED, explainability
from metrics.final import Labels, finalise, totals_of
from metrics.final import headline as names_of
from metrics.other_tools import beside
from metrics.paneled import panel_means
from metrics.passports import passports
from metrics.repeated import collapsed, repeated
from metrics.results import Results
from metrics.self_preference import self_preferences
from metrics.stats.agreement import judge_agreement, judge_ratings, repeats
from metrics.stats.matching import later_minus_earlier, question_sets
from metrics.stats.pairs import compare, groups
from metrics.stopping import Narrowing
from metrics.summary import cells, summarise
from metrics.verdicts import Final, ModelResult
from tasks.compare.baseline import against
from tasks.decide import follow_all, watched
from tasks.judges.labels import kept_labels
from tasks.judges.passports import Examined, sittings
from tasks.judges.trust import by_labels, distrusted, unmeasured
from tasks.models.systems import Identities, judges_of, own_models, systems_of, took_part
from tasks.report.material import Tables
from tasks.report.raw import slugs
from tasks.runtime.spending import spending_of
from tasks.runtime.storage import open_store
from tasks.stage import stage

UNSETTLED = "without network a source can at best be UNCERTAIN, so no score can decide this suite"


@dataclass(frozen=True, slots=True)
class Concluded:
    """The verdict's exit code (`data.exits`) and the whole document."""

    exit_code: int
    document: Mapping[str, Any]


def final_of(
    settings: Settings,
    summary: pl.DataFrame,
    missing: Mapping[str, str] | None = None,
    stopping: Sequence[Narrowing] = (),
    waiting: Mapping[str, int] | None = None,
    *,
    corrected: Sequence[CorrectedMean] = (),
    repeated: pl.DataFrame | None = None,
    labels: Labels | None = None,
) -> Final:
    """Gate every system in the suites that it took part in.

    `missing` says why a model could not be asked, `waiting` how many requests of a suite wait in batches,
    `corrected` what the judges' passports make of their means; `repeated` are the cells of suites gated on k
    answers. `labels` are what people's labels make of judges' means: these decide where the configuration has it
    that judges must have them.
    """
    labels = labels if labels and settings.judges_must_have == "labels" else {}
    by_name = {suite.name: suite for suite in counted(settings, settings.suites)}
    gated = []
    for name, listed in took_part(settings).items():
        suites = [by_name[one] for one in listed]
        told = flags(settings, suites, corrected, labels, [name])
        if not any(suite.weight for suite in suites):
            suites = [suite.model_copy(update={"weight": 1.0}) for suite in suites]
        gated.append(
            finalise(
                summary,
                models=[name],
                suites=suites,
                threshold=settings.threshold,
                gate=settings.gate,
                stopping=stopping,
                waiting=waiting,
                repeated=repeated,
                labels=labels,
                **told,
            )
        )
    absent = _missing(settings, settings.suites, missing or {})
    models = (model for final in gated for model in final.models)
    checked = tuple(_absent(model, absent.get(model.model, "")) for model in models)
    return Final(settings.gate, checked, settings.undecided)


def counted(settings: Settings, suites: Iterable[Suite]) -> list[Suite]:
    """Return suites with the k that they are gated on, if any."""
    return [
        suite if suite.gate_on == "mean" else suite.model_copy(update={"k": suite.k or settings.times(suite)})
        for suite in suites
    ]


class Flags(TypedDict):
    """Why suites cannot be decided, by name."""

    undecided: dict[str, str]
    unjudged: dict[str, str]


def flags(
    settings: Settings,
    suites: Iterable[Suite],
    corrected: Sequence[CorrectedMean],
    labels: Labels,
    models: Collection[str],
) -> Flags:
    """Return why suites cannot be decided: by their nature (`undecided`), or for want of a judge (`unjudged`)."""
    listed = list(suites)
    return {
        "undecided": {
            **unmeasured(settings, listed, corrected, labels, models),
            **{suite.name: UNSETTLED for suite in listed if unsettled(suite)},
        },
        "unjudged": {
            suite.name: why
            for suite in listed
            if not by_labels(settings, suite, labels, models) and (why := distrusted(settings, suite, corrected))
        },
    }


def standing(
    settings: Settings, suite: Suite, tables: Tables, identities: Identities, waiting: Mapping[str, int]
) -> dict[str, dict[str, Any]]:
    """Return each model's result in one suite, as it stands when the suite has ended."""
    place = open_store(settings.store)
    every = place.read_all(tables.scores, SCORES).filter(pl.col("metric").is_in(suite.scored_by))
    drawn = place.read_all(tables.items, ITEMS).unique("item_id")
    summary = summarise(every, drawn)
    (gated,) = counted(settings, [suite])
    found = Examined(settings, identities.judges, place)
    corrected = corrected_means(every, drawn, [suite], found.passport)
    rules = [one for one in watched(settings, found) if one.suite.name == suite.name]
    models = [name for name, listed in took_part(settings).items() if suite.name in listed]
    final = finalise(
        summary,
        models=models,
        suites=[gated.model_copy(update={"weight": 1.0})],
        gate=settings.gate,
        repeated=repeated(every, drawn, [gated], summary),
        stopping=follow_all(place, tables.items, tables.scores, rules),
        waiting=waiting,
        **flags(settings, [suite], corrected, {}, models),
    )
    absent = _missing(settings, [suite], identities.missing)
    checked = [_absent(model, absent.get(model.model, "")) for model in final.models]
    results = {model.model: model.suites[0] for model in checked}
    return {
        name: {
            "score": one.score,
            "low": one.interval.low,
            "high": one.interval.high,
            "outcome": one.outcome,
            "reason": one.reason,
            "n_scored": one.n_scored,
            "n_asked": one.n_asked,
            "n_deciding": one.n_deciding,
            "gate_on": one.gate_on,
            "k": one.k,
            "mean": one.mean,
            "measured": one.measured,
        }
        for name, one in results.items()
    }


def unsettled(suite: Suite) -> bool:
    """Say whether no score can decide a suite: its sources would have to be looked up, and must not be."""
    asking = [(name, metric(name).sources) for name in suite.scored_by]
    options = {name: suite.options(name) for name, _ in asking}
    return any(wanted and wanted(options[name]) and not options[name].get("network") for name, wanted in asking)


def _missing(settings: Settings, suites: Iterable[Suite], missing: Mapping[str, str]) -> dict[str, str]:
    """Return why systems could not be asked, by name."""
    asked = (pair for suite in suites for pair in systems_of(settings, suite))
    return {system.name: why for system, model in asked if (why := missing.get(model.name))}


def _absent(model: ModelResult, why: str) -> ModelResult:
    """Say of a model that could not be asked why its verdict is an error."""
    if not why:
        return model
    reason = f"the model could not be asked: {why}"
    suites = (suite if suite.n_asked else replace(suite, reason=reason) for suite in model.suites)
    return replace(model, reason=reason, suites=tuple(suites))


def explained(
    settings: Settings, final: Final, corrected: Sequence[CorrectedMean] = ()
) -> dict[str, dict[str, Any]]:
    """Return the explainability results of the systems that were asked both of its suites, by their names."""
    pair = EXPLAINED
    if not set(pair) <= set(settings.named):
        return {}
    judged = settings.suite(pair[1])
    judges = ", ".join(judge.name for judge in judges_of(settings, judged, judged.scored_by[0]))

    def one(model: ModelResult) -> dict[str, Any] | None:
        suites = {suite.suite: suite for suite in model.suites}
        if not set(pair) <= set(suites):
            return None
        part = settings.explainability
        return explainability(
            *(suites[name] for name in pair),
            model=model.model,
            judge_model=judges,
            weight_cot=part.weight_cot,
            weight_citation=part.weight_citation,
            threshold=part.threshold,
            judged=[row for row in corrected if (row.suite, row.model) == (pair[1], model.model)],
        )

    return {model.model: found for model in final.models if (found := one(model))}


def write_explained(listed: Mapping[str, Mapping[str, Any]], folder: Path, day: str) -> None:
    """Write `FINAL_RESULTS_<day>.json` for one model, `FINAL_RESULTS_<day>_<model>.json` for each of several."""
    for found, name in zip(listed.values(), slugs([*listed]), strict=True):
        suffix = f"_{name}" if len(listed) > 1 else ""
        text = json.dumps(found, ensure_ascii=False, indent=2)
        write_atomically(folder / f"FINAL_RESULTS_{day}{suffix}.json", text.encode())


@stage(version=1, cached=False)
def gate(
    settings: Settings,
    items: list[Ref],
    scores: list[Ref],
    summary: Ref,
    *,
    run: Mapping[str, Any],
    folder: str,
    missing: Mapping[str, str] | None = None,
    waiting: Mapping[str, int] | None = None,
    judges: Mapping[str, Mapping[str, str]] | None = None,
    calls: Mapping[str, int] | None = None,
    labelled: str = "",
    asked: Sequence[Asked] = (),
    judged: Sequence[Asked] = (),
) -> Concluded:
    """Gate the run's models and write `results.json`, and `FINAL_RESULTS_<YYYYMMDD>.json` where it applies.

    `labelled` is the folder of the run whose replies these are, where people have labelled them.
    """
    place = open_store(settings.store)
    drawn = place.read_all(items, ITEMS).unique("item_id", maintain_order=True)
    every = place.read_all(scores, SCORES)
    table = place.read(summary)
    found = Examined(settings, judges or {}, place)
    stopping = follow_all(place, items, scores, watched(settings, found))
    corrected = corrected_means(every, drawn, settings.suites, found.passport)
    labels = kept_labels(Path(labelled), every, drawn) if labelled else {}
    suites = counted(settings, settings.suites)
    at_k = repeated(every, drawn, suites, table)
    final = final_of(settings, table, missing, stopping, waiting, corrected=corrected, repeated=at_k, labels=labels)
    held = against(settings, run.get("facts") or {}, every, drawn)
    if held and settings.fail_on == "regression":
        final = replace(final, changes=held.outcomes)
    ratings = judge_ratings(every)
    headline = every.filter(pl.col("metric").is_in(names_of(settings.suites)))
    # A suite that was looked at in between has its sequences in place of tests that hold once.
    looked_at = [suite.name for suite in settings.suites if suite.stop]
    once = headline.join(drawn.filter(pl.col("suite").is_in(looked_at)), on="item_id", how="anti")
    pairs = later_minus_earlier(compare(once, drawn), [*took_part(settings)])
    listed = explained(settings, final, corrected)
    day = date.fromisoformat(str(run["started"])[:10])
    document = Results(
        run={
            **{key: value for key, value in run.items() if key != "facts"},
            "identities": (run.get("facts") or {}).get("identities", {}),
            "items": question_sets(drawn),
            # Of this run, not of what it found: one that does it again finds all in the cache.
            "spending": asdict(spending_of(place, settings, asked, judged, day)),
        },
        baseline=held,
        final=final,
        totals=totals_of(settings.suites, table),
        cells=cells(table),
        comparisons=pairs,
        races=[one for one in stopping if one.against],
        groups=groups(pairs),
        repeats=[
            one
            for suite in suites
            if (n := settings.times(suite)) > 1
            for one in repeats(
                headline.join(drawn.filter(suite=suite.name), on="item_id", how="semi"),
                k=suite.k or n,
                suite=suite.name,
            )
        ],
        judges={str(metric): judge_agreement(own, "interval") for (metric,), own in ratings.group_by("metric")},
        explainability=[*listed.values()],
        stated=tuple(beside(every, drawn, {suite.name: suite.scored_by for suite in settings.suites})),
        corrected=corrected,
        self_preference=self_preferences(every, drawn, settings.suites, own_models(settings)),
        passports=passports(sittings(every, drawn)),
        panels=panel_means(every, drawn, settings.suites, found.passport),
        next_calls=efforts(final.models, collapsed(every, drawn, suites), drawn, settings.suites, calls or {}),
    ).as_dict()
    there = Path(folder)
    write_atomically(there / "results.json", json.dumps(document, ensure_ascii=False, indent=1).encode())
    write_explained(listed, there, str(run["started"])[:10].replace("-", ""))
    # What waits in batches decides nothing yet, whatever the gate.
    open_still = final.exit_code == Exit.PASSED and any((waiting or {}).values())
    return Concluded(Exit.UNDECIDED if open_still else final.exit_code, document)
