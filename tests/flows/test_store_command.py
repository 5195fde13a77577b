"""The store tells what it holds, finds what is damaged, and lets go only of what no kept run needs."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.data.exits import Exit
from basic_control.data.tables import VERDICTS
from basic_control.flows.cli.application import main
from basic_control.flows.cli.commands.store import amount
from basic_control.tasks.store import pruning
from basic_control.tasks.store.owners import name_owner
from basic_control.tasks.store.pruning import take
from basic_control.tasks.store.tables import Store
from tests.conftest import TOP
from tests.helpers.places import DAY, Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_list_tells_runs_tables_and_replies(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    shared, own, idle = place.table("a"), place.table("b"), place.table("c")
    first, second = place.run(shared, own, days=40), place.run(shared, days=2)
    unfinished = place.run(days=1, status="running")
    place.remember("r1", "r2")
    assert place.care("list") == 0
    said = capsys.readouterr().out
    for name, state, tables in ((first, "finished", 2), (second, "finished", 1), (unfinished, "unfinished", 0)):
        line = next(line for line in said.splitlines() if line.startswith(name))
        assert state in line
        assert "acme/tiny" in line
        assert "basic_control" in line
        assert f"  {tables}  " in line
    assert "3 tables" in said
    assert f"needed by no run: 1 table, {amount(place.path(idle).stat().st_size)}" in said
    assert "2 replies" in said


def test_list_of_a_store_without_anything(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.care("list") == 0
    said = capsys.readouterr().out
    assert "No run in" in said
    assert "no reply cache yet" in said
    assert not (place.root / "replies.sqlite").exists(), "looking makes nothing"


def test_a_name_in_a_manifest_cannot_speak_to_the_terminal(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.run(configuration={"models": [{"name": "evil\x1b[2J\nname"}], "suites": []})
    place.care("list")
    assert "\x1b" not in capsys.readouterr().out


def test_suites_are_listed_by_their_names_however_a_manifest_holds_them(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.run(configuration={"models": [], "suites": ["cot", {"name": "support", "weight": 0.3}]})
    place.care("list")
    assert "cot, support" in capsys.readouterr().out


def test_a_whole_store_is_whole(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.run(place.table("a"), place.answers("r1"))
    place.remember("r1")
    assert place.care("verify") == 0
    assert "2 tables, 1 run and 1 reply checked: no faults." in capsys.readouterr().out


def test_verify_names_everything_that_is_damaged(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    changed, gone, idle = place.table("a"), place.table("b"), place.table("c")
    name = place.run(changed, gone, reports=["reports/report.md"])
    unreadable = place.run(days=3)
    (place.runs / unreadable / "manifest.json").write_text("{", encoding="utf-8")
    for ref in (changed, idle):
        content = place.path(ref).read_bytes()
        place.path(ref).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    place.path(gone).unlink()
    place.remember("r1", "r2")
    with sqlite3.connect(place.root / "replies.sqlite") as file:
        file.execute("UPDATE replies SET text = 'five' WHERE request_id = 'r1'")
    assert place.care("verify") == 1
    said = capsys.readouterr().out
    assert f"table {changed.digest[:12]}" in said
    assert f"needed by {name}" in said
    assert f"table {idle.digest[:12]}" in said
    assert "no run needs it" in said
    assert f"run {name}: 1 of its verdicts tables missing ({gone.digest[:12]}" in said
    assert "report reports/report.md is missing" in said
    assert f"run {unreadable}:" in said
    assert "1 reply with a wrong checksum" in said
    assert said.count("DAMAGED") == 6


def test_verify_changes_nothing(place: Place) -> None:
    place.remember(*(f"r{n}" for n in range(50)))
    file = place.root / "replies.sqlite"
    content = bytearray(file.read_bytes())
    content[0:100] = bytes(100)
    file.write_bytes(content)
    before = {path: path.read_bytes() for path in place.root.iterdir() if path.suffix != ".lock"}
    assert place.care("verify") == 1
    assert {path: path.read_bytes() for path in place.root.iterdir() if path.suffix != ".lock"} == before


def test_prune_deletes_nothing_unasked(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.table("a")
    place.run(days=100)
    before = sorted(place.root.parent.rglob("*"))
    assert place.care("prune", "--older-than", "30d") == 0
    assert "Would delete 1 run, 1 table" in capsys.readouterr().out
    assert sorted(place.root.parent.rglob("*")) == before


def test_what_a_kept_run_needs_stays(place: Place) -> None:
    shared, own, kept, _ = (place.table(name, days=50) for name in "abcd")
    old, new = place.run(shared, own, days=40), place.run(shared, kept, days=5)
    assert place.care("prune", "--older-than", "30d", "--yes") == 0
    assert place.there() == {shared.digest, kept.digest}
    assert [path.name for path in place.runs.iterdir()] == [new]
    assert old != new
    assert place.care("verify") == 0


def test_keep_spares_the_newest_runs(place: Place) -> None:
    runs = [place.run(place.table(f"t{days}", days=60), days=days) for days in (50, 40, 30, 20)]
    assert place.care("prune", "--keep", "2", "--yes") == 0
    assert sorted(path.name for path in place.runs.iterdir()) == sorted(runs[2:])
    assert place.care("prune", "--keep", "1", "--older-than", "25d", "--yes") == 0
    assert [path.name for path in place.runs.iterdir()] == [runs[3]]


def test_a_named_run_goes(place: Place) -> None:
    one, other = place.run(place.table("a"), days=3), place.run(place.table("b"), days=2)
    assert place.care("prune", "--run", one, "--yes") == 0
    assert [path.name for path in place.runs.iterdir()] == [other]
    assert len(place.there()) == 1


def test_what_was_just_written_stays(place: Place) -> None:
    fresh, old = place.table("a", days=0.5), place.table("b", days=2)
    assert place.care("prune", "--yes") == 0
    assert place.there() == {fresh.digest}
    assert old.digest != fresh.digest
    assert place.care("prune", "--yes", "--grace", "1h") == 0
    assert place.there() == set()


def test_what_a_running_run_may_need_stays_however_long_it_runs(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    name = place.run(days=6, status="running")
    before, since = place.table("a", days=7), place.table("b", days=5)
    assert place.care("prune", "--yes") == 0
    assert f"{name} has not ended" in capsys.readouterr().out
    assert place.there() == {since.digest}
    assert before.digest != since.digest


def test_a_table_that_is_used_again_stays(place: Place) -> None:
    """A run that finds its table in the store, written long ago, marks it."""
    ref = place.table("a", days=100)
    assert place.store.is_intact(ref)
    assert place.care("prune", "--yes") == 0
    assert place.there() == {ref.digest}


def test_a_table_that_is_used_while_prune_is_at_work_stays(place: Place) -> None:
    used, idle = place.table("a", days=100), place.table("b", days=100)
    there = take(place.store, place.runs)
    planned = pruning.plan(there)
    assert planned.tables == {used.digest, idle.digest}
    assert place.store.is_intact(used)
    assert pruning.carry_out(there, planned) == 1
    assert place.there() == {used.digest}
    assert place.store.read(used).height == 1


def test_a_run_that_has_not_ended_is_not_deleted_while_it_may_run(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    name = place.run(days=0.2, status="running")
    assert place.care("prune", "--run", name, "--yes") == 2
    assert "may still be running" in capsys.readouterr().err
    assert place.care("prune", "--keep", "0", "--older-than", "1m", "--yes") == 0
    assert (place.runs / name).exists()
    assert place.care("prune", "--run", name, "--grace", "0h", "--yes") == 0
    assert not (place.runs / name).exists()


def test_no_table_goes_while_a_manifest_cannot_be_read(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    ref = place.table("a", days=100)
    name = place.run(ref, days=100)
    file = place.runs / name / "manifest.json"
    file.write_text("{", encoding="utf-8")
    then = time.time() - 50 * DAY
    for path in (file, file.parent):
        os.utime(path, (then, then))
    assert place.care("prune", "--yes") == 0
    assert "no tables are deleted" in capsys.readouterr().out
    assert place.there() == {ref.digest}
    assert place.care("prune", "--run", name, "--yes") == 0
    assert place.there() == set()


MISSHAPEN: list[dict[str, Any]] = [
    {"tables": [1, 2]},
    {"tables": {"items": [{"digest": 5}]}},
    {"tables": {"items": "x"}},
    {"tables": {"items": 5}},
    {"configuration": None},
    {"configuration": {"models": None}},
    {"configuration": {"suites": 3}},
    {"reports": 7},
    {"started": None},
    {"started": "0001-01-01T00:00:00"},
]


@pytest.mark.parametrize("more", MISSHAPEN, ids=str)
def test_a_manifest_of_other_shapes_is_said_and_keeps_every_table(
    place: Place, capsys: pytest.CaptureFixture[str], more: dict[str, Any]
) -> None:
    ref = place.table("a", days=100)
    name = place.run(ref, days=100, **more)
    assert place.care("list") == 0
    assert place.care("verify") == Exit.FAILED
    assert f"run {name}" in capsys.readouterr().out
    assert place.care("prune", "--yes") == 0
    assert "no tables are deleted" in capsys.readouterr().out
    assert place.there() == {ref.digest}


def test_a_manifest_too_deep_to_read_is_said(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    name = place.run(days=100)
    (place.runs / name / "manifest.json").write_text("[" * 100_000, encoding="utf-8")
    assert place.care("verify") == Exit.FAILED
    assert f"run {name}" in capsys.readouterr().out


def test_nothing_goes_where_the_folder_of_the_runs_is_not_there(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped store.runs must not make every table nobody's."""
    ref = place.table("a", days=100)
    place.run(ref, days=100)
    place.runs.rename(place.runs.with_name("elsewhere"))
    assert place.care("prune", "--yes") == 2
    assert "there is no such folder" in capsys.readouterr().err
    assert place.there() == {ref.digest}


