"""Compare finished runs, from their manifests and tables; no model is called."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import polars as pl

from data.draw import canonical
from data.errors import InputError
from data.suites import Suite, prompted
from data.tables import SCORES
from metrics.analysis.matching import ComparedModel, changes, common, compare_fields, compared_models, fields
from metrics.analysis.pairs import Comparison, Grouping, sharing_nothing
from metrics.analysis.questions import QuestionChanges, align
from metrics.analysis.rules import changed_units
from metrics.analysis.values import KEY, observations
from prompts.phrases import ENGLISH, phrase
from tasks.compare.alignment import align_scores
from tasks.compare.provenance import provenance_of
from tasks.compare.sides import FileForm, remarks, shared_metrics, sides, stated_differences
from tasks.exchange.tables import Side

_SHOWN_DIFFERENCES = 8
MOST_MODELS = 50
"""Maximum number of models from files compared with each other at once."""


@dataclass(frozen=True)
class RunComparison:
    """A comparison of runs.

    `shared` has each suite's number of questions in every run, and in all of its runs. `pairs` compare later-given
    against earlier-given runs (`metrics.analysis.matching`); `changed` has a frame of changes per pair, with both
    replies; `moved` are the changes in each run's questions since the first run with that suite. `language` is that
    of the output.
    """

    runs: list[Side]
    shared: Mapping[str, tuple[list[int], int]]
    differences: list[tuple[str, list[Any]]]
    notes: list[str]
    pairs: list[Comparison]
    groups: list[Grouping]
    changed: list[pl.DataFrame]
    moved: Mapping[str, Sequence[QuestionChanges]]
    language: str = ENGLISH

    def listed(self, pair: Comparison) -> bool:
        """Return whether a pair's changes are listed: once per suite, by its score if several metrics make it."""
        if pair.scope == "metric":
            return not any((one.suite, one.scope) == (pair.suite, "suite") for one in self.pairs)
        return pair.scope != "overall"


