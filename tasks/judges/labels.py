"""Human labels of a finished run's judged replies: which to label, and the corrected judges' mean.

Samples are drawn at random, with their probability in the sheet. No model is called. Labels are stored beside the
runs by what was judged, criterion, question and reply: every later run with the same replies uses them, whoever its
judges are.
"""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import polars as pl

from basic_control.config.declared import suites_in
from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError
from basic_control.data.questions import format_expected, format_question
from basic_control.data.suites import Suite
from basic_control.data.usual_columns import CONTEXTS
from basic_control.metrics.analysis.judged import Labels
from basic_control.metrics.analysis.observations import name_questions, place_items, unit_codes
from basic_control.metrics.analysis.scores import MIN_COVERAGE
from basic_control.metrics.cascade import mean_value_in
from basic_control.metrics.panels import aggregate
from basic_control.metrics.stats.agreement import Agreement, agreement
from basic_control.metrics.stats.labelled import Powered, prediction_powered
from basic_control.prompts import fill
from basic_control.tasks.plan import SuitePlan
from basic_control.tasks.store.runs import Run, load_replies, load_table
from basic_control.tasks.store.tables import write_json

GROUP = ("suite", "model", "metric")
KEY = (*GROUP, "item_id", "repeat")
COLUMNS = (*KEY, "probability", "prompt", "reference", "response", "label")
WORDS: Mapping[str, float] = {"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0, "да": 1.0, "нет": 0.0}
_log = logging.getLogger(__name__.removeprefix("basic_control."))  # not a child of the events' logger

LABELS = ".labels"
"""The folder among the runs that stores labels: a file for each suite, model, metric and criterion."""

Group = tuple[str, str, str]
"""Suite, model and metric."""
Criteria = Mapping[tuple[str, str], str]
"""The criterion of each judged metric of a suite."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """One model's judged mean as corrected by labels.

    `agreement` is that of several labellers.
    """

    suite: str
    model: str
    metric: str
    powered: Powered
    agreement: Agreement | None = None


@dataclass(frozen=True, slots=True)
class GroupLabels:
    """The labels of one suite, model and metric; `drawn` replies were to be labelled.

    `rows` has the position of each labelled reply among all that were judged (`at`), the labels that it got
    (`label`, a list), and the `probability` with which it was drawn.
    """

    drawn: int
    rows: pl.DataFrame


def load_judged(run: Run, root: str = "") -> pl.DataFrame:
    """Return a run's judged scores: the key columns, `value`, the judges' mean score of that reply, and the item.

    Raises:
        InputError: the store does not have them, or nothing was judged.
    """
    texts = load_replies(run, root).rename({"text": "response"}).drop("error", "latency_s", "extra")
    items = load_table(run, "items", root).unique("item_id")
    rows = join_judged(load_table(run, "scores", root), items, texts, suites_in(run.configuration))
    if rows.is_empty():
        raise InputError(f"run {run.name}: no reply was scored by a judge, so there is nothing to label.")
    return rows


def join_judged(
    scores: pl.DataFrame, items: pl.DataFrame, texts: pl.DataFrame, suites: Iterable[Suite] = ()
) -> pl.DataFrame:
    """Join the judges' scores with their items and with the replies scored (`response`).

    `asked_prompt` is what a reply answers: of `suites` with several prompts, each reply's own.

    The judges' mean is used even if no judge counts: human labels correct it. It is null where no judge was asked,
    since none counts: the next run asks, once there are labels.
    """
    by_judges = pl.col("details").str.contains('"judges"', literal=True)
    rows = scores.filter(by_judges & ~pl.col("metric").str.starts_with("exam_"))
    verdicts = pl.col("details").map_elements(_join_verdicts, pl.Float64)
    # Without them a judge that failed its exam could never be corrected by labels.
    is_unasked = pl.col("details").str.contains(NOBODY_ASKED, literal=True)
    valued_scores = rows.with_columns(value=pl.coalesce("value", verdicts))
    valued = valued_scores.filter(pl.col("value").is_not_null() | is_unasked, ~_is_settled())
    questions = name_questions(items).select("item_id", "prompt", "facts", question="first")
    question_columns = questions.join(place_items(items), on="item_id")
    judged_replies = valued.join(question_columns, on="item_id").join(
        texts, on=["item_id", "model", "repeat"], how="left"
    )
    prompts = [
        format_question(prompt or "", json.loads(facts))
        for prompt, facts in judged_replies.select("prompt", "facts").rows()
    ]
    judged_replies = judged_replies.with_columns(prompt=pl.Series(prompts, dtype=pl.String))
    asked_prompts = pl.Series(_fill_prompts(judged_replies, items, suites), dtype=pl.String)
    judged_replies = judged_replies.with_columns(asked_prompt=asked_prompts)
    columns = ("value", "details", "prompt", "asked_prompt", "facts", "response", "cluster", "question")
    return judged_replies.select(*KEY, *columns).sort(*KEY)


def _fill_prompts(judged_replies: pl.DataFrame, items: pl.DataFrame, suites: Iterable[Suite]) -> Iterator[str]:
    """Yield the prompt that each reply answers: the stored one, or another of its suite's, filled for its row."""
    prompts: dict[tuple[str, str], str] = {}
    models = judged_replies["model"].unique()
    for suite in suites:
        # Items are stored with the first.
        for name, template in [*suite.prompts_by_name.items()][1:]:
            prompts |= {(suite.name, model): template for model in models if model.endswith(f" [{name}]")}
    if not prompts:
        yield from judged_replies["prompt"]
        return
    languages = dict(items.select("item_id", "language").iter_rows())
    columns = ("suite", "model", "item_id", "prompt", "facts")
    for suite_name, model, item_id, stored, facts in judged_replies.select(columns).iter_rows():
        template = prompts.get((suite_name, model))
        if template is None:
            yield stored
            continue
        row = json.loads(facts)
        # What cannot be filled any more is shown as it stands.
        text = template
        with suppress(InputError):
            text = fill(template, languages[item_id], row)
        yield format_question(text, row)


def number_replies(judged_replies: pl.DataFrame) -> pl.DataFrame:
    """Return judged replies with `at`, the number of each distinct one in its suite, model and metric.

    Rows of one question that expect the same have one reply: people label it once, for all of them.
    """
    if "question" not in judged_replies.columns:
        judged_replies = judged_replies.with_columns(question="item_id")
    reply = [*GROUP, "repeat", "question", "reference", "response"]
    rows = judged_replies.with_columns(reference=pl.Series(_references(judged_replies), dtype=pl.String))
    distinct = rows.unique(reply, keep="first", maintain_order=True)
    numbered = distinct.with_columns(at=pl.int_range(pl.len()).over(GROUP)).select(*reply, "at")
    return rows.join(numbered, on=reply, how="left", nulls_equal=True, maintain_order="left").drop("reference")


def select_distinct(judged_replies: pl.DataFrame) -> pl.DataFrame:
    """Return the first row of each distinct judged reply."""
    return number_replies(judged_replies).unique([*GROUP, "at"], keep="first", maintain_order=True)


def _references(judged_replies: pl.DataFrame) -> list[str]:
    """Return what is expected of each judged reply, as a sheet shows it."""
    facts = map(json.loads, judged_replies["facts"])
    return [format_expected("", fact) or str(fact.get("answer") or "") for fact in facts]


def _is_settled() -> pl.Expr:
    """Return whether a score needed no judge's reply: there is no verdict to correct."""
    return pl.col("value").is_not_null() & pl.col("details").map_elements(_needs_no_call, pl.Boolean)


def _needs_no_call(details: str) -> bool:
    calls = [judge.get("n_calls") for judge in json.loads(details).get("judges", {}).values()]
    return bool(calls) and not any(count is None or count for count in calls)


def _compute_settled_means(scores: pl.DataFrame, items: pl.DataFrame) -> dict[Group, tuple[int, float]]:
    """Return how many replies needed no judge, and their mean, by group; a question's rows count once."""
    judged_scores = scores.filter(pl.col("details").str.contains('"judges"', literal=True))
    questions = name_questions(items).select("item_id", "suite", question="first")
    rows = judged_scores.filter(_is_settled()).join(questions, on="item_id")
    by_reply = rows.group_by(*GROUP, "question", "repeat").agg(pl.col("value").mean())
    means = by_reply.group_by(GROUP).agg(pl.len(), pl.col("value").mean())
    return {(suite, model, metric): (n, mean) for suite, model, metric, n, mean in means.rows()}


NOBODY_ASKED = '"judges":{}'
"""In the details of a score: no judge was asked, since none counts."""


def has_labels(plan: SuitePlan, model: str, metric: str) -> bool:
    """Return whether people's labels of a target's replies are kept for a metric."""
    criterion = criteria_of([plan.suite]).get((plan.name, metric), "")
    return _file(Path(plan.store.runs) / LABELS, (plan.name, model, metric), criterion).is_file()


def _join_verdicts(details: str) -> float | None:
    """Return what the judges of a reply said together; None if none of them scored it."""
    document = json.loads(details)
    values = [judge["value"] for judge in document["judges"].values() if judge.get("value") is not None]
    if not values:
        return None
    return aggregate(values, document.get("aggregate", "mean"))


def criteria_of(suites: Iterable[Suite]) -> dict[tuple[str, str], str]:
    """Return what a label means for each metric of suites: the criterion, and the opponent or mode, if any."""
    criteria = {}
    for suite in suites:
        for metric, options in suite.metrics.items():
            criterion = options.get("criteria", "")
            deciding = ("baseline", "mode", "criteria_column")
            details = {name: options[name] for name in deciding if name in options}
            criteria[suite.name, metric] = format_canonical([criterion, details] if details else criterion)
    return criteria


def sheet(judged_replies: pl.DataFrame, *, n: int, metric: str = "") -> pl.DataFrame:
    """Draw n replies of each suite, model and metric, with their probability, and an empty label.

    Raises:
        InputError: no such metric was judged.
    """
    metric_names = judged_replies["metric"].unique().sort().to_list()
    if metric and metric not in metric_names:
        raise InputError(f"--metric {metric}: not judged in this run; expected one of {', '.join(metric_names)}.")
    chosen = select_distinct(judged_replies.filter(pl.col("metric") == metric) if metric else judged_replies)
    parts = []
    for key, group in chosen.group_by(GROUP, maintain_order=True):
        n_drawn = min(n, group.height)
        # Its own seed for each group: a suite added to the run leaves the sheets of the others as they are.
        positions = Random(f"0 {key}").sample(range(group.height), n_drawn)
        parts.append(group[sorted(positions)].with_columns(probability=pl.lit(n_drawn / group.height)))
    drawn = pl.concat(parts)
    # Labels are kept by the stored prompt; people read the one that was asked.
    if "asked_prompt" in drawn.columns:
        drawn = drawn.with_columns(prompt="asked_prompt")
    references = pl.Series(_references(drawn), dtype=pl.String)
    labelled = drawn.with_columns(reference=references, label=pl.lit("")).select(COLUMNS)
    contexts = ["\n\n".join(map(str, json.loads(facts).get(CONTEXTS) or [])) for facts in drawn["facts"]]
    if any(contexts):
        labelled.insert_column(labelled.columns.index("response"), pl.Series(CONTEXTS, contexts, pl.String))
    return labelled


def read_labels(*paths: Path) -> pl.DataFrame:
    """Read filled sheets, of one labeller each or with several columns: a row for each reply.

    Columns: the key as text, `label` (a list with each labeller's, null if empty), `probability`, and `where` (file
    and row).

    Raises:
        InputError: one is no CSV file with the sheet's columns, a label is invalid, or they are of different draws.
    """
    labels = pl.concat(_labels_in(path).with_columns(labeller=pl.format("{} {}", n, "labeller"))
                       for n, path in enumerate(paths))  # fmt: skip
    is_twice = pl.struct(*KEY, "labeller").is_duplicated()
    clashing = labels.filter(is_twice | (pl.col("probability").n_unique().over(KEY) > 1))
    if clashing.height:
        *key, where = clashing.select(*KEY, "where").row(-1)
        raise InputError(
            f"{where}: the reply {' '.join(key)} is listed twice, or with another probability in another sheet; "
            "expected sheets of one draw."
        )
    return labels.group_by(KEY, maintain_order=True).agg("label", pl.col("probability", "where").first())


def _labels_in(path: Path) -> pl.DataFrame:
    """Return a row for each reply and labeller of a sheet, the label null if its cell is empty."""
    sheet = _read_sheet(path)
    labellers = [name for name in sheet.columns if name.strip().lower().startswith("label")]
    missing = [name for name in (*KEY, "probability") if name not in sheet.columns]
    if missing or not labellers or sheet.is_empty():
        lacks = ", ".join(missing) or "label"
        raise InputError(f"--labels {path}: found no column {lacks}; expected a sheet as `label` writes it.")
    # The sheet is guarded against formulas: a name may have an apostrophe before it.
    keys = pl.col(KEY).fill_null("").str.strip_prefix("'")
    where = pl.format("{}, row {}", pl.lit(str(path)), pl.int_range(2, pl.len() + 2))
    chance = pl.col("probability").fill_null("1").cast(pl.Float64, strict=False)
    rows = sheet.with_columns(keys, where=where, chance=chance)
    is_drawn = pl.col("chance").is_between(0, 1, closed="right").fill_null(value=False)
    for location, text in rows.filter(~is_drawn).select("where", "probability").rows():
        raise InputError(f"{location}: found the probability {text!r}, expected the one in the drawn sheet.")
    cells = rows.unpivot(labellers, index=[*KEY, "chance", "where"], variable_name="labeller", value_name="text")
    text = pl.col("text").fill_null("").str.strip_chars().str.to_lowercase().str.replace(",", ".", literal=True)
    number = text.replace_strict(dict(WORDS), default=text, return_dtype=pl.String).cast(pl.Float64, strict=False)
    read = cells.with_columns(label=number, is_empty=text == "").rename({"chance": "probability"})
    wrong = read.filter(~pl.col("is_empty") & ~pl.col("label").is_between(0, 1).fill_null(value=False))
    for location, name, cell in wrong.select("where", "labeller", "text").rows():
        raise InputError(
            f"{location}, column {name}: found the label {cell!r}, expected a number from 0 to 1, yes, no, or an "
            "empty cell."
        )
    return read.select(*KEY, "labeller", "label", "probability", "where")


def _read_sheet(path: Path) -> pl.DataFrame:
    """Return a sheet's cells as text, empty ones null, by the names in its first row."""
    try:
        rows = pl.read_csv(path, has_header=False, infer_schema=False, truncate_ragged_lines=True)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"--labels {path}: cannot be read ({error}); expected a sheet as `label` writes it."
        ) from error
    names = {column: name for column, name in zip(rows.columns, rows.row(0), strict=True) if name}
    for name, times in Counter(names.values()).items():
        if times > 1:
            raise InputError(f"--labels {path}: the column {name!r} is there twice; rename one of them.")
    return rows[1:].select([*names]).rename(names)


