"""The exam: one metric for each judged step, which puts questions of known truth to judges, and marks the replies.

A question goes to the judge by the very prompt, schema, parser and temperature of the step that it examines. An
item of another step is not applicable.

Source: ours; Zheng et al. 2023 (both orders of a preference).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field

from data.exam import DRESSED, EXAM, FOLDED, JUDGE, PLAIN, QUESTIONS, TRUTH, mark_split
from data.options import Frozen
from data.records import Found, Metric, Question, Sample, Score, Step
from metrics.citation import UNIT as CITATION
from metrics.factual_correctness import UNIT as FACTUAL
from metrics.judging import Judgement
from metrics.preference import TIE
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
"""What is examined: a metric and one of its steps."""

LABELS: Mapping[str, tuple[str, ...]] = {
    "entails": ("SUPPORTED", "CONTRADICTED", "NEUTRAL"),
    "support": ("ENTAILMENT", "CONTRADICTION", "NEUTRAL"),
    "correctness": ("CORRECT", "PARTIALLY_CORRECT", "INCORRECT"),
    "groundedness": ("2", "1", "0"),
    "rubric": ("5", "4", "3", "2", "1"),
    "preference": ("better", "tie", "worse"),
    "split": ("alone", "joined", "missing"),
}
"""What can be said at each step, the best first; a split's facts are alone, joined or missing."""

_OUTCOMES = {1.0: "better", TIE: "tie", 0.0: "worse"}


class Options(Frozen):
    """What a question needs beside its own values."""

    prompt: str = Field("", description="a rubric's prompt of the user's own")
    judge: str = Field(
        "the grader", description="the name under which the probe of the judge's own name sets answers"
    )


def _rows(exam: str) -> Any:
    def rows(sample: Sample, found: Found, options: Mapping[str, Any]) -> Iterable[Question]:
        del found
        if sample.get(EXAM) != exam:
            return
        for asked in sample[QUESTIONS]:
            values = {name: _named(value, options["judge"]) for name, value in asked["values"].items()}
            # Word for word the same question is another asking of it.
            again = asked["key"] == DRESSED and asked["values"] == sample[QUESTIONS][0]["values"]
            yield Question(asked["key"], values, repeat=int(again))

    return rows


def _named(value: Any, judge: str) -> Any:
    return value.replace(JUDGE, judge) if isinstance(value, str) else value


def _label(reply: Any) -> str:
    """Return what a reply said, as the exam's labels have it."""
    if not isinstance(reply, Judgement):
        return ""
    return str(int(reply.value)) if reply.label in RATINGS.values() else reply.label


def _pairs(exam: str, sample: Sample, said: Mapping[str, Any]) -> tuple[list[tuple[str, str]], dict[str, Any]]:
    """Return (truth, said) of each verdict, and what else is worth keeping."""
    truth = sample[TRUTH]
    folded = sample.get(FOLDED, {})
    if exam == "entails":
        found = {one: _best([verdicts[one]["verdict"] for verdicts in said.values()]) for one in truth}
        pairs = [(truth[one], folded.get(verdict, verdict)) for one, verdict in found.items()]
        return pairs, {"kinds": sample.get("kinds", {})}
    if exam == "split":
        marks = mark_split(truth, said["response"])
        return [("alone", label) for label in LABELS["split"] for _ in range(marks[label])], {"marks": marks}
    if exam == "preference":
        winners = {key: reply.label for key, reply in said.items()}
        same = said["ab"].value == said["ba"].value
        return [(truth, _OUTCOMES[said["ab"].value if same else TIE])], {"winners": winners}
    if PLAIN in said:
        labels = {key: _label(reply) for key, reply in said.items()}
        probe = {"probe": sample["probe"], "wanted": sample["wanted"], **labels}
        return [(truth, labels[PLAIN])], {"bias": probe}
    label = _label(next(iter(said.values())))
    return [(truth, folded.get(label, label))], {}


def _best(verdicts: Sequence[str]) -> str:
    """Return the best verdict on a claim that was held against several texts: one that supports it is enough."""
    return min(verdicts, key=LABELS["entails"].index)


def _score(exam: str, step: str) -> Any:
    def score(sample: Sample, found: Found, options: Mapping[str, Any]) -> Score:
        del options
        if sample.get(EXAM) != exam:
            return Score(None, "not_applicable", "another step is examined")
        pairs, more = _pairs(exam, sample, found[step])
        right = sum(truth == said for truth, said in pairs)
        details = {"exam": exam, "kind": sample.get("kind", ""), "pairs": [list(pair) for pair in pairs], **more}
        return Score(right / len(pairs) if pairs else 1.0, details=details)

    return score


def _step(exam: str, home: Metric, name: str) -> Step:
    own = next(step for step in home.steps if step.name == name)
    return Step(own.name, _rows(exam), own.prompt, own.parse, own.schema)


UNITS = tuple(
    Metric(
        name=f"exam_{exam}",
        version=1,
        bounds=(0.0, 1.0),
        score=_score(exam, name),
        steps=(_step(exam, home, name),),
        options=Options,
        temperature=home.temperature,
        title={"en": f"Exam: {exam}", "ru": f"Экзамен: {exam}"},
    )
    for exam, (home, name) in EXAMINED.items()
)
