"""How many small functions the sandbox runs in a second, against a bare subprocess for each.

`python -m tests.benchmarks.sandbox [COUNT]`: a small function with five calls, each program in a fresh instance, on
two workers; then the same program in `subprocess.run([python, "-I", "-c", …])`, two at a time, on the same machine
in the same run. The two take turns, three rounds each; the best round of each counts, as other work on the machine
only ever slows one down.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from basic_control.data.records import Program
from basic_control.tasks.sandbox import WorkerPool

WORKERS = 2
CALLS = tuple((n, n + 3) for n in range(5))
SOURCE = """
def clamp_sum(a, b):
    total = 0
    for n in range(a, b):
        if n % 2 == 0:
            total += n
    return total
"""
PROGRAM = Program("python", SOURCE, "clamp_sum", CALLS)
SCRIPT = f"{SOURCE}\nfor a, b in {CALLS!r}:\n    print(clamp_sum(a, b))"


def rate(run: Callable[[], object], count: int) -> float:
    """Return executions a second."""
    began = time.perf_counter()
    run()
    return count / (time.perf_counter() - began)


def bare(count: int) -> None:
    """Run the script in a fresh interpreter each, as many at a time as there are workers."""

    def one(_: int) -> None:
        subprocess.run([sys.executable, "-I", "-c", SCRIPT], capture_output=True, check=True)

    with ThreadPoolExecutor(WORKERS) as threads:
        list(threads.map(one, range(count)))


def main(count: int) -> None:
    """Measure and print."""
    began = time.perf_counter()
    with WorkerPool(workers=WORKERS) as pool:
        pool.run([PROGRAM] * WORKERS * 4)
        started = time.perf_counter() - began
        ours, theirs = [], []
        for _ in range(3):
            ours.append(rate(lambda: pool.run([PROGRAM] * count), count))
            theirs.append(rate(lambda: bare(count // 4), count // 4))
    print(f"pool started and warm in {started:.2f} s")
    print(f"sandbox            {max(ours):7.1f} executions/s  ({', '.join(f'{r:.0f}' for r in ours)})")
    print(f"subprocess -I -c   {max(theirs):7.1f} executions/s  ({', '.join(f'{r:.0f}' for r in theirs)})")
    print(f"ratio              {max(ours) / max(theirs):7.2f}  (at least 2.5 is wanted)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 800)
