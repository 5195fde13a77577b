"""Comparison of a run with a baseline: differing facts, each headline's outcome, the items that changed most.

Source: SPEC 10.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import polars as pl

from basic_control.data.draw import content_id
from basic_control.data.errors import InputError
from basic_control.data.prefixes import cut_shared_beginnings
from basic_control.metrics.analysis.observations import KEY, observations, question_values, values_of
from basic_control.metrics.analysis.pairs import (
    LEAST_COMMON,
    Comparison,
    DraftedComparison,
    conclude,
    draft_comparisons,
    draft_nothing,
    score_of_suite,
)
from basic_control.metrics.analysis.provenance import (
    Provenance,
    RuleDifference,
    SuiteRules,
    differences,
    list_missing,
    refuse,
)
from basic_control.metrics.analysis.shared_questions import (
    QuestionChanges,
    add_names,
    pair_questions,
    with_templates,
)
from basic_control.metrics.analysis.stopping import may_stop
from basic_control.metrics.stats.regression import Change, Regression, regressions

SHOWN = 10
NOTHING = 1e-12
_RUN, _BASELINE = "run", "baseline"
_SCORED = ("item_id", "model", "repeat", "metric", "value", "status", "reason")


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One side of a comparison: a run, a pinned baseline, or another tool's file.

    `scores` have their suites; items of a baseline may lack prompts and answers. `replies` has item_id, model,
    repeat and each response's `text`, of a baseline only its digest, `reply` (null: no response).
    """

    name: str
    items: pl.DataFrame
    scores: pl.DataFrame
    replies: pl.DataFrame
    provenance: Provenance

    @property
    def models(self) -> list[str]:
        """The models that have scores."""
        return self.scores["model"].unique(maintain_order=True).to_list()

    @property
    def digests(self) -> pl.DataFrame:
        """A digest of each reply: item_id, model, repeat, `reply`."""
        if "reply" in self.replies.columns:
            return self.replies
        digest = pl.col("text").map_elements(lambda text: content_id("reply", text), pl.String, skip_nulls=True)
        return self.replies.select("item_id", "model", "repeat", reply=digest)


@dataclass(frozen=True, slots=True)
class ChangedItem:
    """An item whose value by a suite's headline changed; `before` is the baseline's value.

    `name` is the id from its author, or its data's name with the number of the row; `prompt` is without what it
    begins with like others.
    """

    suite: str
    model: str
    item_id: str
    repeat: int
    before: float
    after: float
    status: str
    prompt: str
    metric: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class HeadlineChange:
    """A headline of a run compared with the baseline's, and what changed in its suite's questions.

    In the `pair`, model a is the run's and model b the baseline's. `few`: less than 95 % of the baseline's
    questions were asked, so the outcome cannot be `held`.
    """

    pair: Comparison
    decision: Regression
    moved: QuestionChanges
    few: bool = False


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """A run compared with a baseline: differences, missing parts, and each headline that both have.

    `headlines` are by suite, metric and model. `missing` names the baseline's suites, metrics and models that the
    run lacks. `allowed`: the user requested the comparison despite differences or missing parts.
    """

    name: str
    run: str
    differences: tuple[RuleDifference, ...]
    headlines: tuple[HeadlineChange, ...]
    changed: tuple[ChangedItem, ...] = ()
    missing: tuple[str, ...] = ()
    allowed: bool = False

    @property
    def outcomes(self) -> tuple[Change, ...]:
        """Each headline's outcome, and what is missing."""
        gone: tuple[Change, ...] = ("regressed",) if self.missing and not self.allowed else ()
        return (*gone, *(change.decision.outcome for change in self.headlines))


def match_models(name: str, run: Sequence[str], baseline: Sequence[str]) -> list[tuple[str, str]]:
    """Pair a run's models with a baseline's: by name, or the only one with the only one.

    Raises:
        InputError: they have none in common.
    """
    models = [(model, model) for model in run if model in baseline]
    if not models and len(run) == len(baseline) == 1:
        models = [(run[0], baseline[0])]
    if not models:
        raise InputError(
            f"baseline {name}: it has the models {', '.join(sorted(baseline))}, the run has "
            f"{', '.join(sorted(run))}: none in common."
        )
    return models


