"""Read what a program's interpreter replied: the program's own word, and whatever it is, an outcome comes of it."""

from typing import cast

from data.records import Outcome, OutcomeKind
from tasks.sandbox import values

MESSAGE = 300
"""Characters kept of what a program says."""

CLASSES = 32
"""Classes kept of an exception's line of them."""

_GUEST_KINDS = frozenset({"exception", "memory", "syntax", "no such function", "bad value"})
"""What a component may say beside a value: never `unavailable`, which would take its item out of the score."""


def clean(text: str) -> str:
    """Return what a program said as one short line without control characters, escapes or half characters."""
    return "".join(c if c.isprintable() else " " for c in text[:MESSAGE])


def outcome(reply: object) -> Outcome:
    """Return the outcome that a reply says; `bad value` where it says none."""
    try:
        match values.read(reply) if isinstance(reply, str) else None:
            case ["value", packed]:
                return Outcome("value", values.unpack(packed))
            case ["exception", str(name), str(message), *classes]:
                line = tuple(clean(each) for each in classes[:CLASSES] if isinstance(each, str))
                return Outcome("exception", error=clean(name), message=clean(message), classes=line)
            case [str(kind)] if kind in _GUEST_KINDS:
                return Outcome(cast("OutcomeKind", kind))
            case [str(kind), str(message)] if kind in _GUEST_KINDS:
                return Outcome(cast("OutcomeKind", kind), message=clean(message))
    except values.UnfitError as error:
        return Outcome("bad value", message=clean(str(error)))
    return Outcome("bad value", message="not a reply")
