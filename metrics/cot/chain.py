"""Parser for chains of thought: steps, their calculations, and the final answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from basic_control.data.reading.numbers import NumberAnswer, NumberReading, read_number
from basic_control.data.sentences import split_sentences
from basic_control.metrics.cot.calculations import FLOAT_DIGITS, CalculationCheck, recompute
from basic_control.metrics.cot.equations import find_equations
from basic_control.metrics.cot.expressions import (
    Exact,
    Operand,
    Token,
    evaluate,
    find_operators,
    list_operands,
    number,
    tokenize,
)
from basic_control.metrics.cot.notation import normalise, prepare_line, replace_dashes, replace_spoken, says

LONGEST = 500
"""Maximum length in characters of an annotation, and of one side of an equation in the text."""

LONGEST_LINE = 4_000
"""Maximum length in characters of a line searched for equations."""

MOST_EQUATIONS = 2_000
"""Number of calculations after which a chain's text is no longer searched for equations."""

ALIKE = 64
"""Maximum number of distinct numbers of a chain with the same hash.

Building a set of such numbers takes quadratic time, and number hashes are predictable: a calculation that exceeds
the limit is not counted.
"""

BINARY = 10**FLOAT_DIGITS
"""A result divided by this is the largest difference attributed to a calculator's binary rounding."""

SMALL = 2**61 - 1
"""Whole numbers below this are their own hash."""


class Calculation(NamedTuple):
    """One calculation of a chain.

    `text` is as written. `expected` is the exact value of the left side, `found` the value given for it (None:
    unreadable, which is never `right`). `operands` are the numbers of the left side (and of the middle of `a = b =
    c`), `results` the values made known by the result. `hashed` are those of all these numbers that are not their
    own hash. Two calculations with the same `key` are identical.
    """

    text: str
    key: str
    expected: Exact | None
    stated: Exact | None
    right: bool
    operands: tuple[Operand, ...]
    results: tuple[Exact, ...]
    operators: frozenset[str]
    numbers: frozenset[Exact]
    hashed: tuple[Exact, ...]


class ChainStep(NamedTuple):
    """A line (or sentence) of a chain: its calculations, and the text before them (all of it if there are none)."""

    text: str
    before: str
    calculations: tuple[Calculation, ...]


@dataclass(frozen=True, eq=False)
class Chain:
    """A chain of thought. `calculations` holds each one once, in order; `places` their steps, from 1.

    `answered` is the step of the answer's line: the last step if that line calculates or there is no marker, else
    the one after it. Chains compare by identity, so that values computed from a reference are cheap to cache.
    """

    steps: tuple[ChainStep, ...]
    answer: NumberAnswer | None
    calculations: tuple[Calculation, ...]
    places: tuple[int, ...]
    answered: int = 1

    @property
    def value(self) -> Fraction | None:
        """The final answer's value; None without an answer that is one number."""
        return None if self.answer is None else self.answer.value


