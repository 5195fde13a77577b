"""What a run's calls cost, as reports and the terminal say it."""

from collections.abc import Iterator, Mapping
from typing import Any

from tasks.report.text import grouped
from tasks.report.words import shared


def money(value: float | None, currency: str, language: str) -> str:
    """Write a sum of money with enough decimals to say something; without a price it says so."""
    if value is None:
        return shared("no_price", language)
    amount = grouped(value, 2 if value >= 1 or value == 0 else 4)
    return f"{amount} {currency}" if currency else amount


def lines(results: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield what a run cost, and by which prices; nothing where nobody has one."""
    found = (results.get("run") or {}).get("spending") or {}
    if found.get("cost") is None:
        return
    now, whole = (money(found[name], found["currency"], language) for name in ("cost_now", "cost"))
    yield shared("cost_line", language, now=now, all=whole)
    yield (
        shared("prices_of", language, file=found["prices"], date=found["date"])
        if found["prices"]
        else shared("prices_own", language)
    )
