"""Run a pure function over chunks, in processes where that pays."""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")

PAYS_FROM = 20_000
"""Rows: below, starting processes costs more than it saves."""


def map_chunks(
    function: Callable[[Sequence[A]], list[B]], rows: Sequence[A], *, pays_from: int = PAYS_FROM
) -> list[B]:
    """Apply `function` to chunks of rows and return all results in order."""
    workers = os.cpu_count() or 1
    if workers == 1 or len(rows) < pays_from:
        return function(rows)
    size = -(-len(rows) // (4 * workers))
    chunks = [rows[start : start + size] for start in range(0, len(rows), size)]
    # Not fork: the asking thread and Prefect's threads hold locks.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        return [result for part in pool.map(function, chunks) for result in part]
