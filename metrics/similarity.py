"""Similarity metric: how similar the reply and the expected answer are, by character or by word."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field
from rapidfuzz import fuzz, utils

from basic_control.data.decorators import metric
from basic_control.data.options import Frozen
from basic_control.data.records import Found, Sample, Score
from basic_control.metrics._expected import expect_texts
from basic_control.metrics._replies import NO_EXPECTED, NO_REPLY, reply, texts

LONGEST = 100_000
"""Characters of a reply that are compared: the time grows with the product of both lengths."""


class Options(Frozen):
    """How similarity is measured."""

    scorer: Literal["ratio", "partial_ratio", "token_sort_ratio", "token_set_ratio", "WRatio"] = Field(
        "ratio", description="rapidfuzz's: ratio compares the whole texts, the token ones their words"
    )
    case: bool = Field(default=False, description="true: ignore case and punctuation")


def _process(text: str) -> str:
    return utils.default_process(text) or text  # `+` is not `-`


@metric(
    version=3,
    options=Options,
    needs=("answer",),
    expects=expect_texts,
    title={"en": "Similarity", "ru": "Сходство"},
)
def similarity(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Score:
    """Return the highest similarity to one of the expected answers, 0 to 1.

    Source: SPEC 14; rapidfuzz.
    """
    expected_texts = list(texts(sample))
    if not expected_texts:
        return NO_EXPECTED
    reply_text = reply(sample)
    if not reply_text:
        return NO_REPLY
    measure = getattr(fuzz, options["scorer"])
    processor = _process if options["case"] else None
    best = max(measure(reply_text[:LONGEST], text[:LONGEST], processor=processor) for text in expected_texts)
    return Score(best / 100)
