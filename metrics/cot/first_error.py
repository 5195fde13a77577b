"""The first wrong step of a chain, found by comparison with the reference's calculations."""

import re
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations
from math import prod
from typing import Any, Literal, NamedTuple

from basic_control.metrics.cot.chain import Calculation, Chain
from basic_control.metrics.cot.expressions import Exact, Operand, Token, divide, evaluate, format_exact, tokenize
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
    for step_number, calculation in zip(response.places, response.calculations, strict=True):
        if not calculation.right:
            expected = "" if calculation.expected is None else format_exact(calculation.expected)
            return FirstError(step_number, "recomputed", "slip", calculation.text, expected)
    if right or not reference.calculations or not response.steps:
        return None
    reference_values = _read_reference(reference)
    if not response.calculations:
        return _find_foreign(response, reference, given_numbers) or _place_final(response, reference, ())
    done: list[Exact] = []
    followed = _find_followed(response.calculations[:MOST], reference_values.values)
    for step_number, calculation, follows in zip(response.places, response.calculations, followed, strict=False):
        if follows:
            done += calculation.results
            continue
        due = _find_matching(calculation, reference, done)
        kind = _name_kind(calculation, due, reference_values, {*given_numbers, *done})
        return FirstError(step_number, "aligned", kind, calculation.text, reference=due.text)
    return _place_final(response, reference, done)


def _find_foreign(response: Chain, reference: Chain, given_numbers: Collection[Exact]) -> FirstError | None:
    """Return the first step that states a number which neither the question nor the reference has."""
    numbers = {
        *given_numbers,
        *_ALWAYS,
        *chain.from_iterable(calculation.numbers for calculation in reference.calculations),
    }
    for step_number, step in enumerate(response.steps, 1):
        for token in tokenize(prepare_line(step.text)):
            if token.kind == "number" and token.value is not None and token.value not in numbers:
                return FirstError(step_number, "aligned", "invented number", token.text)
    return None


def _find_followed(
    calculations: Sequence[Calculation], reference_values: Mapping[Exact, frozenset[Exact]]
) -> list[bool]:
    """Return for each calculation whether it follows the reference: itself, or as a step to a later one."""
    sources: dict[Exact, frozenset[Exact]] = {}
    followed: list[bool] = []
    for calculation in calculations:
        support = _support(calculation, reference_values)
        is_known = support is not None and all(
            _is_known(operand, support, sources) for operand in calculation.operands
        )
        followed.append(is_known)
        # What a value was first made from stands for it in later calculations.
        if calculation.results and calculation.results[0] not in sources:
            below = [sources.get(operand.value, (operand.value,)) for operand in calculation.operands]
            for value in calculation.results:
                sources[value] = frozenset().union(*below)
    # Backwards: a step is followed if one that builds on it is.
    used: set[Exact] = set()
    for index in range(len(calculations) - 1, -1, -1):
        if not followed[index]:
            followed[index] = not used.isdisjoint(calculations[index].results)
        if followed[index]:
            for operand in calculations[index].operands:
                used.update(operand.known_by)
    return followed


def _is_known(operand: Operand, support: Collection[Exact], sources: Mapping[Exact, frozenset[Exact]]) -> bool:
    """Return whether an operand is among those of the reference's value, or made from such in the chain."""
    if operand.value in support or any(_is_formed(value, support) for value in operand.known_by):
        return True
    below = sources.get(operand.value)
    return below is not None and all(value in support or _is_formed(value, support) for value in below)


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


class _Meant(NamedTuple):
    """The reference's values with their operands, and its calculations' results with theirs."""

    values: dict[Exact, frozenset[Exact]]
    results: frozenset[Exact]
    operands: frozenset[Exact]


@lru_cache(maxsize=1024)
def _read_reference(reference: Chain) -> _Meant:
    """Return the reference's results and intermediate values, each with its operands."""
    reference_values: dict[Exact, frozenset[Exact]] = {}
    for calculation in reference.calculations:
        operand_values = frozenset(value for operand in calculation.operands for value in operand.known_by)
        below = operand_values.union(
            *[reference_values[value] for value in operand_values if value in reference_values]
        )
        within: list[frozenset[Exact]] = []
        # Two operands have no value in between.
        if len(calculation.operands) > _PAIRED:
            within = [_partial(side) for side in calculation.text.split("=")]
        for value in {*calculation.results, *chain(*within)}:
            reference_values[value] = reference_values.get(value, frozenset()) | below
    results = frozenset(value for calculation in reference.calculations for value in calculation.results)
    return _Meant(
        reference_values,
        results,
        frozenset(o.value for calculation in reference.calculations for o in calculation.operands),
    )


