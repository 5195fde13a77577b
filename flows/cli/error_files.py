"""The files that a build reads after a run: an error is written there too, so that no earlier result stays."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from basic_control.flows.cli.application import failure

ATTRIBUTES = {"junit": "junit", "markdown": "markdown", "json": "results"}
"""The files by option, with their keys in the configuration's `report`."""


@contextmanager
def write_errors(files: dict[str, str]) -> Iterator[None]:
    """Write an error that ends the block, or its stop, to the files by option; more may be added inside it."""
    try:
        yield
    except KeyboardInterrupt:
        _write("stopped before its end", files)
        raise
    except Exception as error:
        _write(failure(error), files)
        raise


def add_files(files: dict[str, str], report: Any) -> None:
    """Add the files that a configuration's `report` names."""
    files |= {option: getattr(report, attribute) for option, attribute in ATTRIBUTES.items()}


def _write(message: str, files: Mapping[str, str]) -> None:
    formats: Mapping[str, Callable[[str], str]] = {
        "junit": _format_junit,
        "markdown": _format_markdown,
        "json": lambda text: json.dumps({"error": text}, ensure_ascii=False) + "\n",
    }
    for option, path in files.items():
        # A file that cannot be written was refused before; the error itself is told in any case.
        if path and option in formats:
            with suppress(OSError):
                Path(path).write_text(formats[option](message), encoding="utf-8")


def _format_junit(message: str) -> str:
    from basic_control.tasks.report.junit import text_of
    from basic_control.tasks.report.junit_cases import Gate

    return text_of([Gate("run", "basic-control", "error", message)], "run")


def _format_markdown(message: str) -> str:
    from basic_control.tasks.report.text import escape_markdown

    return f"## Basic Control\n\n**Error:** {escape_markdown(message)}\n"