def estimates(judged_replies: pl.DataFrame, rows: pl.DataFrame) -> list[Labelled]:
    """Join the judges' scores of all replies with the labels of some, as `read_labels` returns them.

    Replies about which no judge was asked have no estimate.

    Raises:
        InputError: a label is of a reply that the run does not have, or there are no labels.
    """
    groups = _by_group(judged_replies, rows)
    distinct = select_distinct(judged_replies)
    scores = {group: _select_group(distinct, group) for group in groups}
    return [_estimate(group, scores[group], groups[group]) for group in groups if is_estimable(scores[group])]


def is_estimable(scores: pl.DataFrame) -> bool:
    """Return whether a judge was asked about all of some replies, so that labels can correct what it says."""
    return scores["value"].null_count() == 0


def _by_group(judged_replies: pl.DataFrame, rows: pl.DataFrame) -> dict[Group, GroupLabels]:
    """Return the labels of each suite, model and metric that has any, in order."""
    positions = number_replies(judged_replies).select(*KEY, "at")
    drawn = rows.join(
        positions.with_columns(pl.col("repeat").cast(pl.String)), on=KEY, how="left", maintain_order="left"
    )
    for *key, where in drawn.filter(pl.col("at").is_null()).select(*KEY, "where").rows():
        raise InputError(f"{where}: the run has no judged reply {' '.join(key)}; expected this run's own sheet.")
    labels = drawn.with_columns(pl.col("label").list.drop_nulls())
    labelled = labels.filter(pl.col("label").list.len() > 0)
    if labelled.is_empty():
        raise InputError(
            "found no label in the sheet; fill the column `label` with numbers from 0 to 1, or yes and no."
        )
    groups = labelled.select(GROUP).unique().sort(GROUP).rows()
    # Rows without a label were drawn all the same: they tell how many of the drawn ones are labelled.
    labels_of = {group: _join_copies(_select_group(labelled, group)) for group in groups}
    return {
        group: GroupLabels(_select_group(drawn, group)["at"].n_unique(), rows) for group, rows in labels_of.items()
    }


