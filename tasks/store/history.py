"""The history of runs: what their manifests and results say, and the notes that people set."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import TypeAdapter

from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError
from basic_control.data.exits import find_worst
from basic_control.tasks.store.owners import has_ended
from basic_control.tasks.store.runs import MANIFEST, list_folders, list_names, read_front, read_results
from basic_control.tasks.store.tables import write_json

if TYPE_CHECKING:
    from basic_control.metrics.analysis.headlines import ModelResult

LABELS = "labels.json"


class TargetScore(NamedTuple):
    """A target's score in [0, 1] with its interval, None where there is none; `verdict`: '' without one.

    One of a target's several scores says of which `model` it is, by which `suite` and `metric`; `problem`: why the
    target has no score.
    """

    score: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: str = ""
    model: str = ""
    suite: str = ""
    metric: str = ""
    problem: str = ""


class Cost(NamedTuple):
    """What a run cost, in a currency."""

    amount: float
    currency: str = ""


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A run: `commit` of the project that made it, `scores` by target; `exit_code` and `cost` None if unknown.

    `questions` is a short digest of what was asked, the same for runs whose scores can be ranked; '' if unknown.
    `status` is running, completed, damaged, or stopped: running no more, since its owner, a process, has ended.
    `verdict` is the find_worst of its models (a regression fails it), whatever the gate's result; '' without one.
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
    scores: Mapping[str, TargetScore] = field(default_factory=dict)
    questions: str = ""
    cost: Cost | None = None
    note: str = ""
    baseline: str = ""
    language: str = ""

    @property
    def targets(self) -> Mapping[str, TargetScore]:
        """The scores by target: a model with each of several prompts, recorded replies; the models if unscored."""
        return self.scores or dict.fromkeys(self.models, TargetScore())


_ENTRY = TypeAdapter(HistoryEntry)


def read_note(folder: Path) -> str:
    """Return the note that was set for a run; '' without one.

    Raises:
        InputError: the file that holds it is damaged.
    """
    path = folder / LABELS
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["note"])
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read ({error}). Remove it, and set the note again.") from error


def write_note(folder: Path, note: str) -> None:
    """Set a run's note, in a file of the run's own folder."""
    write_json(folder / LABELS, {"note": note})


def read_history(runs: Path) -> list[HistoryEntry]:
    """Return the runs of a folder, newest first."""
    entries = [_read_or_name(path) for path in list_folders(runs).values() if (path / MANIFEST).is_file()]
    return sorted(entries, key=lambda entry: entry.started, reverse=True)


def _read_or_name(folder: Path) -> HistoryEntry:
    try:
        return _read_entry(folder)
    except (InputError, AttributeError, KeyError, TypeError, ValueError):
        # One folder must not hide the others.
        return HistoryEntry(folder.name)


def _read_entry(folder: Path) -> HistoryEntry:
    """Return the entry of a run; what cannot be read is left blank."""
    manifest = _read_manifest(folder / MANIFEST)
    configuration = manifest.get("configuration") or {}
    report = configuration.get("report") or {}
    entry = {
        "name": folder.name,
        "title": str(report.get("name") or ""),
        "started": str(manifest.get("started", "")),
        "status": _find_status(manifest),
        "models": list_names(configuration.get("models")),
        "suites": list_names(configuration.get("suites")),
        "commit": str(manifest.get("commit") or ""),
        "note": read_note(folder) or str(report.get("note") or ""),
        "baseline": str(configuration.get("baseline") or ""),
        "language": str(report.get("language") or ""),
    }
    return _ENTRY.validate_python({**entry, **_read_outcome(folder)})


def _read_outcome(folder: Path) -> dict[str, Any]:
    """Return what a run's results say; nothing of one that is going on, or was broken off."""
    try:
        results, verdict = read_results(folder)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    spending = results.spending
    cost = None
    if spending and spending.cost_now is not None:
        cost = Cost(spending.cost_now, spending.currency)
    scores: dict[str, TargetScore] = {}
    for model in verdict.models:
        scores.update(_name_scores(model))
    return {
        "exit_code": int(verdict.exit_code),
        "verdict": find_worst((model.verdict for model in verdict.models), verdict.changes),
        "scores": scores,
        "questions": _digest_questions(results.run.get("items") or {}),
        "cost": cost,
    }


def _name_scores(model: "ModelResult") -> Iterator[tuple[str, TargetScore]]:
    """Yield a model's score by its name; without a score for all, those of its headlines by their names."""
    problem = model.missing or model.failed
    if problem:
        yield model.model, TargetScore(verdict=model.verdict, problem=problem)
        return
    if model.headlines_with_weight:
        score = model.overall.measured.score
        yield model.model, TargetScore(score.mean, score.interval.low, score.interval.high, model.verdict)
        return
    for headline in model.headlines:
        score, outcome = headline.measured.score, headline.decided.outcome
        by = {"model": model.model, "suite": headline.suite, "metric": headline.metric}
        name = " ".join(by.values()).rstrip()
        yield name, TargetScore(score.mean, score.interval.low, score.interval.high, outcome, **by)


def _digest_questions(items: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a short digest of the questions of every suite."""
    digests = {suite: questions.get("digest") for suite, questions in items.items()}
    if not digests:
        return ""
    return hashlib.sha256(format_canonical(digests).encode()).hexdigest()[:7]


def _find_status(manifest: Mapping[str, Any]) -> str:
    status = str(manifest.get("status", "completed")) if manifest else "damaged"
    # A killed process changes no file.
    if status == "running" and has_ended(str(manifest.get("owner") or ""), is_sole_user=False):
        return "stopped"
    return status


def _read_manifest(path: Path) -> Mapping[str, Any]:
    """Return a run's manifest; nothing of one that is damaged, whose results may still be read."""
    with suppress(OSError, ValueError, RecursionError):
        document = read_front(path)
        if isinstance(document, Mapping):
            return document
    return {}
