"""Draw small worlds: runs of suites, a later run of them, suites that stop early, and judged replies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

from tests.oracle.rules import is_single
from tests.oracle.world import CONTEXT, JUDGED, LEFT_OUT, LETTERS, Place, Question, Reply, Run, Sequel, Suite

METRICS = (
    ("exact_match",), ("exact_match",), ("similarity",), ("exact_match", "contains"), ("exact_match", "similarity"),
    ("exact_match", "similarity", "contains"),
)  # fmt: skip
OWN = ({}, {}, {"threshold": None}, {"threshold": 0.5}, {"threshold": 0.75}, {"threshold": 1.0})
"""What a metric says of its own threshold."""
OPTIONS = {
    "exact_match": ({}, {}, {"case_sensitive": True}),
    "contains": ({"words": False}, {"words": False}, {}, {"words": False, "case_sensitive": True}),
    "similarity": ({},),
}
TURNED = {"exact_match": ("case_sensitive", False), "contains": ("words", True)}
"""The option that a later run may have the other way round, and its default."""
NUDGES = (0.0, 0.0, 1e-6, -1e-6, 0.0004, -0.0004)
"""By how much a threshold may miss a score that is the same once it is rounded."""
PLAIN = ("wrong", "wrong", "wrong", "empty", "cut", "failed", "lacking")
LOSSES = (PLAIN, PLAIN, ("wrong", "cut", "failed", "lacking", "lacking"))
"""How replies that are not right end in a suite: in the last, about as many are missing as may be."""
LATER = (("wrong",), ("wrong",), ("wrong", "wrong", "wrong", "failed", "cut"))
CUT, FAILED = ("cut", "wrong", "wrong"), ("failed", "wrong", "wrong", "wrong")
FOLLOWED = (("wrong",), ("wrong",), CUT, FAILED, (*CUT, *FAILED, "wrong"))


def _draw_reply(rng: Random, answer: str, *, metrics: Sequence[str], kinds: Sequence[str], odds: int) -> Reply:
    """Draw a reply; `odds` of 20 are right, the others are of these kinds."""
    if rng.randrange(20) < odds:
        is_shouted = "similarity" not in metrics and rng.randrange(8) == 0
        return Reply(answer.upper() if is_shouted else answer, cut=rng.randrange(10) == 0)
    kind = rng.choice(kinds)
    if kind == "lacking":
        return Reply(answer, state=rng.choice(("judge_failed", "not_applicable")), of=rng.choice(("", *metrics)))
    # A longer text holds the answer, a shorter one is like it.
    lengths = [length for length in range(1, len(LETTERS) + 1) if length != len(answer)]
    wrong = LETTERS[: rng.choice(lengths)] if {*metrics} - {"exact_match"} else "zz"
    return Reply("" if kind in {"empty", "failed"} else wrong, cut=kind == "cut", failed=kind == "failed")


def _draw_threshold(rng: Random, n: int, right: int) -> float | None:
    """Draw a threshold, many of them at the share that is right, exactly or rounded, or just beside it."""
    share = round(rng.choice((right, right, n - right)) / n, rng.choice((2, 3, 5, 17))) + rng.choice(NUDGES)
    share = min(max(share, 0.0), 1.0)
    return rng.choice((None, share, share, share, 0.5, 0.6, 0.8))


def _draw_score(rng: Random, metrics: Mapping[str, Mapping[str, Any]]) -> Any:
    """Draw what joins the metrics: nothing, weights, a list, or all, where each says when it holds."""
    names = [*metrics][: rng.randint(1, len(metrics))]
    weights = {name: rng.choice((1.0, 0.3, 2.0)) for name in names}
    is_all = metrics.get("similarity", {"threshold": 1}).get("threshold") is not None
    return rng.choice((None, None, weights, names, *["all"] * is_all))


def _draw_questions(
    rng: Random, name: str, n: int, templates: Sequence[int], topics: Sequence[int]
) -> list[Question]:
    n_templates, n_topics, rows = rng.choice(templates), rng.choice(topics), []
    for row in range(n):
        columns = {"template": f"t{row % n_templates}"} if n_templates else {}
        columns |= {"topic": f"t{row // 2 % n_topics}"} if n_topics else {}
        rows.append(Question(f"{name} {row}", LETTERS[: 4 + row % 5], columns))
    return rows


def _reply_to(
    rng: Random, rows: Sequence[Question], times: Iterable[tuple[str, int]], odds: Sequence[int], **keys: Any
) -> dict[Place, Reply]:
    """Draw what models reply each time: the same to equal questions."""
    answers, replies = {question.text: question.answer for question in reversed(rows)}, {}
    for model, repeat in times:
        right = rng.choice(odds)
        by_text = {text: _draw_reply(rng, answer, odds=right, **keys) for text, answer in answers.items()}
        replies |= {(model, row, repeat): by_text[question.text] for row, question in enumerate(rows)}
    return replies


def _draw_suite(rng: Random, name: str, models: Sequence[str], repeats: int, most: int) -> Suite:
    """Draw 3 rows to `most`, some of them twice, one perhaps with another label; some share templates."""
    metrics = {name: {**rng.choice(OPTIONS[name]), **rng.choice(OWN)} for name in rng.choice(METRICS)}
    rows = _draw_questions(rng, name, rng.randint(3, most), (0, 0, 0, 3, 6, 11), (0, 0, 0, 2, 3))
    twice = [*rows[: rng.choice((0, 0, 0, 1, 3))]]
    rows += twice + [replace(question, answer=LETTERS[:3]) for question in rows[: rng.choice((0, 0, 0, 1))]]
    odds = rng.choice((0, 10, 15, 19, 20))
    times = product(models, range(repeats))
    replies = _reply_to(rng, rows, times, (odds, odds, 15), metrics=[*metrics], kinds=rng.choice(LOSSES))
    if len(metrics) > 1 and rng.randrange(10) == 0:  # to which a metric does not apply at all
        idle = Reply(LETTERS[:3], state="not_applicable", of=rng.choice([*metrics]))
        for place, reply in replies.items():
            replies[place] = reply if reply.failed else replace(idle, text=reply.text)
    right = sum(replies[models[0], row, 0].text == question.answer for row, question in enumerate(rows))
    options = {"slices": ["topic"]} if "topic" in rows[0].columns else {}
    threshold, score = _draw_threshold(rng, len(rows), right), _draw_score(rng, metrics)
    suite = Suite(name, metrics, tuple(rows), replies, threshold, None, options, score)
    return replace(
        suite, weight=rng.choice((1.0, 1.0, 0.2, 0.3, 2.0, 0.0, None) if is_single(suite) else (None, 0.0))
    )


def draw_run(rng: Random, *, is_recorded: bool = False, most: int = 24) -> Run:
    """Draw a run of one to three suites by one or two models; recorded replies are one model's, and none failed."""
    models = ("m0", "m1")[: 1 if is_recorded else rng.choice((1, 1, 2))]
    repeats = 1 if is_recorded else rng.choice((1, 1, 1, 2, 3))
    suites = [_draw_suite(rng, name, models, repeats, most) for name in ("s0", "s1", "s2")[: rng.randint(1, 3)]]
    if all(suite.weight == 0 and is_single(suite) for suite in suites):
        suites[0] = replace(suites[0], weight=1.0)
    of_k = {"gate_on": rng.choice(("pass_at_k", "pass_all_k")), "k": rng.choice((None, *range(1, repeats + 1)))}
    is_of_k = repeats > 1 and all([*suite.metrics] == ["exact_match"] for suite in suites) and rng.randrange(3) > 0
    for at, suite in enumerate(suites):
        lost = [place for place, reply in suite.replies.items() if is_recorded and (reply.failed or reply.state)]
        replies, options = dict.fromkeys(lost, Reply("zz")), of_k if is_of_k else {}
        suites[at] = replace(suite, replies={**suite.replies, **replies}, options={**suite.options, **options})
    gate = rng.choice(("point", "point", "interval", "interval", "off"))
    undecided = rng.choice(("undecided", "undecided", "pass"))
    return Run(models, tuple(suites), _draw_threshold(rng, 20, 15), gate, undecided, repeats)


