"""The conclusion of a whole run in sentences: its verdict with the reason, and who differs from whom.

The verdict is that of the worst model, or of what fell below its baseline.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product

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
    outcome, reason = _decide(verdict, baseline)
    suites_apart = dict.fromkeys(chain.from_iterable(model.suites_apart for model in verdict.models))
    if suites_apart:
        reason = f"{reason}; {say('screen.apart', suites=join_names([*suites_apart]))}"
    if verdict.gate == "off" and verdict.exit_code != verdict.exit_code_gated:
        reason = f"{reason}; {say('screen.report_only', code=int(verdict.exit_code_gated))}"
    return Conclusion(outcome, say(f"common.{outcome}"), reason)


def _decide(verdict: RunVerdict, baseline: BaselineComparison | None) -> tuple[str, str]:
    """Return a run's outcome, and what decides it: a change, what is waited for, or the worst models."""
    models, changes = verdict.models, verdict.changes
    worst = max((model.verdict for model in models), key=OUTCOMES.index)
    # An undecided change is worse than models that pass, and no worse than others.
    worse = {"regressed", "undecided"} if worst == "pass" else {"regressed"}
    is_decided_by_changes = worst == "none" or verdict.gate == "off" or worse & {*changes}
    if baseline and changes and is_decided_by_changes and worst != "error":
        return explain_regression(baseline, changes)
    if verdict.waiting and worst in {"none", "pass", "undecided"}:
        causes = chain.from_iterable(headline.missing.failures for headline in headlines_of(models))
        return "undecided", say_reason(describe_waiting([*causes], verdict.waiting))
    if worst == "none":
        return worst, say("screen.no_threshold")
    return worst, _explain_worst(models, worst)


def _explain_worst(models: Sequence[ModelResult], worst: str) -> str:
    """Return why the worst of the models have their verdict."""
    worst_models = [model for model in models if model.verdict == worst]
    if len(models) == 1:
        return join_names(_list_reasons(worst_models[0]))
    passing = [model.model for model in models if model.verdict == "pass"]
    if worst == "fail" and len(worst_models) == 1:
        return _add_passing(_describe_furthest(worst_models, models, "screen.fails_alone"), passing)
    count = say(f"page.says_{worst}", k=len(worst_models), n=len(models))
    if worst == "pass":
        return count
    if worst == "fail":
        return f"{count}; {_describe_furthest(worst_models, models)}"
    return f"{count}; {_describe_first_cause(worst_models, models)}"


def _add_passing(sentence: str, passing: Sequence[str]) -> str:
    """Return what decides with the models that pass all the same."""
    if not passing:
        return sentence
    names = join_names([shorten_name(name, among=passing) for name in passing])
    key = "screen.pass_beside" if len(passing) > 1 else "screen.passes_beside"
    return say(key, cause=sentence, names=names)


def _describe_furthest(
    failed: Sequence[ModelResult], models: Sequence[ModelResult], phrase: str = "screen.furthest"
) -> str:
    """Return the score that is furthest below its threshold."""
    scores = chain.from_iterable(model.scores for model in failed)
    below = [score for score in scores if score.decided.outcome == "fail"]
    # Without a score the overall one fails too, where it would whatever the withheld suites scored.
    shares = [score for score in below if score.measured.score.mean is not None]
    furthest = max(shares, key=_compute_shortfall, default=below[0])
    model = shorten_name(furthest.model, among=[model.model for model in models])
    cause = _describe_cause(furthest)
    # What else fails of the same model; the overall score follows from its suites.
    n_more = sum(bool(score.suite) for score in below if score.model == furthest.model) - bool(furthest.suite)
    if n_more > 0:
        cause = f"{cause} {say('screen.more', n=n_more)}"
    return say(phrase, model=model, cause=cause)


def _compute_shortfall(score: Headline) -> float:
    return (score.decided.threshold or 0.0) - (score.measured.score.mean or 0.0)


def _describe_first_cause(undecided: Sequence[ModelResult], models: Sequence[ModelResult]) -> str:
    """Return the first cause why models have their verdict, and how many more there are."""
    names = [model.model for model in models]
    causes: list[str] = []
    for model in undecided:
        name = shorten_name(model.model, among=names)
        causes += [f"{name}: {reason}" for reason in _list_reasons(model)]
    if len(causes) == 1:
        return causes[0]
    return f"{causes[0]} ({say('screen.more', n=len(causes) - 1)})"


