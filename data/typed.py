"""Typed questions: what a judged step asks, declared once for every kind of judge.

A step declares with `Typed` that its answer is one of some labels, a level, or yes or no. From the declaration
follow the JSON schema of a text judge's reply (`Typed.schema`), the questions that a deciding judge is put
(`TypedQuestion`), the label that probabilities decide for (`Typed.decide`), and the reply that a text judge would
have written for these labels (`Typed.reply`), which the step's own parser reads. A step without one, such as a
split into claims, needs a judge that writes text.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["choice", "levels", "yes_no"]
YES, NO = "yes", "no"

_EQUAL = 1e-12


@dataclass(frozen=True, slots=True)
class Typed:
    """The type of a step's answer.

    `name` is its key in a text judge's reply. `labels` are the possible answers as they are written there, each
    with its worth; levels are whole numbers. `descriptions` say in a line what a label means, if the prompt has no
    line `- LABEL: …` for it. `tie` is the label taken if the most probable ones are equally so, by default the one
    of the lowest worth. `entries` names a list among the question's values, such as claims; each entry, with
    an `id`, is decided by itself; a text judge then replies with a list `verdicts` of them.
    """

    kind: Kind
    name: str
    labels: Mapping[str, float]
    descriptions: Mapping[str, str] = field(default_factory=dict)
    tie: str = ""
    entries: str = ""

    def schema(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the JSON schema of a text judge's reply to a question's values: the reason before the answer."""
        answer: dict[str, Any] = {"type": "string", "enum": list(self.labels)}
        if self.kind == "levels":
            answer = {"type": "integer", "enum": list(map(int, self.labels))}
        properties = {"reason": {"type": "string"}, self.name: answer}
        if not self.entries:
            return object_schema(**properties)
        ids = self.parts(values)
        entry = object_schema(id={"type": "string", "enum": ids}, **properties)
        entries = {"type": "array", "items": entry, "minItems": len(ids), "maxItems": len(ids)}
        return object_schema(verdicts=entries)

    def parts(self, values: Mapping[str, Any]) -> list[str]:
        """Return the ids of what is decided by itself: of a question without entries one, the empty id."""
        if not self.entries:
            return [""]
        return [entry["id"] for entry in values[self.entries]]

    def part(self, values: Mapping[str, Any], part: str) -> Mapping[str, Any]:
        """Return the values of a question about one of its parts alone."""
        if not self.entries:
            return values
        return {**values, self.entries: [entry for entry in values[self.entries] if entry["id"] == part]}

    def decide(self, probabilities: Mapping[str, float]) -> str:
        """Return the most probable label: of several `tie`, else the one of the lowest worth, declared last.

        Source: SPEC 21.
        """
        highest = max(probabilities.values())
        # Probabilities that were renormalised may differ in their last digit.
        likeliest = [label for label in self.labels if highest - probabilities[label] <= _EQUAL]
        if len(likeliest) > 1 and self.tie:
            return self.tie
        # Of equals, `min` takes the first.
        return min(reversed(likeliest), key=self.labels.__getitem__)

    def reply(self, labels: Mapping[str, str]) -> str:
        """Return the reply of a text judge that decided so, without reasons; `labels` are by part."""
        answers: list[dict[str, Any]] = []
        for part, label in labels.items():
            answer: str | int = label
            if self.kind == "levels":
                answer = int(label)
            answers.append({"id": part, "reason": "", self.name: answer})
        if self.entries:
            return json.dumps({"verdicts": answers}, ensure_ascii=False)
        del answers[0]["id"]
        return json.dumps(answers[0], ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class TypedQuestion:
    """A question as a deciding judge is put it, about a `state`: the judged texts by their names.

    `labels` are the possible answers with a line about each, levels in ascending order.
    """

    kind: Kind
    instructions: str
    state: Mapping[str, str]
    labels: Mapping[str, str]


def yes_or_no() -> Typed:
    """Return the type of a question that is answered by yes or no."""
    return Typed("yes_no", "verdict", {YES: 1.0, NO: 0.0})


def levels(name: str, lowest: int, highest: int) -> Typed:
    """Return the type of a rating by whole numbers."""
    return Typed("levels", name, {str(level): float(level) for level in range(lowest, highest + 1)})


def object_schema(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object that has exactly these properties, in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }
