"""A run's end on one screen: the verdict, one table, who differs from whom, warnings, and files.

The same text is printed at the end of a run and begins the Markdown summary.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from data.characters import visible
from data.suites import Suite, prompted
from prompts.phrases import phrase
from tasks.plan import Plan, expected_lines
from tasks.report import twins
from tasks.report.conclusion import conclusion, differences
from tasks.report.passports import panel
from tasks.report.regressions import baseline_of
from tasks.report.regressions import headline as against
from tasks.report.tables import Column, Table
from tasks.report.text import NAME, duration, listed, plain, shortened, speaking, total_percent, whole_percent
from tasks.report.titles import title_of
from tasks.report.verdict_table import model_rows, model_values
from tasks.report.warnings import notes
from tasks.report.words import asked, best_first, cost_lines, has_overall, measure, shared

if TYPE_CHECKING:
    from rich.console import RenderableType

Results = Mapping[str, Any]
MARKS = {"pass": "✓", "fail": "✗", "undecided": "?", "error": "!", "none": ""}
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
    language: str

    def table(self, width: int | None = None) -> Table:
        """Return the table, limited to `width` characters: names and intervals shrink first, then columns."""
        if width is None:
            return self._table(sys.maxsize, sys.maxsize, len(self.columns), around=True)
        ways = [(len(self.columns), fit) for fit in _FITS]
        ways += [(shown, _FITS[-1]) for shown in range(len(self.columns) - 1, 0, -1)]
        tables = (self._table(names, heads, shown, around=around) for shown, (names, heads, around) in ways)
        for made in tables:
            texts = zip([one.name for one in made.columns], *made.rows, strict=True)
            if sum(max(len(visible(one)) for one in column) + GAP for column in texts) - GAP <= width:
                break
        return made

    def _table(self, names: int, heads: int, shown: int, *, around: bool) -> Table:
        there = [*self.columns[:shown], *(["…"] if shown < len(self.columns) else [])]
        head = [Column(phrase("common.model", self.language), unbroken=True)]
        head += [Column(shortened(name, heads), numeric=True, unbroken=True) for name in there]
        more, models = [""] * (len(there) - shown), [name for name, _ in self.rows]
        rows = [
            [shortened(name, names, models), *(cell.text(around=around) for cell in cells[:shown]), *more]
            for name, cells in self.rows
        ]
        if self.folded:
            between = phrase("screen.folded", self.language, n=self.folded)
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
            yield from (*below, *self._warned(), self.calls, *self.links)
            return
        height = len(table.rows) + 2 + sum(-(-len(link) // width) for link in self.links)
        for most, warned in _LINES:
            first, then, rest = (_wrapped(lines, width, most) for lines in (above, below, [self.calls]))
            then += _wrapped([*self._warned()], width, warned)
            room = HEIGHT - 1 - height - sum(map(len, (first, then, rest)))
            if room >= 0:
                break
        gaps = [""] if room >= bool(then) + 2 else []
        yield from (*first, *gaps)
        yield shown
        yield from (*gaps, *then, *(gaps if then else []), *rest, *self.links)

    def _warned(self) -> Iterator[str]:
        for line in self.warnings[:WARNINGS]:
            yield f"{shared('warning', self.language)}: {line}"
        if (more := len(self.warnings) - WARNINGS) > 0:
            yield phrase("screen.more_warnings", self.language, n=more)

    def markdown(self) -> list[str]:
        """Return the lines in Markdown, without links: a merge request is read elsewhere."""
        lines = (*self.differences, *self.notes, *self._warned(), self.calls)
        return [
            f"**{plain(self.verdict)}**",
            "",
            *self.table().markdown(),
            "",
            *(f"- {plain(one)}" for one in lines),
        ]


def _wrapped(lines: Iterable[str], width: int, most: int) -> list[str]:
    return [
        part
        for line in lines
        for part in wrap(visible(line), width, max_lines=most, placeholder=" …", break_on_hyphens=False)
    ]


@speaking(lambda _, plan, *__, **___: plan.report.language)
def screen(
    results: Results,
    plan: Plan,
    requests: Mapping[str, int],
    wall_s: float | None = None,
    files: Sequence[str | Path] = (),
) -> Screen:
    """Return a run's screen from its results, its requests' outcomes, its duration, and the files to name."""
    language = plan.report.language
    models = best_first(results)
    only = plan.suites[0].suite
    if len(plan.suites) == 1 and only.strata and not only.of_k:  # a TOTAL is of means
        columns, cells = _families(results, only, language)
    else:
        columns, cells = _suites(models, language)
    for row in model_rows(results, language):
        for title, text in model_values(row, language).items():
            columns += [title] if title not in columns else []
            cells[row.model["model"], title] = ShareCell(text)
    named = [model["model"] for model in models]
    if fold := max(0, len(named) - MODELS):
        named = [*named[: MODELS - WORST - 1], *named[-WORST:]]
    return Screen(
        verdict=str(conclusion(results, language)),
        columns=columns,
        rows=[(name, [cells.get((name, column), ShareCell("")) for column in columns]) for name in named],
        folded=fold + 1 if fold else 0,
        differences=[
            *differences(results, language, prompted(plan.declared, plan.configured)),
            *against(baseline_of(results), language),
        ],
        notes=[
            *_beside(models, language),
            *twins.lines(results, language),
            *panel(results, language),
            *expected_lines(plan),
        ],
        warnings=[one.text for one in notes(results, plan) if one.kind == "warn" and not one.judge],
        calls=calls(results, requests, wall_s, language),
        links=[
            phrase(f"screen.{name}", language, link=Path(path).resolve().as_uri())
            for name, path in zip(("report", "results"), files, strict=False)
        ],
        language=language,
    )


def _families(results: Results, suite: Suite, language: str) -> tuple[list[str], dict[tuple[str, str], ShareCell]]:
    """Return the seed's table: a share for each family, and TOTAL."""
    found = {
        (one["model"], title_of(one["family"], language)): ShareCell(whole_percent(one["mean"]))
        for one in results["cells"]
        if (one["suite"], one["metric"], one["level"], one["language"]) == (suite.name, suite.scored_by[0], "", "")
        and one["family"]
    }
    columns, total = dict.fromkeys(title for _, title in found), shared("total", language)
    for model in results["final"]["models"]:
        (part,) = model["suites"]
        score = total_percent(results["totals"].get(model["model"], {}).get("percent")).removesuffix("%")
        found[model["model"], total] = ShareCell(score, mark=MARKS[part["outcome"]])
    return [*columns, total], found


