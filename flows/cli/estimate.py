"""Show what a configuration would ask, without asking: `--dry-run`."""

import datetime as dt
import logging
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from basic_control.data.exits import Exit
from basic_control.flows.cli.console import complain, prose, say, show
from basic_control.flows.environment import prepare_environment, results_of
from basic_control.flows.preflight import (
    check_rerun,
    check_rows,
    list_english_judging,
    too_many_items,
    unread_responses,
)
from basic_control.prompts.phrases import phrase
from basic_control.tasks.plan import resolve
from basic_control.tasks.plan_judges import check_judges
from basic_control.tasks.report.language import use_language
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
        show(f"{warning} {phrase('estimate.vast_items', language)}")
        return Exit.PASSED
    plan = resolve(settings)
    if again:
        check_rerun(plan, again)
    check_judges(plan)
    check_rows(plan)
    for warning in (*unread_responses(plan), *list_english_judging(plan)):
        say(warning, level=logging.WARNING)
    prepare_environment(results_of(plan.store))
    from basic_control.tasks.estimate.costs import estimate_plan  # imports Prefect, which is configured by now

    costs = estimate_plan(plan)
    with use_language(language):
        show(*list_parts(costs))
    for problem in costs.problems:
        complain(problem)
    return Exit.ERROR if costs.problems else Exit.PASSED


def list_parts(costs: "CostEstimate") -> Iterator["RenderableType"]:
    """Yield the table and the lines below it."""
    from basic_control.tasks.estimate.costs import CHARACTERS_PER_TOKEN, FRAME

    language = costs.language
    yield prose(phrase("estimate.title", language), "bold")
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
        yield prose(phrase("estimate.tokens_from", language, basis=basis, names=", ".join(names)))
    for effect in costs.effects:
        yield prose(write_effect(effect, language))
    rates = ", ".join(f"{name} {n:g}" for name, n in CHARACTERS_PER_TOKEN.items())
    yield prose(phrase("estimate.about", language, each=rates, frame=FRAME))
    for note in costs.notes:
        yield prose(phrase("estimate.note", language, note=note))


def list_totals(costs: "CostEstimate") -> Iterator[str]:
    """Yield the totals as lines."""
    language = costs.language
    counts, is_exact = {"n": 0, "cached": 0, "fresh": 0}, True
    unknown: dict[str, None] = {}
    for portion in costs.portions:
        counts["n"] += portion.calls
        counts["cached"] += portion.cached
        counts["fresh"] += portion.calls_due
        is_exact = is_exact and portion.exact
        if portion.seconds is None:
            unknown[portion.name] = None
    name = "estimate.counted" if is_exact else "estimate.counted_about"
    yield phrase(name, language, **counts)
    yield from _list_costs(costs)
    if costs.seconds is not None:
        yield phrase("estimate.time_about", language, time=duration(costs.seconds))
    else:
        yield phrase("estimate.time_unknown", language, names=", ".join(unknown))


def _list_costs(costs: "CostEstimate") -> Iterator[str]:
    """Yield the costs, the models without a price, and the source of the prices."""
    language = costs.language
    prices: list[float] = []
    batch_prices: list[float] = []
    unpriced: dict[str, None] = {}
    for portion in costs.portions:
        if portion.cost is not None:
            prices.append(portion.cost)
            # If a server offers batches that are not used.
            batch_prices.append(portion.cost if portion.cost_in_batches is None else portion.cost_in_batches)
        elif portion.calls_due:
            unpriced[portion.name] = None
    if prices:
        sentence = phrase("estimate.cost_about", language, cost=money(sum(prices), costs.currency))
        if sum(batch_prices) < sum(prices):
            sentence += (
                f", {phrase('estimate.in_batches', language, cost=money(sum(batch_prices), costs.currency))}"
            )
        if unpriced:
            sentence += f"; {phrase('estimate.unpriced', language, names=', '.join(unpriced))}"
        yield f"{sentence}."
    elif any(portion.calls_due for portion in costs.portions):
        yield phrase("estimate.no_prices", language)
    table = costs.prices
    if table:
        yield phrase("common.prices_of", language, file=table.file, date=table.date.isoformat())
        days = table.age(dt.datetime.now(dt.UTC).date())
        if days:
            yield phrase("common.prices_stale", language, days=days)


def write_effect(effect: "DetectableEffect", language: str) -> str:
    """Return a line with the effect that this many items can detect."""
    if effect.between is None and effect.threshold is None:
        return phrase("estimate.too_few", language, suite=effect.suite, n=effect.n)
    # Questions that share templates say less than as many that do not.
    ending = ""
    if effect.units != effect.n:
        ending = "_units"
    counts = {"suite": effect.suite, "n": effect.n, "units": effect.units}
    if effect.between is None:
        return phrase(f"estimate.effect_alone{ending}", language, share=percent(effect.threshold), **counts)
    between = _write_share("between", effect.between, language)
    alone = _write_share("alone", effect.threshold, language)
    return phrase(f"estimate.effect{ending}", language, between=between, alone=alone, **counts)


def _write_share(name: str, share: float | None, language: str) -> str:
    if share is None:
        return phrase(f"estimate.{name}_none", language)
    return phrase(f"estimate.{name}", language, share=percent(share))


def _tabulate(costs: "CostEstimate") -> Table:
    language = costs.language
    column = column_maker("estimate")
    figure = partial(column, numeric=True, unbroken=True)

    def write_about(portion: "CallEstimate", value: str) -> str:
        return value if portion.exact else f"~{value}"

    def write_name(portion: "CallEstimate") -> str:
        if portion.role == "judge":
            judge = phrase("estimate.judge", language, judge=portion.name, metric=portion.metric)
            return f"{portion.suite}: {judge}"
        return f"{portion.suite}: {portion.name}"

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
