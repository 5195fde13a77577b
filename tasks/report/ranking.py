"""Who of a run's models is better, and by how much: sentences from its pairs of models."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product

from basic_control.metrics.analysis.headlines import ModelResult
from basic_control.metrics.analysis.pairs import Comparison, PairedTest
from basic_control.metrics.analysis.results import ModelComparisons
from basic_control.metrics.analysis.stopping import ConfidenceSequence
from basic_control.metrics.analysis.summary import round_half_up
from basic_control.metrics.stats.intervals import Interval
from basic_control.tasks.report.language import say
from basic_control.tasks.report.text import join_bounds, join_names, localize_digits, shorten_name
from basic_control.tasks.report.words import headlines_of, remarks, score_name

Prompted = Mapping[str, tuple[str, str]]
"""The (model, prompt) of each target that is asked with one prompt of several."""
_SCOPES = ("suite", "total", "metric")


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Pairs of models on one score, and the groups without a clear difference, the best first."""

    pairs: Sequence[Comparison]
    groups: Sequence[Sequence[str]] = ()

    @property
    def names(self) -> set[str]:
        """The models of the pairs."""
        return {*chain.from_iterable(map(_get_models, self.pairs))}


def differences(
    models: Sequence[ModelResult], compared: ModelComparisons, prompted: Prompted | None = None
) -> Iterator[str]:
    """Yield who beats whom, then the groups without a clear difference; nothing for one model.

    For `prompted`, models by their prompts, each model's prompts are compared first, then the models by each
    prompt. If human labels correct a score, a note says that pairs are compared as judged.
    """
    weighing = [headline for headline in headlines_of(models) if headline.weight]
    if weighing:
        sentences = _describe_ranking(_rank_by_score(models, compared), prompted)
        if all(headline.measured.as_judged is None for headline in weighing):
            yield from sentences
            return
        for sentence in sentences:
            yield say("screen.as_judged", told=sentence)
        return
    headlines = models[0].headlines
    # Without a score that is gated, each is compared; else those that decide.
    with_threshold = [headline for headline in headlines if headline.decided.threshold is not None]
    for headline in with_threshold or headlines:
        ranking = _rank_by_headline((headline.suite, headline.metric), compared)
        for sentence in _describe_ranking(ranking, prompted):
            yield f"{score_name(headline)}: {sentence}"


def _describe_ranking(ranking: _Ranking, prompted: Prompted | None) -> Iterator[str]:
    if prompted and prompted.keys() >= ranking.names:
        yield from _compare_prompts(ranking.pairs, prompted)
        return
    compared_pairs = [pair for pair in ranking.pairs if pair.difference is not None]
    compared_names = _Ranking(compared_pairs).names
    groups = []
    for group in ranking.groups:
        names = [*filter(compared_names.__contains__, group)]
        if names:
            groups.append(names)
    if groups:
        yield from _describe_best(groups[0][0], _Ranking(ranking.pairs, groups))


def _rank_by_headline(key: tuple[str, str], compared: ModelComparisons) -> _Ranking:
    """Return the pairs and groups of one of a suite's headlines."""
    pairs = [pair for pair in compared.pairs if (pair.suite, pair.metric) == key]
    for grouping in compared.groups:
        if (grouping.suite, grouping.metric) == key:
            return _Ranking(pairs, grouping.groups)
    return _Ranking(pairs)


def _describe_best(best: str, ranking: _Ranking) -> Iterator[str]:
    """Yield whom the best model beats, then which models have no clear difference."""
    beaten = {}
    for pair in ranking.pairs:
        if pair.significant and best in _get_models(pair):
            beaten[_get_rival(pair, best)] = pair
    if beaten:
        yield _describe_win(best, beaten, ranking.names)
    ties = [group for group in ranking.groups if len(group) > 1]
    if len(ties) == 1 and len(ranking.pairs) == 1:
        yield _describe_tie(ranking.pairs[0])
        return
    sentences = [say("screen.alike", names=_join_short(tie, ranking.names)) for tie in ties]
    if sentences:
        yield "; ".join(sentences)


def _join_short(names: Iterable[str], among: Collection[str]) -> str:
    return join_names([shorten_name(name, among=among) for name in names])


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
            group = [best, *(_get_rival(pair, best) for pair in ties)]
            sentence = "; ".join(_describe_best(best, _Ranking(field_pairs, [group])))
            # Of a single model it goes without saying which.
            if shared or len(fields) > 1:
                sentence = f"{field}: {sentence}"
            yield sentence


