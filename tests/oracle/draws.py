"""Draw small runs: suites of one headline metric, their replies, thresholds, weights and gates."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

LETTERS = "abcdefghijkl"
"""Answers and replies are beginnings of it, so that similarity is a matter of counting."""

STATES = ("judge_failed", "not_applicable")


@dataclass(frozen=True)
class Reply:
    """How a call ended: a text, perhaps cut at its token limit, or no reply; `state`: why it has no value."""

    text: str = ""
    cut: bool = False
    failed: bool = False
    state: str = ""


@dataclass(frozen=True)
class Question:
    """A row of a suite's file; `answer` is its expected answer."""

    text: str
    answer: str
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """A suite of one headline metric; its replies by model, row and repeat."""

    name: str
    metric: str
    questions: tuple[Question, ...]
    replies: Mapping[tuple[str, int, int], Reply]
    threshold: float | None
    weight: float
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """A configuration, and what its models replied."""

    models: tuple[str, ...]
    suites: tuple[Suite, ...]
    threshold: float | None
    gate: str
    undecided: str = "undecided"
    repeats: int = 1


def _reply(draw: st.DrawFn, answer: str, *, graded: bool, odds: int) -> Reply:
    """Draw a reply; `odds` of 20 are right, some of the others fail, are empty or are cut."""
    chance = draw(st.integers(0, 19))
    if chance < odds:
        return Reply(answer, cut=draw(st.integers(0, 9)) == 0)
    kind = draw(st.sampled_from(("wrong", "wrong", "wrong", "empty", "cut", "failed")))
    if kind == "failed":
        return Reply(failed=True) if draw(st.booleans()) else Reply(answer, state=draw(st.sampled_from(STATES)))
    wrong = LETTERS[: draw(st.integers(1, len(answer) - 1))] if graded else "zz"
    return Reply("" if kind == "empty" else wrong, cut=kind == "cut")


def _given(replies: Mapping[tuple[str, int, int], Reply]) -> dict[tuple[str, int, int], Reply]:
    return {place: Reply("zz") if reply.failed or reply.state else reply for place, reply in replies.items()}


def _thresholds(n: int, right: int) -> st.SearchStrategy[float | None]:
    """Return thresholds, many of them about the share that is right, exactly or rounded."""
    counts, places = st.sampled_from((right, right, n - right)), st.sampled_from((2, 3, 17))
    shares = st.builds(lambda count, digits: round(count / n, digits), counts, places)
    return st.one_of(st.none(), shares, shares, shares, st.sampled_from((0.5, 0.6, 0.8, 0.9)))


@st.composite
def drawn_suites(draw: st.DrawFn, name: str, models: tuple[str, ...], repeats: int) -> Suite:
    """Draw a suite: 3 to 24 rows, some of them twice."""
    metric = draw(st.sampled_from(("exact_match", "exact_match", "similarity")))
    n = draw(st.integers(3, 24))
    twice = draw(st.sampled_from((0, 0, 0, 1, 3)))
    templates = draw(st.sampled_from((0, 0, 0, 3, 6, 11)))
    columns = [{"template": f"t{i % templates}"} if templates else {} for i in range(n)]
    rows = [Question(f"{name} {i}", LETTERS[: 4 + i % 5], columns[i]) for i in range(n)]
    rows += rows[:twice]
    rows += [
        Question(rows[i].text, LETTERS[:3], rows[i].columns) for i in range(draw(st.sampled_from((0, 0, 0, 1))))
    ]
    odds = draw(st.sampled_from((0, 10, 15, 19, 20)))
    replies: dict[tuple[str, int, int], Reply] = {}
    for model in models:
        for repeat in range(repeats):  # an equal request has the same reply
            drawn = [
                _reply(draw, question.answer, graded=metric == "similarity", odds=odds) for question in rows[:n]
            ]
            by_text = {question.text: reply for question, reply in zip(rows, drawn, strict=False)}
            replies |= {(model, row, repeat): by_text[question.text] for row, question in enumerate(rows)}
    weight = draw(st.sampled_from((1.0, 1.0, 0.2, 0.3, 2.0, 0.0)))
    right = sum(replies[models[0], row, 0].text == question.answer for row, question in enumerate(rows[:n]))
    return Suite(name, metric, tuple(rows), replies, draw(_thresholds(n, right)), weight)


@st.composite
def runs(draw: st.DrawFn, *, is_recorded: bool = False) -> Run:
    """Draw a run of one to three suites by one or two models; recorded replies are one model's, and none failed."""
    models = ("m0", "m1")[: 1 if is_recorded else draw(st.sampled_from((1, 1, 2)))]
    repeats = 1 if is_recorded else draw(st.sampled_from((1, 1, 1, 2, 3)))
    listed = tuple(
        draw(drawn_suites(name, models, repeats)) for name in ("s0", "s1", "s2")[: draw(st.integers(1, 3))]
    )
    if not any(suite.weight for suite in listed):
        listed = (replace(listed[0], weight=1.0), *listed[1:])
    if is_recorded:
        listed = tuple(replace(suite, replies=_given(suite.replies)) for suite in listed)
    if repeats > 1 and all(suite.metric == "exact_match" for suite in listed):
        gate_on = {"gate_on": draw(st.sampled_from(("mean", "pass_at_k", "pass_all_k")))}
        listed = tuple(replace(suite, replies=_given(suite.replies), options=gate_on) for suite in listed)
    gate = draw(st.sampled_from(("point", "point", "interval", "interval", "off")))
    undecided = draw(st.sampled_from(("undecided", "undecided", "pass")))
    return Run(models, listed, draw(_thresholds(20, 15)), gate, undecided, repeats)


def edited(run: Run) -> Run:
    """Return the run with a wrong reply to the first question of each suite."""
    suites = []
    for suite in run.suites:
        first = {row for row, question in enumerate(suite.questions) if question.text == suite.questions[0].text}
        replies = {place: Reply(LETTERS) if place[1] in first else reply for place, reply in suite.replies.items()}
        suites.append(replace(suite, replies=replies))
    return replace(run, suites=tuple(suites))
