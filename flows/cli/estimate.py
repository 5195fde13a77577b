"""Show what a configuration would ask, without asking: `--dry-run`."""

import datetime as dt
import logging
from collections.abc import Iterator
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from basic_control.data.exits import Exit
from basic_control.flows.cli import console
from basic_control.flows.cli.console import complain, prose, show
from basic_control.flows.environment import prepare_environment, results_of
from basic_control.flows.preflight import (
    check_rerun,
    check_rows,
    list_english_judging,
    list_unasked,
    too_many_items,
    unread_responses,
)
from basic_control.tasks.plan import resolve
from basic_control.tasks.plan_judges import check_judges
from basic_control.tasks.report.language import say, use_language
from basic_control.tasks.report.tables import Table, column_maker
from basic_control.tasks.report.text import duration, format_number, percent
from basic_control.tasks.report.words import money

if TYPE_CHECKING:
    from rich.console import RenderableType

    from basic_control.config.settings import Rerun, Settings
    from basic_control.tasks.estimate.costs import CallEstimate, CostEstimate, DetectableEffect


def show_estimate(settings: "Settings", again: "Rerun | None" = None) -> int:
    """Print the estimate and return the exit code.

    Raises:
        InputError: the items cannot be made, the cache cannot be read, or the run has not what is to be repeated.
    """
    language = settings.report.language
    warning = too_many_items(settings, language)
    if warning:
        with use_language(language):
            show(f"{warning} {say('estimate.vast_items')}")
        return Exit.PASSED
    plan = resolve(settings)
    if again:
        check_rerun(plan, again)
    check_judges(plan)
    check_rows(plan)
    for warning in (*unread_responses(plan), *list_english_judging(plan), *list_unasked(settings.models, plan)):
        console.say(warning, level=logging.WARNING)
    prepare_environment(results_of(plan.store))
    from basic_control.tasks.estimate.costs import estimate_plan  # imports Prefect, which is configured by now

    costs = estimate_plan(plan)
    with use_language(language):
        show(*list_parts(costs))
    for problem in costs.problems:
        complain(problem)
    return Exit.ERROR if costs.problems else Exit.PASSED


def list_parts(costs: "CostEstimate") -> Iterator["RenderableType"]:
    """Yield the table and the lines below it, in the current language."""
    from basic_control.tasks.estimate.costs import CHARACTERS_PER_TOKEN, FRAME

    yield prose(say("estimate.title"), "bold")
    yield _tabulate(costs).terminal()
    yield from map(prose, list_totals(costs))
    # Portions whose tokens are guessed in one way share a line.
    names_by_basis: dict[str, list[str]] = {}
    for portion in costs.portions:
        if portion.tokens_basis:
            name = f"{portion.suite}/{portion.name}"
            if portion.metric:
                name += f" ({portion.metric})"
            names_by_basis.setdefault(portion.tokens_basis, []).append(name)
    for basis, names in names_by_basis.items():
        yield prose(say("estimate.tokens_from", basis=basis, names=", ".join(names)))
    yield from map(prose, map(write_effect, costs.effects))
    rates = ", ".join(f"{name} {n:g}" for name, n in CHARACTERS_PER_TOKEN.items())
    yield prose(say("estimate.about", each=rates, frame=FRAME))
    for note in costs.notes:
        yield prose(say("estimate.note", note=note))


def list_totals(costs: "CostEstimate") -> Iterator[str]:
    """Yield the totals as lines."""
    calls, cached, due = (sum(map(attrgetter(name), costs.portions)) for name in ("calls", "cached", "calls_due"))
    is_exact = all(portion.exact for portion in costs.portions)
    phrase = "estimate.counted" if is_exact else "estimate.counted_about"
    yield say(phrase, n=calls, cached=cached, fresh=due)
    yield from _list_costs(costs)
    if costs.seconds is not None:
        yield say("estimate.time_about", time=duration(costs.seconds))
    else:
        unknown = dict.fromkeys(portion.name for portion in costs.portions if portion.seconds is None)
        yield say("estimate.time_unknown", names=", ".join(unknown))


def _list_costs(costs: "CostEstimate") -> Iterator[str]:
    """Yield the costs, the models without a price, and the source of the prices."""
    priced = [portion for portion in costs.portions if portion.cost is not None]
    unpriced = [portion.name for portion in costs.portions if portion.cost is None and portion.calls_due]
    if priced:
        cost = batch_cost = 0.0
        for portion in priced:
            cost += portion.cost or 0.0
            # If a server offers batches that are not used.
            batch_cost += portion.cost_in_batches or portion.cost or 0.0
        sentence = say("estimate.cost_about", cost=money(cost, costs.currency))
        if batch_cost < cost:
            sentence += f", {say('estimate.in_batches', cost=money(batch_cost, costs.currency))}"
        if unpriced:
            sentence += f"; {say('estimate.unpriced', names=', '.join(dict.fromkeys(unpriced)))}"
        yield f"{sentence}."
    elif unpriced:
        yield say("estimate.no_prices")
    table = costs.prices
    if table:
        yield say("common.prices_of", file=table.file, date=table.date.isoformat())
        days = table.age(dt.datetime.now(dt.UTC).date())
        if days:
            yield say("common.prices_stale", days=days)


def write_effect(effect: "DetectableEffect") -> str:
    """Return a line with the effect that this many items can detect."""
    if effect.between is None and effect.threshold is None:
        return say("estimate.too_few", suite=effect.suite, n=effect.n)
    # Questions that share templates say less than as many that do not.
    ending = ""
    if effect.units != effect.n:
        ending = "_units"
    counts = {"suite": effect.suite, "n": effect.n, "units": effect.units}
    if effect.between is None:
        return say(f"estimate.effect_alone{ending}", share=percent(effect.threshold), **counts)
    between = _write_share("between", effect.between)
    alone = _write_share("alone", effect.threshold)
    return say(f"estimate.effect{ending}", between=between, alone=alone, **counts)


def _write_share(name: str, share: float | None) -> str:
    if share is None:
        return say(f"estimate.{name}_none")
    return say(f"estimate.{name}", share=percent(share))


def _tabulate(costs: "CostEstimate") -> Table:
    column = column_maker("estimate")
    figure = partial(column, numeric=True, unbroken=True)

    def write_about(portion: "CallEstimate", value: str) -> str:
        return value if portion.exact else f"~{value}"

    def write_name(portion: "CallEstimate") -> str:
        name = portion.name
        if portion.role == "judge":
            name = say("estimate.judge", judge=name, metric=portion.metric)
        return f"{portion.suite}: {name}"

    return Table.of(
        costs.portions,
        column("asked", write_name),
        figure("calls", lambda portion: write_about(portion, str(portion.calls))),
        figure("cached", lambda portion: str(portion.cached)),
        figure("tokens_in", lambda portion: write_about(portion, format_number(portion.tokens_in))),
        figure("tokens_out", lambda portion: write_about(portion, format_number(portion.tokens_out))),
        figure("cost", lambda portion: money(portion.cost, "")),
        figure("time", lambda portion: duration(portion.seconds)),
    )
