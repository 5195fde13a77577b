"""Measure the whole street: GSM8K-sized work against a loopback server, and a rerun from the cache.

Run `python -m tests.benchmarks.street [--server]`. 1319 prompts, 200 ms latency, 64 in flight. The calls' own span
and the wall are given as ratios to the limit (prompts x latency / concurrency); CPU is of the run with all that it
starts (what draws its charts), without the model's server; the peak is of the largest of these processes.
`--server` measures beside a running Prefect server, otherwise each run does without.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.conftest import TOP, free_port
from tests.servers.running import serve_openai

PROMPTS, LATENCY_S, IN_FLIGHT = 1319, 0.2, 64
ROOMS = ("basic_control", "flows", "tasks", "config", "generators", "metrics", "prompts", "data")
ANSWER = (
    "She sold 48 / 2 = <<48/2=24>>24 clips in May.\nAltogether she sold 48 + 24 = <<48+24=72>>72 clips.\n#### 72"
)


def problems(folder: Path) -> Path:
    """Write as many word problems as GSM8K's test set has, of its usual length."""
    path = folder / "problems.jsonl"
    text = (
        "A robe takes {n} bolts of blue fiber and half that much white fiber, and a tailor makes {m} such robes. "
    )
    with path.open("w", encoding="utf-8") as file:
        for n in range(PROMPTS):
            question = text.format(n=n + 2, m=n + 3) * 2 + "How many bolts does it take in total?"
            file.write(json.dumps({"question": question, "answer": ANSWER}) + "\n")
    return path


class Cost(NamedTuple):
    """What a run took: wall and CPU seconds, and its peak of memory in MB."""

    wall: float
    cpu: float
    peak: float


def evaluate(arguments: list[str], environment: dict[str, str], flow: str = "cot") -> Cost:
    """Run an evaluation; return what it took."""
    started = time.perf_counter()
    command = [sys.executable, "-m", f"flows.{flow}", *arguments]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, cwd=TOP, env=environment, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(said.read())
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000)


def await_health(server: subprocess.Popen[bytes], address: str) -> None:
    """Wait until a Prefect server answers, which first migrates its database; say so if it ends instead."""
    while server.poll() is None:
        with suppress(httpx.TransportError):
            if httpx.get(f"{address}/health").is_success:
                return
        time.sleep(0.2)
    sys.exit(f"the Prefect server ended with code {server.returncode} before it answered at {address}")


def main() -> None:
    """Print the first run's span against the limit and its CPU, then the rerun from the cache."""
    limit = PROMPTS * LATENCY_S / IN_FLIGHT
    # As `make setup` leaves them: no run compiles what another has changed since.
    subprocess.run([sys.executable, "-m", "compileall", "-q", *ROOMS], cwd=TOP, check=True)
    environment = {**os.environ, "OPENAI_API_KEY": "unused"}
    server = None
    with tempfile.TemporaryDirectory() as name, serve_openai(ANSWER, latency_s=LATENCY_S, apart=True) as model:
        folder = Path(name)
        environment["PREFECT_HOME"] = f"{name}/prefect"
        if "--server" in sys.argv:
            from basic_control.flows.environment import PRIVACY, SERVER

            port = free_port()
            command = [
                sys.executable,
                "-m",
                "prefect",
                "server",
                "start",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
            ]
            server = subprocess.Popen(
                command,
                env={**environment, **SERVER, **PRIVACY},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            environment["PREFECT_API_URL"] = f"http://127.0.0.1:{port}/api"
            await_health(server, environment["PREFECT_API_URL"])
        one = {"name": "m", "provider": "openai", "base_url": model.base_url, "max_concurrency": IN_FLIGHT}
        sets = [f"models=[{json.dumps(one)}]", "cot.sample_method=all", f"cot.data={problems(folder)}"]
        sets += [f"store.root={name}/store", f"store.runs={name}/runs"]
        arguments = [word for each in sets for word in ("--set", each)]
        try:
            kind = "beside a running" if server else "without a"
            for title in ("first run", "rerun", "rerun", "rerun"):
                cost = evaluate(arguments, environment)
                latest = max((folder / "runs").iterdir())
                manifest = json.loads((latest / "manifest.json").read_text(encoding="utf-8"))
                span = manifest["query_span_s"]
                ratio = f"span {span:.2f} s = {100 * span / limit:.1f} % of the limit; " if span else ""
                print(f"{title} {kind} Prefect server: {ratio}{cost.wall:.1f} s in all = "
                      f"{cost.wall / limit:.2f} x the limit, CPU {cost.cpu:.1f} s, of the run's own process "
                      f"{manifest['cpu_s']:.1f} s, peak {cost.peak:.0f} MB")  # fmt: skip
        finally:
            if server:
                server.terminate()
                server.wait(30)


if __name__ == "__main__":
    main()
