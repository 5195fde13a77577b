"""Exam of judges: find the first wrong step of a solution (the step `find` of judged chains).

A five-step word problem with drawn numbers, its reference, and a solution that is right or has one conceptual
error: each calculation is correct as a calculation, and later steps build on the error.

Source: ours; the kinds of error after Zeng et al. 2024 (MR-GSM8K).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from data.records import Item
from generators._texts import by_language
from generators.exams.world import exam_family, examine

_WRONG = {"relation": "left", "swapped": "more", "entity": "sold", "forgotten": "sold", "unit": "paid"}
KINDS = tuple(_WRONG)
"""The planted errors: a wrong relation, swapped operands, a wrong quantity, a step left out, a wrong unit."""

LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"later": False, "bare": False},
    "medium": {"later": True, "bare": False},
    "hard": {"later": True, "bare": True},
}
NONE = -1
_HOUR = 60


@dataclass(frozen=True, slots=True)
class ChainWords:
    """A language's words for the problem; its file documents the fields."""

    names: tuple[str, ...]
    things: tuple[str, ...]
    problem: str
    steps: Mapping[str, tuple[str, str]]


_words = by_language(ChainWords, "exam_chain")


Line = tuple[str, int, str, int, int]
"""A step's name, and its calculation: a number, a sign, a number, and the result."""


def _lines(drawn: Mapping[str, int], kind: str) -> list[Line]:
    """Return the steps of a solution with the given kind of error ('none' for none)."""
    lines: list[Line] = []

    def add(name: str, one: int, sign: str, other: int) -> int:
        value = one * other if sign == "*" else one + other if sign == "+" else one - other
        lines.append((name, one, sign, other, value))
        return value

    left = add("all", drawn["boxes"], "*", drawn["each"])
    if kind != "forgotten":
        left = add("left", left, "+" if kind == "relation" else "-", drawn["given"])
    sold = add("sold", left, "*", drawn["wage" if kind == "entity" else "price"])
    paid = add("paid", drawn["hours"] * (_HOUR if kind == "unit" else 1), "*", drawn["wage"])
    add("more", *((paid, "-", sold) if kind == "swapped" else (sold, "-", paid)))
    return lines


def forms(rng: Random, language: str, kind: str, *, later: bool) -> tuple[list[dict[str, Any]], int]:
    """Draw a problem; return its question as it is and reworded, and the first wrong step, -1 for none.

    `later`: what the other person gets is computed first, unlike in the reference.
    """
    drawn = {
        "boxes": rng.randint(4, 9), "each": rng.randint(10, 24), "given": rng.randint(3, 19),
        "price": rng.randint(7, 12), "hours": rng.randint(2, 6), "wage": rng.randint(13, 19),
    }  # fmt: skip
    words = _words(language)
    a, b = rng.sample(words.names, 2)
    said = {"a": a, "b": b, "things": rng.choice(words.things)}
    lines = _lines(drawn, kind)
    if later:
        lines.insert(0, lines.pop(-2))

    def written(listed: Sequence[Line], way: int) -> list[str]:
        labels = (words.steps[name][way].format(**said) for name, *_ in listed)
        colon = "：" if language == "zh" else ": "
        return [
            f"{label[0].upper()}{label[1:]}{colon}{one} {sign} {other} = {value}"
            for label, (_, one, sign, other, value) in zip(labels, listed, strict=True)
        ]

    shared = {
        "question": words.problem.format(**said, **drawn),
        "reference": "\n".join(written(_lines(drawn, "none"), 0)),
    }
    names = [name for name, *_ in lines]
    first = NONE if kind == "none" else names.index(_WRONG[kind]) + 1
    return [{**shared, "steps": written(lines, way)} for way in (0, 1)], first


def generate(rng: Random, *, language: str, later: bool, bare: bool, truth: str = "") -> Item:
    """Draw a problem whose solution is right (`none`) or has an error; `truth` may give the kind.

    `bare`: reworded, without the names given in the reference.
    """
    kind = truth or rng.choice(("none", *KINDS))
    ways, first = forms(rng, language, kind, later=later)
    truth = "none" if kind == "none" else "wrong"
    return examine("chain", language, {"1": ways[bare]}, truth, kind=kind, first=first)


def balanced(_level: Mapping[str, Any], n: int) -> list[dict[str, str]]:
    """Return as many right solutions as wrong ones, cycling through the kinds of error."""
    return [{"truth": truth} for at in range(n) for truth in ("none", KINDS[at % len(KINDS)])]


UNIT = exam_family(
    "chain", 1, LEVELS, generate, balanced, en="Exam: first wrong step", ru="Экзамен: первый неверный шаг"
)
