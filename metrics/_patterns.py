"""Patterns of the user's own: compiled once, and stopped if they backtrack without end."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import AfterValidator

if TYPE_CHECKING:
    import regex

LIMIT_S = 2.0
"""CPU seconds for one text, after which a backtracking pattern is stopped."""
SLOW = "the pattern took too long"
"""The reason of a row whose pattern was stopped."""
_DOUBLINGS = 6
"""Maximum doublings of the wall limit if a busy machine leaves the match too little CPU."""

Result = TypeVar("Result")


@lru_cache(maxsize=256)
def compile_pattern(pattern: str, flags: tuple[str, ...] = ()) -> "regex.Pattern[str]":
    """Compile a regular expression with flags of `i`, `m`, `s`, `x`.

    Raises:
        ValueError: it is no regular expression.
    """
    import regex  # not needed for listing the metrics

    try:
        return regex.compile(pattern, sum(getattr(regex, flag.upper()) for flag in flags))
    except regex.error as error:
        raise ValueError(f"not a regular expression ({error})") from error


def _check_pattern(pattern: str) -> str:
    compile_pattern(pattern)
    return pattern


Pattern = Annotated[str, AfterValidator(_check_pattern)]
"""A regular expression among a metric's options."""


def find_last(pattern: str, text: str, flags: tuple[str, ...] = ()) -> "regex.Match[str] | None":
    """Return the last match.

    Raises:
        TimeoutError: the pattern took too long.
    """
    compiled = compile_pattern(pattern, flags)
    return _limit(lambda wall_s: next(iter(deque(compiled.finditer(text, timeout=wall_s), maxlen=1)), None))


def remove_matches(patterns: Iterable[str], text: str) -> str:
    """Return a text without what the patterns match, one after the other.

    Raises:
        TimeoutError: a pattern took too long.
    """
    for pattern in patterns:
        compiled, before = compile_pattern(pattern), text
        text = _limit(lambda wall_s, compiled=compiled, before=before: compiled.sub("", before, timeout=wall_s))
    return text


def _limit(match: Callable[[float], Result]) -> Result:
    """Call a match with its limit of wall time.

    The limit is on this thread's CPU time, not wall time, so that a busy machine changes no verdict.
    """
    wall_s = LIMIT_S
    for _ in range(_DOUBLINGS):
        began = time.thread_time()
        try:
            return match(wall_s)
        except TimeoutError:
            if time.thread_time() - began >= LIMIT_S:
                raise
            wall_s *= 2
    raise TimeoutError
