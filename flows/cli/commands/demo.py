"""`demo`: a whole report in seconds, from replies that ship."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from data.commands import TOP, typed
from flows.cli.console import show
from flows.cli.evaluating import evaluate
from flows.cli.options import RunOptions, choose
from tasks.runtime.logs import begin

SHIPPED = TOP / "config" / "demo"
FOLDER = "basic-control-demo"


def demo(*, folder: Annotated[str, Parameter(metavar="FOLDER")] = FOLDER, language: str = "en") -> int:
    """Show a whole evaluation in seconds, from recorded replies of two models: no key, no server, no download.

    The report is that of any run: two models of different strength, their comparison, every reply. What your own
    runs keep is left alone.

    Args:
        folder: where the report, its tables and its store are written (default: basic-control-demo)
        language: of the report, such as en or ru
    """
    begin("")
    texts = {
        "models.0.file": str(SHIPPED / "replies.jsonl"),
        "models.1.file": str(SHIPPED / "replies.jsonl"),
        "store.root": str(Path(folder) / "store"),
        "store.runs": str(Path(folder) / "runs"),
        "report.language": language,
    }
    sets = tuple(f"{key}={json.dumps(text)}" for key, text in texts.items())
    settings, again = choose("", RunOptions(config=str(SHIPPED / "run.yaml"), sets=sets))
    outcome, plan = evaluate(settings, again, only_failed=False)
    from flows.cli.outcome import show_outcome
    from prompts.phrases import phrase

    show_outcome(outcome, plan)
    show(
        phrase("screen.demo", language),
        phrase("screen.demo_next", language, command=typed("run --config config/ollama.yaml")),
    )
    return outcome.exit_code
