"""The only code that runs a model's program.

Python runs as CPython compiled to WebAssembly, each program in a fresh instance inside a confined worker process;
Kotlin runs in a JVM if there is a compiler. The parent compares values: a program never sees an expected value, and
its output is plain data, read within limits, never unpickled, evaluated or imported.
"""

import atexit
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from basic_control.data.records import Found, Metric, Outcome, Program, Sample
from basic_control.tasks.sandbox import kotlin, kotlin_tools, processes
from basic_control.tasks.sandbox.image import prepare
from basic_control.tasks.sandbox.pool import WorkerPool

__all__ = ["WorkerPool", "close", "describe_layers", "prepare", "run", "run_programs", "summarize_layers"]

_lock = threading.Lock()
_pools: list[WorkerPool] = []
"""The process's only pool, once a program has been run."""


def _start_pool() -> WorkerPool:
    with _lock:
        if not _pools:
            _pools.append(WorkerPool())
        return _pools[0]


def close() -> None:
    """Stop the workers; a later run starts new ones. Called automatically at process exit."""
    with _lock:
        while _pools:
            _pools.pop().close()


def _forget() -> None:
    """After a fork, leave the workers to the parent: two processes must not share a pipe."""
    global _lock  # noqa: PLW0603 - another thread of the parent may have held it
    _lock = threading.Lock()
    while _pools:
        for worker in _pools.pop().workers:
            processes.release(worker.process)


atexit.register(close)
os.register_at_fork(after_in_child=_forget)


def run(
    programs: Sequence[Program], *, cpu_s: float = 2.0, kotlin_compiler: str = "", java: str = ""
) -> list[tuple[Outcome, ...]]:
    """Run programs; return, in order, one outcome for each of a program's calls.

    Each program gets a fresh interpreter. `cpu_s` is its budget of CPU seconds, for loading it and all its calls
    together; it may sleep 1 s more. Machine load changes no outcome: waiting for a core is not counted, and a
    program that times out is retried once, alone. Calls not reached because an earlier one ended the program share
    that one's outcome. There are as many processes as cores, fewer if memory does not suffice; they live until this
    process ends. `kotlin_compiler` and `java` are paths; by default the environment's and the PATH's are used.

    Raises:
        InputError: the sandbox cannot be built or started here; never for what a program did.
        ValueError: a call's arguments are not plain values.
    """
    runners: dict[str, Callable[[list[Program]], list[tuple[Outcome, ...]]]] = {
        "python": lambda batch: _start_pool().run(batch, cpu_s=cpu_s),
        "kotlin": lambda batch: kotlin.run(batch, cpu_s=cpu_s, compiler=kotlin_compiler, java=java),
    }
    outcomes: list[tuple[Outcome, ...]] = [()] * len(programs)
    by_language = defaultdict[str, list[int]](list)
    for position, program in enumerate(programs):
        by_language[program.language].append(position)
        outcome = Outcome("unavailable", message=f"no runner for {program.language}")
        outcomes[position] = (outcome,) * len(program.calls)
    # The languages in their order here, and all programs of one at once.
    for language, runner in runners.items():
        positions = by_language[language]
        if positions:
            results = runner([programs[position] for position in positions])
            for position, result in zip(positions, results, strict=True):
                outcomes[position] = result
    return outcomes


def run_programs(unit: Metric, samples: Sequence[Sample | None], options: Mapping[str, Any]) -> list[Found]:
    """Run a metric's programs in all samples at once; return each sample's results.

    A sample is None if there is no reply.
    """
    if unit.programs is None:
        return [{}] * len(samples)
    programs_by_sample: list[Mapping[Any, Program]] = []
    for sample in samples:
        programs = unit.programs(sample, options) if sample is not None else {}
        programs_by_sample.append(programs)
    outcomes = iter(run([*chain.from_iterable(programs.values() for programs in programs_by_sample)]))
    return [{"programs": _take_outcomes(programs, outcomes)} for programs in programs_by_sample]


def _take_outcomes(
    programs: Mapping[Any, Program], outcomes: Iterator[tuple[Outcome, ...]]
) -> dict[Any, tuple[Outcome, ...]]:
    return {key: next(outcomes) for key in programs}


def describe_layers(kotlin_compiler: str = "", java: str = "") -> dict[str, str]:
    """Return the layers of isolation between a program and this machine, for the manifest.

    The keys are wasm, rlimits, no_new_privs, landlock and seccomp, each with its state in the workers or `off`, and
    kotlin, with its compiler or `off`. Starts a worker if none is running.

    Raises:
        InputError: the sandbox cannot be built or started here.
    """
    return {**_start_pool().layers(), "kotlin": kotlin_tools.describe_tools(kotlin_compiler, java)}


def summarize_layers() -> str:
    """Return the layers as one line for people."""
    return "Sandbox: " + "; ".join(f"{name} {how}" for name, how in describe_layers().items())
