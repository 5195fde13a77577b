"""Exam of judges: how far a response rests on contexts, 0 to 2 (the step `rate` of response groundedness).

Responses mix sentences that the contexts support with ones that they do not hold or that contradict them: all
supported 2, a few not held 1, none supported 0.

Source: ours.
"""

from random import Random
from typing import Any

from data.records import Family, Item
from generators._exam import examine, label_misses, label_reply, mark_label, shuffled
from generators._exam_words import RELATIONS
from generators._exam_world import (
    CONTRADICTED,
    LANGUAGES,
    NEUTRAL,
    SUPPORTED,
    Claim,
    draw_building,
    draw_claim,
    join,
    tell,
)

LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"facts": 4, "said": 2, "changes": ("same", "changed", "unstated"), "pronouns": False},
    "medium": {
        "facts": 5,
        "said": 3,
        "changes": ("same", "paraphrase", "unit", "changed", "wrong_unit", "unstated"),
        "pronouns": True,
    },
    "hard": {
        "facts": 6,
        "said": 4,
        "changes": ("paraphrase", "unit", "not_other", "changed", "wrong_unit", "not", "unstated", "common"),
        "pronouns": True,
    },
}


def generate(
    rng: Random, *, language: str, facts: int, said: int, changes: tuple[str, ...], pronouns: bool
) -> Item:
    """Draw contexts and a response; each rating is as likely."""
    rating = rng.choice((0, 1, 2))
    building = draw_building(rng, language, rng.sample(RELATIONS, facts))
    told = tell(rng, building, pronouns=pronouns)
    half = len(told) // 2
    if rating == 2:  # noqa: PLR2004 - fully
        wanted = [SUPPORTED] * said
    elif rating == 1:
        wanted = [SUPPORTED] * (said - 1) + [NEUTRAL]
    else:
        wanted = [rng.choice((CONTRADICTED, NEUTRAL)) for _ in range(said)]
    made: dict[str, Claim] = {}
    while len(made) < said:
        one = draw_claim(rng, building, changes, wanted=wanted[len(made)])
        made.setdefault(one.text, one)
    listed = shuffled(rng, list(made.values()))
    # A pronoun stands with the building's name in the same context: the halves are one text each of whole facts.
    contexts = [join(language, told)] if pronouns else [join(language, part) for part in (told[:half], told[half:])]
    values = {"question": "", "response": join(language, [one.text for one in listed]), "contexts": contexts}
    return examine(
        "groundedness",
        "groundedness/rate",
        language,
        {"rating": values},
        str(rating),
        kind="+".join(sorted({one.change for one in listed})),
        world=[building.as_dict()],
        says=[dict(one.says) for one in listed],
    )


UNIT = Family(
    name="exam_groundedness",
    version=1,
    levels=LEVELS,
    generate=generate,
    verify=lambda item, reply: mark_label(item, reply, "rating"),
    languages=LANGUAGES,
    titles={"en": "Exam: groundedness", "ru": "Экзамен: обоснованность"},
    reference=lambda item: label_reply(item, "rating"),
    near_misses=lambda item: label_misses(item, "rating", ("0", "1", "2")),
)
