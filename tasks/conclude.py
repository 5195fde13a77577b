"""Conclude: join the suites into one gated verdict, and write what it rests on as `results.json`."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from artifacts.store import write_atomically
from config.settings import Settings
from data.errors import InputError
from data.records import Ref
from data.tables import ITEMS, SCORES
from metrics.agreement import judge_agreement, judge_ratings, repeats
from metrics.comparison import compare, groups
from metrics.final import HEADLINE, Final, ModelResult, explainability, finalise
from metrics.pairing import question_sets
from metrics.results import Results
from metrics.summary import cells, totals
from tasks.place import open_store
from tasks.report.raw import slugs
from tasks.stage import stage

UNSETTLED = "without network a source can at best be UNCERTAIN, so no score can decide this suite"


@dataclass(frozen=True, slots=True)
class Concluded:
    """The verdict's exit code (0 pass, 1 fail, 2 error) and the whole document."""

    exit_code: int
    document: Mapping[str, Any]


def took_part(settings: Settings, guests: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the suites of each model; `guests` took part in one suite only, as responses of a file.

    A guest that is called as a model of the run is that model: its suite joins the model's own.

    Raises:
        InputError: a model's suites all have weight 0.
    """
    own: tuple[str, ...] = tuple(suite for suite in settings.suites if suite not in guests.values())
    found = {model.name: own for model in settings.models}
    for name, suite in guests.items():
        found[name] = (*found.get(name, ()), suite)
    for name, suites in found.items():
        # A guest's only suite is its whole score, whatever that suite weighs beside others.
        if suites and not (name in guests and len(suites) == 1) and not _weight(settings, suites):
            raise InputError(
                f"weights: those of {', '.join(suites)} are 0, and no other suite of {name} is evaluated; "
                "give one of them a weight."
            )
    return found


def _weight(settings: Settings, suites: Sequence[str]) -> float:
    return math.fsum(getattr(settings.weights, suite) for suite in suites)


def final_of(settings: Settings, summary: pl.DataFrame, guests: Mapping[str, str]) -> Final:
    """Gate every model in the suites that it took part in."""
    undecided = {}
    if "citation" in settings.suites and settings.citation.mode == "closed_book" and not settings.citation.network:
        undecided["citation"] = UNSETTLED
    gated = [
        finalise(
            summary,
            models=[name],
            suites=suites,
            weights=settings.weights.model_dump() if _weight(settings, suites) else dict.fromkeys(suites, 1.0),
            thresholds={suite: getattr(settings, suite).threshold for suite in suites},
            threshold=settings.threshold,
            gate=settings.gate,
            undecided={suite: why for suite, why in undecided.items() if suite in suites},
        )
        for name, suites in took_part(settings, guests).items()
        if suites
    ]
    return Final(settings.gate, tuple(model for final in gated for model in final.models))


def explained(settings: Settings, final: Final) -> list[dict[str, Any]]:
    """Return the explainability results of the models that were asked both suites."""
    if not {"cot", "citation"} <= set(settings.suites):
        return []
    judges = ", ".join(settings.citation.judges or [judge.name for judge in settings.judges])

    def one(model: ModelResult) -> dict[str, Any] | None:
        suites = {suite.suite: suite for suite in model.suites}
        if not {"cot", "citation"} <= set(suites):
            return None
        part = settings.explainability
        return explainability(
            suites["cot"],
            suites["citation"],
            model=model.model,
            judge_model=judges,
            weight_cot=part.weight_cot,
            weight_citation=part.weight_citation,
            threshold=part.threshold,
        )

    return [found for model in final.models if (found := one(model))]


def write_explained(listed: list[dict[str, Any]], folder: Path, day: str) -> None:
    """Write `FINAL_RESULTS_<day>.json` for one model, `FINAL_RESULTS_<day>_<model>.json` for each of several."""
    names = slugs([str(found["cot"]["model"]) for found in listed])
    for found, name in zip(listed, names, strict=True):
        suffix = f"_{name}" if len(listed) > 1 else ""
        text = json.dumps(found, ensure_ascii=False, indent=2)
        write_atomically(folder / f"FINAL_RESULTS_{day}{suffix}.json", text.encode())


@stage(version=1, cached=False)
def conclude(
    settings: Settings,
    items: list[Ref],
    scores: list[Ref],
    summary: Ref,
    *,
    run: Mapping[str, Any],
    folder: str,
    guests: Mapping[str, str],
) -> Concluded:
    """Gate the run's models and write `results.json`, and `FINAL_RESULTS_<YYYYMMDD>.json` where it applies."""
    place = open_store(settings.store)
    drawn = place.read_all(items, ITEMS).unique("item_id", maintain_order=True)
    every = place.read_all(scores, SCORES)
    table = place.read(summary)
    final = final_of(settings, table, guests)
    ratings = judge_ratings(every)
    headline = every.filter(pl.col("metric").is_in(HEADLINE))
    pairs = compare(headline, drawn) if headline["model"].n_unique() > 1 else ()
    listed = explained(settings, final)
    document = Results(
        run={**run, "items": question_sets(drawn)},
        final=final,
        totals=totals(table),
        cells=cells(table),
        comparisons=pairs,
        groups=groups(pairs),
        repeats=repeats(headline, k=settings.repeats) if settings.repeats > 1 else (),
        judges={str(metric): judge_agreement(own, "interval") for (metric,), own in ratings.group_by("metric")},
        explainability=listed,
    ).as_dict()
    there = Path(folder)
    write_atomically(there / "results.json", json.dumps(document, ensure_ascii=False, indent=1).encode())
    write_explained(listed, there, str(run["started"])[:10].replace("-", ""))
    return Concluded(final.exit_code, document)