def edit_first(run: Run) -> Run:
    """Return the run with a wrong reply to the first question of each suite."""
    suites = []
    for suite in run.suites:
        texts = [question.text for question in suite.questions]
        first = {place: Reply(LETTERS) for place in suite.replies if texts[place[1]] == texts[0]}
        suites.append(replace(suite, replies={**suite.replies, **first}))
    return replace(run, suites=tuple(suites))


def turn_options(run: Run) -> Run:
    """Return the run with an option of each metric the other way round."""
    suites = []
    for suite in run.suites:
        metrics = {**suite.metrics}
        for name in TURNED.keys() & metrics:
            option, default = TURNED[name]
            metrics[name] = {**metrics[name], option: not metrics[name].get(option, default)}
        suites.append(replace(suite, metrics=metrics))
    return replace(run, suites=tuple(suites))


def _ask_later(rng: Random, suite: Suite, models: Mapping[str, str], repeats: int) -> Suite:
    """Draw a suite as it is asked later: some questions are gone or new, some replies differ."""
    texts = [*dict.fromkeys(question.text for question in suite.questions)]
    gone = texts[len(texts) - min(rng.choice((0, 0, 0, 0, 1, 2)), len(texts) - 1) :]
    questions = [question for question in suite.questions if question.text not in gone][:: rng.choice((1, -1))]
    if rng.randrange(6) == 0:
        questions.append(
            Question(f"{suite.name} new", LETTERS[:4], dict.fromkeys(suite.questions[0].columns, "new"))
        )
    kinds, right, odds = rng.choice(LATER), rng.choice((0, 0, 0, 10, 13, 20)), rng.choice((0, 1, 4, 10, 20))
    times = product(models.values(), range(repeats))
    replies = _reply_to(rng, questions, times, (right,), metrics=[*suite.metrics], kinds=kinds)
    row_of = {question.text: row for row, question in reversed([*enumerate(suite.questions)])}
    is_changed = {text: rng.randrange(20) < odds for text in (*texts, f"{suite.name} new")}
    for (earlier, later), (row, question), repeat in product(models.items(), enumerate(questions), range(repeats)):
        if question.text in row_of and not is_changed[question.text]:
            replies[later, row, repeat] = suite.replies[earlier, row_of[question.text], repeat]
    # The rules do not say which causes that a call may fail of in both runs are one.
    replies = {place: replace(reply, cause="connection") for place, reply in replies.items()}
    return replace(suite, questions=tuple(questions), replies=replies)


