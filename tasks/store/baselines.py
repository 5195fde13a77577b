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
from basic_control.metrics.analysis.provenance import Provenance, SuiteRules
from basic_control.tasks.store.tables import write_atomically

SCHEMA = 2
_BEGINNING = b'{\n "schema": '
"""The first bytes of a baseline's file."""
KEPT = ("items", "requests", "responses", "judgements", "evidence")
"""The tables needed to score a run's replies again."""
_GROUP = ("suite", "family")
"""What a file names once for many questions."""
_IDS = dict.fromkeys(("item_id", *ITEMS.added), pl.String())
_VALUES = ("item_id", "repeat", "value", "status", "reason")
_UNKNOWN = dict.fromkeys(("level", "language"), pl.lit("")) | {"facts": pl.lit("{}")}
"""Columns of items that a baseline does not have."""
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


def find_path(name: str, folder: str = BASELINES) -> Path:
    """Return a baseline's path; a name that ends in .json is a path itself."""
    if name.endswith(".json"):
        return Path(name)
    return Path(folder) / f"{name}.json"


def is_baseline(path: Path) -> bool:
    """Return whether a file is a baseline, of whatever schema."""
    return path.suffix == ".json" and path.is_file() and path.read_bytes()[: len(_BEGINNING)] == _BEGINNING


def write_baseline(baseline: Baseline, path: Path) -> Path:
    """Write a baseline, a line for each suite's questions of a family, and for each model, suite and metric.

    Raises:
        InputError: it cannot be written.
    """
    side = baseline.side
    suites = {
        name: {
            "score": suite.score,
            "headlines": suite.headlines,
            "rules": suite.rules,
            "in_rounds": suite.in_rounds,
        }
        for name, suite in side.provenance.suites.items()
    }
    tables = {kind: list(map(Ref.as_dict, refs)) for kind, refs in baseline.tables.items()}
    questions = side.items.unique("item_id").with_columns(pl.col("family").fill_null(""))
    head = {
        "schema": SCHEMA,
        "name": baseline.name,
        "run": baseline.run,
        "started": baseline.started,
        "facts": {**asdict(side.provenance), "suites": suites},
        "tables": tables,
    }
    # What a metric gives as a reason may quote a reply, and texts are not committed.
    reason = (
        pl.when(pl.col("status").is_in(["model_error", "filtered"]))
        .then("reason")
        .otherwise(pl.lit(""))
        .alias("reason")
    )
    sections = {
        "questions": _group_columns(questions.sort(*_GROUP, "item_id"), _GROUP, (*_IDS, "template")),
        "scores": _group_columns(
            side.scores.with_columns(reason).sort("model", "suite", "metric", "item_id", "repeat"),
            ("model", "suite", "metric"),
            _VALUES,
        ),
        "replies": _group_columns(side.digests.sort("model", "item_id", "repeat"), ("model",), (*_REPLIES,)),
    }
    # Without its closing brace, so that the sections follow, each group on one line: commits are compared by lines.
    text = json.dumps(head, ensure_ascii=False, indent=1)[:-2]
    for name, groups in sections.items():
        lines = ",\n".join(f"  {json.dumps(group, ensure_ascii=False)}" for group in groups)
        text += f',\n "{name}": [\n{lines}\n ]'
    return write_atomically(path, f"{text}\n}}\n")


def _group_columns(frame: pl.DataFrame, by: tuple[str, ...], columns: tuple[str, ...]) -> Iterable[dict[str, Any]]:
    """Yield an object for each group, with a list for each column."""
    for key, group in frame.group_by(by, maintain_order=True):
        yield {**dict(zip(by, key, strict=True)), **group.select(columns).to_dict(as_series=False)}


def read_baseline(name: str, folder: str = BASELINES) -> Baseline:
    """Read a baseline by its name in a folder, or by its path.

    Raises:
        InputError: it does not exist, or is invalid.
    """
    path = find_path(name, folder)
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        names = ", ".join(path.stem for path in list_files(folder)) or "none"
        raise InputError(
            f"baseline {name}: {path} not found; {folder} contains {names}. Set one from a finished run: "
            f"basic-control baseline set {name} RUN."
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"baseline {name}: {path} cannot be read ({error}). Set it again from a run.") from error
    schema = raw.get("schema") if isinstance(raw, Mapping) else None
    if schema != SCHEMA:
        # The command that sets it again, with the run that it was made of.
        run = (schema and raw.get("run")) or "RUN"
        raise InputError(
            f"baseline {name}: {path} has schema {schema!r}, expected {SCHEMA}: earlier ones have no question "
            f"ids. Set it again, from its run or another: basic-control baseline set {name} {run}."
        )
    try:
        facts = raw["facts"]
        suites = {
            suite: SuiteRules(
                tuple(rules["score"]),
                dict(rules["rules"]),
                headlines=dict(rules.get("headlines", {})),
                in_rounds=bool(rules.get("in_rounds")),
            )
            for suite, rules in facts["suites"].items()
        }
        questions = _join_groups(raw["questions"], _GROUP, {**_IDS, "template": pl.String()})
        kinds = {name: SCORES.columns[name] for name in _VALUES}
        side = ComparedSide(
            str(raw["name"]),
            pl.concat([ITEMS.frame([]), questions.with_columns(**_UNKNOWN)], how="diagonal_relaxed"),
            _join_groups(raw["scores"], ("model", "suite", "metric"), kinds),
            _join_groups(raw["replies"], ("model",), _REPLIES),
            Provenance(suites, dict(facts["rules"]), dict(facts["units"]), dict(facts["tested"])),
        )
        tables = {str(kind): tuple(map(Ref.read, refs)) for kind, refs in raw["tables"].items()}
        return Baseline(side.name, str(raw["run"]), str(raw["started"]), side, tables)
    except (KeyError, TypeError, AttributeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"baseline {name}: {path} is damaged ({error!r}). Set it again.") from error


def _join_groups(
    groups: Iterable[Mapping[str, Any]], by: tuple[str, ...], kinds: Mapping[str, pl.DataType]
) -> pl.DataFrame:
    """Return the rows of all groups, each with what its group has once."""
    frames = [pl.DataFrame(schema={**kinds, **dict.fromkeys(by, pl.String())})]
    for group in groups:
        frame = pl.DataFrame({name: group[name] for name in kinds}, schema=dict(kinds))
        frames.append(frame.with_columns(**{name: pl.lit(str(group[name])) for name in by}))
    return pl.concat(frames)


def list_files(folder: str = BASELINES) -> list[Path]:
    """Return the baselines in a folder, by name."""
    return sorted(Path(folder).glob("*.json"))
