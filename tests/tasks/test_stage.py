"""A stage: keyed by content, taken from the cache only where its tables are whole, and recorded."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prefect import flow
from prefect.context import TaskRunContext
from prefect.results import ResultStore
from prefect.settings import PREFECT_LOCAL_STORAGE_PATH, temporary_settings

from basic_control.config.settings import StoreSettings
from basic_control.data import units
from basic_control.data.batches import Batch, Cell, Ref
from basic_control.data.tables import VERDICTS
from basic_control.data.units import TOP, UnitIdentity
from basic_control.flows.ephemeral import serve_in_process
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.stage import (
    DECIDING,
    FETCHING,
    STAGES,
    ContentAddress,
    Ledger,
    Stage,
    current_ledger,
    encode,
    find_values,
    recording,
    stage,
)

ONE, OTHER = (Ref("verdicts", digit * 64, 3, digit * 64) for digit in "12")
SAME = Ref("verdicts", "9" * 64, 3, ONE.content)
"""The table of ONE in another file: only what is true of one run differs."""


def key(name: str = "verify", version: int = 1, **inputs: Any) -> str:
    context = cast("TaskRunContext", SimpleNamespace(task=SimpleNamespace(name=name)))
    return ContentAddress(version).compute_key(context, inputs, {})


def test_a_key_follows_the_content_of_tables_and_not_their_files() -> None:
    assert key(items=ONE) == key(items=SAME)
    assert key(items=ONE) != key(items=OTHER)


def test_a_key_names_its_stage_and_follows_version_and_options() -> None:
    plain = key(options={"a": 1, "b": 2})
    assert plain.startswith("verify-")
    assert plain == key(options={"b": 2, "a": 1})
    others = (key("score", options={"a": 1, "b": 2}), key(version=2, options={"a": 1, "b": 2}))
    assert len({plain, *others, key(options={"a": 1, "b": 3})}) == 4


def test_where_the_store_is_and_what_a_cell_is_called_does_not_change_a_key(tmp_path: Path) -> None:
    batch = Batch(Cell("cot", "m", 0), ONE, OTHER, ONE)
    renamed = Batch(Cell("mine", "n", 7), SAME, OTHER, ONE)
    here = key(store=StoreSettings(root=str(tmp_path)), batch=batch, cell=batch.cell)
    assert here == key(store=StoreSettings(root="elsewhere"), batch=renamed, cell=renamed.cell)
    assert here != key(
        store=StoreSettings(root="elsewhere"), batch=Batch(batch.cell, OTHER, OTHER, ONE), cell=batch.cell
    )


def test_a_key_follows_the_version_and_the_source_of_its_units() -> None:
    unit = UnitIdentity("tone", 1, "ab")
    others = [UnitIdentity("tone", 2, "ab"), UnitIdentity("tone", 1, "cd"), UnitIdentity("shade", 1, "ab")]
    assert len({key(metric=one) for one in (unit, *others)}) == 4


@pytest.mark.parametrize(
    ("rules", "place", "moves"),
    [
        (DECIDING, "metrics/contains.py", True),
        (DECIDING, "prompts/en/cot/task.j2", True),
        (DECIDING, "data/number_words.yaml", True),
        (DECIDING, "tasks/store/samples.py", True),
        (DECIDING, "tasks/models/scheduler.py", False),
        (FETCHING, "tasks/web/checking.py", True),
        (FETCHING, "metrics/citation/urls.py", True),
        (FETCHING, "metrics/contains.py", False),
        (FETCHING, "data/sentences.py", False),
    ],
)
def test_a_key_follows_the_rules_that_decide(
    rules: tuple[str, ...], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, moves: bool
) -> None:
    """Fetched pages are evidence: no rule but that of fetching fetches them again."""
    for name in (*DECIDING, *FETCHING, place):
        source = TOP / name
        for file in source.rglob("*.*") if source.is_dir() else [source]:
            (tmp_path / file.relative_to(TOP)).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file.relative_to(TOP)).touch()
    monkeypatch.setattr(units, "TOP", tmp_path)
    context = cast("TaskRunContext", SimpleNamespace(task=SimpleNamespace(name="verify")))
    keys = []
    for text in ("one", "two"):
        (tmp_path / place).write_text(text, encoding="utf-8")
        units.digest_of.cache_clear()
        keys.append(ContentAddress(1, rules).compute_key(context, {"items": ONE}, {}))
    units.digest_of.cache_clear()
    assert (keys[0] != keys[1]) == moves


def test_pages_are_fetched_again_for_no_other_rule() -> None:
    import basic_control.flows.suite  # noqa: F401 - with all stages

    assert {name for name, known in STAGES.items() if known.rules == FETCHING} == {"verify_sources"}


def test_a_set_is_encoded_in_one_order() -> None:
    """A stage whose key cannot be computed is never found in the cache."""
    assert encode({"rows": frozenset({3, 1, 2})}) == {"rows": [1, 2, 3]}
    assert encode(frozenset[int]()) == []


def test_an_input_is_encoded_as_plain_json() -> None:
    assert encode({1: (ONE, None), "a": [True]}) == {
        "1": [{"table": "verdicts", "content": ONE.content}, None],
        "a": [True],
    }


def test_every_reference_in_a_result_is_found() -> None:
    @dataclass(frozen=True)
    class Result:
        listed: list[Ref]
        named: dict[str, Any]

    found = Result([ONE], {"b": (OTHER, "text"), "c": {"d": SAME}})
    assert list(find_values(found, Ref)) == [ONE, OTHER, SAME]
    assert list(find_values("text", Ref)) == []


@pytest.fixture
def prefect() -> Iterator[None]:
    with serve_in_process():
        yield


def counted(name: str, calls: list[str], *, cached: bool = True) -> Stage[[StoreSettings, str], Ref]:
    """Return a stage that writes a table of one row and notes that it ran."""

    def write(store: StoreSettings, word: str) -> Ref:
        calls.append(word)
        row = {"item_id": word, "model": "m", "repeat": 0, "correct": True, "status": "scored", "reason": ""}
        return open_store(store).write(VERDICTS, VERDICTS.frame([{**row, "details": "{}"}]))

    write.__name__ = name
    return stage(version=1, part="query", cached=cached)(write)


def within(call: Callable[[], Any], ledger: Ledger) -> Any:
    """Run in a flow, as stages are."""

    @flow(name="test")
    def outer() -> Any:
        with recording(ledger):
            return call()

    return outer()


@pytest.mark.usefixtures("prefect")
def test_a_second_run_is_taken_from_the_cache_and_says_so(tmp_path: Path) -> None:
    calls: list[str] = []
    written, store, ledger = counted(f"a{tmp_path.name}", calls), StoreSettings(root=str(tmp_path)), Ledger()
    cell = Cell("cot", "m", 0)
    first, second = (within(lambda: written(cell, store, "x"), ledger) for _ in range(2))
    assert first == second
    assert calls == ["x"]
    assert [(e.stage, e.cell, e.cached, e.note) for e in ledger.executions] == [
        (written.name, cell, False, ""),
        (written.name, cell, True, ""),
    ]
    row = ledger.rows()[1]
    assert (row["label"], row["suite"], row["model"], row["batch"]) == ("cot m 0", "cot", "m", 0)


@pytest.mark.usefixtures("prefect")
@pytest.mark.parametrize(("rest", "beside"), [(0, False), (40, True)])
def test_a_record_that_another_run_writes_at_that_moment_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: int, *, beside: bool
) -> None:
    """Prefect looks whether a record is there, and reads it again; in between another run may have opened it."""
    calls: list[str] = []
    name = f"g{rest}{beside}{tmp_path.name}"
    written, store, ledger = counted(name, calls), StoreSettings(root=str(tmp_path / "store")), Ledger()
    read = ResultStore.read

    def call() -> Ref:
        return written.start(Cell("cot"), store, "x")() if beside else written(Cell("cot"), store, "x")

    def late(self: ResultStore, *given: Any, **named: Any) -> Any:
        record.write_bytes(record.read_bytes()[:rest])
        return read(self, *given, **named)

    with temporary_settings({PREFECT_LOCAL_STORAGE_PATH: tmp_path / "results"}):
        ref = within(call, ledger)
        (record,) = (tmp_path / "results").glob(f"{name}*")
        with monkeypatch.context() as patch:
            patch.setattr(ResultStore, "read", late)
            assert within(call, ledger) == ref
        assert within(call, ledger) == ref
    assert calls == ["x", "x"]
    notes = [(one.cached, one.note) for one in ledger.executions]
    assert notes == [(False, ""), (False, "the record of its result could not be read"), (True, "")]


@pytest.mark.usefixtures("prefect")
def test_a_cached_result_whose_table_is_gone_is_made_anew(tmp_path: Path) -> None:
    calls: list[str] = []
    written, store, ledger = counted(f"b{tmp_path.name}", calls), StoreSettings(root=str(tmp_path)), Ledger()
    ref = within(lambda: written(Cell("cot"), store, "x"), ledger)
    Path(open_store(store).address(ref.digest)).unlink()
    assert within(lambda: written(Cell("cot"), store, "x"), ledger) == ref
    assert calls == ["x", "x"]
    assert (ledger.executions[1].cached, ledger.executions[1].note) == (
        False,
        "a table of its result was missing or damaged",
    )
    assert open_store(store).is_intact(ref)


@pytest.mark.usefixtures("prefect")
def test_what_is_told_to_run_anew_runs_for_its_cells_only(tmp_path: Path) -> None:
    calls: list[str] = []
    written, store = counted(f"c{tmp_path.name}", calls), StoreSettings(root=str(tmp_path))
    ledger = Ledger(refresh=lambda name, cell: name == written.name and cell.model == "m")

    def both() -> None:
        for model in ("m", "n"):
            written(Cell("cot", model), store, model)

    within(both, Ledger())
    within(both, ledger)
    assert calls == ["m", "n", "m"]
    assert [(e.cell.model, e.cached, e.note) for e in ledger.executions] == [
        ("m", False, "asked to run again"),
        ("n", True, ""),
    ]


@pytest.mark.usefixtures("prefect")
def test_a_stage_without_a_cache_always_runs(tmp_path: Path) -> None:
    calls: list[str] = []
    written, store = counted(f"d{tmp_path.name}", calls, cached=False), StoreSettings(root=str(tmp_path))
    for _ in range(2):
        within(lambda: written(Cell(), store, "x"), Ledger())
    assert calls == ["x", "x"]


@pytest.mark.usefixtures("prefect")
def test_stages_side_by_side_give_their_own_results(tmp_path: Path) -> None:
    calls: list[str] = []
    written, store, ledger = counted(f"e{tmp_path.name}", calls), StoreSettings(root=str(tmp_path)), Ledger()

    def together() -> list[Ref]:
        start_temporary_server = [written.start(Cell("cot", word), store, word) for word in "abc"]
        return [one() for one in start_temporary_server]

    found = within(together, ledger)
    assert [open_store(store).read(ref)["item_id"].to_list() for ref in found] == [["a"], ["b"], ["c"]]
    assert sorted(calls) == ["a", "b", "c"]
    assert [e.cell.model for e in ledger.executions] == ["a", "b", "c"]


@pytest.mark.usefixtures("prefect")
def test_an_error_of_a_stage_reaches_its_caller(tmp_path: Path) -> None:
    @stage(version=1, part="query")
    def broken(store: StoreSettings) -> Ref:
        raise ValueError(f"nothing at {store.root}")

    ledger = Ledger()
    with pytest.raises(ValueError, match="nothing at"):
        within(lambda: broken(Cell(), StoreSettings(root=str(tmp_path))), ledger)
    assert ledger.executions == []


def test_outside_a_run_there_is_an_empty_ledger() -> None:
    assert current_ledger().rows() == []
