"""The first wrong step of a chain, found by comparison with the reference's calculations."""

import re
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations
from math import prod
from typing import Any, Literal, NamedTuple

from basic_control.metrics.cot.chain import Calculation, Chain
from basic_control.metrics.cot.expressions import (
    OPERAND_BEGINNINGS,
    OPERAND_ENDS,
    Exact,
    Operand,
    Token,
    divide,
    evaluate,
    format_exact,
    tokenize,
)
from basic_control.metrics.cot.notation import prepare_line

Kind = Literal["slip", "operand", "operation", "omission", "invented number", "stopped early", "misread final"]
Rule = Literal["recomputed", "aligned", "final"]

REASONS: Mapping[Kind, str] = {
    "slip": "slip in a calculation",
    "operand": "wrong operand",
    "operation": "wrong operation",
    "omission": "step left out",
    "invented number": "invented number",
    "stopped early": "stopped early",
    "misread final": "final answer misread",
}
"""Text of each kind in a score's reason; reports count typical errors by it."""

MOST = 200
"""Maximum number of a chain's calculations compared with the reference; later ones are ignored."""

_PAIRED = 2
_FEWEST_TERMS = 3
_MOST_TERMS = 6
_LEAST_TOKENS, _MOST_TOKENS = 5, 25
_HUNDRED = 100


class FirstError(NamedTuple):
    """The first wrong step.

    `step` from 1 (the answer's line counts as one after the last if it calculates nothing), the rule that found it,
    its kind, the wrong calculation ('' on the answer's line), and the matching reference calculation ('' for a
    slip, which `expected` corrects).
    """

    step: int
    rule: Rule
    kind: Kind
    text: str = ""
    expected: str = ""
    reference: str = ""


def find_first_error(
    response: Chain, reference: Chain, given_numbers: Collection[Exact], *, right: bool
) -> FirstError | None:
    """Return the first wrong step of a chain; None if there is none, or nothing to compare it with.

    `given_numbers` are the numbers of the question.

    A step with a wrong calculation comes first. Otherwise, if the answer is wrong, it is the first calculation
    whose value the reference never reaches, neither as a result nor as an intermediate value; it is compared with
    the reference calculation due next. If all values are the reference's, it is the answer's line: the chain
    stopped early, or took the wrong value as its answer. A chain with a right answer and no wrong calculation has
    none.

    Source: SPEC 3.
    """
    slip = _find_slip(response)
    if slip is not None:
        return slip
    if right or not reference.calculations or not response.steps:
        return None
    if not response.calculations:
        invented = _find_invented_number(response, reference, given_numbers)
        return invented or _place_final(response, reference, ())
    # From here on the chain calculates, without a slip, to a wrong answer.
    reference_values = _read_reference(reference)
    reached: list[Exact] = []
    followed = _find_followed(response.calculations[:MOST], reference_values.operands_by_value)
    for step_number, calculation, is_followed in zip(
        response.step_numbers, response.calculations, followed, strict=False
    ):
        if is_followed:
            reached += calculation.results
            continue
        due = _find_matching(calculation, reference, reached)
        kind = _name_kind(calculation, due, reference_values, {*given_numbers, *reached})
        return FirstError(step_number, "aligned", kind, calculation.text, reference=due.text)
    return _place_final(response, reference, reached)


def _find_slip(response: Chain) -> FirstError | None:
    """Return the first calculation whose result is wrong."""
    for step_number, calculation in zip(response.step_numbers, response.calculations, strict=True):
        if not calculation.right:
            expected = ""
            if calculation.expected is not None:
                expected = format_exact(calculation.expected)
            return FirstError(step_number, "recomputed", "slip", calculation.text, expected)
    return None


