"""Regular expressions compiled at first use.

The rules of a family or a reader are hundreds of patterns. Compiling them all takes a tenth of a second, which is
wasted if no text is matched, as when only listing families (a mistake in a configuration, `--help`, the dry run).
"""

import re
from typing import Any, cast


class _Pattern:
    """A lazily compiled pattern of `re`; attributes are cached after their first use."""

    def __init__(self, text: str, flags: int) -> None:
        self.pattern, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # looked up by copying and pickling
            raise AttributeError(name)
        attribute = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, attribute)
        return attribute


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a lazily compiled `re.compile`; an invalid pattern is reported at first use."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
