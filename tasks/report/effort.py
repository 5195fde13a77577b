"""Where the next calls buy most: what each score's variance is made of, as a table for every kind of report."""

from collections.abc import Mapping
from typing import Any

from tasks.report.tables import Table, columns
from tasks.report.text import estimated, percent
from tasks.report.words import shared

HEADS = ("model", "suite", "n_items", "calls_per_item", "from_items", "from_repeats", "from_judges", "narrowing")


def next_calls(results: Mapping[str, Any], language: str) -> Table | None:
    """Return the table, each model's most worthwhile suite first; None where no score has a variance."""
    rows = [
        (
            one["model"],
            one["suite"],
            str(one["n"]),
            f"{one['calls_per_item']:.1f}",
            percent(one["items"]),
            percent(one["repeats"]),
            estimated(one["judges"], one["judges_interval"]["low"], one["judges_interval"]["high"]),
            percent(one["narrowing"]),
        )
        for one in results.get("next_calls", ())
    ]
    if not rows:
        return None
    names = [shared(name, language) for name in HEADS]
    title, note = shared("next_calls", language), shared("next_calls_note", language)
    return Table(columns(*names, numeric=names[2:]), rows, title, note)
