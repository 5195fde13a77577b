"""Measure the statistics: do intervals hold their level, and how long do a million rows take.

    python -m tests.benchmarks.statistics [coverage|strata|alike|aggregate]

Coverage is simulated over shares (Wilson) and over nine distributions of scores within 0 and 1 that reports
have (smooth, U-shaped, thirds, piled up at 1); `strata`: that of TOTAL over six families, and how often the gate
`interval` fails a model at its threshold; `alike`: how often a whole run of equal models finds a difference. Time
and peak memory of the aggregation are of a process of its own.
"""

import resource
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context

import numpy as np
import polars as pl

from metrics.analysis.summary import summarise
from metrics.stats.intervals import Estimate, Floats, estimate, mean_interval, pool
from metrics.stats.pairs import adjusted, compare
from metrics.stats.power import ALPHA
from metrics.stats.strata import strata_limits
from tests.strata import SPREADS, shares

Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]

TRIALS = 2000
RUNS = 200


def _mixture(share: float, top: Draw, rest: Draw) -> Draw:
    return lambda rng, shape: np.where(rng.random(shape) < share, top(rng, shape), rest(rng, shape))


def _one(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    del rng
    return np.ones(shape)


def _flat(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.random(shape)


def _beta(a: float, b: float) -> Draw:
    return lambda rng, shape: rng.beta(a, b, shape)


def _thirds(*shares: float) -> Draw:
    return lambda rng, shape: rng.choice([0.0, 0.5, 1.0], p=shares, size=shape)


SCORES: dict[str, tuple[Draw, float]] = {
    "uniform": (_flat, 0.5),
    "beta(8, 2)": (_beta(8, 2), 0.8),
    "beta(1/2, 1/2)": (_beta(0.5, 0.5), 0.5),
    "beta(5, 1)": (_beta(5, 1), 5 / 6),
    "0, 1/2, 1 by .1 .3 .6": (_thirds(0.1, 0.3, 0.6), 0.75),
    "0, 1/2, 1 by .05 .1 .85": (_thirds(0.05, 0.1, 0.85), 0.9),
    "60 % ones, rest flat": (_mixture(0.6, _one, _flat), 0.8),
    "80 % ones, rest flat": (_mixture(0.8, _one, _flat), 0.9),
    "70 % beta(20, 1), rest beta(3, 3)": (_mixture(0.7, _beta(20, 1), _beta(3, 3)), 0.7 * 20 / 21 + 0.15),
}
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)

TOTAL_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)


def _covered(found: list[Estimate], truth: float) -> float:
    ends = np.array([[e.interval.low, e.interval.high] for e in found], np.float64)
    return float(((ends[:, 0] <= truth + 1e-9) & (truth - 1e-9 <= ends[:, 1])).mean())


def _estimates(samples: Floats, *, yes_no: bool) -> list[Estimate]:
    n = len(samples)
    return estimate([pool(row) for row in samples], yes_no=[yes_no] * n, bounds=[(0.0, 1.0)] * n)


def coverage() -> None:
    """Print the share of 95 % intervals that hold the true mean, for 5, 10, 30 and 100 rows."""
    rng = np.random.default_rng(7)
    sizes = (5, 10, 30, 100)
    print(f"{'coverage of 95 % intervals':38}" + "".join(f"{f'n = {n}':>10}" for n in sizes))
    both: dict[str, list[list[float]]] = {"Wilson": [], "bootstrap": []}
    for share in SHARES:
        line = [
            _covered(_estimates((rng.random((TRIALS, n)) < share).astype(np.float64), yes_no=True), share)
            for n in sizes
        ]
        both["Wilson"].append(line)
        print(f"yes/no, {share:<30}" + "".join(f"{c:10.3f}" for c in line))
    for name, (draw, truth) in SCORES.items():
        line = [_covered(_estimates(draw(rng, (TRIALS, n)), yes_no=False), truth) for n in sizes]
        both["bootstrap"].append(line)
        print(f"{name:38}" + "".join(f"{c:10.3f}" for c in line))
    for kind, lines in [*both.items(), ("all", [*both["Wilson"], *both["bootstrap"]])]:
        print(f"{f'mean, {kind}':38}" + "".join(f"{c:10.3f}" for c in np.mean(lines, axis=0)))
    print("(n = 5 of scores is below the bootstrap's ten units: the analytic form)")


