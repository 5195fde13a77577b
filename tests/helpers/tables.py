"""Small tables, made by hand."""

from typing import Any

import polars as pl

from basic_control.data.tables import RESPONSES, SUMMARY, VERDICTS


def verdicts(n: int = 3, reason: str = "right") -> pl.DataFrame:
    return VERDICTS.frame(
        {
            "item_id": f"i{k}",
            "model": "m",
            "repeat": 0,
            "correct": k % 2 == 0,
            "status": "scored",
            "reason": reason,
            "details": "{}",
        }
        for k in range(n)
    )


def response(*, cached: bool, text: str = "yes") -> pl.DataFrame:
    return RESPONSES.frame([{"request_id": "r", "text": text, "latency_s": 1.5, "cached": cached}])


def cell(suite: str, metric: str, mean: float | None, **columns: Any) -> dict[str, Any]:
    """A row of the summary; ten rows asked and scored, and a tenth to either side, unless told."""
    n = columns.get("n_asked", 10)
    row = {
        "suite": suite, "family": "", "level": "", "language": "", "model": "m", "metric": metric,
        "n_asked": n, "n_scored": n if mean is not None else 0, "n_no_answer": 0, "n_model_error": 0,
        "n_judge_failed": 0, "n_not_applicable": 0, "mean": mean,
        "ci_low": None if mean is None else mean - 0.1, "ci_high": None if mean is None else mean + 0.1,
    }  # fmt: skip
    return {**row, **columns}


def four(cot: float | None = 0.9, **columns: Any) -> pl.DataFrame:
    """All four suites: TOTAL 80 over two families, cot, citation 0.85, rag 0.7 and 0.9."""
    return SUMMARY.frame(
        [
            cell("basic_control", "correct", 0.8),
            cell("basic_control", "correct", 1.0, family="a"),
            cell("basic_control", "correct", 0.6, family="b"),
            cell("cot", "cot", cot, **columns),
            cell("cot", "cot.l1", 0.1),
            cell("citation", "citation", 0.85),
            cell("rag", "factual_correctness", 0.7),
            cell("rag", "response_groundedness", 0.9),
        ]
    )
