"""Show what a run came to: its screen, and before it, where asked for, the whole report."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.cli.console import room, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flows.runs import RunResult
    from tasks.plan import Plan


def show_outcome(outcome: "RunResult", plan: "Plan", *, verbose: bool = False, again: bool = False) -> None:
    """Print the screen; `verbose` prints every figure and stage above it, `again` counts the stages that ran."""
    from tasks.report.regressions import lines
    from tasks.report.screen import screen

    language = plan.report.language
    if verbose:
        (report,) = (Path(path) for path in outcome.reports if path.endswith(".md"))
        show(report.read_text(encoding="utf-8"), *lines(outcome.results.get("baseline"), language))
        show(*(f"  {_stage(row, language)}" for row in outcome.stages))
    width, narrow = room()
    files = (outcome.reports[0], Path(outcome.folder) / "results.json")
    shown = screen(outcome.results, plan, outcome.requests, outcome.wall_s, files)
    show(*shown.terminal(width, whole=not narrow))
    if again:
        show(_counted(outcome, language))


def _counted(outcome: "RunResult", language: str) -> str:
    """Say how many stages came from the cache, and which ran."""
    from prompts.phrases import phrase

    fresh = Counter(row["stage"] for row in outcome.stages if not row["cached"])
    names = ", ".join(f"{name} {n}" if n > 1 else name for name, n in fresh.items())
    return phrase(
        "screen.stages", language, cached=len(outcome.stages) - fresh.total(), n=fresh.total(), names=names
    )


def _stage(stage: "Mapping[str, Any]", language: str) -> str:
    """Say of a stage whether it came from the cache or was run, and why."""
    from prompts.phrases import phrase

    if stage["cached"]:
        return f"{stage['stage']} {stage['label']}: {phrase('screen.cached', language)}"
    name = stage["stage"] if stage["stage"] in {"query", "judge", "results", "gate", "report"} else "other"
    why = stage["note"] or phrase(f"screen.why_{name}", language)
    return f"{stage['stage']} {stage['label']}: {phrase('screen.done', language)} ({why})"
