"""The price table: a file with its date, whose prices stand in the models' own keys."""

import datetime as dt
from pathlib import Path

import pytest

from basic_control.config.reading import parse, read
from basic_control.config.settings import Settings
from basic_control.data.errors import InputError
from tests.conftest import TOP

PAGE = (TOP / "docs" / "servers.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("```yml\n# prices.yaml\n")[2].partition("```")[0]
"""As the page shows it."""
MODELS = """
models:
  - {name: mini, model: gpt-6-luna, provider: openai}
  - {name: o4-mini, provider: openai, price_in: 9, price_out: 30}
  - {name: gpt-6-luna-2024, provider: openai}
judges: [{name: o4-mini, provider: openai}]
suites: [basic_control]
"""


def settings(tmp_path: Path, table: str = TABLE, *more: str) -> Settings:
    (tmp_path / "prices.yaml").write_text(table, encoding="utf-8")
    (tmp_path / "run.yaml").write_text(MODELS, encoding="utf-8")
    return read(tmp_path / "run.yaml", [f"prices={tmp_path}/prices.yaml", *more])


def test_a_table_prices_the_models_that_it_names_and_no_others(tmp_path: Path) -> None:
    found = settings(tmp_path)
    mini, own, other = found.models
    assert (mini.price_in, mini.price_out, mini.price_cached) == (0.14, 0.55, 0.07)
    assert (own.price_in, own.price_out, own.price_thinking) == (9, 30, None), "its own go before the table's"
    assert other.cost(1000, 1000) is None, "another name is another model, and no price is no 0"
    assert found.judges[0].price_thinking == 4.10
    assert found.currency == "EUR"


def test_what_was_read_of_a_table_lasts_when_its_file_is_gone(tmp_path: Path) -> None:
    """A manifest holds the configuration, and its reports are made again long after."""
    found = settings(tmp_path)
    (tmp_path / "prices.yaml").unlink()
    again = Settings.model_validate(found.model_dump(mode="json"))
    assert again == found
    assert again.prices is not None
    assert again.prices.date == dt.date(2026, 11, 1)


def test_a_run_that_was_recorded_without_prices_takes_a_tables(tmp_path: Path) -> None:
    """As `--run RUN --set prices=…` reads it: a manifest holds every key."""
    priced = settings(tmp_path)
    recorded = read(tmp_path / "run.yaml").model_dump(mode="json")
    assert parse(recorded, "manifest.json", {}, [f"prices={tmp_path}/prices.yaml"]) == priced


def test_cached_input_and_thinking_have_prices_of_their_own(tmp_path: Path) -> None:
    mini = settings(tmp_path).models[0]
    assert mini.cost(1_000_000, 0, cached=400_000) == pytest.approx(0.6 * 0.14 + 0.4 * 0.07)
    dear = mini.model_copy(update={"price_thinking": 2.0})
    assert dear.cost(0, 1_000_000, thinking=250_000) == pytest.approx(0.75 * 0.55 + 0.25 * 2.0)
    assert mini.cost(0, 1_000_000, thinking=250_000) == pytest.approx(0.55)
    assert mini.cost(0, 1_000_000, batches=True) == pytest.approx(0.55 / 2)


def test_a_table_is_stale_after_its_days(tmp_path: Path) -> None:
    table = settings(tmp_path).prices
    assert table is not None
    assert table.age(dt.date(2027, 1, 30)) == 0
    assert table.age(dt.date(2027, 1, 31)) == 91


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("models: {}\ncurrency: EUR", "date: Field required; expected `date`, `currency` and `models`"),
        ("date: 2026-11-01\ncurrency: EUR\nmodels: {m: {input: -1, output: 1}}", "models.m.input"),
        ("date: 2026-11-01\ncurrency: EUR\nmodels: {m: {input: 1}}", "models.m.output"),
        ("date: 2026-11-01\ncurrency: EUR\nmodels: {m: {input: 1, output: 1, inptu: 1}}", "models.m.inptu"),
        ("file: x.yaml\ndate: 2026-11-01\ncurrency: EUR\nmodels: {}", "file: unexpected key"),
        ("- a list", "expected `date`, `currency` and `models`"),
        ("a: [", "is not valid YAML"),
    ],
)
def test_what_is_no_table_is_one_message_that_names_the_file(tmp_path: Path, table: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        settings(tmp_path, table)
    assert "prices.yaml" in str(caught.value)
    assert told in str(caught.value)


def test_a_table_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read nowhere\.yaml"):
        settings(tmp_path, TABLE, "prices=nowhere.yaml")


@pytest.mark.parametrize(
    ("prices", "told"),
    [
        ("price_in: 9", "found price_in without price_out"),
        ("price_out: 9", "found price_out without price_in"),
        ("price_thinking: 9", "found price_thinking without price_in"),
    ],
)
def test_half_a_price_is_refused_and_no_price_in_what_was_recorded(tmp_path: Path, prices: str, told: str) -> None:
    (tmp_path / "run.yaml").write_text(f"models:\n  - name: m\n    {prices}\nsuites: [basic_control]\n")
    with pytest.raises(InputError, match=rf"run\.yaml, line 3: models\.0: {told}; give price_in and price_out"):
        read(tmp_path / "run.yaml")
    recorded = Settings.model_validate({"models": [{"name": "m", "price_in": 9}], "suites": ["basic_control"]})
    assert recorded.models[0].cost(1000, 1000) is None, "half of a cost is no cost"
