"""Compare finished runs, from their manifests and tables; no model is called."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.data.deciding import headlines
from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError
from basic_control.data.suites import Stop, Suite, find_targets
from basic_control.data.tables import SCORES
from basic_control.metrics.analysis.matching import (
    ComparedModel,
    changes,
    compare_fields,
    count_common,
    fields,
    label_models,
)
from basic_control.metrics.analysis.pairs import Comparison, Grouping, find_crossed
from basic_control.metrics.analysis.questions import QuestionChanges, align
from basic_control.metrics.analysis.values import KEY, RepeatedQuestions, observations
from basic_control.prompts.phrases import ENGLISH
from basic_control.tasks.compare.rows import columns_of, question_of
from basic_control.tasks.compare.sides import (
    FileForm,
    list_shared_metrics,
    list_stated_differences,
    metrics_of,
    sides,
)
from basic_control.tasks.exchange.tables import Side

_SHOWN_DIFFERENCES = 8
MOST_MODELS = 50
"""Maximum number of models from files compared with each other at once."""


@dataclass(frozen=True)
class RunComparison:
    """A comparison of runs.

    `shared` has each suite's number of questions in every run, and in all of its runs. `pairs` compare later-given
    against earlier-given runs (`metrics.analysis.matching`); `changed` has a frame of changes per pair, with both
    replies; `moved` are the changes in each run's questions since the first run with that suite. `rescored` are the
    units by which a run's replies were scored again, `alone` the models that were not compared, `doubled` the
    suites that repeat questions. `language` is that of the output.
    """

    runs: list[Side]
    shared: Mapping[str, tuple[list[int], int]]
    pairs: list[Comparison]
    groups: list[Grouping]
    changed: list[pl.DataFrame]
    moved: Mapping[str, Sequence[QuestionChanges]]
    rescored: Mapping[str, Sequence[str]]
    alone: Sequence[str]
    doubled: Sequence[RepeatedQuestions]
    language: str = ENGLISH

    def is_listed(self, pair: Comparison) -> bool:
        """Return whether a pair's changes are listed: once per suite, by its score if several metrics make it."""
        if pair.scope == "metric":
            return not any((rival.suite, rival.scope) == (pair.suite, "suite") for rival in self.pairs)
        return pair.scope != "overall"


def compare_runs(
    names: Sequence[str],
    *,
    runs: Path,
    root: str = "",
    metrics: Sequence[str] = (),
    every: bool = False,
    language: str = "",
    form: FileForm | None = None,
    rescore: bool = True,
) -> RunComparison:
    """Pair the items of runs, or of other tools' files; `metrics` are the suites' own by default.

    `every`: compare every two models; `form` says how files are to be read; `rescore`: score the replies of runs by
    what scored the last one, if only that has changed since. The default language is that of the last run's report.

    Raises:
        InputError: a run or a table of it is not there, or the runs have nothing in common.
    """
    if not names:
        raise InputError("found no run; expected several, or one with several models.")
    compared_sides = sides(names, runs=runs, root=root, form=form)
    return compare_sides(
        compared_sides, root=root, metrics=metrics, every=every, language=language, rescore=rescore
    )


def compare_sides(
    whole: Sequence[Side],
    *,
    root: str = "",
    metrics: Sequence[str] = (),
    every: bool = False,
    language: str = "",
    rescore: bool = True,
) -> RunComparison:
    """Pair the items of sides, as `compare_runs` does.

    Raises:
        InputError: a table is not there, or the sides have nothing in common.
    """
    rescored: Mapping[str, Sequence[str]] = {}
    if rescore:
        whole, rescored = _in_last_terms(whole, root)
    # From here on all sides call a question by one id, and a model by one label.
    aligned = align({side.name: side.items for side in whole})
    tables = {side.name: _share_ids(side.scores, aligned.ids[side.name]) for side in whole}
    is_verified = any(side.verified for side in whole)
    if not is_verified or len(whole) > 1:
        _check(whole, tables)
    compared = _fields(whole, tables, every=every)
    models = [model for field in compared for model in field]
    labels = {(model.run, model.model): model.label for model in models}
    scores = pl.concat([SCORES.frame([]), *(_apply_labels(frame, run, labels) for run, frame in tables.items())])
    unknown_metrics = [metric for metric in metrics if metric not in {*scores["metric"]}]
    if unknown_metrics:
        expected = ", ".join(scores["metric"].unique().sort())
        raise InputError(f"no run has the metric {unknown_metrics[0]!r}; expected one of {expected}.")
    has_files = any(side.is_file for side in whole)
    chosen = metrics or (list_shared_metrics(whole) if has_files else ())
    suites = _suites(whole)
    once = observations(scores, aligned.items)
    crossed = frozenset[frozenset[str]]().union(*(_find_crossed(side, labels) for side in whole if not every))
    pairs, grouped = compare_fields(once.scores, once.items, compared, [*suites.values()], chosen, crossed=crossed)
    if has_files:  # the first metric of files is the main one
        pairs.sort(key=lambda pair: [*chosen, pair.metric].index(pair.metric))
    shared = count_common(tables, aligned.items)
    if not pairs and not is_verified:
        raise InputError(_describe_nothing(whole, shared))
    # What changed is shown with both replies, which no score needs.
    texts = {side.name: _share_ids(_texts_of(side), aligned.ids[side.name]) for side in whole}
    replies = pl.concat(_apply_labels(frame, run, labels) for run, frame in texts.items())
    changed = []
    for pair in pairs:
        suite = suites.get(pair.suite)
        parts: Mapping[str, float] = {}
        if suite and pair.scope == "suite":
            parts = _parts(suite, pair.metric)
        frame = changes(scores, aligned.items, pair, parts)
        columns = columns_of(suite) if suite else frozenset[str]()
        changed.append(_with_texts(_with_questions(frame, aligned.items, columns), pair, replies))
    every_label = [model.label for model in _models(tables)]
    return RunComparison(
        runs=[*whole],
        shared=shared,
        pairs=pairs,
        groups=grouped,
        changed=changed,
        moved=aligned.moved,
        rescored=rescored,
        alone=[label for label in every_label if label not in {*labels.values()}],
        doubled=once.doubled,
        language=_language(whole, language),
    )


