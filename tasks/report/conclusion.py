"""The conclusion of a whole run in sentences: its verdict with the reason, and who differs from whom.

The verdict is that of the worst model, or of what fell below its baseline.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from basic_control.data.exits import OUTCOMES
from basic_control.metrics.analysis.baseline import BaselineComparison
from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.metrics.analysis.pairs import Comparison, PairedTest
from basic_control.metrics.analysis.results import ModelComparisons
from basic_control.metrics.analysis.stopping import ConfidenceSequence
from basic_control.metrics.analysis.summary import round_half_up
from basic_control.metrics.analysis.verdict import RunVerdict, describe_waiting
from basic_control.metrics.stats.intervals import Interval
from basic_control.tasks.report.language import say, say_reason
from basic_control.tasks.report.regressions import explain_regression
from basic_control.tasks.report.text import format_whole_percent, join_names, localize_digits, percent, shorten_name
from basic_control.tasks.report.words import explain_outcome, headlines_of, measure, remarks, score_name

Prompted = Mapping[str, tuple[str, str]]
"""The (model, prompt) of each target that is asked with one prompt of several."""
_SCOPES = ("suite", "total", "metric")


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
    outcome, reason = _concluded(verdict, baseline)
    apart = dict.fromkeys(suite for model in verdict.models for suite in model.suites_apart)
    if apart:
        reason = f"{reason}; {say('screen.apart', suites=join_names([*apart]))}"
    if verdict.gate == "off" and verdict.exit_code != verdict.exit_code_gated:
        reason = f"{reason}; {say('screen.report_only', code=int(verdict.exit_code_gated))}"
    return Conclusion(outcome, say(f"common.{outcome}"), reason)


def _concluded(verdict: RunVerdict, baseline: BaselineComparison | None) -> tuple[str, str]:
    models, changes = verdict.models, verdict.changes
    worst = max((model.verdict for model in models), key=OUTCOMES.index)
    worse = {"regressed", "undecided"} if worst == "pass" else {"regressed"}
    is_decided_by_changes = worst == "none" or verdict.gate == "off" or worse & {*changes}
    if baseline and changes and is_decided_by_changes and worst != "error":
        return explain_regression(baseline, changes)
    if verdict.waiting and worst in {"none", "pass", "undecided"}:
        causes = [cause for headline in headlines_of(models) for cause in headline.missing.failures]
        return "undecided", say_reason(describe_waiting(causes, verdict.waiting))
    if worst == "none":
        return worst, say("screen.no_threshold")
    return worst, _sentence_of(models, worst)


def _sentence_of(models: Sequence[ModelResult], worst: str) -> str:
    """Return why the worst of the models have their verdict."""
    named = [model for model in models if model.verdict == worst]
    if len(models) == 1:
        return join_names(_reasons(named[0]))
    passing = [model.model for model in models if model.verdict == "pass"]
    if worst == "fail" and len(named) == 1:
        return _beside_passing(_furthest(named, models, "screen.fails_alone"), passing)
    counted = say(f"page.says_{worst}", k=len(named), n=len(models))
    if worst == "pass":
        return counted
    return f"{counted}; {_furthest(named, models) if worst == 'fail' else _first_cause(named, models)}"


def _beside_passing(sentence: str, passing: Sequence[str]) -> str:
    """Return what decides with the models that pass all the same."""
    if not passing:
        return sentence
    names = join_names([shorten_name(name, among=passing) for name in passing])
    return say("screen.pass_beside" if len(passing) > 1 else "screen.passes_beside", cause=sentence, names=names)


def _furthest(failed: Sequence[ModelResult], models: Sequence[ModelResult], phrase: str = "screen.furthest") -> str:
    """Return the score that is furthest below its threshold."""
    below = [score for model in failed for score in model.scores if score.decided.outcome == "fail"]
    # Without a score the overall one fails too, where it would whatever the withheld suites scored.
    shares = [score for score in below if score.measured.score.mean is not None]
    furthest = max(shares, key=_distance, default=below[0])
    model = shorten_name(furthest.model, among=[model.model for model in models])
    return say(phrase, model=model, cause=_cause(furthest))


def _distance(score: Headline) -> float:
    return (score.decided.threshold or 0.0) - (score.measured.score.mean or 0.0)


def _first_cause(named: Sequence[ModelResult], models: Sequence[ModelResult]) -> str:
    """Return the first cause why models have their verdict, and how many more there are."""
    names = [model.model for model in models]
    causes = [
        f"{shorten_name(model.model, among=names)}: {reason}" for model in named for reason in _reasons(model)
    ]
    others = f" ({say('screen.more', n=len(causes) - 1)})" if len(causes) > 1 else ""
    return f"{causes[0]}{others}"


def _reasons(model: ModelResult) -> list[str]:
    """Return the cause if there is no result at all, else the reason of each score with the model's verdict."""
    if model.failed or model.missing:
        return [say_reason(model.overall.decided.reason)]
    own = [score for score in model.scores if score.decided.outcome == model.verdict]
    if model.verdict == "pass" and model.has_overall:
        return [_cause(model.overall)]
    if model.verdict != "fail":
        return [_cause(score) for score in own]
    # The worst first, and what is made of them last, unless there is none.
    below = [score for score in own if score.suite or score.measured.score.mean is not None] or own
    return [_cause(score) for score in sorted(below, key=lambda score: (not score.suite, -_distance(score)))]


