"""JSON metric: the reply holds a JSON value that fits a schema and equals, or contains, the expected one."""

import json
from collections.abc import Mapping
from contextlib import suppress
from itertools import repeat
from typing import Any, Literal

from pydantic import Field, field_validator

from basic_control.data.decorators import metric
from basic_control.data.json_reply import read_value
from basic_control.data.options import Frozen
from basic_control.data.records import Expectation, Found, Sample, Score, Unparsable
from basic_control.data.shown import Shown
from basic_control.metrics._expected import ABSENT, is_absent
from basic_control.metrics._replies import NO_EXPECTED, NO_REPLY, reply


class Options(Frozen):
    """The schema of the value, and how it is compared."""

    schema_: dict[str, Any] = Field(default_factory=dict, alias="schema", description="a JSON schema (2020-12)")
    compare: Literal["none", "equal", "subset"] = Field(
        "equal", description="with the row's answer: not at all, wholly, or that it holds all that the answer holds"
    )

    alone: bool = Field(default=False, description="true: the reply is JSON and nothing else, not even a fence")

    @field_validator("schema_")
    @classmethod
    def _check_schema(cls, value: dict[str, Any]) -> dict[str, Any]:
        # Imported here, so that listing the metrics does not import the library.
        from basic_control.metrics.json_match.schemas import check

        check(value)
        return value


def is_equal(value: Any, expected: Any) -> bool:
    """Return whether two JSON values are equal; true is not 1, but 1 is 1.0, as in JSON."""
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    if isinstance(value, Mapping) and isinstance(expected, Mapping):
        return value.keys() == expected.keys() and all(is_equal(part, expected[key]) for key, part in value.items())
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(is_equal, value, expected))
    are_numbers = isinstance(value, int | float) and isinstance(expected, int | float)
    return (are_numbers or type(value) is type(expected)) and bool(value == expected)


def is_within(value: Any, part: Any) -> bool:
    """Return whether a value contains another: an object its keys, a list its entries in any order."""
    if isinstance(value, Mapping) and isinstance(part, Mapping):
        return all(key in value and is_within(value[key], expected) for key, expected in part.items())
    if isinstance(value, list) and isinstance(part, list):
        return not part or (len(part) <= len(value) and _is_matched(value, part))
    return is_equal(value, part)


def _is_matched(value: list[Any], part: list[Any]) -> bool:
    """Return whether distinct entries of a list contain each of another's: [1] does not contain [1, 1]."""
    from scipy.sparse import csr_array  # imported here, so that listing the metrics does not import the library
    from scipy.sparse.csgraph import maximum_bipartite_matching

    fits = csr_array([[*map(is_within, value, repeat(expected))] for expected in part])
    return bool((maximum_bipartite_matching(fits, perm_type="column") >= 0).all())


def _read_expected(sample: Sample) -> list[Any]:
    """Return the expected values, parsing JSON text."""
    answer = sample.get("answer")
    if is_absent(answer):
        return []
    if isinstance(answer, str):
        # A text that is no JSON is expected as a text.
        with suppress(ValueError):
            answer = json.loads(answer)
    return [answer]


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return whether a row has the value that a reply is compared with; any JSON value is read."""
    if options["compare"] != "none" and is_absent(sample.get("answer")):
        return Expectation(ABSENT)
    return Expectation()


def is_alone(text: str) -> bool:
    """Return whether a text is a JSON value and nothing else."""
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _outcome(misfit: dict[str, str] | None, parts: Mapping[str, float | None]) -> Score:
    if misfit is not None:
        return Score(0.0, reason="does not fit the schema", details=misfit, parts=parts)
    if parts["equal"] == 0:
        return Score(0.0, reason="another value", parts=parts)
    return Score(1.0, reason="as expected", parts=parts)


@metric(
    constrains=lambda options: options["schema"],
    version=4,
    options=Options,
    expects=expects,
    needs=lambda options: () if options["compare"] == "none" else ("answer",),
    title={"en": "JSON", "ru": "JSON"},
    yes_no=True,
    shown=Shown(
        parts={
            "valid": {"en": "fits the schema", "ru": "подходит под схему"},
            "equal": {"en": "right value", "ru": "верное значение"},
        }
    ),
)
def json_match(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if the reply's JSON fits the schema and matches, else 0; parts `valid` and `equal`.

    Source: SPEC 14.
    """
    compare = {"equal": is_equal, "subset": is_within}.get(options["compare"])
    # Nothing is compared where the schema alone decides.
    expected = []
    if compare:
        expected = _read_expected(sample)
    if compare and not expected:
        return NO_EXPECTED
    reply_text = reply(sample)
    if not reply_text:
        return NO_REPLY
    try:
        value = read_value(reply_text)
    except Unparsable as error:
        parts = {"valid": 0.0, "equal": 0.0 if expected else None}
        return Score(0.0, "no_answer", "no JSON value", {"problem": str(error)[:200]}, parts)
    if options["alone"] and not is_alone(reply_text):
        return Score(0.0, reason="text beside the JSON", parts={"valid": 0.0, "equal": 0.0 if expected else None})
    from basic_control.metrics.json_match.schemas import problem

    try:
        misfit = problem(options["schema"], value)
    except RecursionError:
        return Score(None, "not_applicable", "the schema's references go round in a circle")
    parts: dict[str, float | None] = {"valid": float(misfit is None), "equal": None}
    if compare:
        parts["equal"] = float(any(compare(value, candidate) for candidate in expected))
    return _outcome(misfit, parts)
