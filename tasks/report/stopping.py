"""What reports say of suites that were asked until they were decided: how their intervals narrowed."""

from collections.abc import Iterator, Mapping
from typing import Any

from prompts.phrases import phrase
from tasks.report.text import percent, points

WIDTH, HEIGHT = 240, 60
Results = Mapping[str, Any]


def followed(results: Results) -> list[dict[str, Any]]:
    """Return the sequences of a run with the numbers that a table shows, models first, then pairs.

    `low`, `high` are the interval that is left, as text; `band` and `limit` draw how it narrowed: the corners of a
    polygon and the height of the threshold, in a picture of `WIDTH` x `HEIGHT`.
    """
    models = [
        suite["stopping"]
        for model in results.get("final", {}).get("models", ())
        for suite in model["suites"]
        if suite.get("stopping")
    ]
    return [{**one, **_shown(one)} for one in [*models, *results.get("races", ())] if one["looks"]]


def lines_of(results: Results, language: str) -> Iterator[str]:
    """Yield a line for each sequence, for a terminal."""
    for one in followed(results):
        after = one["decided"]
        came = phrase("terminal.open", language) if after is None else phrase("terminal.decided", language, n=after)
        said = {key: one[key] for key in ("suite", "who", "asked", "most", "low", "high")}
        yield phrase("terminal.stopping", language, **said, came=came, alpha=f"{one['alpha']:.4g}")


def _shown(one: Mapping[str, Any]) -> dict[str, Any]:
    looks, paired = one["looks"], bool(one["against"])
    least = -1.0 if paired else 0.0
    write = points if paired else percent
    limit = one["threshold"]

    def at(question: int, value: float) -> str:
        x = WIDTH * question / one["questions"][-1]
        return f"{x:.1f},{HEIGHT * (1 - (value - least) / (1 - least)):.1f}"

    pairs = list(zip(one["questions"], looks, strict=True))
    corners = [at(0, 1.0), *(at(n, look["high"]) for n, look in pairs)]
    corners += [*(at(n, look["low"]) for n, look in reversed(pairs)), at(0, least)]
    return {
        "who": f"{one['model']} – {one['against']}" if paired else one["model"],
        "mean": write(looks[-1]["mean"]),
        "low": write(looks[-1]["low"]),
        "high": write(looks[-1]["high"]),
        "band": " ".join(corners),
        "limit": None if limit is None else f"{HEIGHT * (1 - (limit - least) / (1 - least)):.1f}",
    }
