"""Contents of an exam's questions, and marking of splits: shared by the exam's families and metrics.

The facts of an exam's item: `exam` (the examined step), `questions` (each with `key` and the `values` for the
step's prompt), `truth` (a label; by claim's id; or the atomic facts of a text) and `kind`. An item of probes has
one question in several forms: unchanged (`PLAIN`), repeated (`AGAIN`), reworded without a change of meaning
(`REWORDED`), and with an irrelevant feature for each probe; `wanted` has the verdict that each probe favours. In a
human-labelled set, `folded` maps verdicts to the set's labels.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

PLAIN, AGAIN, REWORDED = "plain", "again", "reworded"
"""The forms of a probed question besides the probes."""
EXAM, QUESTIONS, TRUTH, KIND = "exam", "questions", "truth", "kind"
FOLDED, WANTED = "folded", "wanted"

JUDGE = "{judge}"
"""Placeholder in a question for the judge's own name."""
FAMILIES = {"entails": "exam_entailment", "split": "exam_splitting"}
"""The exam's families that are not named after the step they examine."""
ORDER = "/"
"""Separates the form of a probed question from the order of its two responses."""


def family_of(exam: str) -> str:
    """Return the name of the family that examines a step."""
    return FAMILIES.get(exam, f"exam_{exam}")


_LETTER = "0-9A-Za-zА-яЁё"


def matches(text: str, surface: str) -> bool:
    """Return whether a value occurs in a text as a whole, not within a longer number or word."""
    return bool(re.search(rf"(?<![{_LETTER}]){re.escape(surface)}(?![{_LETTER}])", text, re.IGNORECASE))


def mark_split(facts: Sequence[Mapping[str, Any]], claims: Sequence[str]) -> dict[str, int]:
    """Count how a split treated a text's atomic facts.

    `alone`: in a separate claim; `joined`: in a claim with other facts; `missing`; `repeated`: claims that repeat a
    fact; `extra`: claims without a fact, among all `claims`.
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
