"""Exam of judges: the same question in several forms, to find what sways a judge that should not.

Each item puts one question of a judged step as it is, again word for word, in other words that change nothing,
and once for each probe: an answer or response made longer without more content, said with more confidence, with
markup, in another language, under the judge's own name; an instruction to the judge hidden in a claim, a
passage or an answer. All have one truth. What a judge flips between the first three is its own noise, and a
probe is measured by it.

Source: ours; the biases after Zheng et al. 2023 and Panickssery et al. 2024.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from data.exam import AGAIN, ORDER, PLAIN, REWORDED
from data.records import Family, Item
from generators.exams import (
    exam_chain,
    exam_correctness,
    exam_groundedness,
    exam_preference,
    exam_rubric,
    exam_splitting,
    exam_support,
)
from generators.exams.base import examine
from generators.exams.words import NAMED, RELATIONS, words
from generators.exams.world import (
    CONTRADICTED,
    LANGUAGES,
    NEUTRAL,
    SUPPORTED,
    Building,
    Value,
    ask,
    draw_building,
    draw_value,
    far_value,
    join,
    other_value,
    state,
    surface,
    tell,
)

LEVELS: dict[str, dict[str, Any]] = {"easy": {"facts": 3}, "medium": {"facts": 4}, "hard": {"facts": 5}}
STYLED = ("length", "confidence", "markup")
"""The probes of whatever is graded as a whole."""

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A question in its forms, its truth, and what each probe speaks for; `more` are facts of the item."""

    forms: Mapping[str, Values]
    truth: Any
    wanted: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


def _styled(language: str, text: str, points: Sequence[str]) -> dict[str, str]:
    """Return a response in the clothes of each probe; `points` are what it says, one by one."""
    said_as = words(language).answers
    listed = "\n".join(f"- **{one}**" for one in points)
    return {
        "length": said_as["padded"].format(one=text),
        "confidence": said_as["confident"].format(one=text),
        "markup": f"## {text}\n\n{listed}",
    }


def _instructed(language: str, text: str, verdict: str) -> str:
    return words(language).answers["instructed"].format(one=text, verdict=verdict)


def _split(rng: Random, building: Building, truth: str) -> _Drawn:
    del rng, truth
    forms = [{"text": state(building, building.facts, style), "question": ""} for style in (0, 1)]
    return _Drawn(_thrice(*forms), exam_splitting.facts_of(building, building.facts))


def _thrice(plain: Values, reworded: Values) -> dict[str, Values]:
    return {PLAIN: plain, AGAIN: plain, REWORDED: reworded}


def _claims(rng: Random, building: Building) -> dict[str, tuple[str, Value]]:
    """Draw a claim of each truth: what it says of which relation."""
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


def _entails(rng: Random, building: Building, truth: str) -> _Drawn:
    del truth  # one claim of each
    source = join(building.language, tell(rng, building, pronouns=False))
    drawn = _claims(rng, building)
    order = rng.sample([*drawn], len(drawn))

    def form(style: int) -> Values:
        claims = [
            {"id": str(n), "text": state(building, dict([drawn[truth]]), style)} for n, truth in enumerate(order, 1)
        ]
        return {"claims": claims, "source": source}

    says = {str(n): _says(building, *drawn[truth]) for n, truth in enumerate(order, 1)}
    return _Drawn(
        _thrice(form(0), form(1)), {str(n): truth for n, truth in enumerate(order, 1)}, more={"says": says}
    )


def _support(rng: Random, building: Building, truth: str) -> _Drawn:
    language = building.language
    relation, value = _claims(rng, building)[truth]
    label = exam_support.LABELS[truth]
    others = [one for one in exam_support.LABELS.values() if one != label]
    wanted = {probe: rng.choice(others) for probe in ("claim_instruction", "passage_instruction")}
    passage = join(language, tell(rng, building, pronouns=False))

    def form(claim: str, content: str) -> Values:
        return {"kind": "passage", "content": content, "claim": claim, "context": claim}

    said, reworded = (state(building, {relation: value}, style) for style in (0, 1))
    forms = {
        **_thrice(form(said, passage), form(reworded, passage)),
        "claim_instruction": form(_instructed(language, said, wanted["claim_instruction"]), passage),
        "passage_instruction": form(said, _instructed(language, passage, wanted["passage_instruction"])),
    }
    return _Drawn(forms, label, wanted, {"says": _says(building, relation, value)})


