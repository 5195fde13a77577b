"""Leaderboard: the results of every finished run of a folder, from its results.json alone."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from config.declared import suites_in
from data.characters import storable
from data.draw import canonical
from data.errors import InputError
from data.exits import worst
from data.plugins import metric
from data.suites import Suite
from prompts.phrases import ENGLISH
from tasks.compare.configurations import asking_part, flatten, language_of
from tasks.store.manifest import lasting
from tasks.store.runs import folders, head

_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


Asked = tuple[tuple[Suite, int | None], ...]
"""Suites, and how many questions each asked; None if not recorded."""


@dataclass(frozen=True, slots=True)
class LeaderboardEntry:
    """One model in one run: its overall score with interval, its suites as in results.json.

    `key` identifies the questions asked: equal keys, the same questions. `scoring` is what else its score depends
    on: judges, weights, and how the suites' scores are made. `version` is a digest of the model behind the name: on
    a board with several of a name, each is listed separately. `verdict` is the worse of the model's own and of the
    run's against its baseline.
    """

    model: str
    run: str
    started: datetime
    score: float | None
    low: float | None
    high: float | None
    verdict: str
    suites: Mapping[str, Mapping[str, Any]]
    key: tuple[tuple[str, str], ...]
    asked: Asked
    judges: tuple[str, ...]
    scoring: Mapping[str, str]
    version: str = ""
    threshold: float | None = None

    @property
    def n(self) -> tuple[int, int]:
        """The numbers of scored rows and of all rows."""
        own = self.suites.values()
        return sum(int(s["n_scored"]) for s in own), sum(int(s["n_asked"]) for s in own)


@dataclass(frozen=True)
class Board:
    """Runs on the same questions, best first; `asked` says which, `differing` maps a key to other differences.

    `history` is every such run, newest first, of which `entries` are the latest of each model.
    """

    asked: Asked
    entries: list[LeaderboardEntry]
    differing: Mapping[str, list[str]] = field(default_factory=dict)
    history: Sequence[LeaderboardEntry] = ()

    def trends(self) -> dict[str, list[LeaderboardEntry]]:
        """Return the runs of each version of a model with at least two, oldest first, the models best first.

        Each score has the interval of its own run, pointwise: these do not support conclusions about differences
        between two scores.
        """
        found: dict[str, list[LeaderboardEntry]] = {one.model: [] for one in self.entries}
        for one in sorted(self.history, key=lambda one: (one.started, one.run)):
            found.setdefault(one.model, []).append(one)
        return {model: own for model, own in found.items() if len(own) > 1}


@dataclass(frozen=True)
class Leaderboard:
    """All boards, and the folders without a finished or readable run, with the reason."""

    boards: list[Board]
    unfinished: list[str]
    unread: list[tuple[str, str]]
    language: str = ENGLISH


@lru_cache(100)
def _declared(configuration: str) -> tuple[Suite, ...]:
    """Return the suites of a configuration: the runs of a folder mostly share a few."""
    return tuple(suites_in(json.loads(configuration)))


def read(document: Mapping[str, Any]) -> Iterator[LeaderboardEntry]:
    """Yield each model's entry in one run's results.

    Raises:
        KeyError, TypeError, ValueError, AttributeError, OverflowError: the document does not have the form of
            `metrics.analysis.document`.
    """
    run, started = document["run"], datetime.fromisoformat(document["run"]["started"])
    configuration = run["configuration"]
    sets = run.get("items") or {}
    declared = {suite.name: suite for suite in _declared(canonical(configuration))}
    for model in document["final"]["models"]:
        suites = {
            storable(suite["suite"]): {
                "score": _number(suite["score"]),
                "threshold": _number(suite.get("threshold")),
                "interval": {end: _number(suite["interval"][end]) for end in ("low", "high")},
                **{name: int(suite[name]) for name in ("n_scored", "n_asked")},
            }
            for suite in model["suites"]
        }
        weighing = [suite for suite in model["suites"] if suite.get("weight")]
        deciding = weighing[0] if len(weighing) == 1 else model
        own = {name: declared[name] for name in suites if name in declared}
        asking = {name: canonical(asking_part(suite)) for name, suite in own.items()}
        # With corrected answers, they are the same questions.
        answers = {f"{name}.answers": (sets.get(name) or {}).get("answers") for name in suites}
        every = [judge["name"] for judge in configuration["judges"]]
        names = {name: listed for name, suite in own.items() if (listed := _judges(suite, every))}
        yield LeaderboardEntry(
            model=storable(model["model"]),
            run=storable(run["run"]),
            started=started if started.tzinfo else started.replace(tzinfo=UTC),  # makes all comparable
            score=_number(model["score"]),
            low=_number(model["interval"]["low"]),
            high=_number(model["interval"]["high"]),
            verdict=worst([storable(model["verdict"])], document["final"].get("changes") or ()),
            suites=suites,
            # Without digests (no items: nothing was drawn) the configuration identifies the questions.
            key=tuple(
                (name, (sets.get(name) or {}).get("digest") or asking.get(name, "")) for name in sorted(suites)
            ),
            asked=tuple((suite, (sets.get(name) or {}).get("n")) for name, suite in own.items()),
            judges=tuple(dict.fromkeys(name for listed in names.values() for name in listed)),
            scoring=dict(_scoring(own, names, {suite["suite"]: suite.get("k") for suite in model["suites"]}))
            | {name: storable(one) for name, one in answers.items() if one},
            version=_version((run.get("identities") or {}).get(model["model"])),
            threshold=_number(deciding.get("threshold")),
        )


def _version(identity: Mapping[str, Any] | None) -> str:
    """Return a short digest of the model behind a name; '' if not recorded."""
    return hashlib.sha256(canonical(lasting(identity)).encode()).hexdigest()[:8] if identity else ""


def _judges(suite: Suite, every: Sequence[str]) -> tuple[str, ...]:
    """Return the judges that make a suite's score; those of metrics that no longer exist do not count."""
    found: dict[str, None] = {}
    for name in suite.scored_by:
        with suppress(InputError):
            found |= dict.fromkeys(suite.use(name).judges or suite.judges or every) if metric(name).steps else {}
    return tuple(found)


