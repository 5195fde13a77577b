"""The level of a model in words, as a table, as JSON and as a page with its curves."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from data.exits import Exit
from metrics.analysis.levels import Curve
from prompts.phrases import phrase
from tasks.report.pages import still
from tasks.report.tables import Table, column_maker
from tasks.report.text import p_value, speaking, written
from tasks.report.titles import title_of
from tasks.store.tables import write_atomically

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class LevelReport:
    """The result of a search: a curve for each family and language, from `questions` of each."""

    run: str
    started: datetime
    model: str
    seed: int
    questions: int
    curves: Sequence[Curve]
    requests: Mapping[str, int]
    language: str

    @property
    def exit_code(self) -> Exit:
        """`Exit.ERROR` if a curve has no answer at all."""
        return Exit.PASSED if all(one.counts.answered.any() for one in self.curves) else Exit.ERROR

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        return {
            "schema": SCHEMA,
            "run": {"run": self.run, "started": self.started.isoformat()},
            "model": self.model,
            "seed": self.seed,
            "questions": self.questions,
            "curves": [one.as_dict() for one in self.curves],
            "requests": dict(self.requests),
        }


def at(one: Curve, position: float) -> str:
    """Format a position in the rungs' unit; outside the scale, beyond which rung it lies."""
    found = one.value(position)
    if found is None:
        return f"< {one.values[0]}" if position < 1 else f"> {one.values[-1]}"
    if one.unit:
        return written(f"{found:.1f}")
    low = int(position)
    return one.values[low - 1] if low == position else f"{one.values[low - 1]} – {one.values[low]}"


def table(found: LevelReport) -> Table:
    """Return the levels, a row for each family and language."""
    language = found.language
    column = column_maker("level", language)

    def level(one: Curve) -> str:
        unit = one.unit.get(language) or one.unit.get("en", "")
        return f"{at(one, one.level.at)} {unit}".rstrip() if one.counts.answered.any() else "–"

    def interval(one: Curve) -> str:
        ends = phrase("level.ends", language, low=at(one, one.level.low), high=at(one, one.level.high))
        return ends if one.counts.answered.any() else "–"

    return Table.of(
        found.curves,
        column("family", lambda one: title_of(one.family, language)),
        column("language", lambda one: one.language),
        column("level", level, unbroken=True),
        column("interval", interval, unbroken=True),
        column("asked", lambda one: str(int(one.counts.answered.sum())), numeric=True),
        column("right", lambda one: str(int(one.counts.right.sum())), numeric=True),
        column("order", lambda one: phrase("level.falls" if one.falls else "level.rises", language)),
        title=phrase("level.title", language, model=found.model),
    )


def notes(found: LevelReport) -> Iterator[str]:
    """Yield notes: what a level is, where a scale does not hold, and where nothing was answered."""
    language = found.language
    yield phrase("level.about", language, n=found.questions)
    for one in found.curves:
        name = f"{title_of(one.family, language)} ({one.language})"
        if not one.counts.answered.any():
            yield phrase("level.nothing", language, name=name)
        elif not one.falls and one.order.rises:
            easier, harder = (one.values[rung - 1] for rung in one.order.rises)
            told = {"name": name, "easier": easier, "harder": harder, "p": p_value(one.order.p)}
            yield phrase("level.contrary", language, **told)
    yield phrase("common.calls", language, **found.requests)


@speaking(lambda found: found.language)
def html(found: LevelReport) -> str:
    """Return the page: the table, the notes and a chart of each curve; no script, no network."""
    made, language = table(found), found.language

    def labels(one: Curve) -> dict[str, str]:
        named = {"family": title_of(one.family, language), "language": one.language}
        return {
            "title": f"{named['family']} ({one.language})",
            "label": phrase("level.curve", language, **named),
            "rungs": one.unit.get(language) or one.unit.get("en") or phrase("level.rungs", language),
            "share": phrase("level.share", language),
        }

    return still(
        "level.html.j2",
        ("comparison.css", "level.css"),
        section="level",
        language=language,
        title=made.title,
        table=made,
        notes=list(notes(found)),
        curves=[(one, labels(one)) for one in found.curves],
    )


def write(found: LevelReport, folder: Path) -> list[Path]:
    """Write `level.json`, and the page among the run's reports."""
    texts = {
        folder / "reports" / f"level_{found.started:%Y%m%d_%H%M%S}.html": html(found),
        folder / "level.json": json.dumps(found.as_dict(), ensure_ascii=False, indent=2),
    }
    for path, text in texts.items():
        write_atomically(path, text)
    return list(texts)
