"""Renew the numbers of a word problem: draw others of their kind, and replay the worked solution with them.

Correctness matters more than coverage: anything that could make another answer than the replayed one right is
refused, and a number that may affect more than the calculations is kept.

Source: SPEC 17.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby, pairwise
from operator import add, itemgetter, mul, ne, sub, truediv
from random import Random

from basic_control.generators.twins.base import Refused, Renewed
from basic_control.generators.twins.quantities import (
    NUMBER,
    SMALL,
    Quantity,
    TracedMention,
    Wording,
    kind,
    lowest_terms,
    mentions,
    number,
    places,
    quantities,
    whole,
    wording,
    written,
)

_ANNOTATED = re.compile(r"<<([^<>\n]*)>>")
LONGEST = 200  # characters of an annotation that are read
_LITERAL = "x"
_SIGNS = re.compile(rf"[-+*/() {_LITERAL}]+")
_EQUAL = re.compile(r"[=＝≈]\s*[$€£]?\s*\Z")
ANSWER = "####"
ROUNDED = "a result that is rounded or wrong"
TWO_SOURCES = "a number with two sources"
OTHER = "an equation without annotation"
UNREAD = "an annotation that cannot be read"
DRAWS = 2000  # draws after which an item is taken to have no fitting numbers
FEWEST = 0.5
"""The share of an item's numbers that change; if no draw of so many fits, one of `DRAWS` more suffices."""

