"""Options: the settings that a unit (a family, a metric, a loader, a provider) declares for the configuration.

A unit declares them as a frozen model with a type, a range and a meaning for each, or, if defaults are enough, as a
plain mapping of names to defaults.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Protocol

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
)

from basic_control.data.errors import InputError

Share = Annotated[float, Field(ge=0, le=1)]
Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Number = Annotated[float, Field(allow_inf_nan=False)]
OFF = BeforeValidator(lambda value: "off" if value is False else value)
"""Accepts YAML's reading of an unquoted `off`."""
NUMBERS = (int, float, int | None, float | None, Seed | None, Share | None, Number | None)


class Frozen(BaseModel):
    """Base of all configuration models: frozen, and strict about keys."""

    # Prefect logs and stores error texts: they must not repeat user input.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_switch(cls, value: object, info: ValidationInfo) -> object:
        """Refuse `yes` for a number, which pydantic would take for 1."""
        if isinstance(value, bool) and cls.model_fields[info.field_name or ""].annotation in NUMBERS:
            raise ValueError("expected a number")
        return value


def check_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return a request's further parameters as they are.

    Raises:
        ValueError: one is set elsewhere, or JSON cannot represent its value.
    """
    ours = sorted({"model", "messages", "stream"} & set(parameters))
    if ours:
        raise ValueError(f"found {ours[0]!r}, which cannot be set here; expected sampling parameters")
    try:
        json.dumps(parameters, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected values that JSON can represent ({error}); quote dates") from error
    return parameters


Declared = Mapping[str, Any] | type[Frozen]
"""A unit's declared options: a model, or names and defaults."""


class _Unit(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def options(self) -> Declared: ...


def model_of(declared: Declared) -> type[Frozen]:
    """Return declared options as a model; of names and defaults, with the types of the defaults.

    Options that are nested in these are checked by the unit.
    """
    if isinstance(declared, type):
        return declared
    plain = (bool, int, float, str)
    kinds: list[tuple[str, Any]] = []
    for name, default in declared.items():
        kind = type(default)
        kinds.append((name, kind if kind in plain else Any))
    return _create_model(tuple(kinds))


@cache
def _create_model(kinds: tuple[tuple[str, Any], ...]) -> type[Frozen]:
    fields: dict[str, Any] = {name: (kind, ...) for name, kind in kinds}
    return create_model("Options", __base__=Frozen, **fields)


def list_option_names(declared: Declared) -> tuple[str, ...]:
    """Return the options' names."""
    if isinstance(declared, Mapping):
        return tuple(declared)
    return tuple(field.alias or name for name, field in declared.model_fields.items())


def settle(declared: Declared, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option's value: those of `values`, validated, and the others' defaults.

    Raises:
        ValidationError: an option that is not declared, or a value that does not fit (pydantic's, with its path).
    """
    if isinstance(declared, Mapping):
        return model_of(declared).model_validate({**declared, **values}).model_dump()
    return declared.model_validate(dict(values)).model_dump(by_alias=True)


def options_of(unit: _Unit, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option of a unit: those of `values`, validated, and the others' defaults.

    Raises:
        InputError: one that it does not declare, or a value that does not fit.
    """
    try:
        return settle(unit.options, values)
    except ValidationError as error:
        kind = type(unit).__name__.lower()
        raise InputError(f"{kind} {unit.name}: {explain_error(error, unit.options)}") from error


def explain_error(error: ValidationError, declared: Declared) -> str:
    """Return a sentence on which option is wrong, what was found and what is expected."""
    sentences: list[str] = []
    for problem in error.errors(include_url=False):
        path = ".".join(map(str, problem["loc"]))
        if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
            expected = ", ".join(sorted(list_option_names(declared))) or "none"
            sentences.append(f"unknown option {path!r}; expected one of {expected}")
        else:
            message = str(problem["msg"]).removeprefix("Value error, ")
            sentences.append(f"option {path}: {message[:1].lower()}{message[1:]}, found {problem['input']!r}"[:500])
    return "; ".join(sentences) + "."
