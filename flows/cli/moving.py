"""Move another tool's configuration here, and say what became of its parts."""

from pathlib import Path
from typing import TYPE_CHECKING

from basic_control.data.characters import make_visible
from basic_control.data.commands import format_command
from basic_control.data.exits import Exit
from basic_control.flows.cli.console import show, written
from basic_control.flows.cli.estimate import show_estimate
from basic_control.flows.cli.options import RunOptions, choose
from basic_control.tasks.exchange.moving.records import OUTCOMES, Conversion
from basic_control.tasks.exchange.moving.writing import convert_file, write_conversion

if TYPE_CHECKING:
    from rich.table import Table


def move(source: Path, folder: Path) -> int:
    """Write another tool's file as an evaluation of ours, show the account, and say what it would ask.

    Raises:
        InputError: the file cannot be read or taken over, or the folder cannot be written.
    """
    conversion = convert_file(source)
    files = write_conversion(conversion, folder)
    show(account_table(conversion))
    written(files)
    settings, _ = choose("", RunOptions(config=str(files[0])))
    # Keys of servers may be missing yet: the estimate says so, and the move is done all the same.
    show_estimate(settings)
    show(f"Next: {format_command(f'run {files[0]}')}")
    return Exit.PASSED


def account_table(conversion: Conversion) -> "Table":
    """Return a table of a conversion's parts: what was taken, what changed, what was left out, and why."""
    from rich.table import Table
    from rich.text import Text

    account = conversion.account
    totals = ", ".join(f"{account.count(outcome)} {outcome}" for outcome in OUTCOMES)
    table = Table(title=f"From {conversion.tool}: {totals}", title_justify="left")
    table.add_column("part")
    table.add_column("n", justify="right")
    table.add_column("outcome")
    table.add_column("why")
    for note, count in account.list_notes():
        table.add_row(Text(make_visible(note.subject)), str(count), note.outcome, Text(make_visible(note.reason)))
    return table
