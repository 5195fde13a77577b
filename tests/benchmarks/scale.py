"""Measure runs that are large in one direction: calls in flight, calls, rows, or models, judges and suites.

    python -m tests.benchmarks.scale flight [256 1000]       3 000 calls of 0.5 s: the peak that the server sees
    python -m tests.benchmarks.scale calls [100000]          calls of 5 ms, 256 in flight, and again from the cache,
                                                            beside what the openai package takes alone
    python -m tests.benchmarks.scale rows [10000 100000 1000000]   rows with responses: loaded, scored, aggregated
    python -m tests.benchmarks.scale wide [10 3 4]           models x judges x suites, and again from the cache

CPU and memory are those of the run's whole tree of processes, as its manifest says them. The exponent is that of
CPU by rows, less what an empty run takes.
"""

import asyncio
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
from openai import AsyncOpenAI, DefaultAioHttpClient

from tests.benchmarks.street import evaluate
from tests.servers.running import Server, serve_openai

FLIGHTS, CALL_S = 3_000, 0.5
QUICK_S, QUICK_IN_FLIGHT = 0.005, 256
WIDE_ITEMS = 10
JUDGED = '{"reason": "It follows.", "verdict": true, "rating": 5, "score": 1, "claims": [], "statements": []}'


def run(folder: Path, title: str, configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Run a configuration whose store is in a folder; print what it took and return its manifest."""
    store = {"root": str(folder / "store"), "runs": str(folder / "runs")}
    path = folder / "run.yaml"
    path.write_text(json.dumps({"store": store, "gate": "off", **configuration}), encoding="utf-8")  # YAML as well
    environment = {**os.environ, "OPENAI_API_KEY": "unused", "PREFECT_HOME": str(folder / "prefect")}
    cost = evaluate(["--config", str(path), "--yes"], environment, "full_eval")
    latest = max((folder / "runs").iterdir())
    manifest: dict[str, Any] = json.loads((latest / "manifest.json").read_text(encoding="utf-8"))
    print(f"{title}: {cost.wall:.1f} s, CPU {cost.cpu:.1f} s, memory {cost.peak:.0f} MB", flush=True)
    return {**manifest, "cpu": cost.cpu}


def own(name: str, data: Path, **more: Any) -> dict[str, Any]:
    """Return a suite of one's own rows."""
    metrics = {"metrics": {"exact_match": {}}, "score": ["exact_match"]}
    return {"name": name, "items": {"data": str(data)}, "prompt": "{{ question }}", **metrics, **more}


def questions(path: Path, n: int, **more: str) -> Path:
    """Write so many rows."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(n):
            row = {"question": f"What is {number} plus 1?", "answer": str(number + 1), **more}
            file.write(json.dumps(row) + "\n")
    return path


def model(server: Server, in_flight: int, name: str = "m") -> dict[str, Any]:
    """Return a model of a server's."""
    return {"name": name, "provider": "openai", "base_url": server.base_url, "max_concurrency": in_flight}


def flight(folder: Path, *limits: int) -> None:
    """Print how many calls a server sees together, and the calls' span against the limit."""
    data = questions(folder / "rows.jsonl", FLIGHTS)
    for n in limits or (256, 1_000):
        here = folder / str(n)
        here.mkdir()
        with serve_openai("7", latency_s=CALL_S, apart=True) as server:
            done = run(here, f"{n} in flight", {"models": [model(server, n)], "suites": [own("own", data)]})
            limit = FLIGHTS * CALL_S / n
            print(f"  peak {server.peak}, span {done['query_span_s']:.2f} s = "
                  f"{100 * done['query_span_s'] / limit:.0f} % of {limit:.2f} s")  # fmt: skip


async def bare(base_url: str, n: int = 10_000) -> float:
    """Return the CPU milliseconds of a call by the openai package alone, its reply read as its types."""
    numbers = iter(range(n))
    http = DefaultAioHttpClient(limits=httpx2.Limits(max_connections=QUICK_IN_FLIGHT))
    async with AsyncOpenAI(base_url=base_url, api_key="unused", max_retries=0, http_client=http) as client:

        async def ask() -> None:
            for number in numbers:
                text = f"What is {number} plus 1?"
                await client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])

        started = time.process_time()
        await asyncio.gather(*(ask() for _ in range(QUICK_IN_FLIGHT)))
    return 1000 * (time.process_time() - started) / n


def calls(folder: Path, n: int = 100_000) -> None:
    """Print what a call costs that is quick, and one that is remembered."""
    data = questions(folder / "rows.jsonl", n)
    with serve_openai("7", latency_s=QUICK_S, apart=True) as server:
        given = {"models": [model(server, QUICK_IN_FLIGHT)], "suites": [own("own", data)]}
        for title in (f"{n} calls", "again, from the cache"):
            done = run(folder, title, given)
            print(f"  {1000 * done['cpu'] / n:.2f} ms of CPU a call")
        print(f"the openai package alone: {asyncio.run(bare(server.base_url)):.2f} ms of CPU a call")


def rows(folder: Path, *counts: int) -> None:
    """Print what rows cost that hold their responses, and by which power of their number it grows."""
    took: list[tuple[int, float]] = []
    for n in (1, 1, *(counts or (10_000, 100_000, 1_000_000))):  # the first makes the bytecode
        here = folder / str(len(took))
        here.mkdir()
        data = questions(here / "rows.jsonl", n, response="7")
        took.append((n, run(here, f"{n} rows", {"models": [], "suites": [own("own", data)]})["cpu"]))
    _, (_, start), *rest = took
    for (few, before), (many, after) in pairwise(rest):
        exponent = math.log((after - start) / (before - start)) / math.log(many / few)
        print(f"  {few} to {many} rows: exponent {exponent:.2f}")


def _suites(folder: Path, n: int) -> Iterator[dict[str, Any]]:
    rubric = {"criteria": "It says what it is asked for.", "scale": [1, 5]}
    for number in range(n):
        data = questions(folder / f"rows{number}.jsonl", WIDE_ITEMS)
        yield own(f"own{number}", data, metrics={"exact_match": {}, "rubric": rubric}, score=["rubric"])


def wide(folder: Path, models: int = 10, judges: int = 3, suites: int = 4) -> None:
    """Print what a run of many models, judges and suites costs, and again from the cache."""
    with serve_openai(JUDGED, apart=True) as server:
        named: Callable[[str, int], list[dict[str, Any]]] = lambda kind, n: [  # noqa: E731 - both alike
            model(server, 64, f"{kind}{number}") for number in range(n)
        ]
        given = {"models": named("m", models), "judges": named("j", judges), "suites": [*_suites(folder, suites)]}
        for title in (f"{models} models, {judges} judges, {suites} suites", "again, from the cache"):
            done = run(folder, title, given)
            print(f"  {done['requests']['asked']} requests, {len(done['stages'])} stages")


def main() -> None:
    """Measure in the direction that is named."""
    directions: Mapping[str, Callable[..., None]] = {"flight": flight, "calls": calls, "rows": rows, "wide": wide}
    direction, *numbers = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        directions[direction](Path(name), *map(int, numbers))


if __name__ == "__main__":
    main()
