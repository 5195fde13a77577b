"""What a run may spend."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Self

from pydantic import Field, model_validator

from basic_control.config.models import Model
from basic_control.data.options import Frozen


class Budget(Frozen):
    """What one start of a run may spend: money, calls, time, or several of them. A number is money."""

    usd: float | None = Field(None, ge=0, description="US dollars, or the price table's currency")
    calls: int | None = Field(None, ge=0, description="calls to models and judges")
    minutes: float | None = Field(None, ge=0, description="time from the start until nothing more is asked")

    @model_validator(mode="before")
    @classmethod
    def _read_number(cls, raw: object) -> object:
        """Read a number as money."""
        is_mapping = isinstance(raw, Mapping | Budget)
        return raw if is_mapping else {"usd": raw}

    @model_validator(mode="after")
    def _is_something(self) -> Self:
        if self.usd is None and self.calls is None and self.minutes is None:
            raise ValueError("found no limit; expected a number of US dollars, {calls: 500} or {minutes: 20}")
        return self


def format_amount(amount: float) -> str:
    """Return an amount of money as people write it: 5, 0.00005, and never 5e-05."""
    return f"{Decimal(repr(float(amount))):f}".removesuffix(".0")


def describe_budget(budget: Budget, currency: str) -> str:
    """Return a budget in words, such as: 5 USD and 500 calls."""
    limits = []
    if budget.usd is not None:
        limits.append(f"{format_amount(budget.usd)} {currency}")
    if budget.calls is not None:
        limits.append(f"{budget.calls} calls")
    if budget.minutes is not None:
        unit = "minutes"
        if budget.minutes == 1:
            unit = "minute"
        limits.append(f"{budget.minutes:g} {unit}")
    return " and ".join(limits)


def costs_money(entry: Model) -> bool:
    """Return whether an entry asks a server that bills: one that wants a key, or a provider's own address."""
    return bool(entry.api_key_env) or (entry.provider in _BILLING and not entry.base_url)


_BILLING = {"openai", "azure", "anthropic"}
