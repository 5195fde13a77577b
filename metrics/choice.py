"""Choice metric: which of several options the reply chooses, by letter or by text."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator

from basic_control.data.decorators import metric
from basic_control.data.options import Frozen
from basic_control.data.reading.answer import Reading, read
from basic_control.data.reading.choices import build_options
from basic_control.data.reading.latex import write_plainly
from basic_control.data.reading.texts import unify
from basic_control.data.records import Found, Sample, Score
from basic_control.metrics._choices import completes, expects, find_right_options, offer_of
from basic_control.metrics._replies import NO_EXPECTED, NO_REPLY, is_cut, prompt, reply

TEXTS = "options"
"""The default column of the options' texts."""


class Options(Frozen):
    """The letters, the column of the options' texts, and how indices count."""

    letters: str = Field("", description="the options' letters, in order; default: A to Z, or A to J without texts")
    texts: str | tuple[str, ...] = Field(
        TEXTS,
        description="the column with the options' texts: a list (also as JSON), or labels with texts; or a column "
        "for each option",
    )
    index: Literal[0, 1] | None = Field(
        None,
        description="the first option's index, where answers are indices; default: as the column's values show",
    )

    @field_validator("letters")
    @classmethod
    def _distinct(cls, value: str) -> str:
        if len(value) == 1:
            raise ValueError("expected at least two letters")
        if len(set(value.upper())) < len(value):
            raise ValueError("expected each letter once")
        return value.upper()


def needs(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that a row must have: that of the texts, unless letters alone may do."""
    columns = options["texts"]
    if columns == TEXTS:
        return ("answer",)
    if isinstance(columns, str):
        return ("answer", columns)
    return ("answer", *columns)


def read_choice(sample: Sample, text: str, texts_by_label: Mapping[str, str]) -> Reading:
    """Read which of the options a reply's text chooses."""
    slot = build_options(tuple(texts_by_label.items()))
    text, words = unify(text), prompt(sample)
    if slot.has_formulas or "\\" in text or "$" in text:
        text = write_plainly(text)
    if "boxed" in words:  # only the wording around an empty box is looked for in it
        words = write_plainly(words)
    return read(text, slot, cut=is_cut(sample), prompt=words)


@metric(
    version=14,
    options=Options,
    needs=needs,
    expects=expects,
    completes=completes,
    yes_no=True,
    title={"en": "Multiple choice", "ru": "Выбор ответа"},
)
def choice(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if exactly the right option is chosen, by label or text, else 0; two options do not count.

    Source: SPEC 14, 19.
    """
    offer = offer_of(sample, options)
    right_labels = find_right_options(sample, offer, options).labels
    if not right_labels:
        return NO_EXPECTED
    text = reply(sample)
    if not text:
        return NO_REPLY
    reading = read_choice(sample, text, offer.texts)
    if reading.values is None:
        return Score(0.0, "no_answer", "no option is named")
    chosen = sorted(map(str, reading.values))
    details = {"chosen": chosen, "rule": reading.rule, "how": "said" if reading.is_said else "inferred"}
    # Also where one of them is right: a reply that names all would be.
    if len(chosen) > 1:
        return Score(0.0, reason="more than one option is named", details=details)
    if chosen and right_labels.issuperset(chosen):
        return Score(1.0, reason="right option", details=details)
    return Score(0.0, reason="another option", details=details)
