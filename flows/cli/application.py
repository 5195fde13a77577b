"""The one application of all commands, and how each ends: an exit code, and one message if it fails."""

import gc
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from errno import EMFILE, ENFILE
from functools import partial
from typing import TYPE_CHECKING

from basic_control.data.commands import SCRIPT
from basic_control.data.errors import InputError
from basic_control.data.exits import EXPLAINED, Exit
from basic_control.flows.cli.streams import settle_streams
from basic_control.interrupts import interrupt_again

if TYPE_CHECKING:
    from cyclopts import App

MORE, HIDDEN = "More", "hidden"
GROUPS: Mapping[str, Mapping[str, str]] = {
    "": {
        "init": "init",
        "run": "evaluate",
        "compare": "compare",
        "gate": "compare",
        "view": "compare",
        "show": "show",
        "demo": "evaluate",
        "exam": "evaluate",
    },
    MORE: {
        "audit": "audit",
        "label": "label",
        "rejudge": "rejudge",
        "baseline": "baseline",
        "exchange": "exchange",
        "fetch": "setup",
        "runs": "runs",
        "store": "store",
        "schedule": "schedule",
        "schema": "setup",
        "completion": "setup",
        "doctor": "setup",
    },
    HIDDEN: {"sandbox": "setup", "serve": "schedule", "deploy": "schedule", "worker": "schedule"},
}
"""The file in `flows/cli/commands/` of each command, in the order of --help, which does not show the last group."""
COMMANDS = {command: file for commands in GROUPS.values() for command, file in commands.items()}
SECOND_NAMES = {"run": "eval"}
DEFAULT = "run"
"""The command used if none is named."""
REPLACED = {
    "estimate": "use `run --dry-run`.",
    "leaderboard": "`view` lists all runs, sorts them by score, and filters those of the same questions.",
    "level": "set `levels: [easy, medium, hard]` of generated families, and read the score at each in the report.",
    "store repair": "the next run makes a damaged or deleted reply cache anew, also from the tables.",
    "runs show": "`runs list` has its scores and note, `audit RUN` its commit, `show RUN` its replies.",
    "runs tag": "set a note with `runs note RUN TEXT`, and search it in `view`.",
    "power": "`compare` says of each difference how small a one these questions can detect.",
}
"""Commands of before, and what to use instead."""
HELP = frozenset({"-h", "--help"})
ASKED_BY_SHELLS = "__complete"
"""The word with which cyclopts' completion scripts ask for dynamic values, such as runs."""
DEBUG = "BASIC_CONTROL_DEBUG"
PURPOSE = "Evaluate language models with verdicts that are right, reproducible, explained and cheap."


def main(argv: Sequence[str] | None = None, *, name: str = SCRIPT) -> int:
    """Run `name COMMAND …` and return the exit code."""
    settle_streams()
    words = _line(argv)
    if words[:1] == [ASKED_BY_SHELLS]:
        assemble(name)(words)
        return Exit.PASSED
    if not words or (words[0].startswith("-") and words[0] not in {*HELP, "--version"}):
        words = [DEFAULT, *words]
    for command, second_name in SECOND_NAMES.items():
        if words[0] == second_name:
            words[0] = command
    for command in (words[0], " ".join(words[:2])):
        if command in REPLACED:
            from basic_control.flows.cli.console import complain

            complain(f"{command}: this command was removed; {REPLACED[command]}")
            return Exit.ERROR
    # Import only the file of the command that is called.
    commands: Iterable[str] = COMMANDS
    if words[0] in COMMANDS:
        commands = words[:1]
    return _end(partial(assemble, name, commands), words)


def assemble(name: str = SCRIPT, commands: Iterable[str] = COMMANDS) -> "App":
    """Return the application with all or some of its commands, in the groups and the order of `GROUPS`."""
    from cyclopts import Group

    app, second_group = _app(name, PURPOSE), Group(MORE, sort_key=1)
    orders = {command: number for number, command in enumerate(COMMANDS)}
    for command in commands:
        built = build(command, command)
        built.sort_key, built.show = orders[command], command not in GROUPS[HIDDEN]
        if command in GROUPS[MORE]:
            built.group = second_group
        app.command(built, alias=SECOND_NAMES.get(command))
    return app


def _line(argv: Sequence[str] | None) -> list[str]:
    """Return the words of a command line: the given ones, else the process's own."""
    return list(sys.argv[1:] if argv is None else argv)


