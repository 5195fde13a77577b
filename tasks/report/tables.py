"""One table, rendered in many ways: at a terminal, as Markdown, on a page, in Prefect's UI, in files."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

from basic_control.data.characters import make_visible
from basic_control.tasks.report.language import say
from basic_control.tasks.report.text import escape_markdown, join_lines

if TYPE_CHECKING:
    from rich.table import Table as RichTable

MOST = 60
"""Maximum rows at a terminal; files have all."""
_MARKS = {"✓": "green", "✗": "bold red"}
"""The terminal's colours of what passes and fails."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column, whose `cell` is computed from a row's object.

    Numbers are right-aligned; `unbroken` cells are never wrapped; Markdown shows `strong` ones bold.
    """

    name: str
    cell: Callable[[Any], str] = str
    numeric: bool = False
    unbroken: bool = False
    strong: bool = False

    @property
    def alignment(self) -> str:
        """The dashes below the column's title in Markdown."""
        return "---:" if self.numeric else ":---"

    def mark_up(self, cell: str) -> str:
        """Return a cell's text in Markdown."""
        if not self.strong:
            return escape_markdown(cell)
        return f"**{escape_markdown(cell)}**"


def fill_cells(columns: Iterable[Column], element: object) -> list[str]:
    """Return the cells of a row's object."""
    return [column.cell(element) for column in columns]


def column_maker(section: str, prefix: str = "") -> Callable[..., Column]:
    """Return a factory of `Column` whose titles are this section's phrases."""

    def column(name: str, cell: Callable[[Any], str] = str, **looks: bool) -> Column:
        return Column(say(f"{section}.{prefix}{name}"), cell, **looks)

    return column


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, rows of raw text (each renderer escapes it), and the title and caption.

    `tones` are the terminal's colours of each row's last cell, if any; `name` is the page section that holds it.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    title: str = ""
    caption: str = ""
    tones: Sequence[str] = ()
    name: str = ""

    @classmethod
    def of(
        cls, elements: Iterable[Any], *columns: Column, title: str = "", caption: str = "", name: str = ""
    ) -> "Table":
        """Return a table with a row for each element, whose cells the columns compute."""
        rows = [fill_cells(columns, element) for element in elements]
        return cls(columns, rows, title, caption, name=name)

    @property
    def names(self) -> list[str]:
        """The columns' titles."""
        return [*map(attrgetter("name"), self.columns)]

    def terminal(self, limit: int = MOST) -> "RichTable":
        """Return the table for a terminal, its first `limit` rows and a note on those omitted."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable
        from rich.text import Text

        rich_table = RichTable(
            title_justify="left",
            caption_justify="left",
            box=SIMPLE_HEAD,
            pad_edge=False,
            collapse_padding=True,
            show_edge=False,
        )
        # `Text` shows brackets as they are; a plain string would be read as Rich's markup.
        if self.title:
            rich_table.title = Text(make_visible(self.title))
        if self.caption:
            rich_table.caption = Text(make_visible(self.caption))
        for column in self.columns:
            title = Text(make_visible(column.name))
            justify: Literal["left", "right"] = "right" if column.numeric else "left"
            rich_table.add_column(title, justify=justify, no_wrap=column.unbroken, overflow="fold")
        for number, row in enumerate(self.rows[:limit]):
            texts = [*map(Text, map(join_lines, row))]
            for text, (mark, colour) in product(texts, _MARKS.items()):
                text.highlight_words([mark], colour)
            *cells, last_cell = texts
            if self.tones:
                last_cell.stylize(self.tones[number])
            rich_table.add_row(*cells, last_cell)
        n_omitted = len(self.rows) - limit
        if n_omitted > 0:
            rich_table.add_row(Text(say("common.more_rows", n=n_omitted)))
        return rich_table

    def markdown(self) -> list[str]:
        """Return the table's lines in Markdown."""
        header, rows = [*map(escape_markdown, self.names)], []
        for row in self.rows:
            cells = zip(self.columns, row, strict=True)
            rows.append([column.mark_up(cell) for column, cell in cells])
        alignments = map(attrgetter("alignment"), self.columns)
        return lines(header, [*alignments], rows)

    def records(self) -> list[dict[str, str]]:
        """Return the rows by column, as Prefect shows them."""
        return [dict(zip(self.names, map(join_lines, row), strict=True)) for row in self.rows]


def lines(header: Sequence[str], marks: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a Markdown table of cells that are Markdown already; `marks` are the columns' alignments."""
    return [f"| {' | '.join(row)} |" for row in (header, marks, *rows)]
