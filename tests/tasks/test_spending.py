"""What a run costs is said per model and as a whole, with the table's date; who has no price has none."""

import datetime as dt
from pathlib import Path

import pytest

from basic_control.config.prices import Prices
from basic_control.config.settings import Model, Settings
from basic_control.data.batches import QueryResult
from basic_control.data.tables import REQUESTS, RESPONSES
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.tasks.plan import Plan, resolve
from basic_control.tasks.report import words as report
from basic_control.tasks.report.warnings import notes
from basic_control.tasks.runtime.spending import sum_spending
from basic_control.tasks.store.tables import Store

NOW = dt.date(2026, 11, 22)
PRICED = Model(name="priced", provider="openai", price_in=1.0, price_out=4.0, price_cached=0.5, price_thinking=8.0)


def calls(store: Store) -> list[QueryResult]:
    """Return three calls of a model with a price, one of them remembered, and one of a model without."""
    rows = [
        ("a", "priced", 1_000_000, 500_000, '{"usage":{"cached":200000,"thinking":100000}}', False),
        ("b", "priced", 1_000_000, 0, None, True),
        ("c", "free", 300, 40, '{"citations":[]}', False),
    ]
    found = []
    for who in ("priced", "free"):
        own = [row for row in rows if row[1] == who]
        # Requests name the target: here the model with one of its prompts.
        shared = {"model": f"{who} [a]", "step": "answer", "repeat": 0}
        requests = [{"request_id": one[0], "item_id": one[0], **shared} for one in own]
        names = ("request_id", "tokens_in", "tokens_out", "extra", "cached")
        answers = [dict(zip(names, (one[0], *one[2:]), strict=True), text="x") for one in own]
        asked = store.write(REQUESTS, REQUESTS.frame(requests))
        answered = store.write(RESPONSES, RESPONSES.frame(answers))
        counts = {"total": len(own), "cached": 0, "answered": len(own), "failed": 0}
        found.append(QueryResult(asked, answered, **counts, tokens_in=0, tokens_out=0, span_s=0.0, model=who))
    return found


def plan(*models: Model, prices: Prices | None = None) -> Plan:
    return resolve(Settings(models=models, suites=["basic_control"], prices=prices))


def test_cost_is_by_each_kind_of_token_and_apart_for_what_was_remembered(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    table = Prices(file="prices.yaml", date=dt.date(2026, 8, 1), currency="EUR")
    free = Model(name="free", provider="openai")
    found = sum_spending(store, plan(PRICED, free, prices=table), calls(store), (), NOW)
    first, second = found.models
    now = 0.8 * 1.0 + 0.2 * 0.5 + 0.4 * 4.0 + 0.1 * 8.0
    assert first.cost_now == pytest.approx(now)
    assert first.cost == pytest.approx(now + 1.0)
    assert (first.calls, first.fresh, first.tokens_cached, first.tokens_thinking) == (2, 1, 200_000, 100_000)
    assert second.cost is None, "no price is no 0"
    assert (found.cost, found.unpriced) == (first.cost, ["free"])
    assert (found.prices, str(found.date), found.stale_days) == ("prices.yaml", "2026-08-01", 113)
    assert list(report.cost_lines(found)) == [
        "Cost of this run: 3.30 EUR; without the cache: 4.30 EUR.",
        "Prices: prices.yaml, of 2026-08-01.",
    ]
    priced = resolve(Settings(models=[PRICED], suites=["basic_control"]))
    assert [note.text for note in notes(Results({}, (), spending=found), RunVerdict("off", ()), priced)] == [
        "No price, so not in the total: free.",
        "This price table is 113 days old: check that its prices are still valid.",
    ]


def test_a_run_without_prices_says_nothing_of_cost(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    found = sum_spending(store, plan(Model(name="free", provider="openai")), calls(store), (), NOW)
    assert found.cost is None
    assert list(report.cost_lines(found)) == []
