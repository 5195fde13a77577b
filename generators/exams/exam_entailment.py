"""Exam of judges: does a text support each of a list of claims (the step `entails` of factual correctness).

The text states single-valued facts about invented buildings. Claims are derived from them so that their truth is
known: changed numbers, units, dates and names, quantifiers, negation and double negation, cause for effect, partial
support, true but unstated facts, paraphrase, and pronouns across sentences.

Source: ours.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from data.draw import source
from data.records import Item
from generators.exams.world import (
    CHANGES,
    CONTRADICTED,
    NEUTRAL,
    SUPPORTED,
    Claim,
    draw_claim,
    exam_family,
    examine,
    join,
    shuffled,
    tell_two,
)

EASY = ("same", "changed", "unstated")
MEDIUM = ("paraphrase", "unit", "wrong_unit", "changed", "not", "not_other", "unstated", "common", "partial")
LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"facts": 3, "claims": 2, "changes": EASY, "rival": False, "pronouns": False},
    "medium": {"facts": 5, "claims": 3, "changes": MEDIUM, "rival": False, "pronouns": True},
    "hard": {"facts": 7, "claims": 4, "changes": tuple(CHANGES), "rival": True, "pronouns": True},
}
VERDICTS = (SUPPORTED, CONTRADICTED, NEUTRAL)


def generate(
    rng: Random,
    *,
    language: str,
    facts: int,
    claims: int,
    changes: Sequence[str],
    rival: bool,
    pronouns: bool,
    truths: Sequence[str] = (),
) -> Item:
    """Draw a text and claims about it, whose truths may be given."""
    wanted = truths or [rng.choice(VERDICTS) for _ in range(claims)]
    building, other, told = tell_two(rng, language, facts, rival=rival, pronouns=pronouns)
    made: dict[str, Claim] = {}
    while len(made) < len(wanted):
        one = draw_claim(rng, building, changes, rival=other, wanted=wanted[len(made)])
        made.setdefault(one.text, one)
    listed = shuffled(rng, made.values())
    values = {
        "claims": [{"id": str(n), "text": one.text} for n, one in enumerate(listed, 1)],
        "source": join(language, told),
    }
    return examine(
        "entails",
        language,
        {"response": values},
        {str(n): one.truth for n, one in enumerate(listed, 1)},
        kind="+".join(sorted({one.change for one in listed})),
        kinds={str(n): one.change for n, one in enumerate(listed, 1)},
        world=[one.as_dict() for one in (building, other) if one],
        says={str(n): dict(one.says) for n, one in enumerate(listed, 1)},
    )


def balanced(level: Mapping[str, Any], n: int) -> list[dict[str, list[str]]]:
    """Return truths for items so that each occurs n times over all claims; the last item may have fewer claims."""
    rng = source("exam_entailment", level["claims"])
    listed = [truth for _ in range(n) for truth in rng.sample(VERDICTS, len(VERDICTS))]
    return [{"truths": listed[at : at + level["claims"]]} for at in range(0, len(listed), level["claims"])]


UNIT = exam_family("entails", 2, LEVELS, generate, balanced, en="Exam: entailment", ru="Экзамен: следование")
