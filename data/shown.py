"""How reports show a metric: declared with the metric, so that reports need not know metrics by name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Text = Mapping[str, str]
"""A text for people, by language; a catalogue of phrases may add languages (`prompts.phrases`)."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Frequencies of a few labels among a metric's scored samples, for a table.

    `of(details)` yields the labels of one score, from its details (with several judges: of each judge's); a label
    that is not among `labels` is left out. `labels` in display order, each with its text ({}: itself); if empty,
    every label that occurs, the most frequent first.
    """

    name: str
    of: Callable[[Mapping[str, Any]], Iterable[str]]
    labels: Mapping[str, Text] = field(default_factory=dict)
    title: Text = field(default_factory=dict)
    note: Text = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Crossing:
    """Cross-tabulation of two properties of a sample: a table of `rows` against `columns` for each model.

    `of(details)` returns a row's and a column's name, or None. `alert` is the cell to look at first. `reasons` are
    the score reasons specific to a cell, which link it to its samples.
    """

    name: str
    of: Callable[[Mapping[str, Any]], tuple[str, str] | None]
    rows: Mapping[str, Text]
    columns: Mapping[str, Text]
    title: Text = field(default_factory=dict)
    note: Text = field(default_factory=dict)
    alert: tuple[str, str] = ("", "")
    reasons: Mapping[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shown:
    """How reports show a metric.

    `parts` are shown as means, in this order, each with its title; if empty, all that occur are shown. `headline`
    parts are shown next to the metric itself in every table. `bands`: scores are grouped into excellent, good, fair
    and poor; `meanings` explain the bands. `note` says what the metric can and cannot show.
    """

    parts: Mapping[str, Text] | Sequence[str] = ()
    headline: tuple[str, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    crossings: tuple[Crossing, ...] = ()
    bands: bool = False
    meanings: Mapping[str, Text] = field(default_factory=dict)
    note: Text = field(default_factory=dict)

    @property
    def titles(self) -> Mapping[str, Text]:
        """The declared parts with their titles."""
        return self.parts if isinstance(self.parts, Mapping) else {name: {} for name in self.parts}


def read_shown(path: Path, **of: Callable[[Mapping[str, Any]], Any]) -> Shown:
    """Read how reports show a metric from its YAML.

    `of` are the functions of its distributions and crossings, by name.
    """
    import yaml

    told = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    crossings, distributions = told.pop("crossings", {}), told.pop("distributions", {})
    for one in crossings.values():
        cells = one.get("reasons", {}).items()
        one["reasons"] = {(row, column): text for row, texts in cells for column, text in texts.items()}
        one["alert"] = tuple(one["alert"])
    return Shown(
        headline=tuple(told.pop("headline", ())),
        crossings=tuple(Crossing(name, of[name], **one) for name, one in crossings.items()),
        distributions=tuple(Distribution(name, of[name], **one) for name, one in distributions.items()),
        **told,
    )
