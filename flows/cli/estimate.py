"""Show what a configuration would ask, without asking: `estimate`, and `--dry-run` of a run."""

import datetime as dt
import logging
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from data.exits import Exit
from flows.cli.console import complain, say, show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from config.settings import Settings
    from tasks.estimate.calls import CallEstimate, CostEstimate, DetectableEffect
    from tasks.report.tables import Table


def show_estimate(settings: "Settings") -> int:
    """Print the estimate and return the exit code.

    Raises:
        InputError: the items cannot be made, or the cache cannot be read.
    """
    from flows.environment import prepare, results_of
    from flows.preflight import check_rows, too_many_items, unread_responses
    from prompts.phrases import phrase

    language = settings.report.language
    if said := too_many_items(settings, language):
        show(f"{said} {phrase('estimate.vast_items', language)}")
        return Exit.PASSED
    from tasks.plan import check_judges, resolve

    plan = resolve(settings)
    check_judges(plan)
    check_rows(plan)
    for said in unread_responses(plan):
        say(said, level=logging.WARNING)
    prepare(results_of(plan.store))
    from tasks.estimate.calls import estimate

    found = estimate(plan)
    show(*parts(found))
    for problem in found.problems:
        complain(problem)
    return Exit.ERROR if found.problems else Exit.PASSED


def parts(found: "CostEstimate") -> Iterator["RenderableType"]:
    """Yield the table and the lines below it."""
    from rich.text import Text

    from data.characters import visible
    from prompts.phrases import phrase
    from tasks.estimate.calls import CHARACTERS_PER_TOKEN, FRAME

    language = found.language
    yield Text(phrase("estimate.title", language), style="bold")
    yield _table(found).terminal(language=language)
    for line in (*totals(found), *_bases(found)):
        yield Text(visible(line))
    for one in found.effects:
        yield Text(effect_line(one, language))
    each = ", ".join(f"{name} {n:g}" for name, n in CHARACTERS_PER_TOKEN.items())
    yield Text(phrase("estimate.about", language, each=each, frame=FRAME))
    for note in found.notes:
        yield Text(visible(phrase("estimate.note", language, note=note)))


def totals(found: "CostEstimate") -> Iterator[str]:
    """Yield the sums, in lines."""
    from prompts.phrases import phrase
    from tasks.report.text import duration

    language = found.language
    calls, cached = sum(p.calls for p in found.portions), sum(p.cached for p in found.portions)
    fresh = sum(p.fresh for p in found.portions)
    sure = "" if all(p.exact for p in found.portions) else "_about"
    yield phrase(f"estimate.counted{sure}", language, n=calls, cached=cached, fresh=fresh)
    yield from _costs(found)
    unknown = list(dict.fromkeys(p.name for p in found.portions if p.seconds is None))
    if found.seconds is not None:
        yield phrase("estimate.time_about", language, time=duration(found.seconds, language))
    else:
        yield phrase("estimate.time_unknown", language, names=", ".join(unknown))


def _costs(found: "CostEstimate") -> Iterator[str]:
    """Say what it would cost, who has no price, and which prices these are."""
    from prompts.phrases import phrase
    from tasks.report.words import money

    language = found.language
    priced = [p.cost for p in found.portions if p.cost is not None]
    free = list(dict.fromkeys(p.name for p in found.portions if p.cost is None and p.fresh))
    if priced:
        said = phrase("estimate.cost_about", language, cost=money(sum(priced), found.currency, language))
        # Where a server offers batches that are not used.
        least = sum(p.cost if p.cost_in_batches is None else p.cost_in_batches for p in found.portions if p.cost)
        if least < sum(priced):
            batches = phrase("estimate.in_batches", language, cost=money(least, found.currency, language))
            said = f"{said}, {batches}"
        if free:
            said = f"{said}; {phrase('estimate.unpriced', language, names=', '.join(free))}"
        yield f"{said}."
    elif any(p.fresh for p in found.portions):
        yield phrase("estimate.no_prices", language)
    if table := found.prices:
        yield phrase("common.prices_of", language, file=table.file, date=table.date.isoformat())
        if days := table.age(dt.datetime.now(dt.UTC).date()):
            yield phrase("common.prices_stale", language, days=days)


def effect_line(one: "DetectableEffect", language: str) -> str:
    """Say what so many items can show."""
    from prompts.phrases import phrase
    from tasks.report.text import percent

    def said(name: str, share: float | None) -> str:
        known = share is not None
        return phrase(
            f"estimate.{name}{'' if known else '_none'}", language, **{"share": percent(share)} if known else {}
        )

    between, alone = said("between", one.between), said("alone", one.threshold)
    return phrase("estimate.effect", language, suite=one.suite, n=one.n, between=between, alone=alone)


def _table(found: "CostEstimate") -> "Table":
    from prompts.phrases import phrase
    from tasks.report.tables import Table, column_maker
    from tasks.report.text import duration, grouped
    from tasks.report.words import money

    language = found.language
    column = column_maker("estimate", language)
    figure = partial(column, numeric=True, unbroken=True)

    def about(one: "CallEstimate", value: int) -> str:
        return f"{'' if one.exact else '~'}{grouped(value)}"

    def who(one: "CallEstimate") -> str:
        named = phrase("estimate.judge", language, judge=one.name, metric=one.metric)
        return f"{one.suite}: {named if one.role == 'judge' else one.name}"

    return Table.of(
        found.portions,
        column("asked", who),
        figure("calls", lambda one: f"{'' if one.exact else '~'}{one.calls}"),
        figure("cached", lambda one: str(one.cached)),
        figure("tokens_in", lambda one: about(one, one.tokens_in)),
        figure("tokens_out", lambda one: about(one, one.tokens_out)),
        figure("cost", lambda one: money(one.cost, "", language)),
        figure("time", lambda one: duration(one.seconds, language)),
    )


def _bases(found: "CostEstimate") -> Iterator[str]:
    """Say, for each, what the tokens written are estimated from."""
    from prompts.phrases import phrase

    based: dict[str, list[str]] = {}
    for portion in found.portions:
        if portion.tokens_basis:
            names = based.setdefault(portion.tokens_basis, [])
            who = portion.name + (f" ({portion.metric})" if portion.metric else "")
            names.append(f"{portion.suite}/{who}")
    for basis, names in based.items():
        yield phrase("estimate.tokens_from", found.language, basis=basis, names=", ".join(names))