def _list_reasons(model: ModelResult) -> list[str]:
    """Return the cause if there is no result at all, else the reason of each score with the model's verdict."""
    if model.failed or model.missing:
        return [say_reason(model.overall.decided.reason)]
    deciding = [score for score in model.scores if score.decided.outcome == model.verdict]
    if model.verdict == "pass" and model.has_overall:
        return [_describe_cause(model.overall)]
    if model.verdict == "fail":
        # The worst first, and what is made of them last, unless there is none.
        deciding = [score for score in deciding if score.suite or score.measured.score.mean is not None] or deciding
        deciding.sort(key=lambda score: (not score.suite, -_compute_shortfall(score)))
    return [*map(_describe_cause, deciding)]


def _describe_cause(score: Headline) -> str:
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
        for sentence in _describe_ranking(_rank_by_score(models, compared), prompted):
            yield say("screen.as_judged", told=sentence) if is_labelled else sentence
        return
    headlines = models[0].headlines
    # Without a score that is gated, each is compared; else those that decide.
    with_threshold = [headline for headline in headlines if headline.decided.threshold is not None]
    for headline in with_threshold or headlines:
        ranking = _rank_by_headline((headline.suite, headline.metric), compared)
        for sentence in _describe_ranking(ranking, prompted):
            yield f"{score_name(headline)}: {sentence}"


def _describe_ranking(ranking: _Ranking, prompted: Prompted | None) -> Iterator[str]:
    if prompted and prompted.keys() >= _collect_models(ranking.pairs):
        yield from _compare_prompts(ranking.pairs, prompted)
        return
    with_difference = _collect_models(pair for pair in ranking.pairs if pair.difference is not None)
    groups = []
    for group in ranking.groups:
        names = [name for name in group if name in with_difference]
        if names:
            groups.append(names)
    if groups:
        yield from _describe_best(groups[0][0], _Ranking(ranking.pairs, groups))


def _rank_by_headline(key: tuple[str, str], compared: ModelComparisons) -> _Ranking:
    """Return the pairs and groups of one of a suite's headlines."""
    pairs = [pair for pair in compared.pairs if (pair.suite, pair.metric) == key]
    groups = [group.groups for group in compared.groups if (group.suite, group.metric) == key]
    return _Ranking(pairs, groups[0] if groups else [])


def _describe_best(best: str, ranking: _Ranking) -> Iterator[str]:
    """Yield whom the best model beats, then which models cannot be told apart."""
    beaten = {}
    for pair in ranking.pairs:
        if pair.significant and best in _get_models(pair):
            beaten[_get_rival(pair, best)] = pair
    names = _collect_models(ranking.pairs)
    if beaten:
        yield _describe_win(best, beaten, names)
    ties = [group for group in ranking.groups if len(group) > 1]
    if len(ties) == 1 and len(ranking.pairs) == 1:
        yield _describe_tie(ranking.pairs[0])
        return
    sentences = []
    for tie in ties:
        tied_names = join_names([shorten_name(name, among=names) for name in tie])
        sentences.append(say("screen.alike", names=tied_names))
    if sentences:
        yield "; ".join(sentences)


def _compare_prompts(pairs: Sequence[Comparison], prompted: Prompted) -> Iterator[str]:
    """Yield the comparison of each model's prompts, and then the models by each prompt."""
    # A target is (model, prompt): what two of them share, and what differs, which is quoted if it is the prompt.
    for shared, differing, quote in ((0, 1, "'"), (1, 0, "")):
        fields: defaultdict[str, list[Comparison]] = defaultdict(list)
        for pair in pairs:
            first, second = prompted[pair.model_a], prompted[pair.model_b]
            if first[shared] == second[shared] and pair.difference is not None:
                model_a, model_b = f"{quote}{first[differing]}{quote}", f"{quote}{second[differing]}{quote}"
                fields[first[shared]].append(replace(pair, model_a=model_a, model_b=model_b))
        for field, field_pairs in fields.items():
            # The best is ahead in most pairs.
            ahead = [_order_models(pair)[0] for pair in field_pairs]
            best = max(ahead, key=ahead.count)
            ties = [pair for pair in field_pairs if best in _get_models(pair) and not pair.significant]
            tied_names = [_get_rival(pair, best) for pair in ties]
            sentence = "; ".join(_describe_best(best, _Ranking(field_pairs, [[best, *tied_names]])))
            yield sentence if len(fields) == 1 and not shared else f"{field}: {sentence}"


def _get_models(pair: Comparison) -> tuple[str, str]:
    return pair.model_a, pair.model_b


