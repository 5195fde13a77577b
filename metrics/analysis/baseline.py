"""Comparison of a run with a baseline: differing facts, each suite's outcome, the items that changed most."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import polars as pl

from data.draw import canonical
from data.errors import InputError
from metrics.analysis.questions import QuestionChanges, pair_questions
from metrics.analysis.values import KEY, composites, question_values, values_of
from metrics.stats.regression import Change, Regression, pair, regressions

SHOWN = 10
LEAST_COMMON = 0.95
"""Minimum share of the baseline's questions that a run must ask to be comparable."""
NOTHING = 1e-12
_LONGEST = 80
_DIGEST = re.compile("[0-9a-f]{32,}")
_DIGITS = 12
"""Digest characters shown to people."""
_OF_METRIC = frozenset({"metrics", "judges", "judge_prompts"})

Kind = Literal["decides", "tested", "unit", "rescored", "new"]


@dataclass(frozen=True, slots=True)
class SuiteRules:
    """The rules that decide a suite's score: its metrics, and every rule by path.

    Paths are `threshold`, `metrics.<metric>.<option>`, `judges.<metric>.<judge>`, `judge_prompts.<metric>.<prompt>`
    and so on; values are JSON. `defaults` are the metric options' defaults, used where a baseline predates an
    option; a baseline has none.
    """

    score: tuple[str, ...]
    rules: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Provenance:
    """The facts that give a run's numbers their meaning.

    `suites` and `rules` (run-wide) decide the scores; `units` are the versions and sources of the scoring code, by
    metric and family. `tested` is what is under test, by name: models, prompts and parameters.
    """

    suites: Mapping[str, SuiteRules]
    rules: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tested: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleDifference:
    """A fact, named by `what`, that differs between run and baseline.

    `decides`: a rule that decides scores, which prevents comparison unless allowed. `tested`: what the comparison
    is meant to vary. `unit`: only the version or source of scoring code; `rescored`: the same, but the baseline's
    responses were rescored with the run's code. `new`: the baseline lacks it.
    """

    kind: Kind
    what: str
    baseline: str
    run: str

    def __str__(self) -> str:
        return f"{self.what}: {self.run}, in the baseline {self.baseline}"


@dataclass(frozen=True, slots=True)
class ChangedItem:
    """An item whose value in a suite changed; `before` is the baseline's value."""

    suite: str
    model: str
    item_id: str
    repeat: int
    before: float
    after: float
    status: str
    prompt: str


@dataclass(frozen=True, slots=True)
class SuiteChange(Regression):
    """A model's suite compared with the baseline's, and what changed in its questions.

    `few`: less than 95 % of the baseline's questions were asked, so the outcome cannot be `held`.
    """

    moved: QuestionChanges = field(kw_only=True)
    few: bool = False


@dataclass(frozen=True, slots=True)
class ModelChange:
    """A model compared with a baseline model, suite by suite."""

    model: str
    against: str
    suites: tuple[SuiteChange, ...]
    changed: tuple[ChangedItem, ...]


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """A run compared with a baseline: differences, missing parts, and each model that both have.

    `missing` names the baseline's suites, metrics and models that the run lacks. `allowed`: the user requested the
    comparison despite differences or missing parts.
    """

    name: str
    run: str
    differences: tuple[RuleDifference, ...]
    models: tuple[ModelChange, ...]
    missing: tuple[str, ...] = ()
    allowed: bool = False

    @property
    def outcomes(self) -> tuple[Change, ...]:
        """Each suite's outcome for each model, and what is missing."""
        gone: tuple[Change, ...] = ("regressed",) if self.missing and not self.allowed else ()
        return (*gone, *(suite.outcome for model in self.models for suite in model.suites))


