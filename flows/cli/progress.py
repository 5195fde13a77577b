"""The progress of a run: bars that a terminal renews, lines that a file collects, and the result of each suite.

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
from basic_control.tasks.report.language import say, use_language
from basic_control.tasks.report.text import around, clip_text, localize_digits
from basic_control.tasks.report.words import explain_outcome, format_score, score_name, suite_title
from basic_control.tasks.runtime.logs import LOGGER

if TYPE_CHECKING:
    from rich.live import Live

    from basic_control.data.batches import Cell
    from basic_control.metrics.analysis.headlines import Headline
    from basic_control.tasks.models.scheduler import BatchProgress

EVERY_S = 10.0
"""Between two lines in a file."""
DRAWN_S = 0.25
SILENT_S = 5.0
"""So long without a reply, while calls fail, is no pace any more."""
CAUSE = 120
"""Characters shown of a failure."""
BAR = 8
"""Characters of a bar."""


def progress(language: str = "en") -> "Display":
    """Return the display of a run: renewed in place where stderr is a terminal."""
    if not sys.stderr.isatty():
        return Display(EVERY_S, language)
    from rich.console import Console
    from rich.live import Live

    return Display(DRAWN_S, language, Live(console=Console(stderr=True), auto_refresh=False, transient=True))


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
    """Shows a run's progress to the user: a context manager around the run.

    In `live`, a part of the terminal, what happens now is renewed in place; without it each state is a line.
    """

    def __init__(self, every_s: float, language: str = "en", live: "Live | None" = None) -> None:
        super().__init__(logging.INFO)
        self.every_s = every_s
        self.language = language
        self.live = live
        self.works: dict[tuple[str, str], Work] = {}
        with use_language(language):
            self.suite, self.now = "", say("progress.starting")
        self.since = self.begun = time.monotonic()
        self._drawing = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)

    def __enter__(self) -> Self:
        if self.live:
            self.live.start()
        LOGGER.addHandler(self)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        LOGGER.removeHandler(self)
        self._ended.set()
        self._thread.join()
        if self.live:
            self.live.stop()

    def note(self, cell: "Cell", tally: "BatchProgress") -> None:
        """Store a batch's tally, which the asking thread keeps updating."""
        self._find_or_add_work(cell.suite, cell.metric).note(tally)

    def emit(self, record: logging.LogRecord) -> None:
        """Handle an event of the run."""
        fields: Mapping[str, Any] = getattr(record, "fields", {})
        name, suite = getattr(record, "event", ""), fields.get("suite", "")
        with use_language(self.language):
            if name == "suite_started":
                self.suite = suite
                self._find_or_add_work(suite, "").expected = fields["calls"]
            elif name == "stage_started":
                self._begin_stage(suite, fields["stage"], fields["metric"])
            elif name == "suite_ended":
                self._end_suite(suite, getattr(record, "subject", ()), is_apart=fields.get("is_apart", False))

    def _begin_stage(self, suite: str, stage: str, metric: str) -> None:
        """Show the stage that runs now; the judges' queries of a metric belong to its stage."""
        if stage == "query" and metric:
            return
        parts = [f"{suite_title(suite)}:"] if suite else []
        now = " ".join(filter(None, (*parts, stage, metric)))
        if now != self.now:
            with self._drawing:
                self.now, self.since = now, time.monotonic()

    def _end_suite(self, suite: str, headlines: "Sequence[Headline]", *, is_apart: bool) -> None:
        """Replace a suite's progress by its results."""
        lines: list[str] = []
        for work in self.of(suite):
            work.expected = 0  # equal questions are one call, and a decided suite asks no more
            count = work.count()
            # What is no longer renewed needs its last state; a work without a call has none.
            if count.total and not self.live:
                lines.append(f"{work.title}: {_describe_progress(count)}")
        if is_apart:
            lines.append(say("progress.apart", suite=suite_title(suite)))
        lines += [_describe_result(headline) for headline in headlines]
        with self._drawing:
            for line in lines:
                self._say(line)
            self.suite = ""  # its work is over and no longer drawn

    def _find_or_add_work(self, suite: str, metric: str) -> Work:
        key = suite, metric
        if key not in self.works:
            phrase = "judges" if metric else "answers"
            # Threads that ask have no language of their own.
            with use_language(self.language):
                title = say(f"progress.{phrase}", suite=suite_title(suite), metric=metric)
            self.works.setdefault(key, Work(title))
        return self.works[key]

    def _tick(self) -> None:
        while not self._ended.wait(self.every_s):
            with self._drawing:
                self.draw()

    def of(self, suite: str) -> list[Work]:
        """Return the works of a suite."""
        return [work for (owner, _), work in list(self.works.items()) if owner == suite]

    def draw(self) -> None:
        """Show the progress of the calls; if none is in flight, how long the stage has taken."""
        with use_language(self.language):
            lines = [*self._list_states()]
        if self.live:
            self.live.update(prose("\n".join(map(self._add_time, lines))), refresh=True)
            return
        for line in lines:
            self._say(line)

    def _list_states(self) -> Iterator[str]:
        is_asking = False
        for work in self.of(self.suite):
            count = work.count()
            # What is renewed in place stays until the suite's results replace it.
            if count.total and (count.open or self.live):
                is_asking = True
                if self.live:
                    yield f"{work.title} {_draw_bar(count)} {_describe_progress(count, is_brief=True)}"
                else:
                    yield f"{work.title}: {_describe_progress(count)}"
        if not is_asking:
            yield say("progress.since", now=self.now, time=_clock(time.monotonic() - self.since))

    def _say(self, line: str) -> None:
        """Print a line that stays."""
        timed_line = make_visible(self._add_time(line))
        if self.live:
            self.live.console.print(prose(timed_line))
            return
        # One write: print writes the line end separately, and other writers may come in between.
        sys.stderr.write(f"{timed_line}\n")
        sys.stderr.flush()

    def _add_time(self, line: str) -> str:
        """Return a line after the time since the start."""
        return f"{_clock(time.monotonic() - self.begun):>7}  {line}"


