"""Where stages run: in this process, or on the workers of a Dask or Ray cluster.

Workers need the project's code, and a store and reply cache that all of them reach (docs/scale.md).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from config.settings import Settings
from data.errors import InputError


@contextmanager
def running(settings: Settings) -> Iterator[Any]:
    """Yield the task runner for the suites' flows, or None for this process; a local cluster ends with it.

    Raises:
        InputError: the runner's extra is not installed.
    """
    if settings.runner == "local":
        yield None
        return
    opened = _dask if settings.runner == "dask" else _ray
    try:
        with opened(settings) as runner:
            yield runner
    except ModuleNotFoundError as error:
        raise InputError(
            f"runner {settings.runner}: {error.name} is not installed. "
            f"Run: pip install 'basic-control[{settings.runner}]'"
        ) from error


@contextmanager
def _dask(settings: Settings) -> Iterator[Any]:
    import logging

    import distributed
    import prefect_dask

    # Neither package's types say what it exports.
    local_cluster: Any = distributed.LocalCluster
    task_runner: Any = vars(prefect_dask)["DaskTaskRunner"]

    if settings.runner_address:
        yield task_runner(address=settings.runner_address)
        return
    with local_cluster(
        n_workers=settings.runner_workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=logging.ERROR,
    ) as cluster:
        yield task_runner(address=cluster.scheduler_address)


@contextmanager
def _ray(settings: Settings) -> Iterator[Any]:
    import ray
    from prefect_ray import RayTaskRunner

    if settings.runner_address:
        yield RayTaskRunner(address=settings.runner_address)
        return
    ray.init(
        num_cpus=settings.runner_workers,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        log_to_driver=False,
        configure_logging=False,
    )
    try:
        yield RayTaskRunner()
    finally:
        ray.shutdown()