# A calculator annotation of GSM8K: <<48/2=24>>.
_ANNOTATION = re.compile(rf"<<([^<>\n]{{0,{LONGEST}}})>>")
# A line that goes on with the equation of the last one: "= 24", "&= 24".
_CONTINUES = re.compile(r"[\s&>|]*(?:\\[(\[])?[\s&]*(?:=|＝|≈|\\approx)")
# A line that ends within an equation: "3 * 4 =", "3 *".
_BREAKS_OFF = re.compile(r"(?:[=＝≈×÷/+·]|\\(?:times|div|cdot|approx)|(?<=[\s])[-*−–x])[\s&\\]*\Z")
_END = 20
# A name defined by an expression, then by its value: "Total = 3 * 4. Total = 12".
_DEFINED_TWICE = re.compile(
    r"(?P<name>[^\W\d_][^=<>.;:\n]{0,60}?)\s?=(?P<expression>[^=<>\n]{3,120}?)(?:[.;,]\s|\n)\s{0,9}(?:(?:so|thus|hence|then"
    r"|therefore|значит|тогда|поэтому|所以)[,\s]{1,2})?(?P=name)\s?="
    r"(?=\s?[$€£¥₽]?\s?[-−]?[0-9][0-9.,]{0,20}\s?(?:%|[^\W\d_]{1,20})?\s{0,9}(?:[.;,]|$))",
    re.IGNORECASE,
)
_BULLETS = " -*•>"
# The number of a list's entry: "2. ".
_NUMBERED = re.compile(r"\s*[0-9]{1,3}[.)、]\s")
# What separates the sides: "3 * 4 ≈ 12".
_SIDES = re.compile(r"[=＝≈]|\\approx")
# Logarithms, congruences and bases, with which a line has other rules: "log_2(8) = 3", "7 ≡ 1 (mod 3)".
_UNDECIDABLE = re.compile(
    r"\\?\b(?:log|lg|ln|mod|pmod|bmod|sin|cos|tan)(?=[\s_({0-9]|\b)|≡|\\equiv|[0-9)}]_\{?[0-9]|[₀₁₂₃₄₅₆₇₈₉]|логарифм"
)


def read(text: str, question: str = "", *, language: str = "", cut: bool = False, prompt: str = "") -> Chain:
    """Parse a chain: a response to a question, or a GSM8K answer.

    Steps are the non-empty lines before the final answer's marker, box or cue, including the text before it on its
    line if that calculates. Without a marker all lines are steps (none if the text is only a number); if the reply
    states its answer first, the lines after it; in a reply of one line, the sentences. A calculation is an
    annotation `<<expression=result>>`, or an equation in the text with an operator on its left side; an annotation
    and the text it repeats are one calculation. An empty annotation is ignored; an unreadable one (letters,
    unbalanced brackets, no result) is a wrong calculation. Nothing is decidable in a line with a logarithm, a
    congruence or a base. In a truncated reply (`cut`) only an explicit answer counts.

    Source: SPEC 3 (seed 004); the cases that they leave open are ours.
    """
    reading = read_number(text, question, language=language, cut=cut, prompt=prompt)
    before, after, lead = _split_reply(text, reading)
    if len(before) == 1 and reading.answer is not None and reading.answer.text == before[0].strip():
        before, lead = [], False
    chain = _collect_steps(before, reading, lead=lead)
    if after and not chain.calculations and len(before) <= _OPENING:
        later_chain = _collect_steps(after, reading)
        return later_chain if later_chain.calculations else chain
    return chain


_OPENING = 2
"""Maximum number of lines without a calculation before an answer that is stated first."""


def _split_reply(text: str, reading: NumberReading) -> tuple[list[str], list[str], bool]:
    """Split a reply into the parts before and after its answer's marker: lines, or sentences of a single line.

    The third value says whether the last part before it is the text before the marker on the same line (in a single
    paragraph, the same sentence): that is a step only if it calculates. A boxed answer may be an equation's result.
    """
    anchor, is_paragraph = reading.anchor, "\n" not in text.strip()
    if anchor is None:
        return _cut(text, is_paragraph=is_paragraph), [], False
    if is_paragraph:
        begin, end = next(
            (sentence for sentence in split_sentences(text) if sentence[0] <= anchor < sentence[1]),
            (anchor, len(text)),
        )
    else:
        begin, end = text.rfind("\n", 0, anchor) + 1, text.find("\n", anchor)
        end = len(text) if end < 0 else end
    before = text[begin:anchor]
    if reading.answer is not None and _AWAITS.search(before.rstrip("*_$ ")[-_SIGN:]):
        before += reading.answer.text
    lead = [before] if before.strip() else []
    return (
        [*_cut(text[:begin], is_paragraph=is_paragraph), *lead],
        _cut(text[end:], is_paragraph=is_paragraph),
        bool(lead),
    )


# The end of a sentence within a paragraph: "It is 5. Then".
_STOP = re.compile(r"[.!?](?=\s)|[。！？]")


