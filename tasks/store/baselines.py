"""Baselines: a run's scores by question, in one small file without texts, for a team to commit."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from data.batches import Ref
from data.commands import BASELINES
from data.errors import InputError
from data.tables import ITEMS, SCORES
from metrics.analysis.baseline import Provenance, SuiteRules
from tasks.store.tables import write_atomically

SCHEMA = 2
KEPT = ("items", "requests", "responses", "judgements", "evidence")
"""The tables needed to score a run's replies again."""
_PLACE = ("suite", "family")
_IDS = dict.fromkeys(("item_id", *ITEMS.added), pl.String())
_VALUES = ("item_id", "repeat", "value", "status", "reason")
_REPLIES = {"item_id": pl.String(), "repeat": pl.Int64(), "reply": pl.String()}


@dataclass(frozen=True, slots=True)
class Baseline:
    """A pinned run: the facts behind its numbers, its questions, and its scores with their suites.

    `questions` has the columns item_id, suite, family and the ids of the question, `scores` those of the scores
    table for values (the reason only of failed calls), `replies` has a digest of each reply. `tables` are the run's
    own, by which its replies are found as long as a store has them.
    """

    name: str
    run: str
    started: str
    provenance: Provenance
    questions: pl.DataFrame
    scores: pl.DataFrame
    replies: pl.DataFrame
    tables: Mapping[str, tuple[Ref, ...]]


def path_of(name: str, folder: str = BASELINES) -> Path:
    """Return a baseline's path; a name that ends in .json is a path itself."""
    return Path(name) if name.endswith(".json") else Path(folder) / f"{name}.json"


def write(baseline: Baseline, path: Path) -> Path:
    """Write a baseline, a line for each suite's questions of a family, and for each model, suite and metric.

    Raises:
        InputError: it cannot be written.
    """
    suites = {name: {"score": one.score, "rules": one.rules} for name, one in baseline.provenance.suites.items()}
    head = {
        "schema": SCHEMA,
        "name": baseline.name,
        "run": baseline.run,
        "started": baseline.started,
        "facts": {**asdict(baseline.provenance), "suites": suites},
        "tables": {kind: [one.as_dict() for one in refs] for kind, refs in baseline.tables.items()},
    }
    reason = pl.when(pl.col("status") == "model_error").then("reason").otherwise(pl.lit("")).alias("reason")
    listed = {
        "questions": _grouped(baseline.questions.sort(*_PLACE, "item_id"), _PLACE, (*_IDS,)),
        "scores": _grouped(
            baseline.scores.with_columns(reason).sort("model", "suite", "metric", "item_id", "repeat"),
            ("model", "suite", "metric"),
            _VALUES,
        ),
        "replies": _grouped(baseline.replies.sort("model", "item_id", "repeat"), ("model",), (*_REPLIES,)),
    }
    text = json.dumps(head, ensure_ascii=False, indent=1)[:-2]
    for name, groups in listed.items():
        lines = ",\n".join(f"  {json.dumps(one, ensure_ascii=False)}" for one in groups)
        text += f',\n "{name}": [\n{lines}\n ]'
    return write_atomically(path, f"{text}\n}}\n")


def _grouped(frame: pl.DataFrame, by: tuple[str, ...], columns: tuple[str, ...]) -> Iterable[dict[str, Any]]:
    """Yield an object for each group, with a list for each column."""
    for key, own in frame.group_by(by, maintain_order=True):
        yield {**dict(zip(by, key, strict=True)), **{name: own[name].to_list() for name in columns}}


def read(name: str, folder: str = BASELINES) -> Baseline:
    """Read a baseline by its name in a folder, or by its path.

    Raises:
        InputError: it does not exist, or is invalid.
    """
    path = path_of(name, folder)
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        there = ", ".join(one.stem for one in files(folder)) or "none"
        raise InputError(
            f"baseline {name}: {path} not found; {folder} contains {there}. Set one from a finished run: "
            f"basic-control baseline set {name} RUN."
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"baseline {name}: {path} cannot be read ({error}). Set it again from a run.") from error
    found = raw.get("schema") if isinstance(raw, Mapping) else None
    if found != SCHEMA:
        run = (found and raw.get("run")) or "RUN"
        raise InputError(
            f"baseline {name}: {path} has schema {found!r}, expected {SCHEMA}: earlier ones have no question "
            f"ids. Set it again, from its run or another: basic-control baseline set {name} {run}."
        )
    try:
        facts = raw["facts"]
        suites = {
            suite: SuiteRules(tuple(one["score"]), dict(one["rules"])) for suite, one in facts["suites"].items()
        }
        return Baseline(
            str(raw["name"]),
            str(raw["run"]),
            str(raw["started"]),
            Provenance(suites, *(dict(facts[name]) for name in ("rules", "units", "tested"))),
            _frame(({"family": "", **one} for one in raw["questions"]), _PLACE, _IDS),  # earlier ones name none
            _frame(raw["scores"], ("model", "suite", "metric"), {name: SCORES.columns[name] for name in _VALUES}),
            _frame(raw["replies"], ("model",), _REPLIES),
            {str(kind): tuple(map(Ref.read, refs)) for kind, refs in raw["tables"].items()},
        )
    except (KeyError, TypeError, AttributeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"baseline {name}: {path} is damaged ({error!r}). Set it again.") from error


def _frame(
    listed: Iterable[Mapping[str, Any]], by: tuple[str, ...], kinds: Mapping[str, pl.DataType]
) -> pl.DataFrame:
    parts = [
        pl.DataFrame({name: one[name] for name in kinds}, schema=dict(kinds)).with_columns(
            **{name: pl.lit(str(one[name])) for name in by}
        )
        for one in listed
    ]
    empty = {**kinds, **dict.fromkeys(by, pl.String())}
    return pl.concat([pl.DataFrame(schema=empty), *parts])


def files(folder: str = BASELINES) -> list[Path]:
    """Return the baselines in a folder, by name."""
    return sorted(Path(folder).glob("*.json"))