@pytest.mark.parametrize("key", ["store.root", "store.runs"])
def test_an_empty_name_is_no_folder(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "prune", "--set", f"{key}="]) == 2
    assert key in capsys.readouterr().err


def test_the_section_of_a_configuration_says_where_the_store_is_and_no_other_key_is_taken(
    place: Place, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = place.run(place.table("a"))
    file = tmp_path / "run.yaml"
    file.write_text(f"suites: [a, b\nstore: {{root: {place.root}, runs: {place.runs}}}\n", encoding="utf-8")
    assert main(["store", "list", "--config", str(file)]) == 2
    assert "run.yaml, line" in capsys.readouterr().err
    file.write_text(f"suites: [nowhere]\nstore: {{root: {place.root}, runs: {place.runs}}}\n", encoding="utf-8")
    assert main(["store", "list", "--config", str(file)]) == 0
    assert name in capsys.readouterr().out
    assert main(["store", "list", "--set", "cot.threshold=0.5"]) == 2
    assert "expected one of store.root, store.cache, store.runs" in capsys.readouterr().err


def test_folders_that_are_no_runs_stay(place: Place) -> None:
    (place.runs / "notes").mkdir()
    (place.runs / "notes" / "mine.txt").write_text("mine", encoding="utf-8")
    outside = place.root.parent / "20200101_000000"
    outside.mkdir()
    (place.runs / "20200101_000001").symlink_to(outside)
    assert place.care("prune", "--older-than", "0h", "--yes") == 0
    assert (place.runs / "notes" / "mine.txt").exists()
    assert outside.exists()


def test_stage_results_go_with_their_tables(place: Place) -> None:
    kept, idle = place.table("a"), place.table("b")
    place.run(kept, days=5)
    results = place.root / "results"
    results.mkdir()
    for ref in (kept, idle):
        inner = json.dumps({"table": "verdicts", "digest": ref.digest, "rows": 1, "content": ref.content})
        path = results / f"verify-{ref.digest[:8]}"
        path.write_text(json.dumps({"metadata": {}, "result": inner}), encoding="utf-8")
        then = time.time() - 5 * DAY
        os.utime(path, (then, then))
    assert place.care("prune", "--yes") == 0
    assert [path.name for path in results.iterdir()] == [f"verify-{kept.digest[:8]}"]


BAD = [
    (["prune", "--older-than", "soon"], "expected a number and m, h, d or w"),
    (["prune", "--keep", "-1"], "Must be >= 0"),
    (["prune", "--run", "nonsense"], "no such run"),
    (["list", "--set", "store.root=/proc/nowhere"], "there is no such folder"),
    (["list", "--set", "store.root=nonsense://x"], "cannot be used"),
    (["verify", "--set", "store.cache=nonsense"], "Expected an SQLAlchemy URL"),
    (["clean"], 'Unknown command "clean"'),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[" ".join(a) for a, _ in BAD])
def test_bad_input_is_one_message_and_exit_code_2(
    place: Place, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    verb, *rest = arguments
    assert place.care(verb, *rest) == 2
    assert words in capsys.readouterr().err


def test_the_command_answers_as_a_module(place: Place) -> None:
    shutil.rmtree(place.root)
    command = [sys.executable, "-m", "basic_control", "store", "verify", "--set", f"store.root={place.root}"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_a_store_at_an_url_is_cared_for_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    root = "memory://cared/for"
    store = Store(root)
    frame = VERDICTS.frame([{"item_id": "a", "model": "m", "repeat": 0, "status": "scored", "reason": ""}])
    frame = frame.with_columns(pl.lit(value=True).alias("correct"), pl.lit("{}").alias("details"))
    store.write(VERDICTS, frame)
    keys = {"root": root, "runs": tmp_path, "cache": f"sqlite:///{tmp_path}/replies.sqlite"}
    more = [word for key, value in keys.items() for word in ("--set", f"store.{key}={value}")]
    assert main(["store", "list", *more]) == 0
    assert "1 table" in capsys.readouterr().out
    assert main(["store", "verify", *more]) == 0
    assert main(["store", "prune", "--grace", "0h", "--yes", *more]) == 0
    assert list(store.entries()) == []


def test_a_run_whose_process_lives_is_not_deleted_however_old_it_is(place: Place) -> None:
    name = place.run(days=3, status="running", owner=name_owner())
    assert place.care("prune", "--older-than", "2d", "--yes") == 0
    assert (place.runs / name).exists()
