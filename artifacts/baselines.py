"""Baselines: a run's scores by item, in one small file without a text, for a team to commit."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from artifacts.runs import Run, load
from artifacts.store import explain, write_atomically
from data.commands import BASELINES
from data.errors import InputError
from data.tables import SCORES

SCHEMA = 1
_SAMPLING = ("temperature", "seed", "max_tokens", "system", "extra", "top_p")
_KEYS = ("name", "run", "started", "facts", "suites", "scores")


@dataclass(frozen=True, slots=True)
class Baseline:
    """A pinned run: the facts behind its numbers, each suite's metrics, and its scores with their suites."""

    name: str
    run: str
    started: str
    facts: Mapping[str, Any]
    suites: Mapping[str, list[str]]
    scores: pl.DataFrame


def facts_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what gives a run's numbers their meaning: versions, identities, sampling, digests of its questions."""
    models = [one for one in (manifest.get("configuration") or {}).get("models", ()) if isinstance(one, Mapping)]
    return {
        "verifiers": dict(manifest.get("verifiers") or {}),
        "units": dict(manifest.get("units") or {}),
        "rules": manifest.get("rules"),
        "judges": _lasting(manifest.get("judge_identities") or {}),
        "identities": _lasting(manifest.get("identities") or {}),
        "sampling": {
            str(model.get("name")): {key: model[key] for key in _SAMPLING if model.get(key) not in (None, "", {})}
            for model in models
        },
        "versions": dict(manifest.get("versions") or {}),
    }


def _lasting(identities: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return identities without what marks a run as asked anew."""
    return {name: {k: v for k, v in one.items() if k != "fresh"} for name, one in identities.items()}


def pin(name: str, run: Run, suites: Mapping[str, Iterable[str]], root: str = "") -> Baseline:
    """Make a baseline of a finished run; `suites` are the metrics that the score of each is made of.

    Raises:
        InputError: the run's tables are not whole.
    """
    items = load(run, "items", "items", root).select("item_id", "suite").unique("item_id")
    scores = load(run, "scores", "scores", root).join(items, on="item_id", how="inner", maintain_order="left")
    listed = {suite: list(metrics) for suite, metrics in suites.items()}
    pairs = pl.DataFrame(
        [(suite, metric) for suite, metrics in listed.items() for metric in metrics],
        schema={"suite": pl.String, "metric": pl.String},
        orient="row",
    )
    kept = scores.join(pairs, on=["suite", "metric"], how="semi", maintain_order="left")
    started = str(run.manifest.get("started", ""))
    return Baseline(name, str(run.manifest.get("run", run.name)), started, facts_of(run.manifest), listed, kept)


def path_of(name: str, folder: str = BASELINES) -> Path:
    """Return where a baseline lies: a path that ends in .json is one itself."""
    return Path(name) if name.endswith(".json") else Path(folder) / f"{name}.json"


def write(baseline: Baseline, path: Path) -> Path:
    """Write a baseline, a line for each model, suite and metric.

    Raises:
        InputError: it cannot be written.
    """
    columns = ("item_id", "repeat", "value", "status")
    groups = baseline.scores.sort("model", "suite", "metric", "item_id", "repeat").group_by(
        "model", "suite", "metric", maintain_order=True
    )
    scores = [
        {"model": model, "suite": suite, "metric": metric, **{name: own[name].to_list() for name in columns}}
        for (model, suite, metric), own in groups
    ]
    head = {"schema": SCHEMA, "name": baseline.name, "run": baseline.run, "started": baseline.started}
    head |= {"facts": dict(baseline.facts), "suites": dict(baseline.suites)}
    lines = ",\n".join(f"  {json.dumps(one, ensure_ascii=False)}" for one in scores)
    text = json.dumps(head, ensure_ascii=False, indent=1)[:-2] + f',\n "scores": [\n{lines}\n ]\n}}\n'
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode())
    except OSError as error:
        raise explain(error, f"cannot write the baseline {path}") from error
    return path


def read(name: str, folder: str = BASELINES) -> Baseline:
    """Read a baseline by its name in a folder, or by its path.

    Raises:
        InputError: there is none, or the file is not one.
    """
    path = path_of(name, folder)
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        there = ", ".join(one.stem for one in files(folder)) or "none"
        raise InputError(
            f"baseline {name}: {path} is not there; {folder} holds {there}. Set one from a finished run: "
            f"basic-control baseline set {name} RUN."
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"baseline {name}: {path} cannot be read ({error}). Set it again from a run.") from error
    missing = [key for key in _KEYS if not isinstance(raw, Mapping) or key not in raw]
    if missing or raw.get("schema") != SCHEMA:
        found = f"no {missing[0]}" if missing else f"schema {raw.get('schema')!r}"
        raise InputError(
            f"baseline {name}: {path} has {found}, expected a baseline of schema {SCHEMA}. Set it again."
        )
    try:
        scores = _frame(raw["scores"])
    except (KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise InputError(f"baseline {name}: {path}: its scores are damaged ({error}). Set it again.") from error
    return Baseline(raw["name"], raw["run"], raw["started"], raw["facts"], raw["suites"], scores)


def _frame(listed: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    kinds = {name: SCORES.columns[name] for name in ("item_id", "repeat", "value", "status")}
    parts = [
        pl.DataFrame({name: one[name] for name in kinds}, schema=kinds).with_columns(
            **{name: pl.lit(str(one[name])) for name in ("model", "suite", "metric")}
        )
        for one in listed
    ]
    empty = {**kinds, **dict.fromkeys(("model", "suite", "metric"), pl.String())}
    return pl.concat([pl.DataFrame(schema=empty), *parts])


def files(folder: str = BASELINES) -> list[Path]:
    """Return the baselines in a folder, by name."""
    return sorted(Path(folder).glob("*.json"))
