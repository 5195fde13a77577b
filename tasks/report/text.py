"""Texts and numbers as people read them; text from models and data sets made harmless to what shows it."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from data.characters import visible
from metrics.analysis import summary
from metrics.analysis.policy import reaches
from metrics.analysis.summary import rounded
from prompts.phrases import phrase

if TYPE_CHECKING:
    from metrics.analysis.passports import Share

P = ParamSpec("P")
T = TypeVar("T")
_POINT: ContextVar[str] = ContextVar("point", default=".")
_SMALLEST_P = 0.001
_MOST_PLACES = 4
_NAMED = 4
_MINUTE, _HOUR = 60, 3600
NAME = 26
"""Characters of a name on a screen."""


def plain(text: object) -> str:
    """Return text that Markdown shows as it is, on one line: models may have had a hand in it."""
    line = " ".join(str(text).split())
    line = "".join(c for c in line if c.isprintable())
    for mark in "\\`*_[]<>|#!~$":
        line = line.replace(mark, "&lt;" if mark == "<" else "&gt;" if mark == ">" else f"\\{mark}")
    return line


def code(text: str) -> str:
    """Return text as inline code."""
    return "`" + visible(" ".join(text.replace("`", "'").split())) + "`"


def fenced(text: str) -> list[str]:
    """Return text as a Markdown code block, whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *visible(text).split("\n"), fence]


def speaking(language: Callable[..., str]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have a function write its numbers as a language does; `language` tells which one from its arguments."""

    def around(write: Callable[P, T]) -> Callable[P, T]:
        @wraps(write)
        def spoken(*args: P.args, **kwargs: P.kwargs) -> T:
            token = _POINT.set(phrase("common.point", language(*args, **kwargs)))
            try:
                return write(*args, **kwargs)
            finally:
                _POINT.reset(token)

        return spoken

    return around


def written(digits: str) -> str:
    """Return a number's digits with the decimal point of the language that is spoken."""
    return digits.replace(".", _POINT.get())


def percent(share: float | None) -> str:
    """Write a share of 1 as a percentage; without decimals where there are none."""
    return "–" if share is None else written(summary.percent(share))


def whole_percent(share: float | None, threshold: float | None = None) -> str:
    """Write a share of 1 in whole percents, without a sign; with decimals where rounding crosses the threshold.

    `threshold` is in [0, 1] too: 0.796 is 80 beside none, and 79.6 beside 0.8, which it does not reach.
    """
    if share is None:
        return "–"
    limit = None if threshold is None else 100 * threshold
    for places in range(_MOST_PLACES):
        value = rounded(100 * share, places)
        if limit is None or (value >= limit) == reaches(share, threshold or 0.0):
            break
    return written(f"{value:.{places}f}")


def total_percent(percentage: float | None) -> str:
    """Write a TOTAL, which is in percent: always with one decimal, as the seed has it."""
    return "–" if percentage is None else written(f"{rounded(percentage, 1):.1f}%")


def estimated(value: float | None, low: float | None, high: float | None) -> str:
    """Write a share in [0, 1] with its interval, if it has one."""
    return percent(value) + ("" if low is None or high is None else f" ({percent(low)} – {percent(high)})")


def around(interval: Mapping[str, Any] | None) -> str:
    """Write an interval of a share."""
    return f"{percent(interval['low'])} – {percent(interval['high'])}" if interval else "–"


def share(found: "Share") -> str:
    """Write k of n with its interval, in a form that needs no words: `9/10 = 90% (59.6% – 98.2%)`."""
    counted = estimated(found.share, found.interval.low, found.interval.high)
    return f"{found.k}/{found.n} = {counted}" if found.n else "–"


def points(share: float | None) -> str:
    """Write a difference of shares in percentage points, with its sign."""
    if share is None:
        return "–"
    value = rounded(100 * share, 1) + 0.0  # no minus before 0
    return written(f"{value:+.1f}".replace("-", "−")) if value else "0"


def p_value(value: float | None) -> str:
    """Write a p-value to three decimals."""
    return "–" if value is None else written("< 0.001" if value < _SMALLEST_P else f"{value:.3f}")


def grouped(number: float | None, places: int = 0) -> str:
    """Write a number in groups of three digits, with a space between that no line is broken at; – for none."""
    return "–" if number is None else written(f"{number:,.{places}f}".replace(",", "\u202f"))


def duration(seconds: float | None, language: str) -> str:
    """Write a time in seconds, minutes or hours; None: it is not known."""
    if seconds is None:
        return "?"
    if seconds < _MINUTE:
        return phrase("common.seconds", language, n=f"{max(seconds, 1) if seconds else 0:.0f}")
    if seconds < _HOUR:
        return phrase("common.minutes", language, n=f"{seconds / _MINUTE:.0f}")
    return phrase("common.hours", language, n=written(f"{seconds / _HOUR:.1f}"))


def shortened(name: str, most: int = NAME) -> str:
    """Return a name of so many characters at most, cut in the middle: beginnings and ends tell names apart."""
    name = visible(" ".join(name.split()))
    if len(name) <= most:
        return name
    end = (most - 1) // 2
    return f"{name[: most - 1 - end]}…{name[len(name) - end :]}"


def clipped(text: str, most: int) -> str:
    """Return a text of so many characters at most."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def listed(names: Sequence[str], language: str) -> str:
    """Join names as people do, `a, b and c`; of many the first, and how many more there are."""
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], phrase("common.others", language, n=len(names) - _NAMED + 1)]
    first, last = ", ".join(names[:-1]), names[-1]
    return phrase("common.and", language, names=first, last=last) if first else last
