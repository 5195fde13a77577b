"""Human labels of a finished run's judged replies: which to label, and the corrected judges' mean.

Samples are drawn with known probabilities, recorded in the sheet, so that estimates are unbiased however they were
chosen. No model is called. Labels are stored beside the runs by what was judged, criterion, question and reply:
every later run with the same replies uses them, whoever its judges are.
"""

import csv
import hashlib
import io
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

import numpy as np
import polars as pl

from data.draw import canonical
from data.errors import InputError
from data.questions import shown_answer, shown_question
from data.suites import Suite
from metrics.analysis.judged import Labels
from metrics.analysis.scores import MIN_COVERAGE
from metrics.analysis.values import placed, unit_codes
from metrics.exam import UNIT as EXAM
from metrics.judging import aggregate
from metrics.stats.agreement import Agreement, agreement
from metrics.stats.labelled import Powered, prediction_powered
from tasks.store.runs import Run, load, replies
from tasks.store.tables import write_json

By = Literal["random", "uncertainty"]
GROUP = ("suite", "model", "metric")
KEY = (*GROUP, "item_id", "repeat")
COLUMNS = (*KEY, "probability", "prompt", "reference", "response", "label")
WORDS: Mapping[str, float] = {"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0, "да": 1.0, "нет": 0.0}
_log = logging.getLogger("tasks.store.runs")

LABELS = ".labels"
"""The folder among the runs that stores labels: a file for each suite, model, metric and criterion."""

Group = tuple[str, str, str]
"""Suite, model and metric."""
Criteria = Mapping[tuple[str, str], str]
"""The criterion of each judged metric of a suite."""

_LEAST = 0.1
"""Minimum uncertainty of a verdict, so that each can be drawn."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """One model's judged mean as corrected by labels.

    `agreement` is that of several labellers.
    """

    suite: str
    model: str
    metric: str
    found: Powered
    agreement: Agreement | None = None


@dataclass(frozen=True, slots=True)
class GroupLabels:
    """The labels of one suite, model and metric; `drawn` replies were to be labelled.

    `labelled` has each reply's position among all that were judged, each labeller's label, and its probability.
    """

    drawn: int
    labelled: Sequence[tuple[int, list[float | None], float]]


def _together(details: str) -> float | None:
    told = json.loads(details)
    judges: Mapping[str, Mapping[str, Any]] = told.get("judges") or {}
    values = [one["value"] for one in judges.values() if one.get("value") is not None]
    return aggregate(values, told.get("aggregate", "mean")) if values else None


def judged(run: Run, root: str = "") -> pl.DataFrame:
    """Return a run's judged scores: the key columns, `value`, the judges' mean score of that reply, and the item.

    Raises:
        InputError: the store does not have them, or nothing was judged.
    """
    items = load(run, "items", root).unique("item_id")
    texts = replies(run, root).rename({"text": "response"}).drop("error")
    found = joined(load(run, "scores", root), items, texts)
    if found.is_empty():
        raise InputError(f"run {run.name}: no reply was scored by a judge, so there is nothing to label.")
    return found


def joined(scores: pl.DataFrame, items: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """Join the judges' scores with their items and with the replies scored (`response`).

    The mean is used even if no judge counts: human labels correct it.
    """
    by_judges = pl.col("details").str.contains('"judges"', literal=True)
    rows = scores.filter(by_judges & (pl.col("metric") != EXAM.name))
    values = [
        _together(details) if value is None else value
        for value, details in rows.select("value", "details").iter_rows()
    ]
    found = (
        rows.with_columns(value=pl.Series(values, dtype=pl.Float64))
        .filter(pl.col("value").is_not_null())
        .join(items.select("item_id", "prompt", "facts"), on="item_id")
        .join(placed(items), on="item_id")
        .join(texts, on=["item_id", "model", "repeat"], how="left")
    )
    asked = [
        shown_question(prompt or "", json.loads(facts)) for prompt, facts in found.select("prompt", "facts").rows()
    ]
    found = found.with_columns(prompt=pl.Series(asked, dtype=pl.String))
    return found.select(*KEY, "value", "details", "prompt", "facts", "response", "cluster").sort(*KEY)


def criteria_of(suites: Iterable[Suite]) -> dict[tuple[str, str], str]:
    """Return what a label means for each metric of suites: the criterion, and the opponent or mode, if any."""
    return {(suite.name, name): _meaning(given) for suite in suites for name, given in suite.metrics.items()}


def _meaning(given: Mapping[str, Any]) -> str:
    criterion = given.get("criteria", "")
    others = {option: given[option] for option in ("baseline", "mode") if option in given}
    return canonical([criterion, others] if others else criterion)


def _replies(found: pl.DataFrame, criterion: str) -> list[str]:
    """Return a key for each judged reply: a digest of criterion, question and text; equal ones numbered."""
    times: Counter[str] = Counter()
    names = []
    for row in found.select("prompt", "facts", "response").iter_rows():
        digest = hashlib.sha256(json.dumps([criterion, *row]).encode()).hexdigest()[:24]
        times[digest] += 1
        names.append(f"{digest} {times[digest]}")
    return names


def _file(folder: Path, group: Group, criterion: str) -> Path:
    digest = hashlib.sha256(json.dumps([*group, criterion]).encode()).hexdigest()[:32]
    return folder / f"{digest}.json"


def sheet(found: pl.DataFrame, *, n: int, by: By = "random", metric: str = "") -> pl.DataFrame:
    """Draw n replies of each suite, model and metric, with the probability of each, and an empty label.

    `uncertainty` favours replies whose judges' score v is far from 0 and 1 (weight 0.1 + 4v(1 - v)).

    Raises:
        InputError: no such metric was judged.
    """
    known = found["metric"].unique().sort().to_list()
    if metric and metric not in known:
        raise InputError(f"--metric {metric}: not judged in this run; expected one of {', '.join(known)}.")
    chosen = found.filter(pl.col("metric") == metric) if metric else found
    parts = []
    for key, group in chosen.group_by("suite", "model", "metric", maintain_order=True):
        chances = _chances(group["value"].to_numpy(), min(n, group.height), by)
        places = _systematic(chances, Random(f"0 {key}"))
        parts.append(group[places].with_columns(probability=pl.Series([float(chances[place]) for place in places])))
    drawn = pl.concat(parts)
    told = [json.loads(facts) for facts in drawn["facts"]]
    expected = [shown_answer("", facts) or str(facts.get("answer") or "") for facts in told]
    reference = pl.Series(expected, dtype=pl.String)
    return drawn.with_columns(reference=reference, label=pl.lit("")).select(COLUMNS)


def _chances(values: Any, n: int, by: By) -> Any:
    """Return each reply's probability of being drawn: they add up to n."""
    weights = np.ones(len(values)) if by == "random" else _LEAST + 4 * values * (1 - values)
    sure = np.zeros(len(values), bool)
    while True:
        chances = np.where(sure, 1.0, weights * (n - sure.sum()) / max(weights[~sure].sum(), 1e-12))
        if not ((chances > 1) & ~sure).any():
            return np.clip(chances, 0.0, 1.0)
        sure |= chances > 1


def _systematic(chances: Any, rng: Random) -> list[int]:
    """Draw positions with exactly these probabilities by systematic sampling in random order."""
    order = [*range(len(chances))]
    rng.shuffle(order)
    passed = np.concatenate(([0.0], np.cumsum(chances[order]))) - rng.random() + 1 + 1e-9
    return sorted(place for place, step in zip(order, np.diff(passed.astype(int)), strict=True) if step)


def read_labels(*paths: Path) -> pl.DataFrame:
    """Read filled sheets, of one labeller each or with several columns: a row for each reply.

    Columns: the key as text, `label` (a list with each labeller's, null if empty), `probability`, and `where` (file
    and row).

    Raises:
        InputError: one is no CSV file with the sheet's columns, a label is invalid, or they are of different draws.
    """
    found = []
    for number, path in enumerate(paths, 1):
        for line, row in enumerate(_rows(path), 2):
            # The sheet is guarded against formulas: a name may have an apostrophe before it.
            key = [(row[name] or "").removeprefix("'") for name in KEY]
            where = f"{path}, row {line}"  # a spreadsheet's: a text may have several lines
            try:
                chance = float(row["probability"] or 1)
            except ValueError:
                chance = 0.0
            if not 0 < chance <= 1:
                raise InputError(
                    f"{where}: found the probability {row['probability']!r}, expected the one in the drawn sheet."
                )
            for name in _labellers(row):
                label = _value(row[name], f"{where}, column {name}")
                found.append((*key, f"{number} {name}", label, chance, where))
    kinds = {"labeller": pl.String, "label": pl.Float64, "probability": pl.Float64, "where": pl.String}
    labels = pl.DataFrame(found, dict.fromkeys(KEY, pl.String) | kinds, orient="row")
    twice = pl.struct(*KEY, "labeller").is_duplicated()
    wrong = labels.filter(twice | (pl.col("probability").n_unique().over(KEY) > 1))
    if wrong.height:
        *key, where = wrong.select(*KEY, "where").row(-1)
        raise InputError(
            f"{where}: the reply {' '.join(key)} is listed twice, or with another probability in another sheet; "
            "expected sheets of one draw."
        )
    return labels.group_by(KEY, maintain_order=True).agg("label", pl.col("probability", "where").first())


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--labels {path}: cannot be read ({error}); expected a sheet as `label` writes it."
        ) from error
    reader = csv.DictReader(io.StringIO(text))
    rows, names = list(reader), [*(reader.fieldnames or ())]
    if twice := [name for name in names if name and names.count(name) > 1]:
        raise InputError(f"--labels {path}: the column {twice[0]!r} is there twice; rename one of them.")
    missing = [name for name in (*KEY, "probability") if not rows or name not in rows[0]]
    if missing or not _labellers(rows[0]):
        lacks = ", ".join(missing) or "label"
        raise InputError(f"--labels {path}: found no column {lacks}; expected a sheet as `label` writes it.")
    return rows


