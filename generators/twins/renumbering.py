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
from functools import cached_property, partial
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
    compile_words,
    in_lowest_terms,
    kind,
    mentions,
    number,
    places,
    quantities,
    wording,
    write_number,
)

# A calculation that a solution states: "<<48/2=24>>"
_ANNOTATED = re.compile(r"<<([^<>\n]*)>>")
LONGEST = 200  # characters of an annotation that are read
_LITERAL = "x"
# A calculation whose numbers were replaced: "x/(x+x)"
_SIGNS = re.compile(rf"[-+*/() {_LITERAL}]+")
# The sign before an annotation: "48/2 = $"
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

    index: int = -1
    factor: Fraction = Fraction(1)
    constant: Fraction = Fraction(0)

    def read(self, values: Values) -> Fraction:
        """Return the literal's value."""
        if self.index < 0:
            return self.constant
        value = values[self.index]
        if self.factor != 1:  # most are 1, and a product of fractions takes long
            value *= self.factor
        return value


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation: its left side as text and as a tree, its literals and result, and the number of its line."""

    calculation: str
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
            return _calculate(self.tree, iter(literals))
        except ZeroDivisionError:
            return None


_OPERATIONS: Mapping[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.Div: truediv,
}


def _calculate(node: ast.expr, literals: Iterator[Fraction]) -> Fraction:
    match node:
        case ast.Name(id="x"):
            return next(literals)
        case ast.BinOp(first, sign, second) if type(sign) in _OPERATIONS:
            return _OPERATIONS[type(sign)](_calculate(first, literals), _calculate(second, literals))
    raise Refused(UNREAD)


def calculations(lines: Sequence[str]) -> list[Annotation]:
    """Read the annotations of a solution's lines.

    Raises:
        Refused: there is none, one cannot be read, or there is an equation outside of them.
    """
    annotations = []
    for line_number, line in enumerate(lines):
        plain_text, end = "", 0
        for match in _ANNOTATED.finditer(line):
            annotation = _read_annotation(match, line_number)
            plain_text += _without_form(line[end : match.start()], annotation)
            end = match.end()
            annotations.append(annotation)
            # The result is written once more after its annotation: "<<48/2=24>>24".
            repeated = NUMBER.match(line, end)
            if repeated and number(repeated[0]) != number(annotation.result):
                raise Refused(ROUNDED)
        if re.search(r"[=＝≈<>]", plain_text + line[end:]):
            raise Refused(OTHER)
    if not annotations:
        raise Refused("a reference without annotations")
    return annotations


def _without_form(text: str, calculation: Annotation) -> str:
    """Return the text before an annotation, without the annotation's own equals sign and that of a label before it.

    Raises:
        Refused: the text calculates something else.
    """
    form = _EQUAL.sub("", text)
    literals = set(map(number, calculation.literals))
    if form != text:
        stated = set(map(number, NUMBER.findall(form)))
        # A percentage may be calculated with as 0.2, or as 20 and 100.
        parts = {value / 100 for value in stated} | {Fraction(100), Fraction(1, 100)}
        if len(calculation.literals) == 1 or not literals <= stated | parts:
            raise Refused(OTHER)
    label, sign, after_label = form.rpartition("=")
    if sign and not NUMBER.search(label) and literals.issuperset(map(number, NUMBER.findall(after_label))):
        return f"{label} {after_label}"
    return form


def _read_annotation(match: re.Match[str], line_number: int) -> Annotation:
    calculation, sign, result = map(str.strip, match[1].replace("$", "").partition("="))
    # Python does not parse numbers, and only these signs are left.
    expression = NUMBER.sub(_LITERAL, calculation)
    is_short = len(calculation) <= LONGEST
    if not sign or not NUMBER.fullmatch(result) or not is_short or not _SIGNS.fullmatch(expression):
        raise Refused(UNREAD)
    try:
        tree = ast.parse(expression, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        raise Refused(UNREAD) from None
    return Annotation(calculation, tree, tuple(NUMBER.findall(calculation)), result, line_number)


Sources = tuple[Source, ...]
"""All possible origins of a literal: if their values differ, it is unknown which one is meant."""


def read_sources(sources: Sources, values: Values) -> Fraction | None:
    """Return the value that all sources agree on; None if they differ."""
    if len(sources) == 1:
        return sources[0].read(values)
    candidates = {source.read(values) for source in sources}
    return candidates.pop() if len(candidates) == 1 else None


Order = list[tuple[list[int], list[int]]]


def in_order(values: Values, order: Order) -> bool:
    """Return whether the values have the given order (see `Solution.order`)."""
    for lower_group, higher_group in order:
        if max(map(values.__getitem__, lower_group)) >= min(map(values.__getitem__, higher_group)):
            return False
    return True


class Solution:
    """A worked solution, traced: its calculations with the sources of their literals, and all values in order."""

    def __init__(
        self, question: str, lines: Sequence[str], question_quantities: Sequence[Quantity], words: Wording
    ) -> None:
        self.question = question
        self.lines = lines
        self.quantities = question_quantities
        self.words = words
        self.values: list[Fraction] = [quantity.value for quantity in question_quantities]
        self.traced: list[tuple[Annotation, tuple[Sources, ...]]] = []
        self._doubtful: set[int] = set()
        # How each value came about: two calculations of one formula are one.
        self._formulas: list[object] = [*range(len(question_quantities))]
        self._uses = [0] * len(question_quantities)
        self._hidden = words.list_counts(question)
        self._limit = words.limit_results(question)

    def trace(self, annotations: Sequence[Annotation]) -> None:
        """Trace every literal.

        Raises:
            Refused: a literal has no source, a quantity is not used, or a result is rounded.
        """
        for annotation in annotations:
            line = self.lines[annotation.line]
            literals = tuple(self._find_sources(number(literal), line) for literal in annotation.literals)
            result = annotation.calculate([sources[0].read(self.values) for sources in literals])
            if result is None or result != number(annotation.result):
                raise Refused(ROUNDED)
            formula = (ast.dump(annotation.tree), tuple(map(self._describe_sources, literals)))
            self._count(annotation, literals, is_repeated=formula in self._formulas)
            self.traced.append((annotation, literals))
            self.values.append(result)
            self._formulas.append(formula)
        for quantity, uses in zip(self.quantities, self._uses, strict=True):
            if uses < len(quantity.mentions) and quantity.value != 1:
                raise Refused("a quantity that the solution does not use")

    def _count(self, annotation: Annotation, literals: Sequence[Sources], *, is_repeated: bool) -> None:
        """Record the quantities that a calculation uses, and which of them may also be constants.

        Raises:
            Refused: a number is divided by itself or subtracted from itself: two that are equal by chance.
        """
        for sources in literals:
            used = [source.index for source in sources if 0 <= source.index < len(self._uses)]
            for index in used:
                self._uses[index] += not is_repeated or not self._uses[index]
            if any(source.index < 0 for source in sources):
                self._doubtful.update(used)
            times = literals.count(sources)
            if times > 1 and {"/", "-"} & {*annotation.calculation} and sources[0].index >= 0:
                raise Refused(TWO_SOURCES)
            # A number added three times over may be what the 3 of the question says.
            for index, quantity in enumerate(self.quantities):
                if 1 < times == quantity.value:
                    self._doubtful.add(index)

    def stays(self, index: int) -> bool:
        """Return whether a quantity may affect more than calculations: it is a constant, or counts named things."""
        quantity = self.quantities[index]
        counts = quantity.value <= SMALL and self._uses[index] > len(quantity.mentions)
        is_fact = any(mention.fact for mention in quantity.mentions)
        return counts or index in self._doubtful or quantity.value in {0, 1} or is_fact

    def _describe_sources(self, sources: Sources) -> tuple[object, ...]:
        return tuple(map(self._describe, sources))

    def _describe(self, source: Source) -> object:
        """Return what a source was calculated from, so that two ways to one value are told apart."""
        if source.index < 0:
            return ("constant", source.constant)
        return (self._formulas[source.index], source.factor)

    def _find_sources(self, value: Fraction, line: str, *, percent: bool = False) -> Sources:
        """Return all possible origins of a number in a line of the solution.

        Raises:
            Refused: it has no source except, possibly, a number word.
        """
        if value in self._hidden:
            raise Refused("a number word that hides a quantity")
        candidates = self._list_candidates(value, line, percent=percent)
        by_formula = {repr(self._describe(source)): source for source in candidates}
        if not by_formula:
            raise Refused("a number without a source")
        return tuple(by_formula.values())

    def _list_candidates(self, value: Fraction, line: str, *, percent: bool) -> Iterator[Source]:
        count = len(self.quantities)
        for index, candidate in enumerate(self.values):
            if candidate == value:
                yield Source(index)
            elif index < count and self.quantities[index].scale == "percent" and candidate == value * 100:
                yield Source(index, Fraction(1, 100))
            elif percent and index >= count and candidate * 100 == value:
                yield Source(index, Fraction(100))
        # A fact of the world, if its words are there: 7 beside "week".
        words = self.words.constants.get(value)
        if words and any(map(compile_words(words).search, (self.question, line))):
            yield Source(constant=value)

    def replay(self, quantities: Values) -> list[Fraction] | None:
        """Calculate the solution with other quantities; return these, then all results.

        None if one has no value or is not of its original's kind, or the sources of a literal disagree.
        """
        values = [*quantities]
        for (annotation, sources), (old, form, decimals) in zip(self.traced, self._results, strict=True):
            literals = [
                literal for literal in map(partial(read_sources, values=values), sources) if literal is not None
            ]
            result = annotation.calculate(literals) if len(literals) == len(sources) else None
            if result is None or kind(result) != form or places(result) > decimals:
                return None
            # No result may exceed what a text can have (`Wording.limit_results`) unless it did before.
            if self._limit and result > self._limit and result > old:
                return None
            values.append(result)
        return values

    @cached_property
    def _results(self) -> list[tuple[Fraction, tuple[object, ...], int]]:
        return [(value, kind(value), places(value)) for value in self.values[len(self.quantities) :]]

    def order(self, count: int) -> Order:
        """Return groups of indices of equal values among the first `count`, each paired with the next larger group.

        Larger values must stay larger: a solution's cases, remainders and comparisons depend on it (`in_order`).
        """
        scales = [quantity.scale for quantity in self.quantities] + [""] * (count - len(self.quantities))
        values = sorted(zip(scales, self.values[:count], range(count), strict=True))
        groups = []
        for _, equal_values in groupby(values, key=itemgetter(0, 1)):
            groups.append([index for *_, index in equal_values])
        return [(low, high) for low, high in pairwise(groups) if scales[low[0]] == scales[high[0]]]

    def rewrite_lines(self, values: Values) -> list[str]:
        """Write the solution's lines with the new numbers, in the annotations and in the text around them.

        Raises:
            Refused: a number of the text has no source, or several that disagree.
        """
        return [self._rewrite_line(index, line, values) for index, line in enumerate(self.lines)]

    def _rewrite_line(self, line_number: int, line: str, values: Values) -> str:
        # From the line's own calculations: a number may come from all of these.
        line_sources: dict[Fraction, Sources] = {}
        for index, (annotation, literals) in enumerate(self.traced, len(self.quantities)):
            if annotation.line == line_number:
                texts = (*annotation.literals, annotation.result)
                for text, sources in zip(texts, (*literals, (Source(index),)), strict=True):
                    value = number(text)
                    line_sources[value] = (*line_sources.get(value, ()), *sources)

        def replace_number(match: re.Match[str]) -> str:
            value = number(match[0])
            # One foot, one of them: it stays.
            if value == 1 and value not in line_sources:
                return match[0]
            is_percent = line[match.end() :][:1] == "%"
            sources = line_sources.get(value) or self._find_sources(value, line, percent=is_percent)
            new_value = read_sources(sources, values)
            if new_value is None:
                raise Refused(TWO_SOURCES)
            return write_number(new_value, match[0])

        return NUMBER.sub(replace_number, line)


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
    numbers = mentions(question, words)
    lines, marker = reference.strip().splitlines(), ""
    if ANSWER in lines[-1]:
        marker, answer = ANSWER, lines.pop().partition(ANSWER)[2].strip()
    if not NUMBER.fullmatch(answer):
        raise Refused("an answer that is no plain number")
    solution = Solution(question, lines, quantities(numbers), words)
    solution.trace(calculations((annotated.strip() or reference.strip()).splitlines()[: len(lines)]))
    if solution.values[-1] != number(answer):
        raise Refused("an answer that the last calculation does not give")
    # By chance, or by a slip of the solution.
    if solution.values[-1] in solution.values[: len(solution.quantities)]:
        raise Refused("an answer that the question states")
    # Refuse what cannot be written before anything is drawn.
    solution.rewrite_lines(solution.values)
    for values in _draw(solution, _domains(solution, reference, language), numbers, rng):
        with suppress(Refused):  # two sources of a number in the text disagree
            return _write_twin(solution, values, marker)
    for _, literals in solution.traced:
        if max(map(len, literals)) > 1:
            raise Refused(TWO_SOURCES)
    raise Refused("no numbers that fit")


def _write_twin(solution: Solution, values: Values, marker: str) -> Renewed:
    """Return the twin with these values; the reference ends with its answer if the original's has the marker."""
    answer = write_number(values[-1])
    lines = solution.rewrite_lines(values)
    if marker:
        lines.append(f"{marker} {answer}")
    replacements = {quantity.value: value for quantity, value in zip(solution.quantities, values, strict=False)}
    question = _rewrite_question(solution.question, replacements)
    return Renewed(answer, {"question": question, "reference": "\n".join(lines)})