def _cause(score: Headline) -> str:
    decided = score.decided
    if decided.reason:
        return f"{score_name(score)}: {explain_outcome(score)}"
    figures = {
        "name": " ".join(filter(None, (score_name(score), measure(score)))),
        "score": format_whole_percent(score.measured.score.mean, decided.threshold),
        "threshold": percent(decided.threshold).removesuffix("%"),
    }
    if decided.outcome in {"pass", "fail"}:
        return say("screen.score", **figures)
    if decided.n_deciding:
        return say("screen.deciding", **figures, n=decided.n_deciding)
    return say("screen.not_settled", **figures)


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Pairs of models on one score, and the groups that cannot be told apart."""

    pairs: Sequence[Comparison]
    groups: Sequence[Sequence[str]]


def differences(
    models: Sequence[ModelResult], compared: ModelComparisons, prompted: Prompted | None = None
) -> Iterator[str]:
    """Yield who beats whom, then the groups that cannot be told apart; nothing for one model.

    For `prompted`, models by their prompts, each model's prompts are compared first, then the models by each
    prompt. If human labels correct a score, a note says that pairs are compared as judged.
    """
    weighing = [headline for headline in headlines_of(models) if headline.weight]
    if weighing:
        is_labelled = any(headline.measured.as_judged is not None for headline in weighing)
        for sentence in _sentences(_of_the_score(models, compared), prompted):
            yield say("screen.as_judged", told=sentence) if is_labelled else sentence
        return
    own = models[0].headlines
    has_thresholds = any(headline.decided.threshold is not None for headline in own)
    for headline in own:
        if headline.decided.threshold is not None or not has_thresholds:
            ranking = _of_headline((headline.suite, headline.metric), compared)
            for sentence in _sentences(ranking, prompted):
                yield f"{score_name(headline)}: {sentence}"


def _sentences(ranking: "_Ranking", prompted: Prompted | None) -> Iterator[str]:
    if prompted and all(name in prompted for pair in ranking.pairs for name in _both(pair)):
        yield from _by_prompt(ranking.pairs, prompted)
        return
    with_difference = {name for pair in ranking.pairs if pair.difference is not None for name in _both(pair)}
    groups = [[name for name in group if name in with_difference] for group in ranking.groups]
    groups = [group for group in groups if group]
    if groups:
        yield from _ranked(groups[0][0], _Ranking(ranking.pairs, groups))


def _of_headline(key: tuple[str, str], compared: ModelComparisons) -> "_Ranking":
    """Return the pairs and groups of one of a suite's headlines."""
    pairs = [pair for pair in compared.pairs if (pair.suite, pair.metric) == key]
    groups = [group.groups for group in compared.groups if (group.suite, group.metric) == key]
    return _Ranking(pairs, groups[0] if groups else [])


def _ranked(best: str, ranking: _Ranking) -> Iterator[str]:
    beaten = {_other(pair, best): pair for pair in ranking.pairs if pair.significant and best in _both(pair)}
    names = {name for pair in ranking.pairs for name in _both(pair)}
    if beaten:
        yield _beats(best, beaten, names)
    alike = [[shorten_name(name, among=names) for name in group] for group in ranking.groups if len(group) > 1]
    if len(alike) == 1 and len(ranking.pairs) == 1:
        yield _alike(ranking.pairs[0])
    elif alike:
        yield "; ".join(say("screen.alike", names=join_names(group)) for group in alike)


def _by_prompt(pairs: Sequence[Comparison], prompted: Prompted) -> Iterator[str]:
    """Yield the comparison of each model's prompts, and then the models by each prompt."""
    for shared, other in ((0, 1), (1, 0)):
        fields: dict[str, list[Comparison]] = {}
        for pair in pairs:
            first, second = prompted[pair.model_a], prompted[pair.model_b]
            if first[shared] == second[shared] and pair.difference is not None:
                names = [f"'{name}'" if other else name for name in (first[other], second[other])]
                renamed = replace(pair, model_a=names[0], model_b=names[1])
                fields.setdefault(first[shared], []).append(renamed)
        for field, own in fields.items():
            ahead = [pair.model_a if (pair.difference or 0.0) >= 0 else pair.model_b for pair in own]
            best = max(ahead, key=ahead.count)
            near = [_other(pair, best) for pair in own if best in _both(pair) and not pair.significant]
            sentence = "; ".join(_ranked(best, _Ranking(own, [[best, *near]])))
            yield sentence if len(fields) == 1 and not shared else f"{field}: {sentence}"


