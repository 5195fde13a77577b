"""Show what a configuration would ask, without asking: `estimate`, and `--dry-run` of a run."""

import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING

from data.exits import Exit
from flows.cli.console import complain, show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from config.settings import Settings
    from tasks.estimate.calls import Effect, Estimate, Portion
    from tasks.report.tables import Table


def show_estimate(settings: "Settings") -> int:
    """Print the estimate and return the exit code.

    Raises:
        InputError: the items cannot be made, or the cache cannot be read.
    """
    from flows.environment import prepare, results_of
    from flows.preflight import vast

    if said := vast(settings):
        show(f"{said} Items of so many are not drawn for an estimate; one of a smaller n_items says more.")
        return Exit.PASSED
    prepare(results_of(settings))
    from tasks.estimate.calls import estimate

    found = estimate(settings)
    show(*_parts(found))
    for problem in found.problems:
        complain(problem)
    return Exit.ERROR if found.problems else Exit.PASSED


def _parts(found: "Estimate") -> Iterator["RenderableType"]:
    from rich.text import Text

    from data.characters import visible
    from tasks.estimate.calls import CHARACTERS_PER_TOKEN, FRAME

    yield Text("Dry run: nothing is asked.", style="bold")
    yield _table(found).terminal()
    for line in (*totals(found), *_bases(found)):
        yield Text(visible(line))
    for one in found.effects:
        yield Text(told(one))
    each = ", ".join(f"{name} {n:g}" for name, n in CHARACTERS_PER_TOKEN.items())
    yield Text(
        f"Tokens in as earlier runs had them, else characters of the prompts over characters a token ({each}) and "
        f"{FRAME} a call. ~: what judges are asked depends on replies that are not there yet: as often as in "
        "earlier runs, else estimated with the references as responses. Time: known means of a call over the "
        "configured concurrency."
    )
    for note in found.notes:
        yield Text(visible(f"Note: {note}"))


def totals(found: "Estimate") -> Iterator[str]:
    """Yield the sums, in lines."""
    from tasks.report.text import duration

    calls, cached = sum(p.calls for p in found.portions), sum(p.cached for p in found.portions)
    fresh = sum(p.fresh for p in found.portions)
    sure = "" if all(p.exact for p in found.portions) else "about "
    yield f"{sure}{calls} calls: {cached} from the cache, {fresh} to ask.".capitalize()
    priced = [p.cost for p in found.portions if p.cost is not None]
    free = list(dict.fromkeys(p.name for p in found.portions if p.cost is None and p.fresh))
    if priced:
        without = f"; no price is configured for {', '.join(free)}" if free else ""
        yield f"Cost: about {money(sum(priced), found.currency)}{_in_batches(found)}{without}."
    elif fresh:
        yield "Cost: no prices are configured (price_in, price_out of a model, or a table: prices)."
    if table := found.prices:
        yield f"Prices: {table.file}, of {table.date.isoformat()}."
        if days := table.age(dt.datetime.now(dt.UTC).date()):
            yield f"Note: these prices are {days} days old; look whether they still hold, and date the table anew."
    unknown = list(dict.fromkeys(p.name for p in found.portions if p.seconds is None))
    if found.seconds is not None:
        yield f"Time: about {duration(found.seconds)}."
    else:
        yield f"Time: unknown; no call of {', '.join(unknown)} is remembered."


def _in_batches(found: "Estimate") -> str:
    """Say what it would cost in batches, where a server offers them and they are not used."""
    least = sum(p.cost if p.cost_in_batches is None else p.cost_in_batches for p in found.portions if p.cost)
    whole = sum(p.cost for p in found.portions if p.cost)
    return f", {money(least, found.currency)} in batches (batch: submit)" if least < whole else ""


def told(one: "Effect") -> str:
    """Say what so many items can show."""
    from tasks.report.text import percent

    between = "no difference between two models"
    if one.between is not None:
        between = f"differences between two models from {percent(one.between)} on"
    alone = "none of one model from a threshold"
    if one.threshold is not None:
        alone = f"of one model from a threshold from {percent(one.threshold)} on"
    return f"{one.suite}: {one.n} items can show {between}, {alone} (power 0.8; yes/no answers at worst)."


def money(value: float, currency: str) -> str:
    """Write a sum of money with enough decimals to say something."""
    return f"{value:,.{2 if value >= 1 or value == 0 else 4}f} {currency}"


def _table(found: "Estimate") -> "Table":
    from tasks.report.tables import Table, columns

    numbers = ("calls", "cached", "tokens in", "tokens out", "cost", "time")
    rows = [_row(portion) for portion in found.portions]
    return Table(columns("asked", *numbers, numeric=numbers, whole=numbers), rows)


def _row(portion: "Portion") -> list[str]:
    from tasks.report.text import duration

    about = "" if portion.exact else "~"
    who = f"judge {portion.name}, {portion.metric}" if portion.role == "judge" else portion.name
    return [
        f"{portion.suite}: {who}",
        f"{about}{portion.calls}",
        str(portion.cached),
        f"{about}{portion.tokens_in:,}",
        f"{about}{portion.tokens_out:,}",
        "no price" if portion.cost is None else money(portion.cost, "").rstrip(),
        duration(portion.seconds),
    ]


def _bases(found: "Estimate") -> Iterator[str]:
    """Say, for each, what the tokens written are estimated from."""
    told: dict[str, list[str]] = {}
    for portion in found.portions:
        if portion.tokens_basis:
            names = told.setdefault(portion.tokens_basis, [])
            who = portion.name + (f" ({portion.metric})" if portion.metric else "")
            names.append(f"{portion.suite}/{who}")
    for basis, names in told.items():
        yield f"Tokens out from {basis}: {', '.join(names)}."
