"""Compare finished runs, from their manifests and tables; no model is called."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from basic_control.metrics.analysis.observations import KEY, RepeatedQuestions, observations
from basic_control.metrics.analysis.pairs import Comparison, Grouping, find_crossed
from basic_control.metrics.analysis.shared_questions import QuestionChanges, align
from basic_control.prompts.phrases import ENGLISH
from basic_control.tasks.compare.rows import (
    describe_question,
    find_name,
    list_prompt_columns,
    shorten_questions,
    write_calls,
)
from basic_control.tasks.compare.sides import (
    FileForm,
    list_shared_metrics,
    list_side_metrics,
    list_stated_differences,
    read_sides,
)
from basic_control.tasks.exchange.frames import Side

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
    form = replace(form or FileForm(), requested=metrics)
    sides = read_sides(names, runs=runs, root=root, form=form)
    return compare_sides(sides, root=root, metrics=metrics, every=every, language=language, rescore=rescore)


def compare_sides(
    sides: Sequence[Side],
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
        sides, rescored = _rescore_by_last(sides, root)
    # From here on all sides call a question by one id, and a model by one label.
    aligned = align({side.name: side.items for side in sides})
    scores_by_side: dict[str, pl.DataFrame] = {}
    texts_by_side: dict[str, pl.DataFrame] = {}
    for side in sides:
        ids = aligned.ids[side.name]
        scores_by_side[side.name] = _share_ids(side.scores, ids)
        texts_by_side[side.name] = _share_ids(_read_texts(side), ids)
    is_verified = any(side.verified for side in sides)
    if not is_verified or len(sides) > 1:
        _check_shared_questions(sides, scores_by_side)
    groups = _group_models(sides, scores_by_side, every=every)
    labels = {(model.run, model.model): model.label for model in chain.from_iterable(groups)}
    scores = pl.concat([SCORES.frame([]), _join_labelled(scores_by_side, labels)])
    _check_metrics(metrics, scores)
    has_files = _has_files(sides)
    if has_files and not metrics:
        metrics = list_shared_metrics(sides)
    suites = _merge_suites(sides)
    once = observations(scores, aligned.items)
    crossed: set[frozenset[str]] = set()
    for side in sides:
        if not every:
            crossed |= _find_crossed(side, labels)
    pairs, grouped = compare_fields(
        once.scores, once.items, groups, [*suites.values()], metrics, crossed=frozenset(crossed)
    )
    if has_files:  # the first metric of files is the main one
        pairs.sort(key=lambda pair: [*metrics, pair.metric].index(pair.metric))
    shared = count_common(scores_by_side, aligned.items)
    if not pairs and not is_verified:
        raise InputError(_explain_no_pair(sides, sum(n_shared for _, n_shared in shared.values())))
    # What changed is shown with both replies, which no score needs.
    replies = _join_labelled(texts_by_side, labels)
    models = _label_models(scores_by_side)
    return RunComparison(
        runs=[*sides],
        shared=shared,
        pairs=pairs,
        groups=grouped,
        changed=[_list_changes(pair, suites.get(pair.suite), scores, aligned.items, replies) for pair in pairs],
        moved=aligned.moved,
        rescored=rescored,
        alone=[model.label for model in models if model.label not in labels.values()],
        doubled=once.doubled,
        language=_choose_language(sides, language),
    )


def _has_files(sides: Iterable[Side]) -> bool:
    return any(side.is_file for side in sides)


def _rescore_by_last(sides: Sequence[Side], root: str) -> tuple[list[Side], dict[str, Sequence[str]]]:
    """Score the replies of all runs by what scored the last one; also return these units, by run."""
    runs = [side for side in sides if side.run]
    if not runs:
        return [*sides], {}
    from basic_control.tasks.compare.gating import align_scores  # slow import, which files need not wait for

    aligned = [*sides]
    rescored: dict[str, Sequence[str]] = {}
    for n, side in enumerate(sides):
        if side is runs[-1]:
            continue
        aligned[n], units = align_scores(side, runs[-1], root)
        if units:
            rescored[side.name] = units
    return aligned, rescored


def _check_metrics(metrics: Sequence[str], scores: pl.DataFrame) -> None:
    """Reject metrics that no run has."""
    expected = scores["metric"].unique().sort().to_list()
    for metric in metrics:
        if metric not in expected:
            raise InputError(f"no run has the metric {metric!r}; expected one of {', '.join(expected)}.")


def _list_changes(
    pair: Comparison, suite: Suite | None, scores: pl.DataFrame, items: pl.DataFrame, replies: pl.DataFrame
) -> pl.DataFrame:
    """Return the questions of which a pair's scores differ, with what tells them apart and both replies."""
    weights: Mapping[str, float] = {}
    if suite and pair.scope == "suite":
        weights = _find_weights(suite, pair.metric)
    columns = frozenset[str]()
    if suite:
        columns = list_prompt_columns(suite)
    changed = _add_questions(changes(scores, items, pair, weights), items, columns)
    return _add_texts(changed, pair, replies)


