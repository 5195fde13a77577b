"""A run's end on one screen: the verdict, one table, who differs from whom, warnings, and files.

The same text is printed at the end of a run and begins the Markdown summary.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from basic_control.data.characters import make_visible
from basic_control.data.deciding import columns as columns_of
from basic_control.data.exits import GateOutcome
from basic_control.data.suites import Suite, find_targets
from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.slices import Slice
from basic_control.metrics.analysis.spending import Spending
from basic_control.metrics.analysis.summary import Total
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.tasks.plan import Plan
from basic_control.tasks.plan_remarks import format_expected_remarks, format_newly_apart
from basic_control.tasks.report import twins
from basic_control.tasks.report.cascades import cascade_lines
from basic_control.tasks.report.conclusion import conclusion, differences
from basic_control.tasks.report.language import say
from basic_control.tasks.report.passports import panel
from basic_control.tasks.report.regressions import headline as against
from basic_control.tasks.report.tables import Column, Table
from basic_control.tasks.report.text import (
    NAME,
    duration,
    escape_markdown,
    format_estimate,
    format_whole_percent,
    join_names,
    percent,
    shorten_name,
    total_percent,
)
from basic_control.tasks.report.titles import family_title, metric_title
from basic_control.tasks.report.verdict_table import model_rows, model_values
from basic_control.tasks.report.warnings import notes
from basic_control.tasks.report.words import (
    cost_lines,
    describe_calls,
    headlines_of,
    is_named,
    measure,
    metric_name,
    score_name,
    sort_by_score,
    suite_title,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

MARKS: Mapping[GateOutcome, str] = {"pass": "✓", "fail": "✗", "undecided": "?", "error": "!", "none": ""}
MODELS = 6
"""Maximum rows of the table; with more models, the best and the worst are shown."""
WORST = 2
WARNINGS = 3
HEIGHT = 24
"""Lines of a terminal."""
_LINES = ((3, 2), (2, 2), (2, 1), (1, 1))
"""Maximum lines of a sentence and of a warning: the first with which the whole screen fits."""
GAP = 2
"""Characters between two columns."""
_FITS = ((NAME, NAME, True), (NAME, 13, True), (18, 10, True), (NAME, 13, False), (18, 10, False), (14, 8, False))
"""Widths of models' and columns' names, and whether to show intervals: the first that fits the terminal."""


@dataclass(frozen=True, slots=True)
class ShareCell:
    """A cell: a score, its interval if it has one, and the mark of its outcome."""

    score: str = "–"
    around: str = ""
    mark: str = ""

    def text(self, *, around: bool = True) -> str:
        """Return the cell's text."""
        return " ".join(filter(None, (self.score, self.around if around else "", self.mark)))


