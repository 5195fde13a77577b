"""Measure how many chains of thought are scored in a second: `python -m tests.benchmarks.cot`.

Each reference of GSM8K's test set is scored as a response to itself, and, where the data has them, four real
models' solutions; every cache is empty at the start. One core, CPU time.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

from data.answers import final_number
from data.options import options_of
from metrics import cot
from metrics._cot_chain import annotated

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
ROUNDS = 3


def measure(name: str, count: int, work: Callable[[], object]) -> None:
    best = float("inf")
    for _ in range(ROUNDS):
        for cache in (annotated, cot._reference, cot._given):
            cache.cache_clear()
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    print(f"{name}: {count} in {best:.2f} s, {count / best:,.0f} items/s")


def main() -> None:
    options = options_of(cot.UNIT, {})
    rows = pl.read_parquet(SHARED / "gsm8k_test.parquet").to_dicts()
    itself = [{"question": r["question"], "reference": r["answer"], "response": r["answer"]} for r in rows]
    measure("test set against itself", len(itself), lambda: [cot.score(one, {}, options) for one in itself])
    real = []
    for line in (SHARED / "gsm8k_model_solutions_dev.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        reference = row["ground_truth"]
        outputs = [one["solution"] for one in row.values() if isinstance(one, dict)]
        real += [{"question": row["question"], "reference": reference, "response": text} for text in outputs]
    measure("real outputs of four models", len(real), lambda: [cot.score(one, {}, options) for one in real])
    measure("final answers alone", len(real), lambda: [final_number(str(one["response"])) for one in real])


if __name__ == "__main__":
    main()