def _cut(text: str, *, is_paragraph: bool) -> list[str]:
    if is_paragraph and _STOP.search(text):
        return [text[start:end] for start, end in split_sentences(text)]
    return [part for part in ([text] if is_paragraph else text.split("\n")) if part.strip()]


def _collect_steps(parts: Sequence[str], reading: NumberReading, *, lead: bool = False) -> Chain:
    """Read the parts of a reply as steps; `lead`: the last one is a step only if it calculates."""
    steps: list[ChainStep] = []
    once: dict[str, tuple[Calculation, int]] = {}
    hashed: dict[int, set[str]] = {}
    count = weight = 0
    for index, part in enumerate(parts):
        step = _parse_step(part, parts[index - 1] if index else "", look=count < MOST_EQUATIONS)
        # "So the answer is", before the marker on its line, is no step of its own.
        if lead and index == len(parts) - 1 and not step.calculations:
            lead = False
            break
        weight += sum([len(calculation.hashed) for calculation in step.calculations])
        # Fewer numbers than the limit cannot exceed it, so most chains skip the check.
        if weight > ALIKE:
            countable = tuple(
                [
                    calculation
                    for calculation in step.calculations
                    if not calculation.hashed or _record_hashes(calculation, hashed)
                ]
            )
            step = step._replace(calculations=countable)
        steps.append(step)
        count += len(step.calculations)
        for calculation in step.calculations:
            once.setdefault(calculation.key, (calculation, len(steps)))
    calculations, places = zip(*once.values(), strict=True) if once else ((), ())
    answered = len(steps) + (reading.anchor is not None and not lead)
    return Chain(tuple(steps), reading.answer, calculations, places, answered)


def _record_hashes(calculation: Calculation, hashed: dict[int, set[str]]) -> bool:
    """Record a calculation's numbers; return whether they stay within the limit of equal hashes."""
    for value in calculation.hashed:
        equal_hashes = hashed.setdefault(hash(value), set())
        if len(equal_hashes) <= ALIKE:
            equal_hashes.add(str(value))
        if len(equal_hashes) > ALIKE:
            return False
    return True


def _parse_step(line: str, last: str, *, look: bool) -> ChainStep:
    """Parse a line; `last` is the previous one."""
    annotations = [*_ANNOTATION.finditer(line)] if "<<" in line else []
    if not annotations:
        equalities, before = _find_equations(line, last) if look else ((), line)
        return ChainStep(line, before, equalities)
    before = line[: annotations[0].start()]
    repeats = []
    # Equals signs that neither an annotation nor the text that it repeats accounts for: there may be equations.
    signs = line.count("=")
    for match in annotations:
        repeats.append(begin := _find_repeated_sign(line, match))
        signs -= match[1].count("=") + (begin >= 0)
    if not look or (not signs and line.isascii() and not says(line, equal=False)):
        return ChainStep(
            line, before, tuple([parse_annotation(inside) for match in annotations if (inside := match[1].strip())])
        )
    # What an annotation repeats is cut out, so that its calculation is read once.
    calculations: list[Calculation] = []
    text, end = "", 0
    for match, begin in zip(annotations, repeats, strict=True):
        if begin >= 0:
            calculations += _find_equations(text + line[end:begin])[0]
            text = ""
        else:
            text += line[end : match.start()]
        end = match.end()
        if inside := match[1].strip():
            calculations.append(parse_annotation(inside))
    return ChainStep(line, before, (*calculations, *_find_equations(text + line[end:])[0]))


# An equals sign that awaits its result: "3 * 4 = $".
_AWAITS = re.compile(r"[=＝≈]\s*(?:\\?[$€£¥₽])?\s*\Z")
# The result after an annotation: "$1,200.50".
_RESULT = re.compile(r"\s*\\?[$€£¥₽]?\s*(-?[0-9][0-9.,]*)")
_DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_SIGN = 8
_AFTER = frozenset({"", " "})
_STOPS = frozenset(".,;:!?")
# A sign or word that may calculate: "3 x 4", "half of 6".
_OPERATES = re.compile(r"[*+/^(\\]|[-:xX]\s?\$?\.?[0-9]|plus|minus|times|of")


