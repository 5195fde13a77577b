"""Renew the numbers of a word problem: draw others of their kind, and replay the worked solution with them.

Being right binds, not the share: whatever could make another answer right than the replayed one is refused, and a
number on which more may hang than is calculated stays.

Source: SPEC 17.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from operator import ne
from random import Random

from generators.twins.base import Refused, Renewed
from generators.twins.quantities import NUMBER, Mention, lowest_terms, mentions, number, quantities, written
from generators.twins.replay import ANSWER, TWO_SOURCES, Solution, Values, calculations, in_order
from generators.twins.wording import whole, wording

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
    solution.rewritten(solution.values)  # what cannot be written is refused before anything is drawn
    for after in _drawn(solution, _domains(solution, reference, language), found, rng):
        with suppress(Refused):  # two sources of a number in the text part
            answer = written(after[-1])
            lines = [*solution.rewritten(after), *([f"{ending} {answer}"] if ending else [])]
            new = {one.value: value for one, value in zip(solution.quantities, after, strict=False)}
            return Renewed(answer, {"question": _question(question, new), "reference": "\n".join(lines)})
    doubted = any(len(sources) > 1 for _, own in solution.traced for sources in own)
    raise Refused(TWO_SOURCES if doubted else "no numbers that fit")


def _domains(solution: Solution, reference: str, language: str) -> list[Sequence[Fraction]]:
    """Return what may stand in the place of each quantity; what the words say again stays: both, the third week.

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
    solution: Solution, domains: Sequence[Sequence[Fraction]], found: Sequence[Mention], rng: Random
) -> Iterator[Values]:
    """Yield draws with which all that the solution makes of the quantities is of its original's kind."""
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
            if after and after[-1] != solution.values[-1] and solution.same_kind(after) and in_order(after, last):
                yield after


def _question(text: str, new: Mapping[Fraction, Fraction]) -> str:
    """Write the question with the new numbers."""

    def one(match: re.Match[str]) -> str:
        value = written(new[number(match[0])], match[0])
        return value.removeprefix("0") if match[0].startswith(".") else value

    return NUMBER.sub(one, text)