def _in_last_terms(whole: Sequence[Side], root: str) -> tuple[list[Side], dict[str, Sequence[str]]]:
    """Score the replies of all runs by what scored the last one; also return these units, by run."""
    runs = [side for side in whole if side.run]
    if not runs:
        return [*whole], {}
    from basic_control.tasks.compare.alignment import align_scores  # slow import, which files need not wait for

    sides_in_terms: list[Side] = []
    rescored: dict[str, Sequence[str]] = {}
    for side in whole:
        aligned, units = (side, ()) if side is runs[-1] else align_scores(side, runs[-1], root)
        sides_in_terms.append(aligned)
        if units:
            rescored[side.name] = units
    return sides_in_terms, rescored


def _language(whole: Sequence[Side], language: str) -> str:
    runs = [side.run for side in whole if side.run]
    if not (runs or language):
        return ENGLISH
    from basic_control.tasks.compare.configurations import language_of  # slow import, which files need not wait for

    return language_of((run.configuration for run in runs), language)


def _models(tables: Mapping[str, pl.DataFrame]) -> list[ComparedModel]:
    models = {name: [*frame["model"].unique(maintain_order=True)] for name, frame in tables.items()}
    return label_models(models)


def _fields(whole: Sequence[Side], tables: Mapping[str, pl.DataFrame], *, every: bool) -> list[list[ComparedModel]]:
    """Return the groups of models that are compared; of files each is, since it was named in order to be."""
    models = _models(tables)
    compared = fields(models, every=every)
    if not any(side.is_file for side in whole):
        return compared
    if len(models) > MOST_MODELS:
        raise InputError(
            f"found {len(models)} models in the files, expected at most {MOST_MODELS}: each pair is "
            "compared. Give fewer files; a table without a model column counts as one model."
        )
    runs = {model.run for model in chain.from_iterable(compared)}
    if runs < {side.name for side in whole}:
        return fields(models, every=True)
    return compared


def _texts_of(side: Side) -> pl.DataFrame:
    """Return a side's replies with their texts, which a baseline has not."""
    return pl.concat([side.replies, pl.DataFrame(schema=_TEXTS)], how="diagonal_relaxed").select([*_TEXTS])


def _with_questions(changed: pl.DataFrame, items: pl.DataFrame, columns: Collection[str]) -> pl.DataFrame:
    """Add what tells each question from its neighbours, `question`."""
    rows = items.join(changed.select("item_id"), on="item_id", how="semi").select("item_id", "facts").iter_rows()
    facts = {item_id: json.loads(text or "{}") for item_id, text in rows}
    questions = [question_of(row, facts.get(row["item_id"], {}), columns) for row in changed.iter_rows(named=True)]
    return changed.with_columns(pl.Series("question", questions, pl.String))


def _with_texts(changed: pl.DataFrame, pair: Comparison, replies: pl.DataFrame) -> pl.DataFrame:
    """Add the replies to a pair's changes, `before_text` and `after_text`: the error where there is no text."""
    for side, label in (("after", pair.model_a), ("before", pair.model_b)):
        text = pl.coalesce("text", "error", pl.lit("")).alias(f"{side}_text")
        texts = replies.filter(model=label).select(*KEY, text)
        changed = changed.join(texts, on=KEY, how="left", maintain_order="left")
    return changed


