"""`compare`: finished runs side by side, the same items paired, and what changed from right to wrong and back."""

from collections.abc import Iterator, Mapping
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from flows.cli.console import show, written

if TYPE_CHECKING:
    from rich.console import RenderableType

    from metrics.stats.pairs import Comparison
    from tasks.compare.runs import RunComparison

_ROWS = 60
_KEYS = 12
_CHARACTERS = 600


def compare(
    *named: Annotated[str, Parameter(metavar="RUN")],
    folder: Annotated[str, Parameter(name="--runs", metavar="FOLDER")] = "",
    root: Annotated[str, Parameter(metavar="FOLDER")] = "",
    metric: tuple[str, ...] = (),
    pairs: Literal["same", "all"] = "same",
    most: Annotated[int, Parameter(name="--show", metavar="N")] = 5,
    html: Annotated[str, Parameter(metavar="FILE")] = "",
    markdown: Annotated[str, Parameter(metavar="FILE")] = "",
) -> None:
    """Compare finished runs on the items that they have in common: what changed from right to wrong and back.

    Differences are the later-named run minus the earlier-named one. A model of several runs is compared with
    itself. From the runs' tables alone: nothing is asked.

    Args:
        named: a run's id, or the path of its folder
        folder: where runs are (default: artifacts/runs)
        root: the store of their tables, where it has moved since
        metric: compare this metric, such as cot.l1; may be repeated (default: those that the scores are made of)
        pairs: same: a model with itself in another run (all, where no model is in two); all: every two
        most: changed items to print with their texts (default: 5)
        html: write everything as one HTML page
        markdown: write everything as Markdown
    """
    from config.settings import Store
    from tasks.compare.runs import compare_runs
    from tasks.report import comparison

    found = compare_runs(
        named,
        runs=Path(folder or Store().runs),
        root=root,
        metrics=metric,
        every=pairs == "all",
    )
    show(*_parts(found, max(0, most)))
    for path, compose in ((html, comparison.html), (markdown, comparison.markdown)):
        if path:
            written([comparison.write(compose(found), Path(path))])


def _parts(found: "RunComparison", most: int) -> Iterator["RenderableType"]:
    from rich.text import Text

    from tasks.report import comparison
    from tasks.report.text import visible

    yield Text("Runs compared: " + ", ".join(run.name for run in found.runs), style="bold")
    for line in (*comparison.asked(found), *found.notes):
        yield Text(visible(line))
    if found.differences:
        yield _configurations(found)
    yield _pairs(found)
    for line in comparison.groups(found):
        yield Text(visible(line))
    total = sum(frame.height for frame in found.changed)
    for pair, row in _chosen(found, most):
        yield _change(pair, row)
    if total > most:
        yield Text(f"{total - most} of {total} changes are not shown here: --show N shows more, --html FILE all.")
    elif not total:
        yield Text("Nothing changed on any item.")


def _chosen(found: "RunComparison", most: int) -> Iterator[tuple["Comparison", Mapping[str, Any]]]:
    """Choose changes to show: of every pair in turn, losses and gains in turn, the greatest first."""
    import polars as pl

    queues = []
    for pair, frame in zip(found.pairs, found.changed, strict=True):
        gain = pl.col("gain")
        sides = (frame.filter(side).head(most).iter_rows(named=True) for side in (gain < 0, gain > 0))
        queues.append([(pair, row) for row in chain.from_iterable(zip_longest(*sides)) if row])
    yield from islice((one for turn in zip_longest(*queues) for one in turn if one), most)


def _configurations(found: "RunComparison") -> "RenderableType":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from tasks.compare.runs import shorten
    from tasks.report.text import visible

    table = Table(title="What differs in the configurations", box=SIMPLE_HEAD, title_justify="left")
    for name in ("key", *(run.name for run in found.runs)):
        table.add_column(Text(visible(name)), overflow="fold")
    for key, values in found.differences[:_KEYS]:
        table.add_row(*(Text(visible(text)) for text in (key, *map(shorten, values))))
    if (more := len(found.differences) - _KEYS) > 0:
        table.add_row(Text(f"… and {more} more: --html FILE has them all"))
    return table


def _pairs(found: "RunComparison") -> "RenderableType":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from tasks.report.comparison import cells, correction, verdict
    from tasks.report.text import visible

    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        caption="Differences in percentage points; detectable: what so many items show in a single test with power "
        f"0.8. {correction(found)}",
        caption_justify="left",
    )
    for name in ("what", "before → after"):
        table.add_column(name, overflow="fold")
    for name in ("n", "before", "after", "difference", "lost / won", "p", "detectable"):
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("")
    style = {"better": "green", "worse": "red"}
    for pair in found.pairs[:_ROWS]:
        suite, metric, before, after, *rest, said = cells(pair)
        row = (f"{suite}: {metric}", f"{before} → {after}", *rest)
        table.add_row(*(Text(visible(cell)) for cell in row), Text(said, style=style.get(verdict(pair), "")))
    if (more := len(found.pairs) - _ROWS) > 0:
        table.add_row(Text(f"… and {more} more: --html FILE has them all"))
    return table


def _change(pair: "Comparison", row: Mapping[str, Any]) -> "RenderableType":
    from rich.box import ROUNDED
    from rich.table import Table
    from rich.text import Text

    from tasks.report.comparison import clip, outcome, place_of
    from tasks.report.text import visible

    title = Text(visible(f"{row['change']}: {pair.suite}: {pair.metric}: {place_of(row)}"), style="bold")
    table = Table(title=title, title_justify="left", box=ROUNDED, expand=True)
    for label, side in ((pair.model_b, "before"), (pair.model_a, "after")):
        table.add_column(Text(visible(f"{label}: {outcome(row, side)}")), ratio=1, overflow="fold")
    texts = [clip(str(row[f"{side}_text"] or ""), _CHARACTERS) for side in ("before", "after")]
    table.add_row(*(Text(visible(text)) for text in texts))
    table.caption = Text(visible(f"expected: {clip(str(row['answer']), 200)}"))
    table.caption_justify = "left"
    return table
