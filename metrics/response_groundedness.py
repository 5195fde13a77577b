"""Response groundedness: support by the retrieved contexts: 0 none, 1 partial, 2 full; the score is half of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from pydantic import Field

from basic_control.data.decorators import metric
from basic_control.data.patterns import pattern
from basic_control.data.records import Found, Measured, Question, Sample, Score, Step
from basic_control.data.sentences import count_words, split_sentences
from basic_control.data.shown import read_shown
from basic_control.data.typed import levels
from basic_control.metrics._contexts import ContextOptions, contexts, score_without_contexts
from basic_control.metrics._replies import row_question
from basic_control.metrics.judging import Judgement, read_whole

RATINGS = {0: "NOT_GROUNDED", 1: "PARTLY_GROUNDED", 2: "FULLY_GROUNDED"}

FEWEST_WORDS = 3
"""Minimum words of a sentence to be matched in a context: shorter ones may not be the same statement."""

_BARE = frozenset(
    """yes no not none never nothing yep nope true false maybe unknown n/a ok да нет не ни никогда ничего верно
    неверно истина ложь 是 不 不是 否 没有 无 对 错 是的 对的 未知""".split()  # noqa: SIM905 - words read as words
)
"""Answers that state nothing by themselves: they always go to the judge, even if equal to a context."""

# A mark of quotation, or a bracket: "«", "("
_QUOTES = pattern(r"[\"«»“”„「」『』()（）\[\]]")
_OPENING, _CLOSING = "«“„「『(（[", "»”」』)）]"
_END = ".。"


def normalise(text: str) -> str:
    """Return the text in lower case, with white space collapsed, stripped."""
    return " ".join(text.split()).casefold()


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of a context's sentences outside quotations and brackets that end in a stop.

    A sentence with doubtful ends is left out: within quotes it is a quotation, after an ellipsis or a line break it
    may be part of a longer one.
    """
    depth, straight, at = 0, 0, 0
    for start, end in split_sentences(text, wrapped=True):
        outside = depth == 0 and straight % 2 == 0
        for sign in _QUOTES.findall(text, at, end):
            straight += sign == '"'
            depth = max(0, depth + (sign in _OPENING) - (sign in _CLOSING))
        at = end
        if outside and depth == 0 and straight % 2 == 0:
            yield start, end


def _runs(context: str, response: str) -> bool:
    """Return whether a normalised response is one or more whole, consecutive sentences of a context."""
    text = " ".join(context.split())
    folded = text.casefold()
    if response not in folded:
        return False
    # Find sentences by their capitals before folding case; folding may change a text's length.
    offsets = [0, *accumulate(len(sign.casefold()) for sign in text)]
    statements = [*_statements(text)]
    ends = set[int]()
    for _, end in statements:
        ends.add(offsets[end])
        # A response may lack the full stop.
        if text[end - 1] in _END:
            ends.add(offsets[end - 1])
    starts = [offsets[start] for start, _ in statements if _begins(text, start)]
    return any(start + len(response) in ends and folded.startswith(response, start) for start in starts)


def _begins(text: str, start: int) -> bool:
    """Return whether a sentence begins at the context's start or after a stop that is no ellipsis."""
    before = text[max(0, start - 8) : start].rstrip(" \"'”’»)")
    return not before or not before.endswith(("..", "…"))


def shortcut(response: str, passages: Sequence[str]) -> str:
    """Return why a response is grounded without a judge: '', 'equals a context' or 'sentences of a context'.

    White space and case are normalised. A bare 'no' is never grounded this way, nor a clause cut out of a sentence,
    nor a sentence within a quotation.

    Source: seed 003 (heuristic shortcuts), narrowed: ours.
    """
    text = normalise(response)
    if not text or text.strip(" .,!?…。！？\"'«»“”*`") in _BARE:
        return ""
    if text in map(normalise, passages):
        return "equals a context"
    if count_words(text) >= FEWEST_WORDS and any(_runs(context, text) for context in passages):
        return "sentences of a context"
    return ""


def _score_without_judge(sample: Sample, options: Mapping[str, Any]) -> Score | None:
    """Return the score that needs no judge; None if it needs one."""
    texts = contexts(sample)
    if not texts:
        return score_without_contexts(options)
    response = str(sample.get("response") or "")
    if not response.strip():
        return Score(0.0, "scored", "empty response", {"shortcut": ""})
    reason = shortcut(response, texts) if options["heuristic_shortcuts"] else ""
    if reason:
        return Score(1.0, "scored", reason, {"shortcut": reason})
    return None


def rows(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Iterable[Question]:
    """Ask one question about the whole response, unless the score is settled without a judge."""
    if _score_without_judge(sample, options) is None:
        yield Question(
            "rating",
            {
                "question": row_question(sample),
                "response": str(sample["response"]).strip(),
                "contexts": contexts(sample),
            },
        )


def read_rating(question: Question, text: str) -> Judgement:
    """Read `{"reason": …, "rating": 0, 1 or 2}`.

    Raises:
        Unparsable: the rating is missing or another.
    """
    rating, reason = read_whole(text, "rating", RATINGS.keys(), "exactly one of the integers 0, 1, 2")
    return Judgement(RATINGS[rating], float(rating), reason)


class Options(ContextOptions):
    """What is settled without a judge."""

    heuristic_shortcuts: bool = Field(default=True, description="a response that occurs in a context is grounded")


@metric(
    steps=(
        Step("rate", rows, "groundedness/rate", read_rating, asks=levels("rating", min(RATINGS), max(RATINGS))),
    ),
    options=Options,
    needs=("retrieved_contexts",),
    temperature=0.1,
    measured=(
        Measured(
            "",
            "groundedness",
            {"2": 1.0, "1": 0.5, "0": 0.0},
            lambda details: [str(details["raw"])] if "raw" in details else [],
        ),
    ),
    title={"en": "Groundedness", "ru": "Обоснованность"},
    shown=read_shown(
        Path(__file__).with_name("response_groundedness.yaml"),
        shortcut=lambda details: [details["shortcut"]] if details.get("shortcut") else (),
    ),
)
def response_groundedness(sample: Sample, replies: Found, options: Mapping[str, Any]) -> Score:
    """Score one response: the rating halved, 0, 0.5 or 1.

    Source: seed 003.
    """
    score = _score_without_judge(sample, options)
    if score:
        return score
    judged: Judgement = replies["rate"]["rating"]
    details = {"shortcut": "", "raw": int(judged.value), "label": judged.label, "judge_reason": judged.reason}
    return Score(judged.value / 2, details=details)