def compare_runs(
    named: Sequence[str],
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
    if not named:
        raise InputError("found no run; expected several, or one with several models.")
    found = sides(named, runs=runs, root=root, form=form)
    found, rescored = _in_last_terms(found, root) if rescore else (found, {})
    known, spoken = [side.run for side in found if side.run], language or ENGLISH
    if known or language:
        from tasks.compare.configurations import language_of

        spoken = language_of((run.configuration for run in known), language)
    aligned = align({side.name: side.items for side in found})
    items = aligned.items
    own = {side.name: _renamed(side.scores, aligned.ids[side.name]) for side in found}
    shared = common(own, items)
    looked = any(side.verified for side in found)
    if not looked or len(found) > 1:
        _check(found, own)
    listed = compared_models(
        {name: frame["model"].unique(maintain_order=True).to_list() for name, frame in own.items()}
    )
    files = any(side.run is None for side in found)
    if files and len(listed) > MOST_MODELS:
        raise InputError(
            f"found {len(listed)} models in the files, expected at most {MOST_MODELS}: each pair is "
            "compared. Give fewer files; a table without a model column counts as one model."
        )
    compared = fields(listed, every=every)
    if files and {one.run for field in compared for one in field} < {side.name for side in found}:
        compared = fields(listed, every=True)  # each file was named in order to be compared
    labels = {(one.run, one.model): one.label for one in listed}
    scores = pl.concat([SCORES.frame([]), *(_labelled(frame, run, labels) for run, frame in own.items())])
    once = observations(scores, items)
    there = scores["metric"].unique().sort().to_list()
    if missing := [metric for metric in metrics if metric not in there]:
        raise InputError(f"no run has the metric {missing[0]!r}; expected one of {', '.join(there)}.")
    chosen = metrics or (shared_metrics(found) if files else ())
    suites = _suites(found)
    crossed = frozenset[frozenset[str]]().union(*(_crossed(side, labels) for side in found if not every))
    pairs, grouped = compare_fields(once.scores, once.items, compared, [*suites.values()], chosen, crossed=crossed)
    if files:  # the first metric of files is the main one
        pairs.sort(key=lambda pair: [*chosen, pair.metric].index(pair.metric))
    if not pairs and not looked:
        raise InputError(_nothing(found, shared))
    parts = {name: suite.scored_by for name, suite in suites.items()}
    texts = {side.name: _renamed(side.replies, aligned.ids[side.name]) for side in found}
    replies = pl.concat(_labelled(frame, run, labels) for run, frame in texts.items())
    changed = [
        _with_texts(changes(scores, items, pair, parts[pair.suite] if pair.scope == "suite" else ()), pair, replies)
        for pair in pairs
    ]
    notes = [*_notes(found, rescored, compared, listed, spoken)]
    notes += remarks(found, spoken)
    notes += [
        phrase("compare.doubled", spoken, suite=one.suite, n=one.n_repeating, total=one.n_rows)
        for one in (once.doubled if files else ())
    ]
    stated = stated_differences(found)
    return RunComparison(found, shared, stated, notes, pairs, grouped, changed, aligned.moved, spoken)


def _in_last_terms(found: Sequence[Side], root: str) -> tuple[list[Side], dict[str, Sequence[str]]]:
    """Score the replies of all runs by what scored the last one; also return these units, by run."""
    last = next((side for side in reversed(found) if side.run), None)
    if last is None:
        return [*found], {}
    aligned = [(side, ()) if side is last else align_scores(side, last, root) for side in found]
    return [side for side, _ in aligned], {side.name: units for side, units in aligned if units}


def _with_texts(changed: pl.DataFrame, pair: Comparison, replies: pl.DataFrame) -> pl.DataFrame:
    """Add the replies to a pair's changes, `before_text` and `after_text`: the error where there is no text."""
    for side, label in (("after", pair.model_a), ("before", pair.model_b)):
        text = pl.coalesce("text", "error", pl.lit("")).alias(f"{side}_text")
        said = replies.filter(model=label).select(*KEY, text)
        changed = changed.join(said, on=KEY, how="left", maintain_order="left")
    return changed


def _suites(found: Sequence[Side]) -> dict[str, Suite]:
    """Return the runs' suites: as the last run declares each, with the `stop` of any that stops early."""
    last: dict[str, Suite] = {}
    for suite in (suite for side in found for suite in side.suites):
        stop = suite.stop or (last[suite.name].stop if suite.name in last else None)
        last[suite.name] = suite.model_copy(update={"stop": stop})
    return last


def _crossed(side: Side, labels: Mapping[tuple[str, str], str]) -> frozenset[frozenset[str]]:
    """Return the label pairs of a run's targets that share neither model nor prompt."""
    models = [one["name"] for one in side.run.configuration.get("models", ())] if side.run else []
    asked = prompted(side.suites, models).items()
    return sharing_nothing({labels[side.name, name]: both for name, both in asked if (side.name, name) in labels})


def _nothing(found: Sequence[Side], shared: Mapping[str, tuple[list[int], int]]) -> str:
    total = sum(count for _, count in shared.values())
    return (
        f"the runs have {total} questions in common, but none that two of them score by the same metric. "
        "See their reports: calls or judges may have failed."
        + "".join(f" {side.name} has {', '.join(shared_metrics([side])) or 'no metric'}." for side in found)
    )


def _renamed(frame: pl.DataFrame, ids: Mapping[str, str]) -> pl.DataFrame:
    """Replace a run's ids by those that all runs share."""
    return frame.with_columns(pl.col("item_id").replace(ids))


def _labelled(frame: pl.DataFrame, run: str, labels: Mapping[tuple[str, str], str]) -> pl.DataFrame:
    own = {model: label for (of, model), label in labels.items() if of == run}
    return frame.filter(pl.col("model").is_in(list(own))).with_columns(pl.col("model").replace(own))


def _check(found: Sequence[Side], own: Mapping[str, pl.DataFrame]) -> None:
    """Reject runs of which no two share a question, naming their differences."""
    asked = [frame.select(KEY).unique() for frame in own.values()]
    if len(asked) == 1:
        (only,) = own
        if own[only]["model"].n_unique() > 1:
            return
        raise InputError(f"run {only} has one model; expected several, or a second run to compare it with.")
    if any(frame.is_empty() for frame in asked):
        empty = next(name for name, frame in zip(own, asked, strict=True) if frame.is_empty())
        raise InputError(f"{empty}: found no scored reply, so there is nothing to compare.")
    if any(a.join(b, on=KEY, how="semi").height for a, b in combinations(asked, 2)):
        return
    said = [
        f"{key} is {' / '.join(map(shorten, values))}"
        for key, values in stated_differences(found)
        if key == "suites" or ".items." in key or ".prompt" in key
    ]
    why = "; ".join(said[:_SHOWN_DIFFERENCES]) or _unlike(found)
    raise InputError(
        f"the runs {', '.join(run.name for run in found)} have no question in common: {why}. Only runs "
        "with the same questions can be compared: with the same seeds, levels, languages and data."
    )


def _unlike(found: Sequence[Side]) -> str:
    """Return why questions are not the same."""
    if any(side.run for side in found):
        return "the versions of their data or families differ"
    old, new = (dict(side.items.select("question_id", "prompt").iter_rows()) for side in found[:2])
    if same := [one for one in old if one in new]:
        first = f"{same[0]} is {shorten(old[same[0]])!r} and {shorten(new[same[0]])!r}"
        return f"{len(same)} ids occur in both, each with another text ({first})"
    return "; ".join(f"{side.name} begins with {shorten(side.items['prompt'][0])!r}" for side in found)


def shorten(value: Any, longest: int = 80) -> str:
    """Return a configuration value as one short line."""
    text = value if isinstance(value, str) and value else canonical(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _notes(
    found: Sequence[Side],
    rescored: Mapping[str, Sequence[str]],
    compared: Sequence[Sequence[ComparedModel]],
    listed: Sequence[ComparedModel],
    language: str,
) -> Iterator[str]:
    """Yield other possible causes of a difference, and what was not compared."""
    known = [side.run for side in found if side.run]
    facts = {run.name: provenance_of(run.manifest) for run in known}
    last = facts[known[-1].name] if known else None
    for name, units in rescored.items():
        yield phrase("compare.rescored", language, name=name, units=", ".join(units))
    changed = {
        unit
        for name, before in facts.items()
        for unit in (changed_units(before, last) if last else ())
        if unit not in rescored.get(name, ())
    }
    if changed:
        yield phrase("compare.rules_changed", language, units=", ".join(sorted(changed)))
    # Models and judges whose name meant another one in another run.
    for kind, what in (("identities", "model"), ("judge_identities", "judge")):
        stated = [run.manifest.get(kind) or {} for run in known]
        for name in dict.fromkeys(chain(*stated)):
            there = [one[name] for one in stated if name in one]
            keys = [key for key in dict.fromkeys(chain(*there)) if len({str(one.get(key)) for one in there}) > 1]
            said = "; ".join(f"{key} {' / '.join(shorten(one.get(key)) for one in there)}" for key in keys)
            if keys:
                yield phrase(f"compare.renewed_{what}", language, name=name, what=said)
    inside = {one.label for field in compared for one in field}
    if alone := [one.label for one in listed if one.label not in inside]:
        yield phrase("compare.alone", language, names=", ".join(alone))
