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
    and poor; `meanings` explain the bands. `note` says what the metric can and cannot show. `claims` is the key, in
    what each judge says, of the reply's claims: sentences of those without support are marked in the reply.
    """

    parts: Mapping[str, Text] | Sequence[str] = ()
    headline: tuple[str, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    crossings: tuple[Crossing, ...] = ()
    bands: bool = False
    meanings: Mapping[str, Text] = field(default_factory=dict)
    note: Text = field(default_factory=dict)
    claims: str = ""

    @property
    def titles(self) -> Mapping[str, Text]:
        """The declared parts with their titles."""
        if isinstance(self.parts, Mapping):
            return self.parts
        return {name: {} for name in self.parts}


def read_shown(path: Path, **of: Callable[[Mapping[str, Any]], Any]) -> Shown:
    """Read how reports show a metric from its YAML.

    `of` are the functions of its distributions and crossings, by name.
    """
    import yaml

    document = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    crossings: list[Crossing] = []
    for name, parts in document.pop("crossings", {}).items():
        reasons: dict[tuple[str, str], str] = {}
        for row, texts in parts.pop("reasons", {}).items():
            reasons |= {(row, column): text for column, text in texts.items()}
        crossings.append(Crossing(name, of[name], alert=tuple(parts.pop("alert")), reasons=reasons, **parts))
    distributions = document.pop("distributions", {}).items()
    return Shown(
        headline=tuple(document.pop("headline", ())),
        crossings=tuple(crossings),
        distributions=tuple(Distribution(name, of[name], **parts) for name, parts in distributions),
        **document,
    )
