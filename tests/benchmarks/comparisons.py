"""Measure comparisons: how often equal models are told apart, and whether a difference is found as stated.

    python -m tests.benchmarks.comparisons [equal] [power]

`equal`: whole comparisons of models whose true shares are the same, over all headlines at once (a TOTAL over six
families, a suite of grades, one of two metrics, and the overall score): with and without templates, on which each
model is better or worse by chance; families of unlike sizes; repeats; two models and four. `power`: the difference
that runs of equal models state as detectable, put into the later model (right answers turned wrong at random), and
how many comparisons then find it: one headline, and five of which one differs.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from basic_control.data.suites import Suite
from basic_control.metrics.analysis.pairs import Comparison, compare
from basic_control.metrics.stats.intervals import Codes, Floats, wilson
from tests.helpers.simulated import graded, templates_of

DRAWS = 300
FAMILIES = 6


@dataclass(frozen=True)
class Design:
    """How models are compared: questions of each family, templates of each suite, repeats, models, true share.

    `of_template`: by how much (as log-odds) a model is better or worse on a template, by chance.
    """

    sizes: tuple[int, ...] = (10,) * FAMILIES
    templates: int = 0
    repeats: int = 1
    models: int = 2
    share: float = 0.7
    of_template: float = 0.0


DESIGNS = {
    "plain": Design(),
    "strong models": Design(share=0.95),
    "four models": Design(models=4),
    "five times asked": Design(repeats=5),
    "unequal families": Design(sizes=(5, 100, 10, 30, 60, 5)),
    "12 templates": Design(sizes=(20,) * FAMILIES, templates=12, of_template=0.8),
    "12 templates, unequal": Design(sizes=(12, 96, 24, 36, 60, 12), templates=12, of_template=0.8),
    "12 templates, five times": Design(sizes=(24,) * FAMILIES, templates=12, repeats=5, of_template=0.8),
    "7 templates": Design(sizes=(21,) * FAMILIES, templates=7, of_template=0.8),
}


def _suite(name: str, *metrics: str, **more: object) -> Suite:
    return Suite.model_validate(
        {"name": name, "items": {"data": "d.jsonl"}, "prompt": "p", "metrics": list(metrics), **more}
    )


SUITES = (
    _suite("total", "correct", strata="family", weight=0.4),
    _suite("grades", "grade", weight=0.2),
    _suite("two", "one", "other", weight=0.2),
)
ONE = (_suite("one", "correct"),)


def _chances(rng: np.random.Generator, design: Design, clusters: Codes) -> Floats:
    """Draw each model's chance on each question: they share its difficulty, and differ by template at most."""
    n = len(clusters)
    odds = np.log(design.share / (1 - design.share)) + rng.normal(0, 1.2, n)
    own = np.zeros((design.models, n))
    if design.templates:
        count = int(clusters.max()) + 1
        odds += rng.normal(0, 0.8, count)[clusters]
        own = rng.normal(0, design.of_template, (design.models, count))[:, clusters]
    chances: Floats = 1 / (1 + np.exp(-(odds + own)))
    return chances


