"""Compare verdicts of the tools that people come from with ours, on the same replies.

Run `python -m tests.benchmarks.movers PROMPTFOO LM_EVAL`, with the commands of both tools (`-` leaves one out).
Each reads its file of docs/examples/moving and asks a loopback server with recorded replies; ours runs what `init
--from` makes of it. Printed is how many rows hold by each.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.helpers.moving import EXAMPLES, Example, count_held, prepare
from tests.servers.running import Server, serve_openai


def call(command: list[str], folder: Path, server: Server) -> None:
    """Run a command of another tool; its key opens nothing.

    Raises:
        SystemExit: it failed; its own words are shown. promptfoo says 100 if a test failed.
    """
    environment = {**os.environ, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.base_url}
    environment |= {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_CONFIG_DIR": str(folder / "own")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 100):
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])


def ask_promptfoo(command: list[str], example: Example, folder: Path, server: Server) -> tuple[int, int]:
    """Return how many tests of promptfoo hold, of how many."""
    out = folder / "out.json"
    call([*command, "eval", "-c", str(example.path), "-o", str(out), "--no-cache"], folder, server)
    verdicts = [bool(row["success"]) for row in json.loads(out.read_text(encoding="utf-8"))["results"]["results"]]
    return sum(verdicts), len(verdicts)


def ask_lm_eval(command: list[str], example: Example, folder: Path, server: Server) -> tuple[int, int]:
    """Return how many documents of lm-evaluation-harness hold, of how many."""
    model = f"model=m,base_url={server.base_url}/chat/completions,num_concurrent=1"
    words = ["--model", "local-chat-completions", "--model_args", model, "--apply_chat_template"]
    words += ["--tasks", "sums", "--include_path", str(example.path.parent)]
    words += ["--output_path", str(folder / "out"), "--log_samples"]
    for path in example.path.parent.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    call([*command, *words], folder, server)
    (samples,) = (folder / "out").rglob("samples_*.jsonl")
    verdicts = [json.loads(line)["exact_match"] == 1 for line in samples.read_text(encoding="utf-8").splitlines()]
    return sum(verdicts), len(verdicts)


def ask_ours(example: Example, folder: Path, server: Server) -> tuple[int, int]:
    """Return how many rows hold by what `init --from` makes of an example, of how many."""
    path = prepare(example, folder, server.base_url)
    words = ["-m", "basic_control", "run", str(path), "--json", "out.json", "--set", "report.html=false"]
    subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, check=False)
    return count_held(folder / "out.json")


TOOLS: dict[str, Callable[[list[str], Example, Path, Server], tuple[int, int]]] = {
    "promptfoo": ask_promptfoo,
    "lm-evaluation-harness": ask_lm_eval,
}


def main() -> None:
    for (name, ask), line in zip(TOOLS.items(), sys.argv[1:], strict=False):
        if line == "-":
            continue
        example = EXAMPLES[name]
        with serve_openai(example.answer) as server, tempfile.TemporaryDirectory() as scratch:
            theirs = ask(shlex.split(line), example, Path(scratch), server)
        with serve_openai(example.answer) as server, tempfile.TemporaryDirectory() as scratch:
            ours = ask_ours(example, Path(scratch), server)
        print(f"{name}: {theirs[0]} of {theirs[1]}; Basic Control: {ours[0]} of {ours[1]}")


if __name__ == "__main__":
    main()
