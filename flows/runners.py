"""Where stages run: in this process, or on the workers of a Dask or Ray cluster; and parts of a run, as flows.

Workers need the project's code, and a store and reply cache that all of them can reach (docs/scale.md).
"""

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from prefect import Flow, flow
from prefect.utilities.annotations import quote

from basic_control.data.errors import InputError
from basic_control.data.extras import format_install
from basic_control.tasks.plan import Runner

ANSWER_S = 10.0
"""How long a cluster may take to answer."""
WORKERS_S = 60.0
"""How long it may take to provide a worker."""


@contextmanager
def open_runner(where: Runner) -> Iterator[Any]:
    """Yield the task runner for the suites' flows, or None for this process; a local cluster ends with the block.

    Raises:
        InputError: the runner's extra is not installed, or no cluster answers at the address.
    """
    if where.name == "local":
        yield None
        return
    opened = _dask if where.name == "dask" else _ray
    try:
        with opened(where) as runner:
            yield runner
    except ModuleNotFoundError as error:
        raise InputError(
            f"runner {where.name}: {error.name} of the extra `{where.name}` is not installed. "
            f"Run: {format_install(where.name)}"
        ) from error


def _describe_unreachable(where: Runner, expected: str, error: Exception) -> InputError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return InputError(
        f"runner_address: {where.address}: no cluster answers ({reason}), expected {expected}. Start it, or remove "
        "runner_address to use a cluster on this machine."
    )


@contextmanager
def _dask(where: Runner) -> Iterator[Any]:
    # Dask logs its own steps at INFO and closed connections with a traceback; set the level here and, through the
    # environment, in its workers.
    level = os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "error")
    import distributed
    import prefect_dask

    # Neither package declares its exports in its types.
    logging.getLogger("distributed").setLevel(level.upper())  # it may have been imported before
    local_cluster: Any = distributed.LocalCluster
    task_runner: Any = vars(prefect_dask)["DaskTaskRunner"]

    address = where.address
    if address:
        try:
            with distributed.Client(address, timeout=ANSWER_S, set_as_default=False) as probe:
                probe.wait_for_workers(1, timeout=WORKERS_S)
        except (OSError, ValueError, TypeError) as error:
            expected = "a Dask scheduler with a worker, such as tcp://host:8786"
            raise _describe_unreachable(where, expected, error) from error
        yield task_runner(address=address)
        return
    with local_cluster(
        n_workers=where.workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=logging.ERROR,
    ) as cluster:
        yield task_runner(address=cluster.scheduler_address)


@contextmanager
def _ray(where: Runner) -> Iterator[Any]:
    import ray
    from prefect_ray import RayTaskRunner

    address = where.address
    if address:
        # Where nobody listens, Ray would retry for minutes or end the process. The machine's own files say at once
        # whether "auto" finds a cluster.
        if address != "auto":
            try:
                parts = urlsplit(address if "://" in address else f"//{address}")
                socket.create_connection((parts.hostname or "", parts.port or 0), timeout=ANSWER_S).close()
            except (OSError, ValueError) as error:
                raise _describe_unreachable(
                    where, "a Ray cluster, such as ray://host:10001 or host:6379", error
                ) from error
        yield RayTaskRunner(address=address)
        return
    ray.init(
        num_cpus=where.workers,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        log_to_driver=False,
        configure_logging=False,
    )
    try:
        yield RayTaskRunner()
    finally:
        ray.shutdown()


R = TypeVar("R")


@flow(name="part")
def _part() -> None:
    pass


def run_part(
    work: Callable[[], R], name: str, *, run: str = "", like: Flow[..., Any] = _part, runner: Any = None
) -> R:
    """Call `work` as a flow without parameters, on `runner` or the workers of `like`; `run` names the flow's run.

    For parameters, Prefect would build a schema and write them with FastAPI, which takes 0.3 s.
    """
    part = copy(like)  # Prefect's `with_options` would rebuild the schema
    # Quoted, Prefect does not search the result for those of other flows.
    changes = {"name": name, "flow_run_name": lambda: run or name, "fn": lambda: quote(work())}
    vars(part).update(changes, task_runner=runner or like.task_runner)
    return cast("quote[R]", part()).unquote()