def draw_sequel(rng: Random) -> Sequel:
    """Draw a run and a later one, in which a model, a suite or a threshold may be another, or be gone."""
    before = draw_run(rng, most=rng.choice((10, 24, 36)))
    models = {name: name for name in before.models}
    if rng.randrange(6) == 0:
        models = {"m0": "m0"} if len(models) > 1 else {"m0": "later"}
    suites = [_ask_later(rng, suite, models, before.repeats) for suite in before.suites]
    if rng.randrange(8) == 0 and any(suite.weight != 0 for suite in suites[1:]):
        suites = suites[1:]
    if is_changed := rng.randrange(10) == 0:
        suite = replace(suites[0], threshold=0.7 if suites[0].threshold != 0.7 else 0.6)
        suites[0] = replace(suite, weight=suite.weight if is_single(suite) else 0.0)
    after = replace(before, models=tuple(models.values()), suites=tuple(suites))
    max_drop, fails_on = (
        rng.choice((0.0, 0.0, 0.02, 0.02, 0.1, 0.3)),
        rng.choice(("regression", "regression", "threshold")),
    )
    return Sequel(before, after, max_drop, fails_on, is_changed, rng.random() < (0.5 if is_changed else 0.2))


def draw_stopping(rng: Random) -> Run:
    """Draw a run of one or two suites of yes/no metrics that stop early; some share templates."""
    models, suites = ("m0", "m1")[: rng.choice((1, 2))], []
    for name in ("s0", "s1")[: rng.choice((1, 1, 2))]:
        rows = _draw_questions(rng, name, rng.randint(20, 90), (0, 0, 4, 9, 10, 16), (0,))
        metrics: dict[str, dict[str, Any]] = {"exact_match": {}}
        if rng.random() < 0.5:
            metrics["contains"] = {"words": False, "threshold": rng.choice((None, 0.4))}
        kinds, odds = rng.choice(FOLLOWED), (0, 4, 10, 16, 20)
        replies = _reply_to(rng, rows, product(models, [0]), odds, metrics=[*metrics], kinds=kinds)
        stop = {"first": rng.choice((5, 10, 30)), "most": rng.choice((30, 60, 200)), "alpha": 0.05}
        suites.append(Suite(name, metrics, tuple(rows), replies, rng.choice((0.3, 0.5, 0.8)), None, {"stop": stop}))
    return Run(models, tuple(suites), None, rng.choice(("point", "interval")))


