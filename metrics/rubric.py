"""Rubric metric: a judge rates the response by one or more criteria, each on a scale of whole numbers."""

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Annotated, Any, Self

from pydantic import Field, StrictInt, StringConstraints, field_validator, model_validator

from basic_control.data.decorators import metric
from basic_control.data.errors import InputError
from basic_control.data.options import Frozen
from basic_control.data.questions import WHOLE
from basic_control.data.records import Expectation, Found, Measured, Question, Sample, Score, Step
from basic_control.data.tools import parse_json
from basic_control.data.typed import Typed, levels
from basic_control.metrics._expected import is_absent
from basic_control.metrics._replies import NO_REPLY, conversation, question, reference, reply, require_column
from basic_control.metrics.judging import Judgement, read_whole
from basic_control.prompts import find_columns, is_template_name

WIDEST = 100
"""Maximum number of steps of a scale: a finer scale gives no more information."""

CONVERSATION = "conversation"
NAMES = frozenset({"criterion", "lo", "hi", "question", "response", "reference", "mark", CONVERSATION})
"""Names available in a user's own judge prompt."""

_FORM = '\n\nJSON: {"reason": "…", "rating": {{ lo }} … {{ hi }}}'
NO_CRITERIA = Score(None, "not_applicable", "the row has no criteria")
_WHOLE = "rating"
"""The key of the single rating if the criteria have no names."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Name = Annotated[str, StringConstraints(pattern=r"^\w[\w -]{0,59}$")]


class Options(Frozen):
    """The criteria and the scale."""

    criteria: Text | dict[Name, Text] = Field(
        default_factory=dict, description="what a good response is; or several by names, each rated"
    )
    criteria_column: str = Field(
        "",
        description="in place of `criteria`, the column with each row's own: a text, or a list of them; a row "
        "without is not applicable",
    )
    scale: tuple[StrictInt, StrictInt] = Field(
        (1, 5), description="the lowest and the highest rating, whole numbers"
    )
    prompt: str = Field(
        "",
        description="the judge's prompt, Jinja2, in place of ours: it names response, and may name criterion, lo, "
        "hi, question, reference, conversation (all turns), and mark, the code that fences texts in",
    )

    @field_validator("prompt")
    @classmethod
    def _check_prompt(cls, value: str) -> str:
        try:
            names = find_columns(value)
        except InputError as error:
            raise ValueError(str(error)) from error
        unknown = names - NAMES
        # A prompt may not read the row as a whole.
        if WHOLE in unknown:
            unknown = unknown - {WHOLE} | {"row"}
        if unknown:
            raise ValueError(f"unknown names {', '.join(sorted(unknown))}; expected {', '.join(sorted(NAMES))}")
        if is_template_name(value) or (value.strip() and "response" not in names):
            raise ValueError(
                "expected a text (no file is read here) with {{ response }}: judges rate what they see"
            )
        return value

    @model_validator(mode="after")
    def _check_scale(self) -> Self:
        lo, hi = self.scale
        if not 0 < hi - lo <= WIDEST:
            raise ValueError(f"scale: expected the lowest rating, then one at most {WIDEST} above it")
        if bool(self.criteria) == bool(self.criteria_column):
            raise ValueError("expected either `criteria`, at least one, or `criteria_column`")
        return self


def _list_criteria(sample: Sample, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the criteria of a row by their names; numbers, if its own are several."""
    criteria = options["criteria"]
    if options["criteria_column"]:
        criteria = parse_json(sample.get(options["criteria_column"]))
    if isinstance(criteria, str) and criteria.strip():
        return {_WHOLE: criteria}
    if isinstance(criteria, Mapping):
        return dict(criteria)
    if not isinstance(criteria, list):
        return {}
    texts = [text for text in criteria if isinstance(text, str) and text.strip()]
    return {str(number): text for number, text in enumerate(texts, start=1)}