def tables(rng: np.random.Generator, design: Design) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Draw scores and items of equal models in all suites."""
    scores, items = [], []
    for suite in SUITES:
        sizes = design.sizes if suite.strata else (30,)
        families = [f"f{number}" for number, size in enumerate(sizes) for _ in range(size)]
        offsets = [number * 100 for number, size in enumerate(sizes) for _ in range(size)]
        clusters = np.concatenate([templates_of(size, design.templates) for size in sizes])
        spread = np.where(clusters < 0, -1, clusters + offsets)
        ids = [f"{suite.name} {number}" for number in range(len(families))]
        names = [f"t{code}" if code >= 0 else "" for code in clusters]
        items.append(pl.DataFrame({"item_id": ids, "suite": suite.name, "family": families, "template": names}))
        _, codes = np.unique(spread, return_inverse=True)
        chances = _chances(rng, design, codes if design.templates else spread)
        for metric in suite.score_metrics:
            for model in range(design.models):
                for repeat in range(design.repeats):
                    plain = metric in {"correct", "one"}
                    worth = (rng.random(len(ids)) < chances[model]) * 1.0 if plain else graded(rng, chances[model])
                    scores.append(_rows(ids, f"m{model}", metric, worth, repeat))
    return pl.concat(scores), pl.concat(items)


def _rows(ids: Sequence[str], model: str, metric: str, worth: Floats, repeat: int = 0) -> pl.DataFrame:
    own = {"item_id": ids, "model": model, "repeat": repeat, "metric": metric, "status": "scored", "reason": ""}
    return pl.DataFrame({**own, "value": worth})


def equal(design: Design, draws: int = DRAWS, seed: int = 17) -> int:
    """Count the comparisons of equal models that find any difference."""
    rng = np.random.default_rng(seed)
    return sum(any(pair.significant for pair in compare(*tables(rng, design), SUITES)) for _ in range(draws))


@dataclass(frozen=True)
class Trial:
    """What a difference is looked for in: questions, how alike the models are, templates, metrics beside it."""

    n: int
    share: float = 0.7
    spread: float = 1.5
    templates: int = 0
    beside: int = 0
    grades: bool = False


TRIALS = {
    "yes/no, 100": Trial(100),
    "yes/no, 300": Trial(300),
    "yes/no, 100, share 0.9": Trial(100, share=0.9),
    "yes/no, 200, one of five": Trial(200, beside=4),
    "yes/no, 300, 20 templates": Trial(300, templates=20),
    "yes/no, 350, 7 templates": Trial(350, templates=7),
    "grades, 60": Trial(60, grades=True),
    "grades, 60, one of five": Trial(60, beside=4, grades=True),
}


def trials(trial: Trial, drop: float, draws: int, seed: int) -> Iterator[Comparison]:
    """Yield the comparison on the first metric, in which the second model is worse by `drop`."""
    rng = np.random.default_rng(seed)
    ids = [str(number) for number in range(trial.n)]
    clusters = templates_of(trial.n, trial.templates)
    names = [f"t{code}" if code >= 0 else "" for code in clusters]
    items = pl.DataFrame({"item_id": ids, "suite": "one", "family": "", "template": names})
    for _ in range(draws):
        scores = []
        for number in range(trial.beside + 1):
            odds = np.log(trial.share / (1 - trial.share)) + rng.normal(0, trial.spread, trial.n)
            if trial.templates:
                odds += rng.normal(0, 0.8, trial.templates)[clusters]
            chance = 1 / (1 + np.exp(-odds))
            lost = drop if number == 0 else 0.0
            for model in "ab":
                own = chance * (1 - lost / chance.mean()) if model == "b" else chance
                worth = graded(rng, own) if trial.grades else (rng.random(trial.n) < own) * 1.0
                scores.append(_rows(ids, model, f"m{number}", worth))
        yield compare(pl.concat(scores), items)[0]


def power(trial: Trial, draws: int = DRAWS, seed: int = 23) -> tuple[float, int]:
    """Return the difference that equal models state as detectable, and how many comparisons find it."""
    stated = [found.test.detectable or 1.0 for found in trials(trial, 0.0, max(draws // 5, 20), seed)]
    drop = float(np.median(stated))
    return drop, sum(found.significant for found in trials(trial, drop, draws, seed + 1))


def _share(found: int, n: int) -> str:
    interval = wilson(found, n)
    return f"{100 * found / n:6.1f} % ({100 * (interval.low or 0):.1f} to {100 * (interval.high or 0):.1f})"


def main(wanted: Sequence[str]) -> None:
    """Print the tables."""
    if "equal" in wanted:
        print(f"{'equal models':30}{'any difference found (95 %)':>32}")
        for name, design in DESIGNS.items():
            print(f"{name:30}{_share(equal(design), DRAWS):>32}", flush=True)
    if "power" in wanted:
        print(f"\n{'a difference as stated':30}{'stated':>8}{'found (95 %)':>28}")
        for name, trial in TRIALS.items():
            stated, found = power(trial)
            print(f"{name:30}{stated:8.3f}{_share(found, DRAWS):>28}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["equal", "power"])
