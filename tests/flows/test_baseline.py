"""A run against a committed baseline: what fell fails the build, in that gate's case alone."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from basic_control.config.settings import Settings
from basic_control.flows.cli.application import main
from basic_control.tasks.compare.baseline import pin
from basic_control.tasks.compare.provenance import read_provenance
from basic_control.tasks.compare.rescore import rescore
from basic_control.tasks.plan import resolve
from basic_control.tasks.store.runs import find_run
from tests.conftest import Run, free_port
from tests.flows.scene import Scene
from tests.helpers.exam import exam_items, perfect, spoken
from tests.helpers.recorded import suite
from tests.helpers.recorded import written as rows_in
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai
from tests.servers.script import last_user

N = 60


def answering(wrong: int) -> Any:
    """Return a model that knows all of one suite, and all but the first `wrong` rows of the other."""

    def reply(body: dict[str, Any]) -> str:
        words = last_user(body).split()
        number = int(words[-1])
        return "Nowhere" if words[1] == "capital" and number < wrong else f"Place {number}"

    return reply


def written(folder: Path, **changes: Any) -> Path:
    """Write a configuration of two suites, thresholds low."""
    suites = []
    for name, what in (("capitals", "capital"), ("rivers", "river")):
        rows = [{"question": f"Country {n}", "answer": f"Place {n}"} for n in range(N)]
        data = folder / f"{name}.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        prompt = f"The {what} of {{{{ question }}}}"
        suite = {"name": name, "items": {"data": str(data)}, "prompt": prompt, "metrics": {"exact_match": {}}}
        suites.append({**suite, "threshold": 0.5})
    path = folder / "run.yaml"
    path.write_text(json.dumps({"suites": suites, "threshold": 0.5, **changes}), encoding="utf-8")
    return path


def test_a_weaker_model_fails_the_build_against_the_baseline_and_says_where(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """8 of 60 lost, none won: 13 points below the baseline, thresholds passed."""
    path = str(written(tmp_path))
    baseline = str(tmp_path / "main.json")
    with serve_openai(answering(0)) as server:
        first = run("--config", path, "--set", at(server, name="a"))
        assert first.returncode == 0, first.stderr
    a = latest(tmp_path)
    assert main(["baseline", "set", baseline, str(a), "--set", f"store.root={tmp_path / 'store'}"]) == 0
    pinned = Path(baseline).read_text(encoding="utf-8")
    assert "Country" not in pinned
    assert "Place" not in pinned
    assert main(["baseline", "show", baseline]) == 0
    assert "capitals a: 100%, 60 / 60 scored" in capsys.readouterr().out
    junit, markdown, copied = (tmp_path / name for name in ("junit.xml", "summary.md", "all.json"))
    gate = ["--baseline", baseline, "--fail-on", "regression", "--junit", str(junit), "--markdown", str(markdown)]
    with serve_openai(answering(8)) as server:
        second = run("--config", path, "--set", at(server, name="b"), *gate, "--json", str(copied))
    assert second.returncode == 1, second.stderr
    gates, rows = ET.parse(junit).iter("testsuite")  # noqa: S314 - our own file
    cases = {(case.get("classname"), case.get("name")): case for case in gates.iter("testcase")}
    assert len([case for case in rows.iter("testcase") if case.find("failure") is not None]) == 8
    red = [key for key, case in cases.items() if case.find("failure") is not None or case.find("error") is not None]
    assert red == [(f"baseline {baseline}.b", "capitals")]
    assert ("b", "capitals") in cases
    told = markdown.read_text(encoding="utf-8")
    assert "regressed" in told
    assert "capitals" in told
    assert "The capital of Country 0" in told
    document = json.loads(copied.read_text(encoding="utf-8"))
    held = document["baseline"]
    outcomes = {
        change["pair"]["suite"]: (change["decision"]["outcome"], change["pair"]["only_b"], change["pair"]["only_a"])
        for change in held["headlines"]
    }
    assert outcomes == {"capitals": ("regressed", 8, 0), "rivers": ("held", 0, 0)}
    assert document["final"]["exit_code"] == 1
    assert len(held["changed"]) == 8
    with serve_openai(answering(8)) as server:
        only_told = run("--config", path, "--set", at(server, name="b"), "--baseline", baseline)
    assert only_told.returncode == 0, only_told.stderr
    assert "capitals, b: regressed: −13.3 points" in only_told.stdout


def test_a_baseline_of_other_rules_is_refused_before_anything_is_asked(run: Run, tmp_path: Path) -> None:
    path = str(written(tmp_path))
    with serve_openai(answering(0)) as server:
        model = at(server, name="a")
        assert run("--config", path, "--set", model).returncode == 0
        baseline = tmp_path / "old.json"
        assert (
            main(
                [
                    "baseline",
                    "set",
                    str(baseline),
                    str(latest(tmp_path)),
                    "--set",
                    f"store.root={tmp_path / 'store'}",
                ]
            )
            == 0
        )
        raw = json.loads(baseline.read_text(encoding="utf-8"))
        raw["facts"]["suites"]["capitals"]["rules"]["metrics.exact_match.case_sensitive"] = True
        raw["facts"]["suites"]["rivers"]["rules"]["judges.exact_match.gpt"] = {"model": "gpt"}
        baseline.write_text(json.dumps(raw), encoding="utf-8")
        shutil.rmtree(tmp_path / "store")
        asked = len(server.requests)
        there = {*(tmp_path / "runs").iterdir()}
        refused = run("--config", path, "--set", model, "--baseline", str(baseline))
        assert refused.returncode == 2
        assert {*(tmp_path / "runs").iterdir()} == there, "what was refused is no run"
        assert "exact_match.case_sensitive of suite capitals: False, in the baseline True" in refused.stderr
        assert "judges.exact_match.gpt of suite rivers: none, in the baseline model gpt" in refused.stderr
        assert "--allow-different" in refused.stderr
        assert len(server.requests) == asked
        gone = run("--config", path, "--set", model, "--baseline", "nowhere")
        assert (gone.returncode, "baselines/nowhere.json not found" in gone.stderr) == (2, True)
        alone = run("--config", path, "--set", model, "--fail-on", "regression")
        assert (alone.returncode, "expected --baseline NAME" in alone.stderr) == (2, True)


def test_replies_to_families_and_judges_verdicts_are_scored_again_as_the_run_scored_them(
    undisturbed: Scene,
) -> None:
    """Of a run whose families and judged metrics have all another version since, and whose scores were all lost."""
    run = find_run(str(latest(undisturbed.folder)), undisturbed.folder)
    known = pin("main", run)
    provenance = read_provenance(run.manifest)
    assert {*provenance.units} >= {"simple_logic", "response_groundedness", "factual_correctness"}
    older = {name: {**one, "version": 0} for name, one in provenance.units.items()}
    lost = replace(
        known,
        side=replace(
            known.side,
            provenance=replace(provenance, units=older),
            scores=known.side.scores.with_columns(value=pl.lit(0.0)),
        ),
    )
    plan = resolve(Settings.model_validate(run.configuration))
    asked = len(undisturbed.server.requests)
    again, units = rescore(plan, lost.side, lost.tables, provenance, {})
    assert {*units} == {*provenance.units}
    order = ["suite", "model", "metric", "item_id", "repeat"]
    columns = [*order, "value", "status"]
    assert_frame_equal(again.select(columns).sort(order), known.side.scores.select(columns).sort(order))
    assert known.side.scores["value"].max() == 1.0
    assert len(undisturbed.server.requests) == asked


def test_recorded_replies_that_became_wrong_fail_the_build_and_what_is_loosened_or_gone_does_not_pass(
    run: Run, tmp_path: Path
) -> None:
    """The golden of SPEC 15 from outside: 100 rows, all right; then half of them wrong. Nobody is asked."""
    rows = [{"question": f"Question {n}?", "answer": f"Answer {n}", "response": f"Answer {n}"} for n in range(100)]
    wrong = [{**row, "response": "nothing"} if n % 2 else row for n, row in enumerate(rows)]

    def configured(name: str, listed: list[dict[str, str]], **changes: Any) -> list[str]:
        suites = [
            suite(rows_in(tmp_path / f"{name}.jsonl", listed), one, threshold=0.1) for one in ("own", "other")
        ]
        path = tmp_path / f"{name}.yaml"
        path.write_text(json.dumps({"suites": [{**suites[0], **changes}, suites[1]]}), encoding="utf-8")
        return ["--config", str(path), "--set", "threshold=0.1"]

    metrics = {"exact_match": {}, "contains": {"mode": "all"}}
    done = run(*configured("right", rows, metrics=metrics))
    assert done.returncode == 0, done.stderr
    baseline = str(tmp_path / "main.json")
    assert (
        main(["baseline", "set", baseline, str(latest(tmp_path)), "--set", f"store.root={tmp_path / 'store'}"]) == 0
    )
    gate = ["--baseline", baseline, "--fail-on", "regression"]
    fell = run(*configured("wrong", wrong, metrics=metrics), *gate)
    assert fell.returncode == 1, fell.stderr
    assert "own, exact_match, app: regressed: −50.0 points" in fell.stdout
    assert "100 questions" in fell.stdout
    loose = run(*configured("loose", rows, metrics={**metrics, "contains": {"mode": "any"}}), *gate)
    assert loose.returncode == 2
    assert "contains.mode of suite own: any, in the baseline all" in loose.stderr
    (tmp_path / "one.yaml").write_text(
        json.dumps({"suites": json.loads((tmp_path / "right.yaml").read_text("utf-8"))["suites"][:1]}),
        encoding="utf-8",
    )
    gone = run("--config", str(tmp_path / "one.yaml"), "--set", "threshold=0.1", *gate)
    assert gone.returncode == 1, gone.stderr
    assert "regressed: suite other is missing" in gone.stdout


def test_a_judge_that_does_not_count_does_not_score_the_baseline_again(run: Run, tmp_path: Path) -> None:
    replies = (
        {"question": f"Who {n}?", "response": f"Anna {n}.", "retrieved_contexts": [f"Text {n}."]} for n in range(20)
    )
    drawn = exam_items("en", 6, levels=["easy"], steps=["groundedness"])
    known = spoken(drawn, perfect)

    def speak(body: dict[str, Any]) -> str:
        if body["model"] == "always":
            return json.dumps({"reason": "", "rating": 2})
        return known.get(body["messages"][-1]["content"]) or json.dumps({"reason": "", "rating": 0})

    with serve_openai(speak) as server:
        at_it = {"provider": "openai", "base_url": server.base_url, "exam": 6}
        judges = [{"name": name, **at_it} for name in ("sound", "always")]
        sets = (f"judges={json.dumps(judges)}", "models=[]", "rag.factual_correctness.enabled=false", "gate=off")
        words = [word for one in sets for word in ("--set", one)]
        run("--data", str(rows_in(tmp_path / "rows.jsonl", [*replies])), *words, flow="rag")
    found = find_run(str(latest(tmp_path)), tmp_path / "runs")
    pinned, provenance = pin("main", found), read_provenance(found.manifest)
    assert pinned.side.scores["value"].max() == 0.0, "sound alone counts"
    older = {name: {**one, "source": "0"} for name, one in provenance.units.items()}
    before = replace(pinned, side=replace(pinned.side, provenance=replace(provenance, units=older)))
    plan = resolve(Settings.model_validate(found.configuration))
    again, units = rescore(plan, before.side, before.tables, provenance, found.manifest["judge_identities"])
    assert "response_groundedness" in units
    assert again["value"].max() == 0.0


def test_other_models_are_refused_before_anything_is_asked_and_none_stands_in_for_one_that_is_away(
    run: Run, tmp_path: Path
) -> None:
    path, baseline = str(written(tmp_path)), str(tmp_path / "main.json")
    store = ["--set", f"store.root={tmp_path / 'store'}"]
    with serve_openai(answering(0)) as server:
        assert run("--config", path, "--set", at(server, name="a")).returncode == 0
        assert main(["baseline", "set", baseline, str(latest(tmp_path)), *store]) == 0
        there = {"provider": "openai", "base_url": server.base_url}
        away = {"name": "a", "provider": "ollama", "base_url": f"http://127.0.0.1:{free_port()}"}
        asked = len(server.requests)
        others = json.dumps([{"name": name, **there} for name in "bc"])
        refused = run("--config", path, "--set", f"models={others}", "--baseline", baseline)
        assert (refused.returncode, "none in common" in refused.stderr) == (2, True)
        assert len(server.requests) == asked
        mixed = json.dumps([away, {"name": "c", **there}])
        done = run("--config", path, "--set", f"models={mixed}", "--baseline", baseline)
    assert done.returncode == 2
    found = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["baseline"]
    assert "c" not in [change["pair"]["model_a"] for change in found["headlines"]]
