"""What reports say of suites that were asked until they were decided: how their intervals narrowed."""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from tasks.report.tables import Table, column_maker
from tasks.report.text import percent, points
from tasks.report.words import shared, suites_in

Results = Mapping[str, Any]


def followed(results: Results) -> list[dict[str, Any]]:
    """Return a run's sequences, models before pairs, with who was asked and the interval that is left, as text."""
    models = [suite["stopping"] for _, suite in suites_in(results) if suite.get("stopping")]
    return [{**one, **_shown(one)} for one in [*models, *results.get("races", ())] if one["looks"]]


def table(results: Results, language: str) -> Table:
    """Return how long each model was asked until its verdict was there; no row where all was asked at once."""
    column = column_maker("common", language)
    return Table.of(
        followed(results),
        column("model", itemgetter("who")),
        column("suite", itemgetter("suite")),
        column("questions", lambda one: shared("of", language, k=one["asked"], n=one["most"]), numeric=True),
        column("decided_after", lambda one: str(one["decided"] or "–"), numeric=True),
        column("score", itemgetter("mean"), numeric=True),
        column("sequence", lambda one: f"{one['low']} – {one['high']}", numeric=True),
        title=shared("stopping", language),
        caption=shared("stopping_note", language),
        name="stopping",
    )


def _shown(one: Mapping[str, Any]) -> dict[str, str]:
    last, paired = one["looks"][-1], bool(one["against"])
    write = points if paired else percent
    return {
        "who": f"{one['model']} – {one['against']}" if paired else one["model"],
        **{name: write(last[name]) for name in ("mean", "low", "high")},
    }