def compare_with_baseline(
    baseline: ComparedSide,
    run: ComparedSide,
    *,
    max_drop: float,
    pinned: str = "",
    rescored: Collection[str] = (),
    allow_different: bool = False,
    targets: Sequence[str] = (),
) -> BaselineComparison:
    """Compare a run with a baseline; `pinned` is the run that it was created from.

    `rescored` are the units with which the baseline's responses were rescored; `targets` are the run's models, if
    some may have no score. Holm's correction covers all headlines of all models, in the decisions as in the
    intervals that are shown.

    Raises:
        InputError: the two cannot be compared; the message names the differences and how to proceed.
    """
    models = match_models(baseline.name, targets or run.models, baseline.models)
    facts = differences(baseline.provenance, run.provenance, rescored, models)
    refuse(baseline.name, facts, allow_different=allow_different)
    facts += [RuleDifference("tested", "model", before, after) for after, before in models if after != before]
    compared = {before for _, before in models}
    gone = list_missing(baseline.provenance, run.provenance)
    gone += [f"model {model}" for model in baseline.models if model not in compared]
    paired: list[_PairedHeadline] = []
    changed: list[ChangedItem] = []
    for after, before in models:
        headlines_of_model, gone_of_model = _pair_headlines(after, before, baseline, run)
        gone += [f"{part} of model {before}" for part in gone_of_model]
        changed += _list_changed(after, headlines_of_model)
        paired += headlines_of_model
    # One family of tests: the headlines of all models.
    samples = [*map(attrgetter("draft.sample"), paired)]
    identical = [*map(attrgetter("identical"), paired)]
    decisions = regressions(samples, max_drop=max_drop, identical=identical)
    pairs = conclude([headline.draft for headline in paired])
    headlines = [
        _headline(pair, decision, headline.moved, allowed=allow_different)
        for pair, decision, headline in zip(pairs, decisions, paired, strict=True)
    ]
    return BaselineComparison(
        baseline.name,
        pinned or baseline.name,
        # Files record their model too.
        tuple(dict.fromkeys(facts)),
        tuple(headlines),
        tuple(changed),
        tuple(gone),
        allow_different,
    )


@dataclass(frozen=True, slots=True)
class _PairedHeadline:
    """A model's headline, paired with the baseline's; `values` are its items' on both sides."""

    draft: DraftedComparison
    moved: QuestionChanges
    identical: bool
    values: pl.DataFrame


def _pair_headlines(
    model: str, against: str, baseline: ComparedSide, run: ComparedSide
) -> tuple[list[_PairedHeadline], list[str]]:
    """Pair a model's headlines with a baseline model's; also return the suites and metrics without answers now."""
    headlines: list[_PairedHeadline] = []
    gone: list[str] = []
    for suite, rules in baseline.provenance.suites.items():
        if suite not in run.provenance.suites:
            continue
        takes_part = False
        metrics_without: list[str] = []
        for shares in _find_common_lines(rules, run.provenance.suites[suite]):
            metrics = {name: share for name, share in shares.items() if name in rules.score}
            before = _scores_of(baseline, suite, metrics, against)
            after = _scores_of(run, suite, metrics, model)
            if after.height and before.height:
                headlines.append(_pair_headline(suite, metrics, (before, after), baseline, run))
            # What the baseline had no scores of cannot be lacking.
            if after.height or not before.height:
                takes_part = True
            else:
                metrics_without.append(f"metric {', '.join(metrics)} of suite {suite}")
        gone += metrics_without if takes_part else [f"suite {suite}"]
    return headlines, gone


def _find_common_lines(baseline: SuiteRules, run: SuiteRules) -> list[Mapping[str, float]]:
    """Return the run's headlines of which a baseline holds a metric; of an earlier one without any, its metrics."""
    lines = [shares for shares in run.lines.values() if {*shares} & {*baseline.score}]
    return lines or [{name: 1.0} for name in baseline.score if name in run.score]


def _scores_of(side: ComparedSide, suite: str, metrics: Collection[str], model: str) -> pl.DataFrame:
    applicable = pl.col("status") != "not_applicable"
    return side.scores.filter(pl.col("metric").is_in([*metrics]), applicable, suite=suite, model=model)


