"""Draw small runs: suites of one to three metrics, their replies, scores, thresholds, weights and gates."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

LETTERS = "abcdefghijkl"
"""Answers and replies are beginnings of it, so that similarity is a matter of counting."""

STATES = ("judge_failed", "not_applicable")
SEVERAL = (("exact_match", "contains"), ("exact_match", "similarity"), ("exact_match", "similarity", "contains"))


@dataclass(frozen=True)
class Reply:
    """How a call ended: a text, perhaps cut at its token limit, or no reply.

    `state`: why it has no value by the metric `of`, by default by any; `cause`: the kind of error of a failed call.
    """

    text: str = ""
    cut: bool = False
    failed: bool = False
    state: str = ""
    of: str = ""
    cause: str = "server"


@dataclass(frozen=True)
class Question:
    """A row of a suite's file; `answer` is its expected answer."""

    text: str
    answer: str
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """A suite: the options of each metric, its `score` as it is declared, its replies by model, row and repeat."""

    name: str
    metrics: Mapping[str, Mapping[str, Any]]
    questions: tuple[Question, ...]
    replies: Mapping[tuple[str, int, int], Reply]
    threshold: float | None
    weight: float | None
    options: Mapping[str, Any] = field(default_factory=dict)
    score: Any = None


@dataclass(frozen=True)
class Run:
    """A configuration, and what its models replied."""

    models: tuple[str, ...]
    suites: tuple[Suite, ...]
    threshold: float | None
    gate: str
    undecided: str = "undecided"
    repeats: int = 1


def _reply(draw: st.DrawFn, answer: str, metrics: Collection[str], *, odds: int) -> Reply:
    """Draw a reply; `odds` of 20 are right, some of the others fail, are empty or are cut."""
    chance = draw(st.integers(0, 19))
    if chance < odds:
        return Reply(answer, cut=draw(st.integers(0, 9)) == 0)
    kind = draw(st.sampled_from(("wrong", "wrong", "wrong", "empty", "cut", "failed")))
    if kind == "failed":
        lacking = Reply(answer, state=draw(st.sampled_from(STATES)), of=draw(st.sampled_from(("", *metrics))))
        return Reply(failed=True) if draw(st.booleans()) else lacking
    # A longer text holds the answer, a shorter one is like it.
    lengths = st.integers(1, len(LETTERS)).filter(lambda length: length != len(answer))
    wrong = LETTERS[: draw(lengths)] if {*metrics} - {"exact_match"} else "zz"
    return Reply("" if kind == "empty" else wrong, cut=kind == "cut")


def _given(replies: Mapping[tuple[str, int, int], Reply]) -> dict[tuple[str, int, int], Reply]:
    return {place: Reply("zz") if reply.failed or reply.state else reply for place, reply in replies.items()}


def _thresholds(n: int, right: int) -> st.SearchStrategy[float | None]:
    """Return thresholds, many of them about the share that is right, exactly or rounded."""
    counts, places = st.sampled_from((right, right, n - right)), st.sampled_from((2, 3, 17))
    shares = st.builds(lambda count, digits: round(count / n, digits), counts, places)
    return st.one_of(st.none(), shares, shares, shares, st.sampled_from((0.5, 0.6, 0.8, 0.9)))


