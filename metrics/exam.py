"""The exam: asks judges questions of known truth, by the very steps of the judged metrics, and marks their replies.

A question uses the same prompt, schema, parser and temperature as the step that it examines.

Source: ours; Zheng et al. 2023 (both orders of a preference).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from data.exam import EXAM, FOLDED, KIND, QUESTIONS, TRUTH, TWICE, mark_split
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
AGAIN = "/again"
"""Ends the key of a question that is asked once more, word for word."""

Pairs = list[tuple[str, str]]
"""Truth and verdict of each claim, fact or response."""


def step_of(exam: str) -> tuple[Metric, Step]:
    """Return the metric whose step an exam examines, and the step."""
    metric, name = EXAMINED[exam]
    return metric, next(step for step in metric.steps if step.name == name)


def prompt_of(step: Step, text: str = "") -> str:
    """Return a step's prompt: its template's name, or the text of a user's own."""
    return step.prompt if isinstance(step.prompt, str) else step.prompt({"prompt": text})


def _ask(exam: str) -> Callable[[Sample, Found, Mapping[str, Any]], Iterable[Question]]:
    def rows(sample: Sample, found: Found, options: Mapping[str, Any]) -> Iterable[Question]:
        if sample.get(EXAM) != exam:
            return
        for asked in sample[QUESTIONS]:
            yield Question(asked["key"], asked["values"])
            if sample.get(TWICE):
                yield Question(asked["key"] + AGAIN, asked["values"], repeat=1)

    return rows


def _pair(exam: str, sample: Sample, replies: Mapping[str, Any]) -> Pairs:
    """Return the truth and the verdict of each claim, fact or response."""
    truth = sample[TRUTH]
    folded = sample.get(FOLDED, {})
    if exam == "entails":
        # A claim compared with several texts needs only one that supports it.
        rank = LABELS["entails"].index
        labels = {id_: min((verdicts[id_]["verdict"] for verdicts in replies.values()), key=rank) for id_ in truth}
        return [(truth[id_], folded.get(label, label)) for id_, label in labels.items()]
    if exam == "split":
        marks = mark_split(truth, next(iter(replies.values())))
        return [("alone", label) for label in LABELS["split"] for _ in range(marks[label])]
    if exam == "preference":
        both = replies["ab"].value if replies["ab"].value == replies["ba"].value else TIE
        return [(truth, SAID[both])]
    reply: Judgement = next(iter(replies.values()))
    label = str(int(reply.value)) if reply.label in RATINGS.values() else reply.label
    return [(truth, folded.get(label, label))]


def score(sample: Sample, found: Found, options: Mapping[str, Any]) -> Score:
    """Return the share of right verdicts; the details have each truth with its verdict.

    `changed` in the details: the verdicts on the question differ when it is asked again.
    """
    exam = str(sample[EXAM])
    first: dict[str, Any] = {}
    again: dict[str, Any] = {}
    for key, reply in found[exam].items():
        (again if key.endswith(AGAIN) else first)[key.removesuffix(AGAIN)] = reply
    pairs = _pair(exam, sample, first)
    details: dict[str, Any] = {"exam": exam, KIND: sample.get(KIND, ""), "pairs": [list(pair) for pair in pairs]}
    if exam == "split":
        details["marks"] = mark_split(sample[TRUTH], next(iter(first.values())))
    if again:
        details["changed"] = _pair(exam, sample, again) != pairs
    n_right = sum(truth == verdict for truth, verdict in pairs)
    return Score(n_right / len(pairs) if pairs else 1.0, details=details)


def _examine(exam: str) -> Step:
    metric, step = step_of(exam)

    def parse(asked: Question, text: str) -> Any:
        # The step reads the order of two responses from the key.
        return step.parse(replace(asked, key=asked.key.removesuffix(AGAIN)), text)

    return Step(exam, _ask(exam), prompt_of(step), parse, step.schema, metric.temperature)


UNIT = Metric(
    name="exam",
    version=1,
    bounds=(0.0, 1.0),
    internal=True,
    score=score,
    steps=tuple(_examine(exam) for exam in EXAMINED),
    title={"en": "Exam", "ru": "Экзамен"},
)
