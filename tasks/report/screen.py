"""A run's end on one screen: the verdict, one table, who differs from whom, warnings, and files.

The same text is printed at the end of a run and begins the Markdown summary.
"""

import sys
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from basic_control.config.declared import load_declarations
from basic_control.data.characters import make_visible
from basic_control.data.deciding import columns, components
from basic_control.data.exits import Exit, GateOutcome
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
from basic_control.tasks.report.conclusion import conclusion, reasons
from basic_control.tasks.report.language import say, say_reason
from basic_control.tasks.report.passports import panel
from basic_control.tasks.report.ranking import differences
from basic_control.tasks.report.regressions import headline as against
from basic_control.tasks.report.tables import Column, Table
from basic_control.tasks.report.text import (
    NAME,
    duration,
    escape_markdown,
    format_estimate,
    format_whole_percent,
    join_lines,
    join_names,
    percent,
    shorten_name,
    shorten_path,
    total_percent,
    wrap_line,
)
from basic_control.tasks.report.titles import family_title, metric_title
from basic_control.tasks.report.verdict_table import model_rows, model_values
from basic_control.tasks.report.warnings import notes
from basic_control.tasks.report.words import (
    cost_lines,
    describe_calls,
    headlines_of,
    is_within_luck,
    score_name,
    score_title,
    sort_by_score,
    suite_title,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

MARKS: Mapping[GateOutcome, str] = {"pass": "✓", "fail": "✗", "undecided": "?", "error": "!", "none": ""}
_EXPLAINED: tuple[GateOutcome, ...] = ("error", "undecided")
"""Outcomes whose marks need words."""
MODELS = 6
"""Maximum rows of the table; with more models, the best and the worst are shown."""
WORST = 2
_LEAST_PARTS = 2
WARNINGS = 3
HEIGHT = 24
"""Lines of a terminal."""
_LINES = ((5, 2), (4, 2), (3, 2), (2, 2), (2, 1), (1, 1))
"""Maximum lines of a sentence and of a warning: the first with which the whole screen fits."""
GAP = 2
"""Characters between two columns."""
_FITS = ((NAME, sys.maxsize), (NAME, 16), (NAME, 8), (18, 8), (14, 8))
"""Widths of models' names and of a line of a column's title, which breaks between words: the first that fits."""
_LONGEST_WORD = 30
"""Characters to which a word of a title is cut if it fits no terminal."""


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """A cell: a score, the mark of its outcome, and its interval if it has one."""

    score: str = "–"
    mark: str = ""
    around: str = ""

    def text(self, *, around: bool = True) -> str:
        """Return the cell's text."""
        parts = [self.score, self.mark]
        if around:
            parts.append(self.around and f"({self.around})")
        return " ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """A column: what was measured, and the threshold in percent, '' without one."""

    title: str
    threshold: str = ""

    @property
    def name(self) -> str:
        """The title with the threshold."""
        return f"{self.title} {self._limit}".rstrip()

    @property
    def _limit(self) -> str:
        if not self.threshold:
            return ""
        return f"≥ {self.threshold}"

    def break_name(self, width: int, *, has_threshold: bool) -> str:
        """Return the name in lines, of `width` characters where no word is longer.

        With `has_threshold` the last line is for the threshold, also if this column has none.
        """
        limit = max(_LONGEST_WORD, width)
        title = " ".join(shorten_name(word, limit) for word in self.title.split())
        lines = wrap(title, width, break_long_words=False, break_on_hyphens=False)
        if has_threshold:
            lines.append(self._limit)
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class FileLink:
    """A line that names a file, which a terminal opens by its `address`."""

    text: str
    address: str

    def __str__(self) -> str:
        """Return the line."""
        return self.text

    def terminal(self) -> "RenderableType":
        """Return the line for a terminal, which may fold it, since a path is not broken."""
        from rich.text import Text

        return Text(make_visible(self.text), style=f"link {self.address}", no_wrap=True, overflow="ignore")


@dataclass(frozen=True, slots=True)
class Screen:
    """A run's final screen. `rows` are models with their cells; after `folded` of them the last ones follow."""

    verdict: str
    columns: Sequence[ScoreColumn]
    rows: Sequence[tuple[str, Sequence[ScoreCell]]]
    folded: int
    differences: Sequence[str]
    notes: Sequence[str]
    warnings: Sequence[str]
    calls: str
    links: Sequence[FileLink]
    examples: Sequence[str] = ()
    reasons: Sequence[str] = ()

    def table(self, width: int | None = None) -> Table:
        """Return the table, limited to `width` characters.

        Titles break and names shrink first, then intervals go, the first column's last, and then columns.
        """
        n_columns = len(self.columns)
        certain = sorted({n for _, cells in self.rows for n, cell in enumerate(cells) if cell.around})
        if width is None:
            heads = [say("common.model"), *(column.name for column in self.columns)]
            return self._build_table(heads, sys.maxsize, certain)
        first_head = say("common.model")
        has_threshold = any(column.threshold for column in self.columns)
        if has_threshold:
            first_head += f"\n{say('page.threshold')}"
        attempts = [(n_columns, n_intervals, fit) for n_intervals in (n_columns, 1, 0) for fit in _FITS]
        attempts += [(n, 0, fit) for n in range(n_columns - 1, 0, -1) for fit in _FITS[-2:]]
        for n, n_intervals, (name_width, head_width) in attempts:
            with_intervals = certain[:n_intervals]
            heads = [column.break_name(head_width, has_threshold=has_threshold) for column in self.columns[:n]]
            table = self._build_table([first_head, *heads], name_width, with_intervals)
            # No two models may be cut to one name.
            names = {row[0] for row in table.rows}
            if _measure_width(table) <= width and len(names) == len(table.rows):
                break
        return table

    def _build_table(self, heads: Sequence[str], name_width: int, with_intervals: Collection[int]) -> Table:
        """Return the table of the columns that have a head, some with intervals, the models' names first."""
        n = len(heads) - 1
        # Columns that find no room are hinted at.
        hint = ["…"] if n < len(self.columns) else []
        columns = [Column(heads[0], unbroken=True)]
        columns += [Column(head, numeric=True, unbroken=True) for head in (*heads[1:], *hint)]
        models, rows = [name for name, _ in self.rows], []
        for name, cells in self.rows:
            texts = [cell.text(around=number in with_intervals) for number, cell in enumerate(cells[:n])]
            rows.append([shorten_name(name, name_width, models), *texts, *([""] * len(hint))])
        if self.folded:
            ellipsis = say("screen.folded", n=self.folded)
            rows.insert(len(rows) - WORST, [ellipsis, *([""] * (len(columns) - 1))])
        return Table(columns, rows)

    def terminal(self, width: int, *, whole: bool = False) -> "Iterator[RenderableType]":
        """Yield the parts for a terminal of that width; `whole`: untruncated, for a file.

        Sentences are truncated if they take too many lines; the reports have them whole.
        """
        table = self.table(width)
        rich_table = table.terminal(len(table.rows))
        below = [*self.reasons, *self.differences, *self.notes]
        links = [link.terminal() for link in self.links]
        if whole:
            yield self.verdict
            yield rich_table
            yield from (*self.examples, *below, *self._list_warnings(), self.calls, *links)
            return
        n_lines = len(table.rows) + 1 + max(name.count("\n") + 1 for name in table.names)
        n_lines += sum(-(-len(link.text) // width) for link in self.links)
        # The less room there is, the fewer lines a sentence may take.
        for sentence_lines, warning_lines in _LINES:
            first, calls = _wrap([self.verdict], width, sentence_lines), _wrap([self.calls], width, sentence_lines)
            then = _wrap(below, width, sentence_lines) + _wrap(self._list_warnings(), width, warning_lines)
            room = HEIGHT - 1 - n_lines - len(first) - len(then) - len(calls)
            if room >= 0:
                break
        # What is seen of replies may take no line of what is said of the scores.
        examples = self.examples[: max(0, room - 1)]
        room -= len(examples)
        blocks = [first, [rich_table], examples, then, [*calls, *links]]
        blocks = [block for block in blocks if block]
        # The blocks are set apart from the top while there is room.
        for number, block in enumerate(blocks):
            if 0 < number <= room:
                yield ""
            yield from block

    def _list_warnings(self) -> Iterator[str]:
        for line in self.warnings[:WARNINGS]:
            yield f"{say('common.warning')}: {line}"
        n_further = len(self.warnings) - WARNINGS
        if n_further > 0:
            yield say("screen.more_warnings", n=n_further)

    def markdown(self) -> list[str]:
        """Return the lines in Markdown, without links: a merge request is read elsewhere."""
        lines = (*self.reasons, *self.differences, *self.notes, *self._list_warnings(), self.calls)
        points = [f"- {line}" for line in map(escape_markdown, lines)]
        return [f"**{escape_markdown(self.verdict)}**", "", *self.table().markdown(), "", *points]


def _measure_width(table: Table) -> int:
    """Return the characters of a table's longest lines and of the gaps between its columns."""
    width = -GAP
    for texts in zip(table.names, *table.rows, strict=True):
        lines = chain.from_iterable(text.split("\n") for text in map(make_visible, texts))
        width += GAP + max(map(len, lines))
    return width


def _wrap(lines: Iterable[str], width: int, limit: int) -> list[str]:
    """Return lines broken between words, each into `limit` lines at most."""
    broken_lines: list[str] = []
    for line in map(make_visible, lines):
        broken_lines += wrap_line(line, width, limit)
    return broken_lines


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
    headlines, names = headlines_of(models), [model.model for model in models]
    columns_by_key: dict[Hashable, ScoreColumn] = {}
    cells: dict[tuple[str, Hashable], ScoreCell] = {}
    for model, key, column, cell in _list_entries(results, models, plan):
        columns_by_key.setdefault(key, column)
        cells[model, key] = cell
    # Of many models the best and the worst have a row.
    shown_names, folded = names, 0
    if len(names) > MODELS:
        shown_names = [*names[: MODELS - WORST - 1], *names[-WORST:]]
        folded = len(names) - len(shown_names)
    rows = []
    for name in shown_names:
        row = [cells.get((name, key), ScoreCell("")) for key in columns_by_key]
        rows.append((name, row))
    sentence = str(conclusion(verdict, results.baseline))
    if plan.report.name:
        sentence = f"{plan.report.name}: {sentence}"
    links = zip(("screen.report", "screen.results"), files, strict=False)
    return Screen(
        verdict=sentence,
        columns=[*columns_by_key.values()],
        rows=rows,
        folded=folded,
        differences=[
            *differences(verdict.models, results.compared, find_targets(plan.declarations, plan.model_names)),
            *against(results.baseline),
        ],
        # Most important first: a terminal without room cuts the last ones.
        notes=[
            *changed,
            *_describe_luck(headlines, names, has_passed=verdict.exit_code_gated == Exit.PASSED),
            *_describe_stops(headlines, names),
            *_describe_parts(results, headlines, names, plan),
            *_describe_means(headlines, names),
            *twins.lines(results.twins.results),
            *panel(headlines_of(verdict.models), results.judged, str(results.run.get("run", ""))),
            *cascade_lines(results.judged.cascades),
            *_describe_slices(results.compared.slices, names),
            *format_expected_remarks(plan),
            *format_newly_apart(plan, results.run),
        ],
        warnings=[note.text for note in notes(results, verdict, plan) if note.kind == "warn"],
        calls=_describe_calls(results.spending, requests, wall_s, _find_failure(models)),
        examples=examples,
        reasons=[*_explain_marks(rows), *reasons(models)],
        links=[FileLink(say(name, link=shorten_path(path)), Path(path).resolve().as_uri()) for name, path in links],
    )


_Entry = tuple[str, Hashable, ScoreColumn, ScoreCell]
"""A model's cell of the table: the model, the column's key, the column, the cell."""


def _list_entries(results: Results, models: Sequence[ModelResult], plan: Plan) -> Iterator[_Entry]:
    """Yield a cell for each score, or for each family of the seed's suite; then those of a model's own columns."""
    first_suite = plan.suites[0].suite
    is_total = first_suite.strata and not first_suite.of_k and len(columns(first_suite)) == 1  # a TOTAL is of means
    if len(plan.suites) == 1 and is_total:
        yield from _list_families(results, models, first_suite)
    else:
        yield from _list_scores(models)
    for row in model_rows(models, results.spending):
        for title, text in model_values(row).items():
            yield row.model.model, title, ScoreColumn(title), ScoreCell(text)


def _list_families(results: Results, models: Iterable[ModelResult], suite: Suite) -> Iterator[_Entry]:
    """Yield the seed's table: a share for each family, and TOTAL."""
    expected = (suite.name, suite.score_metrics[0], "", "")
    for cell in results.cells:
        if cell.family and (cell.suite, cell.metric, cell.level, cell.language) == expected:
            column, share = ScoreColumn(family_title(cell.family)), format_whole_percent(cell.value.mean)
            yield cell.model, cell.family, column, ScoreCell(share)
    for model in models:
        (headline,) = model.headlines
        share = total_percent(results.totals.get(model.model, Total(None)).percent).removesuffix("%")
        column = ScoreColumn(say("screen.average"), _format_threshold(headline))
        yield model.model, "", column, ScoreCell(share, MARKS[headline.decided.outcome])


def _list_scores(models: Sequence[ModelResult]) -> Iterator[_Entry]:
    """Yield the overall score, if any model has one, and each suite's scores."""
    headlines = headlines_of(models)
    is_single = len({headline.suite for headline in headlines}) == 1
    overall_scores = [model.overall for model in models if model.has_overall]
    for headline in (*overall_scores, *headlines):
        column = ScoreColumn(score_title(headline, is_single=is_single), _format_threshold(headline))
        yield headline.model, (headline.suite, headline.metric), column, _build_cell(headline)


def _format_threshold(headline: Headline) -> str:
    if headline.decided.threshold is None:
        return ""
    return percent(headline.decided.threshold).removesuffix("%")


def _build_cell(headline: Headline) -> ScoreCell:
    mark, threshold = MARKS[headline.decided.outcome], headline.decided.threshold
    if not headline.missing.is_measured:
        return ScoreCell(say("common.unmeasured"), mark)
    score = headline.measured.score
    ends = [end for end in (score.interval.low, score.interval.high) if end is not None]
    around = "–".join(format_whole_percent(end, threshold) for end in ends)
    return ScoreCell(format_whole_percent(score.mean, threshold), mark, around)


def _explain_marks(rows: Iterable[tuple[str, Iterable[ScoreCell]]]) -> Iterator[str]:
    """Yield what the marks of a table mean that are neither of a pass nor of a fail."""
    cells = chain.from_iterable(cells for _, cells in rows)
    marks = {cell.mark for cell in cells}
    meanings = [
        f"{MARKS[outcome]} {say(f'screen.mark_{outcome}')}" for outcome in _EXPLAINED if MARKS[outcome] in marks
    ]
    if meanings:
        yield "; ".join(meanings)


def _describe_stops(headlines: Iterable[Headline], names: Sequence[str]) -> Iterator[str]:
    """Yield how many questions decided a suite that is asked until decided."""
    counts_by_suite: dict[str, list[str]] = {}
    for headline in headlines:
        sequence = headline.measured.stopping
        if sequence:
            counts = say("common.of", k=sequence.asked, n=sequence.most)
            model = shorten_name(headline.model, among=names)
            counts_by_suite.setdefault(headline.suite, []).append(f"{model} {counts}")
    # A model's headlines are asked together.
    for suite, counts_of_models in counts_by_suite.items():
        yield say("screen.stopping", suite=suite_title(suite), each=join_names([*dict.fromkeys(counts_of_models)]))


def _describe_slices(slices: Sequence[Slice], names: Sequence[str]) -> Iterator[str]:
    """Yield the worst slice of each suite and model, if it is worse than the other rows."""
    worst: dict[tuple[str, str, str], Slice] = {}
    for row in slices:
        worst.setdefault((row.suite, row.model, row.metric), row)
    for row in worst.values():
        if row.elsewhere is None or row.score.mean is None or row.score.mean >= row.elsewhere:
            continue
        note = ""
        if row.significant:
            note = say("screen.slice_significant")
        yield say(
            "screen.slice",
            suite=suite_title(row.suite),
            model=shorten_name(row.model, among=names),
            column=row.column,
            text=join_lines(row.text) or "–",
            score=format_estimate(row.score),
            others=percent(row.elsewhere),
            note=note,
        )


def _describe_luck(headlines: Sequence[Headline], names: Sequence[str], *, has_passed: bool) -> Iterator[str]:
    """Yield which scores of a run that passed do so although their intervals reach below the threshold."""
    scores = []
    for headline in headlines:
        if has_passed and headline.decided.outcome == "pass" and is_within_luck(headline):
            name = score_name(headline)
            # Of one model it is clear whose score it is.
            if len(names) > 1:
                name = f"{shorten_name(headline.model, among=names)} {name}"
            estimate = format_estimate(headline.measured.score, headline.decided.threshold)
            scores.append(f"{name} {estimate}")
    if scores:
        yield say("screen.luck_passed", scores=join_names(scores))


def _describe_parts(
    results: Results, headlines: Sequence[Headline], names: Sequence[str], plan: Plan
) -> Iterator[str]:
    """Yield the metrics by themselves that an own suite's score joins."""
    own_suites = (suite for suite in plan.declarations if suite.name not in load_declarations())
    suites = {suite.name: suite for suite in own_suites if suite.score}
    for headline in headlines:
        suite = suites.get(headline.suite)
        if suite is None or headline.metric != suite.headline:
            continue
        metrics = components(suite)
        if len(metrics) < _LEAST_PARTS:
            continue
        name = score_name(headline)
        if len(names) > 1:
            name = f"{shorten_name(headline.model, among=names)}, {name}"
        means = []
        for cell in results.cells:
            is_headlines = (cell.suite, cell.model) == (headline.suite, headline.model)
            is_whole = not (cell.family or cell.level or cell.language)
            if is_headlines and is_whole and cell.metric in metrics and cell.value.mean is not None:
                means.append(f"{cell.metric} {format_whole_percent(cell.value.mean)}")
        yield say("screen.beside", name=name, each=join_names(means))


def _describe_means(headlines: Sequence[Headline], names: Sequence[str]) -> Iterator[str]:
    """Yield the headline values beside the scores; their meaning is documented elsewhere."""
    means: dict[tuple[str, str], list[str]] = {}
    for headline in headlines:
        name = f"{shorten_name(headline.model, among=names)} "
        if len(names) == 1:
            name = ""
        for part, mean in headline.measured.beside.items():
            if mean is not None:
                means.setdefault((headline.suite, part), []).append(f"{name}{format_whole_percent(mean)}")
    for (_, part), means_of_models in means.items():
        yield say("screen.beside", name=metric_title(part), each=join_names([*dict.fromkeys(means_of_models)]))


def _find_failure(models: Sequence[ModelResult]) -> str:
    """Return the commonest cause of failed calls of models that are judged all the same; '' without any.

    Why a model could not be judged is a part of the verdict.
    """
    counts = Counter[str]()
    for model in models:
        if model.verdict == "error":
            continue
        for headline in model.headlines:
            # Every headline of a suite has the failed calls of all its rows.
            causes = {cause.cause: cause.n for cause in headline.missing.failures if cause.status == "model_error"}
            counts.update(causes)
    return next((say_reason(cause) for cause, _ in counts.most_common(1)), "")


def _describe_calls(
    spending: Spending | None, requests: Mapping[str, int], wall_s: float | None, failure: str
) -> str:
    """Return a line with the calls, why some failed, their cost, and the duration."""
    parts = [describe_calls(requests)]
    if failure:
        parts.append(say("screen.failed_by", cause=failure))
    parts += islice(cost_lines(spending), 1)
    if wall_s is not None:
        parts.append(say("screen.took", time=duration(wall_s)))
    return " ".join(parts)