def _choose_language(sides: Sequence[Side], language: str) -> str:
    configurations = [side.run.configuration for side in sides if side.run]
    if not (configurations or language):
        return ENGLISH
    from basic_control.tasks.compare.configurations import (
        choose_language,
    )  # slow import, which files need not wait for

    return choose_language(configurations, language)


def _label_models(scores_by_side: Mapping[str, pl.DataFrame]) -> list[ComparedModel]:
    models = {name: [*frame["model"].unique(maintain_order=True)] for name, frame in scores_by_side.items()}
    return label_models(models)


def _group_models(
    sides: Sequence[Side], scores_by_side: Mapping[str, pl.DataFrame], *, every: bool
) -> list[list[ComparedModel]]:
    """Return the groups of models that are compared; of files each is, since it was named in order to be."""
    models = _label_models(scores_by_side)
    compared = fields(models, every=every)
    if not _has_files(sides):
        return compared
    if len(models) > MOST_MODELS:
        raise InputError(
            f"found {len(models)} models in the files, expected at most {MOST_MODELS}: each pair is "
            "compared. Give fewer files; a table without a model column counts as one model."
        )
    runs = {model.run for model in chain.from_iterable(compared)}
    if runs < scores_by_side.keys():
        return fields(models, every=True)
    return compared


def _read_texts(side: Side) -> pl.DataFrame:
    """Return a side's replies with their texts, which a baseline has not; calls of tools where there is no text."""
    replies = pl.concat(
        [side.replies, pl.DataFrame(schema={**_TEXTS, "extra": pl.String()})], how="diagonal_relaxed"
    )
    calls = pl.Series("calls", [*map(write_calls, replies["extra"])], pl.String)
    is_silent = (pl.col("text") == "") & (calls != "")
    return replies.with_columns(text=pl.when(is_silent).then(calls).otherwise("text")).select([*_TEXTS])


def _add_questions(changed: pl.DataFrame, items: pl.DataFrame, columns: Collection[str]) -> pl.DataFrame:
    """Add what tells each question from its neighbours, `question`, and its own `name`, '' without one."""
    questions: dict[str, str] = {}
    names: dict[str, str] = {}
    # All of them: what they begin with alike is seen only beside those that have not changed.
    of_suites = items.join(changed.select("item_id"), on="item_id", how="semi")["suite"].unique()
    for item in items.filter(pl.col("suite").is_in(of_suites.implode())).iter_rows(named=True):
        facts = json.loads(item["facts"] or "{}")
        questions[item["item_id"]] = describe_question(item, facts, columns)
        names[item["item_id"]] = find_name(item, facts)
    shortened = shorten_questions(questions)
    rows = changed.iter_rows(named=True)
    texts = [shortened.get(row["item_id"]) or describe_question(row, {}, columns) for row in rows]
    own_names = [names.get(item, "") for item in changed["item_id"]]
    return changed.with_columns(pl.Series("question", texts, pl.String), pl.Series("name", own_names, pl.String))


def _add_texts(changed: pl.DataFrame, pair: Comparison, replies: pl.DataFrame) -> pl.DataFrame:
    """Add the replies to a pair's changes, `before_text` and `after_text`: the error where there is no text."""
    for side, label in (("after", pair.model_a), ("before", pair.model_b)):
        text = pl.coalesce("text", "error", pl.lit("")).alias(f"{side}_text")
        texts = replies.filter(model=label).select(*KEY, text)
        changed = changed.join(texts, on=KEY, how="left", maintain_order="left")
    return changed


def _merge_suites(sides: Sequence[Side]) -> dict[str, Suite]:
    """Return the runs' suites: as the last run declares each, with the `stop` of any that stops early."""
    suites: dict[str, Suite] = {}
    for side in sides:
        for suite in side.suites:
            stop = suite.stop
            if stop is None and suite.name in suites:
                stop = suites[suite.name].stop
            suites[suite.name] = suite.model_copy(update={"stop": stop})
    # A pinned baseline says no more of its suites than what decides them.
    for side in sides:
        for name, rules in side.provenance.suites.items():
            if rules.in_rounds and name in suites and not suites[name].stop:
                suites[name] = suites[name].model_copy(update={"stop": Stop()})
    return suites