def _labellers(row: Mapping[str, str]) -> list[str]:
    return [name for name in row if name and name.strip().lower().startswith("label")]


def _value(text: str | None, where: str) -> float | None:
    said = (text or "").strip().lower().replace(",", ".")
    if not said:
        return None
    try:
        found = WORDS[said] if said in WORDS else float(said)
    except ValueError:
        found = -1.0
    if 0 <= found <= 1:
        return found
    raise InputError(
        f"{where}: found the label {text!r}, expected a number from 0 to 1, yes, no, or an empty cell."
    )


def estimates(found: pl.DataFrame, rows: pl.DataFrame) -> list[Labelled]:
    """Join the judges' scores of all replies with the labels of some, as `read_labels` returns them.

    Raises:
        InputError: a label is of a reply that the run does not have, or there are no labels.
    """
    return [_estimate(group, _of(found, group), labels) for group, labels in _grouped(found, rows)]


def _grouped(found: pl.DataFrame, rows: pl.DataFrame) -> list[tuple[Group, GroupLabels]]:
    """Return the labels of each suite, model and metric that has any, in order."""
    places = found.select(*KEY, at=pl.int_range(pl.len()).over(GROUP)).with_columns(
        pl.col("repeat").cast(pl.String)
    )
    drawn = rows.join(places, on=KEY, how="left", maintain_order="left")
    strange = drawn.filter(pl.col("at").is_null())
    if strange.height:
        *key, where = strange.select(*KEY, "where").row(0)
        raise InputError(f"{where}: the run has no judged reply {' '.join(key)}; expected this run's own sheet.")
    labelled = drawn.filter(pl.col("label").list.drop_nulls().list.len() > 0)
    if labelled.is_empty():
        raise InputError(
            "found no label in the sheet; fill the column `label` with numbers from 0 to 1, or yes and no."
        )
    groups = labelled.select(GROUP).unique().sort(GROUP).rows()
    return [
        (
            group,
            GroupLabels(_of(drawn, group).height, _of(labelled, group).select("at", "label", "probability").rows()),
        )
        for group in groups
    ]


