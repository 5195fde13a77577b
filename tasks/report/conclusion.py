"""The conclusion of a whole run in a sentence: its verdict, and which model fails what.

The verdict is that of the worst model, or of what fell below its baseline.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

from basic_control.data.exits import OUTCOMES, Exit
from basic_control.metrics.analysis.baseline import BaselineComparison
from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.metrics.analysis.verdict import RunVerdict, describe_waiting
from basic_control.tasks.report.language import say, say_reason
from basic_control.tasks.report.regressions import explain_regression
from basic_control.tasks.report.text import format_whole_percent, join_names, percent, shorten_name
from basic_control.tasks.report.words import describe_strictness, explain_outcome, headlines_of, score_title

CLAUSES = 3
"""Maximum models that do not pass and have a clause each; more are counted."""
NAMED_SCORES = 2
"""Maximum failing scores named of one of several models; of more the worst is."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A run's conclusion: its outcome, the word for it, and why."""

    outcome: str
    word: str
    reason: str

    def __str__(self) -> str:
        """Return the sentence."""
        return f"{self.word}: {self.reason}"


def conclusion(verdict: RunVerdict, baseline: BaselineComparison | None) -> Conclusion:
    """Return the run's outcome and the reason."""
    outcome, reason = _decide(verdict, baseline)
    suites_apart = dict.fromkeys(chain.from_iterable(model.suites_apart for model in verdict.models))
    if suites_apart:
        reason = f"{reason}; {say('screen.apart', suites=join_names([*suites_apart]))}"
    if verdict.gate == "off" and verdict.exit_code != verdict.exit_code_gated:
        reason = f"{reason}; {say('screen.report_only', code=int(verdict.exit_code_gated))}"
    counts = verdict.gate != "off" or bool(verdict.changes)
    if outcome == "undecided" and counts and verdict.exit_code == Exit.PASSED:
        reason = f"{reason}; {say('screen.undecided_passes')}"
    return Conclusion(outcome, say(f"common.{outcome}"), reason)


def _decide(verdict: RunVerdict, baseline: BaselineComparison | None) -> tuple[str, str]:
    """Return a run's outcome, and what decides it: a change, what is waited for, or the worst models."""
    models, changes = verdict.models, verdict.changes
    worst = max((model.verdict for model in models), key=OUTCOMES.index)
    # An undecided change is worse than models that pass, and no worse than others.
    worse = {"regressed"}
    if worst == "pass":
        worse.add("undecided")
    is_decided_by_changes = worst == "none" or verdict.gate == "off" or worse & {*changes}
    if baseline and changes and is_decided_by_changes and worst != "error":
        return explain_regression(baseline, changes)
    if verdict.waiting and worst in {"none", "pass", "undecided"}:
        causes = chain.from_iterable(headline.missing.failures for headline in headlines_of(models))
        return "undecided", say_reason(describe_waiting([*causes], verdict.waiting))
    if worst == "none":
        return worst, say("screen.no_threshold")
    return worst, _Sentence(models).write(worst)