@dataclass(frozen=True, slots=True)
class Screen:
    """A run's final screen. `rows` are models with their cells; after `fold` of them only the last ones follow."""

    verdict: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[ShareCell]]]
    folded: int
    differences: Sequence[str]
    notes: Sequence[str]
    warnings: Sequence[str]
    calls: str
    links: Sequence[str]
    examples: Sequence[str] = ()

    def table(self, width: int | None = None) -> Table:
        """Return the table, limited to `width` characters: names and intervals shrink first, then columns."""
        if width is None:
            return self._table(sys.maxsize, sys.maxsize, len(self.columns), around=True)
        ways = [(len(self.columns), fit) for fit in _FITS]
        ways += [(shown, _FITS[-1]) for shown in range(len(self.columns) - 1, 0, -1)]
        tables = (self._table(names, heads, shown, around=around) for shown, (names, heads, around) in ways)
        for made in tables:
            texts = zip([one.name for one in made.columns], *made.rows, strict=True)
            if sum(max(len(make_visible(one)) for one in column) + GAP for column in texts) - GAP <= width:
                break
        return made

    def _table(self, names: int, heads: int, shown: int, *, around: bool) -> Table:
        there = [*self.columns[:shown], *(["…"] if shown < len(self.columns) else [])]
        head = [Column(say("common.model"), unbroken=True)]
        head += [Column(shorten_name(name, heads), numeric=True, unbroken=True) for name in there]
        more, models = [""] * (len(there) - shown), [name for name, _ in self.rows]
        rows = [
            [shorten_name(name, names, models), *(cell.text(around=around) for cell in cells[:shown]), *more]
            for name, cells in self.rows
        ]
        if self.folded:
            between = say("screen.folded", n=self.folded)
            rows.insert(len(rows) - WORST, [between, *([""] * len(there))])
        return Table(head, rows)

    def terminal(self, width: int, *, whole: bool = False) -> "Iterator[RenderableType]":
        """Yield the parts for a terminal of that width; `whole`: untruncated, for a file.

        Sentences are truncated if they take too many lines; the reports have them whole.
        """
        table = self.table(width)
        shown = table.terminal(len(table.rows))
        above, below = [self.verdict], [*self.differences, *self.notes]
        if whole:
            yield self.verdict
            yield shown
            yield from (*self.examples, *below, *self._warned(), self.calls, *self.links)
            return
        height = len(table.rows) + 2 + sum(-(-len(link) // width) for link in self.links)
        for most, warned in _LINES:
            first, then, rest = (_wrapped(lines, width, most) for lines in (above, below, [self.calls]))
            then += _wrapped([*self._warned()], width, warned)
            room = HEIGHT - 1 - height - sum(map(len, (first, then, rest)))
            if room >= 0:
                break
        # What is seen of replies may take no line of what is said of the scores.
        examples = self.examples[: max(0, room - 1)]
        room -= len(examples)
        gaps = [""] if room >= bool(then) + 2 else []
        yield from (*first, *gaps)
        yield shown
        yield from (
            *gaps,
            *examples,
            *(gaps if examples else []),
            *then,
            *(gaps if then else []),
            *rest,
            *self.links,
        )

    def _warned(self) -> Iterator[str]:
        for line in self.warnings[:WARNINGS]:
            yield f"{say('common.warning')}: {line}"
        if (more := len(self.warnings) - WARNINGS) > 0:
            yield say("screen.more_warnings", n=more)

    def markdown(self) -> list[str]:
        """Return the lines in Markdown, without links: a merge request is read elsewhere."""
        lines = (*self.differences, *self.notes, *self._warned(), self.calls)
        return [
            f"**{escape_markdown(self.verdict)}**",
            "",
            *self.table().markdown(),
            "",
            *(f"- {escape_markdown(one)}" for one in lines),
        ]


def _wrapped(lines: Iterable[str], width: int, most: int) -> list[str]:
    return [
        part
        for line in lines
        for part in wrap(make_visible(line), width, max_lines=most, placeholder=" …", break_on_hyphens=False)
    ]


def screen(
    results: Results,
    verdict: RunVerdict,
    plan: Plan,
    requests: Mapping[str, int],
    *,
    wall_s: float | None = None,
    files: Sequence[str | Path] = (),
    examples: Sequence[str] = (),
    changed: Sequence[str] = (),
) -> Screen:
    """Return a run's screen from its results, its requests' outcomes, its duration, and the files to name.

    `examples` are rows that failed, `changed` says how many came out otherwise than in the run before.

    It is in the current language, in which it is also to be rendered.
    """
    models = sort_by_score(verdict.models)
    headlines = headlines_of(models)
    only = plan.suites[0].suite
    is_total = only.strata and not only.of_k and len(columns_of(only)) == 1  # a TOTAL is of means
    if len(plan.suites) == 1 and is_total:
        columns, cells = _families(results, verdict.models, only)
    else:
        columns, cells = _scores(models)
    for row in model_rows(verdict.models, results.spending):
        for title, text in model_values(row).items():
            columns += [title] if title not in columns else []
            cells[row.model.model, title] = ShareCell(text)
    names = shown = [model.model for model in models]
    if fold := max(0, len(names) - MODELS):
        shown = [*names[: MODELS - WORST - 1], *names[-WORST:]]
    links = zip(("screen.report", "screen.results"), files, strict=False)
    return Screen(
        verdict=str(conclusion(verdict, results.baseline)),
        columns=columns,
        rows=[(name, [cells.get((name, column), ShareCell("")) for column in columns]) for name in shown],
        folded=fold + 1 if fold else 0,
        differences=[
            *differences(verdict.models, results.compared, find_targets(plan.declarations, plan.model_names)),
            *against(results.baseline),
        ],
        notes=[
            *changed,
            *_stopped(headlines, names),
            *_beside(headlines, names),
            *twins.lines(results.twins.results),
            *panel(headlines_of(verdict.models), results.judged, str(results.run.get("run", ""))),
            *cascade_lines(results.judged.cascades),
            *_slices(results.compared.slices, names),
            *format_expected_remarks(plan),
            *format_newly_apart(plan, results.run),
        ],
        warnings=[note.text for note in notes(results, verdict, plan) if note.kind == "warn" and not note.judge],
        calls=calls(results.spending, requests, wall_s),
        examples=examples,
        links=[say(name, link=Path(path).resolve().as_uri()) for name, path in links],
    )


_Cells = dict[tuple[str, str], ShareCell]
"""Cells by model and column."""


def _families(results: Results, models: Iterable[ModelResult], suite: Suite) -> tuple[list[str], _Cells]:
    """Return the seed's table: a share for each family, and TOTAL."""
    found = {
        (cell.model, family_title(cell.family)): ShareCell(format_whole_percent(cell.value.mean))
        for cell in results.cells
        if (cell.suite, cell.metric, cell.level, cell.language) == (suite.name, suite.score_metrics[0], "", "")
        and cell.family
    }
    columns, total = dict.fromkeys(title for _, title in found), say("common.total")
    for model in models:
        (headline,) = model.headlines
        share = results.totals.get(model.model, Total(None)).percent
        score = total_percent(share).removesuffix("%")
        found[model.model, total] = ShareCell(score, mark=MARKS[headline.decided.outcome])
    return [*columns, total], found


def _scores(models: Sequence[ModelResult]) -> tuple[list[str], _Cells]:
    """Return a column for the overall score, if any model has one, and for each suite's."""
    overall = say("common.overall")
    found = {(model.model, overall): _cell(model.overall) for model in models if model.has_overall}
    columns = {overall: None} if found else {}
    headlines = headlines_of(models)
    is_single = len({headline.suite for headline in headlines}) == 1
    for headline in headlines:
        name = metric_name(headline) if is_single and is_named(headline) else score_name(headline)
        title = " ".join(filter(None, (name, measure(headline))))
        columns[title] = None
        found[headline.model, title] = _cell(headline)
    return [*columns], found


def _cell(headline: Headline) -> ShareCell:
    mark, threshold = MARKS[headline.decided.outcome], headline.decided.threshold
    if not headline.missing.is_measured:
        return ShareCell(say("common.unmeasured"), mark=mark)
    score = headline.measured.score
    around = ""
    if score.interval.low is not None:
        low, high = (
            format_whole_percent(score.interval.low, threshold),
            format_whole_percent(score.interval.high, threshold),
        )
        around = f"{low}–{high}"
    return ShareCell(format_whole_percent(score.mean, threshold), around, mark)


def _stopped(headlines: Iterable[Headline], names: Sequence[str]) -> Iterator[str]:
    """Yield how many questions decided a suite that is asked until decided."""
    stopped: dict[str, list[str]] = {}
    for headline in headlines:
        if sequence := headline.measured.stopping:
            counts = say("common.of", k=sequence.asked, n=sequence.most)
            stopped.setdefault(headline.suite, []).append(f"{shorten_name(headline.model, among=names)} {counts}")
    for suite, counts_of_models in stopped.items():  # a model's headlines are asked together
        yield say("screen.stopping", suite=suite_title(suite), each=join_names([*dict.fromkeys(counts_of_models)]))


def _slices(slices: Sequence[Slice], names: Sequence[str]) -> Iterator[str]:
    """Yield the worst slice of each suite and model, if it is worse than the other rows."""
    worst: dict[tuple[str, str, str], Slice] = {}
    for row in slices:
        worst.setdefault((row.suite, row.model, row.metric), row)
    for row in worst.values():
        if row.elsewhere is None or row.score.mean is None or row.score.mean >= row.elsewhere:
            continue
        yield say(
            "screen.slice",
            suite=suite_title(row.suite),
            model=shorten_name(row.model, among=names),
            column=row.column,
            text=escape_markdown(row.text or "–"),
            score=format_estimate(row.score),
            others=percent(row.elsewhere),
            note=say("screen.slice_significant") if row.significant else "",
        )


def _beside(headlines: Sequence[Headline], names: Sequence[str]) -> Iterator[str]:
    """Yield the headline values beside the scores; their meaning is documented elsewhere."""
    means: dict[tuple[str, str], list[str]] = {}
    for headline in headlines:
        name = "" if len(names) == 1 else f"{shorten_name(headline.model, among=names)} "
        for beside, mean in headline.measured.beside.items():
            if mean is not None:
                means.setdefault((headline.suite, beside), []).append(f"{name}{format_whole_percent(mean)}")
    for (_, beside), means_of_models in means.items():
        yield say("screen.beside", name=metric_title(beside), each=join_names([*dict.fromkeys(means_of_models)]))


def calls(spending: Spending | None, requests: Mapping[str, int], wall_s: float | None) -> str:
    """Return a line with the requests, their cost, and the duration."""
    parts = [describe_calls(requests), *islice(cost_lines(spending), 1)]
    if wall_s is not None:
        parts.append(say("screen.took", time=duration(wall_s)))
    return " ".join(parts)