def _find_invented_number(response: Chain, reference: Chain, given_numbers: Collection[Exact]) -> FirstError | None:
    """Return the first step that states a number which neither the question nor the reference has."""
    reference_numbers = chain.from_iterable(calculation.numbers for calculation in reference.calculations)
    numbers = {*given_numbers, *_ALWAYS, *reference_numbers}
    for step_number, step in enumerate(response.steps, 1):
        for token in tokenize(prepare_line(step.text)):
            if token.kind == "number" and token.value is not None and token.value not in numbers:
                return FirstError(step_number, "aligned", "invented number", token.text)
    return None


def _find_followed(
    calculations: Sequence[Calculation], operands_by_value: Mapping[Exact, frozenset[Exact]]
) -> list[bool]:
    """Return for each calculation whether it follows the reference: itself, or as a step to a later one."""
    sources: dict[Exact, frozenset[Exact]] = {}
    followed: list[bool] = []
    for calculation in calculations:
        followed.append(_is_followed(calculation, operands_by_value, sources))
        # What a value was first made from stands for it in later calculations.
        if calculation.results and calculation.results[0] not in sources:
            sources_by_operand = [sources.get(operand.value, (operand.value,)) for operand in calculation.operands]
            for value in calculation.results:
                sources[value] = frozenset().union(*sources_by_operand)
    # Backwards: a step is followed if one that builds on it is.
    used: set[Exact] = set()
    for index in range(len(calculations) - 1, -1, -1):
        if not followed[index]:
            followed[index] = not used.isdisjoint(calculations[index].results)
        if followed[index]:
            for operand in calculations[index].operands:
                used.update(operand.known_by)
    return followed


def _is_followed(
    calculation: Calculation,
    operands_by_value: Mapping[Exact, frozenset[Exact]],
    sources: Mapping[Exact, frozenset[Exact]],
) -> bool:
    """Return whether a calculation reaches a value of the reference, from the operands of that value."""
    support = _find_support(calculation, operands_by_value)
    if support is None:
        return False
    return all(_is_known(operand, support, sources) for operand in calculation.operands)


def _is_known(operand: Operand, support: Collection[Exact], sources: Mapping[Exact, frozenset[Exact]]) -> bool:
    """Return whether an operand is among those of the reference's value, or made from such in the chain."""
    if operand.value in support or any(_is_formed(value, support) for value in operand.known_by):
        return True
    operand_sources = sources.get(operand.value)
    if operand_sources is None:
        return False
    return all(value in support or _is_formed(value, support) for value in operand_sources)


class _ReferenceValues(NamedTuple):
    """What a reference's calculations reach: each value with its operands, the results, and all operands."""

    operands_by_value: dict[Exact, frozenset[Exact]]
    results: frozenset[Exact]
    operands: frozenset[Exact]


_ALWAYS = frozenset({1, _HUNDRED})


def _is_formed(value: Exact, support: Collection[Exact]) -> bool:
    """Return whether a value is known by itself, as a percentage, as the rest of the whole, or as an inverse."""
    return (
        value in _ALWAYS
        or value * _HUNDRED in support
        or divide(value, _HUNDRED) in support
        or 1 - value in support
        or _HUNDRED - value in support
        or (value != 0 and divide(1, value) in support)
    )


@lru_cache(maxsize=1024)
def _read_reference(reference: Chain) -> _ReferenceValues:
    """Return the reference's results and intermediate values, each with its operands."""
    operands_by_value: dict[Exact, frozenset[Exact]] = {}
    results: set[Exact] = set()
    operands: set[Exact] = set()
    for calculation in reference.calculations:
        results.update(calculation.results)
        operands.update([operand.value for operand in calculation.operands])
        # Of an operand that is a result itself, the operands too.
        sources = frozenset().union(*[operand.known_by for operand in calculation.operands])
        sources = sources.union(*[operands_by_value.get(value, ()) for value in sources])
        values = {*calculation.results}
        # Two operands have no value in between.
        if len(calculation.operands) > _PAIRED:
            values.update(*map(_list_intermediate_values, calculation.text.split("=")))
        for value in values:
            operands_by_value[value] = operands_by_value.get(value, frozenset()) | sources
    return _ReferenceValues(operands_by_value, frozenset(results), frozenset(operands))


