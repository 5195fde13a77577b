"""The history of runs: what their manifests and results say, with tags and notes.

Tags and notes are in a run's own folder, in `labels.json`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from data.errors import InputError
from data.exits import worst
from tasks.store.owners import has_ended
from tasks.store.runs import MANIFEST, RESULTS, folders, front, names_in
from tasks.store.tables import write_json

LABELS = "labels.json"
_ASIDE = {"models", "judges", "store", "report", "baseline", "gate", "executor"}


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A run: `commit` of the project that made it, `scores` and `verdicts` by model; `exit_code` None if none.

    `configuration` is a short hash of the configuration, the same for runs that ask the same; `file`
    the name of the configuration file, '' if there was none or an older version did not keep it; `cost` is what the
    run cost, None if unknown.

    `status` is running, completed, damaged, or stopped: running no more, since its owner, a process, has ended.
    `verdict` is the worst of its models (a regression fails it), whatever the gate's result; '' without one.
    `language` is that of its reports; '' if unknown. `title` is the run's name (`report.name`).
    """

    name: str
    title: str = ""
    started: str = ""
    status: str = "damaged"
    models: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    commit: str = ""
    exit_code: int | None = None
    verdict: str = ""
    scores: Mapping[str, float | None] = field(default_factory=dict)
    verdicts: Mapping[str, str] = field(default_factory=dict)
    configuration: str = ""
    file: str = ""
    cost: float | None = None
    currency: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    baseline: str = ""
    language: str = ""

    @property
    def scored(self) -> Mapping[str, float | None]:
        """The scores by target: a model with each of several prompts, recorded replies; the models if unscored."""
        return self.scores or dict.fromkeys(self.models)


_ENTRY = TypeAdapter(HistoryEntry)


def labels(folder: Path) -> dict[str, Any]:
    """Return a run's tags and note.

    Raises:
        InputError: the file that holds them is damaged.
    """
    path = folder / LABELS
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {"tags": [str(tag) for tag in found["tags"]], "note": str(found["note"])}
    except FileNotFoundError:
        return {"tags": [], "note": ""}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read ({error}). Remove it, and tag the run again.") from error


def label(folder: Path, add: Sequence[str], remove: Sequence[str] = (), note: str | None = None) -> dict[str, Any]:
    """Add and remove tags of a run and set its note; return the resulting labels."""
    found = labels(folder)
    tags = [tag for tag in dict.fromkeys((*found["tags"], *add)) if tag not in remove]
    kept = {"tags": tags, "note": found["note"] if note is None else note}
    write_json(folder / LABELS, kept)
    return kept


def history(runs: Path) -> list[HistoryEntry]:
    """Return the runs of a folder, newest first."""
    found = [_entry(path) for path in folders(runs).values() if (path / MANIFEST).is_file()]
    return sorted(found, key=lambda one: one.started, reverse=True)


def _entry(folder: Path) -> HistoryEntry:
    try:
        return _read(folder)
    except (InputError, AttributeError, KeyError, TypeError, ValueError):
        return HistoryEntry(folder.name)  # one folder must not hide the others


def _read(folder: Path) -> HistoryEntry:
    """Return the entry of a run; what cannot be read is left blank."""
    manifest, results = _json(folder / MANIFEST), _json(folder / RESULTS)
    final, spent = results.get("final") or {}, (results.get("run") or {}).get("spending") or {}
    configuration = manifest.get("configuration") or {}
    report, said = configuration.get("report") or {}, labels(folder)
    said["note"] = said["note"] or str(report.get("note") or "")
    models = final.get("models", ())
    # The same for runs that ask the same: the models and the storage location are left out.
    asked = {name: value for name, value in configuration.items() if name not in _ASIDE}
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()[:7]
    found = {
        "name": folder.name,
        "title": str(report.get("name") or ""),
        "started": str(manifest.get("started", "")),
        "status": _status(manifest),
        "models": names_in(configuration.get("models")),
        "suites": names_in(configuration.get("suites")),
        "commit": str(manifest.get("commit") or ""),
        "exit_code": final.get("exit_code"),
        "verdict": worst((str(one.get("verdict")) for one in models), final.get("changes") or ()),
        "scores": {str(one["model"]): one["score"] for one in models},
        "verdicts": {str(one["model"]): str(one.get("verdict", "")) for one in models},
        "configuration": digest if asked else "",
        "file": str(report.get("file") or ""),
        "cost": spent.get("cost_now"),
        "currency": str(spent.get("currency") or ""),
        "baseline": str(configuration.get("baseline") or ""),
        "language": str(report.get("language") or ""),
        **said,
    }
    return _ENTRY.validate_python(found)


def _status(manifest: Mapping[str, Any]) -> str:
    status = str(manifest.get("status", "completed")) if manifest else "damaged"
    # A killed process changes no file.
    gone = status == "running" and has_ended(str(manifest.get("owner") or ""), here=False)
    return "stopped" if gone else status


def _json(path: Path) -> Mapping[str, Any]:
    try:
        found = front(path)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}
