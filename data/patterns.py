"""Regular expressions that are compiled when they are first used.

The rules of a family or a reader are hundreds of patterns. To compile them all takes a tenth of a second, which a
run pays once; whoever only asks which families there are (a mistake in a configuration, `--help`, the dry run)
would wait for patterns that never meet a text.
"""

import re
from typing import Any, cast


class _Pattern:
    """A pattern of `re` that is not compiled yet; what was asked of it once is as near as an attribute."""

    def __init__(self, text: str, flags: int) -> None:
        self.pattern, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what copying and pickling look for
            raise AttributeError(name)
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return what `re.compile` returns, compiled at its first use; a wrong pattern is told then."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