def _join_copies(labelled: pl.DataFrame) -> pl.DataFrame:
    """Join the labels of one reply of which a sheet lists several rows, so that it counts once."""
    probability = 1 - (1 - pl.col("probability")).product()
    return labelled.group_by("at", maintain_order=True).agg(pl.col("label").explode(), probability=probability)


def _estimate(group: Group, scores: pl.DataFrame, labels: GroupLabels) -> Labelled:
    rows = labels.rows
    answered = rows.height / labels.drawn  # empty rows count as not drawn
    powered = prediction_powered(
        scores["value"].clip(0.0, 1.0).to_list(),
        rows["at"].to_list(),
        rows["label"].list.mean().to_list(),
        probabilities=(rows["probability"] * answered).clip(upper_bound=1.0).to_list(),
        units=unit_codes(scores.select("question", "cluster").rows())[0],
        predictor=[_predict(*row) for row in scores.select("details", "value").iter_rows()],
    )
    ratings = rows.select(unit=pl.col("at").cast(pl.String), value="label").explode("value")
    several = ratings.height > rows.height
    return Labelled(*group, powered, agreement(ratings) if several else None)


def _predict(details: str, value: float) -> float:
    """Return what a reply's only judge predicts of its label: by its probabilities, if any, else its score."""
    results = [*json.loads(details).get("judges", {}).values()]
    mean = mean_value_in(results[0].get("probabilities", {})) if len(results) == 1 else None
    return min(max(value if mean is None else mean, 0.0), 1.0)


