"""What a run may spend."""

from collections.abc import Mapping
from typing import Self

from pydantic import Field, model_validator

from basic_control.config.models import Model
from basic_control.data.options import Frozen


class Budget(Frozen):
    """What one start of a run may spend: in money, in calls, or both. A number is money."""

    usd: float | None = Field(None, ge=0, description="US dollars, or the price table's currency")
    calls: int | None = Field(None, ge=0, description="calls to models and judges")

    @model_validator(mode="before")
    @classmethod
    def _read_number(cls, raw: object) -> object:
        """Read a number as money."""
        is_mapping = isinstance(raw, Mapping | Budget)
        return raw if is_mapping else {"usd": raw}

    @model_validator(mode="after")
    def _is_something(self) -> Self:
        if self.usd is None and self.calls is None:
            raise ValueError("found no limit; expected a number of US dollars, or {calls: 500}")
        return self


def describe_budget(budget: Budget, currency: str) -> str:
    """Return a budget in words, such as: 5 USD and 500 calls."""
    limits = []
    if budget.usd is not None:
        limits.append(f"{budget.usd:g} {currency}")
    if budget.calls is not None:
        limits.append(f"{budget.calls} calls")
    return " and ".join(limits)


def costs_money(entry: Model) -> bool:
    """Return whether an entry asks a server that bills: one that wants a key, or a provider's own address."""
    return bool(entry.api_key_env) or (entry.provider in _BILLING and not entry.base_url)


_BILLING = {"openai", "azure", "anthropic"}