def _suites(
    models: Sequence[Mapping[str, Any]], language: str
) -> tuple[list[str], dict[tuple[str, str], ShareCell]]:
    overall = shared("overall", language)
    columns = {overall: None} if any(map(has_overall, models)) else {}
    found = {(one["model"], overall): _cell(one, language) for one in models if has_overall(one)}
    for model in models:
        for part in model["suites"]:
            title = " ".join(filter(None, (part["suite"], measure(part))))
            columns[title] = None
            found[model["model"], title] = _cell(part, language)
    return [*columns], found


def _cell(part: Mapping[str, Any], language: str) -> ShareCell:
    mark, limit = MARKS[part["outcome"]], part["threshold"]
    if not part.get("measured", True):
        return ShareCell(shared("unmeasured", language), mark=mark)
    low, high = part["interval"]["low"], part["interval"]["high"]
    around = "" if low is None else f"{whole_percent(low, limit)}–{whole_percent(high, limit)}"
    return ShareCell(whole_percent(part["score"], limit), around, mark)


def _beside(models: Sequence[Mapping[str, Any]], language: str) -> Iterator[str]:
    """Yield how many questions decided a suite, and its headline values; their meaning is documented elsewhere."""
    there = [model["model"] for model in models]
    short = {name: shortened(name, among=there) for name in there}
    every = [(short[model["model"]], part) for model in models for part in model["suites"]]
    stopped: dict[str, list[str]] = {}
    means: dict[tuple[str, str], list[str]] = {}
    for name, part in every:
        if one := part.get("stopping"):
            counted = shared("of", language, k=one["asked"], n=one["most"])
            stopped.setdefault(part["suite"], []).append(f"{name} {counted}")
        for beside, mean in part["beside"].items():
            if mean is not None:
                told = whole_percent(mean)
                means.setdefault((part["suite"], beside), []).append(told if len(models) == 1 else f"{name} {told}")
    for suite, each in stopped.items():
        yield phrase("screen.stopping", language, suite=suite, each=listed(each, language))
    for (suite, beside), each in means.items():
        yield phrase("screen.beside", language, suite=suite, name=beside, each=listed(each, language))


def calls(results: Results, requests: Mapping[str, int], wall_s: float | None, language: str) -> str:
    """Return a line with the requests, their cost, and the duration."""
    said = [asked(requests, language), *islice(cost_lines(results, language), 1)]
    if wall_s is not None:
        said.append(phrase("screen.took", language, time=duration(wall_s, language)))
    return " ".join(said)