def _support(
    calculation: Calculation, reference_values: Mapping[Exact, frozenset[Exact]]
) -> frozenset[Exact] | None:
    """Return the operands of the reference's value that a calculation reaches; None if it reaches none."""
    forms = [*calculation.results]
    if "%" in calculation.text or "/100" in calculation.text or ".0" in calculation.text:
        forms += [form for value in calculation.results for form in (value * _HUNDRED, divide(value, _HUNDRED))]
    return next((reference_values[form] for form in forms if form in reference_values), None)


def _list_due(reference: Chain, done: Collection[Exact]) -> list[Calculation]:
    """Return the reference calculations that are due next."""
    reached = frozenset(done)
    return [calculation for calculation in reference.calculations if reached.isdisjoint(calculation.results)]


@lru_cache(maxsize=4096)
def _partial(side: str) -> frozenset[Exact]:
    """Return the intermediate values of an expression: of its parts, and of its terms in any order."""
    error = tokenize(side) if not side.strip().isdigit() else ()
    values: set[Exact] = set()
    if not _LEAST_TOKENS <= len(error) <= _MOST_TOKENS:
        return frozenset()
    for start in range(len(error)):
        for end in range(start + 3, len(error) + 1):
            if error[start].kind in _BEGINS and error[end - 1].kind in _ENDS:
                value = evaluate(error[start:end])
                values |= set() if value is None else {value}
    for signs, join in ((("+", "-"), sum), (("*", "/"), prod)):
        terms = _terms(error, signs)
        if _FEWEST_TERMS <= len(terms) <= _MOST_TERMS:
            for count in range(2, len(terms)):
                values.update(join(chosen) for chosen in combinations(terms, count))
    return frozenset(values)


_BEGINS = frozenset({"number", "open"})
_ENDS = frozenset({"number", "close", "percent"})


def _terms(error: Sequence[Token], signs: tuple[str, str]) -> list[Exact]:
    """Return the signed terms (or factors) of an expression that is a single sum (or product); else nothing."""
    parts: list[tuple[str, list[Token]]] = [(signs[0], [])]
    depth = 0
    for token in error:
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
        inverse = Fraction(1) / value if sign == "/" else -value
        terms.append(inverse if sign in {"-", "/"} else value)
    return terms


def _find_matching(calculation: Calculation, reference: Chain, done: Collection[Exact]) -> Calculation:
    """Return the most similar reference calculation among those not done yet."""
    candidates = _list_due(reference, done) or reference.calculations
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
    calculation: Calculation, due: Calculation, reference_values: _Meant, available: Collection[Exact]
) -> Kind:
    """Return the kind of error: `due` is the reference's calculation, `available` the values available so far."""
    results = reference_values.results
    given_numbers = {*available, *(reference_values.operands - results)}
    if any(operand.known_by and given_numbers.isdisjoint(operand.known_by) for operand in calculation.operands):
        return "invented number"
    missing = _list_missing([operand.value for operand in due.operands], calculation)
    if not missing and len(due.operands) == len(calculation.operands):
        return "operation" if calculation.operators != due.operators else "operand"
    return "omission" if any(value in results and value not in available for value in missing) else "operand"


def _place_final(response: Chain, reference: Chain, done: Collection[Exact]) -> FirstError:
    """Place the error on the answer's line: the reference's value was not reached, or not taken as the answer."""
    last = reference.calculations[-1]
    expected = last.results if reference.value is None else [reference.value]
    if any(value in done for value in expected):
        return FirstError(response.answered, "final", "misread final", reference=last.text)
    waiting = [*_list_due(reference, done), last][0]
    return FirstError(response.answered, "final", "stopped early", reference=waiting.text)


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


def as_details(error: FirstError, response: Chain) -> dict[str, Any]:
    """Return a first wrong step as JSON for a score's details, with a readable sentence by language."""
    line = response.steps[error.step - 1].text if error.step <= len(response.steps) else ""
    answer = "" if response.answer is None else response.answer.text[:_LONGEST]
    en, ru = _sentences(error, answer)
    sentences = {"en": f"step {error.step}: {en}", "ru": f"шаг {error.step}: {ru}"}
    return {**error._asdict(), "line": line[:_LONGEST], "said": sentences}


def _sentences(error: FirstError, answer: str) -> tuple[str, str]:
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
    pair = _PAIR.match(error.reference.replace(" ", ""))
    verbs = _VERBS[pair[2]] if pair else ("has {2}", "{2}")
    first, second = (pair[1], pair[3]) if pair else ("", "")
    en, ru = (verb.format(first, second, reference) for verb in verbs)
    return f"{calculation}, where the reference {en}", f"{calculation}, а в эталоне {ru}"


def _write_calculation(text: str) -> str:
    """Format a calculation for people: `12 × 5 = 60`."""
    return " ".join(text.translate(_SPACED).split())[:_LONGEST]