def _find_support(
    calculation: Calculation, operands_by_value: Mapping[Exact, frozenset[Exact]]
) -> frozenset[Exact] | None:
    """Return the operands of the reference's value that a calculation reaches; None if it reaches none."""
    values = [*calculation.results]
    # A percentage is the reference's value too where that is a fraction, and the other way round.
    if "%" in calculation.text or "/100" in calculation.text or ".0" in calculation.text:
        for value in calculation.results:
            values += (value * _HUNDRED, divide(value, _HUNDRED))
    for value in values:
        if value in operands_by_value:
            return operands_by_value[value]
    return None


def _list_due(reference: Chain, reached: Collection[Exact]) -> list[Calculation]:
    """Return the reference calculations none of whose results is reached."""
    reached = frozenset(reached)
    return [calculation for calculation in reference.calculations if reached.isdisjoint(calculation.results)]


@lru_cache(maxsize=4096)
def _list_intermediate_values(side: str) -> frozenset[Exact]:
    """Return the intermediate values of an expression: of its parts, and of its terms in any order."""
    if side.strip().isdigit():
        return frozenset()
    side_tokens = tokenize(side)
    if not _LEAST_TOKENS <= len(side_tokens) <= _MOST_TOKENS:
        return frozenset()
    values: set[Exact | None] = set()
    # Each part of three tokens or more that may be an expression.
    for start in range(len(side_tokens)):
        for end in range(start + 3, len(side_tokens) + 1):
            if side_tokens[start].kind in OPERAND_BEGINNINGS and side_tokens[end - 1].kind in OPERAND_ENDS:
                values.add(evaluate(side_tokens[start:end]))
    for signs, join in ((("+", "-"), sum), (("*", "/"), prod)):
        terms = _list_terms(side_tokens, signs)
        if _FEWEST_TERMS <= len(terms) <= _MOST_TERMS:
            for count in range(2, len(terms)):
                values.update(map(join, combinations(terms, count)))
    return frozenset(value for value in values if value is not None)


def _list_terms(side_tokens: Sequence[Token], signs: tuple[str, str]) -> list[Exact]:
    """Return the signed terms (or factors) of an expression that is a single sum (or product); else nothing."""
    parts: list[tuple[str, list[Token]]] = [(signs[0], [])]
    depth = 0
    for token in side_tokens:
        depth += (token.kind == "open") - (token.kind == "close")
        if depth == 0 and token.text in signs and parts[-1][1]:
            parts.append((token.text, []))
        else:
            parts[-1][1].append(token)
    terms: list[Exact] = []
    for sign, part in parts:
        value = evaluate(part)
        if value is None or (sign == "/" and not value):
            return []
        if sign == "-":
            value = -value
        elif sign == "/":
            value = Fraction(1) / value
        terms.append(value)
    return terms


def _find_matching(calculation: Calculation, reference: Chain, reached: Collection[Exact]) -> Calculation:
    """Return the most similar reference calculation among those not reached yet."""
    candidates = _list_due(reference, reached) or reference.calculations
    numbers = [operand.value for operand in calculation.operands]

    def rate_likeness(candidate: Calculation) -> tuple[int, int]:
        shared = len(numbers) - len(_list_missing(numbers, candidate))
        has_same_operators = candidate.operators == calculation.operators
        return 2 * shared + has_same_operators, -abs(len(candidate.operands) - len(numbers))

    return max(candidates, key=rate_likeness)


def _list_missing(numbers: Sequence[Exact], calculation: Calculation) -> list[Exact]:
    """Return the numbers missing from a calculation's operands, with multiplicity."""
    remaining = [*numbers]
    for operand in calculation.operands:
        if operand.value in remaining:
            remaining.remove(operand.value)
    return remaining