def unlike(baseline: Provenance, run: Provenance, rescored: Collection[str] = ()) -> list[RuleDifference]:
    """List the facts that differ between two runs, for suites and metrics that both have.

    `rescored` are the units with which the baseline's responses were rescored.
    """
    lone = min(len(baseline.suites), len(run.suites)) == 1  # neither weights nor the overall threshold matter
    found = [] if lone else [*_rules("decides", "", *_shared(baseline.rules, run.rules))]
    for suite, rules in baseline.suites.items():
        if suite not in run.suites:
            continue
        own = run.suites[suite]
        kept = _comparable(rules, own, {*rules.score} & {*own.score})
        for side in kept if lone else ():
            side.pop("weight", None)
        found += _rules("decides", f" of suite {suite}", *kept)
        found += [
            RuleDifference("new", f"metric {one} of suite {suite}", "none", "in its score")
            for one in own.score
            if one not in rules.score
        ]
    found += [
        RuleDifference("new", f"suite {one}", "none", "evaluated")
        for one in run.suites
        if one not in baseline.suites
    ]
    found += _rules("tested", "", *_shared(baseline.tested, run.tested))
    for name in changed_units(baseline, run):
        old, new = baseline.units[name], run.units[name]
        what = "version" if old.get("version") != new.get("version") else "source"
        kind: Kind = "rescored" if name in rescored else "unit"
        found.append(RuleDifference(kind, f"{what} of {name}", one_line(old.get(what)), one_line(new.get(what))))
    return found


def same_rules(baseline: Provenance, run: Provenance, suite: str, metric: str) -> bool:
    """Return whether both score a suite by a metric, and by the same rules."""
    before, after = (one.suites.get(suite, SuiteRules(())) for one in (baseline, run))
    if metric not in before.score or metric not in after.score:
        return False
    kept = _comparable(before, after, {metric})
    whole = [{path: value for path, value in side.items() if _metric_of(path)} for side in kept]
    return not [*_rules("decides", "", *whole)]


def _metric_of(path: str) -> str:
    """Return the metric a rule belongs to; '' for a rule of the suite."""
    kind, _, rest = path.partition(".")
    return rest.partition(".")[0] if kind in _OF_METRIC else ""


