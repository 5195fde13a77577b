"""Runs compared: paired by item, what changed with both texts, and clear words where nothing is common."""

import html
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

from basic_control.config.reading import read
from basic_control.flows.cli.application import main
from basic_control.prompts import phrases
from basic_control.tasks.compare.comparison import compare_runs
from basic_control.tasks.compare.provenance import read_provenance
from basic_control.tasks.compare.sides import list_stated_differences
from basic_control.tasks.generate import items_of
from basic_control.tasks.report import comparison
from basic_control.tasks.report.remarks import notes
from basic_control.tasks.store import manifest as manifests
from basic_control.tasks.store.runs import list_runs
from tests.conftest import TOP, Run
from tests.helpers.finished import HOSTILE, finished
from tests.helpers.runs import at
from tests.servers.running import serve_openai


def test_the_models_of_one_run_are_compared_in_the_order_given(tmp_path: Path) -> None:
    """Configured z, then b: differences are b minus z, also where the alphabet has it otherwise."""
    known = finished(tmp_path, "r1", ["z", "b"], lambda model, n: float(model == "b" or n % 2))
    found = compare_runs([str(known)], runs=tmp_path)
    assert {(pair.model_a, pair.model_b) for pair in found.pairs} == {("b", "z")}
    assert all((pair.difference or 0) > 0 for pair in found.pairs)


def answers(settings: list[str]) -> Mapping[str, str]:
    items = items_of(read(None, [*settings, "models=[{name: m}]"]).suite("basic_control"))
    return {item["prompt"]: item["answer"] for item in items}