def _name_kind(
    calculation: Calculation, due: Calculation, reference_values: _ReferenceValues, available: Collection[Exact]
) -> Kind:
    """Return the kind of error: `due` is the reference's calculation, `available` the values available so far."""
    results = reference_values.results
    given_numbers = {*available, *(reference_values.operands - results)}
    if any(operand.known_by and given_numbers.isdisjoint(operand.known_by) for operand in calculation.operands):
        return "invented number"
    missing = _list_missing([operand.value for operand in due.operands], calculation)
    has_same_operands = not missing and len(due.operands) == len(calculation.operands)
    if has_same_operands and calculation.operators != due.operators:
        return "operation"
    # A value is missing that an earlier step of the reference gives.
    if not has_same_operands and any(value in results and value not in available for value in missing):
        return "omission"
    return "operand"


def _place_final(response: Chain, reference: Chain, reached: Collection[Exact]) -> FirstError:
    """Place the error on the answer's line: the reference's value was not reached, or not taken as the answer."""
    last = reference.calculations[-1]
    expected: Sequence[Exact] = last.results
    if reference.value is not None:
        expected = [reference.value]
    if any(value in reached for value in expected):
        return FirstError(response.answer_step, "final", "misread final", reference=last.text)
    waiting = [*_list_due(reference, reached), last][0]
    return FirstError(response.answer_step, "final", "stopped early", reference=waiting.text)


def build_details(error: FirstError, response: Chain) -> dict[str, Any]:
    """Return a first wrong step as JSON for a score's details, with a readable sentence by language."""
    line, answer = "", ""
    if error.step <= len(response.steps):
        line = response.steps[error.step - 1].text[:_LONGEST]
    if response.answer is not None:
        answer = response.answer.text[:_LONGEST]
    english, russian = _write_sentences(error, answer)
    sentences = {"en": f"step {error.step}: {english}", "ru": f"шаг {error.step}: {russian}"}
    return {**error._asdict(), "line": line, "said": sentences}


def _write_sentences(error: FirstError, answer: str) -> tuple[str, str]:
    """Return what is wrong in English and Russian; `answer` is the chain's final answer, '' without one."""
    calculation, reference = _write_calculation(error.text), _write_calculation(error.reference)
    if error.kind == "slip" and not error.expected:
        return calculation, calculation
    if error.kind == "slip":
        return f"{calculation}, which should be {error.expected}", f"{calculation}, а должно быть {error.expected}"
    if error.kind == "stopped early":
        return (
            f"the answer, where the reference has {reference} yet",
            f"ответ дан, но в эталоне есть ещё {reference}",
        )
    if error.kind == "misread final":
        return (
            f"the answer is {answer or 'none'}, though the chain has {reference}",
            f"ответ {answer or 'не дан'}, хотя в цепочке есть {reference}",
        )
    # A reference calculation of two numbers is told as a verb phrase, any other as it is.
    english, russian = f"has {reference}", reference
    pair = _PAIR.match(error.reference.replace(" ", ""))
    if pair is not None:
        english, russian = (verb.format(pair[1], pair[3]) for verb in _VERBS[pair[2]])
    return f"{calculation}, where the reference {english}", f"{calculation}, а в эталоне {russian}"


_SPACED = str.maketrans({sign: f" {sign} " for sign in "-+/=≈"} | {"*": " × "})
_LONGEST = 300
_VERBS = {
    "+": ("adds {0} and {1}", "складываются {0} и {1}"),
    "-": ("subtracts {1} from {0}", "из {0} вычитается {1}"),
    "*": ("multiplies {0} by {1}", "{0} умножается на {1}"),
    "/": ("divides {0} by {1}", "{0} делится на {1}"),
}
# A calculation of two numbers before its result: 48/2=.
_PAIR = re.compile(r"([0-9.,]+%?)([-+*/])([0-9.,]+%?)(?==|\Z)")


def _write_calculation(text: str) -> str:
    """Format a calculation for people: `12 × 5 = 60`."""
    return " ".join(text.translate(_SPACED).split())[:_LONGEST]
