"""The progress of a run: bars at a terminal, lines elsewhere, and the result of each suite as it ends.

The data comes from the run's own events and its queries' tallies. A tally is only stored when it changes and read
when something is drawn, so thousands of calls per second cost nothing here.
"""

import logging
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from basic_control.data.characters import make_visible
from basic_control.flows.cli.console import prose
from basic_control.tasks.runtime.logs import LOGGER

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from basic_control.data.batches import Cell
    from basic_control.metrics.analysis.headlines import Headline
    from basic_control.tasks.models.scheduler import BatchProgress

EVERY_S = 10.0
"""Between two lines."""
DRAWN_S = 0.25
SILENT_S = 5.0
"""So long without a reply, while calls fail, is no pace any more."""
CAUSE, BAR_CAUSE = 120, 24
"""Characters shown of a failure in a line, and beside a bar."""


def progress(language: str = "en") -> "Display":
    """Return the display of a run: bars where stderr is a terminal, lines where it is not."""
    if sys.stderr.isatty():
        return BarDisplay(language)
    return LineDisplay(EVERY_S, language)


@dataclass(frozen=True, slots=True)
class Count:
    """The progress of some work: calls, their rate per second, and whether some of its batches are open.

    `elsewhere` of them are awaited: `holders` says who is asking them, or what they wait in. `trouble` is the
    commonest failure of attempts that happens now, and how often it did. Where nothing but failures came for a
    while, `silent_s` says for how long, and `deadline_s` how long each call is retried.
    """

    total: int
    done: int
    cached: int
    failed: int
    rate: float
    open: bool
    elsewhere: int = 0
    holders: tuple[str, ...] = ()
    trouble: tuple[int, str] = (0, "")
    silent_s: float = 0.0
    deadline_s: float = 0.0

    @property
    def time_to_end_s(self) -> float | None:
        """Seconds until the end at the rate so far; None before there is a rate, and while nothing is answered."""
        if not self.rate or self.silent_s:
            return None
        return (self.total - self.done) / self.rate


@dataclass
class Work:
    """The calls of a suite's questions, or of the judges of one of its metrics, over all models and batches."""

    title: str
    expected: int = 0
    tallies: dict[int, "BatchProgress"] = field(default_factory=dict)

    def note(self, tally: "BatchProgress") -> None:
        """Add a batch's tally; called by the asking thread after every change."""
        self.tallies[id(tally)] = tally

    def count(self) -> Count:
        """Sum up all tallies."""
        # A copy: asking threads add tallies meanwhile.
        tallies = list(self.tallies.values())
        cached = sum(tally.cached for tally in tallies)
        answered = sum(tally.answered for tally in tallies)
        failed = sum(tally.failed for tally in tallies)
        first_s = min((tally.first_s for tally in tallies if tally.first_s), default=0.0)
        span_s = max((tally.last_s for tally in tallies), default=0.0) - first_s
        waiting = [tally for tally in tallies if tally.cached + tally.answered + tally.failed < tally.total]
        return Count(
            total=max(sum(tally.total for tally in tallies), self.expected),
            done=cached + answered + failed,
            cached=cached,
            failed=failed,
            rate=answered / span_s if span_s > 0 else 0.0,
            open=bool(waiting),
            elsewhere=sum(tally.elsewhere for tally in waiting),
            holders=tuple(sorted(set().union(*(tally.holders for tally in waiting)))),
            trouble=max((tally.trouble.main_cause for tally in waiting), default=(0, "")),
            silent_s=_measure_silence(waiting),
            deadline_s=max((tally.deadline_s for tally in waiting), default=0.0),
        )


def _measure_silence(tallies: "Sequence[BatchProgress]") -> float:
    """Return for how many seconds calls fail without a reply; 0 where one came lately, or none failed since."""
    last_s = max((tally.last_s or tally.first_s for tally in tallies), default=0.0)
    failed_s = max((tally.trouble.last_s for tally in tallies if tally.trouble.main_cause[0]), default=0.0)
    # A slow server is silent too, but none of its calls fails.
    silent_s = time.monotonic() - last_s
    if not last_s or failed_s <= last_s or silent_s < SILENT_S:
        return 0.0
    return silent_s


