"""One table, rendered in many ways: at a terminal, as Markdown, on a page, in Prefect's UI, in files."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from basic_control.data.characters import make_visible
from basic_control.tasks.report.language import say
from basic_control.tasks.report.text import escape_markdown

if TYPE_CHECKING:
    from rich.table import Table as RichTable

MOST = 60
"""Maximum rows at a terminal; files have all."""


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


def column_maker(section: str, prefix: str = "") -> Callable[..., Column]:
    """Return a factory of `Column` whose titles are this section's phrases."""

    def column(name: str, cell: Callable[[Any], str] = str, **shown: bool) -> Column:
        return Column(say(f"{section}.{prefix}{name}"), cell, **shown)

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
        cls, found: Iterable[Any], *heads: Column, title: str = "", caption: str = "", name: str = ""
    ) -> "Table":
        """Return a table with a row for each element of `found`, whose cells the columns compute."""
        return cls(heads, [[one.cell(row) for one in heads] for row in found], title, caption, name=name)

    def terminal(self, most: int = MOST) -> "RichTable":
        """Return the table for a terminal, its first `most` rows and a note on those omitted."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable
        from rich.text import Text

        shown = RichTable(
            title=Text(make_visible(self.title)) if self.title else None,
            caption=Text(make_visible(self.caption)) if self.caption else None,
            title_justify="left",
            caption_justify="left",
            box=SIMPLE_HEAD,
            pad_edge=False,
            collapse_padding=True,
            show_edge=False,
        )
        for one in self.columns:
            shown.add_column(
                Text(make_visible(one.name)),
                justify="right" if one.numeric else "left",
                no_wrap=one.unbroken,
                overflow="fold",
            )
        for number, row in enumerate(self.rows[:most]):
            *cells, last = (Text(_line(cell)) for cell in row)
            if self.tones:
                last.stylize(self.tones[number])
            shown.add_row(*cells, last)
        if (more := len(self.rows) - most) > 0:
            shown.add_row(Text(say("common.more_rows", n=more)))
        return shown

    def markdown(self) -> list[str]:
        """Return the table's lines in Markdown."""
        marks = ["---:" if one.numeric else ":---" for one in self.columns]
        bold = ["**" if one.strong else "" for one in self.columns]
        rows = [[f"{b}{escape_markdown(cell)}{b}" for b, cell in zip(bold, row, strict=True)] for row in self.rows]
        return lines([escape_markdown(one.name) for one in self.columns], marks, rows)

    def records(self) -> list[dict[str, str]]:
        """Return the rows by column, as Prefect shows them."""
        names = [one.name for one in self.columns]
        return [dict(zip(names, map(_line, row), strict=True)) for row in self.rows]


def lines(header: Sequence[str], marks: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a Markdown table of cells that are Markdown already; `marks` are the columns' alignments."""
    return [f"| {' | '.join(row)} |" for row in (header, marks, *rows)]


def _line(text: str) -> str:
    """Return a cell on one line: a name may contain line breaks."""
    return make_visible(" ".join(text.split()))
