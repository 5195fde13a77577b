"""Read and compare expressions with math-verify: the program of a child process, which ends at a time limit.

A line of JSON is a request: `{"expected": [LaTeX, …], "reply": LaTeX or null}`; the answer is a line
`{"read": [bool, …], "equal": bool}`: which of the expected ones are read, and whether the reply equals one. The
process is started by its path and imports nothing of ours. What it reads is hostile: a request that takes more than
the limit of CPU time ends the process, and so does one that takes too much memory.
"""

import functools
import importlib
import json
import logging
import signal
import sys
from typing import Any

MEMORY_BYTES = 2 * 1024**3


def limit_memory() -> None:
    """Bound the process's memory, where the system can."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def limit_time(limit_s: float) -> None:
    """Have the system end the process after so many more seconds of CPU time; 0: no limit."""
    if hasattr(signal, "setitimer"):
        # Without a handler the signal kills, also amid a power of huge integers, which runs no Python code.
        signal.setitimer(signal.ITIMER_PROF, limit_s)


@functools.cache
def load() -> Any:
    """Return math-verify, which no other part of the project needs."""
    return importlib.import_module("math_verify")


@functools.lru_cache(maxsize=4096)  # an expected answer is read once for the replies of all models
def read(latex: str) -> tuple[Any, ...]:
    """Return the expression that a text in LaTeX writes; nothing if it writes none."""
    # Its own time limits are alarms of the wall clock; 0 turns them off.
    return tuple(load().parse(f"${latex}$", fallback_mode="no_fallback", parsing_timeout=0))


def equals(expected: str, reply: str) -> bool:
    """Return whether two expressions are equal; `x < 5` equals the interval that it describes."""
    golds, answers = [*read(expected)], [*read(reply)]
    if not golds or not answers:
        return False
    return bool(load().verify(golds, answers, allow_set_relation_comp=True, timeout_seconds=0))


def main() -> None:
    """Answer requests until the input ends."""
    logging.disable()
    limit_memory()
    limit_s = float(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        limit_time(limit_s)
        try:
            are_read = [bool(read(latex)) for latex in request["expected"]]
            reply = request["reply"]
            is_equal = reply is not None and any(equals(latex, reply) for latex in request["expected"])
        except (RecursionError, MemoryError):
            are_read, is_equal = [False] * len(request["expected"]), False
        limit_time(0)
        print(json.dumps({"read": are_read, "equal": is_equal}), flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
