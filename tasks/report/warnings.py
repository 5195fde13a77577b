"""What to know of a whole run before relying on its verdict."""

from collections.abc import Iterator, Mapping
from typing import Any

from prompts.phrases import phrase, translated


def alarms(results: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield why a model has no result at all, for each such model: what every report begins with.

    What waits in batches has not failed yet.
    """
    final = results.get("final", {})
    for model in final.get("models", ()):
        if model.get("missing") or (model.get("failed") and not final.get("waiting")):
            yield f"{translated(model['reason'], language)} ({model['model']})"


def run_warnings(results: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield what is odd about a run: nothing decides it; questions of a suite repeat, or share few templates."""
    final = results.get("final") or {"gate": "off"}
    if final["gate"] != "off" and not final["changes"] and {one["verdict"] for one in final["models"]} == {"none"}:
        yield phrase("common.nothing_decides", language)
    for one in results.get("doubled", ()):
        counts = {"k": one["n_repeating"], "n": one["n_rows"]}
        yield phrase("common.doubled", language, suite=one["suite"], **counts)
    if few := results.get("few_templates"):
        yield phrase("common.few_templates", language, suite=", ".join(few))
