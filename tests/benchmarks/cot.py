"""Measure how many chains of thought are scored in a second: `python -m tests.benchmarks.cot [--against TREE]`.

Each reference of GSM8K's test set is scored as a response to itself, and, where the data has them, four real
models' solutions; the caches of texts are empty at the start of a round. One core, CPU time. With another tree (a
worktree of an older commit) two processes run their rounds in turn, and the median of the pairs' ratios is printed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TextIO, cast

import polars as pl

from basic_control.data.options import options_of
from basic_control.data.plugins import metrics
from basic_control.data.reading.numbers import read_number

HERE = Path(__file__).parents[2]
SHARED = HERE.parent / "shared" / "data"
ROUNDS = 5
PAIRS = 15

Work = dict[str, tuple[int, Callable[[], object]]]


def kinds() -> Work:
    """Return what is measured: name -> how many, and the work of one round."""
    unit = metrics()["cot"]  # by its name: another tree may have it in another place
    options = options_of(unit, {})
    rows = pl.read_parquet(SHARED / "gsm8k_test.parquet").to_dicts()
    itself = [{"question": r["question"], "reference": r["answer"], "response": r["answer"]} for r in rows]
    real = []
    for line in (SHARED / "gsm8k_model_solutions_dev.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        outputs = [one["solution"] for one in row.values() if isinstance(one, dict)]
        real += [
            {"question": row["question"], "reference": row["ground_truth"], "response": text} for text in outputs
        ]
    return {
        "test set against itself": (len(itself), lambda: [unit.score(one, {}, options) for one in itself]),
        "real outputs of four models": (len(real), lambda: [unit.score(one, {}, options) for one in real]),
        "final answers alone": (len(real), lambda: [read_number(str(one["response"])) for one in real]),
    }


def seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of one round."""
    for name, module in [*sys.modules.items()]:
        for cached in vars(module).values() if name.startswith("metrics.") and "cot" in name else ():
            if hasattr(cached, "cache_clear"):
                cached.cache_clear()
    start = time.process_time()
    work()
    return time.process_time() - start


def answer_rounds() -> None:
    """Run a round of each kind for each line of the input, and print its seconds."""
    work = kinds()
    for _ in sys.stdin:
        print(json.dumps({name: seconds(one) for name, (_, one) in work.items()}), flush=True)


class Tree:
    """This script in a process of its own, with the modules of a tree."""

    def __init__(self, tree: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", __file__, "--rounds"],  # -P: no name of this folder before the tree's
            env={**os.environ, "PYTHONPATH": str(tree)}, cwd=tree, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def round(self) -> dict[str, float]:
        """Return the seconds of one round."""
        given, shown = cast("TextIO", self.process.stdin), cast("TextIO", self.process.stdout)
        given.write("\n")
        given.flush()
        found: dict[str, float] = json.loads(shown.readline())
        return found


def compare(tree: Path) -> None:
    """Print the median and the quartiles of this tree's rate over another one's, of pairs of rounds in turn."""
    trees = (Tree(HERE), Tree(tree))
    pairs = [tuple(one.round() for one in trees) for _ in range(PAIRS)]
    for one in trees:
        one.process.communicate()
    for name in pairs[0][0]:
        ratios = sorted(there[name] / here[name] for here, there in pairs)
        low, high = ratios[PAIRS // 4], ratios[-1 - PAIRS // 4]
        print(f"{name}: {median(ratios):.2f} of the other tree's rate (middle half {low:.2f} to {high:.2f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, metavar="TREE")
    parser.add_argument("--rounds", action="store_true", help="run a round for each line of the input")
    given = parser.parse_args()
    if given.rounds:
        answer_rounds()
    elif given.against:
        compare(given.against.resolve())
    else:
        for name, (count, one) in kinds().items():
            print(f"{name}: {count / min(seconds(one) for _ in range(ROUNDS)):,.0f} items/s")


if __name__ == "__main__":
    main()
