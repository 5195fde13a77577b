"""Where stages run: in this process, or on the workers of a Dask or Ray cluster.

Workers need the project's code, and a store and reply cache that all of them reach (docs/scale.md).
"""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from data.errors import InputError
from data.extras import installing
from flows.environment import modules
from tasks.plan import Runner

ANSWER_S = 10.0
"""How long a cluster has to answer."""
WORKERS_S = 60.0
"""How long it has to have a worker."""


@contextmanager
def running(where: Runner) -> Iterator[Any]:
    """Yield the task runner for the suites' flows, or None for this process; a local cluster ends with it.

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
            f"runner {where.name}: {error.name} is not installed. Run: {installing(where.name)}"
        ) from error


def _unreached(where: Runner, expected: str, error: Exception) -> InputError:
    said = " ".join(str(error).split()) or type(error).__name__
    return InputError(
        f"runner_address: {where.address}: found no cluster there ({said}), expected {expected}. Is it "
        "up? Leave runner_address out for a cluster on this machine."
    )


def _knock(where: Runner) -> None:
    """Refuse an address of Ray's where nobody listens: Ray itself would try for minutes, or end the process.

    Raises:
        InputError: nobody listens there.
    """
    address = where.address
    if address == "auto":  # what the machine's own files say, found or not at once
        return
    expected = "a Ray cluster, such as ray://host:10001 or host:6379"
    try:
        found = urlsplit(address if "://" in address else f"//{address}")
        socket.create_connection((found.hostname or "", found.port or 0), timeout=ANSWER_S).close()
    except (OSError, ValueError) as error:
        raise _unreached(where, expected, error) from error


@contextmanager
def _dask(where: Runner) -> Iterator[Any]:
    # Dask tells each step of its own at INFO, a closed connection with a traceback: here and, by the environment,
    # in its workers.
    level = os.environ.setdefault("DASK_LOGGING__DISTRIBUTED", "error")
    import distributed
    import prefect_dask

    # Neither package's types say what it exports.
    logging.getLogger("distributed").setLevel(level.upper())  # something may have imported it before
    local_cluster: Any = distributed.LocalCluster
    task_runner: Any = vars(prefect_dask)["DaskTaskRunner"]

    if address := where.address:
        try:
            with distributed.Client(address, timeout=ANSWER_S, set_as_default=False) as probe:
                probe.wait_for_workers(1, timeout=WORKERS_S)
        except (OSError, ValueError, TypeError) as error:
            expected = "a Dask scheduler with a worker, such as tcp://host:8786"
            raise _unreached(where, expected, error) from error
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

    if where.address:
        _knock(where)
        yield RayTaskRunner(address=where.address)
        return
    ray.init(
        num_cpus=where.workers,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        log_to_driver=False,
        configure_logging=False,
        # Ray puts the folder that it is started in before all others, once a worker is set up.
        runtime_env={"env_vars": modules(), "worker_process_setup_hook": "basic_control.hold"},
    )
    try:
        yield RayTaskRunner()
    finally:
        ray.shutdown()