Values = Sequence[Fraction]
"""The values of a question's quantities, then the results of the calculations, in order."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a literal comes from: an index into the values (times `factor`), or a constant."""

    place: int = -1
    factor: Fraction = Fraction(1)
    constant: Fraction = Fraction(0)

    def of(self, values: Values) -> Fraction:
        """Return the literal's value."""
        if self.place < 0:
            return self.constant
        value = values[self.place]
        return value if self.factor == 1 else value * self.factor


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation: its left side as text and as a tree, its literals and result, and its line."""

    left: str
    tree: ast.expr
    literals: tuple[str, ...]
    result: str
    line: int

    def calculate(self, literals: Values) -> Fraction | None:
        """Return the value of the left side; None if it divides by zero.

        Raises:
            Refused: it is not a calculation by + - * / alone.
        """
        try:
            return _value(self.tree, iter(literals))
        except ZeroDivisionError:
            return None


_OPERATIONS: Mapping[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: truediv,
}


def _value(node: ast.expr, literals: Iterator[Fraction]) -> Fraction:
    match node:
        case ast.Name(id="x"):
            return next(literals)
        case ast.BinOp(left, sign, right) if type(sign) in _OPERATIONS:
            return _OPERATIONS[type(sign)](_value(left, literals), _value(right, literals))
    raise Refused(UNREAD)


def calculations(lines: Sequence[str]) -> list[Annotation]:
    """Read the annotations of a solution's lines.

    Raises:
        Refused: there is none, one cannot be read, or there is an equation outside of them.
    """
    found = []
    for at, line in enumerate(lines):
        rest, end = "", 0
        for match in _ANNOTATED.finditer(line):
            one = _read(match, at)
            rest += _without_form(line[end : match.start()], one)
            end = match.end()
            found.append(one)
            again = NUMBER.match(line, end)
            if again and number(again[0]) != number(one.result):
                raise Refused(ROUNDED)
        if re.search(r"[=＝≈<>]", rest + line[end:]):
            raise Refused(OTHER)
    if not found:
        raise Refused("a reference without annotations")
    return found


def _without_form(text: str, calculation: Annotation) -> str:
    """Return the text before an annotation, without the annotation's own equals sign and that of a label before it.

    Raises:
        Refused: the text calculates something else.
    """
    left = _EQUAL.sub("", text)
    literals = {number(one) for one in calculation.literals}
    stated = {number(one) for one in NUMBER.findall(left)}
    if left != text:
        parts = {one / 100 for one in stated} | {Fraction(100), Fraction(1, 100)}
        if len(calculation.literals) == 1 or not literals <= stated | parts:
            raise Refused(OTHER)
    label, sign, form = left.rpartition("=")
    if sign and not NUMBER.search(label) and {number(one) for one in NUMBER.findall(form)} <= literals:
        return f"{label} {form}"
    return left


def _read(match: re.Match[str], line: int) -> Annotation:
    left, sign, result = map(str.strip, match[1].replace("$", "").partition("="))
    named = NUMBER.sub(_LITERAL, left)  # Python does not parse numbers, and only these signs are left
    if not sign or not NUMBER.fullmatch(result) or len(left) > LONGEST or not _SIGNS.fullmatch(named):
        raise Refused(UNREAD)
    try:
        tree = ast.parse(named, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        raise Refused(UNREAD) from None
    return Annotation(left, tree, tuple(NUMBER.findall(left)), result, line)


Sources = tuple[Source, ...]
"""All possible origins of a literal: if their values differ, it is unknown which one is meant."""


def value_of(sources: Sources, values: Values) -> Fraction | None:
    """Return the value that all sources agree on; None if they differ."""
    if len(sources) == 1:
        return sources[0].of(values)
    found = {source.of(values) for source in sources}
    return found.pop() if len(found) == 1 else None


Order = list[tuple[list[int], list[int]]]


def in_order(after: Values, order: Order) -> bool:
    """Return whether the values have the given order (see `Solution.order`)."""
    return all(max(after[n] for n in low) < min(after[n] for n in high) for low, high in order)


class Solution:
    """A worked solution, traced: its calculations with the sources of their literals, and all values in order."""

    def __init__(self, question: str, lines: Sequence[str], given: Sequence[Quantity], words: Wording) -> None:
        self.question = question
        self.lines = lines
        self.quantities = given
        self.words = words
        self.values: list[Fraction] = [one.value for one in given]
        self.traced: list[tuple[Annotation, tuple[Sources, ...]]] = []
        self._doubtful: set[int] = set()
        self._formulas: list[object] = [("given", place) for place in range(len(given))]
        self._uses = [0] * len(given)
        self._hidden = words.counted(question)
        self._most = words.highest(question)

    def trace(self, found: Sequence[Annotation]) -> None:
        """Trace every literal.

        Raises:
            Refused: a literal has no source, a quantity is not used, or a result is rounded.
        """
        for calculation in found:
            line = self.lines[calculation.line]
            own = tuple(self._sources(number(literal), line) for literal in calculation.literals)
            result = calculation.calculate([one[0].of(self.values) for one in own])
            if result is None or result != number(calculation.result):
                raise Refused(ROUNDED)
            formula = (ast.dump(calculation.tree), tuple(tuple(map(self._formula, one)) for one in own))
            self._count(calculation, own, again=formula in self._formulas)
            self.traced.append((calculation, own))
            self.values.append(result)
            self._formulas.append(formula)
        told = zip(self.quantities, self._uses, strict=True)
        if any(uses < len(one.mentions) and one.value != 1 for one, uses in told):
            raise Refused("a quantity that the solution does not use")

    def _count(self, calculation: Annotation, literals: Sequence[Sources], *, again: bool) -> None:
        """Record the quantities that a calculation uses, and which of them may also be constants.

        Raises:
            Refused: a number is divided by itself or subtracted from itself: two that are equal by chance.
        """
        for sources in literals:
            given = [one.place for one in sources if 0 <= one.place < len(self._uses)]
            for place in given:
                self._uses[place] += not again or not self._uses[place]
            if any(one.place < 0 for one in sources):
                self._doubtful.update(given)
            times = literals.count(sources)
            if times > 1 and {"/", "-"} & {*calculation.left} and sources[0].place >= 0:
                raise Refused(TWO_SOURCES)
            self._doubtful.update(place for place, one in enumerate(self.quantities) if 1 < times == one.value)

    def stays(self, place: int) -> bool:
        """Return whether a quantity may affect more than calculations: it is a constant, or counts named things."""
        one = self.quantities[place]
        counts = one.value <= SMALL and self._uses[place] > len(one.mentions)
        return counts or place in self._doubtful or one.value in {0, 1} or any(told.fact for told in one.mentions)

    def _formula(self, source: Source) -> object:
        if source.place < 0:
            return ("constant", source.constant)
        return (self._formulas[source.place], source.factor)

    def _sources(self, value: Fraction, line: str, *, percent: bool = False) -> Sources:
        """Return all possible origins of a number in a line of the solution.

        Raises:
            Refused: it has no source except, possibly, a number word.
        """
        if value in self._hidden:
            raise Refused("a number word that hides a quantity")
        found = {repr(self._formula(source)): source for source in self._candidates(value, line, percent=percent)}
        if not found:
            raise Refused("a number without a source")
        return tuple(found.values())

    def _candidates(self, value: Fraction, line: str, *, percent: bool) -> Iterator[Source]:
        for place, known in enumerate(self.values):
            given = self.quantities[place] if place < len(self.quantities) else None
            if known == value:
                yield Source(place)
            elif given is not None and given.scale == "percent" and known == value * 100:
                yield Source(place, Fraction(1, 100))
            elif percent and given is None and known * 100 == value:
                yield Source(place, Fraction(100))
        beside = self.words.constants.get(value)
        if beside and any(map(whole(beside).search, (self.question, line))):
            yield Source(constant=value)

    def replay(self, given: Values) -> list[Fraction] | None:
        """Calculate the solution with other quantities; return these, then all results.

        None if one has no value or is not of its original's kind, or the sources of a literal disagree.
        """
        found = [*given]
        for (calculation, sources), (old, alike, decimals) in zip(self.traced, self._results, strict=True):
            literals = [value for one in sources if (value := value_of(one, found)) is not None]
            result = calculation.calculate(literals) if len(literals) == len(sources) else None
            if result is None or kind(result) != alike or places(result) > decimals:
                return None
            # No result may exceed what a text can have (`Wording.highest`) unless it did before.
            if self._most and result > self._most and result > old:
                return None
            found.append(result)
        return found

    @cached_property
    def _results(self) -> list[tuple[Fraction, tuple[object, ...], int]]:
        return [(one, kind(one), places(one)) for one in self.values[len(self.quantities) :]]

    def order(self, count: int) -> Order:
        """Return groups of places of equal values among the first `count`, each paired with the next larger group.

        Larger values must stay larger: a solution's cases, remainders and comparisons depend on it (`in_order`).
        """
        scales = [one.scale for one in self.quantities] + [""] * (count - len(self.quantities))
        told = sorted(zip(scales, self.values[:count], range(count), strict=True))
        groups = [[place for *_, place in group] for _, group in groupby(told, key=itemgetter(0, 1))]
        return [(a, b) for a, b in pairwise(groups) if scales[a[0]] == scales[b[0]]]

    def rewritten(self, after: Values) -> list[str]:
        """Write the solution's lines with the new numbers, in the annotations and in the text around them.

        Raises:
            Refused: a number of the text has no source, or several that disagree.
        """
        return [self._line(at, line, after) for at, line in enumerate(self.lines)]

    def _line(self, at: int, line: str, after: Values) -> str:
        known: dict[Fraction, Sources] = {}  # from the line's own calculations: a number may come from all of these
        for place, (one, sources) in enumerate(self.traced, len(self.quantities)):
            if one.line == at:
                for text, own in zip((*one.literals, one.result), (*sources, (Source(place),)), strict=True):
                    known[number(text)] = (*known.get(number(text), ()), *own)

        def renewed(match: re.Match[str]) -> str:
            value = number(match[0])
            if value == 1 and value not in known:  # one foot, one of them: it stays
                return match[0]
            sources = known.get(value) or self._sources(value, line, percent=line[match.end() :][:1] == "%")
            new = value_of(sources, after)
            if new is None:
                raise Refused(TWO_SOURCES)
            return written(new, match[0])

        return NUMBER.sub(renewed, line)


def renew(
    question: str, reference: str, language: str, rng: Random, *, answer: str = "", annotated: str = ""
) -> Renewed:
    """Make a twin with other numbers: facts `question` and `reference`, the answer as a number.

    `answer` is the expected answer if the reference's last line does not give it; `annotated` is a reference in
    plain equations with the annotations that it leaves out, line by line.

    Raises:
        Refused: no twin of the item is certain to be right; the text is the reason.
    """
    words = wording(language)
    words.refuse(question)
    found = mentions(question, words)
    lines, ending = reference.strip().splitlines(), ""
    if ANSWER in lines[-1]:
        ending, answer = ANSWER, lines.pop().partition(ANSWER)[2].strip()
    if not NUMBER.fullmatch(answer):
        raise Refused("an answer that is no plain number")
    solution = Solution(question, lines, quantities(found), words)
    solution.trace(calculations((annotated.strip() or reference.strip()).splitlines()[: len(lines)]))
    if solution.values[-1] != number(answer):
        raise Refused("an answer that the last calculation does not give")
    if solution.values[-1] in [one.value for one in found]:
        raise Refused("an answer that the question states")  # by chance, or by a slip of the solution
    solution.rewritten(solution.values)  # refuse what cannot be written before anything is drawn
    for after in _drawn(solution, _domains(solution, reference, language), found, rng):
        with suppress(Refused):  # two sources of a number in the text disagree
            answer = written(after[-1])
            lines = [*solution.rewritten(after), *([f"{ending} {answer}"] if ending else [])]
            new = {one.value: value for one, value in zip(solution.quantities, after, strict=False)}
            return Renewed(answer, {"question": _question(question, new), "reference": "\n".join(lines)})
    doubted = any(len(sources) > 1 for _, own in solution.traced for sources in own)
    raise Refused(TWO_SOURCES if doubted else "no numbers that fit")


def _domains(solution: Solution, reference: str, language: str) -> list[Sequence[Fraction]]:
    """Return the possible values of each quantity; numbers that words repeat (both, the third week) stay.

    Raises:
        Refused: none can change.
    """
    words, question = solution.words, solution.question
    last = max((value for word, value in words.ordinals.items() if whole((word,)).search(question)), default=-1)
    said = words.counted(f"{question}\n{reference}")
    said |= {value for value, listed in words.again.items() if whole(listed).search(question)}
    found = [
        [] if solution.stays(place) or one.value in said or one.value <= last + 1 else one.domain(language)
        for place, one in enumerate(solution.quantities)
    ]
    if not any(found):
        raise Refused("no number that can change")
    return [domain or [one.value] for domain, one in zip(found, solution.quantities, strict=True)]


def _drawn(
    solution: Solution, domains: Sequence[Sequence[Fraction]], found: Sequence[TracedMention], rng: Random
) -> Iterator[Values]:
    """Yield draws for which every result of the solution is of its original's kind."""
    before = solution.values[: len(domains)]
    half = FEWEST * sum(old not in {0, 1} for old in before)
    first, last = solution.order(len(domains)), solution.order(len(solution.values))
    shares = any(one.share for one in found)
    for attempt in range(2 * DRAWS):
        keep = attempt / DRAWS / 2  # the longer nothing fits, the more of them stay
        given = [
            old if rng.random() < keep else rng.choice(domain) for old, domain in zip(before, domains, strict=True)
        ]
        if sum(map(ne, given, before)) < max(1, half if attempt < DRAWS else 1):
            continue
        if in_order(given, first) and (not shares or lowest_terms(found, dict(zip(before, given, strict=True)))):
            after = solution.replay(given)
            if after and after[-1] != solution.values[-1] and in_order(after, last):
                yield after


def _question(text: str, new: Mapping[Fraction, Fraction]) -> str:

    def one(match: re.Match[str]) -> str:
        value = written(new[number(match[0])], match[0])
        return value.removeprefix("0") if match[0].startswith(".") else value

    return NUMBER.sub(one, text)
