"""Measure the whole street: GSM8K-sized work against a loopback server, and a rerun from the cache.

Run `python -m tests.benchmarks.street [--server]`. 1319 prompts, 200 ms latency, 64 in flight. The calls' own span
is given as a ratio to the limit (prompts x latency / concurrency); CPU is of the whole process of the run, without
the model's server. `--server` measures beside a running Prefect server, otherwise each run starts a temporary one.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import TOP, free_port
from tests.servers.running import serve_openai

PROMPTS, LATENCY_S, IN_FLIGHT = 1319, 0.2, 64
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


def evaluate(arguments: list[str], environment: dict[str, str], flow: str = "cot") -> float:
    """Run an evaluation; return its wall time in seconds."""
    started = time.perf_counter()
    command = [sys.executable, "-m", f"flows.{flow}", *arguments]
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - started
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return wall


def main() -> None:
    """Print the first run's span against the limit and its CPU, then the rerun from the cache."""
    limit = PROMPTS * LATENCY_S / IN_FLIGHT
    environment = {**os.environ, "OPENAI_API_KEY": "unused"}
    server = None
    with tempfile.TemporaryDirectory() as name, serve_openai(ANSWER, latency_s=LATENCY_S, apart=True) as model:
        folder = Path(name)
        environment["PREFECT_HOME"] = f"{name}/prefect"
        if "--server" in sys.argv:
            from flows.environment import PRIVACY, SERVER

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
            time.sleep(15)
        one = {"name": "m", "provider": "openai", "base_url": model.base_url, "max_concurrency": IN_FLIGHT}
        sets = [f"models=[{json.dumps(one)}]", "cot.sample_method=all", f"cot.data={problems(folder)}"]
        sets += [f"store.root={name}/store", f"store.runs={name}/runs"]
        arguments = [word for each in sets for word in ("--set", each)]
        try:
            kind = "a running" if server else "a temporary"
            for title in ("first run", "rerun", "rerun", "rerun"):
                wall = evaluate(arguments, environment)
                latest = max((folder / "runs").iterdir())
                manifest = json.loads((latest / "manifest.json").read_text(encoding="utf-8"))
                span, cpu = manifest["query_span_s"], manifest["cpu_s"]
                ratio = f"span {span:.2f} s = {100 * span / limit:.1f} % of the limit; " if span else ""
                print(f"{title} with {kind} Prefect server: {ratio}{wall:.1f} s in all, CPU {cpu:.1f} s")
        finally:
            if server:
                server.terminate()
                server.wait(30)


if __name__ == "__main__":
    main()