def completes(samples: Iterable[Sample], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options as they are.

    Raises:
        InputError: no row has the column of criteria that they name.
    """
    if options.get("criteria_column"):
        require_column(samples, options["criteria_column"], "rubric")
    return options


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return whether a row's own criteria are texts."""
    column = options["criteria_column"]
    criteria = parse_json(sample.get(column))
    texts = criteria if isinstance(criteria, list) else [criteria]
    if not column or is_absent(criteria) or all(isinstance(text, str) and text.strip() for text in texts):
        return Expectation(column=column)
    return Expectation("expected a criterion, or a list of them", column=column)


def rows(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Iterable[Question]:
    """Ask one question for each criterion, all at once; none about an empty response."""
    reply_text = reply(sample)
    if not reply_text:
        return
    lo, hi = options["scale"]
    shared = {
        "question": question(sample),
        "response": reply_text,
        "reference": reference(sample),
        "lo": lo,
        "hi": hi,
    }
    if CONVERSATION in options["prompt"]:
        shared[CONVERSATION] = conversation(sample)
    for name, criterion in _list_criteria(sample, options).items():
        yield Question(name, {**shared, "criterion": criterion})


def prompt(options: Mapping[str, Any]) -> str:
    """Return the template's name, or the user's text, with the reply's form appended if the text lacks it."""
    text: str = options["prompt"]
    if not text.strip():
        return "rubric/rate"
    # A user's own text may say itself what a reply looks like.
    if '"rating"' in text:
        return text
    return text + _FORM


def rating_of(question: Question) -> Typed:
    """Declare the answer: one of the scale's ratings."""
    return levels("rating", question.values["lo"], question.values["hi"])


def read_rating(question: Question, text: str) -> Judgement:
    """Read `{"reason": …, "rating": a whole number of the scale}`; 4.0 and "4" are accepted.

    Raises:
        Unparsable: there is none, or it is outside of the scale: nothing is clamped or guessed.
    """
    lo, hi = question.values["lo"], question.values["hi"]
    expected = f"exactly one of the whole numbers from {lo} to {hi}"
    rating, reason = read_whole(text, "rating", range(lo, hi + 1), expected)
    return Judgement(str(rating), float(rating), reason)


def _list_ratings(details: Mapping[str, Any]) -> list[str]:
    return [str(rated["rating"]) for rated in details.get("ratings", {}).values()]


@metric(
    expects=expects,
    completes=completes,
    steps=(Step(name="rate", rows=rows, prompt=prompt, parse=read_rating, asks=rating_of),),
    options=Options,
    temperature=0.0,
    measured=(
        Measured(
            "",
            "rubric",
            {"5": 1.0, "4": 0.75, "3": 0.5, "2": 0.25, "1": 0.0},
            _list_ratings,
            fits=lambda options: tuple(options["scale"]) == (1, 5),
        ),
    ),
    title={"en": "Rubric", "ru": "Оценка по критериям"},
)
def rubric(sample: Sample, replies: Found, options: Mapping[str, Any]) -> Score:
    """Return the rating's position on the scale, 0 to 1; for several criteria the mean, with each as a part.

    Source: SPEC 14.
    """
    lo, hi = options["scale"]
    names = list(_list_criteria(sample, options))
    if not names:
        return NO_CRITERIA
    # A single criterion without a name is no part.
    parts: dict[str, float | None] = {}
    has_names = isinstance(options["criteria"], Mapping) and not options["criteria_column"]
    if not reply(sample):
        if has_names:
            parts = dict.fromkeys(names, 0.0)
        return Score(0.0, NO_REPLY.status, NO_REPLY.reason, parts=parts)
    judged: Mapping[str, Judgement] = replies["rate"]
    values = {name: (judged[name].value - lo) / (hi - lo) for name in names}
    details = {name: {"rating": int(judged[name].value), "reason": judged[name].reason} for name in names}
    if has_names:
        parts = {**values}
    return Score(fmean(values.values()), details={"ratings": details}, parts=parts)