def _pair_headline(
    suite: str,
    metrics: Mapping[str, float],
    scores: tuple[pl.DataFrame, pl.DataFrame],
    baseline: ComparedSide,
    run: ComparedSide,
) -> _PairedHeadline:
    """Pair the rows of a headline by question, under the run's items; `scores` are the baseline's and the run's.

    `metrics` are the headline's, by their weights.
    """
    before, after = scores
    model, against = after["model"][0], before["model"][0]
    items = run.items.filter(suite=suite).unique("item_id", maintain_order=True)
    ids, moved = pair_questions(
        suite,
        baseline.items.filter(suite=suite).join(before, on="item_id", how="semi", maintain_order="left"),
        items.join(after, on="item_id", how="semi", maintain_order="left"),
    )

    def rename(rows: pl.DataFrame) -> pl.DataFrame:
        """Give a baseline's rows the run's item ids."""
        return rows.join(ids, left_on="item_id", right_on="before").drop("item_id").rename({"after": "item_id"})

    # What the run states of a question's template counts, else what the baseline did.
    former = with_templates(rename(baseline.items.filter(suite=suite)), items)
    items = with_templates(items, former)
    # From here on both sides have the run's items, and only questions in common.
    before = rename(before)
    after = after.join(ids, left_on="item_id", right_on="after", how="semi")
    sides = (before.with_columns(model=pl.lit(_BASELINE)), after.with_columns(model=pl.lit(_RUN)))
    once = observations(pl.concat(side.select(_SCORED) for side in sides), items)
    strata = bool(run.provenance.suites[suite].rules.get("strata"))
    rules = [side.provenance.suites[suite] for side in (baseline, run)]
    is_followed = any(rule.in_rounds for rule in rules) and may_stop(items, strata=strata)
    line = replace(score_of_suite(suite, metrics, strata=strata), in_rounds=is_followed)
    drafts = draft_comparisons(question_values(once.scores, once.items), [line], [(_RUN, _BASELINE)])
    draft = drafts[0] if drafts else draft_nothing(line, _RUN, _BASELINE)
    sample = draft.sample.observed
    identical = False
    # Where a question differs, nothing hangs on the texts.
    if sample and not sample.won + sample.lost:
        replies = run.digests.filter(model=model), rename(baseline.digests.filter(model=against))
        changed = _questions_with_other_replies(((after, replies[0]), (before, replies[1])), items)
        scored = items.filter(pl.col("item_id").is_in(draft.item_ids.implode())).select(question=_question())
        identical = scored.join(changed, on="question", how="semi").is_empty()
    earlier = values_of(before, metrics).select(*KEY, before="value")
    return _PairedHeadline(
        replace(draft, comparison=replace(draft.comparison, model_a=model, model_b=against)),
        moved,
        identical,
        values_of(after, metrics)
        .join(earlier, on=KEY)
        .join(add_names(items).select("item_id", "suite", "prompt", "name"), on="item_id")
        .with_columns(metric=pl.lit(draft.comparison.metric)),
    )


def _question() -> pl.Expr:
    return pl.coalesce("text_digest", "item_id")


def _questions_with_other_replies(
    sides: tuple[tuple[pl.DataFrame, pl.DataFrame], ...], items: pl.DataFrame
) -> pl.DataFrame:
    """Return the questions of which a reply differs between two sides (scores and digests), or is not known."""
    after, before = (
        scores.select(KEY).unique().join(replies.select(*KEY, "reply").unique(KEY), on=KEY, how="left")
        for scores, replies in sides
    )
    replies = after.join(before, on=KEY, how="full", coalesce=True, suffix="_before")
    is_equal = (pl.col("reply") == pl.col("reply_before")).fill_null(value=False)
    return replies.filter(~is_equal).join(items, on="item_id").select(question=_question()).unique()


def _headline(pair: Comparison, decision: Regression, moved: QuestionChanges, *, allowed: bool) -> HeadlineChange:
    """Downgrade `held` outcomes over fewer than 95 % of the baseline's questions, unless the user allows them."""
    few = moved.share < LEAST_COMMON
    if few and not allowed and decision.outcome != "regressed":
        decision = replace(decision, outcome="undecided", improved=False)
    return HeadlineChange(pair, decision, moved, few)


def _list_changed(model: str, headlines: Sequence[_PairedHeadline]) -> list[ChangedItem]:
    """Return the items of a model that changed most; losses precede gains of the same size."""
    if not headlines:
        return []
    gain = pl.col("value") - pl.col("before")
    order = (gain.abs(), gain, "suite", *KEY, "metric")
    values = pl.concat(headline.values for headline in headlines)
    moved = values.filter(gain.abs() > NOTHING)
    greatest = moved.sort(order, descending=[True, *[False] * (len(order) - 1)]).head(SHOWN)
    prompts = values["prompt"].drop_nulls().unique().to_list()
    cut = dict(zip(prompts, cut_shared_beginnings(prompts), strict=True))
    rows = greatest.select("suite", *KEY, "before", "status", "prompt", "metric", "name", after="value")
    changed = []
    for row in rows.iter_rows(named=True):
        row["prompt"] = cut.get(row["prompt"], row["prompt"])
        changed.append(ChangedItem(model=model, **row))
    return changed
