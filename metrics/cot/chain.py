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
from basic_control.metrics.cot.equations import Equation, find_equations
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

    `text` is as written. `expected` is the exact value of the left side, `stated` the value given for it (None:
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
    """A chain of thought. `calculations` holds each one once, in order; `step_numbers` their steps, from 1.

    `answer_step` is the step of the answer's line: the last step if that line calculates or there is no marker,
    else the one after it. Chains compare by identity, so that values computed from a reference are cheap to cache.
    """

    steps: tuple[ChainStep, ...]
    answer: NumberAnswer | None
    calculations: tuple[Calculation, ...]
    step_numbers: tuple[int, ...]
    answer_step: int = 1

    @property
    def value(self) -> Fraction | None:
        """The final answer's value; None without an answer that is one number."""
        if self.answer is None:
            return None
        return self.answer.value


class _Parts(NamedTuple):
    """A reply's lines (or the sentences of a single line) before and after its answer.

    `has_lead`: the last part before it is the text before its marker on the same line, or in the same sentence.
    """

    before: list[str]
    after: list[str]
    has_lead: bool


# A calculator annotation of GSM8K: <<48/2=24>>.
_ANNOTATION = re.compile(rf"<<([^<>\n]{{0,{LONGEST}}})>>")
# A line that goes on with the equation of the last one: "= 24", "&= 24".
_CONTINUES = re.compile(r"[\s&>|]*(?:\\[(\[])?[\s&]*(?:=|＝|≈|\\approx)")
# A line that ends within an equation: "3 * 4 =", "3 *".
_BREAKS_OFF = re.compile(r"(?:[=＝≈×÷/+·]|\\(?:times|div|cdot|approx)|(?<=[\s])[-*−–x])[\s&\\]*\Z")
_LINE_END = 20
"""Characters at the end of a line in which it may break off."""
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
    before, after, has_lead = _split_reply(text, reading)
    # A text that is only the answer has no steps.
    if len(before) == 1 and reading.answer is not None and reading.answer.text == before[0].strip():
        before, has_lead = [], False
    chain_before = _collect_steps(before, reading, has_lead=has_lead)
    if not after or chain_before.calculations or len(before) > _OPENING:
        return chain_before
    chain_after = _collect_steps(after, reading)
    if not chain_after.calculations:
        return chain_before
    return chain_after


_OPENING = 2
"""Maximum number of lines without a calculation before an answer that is stated first."""


def _split_reply(text: str, reading: NumberReading) -> _Parts:
    """Split a reply into the parts before and after its answer's marker.

    The text before the marker on its line is a step only if it calculates. A boxed answer may be an equation's
    result.
    """
    anchor = reading.anchor
    is_paragraph = "\n" not in text.strip()
    if anchor is None:
        return _Parts(_split_parts(text, is_paragraph=is_paragraph), [], has_lead=False)
    if is_paragraph:
        start, end = _find_sentence(text, anchor)
    else:
        start, end = _find_line(text, anchor)
    lead = text[start:anchor]
    # The result of an equation that ends at the marker: "3 * 4 = \boxed{12}".
    if reading.answer is not None and _AWAITS.search(lead.rstrip("*_$ ")[-_SIGN_LENGTH:]):
        lead += reading.answer.text
    before = _split_parts(text[:start], is_paragraph=is_paragraph)
    has_lead = bool(lead.strip())
    if has_lead:
        before.append(lead)
    return _Parts(before, _split_parts(text[end:], is_paragraph=is_paragraph), has_lead)


def _find_line(text: str, index: int) -> tuple[int, int]:
    """Return the start and end of the line that holds an index."""
    start, end = text.rfind("\n", 0, index) + 1, text.find("\n", index)
    if end < 0:
        end = len(text)
    return start, end


def _find_sentence(text: str, index: int) -> tuple[int, int]:
    """Return the start and end of the sentence that holds an index; between sentences, of all that follows."""
    for start, end in split_sentences(text):
        if start <= index < end:
            return start, end
    return index, len(text)


def _split_parts(text: str, *, is_paragraph: bool) -> list[str]:
    """Split a text into its non-empty lines, a paragraph into its sentences."""
    if is_paragraph and _STOP.search(text):
        return [text[start:end] for start, end in split_sentences(text)]
    lines = [text]
    if not is_paragraph:
        lines = text.split("\n")
    return [line for line in lines if line.strip()]


# The end of a sentence within a paragraph: "It is 5. Then".
_STOP = re.compile(r"[.!?](?=\s)|[。！？]")


def _collect_steps(parts: Sequence[str], reading: NumberReading, *, has_lead: bool = False) -> Chain:
    """Read the parts of a reply as steps; `has_lead`: the last one is a step only if it calculates."""
    steps: list[ChainStep] = []
    calculation_by_key: dict[str, tuple[Calculation, int]] = {}
    texts_by_hash: dict[int, set[str]] = {}
    calculation_count = hashed_count = 0
    last_part = ""
    for index, part in enumerate(parts):
        step = _parse_step(part, last_part, is_searched=calculation_count < MOST_EQUATIONS)
        last_part = part
        # "So the answer is", before the marker on its line, is no step of its own.
        if has_lead and index == len(parts) - 1 and not step.calculations:
            has_lead = False
            break
        hashed_count += sum([len(calculation.hashed) for calculation in step.calculations])
        # Fewer numbers than the limit cannot exceed it, so most chains skip the check.
        if hashed_count > ALIKE:
            step = step._replace(calculations=_list_countable(step.calculations, texts_by_hash))
        steps.append(step)
        calculation_count += len(step.calculations)
        for calculation in step.calculations:
            calculation_by_key.setdefault(calculation.key, (calculation, len(steps)))
    calculations = tuple([calculation for calculation, _ in calculation_by_key.values()])
    step_numbers = tuple([step_number for _, step_number in calculation_by_key.values()])
    is_answer_apart = reading.anchor is not None and not has_lead
    return Chain(tuple(steps), reading.answer, calculations, step_numbers, len(steps) + is_answer_apart)


def _list_countable(
    calculations: Sequence[Calculation], texts_by_hash: dict[int, set[str]]
) -> tuple[Calculation, ...]:
    """Return the calculations whose numbers stay within the limit of equal hashes (`ALIKE`)."""
    countable = [calculation for calculation in calculations if _record_hashes(calculation, texts_by_hash)]
    return tuple(countable)


def _record_hashes(calculation: Calculation, texts_by_hash: dict[int, set[str]]) -> bool:
    """Record a calculation's numbers; return whether they stay within the limit of equal hashes."""
    for value in calculation.hashed:
        texts = texts_by_hash.setdefault(hash(value), set())
        if len(texts) <= ALIKE:
            texts.add(str(value))
        if len(texts) > ALIKE:
            return False
    return True


def _parse_step(line: str, last_line: str, *, is_searched: bool) -> ChainStep:
    """Parse a line, after the previous one; `is_searched`: for equations too, not only for annotations."""
    annotations: list[re.Match[str]] = []
    if "<<" in line:
        annotations = [*_ANNOTATION.finditer(line)]
    if not annotations:
        if not is_searched:
            return ChainStep(line, line, ())
        calculations, before = _find_equations(line, last_line)
        return ChainStep(line, before, calculations)
    before = line[: annotations[0].start()]
    repeated_signs = [_find_repeated_sign(line, annotation) for annotation in annotations]
    if not is_searched or not _has_further_equations(line, annotations, repeated_signs):
        contents = [annotation[1].strip() for annotation in annotations]
        return ChainStep(line, before, tuple(map(parse_annotation, filter(None, contents))))
    return ChainStep(line, before, _parse_mixed(line, annotations, repeated_signs))


def _has_further_equations(line: str, annotations: Sequence[re.Match[str]], repeated_signs: Sequence[int]) -> bool:
    """Return whether a line may hold equations beside its annotations and the text that these repeat."""
    sign_count = line.count("=")
    for annotation, repeated_sign in zip(annotations, repeated_signs, strict=True):
        sign_count -= annotation[1].count("=") + (repeated_sign >= 0)
    return sign_count != 0 or not line.isascii() or says(line, equal=False)


def _parse_mixed(
    line: str, annotations: Sequence[re.Match[str]], repeated_signs: Sequence[int]
) -> tuple[Calculation, ...]:
    """Parse a line of annotations and equations; what an annotation repeats is cut out, to be read once."""
    calculations: list[Calculation] = []
    text, end = "", 0
    for annotation, repeated_sign in zip(annotations, repeated_signs, strict=True):
        if repeated_sign >= 0:
            calculations += _find_equations(text + line[end:repeated_sign])[0]
            text = ""
        else:
            text += line[end : annotation.start()]
        end = annotation.end()
        content = annotation[1].strip()
        if content:
            calculations.append(parse_annotation(content))
    calculations += _find_equations(text + line[end:])[0]
    return tuple(calculations)


# An equals sign that awaits its result: "3 * 4 = $".
_AWAITS = re.compile(r"[=＝≈]\s*(?:\\?[$€£¥₽])?\s*\Z")
# The result after an annotation: "$1,200.50".
_RESULT = re.compile(r"\s*\\?[$€£¥₽]?\s*(-?[0-9][0-9.,]*)")
_DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_SIGN_LENGTH = 8
_BLANKS = frozenset({"", " "})
_STOPS = frozenset(".,;:!?")
# A sign or word that may calculate: "3 x 4", "half of 6".
_OPERATES = re.compile(r"[*+/^(\\]|[-:xX]\s?\$?\.?[0-9]|plus|minus|times|of")


def _find_repeated_sign(line: str, annotation: re.Match[str]) -> int:
    """Return the index of the equals sign where an annotation repeats the text before it; -1 if it does not.

    It does not if the text gives another result than the annotation.
    """
    start, end = annotation.span()
    result = annotation[1].rpartition("=")[2].strip()
    if line[start - 1 : start] == "$":
        start -= 1
    if line[start - 1 : start] == " ":
        start -= 1
    if line[start - 1 : start] == "=" and line.startswith(result, end):
        stop = end + len(result)
        if line[stop : stop + 1] in _BLANKS or (line[stop] in _STOPS and line[stop + 1 : stop + 2] in _BLANKS):
            return start - 1  # fast path for the usual case
    awaits = _AWAITS.search(line, max(0, start - _SIGN_LENGTH), annotation.start())
    if awaits is None:
        return -1
    following = _RESULT.match(line, annotation.end())
    if following is None or _is_same_result(following[1].rstrip(".,"), result):
        return awaits.start()
    return -1


def _is_same_result(text_result: str, result: str) -> bool:
    """Return whether the text after an annotation gives its result."""
    if text_result == result:
        return True
    value = number(result) if _DECIMAL.fullmatch(result) else evaluate(tokenize(result))
    return _is_close(number(text_result), value)


def _is_close(first: Exact | None, second: Exact | None) -> bool:
    """Return whether two results agree up to a calculator's binary rounding: 16.83, 16.830000000000002."""
    if first is None or second is None:
        return first is second
    return first == second or abs(Fraction(first) - second) * BINARY <= abs(Fraction(second))


def _find_equations(line: str, last_line: str = "") -> tuple[tuple[Calculation, ...], str]:
    """Parse the equations of a text without annotations, and the text before the first of them."""
    has_sign = "=" in line or (not line.isascii() and any(sign in line for sign in "＝≈")) or "approx" in line
    has_words = says(line, equal=has_sign)
    if not has_words and not has_sign and not (last_line and _BREAKS_OFF.search(last_line[-_LINE_END:])):
        return (), line
    if line.count("=") > 1:
        line = _DEFINED_TWICE.sub(r"\g<expression> = ", line)
    beginning = ""
    if last_line:
        line, beginning = _join_continued(line, last_line)
    # A plain line without an operation before its last equals sign has no equation.
    if not has_words and not beginning and line.isascii():
        left_end = line.rfind("=") + 1 or len(line)
        if not _OPERATES.search(line, 0, left_end):
            return (), line
    calculations, before = _parse_equations(beginning + line[:LONGEST_LINE], has_words=has_words)
    if not calculations:
        return (), line
    if beginning:
        return calculations, ""
    return calculations, before


@lru_cache(maxsize=1 << 14)
def _parse_equations(line: str, *, has_words: bool) -> tuple[tuple[Calculation, ...], str]:
    """Parse the equations of a line, and the text before them; `has_words`: it may hold operations in words."""
    if _UNDECIDABLE.search(line):
        return (), line
    if has_words:
        line = replace_spoken(line)
    text = prepare_line(line)
    equations = [*find_equations(text)]
    if not equations:
        return (), line
    calculations: list[Calculation] = []
    for equation in equations:
        sides = [equation.left_side, equation.right_side]
        calculations.append(_build_calculation(sides, equation.verdict, _join_texts(equation.tokens)))
    return tuple(calculations), text[: equations[0].left_side[0].start]


def _join_continued(line: str, last_line: str) -> tuple[str, str]:
    """Return a line, and the last side of the previous one if an equation continues over the line end.

    It does where the line begins with a sign, where the last one ends with one, and where both define one name:
    `Total = 3 * 4`, then `Total = 12`, whose name goes.
    """
    if "<<" in last_line:
        return line, ""
    previous = last_line[-LONGEST:].rstrip().removesuffix("\\\\")
    sides = _SIDES.split(previous)
    if _CONTINUES.match(line):
        return line, f"{sides[-1]} "
    if _BREAKS_OFF.search(previous) and not _NUMBERED.match(line):
        beginning = f"{sides[-1]} "
        if not sides[-1].strip(" &\\"):
            beginning = f"{sides[-2]} = "
        return line, beginning
    if len(sides) != len("ab"):
        return line, ""
    definition = _DEFINED_TWICE.match(f"{previous.lstrip(_BULLETS)}\n{line.lstrip(_BULLETS)}")
    if definition is None:
        return line, ""
    return f"= {line.partition('=')[2]}", f"{definition['expression']} "


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
    """Build a calculation of its sides (all but the last calculate) and what recomputing them gave."""
    stated = verdict.stated
    results: tuple[Exact, ...] = ()
    if stated is not None:
        results = (stated,)
        if "%" in key and any(token.kind == "percent" for token in sides[-1]):
            results = (stated, stated * 100)
    operands_by_side = [*map(list_operands, sides)]
    left_operands = [*chain.from_iterable(operands_by_side[:-1] or operands_by_side)]
    numbers = frozenset([operand.value for operand in chain.from_iterable(operands_by_side) if operand.known_by])
    values = chain(numbers, results, *[operand.known_by for operand in left_operands])
    return Calculation(
        text=text or key,
        key=key,
        expected=verdict.expected,
        stated=stated,
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
    if "<<" in text:
        return text
    return "\n".join(map(_annotate_line, text.split("\n")))


def _annotate_line(line: str) -> str:
    if len(line) > LONGEST_LINE or "=" not in line:
        return line
    prepared = prepare_line(line)
    # Where both texts have as many equals signs, each stands for the one at the same rank.
    signs = [sign.start() for sign in _EQUAL.finditer(line)]
    prepared_signs = [sign.start() for sign in _EQUAL.finditer(prepared)]
    if len(signs) != len(prepared_signs):
        return line
    sign_by_prepared_sign = dict(zip(prepared_signs, signs, strict=True))
    # From the last one on, so that what is inserted moves no sign to come.
    for equation in reversed([*find_equations(prepared)]):
        sign = sign_by_prepared_sign.get(equation.sign.start)
        if sign is not None and equation.verdict.right and len(equation.right_side) == 1:
            line = _insert_annotation(line, sign, equation)
    return line


def _insert_annotation(line: str, sign: int, equation: Equation) -> str:
    """Return a line with an equation's annotation before its result, if that follows the equals sign."""
    currency = _CURRENCY.match(line, sign + 1)
    result = equation.right_side[0].text
    if currency is None or not line.startswith(result, currency.end()):
        return line
    expression = "".join(map(_format_token, equation.left_side))
    return f"{line[: currency.end()]}<<{expression}={result}>>{line[currency.end() :]}"


def _format_token(token: Token) -> str:
    if token.kind == "percent":
        return "*0.01"
    return token.text


def _join_texts(side: Sequence[Token]) -> str:
    return "".join([token.text for token in side])
