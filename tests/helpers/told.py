"""Processes that do something each time that they are told a line, so that their imports are paid for once."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.conftest import TOP

Told = list["subprocess.Popen[str]"]


@contextmanager
def processes(script: str, count: int, *words: str) -> Iterator[Told]:
    """Start so many processes of a script, which says that it is ready, and then a line for each that it reads."""
    pipe, command = subprocess.PIPE, [sys.executable, "-c", script, *words]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-test-0000")
        started = [subprocess.Popen(command, cwd=TOP, stdin=pipe, stdout=pipe, text=True) for _ in range(count)]
    try:
        assert [said_by(one) for one in started] == ["ready\n"] * count
        yield started
    finally:
        for one in started:
            one.communicate()


def said_by(process: "subprocess.Popen[str]", told: str = "") -> str:
    """Return the next line of a process, after it was told one."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(told)
    process.stdin.flush()
    return process.stdout.readline()