def clusters() -> None:
    """Print the coverage where rows of one template resemble each other, with and without clustering."""
    rng = np.random.default_rng(11)
    print(f"\n{'clustered yes/no (beta-binomial)':38}{'clustered':>10}{'ignored':>10}")
    for groups, size, likeness, share in (
        (10, 5, 0.3, 0.7),
        (12, 40, 0.1, 0.9),
        (25, 40, 0.3, 0.8),
        (25, 8, 0.05, 0.95),
    ):
        codes = np.repeat(np.arange(groups), size)
        a, b = (part * (1 - likeness) / likeness for part in (share, 1 - share))
        draws = [
            (rng.random((groups, size)) < rng.beta(a, b, (groups, 1))).ravel().astype(np.float64)
            for _ in range(TRIALS // 2)
        ]
        line = [
            _covered([mean_interval(x, clusters=codes, yes_no=True) for x in draws], share),
            _covered([mean_interval(x, yes_no=True) for x in draws], share),
        ]
        name = f"{groups} templates x {size}, rho {likeness}, p {share}"
        print(f"{name:38}" + "".join(f"{c:10.3f}" for c in line))


def strata() -> None:
    """Print TOTAL's coverage, and in brackets the share of models at the threshold that the gate fails."""
    rng = np.random.default_rng(13)
    sizes = ((10,) * 6, (30,) * 6, (100,) * 6, (10, 100, 10, 30, 30, 100))
    names = [f"n = {ns[0]}" if len(set(ns)) == 1 else "n mixed" for ns in sizes]
    print(f"\n{'TOTAL over six families':30}" + "".join(f"{name:>16}" for name in names))
    held: list[list[float]] = []
    for spread in SPREADS:
        for share in TOTAL_SHARES:
            line, cells = [], []
            for ns in sizes:
                n = np.array(ns, np.float64)
                means = rng.binomial(ns, shares(share, spread), (TRIALS, 6)) / n
                low, high = strata_limits(np.full(6, 1 / 6), means, np.tile(1 / n, (TRIALS, 1)))
                below, above = (high < share - 1e-9).mean(), (low > share + 1e-9).mean()
                line.append(1 - below - above)
                cells.append(f"{line[-1]:.3f} ({below:.3f})")
            held.append(line)
            print(f"{f'{spread}, {share}':30}" + "".join(f"{cell:>16}" for cell in cells))
    for name, sum_up in (("mean", np.mean), ("least", np.min), ("most", np.max)):
        print(f"{name:30}" + "".join(f"{c:16.3f}" for c in sum_up(held, axis=0)))


def alike() -> None:
    """Print how often a run of equal models, all suites and five headline metrics, finds any difference.

    Of each item a difficulty is drawn, which the models share; `one metric` corrects over a metric's pairs only.
    """
    rng = np.random.default_rng(17)
    kinds = {"correct": (60, True), "cot": (30, False), "citation": (10, False)}
    kinds |= {"factual_correctness": (12, False), "response_groundedness": (12, False)}
    print(f"\n{'runs of equal models':30}{'all together':>16}{'one metric':>16}{'uncorrected':>16}")
    for models, share in ((2, 0.5), (2, 0.8), (2, 0.95), (3, 0.8)):
        wrong = np.zeros(3)
        for _ in range(RUNS):
            tables, listed = [], []
            for metric, (n, yes_no) in kinds.items():
                hard = rng.beta(4 * share, 4 * (1 - share), n)
                ids = [f"{metric} {i}" for i in range(n)]
                listed.append(pl.DataFrame({"item_id": ids, "suite": metric, "family": "f", "template": ""}))
                for model in range(models):
                    values = rng.binomial(1, hard) if yes_no else rng.binomial(4, hard) / 4
                    own = {"item_id": ids, "model": f"m{model}", "repeat": 0, "metric": metric, "status": "scored"}
                    tables.append(pl.DataFrame({**own, "value": values.astype(np.float64)}))
            found = compare(pl.concat(tables), pl.concat(listed))
            apart = [adjusted([pair for pair in found if pair.metric == metric]) for metric in kinds]
            wrong += (
                any(pair.significant for pair in found),
                any(pair.significant for own in apart for pair in own),
                any(pair.p_value is not None and pair.p_value < ALPHA for pair in found),
            )
        print(f"{f'{models} models, {share}':30}" + "".join(f"{c:16.3f}" for c in wrong / RUNS))


def million(*, graded: bool, templates: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make 1 000 000 score rows over 324 cells and their roll-ups: 24 000 items, 7 models, 6 metrics."""
    rng = np.random.default_rng(3)
    n_items, models, metrics = 120_000, 3, 3
    number = np.arange(n_items)
    items = pl.DataFrame({"number": number}).select(
        item_id=pl.format("item-{}-{}", pl.col("number") * 7919, "number"),
        suite=pl.lit("basic_control"),
        family=pl.format("family-{}", pl.col("number") % 6),
        level=pl.format("level-{}", pl.col("number") // 6 % 3),
        language=pl.when(pl.col("number") // 18 % 2 == 0).then(pl.lit("en")).otherwise(pl.lit("ru")),
        template=pl.format("t{}", pl.col("number") // 36 % templates) if templates else pl.lit(""),
    )
    rows = n_items * models * metrics
    values = rng.beta(5, 2, rows) if graded else (rng.random(rows) < 0.7) * 1.0
    scores = items.select("item_id").join(
        pl.DataFrame({"model": [f"model-{m}" for m in range(models)]}), how="cross"
    )
    scores = scores.join(pl.DataFrame({"metric": [f"metric-{m}" for m in range(metrics)]}), how="cross")
    failed = rng.random(rows) < 0.02
    return scores.with_columns(
        value=pl.when(pl.Series(failed)).then(None).otherwise(pl.Series(values)),
        status=pl.when(pl.Series(failed)).then(pl.lit("model_error")).otherwise(pl.lit("scored")),
        repeat=pl.lit(0, pl.Int64),
    ).head(1_000_000), items


def _summed(name: str, *, graded: bool, templates: int) -> None:
    scores, items = million(graded=graded, templates=templates)
    start, busy = time.perf_counter(), time.process_time()
    summary = summarise(scores, items)
    spent, busy = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(f"{name:38}{summary.height:10}{spent:10.2f}{busy:10.2f}{peak:10.0f}")


def aggregate() -> None:
    """Print the time and peak memory of summing up a million rows, each case in a process of its own."""
    print(f"\n{'1 000 000 rows':38}{'cells':>10}{'seconds':>10}{'CPU s':>10}{'peak MB':>10}", flush=True)
    for name, graded, templates in (
        ("yes/no", False, 0),
        ("yes/no, 25 templates", False, 25),
        ("graded, 25 templates", True, 25),
        ("graded", True, 0),
    ):
        given = {"graded": graded, "templates": templates}
        process = get_context("spawn").Process(target=_summed, args=(name,), kwargs=given)
        process.start()
        process.join()
    print("(peak: of the whole process, interpreter, libraries and the rows themselves included)")


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["coverage", "strata", "alike", "aggregate"]
    if "aggregate" in wanted:
        aggregate()
    if "coverage" in wanted:
        coverage()
        clusters()
    if "strata" in wanted:
        strata()
    if "alike" in wanted:
        alike()