class Display(logging.Handler):
    """Shows a run's progress to the user: a context manager around the run."""

    def __init__(self, every_s: float, language: str = "en") -> None:
        super().__init__(logging.INFO)
        self.every_s = every_s
        self.language = language
        self.works: dict[tuple[str, str], Work] = {}
        self.suite, self.now = "", _format_phrase("starting", language)
        self.since = self.begun = time.monotonic()
        self._drawing = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)

    def __enter__(self) -> Self:
        LOGGER.addHandler(self)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        LOGGER.removeHandler(self)
        self._ended.set()
        self._thread.join()

    def note(self, cell: "Cell", tally: "BatchProgress") -> None:
        """Store a batch's tally, which the asking thread keeps updating."""
        self._find_or_add_work(cell.suite, cell.metric).note(tally)

    def emit(self, record: logging.LogRecord) -> None:
        """Handle an event of the run."""
        fields: Mapping[str, Any] = getattr(record, "fields", {})
        name, suite = getattr(record, "event", ""), fields.get("suite", "")
        if name == "suite_started":
            self.suite = suite
            self._find_or_add_work(suite, "").expected = fields["calls"]
        elif name == "stage_started":
            self._begin_stage(suite, fields["stage"], fields["metric"])
        elif name == "suite_ended":
            self._end_suite(suite, fields)

    def _begin_stage(self, suite: str, stage: str, metric: str) -> None:
        """Show the stage that runs now; the judges' queries of a metric belong to its stage."""
        if stage == "query" and metric:
            return
        parts = [f"{_title_of(suite, self.language)}:"] if suite else []
        now = " ".join(filter(None, (*parts, stage, metric)))
        if now != self.now:
            with self._drawing:
                self.now, self.since = now, time.monotonic()

    def _end_suite(self, suite: str, fields: Mapping[str, Any]) -> None:
        """Replace a suite's progress by its results."""
        results = list(_results(suite, fields["models"], self.language))
        if fields.get("is_apart"):
            title = _title_of(suite, self.language)
            results.insert(0, _format_phrase("apart", self.language, suite=title))
        for work in self.of(suite):
            work.expected = 0  # equal questions are one call, and a decided suite asks no more
        with self._drawing:
            self.conclude(suite)
            for line in results:
                self.say(line)
            self.suite = ""  # its work is over and no longer drawn

    def _find_or_add_work(self, suite: str, metric: str) -> Work:
        phrase = "judges" if metric else "answers"
        title = _format_phrase(phrase, self.language, suite=_title_of(suite, self.language), metric=metric)
        return self.works.setdefault((suite, metric), Work(title))

    def _tick(self) -> None:
        while not self._ended.wait(self.every_s):
            with self._drawing:
                self.draw()

    def of(self, suite: str) -> list[Work]:
        """Return the works of a suite."""
        return [work for (owner, _), work in list(self.works.items()) if owner == suite]

    def draw(self) -> None:
        """Show the progress of the work."""

    def say(self, line: str) -> None:
        """Print a line that stays."""

    def conclude(self, suite: str) -> None:
        """Show the end of a suite's calls, before its results."""


class LineDisplay(Display):
    """For a pipe or a file: a line every few seconds about calls, or else the stage, and each suite's results."""

    def draw(self) -> None:
        """Write the progress of the calls; if none is in flight, how long the stage has taken."""
        counts = [(work.title, work.count()) for work in self.of(self.suite)]
        open_counts = [(title, count) for title, count in counts if count.open and count.total]
        for title, count in open_counts:
            self.say(f"{title}: {_describe_progress(count, self.language)}")
        if not open_counts:
            self.say(
                _format_phrase("since", self.language, now=self.now, time=_clock(time.monotonic() - self.since))
            )

    def conclude(self, suite: str) -> None:
        """Write the totals of a suite's calls."""
        for work in self.of(suite):
            count = work.count()
            if count.total:  # else there was nothing to ask
                self.say(f"{work.title}: {_describe_progress(count, self.language)}")

    def say(self, line: str) -> None:
        """Write a line, with the time since the start."""
        # One write: print writes the line end separately, and other writers may come in between.
        sys.stderr.write(f"{_clock(time.monotonic() - self.begun):>7}  {make_visible(line)}\n")
        sys.stderr.flush()


