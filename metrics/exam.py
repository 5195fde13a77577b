"""The exam: asks judges questions of known truth, by the very steps of the judged metrics, and marks their replies.

A question uses the same prompt, schema, parser and temperature as the step that it examines.

Source: ours; Zheng et al. 2023 (both orders of a preference).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from basic_control.data.decorators import metric
from basic_control.data.exam import EXAM, FOLDED, KIND, QUESTIONS, STEPS, TRUTH, TWICE, mark_split
from basic_control.data.labelled_sets import SETS
from basic_control.data.options import options_of
from basic_control.data.records import Found, Metric, Question, Sample, Score, Step
from basic_control.data.typed import NO, YES
from basic_control.metrics.answers_question import answers_question
from basic_control.metrics.citation.citation import citation_score
from basic_control.metrics.context_precision import context_precision
from basic_control.metrics.factual_correctness import factual_correctness
from basic_control.metrics.judging import Judgement
from basic_control.metrics.preference import SAID, TIE, preference
from basic_control.metrics.response_groundedness import RATINGS, response_groundedness
from basic_control.metrics.rubric import rubric

EXAMINED: Mapping[str, tuple[Metric, str]] = {
    "split": (factual_correctness, "split"),
    "entails": (factual_correctness, "entails"),
    "support": (citation_score, "support"),
    "correctness": (citation_score, "correctness"),
    "groundedness": (response_groundedness, "rate"),
    "rubric": (rubric, "rate"),
    "preference": (preference, "compare"),
    "answers_question": (answers_question, "rate"),
    "useful": (context_precision, "useful"),
}
"""The examined step: a metric and one of its steps."""

BORROWED: Mapping[tuple[str, str], str] = {
    ("faithfulness", "split"): "split",
    ("faithfulness", "entails"): "entails",
    ("context_recall", "entails"): "entails",
}
"""The exams of steps that metrics borrow, with their prompts, from those examined."""

LABELS: Mapping[str, tuple[str, ...]] = {
    "entails": ("SUPPORTED", "CONTRADICTED", "NEUTRAL"),
    "support": ("ENTAILMENT", "NEUTRAL", "CONTRADICTION"),
    "correctness": ("CORRECT", "PARTIALLY_CORRECT", "INCORRECT"),
    "groundedness": ("2", "1", "0"),
    "rubric": ("5", "4", "3", "2", "1"),
    "preference": ("better", "tie", "worse"),
    "answers_question": ("FULLY", "PARTLY", "NOT"),
    "useful": (YES, NO),
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
    return metric, next(filter(lambda step: step.name == name, metric.steps))


def exam_of(metric: str, step: str) -> str:
    """Return the name of the exam of a metric's step; the exam's own steps have it. '' if none examines it."""
    if metric == exam_score.name:
        return step
    home = {(unit.name, name): exam for exam, (unit, name) in EXAMINED.items()}
    return {**home, **BORROWED}.get((metric, step), "")


def exams_of_steps(metric: Metric, source: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, str]:
    """Return a metric's judged steps with their exams' names; of the exam itself, those that its source names."""
    if metric.name != exam_score.name:
        steps = metric.list_steps(options_of(metric, options))
        return {step.name: exam_of(metric.name, step.name) for step in steps}
    exams = [*source.get("steps", STEPS), *(SETS[name].exam for name in source.get("data", ()))]
    return dict(zip(exams, exams, strict=True))


def prompt_of(step: Step, text: str = "") -> str:
    """Return a step's prompt: its template's name, or the text of a user's own."""
    if isinstance(step.prompt, str):
        return step.prompt
    return step.prompt({"prompt": text})


def _build_rows(exam: str) -> Callable[[Sample, Found, Mapping[str, Any]], Iterable[Question]]:
    def list_questions(sample: Sample, _replies: Found, _options: Mapping[str, Any]) -> Iterable[Question]:
        if sample.get(EXAM) != exam:
            return
        for question in sample[QUESTIONS]:
            yield Question(question["key"], question["values"])
            if sample.get(TWICE):
                yield Question(question["key"] + AGAIN, question["values"], repeat=1)

    return list_questions


