"""Bounds on work, in a measure that neither a slow nor a busy machine changes."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_ORDINARY_S = 0.02
"""CPU seconds of `_yardstick` on the machine on which the bounds were set."""

_TEXT = "The 12 ships, 3.5 of them red; sank: at dawn (they say)! " * 400


def _yardstick() -> float:
    """Return this thread's CPU seconds for fixed work like that of our parsers: patterns, slices, dicts."""
    began = time.thread_time()
    counts: dict[str, int] = {}
    for _ in range(4):
        for found in re.finditer(r"[^\W_]+|[^\w\s]", _TEXT):
            word = found.group().lower()
            counts[word] = counts.get(word, 0) + len(_TEXT[found.start() : found.start() + 20].split())
    return time.thread_time() - began


of_each_size = pytest.mark.parametrize(
    "share", [pytest.param(8, id="an eighth"), pytest.param(1, id="whole", marks=pytest.mark.slow)]
)
"""A long text in a bounded time: an eighth of it in an eighth of the time is quick."""


@contextmanager
def bounded(cpu_s: float) -> Iterator[None]:
    """Fail where the block takes this thread more CPU than `cpu_s` seconds of an ordinary machine.

    Only this thread's own CPU counts. What is over the bound is set against a yardstick, measured then: a machine
    that runs at a third of the speed gives three times as long. Bounds are far above what linear work takes, and
    far below a quadratic scan of a megabyte.
    """
    began = time.thread_time()
    yield
    taken = time.thread_time() - began
    if taken < cpu_s:
        return
    slower = max(1.0, *(_yardstick() / _ORDINARY_S for _ in range(3)))
    assert taken < cpu_s * slower, f"{taken:.1f} s of CPU; expected less than {cpu_s * slower:.1f} s"
