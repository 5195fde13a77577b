"""The first wrong step of a chain, found by comparison with the reference's calculations."""

import re
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, combinations
from math import prod
from typing import Any, Literal, NamedTuple

from basic_control.metrics.cot.chain import Calculation, Chain
from basic_control.metrics.cot.expressions import Exact, Operand, Token, divide, evaluate, shown, tokens
from basic_control.metrics.cot.notation import plain

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


def first_error(response: Chain, reference: Chain, given: Collection[Exact], *, right: bool) -> FirstError | None:
    """Return the first wrong step of a chain; None if there is none, or nothing to compare it with.

    `given` are the numbers of the question.

    A step with a wrong calculation comes first. Otherwise, if the answer is wrong, it is the first calculation
    whose value the reference never reaches, neither as a result nor as an intermediate value; it is compared with
    the reference calculation due next. If all values are the reference's, it is the answer's line: the chain
    stopped early, or took the wrong value as its answer. A chain with a right answer and no wrong calculation has
    none.

    Source: SPEC 3.
    """
    for place, made in zip(response.places, response.calculations, strict=True):
        if not made.right:
            expected = "" if made.expected is None else shown(made.expected)
            return FirstError(place, "recomputed", "slip", made.text, expected)
    if right or not reference.calculations or not response.steps:
        return None
    meant = _meant(reference)
    if not response.calculations:
        return _first_foreign(response, reference, given) or _final(response, reference, ())
    done: list[Exact] = []
    followed = _followed(response.calculations[:MOST], meant.values)
    for place, one, follows in zip(response.places, response.calculations, followed, strict=False):
        if follows:
            done += one.results
            continue
        beside = _matching_calculation(one, reference, done)
        kind = _kind(one, beside, meant, {*given, *done})
        return FirstError(place, "aligned", kind, one.text, reference=beside.text)
    return _final(response, reference, done)


def _first_foreign(response: Chain, reference: Chain, given: Collection[Exact]) -> FirstError | None:
    """Return the first step that states a number which neither the question nor the reference has."""
    numbers = {
        *given,
        *_ALWAYS,
        *chain.from_iterable(calculation.numbers for calculation in reference.calculations),
    }
    for place, step in enumerate(response.steps, 1):
        for token in tokens(plain(step.text)):
            if token.kind == "number" and token.value is not None and token.value not in numbers:
                return FirstError(place, "aligned", "invented number", token.text)
    return None


def _followed(made: Sequence[Calculation], meant: Mapping[Exact, frozenset[Exact]]) -> list[bool]:
    """Return for each calculation whether it follows the reference: itself, or as a step to a later one."""
    sources: dict[Exact, frozenset[Exact]] = {}
    followed: list[bool] = []
    for one in made:
        support = _support(one, meant)
        followed.append(support is not None and all(_known(o, support, sources) for o in one.operands))
        if one.results and one.results[0] not in sources:
            below = [sources.get(operand.value, (operand.value,)) for operand in one.operands]
            for value in one.results:
                sources[value] = frozenset().union(*below)
    for at in range(len(made) - 1, -1, -1):
        if not followed[at]:
            built_on = (made[later] for later in range(at + 1, len(made)) if followed[later])
            used = (value for later in built_on for operand in later.operands for value in operand.known_by)
            followed[at] = any(value in made[at].results for value in used)
    return followed


def _known(operand: Operand, support: Collection[Exact], sources: Mapping[Exact, frozenset[Exact]]) -> bool:
    """Return whether an operand is among those of the reference's value, or made from such in the chain."""
    if operand.value in support or any(_formed(value, support) for value in operand.known_by):
        return True
    below = sources.get(operand.value)
    return below is not None and all(value in support or _formed(value, support) for value in below)


_ALWAYS = frozenset({1, _HUNDRED})


def _formed(value: Exact, support: Collection[Exact]) -> bool:
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
def _meant(reference: Chain) -> _Meant:
    """Return the reference's results and intermediate values, each with its operands."""
    meant: dict[Exact, frozenset[Exact]] = {}
    for made in reference.calculations:
        own = frozenset(value for operand in made.operands for value in operand.known_by)
        below = own.union(*[meant[value] for value in own if value in meant])
        within = [_partial(side) for side in made.text.split("=")] if len(made.operands) > _PAIRED else []
        for value in {*made.results, *chain(*within)}:
            meant[value] = meant.get(value, frozenset()) | below
    results = frozenset(value for made in reference.calculations for value in made.results)
    return _Meant(meant, results, frozenset(o.value for made in reference.calculations for o in made.operands))


def _support(made: Calculation, meant: Mapping[Exact, frozenset[Exact]]) -> frozenset[Exact] | None:
    """Return the operands of the reference's value that a calculation reaches; None if it reaches none."""
    forms = [*made.results]
    if "%" in made.text or "/100" in made.text or ".0" in made.text:
        forms += [form for value in made.results for form in (value * _HUNDRED, divide(value, _HUNDRED))]
    return next((meant[form] for form in forms if form in meant), None)


def _waiting(reference: Chain, done: Collection[Exact]) -> list[Calculation]:
    """Return the reference calculations that are due next."""
    return [one for one in reference.calculations if not any(value in done for value in one.results)]


