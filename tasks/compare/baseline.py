"""A run held against its baseline, as the configuration asks for it."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from artifacts.baselines import Baseline, facts_of, read
from config.settings import Settings
from metrics.baseline import Against, hold, refuse, unlike


def baseline_of(settings: Settings) -> Baseline | None:
    """Return the configured baseline, if there is one.

    Raises:
        InputError: it cannot be read.
    """
    return read(settings.baseline) if settings.baseline else None


def check(settings: Settings, manifest: Mapping[str, Any]) -> None:
    """Refuse, before anything is asked, what could not be compared with the baseline afterwards.

    Raises:
        InputError: the baseline cannot be read, or its verifiers or judges are others.
    """
    if known := baseline_of(settings):
        refuse(known.name, unlike(known.facts, facts_of(manifest)), allow_different=settings.allow_different)


def against(
    settings: Settings, manifest: Mapping[str, Any], scores: pl.DataFrame, items: pl.DataFrame
) -> Against | None:
    """Hold a run's scores against the configured baseline; None where there is none.

    Raises:
        InputError: the two cannot be compared.
    """
    known = baseline_of(settings)
    if known is None:
        return None
    suites = {suite.name: suite.scored_by for suite in settings.suites if suite.name in known.suites}
    return hold(
        known.name,
        known.run,
        scores=scores,
        items=items,
        baseline=known.scores,
        suites=suites,
        max_drop=dict.fromkeys(suites, settings.max_drop),
        known=unlike(known.facts, facts_of(manifest)),
        allow_different=settings.allow_different,
    )
