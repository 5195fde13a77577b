"""Measure `compare` over files of other tools: 1 000 and 100 000 rows a file, and EvalTrust beside it.

Run `python -m tests.benchmarks.foreign [EVALTRUST]`, with the path of EvalTrust's command where it is installed (in
an environment of its own). Wall and CPU seconds and the most memory of a process each, and the p-values of both.
"""

import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.conftest import TOP
from tests.tasks.exchange.forms import Line, deepeval, table_jsonl

_MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, done.returncode)
print(done.stdout or done.stderr)
"""


def lines(n: int, seed: int) -> list[Line]:
    """Return questions with long replies, seven of ten right."""
    drawn = random.Random(seed)
    more = "what is the total cost of everything in the basket? " * 4
    return [Line(f"q{k}", f"Question {k}: {more}", drawn.random() < 0.7, f"{k} " * 12) for k in range(n)]


def run(name: str, command: Sequence[str]) -> str:
    """Print what a command takes and return what it says."""
    started = time.perf_counter()
    whole = subprocess.run(
        [sys.executable, "-c", _MEASURE, *command], cwd=TOP, capture_output=True, text=True, check=True
    )
    head, _, said = whole.stdout.partition("\n")
    cpu, memory, code = head.split()
    wall = time.perf_counter() - started
    print(f"{name}: wall {wall:.1f} s, CPU {float(cpu):.2f} s, {float(memory):.0f} MB, exit code {code}")
    return said


def main() -> None:
    """Print every figure."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ours = [sys.executable, "-m", "basic_control", "compare"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for n in (1_000, 100_000):
            files = [str(table_jsonl(folder, f"{n}_{seed}", lines(n, seed))) for seed in (1, 2)]
            run(f"compare, 2 × {n} rows, JSONL", [*ours, *files])
        files = [str(deepeval(folder, f"run{seed}", lines(1_000, seed))) for seed in (1, 2)]
        out = folder / "out.json"
        run("compare, 2 × 1000 rows, DeepEval", [*ours, *files, "--json", str(out)])
        print("  p", json.loads(out.read_text(encoding="utf-8"))["pairs"][0]["p_value"])
        if len(sys.argv) > 1:
            said = run(
                "EvalTrust, the same", [sys.argv[1], "audit", *files, "--model-a", "a", "--model-b", "b", "--json"]
            )
            print("  p", *sorted({*re.findall(r'"p_value": ([\d.e-]+)', said)}))


if __name__ == "__main__":
    main()
