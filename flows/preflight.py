"""What can be told of a run before Prefect starts: static mistakes, and that it would be vast."""

from typing import TYPE_CHECKING

from data.errors import InputError

if TYPE_CHECKING:
    from config.settings import Model, Settings

VAST = 250_000
"""Calls: a run of more is not begun without being told so."""


def check(settings: "Settings") -> None:
    """Refuse what could only fail: no key, file, judge or column, weights of 0, an address that refuses.

    As in the run itself, a model that cannot be asked does not stop the others.

    Raises:
        InputError: the run would come to nothing.
    """
    from data.loading import offered
    from data.plugins import loader
    from tasks.models.systems import asked_judges, asked_models, needed, took_part

    took_part(settings)
    judges = asked_judges(settings)
    for suite in settings.suites:
        required, unit = needed(settings, suite), loader(suite.loader)
        if not unit.generated:
            next(iter(unit.load(offered(suite), required)), None)
    wrong = [_unready(model) for model in asked_models(settings)]
    if wrong and all(wrong):
        raise InputError("\n".join(wrong))
    if unready := [said for judge in judges if (said := _unready(judge))]:
        raise InputError("\n".join(unready))


def _unready(model: "Model") -> str:
    return model.unit.unready(model) if model.unit.unready else ""


def vast(settings: "Settings", language: str) -> str:
    """Return what is to be said of a run that would draw more items than anybody asks by mistake; '' of others."""
    from data.loading import offered
    from data.plugins import loader
    from prompts.phrases import phrase
    from tasks.models.systems import systems_of
    from tasks.report.text import duration, grouped

    calls, seconds = 0, 0.0
    for suite in settings.suites:
        unit = loader(suite.loader)
        items = unit.count(offered(suite)) if unit.count else 0
        for _, model in systems_of(settings, suite):
            own = items * settings.times(suite)
            calls, seconds = calls + own, seconds + own / model.concurrency
    if calls <= VAST:
        return ""
    return phrase("estimate.vast", language, calls=grouped(calls), time=duration(seconds, language))
