"""What Prefect's interface shows of an ended run: the report, a table, where it lies, and an event to act on."""

from pathlib import Path
from typing import Any

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.events import emit_event

from data.characters import inert
from data.exits import Exit
from flows.runs import RunResult
from tasks.models.progress import deployed, has_pages
from tasks.plan import Plan
from tasks.report.screen import screen
from tasks.runtime.logs import event

CONCLUDED = "basic-control.run.concluded"
_GATES: dict[int, str] = {Exit.PASSED: "passed", Exit.UNDECIDED: "undecided"}
"""The event of a deployed run's end; its payload has the exit code and each model's outcome."""


def rows(outcome: RunResult, plan: Plan) -> list[dict[str, str]]:
    """Return the table of a run's screen: a row for each model."""
    told = screen(outcome.results, plan, outcome.requests).table().records()
    # Some of Prefect's pages take cells for Markdown.
    return [{name: inert(text) for name, text in row.items()} for row in told]


def publish(outcome: RunResult, plan: Plan) -> None:
    """Show an ended run in Prefect's interface, and say in the log that it has ended."""
    if has_pages():
        text = next(Path(path) for path in outcome.reports if path.endswith(".md")).read_text(encoding="utf-8")
        create_markdown_artifact(text, key="report", description=outcome.run)
        create_table_artifact(rows(outcome, plan), key="summary", description=outcome.run)
    verdicts: dict[str, Any] = {m["model"]: m["outcome"] for m in outcome.results["final"]["models"]}
    if deployed():
        gate = "off" if plan.policy.gate == "off" else _GATES.get(outcome.exit_code, "below")
        folder = Path(outcome.folder).resolve()
        create_link_artifact(folder.as_uri(), link_text=str(folder), key="folder", description=outcome.run)
        emit_event(
            CONCLUDED,
            resource={
                "prefect.resource.id": f"basic-control.run.{outcome.run}",
                "basic-control.gate": gate,
            },
            payload={"exit_code": outcome.exit_code, "outcomes": verdicts, "requests": outcome.requests},
        )
    event("run_ended", run=outcome.run, exit_code=outcome.exit_code, outcomes=verdicts, **outcome.requests)
