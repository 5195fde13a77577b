"""What of an earlier run is done again, and where finished stages are remembered."""

import importlib
import json
import pkgutil
from pathlib import Path

import pytest

from basic_control import tasks
from basic_control.config.settings import Rerun, Settings
from basic_control.data.batches import Cell
from basic_control.data.errors import InputError
from basic_control.data.tables import RESPONSES
from basic_control.flows.cli.application import main
from basic_control.flows.cli.options import STAGES, RunOptions, read_settings
from basic_control.flows.earlier import find_interrupted, has_ended, settings_of, to_resume
from basic_control.flows.environment import results_of
from basic_control.flows.preflight import check_rerun
from basic_control.flows.runs import layers_of, open_run, refresh_rule, restore
from basic_control.tasks.plan import resolve
from basic_control.tasks.stage import Stage
from basic_control.tasks.store.owners import name_owner
from basic_control.tasks.store.reply_cache import ReplyCache
from basic_control.tasks.store.tables import Store


def test_every_stage_has_its_place_among_those_that_are_run_again() -> None:
    """One that is missing would keep its old result, whatever is asked for."""
    found = pkgutil.walk_packages(tasks.__path__, "basic_control.tasks.")
    modules = [importlib.import_module(one.name) for one in found if not one.name.endswith("python_child")]
    stages = [found for module in modules for found in vars(module).values() if isinstance(found, Stage)]
    assert {one.part for one in stages} == {*STAGES}
    assert {one.takes for one in stages} == {"", *STAGES}
    due = {
        name: {one.name for one in stages if refresh_rule(Rerun(rerun=name))(one.name, Cell())} for name in STAGES
    }
    report = {"results", "gate", "report"}
    summed = {"decide", "aggregate"} | report
    after = {"join_metrics"} | summed
    assert due["report"] == report
    assert due["aggregate"] == summed
    assert due["score"] == {"score", "measure", "score_judged"} | after
    assert due["judge"] == {"judge", "score_judged"} | after
    assert due["verify"] == {"verify", "score"} | after
    assert due["query"] == {"prepare", "given", "query", "verify_sources", "measure"} | due["verify"] | due["judge"]
    assert due["generate"] == {one.name for one in stages}


@pytest.mark.parametrize(
    ("model", "cell", "expected"),
    [
        ("tiny", Cell("cot", "tiny"), True),
        ("tiny", Cell("cot", "tiny", 0), True),
        ("tiny", Cell("rag", "tiny", 0, "factual_correctness", "judge"), True),
        ("tiny", Cell("cot", "tiny b"), False),
        ("tiny b", Cell("cot", "tiny b", 0), True),
        ("tiny b", Cell("cot", "tiny"), False),
        ("tiny", Cell("cot", "org/tiny:8b"), False),
        ("tiny", Cell("cot", "tiny 2"), False),
        ("tiny", Cell("basic_control"), True),  # items are drawn for all
        ("tiny", Cell(), True),
    ],
)
def test_a_model_named_for_a_rerun_is_that_one_and_not_one_whose_name_begins_so(
    model: str,
    cell: Cell,
    expected: bool,  # noqa: FBT001 - a row of the table above
) -> None:
    assert refresh_rule(Rerun(rerun="generate", model=model))("verify", cell) is expected


BAD = [
    (["--rerun", "verify", "--only-suite", "nosuch"], "--only-suite nosuch: the run has none"),
    (["--rerun", "verify", "--only-suite", "cot"], "--only-suite cot: the run has none"),
    (["--rerun", "verify", "--only-suite", "cot", "--dry-run"], "--only-suite cot: the run has none"),
    (["--resume", "other"], "found two runs"),
    (["--only-failed", "--fresh"], "expected only one"),
]


@pytest.mark.parametrize(("given", "words"), BAD)
def test_what_the_run_does_not_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: list[str], words: str
) -> None:
    name = begun(tmp_path)
    sets = ["--set", f"store.runs={tmp_path}/runs", "--set", f"store.root={tmp_path}/store"]
    assert main(["run", "--run", name, *given, *sets]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "defect" not in said


def test_a_model_that_the_run_does_not_have_is_refused(tmp_path: Path) -> None:
    place = settings(tmp_path)
    with pytest.raises(InputError, match="--only-model tin: the run has none of that name, expected one of tiny"):
        check_rerun(resolve(place), Rerun(rerun="verify", model="tin"))
    data = tmp_path / "answers.jsonl"
    row = {"question": "?", "response": "a", "reference": "a", "retrieved_contexts": ["a"]}
    data.write_text(json.dumps(row) + "\n", encoding="utf-8")
    raw = place.model_dump(mode="json") | {"suites": ["rag"], "rag": {"data": str(data)}, "judges": [{"name": "j"}]}
    of_file = Settings.model_validate(raw)
    check_rerun(resolve(of_file), Rerun(rerun="judge", model="responses of answers"))


@pytest.mark.parametrize("option", ["--run", "--resume"])
@pytest.mark.parametrize("path", ["../elsewhere/{name}", "{folder}/elsewhere/{name}", "..", ".", "linked"])
def test_a_run_is_named_and_no_path_leads_to_one_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, path: str
) -> None:
    name = begun(tmp_path)
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "elsewhere" / name)
    before = (tmp_path / "elsewhere" / name / "manifest.json").read_bytes()
    given = path.format(name=name, folder=tmp_path)
    assert main([option, given, "--set", f"store.runs={tmp_path}/runs"]) == 2
    assert "expected the name of a run in store.runs" in capsys.readouterr().err
    with pytest.raises(InputError, match="expected the name of a run"):
        open_run(resolve(settings(tmp_path)), Rerun(resume=given))
    assert (tmp_path / "elsewhere" / name / "manifest.json").read_bytes() == before


