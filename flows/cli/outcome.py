"""Show what a run came to: the table, the verdict, where the reports lie, and what was run anew."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config.settings import Settings
    from flows.runs import Outcome

_WHY = {
    "query": "always: asks what the reply cache does not hold",
    "judge": "always: asks what the reply cache does not hold",
    "gate": "always: writes this run's files",
    "report": "always: writes this run's files",
}
"""Why a stage that nothing else explains was run."""


def show_outcome(outcome: "Outcome", settings: "Settings") -> None:
    """Print the table, the verdict, and where the reports lie."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from metrics.final import leads
    from metrics.summary import Cell
    from tasks.report.text import percent
    from tasks.report.titles import row_title

    console = Console()
    shown = Table(title=Text(f"Run {outcome.run}"), box=SIMPLE_HEAD, padding=0, pad_edge=False)
    for name in ("model", "what", "metric"):
        shown.add_column(name, overflow="fold")
    for name in ("mean", "95 % interval", "scored / asked"):
        shown.add_column(name, justify="right", no_wrap=True)
    for found in outcome.results["cells"]:
        cell = Cell(**found)
        if not cell.family or cell.level or cell.language or not leads(cell.metric):
            continue
        interval = "–" if cell.ci_low is None else f"{percent(cell.ci_low)} – {percent(cell.ci_high)}"
        what = row_title(settings, cell.suite, cell.family)
        counts = f"{cell.n_scored} / {cell.n_asked}"
        row = (cell.model, what, cell.metric, percent(cell.mean), interval, counts)
        shown.add_row(*map(Text, row))
    console.print(shown)
    for line in verdict(outcome):
        console.print(Text(line), soft_wrap=True)
    for path in outcome.reports[:2]:
        console.print(Text(f"Report: {path}"), soft_wrap=True)
    if settings.report.junit:
        console.print(Text(f"JUnit: {settings.report.junit}"), soft_wrap=True)


def verdict(outcome: "Outcome") -> list[str]:
    """Return what a run came to, in lines: TOTAL, suites and overall of each model, and what was asked."""
    from tasks.report.phrases import phrase, why
    from tasks.report.stopping import lines_of
    from tasks.report.text import percent, total_percent

    lines = []
    final = outcome.results["final"]
    for model in final["models"]:
        total = outcome.results["totals"].get(model["model"])
        if total and total["percent"] is not None:
            left = f" (left out: {', '.join(total['left_out'])})" if total["left_out"] else ""
            lines.append(f"TOTAL {model['model']}: {total_percent(total['percent'])}{left}")
        for part in [*model["suites"], {**model, "suite": "overall"}]:
            told = why(part, "en")
            reason = f": {told}" if told else ""
            beside = "".join(f"; {name} {percent(mean)}" for name, mean in part.get("beside", {}).items())
            lines.append(
                f"  {part['suite']}: {percent(part['score'])}, threshold {percent(part['threshold'])} – "
                f"{part['outcome']}{reason}{beside}"
            )
    lines += [f"  {line}" for line in lines_of(outcome.results)]
    if any("cot.sound" in suite.get("beside", {}) for model in final["models"] for suite in model["suites"]):
        lines.append(f"cot: {phrase('cot_worth', 'en')}")
    if final["gate"] == "off":
        lines.append("The gate is off: the exit code is 0 whatever the verdict (gate: point or interval).")
    counts = outcome.requests
    if counts["asked"] and counts["cached"] == counts["asked"]:
        lines.append(f"No model call was made: all {counts['asked']} replies came from the cache.")
    else:
        lines.append(
            f"{counts['asked']} requests: {counts['cached']} from the cache, {counts['answered']} asked now, "
            f"{counts['failed']} failed."
        )
    return lines


def show_stages(outcome: "Outcome") -> None:
    """Say of every stage whether it was cached or run, and why."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for row in outcome.stages:
        done = "from the cache" if row["cached"] else "run"
        why = f" ({row['note'] or _WHY.get(row['stage'], 'not in the cache: its input or the rules changed')})"
        why = "" if row["cached"] else why
        console.print(Text(f"  {row['stage']} {row['label']}: {done}{why}"), soft_wrap=True)
