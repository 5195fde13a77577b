"""Exam of judges: does a text support each of a list of claims (the step `entails` of factual correctness).

The text tells facts of one value each about invented buildings; claims are made from them so that their truth is
known: changed numbers, units, dates and names, quantifiers, negation and double negation, cause for effect, partial
support, what is true but not stated, paraphrase, and pronouns over sentences.

Source: ours.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from data.draw import canonical, source
from data.exam import TRUTH
from data.records import Family, Item, Verdict
from generators.exams.base import examine, read, shuffled
from generators.exams.world import (
    CHANGES,
    CONTRADICTED,
    LANGUAGES,
    NEUTRAL,
    SUPPORTED,
    Claim,
    draw_claim,
    join,
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
    """Draw a text and claims about it, of truths that may be given."""
    wanted = truths or [rng.choice(VERDICTS) for _ in range(claims)]
    building, other, told = tell_two(rng, language, facts, rival=rival, pronouns=pronouns)
    made: dict[str, Claim] = {}
    while len(made) < len(wanted):
        one = draw_claim(rng, building, changes, rival=other, wanted=wanted[len(made)])
        made.setdefault(one.text, one)
    listed = shuffled(rng, list(made.values()))
    values = {
        "claims": [{"id": str(n), "text": one.text} for n, one in enumerate(listed, 1)],
        "source": join(language, told),
    }
    return examine(
        "entails",
        "claims/entails",
        language,
        {"response": values},
        {str(n): one.truth for n, one in enumerate(listed, 1)},
        kind="+".join(sorted({one.change for one in listed})),
        kinds={str(n): one.change for n, one in enumerate(listed, 1)},
        world=[one.as_dict() for one in (building, other) if one],
        says={str(n): dict(one.says) for n, one in enumerate(listed, 1)},
    )


def balanced(level: Mapping[str, Any], n: int) -> list[dict[str, list[str]]]:
    """Give items truths so that each comes up n times over their claims; the last item may have fewer claims."""
    rng = source("exam_entailment", level["claims"])
    listed = [truth for _ in range(n) for truth in rng.sample(VERDICTS, len(VERDICTS))]
    return [{"truths": listed[at : at + level["claims"]]} for at in range(0, len(listed), level["claims"])]


def verify(item: Item, reply: str) -> Verdict:
    """Accept a reply with exactly the right verdict under each id."""
    found = read(reply, "verdicts")
    entries = found["verdicts"] if found else None
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        return Verdict(correct=None, reason="no verdict of the form asked for")
    said = {str(one.get("id")): str(one.get("verdict")).upper() for one in entries}
    if len(said) != len(entries) or set(said) != set(item.facts[TRUTH]):
        return Verdict(correct=None, reason="no verdict of the form asked for")
    if said != item.facts[TRUTH]:
        return Verdict(correct=False, reason="another verdict")
    return Verdict(correct=True, reason="right")


def reference(item: Item) -> str:
    """Return the right verdicts."""
    return _reply(item.facts[TRUTH])


def _reply(truth: Any) -> str:
    listed = [{"id": one, "reason": "", "verdict": verdict} for one, verdict in sorted(truth.items())]
    return canonical({"verdicts": listed})


def near_misses(item: Item) -> list[str]:
    """Return replies with one verdict changed, one missing, one twice, or cut."""
    truth = dict(item.facts[TRUTH])
    first, *rest = truth
    wrong = [_reply({**truth, first: one}) for one in VERDICTS if one != truth[first]]
    right = _reply(truth)
    return [*wrong, _reply({one: truth[one] for one in rest}), right[:-3], right.replace('"1"', '"9"'), ""]


UNIT = Family(
    name="exam_entailment",
    version=2,
    levels=LEVELS,
    generate=generate,
    verify=verify,
    languages=LANGUAGES,
    titles={"en": "Exam: entailment", "ru": "Экзамен: следование"},
    balanced=balanced,
    reference=reference,
    near_misses=near_misses,
)
