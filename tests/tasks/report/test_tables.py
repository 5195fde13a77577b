"""One table in three ways of showing it, in none of which a model's text does anything."""

import io
import itertools
import re
from html import unescape

import pytest
from markdown_it import MarkdownIt
from rich.cells import cell_len
from rich.console import Console

from basic_control.tasks.report.fitting import fit_table
from basic_control.tasks.report.pages import environment
from basic_control.tasks.report.tables import Column, Table
from basic_control.tasks.report.text import escape_markdown

HOSTILE = "<b>\x1b[31m|x|\nname[/]"


def at_a_terminal(table: Table, most: int = 60) -> str:
    """Print a table as a terminal of 200 columns shows it."""
    out = io.StringIO()
    Console(file=out, width=200).print(table.terminal(most))
    return out.getvalue()


def test_an_entity_in_a_text_is_shown_in_markdown_as_it_stands() -> None:
    """`&rlm;` would turn the direction of what follows."""
    shown = MarkdownIt("commonmark").render(escape_markdown("AT&amp;T &rlm;gnp"))
    assert unescape(re.sub("<[^>]+>", "", shown)).strip() == "AT&amp;T &rlm;gnp"


def test_every_way_has_every_cell_on_one_line_and_obeys_none() -> None:
    table = Table(
        (Column("model"), Column("score", numeric=True)), [(HOSTILE, "80%"), ("b", "7%")], title="[red]Run"
    )
    shown = at_a_terminal(table)
    assert "[red]Run" in shown
    assert "<b>⟦U+001B⟧[31m|x| name[/]" in shown
    assert "\x1b" not in shown
    assert table.markdown()[1] == "| :--- | ---: |"
    assert table.markdown()[2] == r"| &lt;b&gt;\[31m\|x\| name\[/\] | 80% |"
    assert table.records()[1] == {"model": "b", "score": "7%"}
    assert table.records()[0]["model"] == "<b>⟦U+001B⟧[31m|x| name[/]"


def test_a_long_table_ends_at_a_terminal_with_how_many_more_there_are() -> None:
    table = Table((Column("n"),), [(str(n),) for n in range(100, 150)])
    shown = at_a_terminal(table, most=2)
    assert "101" in shown
    assert "102" not in shown
    assert "… and 48 more" in shown
    assert len(table.markdown()) == 52


LONG = "provider/meta-llama/llama-3.3-70b-instruct-turbo"


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize(
    "rows",
    [
        [("entails", "28/30 = 93.3% (78.7–98.2)", "usable")],
        [("entails", "28/30 = 93.3% (78.7–98.2)", "usable, but hardly better than chance")],
        [("entails", "–", "its exam had right replies only, or wrong ones only"), (LONG, "0/3 = 0% (0–56.2)", "")],
        [("评审", "30/30 = 100% (88.6–100)", "正确"), ("b", "", "b c " * 60)],
    ],
)
def test_no_word_of_a_table_that_is_fitted_is_broken(rows: list[tuple[str, ...]], width: int) -> None:
    """What has no room as a table stands in a block a row."""
    columns = (Column("Step"), Column("Sensitivity", unbroken=True), Column("Verdict of the exam"))
    out = io.StringIO()
    console = Console(file=out, width=width)
    for part in fit_table(Table(columns, rows, title=f"Passport of {LONG}"), width):
        console.print(part, soft_wrap=isinstance(part, str))
    text = out.getvalue()
    for word in " ".join([*(column.name for column in columns), *itertools.chain(*rows)]).split():
        assert word in text.split()
    longest = max(width, len(LONG) + len("Verdict of the exam  "))
    assert max(map(cell_len, text.splitlines())) <= longest
    for row in rows:
        assert " ".join(row[2].split()) in " ".join(text.split()) or "─" in text, "a block has a cell in one piece"


def on_a_page(table: Table) -> str:
    """Return a table as pages have it."""
    return (
        environment().from_string('{% from "table.html.j2" import drawn %}{{ drawn(table) }}').render(table=table)
    )


def test_a_column_takes_its_cells_and_stands_in_every_rendering() -> None:
    heads = [Column("model", lambda one: one[0]), Column("score", lambda one: f"{one[1]:.0%}", numeric=True)]
    added = Column("cost", lambda one: f"{one[1] / 100:.3f} <USD>", numeric=True)
    table = Table.of([("a", 0.8), ("b", 0.07)], *heads, added, title="Models")
    assert table.rows == [["a", "80%", "0.008 <USD>"], ["b", "7%", "0.001 <USD>"]]
    assert "cost" in at_a_terminal(table)
    assert "0.008 <USD>" in at_a_terminal(table)
    assert table.markdown()[0] == "| model | score | cost |"
    assert table.markdown()[2] == "| a | 80% | 0.008 &lt;USD&gt; |"
    assert table.records()[1]["cost"] == "0.001 <USD>"
    assert '<th scope="col" role="columnheader" class="num">cost</th>' in on_a_page(table)
    assert '<td role="cell" data-label="cost" class="num">0.008 &lt;USD&gt;</td>' in on_a_page(table)
