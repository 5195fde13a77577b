"""Baselines: a run's scores by question, in one small file without texts, for a team to commit."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.data.batches import Ref
from basic_control.data.commands import BASELINES
from basic_control.data.errors import InputError
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.baseline import ComparedSide
from basic_control.metrics.analysis.rules import Provenance, SuiteRules
from basic_control.tasks.store.tables import write_atomically

SCHEMA = 2
_BEGINNING = b'{\n "schema": '
"""The first bytes of a baseline's file."""
KEPT = ("items", "requests", "responses", "judgements", "evidence")
"""The tables needed to score a run's replies again."""
_PLACE = ("suite", "family")
_IDS = dict.fromkeys(("item_id", *ITEMS.added), pl.String())
_VALUES = ("item_id", "repeat", "value", "status", "reason")
_UNKNOWN = {name: pl.lit("") for name in ("level", "language", "template")} | {"facts": pl.lit("{}")}
_REPLIES = {"item_id": pl.String(), "repeat": pl.Int64(), "reply": pl.String()}


Tables = Mapping[str, tuple[Ref, ...]]
"""A run's tables, or those of them that are `KEPT`, by kind."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A pinned run: its scores and the facts behind them, as one side of a comparison.

    In its file, items have their suite, family and the ids of the question alone; scores the columns for values
    (the reason only of failed calls). `tables` are the run's own, by which its replies are found as long as a store
    has them.
    """

    name: str
    run: str
    started: str
    side: ComparedSide
    tables: Tables


def path_of(name: str, folder: str = BASELINES) -> Path:
    """Return a baseline's path; a name that ends in .json is a path itself."""
    return Path(name) if name.endswith(".json") else Path(folder) / f"{name}.json"


def is_baseline(path: Path) -> bool:
    """Return whether a file is a baseline, of whatever schema."""
    return path.suffix == ".json" and path.is_file() and path.read_bytes()[: len(_BEGINNING)] == _BEGINNING


def write(baseline: Baseline, path: Path) -> Path:
    """Write a baseline, a line for each suite's questions of a family, and for each model, suite and metric.

    Raises:
        InputError: it cannot be written.
    """
    side = baseline.side
    suites = {
        name: {"score": suite.score, "headlines": suite.headlines, "rules": suite.rules}
        for name, suite in side.provenance.suites.items()
    }
    questions = side.items.unique("item_id").with_columns(pl.col("family").fill_null(""))
    head = {
        "schema": SCHEMA,
        "name": baseline.name,
        "run": baseline.run,
        "started": baseline.started,
        "facts": {**asdict(side.provenance), "suites": suites},
        "tables": {kind: [one.as_dict() for one in refs] for kind, refs in baseline.tables.items()},
    }
    reason = (
        pl.when(pl.col("status").is_in(["model_error", "filtered"]))
        .then("reason")
        .otherwise(pl.lit(""))
        .alias("reason")
    )
    listed = {
        "questions": _grouped(questions.sort(*_PLACE, "item_id"), _PLACE, (*_IDS,)),
        "scores": _grouped(
            side.scores.with_columns(reason).sort("model", "suite", "metric", "item_id", "repeat"),
            ("model", "suite", "metric"),
            _VALUES,
        ),
        "replies": _grouped(side.digests.sort("model", "item_id", "repeat"), ("model",), (*_REPLIES,)),
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
            suite: SuiteRules(tuple(one["score"]), dict(one["rules"]), headlines=dict(one.get("headlines", {})))
            for suite, one in facts["suites"].items()
        }
        families = ({"family": "", **group} for group in raw["questions"])  # earlier ones name none
        questions = _frame(families, _PLACE, _IDS)
        side = ComparedSide(
            str(raw["name"]),
            pl.concat([ITEMS.frame([]), questions.with_columns(**_UNKNOWN)], how="diagonal_relaxed"),
            _frame(raw["scores"], ("model", "suite", "metric"), {name: SCORES.columns[name] for name in _VALUES}),
            _frame(raw["replies"], ("model",), _REPLIES),
            Provenance(suites, *(dict(facts[name]) for name in ("rules", "units", "tested"))),
        )
        tables = {str(kind): tuple(map(Ref.read, refs)) for kind, refs in raw["tables"].items()}
        return Baseline(side.name, str(raw["run"]), str(raw["started"]), side, tables)
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