def _metrics(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Draw metrics, some of them with a threshold of their own."""
    names = draw(st.sampled_from((("exact_match",), ("exact_match",), ("similarity",), *SEVERAL)))
    own = st.sampled_from(
        ({}, {}, {"threshold": None}, {"threshold": 0.5}, {"threshold": 0.75}, {"threshold": 1.0})
    )
    options: dict[str, dict[str, Any]] = {"contains": {"words": False}}
    return {name: {**options.get(name, {}), **draw(own)} for name in names}


def _score(draw: st.DrawFn, metrics: Mapping[str, Mapping[str, Any]]) -> Any:
    """Draw what joins the metrics: nothing, weights, a list, or all, where each says when it holds."""
    names = [*metrics]
    kinds = ["none", "none", "weights", "list"]
    if metrics.get("similarity", {"threshold": 1}).get("threshold") is not None:
        kinds.append("all")
    chosen = names[: draw(st.integers(1, len(names)))]
    weights = {name: draw(st.sampled_from((1.0, 0.3, 2.0))) for name in chosen}
    return {"none": None, "weights": weights, "list": chosen, "all": "all"}[draw(st.sampled_from(kinds))]


@st.composite
def drawn_suites(draw: st.DrawFn, name: str, models: tuple[str, ...], repeats: int, most: int) -> Suite:
    """Draw a suite: 3 rows to `most`, some of them twice."""
    metrics = _metrics(draw)
    n = draw(st.integers(3, most))
    twice = draw(st.sampled_from((0, 0, 0, 1, 3)))
    templates = draw(st.sampled_from((0, 0, 0, 3, 6, 11)))
    topics = draw(st.sampled_from((0, 0, 0, 2, 3)))
    periods = {name: n for name, n in (("template", templates), ("topic", topics)) if n}
    columns = [{name: f"t{i // (1 + (name == 'topic')) % n}" for name, n in periods.items()} for i in range(n)]
    rows = [Question(f"{name} {i}", LETTERS[: 4 + i % 5], columns[i]) for i in range(n)]
    rows += rows[:twice]
    rows += [
        Question(rows[i].text, LETTERS[:3], rows[i].columns) for i in range(draw(st.sampled_from((0, 0, 0, 1))))
    ]
    odds = draw(st.sampled_from((0, 10, 15, 19, 20)))
    replies: dict[tuple[str, int, int], Reply] = {}
    for model in models:
        for repeat in range(repeats):  # an equal request has the same reply
            drawn = [_reply(draw, question.answer, metrics, odds=odds) for question in rows[:n]]
            by_text = {question.text: reply for question, reply in zip(rows, drawn, strict=False)}
            replies |= {(model, row, repeat): by_text[question.text] for row, question in enumerate(rows)}
    right = sum(replies[models[0], row, 0].text == question.answer for row, question in enumerate(rows[:n]))
    threshold, score = draw(_thresholds(n, right)), _score(draw, metrics)
    options = {"slices": ["topic"]} if topics else {}
    suite = Suite(name, metrics, tuple(rows), replies, threshold, None, options, score)
    weights = (1.0, 1.0, 0.2, 0.3, 2.0, 0.0, None) if len(headline_names(suite)) == 1 else (None, 0.0)
    return replace(suite, weight=draw(st.sampled_from(weights)))


def headline_names(suite: Suite) -> list[str]:
    """Return the scores that decide a suite; if none has a threshold, those that are measured (section 8)."""
    limits = {name: options.get("threshold") for name, options in suite.metrics.items()}
    if suite.score is None:
        limits |= {name: suite.threshold for name, options in suite.metrics.items() if "threshold" not in options}
        return [name for name, limit in limits.items() if limit is not None] or [*limits]
    own = [name for name, limit in limits.items() if limit is not None]
    name = joined_name(suite.score)
    if suite.threshold is None and own and name not in own:
        return own
    return list(dict.fromkeys([name, *own]))


def joined_name(score: Any) -> str:
    """Return what a declared score is called: all, its only metric, or nothing for a mean of several."""
    return "all" if score == "all" else next(iter(score)) if len(score) == 1 else ""


@st.composite
def runs(draw: st.DrawFn, *, is_recorded: bool = False, most: int = 24) -> Run:
    """Draw a run of one to three suites by one or two models; recorded replies are one model's, and none failed."""
    models = ("m0", "m1")[: 1 if is_recorded else draw(st.sampled_from((1, 1, 2)))]
    repeats = 1 if is_recorded else draw(st.sampled_from((1, 1, 1, 2, 3)))
    listed = tuple(
        draw(drawn_suites(name, models, repeats, most)) for name in ("s0", "s1", "s2")[: draw(st.integers(1, 3))]
    )
    if all(suite.weight == 0 and len(headline_names(suite)) == 1 for suite in listed):
        listed = (replace(listed[0], weight=1.0), *listed[1:])
    if is_recorded:
        listed = tuple(replace(suite, replies=_given(suite.replies)) for suite in listed)
    if repeats > 1 and all([*suite.metrics] == ["exact_match"] for suite in listed):
        gate_on = {"gate_on": draw(st.sampled_from(("mean", "pass_at_k", "pass_all_k")))}
        listed = tuple(
            replace(suite, replies=_given(suite.replies), options={**suite.options, **gate_on}) for suite in listed
        )
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
