"""Headlines: what a run measured of a model by one score of a suite, what of it is missing, and what was decided.

A suite has one for each of its scores (`data.deciding`): a metric, a mean of several, or the share of rows on which
all hold. One without a threshold is measured only. A model's overall score has the same form, without a suite.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from basic_control.data.exits import OUTCOMES, GateOutcome
from basic_control.data.suites import ALL, GateOn
from basic_control.metrics.analysis.failures import FailureCount
from basic_control.metrics.analysis.observations import End
from basic_control.metrics.analysis.overlaps import Overlap
from basic_control.metrics.analysis.stopping import ConfidenceSequence
from basic_control.metrics.stats.intervals import MeanEstimate

Key = tuple[str, str, str]
"""A headline's suite, metric and model."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A headline's score, and what stands beside it. All means are unrounded, from 0 to 1.

    `n_asked` counts its rows, `n_scored` those that each applicable metric of the score has scored, `n_right` those
    to which each of them gives 1. `parts` are the means that make the score (with strata: of each family), `beside`
    those next to it, `left_out` the parts that did not apply. With `gate_on` `pass_at_k` or `pass_all_k` the score
    is that of `k` answers to each question, its rows are questions, and `mean` is the mean of all answers. If human
    labels decide, `score` is corrected by `n_labels` of them (the fewest of a metric), and `as_judged` is the score
    before. `corrected` is the score if its judges err as on their exam's texts. `stopping`: the suite was asked
    until it was decided, and the score's interval is the sequence's.
    """

    score: MeanEstimate = field(default_factory=MeanEstimate)
    n_asked: int = 0
    n_scored: int = 0
    n_right: int = 0
    parts: Mapping[str, float | None] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    beside: Mapping[str, float | None] = field(default_factory=dict)
    gate_on: GateOn = "mean"
    k: int | None = None
    mean: MeanEstimate = field(default_factory=MeanEstimate)
    as_judged: float | None = None
    n_labels: int = 0
    corrected: MeanEstimate = field(default_factory=MeanEstimate)
    stopping: ConfidenceSequence | None = None


@dataclass(frozen=True, slots=True)
class Shortfall:
    """What a headline lacks, and what that could change.

    `problem` says why there is no score. `coverage` is the smallest share of applicable rows that a metric has
    scored, `answered` that of rows with a reply. In `n_failed` rows the call failed, in `n_filtered` a filter
    stopped the reply, in `n_unread` no judge's reply could be read: `lower` is the score with all of these wrong,
    `failures` are their causes, most frequent first. `n_truncated` replies were truncated and are not right:
    `upper` is the score with these and the former right. A bound without a mean: there are no such rows. `waiting`
    requests are in batches at a server. `withheld` says why no score decides ('' if one does); `is_measured` is
    false if that is because none of its judges counts: then there is no score. `judges_left_out` do not count
    (with reasons, by judge and metric); the errors of `judges_unmeasured` are not known.
    """

    problem: str = ""
    coverage: float | None = None
    answered: float | None = None
    n_failed: int = 0
    n_filtered: int = 0
    n_unread: int = 0
    n_truncated: int = 0
    failures: tuple[FailureCount, ...] = ()
    lower: MeanEstimate = field(default_factory=MeanEstimate)
    upper: MeanEstimate = field(default_factory=MeanEstimate)
    waiting: int = 0
    withheld: str = ""
    is_measured: bool = True
    judges_left_out: Mapping[str, str] = field(default_factory=dict)
    judges_unmeasured: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome at a threshold, and its `reason` where the score alone does not give it.

    Without a threshold the outcome is `none`: measured, but not judged. With `n_deciding` scored rows the interval
    would exclude the threshold, if mean and spread stayed the same; None if no number would.
    """

    threshold: float | None = None
    outcome: GateOutcome = "none"
    reason: str = ""
    n_deciding: int | None = None


@dataclass(frozen=True, slots=True)
class Headline:
    """A model by one score of a suite; `metric` is '' if the score is a mean of several, `all` if it joins them.

    `is_only`: the suite has no other. `weight` is the suite's share of the overall score, renormalised over the
    model's suites. The overall score has neither suite nor metric.
    """

    suite: str
    metric: str
    model: str
    weight: float = 0.0
    measured: Measurement = field(default_factory=Measurement)
    missing: Shortfall = field(default_factory=Shortfall)
    decided: Decision = field(default_factory=Decision)
    is_only: bool = True

    def at(self, end: End) -> MeanEstimate:
        """Return the score, or the score at a bound; the score where nothing is missing."""
        bound = {"value": self.measured.score, "lower": self.missing.lower, "upper": self.missing.upper}[end]
        return self.measured.score if bound.mean is None else bound


@dataclass(frozen=True, slots=True)
class ModelResult:
    """A model's headlines by suite, and its weighted score over them.

    If only one suite has weight, `overall` has its score and outcome, and no threshold; if none has, because each
    has several headlines, it has neither. `missing` says why the model could not be asked, `failed` why all of its
    calls failed ('' if any succeeded).
    """

    model: str
    headlines: tuple[Headline, ...]
    overall: Headline
    missing: str = ""
    failed: str = ""
    overlaps: tuple[Overlap, ...] = ()

    @property
    def headlines_with_weight(self) -> tuple[Headline, ...]:
        """The headlines that make the overall score."""
        return tuple(headline for headline in self.headlines if headline.weight)

    @property
    def has_overall(self) -> bool:
        """Whether there is an overall score: several suites have a weight."""
        return len(self.headlines_with_weight) > 1

    @property
    def scores(self) -> tuple[Headline, ...]:
        """The headlines, and the overall score if there is one."""
        return (*self.headlines, self.overall) if self.has_overall else self.headlines

    @property
    def score(self) -> Headline:
        """The score that stands for the model: the overall one, its only one with a weight, or the worst."""
        if self.has_overall:
            return self.overall
        # Without a weight nothing is averaged: the worst says what the model's verdict hangs on.
        if not self.headlines_with_weight:
            return max(self.headlines, key=_badness)
        return self.headlines_with_weight[0]

    @property
    def suites_apart(self) -> tuple[str, ...]:
        """The suites that no score speaks for, so that they are left out of the overall score."""
        suites = dict.fromkeys((headline.suite for headline in self.headlines), 0)
        deciding = [headline for headline in self.headlines if headline.decided.threshold is not None]
        with_threshold = {headline.suite for headline in deciding}
        # Of a suite without any threshold each metric but `all` counts: none of them stands for it.
        for headline in self.headlines:
            is_measured = headline.suite not in with_threshold and headline.metric != ALL
            suites[headline.suite] += headline.decided.threshold is not None or is_measured
        if len(suites) == 1:
            return ()
        return tuple(suite for suite, n_scores in suites.items() if n_scores > 1)

    @property
    def verdict(self) -> GateOutcome:
        """The worst outcome of the headlines and the overall score, which decides the exit code."""
        outcomes = [headline.decided.outcome for headline in (self.overall, *self.headlines)]
        return max(outcomes, key=OUTCOMES.index)


def _badness(headline: Headline) -> int:
    return OUTCOMES.index(headline.decided.outcome)
