"""Read the logs of other tools, and write runs as logs of Inspect; no model is asked."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from basic_control.data.commands import format_command
from basic_control.flows.cli.console import show, show_written
from basic_control.flows.cli.options import RUN, USUAL, Where


def read(
    log: Path,
    /,
    *,
    to: Annotated[Path, Parameter(name=("--to", "-o"), metavar="FOLDER")],
    metric: str = "",
    stated: str = "",
    task: str = "",
    language: str = "en",
) -> None:
    """Read a log of another tool as a suite of recorded replies, to score them here.

    Writes rows.jsonl and run.yaml, ready to be run: its replies are scored here, beside the log's own scores.

    Args:
        log: a file or folder of any tool that `compare` reads, of one model
        to: the folder to write
        metric: what scores the replies here (default: as the expected answers and the log's own scores show)
        stated: which of the log's own scores to show beside ours (default: its first)
        task: the evaluation to read, if a file has several (default: the first)
        language: the language of the questions
    """
    from basic_control.tasks.exchange import log_suites
    from basic_control.tasks.report.text import percent

    evaluation = log_suites.read(log, metric=stated, task=task)
    chosen = log_suites.write(evaluation, to, metric=metric, language=language)
    mean = "no score" if evaluation.accuracy is None else f"{percent(evaluation.accuracy)} ({evaluation.metric})"
    count = f"{len(evaluation.rows)} replies of {evaluation.model} to {evaluation.task}"
    show(f"{evaluation.tool}: {count}; stated: {mean}.")
    for remark in evaluation.remarks:
        show(f"Not carried over: {remark}")
    show_written([str(to / log_suites.ROWS), str(to / log_suites.RUN)])
    # Who reads only our score should know that the tool's was another.
    agreement = log_suites.compare_with_stated(evaluation, chosen)
    if agreement and agreement.n_differing:
        reading = ""
        if evaluation.reading:
            reading = f" {evaluation.metric} there: {evaluation.reading}"
        show(
            f"{chosen} gives {percent(agreement.mean)}, and differs from the stated score on "
            f"{agreement.n_differing} of {agreement.n} replies: the tool reads or compares them otherwise. "
            "Choose another with --metric, or write its pattern into run.yaml: metrics: {regex: {pattern: …}}."
            f"{reading}"
        )
    show(f"It will be scored by {chosen}. Next: {format_command(f'run {to / log_suites.RUN}')}")


def write(
    run: Annotated[str, RUN],
    /,
    *,
    to: Annotated[Path, Parameter(name=("--to", "-o"), metavar="FOLDER")],
    at: Where = USUAL,
) -> None:
    """Write a finished run as logs of Inspect, which its viewer opens, one for each suite and model.

    Args:
        run: the run's name
        to: the folder to write
    """
    from basic_control.tasks.exchange.finished import write_logs
    from basic_control.tasks.store.runs import find_run

    show_written([*write_logs(find_run(run, at.runs), to, at.root)])


VERBS = (read, write)