def _find_weights(suite: Suite, name: str) -> dict[str, float]:
    """Return the weights of the metrics of a headline that is a mean."""
    return next(score.shares for score in headlines(suite) if score.headline == name)


def _find_crossed(side: Side, labels: Mapping[tuple[str, str], str]) -> frozenset[frozenset[str]]:
    """Return the label pairs of a run's targets that share neither model nor prompt."""
    model_names: list[str] = []
    if side.run:
        model_names = [model["name"] for model in side.run.configuration.get("models", ())]
    targets: dict[str, Any] = {}
    for name, target in find_targets(side.suites, model_names).items():
        if (side.name, name) in labels:
            targets[labels[side.name, name]] = target
    return find_crossed(targets)


def _share_ids(frame: pl.DataFrame, ids: Mapping[str, str]) -> pl.DataFrame:
    """Replace a run's ids by those that all runs share."""
    return frame.with_columns(pl.col("item_id").replace(ids))


def _join_labelled(frames: Mapping[str, pl.DataFrame], labels: Mapping[tuple[str, str], str]) -> pl.DataFrame:
    """Join the frames of all sides, in each the rows of the models that have labels, under these."""
    labelled: list[pl.DataFrame] = []
    for side_name, frame in frames.items():
        side_labels = {model: label for (run, model), label in labels.items() if run == side_name}
        rows = frame.filter(pl.col("model").is_in([*side_labels])).drop("suite", strict=False)
        labelled.append(rows.with_columns(pl.col("model").replace(side_labels)))
    return pl.concat(labelled)


def _check_shared_questions(sides: Sequence[Side], scores_by_side: Mapping[str, pl.DataFrame]) -> None:
    """Reject runs of which no two share a question, naming their differences."""
    if len(sides) == 1:
        if scores_by_side[sides[0].name]["model"].n_unique() > 1:
            return
        raise InputError(
            f"run {sides[0].name} has one model; expected several, or a second run to compare it with."
        )
    for name, frame in scores_by_side.items():
        if frame.is_empty():
            raise InputError(f"{name}: found no scored reply, so there is nothing to compare.")
    keys = [frame.select(KEY).unique() for frame in scores_by_side.values()]
    if any(first.join(second, on=KEY, how="semi").height for first, second in combinations(keys, 2)):
        return
    # What decides which questions are asked says why they differ.
    asking = ("items.", "data of", "prompt of")
    differences = []
    for fact, values in list_stated_differences(sides):
        if fact.startswith(asking):
            differences.append(f"{fact} is {' / '.join(map(shorten, values))}")
    why = "; ".join(differences[:_SHOWN_DIFFERENCES]) or _describe_questions(sides)
    raise InputError(
        f"the runs {', '.join(side.name for side in sides)} have no question in common: {why}. Only runs "
        "with the same questions can be compared: with the same seeds, levels, languages and data."
    )


def _explain_no_pair(sides: Sequence[Side], n_shared: int) -> str:
    """Return why runs with questions in common have no pair of scores."""
    parts = [
        f"the runs have {n_shared} questions in common, but none that two of them score by the same metric.",
        "See their reports: calls or judges may have failed.",
    ]
    parts.extend(f"{side.name} has {', '.join(list_side_metrics(side)) or 'no metric'}." for side in sides)
    return " ".join(parts)


def _describe_questions(sides: Sequence[Side]) -> str:
    """Return why questions are not the same."""
    if not any(side.is_file for side in sides):
        return "the versions of their data or families differ"
    # Where ids are shared their texts differ, else the questions would be too.
    old = _read_prompts(sides[0])
    new = _read_prompts(sides[1])
    shared_ids = [question_id for question_id in old if question_id in new]
    if shared_ids:
        first = f"{shared_ids[0]} is {shorten(old[shared_ids[0]])!r} and {shorten(new[shared_ids[0]])!r}"
        return f"{len(shared_ids)} ids occur in both, each with another text ({first})"
    return "; ".join(f"{side.name} begins with {shorten(side.items['prompt'][0])!r}" for side in sides)


def _read_prompts(side: Side) -> dict[str, str]:
    return dict(side.items.select("question_id", "prompt").iter_rows())


def shorten(value: Any, longest: int = 80) -> str:
    """Return a configuration value as one short line."""
    text = value
    if not isinstance(value, str) or not value:
        text = format_canonical(value)
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