class BarDisplay(Display):
    """For a terminal: the stage, and a bar for each work of the running suite; results stay above them."""

    def __init__(self, language: str = "en") -> None:
        super().__init__(DRAWN_S, language)
        self._progress = _columns()
        self._bars: dict[str, TaskID] = {}
        self._stage = self._progress.add_task(self.now, total=None, counts="", pace="", trouble="")

    def __enter__(self) -> Self:
        self._progress.start()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._progress.remove_task(self._stage)
        self._progress.stop()

    def draw(self) -> None:
        """Update the bars."""
        self._progress.update(self._stage, description=make_visible(self.now))
        for work in self.of(self.suite):
            count = work.count()
            texts: dict[str, Any] = _bar_texts(count, self.language)
            if work.title in self._bars:
                bar = self._bars[work.title]
                self._progress.update(bar, total=count.total, completed=count.done, **texts)
            elif count.total:
                # A bar begins with the first call: a suite without calls has none.
                self._bars[work.title] = self._progress.add_task(
                    make_visible(work.title), total=count.total, completed=count.done, **texts
                )
        self._progress.refresh()

    def conclude(self, suite: str) -> None:
        """Remove a suite's bars, which its results replace."""
        self.draw()  # show the final state, however fast it was
        for work in self.of(suite):
            if work.title in self._bars:
                self._progress.remove_task(self._bars.pop(work.title))

    def say(self, line: str) -> None:
        """Print a line above the bars."""
        self._progress.console.print(prose(line))


