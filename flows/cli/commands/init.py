"""`init`: an evaluation of one's own to begin with."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from data.commands import TOP, typed
from data.errors import InputError
from flows.cli.console import show, written
from flows.cli.options import RunOptions, choose

FILES = ("eval.yaml", "questions.csv")
SHIPPED = TOP / "config" / "init"


def init(folder: Annotated[str, Parameter(metavar="FOLDER")] = ".", /) -> int:
    """Write a commented evaluation of your own with ten rows, and say what it would ask.

    Args:
        folder: where eval.yaml and questions.csv are written (default: this one)
    """
    from flows.cli.estimate import show_estimate

    there = Path(folder)
    if found := [name for name in FILES if (there / name).exists()]:
        raise InputError(f"{there / found[0]}: is there already; name another folder: init FOLDER.")
    try:
        there.mkdir(parents=True, exist_ok=True)
        data = json.dumps((there / "questions.csv").as_posix())  # paths count from where a run starts
        for name in FILES:
            text = (SHIPPED / name).read_text(encoding="utf-8")
            (there / name).write_text(text.replace("data: questions.csv", f"data: {data}"), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{there}: cannot be written ({error.strerror}); name another folder.") from error
    written(there / name for name in FILES)
    settings, _ = choose("", RunOptions(config=str(there / FILES[0])))
    code = show_estimate(settings)
    show(f"Next: {typed(f'run {there / FILES[0]}')}")
    return code