@lru_cache(maxsize=4096)
def _partial(side: str) -> frozenset[Exact]:
    """Return the intermediate values of an expression: of its parts, and of its terms in any order."""
    found = tokens(side) if not side.strip().isdigit() else ()
    values: set[Exact] = set()
    if not _LEAST_TOKENS <= len(found) <= _MOST_TOKENS:
        return frozenset()
    for start in range(len(found)):
        for end in range(start + 3, len(found) + 1):
            if found[start].kind in _BEGINS and found[end - 1].kind in _ENDS:
                value = evaluate(found[start:end])
                values |= set() if value is None else {value}
    for signs, join in ((("+", "-"), sum), (("*", "/"), prod)):
        terms = _terms(found, signs)
        if _FEWEST_TERMS <= len(terms) <= _MOST_TERMS:
            for count in range(2, len(terms)):
                values.update(join(chosen) for chosen in combinations(terms, count))
    return frozenset(values)


_BEGINS = frozenset({"number", "open"})
_ENDS = frozenset({"number", "close", "percent"})


def _terms(found: Sequence[Token], signs: tuple[str, str]) -> list[Exact]:
    """Return the signed terms (or factors) of an expression that is a single sum (or product); else nothing."""
    parts: list[tuple[str, list[Token]]] = [(signs[0], [])]
    depth = 0
    for token in found:
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


def _matching_calculation(made: Calculation, reference: Chain, done: Collection[Exact]) -> Calculation:
    """Return the most similar reference calculation among those not done yet."""
    waiting = _waiting(reference, done) or reference.calculations
    numbers = [operand.value for operand in made.operands]

    def likeness(one: Calculation) -> tuple[int, int]:
        shared = len(numbers) - len(_without(numbers, one))
        return 2 * shared + (one.operators == made.operators), -abs(len(one.operands) - len(numbers))

    return max(waiting, key=likeness)


def _without(numbers: Sequence[Exact], one: Calculation) -> list[Exact]:
    """Return the numbers missing from a calculation's operands, with multiplicity."""
    rest = [*numbers]
    for operand in one.operands:
        if operand.value in rest:
            rest.remove(operand.value)
    return rest


def _kind(made: Calculation, beside: Calculation, meant: _Meant, known: Collection[Exact]) -> Kind:
    """Return the kind of error: `beside` is the reference's calculation, `known` the values available so far."""
    results = meant.results
    given = {*known, *(meant.operands - results)}
    if any(operand.known_by and given.isdisjoint(operand.known_by) for operand in made.operands):
        return "invented number"
    missing = _without([operand.value for operand in beside.operands], made)
    if not missing and len(beside.operands) == len(made.operands):
        return "operation" if made.operators != beside.operators else "operand"
    return "omission" if any(value in results and value not in known for value in missing) else "operand"


def _final(response: Chain, reference: Chain, done: Collection[Exact]) -> FirstError:
    """Place the error on the answer's line: the reference's value was not reached, or not taken as the answer."""
    last = reference.calculations[-1]
    wanted = last.results if reference.value is None else [reference.value]
    if any(value in done for value in wanted):
        return FirstError(response.answered, "final", "misread final", reference=last.text)
    waiting = [*_waiting(reference, done), last][0]
    return FirstError(response.answered, "final", "stopped early", reference=waiting.text)


_SPACED = str.maketrans({sign: f" {sign} " for sign in "-+/=≈"} | {"*": " × "})
_LONGEST = 300
_VERBS = {
    "+": ("adds {0} and {1}", "складываются {0} и {1}"),
    "-": ("subtracts {1} from {0}", "из {0} вычитается {1}"),
    "*": ("multiplies {0} by {1}", "{0} умножается на {1}"),
    "/": ("divides {0} by {1}", "{0} делится на {1}"),
}
_PAIR = re.compile(r"([0-9.,]+%?)([-+*/])([0-9.,]+%?)(?==|\Z)")


def as_details(found: FirstError, response: Chain) -> dict[str, Any]:
    """Return a first wrong step as JSON for a score's details, with a readable sentence by language."""
    line = response.steps[found.step - 1].text if found.step <= len(response.steps) else ""
    answer = "" if response.answer is None else response.answer.text[:_LONGEST]
    en, ru = _sentences(found, answer)
    said = {"en": f"step {found.step}: {en}", "ru": f"шаг {found.step}: {ru}"}
    return {**found._asdict(), "line": line[:_LONGEST], "said": said}


def _sentences(found: FirstError, answer: str) -> tuple[str, str]:
    made, reference = _written(found.text), _written(found.reference)
    if found.kind == "slip" and not found.expected:
        return made, made
    if found.kind == "slip":
        return f"{made}, which should be {found.expected}", f"{made}, а должно быть {found.expected}"
    if found.kind == "stopped early":
        return (
            f"the answer, where the reference has {reference} yet",
            f"ответ дан, но в эталоне есть ещё {reference}",
        )
    if found.kind == "misread final":
        return (
            f"the answer is {answer or 'none'}, though the chain has {reference}",
            f"ответ {answer or 'не дан'}, хотя в цепочке есть {reference}",
        )
    pair = _PAIR.match(found.reference.replace(" ", ""))
    verbs = _VERBS[pair[2]] if pair else ("has {2}", "{2}")
    first, second = (pair[1], pair[3]) if pair else ("", "")
    en, ru = (verb.format(first, second, reference) for verb in verbs)
    return f"{made}, where the reference {en}", f"{made}, а в эталоне {ru}"


def _written(text: str) -> str:
    """Format a calculation for people: `12 × 5 = 60`."""
    return " ".join(text.translate(_SPACED).split())[:_LONGEST]
