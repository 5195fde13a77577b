"""The HTML report's pages on chains of thought, citations, retrieval and judges."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from metrics.bands import FLOORS, band
from metrics.citation import CORRECTNESS, SUPPORT, VERIFICATION
from metrics.cot import WEIGHTS
from metrics.summary import Cell, cells
from tasks.report.html_phrases import named, say
from tasks.report.material import Material
from tasks.report.phrases import phrase

LATEST_STEP = 8
_CHAINS = ("valid_chain", "invalid_chain", "no_calculations")
_ANSWERS = ("right_answer", "wrong_answer")
_SEARCH = {(a, c): f"{a} {c}".replace("_", " ").replace("answer ", "answer, ") for a in _ANSWERS for c in _CHAINS}
_DONE = ["scored", "no_answer"]


def part_cells(material: Material, suite: str, metric: str, parts: Sequence[str]) -> dict[str, dict[str, Cell]]:
    """Return each model's cells of a metric (under '') and of its parts, over the whole suite."""
    names = {metric: "", **{f"{metric}.{part}": part for part in parts}}
    whole = (pl.col("family") == "") & (pl.col("level") == "") & (pl.col("language") == "")
    found: dict[str, dict[str, Cell]] = {}
    own = material.summary.filter(whole & (pl.col("suite") == suite) & pl.col("metric").is_in(list(names)))
    for cell in cells(own):
        found.setdefault(cell.model, {})[names[cell.metric]] = cell
    return found


def _first_wrong(scores: pl.DataFrame, models: Sequence[str]) -> list[dict[str, Any]]:
    """Count at which step each model's first wrong calculation falls, among responses with one."""
    first = pl.col("details").str.json_path_match("$.first_wrong_step").cast(pl.Int64, strict=False)
    at = scores.with_columns(step=first).drop_nulls("step")
    counted = at.with_columns(pl.col("step").clip(upper_bound=LATEST_STEP)).group_by("model", "step").len("n")
    n = {(model, step): count for model, step, count in counted.iter_rows()}
    last = max((step for _, step in n), default=0)
    name = {step: f"{step}+" if step == LATEST_STEP else str(step) for step in range(1, last + 1)}
    return [{"model": m, "at": name[s], "n": n.get((m, s), 0)} for s in name for m in models] if n else []


def cot(material: Material, models: Sequence[str]) -> dict[str, Any] | None:
    """Return levels, the cells answer x chain, first errors and extraction rules; None where there is no cot."""
    language = material.settings.report.language
    scores = material.scores.filter(metric="cot")
    if scores.is_empty():
        return None
    parts = ("sound", *WEIGHTS, "accuracy", "coherence")
    told = pl.col("details").str
    done = scores.filter(pl.col("status").is_in(_DONE)).with_columns(
        right=pl.when(pl.col("reason").str.starts_with("right answer"))
        .then(pl.lit("right_answer"))
        .when(pl.col("reason").str.starts_with("wrong answer"))
        .then(pl.lit("wrong_answer"))
        .when(pl.col("status") == "no_answer")
        .then(pl.lit("without_answer")),
        chain=_chain(),
        unsupported=told.json_path_match("$.unsupported[0]").is_not_null(),
        rule=pl.col("details").str.json_path_match("$.rule").fill_null(say("without_answer", language)),
    )
    crossed = Counter(done.select("model", "right", "chain").drop_nulls().iter_rows())
    shares = done.group_by("model").agg(pl.len(), pl.col("unsupported").sum())
    rules = done.group_by("model", "rule").len("n").sort("n", "rule", descending=[True, False])
    return {
        "parts": parts,
        "worth": phrase("cot_worth", language),
        "cells": part_cells(material, "cot", "cot", parts),
        "answers": (*_ANSWERS, "without_answer"),
        "chains": _CHAINS,
        "crossed": crossed,
        "shares": {row["model"]: row for row in shares.iter_rows(named=True)},
        "rules": {m: [(rule, n) for own, rule, n in rules.iter_rows() if own == m] for m in models},
        "first_wrong": _first_wrong(done, models),
        "search": _SEARCH,
    }


def _chain() -> pl.Expr:
    """Name the state of a chain, also where there is no answer: by its calculations and the first wrong one."""
    details = pl.col("details").str
    return (
        pl.when(details.json_path_match("$.n_calculations").cast(pl.Int64, strict=False).fill_null(0) == 0)
        .then(pl.lit("no_calculations"))
        .when(details.json_path_match("$.first_wrong_step").cast(pl.Int64, strict=False).is_null())
        .then(pl.lit("valid_chain"))
        .otherwise(pl.lit("invalid_chain"))
    )