def test_an_empty_name_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--run", "", "--set", f"store.runs={tmp_path}"]) == 2
    assert "--run: found no name" in capsys.readouterr().err


def settings(folder: Path) -> Settings:
    return Settings.model_validate(
        {
            "models": [{"name": "tiny"}],
            "suites": ["basic_control"],
            "store": {"root": f"{folder}/store", "runs": f"{folder}/runs"},
        }
    )


def begun(folder: Path, **more: object) -> str:
    """Return a run that has begun, with more in its manifest."""
    run = open_run(resolve(settings(folder)), Rerun()).folder
    file = run / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | more), encoding="utf-8")
    return run.name


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"schema": 2}, "expected a manifest of schema 1"),
        ({"configuration": None}, "found no configuration"),
        ({"started": "yesterday"}, "expected a date and time"),
        ({"started": None}, "expected a date and time"),
        ({"configuration": {"models": [{"name": "a"}], "nosuch": 1}}, "nosuch"),
    ],
)
def test_a_manifest_of_another_version_is_one_message(tmp_path: Path, more: dict[str, object], words: str) -> None:
    name = begun(tmp_path, **more)
    with pytest.raises(InputError, match=words):
        settings_of(f"{tmp_path}/runs", name)
    assert to_resume(tmp_path / "runs") == name


def test_resume_goes_on_with_the_last_run_and_does_none_again_that_has_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done: dict[str, object] = {"status": "completed", "tables": {"summary": []}, "requests": {"submitted": 0}}
    broken_off, waits = begun(tmp_path), begun(tmp_path, **done | {"requests": {"submitted": 3}})
    assert to_resume(tmp_path / "runs") == waits, "its requests wait in a batch"
    last = begun(tmp_path, **done)
    with pytest.raises(InputError, match=f"{last}, has ended.* The last interrupted one is {waits}"):
        to_resume(tmp_path / "runs")
    assert not has_ended(f"{tmp_path}/runs", broken_off)
    assert has_ended(f"{tmp_path}/runs", last)
    assert main(["run", "--resume", "--set", f"store.runs={tmp_path}/runs"]) == 2
    assert f"to repeat it from the caches: --resume {last}." in capsys.readouterr().err
    options = RunOptions(resume=(last,), sets=(f"store.runs={tmp_path}/runs",))
    assert read_settings("", options)[1].resume == last
    assert "this run has ended; it is repeated" in capsys.readouterr().err, "and not silently"


def test_what_the_judges_of_an_ended_run_said_is_not_replaced(tmp_path: Path) -> None:
    judged = settings(tmp_path).model_dump(mode="json") | {"judges": [{"name": "old"}, {"name": "second"}]}
    done = {"status": "completed", "tables": {"summary": []}, "requests": {"submitted": 0}, "configuration": judged}
    name = begun(tmp_path, **done)
    place = (f"store.runs={tmp_path}/runs",)
    # Another judge beside them, or other settings of one, replaces nobody.
    added = "judges=[{name: old, max_concurrency: 2}, {name: second}, {name: new}]"
    assert read_settings("", RunOptions(resume=(name,), sets=(*place, added)))[1].resume == name
    assert read_settings("", RunOptions(run=name, judge=("openai/new",), sets=place))[1].of == name
    for options in (
        RunOptions(resume=(name,), judge=("openai/new",), sets=place),
        RunOptions(resume=(name,), sets=(*place, "judges=[{name: second}]")),
        RunOptions(resume=(name,), sets=(*place, "judges.0.provider=openai")),
    ):
        with pytest.raises(InputError, match=f"judge old said would be replaced.*run --run {name} with"):
            read_settings("", options)