def _find_repeated_sign(line: str, match: re.Match[str]) -> int:
    """Return the index of the equals sign where an annotation repeats the text before it; -1 if it does not.

    It does not if the text gives another result than the annotation.
    """
    start, end = match.span()
    meant = match[1].rpartition("=")[2].strip()
    if line[start - 1 : start] == "$":
        start -= 1
    if line[start - 1 : start] == " ":
        start -= 1
    if line[start - 1 : start] == "=" and line.startswith(meant, end):
        stop = end + len(meant)
        if line[stop : stop + 1] in _AFTER or (line[stop] in _STOPS and line[stop + 1 : stop + 2] in _AFTER):
            return start - 1  # fast path for the usual case
    awaits = _AWAITS.search(line, max(0, start - _SIGN), match.start())
    if awaits is None:
        return -1
    result = _RESULT.match(line, match.end())
    if result is None:
        return awaits.start()
    written = result[1].rstrip(".,")
    if written == meant:
        return awaits.start()
    value = number(meant) if _DECIMAL.fullmatch(meant) else evaluate(tokenize(meant))
    return awaits.start() if _is_close(number(written), value) else -1


def _is_close(first: Exact | None, second: Exact | None) -> bool:
    """Return whether two results agree up to a calculator's binary rounding: 16.83, 16.830000000000002."""
    if first is None or second is None:
        return first is second
    return first == second or abs(Fraction(first) - second) * BINARY <= abs(Fraction(second))


def _find_equations(line: str, last: str = "") -> tuple[tuple[Calculation, ...], str]:
    """Parse the equations of a text without annotations, and the text before the first of them."""
    has_sign = "=" in line or (not line.isascii() and any(sign in line for sign in "＝≈")) or "approx" in line
    has_words = says(line, equal=has_sign)
    if not has_words and not has_sign and not (last and _BREAKS_OFF.search(last[-_END:])):
        return (), line
    line = _DEFINED_TWICE.sub(r"\g<expression> = ", line) if line.count("=") > 1 else line
    line, tail = _join_continued(line, last) if last else (line, "")
    if (
        not has_words
        and not tail
        and line.isascii()
        and not _OPERATES.search(line, 0, line.rfind("=") + 1 or len(line))
    ):
        return (), line
    calculations, before = _parse_equations(tail + line[:LONGEST_LINE], has_words=has_words)
    return calculations, "" if tail and calculations else before if calculations else line


@lru_cache(maxsize=1 << 14)
def _parse_equations(line: str, *, has_words: bool) -> tuple[tuple[Calculation, ...], str]:
    """Parse the equations of a line, and the text before them; `said`: it may hold operations in words."""
    if _UNDECIDABLE.search(line):
        return (), line
    text = prepare_line(replace_spoken(line) if has_words else line)
    equations_read = [*find_equations(text)]
    calculations = tuple(
        [
            _build_calculation(
                [equation.left_side, equation.right_side], equation.verdict, _join_texts(equation.tokens)
            )
            for equation in equations_read
        ]
    )
    return calculations, text[: equations_read[0].left_side[0].start] if equations_read else line


def _join_continued(line: str, last: str) -> tuple[str, str]:
    """Return a line, and the last side of the previous one if an equation continues over the line end.

    It does where the line begins with a sign, where the last one ends with one, and where both define one name:
    `Total = 3 * 4`, then `Total = 12`, whose name goes.
    """
    if "<<" in last:
        return line, ""
    previous = last[-LONGEST:].rstrip().removesuffix("\\\\")
    sides = _SIDES.split(previous)
    if _CONTINUES.match(line):
        return line, f"{sides[-1]} "
    if _BREAKS_OFF.search(previous) and not _NUMBERED.match(line):
        return line, f"{sides[-1]} " if sides[-1].strip(" &\\") else f"{sides[-2]} = "
    if len(sides) == len("ab") and (
        definition := _DEFINED_TWICE.match(f"{previous.lstrip(_BULLETS)}\n{line.lstrip(_BULLETS)}")
    ):
        return f"= {line.partition('=')[2]}", f"{definition['expression']} "
    return line, ""


