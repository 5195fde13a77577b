"""What a language says in a solution: its units, its questions and the phrases around an equation."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    """A language's words; `{label}` names what a step finds, `{eq}` is its equation, `{a}` and `{b}` its operands.

    `problems`: shape -> the question and a label for each step; `acts`: operator -> phrases that name the act;
    `finals`: last lines, `{n}` with its unit and `{bare}` without.
    """

    language: str
    units: Mapping[str, tuple[str, ...]]
    money: tuple[str, ...]
    rate: str
    step: tuple[str, ...]
    head: tuple[str, ...]
    lines: tuple[str, ...]
    results: tuple[str, ...]
    acts: Mapping[str, tuple[str, ...]]
    named_acts: Mapping[str, tuple[str, ...]]
    part_of: tuple[str, ...]
    finals: tuple[str, ...]
    links: tuple[str, ...]
    table: tuple[str, str]
    unknown: tuple[str, ...]
    problems: Mapping[str, tuple[str, ...]]


def texts(lines: str) -> dict[str, tuple[str, ...]]:
    """Read lines `shape | question | label | label …`."""
    found = {}
    for line in lines.strip().splitlines():
        name, *rest = (part.strip() for part in line.split("|"))
        found[name] = tuple(rest)
    return found
