"""A flow under another name, on other workers, or without a check of its parameters; and parts of a run."""

from collections.abc import Callable
from copy import copy
from typing import Any, ParamSpec, TypeVar, cast

from prefect import Flow, flow

P = ParamSpec("P")
R = TypeVar("R")


def variant(flow: Flow[P, R], **changes: Any) -> Flow[P, R]:
    """Return the flow with other attributes.

    Prefect's own `with_options` makes the schema of its parameters again: a tenth of a second for each suite.
    """
    made = copy(flow)
    vars(made).update(changes)
    return made


@flow(name="part")
def _part() -> None:
    pass


def part_of(work: Callable[[], R], name: str, *, run: str = "", like: Flow[..., Any] = _part) -> Flow[[], R]:
    """Return a flow without parameters that does some work, on the workers of another; `run` names its run.

    Of parameters Prefect would make a schema, and write them with FastAPI: a third of a second.
    """
    changes = {"name": name, "flow_run_name": lambda: run or name, "fn": lambda: work()}  # noqa: PLW0108 - Prefect wants a function
    return cast("Flow[[], R]", variant(like, **changes))