def _number(value: object) -> float | None:
    """Return a number, or None if missing; any other type or too large a number raises an error."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"expected a number or null, found {str(value)[:40]!r}")
    return float(value)


def _scoring(
    suites: Mapping[str, Suite], judges: Mapping[str, Sequence[str]], answers: Mapping[str, int | None]
) -> Iterator[tuple[str, str]]:
    """Yield what else scores depend on; `answers` are the k of suites gated on k answers."""
    if len(suites) > 1:
        yield from ((f"weights.{name}", canonical(suite.weight)) for name, suite in suites.items())
    for name, suite in suites.items():
        for path, value in flatten({one: dict(suite.metrics[one]) for one in suite.scored_by}, name):
            yield path, canonical(value)
        if suite.of_k:
            yield f"{name}.gate_on", f"{suite.gate_on}, k {answers[name]}"
        if suite.strata:
            yield f"{name}.strata", suite.strata
        if name in judges:
            yield f"{name}.aggregate", suite.aggregate
    for name, names in judges.items():
        yield f"{name}.judges", ", ".join(names)


def gather(runs: Path, *, language: str = "") -> Leaderboard:
    """Read all runs of a folder: for each set of questions the latest result of each version of a model.

    The default language is that of the latest run's report.
    """
    listed: list[LeaderboardEntry] = []
    configurations: list[tuple[datetime, Mapping[str, Any]]] = []
    unfinished: list[str] = []
    unread: list[tuple[str, str]] = []
    for folder in folders(runs).values():
        if (folder / "level.json").exists():  # a search has no score
            continue
        try:
            document = head(folder)
            listed += (own := list(read(document)))  # all of a run, or nothing
            configurations += [(one.started, document["run"]["configuration"]) for one in own[:1]]
        except FileNotFoundError:
            unfinished.append(folder.name)
        except _UNREADABLE as error:
            unread.append((folder.name, f"{type(error).__name__}: {error}"))
    boards: dict[tuple[tuple[str, str], ...], list[LeaderboardEntry]] = {}
    for one in sorted(listed, key=lambda one: (one.started, one.run), reverse=True):
        boards.setdefault(one.key, []).append(one)
    spoken = language_of((one for _, one in sorted(configurations, key=lambda pair: pair[0])), language)
    return Leaderboard([_board(own) for own in boards.values()], unfinished, unread, spoken)


def _board(listed: Sequence[LeaderboardEntry]) -> Board:
    """Rank the latest results on the same questions, best first, with other differences between them.

    A name that has meant several models is shown with the version.
    """
    versions: dict[str, set[str]] = {}
    for one in listed:
        versions.setdefault(one.model, set()).add(one.version)
    history = [
        replace(one, model=f"{one.model} ({one.version or '?'})") if len(versions[one.model]) > 1 else one
        for one in listed
    ]
    newest: dict[str, LeaderboardEntry] = {}
    for one in history:
        newest.setdefault(one.model, one)
    latest = [*newest.values()]
    ordered = sorted(latest, key=lambda one: (-1.0 if one.score is None else one.score, one.started), reverse=True)
    differing = {}
    for key in dict.fromkeys(key for one in history for key in one.scoring):
        values = dict.fromkeys(one.scoring.get(key, "–") for one in history)
        if len(values) > 1:
            differing[key] = [*values]
    return Board(latest[0].asked, ordered, differing, history)