def draw_panel(rng: Random, *, is_labelled: bool = False) -> Run:
    """Draw judged replies, their judges, and how many of them people label; perhaps a second suite."""
    names = ("perfect", "fair", "lenient", "new")
    judges = tuple(dict.fromkeys(rng.choice((*names, *names, *LEFT_OUT)) for _ in range(rng.choice((1, 2, 3)))))
    limits = [rng.choice((None, 0.5, 0.6, 0.7, 0.8)) for _ in range(2)]
    by_metric = {"exact_match": limits[0], JUDGED: limits[1]}
    is_alone = rng.randrange(3) == 0
    suites = [_judge(rng, "s0", judges, {JUDGED: limits[1]} if is_alone else by_metric, is_labelled=is_labelled)]
    if is_alone:
        suites.append(_judge(rng, "s1", judges, {"exact_match": limits[0]}, is_labelled=False))
    n_labels = rng.choice((12, 29, 30, 33, 45, 60)) if is_labelled else 0
    is_complete, is_elsewhere = rng.randrange(3) > 0, rng.randrange(8) == 0
    threshold, gate = rng.choice((None, 0.5, 0.6, 0.7)), rng.choice(("point", "interval"))
    return Run(("m0",), tuple(suites), threshold, gate, "undecided", 1, n_labels, is_complete, is_elsewhere)


def _judge(
    rng: Random, name: str, judges: tuple[str, ...], limits: Mapping[str, float | None], *, is_labelled: bool
) -> Suite:
    """Draw replies "a", right, and "b", which judges rate and people label by what they share."""
    n, odds = rng.randint(*(60, 90) if is_labelled else (10, 40)), rng.choice((5, 7, 9))
    errors, odds_settled, odds_twice = rng.choice((0, 0, 1)), rng.choice((0, 0, 3)), rng.choice((0, 2))
    questions, replies = [], {}
    for number in range(n):
        is_good = rng.randrange(10) < odds
        noise = [rng.randrange(20) for _ in judges]
        ratings = tuple(None if errors and at == 19 else 2 * (is_good if at < 16 else not is_good) for at in noise)
        text = rng.choice(("", CONTEXT)) if rng.randrange(20) < odds_settled else rng.choice(("a", "a", "b"))
        reply = Reply(text, ratings=ratings, label=int(is_good if rng.randrange(20) < 17 else not is_good))
        for _ in range(1 + (rng.randrange(20) < odds_twice)):
            replies["m0", len(questions), 0] = reply
            questions.append(Question(f"{name} {number}", "a", {"retrieved_contexts": [CONTEXT]}))
    metrics = {metric: {} if limit is None else {"threshold": limit} for metric, limit in limits.items()}
    return Suite(name, metrics, tuple(questions), replies, None, None, judges=judges)
