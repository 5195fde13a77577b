"""The language of what is written: phrases and numbers are in the one that the surrounding `use_language` names."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from basic_control.data.commands import is_from_python
from basic_control.data.shown import Text
from basic_control.prompts import phrases
from basic_control.prompts.phrases import ENGLISH, get_declared, phrase, translate_reason

_LANGUAGE: ContextVar[str] = ContextVar("language", default=ENGLISH)
_POINT: ContextVar[str] = ContextVar("point", default=".")


@contextmanager
def use_language(language: str, *, point: str = "") -> Iterator[None]:
    """Write phrases and numbers in a language inside the context; `point` replaces its decimal point."""
    spoken = _LANGUAGE.set(language)
    written = _POINT.set(point or phrase("common.point", language))
    try:
        yield
    finally:
        _LANGUAGE.reset(spoken)
        _POINT.reset(written)


def current() -> str:
    """Return the language in which everything is written."""
    return _LANGUAGE.get()


def decimal_point() -> str:
    """Return the sign before a number's decimals."""
    return _POINT.get()


def say(name: str, /, **values: object) -> str:
    """Return a phrase, `section.name`, with its gaps filled; for a caller from Python in words for one, if any."""
    in_python = f"{name}_python"
    if is_from_python() and in_python in phrases.catalogue(ENGLISH).phrases:
        name = in_python
    return phrase(name, current(), **values)


def say_on_page(name: str, /, **values: object) -> str:
    """Return a phrase of the HTML report, or one that all reports share."""
    section = "page" if f"page.{name}" in phrases.catalogue(ENGLISH).phrases else "common"
    return say(f"{section}.{name}", **values)


def say_reason(reason: str) -> str:
    """Return the reason of a score or a verdict, which the tables have in English."""
    return translate_reason(reason, current())


def say_declared(text: Text, key: str, default: str = "") -> str:
    """Return a text that a suite, family or metric declares; `key` is its name in a catalogue."""
    return get_declared(text, key, current(), default)
