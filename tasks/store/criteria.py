"""The criteria of a run: all that decides it, written to a file of its folder before the first call.

Runs in one folder whose suites take their questions from the same source are looks at the same questions: each
later run lists them, and what of the criteria was changed between them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from basic_control.data.draw import format_canonical
from basic_control.tasks.store.tables import write_json

FILE = "criteria.json"
SCHEMA = 1
LISTED = 20
"""The most earlier runs that a manifest names, the newest ones; it counts all."""
_OF_RUN = (
    "gate", "threshold", "undecided", "judges_must_have", "fail_on", "max_drop", "baseline", "allow_different",
    "explainability",
)  # fmt: skip
_OF_SUITE = (
    "metrics", "score", "threshold", "weight", "strata", "gate_on", "k", "aggregate", "judges", "repeats", "stop",
    "skip_unreadable",
)  # fmt: skip
_OF_JUDGES = ("provider", "model", "temperature", "seed")
_SAMPLING = ("sample", "n_items", "seed")
"""The keys of a suite's items that say which of a source's questions are asked."""

Rules = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CriteriaChange:
    """A criterion that was changed after a run with another had begun: when, by which run, from what to what."""

    at: str
    run: str
    key: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class FixedCriteria:
    """A run's criteria as its file has them: when they were fixed, and the settings that decide (`rules`).

    `sources` are digests of where each suite takes its questions from.
    """

    run: str
    fixed: str
    rules: Rules
    sources: Mapping[str, str]


def collect_rules(configuration: Mapping[str, Any], data_digests: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the settings that decide a run, with the digests of each suite's data files."""
    judges: dict[str, Any] = {}
    for judge in configuration.get("judges") or ():
        judges[judge["name"]] = _select(judge, _OF_JUDGES)
    suites: dict[str, Any] = {}
    for suite in configuration.get("suites") or ():
        sampling = _select(suite.get("items") or {}, _SAMPLING)
        data = data_digests.get(suite["name"], ())
        suites[suite["name"]] = {**_select(suite, _OF_SUITE), "sampling": sampling, "data": data}
    rules = {**_select(configuration, _OF_RUN), "judges": judges, "suites": suites}
    # As the file holds them, so that equal ones are equal.
    plain: dict[str, Any] = json.loads(format_canonical(rules))
    return plain


def _select(options: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: options[key] for key in keys if key in options}


def hash_sources(configuration: Mapping[str, Any]) -> dict[str, str]:
    """Return a digest of where each suite takes its questions from, however many of them it asks."""
    digests = {}
    for suite in configuration.get("suites") or ():
        items = suite.get("items") or {}
        source = _select(items, [key for key in items if key not in _SAMPLING])
        digests[suite["name"]] = hashlib.sha256(format_canonical(source).encode()).hexdigest()[:16]
    return digests


def fix_criteria(
    folder: Path,
    fixed: str,
    configuration: Mapping[str, Any],
    data_digests: Mapping[str, Sequence[str]],
    previous: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write a run's criteria into its folder and return their entry in the manifest.

    `fixed` is the time, `previous` the entry of the same run before it was resumed. Criteria that are as they were
    keep their time.
    """
    criteria = FixedCriteria(
        folder.name, fixed, collect_rules(configuration, data_digests), hash_sources(configuration)
    )
    changes = [CriteriaChange(**change) for change in (previous or {}).get("changes", ())]
    before = read_criteria(folder)
    if before is None or before.rules != criteria.rules:
        write_json(folder / FILE, {"schema": SCHEMA, **asdict(criteria)})
    else:
        criteria = before
    looks = find_looks(folder, criteria)
    if before is not None:
        looks.append(before)
    # Of a resumed run, what changed between earlier runs stands in its first entry.
    steps = [*looks, criteria]
    if previous:
        steps = steps[-2:]
    for former, latter in pairwise(steps):
        changes += compare_criteria(former, latter)
    names = [look.run for look in looks if look.run != folder.name]
    first = steps[0].fixed
    return {
        "file": FILE,
        "sha256": hash_file(folder / FILE),
        "fixed": criteria.fixed,
        "since": changes[-1].at if changes else (previous or {}).get("since", first),
        "n_earlier": len(names),
        "earlier": names[-LISTED:],
        "changes": [asdict(change) for change in changes],
    }


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_criteria(folder: Path) -> FixedCriteria | None:
    """Return the criteria in a run's folder; None if there are none that can be read."""
    try:
        document = json.loads((folder / FILE).read_bytes())
        return FixedCriteria(**{key: document[key] for key in FixedCriteria.__dataclass_fields__})
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def find_looks(folder: Path, criteria: FixedCriteria) -> list[FixedCriteria]:
    """Return the criteria of earlier runs beside a run's folder that asked from the same sources, oldest first."""
    looks = []
    for path in folder.parent.glob(f"*/{FILE}"):
        look = read_criteria(path.parent)
        is_earlier = look is not None and look.run != folder.name and look.fixed <= criteria.fixed
        if look is not None and is_earlier and _list_shared(look, criteria):
            looks.append(look)
    return sorted(looks, key=lambda look: (look.fixed, look.run))


def _list_shared(first: FixedCriteria, second: FixedCriteria) -> list[str]:
    """Return the suites that ask from the same source in two runs."""
    return [suite for suite, source in first.sources.items() if second.sources.get(suite) == source]


def compare_criteria(former: FixedCriteria, latter: FixedCriteria) -> Iterator[CriteriaChange]:
    """Yield what was changed between two runs: of the run itself, and of suites that ask from the same source."""
    shared = _list_shared(former, latter)
    before, after = _flatten_rules(former.rules, shared), _flatten_rules(latter.rules, shared)
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) != after.get(key):
            yield CriteriaChange(latter.fixed, latter.run, key, before.get(key), after.get(key))


def _flatten_rules(rules: Rules, suites: Sequence[str]) -> dict[str, Any]:
    """Return rules by dotted keys, such as `support.threshold`; of the run, and of these suites."""
    flat = {**rules}
    declared = flat.pop("suites")
    for suite in suites:
        for key, value in declared.get(suite, {}).items():
            flat[f"{suite}.{key}"] = value
    return flat
