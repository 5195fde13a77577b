"""Draw small runs: suites of one to three metrics, their replies, scores, thresholds, weights and gates."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from hypothesis import strategies as st

from tests.oracle.cases import LETTERS, Place, Question, Reply, Run, Suite
from tests.oracle.rules import is_single

STATES = ("judge_failed", "not_applicable")
METRICS = (
    ("exact_match",), ("exact_match",), ("similarity",), ("exact_match", "contains"), ("exact_match", "similarity"),
    ("exact_match", "similarity", "contains"),
)  # fmt: skip
PLAIN = ("wrong", "wrong", "wrong", "empty", "cut", "failed", "lacking")
TROUBLED = ("wrong", "cut", "failed", "lacking", "lacking")
"""How replies that are not right end in a suite: in one of the latter, about as many are missing as may be."""
OWN = ({}, {}, {"threshold": None}, {"threshold": 0.5}, {"threshold": 0.75}, {"threshold": 1.0})
"""What a metric says of its own threshold."""
OPTIONS = {
    "exact_match": ({}, {}, {"case_sensitive": True}),
    "contains": ({"words": False}, {"words": False}, {}, {"words": False, "case_sensitive": True}),
    "similarity": ({},),
}
TURNED: Mapping[str, Mapping[str, bool]] = {
    "exact_match": {"case_sensitive": False}, "contains": {"words": True}, "similarity": {}
}  # fmt: skip
"""The option that a later run may have the other way round, and its default."""
NUDGES = (1e-6, -1e-6, 0.0004, -0.0004)
"""By how much a threshold may miss a score that is the same once it is rounded."""


def pick(draw: st.DrawFn, *values: Any) -> Any:
    """Draw one of these values: listed twice, it is as likely again."""
    return draw(st.sampled_from(values))


def _reply(draw: st.DrawFn, answer: str, metrics: Collection[str], kinds: Sequence[str], *, odds: int) -> Reply:
    """Draw a reply; `odds` of 20 are right, the others are of these kinds."""
    if draw(st.integers(0, 19)) < odds:
        is_shouted = "similarity" not in metrics and draw(st.integers(0, 7)) == 0
        return Reply(answer.upper() if is_shouted else answer, cut=draw(st.integers(0, 9)) == 0)
    kind = pick(draw, *kinds)
    if kind == "failed":
        return Reply(failed=True)
    if kind == "lacking":
        return Reply(answer, state=pick(draw, *STATES), of=pick(draw, "", *metrics))
    # A longer text holds the answer, a shorter one is like it.
    lengths = st.integers(1, len(LETTERS)).filter(lambda length: length != len(answer))
    wrong = LETTERS[: draw(lengths)] if {*metrics} - {"exact_match"} else "zz"
    return Reply("" if kind == "empty" else wrong, cut=kind == "cut")


def _given(suite: Suite) -> Suite:
    """Return a suite in which every call was answered, and every reply read."""
    replies = {
        place: Reply("zz") if reply.failed or reply.state else reply for place, reply in suite.replies.items()
    }
    return replace(suite, replies=replies)


def _threshold(draw: st.DrawFn, n: int, right: int) -> float | None:
    """Draw a threshold, many of them at the share that is right, exactly or rounded, or just beside it."""
    share = round(pick(draw, right, right, n - right) / n, pick(draw, 2, 3, 17)) + pick(draw, 0.0, 0.0, *NUDGES)
    share = min(max(share, 0.0), 1.0)
    threshold: float | None = pick(draw, None, share, share, share, 0.5, 0.6, 0.8)
    return threshold


def _score(draw: st.DrawFn, metrics: Mapping[str, Mapping[str, Any]]) -> Any:
    """Draw what joins the metrics: nothing, weights, a list, or all, where each says when it holds."""
    names = [*metrics][: draw(st.integers(1, len(metrics)))]
    weights = {name: pick(draw, 1.0, 0.3, 2.0) for name in names}
    is_all = metrics.get("similarity", {"threshold": 1}).get("threshold") is not None
    return pick(draw, None, None, weights, names, *["all"] * is_all)


def _questions(draw: st.DrawFn, name: str, most: int) -> list[Question]:
    """Draw 3 rows to `most`, some of them twice, one perhaps with another label; some share templates."""
    n, n_twice, n_relabelled = draw(st.integers(3, most)), pick(draw, 0, 0, 0, 1, 3), pick(draw, 0, 0, 0, 1)
    n_templates, n_topics = pick(draw, 0, 0, 0, 3, 6, 11), pick(draw, 0, 0, 0, 2, 3)
    rows = []
    for row in range(n):
        columns = {"template": f"t{row % n_templates}"} if n_templates else {}
        columns |= {"topic": f"t{row // 2 % n_topics}"} if n_topics else {}
        rows.append(Question(f"{name} {row}", LETTERS[: 4 + row % 5], columns))
    return [*rows, *rows[:n_twice], *(replace(question, answer=LETTERS[:3]) for question in rows[:n_relabelled])]


@st.composite
def drawn_suites(draw: st.DrawFn, name: str, models: tuple[str, ...], repeats: int, most: int) -> Suite:
    metrics = {name: {**pick(draw, *OPTIONS[name]), **pick(draw, *OWN)} for name in pick(draw, *METRICS)}
    rows, odds, kinds = (
        _questions(draw, name, most),
        pick(draw, 0, 10, 15, 19, 20),
        pick(draw, PLAIN, PLAIN, TROUBLED),
    )
    answers = {question.text: question.answer for question in reversed(rows)}
    replies: dict[Place, Reply] = {}
    for model, repeat in product(models, range(repeats)):  # an equal request has the same reply
        by_text = {text: _reply(draw, answer, metrics, kinds, odds=odds) for text, answer in answers.items()}
        replies |= {(model, row, repeat): by_text[question.text] for row, question in enumerate(rows)}
    if len(metrics) > 1 and draw(st.integers(0, 9)) == 0:  # to which a metric does not apply at all
        idle = Reply(LETTERS[:3], state="not_applicable", of=pick(draw, *metrics))
        replies = {
            place: reply if reply.failed else replace(idle, text=reply.text) for place, reply in replies.items()
        }
    right = sum(replies[models[0], row, 0].text == question.answer for row, question in enumerate(rows))
    threshold, score = _threshold(draw, len(rows), right), _score(draw, metrics)
    options = {"slices": ["topic"]} if "topic" in rows[0].columns else {}
    suite = Suite(name, metrics, tuple(rows), replies, threshold, None, options, score)
    weights = (1.0, 1.0, 0.2, 0.3, 2.0, 0.0, None) if is_single(suite) else (None, 0.0)
    return replace(suite, weight=pick(draw, *weights))


@st.composite
def runs(draw: st.DrawFn, *, is_recorded: bool = False, most: int = 24) -> Run:
    """Draw a run of one to three suites by one or two models; recorded replies are one model's, and none failed."""
    models = ("m0", "m1")[: 1 if is_recorded else pick(draw, 1, 1, 2)]
    repeats = 1 if is_recorded else pick(draw, 1, 1, 1, 2, 3)
    names = ("s0", "s1", "s2")[: draw(st.integers(1, 3))]
    suites = [draw(drawn_suites(name, models, repeats, most)) for name in names]
    if all(suite.weight == 0 and is_single(suite) for suite in suites):
        suites[0] = replace(suites[0], weight=1.0)
    if is_recorded:
        suites = [_given(suite) for suite in suites]
    if repeats > 1 and all([*suite.metrics] == ["exact_match"] for suite in suites):
        of_k: dict[str, Any] = {"gate_on": pick(draw, "mean", "pass_at_k", "pass_all_k")}
        if of_k["gate_on"] != "mean":
            of_k["k"] = pick(draw, None, *range(1, repeats + 1))
        suites = [replace(suite, options={**suite.options, **of_k}) for suite in suites]
    gate, undecided = (
        pick(draw, "point", "point", "interval", "interval", "off"),
        pick(draw, "undecided", "undecided", "pass"),
    )
    return Run(models, tuple(suites), _threshold(draw, 20, 15), gate, undecided, repeats)


def edited(run: Run) -> Run:
    """Return the run with a wrong reply to the first question of each suite."""
    suites = []
    for suite in run.suites:
        first = {row for row, question in enumerate(suite.questions) if question.text == suite.questions[0].text}
        replies = {place: Reply(LETTERS) if place[1] in first else reply for place, reply in suite.replies.items()}
        suites.append(replace(suite, replies=replies))
    return replace(run, suites=tuple(suites))


def reread(run: Run) -> Run:
    """Return the run with each metric's options the other way round."""
    suites = []
    for suite in run.suites:
        metrics = {
            name: {**options, name_of: not options.get(name_of, default)}
            for name, options in suite.metrics.items()
            for name_of, default in TURNED[name].items()
        }
        suites.append(replace(suite, metrics={**suite.metrics, **metrics}))
    return replace(run, suites=tuple(suites))
