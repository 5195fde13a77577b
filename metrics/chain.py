"""Judged chain: the first wrong step of a chain of thought, asked of a judge if the rules cannot decide."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, cast

from pydantic import Field

from data.number_words import given_numbers
from data.options import Frozen
from data.records import Found, Measured, Metric, Question, Sample, Score, Step
from metrics._replies import NO_REPLY, reply, was_cut
from metrics.cot.chain import read
from metrics.cot.first_error import REASONS, as_details, first_error
from metrics.judging import Judgement, read_whole, reasoned_schema

NONE = -1
"""Label for no wrong step."""

MOST_STEPS = 100
LONGEST = 1_000
"""Maximum number of steps shown to a judge, and of characters of a step."""

LABELS: Mapping[str, float] = {"none": 1.0, "wrong": 0.0}
"""A judge's verdict on a whole chain: no wrong step, or one."""


class Options(Frozen):
    """Number of times a judge is asked."""

    votes: int = Field(1, ge=1, le=15, description="how often a judge is asked per chain; the majority decides")


@lru_cache(maxsize=256)
def _settled(question: str, reference: str, response: str, *, cut: bool) -> tuple[dict[str, Any], list[str]]:
    """Return the first wrong step of a reply by the rules, {} if they name none, and the steps for a judge.

    The rules are recomputation and, if the answer is wrong, comparison with the reference.
    """
    chain, meant = read(response, question, cut=cut), read(reference)
    right = chain.answer is not None and meant.answer is not None and chain.answer.value == meant.answer.value
    first = first_error(chain, meant, given_numbers(question), right=right)
    if first is not None:
        return as_details(first, chain), []
    return {}, [step.text.strip()[:LONGEST] for step in chain.steps[:MOST_STEPS]]


def _by_rules(sample: Sample) -> tuple[dict[str, Any], list[str]]:
    return _settled(str(sample["question"]), str(sample["reference"]), reply(sample), cut=was_cut(sample))


def rows(sample: Sample, found: Found, options: Mapping[str, Any]) -> Iterable[Question]:
    """Ask repeatedly for the first wrong step; no questions if the rules name one, or if there are no steps."""
    _, steps = _by_rules(sample) if reply(sample) else ({}, [])
    values = {"question": sample["question"], "reference": sample["reference"], "steps": steps}
    for vote in range(options["votes"] if steps else 0):
        yield Question(str(vote + 1), values, repeat=vote)


def step_schema(asked: Question) -> dict[str, Any]:
    """Return the schema of a reply: the reason, then a step's number or -1."""
    return reasoned_schema("step", [NONE, *range(1, len(asked.values["steps"]) + 1)])


def read_step(asked: Question, text: str) -> Judgement:
    """Read `{"reason": …, "step": a step's number or -1}`; the number may be given as text.

    Raises:
        Unparsable: there is none, or no step of that number: nothing is clamped or guessed.
    """
    last = len(asked.values["steps"])
    expected = f"-1 or the number of a step, 1 to {last}"
    step, reason = read_whole(text, "step", (NONE, *range(1, last + 1)), expected)
    label = "none" if step == NONE else "wrong"
    return Judgement(label, LABELS[label], reason, step)


def majority(votes: Iterable[int]) -> int:
    """Return the step with most votes; in a tie a step rather than none, and the earlier one."""
    counts = Counter(votes)
    most = max(counts.values())
    tied = sorted(step for step, count in counts.items() if count == most)
    return next((step for step in tied if step != NONE), NONE)


def score(sample: Sample, found: Found, options: Mapping[str, Any]) -> Score:
    """Return 1.0 if neither the rules nor the judge name a wrong step, else 0.0.

    The part `judged` covers only what the judge decided, not what the rules settled. `first_error` in the details
    has the step, the votes, and who named it.

    Source: SPEC 3.
    """
    if not reply(sample):
        return Score(0.0, NO_REPLY.status, NO_REPLY.reason, parts={"judged": None})
    error, steps = _by_rules(sample)
    if error:
        return Score(
            0.0, "scored", REASONS[error["kind"]], {"by": "rules", "first_error": dict(error)}, {"judged": None}
        )
    if not steps:
        return Score(None, "not_applicable", "no steps", parts={"judged": None})
    votes: Mapping[str, Judgement] = found["find"]
    step = majority(cast("int", vote.step) for vote in votes.values())
    label = "none" if step == NONE else "wrong"
    details: dict[str, Any] = {
        "by": "judge",
        "label": label,
        "first_error": None if step == NONE else {"step": step, "line": steps[step - 1]},
        "votes": {key: {"step": vote.step, "reason": vote.reason} for key, vote in votes.items()},
    }
    reason = "no wrong step" if step == NONE else "a judge names a wrong step"
    return Score(LABELS[label], "scored", reason, details, {"judged": LABELS[label]})


UNIT = Metric(
    name="chain",
    version=1,
    bounds=(0.0, 1.0),
    score=score,
    steps=(Step(name="find", rows=rows, prompt="chain/find", parse=read_step, schema=step_schema),),
    options=Options,
    needs=("question", "reference"),
    temperature=0.0,
    votes=False,
    yes_no=True,
    stand_in=lambda sample: str(sample["reference"]),
    measured=(
        Measured(
            "judged",
            "chain",
            LABELS,
            lambda details: [details["label"]] if details.get("label") else [],
            alone=lambda options: options["votes"] == 1,  # the exam asks once
        ),
    ),
    title={"en": "Chain, judged", "ru": "Цепочка, по судье"},
)
