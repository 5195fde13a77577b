"""What decides a suite: its headlines, each a score with a threshold, and what is measured beside them.

A suite is returned once for each of its scores, as that score sees it: with this `score` and this `threshold`
alone.

Source: SPEC 8.
"""

from collections.abc import Iterator, Mapping

from basic_control.data.errors import InputError
from basic_control.data.plugins import metric
from basic_control.data.records import Metric
from basic_control.data.suites import ALL, WEIGHT, Suite

_RIGHT = 1.0
_LEAST_JOINED = 2
"""Number of yes/no metrics from which their joint share is shown."""


def columns(suite: Suite) -> tuple[Suite, ...]:
    """Return a suite by each score that is shown of it: its headlines first, then what is only measured.

    A declared score comes first, then the metrics with a threshold, then those without one (only where no score is
    declared), then `all`.
    """
    own = {name: suite.threshold_of(name) for name in suite.used}
    deciding = [_alone(suite, name, threshold) for name, threshold in own.items() if threshold is not None]
    if suite.score is not None:
        stated = own.get(suite.headline)  # a single metric's own threshold goes before the suite's
        first = suite if stated is None else suite.model_copy(update={"threshold": stated})
        scores = [first, *(one for one in deciding if one.headline != suite.headline)]
    else:
        scores = [*deciding, *(_alone(suite, name, None) for name, threshold in own.items() if threshold is None)]
    if suite.score != ALL and parts_of_all(suite):
        joined = {name: suite.metrics[name] for name in parts_of_all(suite)}
        scores.append(suite.model_copy(update={"score": ALL, "threshold": None, "metrics": joined}))
    return tuple(scores)


def _alone(suite: Suite, name: str, threshold: float | None) -> Suite:
    return suite.model_copy(update={"score": (name,), "threshold": threshold})


def headlines(suite: Suite) -> tuple[Suite, ...]:
    """Return a suite by each score that decides it; if none has a threshold, by each that is measured."""
    scores = columns(suite)
    deciding = tuple(score for score in scores if score.threshold is not None)
    return deciding or tuple(score for score in scores if score.headline != ALL or suite.score == ALL)


def has_one_headline(suite: Suite) -> bool:
    """Return whether one score speaks for a suite, so that it can be joined with other suites."""
    return len(headlines(suite)) == 1


def weight_of(suite: Suite) -> float:
    """Return a suite's weight in the overall score: 0 if several scores decide it."""
    if not has_one_headline(suite):
        return 0.0
    return WEIGHT if suite.weight is None else suite.weight


def valued_metrics(suite: Suite) -> tuple[str, ...]:
    """Return the metrics whose values make the scores that are shown of a suite, `all` among them."""
    return tuple(dict.fromkeys(name for score in columns(suite) for name in score.valued_by))


def parts_of_all(suite: Suite) -> Mapping[str, float]:
    """Return the metrics whose rows must hold, each with the value from which it does.

    All metrics if the score is `all`, else those that are yes/no; none if there are fewer than two of these. A
    metric of a plug-in that is not installed here is left out.
    """
    units = [unit for name in suite.used if (unit := _unit(name))]
    if suite.score != ALL:
        yes_no = {unit.name: _RIGHT for unit in units if unit.yes_no}
        return yes_no if len(yes_no) >= _LEAST_JOINED else {}
    return dict(_parts(suite, units))


def _parts(suite: Suite, units: list[Metric]) -> Iterator[tuple[str, float]]:
    for unit in units:
        least = suite.use(unit.name).threshold
        if unit.yes_no or unit.all_or_none:
            yield unit.name, _RIGHT
        elif least is not None:
            yield unit.name, least


def without_threshold(suite: Suite) -> list[str]:
    """Return the metrics that grade and have no threshold of their own, so that nothing says when a row holds."""
    units = [unit for name in suite.used if (unit := _unit(name))]
    graded = [unit.name for unit in units if not unit.yes_no and not unit.all_or_none]
    return [name for name in graded if suite.use(name).threshold is None]


def components(score: Suite) -> tuple[str, ...]:
    """Return the metrics on which a score hangs."""
    return tuple(parts_of_all(score)) if score.score == ALL else score.scored_by


def _unit(name: str) -> Metric | None:
    try:
        return metric(name)
    except InputError:
        return None
