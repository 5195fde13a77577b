"""`init`: an evaluation to begin with, or another tool's configuration converted."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from basic_control.data.commands import TOP, format_command
from basic_control.data.errors import InputError
from basic_control.data.exits import Exit
from basic_control.flows.cli.console import show, show_written
from basic_control.flows.cli.named_models import list_servers
from basic_control.flows.cli.options import Folder, RunOptions, as_yaml, read_settings

if TYPE_CHECKING:
    from basic_control.tasks.exchange.moving.conversions import Conversion
    from basic_control.tasks.report.tables import Table


def init(
    folder: Folder = ".",
    /,
    *,
    kind: str = "",
    foreign: Annotated[str, Parameter(name="--from", metavar="FILE")] = "",
) -> int:
    """Write a commented evaluation of your own with ten rows, and say what it would ask.

    Args:
        folder: where eval.yaml and its rows are written (default: this one)
        kind: another one than questions with answers: a folder of config/init, such as chat, tools or choice
        foreign: convert another tool's file, such as promptfooconfig.yaml; nothing of it is run
    """
    if foreign:
        if kind:
            raise InputError("--kind and --from: found two beginnings, expected one.")
        return convert(Path(foreign), Path(folder))
    target = Path(folder)
    shipped = TOP / "config" / "init"
    if kind:
        kinds = sorted(path.name for path in shipped.iterdir() if path.is_dir())
        if kind not in kinds:
            raise InputError(f"--kind: found {kind!r}, expected one of {', '.join(kinds)}.")
        shipped = shipped / kind
    # A folder holds one evaluation: its configuration, then its rows.
    sources = sorted(
        (path for path in shipped.iterdir() if path.is_file()), key=lambda path: path.suffix != ".yaml"
    )
    files = [target / source.name for source in sources]
    existing = [file for file in files if file.exists()]
    if existing:
        raise InputError(f"{existing[0]}: already exists; name another folder: init FOLDER.")
    data = as_yaml(files[1].as_posix())  # paths are relative to the folder where a run starts
    try:
        target.mkdir(parents=True, exist_ok=True)
        for source, file in zip(sources, files, strict=True):
            text = source.read_text(encoding="utf-8")
            file.write_text(text.replace(f"data: {files[1].name}", f"data: {data}"), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror}); name another folder.") from error
    show_written(files)
    from basic_control.flows.cli.estimate import show_estimate

    settings, _ = read_settings("", RunOptions(config=str(files[0])))
    code = show_estimate(settings)
    show(f"Next: {format_command(f'run {files[0]}')}", *list_servers(str(files[0])))
    return code


def convert(source: Path, folder: Path) -> int:
    """Write another tool's file as an evaluation of ours, show the account, and say what it would ask.

    Raises:
        InputError: the file cannot be read or taken over, or the folder cannot be written.
    """
    from basic_control.flows.cli.estimate import show_estimate
    from basic_control.tasks.exchange.moving.output import convert_file, write_conversion

    conversion = convert_file(source)
    files = write_conversion(conversion, folder)
    table = tabulate_account(conversion)
    show(table.terminal(len(table.rows)))
    show_written(files)
    settings, _ = read_settings("", RunOptions(config=str(files[0])))
    # Keys of servers may be missing yet: the estimate says so, and the move is done all the same.
    show_estimate(settings)
    show(f"Next: {format_command(f'run {files[0]}')}")
    return Exit.PASSED


def tabulate_account(conversion: "Conversion") -> "Table":
    """Return a table of a conversion's parts: what was taken, what changed, what was left out, and why."""
    from basic_control.tasks.exchange.moving.conversions import OUTCOMES
    from basic_control.tasks.report.tables import Column, Table

    account = conversion.account
    totals = ", ".join(f"{account.count(outcome)} {outcome}" for outcome in OUTCOMES)
    title = f"From {conversion.tool}: "
    if account.n_assertions:
        share = account.n_taken / account.n_assertions
        title += f"{account.n_taken} of {account.n_assertions} assertions taken over ({share:.0%}); "
    if account.losses:
        title += f"{account.count_losers()} of {account.n_tests} tests lost some; "
    return Table.of(
        account.list_notes(),
        Column("part", lambda entry: entry[0].subject),
        Column("n", lambda entry: str(entry[1]), numeric=True),
        Column("outcome", lambda entry: entry[0].outcome),
        Column("why", lambda entry: entry[0].reason),
        title=title + totals,
    )
