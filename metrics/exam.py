"""The exam: one metric for each judged step, which asks judges questions of known truth and marks their replies.

A question uses the same prompt, schema, parser and temperature as the step that it examines. An item of another
step is not applicable.

Source: ours; Zheng et al. 2023 (both orders of a preference).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from data.exam import AGAIN, EXAM, FOLDED, JUDGE, ORDER, PLAIN, QUESTIONS, TRUTH, WANTED, mark_split
from data.options import Frozen
from data.records import Found, Metric, Question, Sample, Score, Step
from metrics.citation.citation import UNIT as CITATION
from metrics.factual_correctness import UNIT as FACTUAL
from metrics.judging import Judgement
from metrics.preference import SAID, TIE
from metrics.preference import UNIT as PREFERENCE
from metrics.response_groundedness import RATINGS
from metrics.response_groundedness import UNIT as GROUNDEDNESS
from metrics.rubric import UNIT as RUBRIC

EXAMINED: Mapping[str, tuple[Metric, str]] = {
    "split": (FACTUAL, "split"),
    "entails": (FACTUAL, "entails"),
    "support": (CITATION, "support"),
    "correctness": (CITATION, "correctness"),
    "groundedness": (GROUNDEDNESS, "rate"),
    "rubric": (RUBRIC, "rate"),
    "preference": (PREFERENCE, "compare"),
}
"""The examined step: a metric and one of its steps."""

LABELS: Mapping[str, tuple[str, ...]] = {
    "entails": ("SUPPORTED", "CONTRADICTED", "NEUTRAL"),
    "support": ("ENTAILMENT", "NEUTRAL", "CONTRADICTION"),
    "correctness": ("CORRECT", "PARTIALLY_CORRECT", "INCORRECT"),
    "groundedness": ("2", "1", "0"),
    "rubric": ("5", "4", "3", "2", "1"),
    "preference": ("better", "tie", "worse"),
    "split": ("alone", "joined", "missing"),
}
"""The possible labels at each step, best first; a split's facts are alone, joined or missing."""


class Options(Frozen):
    """What a question needs besides its values."""

    prompt: str = Field("", description="the user's own rubric prompt")
    judge: str = Field("the grader", description="the judge's own name, used by the probe for self-preference")


def _rows(exam: str) -> Any:
    def rows(sample: Sample, found: Found, options: Mapping[str, Any]) -> Iterable[Question]:
        if sample.get(EXAM) != exam:
            return
        for asked in sample[QUESTIONS]:
            values = {
                name: value.replace(JUDGE, options["judge"]) if isinstance(value, str) else value
                for name, value in asked["values"].items()
            }
            # Repeats the same question word for word.
            yield Question(asked["key"], values, repeat=int(asked["key"].partition(ORDER)[0] == AGAIN))

    return rows


def _pairs(exam: str, sample: Sample, said: Mapping[str, Any]) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """Return (truth, said) of each verdict, and other details to keep."""
    truth = sample[TRUTH]
    folded = sample.get(FOLDED, {})
    if exam == "entails":
        # A claim compared with several texts needs only one that supports it.
        best = LABELS["entails"].index
        found = {one: min([verdicts[one]["verdict"] for verdicts in said.values()], key=best) for one in truth}
        pairs = [(truth[one], folded.get(verdict, verdict)) for one, verdict in found.items()]
        return pairs, {"kinds": sample.get("kinds", {})}
    if exam == "split":
        marks = mark_split(truth, next(iter(said.values())))
        return [("alone", label) for label in LABELS["split"] for _ in range(marks[label])], {"marks": marks}
    if exam == "preference":
        both = said["ab"].value if said["ab"].value == said["ba"].value else TIE
        return [(truth, SAID[both])], {"winners": {key: reply.label for key, reply in said.items()}}
    reply: Judgement = next(iter(said.values()))
    label = str(int(reply.value)) if reply.label in RATINGS.values() else reply.label
    return [(truth, folded.get(label, label))], {}


def _forms(exam: str, sample: Sample, said: Mapping[str, Any]) -> dict[str, str]:
    """Return the verdict on each form of a probed question, as one text."""
    forms: dict[str, dict[str, Any]] = {}
    for key, reply in said.items():
        form, _, order = key.partition(ORDER)
        forms.setdefault(form, {})[order] = reply
    return {
        form: " ".join(label for _, label in _pairs(exam, sample, replies)[0]) for form, replies in forms.items()
    }


def _score(exam: str, step: str) -> Any:
    def score(sample: Sample, found: Found, options: Mapping[str, Any]) -> Score:
        if sample.get(EXAM) != exam:
            return Score(None, "not_applicable", "another step is examined")
        said = found[step]
        shared = {"exam": exam, "kind": sample.get("kind", "")}
        if WANTED in sample:
            keys = {key: key.partition(ORDER) for key in said}
            own = {order: said[key] for key, (form, _, order) in keys.items() if form == PLAIN}
            pairs, _ = _pairs(exam, sample, own)
            details = {**shared, "forms": _forms(exam, sample, said), WANTED: dict(sample[WANTED])}
        else:
            pairs, more = _pairs(exam, sample, said)
            details = {**shared, "pairs": [list(pair) for pair in pairs], **more}
        right = sum(truth == label for truth, label in pairs)
        return Score(right / len(pairs) if pairs else 1.0, details=details)

    return score


def _step(exam: str, home: Metric, name: str) -> Step:
    own = next(step for step in home.steps if step.name == name)

    def parse(asked: Question, text: str) -> Any:
        """Parse as the step does; for a probed pair of responses the key gives the order after its form."""
        return own.parse(replace(asked, key=asked.key.rpartition(ORDER)[2]), text)

    return Step(own.name, _rows(exam), own.prompt, parse, own.schema)


UNITS = tuple(
    Metric(
        name=f"exam_{exam}",
        version=2,
        bounds=(0.0, 1.0),
        internal=True,
        score=_score(exam, name),
        steps=(_step(exam, home, name),),
        options=Options,
        temperature=home.temperature,
        title={"en": f"Exam: {exam}", "ru": f"Экзамен: {exam}"},
    )
    for exam, (home, name) in EXAMINED.items()
)
