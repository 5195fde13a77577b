"""`compare`: runs, or other tools' files, side by side: what differs beyond chance, what changed on which item."""

from collections.abc import Iterator, Mapping
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from flows.cli.completers import RUN
from flows.cli.console import show, written
from flows.cli.options import FileOptions, Where

if TYPE_CHECKING:
    from rich.console import RenderableType

    from metrics.analysis.pairs import Comparison
    from tasks.compare.runs import RunComparison

_ANSWERS = 3
_KEYS = 12
_CHARACTERS = 300


def compare(
    *named: Annotated[str, RUN],
    metric: tuple[str, ...] = (),
    pairs: Literal["same", "all"] = "same",
    most: Annotated[int, Parameter(name="--show", metavar="N")] = 3,
    html: Annotated[str, Parameter(metavar="FILE")] = "",
    markdown: Annotated[str, Parameter(metavar="FILE")] = "",
    json: Annotated[str, Parameter(metavar="FILE")] = "",
    junit: Annotated[str, Parameter(metavar="FILE")] = "",
    language: str = "",
    verify: Annotated[str, Parameter(metavar="METRIC")] = "",
    form: FileOptions | None = None,
    at: Where | None = None,
) -> None:
    """Compare runs, or files of other tools, on the questions that they have in common: what changed, and whether.

    A file is told apart by what it holds: Inspect (.eval, .json), lm-evaluation-harness (samples_*.jsonl),
    promptfoo, DeepEval, ragas, OpenAI Evals, Every Eval Ever, MLflow, or any CSV, JSONL or Parquet.
    Differences are the later-named run minus the earlier-named one. A model of several runs is compared with
    itself; of a single run, its models with each other, the later-configured minus the earlier one. From the runs'
    tables alone: nothing is asked.

    Args:
        named: a run's id or folder, or a file or folder of another tool
        metric: compare this metric, such as cot.l1; may be repeated (default: those that the scores are made of)
        pairs: same: a model with itself in another run (all, where no model is in two); all: every two
        most: changed items to print with their texts (default: 3)
        html: write everything as one HTML page
        markdown: write everything as Markdown
        json: write everything as JSON
        junit: write a case for each difference, which fails where the later one is worse
        verify: score the replies of files again by this metric of ours, such as number, and say where it differs
        language: of what is said, such as en or ru (default: that of the last run's report)
    """
    from tasks.compare.runs import compare_runs
    from tasks.report import comparison
    from tasks.store.tables import write_atomically

    where = at or Where()
    found = compare_runs(
        named,
        runs=where.runs,
        root=where.root,
        metrics=metric,
        every=pairs == "all",
        language=language,
        form=(form or FileOptions()).form(verify),
    )
    show(*_parts(found, max(0, most)))
    composed = ((html, comparison.html), (markdown, comparison.markdown), (json, comparison.document),
                (junit, comparison.junit))  # fmt: skip
    for path, compose in composed:
        if path:
            written([write_atomically(Path(path), compose(found))], found.language)


def _parts(found: "RunComparison", most: int) -> Iterator["RenderableType"]:
    from rich.text import Text

    from data.characters import visible
    from prompts.phrases import phrase
    from tasks.report import comparison

    for line in comparison.answers(found, _ANSWERS):
        yield Text(visible(line), style="bold")
    if found.pairs:
        yield comparison.table(found).terminal(language=found.language)
    for line in comparison.groups(found):
        yield Text(visible(line))
    total = sum(frame.height for pair, frame in zip(found.pairs, found.changed, strict=True) if found.listed(pair))
    for pair, row in _chosen(found, most):
        yield _change(pair, row, found.language)
    if total > most:
        yield Text(phrase("compare.not_shown", found.language, k=total - most, n=total))
    elif found.pairs and not total:
        yield Text(phrase("compare.nothing_changed", found.language))
    for line in (
        *comparison.asked(found),
        *comparison.verified(found, most),
        *found.notes,
        *comparison.bounds(found),
    ):
        yield Text(visible(line))
    if found.differences:
        yield comparison.configurations(found).terminal(_KEYS, found.language)


def _chosen(found: "RunComparison", most: int) -> Iterator[tuple["Comparison", Mapping[str, Any]]]:
    """Choose changes to show: of every pair in turn, losses and gains in turn, the greatest first."""
    import polars as pl

    queues = []
    for pair, frame in zip(found.pairs, found.changed, strict=True):
        if not found.listed(pair):
            continue
        gain = pl.col("gain")
        heads = (frame.filter(side).head(most) for side in (gain < 0, gain > 0))
        sides = (found.with_texts(head, pair).iter_rows(named=True) for head in heads)
        queues.append([(pair, row) for row in chain.from_iterable(zip_longest(*sides)) if row])
    yield from islice((one for turn in zip_longest(*queues) for one in turn if one), most)


def _change(pair: "Comparison", row: Mapping[str, Any], language: str) -> "RenderableType":
    from rich.box import ROUNDED
    from rich.table import Table as Sides
    from rich.text import Text

    from data.characters import visible
    from prompts.phrases import phrase
    from tasks.compare.runs import shorten
    from tasks.report.comparison import change_of, clip, headline, outcome, place_of

    named = headline(pair, language)
    said = f"{change_of(row, language)}: {named}: {shorten(row['prompt'] or place_of(row, language))}"
    title = Text(visible(said), style="bold")
    table = Sides(title=title, title_justify="left", box=ROUNDED, expand=True)
    for label, side in ((pair.model_b, "before"), (pair.model_a, "after")):
        table.add_column(Text(visible(f"{label}: {outcome(row, side, language)}")), ratio=1, overflow="fold")
    texts = [clip(str(row[f"{side}_text"] or ""), _CHARACTERS, language) for side in ("before", "after")]
    table.add_row(*(Text(visible(text)) for text in texts))
    if row["answer"]:
        answer = clip(str(row["answer"]), 200, language)
        table.caption = Text(visible(phrase("compare.expected_is", language, answer=answer)))
        table.caption_justify = "left"
    return table
