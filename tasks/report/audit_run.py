"""What an audit page is made of: a finished run as it is read for the page, and the page's sections."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from basic_control.data.characters import make_visible
from basic_control.data.commands import format_command
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.tasks.report.language import say
from basic_control.tasks.report.tables import Table
from basic_control.tasks.report.text import clip_text

NAME = 40
"""Characters of a name on the page."""
_RUNS = "artifacts/runs"

Declaration = Mapping[str, Any]
"""A suite as a configuration declares it."""
Lines = list[tuple[str, str]]
"""Lines of a section, each with a label, '' for none; an empty line with a label is to be filled by hand."""


@dataclass(frozen=True, slots=True)
class AuditedRun:
    """A finished run as its page reads it; `hashes` are the SHA-256 of files in its folder, by name."""

    name: str
    folder: Path
    manifest: Mapping[str, Any]
    results: Results
    verdict: RunVerdict
    hashes: Mapping[str, str]

    @property
    def configuration(self) -> Mapping[str, Any]:
        """The configuration that it ran with."""
        return self.manifest["configuration"]

    @property
    def suites(self) -> Sequence[Declaration]:
        """The declarations of its suites."""
        return [suite for suite in self.configuration.get("suites", ()) if isinstance(suite, Mapping)]

    @property
    def models(self) -> Sequence[Mapping[str, Any]]:
        """The entries of its models."""
        return [model for model in self.configuration.get("models", ()) if isinstance(model, Mapping)]

    def facts(self, key: str) -> Mapping[str, Any]:
        """Return a mapping of the manifest, empty if the run was made before it was recorded."""
        value = self.manifest.get(key)
        return value if isinstance(value, Mapping) else {}

    def command(self, words: str) -> str:
        """Return a command about the run, with the folder of runs that it needs."""
        runs, settings = self.folder.parent, ""
        # The reader may stand elsewhere, but the default needs no word.
        if str(runs) != _RUNS:
            settings = f" --set store.runs={runs}"
        return format_command(f"{words}{settings}")


_WORD = 20
"""Characters of a word that is left out rather than cut."""


@dataclass(frozen=True, slots=True)
class Detail:
    """How much the page shows: entries of a list, and characters of a text that somebody else wrote."""

    entries: int
    characters: int

    def cut(self, text: object) -> str:
        """Return a text on one line of at most so many characters, cut between words where they are short."""
        line = " ".join(make_visible(text).split())
        clipped = clip_text(line, self.characters)
        head, _, tail = clipped.rpartition(" ")
        # A digest, or a text without spaces, is cut where it must be.
        is_short = bool(head) and len(tail) <= _WORD
        return f"{head}…" if is_short and clipped != line else clipped

    def choose(self, lines: Lines) -> Lines:
        """Return the first lines, and how many more there are."""
        extra = len(lines) - self.entries
        if extra <= 0:
            return lines
        return [*lines[: self.entries], ("", say("audit.further", n=extra))]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: its table, if any, and its lines."""

    title: str
    lines: Sequence[tuple[str, str]] = ()
    table: Table | None = None


def cut_name(name: object) -> str:
    """Return a name on one line, short enough for a cell."""
    return clip_text(" ".join(make_visible(name).split()), NAME)
