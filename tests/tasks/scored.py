"""Scored rows to measure and test with: items of families, levels and languages, and what models came to."""

from collections.abc import Callable, Sequence
from random import Random

import polars as pl

from basic_control.data.tables import ITEMS, SCORES

FAMILIES = ("simple_logic", "instructions", "code_gen", "data_extraction", "summarization", "arithmetic")


def rows(
    models: Sequence[str],
    *,
    levels: Sequence[str] = ("easy",),
    languages: Sequence[str] = ("en",),
    n: int = 10,
    right: Callable[[str, int], float] | None = None,
    seed: int = 0,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return (scores, items) of basic_control; `right(model, item's number)` is a value, drawn unless given."""
    rng = Random(seed)
    places = [(f, lv, la, i) for f in FAMILIES for la in languages for lv in levels for i in range(n)]
    items = ITEMS.frame(
        {
            "item_id": f"{number:016x}", "suite": "basic_control", "family": family, "version": 1, "level": level,
            "language": language, "template": "", "seed": seed, "index": index, "prompt": f"Question {number}?",
            "answer": str(number), "facts": "{}",
        }
        for number, (family, level, language, index) in enumerate(places)
    )  # fmt: skip
    scores = SCORES.frame(
        {
            "item_id": f"{number:016x}", "model": model, "repeat": 0, "metric": "correct", "version": 1,
            "value": right(model, number) if right else float(rng.random() < 0.6), "status": "scored",
            "reason": "", "details": "{}",
        }
        for model in models
        for number, _ in enumerate(places)
    )  # fmt: skip
    return scores, items