def store_labels(
    judged_replies: pl.DataFrame,
    rows: pl.DataFrame,
    criteria: Criteria,
    folder: Path,
    collect_judged: Callable[[str], Mapping[str, Any]] = lambda _: {},
) -> list[Path]:
    """Store the labels of filled sheets for later runs; return the files.

    `collect_judged` returns what judges said of a reply from its score's details, for cascades of later runs.

    Raises:
        InputError: as `estimates`.
    """
    paths = []
    distinct = select_distinct(judged_replies)
    for group, labels in _by_group(judged_replies, rows).items():
        suite, _, metric = group
        criterion = criteria.get((suite, metric), "")
        group_replies = _select_group(distinct, group)
        # All replies are named, not only the labelled ones: a later run has the labels if it has most of these.
        names, details = reply_names(group_replies, criterion), group_replies["details"]
        labelled: list[dict[str, Any]] = []
        for at, reply_labels, chance in labels.rows.rows():
            judged = collect_judged(details[at])
            labelled.append({"reply": names[at], "labels": reply_labels, "probability": chance, "judged": judged})
        path = _file(folder, group, criterion)
        document = {"drawn": labels.drawn, "of": names, "labelled": labelled, "saved": _add_save(path, labelled)}
        write_json(path, {**dict(zip(GROUP, group, strict=True)), **document})
        paths.append(path)
    return paths


