"""Runs of a fixed number of questions, made of hashes: their verdicts are stored and must not move by a digit."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from basic_control.data.draw import content_id
from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.policy import Gate
from basic_control.metrics.analysis.summary import summarise
from tests.helpers.verdicts import entry, finalise

MODELS = {"strong": 0.93, "even": 0.8, "weak": 0.42}
FAMILIES = ("arithmetic", "instructions", "simple_logic")
SUITES: tuple[dict[str, Any], ...] = (
    {
        "name": "total",
        "items": {"seed": 1},
        "metrics": {"correct": {}},
        "strata": "family",
        "weight": 0.5,
        "threshold": 0.8,
    },
    {"name": "shares", "items": {"seed": 1}, "metrics": {"exact_match": {}}, "threshold": 0.75},
    {
        "name": "graded",
        "items": {"seed": 1},
        "metrics": {"similarity": {}, "contains": {}},
        "score": ["similarity", "contains"],
        "weight": 0.3,
        "threshold": 0.8,
    },
)


def number(*parts: object) -> float:
    """Return a number from 0 to 1 that is those parts' own, on every machine."""
    return int(content_id(*parts)[:8], 16) / 16**8


def items() -> pl.DataFrame:
    """Return 120 items of each suite, of three families where the score is a TOTAL."""
    return ITEMS.frame(
        {
            "item_id": f"{suite['name']}-{n}", "suite": suite["name"], "version": 1, "seed": 1, "index": n,
            "family": FAMILIES[n % 3] if suite["name"] == "total" else "", "level": "easy", "language": "en",
            "template": f"t{n % 12}", "prompt": f"{n}?", "answer": str(n), "facts": "{}",
        }
        for suite in SUITES for n in range(120)
    )  # fmt: skip


def scores() -> pl.DataFrame:
    """Return scores of three models: yes/no and graded ones, with calls that failed, and no answers."""

    def rows() -> Iterator[dict[str, Any]]:
        for suite in SUITES:
            for metric in suite["metrics"]:
                for model, share in MODELS.items():
                    for n in range(120):
                        drawn = number(suite["name"], metric, model, n)
                        status = "scored" if n % 40 else "no_answer" if n % 80 else "model_error"
                        graded = round(min(1.0, share + 0.2 * drawn), 6)
                        value = graded if metric == "similarity" else float(drawn < share)
                        yield {
                            "item_id": f"{suite['name']}-{n}", "model": model, "repeat": 0, "metric": metric,
                            "version": 1, "value": value if status == "scored" else None, "status": status,
                            "reason": "", "details": "{}",
                        }  # fmt: skip

    return SCORES.frame(rows())


def digits(value: float | None) -> str:
    """Write a number with twelve digits: the others differ between machines."""
    return "" if value is None else f"{value:.12g}"


def verdicts() -> dict[str, dict[str, Any]]:
    """Return each gate's verdicts: of each model and suite the score, its interval and what it comes to."""
    suites = [Suite.model_validate(one) for one in SUITES]
    summary = summarise(scores(), items())
    found: dict[str, dict[str, Any]] = {}
    gates: tuple[Gate, ...] = ("point", "interval")
    for gate in gates:
        final = finalise(summary, models=[*MODELS], suites=suites, gate=gate)
        for model in final.models:
            whole = entry(model)
            parts: list[Any] = [*whole.suites, whole]
            for part in parts:
                name = f"{gate}/{model.model}/{getattr(part, 'suite', 'overall')}"
                found[name] = {
                    "score": digits(part.score),
                    "low": digits(part.interval.low),
                    "high": digits(part.interval.high),
                    "outcome": getattr(part, "outcome", None) or model.verdict,
                }
    return found
