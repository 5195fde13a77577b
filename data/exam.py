"""What an exam's question holds, and how a split is marked: shared by the exam's families and metrics.

The facts of an exam's item: `exam` (which judged step is examined), `questions` (each with `key` and the `values`
that fill the step's prompt), `truth` (a label; by claim's id; or the atomic facts of a text) and `kind`. An item of
probes puts one question in several forms: as it is (`PLAIN`), again word for word (`AGAIN`), in other words that
change nothing (`REWORDED`), and with what should not matter, a probe each; `wanted` has, by probe, the verdict that
it speaks for. Of a set that people labelled, `folded` says which label of the set stands for a verdict.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

PLAIN, AGAIN, REWORDED = "plain", "again", "reworded"
"""The forms of a probed question beside the probes themselves."""
EXAM, QUESTIONS, TRUTH, KIND = "exam", "questions", "truth", "kind"
FOLDED, WANTED = "folded", "wanted"

JUDGE = "{judge}"
"""Stands in a question for the judge's own name."""
FAMILIES = {"entails": "exam_entailment", "split": "exam_splitting"}
"""The exam's families where they are named otherwise than the step that they examine."""
ORDER = "/"
"""Between the form of a probed question and the order in which two responses stand in it."""


def family_of(exam: str) -> str:
    """Return the name of the family that examines a step."""
    return FAMILIES.get(exam, f"exam_{exam}")


_LETTER = "0-9A-Za-zА-яЁё"


def matches(text: str, surface: str) -> bool:
    """Say whether a value stands in a text, whole: not as a part of a longer number or word."""
    return bool(re.search(rf"(?<![{_LETTER}]){re.escape(surface)}(?![{_LETTER}])", text, re.IGNORECASE))


def mark_split(facts: Sequence[Mapping[str, Any]], claims: Sequence[str]) -> dict[str, int]:
    """Count how a text's atomic facts came out of a split.

    `alone`: in a claim of their own; `joined`: in a claim with other facts; `missing`; `repeated`: claims that say
    a fact once more; `extra`: claims that hold no fact, of all `claims`.
    """
    held = [
        [place for place, fact in enumerate(facts) if any(matches(claim, one) for one in fact["surfaces"])]
        for claim in claims
    ]
    alone = {found[0] for found in held if len(found) == 1}
    joined = {place for found in held if len(found) > 1 for place in found} - alone
    return {
        "facts": len(facts),
        "alone": len(alone),
        "joined": len(joined),
        "missing": len(facts) - len(alone) - len(joined),
        "repeated": sum(len(found) == 1 for found in held) - len(alone),
        "extra": sum(not found for found in held),
        "claims": len(claims),
    }
