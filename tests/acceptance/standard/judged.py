"""What judges say of a response, wrapped as models wrap it; None where it cannot be read."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from data.options import options_of
from data.plugins import metric
from data.records import Score
from metrics.judging import advance, begin, outcome
from tests.acceptance.standard.cases import fill

ROW = {"question": "Say hello.", "response": "Hello there.", "baseline": "Hi.", "answer": "Hello."}
WRAPPED = (
    "{j}",
    "```json\n{j}\n```",
    "```\n{j}\n```",
    "Here is my rating:\n\n{j}",
    "<think>It could be lower.</think>\n{j}",
    "<think>\n{o}\n</think>\n```json\n{j}\n```",
    "Вот моя оценка:\n```json\n{j}\n```\nНадеюсь, это поможет.",
    "评分如下：{j}",
    "I would have said {o} at first, but: {j}",
)
REASONS = ("It is friendly.", 'It says "hello" {twice}.', "Всё верно.", "回答正确。", "")
Ratings = tuple[tuple[tuple[int, int], Any, float | None], ...]
RATED: Ratings = (  # scale, rating as written, value
    ((1, 5), 1, 0.0),
    ((1, 5), 2, 0.25),
    ((1, 5), 3, 0.5),
    ((1, 5), 4, 0.75),
    ((1, 5), 5, 1.0),
    ((1, 5), 4.0, 0.75),
    ((1, 5), "4", 0.75),
    ((0, 2), 0, 0.0),
    ((0, 2), 1, 0.5),
    ((0, 2), 2, 1.0),
    ((1, 10), 7, 6 / 9),
    ((-1, 1), -1, 0.0),
    ((-1, 1), 0, 0.5),
    ((1, 5), 0, None),
    ((1, 5), 6, None),
    ((1, 5), 3.5, None),
    ((1, 5), -3, None),
    ((1, 5), "good", None),
    ((1, 5), None, None),
    ((1, 5), [4], None),
    ((1, 5), True, None),
    ((0, 2), 5, None),
)
SAID = {  # by the order asked in: response first, baseline first
    ("first", "second"): (1.0, 0.0),
    ("second", "first"): (0.0, 0.0),
    ("tie", "tie"): (0.5, 0.0),
    ("first", "first"): (0.5, 1.0),
    ("second", "second"): (0.5, 1.0),
    ("first", "tie"): (0.5, 1.0),
    ("tie", "second"): (0.5, 1.0),
    ("second", "tie"): (0.5, 1.0),
    ("tie", "first"): (0.5, 1.0),
}
UNREADABLE = (
    "",
    "4",
    "I rate it 4 of 5.",
    '{"reason": "fine"}',
    '{"rating": ',
    '{"rating": 4',
    "[4]",
    '{"score": 4}',
)


class Judged(NamedTuple):
    """Replies to the questions in order, then to their repair; the value and the parts they come to."""

    name: str
    options: Mapping[str, Any]
    replies: tuple[tuple[str, ...], ...]
    value: float | None
    parts: Mapping[str, float]


def judge(case: Judged) -> Score:
    """Put a metric's questions, and answer them by the script."""
    unit = metric(case.name)
    session = begin(unit, ROW, language="en", options=options_of(unit, case.options))
    for replies in case.replies:
        assert len(session.asks) == len(replies), (case, session.asks)
        session = advance(session, replies)
    assert not session.asks, case
    return outcome(session)


def rated() -> Iterator[Judged]:
    """Compose ratings by one criterion: as written, in every wrapping; then of several criteria."""
    for place, (scale, rating, value) in enumerate(RATED):
        lo, hi = scale
        said = json.dumps({"reason": REASONS[place % len(REASONS)], "rating": rating}, ensure_ascii=False)
        other = json.dumps({"reason": "…", "rating": lo if rating == hi else hi})
        for form in WRAPPED:
            reply = (fill(form, j=said, o=other),)
            asked = (reply,) if value is not None else (reply, reply)
            yield Judged("rubric", {"criteria": "Friendly.", "scale": scale}, asked, value, {})
    fine = '{"reason": "fine", "rating": 4}'
    for text in UNREADABLE:
        yield Judged("rubric", {"criteria": "Friendly."}, ((text,), (fine,)), 0.75, {})
        yield Judged("rubric", {"criteria": "Friendly."}, ((text,), (text,)), None, {})
    both = {"criteria": {"tone": "Friendly.", "length": "Short."}, "scale": (0, 4)}
    for tone in range(5):
        for length in range(5):
            replies = tuple(json.dumps({"reason": "…", "rating": one}) for one in (tone, length))
            parts = {"tone": tone / 4, "length": length / 4}
            yield Judged("rubric", both, (replies,), (tone + length) / 8, parts)


def preferred() -> Iterator[Judged]:
    """Compose winners in both orders, in every wrapping; then what cannot be read."""
    for (one, two), (value, flipped) in SAID.items():
        for place, form in enumerate(WRAPPED):
            for write in (str.lower, str.upper, str.title):
                winners = [json.dumps({"reason": REASONS[place % 5], "winner": write(said)}) for said in (one, two)]
                replies = tuple(fill(form, j=said, o='{"reason": "…", "winner": "tie"}') for said in winners)
                yield Judged("preference", {}, (replies,), value, {"flipped": flipped})
    first, second = '{"reason": "…", "winner": "first"}', '{"reason": "…", "winner": "second"}'
    for text in (*UNREADABLE, '{"reason": "…", "winner": "both"}', '{"reason": "…", "winner": null}'):
        yield Judged("preference", {}, ((first, text), (second,)), 1.0, {"flipped": 0.0})
        yield Judged("preference", {}, ((first, text), (text,)), None, {})
