"""The command line of Basic Control: `basic-control COMMAND …` or `python -m basic_control COMMAND …`."""

import importlib
import sys
from collections.abc import Sequence

from basic_control import start

COMMANDS = {
    "run": ("flows.command", "evaluate models: every enabled suite; the default"),
    "compare": ("flows.compare", "compare two runs item by item"),
    "leaderboard": ("flows.leaderboard", "rank the models of every run in the store"),
    "store": ("artifacts.care", "see to the store: sizes, verification, repair, pruning"),
    "fetch": ("data.fetch", "download a public data set, checked by its hash"),
    "serve": ("flows.deployment", "run a Prefect server on loopback"),
    "deploy": ("flows.deployment", "register the scheduled deployments there"),
    "worker": ("flows.deployment", "run what is due"),
}
"""The commands, each with the module whose `main` takes the rest of the line."""
LEADING = {"run": ("full_eval",)}
WORDS = {"serve": ["server"], "deploy": ["deploy"], "worker": ["worker"]}
"""What goes before the rest of the line: the flow that is run, and what `flows.deployment` calls it."""


def usage() -> str:
    """Return what `--help` says."""
    listed = "\n".join(f"  {name:<12} {said}" for name, (_, said) in COMMANDS.items())
    return (
        "usage: basic-control [COMMAND] [OPTIONS]\n\nEvaluate language models with verdicts that are right, "
        f"reproducible, explained and cheap.\n\n{listed}\n\n"
        "Each has a --help of its own: basic-control run --help\n"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""
    start()
    first, *rest = list(sys.argv[1:] if argv is None else argv) or ["run"]
    if first in {"-h", "--help"}:
        sys.stdout.write(usage())
        return 0
    if first.startswith("-"):
        first, rest = "run", [first, *rest]
    if first not in COMMANDS:
        sys.stderr.write(f"error: found command {first!r}, expected one of {', '.join(COMMANDS)}.\n")
        return 2
    module = importlib.import_module(COMMANDS[first][0])
    code: int = module.main(*LEADING.get(first, ()), [*WORDS.get(first, []), *rest])
    return code


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # The folder that it is started in, which Python puts first for `-m` alone: as with the console script.
        del sys.path[0]
    raise SystemExit(main())