def _order_models(pair: Comparison) -> tuple[str, str]:
    """Return the models of a pair, the one that is ahead first."""
    return (pair.model_a, pair.model_b) if (pair.difference or 0.0) >= 0 else (pair.model_b, pair.model_a)


def _collect_models(pairs: Iterable[Comparison]) -> set[str]:
    return {*chain.from_iterable(map(_get_models, pairs))}


def _get_rival(pair: Comparison, model: str) -> str:
    return pair.model_b if pair.model_a == model else pair.model_a


def _rank_by_score(models: Sequence[ModelResult], compared: ModelComparisons) -> _Ranking:
    """Return pairs and groups of the deciding score: the overall one, else that of the suite with a weight."""
    weighing = [headline.suite for headline in models[0].headlines_with_weight]
    for suite, scope in (("", "overall"), *product(weighing, _SCOPES)):
        pairs = [pair for pair in compared.pairs if (pair.suite, pair.scope) == (suite, scope)]
        if pairs:
            name = pairs[0].metric
            key = (suite, scope, name)
            groups = [group.groups for group in compared.groups if (group.suite, group.scope, group.metric) == key]
            return _Ranking([pair for pair in pairs if pair.metric == name], groups[0] if groups else [])
    races = [race for race in compared.races if race.suite in weighing and race.looks]
    return _rank_race(races[0]) if len(races) == 1 else _Ranking([], [])


def _rank_race(race: ConfidenceSequence) -> _Ranking:
    """Return two models that were asked until they could be told apart as a pair."""
    last = race.looks[-1]
    # Significant by the sequence, which has no p-value: 0 stands for it, and none is shown.
    test = PairedTest(interval=Interval(last.low, last.high, "sequence"), p_adjusted=0.0 if race.side else None)
    pair = Comparison(
        race.suite, "", "suite", race.model, race.against, last.n, 0, None, None, last.mean, 0, 0,
        yes_no=False, test=test,
    )  # fmt: skip
    names = [race.model, race.against] if last.mean > 0 else [race.against, race.model]
    if not race.side:
        return _Ranking([pair], [names])
    return _Ranking([pair], [[name] for name in names])


def _describe_win(best: str, beaten: Mapping[str, Comparison], names: Collection[str]) -> str:
    """Return by how much the best beats the nearest beaten model, and whom else it beats."""
    nearest, *remaining = sorted(beaten, key=lambda name: abs(beaten[name].difference or 0.0))
    pair = beaten[nearest]
    better, worse = shorten_name(best, among=names), shorten_name(nearest, among=names)
    sentence = say("screen.beats", better=better, worse=worse, **_format_difference(pair, best))
    if remaining:
        short_names = [shorten_name(name, among=names) for name in remaining]
        sentence += say("screen.beats_also", names=join_names(short_names))
    return sentence


def _describe_tie(pair: Comparison) -> str:
    """Return that two models cannot be told apart, the difference, and its conditions."""
    first, second = _order_models(pair)
    better, worse = shorten_name(first, among=[second]), shorten_name(second, among=[first])
    names = join_names([better, worse])
    if pair.difference is None:
        return say("screen.alike", names=names)
    low, high = pair.test.interval.low, pair.test.interval.high
    if pair.missing.hangs and low is not None and high is not None and (low > 0 or high < 0):
        sentence = say("screen.ahead_so_far", better=better, worse=worse, **_format_difference(pair, first))
    elif not pair.test.reachable and not pair.missing.hangs:
        too_few = say("compare.too_few")
        sentence = say("screen.alike_few", names=names, **_format_difference(pair, first))
        return "; ".join([sentence, *(remark for remark in remarks(pair) if remark != too_few)])
    else:
        sentence = say("screen.alike_by", names=names, **_format_difference(pair, first))
    return "; ".join([sentence, *remarks(pair)])


def _format_difference(pair: Comparison, better: str) -> dict[str, str]:
    """Return the points by which one model is better, and the numbers given with them."""
    sign = 100 if pair.model_a == better else -100
    interval = pair.test.interval
    value = _format_points(sign * (pair.difference or 0.0))
    if interval.low is None or interval.high is None:
        return {"points": value, "around": "", "beside": ""}
    low, high = sorted((sign * interval.low, sign * interval.high))
    # Before a minus sign a dash could be read as one more.
    dash = "–" if low >= 0 else " … "
    between = f"{_format_points(low)}{dash}{_format_points(high)}"
    return {"points": value, "around": f" ({between})", "beside": f", {between}"}


def _format_points(points: float) -> str:
    return localize_digits(f"{round_half_up(points, 1) + 0.0:g}".replace("-", "−"))