def by_judge(details: str | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each judge with what it found, from the details of a judged metric; '' where no judge is named."""
    try:
        read = json.loads(details or "{}")
    except ValueError:
        return
    judges = read.get("judges") if isinstance(read, dict) else None
    if isinstance(judges, dict):
        for judge, found in judges.items():
            if isinstance(found, dict) and isinstance(found.get("details"), dict):
                yield judge, {**found["details"], "value": found.get("value")}
    elif isinstance(read, dict):
        yield "", read


def _distribution(
    counted: Counter[tuple[str, str]], models: Iterable[str], parts: Sequence[str]
) -> list[dict[str, Any]]:
    """Return rows model x part with their counts, for a table and a chart; models without any are left out."""
    listed = []
    for model in models:
        n = [counted[model, part] for part in parts]
        if sum(n):
            listed.append({"model": model, "n": n, "total": sum(n)})
    return listed


def citation(material: Material, models: Sequence[str]) -> dict[str, Any] | None:
    """Return means of the parts and the distributions of verdicts; None where there is no citation."""
    language = material.settings.report.language
    scores = material.scores.filter(metric="citation")
    if scores.is_empty():
        return None
    support: Counter[tuple[str, str]] = Counter()
    verification: Counter[tuple[str, str]] = Counter()
    correctness: Counter[tuple[str, str]] = Counter()
    unjudged = say("not_judged", language)
    for model, details in scores.select("model", "details").iter_rows():
        for _, found in by_judge(details):
            for row in found.get("citations") or ():
                support[model, row.get("support") or unjudged] += 1
                verification[model, row.get("verification") or unjudged] += 1
            if found.get("correctness"):
                correctness[model, found["correctness"]] += 1
    parts = ("interpretability", "correctness", "coverage", "support", "verification")
    tables = [
        ("citation_support", support, [*SUPPORT, unjudged]),
        ("citation_verification", verification, [*VERIFICATION]),
        ("citation_correctness", correctness, [*CORRECTNESS]),
    ]
    return {
        "parts": parts,
        "cells": part_cells(material, "citation", "citation", parts),
        "tables": [
            {"title": say(name, language), "parts": labels, "rows": _distribution(counted, models, labels)}
            for name, counted, labels in tables
        ],
    }


_RAG_PARTS = {
    "factual_correctness": ("precision", "recall", "contradiction_rate", "neutral_rate"),
    "response_groundedness": (),
}
_SHORTCUTS = ("equals a context", "sentences of a context")


def rag(material: Material, models: Sequence[str]) -> dict[str, Any] | None:
    """Return bands and parts of factual correctness and groundedness; None where neither is there."""
    language = material.settings.report.language
    listed = []
    for metric, parts in _RAG_PARTS.items():
        scores = material.scores.filter(metric=metric)
        if scores.is_empty():
            continue
        done = scores.filter(pl.col("status").is_in(_DONE)).drop_nulls("value")
        bands = Counter((model, str(band(value))) for model, value in done.select("model", "value").iter_rows())
        names = [name for _, name in FLOORS]
        short = Counter(done.filter(pl.col("reason").is_in(_SHORTCUTS))["model"])
        listed.append(
            {
                "metric": metric,
                "title": named("metric", metric, language),
                "bands": names,
                "meanings": [(name, floor, say(f"{metric}_{name}", language)) for floor, name in FLOORS],
                "rows": _distribution(bands, models, names),
                "parts": parts,
                "cells": part_cells(material, "rag", metric, parts),
                "shortcuts": dict(short),
            }
        )
    return {"metrics": listed} if listed else None


def judges(material: Material) -> list[dict[str, Any]]:
    """Return, for each judged metric, the judges' failures, the mean that each gave, and their agreement."""
    agreements = material.results.get("judges", {})
    given: dict[tuple[str, str], list[float]] = {}
    failed: Counter[tuple[str, str]] = Counter()
    columns = material.scores.filter(pl.col("details").str.contains('"judges"', literal=True))
    for metric, details in columns.select("metric", "details").iter_rows():
        read = json.loads(details).get("judges")
        for judge, found in read.items() if isinstance(read, dict) else ():
            if isinstance(found, dict):
                failed[metric, judge] += found.get("status") == "judge_failed"
                if found.get("value") is not None:
                    given.setdefault((metric, judge), []).append(float(found["value"]))
    listed = []
    for metric in dict.fromkeys([*agreements, *(metric for metric, _ in failed)]):
        agreement = agreements.get(metric) or {}
        told = {one["judge"]: one for one in agreement.get("judges", ())}
        names = dict.fromkeys([*told, *(judge for m, judge in failed if m == metric)])
        rows = []
        for judge in names:
            values = given.get((metric, judge), [])
            n_failed = told[judge]["n_failed"] if judge in told else failed[metric, judge]
            asked = told[judge]["n_asked"] if judge in told else len(values) + n_failed
            mean = sum(values) / len(values) if values else None
            rows.append({"judge": judge, "mean": mean, "n": len(values), "n_asked": asked, "n_failed": n_failed})
        listed.append(
            {"metric": metric, "alpha": agreement.get("alpha"), "n_units": agreement.get("n_units"), "rows": rows}
        )
    return listed
