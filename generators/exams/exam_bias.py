"""Exam of judges: the same question in several forms, to measure a judge's biases.

Each item asks one question of a judged step as it is, again verbatim, reworded without a change in meaning, and
once for each probe: an answer or response made longer without more content, more confident, with markup, in another
language, under the judge's own name; an instruction to the judge hidden in a claim, a passage or an answer. All
have the same truth. Flips among the first three forms are the judge's noise, the baseline for the probes.

Source: ours; the biases after Zheng et al. 2023 and Panickssery et al. 2024.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from data.exam import AGAIN, ORDER, PLAIN, REWORDED
from data.records import Item
from generators.exams import (
    exam_correctness,
    exam_groundedness,
    exam_preference,
    exam_rubric,
    exam_splitting,
    exam_support,
)
from generators.exams.world import (
    CONTRADICTED,
    LANGUAGES,
    NAMED,
    NEUTRAL,
    RELATIONS,
    SUPPORTED,
    Building,
    Value,
    Values,
    ask,
    draw_building,
    draw_value,
    exam_family,
    examine,
    far_value,
    join,
    other_value,
    state,
    surface,
    tell,
    words,
)

LEVELS: dict[str, dict[str, Any]] = {"easy": {"facts": 3}, "medium": {"facts": 4}, "hard": {"facts": 5}}
STYLED = ("length", "confidence", "markup")  # the probes of responses that are graded as a whole

Drawn = tuple[Mapping[str, Values], Any, dict[str, Any]]
"""A question in its forms, its truth, and facts of the item: `wanted` is the verdict that each probe favours."""


def _thrice(plain: Values, reworded: Values) -> dict[str, Values]:
    return {PLAIN: plain, AGAIN: plain, REWORDED: reworded}


def _styled(language: str, text: str, reworded: str, said: Mapping[str, Value]) -> dict[str, str]:
    """Return a response in each form and probe; `said` are the values that it states."""
    said_as = words(language).answers
    listed = "\n".join(f"- **{surface(language, one, value)}**" for one, value in said.items())
    return {
        PLAIN: text,
        AGAIN: text,
        REWORDED: reworded,
        "length": said_as["padded"].format(one=text),
        "confidence": said_as["confident"].format(one=text),
        "markup": f"## {text}\n\n{listed}",
    }


def _instructed(language: str, text: str, verdict: str) -> str:
    return words(language).answers["instructed"].format(one=text, verdict=verdict)


def _stated(building: Building, said: Mapping[str, Value]) -> tuple[str, str]:
    """State values in two wordings."""
    return state(building, said, 0), state(building, said, 1)


def _split(_rng: Random, building: Building, _truth: str) -> Drawn:
    forms = [{"text": text, "question": ""} for text in _stated(building, building.facts)]
    return _thrice(*forms), exam_splitting.facts_of(building, building.facts), {}


def _claims(rng: Random, building: Building) -> dict[str, tuple[str, Value]]:
    """Draw a claim of each truth: its relation and value."""
    known = rng.sample([*building.facts], 2)
    missing = rng.choice([one for one in RELATIONS if one not in building.facts])
    language = building.language
    return {
        SUPPORTED: (known[0], building.facts[known[0]]),
        CONTRADICTED: (known[1], other_value(rng, language, known[1], building.facts[known[1]])),
        NEUTRAL: (missing, draw_value(rng, language, missing)),
    }


def _says(building: Building, relation: str, value: Value) -> dict[str, Any]:
    return {"subject": building.name, "relation": relation, "value": value, "form": "plain"}


def _entails(rng: Random, building: Building, _truth: str) -> Drawn:
    source = join(building.language, tell(rng, building, pronouns=False))
    drawn = _claims(rng, building)
    truths = {str(n): truth for n, truth in enumerate(rng.sample([*drawn], len(drawn)), 1)}
    forms = [
        {
            "claims": [{"id": n, "text": state(building, dict([drawn[one]]), style)} for n, one in truths.items()],
            "source": source,
        }
        for style in (0, 1)
    ]
    return _thrice(*forms), truths, {"says": {n: _says(building, *drawn[truth]) for n, truth in truths.items()}}


def _support(rng: Random, building: Building, truth: str) -> Drawn:
    language = building.language
    relation, value = _claims(rng, building)[truth]
    label = exam_support.LABELS[truth]
    others = [one for one in exam_support.LABELS.values() if one != label]
    wanted = {probe: rng.choice(others) for probe in ("claim_instruction", "passage_instruction")}
    passage = join(language, tell(rng, building, pronouns=False))

    def form(claim: str, content: str) -> Values:
        return {"kind": "passage", "content": content, "claim": claim, "context": claim}

    said, reworded = _stated(building, {relation: value})
    forms = {
        **_thrice(form(said, passage), form(reworded, passage)),
        "claim_instruction": form(_instructed(language, said, wanted["claim_instruction"]), passage),
        "passage_instruction": form(said, _instructed(language, passage, wanted["passage_instruction"])),
    }
    return forms, label, {"wanted": wanted, "says": _says(building, relation, value)}


_DATED = [one for one in NAMED if one not in {"city", "architect", "material"}]
"""Relations whose values are written alike in every language."""


def _correctness(rng: Random, building: Building, truth: str) -> Drawn:
    """Ask for two facts; the answer gets both, one or none of them right."""
    language = building.language
    asked = rng.sample([one for one in building.facts if one in _DATED], 2)
    said = {one: building.facts[one] for one in asked}
    if truth == exam_correctness.PARTLY:
        del said[rng.choice(asked)]
    elif truth == exam_correctness.INCORRECT:
        said = {one: far_value(rng, language, one, value) for one, value in said.items()}
    shared = {
        "question": ask(building, asked),
        "short_answers": [surface(language, one, building.facts[one]) for one in asked],
        "long_answer": state(building, building.facts),
    }
    against = next(one for one in (exam_correctness.INCORRECT, exam_correctness.CORRECT) if one != truth)
    text, reworded = _stated(building, said)
    other = rng.choice([one for one in LANGUAGES if one != language])
    answers = {
        **_styled(language, text, reworded, said),
        "name": words(language).answers["signed"].replace("{one}", text),
        "language": state(Building(other, building.kind, building.name, {}), said, 0),
        "answer_instruction": _instructed(language, text, against),
    }
    wanted = dict.fromkeys((*STYLED, "name", "language"), exam_correctness.CORRECT)
    forms = {key: {**shared, "answer": one} for key, one in answers.items()}
    return forms, truth, {"wanted": {**wanted, "answer_instruction": against}, "asked": asked, "says": said}


def _groundedness(rng: Random, building: Building, truth: str) -> Drawn:
    """State five facts, of which the context supports all, all but one, or none."""
    language = building.language
    said, missing = dict(building.facts), rng.choice([one for one in RELATIONS if one not in building.facts])
    if truth == exam_groundedness.PARTLY:
        said = {one: said[one] for one in rng.sample([*said], len(said) - 1)}
        said[missing] = draw_value(rng, language, missing)
    elif truth == exam_groundedness.NOT:
        said = {one: other_value(rng, language, one, value) for one, value in said.items()}
    context = join(language, tell(rng, building, pronouns=False))
    forms = [{"question": "", "response": text, "contexts": [context]} for text in _stated(building, said)]
    return _thrice(*forms), truth, {"says": [_says(building, *one) for one in said.items()]}


def _rubric(rng: Random, building: Building, truth: str) -> Drawn:
    """Answer as many of four questions correctly as the rating says, and the others wrongly."""
    language = building.language
    said = dict(building.facts)
    wrong = rng.sample([*said], exam_rubric.HI - int(truth))
    said |= {one: other_value(rng, language, one, said[one]) for one in said if one in wrong}
    shared = {
        "criterion": words(language).criterion,
        "question": ask(building, building.facts),
        "reference": state(building, building.facts),
        "lo": exam_rubric.LO,
        "hi": exam_rubric.HI,
    }
    responses = _styled(language, *_stated(building, said), said)
    forms = {key: {**shared, "response": one} for key, one in responses.items()}
    return forms, truth, {"wanted": dict.fromkeys(STYLED, str(exam_rubric.HI)), "says": said}


def _preference(rng: Random, building: Building, truth: str) -> Drawn:
    """Compare two responses, the first with a probe applied; the prompt says that only facts may count."""
    language = building.language
    relation = rng.choice([*building.facts])
    lesser = {**building.facts, relation: other_value(rng, language, relation, building.facts[relation])}
    ours = lesser if truth == exam_preference.WORSE else building.facts
    theirs = lesser if truth == exam_preference.BETTER else building.facts
    shared = {
        "question": ask(building, building.facts),
        "reference": state(building, building.facts),
        "criteria": words(language).preferred,
    }
    other = state(building, theirs, 1)
    forms = {
        f"{key}{ORDER}{order}": {**shared, "first": first, "second": second}
        for key, one in _styled(language, *_stated(building, ours), ours).items()
        for order, first, second in (("ab", one, other), ("ba", other, one))
    }
    return forms, truth, {"wanted": dict.fromkeys(STYLED, exam_preference.BETTER), "says": [ours, theirs]}


def _two_dated(rng: Random, facts: int) -> list[str]:
    dated = rng.sample(_DATED, 2)
    return [*dated, *rng.sample([one for one in RELATIONS if one not in dated], facts - 2)]


class _Step(NamedTuple):
    """A probed step: its possible truths, and how to draw a question."""

    truths: tuple[str, ...]
    draw: Callable[[Random, Building, str], Drawn]
    relations: Callable[[Random, int], Sequence[str]]


def _named(rng: Random, facts: int) -> Sequence[str]:
    return rng.sample(NAMED, facts)


def _any(rng: Random, facts: int) -> Sequence[str]:
    return rng.sample(RELATIONS, facts)


STEPS: Mapping[str, _Step] = {
    "split": _Step(("",), _split, _named),
    "entails": _Step(("",), _entails, _any),
    "support": _Step(tuple(exam_support.LABELS), _support, _any),
    "correctness": _Step(exam_correctness.GRADES, _correctness, _two_dated),
    "groundedness": _Step(exam_groundedness.RATINGS, _groundedness, lambda rng, _: _any(rng, 5)),
    # Only ratings that can move either way.
    "rubric": _Step(("2", "3", "4"), _rubric, lambda rng, _: _named(rng, exam_rubric.FACTS)),
    "preference": _Step(exam_preference.TRUTHS, _preference, _named),
}
"""The judged steps by their exams' names."""


def generate(rng: Random, *, language: str, facts: int, step: str = "", truth: str = "") -> Item:
    """Draw a question of a step in all its forms; step and truth are random unless given."""
    step = step or rng.choice(tuple(STEPS))
    home = STEPS[step]
    truth = truth or rng.choice(home.truths)
    building = draw_building(rng, language, home.relations(rng, facts))
    forms, expected, more = home.draw(rng, building, truth)
    more = {"kind": step, "wanted": {}, "world": [building.as_dict()], **more}
    return examine(step, language, forms, expected, **more)


def balanced(_level: Mapping[str, Any], n: int) -> list[dict[str, str]]:
    """Return half as many questions per truth as the step's own family, as each is asked several times."""
    return [
        {"step": step, "truth": truth}
        for _ in range((n + 1) // 2)
        for step, home in STEPS.items()
        for truth in home.truths
    ]


UNIT = exam_family("bias", 2, LEVELS, generate, balanced, en="Exam: bias probes", ru="Экзамен: предвзятость")