def test_two_runs_of_a_model_are_paired_over_the_command_line(
    run: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    families = ["basic_control.families=[simple_logic,arithmetic]", "basic_control.n_items=10"]
    families += ["suites=[basic_control]", "report.html=false"]
    known = answers(families)
    order = {prompt: n for n, prompt in enumerate(known)}
    sets = [word for one in families for word in ("--set", one)]

    def reply(body: dict[str, Any]) -> str:
        """Answer right: first on items 0 to 13, then, asked at another temperature, on items 10 to 15."""
        prompt = body["messages"][-1]["content"]
        n = order[prompt]
        right = 10 <= n < 16 if body.get("temperature") else n < 14
        return f"{HOSTILE}\nANSWER: {known[prompt] if right else 'none of these'}"

    with serve_openai(reply) as server:
        first = run(*sets, "--set", at(server), "--junit", str(tmp_path / "junit.xml"))
        again = run(*sets, "--set", at(server, temperature=0.5))
        asked = len(server.requests)
    assert asked == 40, first.stderr + again.stderr
    suites = {suite.get("name"): suite for suite in ET.parse(tmp_path / "junit.xml").iter("testsuite")}  # noqa: S314 - our own file
    assert {name: len(suite.findall("testcase")) for name, suite in suites.items()} == {"gates": 1, "rows": 20}
    names = sorted(path.name for path in (tmp_path / "runs").iterdir())
    command = [
        sys.executable,
        "-X",
        "importtime",
        "-m",
        "basic_control",
        "compare",
        "--set",
        f"store.runs={tmp_path / 'runs'}",
        *names,
    ]
    command += ["--html", str(tmp_path / "c.html"), "--markdown", str(tmp_path / "c.md"), "--show", "4"]
    done = subprocess.run(
        command, cwd=TOP, env={**environment, "COLUMNS": "180"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = " ".join(done.stdout.split())
    assert re.match(r"acme/tiny:1b @ \S+ is worse than acme/tiny:1b @ \S+: Basic tasks: TOTAL −40", said), said[
        :200
    ]
    assert f"Basic tasks: 20 questions in all runs ({names[0]}: 20, {names[1]}: 20)" in said
    assert "70%" in said
    assert "30%" in said
    assert "−40" in said
    assert "10 / 2" in said
    assert f"{binomtest(2, 12).pvalue:.3f}" in said
    assert re.search(r"parameters of acme/tiny:1b (\S.*)temperature 0.0 \1temperature 0.5 ", said)
    assert done.stdout.count("right to wrong: Basic tasks") == 2
    assert done.stdout.count("wrong to right: Basic tasks") == 2
    assert "8 of 12 changes are not shown here" in said
    assert "\x1b[31m" not in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not imported & {"prefect", "openai", "sqlalchemy"}
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert page.count("<details") == 12
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in html.unescape(page)
    assert not re.search(r"""<[^>]*\b(src|href)=(?!"#pair-)""", page)
    text = (tmp_path / "c.md").read_text(encoding="utf-8")
    assert text.count("#### right to wrong") == 10
    assert text.count("#### wrong to right") == 2
    assert all(line.startswith("# Runs compared") for line in re.findall(r"^# .*", _unfenced(text), re.MULTILINE))


def _unfenced(text: str) -> str:
    """Return Markdown without its code blocks."""
    return re.sub(r"^(`{3,})\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)


def test_models_of_different_names_are_compared_with_each_other(tmp_path: Path) -> None:
    finished(tmp_path, "r1", ["a"], lambda _, n: float(n % 10 < 9))
    finished(tmp_path, "r2", ["b"], lambda _, n: float(n % 10 < 3))
    finished(tmp_path, "r3", ["c"], lambda _, n: float(n % 10 < 8))
    found = compare_runs(["r1", "r2", "r3"], runs=tmp_path / "runs")
    assert [(p.model_b, p.model_a, round(p.difference or 0, 2)) for p in found.pairs] == [
        ("a", "b", -0.6),
        ("a", "c", -0.1),
        ("b", "c", 0.5),
    ]
    assert found.groups[0].groups == (("a",), ("c",), ("b",)) or found.groups[0].groups == (("a", "c"), ("b",))


def test_what_else_may_be_behind_a_difference_is_said(tmp_path: Path) -> None:
    finished(tmp_path, "r1", ["m", "alone"], rules="old", digest="d1")
    finished(tmp_path, "r2", ["m"], rules="new", digest="d2", temperature=0.7)
    found = compare_runs(["r1", "r2"], runs=tmp_path / "runs")
    said = " ".join(notes(found))
    assert "The code of m changed between the runs" in said
    assert "so not compared: alone" in said
    differing = dict(list_stated_differences(found.runs))
    assert differing["model m"] == ["digest d1", "digest d2"]
    assert differing["parameters of m"] == ["temperature 0", "temperature 0.7"]
    assert len(compare_runs(["r1", "r2"], runs=tmp_path / "runs", every=True).pairs) == 3


def test_the_examples_and_the_parameters_in_force_are_named() -> None:
    """A model's max_tokens is in force where no suite has its own; the seed of examples says which were drawn."""
    suite = {"items": {"data": "x.jsonl"}, "metrics": {"exact_match": {}}, "prompt": "{{ question }}"}
    shots = {"data": "shots.jsonl", "n": 3, "seed": 7, "as": "text"}
    suites = [
        {"name": "a", **suite, "max_tokens": 256, "examples": shots},
        {"name": "b", **suite, "max_tokens": 64},
    ]
    models = [{"name": "m", "provider": "openai", "max_tokens": 512, "temperature": 0.5}]
    tested = read_provenance({"configuration": {"models": models, "suites": suites}}).tested
    assert tested["examples of suite a"] == {"data": "shots.jsonl", "n": 3, "seed": 7, "as": "text"}
    assert "examples of suite b" not in tested
    assert tested["parameters of m"] == {"temperature": 0.5}
    assert tested["parameters of suite a"]["max_tokens"] == 256
    del suites[1]["max_tokens"]
    tested = read_provenance({"configuration": {"models": models, "suites": suites}}).tested
    assert tested["parameters of m"] == {"temperature": 0.5, "max_tokens": 512}


def test_it_speaks_the_language_of_the_last_runs_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    finished(tmp_path, "r1", ["m", "alone"], rules="old", digest="d1")
    finished(tmp_path, "r2", ["m"], lambda *_: 1.0, rules="new", digest="d2", temperature=0.7, language="ru")
    pages = {form: tmp_path / f"c.{form}" for form in ("html", "markdown")}
    files = [word for form, path in pages.items() for word in (f"--{form}", str(path))]
    assert main(["compare", "r1", "r2", "--set", f"store.runs={tmp_path / 'runs'}", *files]) == 0
    shown = {"terminal": capsys.readouterr().out, **{form: path.read_text("utf-8") for form, path in pages.items()}}
    russian, english = (phrases.list_phrases("compare", language) for language in ("ru", "en"))
    said = [name for name, text in english.items() if " " in text and "{" not in text]
    for form, text in shown.items():
        folded = " ".join(text.split())
        assert not [name for name in said if english[name] in folded], form
        assert russian["configurations"] in folded, form
        assert "неверно → верно" in folded, form
        assert folded.index("model m") < folded.index("digest d1") < folded.index("digest d2"), form
    assert main(["compare", "r1", "r2", "--set", f"store.runs={tmp_path / 'runs'}", "--language", "en"]) == 0
    assert capsys.readouterr().out.startswith("m @ r2 is better than m @ r1: Basic tasks: TOTAL +50.0 points (")
    assert main(["compare", "r1", "r2", "--set", f"store.runs={tmp_path / 'runs'}", "--language", "xx"]) == 2
    assert "no catalogue of phrases in language 'xx'; expected one of en, ru" in capsys.readouterr().err


def test_a_run_is_found_by_the_path_of_its_folder_and_its_tables_where_the_store_is_now(tmp_path: Path) -> None:
    folders = [str(finished(tmp_path, name)) for name in ("r1", "r2")]
    (tmp_path / "store").rename(tmp_path / "moved")
    with pytest.raises(Exception, match=r"Name its store with --set store\.root"):
        compare_runs(folders, runs=Path("nowhere"))
    assert compare_runs(folders, runs=Path("nowhere"), root=str(tmp_path / "moved")).pairs[0].n == 60


def _misses(tmp_path: Path) -> dict[str, tuple[list[str], str]]:
    finished(tmp_path, "r1")
    finished(tmp_path, "r2")
    finished(tmp_path, "other", seed=43)
    (tmp_path / "runs" / "stopped").mkdir()
    going = tmp_path / "runs" / "going"
    going.mkdir()
    begun = {"schema": 1, "started": "2026-01-01T00:00:00+00:00", "configuration": {}}
    manifests.write(going, {**begun, "run": "going", "status": "running"})
    hollow = tmp_path / "runs" / "hollow"
    hollow.mkdir()
    manifests.write(hollow, {**begun, "run": "hollow", "tables": {"items": []}})
    broken = tmp_path / "runs" / "broken"
    broken.mkdir()
    (broken / "manifest.json").write_text("{", encoding="utf-8")
    return {
        "one": (["r1"], "has one model; expected several, or a second run"),
        "twice": (["r1", "r1"], "named twice"),
        "unknown": (["r1", "r9"], "no such run"),
        "stopped": (["r1", "stopped"], "contains no finished run"),
        "running": (["r1", "going"], "contains no finished run"),
        "hollow": (["r1", "hollow"], "does not list the table"),
        "broken": (["r1", "broken"], "cannot be read"),
        "other questions": (["r1", "other"], "no question in common: items.seed of suite basic_control is 42 / 43"),
        "metric": (["r1", "r2", "--metric", "wit"], "no run has the metric 'wit'; expected one of correct"),
    }


def test_bad_input_is_one_message_and_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in _misses(tmp_path).values():
        assert main(["compare", *words, "--set", f"store.runs={tmp_path / 'runs'}"]) == 2
        said = capsys.readouterr().err
        assert said.startswith("error: ")
        assert message in said
        assert len(said.splitlines()) == 1


def test_equal_runs_say_that_nothing_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished(tmp_path, "r1")
    finished(tmp_path, "r2")
    assert main(["compare", "r1", "r2", "--set", f"store.runs={tmp_path / 'runs'}"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("No difference: "), "the answer comes first"
    assert "Nothing changed on any item." in said


def test_many_long_texts_are_cut_to_what_a_page_can_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished(tmp_path, "r1", right=lambda *_: 1.0)
    finished(tmp_path, "r2", right=lambda *_: 0.0)
    found = compare_runs(["r1", "r2"], runs=tmp_path / "runs")
    assert comparison.cut(found) == comparison.LONGEST
    monkeypatch.setattr(comparison, "ROOM", 1000)
    assert comparison.cut(found) == comparison.SHORTEST
    assert len(comparison.html(found)) < 200_000


def test_words_that_differ_are_marked_and_escaped() -> None:
    before, after = comparison.mark_differences("The <b>cat</b> sat.", "The <b>dog</b> sat.")
    assert before == "The <mark>&lt;b&gt;cat&lt;/b&gt; </mark>sat."
    assert after == "The <mark>&lt;b&gt;dog&lt;/b&gt; </mark>sat."


def test_a_megabyte_of_words_is_not_marked_word_by_word() -> None:
    before, after = comparison.mark_differences("a " * 500_000, "b " * 500_000)
    assert "<mark>" not in before + after
    assert len(before) == 1_000_000


def test_help_answers_at_once() -> None:
    command = [sys.executable, "-m", "basic_control", "compare", "--help"]
    done = subprocess.run(command, cwd=TOP, env=os.environ, capture_output=True, text=True, check=True)
    assert "--metric" in done.stdout
    assert json.dumps(done.stderr) == '""'


@pytest.mark.parametrize("damage", ["digest", "started"])
def test_a_damaged_manifest_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str) -> None:
    good, bad = (finished(tmp_path, name) for name in ("a", "b"))
    manifest = json.loads((bad / "manifest.json").read_text(encoding="utf-8"))
    if damage == "digest":
        manifest["tables"]["items"][0]["digest"] = 5
    else:
        manifest["started"] = 20260101
    (bad / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert main(["compare", "--set", f"store.runs={good.parent}", "a", "b"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert "Traceback" not in said
    assert "defect in the program" not in said
    assert [(run.name, bool(run.problem)) for run in list_runs(good.parent)] == [("a", False), ("b", True)]
