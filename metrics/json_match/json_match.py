"""JSON metric: the reply holds a JSON value that fits a schema and equals, or contains, the expected one."""

import json
from collections.abc import Mapping
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

    @field_validator("schema_")
    @classmethod
    def _valid(cls, value: dict[str, Any]) -> dict[str, Any]:
        # Imported here, so that listing the metrics does not import the library.
        from basic_control.metrics.json_match.schemas import check

        check(value)
        return value


def equal(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; true is not 1, but 1 is 1.0, as in JSON."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    both = isinstance(one, int | float) and isinstance(other, int | float)
    return (both or type(one) is type(other)) and bool(one == other)


def holds(value: Any, part: Any) -> bool:
    """Return whether a value contains another: an object its keys, a list its entries in any order."""
    if isinstance(value, Mapping) and isinstance(part, Mapping):
        return all(key in value and holds(value[key], wanted) for key, wanted in part.items())
    if isinstance(value, list) and isinstance(part, list):
        return not part or (len(part) <= len(value) and _matched(value, part))
    return equal(value, part)


def _matched(value: list[Any], part: list[Any]) -> bool:
    """Return whether distinct entries of a list contain each of another's: [1] does not contain [1, 1]."""
    from scipy.sparse import csr_array  # imported here, so that listing the metrics does not import the library
    from scipy.sparse.csgraph import maximum_bipartite_matching

    fits = csr_array([[holds(one, wanted) for one in value] for wanted in part])
    return bool((maximum_bipartite_matching(fits, perm_type="column") >= 0).all())


def _wanted(sample: Sample) -> list[Any]:
    """Return the expected values, parsing JSON text."""
    found = []
    for answer in [] if is_absent(sample.get("answer")) else [sample["answer"]]:
        try:
            found.append(json.loads(answer) if isinstance(answer, str) else answer)
        except ValueError:
            found.append(answer)
    return found


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return whether a row has the value that a reply is compared with; any JSON value is read."""
    return Expectation(ABSENT if options["compare"] != "none" and is_absent(sample.get("answer")) else "")


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
    wanted = [] if options["compare"] == "none" else _wanted(sample)
    if options["compare"] != "none" and not wanted:
        return NO_EXPECTED
    if not (said := reply(sample)):
        return NO_REPLY
    try:
        value = read_value(said)
    except Unparsable as error:
        parts = {"valid": 0.0, "equal": 0.0 if wanted else None}
        return Score(0.0, "no_answer", "no JSON value", {"problem": str(error)[:200]}, parts)
    from basic_control.metrics.json_match.schemas import problem

    try:
        misfit = problem(options["schema"], value)
    except RecursionError:
        return Score(None, "not_applicable", "the schema's references go round in a circle")
    same = {"equal": equal, "subset": holds}.get(options["compare"])
    alike = None if same is None else any(same(value, one) for one in wanted)
    parts = {"valid": float(misfit is None), "equal": None if alike is None else float(alike)}
    return _outcome(misfit, parts)
