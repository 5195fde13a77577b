"""Whether a suite's judges are to be trusted: by what they were measured at, else by how large they are.

A passport stands over a judge's size, either way: a small judge that is shown to measure decides, a large one that
is shown not to does not.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from config.settings import Settings
from data.loading import judged_by
from data.plugins import metric
from data.suites import Suite
from metrics.analysis.scores import Labels, Withheld
from metrics.corrected import NO_PASSPORT, NOT_A_MEAN, CorrectedMean
from metrics.stats.calibration import TOO_WEAK, UNUSABLE, Rate, informedness_limits
from metrics.stats.labelled import Powered
from tasks.models.sizes import too_small
from tasks.models.systems import judges_of
from tasks.report.text import share

TOO_SMALL = "{judges} is too small to judge: its grades decide nothing; name a larger judge"
NOT_SHOWN = "{judges} is too small to judge, and its exam does not show that it can: {figures}"
CANNOT = f"{TOO_WEAK}: {{figures}}"
FIGURES = "{judge}: {part}, sensitivity {yes}, specificity {no}"
NO_LABELS = "nobody has labelled this suite's replies as they are"
IN_STRATA = "a TOTAL over families cannot be put right by them"
OTHERS_ALIKE = "{figures}, but it does not tell the other labels apart"


def withheld_by_judges(
    settings: Settings, members: Mapping[str, Sequence[Suite]], corrected: Sequence[CorrectedMean], labels: Labels
) -> dict[tuple[str, str], Withheld]:
    """Return, by model and suite, the judged suites that no score decides, and why.

    `members` are the suites of each model, `labels` what people's labels make of judges' means.
    """
    found = {}
    for model, suites in members.items():
        for name, why in unmeasured(settings, suites, corrected, labels, [model]).items():
            found[model, name] = Withheld(why)
        for suite in suites:
            if by_labels(settings, suite, labels, [model]):
                continue
            if why := distrusted(settings, suite, corrected):
                found[model, suite.name] = Withheld(why, measured=False)
    return found


def distrusted(settings: Settings, suite: Suite, corrected: Sequence[CorrectedMean]) -> str:
    """Say why a suite's judged score is not to be believed; '' where each of its metrics has a judge that is.

    A judge that its exam shows to be unable to measure a part of a metric is not believed, whatever its size; one
    that is too small by its name is where the exam shows that it can: where the interval of sensitivity +
    specificity - 1 lies at or above `UNUSABLE`.
    """
    for name in suite.scored_by:
        if not metric(name).steps:
            continue
        judges = judges_of(settings, suite, name)
        parts = _parts(suite, name, corrected)
        for rows in parts.values():
            if all(row.reason == TOO_WEAK for row in rows):
                return CANNOT.format(figures=_told(rows))
        if all(map(too_small, judges)) and not (parts and all(map(_shown, parts.values()))):
            names = ", ".join(judge.name for judge in judges)
            examined = [row for rows in parts.values() for row in rows if row.n_exam]
            if not examined:
                return TOO_SMALL.format(judges=names)
            return NOT_SHOWN.format(judges=names, figures=_told(examined))
    return ""


def _parts(suite: Suite, name: str, corrected: Iterable[CorrectedMean]) -> Mapping[str, list[CorrectedMean]]:
    """Return a metric's judged means by part, those that verdicts make."""
    found: dict[str, list[CorrectedMean]] = {}
    for row in corrected:
        if row.suite == suite.name and row.metric.partition(".")[0] == name and row.reason != NOT_A_MEAN:
            found.setdefault(row.metric, []).append(row)
    return found


def _shown(rows: Iterable[CorrectedMean]) -> bool:
    """Say whether one of the judges is shown to measure a part."""
    for row in rows:
        if row.value is not None and row.sensitivity and row.specificity:
            yes, no = (Rate(one.k, one.n) for one in (row.sensitivity, row.specificity))
            low = informedness_limits(yes, no).low
            if low is not None and low >= UNUSABLE:
                return True
    return False


def _told(rows: Iterable[CorrectedMean]) -> str:
    """Say what the exam found of judges, each with its n and interval."""
    return "; ".join(dict.fromkeys(_figures(rows)))


def _figures(rows: Iterable[CorrectedMean]) -> Iterator[str]:
    for row in rows:
        if row.sensitivity is None or row.specificity is None:
            continue
        part = f"{row.metric} ({row.language})"
        said = FIGURES.format(judge=row.judge, part=part, yes=share(row.sensitivity), no=share(row.specificity))
        apart = (row.sensitivity.share or 0.0) + (row.specificity.share or 0.0) - 1
        alike = row.reason == TOO_WEAK and apart >= UNUSABLE
        yield OTHERS_ALIKE.format(figures=said) if alike else said


def unmeasured(
    settings: Settings,
    suites: Iterable[Suite],
    corrected: Sequence[CorrectedMean],
    labels: Labels,
    models: Collection[str],
) -> dict[str, str]:
    """Return why judged suites cannot be decided for some models, by suite; nothing where judges need no measure.

    With `passport` a suite is decided where each of its judged means, or of their parts, could be corrected; with
    `labels` where people's labels put each of its judged metrics right.
    """
    if settings.judges_must_have == "nothing":
        return {}
    found = {}
    for suite in suites:
        judged = [name for name in judged_by(suite) if name in suite.scored_by]
        if not judged:
            continue
        if settings.judges_must_have == "labels":
            lacks = (_unlabelled(labels.get((suite.name, model, name))) for model in models for name in judged)
            if suite.strata or (why := next(filter(None, lacks), "")):
                found[suite.name] = f"judges_must_have: labels, and {IN_STRATA if suite.strata else why}"
            continue
        rows = [row for row in corrected if row.suite == suite.name and row.metric.partition(".")[0] in judged]
        wrong = [row.reason for row in rows if row.value is None and row.reason != NOT_A_MEAN]
        if wrong or not rows:
            found[suite.name] = f"judges_must_have: passport, and {wrong[0] if wrong else NO_PASSPORT}"
    return found


def _unlabelled(found: Powered | None) -> str:
    if found is None:
        return NO_LABELS
    return found.reason


def by_labels(settings: Settings, suite: Suite, labels: Labels, models: Collection[str]) -> bool:
    """Say whether people's labels decide a suite, so that its judges need not be believed."""
    return settings.judges_must_have == "labels" and not unmeasured(settings, [suite], (), labels, models)
