"""What to know of a run before relying on it, the most important first: the warnings of its last screen."""

from collections.abc import Iterator, Mapping
from typing import Any

from config.settings import Settings
from data.commands import typed
from prompts.phrases import phrase
from tasks.report.moved import moved_lines
from tasks.report.regressions import apart
from tasks.report.warnings import run_warnings

Results = Mapping[str, Any]


def cautions(results: Results, settings: Settings, language: str) -> Iterator[str]:
    """Yield them, each once: what is not as in the baseline, what is odd, what was cut, which prices are not."""
    yield from dict.fromkeys(_every(results, settings, language))


def _every(results: Results, settings: Settings, language: str) -> Iterator[str]:
    if held := results.get("baseline"):
        yield from apart(held, language)
        for part in (part for model in held["models"] for part in model["suites"]):
            yield from moved_lines(part["moved"], language)
    cut = sum(suite.get("n_truncated", 0) for model in results["final"]["models"] for suite in model["suites"])
    live = any(model.provider != "replay" for model in settings.models)  # recorded replies stay as they were cut
    if live and cut:
        again = typed(f"run --run {results['run']['run']} --only-truncated --set models.0.max_tokens=N")
        yield phrase("screen.cut", language, n=cut, command=again)
    yield from run_warnings(results, language)
    spent = (results.get("run") or {}).get("spending") or {}
    if spent.get("unpriced") and spent.get("cost") is not None:
        yield phrase("common.unpriced", language, names=", ".join(spent["unpriced"]))
    if spent.get("stale_days"):
        yield phrase("common.prices_stale", language, days=spent["stale_days"])