def test_a_run_is_changed_by_its_own_keys(tmp_path: Path) -> None:
    """The shipped configuration has no second model, no batches, and no suite of that name."""
    (tmp_path / "rows.jsonl").write_text('{"question": "?", "answer": "a"}\n', encoding="utf-8")
    items = {"data": f"{tmp_path}/rows.jsonl"}
    own = {"name": "own", "items": items, "prompt": "{{ question }}", "metrics": {"exact_match": {}}}
    models = [{"name": "tiny"}, {"name": "small", "provider": "openai"}]
    raw = settings(tmp_path).model_dump(mode="json") | {"models": models, "suites": [own]}
    name = open_run(resolve(Settings.model_validate(raw)), Rerun()).folder.name
    sets = (f"store.runs={tmp_path}/runs", "models.1.batch=wait", "own.threshold=0.5")
    changed, _ = read_settings("own", RunOptions(run=name, sets=sets))
    assert (changed.models[1].batch, changed.suites[0].threshold) == ("wait", 0.5)


def test_a_run_that_is_resumed_repeats_what_it_was_to_repeat(tmp_path: Path) -> None:
    again = Rerun(rerun="judge", of="20260101_000000", suite="rag", failed=True)
    name = open_run(resolve(settings(tmp_path)), again).folder.name
    options = RunOptions(resume=(name,), sets=(f"store.runs={tmp_path}/runs",))
    assert read_settings("", options)[1] == again.model_copy(update={"resume": name})


def test_a_fresh_runs_folder_is_found_by_its_mark(tmp_path: Path) -> None:
    fresh = settings(tmp_path).model_copy(update={"fresh": "20261121_120000"})
    assert find_interrupted(f"{tmp_path}/runs", fresh.fresh) == ""
    begun(tmp_path)
    name = open_run(resolve(fresh), Rerun()).folder.name
    begun(tmp_path)
    assert find_interrupted(f"{tmp_path}/runs", fresh.fresh) == name


def test_a_finished_run_that_is_resumed_still_names_its_tables(tmp_path: Path) -> None:
    """Else `prune` beside it would take them for nobody's."""
    tables = {"items": [{"table": "items", "digest": "0" * 64, "rows": 1}]}
    name = begun(tmp_path, status="completed", tables=tables)
    open_run(resolve(settings(tmp_path)), Rerun(resume=name))
    manifest = json.loads((tmp_path / "runs" / name / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["tables"] == tables
    assert (manifest["status"], manifest["owner"]) == ("running", name_owner())


def test_a_damaged_table_is_no_hindrance_to_asking_what_failed(tmp_path: Path) -> None:
    place = settings(tmp_path)
    store = Store(place.store.root)
    row = dict.fromkeys(RESPONSES.columns) | {"text": "4", "latency_s": 0.5, "cached": False}
    refs = [store.write(RESPONSES, RESPONSES.frame([row | {"request_id": one}])) for one in ("a", "b")]
    given = store.write(RESPONSES, RESPONSES.frame([row | {"request_id": "c", "latency_s": None}]))
    Path(store.address(refs[0].digest)).write_bytes(b"damaged")
    listed = [{"table": r.table, "digest": r.digest, "rows": r.rows} for r in (*refs, given)]
    assert restore(place.store, {"tables": {"responses": listed}}) == 1
    cache = ReplyCache(f"sqlite:///{place.store.root}/replies.sqlite")
    assert set(cache.lookup(["a", "b", "c"])) == {"b"}, "what a data set held was never asked"
    cache.close()


@pytest.mark.parametrize("form", ["{}", "file://{}", "file:{}", "local://{}"])
def test_stages_are_remembered_beside_the_tables_however_the_folder_is_written(tmp_path: Path, form: str) -> None:
    place = {"root": form.format(tmp_path)}
    found = Settings.model_validate({"models": [{"name": "tiny"}], "store": place})
    assert results_of(found.store) == tmp_path / "results"
    assert Store(found.store.root).local == tmp_path


def test_stages_are_remembered_in_the_home_folder_where_it_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    found = Settings.model_validate({"models": [{"name": "tiny"}], "store": {"root": "~/mine"}})
    assert results_of(found.store) == tmp_path / "mine" / "results" == Store("~/mine").local / "results"  # pyrefly: ignore[unsupported-operation] # local


def test_the_manifest_says_what_held_models_programs(tmp_path: Path) -> None:
    """With the configured tools; nothing where no family runs programs."""
    nowhere = {"kotlin_compiler": str(tmp_path / "nowhere")}
    for families, expected in (
        (["simple_logic"], set()),
        (["code_gen"], {"wasm", "rlimits", "no_new_privs", "landlock", "seccomp", "kotlin"}),
    ):
        given = {"models": [{"name": "m"}], "basic_control": {"families": families}, "sandbox": nowhere}
        layers = layers_of(resolve(Settings.model_validate(given)))
        assert set(layers) == expected
    assert layers["kotlin"] == "off (no Kotlin compiler)"