def _both(pair: Comparison) -> tuple[str, str]:
    return pair.model_a, pair.model_b


def _other(pair: Comparison, model: str) -> str:
    return pair.model_b if pair.model_a == model else pair.model_a


def _of_the_score(models: Sequence[ModelResult], compared: ModelComparisons) -> _Ranking:
    """Return pairs and groups of the deciding score: the overall one, else that of the suite with a weight."""
    weighing = [headline.suite for headline in models[0].headlines_with_weight]
    for suite, scope in (("", "overall"), *((suite, scope) for suite in weighing for scope in _SCOPES)):
        pairs = [pair for pair in compared.pairs if (pair.suite, pair.scope) == (suite, scope)]
        if pairs:
            name = pairs[0].metric
            groups = [
                one.groups for one in compared.groups if (one.suite, one.scope, one.metric) == (suite, scope, name)
            ]
            return _Ranking([pair for pair in pairs if pair.metric == name], groups[0] if groups else [])
    races = [race for race in compared.races if race.suite in weighing and race.looks]
    return _raced(races[0]) if len(races) == 1 else _Ranking([], [])


def _raced(race: ConfidenceSequence) -> _Ranking:
    """Return two models that were asked until they could be told apart as a pair."""
    last = race.looks[-1]
    # Significant by the sequence, which has no p-value: 0 stands for it, and none is shown.
    test = PairedTest(interval=Interval(last.low, last.high, "sequence"), p_adjusted=0.0 if race.side else None)
    pair = Comparison(
        race.suite, "", "suite", race.model, race.against, last.n, 0, None, None, last.mean, 0, 0,
        yes_no=False, test=test,
    )  # fmt: skip
    both = [race.model, race.against] if last.mean > 0 else [race.against, race.model]
    return _Ranking([pair], [[name] for name in both] if race.side else [both])


def _beats(best: str, beaten: Mapping[str, Comparison], names: Collection[str]) -> str:
    """Return by how much the best beats the nearest beaten model, and whom else it beats."""
    nearest, *others = sorted(beaten, key=lambda name: abs(beaten[name].difference or 0.0))
    pair = beaten[nearest]
    both = {"better": shorten_name(best, among=names), "worse": shorten_name(nearest, among=names)}
    sentence = say("screen.beats", **both, **_by(pair, best))
    if others:
        sentence += say("screen.beats_also", names=join_names([shorten_name(name, among=names) for name in others]))
    return sentence


def _alike(pair: Comparison) -> str:
    """Return that two models cannot be told apart, the difference, and its conditions."""
    first, second = _both(pair) if (pair.difference or 0) >= 0 else (pair.model_b, pair.model_a)
    better, worse = shorten_name(first, among=[second]), shorten_name(second, among=[first])
    names = join_names([better, worse])
    if pair.difference is None:
        return say("screen.alike", names=names)
    low, high = pair.test.interval.low, pair.test.interval.high
    if pair.missing.hangs and low is not None and high is not None and (low > 0 or high < 0):
        sentence = say("screen.ahead_so_far", better=better, worse=worse, **_by(pair, first))
    elif not pair.test.reachable and not pair.missing.hangs:
        too_few = say("compare.too_few")
        sentence = say("screen.alike_few", names=names, **_by(pair, first))
        return "; ".join([sentence, *(remark for remark in remarks(pair) if remark != too_few)])
    else:
        sentence = say("screen.alike_by", names=names, **_by(pair, first))
    return "; ".join([sentence, *remarks(pair)])


def _by(pair: Comparison, better: str) -> dict[str, str]:
    """Return the points by which one model is better, and the numbers given with them."""
    sign = 100 if pair.model_a == better else -100
    interval = pair.test.interval
    value = _number(sign * (pair.difference or 0.0))
    if interval.low is None or interval.high is None:
        return {"points": value, "around": "", "beside": ""}
    low, high = sorted((sign * interval.low, sign * interval.high))
    between = f"{_number(low)}{'–' if low >= 0 else ' … '}{_number(high)}"
    return {"points": value, "around": f" ({between})", "beside": f", {between}"}


def _number(points: float) -> str:
    return localize_digits(f"{round_half_up(points, 1) + 0.0:g}".replace("-", "−"))
