"""What to know of a whole run before relying on its verdict."""

from collections.abc import Iterator, Mapping
from typing import Any

from prompts.phrases import phrase


def run_warnings(results: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield a sentence for each suite in whose data questions repeat."""
    for one in results.get("doubled", ()):
        counts = {"k": one["n_repeating"], "n": one["n_rows"]}
        yield phrase("common.doubled", language, suite=one["suite"], **counts)