@lru_cache(maxsize=1 << 16)
def parse_annotation(inside: str) -> Calculation:
    """Parse an annotation: the text between `<<` and `>>`, which is decidable."""
    annotation_tokens = tokenize(replace_dashes(normalise(inside)))
    sides: list[list[Token]] = [[]]
    for token in annotation_tokens:
        if token.kind == "equals":
            sides.append([])
        else:
            sides[-1].append(token)
    return _build_calculation(sides, recompute(sides), _join_texts(annotation_tokens), inside)


_COUNTED = frozenset("+-*/")


def _build_calculation(
    sides: Sequence[Sequence[Token]], verdict: CalculationCheck, key: str, text: str = ""
) -> Calculation:
    before = sides[:-1] or sides
    value = verdict.stated
    results: tuple[Exact, ...] = () if value is None else (value,)
    if value is not None and "%" in key and any(t.kind == "percent" for t in sides[-1]):
        results = (value, value * 100)
    left_operands = [operand for side in before for operand in list_operands(side)]
    all_operands = [*left_operands, *list_operands(sides[-1])] if len(sides) > 1 else left_operands
    numbers = frozenset([operand.value for operand in all_operands if operand.known_by])
    values = chain(numbers, results, *[operand.known_by for operand in left_operands])
    return Calculation(
        text=text or key,
        key=key,
        expected=verdict.expected,
        stated=value,
        right=verdict.right,
        operands=tuple(left_operands),
        results=results,
        operators=frozenset().union(*map(find_operators, sides)) & _COUNTED,
        numbers=numbers,
        hashed=tuple([value for value in values if not (isinstance(value, int) and -SMALL < value < SMALL)]),
    )


_EQUAL = re.compile(r"[=＝]")
_CURRENCY = re.compile(r"\s*[$€£¥₽]?\s*")


def annotate(text: str) -> str:
    """Annotate each equation with its calculation: `8 boxes * 24 = 192` as `8 boxes * 24 = <<8*24=192>>192`.

    An equation that is unreadable, wrong, or gives more than a number stays as it is, and so does a text that
    already has annotations: unannotated equations in it were left so on purpose, or by mistake.

    Source: SPEC 3 (what an equation is), SPEC 17.
    """
    return text if "<<" in text else "\n".join(map(_annotate_line, text.split("\n")))


def _annotate_line(line: str) -> str:
    prepared = prepare_line(line) if len(line) <= LONGEST_LINE and "=" in line else ""
    # Where both texts have as many equals signs, each stands for the one at the same rank.
    signs = [sign.start() for sign in _EQUAL.finditer(line)]
    positions = [sign.start() for sign in _EQUAL.finditer(prepared)]
    if len(signs) != len(positions):
        return line
    sign_by_position = dict(zip(positions, signs, strict=True))
    for equation in reversed([*find_equations(prepared)]):
        before = (
            _CURRENCY.match(line, sign_by_position[equation.sign.start] + 1)
            if equation.sign.start in sign_by_position
            else None
        )
        result = equation.right_side[0].text
        if (
            before
            and equation.verdict.right
            and len(equation.right_side) == 1
            and line.startswith(result, before.end())
        ):
            expression = "".join(map(_format_token, equation.left_side))
            line = f"{line[: before.end()]}<<{expression}={result}>>{line[before.end() :]}"
    return line


def _format_token(token: Token) -> str:
    return "*0.01" if token.kind == "percent" else token.text


def _join_texts(side: Sequence[Token]) -> str:
    return "".join([token.text for token in side])