def _draw_bar(count: Count) -> str:
    """Draw the share of some work that is done."""
    filled = BAR * count.done // count.total
    return "━" * filled + "─" * (BAR - filled)


def _describe_progress(count: Count, *, is_brief: bool = False) -> str:
    """Describe the progress of some work: done, total, share, rate, failures, and when it ends.

    A brief one stands beside a bar: without the share, failures where there are none, and the hour of its end.
    """
    return ", ".join(_list_progress(count, is_brief=is_brief))


def _list_progress(count: Count, *, is_brief: bool) -> Iterator[str]:
    share = f" ({100 * count.done // count.total}%)" if count.total and not is_brief else ""
    yield say("progress.done", k=count.done, n=count.total) + share
    if count.cached:
        yield say("progress.cached", n=count.cached)
    if count.rate and not count.silent_s:
        yield say("progress.calls", rate=localize_digits(f"{count.rate:.1f}"))
    if count.failed or not is_brief:
        yield say("progress.failed", n=count.failed)
    yield from _describe_trouble(count)
    if count.elsewhere:
        holders = ", ".join(count.holders) or say("progress.another")
        yield say("progress.waiting", n=count.elsewhere, who=holders)
    if count.time_to_end_s is not None and count.done < count.total:
        yield say("progress.left", time=_clock(count.time_to_end_s))
        if not is_brief:
            end = time.strftime("%H:%M:%S", time.localtime(time.time() + count.time_to_end_s))
            yield say("progress.ends", time=end)


def _describe_trouble(count: Count) -> Iterator[str]:
    """Yield how long nothing but failures came, and which failure of attempts is the commonest now, if one is."""
    n, message = count.trouble
    if n and count.silent_s:
        times = {"time": _clock(count.silent_s), "limit": _clock(count.deadline_s)}
        yield say("progress.silent", **times)
    if n:
        yield say("progress.trouble", cause=clip_text(message, CAUSE), n=n)


def _describe_result(headline: "Headline") -> str:
    """Return a line with a model's score, its interval and its verdict, with the reason if there is one."""
    measured = headline.measured
    score = f"{score_name(headline)}, {headline.model}: {format_score(headline)}"
    # An interval of what was not measured would look like a finding.
    if measured.score.interval.low is not None and headline.missing.is_measured:
        score += f" ({around(measured.score.interval)})"
    counts = say("progress.scored", k=measured.n_scored, n=measured.n_asked)
    line = f"{score}, {counts} – {say(f'progress.{headline.decided.outcome}')}"
    return ": ".join(filter(None, (line, explain_outcome(headline))))


def _clock(seconds: float) -> str:
    """Format seconds as 0:07, 12:30 or 3:05:00."""
    minutes, seconds_part = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{seconds_part:02}"
    return f"{minutes}:{seconds_part:02}"