def _comparable(baseline: SuiteRules, run: SuiteRules, metrics: set[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the comparable rules of both sides: those of `metrics` and of the suite as a whole.

    An option only the run has is new: the baseline used its default. An option only the baseline has no longer
    exists and is ignored. Suite rules and judge prompts are compared where both sides have them.
    """
    before, after = (dict(one.rules) for one in (baseline, run))
    for path in {*before} ^ {*after}:
        kind, dotted, _ = path.partition(".")
        if kind == "metrics" and path in after and path in run.defaults:
            before[path] = run.defaults[path]
        elif kind in {"metrics", "judge_prompts"} or not dotted:
            before.pop(path, None)
            after.pop(path, None)

    whole = {"", *(one.partition(".")[0] for one in metrics)}  # a part is decided by its metric's rules

    def kept(side: Mapping[str, Any]) -> dict[str, Any]:
        return {path: value for path, value in side.items() if _metric_of(path) in whole}

    return kept(before), kept(after)


def _shared(*sides: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the entries both sides have; a model on one side only is not a difference."""
    both = set.intersection(*(set(side) for side in sides))
    return [{key: value for key, value in side.items() if key in both} for side in sides]


def _rules(kind: Kind, of: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[RuleDifference]:
    for path in dict.fromkeys((*before, *after)):
        if canonical(old := before.get(path)) != canonical(new := after.get(path)):
            yield RuleDifference(kind, f"{path.removeprefix('metrics.')}{of}", *_apart(old, new))


def changed_units(baseline: Provenance, run: Provenance) -> list[str]:
    """Return the metrics and families whose version or source differs, where both sides record it."""
    both = [(name, old, run.units[name]) for name, old in baseline.units.items() if name in run.units]
    stated = ("version", "source")
    return [
        name for name, old, new in both if any(old[key] != new[key] for key in stated if key in old and key in new)
    ]


def missing(baseline: Provenance, run: Provenance) -> list[str]:
    """Return the baseline's suites and score metrics that a run lacks."""
    gone = [f"suite {suite}" for suite in baseline.suites if suite not in run.suites]
    return gone + [
        f"metric {metric} of suite {suite}"
        for suite, rules in baseline.suites.items()
        if suite in run.suites
        for metric in rules.score
        if metric not in run.suites[suite].score
    ]


def _apart(*values: Any) -> Iterator[str]:
    """Format two values on a line each; long texts with a common start are shown from where they diverge."""
    texts = [*map(one_line, values)]
    at = next((n for n, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), 0)
    start = 0 if max(map(len, texts)) <= _LONGEST else max(0, at - _LONGEST // 4)
    end = start + _LONGEST
    for text in texts:
        yield f"{'…' if start else ''}{text[start:end]}{'…' if len(text) > end else ''}"


def one_line(value: Any) -> str:
    """Format a fact on one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one_line(value[key])}" for key in sorted(value)) or "nothing"
    if isinstance(value, list | tuple):
        return ", ".join(map(one_line, value)) or "nothing"
    text = "none" if value is None else " ".join(str(value).split()) or "nothing"
    return text[:_DIGITS] if _DIGEST.fullmatch(text) else text


def refuse(name: str, differences: Sequence[RuleDifference], *, allow_different: bool) -> None:
    """Refuse a meaningless comparison.

    Raises:
        InputError: a rule that decides the scores differs, and this was not allowed.
    """
    wrong = [str(one) for one in differences if one.kind == "decides"]
    if wrong and not allow_different:
        raise InputError(
            f"baseline {name}: its scores were decided by other rules than this run's. {'; '.join(wrong)}. Set a "
            "new baseline, or add --allow-different to compare anyway."
        )


@dataclass(frozen=True, slots=True)
class RunSide:
    """One side of the comparison; items of a baseline may lack prompts and answers.

    `replies` has each response's digest: item_id, model, repeat, reply (null: no response).
    """

    scores: pl.DataFrame
    items: pl.DataFrame
    provenance: Provenance
    replies: pl.DataFrame


def matched(name: str, here: Sequence[str], there: Sequence[str]) -> list[tuple[str, str]]:
    """Pair a run's models with a baseline's: by name, or the only one with the only one.

    Raises:
        InputError: they have none in common.
    """
    models = [(model, model) for model in here if model in there]
    if not models and len(here) == len(there) == 1:
        models = [(here[0], there[0])]
    if not models:
        raise InputError(
            f"baseline {name}: it has the models {', '.join(sorted(there))}, the run has "
            f"{', '.join(sorted(here))}: none in common."
        )
    return models


def compare_with_baseline(
    name: str,
    pinned: str,
    baseline: RunSide,
    run: RunSide,
    *,
    max_drop: float,
    strata: Collection[str] = (),
    known: Sequence[RuleDifference] = (),
    allow_different: bool = False,
    targets: Sequence[str] = (),
) -> BaselineComparison:
    """Compare a run with a baseline created from the run `pinned`; `known` differences are listed first.

    `strata` are the suites whose score is a TOTAL over families; `targets` are the run's models, if some may have
    no score.

    Raises:
        InputError: the two cannot be compared; the message names the differences and how to proceed.
    """
    there, here = (side.scores["model"].unique(maintain_order=True).to_list() for side in (baseline, run))
    models = matched(name, targets or here, there)
    refuse(name, known, allow_different=allow_different)
    gone = missing(baseline.provenance, run.provenance)
    gone += [f"model {one}" for one in there if one not in {against for _, against in models}]
    asked = run.items.unique("item_id", maintain_order=True).with_columns(
        question=pl.coalesce("text_digest", "item_id"),
        stratum=pl.when(pl.col("suite").is_in([*strata]))
        .then(pl.col("family").fill_null(""))
        .otherwise(pl.lit("")),
    )
    found = []
    for model, against in models:
        one, without = _model(model, against, baseline, run, asked, max_drop=max_drop, allowed=allow_different)
        gone += [f"suite {suite} of model {against}" for suite in without]
        found.append(one)
    others = [RuleDifference("tested", "model", against, model) for model, against in models if model != against]
    apart = tuple(dict.fromkeys((*known, *others)))  # files record their model too
    return BaselineComparison(name, pinned, apart, tuple(found), tuple(gone), allow_different)


def _model(
    model: str,
    against: str,
    baseline: RunSide,
    run: RunSide,
    asked: pl.DataFrame,
    *,
    max_drop: float,
    allowed: bool,
) -> tuple[ModelChange, list[str]]:
    """Compare a model with a baseline model; also return the suites it did not take part in this time.

    `asked` are the run's items, with each one's question and stratum.
    """
    pairs, moved, both, gone = [], [], list[pl.DataFrame](), list[str]()
    for suite, rules in baseline.provenance.suites.items():
        if suite not in run.provenance.suites:
            continue
        metrics = [one for one in rules.score if one in run.provenance.suites[suite].score]
        own = asked.filter(suite=suite)
        chosen = pl.col("metric").is_in(metrics), pl.col("status") != "not_applicable"
        before = baseline.scores.filter(*chosen, suite=suite, model=against)
        after = run.scores.filter(*chosen, model=model).join(own, on="item_id", how="semi")
        if before.is_empty() or after.is_empty():
            gone += [] if before.is_empty() else [suite]
            continue
        sides = (baseline.items.filter(suite=suite), before), (own, after)
        ids, changes = pair_questions(
            suite, *(rows.join(scores, on="item_id", how="semi", maintain_order="left") for rows, scores in sides)
        )
        moved.append(changes)
        before, told = (
            rows.join(ids, left_on="item_id", right_on="before").drop("item_id").rename({"after": "item_id"})
            for rows in (before, baseline.replies.filter(model=against))
        )
        pairs.append(pair(suite, *_questions((after, before), (run.replies.filter(model=model), told), own)))
        earlier = values_of(before, metrics).select(*KEY, before="value")
        both.append(values_of(after, metrics).join(earlier, on=KEY).with_columns(suite=pl.lit(suite)))
    told = regressions(pairs, max_drop={one.suite: max_drop for one in pairs})
    suites = tuple(_limited(one, own, allowed=allowed) for one, own in zip(told, moved, strict=True))
    return ModelChange(model, against, suites, _changed(pl.concat(both), model, asked) if both else ()), gone


def _questions(
    scores: Sequence[pl.DataFrame], replies: Sequence[pl.DataFrame], asked: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Yield each side's values of a suite's questions, with the responses' digests (null if any is unknown)."""
    sides = ("run", "baseline")
    values = (
        question_values(rows, asked).with_columns(model=pl.lit(side))
        for side, rows in zip(sides, scores, strict=True)
    )
    both, known = composites(pl.concat(values)), pl.col("reply").null_count() == 0
    for side, rows, texts in zip(sides, scores, replies, strict=True):
        every = rows.select(KEY).unique().join(texts.select(*KEY, "reply").unique(KEY), on=KEY, how="left")
        said = (
            every.sort("repeat").group_by("item_id").agg(reply=pl.when(known).then(pl.col("reply").str.join("\n")))
        )
        found = both.filter(model=side).join(said, on="item_id")
        yield found.join(asked.select("item_id", "question", "stratum"), on="item_id")


def _limited(found: Regression, moved: QuestionChanges, *, allowed: bool) -> SuiteChange:
    """Downgrade `held` outcomes over fewer than 95 % of the baseline's questions, unless the user allows them."""
    known = {one.name: getattr(found, one.name) for one in fields(Regression)}
    change = SuiteChange(**known, moved=moved, few=moved.share < LEAST_COMMON)
    if not change.few or allowed or change.outcome == "regressed":
        return change
    return replace(change, outcome="undecided", improved=False)


def _changed(both: pl.DataFrame, model: str, items: pl.DataFrame) -> tuple[ChangedItem, ...]:
    """Return the items that changed most; losses precede gains of the same size."""
    gain = pl.col("value") - pl.col("before")
    moved = both.filter(gain.abs() > NOTHING).sort(
        gain.abs(), gain, "suite", *KEY, descending=[True, False, False, False, False]
    )
    told = moved.head(SHOWN).join(items.select("item_id", "prompt"), on="item_id", maintain_order="left")
    told = told.select("suite", *KEY, "before", "status", "prompt", after="value")
    return tuple(ChangedItem(model=model, **row) for row in told.iter_rows(named=True))
