"""Formatting of texts and numbers; text from models and data sets is made safe for its output format."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from basic_control.data.characters import make_visible
from basic_control.metrics.analysis import summary
from basic_control.metrics.analysis.summary import round_half_up
from basic_control.metrics.stats.power import ALPHA
from basic_control.tasks.report.language import decimal_point, say

if TYPE_CHECKING:
    from basic_control.metrics.stats.intervals import Interval, MeanEstimate, Share

_SMALLEST_P = 0.001
_NAMED = 4
_MINUTE, _HOUR = 60, 3600
NAME = 26
"""Characters of a name on a screen."""


def escape_markdown(text: object) -> str:
    """Return text escaped for Markdown, on one line: it may come from a model."""
    line = " ".join(str(text).split())
    line = "".join(c for c in line if c.isprintable()).replace("&", "&amp;")  # an entity would be its character
    for mark in "\\`*_[]<>|#!~$":
        line = line.replace(mark, "&lt;" if mark == "<" else "&gt;" if mark == ">" else f"\\{mark}")
    return line


def code(text: str) -> str:
    """Return text as inline code."""
    return "`" + make_visible(" ".join(text.replace("`", "'").split())) + "`"


def fence_code(text: str) -> list[str]:
    """Return text as a Markdown code block, whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *make_visible(text).split("\n"), fence]


def localize_digits(digits: str) -> str:
    """Return a number's digits with the decimal point of the current language."""
    return digits.replace(".", decimal_point())


def percent(share: float | None, threshold: float | None = None) -> str:
    """Format a share of 1 as a percentage, without decimals if it is whole; more if `threshold` needs them."""
    return "–" if share is None else localize_digits(summary.percent(share, threshold))


def format_whole_percent(share: float | None, threshold: float | None = None) -> str:
    """Format a share of 1 in whole percents, without a sign; with decimals if rounding crosses the threshold."""
    return "–" if share is None else localize_digits(summary.digits(share, threshold, 0))


def total_percent(percentage: float | None) -> str:
    """Format a TOTAL, which is in percent: always with one decimal, as in the seed."""
    return "–" if percentage is None else localize_digits(f"{round_half_up(percentage, 1):.1f}%")


def format_estimate(estimate: "MeanEstimate", threshold: float | None = None) -> str:
    """Format a share in [0, 1] with its interval, if it has one."""
    interval = "" if estimate.interval.low is None else f" ({around(estimate.interval, threshold)})"
    return f"{percent(estimate.mean, threshold)}{interval}"


def around(interval: "Interval", threshold: float | None = None) -> str:
    """Format an interval of a share; – if there is none."""
    if interval.low is None or interval.high is None:
        return "–"
    return f"{percent(interval.low, threshold)} – {percent(interval.high, threshold)}"


def share(found: "Share") -> str:
    """Format k of n with its interval, without words: `9/10 = 90% (59.6% – 98.2%)`."""
    return f"{found.k}/{found.n} = {percent(found.share)} ({around(found.interval)})" if found.n else "–"


def points(share: float | None) -> str:
    """Format a difference of shares in percentage points, with its sign."""
    if share is None:
        return "–"
    value = round_half_up(100 * share, 1) + 0.0  # no minus before 0
    return localize_digits(f"{value:+.1f}".replace("-", "−")) if value else "0"


def p_value(value: float | None) -> str:
    """Format a p-value with three decimals, or more if rounding crosses the level of 5 %."""
    if value is None:
        return "–"
    places = next((n for n in range(3, 8) if (round(value, n) < ALPHA) == (value < ALPHA)), 8)
    return localize_digits("< 0.001" if value < _SMALLEST_P else f"{value:.{places}f}")


def format_number(number: float | None, places: int = 0) -> str:
    """Format a number in groups of three digits, separated by a non-breaking space; – for None."""
    return "–" if number is None else localize_digits(f"{number:,.{places}f}".replace(",", "\u202f"))


def duration(seconds: float | None) -> str:
    """Format a time in seconds, minutes or hours; None: unknown."""
    if seconds is None:
        return "?"
    if seconds < _MINUTE:
        return say("common.seconds", n=f"{max(seconds, 1) if seconds else 0:.0f}")
    if seconds < _HOUR:
        return say("common.minutes", n=f"{seconds / _MINUTE:.0f}")
    return say("common.hours", n=localize_digits(f"{seconds / _HOUR:.1f}"))


def date_in_words(moment: datetime) -> str:
    """Return a moment as `5 November 2026, 14:02`."""
    month = say("common.months").split()[moment.month - 1]
    return say("common.date_in_words", day=moment.day, month=month, year=moment.year, time=f"{moment:%H:%M}")


def shorten_name(name: str, most: int = NAME, among: Iterable[str] = ()) -> str:
    """Return a name of at most `most` characters, cut near the middle, and where it differs from those `among`."""
    name = make_visible(" ".join(name.split()))
    if len(name) <= most:
        return name
    names, middle = {name, *(make_visible(" ".join(one.split())) for one in among)}, (most - 1) // 2

    def cut(text: str, end: int) -> str:
        return text if len(text) <= most else f"{text[: most - 1 - end]}…{text[len(text) - end :]}"

    nearest = sorted(range(most), key=lambda end: abs(end - middle))
    apart = (end for end in nearest if len({cut(one, end) for one in names}) == len(names))
    return cut(name, next(apart, middle))


def clip_text(text: str, most: int) -> str:
    """Return a text of at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def join_names(names: Sequence[str]) -> str:
    """Join names in words, `a, b and c`; for many the first ones and the number of others."""
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], say("common.others", n=len(names) - _NAMED + 1)]
    first, last = ", ".join(names[:-1]), names[-1]
    return say("common.and", names=first, last=last) if first else last