def _domains(solution: Solution, reference: str, language: str) -> list[Sequence[Fraction]]:
    """Return the possible values of each quantity; numbers that words repeat (both, the third week) stay.

    Raises:
        Refused: none can change.
    """
    words, question = solution.words, solution.question
    ordinals = [value for word, value in words.ordinals.items() if compile_words((word,)).search(question)]
    last_ordinal = max(ordinals, default=-1)
    repeated = words.list_counts(f"{question}\n{reference}")
    repeated |= {value for value, forms in words.again.items() if compile_words(forms).search(question)}
    domains: list[Sequence[Fraction]] = []
    can_change = False
    for index, quantity in enumerate(solution.quantities):
        value = quantity.value
        is_fixed = solution.stays(index) or value in repeated or value <= last_ordinal + 1
        domain = [] if is_fixed else quantity.domain(language)
        can_change = can_change or bool(domain)
        domains.append(domain or [value])
    if not can_change:
        raise Refused("no number that can change")
    return domains


def _draw(
    solution: Solution, domains: Sequence[Sequence[Fraction]], numbers: Sequence[TracedMention], rng: Random
) -> Iterator[Values]:
    """Yield draws for which every result of the solution is of its original's kind."""
    before = solution.values[: len(domains)]
    enough = FEWEST * sum(old not in {0, 1} for old in before)
    quantity_order, value_order = solution.order(len(domains)), solution.order(len(solution.values))
    has_shares = any(mention.share for mention in numbers)
    for attempt in range(2 * DRAWS):
        # The longer nothing fits, the more of them stay.
        keep = attempt / DRAWS / 2
        drawn = [*before]
        for index, domain in enumerate(domains):
            if rng.random() >= keep:
                drawn[index] = rng.choice(domain)
        fewest = max(1, enough) if attempt < DRAWS else 1
        if sum(map(ne, drawn, before)) < fewest or not in_order(drawn, quantity_order):
            continue
        if has_shares and not in_lowest_terms(numbers, dict(zip(before, drawn, strict=True))):
            continue
        values = solution.replay(drawn)
        if values and values[-1] != solution.values[-1] and in_order(values, value_order):
            yield values


def _rewrite_question(text: str, replacements: Mapping[Fraction, Fraction]) -> str:
    def replace_number(match: re.Match[str]) -> str:
        value = write_number(replacements[number(match[0])], match[0])
        return value.removeprefix("0") if match[0].startswith(".") else value

    return NUMBER.sub(replace_number, text)
