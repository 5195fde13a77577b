"""What decides a suite: its headlines, each a score with a threshold, and what is measured beside them.

A suite is returned once for each of its scores, as that score sees it: with this `score` and `threshold` alone.

Source: SPEC 8.
"""

from collections.abc import Mapping

from basic_control.data.errors import InputError
from basic_control.data.plugins import metric
from basic_control.data.records import Metric
from basic_control.data.suites import ALL, WEIGHT, Suite

_RIGHT = 1.0
UNSCORED = frozenset({"model_error", "filtered", "judge_failed"})
"""States of a reply that nothing measured: it neither holds nor fails."""
_LEAST_JOINED = 2
"""Number of yes/no metrics from which their joint share is shown."""


def columns(suite: Suite) -> tuple[Suite, ...]:
    """Return a suite by each score that is shown of it: its headlines first, then what is only measured.

    A declared score comes first, then the metrics with a threshold, then those without one (only where no score is
    declared), then `all`.
    """
    deciding: dict[str, Suite] = {}
    measured: list[Suite] = []
    for name in suite.metric_names:
        threshold = suite.threshold_of(name)
        score = suite.model_copy(update={"score": (name,), "threshold": threshold})
        if threshold is not None:
            deciding[name] = score
        elif suite.score is None:
            measured.append(score)
    scores = []
    if suite.score is not None:
        # A single metric's own threshold goes before the suite's.
        scores.append(deciding.pop(suite.headline, suite))
    scores += [*deciding.values(), *measured]
    parts = parts_of_all(suite)
    if parts and suite.score != ALL:
        metrics = {name: suite.metrics[name] for name in parts}
        scores.append(suite.model_copy(update={"score": ALL, "threshold": None, "metrics": metrics}))
    return tuple(scores)


def headlines(suite: Suite) -> tuple[Suite, ...]:
    """Return a suite by each score that decides it; if none has a threshold, by each that is measured."""
    scores = columns(suite)
    deciding = tuple(score for score in scores if score.threshold is not None)
    if deciding:
        return deciding
    # A share of rows that nobody declared only stands beside the others.
    return tuple(score for score in scores if score.headline != ALL or suite.score == ALL)


def has_one_headline(suite: Suite) -> bool:
    """Return whether one score speaks for a suite, so that it can be joined with other suites."""
    return len(headlines(suite)) == 1


def weight_of(suite: Suite) -> float:
    """Return a suite's weight in the overall score: 0 if several scores decide it."""
    if not has_one_headline(suite):
        return 0.0
    if suite.weight is None:
        return WEIGHT
    return suite.weight


def list_metrics(suite: Suite) -> tuple[str, ...]:
    """Return the metrics whose values make the scores that are shown of a suite, `all` among them."""
    names: dict[str, None] = {}
    for score in columns(suite):
        names |= dict.fromkeys(score.value_metrics)
    return tuple(names)


def parts_of_all(suite: Suite) -> Mapping[str, float]:
    """Return the metrics whose rows must hold, each with the value from which it does.

    All metrics if the score is `all`, else those that are yes/no; none if there are fewer than two of these. A
    metric of a plug-in that is not installed here is left out.
    """
    yes_no: dict[str, float] = {}
    parts: dict[str, float] = {}
    for unit in find_units(suite):
        least = suite.use(unit.name).threshold
        if unit.yes_no:
            yes_no[unit.name] = _RIGHT
        if unit.yes_no or unit.all_or_none:
            parts[unit.name] = _RIGHT
        elif least is not None:
            parts[unit.name] = least
    if suite.score == ALL:
        return parts
    if len(yes_no) < _LEAST_JOINED:
        return {}
    return yes_no


def without_threshold(suite: Suite) -> list[str]:
    """Return the metrics that grade and have no threshold of their own, so that nothing says when a row holds."""
    names = []
    for unit in find_units(suite):
        is_graded = not (unit.yes_no or unit.all_or_none)
        if is_graded and suite.use(unit.name).threshold is None:
            names.append(unit.name)
    return names


def components(score: Suite) -> tuple[str, ...]:
    """Return the metrics on which a score hangs."""
    if score.score == ALL:
        return tuple(parts_of_all(score))
    return score.score_metrics


def list_deciding(suite: Suite) -> tuple[str, ...]:
    """Return the metrics on which a suite's headlines hang."""
    return tuple(dict.fromkeys(name for score in headlines(suite) for name in components(score)))


def find_holding_values(suite: Suite) -> dict[str, float]:
    """Return the value from which a row holds, by metric: a graded metric's threshold, else 1; 0 never does.

    Source: SPEC 8.
    """
    values: dict[str, float] = {}
    for unit in find_units(suite):
        least = None
        if not (unit.yes_no or unit.all_or_none):
            least = suite.use(unit.name).threshold or suite.threshold
        values[unit.name] = _RIGHT if least is None else least
    return values


def find_units(suite: Suite) -> list[Metric]:
    """Return the metrics of a suite, without those of plug-ins that are not installed here."""
    units = []
    for name in suite.metric_names:
        try:
            units.append(metric(name))
        except InputError:
            continue
    return units