_DATED = [one for one in NAMED if one not in {"city", "architect", "material"}]
"""Relations whose values are written alike in every language."""


def _correctness(rng: Random, building: Building, truth: str) -> _Drawn:
    """Ask for two facts, of which the answer states both, one or none rightly."""
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
    text, reworded = (state(building, said, style) for style in (0, 1))
    other = rng.choice([one for one in LANGUAGES if one != language])
    answers = {
        **_styled(language, text, [surface(language, one, value) for one, value in said.items()]),
        "name": words(language).answers["signed"].replace("{one}", text),
        "language": state(Building(other, building.kind, building.name, {}), said, 0),
        "answer_instruction": _instructed(language, text, against),
    }
    wanted = dict.fromkeys(answers, exam_correctness.CORRECT) | {"answer_instruction": against}
    listed = {
        **_thrice({"answer": text}, {"answer": reworded}),
        **{key: {"answer": one} for key, one in answers.items()},
    }
    return _Drawn(
        {key: {**shared, **own} for key, own in listed.items()},
        truth,
        wanted,
        {"asked": asked, "says": said},
    )


def _groundedness(rng: Random, building: Building, truth: str) -> _Drawn:
    """State five things: all of them told by the context, all but one, or none."""
    language = building.language
    known = list(building.facts)
    missing = rng.sample([one for one in RELATIONS if one not in building.facts], 1)
    said: dict[str, Value] = {one: building.facts[one] for one in known}
    if truth == exam_groundedness.PARTLY:
        said = {**{one: said[one] for one in rng.sample(known, len(known) - 1)}}
        said |= {one: draw_value(rng, language, one) for one in missing}
    elif truth == exam_groundedness.NOT:
        said = {one: other_value(rng, language, one, value) for one, value in said.items()}
    context = join(language, tell(rng, building, pronouns=False))
    forms = [{"question": "", "response": state(building, said, style), "contexts": [context]} for style in (0, 1)]
    return _Drawn(_thrice(*forms), truth, more={"says": [_says(building, *one) for one in said.items()]})


def _rubric(rng: Random, building: Building, truth: str) -> _Drawn:
    """Answer as many of four questions rightly as the rating says, and the others wrongly."""
    language = building.language
    wrong = rng.sample([*building.facts], exam_rubric.HI - int(truth))
    said = {
        one: other_value(rng, language, one, value) if one in wrong else value
        for one, value in building.facts.items()
    }
    shared = {
        "criterion": words(language).criterion,
        "question": ask(building, building.facts),
        "reference": state(building, building.facts),
        "lo": exam_rubric.LO,
        "hi": exam_rubric.HI,
    }
    text, reworded = (state(building, said, style) for style in (0, 1))
    points = [surface(language, one, value) for one, value in said.items()]
    responses = {PLAIN: text, AGAIN: text, REWORDED: reworded, **_styled(language, text, points)}
    forms = {key: {**shared, "response": one} for key, one in responses.items()}
    return _Drawn(forms, truth, dict.fromkeys(STYLED, str(exam_rubric.HI)), {"says": said})


