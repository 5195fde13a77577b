"""Measure what stands before the first call: a static mistake told, and Prefect imported, with whom it asks.

Run `python -m tests.benchmarks.starts [repeats]`. Medians of wall and of CPU (with child processes): of bad input,
of Prefect answered by the run itself, and by its own temporary server in a new home and in one that is there.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.conftest import TOP, free_port


def measured(act: Callable[[], object]) -> tuple[float, float]:
    """Return wall and CPU seconds of child processes."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    act()
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(name: str, times: list[tuple[float, float]]) -> None:
    """Print medians."""
    wall, cpu = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"{name}: wall {wall:.2f} s, CPU {cpu:.2f} s (median of {len(times)})")


def mistake(assignment: str) -> Callable[[], object]:
    """Return a run that is refused."""
    command = [sys.executable, "-m", "flows.full_eval", "--set", assignment]
    return lambda: subprocess.run(command, cwd=TOP, capture_output=True, check=False)


def up(opened: str, home: Path) -> Callable[[], object]:
    """Return a process that imports Prefect and asks whom it will ask while it runs."""
    script = f"from basic_control.flows import ephemeral as e, full_eval\nwith e.{opened}(): pass"
    environment = {**os.environ, "PREFECT_HOME": str(home)}
    return lambda: subprocess.run([sys.executable, "-c", script], cwd=TOP, env=environment, check=True)


def main() -> None:
    """Print every figure."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    refused = f"models=[{{name: m, base_url: 'http://127.0.0.1:{free_port()}'}}]"
    show("unknown key", [measured(mistake("nosuch=1")) for _ in range(repeats)])
    show("address that refuses", [measured(mistake(refused)) for _ in range(repeats)])
    show("5 000 000 items", [measured(mistake("basic_control.n_items=5000000")) for _ in range(repeats)])
    times: dict[str, list[tuple[float, float]]] = {}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as home:
            for kind, opened in (("itself", "answering"), ("a server, new", "started"), ("a server", "started")):
                times.setdefault(kind, []).append(measured(up(opened, Path(home))))
    for kind, listed in times.items():
        show(f"Prefect imported, answered by {kind}", listed)


if __name__ == "__main__":
    main()