def alias(module: str, words: Sequence[str]) -> Callable[..., int]:
    """Return the `main` of a module, `flows.full_eval` or a suite's, that runs the command with its first words."""
    command, *first = words

    def start(argv: Sequence[str] | None = None) -> int:
        """Run the command with the rest of its line and return the exit code."""
        return _end(partial(build, command, f"python -m {module}", first), _line(argv))

    return start


def _app(name: str, purpose: str | None = None) -> "App":
    """Return an application with our defaults: no --no-flags, and only defaults that the help text names."""
    from cyclopts import App, Parameter

    from basic_control.flows.cli.helping import NamesFormatter

    return App(
        name=name,
        help=purpose,
        version=_version,
        help_format="plaintext",
        help_formatter=NamesFormatter(),
        help_epilogue=EXPLAINED,
        default_parameter=Parameter(negative=(), show_default=False, allow_repeating=True),
        suppress_keyboard_interrupt=False,
    )


def build(command: str, name: str, first: Sequence[str] = ()) -> "App":
    """Return a command's application, called `name`, from its file; `first` fixes its first arguments."""
    module = importlib.import_module(_locate(command))
    work = getattr(module, command, None)
    if work:
        app = _app(name)
        app.default(partial(work, *first))
        return app
    # A file's own name is a command with verbs, such as `schedule serve`.
    app = _app(name, module.__doc__)
    for verb in module.VERBS:
        app.command(verb, name=_name_verb(verb))
    return app


def _locate(command: str) -> str:
    """Return the module of a command."""
    return f"basic_control.flows.cli.commands.{COMMANDS[command]}"


def _name_verb(verb: Callable[..., object]) -> str:
    """Return how a command's verb is typed; its function has an underscore where the name is Python's."""
    return verb.__name__.rstrip("_")


def _call(make: "Callable[[], App]", words: Sequence[str]) -> int | None:
    """Run a command line with the application that parses it."""
    # Imports create hundreds of thousands of permanent objects; by default every 700 of them trigger a collection.
    gc.set_threshold(50_000, 20, 100)
    # Keep pydantic from searching every installed distribution for plug-ins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from cyclopts import CycloptsError

    app = make()
    name = DEFAULT
    if words and words[0] in COMMANDS:
        name = words[0]
    try:
        command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        from basic_control.flows.cli.hints import correct_suggestion

        message = correct_suggestion(str(error), name)
        end = "" if message.endswith(("?", "…")) else "."
        # A command's own help has its options.
        program = app.name[0]
        if words[:1] == [name]:
            program += f" {name}"
        raise InputError(f"{message.removesuffix('.')}{end} See {program} --help.") from error
    if getattr(command, "__name__", "") == "help_print" and HELP.isdisjoint(words):
        verbs = ", ".join(map(_name_verb, importlib.import_module(_locate(name)).VERBS))
        line = " ".join(words) or app.name[0]
        raise InputError(f"{line}: expected a command after it, one of {verbs}. See {app.name[0]} --help.")
    from basic_control.data.files import cache_parsed

    interrupt_again()
    with cache_parsed():
        code: int | None = command(*bound.args, **bound.kwargs)
    return code


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(SCRIPT)
    except PackageNotFoundError:
        return "a checkout that is not installed"


def _end(make: "Callable[[], App]", words: Sequence[str]) -> int:
    """Run a command line and return its exit code; print one message for any error."""
    settle_streams()
    from basic_control.flows.cli.console import complain, say

    try:
        return _call(make, words) or Exit.PASSED
    except Exception as error:
        if os.environ.get(DEBUG) and not isinstance(error, InputError):
            raise
        complain(failure(error))
        return Exit.ERROR
    except KeyboardInterrupt as interrupt:
        go_on = str(interrupt) or "run the same command again to continue."
        say(f"Stopped. Everything answered so far is kept; {go_on}")
        return Exit.STOPPED


def failure(error: Exception) -> str:
    """Return the message of an error that ends a command."""
    if isinstance(error, InputError):
        return str(error)
    from basic_control.flows.environment import describe_unreachable

    if isinstance(error, OSError) and error.errno in {EMFILE, ENFILE}:
        text = "too many files are open at once. Raise the limit, for example with: ulimit -n 1024."
        return f"{text} Everything answered so far is kept."
    message = describe_unreachable(error) or (
        f"{type(error).__name__}: {error}\nThis is a defect in the program or in a plug-in, or a run that was "
        f"read is damaged. {DEBUG}=1 shows where it happened."
    )
    return f"{message} Everything answered so far is kept."