def _suites(whole: Sequence[Side]) -> dict[str, Suite]:
    """Return the runs' suites: as the last run declares each, with the `stop` of any that stops early."""
    suites: dict[str, Suite] = {}
    for suite in chain.from_iterable(side.suites for side in whole):
        stop = suite.stop
        if stop is None and suite.name in suites:
            stop = suites[suite.name].stop
        suites[suite.name] = suite.model_copy(update={"stop": stop})
    # A pinned baseline says no more of its suites than what decides them.
    for name, rules in chain.from_iterable(side.provenance.suites.items() for side in whole):
        if rules.in_rounds and name in suites and not suites[name].stop:
            suites[name] = suites[name].model_copy(update={"stop": Stop()})
    return suites


def _parts(suite: Suite, name: str) -> dict[str, float]:
    """Return the metrics of a headline that is a mean, by their weights."""
    return next(score.shares for score in headlines(suite) if score.headline == name)


def _find_crossed(side: Side, labels: Mapping[tuple[str, str], str]) -> frozenset[frozenset[str]]:
    """Return the label pairs of a run's targets that share neither model nor prompt."""
    models = side.run.configuration.get("models", ()) if side.run else ()
    targets: dict[str, Any] = {}
    for name, target in find_targets(side.suites, [model["name"] for model in models]).items():
        if (side.name, name) in labels:
            targets[labels[side.name, name]] = target
    return find_crossed(targets)


def _share_ids(frame: pl.DataFrame, ids: Mapping[str, str]) -> pl.DataFrame:
    """Replace a run's ids by those that all runs share."""
    return frame.with_columns(pl.col("item_id").replace(ids))


def _apply_labels(frame: pl.DataFrame, run: str, labels: Mapping[tuple[str, str], str]) -> pl.DataFrame:
    run_labels = {model: label for (of, model), label in labels.items() if of == run}
    return (
        frame.filter(pl.col("model").is_in(list(run_labels)))
        .with_columns(pl.col("model").replace(run_labels))
        .drop("suite", strict=False)
    )


def _check(whole: Sequence[Side], tables: Mapping[str, pl.DataFrame]) -> None:
    """Reject runs of which no two share a question, naming their differences."""
    if len(whole) == 1:
        if tables[whole[0].name]["model"].n_unique() > 1:
            return
        raise InputError(
            f"run {whole[0].name} has one model; expected several, or a second run to compare it with."
        )
    rows = [frame.select(KEY).unique() for frame in tables.values()]
    for name, frame in tables.items():
        if frame.is_empty():
            raise InputError(f"{name}: found no scored reply, so there is nothing to compare.")
    if any(first.join(second, on=KEY, how="semi").height for first, second in combinations(rows, 2)):
        return
    asking = ("items.", "data of", "prompt of")
    differences = []
    for fact, values in list_stated_differences(whole):
        if fact.startswith(asking):
            differences.append(f"{fact} is {' / '.join(map(shorten, values))}")
    why = "; ".join(differences[:_SHOWN_DIFFERENCES]) or _describe_questions(whole)
    raise InputError(
        f"the runs {', '.join(side.name for side in whole)} have no question in common: {why}. Only runs "
        "with the same questions can be compared: with the same seeds, levels, languages and data."
    )


def _describe_nothing(whole: Sequence[Side], shared: Mapping[str, tuple[list[int], int]]) -> str:
    total = sum(count for _, count in shared.values())
    parts = [
        f"the runs have {total} questions in common, but none that two of them score by the same metric.",
        "See their reports: calls or judges may have failed.",
    ]
    parts += (f"{side.name} has {', '.join(metrics_of(side)) or 'no metric'}." for side in whole)
    return " ".join(parts)


def _describe_questions(whole: Sequence[Side]) -> str:
    """Return why questions are not the same."""
    if not all(side.is_file for side in whole):
        return "the versions of their data or families differ"
    old, new = (dict(side.items.select("question_id", "prompt").iter_rows()) for side in whole[:2])
    shared_ids = [question for question in old if question in new]
    if shared_ids:
        first = f"{shared_ids[0]} is {shorten(old[shared_ids[0]])!r} and {shorten(new[shared_ids[0]])!r}"
        return f"{len(shared_ids)} ids occur in both, each with another text ({first})"
    return "; ".join(f"{side.name} begins with {shorten(side.items['prompt'][0])!r}" for side in whole)


def shorten(value: Any, longest: int = 80) -> str:
    """Return a configuration value as one short line."""
    text = value if isinstance(value, str) and value else format_canonical(value)
    if len(text) <= longest:
        return text
    return f"{text[: longest - 1]}…"


_TEXTS = {
    "item_id": pl.String(),
    "model": pl.String(),
    "repeat": pl.Int64(),
    "text": pl.String(),
    "error": pl.String(),
}
