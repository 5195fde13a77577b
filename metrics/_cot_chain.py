"""A chain of thought, read: its steps, their calculations, and its final answer."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from data.answers import Answer, search
from metrics._cot_equations import Equation, equations
from metrics._cot_expressions import Exact, Operand, Token, operands, operators, tokens
from metrics._cot_judging import Verdict, judge
from metrics._cot_notation import normalise, plain, undashed

LONGEST = 500
"""Characters of an annotation, and of one side of an equation in the text, that are read."""

LONGEST_LINE = 4_000
"""Characters of a line in which equations are looked for."""

MOST_EQUATIONS = 2_000
"""Calculations in a chain after which its text is no longer searched for equations."""

ALIKE = 64
"""Different numbers of a chain that share a hash. Sets of such numbers take the square of their count to build, and
it is no secret how numbers are hashed: a calculation that brings more of them is not counted."""

SMALL = 2**61 - 1
"""Whole numbers below this are their own hash."""


class Calculation(NamedTuple):
    """One calculation of a chain.

    `text` is as written. `expected` is the exact value of the left side, `found` the value
    given for it (None: cannot be read, which is never `right`). `operands` are the numbers of the left side (and
    of the middle of `a = b = c`), `results` the values that the result makes known. `bare`: the left side is one
    number. `hashed` are those of all these numbers that are not their own hash. Two calculations of the same
    `key` are identical.
    """

    text: str
    key: str
    expected: Exact | None
    found: Exact | None
    right: bool
    operands: tuple[Operand, ...]
    results: tuple[Exact, ...]
    operators: frozenset[str]
    numbers: frozenset[Exact]
    bare: bool
    hashed: tuple[Exact, ...]


class Step(NamedTuple):
    """A line of a chain: its calculations, and the text before the first of them (all of it without any)."""

    text: str
    before: str
    calculations: tuple[Calculation, ...]


class Chain(NamedTuple):
    """A chain of thought. `calculations` holds each one once, in order; `places` their steps, from 1."""

    steps: tuple[Step, ...]
    answer: Answer | None
    calculations: tuple[Calculation, ...]
    places: tuple[int, ...]


_ANNOTATION = re.compile(rf"<<([^<>\n]{{0,{LONGEST}}})>>")
_EQUALS = ("=", "＝", "≈", "approx")
_CONTINUES = re.compile(r"[\s&>|]*(?:\\[(\[])?[\s&]*(?:=|＝|≈|\\approx)")


def read(text: str, question: str = "") -> Chain:
    """Read a chain: a response to a question, or a GSM8K answer.

    Steps are the non-empty lines before the line where the final answer's marker, box or cue stands; all lines
    where none does (but a text that is only a number has none). A calculation is an annotation
    `<<expression=result>>`; in a step without one, each equation in the text that has an operator on its left
    side. Where a chain annotates at all, an equation with a currency sign is no plain one: whoever annotates says
    so where they calculate (one GSM8K answer says `$32 - $20 = $300` in passing). An empty annotation is nothing;
    one that cannot be read (a power, letters, brackets that do not match, no result) is a calculation that is
    wrong.

    Source: SPEC 3 (seed 004); the cases that they leave open are ours.
    """
    found = search(text, question)
    end = len(text) if found.anchor is None else text.rfind("\n", 0, found.anchor) + 1
    lines = [line for line in text[:end].split("\n") if line.strip()]
    if len(lines) == 1 and found.answer is not None and found.answer.text == lines[0].strip():
        lines = []
    steps: list[Step] = []
    once: dict[str, tuple[Calculation, int]] = {}
    hashed: dict[int, set[str]] = {}
    count = 0
    annotates = _ANNOTATION.search(text) is not None
    for place, line in enumerate(lines, 1):
        last = lines[place - 2] if place > 1 else ""
        step = _step(line, last, look=count < MOST_EQUATIONS, money=not annotates)
        made = step.calculations
        kept = tuple([one for one in made if not one.hashed or _scattered(one, hashed)])
        if len(kept) < len(made):
            step = step._replace(calculations=kept)
        steps.append(step)
        count += len(step.calculations)
        for calculation in step.calculations:
            once.setdefault(calculation.key, (calculation, place))
    calculations, places = zip(*once.values(), strict=True) if once else ((), ())
    return Chain(tuple(steps), found.answer, calculations, places)


def _scattered(calculation: Calculation, hashed: dict[int, set[str]]) -> bool:
    """Say whether a calculation's numbers do not all fall on one hash with those before; note them down."""
    for value in calculation.hashed:
        alike = hashed.setdefault(hash(value), set())
        if len(alike) <= ALIKE:
            alike.add(str(value))
        if len(alike) > ALIKE:
            return False
    return True


