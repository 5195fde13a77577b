"""Preference metric: a judge compares the response with a baseline's in both orders; position bias gives a tie."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from basic_control.data.decorators import metric
from basic_control.data.json_reply import read_object
from basic_control.data.options import Frozen
from basic_control.data.reading.texts import collapse_spaces
from basic_control.data.records import Found, Measured, Question, Sample, Score, Step, Unparsable
from basic_control.data.shown import Shown
from basic_control.data.typed import Typed
from basic_control.metrics._replies import NO_REPLY, question, reference, reply
from basic_control.metrics.judging import Judgement, reason_of, unify_label

BASELINE = "baseline"
"""The default column of the other response."""

TIE = 0.5
WINNERS: Mapping[str, Mapping[str, float]] = {
    "ab": {"FIRST": 1.0, "TIE": TIE, "SECOND": 0.0},
    "ba": {"FIRST": 0.0, "TIE": TIE, "SECOND": 1.0},
}
"""Both orders: each winner's meaning for the response, which is first in `ab` and second in `ba`."""

SAID = {1.0: "better", TIE: "tie", 0.0: "worse"}


class Options(Frozen):
    """What the response is compared with, and the criterion."""

    baseline: str = Field(
        BASELINE, min_length=1, description="the column with the other response, or another model of the run"
    )
    criteria: str = Field(
        "", description="what makes a response better; by default, how well it helps the person who asked"
    )


def read_opponent(sample: Sample, options: Mapping[str, Any]) -> str | None:
    """Return the baseline's response without its thinking; None if there is none."""
    response = sample.get(options["baseline"])
    if response is None:
        return None
    return reply({"response": response})


def _score_without_judge(sample: Sample, options: Mapping[str, Any]) -> Score | None:
    """Return the score that needs no judge."""
    theirs, ours = read_opponent(sample, options), reply(sample)
    if theirs is None:
        return Score(None, "not_applicable", "no baseline", parts={"flipped": None})
    if not ours:
        return Score(0.0, NO_REPLY.status, NO_REPLY.reason, parts={"flipped": 0.0})
    if not theirs:
        return Score(1.0, reason="the baseline is empty", parts={"flipped": 0.0})
    if collapse_spaces(ours) == collapse_spaces(theirs):
        return Score(TIE, reason="equal", parts={"flipped": 0.0})
    return None


def rows(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Iterable[Question]:
    """Ask in both orders at once, unless the score is settled without a judge."""
    if _score_without_judge(sample, options):
        return
    ours, theirs = reply(sample), read_opponent(sample, options)
    shared = {
        "question": question(sample),
        "reference": reference(sample),
        "criteria": options["criteria"].strip(),
    }
    yield Question("ab", {**shared, "first": ours, "second": theirs})
    yield Question("ba", {**shared, "first": theirs, "second": ours})


def read_winner(question: Question, text: str) -> Judgement:
    """Read `{"reason": …, "winner": first, second or tie}`; return the result for the response in that order.

    Raises:
        Unparsable: the winner is missing or another.
    """
    verdict = read_object(text, "winner")
    winner = unify_label(verdict["winner"])
    if winner not in WINNERS[question.key]:
        raise Unparsable('"winner" must be exactly one of "first", "second", "tie"')
    return Judgement(winner.lower(), WINNERS[question.key][winner], reason_of(verdict))


def winner_of(question: Question) -> Typed:
    """Declare the answer: which response is better, with its worth for ours in this order."""
    worth = {winner.lower(): value for winner, value in WINNERS[question.key].items()}
    labels = {winner: worth[winner] for winner in ("first", "second", "tie")}
    return Typed("choice", "winner", labels, tie="tie")


def _outcome(details: Mapping[str, Any]) -> list[str]:
    if not {"ab", "ba"} <= set(details):
        return []
    values = {WINNERS[key][details[key]["winner"].upper()] for key in ("ab", "ba")}
    # Orders that disagree are a tie.
    return [SAID[values.pop() if len(values) == 1 else TIE]]


@metric(
    version=2,
    steps=(
        Step(
            name="compare",
            rows=rows,
            prompt="preference/compare",
            parse=read_winner,
            asks=winner_of,
        ),
    ),
    options=Options,
    temperature=0.0,
    measured=(Measured("", "preference", {"better": 1.0, "tie": TIE, "worse": 0.0}, _outcome),),
    title={"en": "Preference", "ru": "Предпочтение"},
    opponent=lambda options: str(options["baseline"]),
    shown=Shown(parts={"flipped": {"en": "orders disagree", "ru": "порядки расходятся"}}),
)
def preference(sample: Sample, replies: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if the response is better in both orders, 0 if it is worse in both, else 0.5.

    `flipped` is 1 if the two orders disagree, even if one is a tie.

    Source: SPEC 14; both orders after Zheng et al. 2023.
    """
    score = _score_without_judge(sample, options)
    if score:
        return score
    judged: Mapping[str, Judgement] = replies["compare"]
    flipped = judged["ab"].value != judged["ba"].value
    details = {key: {"winner": judged[key].label, "reason": judged[key].reason} for key in sorted(judged)}
    value = judged["ab"].value
    reason = SAID[value]
    # A judge that prefers what stands first, or last, has no preference.
    if flipped:
        value, reason = TIE, "the two orders disagree"
    return Score(value, reason=reason, details=details, parts={"flipped": float(flipped)})
