"""Facts about a suite's items without making them: files, versions, needs, and given responses."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from basic_control.data.errors import InputError
from basic_control.data.plugins import loader, metric
from basic_control.data.records import Family, Item, Loader, Metric
from basic_control.data.sources import name_of
from basic_control.data.suites import Suite
from basic_control.data.tools import TOOLS, read_tools, write_tool
from basic_control.data.units import UnitIdentity, digest, identity_of, verifier_of

EXPECTED_CALLS = "calls"
"""The fact that holds the calls of tools that are expected."""
RESPONSE = "response"
_ABSENT = object()
"""The fact that holds a response given with the data."""


def digests_of(suite: Suite) -> tuple[str, ...]:
    """Return the SHA-256 of each file behind a suite's items, so that a changed one is reloaded.

    '' for a missing file, which the loader reports.
    """
    return tuple(map(digest, loader(suite.loader).files(suite.source)))


def offered(suite: Suite) -> Mapping[str, Any]:
    """Return the loader's options, offering the maximum number of items if a suite asks until decided."""
    if suite.stop is None:
        return suite.source
    return loader(suite.loader).offer(suite.source, suite.stop.most)


def whole(suite: Suite) -> Mapping[str, Any]:
    """Return the loader's options for all rows of the data, whatever the suite draws."""
    sample = suite.source.get("sample")
    every = {"sample": {**(sample if isinstance(sample, Mapping) else {}), "method": "all"}, "language": ""}
    return {**suite.source, **{key: value for key, value in every.items() if key in suite.source}}


def tools_of(suite: Suite, read: Collection[str]) -> str | tuple[Mapping[str, Any], ...]:
    """Return the tools that a suite sends with its questions, or the column that holds them; '' for none.

    `read` are the columns that its prompts read: a model that is told of its tools in the prompt is sent none.
    """
    if suite.tools:
        return suite.tools
    return TOOLS if EXPECTED_CALLS in needs_of(suite) and TOOLS not in read else ""


def with_tools(item: Item, tools: str | Sequence[Mapping[str, Any]]) -> Item:
    """Return an item with the tools that the model may call for it in its facts, in one form.

    Raises:
        InputError: its row's are none.
    """
    value = item.facts.get(tools) if isinstance(tools, str) else tools
    if not value:
        return item
    try:
        described = [write_tool(tool) for tool in read_tools(value)]
    except ValueError as error:
        where = f"column {tools!r}" if isinstance(tools, str) else "tools"
        raise InputError(f"row {item.index + 1}: {where}: {error}.") from error
    return replace(item, facts={**item.facts, TOOLS: described})


def families_of(suite: Suite) -> tuple[Family, ...]:
    """Return the families that a suite's items are drawn from; none if they are read."""
    unit = loader(suite.loader)
    return tuple(unit.units(suite.source).values()) if unit.units else ()


def makers_of(suite: Suite) -> tuple[UnitIdentity, ...]:
    """Return the units that make a suite's items: the loader, and the families that it draws from."""
    return (identity_of(Loader, suite.loader), *(identity_of(Family, one.name) for one in families_of(suite)))


def verifiers_of(suite: Suite) -> tuple[UnitIdentity, ...]:
    """Return the units that verify a suite's responses: its families."""
    return tuple(verifier_of(family) for family in families_of(suite))


def scorers_of(suite: Suite) -> tuple[UnitIdentity, ...]:
    """Return the units that score a suite's responses: its families' verifiers, and its metrics with rules."""
    metrics = (identity_of(Metric, name) for name in suite.used if not metric(name).verifies)
    return (*verifiers_of(suite), *metrics)


def needs_of(suite: Suite) -> tuple[str, ...]:
    """Return the facts that the suite's metrics need."""
    needs: dict[str, None] = {}
    for name in suite.used:
        own = metric(name).needs
        needs |= dict.fromkeys([*(own(suite.options(name)) if callable(own) else own), *compared(suite, name)])
    return tuple(needs)


def compared(suite: Suite, name: str) -> tuple[str, ...]:
    """Return the column or target that a metric compares responses with, if any."""
    unit = metric(name)
    return (unit.opponent(suite.options(name)),) if unit.opponent else ()


def reply_schema(suite: Suite) -> Mapping[str, Any] | None:
    """Return the JSON schema that a suite's replies should follow; None if no metric of it has one."""
    units = [(metric(name), suite.options(name)) for name in suite.used]
    schemas = [unit.constrains(options) for unit, options in units if unit.constrains]
    return next((schema for schema in schemas if schema), None)


def judged_by(suite: Suite) -> tuple[str, ...]:
    """Return the suite's metrics that use judges."""
    return tuple(name for name in suite.used if metric(name).steps)


def runs_programs(suite: Suite) -> bool:
    """Return whether responses of a suite hold programs to run."""
    return any(one.program for one in families_of(suite)) or any(metric(name).programs for name in suite.used)


def responses_of(suite: Suite) -> str:
    """Return the name under which responses given with the data are reported; '' if models are asked.

    Raises:
        InputError: the data cannot be read, or holds responses in some rows only.
    """
    unit = loader(suite.loader)
    if unit.generated:
        return ""
    responses = [item.facts.get(RESPONSE, _ABSENT) for item in unit.load(whole(suite), ())]
    # Where some rows have a response, none (null) is that of a failed call.
    is_recorded = any(isinstance(response, str) for response in responses)
    there = [is_recorded and (response is None or isinstance(response, str)) for response in responses]
    source = str(suite.source.get("data", suite.name))
    if 0 < sum(there) < len(there):
        raise InputError(
            f"{source}: found a response in {sum(there)} of {len(there)} rows, expected one in all or in none. "
            "Fill the others (an empty text is a response), or delete the column to ask the models."
        )
    return (suite.responses_of or f"responses of {name_of(source)}") if any(there) else ""
