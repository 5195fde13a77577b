"""A composed reply, and the value that SPEC 14 gives it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from data.options import options_of
from data.plugins import metric
from data.records import Score

NOTHING: Mapping[str, Any] = {}


class Case(NamedTuple):
    """A reply to a row, with the metric's options; `status` where SPEC 1 names it, '' where any will do."""

    name: str
    reply: str
    value: float
    row: Mapping[str, Any]
    options: Mapping[str, Any] = NOTHING
    status: str = ""
    parts: Mapping[str, float] = NOTHING


def fill(form: str, **slots: str) -> str:
    """Put texts into a form's slots; other braces (JSON, LaTeX) stay as they are."""
    for name, text in slots.items():
        form = form.replace("{" + name + "}", text)
    return form


def score(case: Case) -> Score:
    """Score a reply as a run does."""
    unit = metric(case.name)
    return unit.score({**case.row, "response": case.reply}, {}, options_of(unit, case.options))


def astray(cases: list[Case]) -> list[str]:
    """Say which replies came to another value, or another status, than SPEC 14 gives them."""
    told = []
    for case in cases:
        found = score(case)
        others = {part: found.parts.get(part) for part in case.parts}
        if found.value != case.value or others != case.parts or (case.status and found.status != case.status):
            wanted = " ".join(map(str, (case.value, case.status, *case.parts.items())))
            told.append(
                f"{case.reply!r}: {found.value} {found.status} {others} for {wanted}; {case.row}, {case.options}"
            )
    return told
