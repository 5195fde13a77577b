"""Exam of judges: how far contexts support a response, 0 to 2 (the step `rate` of response groundedness).

Responses have five or more sentences: all supported (2), all but one, which the contexts do not contain (1), or
none (0). Other cases would be debatable: is half of a response "a significant part" of it?

Source: ours.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from data.records import Item
from generators.exams.world import (
    CONTRADICTED,
    NEUTRAL,
    RELATIONS,
    SUPPORTED,
    Claim,
    draw_building,
    draw_claim,
    exam_family,
    examine,
    in_turn,
    join,
    shuffled,
    tell,
)

FULLY, PARTLY, NOT = RATINGS = ("2", "1", "0")
LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"facts": 5, "said": 5, "changes": ("same", "changed", "unstated"), "pronouns": False},
    "medium": {
        "facts": 6,
        "said": 5,
        "changes": ("same", "paraphrase", "unit", "changed", "wrong_unit", "unstated"),
        "pronouns": True,
    },
    "hard": {
        "facts": 7,
        "said": 6,
        "changes": ("paraphrase", "unit", "not_other", "changed", "wrong_unit", "not", "unstated", "common"),
        "pronouns": True,
    },
}


def generate(
    rng: Random, *, language: str, facts: int, said: int, changes: tuple[str, ...], pronouns: bool, truth: str = ""
) -> Item:
    """Draw contexts and a response, whose rating may be given."""
    truth = truth or rng.choice(RATINGS)
    building = draw_building(rng, language, rng.sample(RELATIONS, facts))
    told = tell(rng, building, pronouns=pronouns)
    half = len(told) // 2
    wanted: Sequence[tuple[str, ...]] = {
        FULLY: [(SUPPORTED,)] * said,
        PARTLY: [(SUPPORTED,)] * (said - 1) + [(NEUTRAL,)],
        NOT: [(CONTRADICTED, NEUTRAL)] * said,
    }[truth]
    made: dict[str, Claim] = {}
    while len(made) < said:
        one = draw_claim(rng, building, changes, wanted=rng.choice(wanted[len(made)]))
        # Each about another relation: a repeated or doubly wrong fact would weigh more than the others.
        made.setdefault(str(one.says.get("relation", one.text)), one)
    listed = shuffled(rng, made.values())
    # A pronoun needs the building's name in the same context; without pronouns the facts can be split in two.
    contexts = [join(language, told)] if pronouns else [join(language, part) for part in (told[:half], told[half:])]
    values = {"question": "", "response": join(language, [one.text for one in listed]), "contexts": contexts}
    return examine(
        "groundedness",
        language,
        {"rating": values},
        truth,
        kind="+".join(sorted({one.change for one in listed})),
        world=[building.as_dict()],
        says=[dict(one.says) for one in listed],
    )


UNIT = exam_family(
    "groundedness", 2, LEVELS, generate, in_turn(*RATINGS), en="Exam: groundedness", ru="Экзамен: обоснованность"
)