def _pair(exam: str, sample: Sample, replies: Mapping[str, Any]) -> Pairs:
    """Return the truth and the verdict of each claim, fact or response."""
    truth, folded = sample[TRUTH], sample.get(FOLDED, {})
    first = next(iter(replies.values()))
    pairs: Pairs = []
    if exam == "entails":
        for claim, label in truth.items():
            verdicts = [reply[claim]["verdict"] for reply in replies.values()]
            # A claim compared with several texts needs only one that supports it.
            best = min(verdicts, key=LABELS[exam].index)
            pairs.append((label, folded.get(best, best)))
        return pairs
    if exam == "split":
        marks = mark_split(truth, first)
        for label in LABELS[exam]:
            pairs += [("alone", label)] * marks[label]
        return pairs
    if exam == "preference":
        # Orders that disagree tell nothing apart.
        values = {reply.value for reply in replies.values()}
        winner = values.pop() if len(values) == 1 else TIE
        return [(truth, SAID[winner])]
    judgement: Judgement = first
    label = judgement.label
    if label in RATINGS.values():
        label = str(int(judgement.value))
    if exam == "useful":
        # As a deciding judge names it.
        label = label.lower()
    return [(truth, folded.get(label, label))]


def pair_probabilities(
    details: Mapping[str, Any], probabilities: Mapping[str, Mapping[str, float]]
) -> list[Mapping[str, float]]:
    """Return the probabilities of the labels of each pair in an exam score's details.

    `probabilities` are the judge's, by question (and claim). Of two orders of a pair they are averaged; of several
    texts for a claim those of the likeliest support count, as its verdict does.
    """
    exam, folded = details["exam"], details.get(FOLDED, {})
    first = {name: shares for name, shares in probabilities.items() if AGAIN not in name}
    if exam == "preference":
        ours = {"ab": ("first", "second"), "ba": ("second", "first")}
        sums = dict.fromkeys(LABELS[exam], 0.0)
        for order, (better, worse) in ours.items():
            for label, name in (("better", better), ("tie", "tie"), ("worse", worse)):
                sums[label] += first[order][name] / len(ours)
        return [sums]
    if exam == "entails":
        best = LABELS[exam][0]
        by_claim: list[Mapping[str, float]] = []
        for claim in details["claims"]:
            texts = [shares for name, shares in first.items() if name.rpartition(".")[2] == claim]
            by_claim.append(_fold(max(texts, key=lambda shares: shares[best]), folded))
        return by_claim
    return [_fold(shares, folded) for shares in first.values()]


def _fold(shares: Mapping[str, float], folded: Mapping[str, str]) -> Mapping[str, float]:
    """Return the probabilities of a labelled set's labels, several of which may be one there."""
    sums: dict[str, float] = {}
    for label, share in shares.items():
        name = folded.get(label, label)
        sums[name] = sums.get(name, 0.0) + share
    return sums


def _build_exam_step(exam: str) -> Step:
    metric, step = step_of(exam)

    def once(question: Question) -> Question:
        # The step reads the order of two responses from the key.
        return replace(question, key=question.key.removesuffix(AGAIN))

    def parse(question: Question, text: str) -> Any:
        return step.parse(once(question), text)

    declared = step.asks
    asks = (lambda question: declared(once(question))) if callable(declared) else declared
    return Step(exam, _build_rows(exam), prompt_of(step), parse, step.schema, metric.temperature, asks)


@metric(
    name="exam",
    internal=True,
    steps=tuple(_build_exam_step(exam) for exam in EXAMINED),
    title={"en": "Exam", "ru": "Экзамен"},
)
def exam_score(sample: Sample, replies: Found, _options: Mapping[str, Any]) -> Score:
    """Return the share of right verdicts; the details have each truth with its verdict.

    `changed` in the details: the verdicts on the question differ when it is asked again.
    """
    exam = str(sample[EXAM])
    firsts: dict[str, Any] = {}
    repeats: dict[str, Any] = {}
    for key, reply in replies[exam].items():
        group = repeats if key.endswith(AGAIN) else firsts
        group[key] = reply
    pairs = _pair(exam, sample, firsts)
    details: dict[str, Any] = {"exam": exam, KIND: sample.get(KIND, ""), "pairs": [*map(list, pairs)]}
    if exam == "entails":
        details["claims"] = [*sample[TRUTH]]
    if sample.get(FOLDED):
        details[FOLDED] = dict(sample[FOLDED])
    if exam == "split":
        details["marks"] = mark_split(sample[TRUTH], next(iter(firsts.values())))
    if repeats:
        details["changed"] = _pair(exam, sample, repeats) != pairs
    n_right = sum(truth == verdict for truth, verdict in pairs)
    return Score(n_right / len(pairs), details=details)
