"""What a run's calls used in tokens and, where models have a price, in money."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Spent:
    """What one model, or one judge, was asked: distinct calls, `fresh` of them made in this run.

    `tokens_cached` are those of `tokens_in` that its server had remembered, `tokens_thinking` those of `tokens_out`
    that were thought, as far as it tells. `cost` is of all calls, `cost_now` of the fresh; None without a price.
    """

    role: str
    model: str
    calls: int
    fresh: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    tokens_thinking: int
    cost: float | None
    cost_now: float | None


@dataclass(frozen=True, slots=True)
class Spending:
    """What all models and judges used. `cost` and `cost_now` sum up those that have a price, None if none has.

    `unpriced` are the names of those without one. `prices` is the table's `file` and `date` ('' without one) and
    `stale_days`, its age where it is stale.
    """

    currency: str
    models: Sequence[Spent] = ()
    prices: str = ""
    date: str = ""
    stale_days: int = 0
    cost: float | None = field(init=False)
    cost_now: float | None = field(init=False)
    unpriced: list[str] = field(init=False)

    def __post_init__(self) -> None:
        for name in ("cost", "cost_now"):
            known = [value for one in self.models if (value := getattr(one, name)) is not None]
            object.__setattr__(self, name, sum(known) if known else None)
        without = dict.fromkeys(one.model for one in self.models if one.cost is None)
        object.__setattr__(self, "unpriced", [*without])