def reasons(models: Sequence[ModelResult]) -> Iterator[str]:
    """Yield why scores of several models could not be judged or decided, which their conclusion only counts."""
    sentence = _Sentence(models)
    for model in models:
        is_explained = len(models) == 1 or model.failed or model.missing
        if is_explained or model.verdict not in {"error", "undecided"}:
            continue
        for score in _list_deciding(model):
            if score.decided.reason:
                yield sentence.explain(model, score)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """What a run's models come to: those that do not pass, the worst first, and what they fail; then the others."""

    models: Sequence[ModelResult]

    def write(self, worst: str) -> str:
        """Return the sentence."""
        if len(self.models) == 1:
            return self._explain_alone(self.models[0])
        if worst == "pass":
            return say("page.says_pass", k=len(self._find("pass")), n=len(self.models))
        return "; ".join(self._list_clauses())

    def explain(self, model: ModelResult, score: Headline) -> str:
        """Return why a score of a model has its outcome."""
        return f"{self._shorten(model)}: {self._describe_cause(score)}"

    def _explain_alone(self, model: ModelResult) -> str:
        """Return why the only model has its verdict."""
        name, scores = self._shorten(model), _list_deciding(model)
        if model.verdict != "fail" and (model.failed or model.missing):
            return f"{name}: {say_reason(model.overall.decided.reason)}"
        if model.verdict == "pass" and model.has_overall:
            scores = [model.overall]
        if model.verdict in {"pass", "fail"}:
            return say(f"screen.{model.verdict}_scores", model=name, scores=self._format_scores(scores))
        return f"{name}: {join_names([*map(self._describe_cause, scores)])}"

    def _list_clauses(self) -> Iterator[str]:
        """Yield what each model fails or lacks while they are few, else their number, and then who passes."""
        n_clauses = sum(model.verdict != "pass" for model in self.models)
        for verdict in ("error", "fail", "undecided"):
            models = self._find(verdict)
            if models and len(models) > 1 and n_clauses > CLAUSES:
                # Too many to name: how many, and the worst of them.
                count = say(f"page.says_{verdict}", k=len(models), n=len(self.models))
                yield say("screen.for_example", count=count, clause=self._describe(models[0]))
            else:
                yield from map(self._describe, models)
        passing = [*map(self._shorten, self._find("pass"))]
        if passing:
            yield say("screen.passes" if len(passing) == 1 else "screen.pass", names=join_names(passing))

    def _find(self, verdict: str) -> list[ModelResult]:
        """Return the models of a verdict, the one that is furthest below a threshold first."""
        models = [model for model in self.models if model.verdict == verdict]
        return sorted(models, key=_rank)

    def _describe(self, model: ModelResult) -> str:
        """Return what a model fails, or why it is not judged or decided, and what it fails besides."""
        name, scores = self._shorten(model), _list_deciding(model)
        if model.verdict == "fail":
            return say("screen.fail_scores", model=name, scores=self._format_worst(scores))
        if model.failed or model.missing:
            clause = say("screen.error", model=name, cause=say_reason(model.overall.decided.reason))
        elif scores[0].decided.reason:
            # Why it is so is a sentence of its own: see `reasons`.
            clause = say(f"screen.{model.verdict}_on", model=name, scores=join_names([*map(self._name, scores)]))
        else:
            clause = say(f"screen.{model.verdict}", model=name, cause=self._describe_cause(scores[0]))
        failing = [headline for headline in model.headlines if headline.decided.outcome == "fail"]
        if not failing:
            return clause
        failing.sort(key=_compute_shortfall, reverse=True)
        return say("screen.also_fails", clause=clause, scores=self._format_worst(failing))

    def _format_worst(self, scores: Sequence[Headline]) -> str:
        """Return failing scores; of more than two the worst, and how many there are besides."""
        if len(scores) <= NAMED_SCORES:
            return self._format_scores(scores)
        return say("screen.and_more", scores=self._format_scores(scores[:1]), n=len(scores) - 1)

    def _shorten(self, model: ModelResult) -> str:
        return shorten_name(model.model, among=map(attrgetter("model"), self.models))

    def _name(self, score: Headline) -> str:
        is_single = len({headline.suite for headline in self.models[0].headlines}) == 1
        return score_title(score, is_single=is_single)

    def _join_score(self, score: Headline, share: str) -> str:
        """Return a score with its name."""
        return f"{self._name(score)} {share}"

    def _format_scores(self, scores: Sequence[Headline]) -> str:
        """Return scores with their thresholds; those that share one are told it once."""
        by_threshold: dict[float | None, list[str]] = {}
        sentences = []
        if len(scores) == 1 and describe_strictness(scores[0]):
            return self._format_strict(scores[0])
        for score in scores:
            if score.decided.reason:
                sentences.append(self._describe_cause(score))
                continue
            threshold = score.decided.threshold
            share = format_whole_percent(score.measured.score.mean, threshold)
            by_threshold.setdefault(threshold, []).append(self._join_score(score, share))
        groups = [
            say("screen.scores", scores=join_names(texts), threshold=percent(threshold).removesuffix("%"))
            for threshold, texts in by_threshold.items()
        ]
        return join_names([*groups, *sentences])

    def _format_strict(self, score: Headline) -> str:
        """Return a score below a threshold of 100 %, and how many rows failed of those that all must pass."""
        share = format_whole_percent(score.measured.score.mean, score.decided.threshold)
        threshold = percent(score.decided.threshold).removesuffix("%")
        scores, why = self._join_score(score, share), describe_strictness(score)
        return say("screen.scores_strict", scores=scores, threshold=threshold, why=why)

    def _describe_cause(self, score: Headline) -> str:
        """Return why a score has its outcome: the reason, or how far it is from being decided."""
        decided = score.decided
        if decided.reason:
            return f"{self._name(score)}: {explain_outcome(score)}"
        figures = {
            "scores": self._join_score(score, format_whole_percent(score.measured.score.mean, decided.threshold)),
            "threshold": percent(decided.threshold).removesuffix("%"),
        }
        if decided.n_deciding:
            return say("screen.deciding", **figures, n=decided.n_deciding)
        return say("screen.not_settled", **figures)


def _list_deciding(model: ModelResult) -> list[Headline]:
    """Return the scores that have the model's verdict, the worst first; the overall one only where it is alone."""
    deciding = [score for score in model.scores if score.decided.outcome == model.verdict]
    # The overall score follows from its suites.
    deciding = [score for score in deciding if score.suite] or deciding
    if model.verdict != "fail":
        return deciding
    return sorted(deciding, key=_compute_shortfall, reverse=True)


def _compute_shortfall(score: Headline) -> float:
    return (score.decided.threshold or 0.0) - (score.measured.score.mean or 0.0)


def _rank(model: ModelResult) -> float:
    """Return what sorts the models that fail, the furthest below a threshold first; others stay as they are."""
    if model.verdict != "fail":
        return 0.0
    return -max(map(_compute_shortfall, _list_deciding(model)))