def _get_models(pair: Comparison) -> tuple[str, str]:
    return pair.model_a, pair.model_b


def _order_models(pair: Comparison) -> tuple[str, str]:
    """Return the models of a pair, the one that is ahead first."""
    if (pair.difference or 0.0) < 0:
        return pair.model_b, pair.model_a
    return pair.model_a, pair.model_b


def _get_rival(pair: Comparison, model: str) -> str:
    if pair.model_a == model:
        return pair.model_b
    return pair.model_a


def _rank_by_score(models: Sequence[ModelResult], compared: ModelComparisons) -> _Ranking:
    """Return pairs and groups of the deciding score: the overall one, else that of the suite with a weight."""
    weighing = [headline.suite for headline in models[0].headlines_with_weight]
    for suite, scope in (("", "overall"), *product(weighing, _SCOPES)):
        pairs = [pair for pair in compared.pairs if (pair.suite, pair.scope) == (suite, scope)]
        if pairs:
            # Several metrics of a suite have pairs: the first stands for it.
            name = pairs[0].metric
            ranking = _Ranking([pair for pair in pairs if pair.metric == name])
            for grouping in compared.groups:
                if (grouping.suite, grouping.scope, grouping.metric) == (suite, scope, name):
                    return replace(ranking, groups=grouping.groups)
            return ranking
    races = [race for race in compared.races if race.suite in weighing and race.looks]
    if len(races) == 1:
        return _rank_race(races[0])
    return _Ranking([])


def _rank_race(race: ConfidenceSequence) -> _Ranking:
    """Return two models that were asked until they could be told apart as a pair."""
    last = race.looks[-1]
    # Significant by the sequence, which has no p-value: 0 stands for it, and none is shown.
    p_value = None
    if race.side:
        p_value = 0.0
    test = PairedTest(interval=Interval(last.low, last.high, "sequence"), p_adjusted=p_value)
    pair = Comparison(
        race.suite, "", "suite", race.model, race.against, last.n, 0, None, None, last.mean, 0, 0,
        yes_no=False, test=test,
    )  # fmt: skip
    first, second = race.model, race.against
    if last.mean <= 0:
        first, second = second, first
    if race.side:
        return _Ranking([pair], [[first], [second]])
    return _Ranking([pair], [[first, second]])


def _describe_win(best: str, beaten: Mapping[str, Comparison], names: Collection[str]) -> str:
    """Return by how much the best beats the nearest beaten model, and whom else it beats."""
    nearest, *remaining = sorted(beaten, key=lambda name: abs(beaten[name].difference or 0.0))
    better, worse = shorten_name(best, among=names), shorten_name(nearest, among=names)
    sentence = say("screen.beats", better=better, worse=worse, **_format_difference(beaten[nearest], best))
    if remaining:
        sentence += say("screen.beats_also", names=_join_short(remaining, names))
    return sentence


def _describe_tie(pair: Comparison) -> str:
    """Return that two models have no clear difference, how large the one seen is, and its conditions."""
    first, second = _order_models(pair)
    better, worse = shorten_name(first, among=[second]), shorten_name(second, among=[first])
    if pair.difference is None:
        return say("screen.alike", names=join_names([better, worse]))
    low, high = pair.test.interval.low, pair.test.interval.high
    is_ahead = low is not None and high is not None and (low > 0 or high < 0)
    phrase = "screen.alike_by"
    if pair.missing.hangs and is_ahead:
        phrase = "screen.ahead_so_far"
    elif not pair.difference:
        phrase = "screen.alike_even"
    sentence = say(phrase, better=better, worse=worse, **_format_difference(pair, first))
    # The sentence itself says then that the questions are too few.
    conditions, too_few = remarks(pair), say("compare.too_few")
    if phrase == "screen.alike_by" and too_few in conditions:
        conditions.remove(too_few)
    return "; ".join([sentence, *conditions])


def _format_difference(pair: Comparison, better: str) -> dict[str, str]:
    """Return the points by which one model is better, and the numbers given with them."""
    sign = 100
    if pair.model_a != better:
        sign = -100
    interval = pair.test.interval
    value = _format_points(sign * (pair.difference or 0.0))
    if interval.low is None or interval.high is None:
        return {"points": value, "around": ""}
    low, high = sorted((sign * interval.low, sign * interval.high))
    between = join_bounds(_format_points(low), _format_points(high))
    return {"points": value, "around": f" ({between})"}


def _format_points(points: float) -> str:
    return localize_digits(f"{round_half_up(points, 1) + 0.0:g}".replace("-", "−"))
