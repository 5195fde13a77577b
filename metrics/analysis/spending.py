"""Tokens and, for models with a price, money used by a run's calls."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls to one model or one judge: distinct calls, `fresh` of them made in this run.

    `tokens_cached` counts the `tokens_in` served from the server's cache, `tokens_thinking` the reasoning tokens in
    `tokens_out`, as far as the server reports them. `cost` covers all calls, `cost_now` the fresh ones; None
    without a price, or if the server did not say how many tokens some of them took (`unmeasured` calls).
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
    unmeasured: int = 0


@dataclass(frozen=True, slots=True)
class Spending:
    """Totals over all models and judges. `cost` and `cost_now` sum those that are known, None if none is.

    `unpriced` are the names of those without a price, `unmeasured` of those whose tokens are not known. `prices` is
    the table's `file` and `date` ('' without one) and `stale_days`, its age if it is stale.
    """

    currency: str
    models: Sequence[Spent] = ()
    prices: str = ""
    date: str = ""
    stale_days: int = 0
    cost: float | None = field(init=False)
    cost_now: float | None = field(init=False)
    unpriced: list[str] = field(init=False)
    unmeasured: list[str] = field(init=False)

    def __post_init__(self) -> None:
        for name in ("cost", "cost_now"):
            total: float | None = None
            for cost in map(attrgetter(name), self.models):
                if cost is not None:
                    total = (total or 0) + cost
            object.__setattr__(self, name, total)
        unmeasured = dict.fromkeys(spent.model for spent in self.models if spent.unmeasured)
        unpriced: dict[str, None] = {}
        for spent in self.models:
            if spent.cost is None and not spent.unmeasured:
                unpriced[spent.model] = None
        object.__setattr__(self, "unpriced", [*unpriced])
        object.__setattr__(self, "unmeasured", [*unmeasured])
