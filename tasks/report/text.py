"""Formatting of texts and numbers; text from models and data sets is made safe for its output format."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from basic_control.data.characters import make_visible
from basic_control.metrics.analysis import summary
from basic_control.metrics.analysis.summary import round_half_up
from basic_control.metrics.stats.power import ALPHA
from basic_control.tasks.report.language import decimal_point, say

if TYPE_CHECKING:
    from basic_control.metrics.stats.intervals import Interval, MeanEstimate, Share

# Characters that mark up Markdown; "<" and ">" become entities, the others get a backslash.
_MARKS = "\\`*_[]<>|#!~$"
_ENTITIES = {"<": "&lt;", ">": "&gt;"}
# Runs of backticks, as in "```python".
_BACKTICKS = re.compile("`+")
_SMALLEST_P = 0.001
_NAMED = 4
_MINUTE, _HOUR = 60, 3600
_NOTHING = "–"
_SIGNS = ("+", "−")
NAME = 26
"""Characters of a name on a screen."""

# A command as it is typed: python -m basic_control label RUN
_COMMAND = re.compile(r"(?:python -m basic_control|basic-control)(?: [^\s;,()]+)*")
_JOINT = "\ue000"
"""Stands for a space inside a command while a line is broken."""


def escape_markdown(text: object) -> str:
    """Return text escaped for Markdown, on one line: it may come from a model."""
    line = " ".join(str(text).split())
    line = "".join(filter(str.isprintable, line)).replace("&", "&amp;")  # an entity would be its character
    for mark in _MARKS:
        line = line.replace(mark, _ENTITIES.get(mark, f"\\{mark}"))
    return line


def code(text: str) -> str:
    """Return text as inline code."""
    return "`" + make_visible(" ".join(text.replace("`", "'").split())) + "`"


def fence_code(text: str) -> list[str]:
    """Return text as a Markdown code block, whose fence is longer than any in the text."""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *make_visible(text).split("\n"), fence]


def localize_digits(digits: str) -> str:
    """Return a number's digits with the decimal point of the current language."""
    return digits.replace(".", decimal_point())


def percent(share: float | None, threshold: float | None = None) -> str:
    """Format a share of 1 as a percentage, without decimals if it is whole; more if `threshold` needs them."""
    if share is None:
        return _NOTHING
    return localize_digits(summary.percent(share, threshold))


def format_whole_percent(share: float | None, threshold: float | None = None) -> str:
    """Format a share of 1 in whole percents, without a sign; with decimals if rounding crosses the threshold."""
    if share is None:
        return _NOTHING
    return localize_digits(summary.digits(share, threshold, 0))


def total_percent(percentage: float | None) -> str:
    """Format a TOTAL, which is in percent: always with one decimal, as in the seed."""
    if percentage is None:
        return _NOTHING
    return localize_digits(f"{round_half_up(percentage, 1):.1f}%")


def format_estimate(estimate: "MeanEstimate", threshold: float | None = None) -> str:
    """Format a share in [0, 1] with its interval, if it has one."""
    mean = percent(estimate.mean, threshold)
    if estimate.interval.low is None:
        return mean
    return f"{mean} ({around(estimate.interval, threshold)})"


def around(interval: "Interval", threshold: float | None = None) -> str:
    """Format an interval of a share in percent, `62.7–90.5`; – if there is none."""
    if interval.low is None or interval.high is None:
        return _NOTHING
    ends = (percent(end, threshold).removesuffix("%") for end in (interval.low, interval.high))
    return join_bounds(*ends)


def join_bounds(low: str, high: str) -> str:
    """Join the ends of an interval in the one way that reports have: `58–87`, and with signs `−1.6 to +17.7`."""
    # Before a minus sign a dash could be read as one more.
    if low.startswith(_SIGNS) or high.startswith(_SIGNS):
        return say("common.to", low=low, high=high)
    return f"{low}–{high}"


def add_interval(figure: str, between: str) -> str:
    """Return a figure with its interval in parentheses, if it has one."""
    if not between:
        return figure
    return f"{figure} ({between})"


def points_around(interval: "Interval") -> str:
    """Format an interval of a difference in percentage points, with signs; '' if there is none."""
    if interval.low is None or interval.high is None:
        return ""
    return join_bounds(points(interval.low), points(interval.high))


def share(counted: "Share") -> str:
    """Format k of n with its interval, without words: `9/10 = 90% (59.6–98.2)`."""
    if not counted.n:
        return _NOTHING
    return f"{counted.k}/{counted.n} = {percent(counted.share)} ({around(counted.interval)})"


