"""The child process that compares expressions: started when it is first needed, and again after a time limit."""

import atexit
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from basic_control.data.errors import InputError
from basic_control.data.extras import format_install

LIMIT_S = 5.0
"""CPU seconds for one reply."""
_PATIENCE_S = 60.0
"""Seconds after which a child that has not reached its limit is stuck, however busy the machine."""
_PACKAGE = "math_verify"


class ExpressionMatch(NamedTuple):
    """Which of the expected expressions are read, and whether the reply equals one of them."""

    read: tuple[bool, ...]
    is_equal: bool


class Child:
    """One child process for this process's threads, which wait for each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0

    def compare(self, expected: Sequence[str], reply: str | None) -> ExpressionMatch:
        """Compare a reply with expected expressions, all in LaTeX; None: only read them.

        Raises:
            InputError: the extra `math` is not installed.
            TimeoutError: the time or memory limit was reached.
        """
        request = json.dumps({"expected": [*expected], "reply": reply})
        with self._lock:
            answer = self._exchange(request)
        if not answer:
            raise TimeoutError
        members = json.loads(answer)
        return ExpressionMatch(tuple(members["read"]), bool(members["equal"]))

    def _exchange(self, request: str) -> str:
        """Return the child's answer to a request; '' if it has ended instead."""
        process = self._open()
        patience = threading.Timer(_PATIENCE_S, process.kill)
        patience.start()
        try:
            assert process.stdin is not None  # noqa: S101 - they are pipes
            assert process.stdout is not None  # noqa: S101 - likewise
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(f"{request}\n")
                process.stdin.flush()
            answer = process.stdout.readline()
        finally:
            patience.cancel()
        if not answer:
            # It met its limit; the next reply is compared by another child.
            self._process = None
            end(process)
        return answer

    def _open(self) -> "subprocess.Popen[str]":
        """Return the running process; a fork of this process starts one of its own."""
        if self._process is None or self._owner != os.getpid():
            self._process, self._owner = start(), os.getpid()
        return self._process


def start() -> "subprocess.Popen[str]":
    """Start a child, which ends when its input does.

    Raises:
        InputError: the extra `math` is not installed.
    """
    if importlib.util.find_spec(_PACKAGE) is None:
        raise InputError(f"metric math: the extra `math` is not installed; run: {format_install('math')}")
    process = subprocess.Popen(  # noqa: S603 - our own interpreter, running our own program
        [sys.executable, "-I", str(Path(__file__).with_name("checker.py")), str(LIMIT_S)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    atexit.register(end, process)
    return process


def end(process: "subprocess.Popen[str]") -> None:
    """Kill a child, wait for it, and close its pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe:
                pipe.close()
    atexit.unregister(end)


CHILD = Child()
