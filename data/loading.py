"""Facts about a suite's items without making them: files, versions, needs, and given responses."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import NoneType
from typing import Any

from basic_control.data.errors import InputError
from basic_control.data.plugins import loader, metric
from basic_control.data.public_sets import name_set
from basic_control.data.records import Family, Item, Loader, Metric
from basic_control.data.suites import Suite
from basic_control.data.tools import TOOLS, read_tools, write_tool
from basic_control.data.units import UnitIdentity, digest_file, identity_of, verifier_of
from basic_control.data.usual_columns import MissingColumnError

EXPECTED_CALLS = "calls"
"""The fact that holds the calls of tools that are expected."""
RESPONSE = "response"
"""The fact that holds a response given with the data."""
_ABSENT = object()


def digests_of(suite: Suite) -> tuple[str, ...]:
    """Return the SHA-256 of each file behind a suite's items, so that a changed one is reloaded.

    '' for a missing file, which the loader reports.
    """
    return tuple(map(digest_file, loader(suite.loader).files(suite.source)))


def offer_items(suite: Suite) -> Mapping[str, Any]:
    """Return the loader's options, offering the maximum number of items if a suite asks until decided."""
    if suite.stop is None:
        return suite.source
    return loader(suite.loader).offer(suite.source, suite.stop.most)


def select_all_rows(suite: Suite) -> Mapping[str, Any]:
    """Return the loader's options for all rows of the data, whatever the suite draws."""
    options = dict(suite.source)
    if "sample" in options:
        sample = options["sample"]
        if not isinstance(sample, Mapping):
            sample = {}
        options["sample"] = {**sample, "method": "all"}
    if "language" in options:
        options["language"] = ""
    return options


def tools_of(suite: Suite, read: Collection[str]) -> str | tuple[Mapping[str, Any], ...]:
    """Return the tools that a suite sends with its questions, or the column that holds them; '' for none.

    `read` are the columns that its prompts read: a model that is told of its tools in the prompt is sent none.
    """
    if suite.tools:
        return suite.tools
    needs_tools = EXPECTED_CALLS in needs_of(suite)
    return TOOLS if needs_tools and TOOLS not in read else ""


def add_tools(item: Item, tools: str | Sequence[Mapping[str, Any]]) -> Item:
    """Return an item with the tools that the model may call for it in its facts, in one form.

    `tools` are descriptions, or the name of the row's column that holds them.

    Raises:
        InputError: what the row holds describes no tools.
    """
    source, value = "tools", tools
    if isinstance(tools, str):
        source, value = f"column {tools!r}", item.facts.get(tools)
    if not value:
        return item
    try:
        described = [*map(write_tool, read_tools(value))]
    except ValueError as error:
        raise InputError(f"row {item.index + 1}: {source}: {error}.") from error
    return replace(item, facts={**item.facts, TOOLS: described})


def families_of(suite: Suite) -> tuple[Family, ...]:
    """Return the families that a suite's items are drawn from; none if they are read."""
    unit = loader(suite.loader)
    if unit.units is None:
        return ()
    return tuple(unit.units(suite.source).values())


def makers_of(suite: Suite) -> tuple[UnitIdentity, ...]:
    """Return the units that make a suite's items: the loader, and the families that it draws from."""
    families = [identity_of(Family, family.name) for family in families_of(suite)]
    return (identity_of(Loader, suite.loader), *families)


def verifiers_of(suite: Suite) -> tuple[UnitIdentity, ...]:
    """Return the units that verify a suite's responses: its families."""
    return tuple(map(verifier_of, families_of(suite)))


def scorers_of(suite: Suite) -> tuple[UnitIdentity, ...]:
    """Return the units that score a suite's responses: its families' verifiers, and its metrics with rules."""
    metrics = (identity_of(Metric, name) for name in suite.metric_names if not metric(name).verifies)
    return (*verifiers_of(suite), *metrics)


def needs_of(suite: Suite) -> tuple[str, ...]:
    """Return the facts that the suite's metrics need."""
    return tuple(dict.fromkeys(column for name in suite.metric_names for column in needs_of_metric(suite, name)))


def needs_of_metric(suite: Suite, name: str) -> tuple[str, ...]:
    """Return the facts that a metric of a suite needs."""
    needs = metric(name).needs
    if callable(needs):
        needs = needs(suite.options(name))
    return (*needs, *list_compared(suite, name))


def list_shown(suite: Suite) -> tuple[str, ...]:
    """Return the columns of a recorded reply that the judges of a suite's metrics are shown beside it."""
    return tuple(dict.fromkeys(column for name in suite.metric_names for column in metric(name).reads))


@contextmanager
def name_needing_metrics(suite: Suite) -> Iterator[None]:
    """Name the metric that needs a column which rows do not have.

    Raises:
        InputError: a column is missing.
    """
    try:
        yield
    except MissingColumnError as error:
        owners = []
        for name in suite.metric_names:
            columns = (*needs_of_metric(suite, name), *metric(name).reads)
            owners += [name] * (error.column in columns)
        raise InputError(f"{error} Suite {suite.name}: {' and '.join(owners)} needs it.") from error


def list_compared(suite: Suite, name: str) -> tuple[str, ...]:
    """Return the column or target that a metric compares responses with, if any."""
    unit = metric(name)
    if unit.opponent is None:
        return ()
    return (unit.opponent(suite.options(name)),)


def reply_schema(suite: Suite) -> Mapping[str, Any] | None:
    """Return the JSON schema that a suite's replies should follow; None if no metric of it has one."""
    for name in suite.metric_names:
        constrains = metric(name).constrains
        if constrains is None:
            continue
        # A metric with a schema may have none for these options.
        schema = constrains(suite.options(name))
        if schema:
            return schema
    return None


def list_judged_metrics(suite: Suite) -> tuple[str, ...]:
    """Return the suite's metrics that use judges."""
    return tuple(name for name in suite.metric_names if metric(name).steps)


def runs_programs(suite: Suite) -> bool:
    """Return whether responses of a suite hold programs to run."""
    has_programs = any(metric(name).programs for name in suite.metric_names)
    return has_programs or any(family.program for family in families_of(suite))


def responses_of(suite: Suite) -> str:
    """Return the name under which responses given with the data are reported; '' if models are asked.

    Raises:
        InputError: the data cannot be read, or holds responses in some rows only.
    """
    unit = loader(suite.loader)
    if unit.generated:
        return ""
    responses = [item.facts.get(RESPONSE, _ABSENT) for item in unit.load(select_all_rows(suite), ())]
    # Where some rows have a response, none (null) is that of a failed call.
    kinds = Counter(map(type, responses))
    n_responses = kinds[str]
    if n_responses:
        n_responses += kinds[NoneType]
    source = str(suite.source.get("data", suite.name))
    if 0 < n_responses < len(responses):
        raise InputError(
            f"{source}: found a response in {n_responses} of {len(responses)} rows, expected one in all or in "
            "none. Fill the others (an empty text is a response), or delete the column to ask the models."
        )
    if not n_responses:
        return ""
    return suite.responses_of or f"responses of {name_set(source)}"
