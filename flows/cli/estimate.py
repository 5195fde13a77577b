"""Show what a configuration would ask, without asking: `--dry-run`."""

import datetime as dt
import logging
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from basic_control.data.exits import Exit
from basic_control.flows.cli.console import complain, prose, say, show
from basic_control.flows.environment import prepare, results_of
from basic_control.flows.preflight import (
    check_rerun,
    check_rows,
    list_english_judging,
    too_many_items,
    unread_responses,
)
from basic_control.prompts.phrases import phrase
from basic_control.tasks.plan import check_judges, resolve
from basic_control.tasks.report.language import speaking
from basic_control.tasks.report.tables import Table, column_maker
from basic_control.tasks.report.text import duration, grouped, percent
from basic_control.tasks.report.words import money

if TYPE_CHECKING:
    from rich.console import RenderableType

    from basic_control.config.settings import Rerun, Settings
    from basic_control.tasks.estimate.calls import CallEstimate, CostEstimate, DetectableEffect


def show_estimate(settings: "Settings", again: "Rerun | None" = None) -> int:
    """Print the estimate and return the exit code.

    Raises:
        InputError: the items cannot be made, the cache cannot be read, or the run has not what is to be repeated.
    """
    language = settings.report.language
    if said := too_many_items(settings, language):
        show(f"{said} {phrase('estimate.vast_items', language)}")
        return Exit.PASSED
    plan = resolve(settings)
    if again:
        check_rerun(plan, again)
    check_judges(plan)
    check_rows(plan)
    for said in (*unread_responses(plan), *list_english_judging(plan)):
        say(said, level=logging.WARNING)
    prepare(results_of(plan.store))
    from basic_control.tasks.estimate.calls import estimate  # imports Prefect, which is configured by now

    found = estimate(plan)
    with speaking(language):
        show(*parts(found))
    for problem in found.problems:
        complain(problem)
    return Exit.ERROR if found.problems else Exit.PASSED


def parts(found: "CostEstimate") -> Iterator["RenderableType"]:
    """Yield the table and the lines below it."""
    from basic_control.tasks.estimate.calls import CHARACTERS_PER_TOKEN, FRAME

    language = found.language
    yield prose(phrase("estimate.title", language), "bold")
    yield _table(found).terminal()
    yield from map(prose, totals(found))
    based: dict[str, list[str]] = {}
    for one in found.portions:
        if one.tokens_basis:
            who = f"{one.suite}/{one.name}" + (f" ({one.metric})" if one.metric else "")
            based.setdefault(one.tokens_basis, []).append(who)
    for basis, names in based.items():
        yield prose(phrase("estimate.tokens_from", language, basis=basis, names=", ".join(names)))
    for effect in found.effects:
        yield prose(effect_line(effect, language))
    each = ", ".join(f"{name} {n:g}" for name, n in CHARACTERS_PER_TOKEN.items())
    yield prose(phrase("estimate.about", language, each=each, frame=FRAME))
    for note in found.notes:
        yield prose(phrase("estimate.note", language, note=note))


def totals(found: "CostEstimate") -> Iterator[str]:
    """Yield the totals as lines."""
    language = found.language
    calls, cached = sum(p.calls for p in found.portions), sum(p.cached for p in found.portions)
    fresh = sum(p.fresh for p in found.portions)
    sure = "" if all(p.exact for p in found.portions) else "_about"
    yield phrase(f"estimate.counted{sure}", language, n=calls, cached=cached, fresh=fresh)
    yield from _costs(found)
    unknown = dict.fromkeys(p.name for p in found.portions if p.seconds is None)
    if found.seconds is not None:
        yield phrase("estimate.time_about", language, time=duration(found.seconds))
    else:
        yield phrase("estimate.time_unknown", language, names=", ".join(unknown))


def _costs(found: "CostEstimate") -> Iterator[str]:
    """Describe the costs, the models without a price, and the source of the prices."""
    language = found.language
    priced = [p.cost for p in found.portions if p.cost is not None]
    free = dict.fromkeys(p.name for p in found.portions if p.cost is None and p.fresh)
    if priced:
        said = phrase("estimate.cost_about", language, cost=money(sum(priced), found.currency))
        # If a server offers batches that are not used.
        least = sum(p.cost if p.cost_in_batches is None else p.cost_in_batches for p in found.portions if p.cost)
        if least < sum(priced):
            said += f", {phrase('estimate.in_batches', language, cost=money(least, found.currency))}"
        if free:
            said += f"; {phrase('estimate.unpriced', language, names=', '.join(free))}"
        yield f"{said}."
    elif any(p.fresh for p in found.portions):
        yield phrase("estimate.no_prices", language)
    if table := found.prices:
        yield phrase("common.prices_of", language, file=table.file, date=table.date.isoformat())
        if days := table.age(dt.datetime.now(dt.UTC).date()):
            yield phrase("common.prices_stale", language, days=days)


def effect_line(one: "DetectableEffect", language: str) -> str:
    """Return a line with the effect that this many items can detect."""
    if one.between is None and one.threshold is None:
        return phrase("estimate.too_few", language, suite=one.suite, n=one.n)
    between, alone = (
        phrase(f"estimate.{name}_none", language)
        if share is None
        else phrase(f"estimate.{name}", language, share=percent(share))
        for name, share in (("between", one.between), ("alone", one.threshold))
    )
    values = {"suite": one.suite, "n": one.n, "between": between, "alone": alone}
    if one.units != one.n:
        return phrase("estimate.effect_units", language, units=one.units, **values)
    return phrase("estimate.effect", language, **values)


def _table(found: "CostEstimate") -> Table:
    language = found.language
    column = column_maker("estimate")
    figure = partial(column, numeric=True, unbroken=True)

    def about(one: "CallEstimate", value: str) -> str:
        return f"{'' if one.exact else '~'}{value}"

    def who(one: "CallEstimate") -> str:
        named = phrase("estimate.judge", language, judge=one.name, metric=one.metric)
        return f"{one.suite}: {named if one.role == 'judge' else one.name}"

    return Table.of(
        found.portions,
        column("asked", who),
        figure("calls", lambda one: about(one, str(one.calls))),
        figure("cached", lambda one: str(one.cached)),
        figure("tokens_in", lambda one: about(one, grouped(one.tokens_in))),
        figure("tokens_out", lambda one: about(one, grouped(one.tokens_out))),
        figure("cost", lambda one: money(one.cost, "")),
        figure("time", lambda one: duration(one.seconds)),
    )
