"""Renew the numbers of a word problem: draw others of their kind, and replay the worked solution with them.

Being right binds, not the share: whatever could make another answer right than the replayed one is refused, and a
number on which more may hang than is calculated stays.

Source: SPEC 17.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from operator import ne
from random import Random

from generators.twins.base import Refused, Renewed
from generators.twins.quantities import NUMBER, Mention, Quantity, lowest_terms, mentions, quantities, written
from generators.twins.replay import (
    ANSWER,
    TWO_SOURCES,
    Trace,
    Tracer,
    Values,
    calculations,
    number,
    rewritten,
    same_kind,
    same_order,
)
from generators.twins.wording import Wording, whole, wording

VERSION = 1
DRAWS = 2000
"""Draws after which an item is taken to have no fitting numbers."""
FEWEST = 0.5
"""The share of an item's numbers that change; where no draw of so many fits, one of `DRAWS` more suffices."""


def renew(
    question: str, reference: str, language: str, rng: Random, *, answer: str = "", annotated: str = ""
) -> Renewed:
    """Make a twin with other numbers: facts `question` and `reference`, the answer as a number.

    `answer` is what is expected where no last line of the reference says it; `annotated` is a reference in plain
    equations with the annotations that it leaves out, line for line.

    Raises:
        Refused: no twin of the item is surely right; the text is the reason.
    """
    words = wording(language)
    words.refuse(question)
    found = mentions(question, words)
    given = quantities(found)
    lines, ending = reference.strip().splitlines(), ""
    if ANSWER in lines[-1]:
        ending, answer = ANSWER, lines.pop().partition(ANSWER)[2].strip()
    if not NUMBER.fullmatch(answer):
        raise Refused("an answer that is no plain number")
    tracer = Tracer(given, question, lines, words)
    trace = tracer.trace(calculations((annotated.strip() or reference.strip()).splitlines()[: len(lines)]))
    if trace.values[-1] != number(answer):
        raise Refused("an answer that the last calculation does not give")
    if trace.values[-1] in [one.value for one in given]:
        raise Refused("an answer that the question states")  # by chance, or by a slip of the solution
    rewritten(lines, trace, tracer, trace.values)  # what cannot be written is refused before anything is drawn
    for after in _drawn(trace, _domains(question, reference, trace, language, words), found, rng):
        with suppress(Refused):  # two sources of a number in the text part
            answer = written(after[-1])
            solution = [*rewritten(lines, trace, tracer, after), *([f"{ending} {answer}"] if ending else [])]
            facts = {"question": _question(question, found, given, after), "reference": "\n".join(solution)}
            return Renewed(answer, facts)
    doubted = any(len(sources) > 1 for own in trace.sources for sources in own)
    raise Refused(TWO_SOURCES if doubted else "no numbers that fit")


def _domains(question: str, solution: str, trace: Trace, language: str, words: Wording) -> list[Sequence[Fraction]]:
    """Return what may stand in the place of each quantity.

    Raises:
        Refused: none can change.
    """
    kept = trace.kept | _said_again(question, solution, trace.quantities, words)
    found = [
        (place not in kept and one.domain(language)) or [one.value] for place, one in enumerate(trace.quantities)
    ]
    if all(one.value in domain for one, domain in zip(trace.quantities, found, strict=True)):
        raise Refused("no number that can change")
    return [*found]


def _said_again(question: str, solution: str, given: Sequence[Quantity], words: Wording) -> frozenset[int]:
    """Return the places of numbers that the words say again: both, the five of them, the third week."""
    last = max((value for word, value in words.ordinals.items() if whole((word,)).search(question)), default=-1)
    both = f"{question}\n{solution}"
    said = {value for pattern, value in words.numbered.items() if pattern.search(both)}
    said |= {value for value, listed in words.again.items() if whole(listed).search(question)}
    return frozenset(place for place, one in enumerate(given) if one.value in said or one.value <= last + 1)


def _drawn(
    trace: Trace, domains: Sequence[Sequence[Fraction]], found: Sequence[Mention], rng: Random
) -> Iterator[Values]:
    """Yield draws with which all that the solution makes of the quantities is of its original's kind."""
    before = trace.values[: len(domains)]
    half = FEWEST * sum(old not in {0, 1} for old in before)
    for attempt in range(2 * DRAWS):
        keep = attempt / DRAWS / 2  # the longer nothing fits, the more of them stay
        given = [
            old if rng.random() < keep else rng.choice(domain) for old, domain in zip(before, domains, strict=True)
        ]
        if sum(map(ne, given, before)) < max(1, half if attempt < DRAWS else 1):
            continue
        new = dict(zip((one.value for one in trace.quantities), given, strict=True))
        if lowest_terms(found, new) and same_order(trace, given):
            after = trace.replay(given)
            if after and after[-1] != trace.values[-1] and same_kind(trace, after) and same_order(trace, after):
                yield after


def _question(text: str, found: Sequence[Mention], given: Sequence[Quantity], after: Values) -> str:
    """Write the question with the new numbers."""
    new = {one.value: value for one, value in zip(given, after, strict=False)}
    pieces, end = [], 0
    for one in found:
        value = written(new[one.value], decimals=one.decimals, commas=one.commas)
        pieces += [text[end : one.start], value if text[one.start] != "." else value.removeprefix("0")]
        end = one.end
    return "".join([*pieces, text[end:]])