def _step(line: str, last: str, *, look: bool, money: bool) -> Step:
    """Read a line; `last` is the one before it."""
    annotations = [*_ANNOTATION.finditer(line)] if "<<" in line else []
    if annotations:
        made = tuple([annotated(inside) for match in annotations if (inside := match[1].strip())])
        return Step(line, line[: annotations[0].start()], made)
    if not look or not any(sign in line for sign in _EQUALS):
        return Step(line, line, ())
    tail = _tail(line, last)
    text = plain(tail + line[:LONGEST_LINE], money=money)
    found = [*equations(text)]
    if not found:
        return Step(line, line, ())
    before = "" if tail else text[: found[0].left[0].start]
    return Step(line, before, tuple(map(_equated, found)))


def _tail(line: str, last: str) -> str:
    """Return the last side of the line before, where a line goes on with an equals sign."""
    if not last or "<<" in last or not _CONTINUES.match(line):
        return ""
    side = re.split("[=＝≈]", last[-LONGEST:])[-1]
    return f"{side.removesuffix(chr(92) * 2)} "


@lru_cache(maxsize=1 << 16)
def annotated(inside: str) -> Calculation:
    """Read an annotation: the text between `<<` and `>>`."""
    return _calculation(tokens(undashed(normalise(inside))), inside)


def _sides(found: Sequence[Token]) -> list[list[Token]]:
    """Split tokens at the equals signs."""
    sides: list[list[Token]] = [[]]
    for token in found:
        if token.kind == "equals":
            sides.append([])
        else:
            sides[-1].append(token)
    return sides


def _calculation(found: Sequence[Token], text: str) -> Calculation:
    """Make a calculation of an annotation's tokens, equals signs included."""
    sides = _sides(found)
    return _made(sides, judge(sides), "".join(t.text for t in found), text)


def _equated(equation: Equation) -> Calculation:
    """Make a calculation of an equation in the text."""
    key = "".join(t.text for t in equation.tokens)
    return _made([equation.left, equation.right], equation.verdict, key, key)


def _made(sides: Sequence[Sequence[Token]], verdict: Verdict, key: str, text: str) -> Calculation:
    before = sides[:-1] or sides
    value = verdict.found
    results: tuple[Exact, ...] = () if value is None else (value,)
    if value is not None and "%" in key and any(t.kind == "percent" for t in sides[-1]):
        results = (value, value * 100)
    needed = [operand for side in before for operand in operands(side)]
    every = [*needed, *operands(sides[-1])] if len(sides) > 1 else needed
    numbers = frozenset([operand.value for operand in every if operand.known_by])
    known = chain(numbers, results, *[operand.known_by for operand in needed])
    return Calculation(
        text=text or key,
        key=key,
        expected=verdict.expected,
        found=value,
        right=verdict.right,
        operands=tuple(needed),
        results=results,
        operators=frozenset().union(*map(operators, sides)),
        numbers=numbers,
        bare=sum(map(len, before)) == 1,
        hashed=tuple([value for value in known if not (isinstance(value, int) and -SMALL < value < SMALL)]),
    )