def _estimate(group: Group, scores: pl.DataFrame, labels: GroupLabels) -> Labelled:
    # Empty rows count as not drawn.
    answered = len(labels.labelled) / labels.drawn
    means = [float(np.mean([one for one in said if one is not None])) for _, said, _ in labels.labelled]
    found = prediction_powered(
        [min(max(value, 0.0), 1.0) for value in scores["value"]],
        [place for place, _, _ in labels.labelled],
        means,
        probabilities=[min(1.0, chance * answered) for _, _, chance in labels.labelled],
        units=unit_codes(scores.select("item_id", "cluster").rows())[0],
    )
    ratings = [(str(place), one) for place, said, _ in labels.labelled for one in said if one is not None]
    frame = pl.DataFrame(ratings, schema={"unit": pl.String, "value": pl.Float64}, orient="row")
    return Labelled(*group, found, agreement(frame) if len(ratings) > len(labels.labelled) else None)


def keep(found: pl.DataFrame, rows: pl.DataFrame, criteria: Criteria, folder: Path) -> list[Path]:
    """Store the labels of filled sheets for later runs; return the files.

    Raises:
        InputError: as `estimates`.
    """
    paths = []
    for group, labels in _grouped(found, rows):
        criterion = criteria.get((group[0], group[2]), "")
        names = _replies(_of(found, group), criterion)
        said = [{"reply": names[at], "labels": each, "probability": chance} for at, each, chance in labels.labelled]
        stored = {**dict(zip(GROUP, group, strict=True)), "drawn": labels.drawn, "of": names, "labelled": said}
        paths.append(_file(folder, group, criterion))
        write_json(paths[-1], stored)
    return paths


