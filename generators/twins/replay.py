"""A worked solution, traced to the numbers of its question and calculated again with others.

Source: SPEC 17.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, pairwise
from operator import add, mul, sub, truediv

from generators.twins.base import Refused
from generators.twins.quantities import NUMBER, SMALL, Quantity, written
from generators.twins.wording import Wording

_ANNOTATED = re.compile(r"<<([^<>\n]*)>>")
LONGEST = 200
"""Characters of an annotation that is read."""
_LITERAL = "x"
_SIGNS = re.compile(rf"[-+*/() {_LITERAL}]+")
_EQUAL = re.compile(r"[=＝≈]\s*[$€£]?\s*\Z")
ANSWER = "####"
ROUNDED = "a result that is rounded or wrong"
TWO_SOURCES = "a number with two sources"
OTHER = "an equation without annotation"
UNREAD = "an annotation that cannot be read"

Values = Sequence[Fraction]
"""The values of a question's quantities, and after them the results of the calculations, in order."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a literal comes from: a place among the values (times `factor`), or a constant."""

    place: int = -1
    factor: Fraction = Fraction(1)
    constant: Fraction = Fraction(0)

    def of(self, values: Values) -> Fraction:
        """Return the literal's value."""
        return self.constant if self.place < 0 else values[self.place] * self.factor


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation: its left side as text and as a tree, its literals and result, and its line."""

    left: str
    tree: ast.expr
    literals: tuple[str, ...]
    result: str
    line: int

    def calculate(self, literals: Values) -> Fraction | None:
        """Return the value of the left side; None where it divides by nothing.

        Raises:
            Refused: it is no calculation by + - * / alone.
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
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        left, right = _value(node.left, literals), _value(node.right, literals)
        return _OPERATIONS[type(node.op)](left, right)
    if isinstance(node, ast.Name) and node.id == _LITERAL:
        return next(literals)
    raise Refused(UNREAD)


def number(text: str) -> Fraction:
    """Read a number of a calculation."""
    return Fraction(text.replace(",", ""))


