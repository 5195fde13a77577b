"""Basic Control: declarative LLM evaluation with deterministic verifiers and explained verdicts."""

from basic_control.interrupts import leave_while_starting

leave_while_starting()

from pathlib import Path  # noqa: E402 - imports take longer than people take to press Ctrl-C

ROOMS = ("data", "prompts", "metrics", "generators", "config", "tasks", "flows")

_FOLDER = Path(__file__).parent
if not (_FOLDER / "flows").is_dir():
    # A checkout has its rooms beside this folder, a wheel inside it; they are `basic_control.<room>` in both.
    __path__.append(str(_FOLDER.parent))
