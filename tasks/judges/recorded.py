"""What judges said of replies in recorded runs: labels joined without them are completed by it."""

import hashlib
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError
from basic_control.metrics.cascade import confidence_in
from basic_control.tasks.judges.labels import load_judged, reply_names, select_distinct
from basic_control.tasks.store.manifest import strip_freshness
from basic_control.tasks.store.runs import Run, find_by_name, list_runs

MOST_RUNS = 10
"""Runs that are read for a judge's verdicts, the newest ones."""

Verdicts = Mapping[str, Mapping[str, Any]]
"""What was said of a reply, by the key of the judge's identity: value and, of a judge that decides, confidence."""


def identity_key(identity: Mapping[str, str]) -> str:
    """Return a hash of what identifies a judge, by which its answers to labelled replies are kept."""
    return hashlib.sha256(format_canonical(strip_freshness(identity)).encode()).hexdigest()[:16]


def collect_judged(
    details: str, identities: Mapping[str, Mapping[str, str]], members: Mapping[str, tuple[str, ...]]
) -> dict[str, Any]:
    """Return what judges said of a labelled reply, by judge: value, confidence and a key of their identity.

    Of a cascade, what its judges said (`members`).
    """
    verdicts: dict[str, Any] = {}
    for name, result in json.loads(details).get("judges", {}).items():
        if name in members and "cascade" in result:
            small, large = members[name]
            account = result["cascade"]
            verdicts[small] = {"value": account["small"], "confidence": account["confidence"]}
            if account["large"] is not None:
                verdicts[large] = {"value": account["large"]}
        elif result.get("value") is not None:
            confidence = confidence_in(result.get("probabilities", {}), result["value"])
            verdicts[name] = {"value": result["value"], "confidence": confidence}
    return {
        name: {**judged, "of": identity_key(identities[name])}
        for name, judged in verdicts.items()
        if name in identities
    }


def members_in(configuration: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the judges of each cascade of a recorded configuration."""
    judges = configuration.get("judges") or ()
    return {judge["name"]: tuple(judge["cascade"]) for judge in judges if judge.get("cascade")}


@dataclass(frozen=True, slots=True)
class JudgedMetric:
    """A metric of a suite with its criterion, the folder of the runs in which it was judged, and their store."""

    folder: Path
    root: str
    suite: str
    metric: str
    criterion: str


def find_verdicts(of: JudgedMetric, keys: Collection[str], replies: Collection[str]) -> dict[str, Verdicts]:
    """Return what judges of these identities said of replies in recorded runs, by reply.

    The replies are named as labels name them; a later run's verdict takes the place of an earlier one's.
    """
    wanting, verdicts = {*replies}, dict[str, Verdicts]()
    recorded = [run for run in list_runs(of.folder) if run.is_finished and _is_judged_by(run, keys)]
    for run in reversed(recorded[-MOST_RUNS:]):
        if not wanting:
            break
        # A run whose tables are gone tells nothing.
        with suppress(InputError):
            of_run = _read(run.name, of)
            verdicts |= {reply: of_run[reply] for reply in wanting & of_run.keys()}
            wanting -= verdicts.keys()
    return verdicts


def _is_judged_by(run: Run, keys: Collection[str]) -> bool:
    identities = run.manifest.get("judge_identities") or {}
    return any(identity_key(identity) in keys for identity in identities.values())


@lru_cache(64)
def _read(name: str, of: JudgedMetric) -> dict[str, Verdicts]:
    """Return what a finished run's judges said of its replies; its tables do not change."""
    run = find_by_name(name, of.folder)
    rows = select_distinct(load_judged(run, of.root).filter(suite=of.suite, metric=of.metric))
    identities = run.manifest.get("judge_identities") or {}
    members = members_in(run.configuration)
    verdicts: dict[str, Verdicts] = {}
    for _, of_model in rows.group_by("model", maintain_order=True):
        names = reply_names(of_model, of.criterion)
        for reply, details in zip(names, of_model["details"], strict=True):
            entries = collect_judged(details, identities, members).values()
            verdicts[reply] = {entry["of"]: entry for entry in entries}
    return verdicts