def _add_save(path: Path, labelled: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return when labels were saved to a file and how many, with the save that is due; equal ones add none."""
    saves: list[Mapping[str, Any]] = []
    with suppress(OSError, ValueError, KeyError, TypeError):
        saves = [*json.loads(path.read_text(encoding="utf-8"))["saved"]]
    digest = hashlib.sha256(format_canonical(labelled).encode()).hexdigest()
    if saves and saves[-1].get("sha256") == digest:
        return saves
    now = datetime.now(UTC).astimezone().isoformat(timespec="seconds")
    return [*saves, {"at": now, "n": len(labelled), "sha256": digest}]


def list_saves(folder: Path, suites: Sequence[Suite]) -> list[dict[str, Any]]:
    """Return, for each file of people's labels that suites may go by, its suite, model, metric and saves."""
    criteria, entries = criteria_of(suites), []
    for path in sorted(folder.glob("*.json")):
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            suite, model, metric = (str(stored[name]) for name in GROUP)
            saves = [*stored.get("saved", ())]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # whoever reads the labels themselves says so
        if path == _file(folder, (suite, model, metric), criteria.get((suite, metric), "")):
            entries.append({"suite": suite, "model": model, "metric": metric, "saved": saves})
    return entries


def list_label_files(folder: Path, suite: str, metric: str, criterion: str) -> Iterator[Mapping[str, Any]]:
    """Yield the labelled replies of all models that are kept for a metric of a suite by a criterion.

    Raises:
        InputError: a file of labels is damaged.
    """
    for path in sorted(folder.glob("*.json")):
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            group = (stored["suite"], stored["model"], stored["metric"])
            labelled = [*stored["labelled"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _build_damage(path, error) from error
        if (group[0], group[2]) == (suite, metric) and path == _file(folder, group, criterion):
            yield from labelled


def _build_damage(path: Path, error: Exception) -> InputError:
    reason = type(error).__name__
    return InputError(f"{path}: cannot be read ({reason}). Run `label` again with the filled sheets.")


def label_rows(judged_replies: pl.DataFrame, folder: Path, criteria: Criteria) -> pl.DataFrame:
    """Return people's labels of a run's judged replies, as `load_judged` returns them: a row each, with their mean.

    Raises:
        InputError: a file of labels is damaged.
    """
    rows: list[tuple[Any, ...]] = []
    # A label counts for all copies of its reply.
    numbered = number_replies(judged_replies)
    for group in judged_replies.select(GROUP).unique(maintain_order=True).rows():
        suite, _, metric = group
        criterion = criteria.get((suite, metric), "")
        stored = list_label_files(folder, suite, metric, criterion)
        labels = {entry["reply"]: fmean(entry["labels"]) for entry in stored}
        group_replies = _select_group(numbered, group)
        names = reply_names(group_replies.unique("at", keep="first", maintain_order=True), criterion)
        keys = zip(group_replies.select(KEY).rows(), group_replies["at"], strict=True)
        rows += [(*key, labels[names[at]]) for key, at in keys if names[at] in labels]
    return pl.DataFrame(
        rows, {**{name: judged_replies.schema[name] for name in KEY}, "label": pl.Float64()}, orient="row"
    )


def load_corrections(
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
    judged_replies = select_distinct(join_judged(scores, items, texts()).drop_nulls("value"))
    criteria = criteria_of(suites)
    settled = _compute_settled_means(scores, items)
    corrected: dict[Group, Powered] = {}
    for group in judged_replies.select(GROUP).unique(maintain_order=True).rows():
        suite, model, metric = group
        criterion = criteria.get((suite, metric), "")
        path = _file(folder, group, criterion)
        if not path.is_file():
            continue
        replies = _select_group(judged_replies, group)
        try:
            labels = _read_group(json.loads(path.read_text(encoding="utf-8")), reply_names(replies, criterion))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise _build_damage(path, error) from error
        # Labels of other replies than these correct nothing: the run is reported without them.
        if labels:
            n_settled, mean = settled.get(group, (0, 0.0))
            powered = _estimate(group, replies, labels).powered
            corrected[group] = replace(powered, n_settled=n_settled, settled=mean)
        else:
            _log.warning("%s, %s, %s: replies have changed since they were labelled.", suite, model, metric)
    return corrected


def _check_stored(labelled: Sequence[Mapping[str, Any]]) -> None:
    """Refuse stored labels out of their range or without a value, and a reply that is listed twice."""
    labels = [entry["labels"] for entry in labelled]
    is_sound = all(labels) and all(0 <= value <= 1 for value in chain.from_iterable(labels))
    is_drawn = all(0 < entry["probability"] <= 1 for entry in labelled)
    names = {entry["reply"] for entry in labelled}
    if not (is_sound and is_drawn) or len(names) < len(labelled):
        raise ValueError("expected labels from 0 to 1, probabilities above 0, and each reply once")


def _read_group(stored: Mapping[str, Any], names: Sequence[str]) -> GroupLabels | None:
    """Return the labels of a run's judged replies; None if those differ from the replies drawn from but for a few.

    Raises:
        ValueError: a label or probability out of its range, or a reply listed twice.
    """
    labelled = stored["labelled"]
    _check_stored(labelled)
    if not {*names} <= {*stored["of"]} or len(names) < MIN_COVERAGE * len(stored["of"]):
        return None
    positions = {name: at for at, name in enumerate(names)}
    rows = [
        (positions[entry["reply"]], entry["labels"], entry["probability"])
        for entry in labelled
        if entry["reply"] in positions
    ]
    if not rows:
        return None
    kinds = {"at": pl.Int64, "label": pl.List(pl.Float64), "probability": pl.Float64}
    drawn = stored["drawn"] - len(labelled) + len(rows)
    return GroupLabels(drawn, pl.DataFrame(rows, kinds, orient="row"))


def reply_names(replies: pl.DataFrame, criterion: str) -> list[str]:
    """Return a key for each judged reply: a digest of criterion, question and text; equal ones numbered."""
    times: Counter[str] = Counter()
    names = []
    for row in replies.select("prompt", "facts", "response").iter_rows():
        digest = hashlib.sha256(json.dumps([criterion, *row]).encode()).hexdigest()[:24]
        times[digest] += 1
        names.append(f"{digest} {times[digest]}")
    return names


def _file(folder: Path, group: Group, criterion: str) -> Path:
    digest = hashlib.sha256(json.dumps([*group, criterion]).encode()).hexdigest()[:32]
    return folder / f"{digest}.json"


def _select_group(judged_replies: pl.DataFrame, group: Group) -> pl.DataFrame:
    return judged_replies.filter(**dict(zip(GROUP, group, strict=True)))