def _columns() -> "Progress":
    """Return the bars; on a narrow terminal their text is cut first."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    def text(field: str, *, style: str = "", **column: Any) -> TextColumn:
        table_column = Column(no_wrap=True, **column)
        return TextColumn(f"{{task.{field}}}", markup=False, style=style, table_column=table_column)

    return Progress(
        text("description", ratio=1, overflow="ellipsis"),
        BarColumn(bar_width=12),
        text("fields[counts]"),
        text("fields[pace]"),
        text("fields[trouble]", style="red"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        expand=True,
    )


def _format_phrase(name: str, language: str, /, **values: object) -> str:
    from basic_control.prompts.phrases import phrase

    return phrase(f"progress.{name}", language, **values)


def _pieces(count: Count, language: str) -> tuple[str, str, str]:
    """Return the rate, what others ask or waits in batches, and the time left; '' for what does not apply."""
    from basic_control.prompts.phrases import phrase

    rate = waiting = remaining = ""
    if count.rate and not count.silent_s:
        rate = f"{count.rate:.1f}".replace(".", phrase("common.point", language))
    if count.elsewhere:
        holders = ", ".join(count.holders) or _format_phrase("another", language)
        waiting = _format_phrase("waiting", language, n=count.elsewhere, who=holders)
    if count.time_to_end_s is not None and count.done < count.total:
        remaining = _format_phrase("left", language, time=_clock(count.time_to_end_s))
    return rate, waiting, remaining


def _describe_trouble(count: Count, language: str, longest: int = CAUSE) -> str:
    """Return which failure of attempts is the commonest now; '' if none happens."""
    n, message = count.trouble
    if not n:
        return ""
    if len(message) > longest:
        # The ellipsis counts too: a column is that wide.
        message = message[: longest - 1] + "…"
    trouble = _format_phrase("trouble", language, cause=message, n=n)
    if not count.silent_s:
        return trouble
    times = {"time": _clock(count.silent_s), "limit": _clock(count.deadline_s)}
    return f"{_format_phrase('silent', language, **times)}, {trouble}"


def _bar_texts(count: Count, language: str = "en") -> dict[str, str]:
    """Return the texts beside a bar, by their columns."""
    rate, waiting, remaining = _pieces(count, language)
    pace = (rate and _format_phrase("pace", language, rate=rate), remaining)
    failed = _format_phrase("failed", language, n=count.failed) if count.failed else ""
    trouble = (failed, _describe_trouble(count, language, BAR_CAUSE), waiting)
    return {
        "counts": f"{count.done}/{count.total}",
        "pace": ", ".join(filter(None, pace)),
        "trouble": ", ".join(filter(None, trouble)),
    }


def _describe_progress(count: Count, language: str) -> str:
    """Describe the progress of some work: done, total, share, rate, failures, and when it ends."""
    rate, waiting, remaining = _pieces(count, language)
    share = f" ({100 * count.done // count.total}%)" if count.total else ""
    ends = time.strftime("%H:%M:%S", time.localtime(time.time() + (count.time_to_end_s or 0.0)))
    parts = (
        _format_phrase("done", language, k=count.done, n=count.total) + share,
        _format_phrase("cached", language, n=count.cached) if count.cached else "",
        rate and _format_phrase("calls", language, rate=rate),
        _format_phrase("failed", language, n=count.failed),
        _describe_trouble(count, language),
        waiting,
        remaining,
        remaining and _format_phrase("ends", language, time=ends),
    )
    return ", ".join(filter(None, parts))


def _title_of(suite: str, language: str) -> str:
    """Return the title of a suite, as every screen has it."""
    from basic_control.tasks.report.language import use_language
    from basic_control.tasks.report.words import suite_title

    with use_language(language):
        return suite_title(suite)


def _results(suite: str, models: Mapping[str, Mapping[str, Any]], language: str) -> Iterator[str]:
    for model, scores in models.items():
        for fields in (scores, *scores.get("further", ())):
            yield _describe_result(_headline(suite, model, fields), language)


def _describe_result(headline: "Headline", language: str) -> str:
    """Return a line with a model's score, its interval and its verdict, with the reason if there is one."""
    from basic_control.tasks.report.language import use_language
    from basic_control.tasks.report.text import around
    from basic_control.tasks.report.words import explain_outcome, format_score, score_name

    measured = headline.measured
    with use_language(language):
        # An interval of what was not measured would look like a finding.
        is_certain = measured.score.interval.low is not None and headline.missing.is_measured
        interval = f" ({around(measured.score.interval)})" if is_certain else ""
        counts = _format_phrase("scored", language, k=measured.n_scored, n=measured.n_asked)
        verdict = _format_phrase(headline.decided.outcome, language)
        score = f"{score_name(headline)}, {headline.model}: {format_score(headline)}{interval}"
        reason = explain_outcome(headline)
    line = f"{score}, {counts} – {verdict}"
    if reason:
        return f"{line}: {reason}"
    return line


def _headline(suite: str, model: str, fields: Mapping[str, Any]) -> "Headline":
    """Return a model's score as the event of a suite's end has it."""
    from basic_control.metrics.analysis.headlines import Decision, Headline, Measurement, Shortfall
    from basic_control.metrics.stats.intervals import Interval, MeanEstimate

    measured = Measurement(
        score=MeanEstimate(fields["score"], Interval(fields["low"], fields["high"])),
        n_asked=fields["n_asked"],
        n_scored=fields["n_scored"],
        gate_on=fields.get("gate_on", "mean"),
        k=fields.get("k"),
        mean=MeanEstimate(fields.get("mean")),
    )
    missing = Shortfall(is_measured=fields.get("measured", True))
    decided = Decision(None, fields["outcome"], fields["reason"], fields["n_deciding"])
    metric, is_only = fields.get("metric", ""), fields.get("only", True)
    return Headline(suite, metric, model, 0.0, measured, missing, decided, is_only)


def _clock(seconds: float) -> str:
    """Format seconds as 0:07, 12:30 or 3:05:00."""
    minutes, seconds_part = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{seconds_part:02}"
    return f"{minutes}:{seconds_part:02}"
