"""A table for a terminal that may have no room for it: no word or number of it is broken."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from basic_control.data.characters import make_visible
from basic_control.tasks.report.tables import Table
from basic_control.tasks.report.text import join_lines, wrap_line

if TYPE_CHECKING:
    from rich.console import RenderableType

GAP = 2
"""Characters between two columns."""
HIGHEST = 4
"""Maximum lines of a narrowed row."""


def fit_table(table: Table, width: int) -> "Iterator[RenderableType]":
    """Yield a table with all its rows in lines of `width`; if its words find no room, a block of lines a row."""
    widths = _narrow_columns(table, width)
    if widths:
        rich_table = table.terminal(len(table.rows))
        for column, column_width in zip(rich_table.columns, widths, strict=True):
            column.width, column.no_wrap = column_width, False
        yield rich_table
        return
    if table.title:
        yield from (*wrap_line(make_visible(table.title), width), "")
    for number, row in enumerate(table.rows):
        if number:
            yield ""
        yield from _list_cells(table.names, row, width)
    if table.caption:
        yield from ("", *wrap_line(make_visible(table.caption), width))
    yield ""


def _narrow_columns(table: Table, width: int) -> list[int]:
    """Return the columns' widths in a line of `width`, none below its longest word; [] if there are none such.

    The widest is narrowed first, and those that should not be wrapped last.
    """
    from rich.cells import cell_len

    columns = [_show_cells(texts) for texts in zip(table.names, *table.rows, strict=True)]
    widths, least_widths = [], []
    for texts in columns:
        widths.append(min(width, max(map(cell_len, texts))))
        least_widths.append(max(map(cell_len, " ".join(texts).split()), default=0))
    room = width - GAP * (len(widths) - 1)
    if sum(least_widths) > room:
        return []
    for is_unbroken in (False, True):
        while sum(widths) > room:
            spare = []
            for number, column in enumerate(table.columns):
                if column.unbroken == is_unbroken and widths[number] > least_widths[number]:
                    spare.append(number)
            if not spare:
                break
            widths[max(spare, key=widths.__getitem__)] -= 1
    # A sentence of one word a line is read with more effort than a block.
    for texts, column_width in zip(columns, widths, strict=True):
        if any(len(wrap_line(text, max(1, column_width))) > HIGHEST for text in texts):
            return []
    return widths


def _show_cells(texts: Sequence[str]) -> list[str]:
    """Return texts as a terminal shows them, each in one line."""
    return [join_lines(text) for text in texts]


def _list_cells(names: Sequence[str], cells: Sequence[str], width: int) -> Iterator[str]:
    """Yield a row's cells in lines, each with its column's title."""
    from rich.cells import cell_len

    indent = GAP + max(map(cell_len, names))
    for name, cell in zip(names, _show_cells(cells), strict=True):
        start = name + " " * (indent - cell_len(name))
        for line in wrap_line(cell, max(1, width - indent)) or [""]:
            yield (start + line).rstrip()
            start = " " * indent
