"""Scripted models on originals and twins: what each can do is fixed for each item, and a few replies slip."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.twins import ORIGINAL, TwinDifference, differences

Right = NDArray[np.bool_]
KINDS = (ORIGINAL, "names", "numbers")
SLIPS = 0.02
"""The share of replies that come out the other way, whoever gives them."""


def _remembers(rng: Generator, n: int) -> Mapping[str, Right]:
    """Remember a fifth of the originals, also renamed; solve 70 % of all."""
    memory, able = rng.random(n) < 0.2, rng.random(n) < 0.7
    return {ORIGINAL: memory | able, "names": memory | able, "numbers": able}


def _remembers_wordings(rng: Generator, n: int) -> Mapping[str, Right]:
    """Remember a fifth of the originals, which renaming breaks; solve 70 % of all."""
    memory, able = rng.random(n) < 0.2, rng.random(n) < 0.7
    return {ORIGINAL: memory | able, "names": able, "numbers": able}


def _honest(rng: Generator, n: int) -> Mapping[str, Right]:
    return dict.fromkeys(KINDS, rng.random(n) < 0.8)


def _bad_at_large(rng: Generator, n: int) -> Mapping[str, Right]:
    """Solve 95 % of what has small numbers and half of what has large ones; twins have numbers as large."""
    able = rng.random(n) < np.where(rng.random(n) < 0.5, 0.95, 0.5)
    return dict.fromkeys(KINDS, able)


def _upset(rng: Generator, n: int) -> Mapping[str, Right]:
    """Solve 80 %, and of what is renamed an eighth less."""
    able = rng.random(n) < 0.8
    return {ORIGINAL: able, "names": able & (rng.random(n) > 0.125), "numbers": able}


MODELS: Mapping[str, Callable[[Generator, int], Mapping[str, Right]]] = {
    "remembers, also renamed": _remembers,
    "remembers what renaming breaks": _remembers_wordings,
    "honest": _honest,
    "bad at large numbers": _bad_at_large,
    "upset by renaming": _upset,
}


def told(model: str, seed: int, n: int = 400) -> dict[str, TwinDifference]:
    """Return what the twins of n originals say of a scripted model, by kind."""
    rng = np.random.default_rng([seed, [*MODELS].index(model)])
    replies = MODELS[model](rng, n)
    names = [f"{number:05d}" for number in range(n)]
    items = ITEMS.frame({"item_id": one, "suite": "s"} for one in names)
    rows = []
    for kind in KINDS:
        right = replies[kind] ^ (rng.random(n) < SLIPS)
        rows += [
            {"item_id": one, "model": kind, "repeat": 0, "metric": "m", "value": float(value), "status": "scored"}
            for one, value in zip(names, right, strict=True)
        ]
    return {one.kind: one for one in differences(SCORES.frame(rows), items)}
