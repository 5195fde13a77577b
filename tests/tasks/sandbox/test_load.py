"""A verdict does not depend on load: not on how many workers there are, nor on what else the machine does."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from basic_control.data.records import Program
from basic_control.tasks.sandbox import WorkerPool
from basic_control.tasks.sandbox.clock import Clock
from basic_control.tasks.sandbox.pool import Worker

CPU_S = 0.3
BUSY = 8
COUNT = 1_000_000


@cache
def rounds(cpu_s: float) -> int:
    """Return how often a loop goes round in so many CPU seconds of this machine's component, company or none."""
    source = f"def f(): \n    for _ in range({COUNT}): pass\n    return 1"
    with WorkerPool(workers=1) as pool:
        pool.layers()
        clock = Clock(pool.workers[0].process.pid)
        pool.run([Program("python", source, "f", ((),) * 5)], cpu_s=60.0)
        return int(COUNT * 5 * cpu_s / clock.cpu_s())


def programs() -> list[Program]:
    """Return programs that use a third of their budget, and others that use all of it, sleep, or are quick."""
    sources = [
        *[f"def f(x):\n    for _ in range({rounds(CPU_S / 3)}): pass\n    return x"] * 6,
        "def f(x):\n    while True: pass",
        f"def f(x):\n    for _ in range({rounds(CPU_S * 3)}): pass\n    return x",
        "import time\ndef f(x):\n    time.sleep(0.1)\n    return x",
        "import time\ndef f(x):\n    time.sleep(1000)",
        "def f(x): return x",
        "def f(x): return 'x' * 200_000",
    ]
    return [Program("python", source, "f", ((7,),)) for source in sources]


EXPECTED = [*[7] * 6, "timeout", "timeout", 7, "timeout", 7, "x" * 200_000]


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Run so many busy loops beside the block."""
    loops = [subprocess.Popen([sys.executable, "-I", "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def verdicts(workers: int, beside: int = 0) -> list[object]:
    asked = programs()
    with WorkerPool(workers=workers) as pool:
        pool.run([Program("python", "def f(x): return x", "f", ((7,),))] * workers)  # they are all there
        with busy_loops(beside):
            found = pool.run(asked, cpu_s=CPU_S)
    return [outcome.value if outcome.kind == "value" else outcome.kind for (outcome,) in found]


@pytest.mark.slow
def test_one_worker_alone_gives_the_verdicts_that_many_give() -> None:
    assert verdicts(1) == EXPECTED


@pytest.mark.slow
def test_verdicts_are_the_same_beside_eight_busy_loops() -> None:
    """With eight workers too: a program that uses a third of its CPU budget takes several on the clock."""
    assert verdicts(8, beside=BUSY) == EXPECTED


@pytest.mark.slow
def test_a_timeout_is_tried_once_more_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is tried again, no other worker has a job; its calls before the end keep their values."""
    loop = Program("python", "def f(x):\n    while x: pass\n    return x", "f", ((0,), (1,), (0,)))
    quick = Program("python", "def f(x): return x", "f", ((1,),))
    busy: list[int] = []
    working: set[Worker] = set()
    talk = Worker.talk

    def counted(self: Worker, said: bytes, *rest: Any) -> None:
        working.add(self)
        if said:
            busy.append(len(working))
        try:
            talk(self, said, *rest)
        finally:
            working.remove(self)

    monkeypatch.setattr(Worker, "talk", counted)
    with WorkerPool(workers=4) as pool:
        found = pool.run([loop, *[quick] * 6, loop], cpu_s=0.2)
    kinds = [[outcome.kind for outcome in outcomes] for outcomes in found]
    assert kinds == [["value", "timeout", "timeout"], *[["value"]] * 6, ["value", "timeout", "timeout"]]
    assert len(busy) == 8 + 2
    assert busy[-2:] == [1, 1]


@pytest.mark.slow
def test_a_program_slept_out_is_told_from_one_that_waits_for_a_core() -> None:
    """Beside eight loops, waiting for a core is most of the clock, and none of a program's own time."""
    code = "import sys, time\nwhile time.process_time() < 0.3: pass\nprint(1, flush=True)\nsys.stdin.read()"
    with busy_loops(BUSY):
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        clock = Clock(process.pid)
        assert process.stdout
        assert process.stdout.readline() == "1\n"
        own, cpu = clock.active_s(), clock.cpu_s()
    process.communicate("")
    assert 0.2 < cpu < 0.6
    assert own < 1.0


@pytest.mark.skipif(resource.getpagesize() != 4096, reason="counted in pages of 4 KiB")
def test_a_small_program_copies_few_pages_of_the_image() -> None:
    """Each page that an instance writes to is copied first: 340 are, and were 664 with holes in the image."""
    program = Program("python", "def add(a, b):\n    return a + b", "add", ((1, 2),) * 5)
    with WorkerPool(workers=1) as pool:
        pool.run([program] * 5)
        stat = Path(f"/proc/{pool.workers[0].process.pid}/stat")
        before = int(stat.read_text().rpartition(") ")[2].split()[7])
        pool.run([program] * 10)
        assert int(stat.read_text().rpartition(") ")[2].split()[7]) - before < 10 * 500