def calculations(lines: Sequence[str]) -> list[Annotation]:
    """Read the annotations of a solution's lines.

    Raises:
        Refused: there is none, one cannot be read, or an equation stands outside of them.
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
    """Return the text before an annotation without its own form in the text, and a label that stands before this.

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
    named = NUMBER.sub(_LITERAL, left)  # Python reads no number, and nothing else than these signs
    if not sign or not NUMBER.fullmatch(result) or len(left) > LONGEST or not _SIGNS.fullmatch(named):
        raise Refused(UNREAD)
    try:
        tree = ast.parse(named, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        raise Refused(UNREAD) from None
    return Annotation(left, tree, tuple(NUMBER.findall(left)), result, line)


Sources = tuple[Source, ...]
"""All that a literal may come from: where these have different values, it is not known which one is meant."""


def value_of(sources: Sources, values: Values) -> Fraction | None:
    """Return the value that all sources agree on; None where they part."""
    found = {source.of(values) for source in sources}
    return found.pop() if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class Trace:
    """A solution whose literals are all traced: sources by calculation, in the order of its literals.

    `kept` are the places of the quantities that stay, since more may hang on them than is calculated. No result
    exceeds `most` (0: none does that) unless it did before.
    """

    quantities: tuple[Quantity, ...]
    calculations: tuple[Annotation, ...]
    sources: tuple[tuple[Sources, ...], ...]
    values: tuple[Fraction, ...]
    kept: frozenset[int]
    most: int

    def replay(self, values: Values) -> list[Fraction] | None:
        """Calculate the solution with other quantities: these, then all results.

        None where one has no value, or the sources of a literal part.
        """
        found = [*values]
        for calculation, sources in zip(self.calculations, self.sources, strict=True):
            literals = [value for one in sources if (value := value_of(one, found)) is not None]
            result = calculation.calculate(literals) if len(literals) == len(sources) else None
            if result is None:
                return None
            found.append(result)
        return found


class Tracer:
    """Traces the literals of a solution, one calculation after another."""

    def __init__(self, quantities: Sequence[Quantity], question: str, lines: Sequence[str], words: Wording) -> None:
        """Begin with what the question states."""
        self.quantities = tuple(quantities)
        self.question = question
        self.lines = lines
        self.words = words
        self.values: list[Fraction] = [one.value for one in quantities]
        self.formulas: list[object] = [("given", place) for place in range(len(quantities))]
        self.uses = [0] * len(quantities)
        self.doubtful: set[int] = set()
        self.hidden = {value for pattern, value in words.numbered.items() if pattern.search(question)}

    def trace(self, found: Sequence[Annotation]) -> Trace:
        """Trace every literal.

        Raises:
            Refused: a literal has no source, a quantity is not used, or a result is rounded.
        """
        traced = []
        for calculation in found:
            line = self.lines[calculation.line]
            own = tuple(self.sources(number(literal), line) for literal in calculation.literals)
            traced.append(own)
            result = calculation.calculate([one[0].of(self.values) for one in own])
            if result is None or result != number(calculation.result):
                raise Refused(ROUNDED)
            formula = (ast.dump(calculation.tree), tuple(tuple(map(self._formula, one)) for one in own))
            self._count(calculation, own, again=formula in self.formulas)
            self.values.append(result)
            self.formulas.append(formula)
        told = zip(self.quantities, self.uses, strict=True)
        if any(uses < len(one.mentions) and one.value != 1 for one, uses in told):
            raise Refused("a quantity that the solution does not use")
        kept = frozenset(place for place, one in enumerate(self.quantities) if self._stays(place, one))
        most = self.words.highest(self.question)
        return Trace(self.quantities, tuple(found), tuple(traced), tuple(self.values), kept, most)

    def _count(self, calculation: Annotation, literals: Sequence[Sources], *, again: bool) -> None:
        """Note which quantities a calculation uses, and which of them a constant may be as well.

        Raises:
            Refused: a number is divided by itself, or taken off itself: two that are equal by chance.
        """
        for sources in literals:
            given = [one.place for one in sources if 0 <= one.place < len(self.uses)]
            for place in given:
                self.uses[place] += not again or not self.uses[place]
            if any(one.place < 0 for one in sources):
                self.doubtful.update(given)
            times = literals.count(sources)
            if times > 1 and {"/", "-"} & {*calculation.left} and sources[0].place >= 0:
                raise Refused(TWO_SOURCES)
            self.doubtful.update(place for place, one in enumerate(self.quantities) if 1 < times == one.value)

    def _stays(self, place: int, quantity: Quantity) -> bool:
        """Say whether a quantity stays: a constant may be meant, or a count of what the text names."""
        counts = quantity.value <= SMALL and self.uses[place] > len(quantity.mentions)
        return quantity.fixed or place in self.doubtful or counts

    def _formula(self, source: Source) -> object:
        if source.place < 0:
            return ("constant", source.constant)
        return (self.formulas[source.place], source.factor)

    def sources(self, value: Fraction, line: str, *, percent: bool = False) -> Sources:
        """Return all that a number in a line of the solution may come from.

        Raises:
            Refused: it has no source but, perhaps, a number word.
        """
        if value in self.hidden:
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
            elif given is not None and given.percent and known == value * 100:
                yield Source(place, Fraction(1, 100))
            elif percent and given is None and known * 100 == value:
                yield Source(place, Fraction(100))
        pattern = self.words.by_constant.get(value)
        if pattern and any(map(pattern.search, (self.question, line))):
            yield Source(constant=value)


def same_kind(trace: Trace, after: Values) -> bool:
    """Say whether every result is of its original's kind: whole, of its sign, below one, of as many digits."""
    first = len(trace.quantities)
    return all(
        (old.denominator == 1) == (new.denominator == 1)
        and (old > 0, old < 0, -1 < old < 1) == (new > 0, new < 0, -1 < new < 1)
        and (new * next(10**n for n in count() if (old * 10**n).denominator == 1)).denominator
        == 1  # as many decimals
        and len(str(int(abs(old)))) == len(str(int(abs(new))))
        and (not trace.most or new <= trace.most or new <= old)
        for old, new in zip(trace.values[first:], after[first:], strict=True)
    )


def same_order(trace: Trace, after: Values) -> bool:
    """Say whether what was larger still is: a solution's cases, rests and comparisons hang on it.

    `after` may be the quantities alone.
    """
    scales = [one.scale for one in trace.quantities] + [""] * (len(after) - len(trace.quantities))
    told = [*zip(scales, trace.values, after, strict=False)]
    for scale in {*scales}:
        pairs = sorted((old, new) for own, old, new in told if own == scale)
        if any(one[0] < other[0] and not one[1] < other[1] for one, other in pairwise(pairs)):
            return False
    return True


def rewritten(lines: Sequence[str], trace: Trace, tracer: Tracer, after: Values) -> list[str]:
    """Write the solution's lines with the new numbers, in the annotations and in the text around them.

    Raises:
        Refused: a number of the text has no source, or several that part.
    """
    return [_line(line, _known(at, trace), tracer, after) for at, line in enumerate(lines)]


def _known(line: int, trace: Trace) -> dict[Fraction, Sources]:
    """Return where the numbers of a line come from that its own calculations hold: from all of these."""
    found: dict[Fraction, Sources] = {}
    for n, one in enumerate(trace.calculations):
        if one.line == line:
            sides = zip(
                (*one.literals, one.result), (*trace.sources[n], (Source(len(trace.quantities) + n),)), strict=True
            )
            for literal, sources in sides:
                found[number(literal)] = (*found.get(number(literal), ()), *sources)
    return found


def _line(line: str, known: Mapping[Fraction, Sources], tracer: Tracer, after: Values) -> str:
    def one(match: re.Match[str]) -> str:
        value = number(match[0])
        if value == 1 and value not in known:  # one foot, one of them: it stays
            return match[0]
        sources = known.get(value) or tracer.sources(value, line, percent=line[match.end() :][:1] == "%")
        new = value_of(sources, after)
        if new is None:
            raise Refused(TWO_SOURCES)
        return written(new, decimals=len(match[0].partition(".")[2]), commas="," in match[0])

    return NUMBER.sub(one, line)