def kept_labels(
    folder: Path,
    suites: Sequence[Suite],
    scores: pl.DataFrame,
    items: pl.DataFrame,
    texts: Callable[[], pl.DataFrame],
) -> Labels:
    """Return a run's judged means as corrected by stored labels of the same replies.

    Raises:
        InputError: a file of labels is damaged.
    """
    if not folder.is_dir():
        return {}
    found, criteria = joined(scores, items, texts()), criteria_of(suites)
    told: dict[Group, Powered] = {}
    for suite, model, metric in found.select("suite", "model", "metric").unique(maintain_order=True).iter_rows():
        criterion = criteria.get((suite, metric), "")
        path = _file(folder, (suite, model, metric), criterion)
        if not path.is_file():
            continue
        own = _of(found, (suite, model, metric))
        try:
            labels = _kept(json.loads(path.read_text(encoding="utf-8")), _replies(own, criterion))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path}: cannot be read ({type(error).__name__}). Run `label` again with the filled sheets."
            ) from error
        if labels is None:
            _log.warning("%s, %s, %s: replies have changed since they were labelled.", suite, model, metric)
        else:
            told[suite, model, metric] = _estimate((suite, model, metric), own, labels).found
    return told


def _kept(stored: Mapping[str, Any], names: Sequence[str]) -> GroupLabels | None:
    """Return the labels of a run's judged replies; None if those differ from the replies drawn from.

    Judges may have failed on a few.

    Raises:
        ValueError: a label or probability out of its range, or a reply listed twice.
    """
    labelled = stored["labelled"]
    known = [[label for label in one["labels"] if label is not None] for one in labelled]
    within = all(own and all(0 <= label <= 1 for label in own) for own in known)
    drawn = all(0 < one["probability"] <= 1 for one in labelled)
    if not within or not drawn or len({one["reply"] for one in labelled}) < len(labelled):
        raise ValueError("expected labels from 0 to 1, probabilities above 0, and each reply once")
    if not {*names} <= {*stored["of"]} or len(names) < MIN_COVERAGE * len(stored["of"]):
        return None
    at = {name: place for place, name in enumerate(names)}
    there = [one for one in labelled if one["reply"] in at]
    listed = [(at[one["reply"]], one["labels"], one["probability"]) for one in there]
    return GroupLabels(stored["drawn"] - len(labelled) + len(there), listed) if listed else None


def _of(found: pl.DataFrame, group: Group) -> pl.DataFrame:
    return found.filter(**dict(zip(GROUP, group, strict=True)))
