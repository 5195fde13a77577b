"""Chains of thought in the manner of real models: right ones raise no alarm, slips are found, answers are read."""

from collections import Counter
from functools import cache
from typing import NamedTuple

import pytest

from data.options import options_of
from data.plugins import metrics
from data.records import Score
from tests.acceptance.chains.finals import final
from tests.acceptance.chains.replies import Reply, compose
from tests.acceptance.chains.shapes import SHAPES
from tests.acceptance.chains.styles import STYLES

LANGUAGES = ("en", "ru", "zh")
CHAINS = 700
FINALS = 300
ALARMS = 0.003  # the greatest share of right chains with an alarm
FOUND = 0.97  # the least share of slips found
ANSWERS = 0.99  # the least share of final answers read rightly
SHOWN = 3  # examples of each of the worst styles


class Case(NamedTuple):
    """A reply and its score."""

    reply: Reply
    score: Score

    @property
    def wrong_step(self) -> int | None:
        found: int | None = self.score.details["first_wrong_step"]
        return found


def score(question: str, reference: str, text: str, answer: str) -> Score:
    """Score one reply."""
    unit = metrics()["cot"]
    sample = {"question": question, "reference": reference, "response": text, "answer": answer}
    return unit.score(sample, {}, options_of(unit, {}))


@cache
def cases(language: str, *, slip: bool) -> tuple[Case, ...]:
    """Compose and score a language's replies."""
    kind = "slip" if slip else "right"
    written = (compose(language, f"{kind}/{language}/{index}", slip=slip) for index in range(CHAINS))
    return tuple(Case(one, score(one.question, one.reference, one.text, one.answer)) for one in written)


def offenders(found: list[Case]) -> str:
    """List the worst styles with examples: the line with the slip, or what was taken for wrong."""
    counts = Counter((one.reply.style, "") for one in found) + Counter((one.reply.noise, "noise") for one in found)
    told = []
    for (name, kind), count in counts.most_common(15):
        here = [one for one in found if name == (one.reply.noise if kind else one.reply.style)]
        told.append(f"{kind or 'style'} {name!r}: {count}")
        told += [f"    {_line(one)}" for one in here[:SHOWN]]
    return "\n".join(told)


def _line(case: Case) -> str:
    step = case.reply.slip or case.wrong_step or 1
    lines = [line for line in case.reply.text.split("\n") if line.strip()]
    wrong = [(one["text"], one["expected"]) for one in case.score.details["calculations"] if not one["right"]]
    return f"{lines[step - 1]!r} -> step {case.wrong_step}, wrong {wrong}"


def test_there_are_thirty_shapes_and_twenty_five_styles() -> None:
    assert len(SHAPES) >= 30
    assert len(STYLES) >= 25
    assert {one.reply.style for one in cases("en", slip=False)} == set(STYLES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_right_chains_raise_no_alarm(language: str) -> None:
    found = [one for one in cases(language, slip=False) if one.wrong_step is not None]
    assert len(found) <= ALARMS * CHAINS, f"{len(found)} of {CHAINS}\n{offenders(found)}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_right_chains_have_the_right_answer(language: str) -> None:
    right = sum(one.score.parts["l1"] == 1 for one in cases(language, slip=False))
    assert right >= ANSWERS * CHAINS


@pytest.mark.parametrize("language", LANGUAGES)
def test_planted_slips_are_found(language: str) -> None:
    lost = [one for one in cases(language, slip=True) if one.wrong_step is None]
    assert all(one.reply.slip for one in cases(language, slip=True))
    assert len(lost) <= (1 - FOUND) * CHAINS, f"{len(lost)} of {CHAINS}\n{offenders(lost)}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_slip_is_found_in_its_step(language: str) -> None:
    found = [one for one in cases(language, slip=True) if one.wrong_step is not None]
    astray = [one for one in found if one.wrong_step != one.reply.slip]
    assert len(astray) <= 0.01 * len(found), f"{len(astray)} of {len(found)}\n{offenders(astray)}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_final_answers_are_read(language: str) -> None:
    astray = []
    for index in range(FINALS):
        one = final(language, index)
        found = score(one.question, f"#### {one.answer}", one.text, one.answer)
        if (found.parts["l1"] == 1) != one.right:
            astray.append(
                f"{one.kind}, {one.style!r}: {one.text!r} for {one.answer}, read {found.details['answer']}"
            )
    assert len(astray) <= (1 - ANSWERS) * FINALS, "\n".join([f"{len(astray)} of {FINALS}", *astray[:30]])