def points(share: float | None) -> str:
    """Format a difference of shares in percentage points, with its sign."""
    if share is None:
        return _NOTHING
    value = round_half_up(100 * share, 1)
    if value == 0:  # without a sign, which −0.0 has
        return "0"
    return localize_digits(f"{value:+.1f}".replace("-", "−"))


def p_value(value: float | None) -> str:
    """Format a p-value with three decimals, or more if rounding crosses the level of 5 %."""
    if value is None:
        return _NOTHING
    if value < _SMALLEST_P:
        return localize_digits("< 0.001")
    is_significant = value < ALPHA
    places = next((n for n in range(3, 8) if (round(value, n) < ALPHA) == is_significant), 8)
    return localize_digits(f"{value:.{places}f}")


def format_number(number: float | None, places: int = 0) -> str:
    """Format a number in groups of three digits, separated by a non-breaking space; – for None."""
    if number is None:
        return _NOTHING
    return localize_digits(f"{number:,.{places}f}".replace(",", "\u202f"))


def duration(seconds: float | None) -> str:
    """Format a time in seconds, minutes or hours; None: unknown."""
    if seconds is None:
        return "?"
    if seconds < _MINUTE:
        # What takes time at all is not told as 0 seconds.
        whole_seconds = max(seconds, 1) if seconds else 0
        return say("common.seconds", n=f"{whole_seconds:.0f}")
    if seconds < _HOUR:
        return say("common.minutes", n=f"{seconds / _MINUTE:.0f}")
    return say("common.hours", n=localize_digits(f"{seconds / _HOUR:.1f}"))


def date_in_words(moment: datetime) -> str:
    """Return a moment as `5 November 2026, 14:02`."""
    month = say("common.months").split()[moment.month - 1]
    return say("common.date_in_words", day=moment.day, month=month, year=moment.year, time=f"{moment:%H:%M}")


def join_lines(text: str) -> str:
    """Return text on one line, its hidden characters visible."""
    return make_visible(" ".join(text.split()))


def wrap_line(line: str, width: int, limit: int | None = None) -> list[str]:
    """Break a line between words, into `limit` lines at most, all indented as it is; a command that fits is whole.

    Without a limit no word is broken either, as of a path.
    """

    def join_command(match: re.Match[str]) -> str:
        command = match[0]
        return command.replace(" ", _JOINT) if len(command) <= width else command

    indent = line[: len(line) - len(line.lstrip())]
    lines = wrap(
        _COMMAND.sub(join_command, line),
        width,
        max_lines=limit,
        placeholder=" …",
        break_on_hyphens=False,
        break_long_words=limit is not None,
        subsequent_indent=indent,
    )
    return [part.replace(_JOINT, " ") for part in lines]


def shorten_path(path: str | Path) -> str:
    """Return a path as short as it can be typed: relative to the working folder, or to the home folder."""
    resolved_path = Path(path).resolve()
    for folder, start in ((Path.cwd(), ""), (Path.home(), "~/")):
        if resolved_path.is_relative_to(folder):
            return f"{start}{resolved_path.relative_to(folder).as_posix()}"
    return str(resolved_path)


def shorten_name(name: str, limit: int = NAME, among: Iterable[str] = ()) -> str:
    """Return a name of at most `limit` characters, cut near the middle, and where it differs from those `among`."""
    name = join_lines(name)
    if len(name) <= limit:
        return name
    names, middle = {name, *map(join_lines, among)}, (limit - 1) // 2

    def cut(text: str, end: int) -> str:
        """Return a text without its middle, but with its last `end` characters."""
        if len(text) <= limit:
            return text
        return f"{text[: limit - 1 - end]}…{text[len(text) - end :]}"

    # The cut moves from the middle until no two names look alike.
    for end in sorted(range(limit), key=lambda end: abs(end - middle)):
        cut_names = {cut(text, end) for text in names}
        if len(cut_names) == len(names):
            return cut(name, end)
    return cut(name, middle)


def clip_text(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters."""
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1].rstrip()}…"


def join_names(names: Sequence[str]) -> str:
    """Join names in words, `a, b and c`; for many the first ones and the number of others."""
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], say("common.others", n=len(names) - _NAMED + 1)]
    if len(names) == 1:
        return names[0]
    return say("common.and", names=", ".join(names[:-1]), last=names[-1])
