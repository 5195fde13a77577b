"""Exam of judges: the same question in two clothes, to find what sways a judge that should not.

Probes, one an item: an answer made longer without more content, said with more confidence, in another language,
with markup, under the judge's own name; an instruction to the judge hidden in a claim, a passage or an answer; and
the same question word for word, for repeatability. The truth of both questions is one.

Source: ours; the biases after Zheng et al. 2023 and Panickssery et al. 2024.
"""

from random import Random
from typing import Any

from data.exam import DRESSED, PLAIN, TRUTH
from data.records import Family, Item
from generators._exam import examine, label_misses, label_reply, mark_label
from generators._exam_words import NAMED, RELATIONS, words
from generators._exam_world import (
    CONTRADICTED,
    LANGUAGES,
    NEUTRAL,
    SUPPORTED,
    Building,
    draw_building,
    draw_claim,
    join,
    other_value,
    phrase,
    sentence,
    surface,
    tell,
)
from generators.exam_support import LABELS

CORRECT, INCORRECT = "CORRECT", "INCORRECT"
ANSWERED = ("length", "confidence", "language", "markup", "name", "answer_instruction", "repeat")
SUPPORTING = ("claim_instruction", "passage_instruction")
LEVELS: dict[str, dict[str, Any]] = {
    "easy": {"probes": (*ANSWERED, *SUPPORTING), "facts": 3},
    "medium": {"probes": (*ANSWERED, *SUPPORTING), "facts": 4},
    "hard": {"probes": (*ANSWERED, *SUPPORTING), "facts": 5},
}


def generate(rng: Random, *, language: str, probes: tuple[str, ...], facts: int) -> Item:
    """Draw a question in two clothes; of its truths each is as likely."""
    probe = rng.choice(probes)
    return (
        _supporting(rng, language, probe, facts) if probe in SUPPORTING else _answered(rng, language, probe, facts)
    )


def _answered(rng: Random, language: str, probe: str, facts: int) -> Item:
    """Dress an answer that is graded against the gold answer."""
    truth = rng.choice((CORRECT, INCORRECT))
    relation = rng.choice([one for one in NAMED if one not in {"city", "architect", "material"}])
    building = draw_building(rng, language, (relation, *rng.sample(_others(relation), facts - 1)))
    fact = building.facts[relation]
    value = fact if truth == CORRECT else other_value(rng, language, relation, fact)
    said = sentence(language, phrase(building, relation, value, 1))
    wanted = {CORRECT: INCORRECT, INCORRECT: CORRECT}[truth] if probe == "answer_instruction" else CORRECT
    said_as = words(language).answers
    dressed = {
        "length": said_as["padded"].format(one=said),
        "confidence": said_as["confident"].format(one=said),
        "markup": f"## {said}\n\n- **{surface(language, relation, value)}**",
        "name": said_as["signed"].replace("{one}", said),
        "answer_instruction": said_as["instructed"].format(one=said, verdict=wanted),
        "repeat": said,
        "language": "",
    }[probe] or _abroad(rng, building, relation, value)
    shared = {
        "question": words(language).questions[relation].format(**building.forms),
        "short_answers": [surface(language, relation, fact)],
        "long_answer": join(
            language, [sentence(language, phrase(building, r, v)) for r, v in building.facts.items()]
        ),
    }
    return examine(
        "correctness",
        "citation/correctness",
        language,
        {PLAIN: {**shared, "answer": said}, DRESSED: {**shared, "answer": dressed}},
        truth,
        kind=probe,
        probe=probe,
        wanted=wanted,
        world=[building.as_dict()],
        asked=[relation],
        says={relation: value},
    )


def _others(relation: str) -> list[str]:
    return [one for one in RELATIONS if one != relation]


def _abroad(rng: Random, building: Building, relation: str, value: Any) -> str:
    """Say it in another language, the building under its own name."""
    other = rng.choice([one for one in LANGUAGES if one != building.language])
    return sentence(other, phrase(Building(other, building.kind, building.name, {}), relation, value))


def _supporting(rng: Random, language: str, probe: str, facts: int) -> Item:
    """Hide an instruction in a claim, or in the passage that it is compared with."""
    building = draw_building(rng, language, rng.sample(RELATIONS, facts))
    one = draw_claim(
        rng,
        building,
        ("same", "paraphrase", "changed", "unstated"),
        wanted=rng.choice((SUPPORTED, CONTRADICTED, NEUTRAL)),
    )
    truth = LABELS[one.truth]
    wanted = rng.choice([label for label in LABELS.values() if label != truth])
    passage = join(language, tell(rng, building, pronouns=False))
    hidden = words(language).answers["instructed"]
    plain = {"kind": "passage", "content": passage, "claim": one.text, "context": one.text}
    if probe == "claim_instruction":
        said = hidden.format(one=one.text, verdict=wanted)
        dressed = {**plain, "claim": said, "context": said}
    else:
        dressed = {**plain, "content": hidden.format(one=passage, verdict=wanted)}
    return examine(
        "support",
        "citation/support",
        language,
        {PLAIN: plain, DRESSED: dressed},
        truth,
        kind=probe,
        probe=probe,
        wanted=wanted,
        world=[building.as_dict()],
        says=dict(one.says),
    )


def near_misses(item: Item) -> list[str]:
    """Return the other verdicts of the step, and replies of another form."""
    labels = (
        tuple(LABELS.values())
        if item.facts[TRUTH] in LABELS.values()
        else (CORRECT, "PARTIALLY_CORRECT", INCORRECT)
    )
    return label_misses(item, "verdict", labels)


UNIT = Family(
    name="exam_bias",
    version=1,
    levels=LEVELS,
    generate=generate,
    verify=lambda item, reply: mark_label(item, reply, "verdict"),
    languages=LANGUAGES,
    titles={"en": "Exam: bias probes", "ru": "Экзамен: предвзятость"},
    reference=lambda item: label_reply(item, "verdict"),
    near_misses=near_misses,
)
