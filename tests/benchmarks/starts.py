"""Measure what stands before the first call: a static mistake told, and a temporary Prefect server in a new home.

Run `python -m tests.benchmarks.starts [repeats]`. Medians of wall and of CPU (with child processes): of bad input,
and of a server that is up, in a new store whose database is migrated, in a new one that begins with the template,
and in one that is there.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from flows import ephemeral
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


def up(home: Path, store: Path) -> None:
    """Start a temporary server and end it once it answers."""
    os.environ["PREFECT_HOME"] = str(home)
    with ephemeral.serving(store / "prefect.db", print, print) as server:
        server.wait()


def main() -> None:
    """Print every figure."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    refused = f"models=[{{name: m, base_url: 'http://127.0.0.1:{free_port()}'}}]"
    show("unknown key", [measured(mistake("nosuch=1")) for _ in range(repeats)])
    show("address that refuses", [measured(mistake(refused)) for _ in range(repeats)])
    show("5 000 000 items", [measured(mistake("basic_control.n_items=5000000")) for _ in range(repeats)])
    times: dict[str, list[tuple[float, float]]] = {}
    for number in range(repeats):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
            for kind, store in (("migrated", "1"), ("from the template", "2"), ("there already", "2")):
                home = folder / f"home{number}-{kind[0]}"
                times.setdefault(kind, []).append(measured(partial(up, home, folder / store)))
    for kind, listed in times.items():
        show(f"server up, new PREFECT_HOME, database {kind}", listed)


if __name__ == "__main__":
    main()
