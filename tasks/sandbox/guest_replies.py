"""Parse untrusted replies of a program's interpreter; any reply yields an outcome."""

from typing import cast

from basic_control.data.records import Outcome, OutcomeKind
from basic_control.tasks.sandbox import values

MESSAGE = 300
"""Maximum characters kept of a program's message."""

CLASSES = 32
"""Maximum classes kept of an exception's ancestry."""

_GUEST_KINDS = frozenset({"exception", "memory", "syntax", "no such function", "bad value"})
"""Error kinds a component may report: never `unavailable`, which would exclude its item from the score."""


def clean(text: str) -> str:
    """Return a program's message as one short line without control characters, escapes or lone surrogates."""
    return "".join(map(_make_printable, text[:MESSAGE]))


def _make_printable(character: str) -> str:
    if character.isprintable():
        return character
    return " "


def read_outcome(reply: object) -> Outcome:
    """Return the outcome of a reply; `bad value` if it is invalid."""
    try:
        match values.read(reply) if isinstance(reply, str) else None:
            case ["value", packed]:
                return Outcome("value", values.unpack(packed))
            case ["exception", str(name), str(message), *classes]:
                names = tuple(clean(entry) for entry in classes[:CLASSES] if isinstance(entry, str))
                return Outcome("exception", error=clean(name), message=clean(message), classes=names)
            case [str(kind)] if kind in _GUEST_KINDS:
                return Outcome(cast("OutcomeKind", kind))
            case [str(kind), str(message)] if kind in _GUEST_KINDS:
                return Outcome(cast("OutcomeKind", kind), message=clean(message))
    except values.UnfitError as error:
        return Outcome("bad value", message=clean(str(error)))
    return Outcome("bad value", message="not a reply")