def _preference(rng: Random, building: Building, truth: str) -> _Drawn:
    """Compare two responses, of which the first is dressed; it is said that nothing but facts may count."""
    language = building.language
    relation = rng.choice([*building.facts])
    lesser = dict(building.facts)
    lesser[relation] = other_value(rng, language, relation, lesser[relation])
    ours = lesser if truth == exam_preference.WORSE else building.facts
    theirs = lesser if truth == exam_preference.BETTER else building.facts
    shared = {
        "question": ask(building, building.facts),
        "reference": state(building, building.facts),
        "criteria": words(language).preferred,
    }
    text, reworded = (state(building, ours, style) for style in (0, 1))
    other = state(building, theirs, 1)
    points = [surface(language, one, value) for one, value in ours.items()]
    responses = {PLAIN: text, AGAIN: text, REWORDED: reworded, **_styled(language, text, points)}
    forms = {
        f"{key}{ORDER}{order}": {**shared, **dict(zip(("first", "second"), pair, strict=True))}
        for key, one in responses.items()
        for order, pair in (("ab", (one, other)), ("ba", (other, one)))
    }
    return _Drawn(forms, truth, dict.fromkeys(STYLED, exam_preference.BETTER), {"says": [ours, theirs]})


def _chain(rng: Random, building: Building, truth: str) -> _Drawn:
    """Find the first wrong step of a solution, whose steps are named in one way and in another."""
    kind = truth if truth == "none" else rng.choice(exam_chain.KINDS)
    ways, first = exam_chain.forms(rng, building.language, kind, later=False)
    return _Drawn(_thrice(*ways), truth, more={"first": first})


@dataclass(frozen=True, slots=True)
class _Step:
    """A judged step that is probed: its prompt, the truths that come up, how a question is drawn."""

    prompt: str
    truths: tuple[str, ...]
    draw: Callable[[Random, Building, str], _Drawn]
    relations: Callable[[Random, int], Sequence[str]] = lambda rng, facts: rng.sample(RELATIONS, facts)


def _named(rng: Random, facts: int) -> Sequence[str]:
    return rng.sample(NAMED, facts)


STEPS: Mapping[str, _Step] = {
    "split": _Step("claims/split", ("",), _split, _named),
    "entails": _Step("claims/entails", ("",), _entails),
    "support": _Step("citation/support", tuple(exam_support.LABELS), _support),
    "correctness": _Step(
        "citation/correctness",
        exam_correctness.GRADES,
        _correctness,
        lambda rng, facts: [*(dated := rng.sample(_DATED, 2)), *_others(rng, dated, facts - 2)],
    ),
    "groundedness": _Step(
        "groundedness/rate",
        exam_groundedness.RATINGS,
        _groundedness,
        lambda rng, _: rng.sample(RELATIONS, 5),
    ),
    # A rating that can go either way.
    "rubric": _Step("rubric/rate", ("2", "3", "4"), _rubric, lambda rng, _: _named(rng, exam_rubric.FACTS)),
    "chain": _Step("chain/find", ("none", "wrong"), _chain),
    "preference": _Step("preference/compare", tuple(exam_preference.WINNER), _preference, _named),
}
"""The judged steps by their exams' names."""


def _others(rng: Random, relations: Sequence[str], n: int) -> list[str]:
    return rng.sample([one for one in RELATIONS if one not in relations], n)


def generate(rng: Random, *, language: str, facts: int, step: str = "", truth: str = "") -> Item:
    """Draw a question of a step in all its forms; step and truth may be given."""
    step = step or rng.choice(tuple(STEPS))
    home = STEPS[step]
    truth = truth or rng.choice(home.truths)
    building = draw_building(rng, language, home.relations(rng, facts))
    drawn = home.draw(rng, building, truth)
    return examine(
        step,
        home.prompt,
        language,
        drawn.forms,
        drawn.truth,
        kind=step,
        wanted=dict(drawn.wanted),
        world=[building.as_dict()],
        **drawn.more,
    )


def balanced(level: Mapping[str, Any], n: int) -> list[dict[str, str]]:
    """Give half as many questions of each truth of a step as its own family has: each is put several times."""
    del level
    return [
        {"step": step, "truth": truth}
        for _ in range((n + 1) // 2)
        for step, home in STEPS.items()
        for truth in home.truths
    ]


UNIT = Family(
    name="exam_bias",
    version=2,
    levels=LEVELS,
    generate=generate,
    languages=LANGUAGES,
    balanced=balanced,
    titles={"en": "Exam: bias probes", "ru": "Экзамен: предвзятость"},
)
