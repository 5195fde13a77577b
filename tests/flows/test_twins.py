"""Twins in a run: asked beside their originals, counted before, remembered after, and in no score of the suite."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.config.declared import resolve_suites as declared
from basic_control.config.settings import Settings
from basic_control.data import plugins
from basic_control.data.errors import InputError
from basic_control.data.suites import TwinKind, Twins
from basic_control.data.tables import ITEMS
from basic_control.flows.cli.application import main
from basic_control.tasks.generate import items_of
from basic_control.tasks.plan import resolve
from basic_control.tasks.stage import hash_inputs
from basic_control.tasks.twins.renew import TWIN, TwinsWanted, plan_twins, twins_of
from tests.conftest import Run
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai

N = 30


def reply(known: Mapping[str, str], body: Mapping[str, Any]) -> str:
    """Answer from memory what is remembered word for word, and 7 else."""
    asked = re.findall(r"Problem: (.*?)\nSolution:", str(body["messages"][-1]["content"]), re.DOTALL)[-1]
    return known.get(asked.strip(), "3+4=<<3+4=7>>7\n#### 7")


def test_a_run_with_twins(run: Run, tmp_path: Path, shared: Path) -> None:
    path = shared / "gsm8k_test.parquet"
    known = {question.strip(): answer for question, answer in pl.read_parquet(path).iter_rows()}
    with serve_openai(lambda body: reply(known, body)) as server:
        given = (
            "--set", f"cot.data={path}", "--set", "cot.sample_method=first", "--set", f"cot.n_samples={N}",
            "--set", at(server), "--set", "suites=[cot]", "--set", "cot.twins=[numbers, names]",
        )  # fmt: skip
        told = run(*given, "--dry-run")
        assert not server.requests
        first = run(*given)
        calls = len(server.requests)
        before = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
        again = run(*given, "--set", "gate=point")
        assert len(server.requests) == calls, "all of it is remembered"
    assert (first.returncode, again.returncode) == (0, 0), (first.stderr, again.stderr)
    assert main(["gate", str(latest(tmp_path)), "--threshold", "0.5"]) == 0, "decided as the run is"
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    made = {one["kind"]: one["n"] for one in document["twin_counts"] if not one["reason"]}
    assert {kind: sum(one["n"] for one in document["twin_counts"] if one["kind"] == kind) for kind in made} == {
        "numbers": N,
        "names": N,
    }
    assert made["names"] > made["numbers"] > 0
    assert calls == N + sum(made.values())
    assert f"{calls} calls: 0 from the cache" in told.stdout
    assert f"names: {made['names']}, numbers: {made['numbers']}" in " ".join(told.stdout.split())
    (cot,) = (suite for model in document["final"]["models"] for suite in model["suites"])
    assert (cot["n_asked"], cot["n_scored"]) == (N, N), "the headline is the originals'"
    (found,), ((first_cot,),) = document["twins"], (one["suites"] for one in before["final"]["models"])
    assert (first_cot["outcome"], cot["outcome"], cot["score"]) == ("pass", "pass", first_cot["score"])
    assert (found["robust"], found["n_robust"] > 0) == (0.0, True), "twins inform, and decide nothing"
    names, numbers = sorted(found["differences"], key=lambda one: str(one["kind"]))
    assert (names["kind"], names["against"], names["n"], names["mean_against"]) == (
        "names", "original", made["names"], 1.0,
    )  # fmt: skip
    assert names["outcome"] == "falls"
    assert (numbers["against"], numbers["outcome"]) == ("names", "unknown")
    assert "falls on renaming by" in first.stdout
    (page,) = (latest(tmp_path) / "reports").glob("*.html")
    (written,) = (latest(tmp_path) / "reports").glob("*.md")
    for shown in (page.read_text(encoding="utf-8"), written.read_text(encoding="utf-8")):
        assert "Renewed twins" in shown
        assert "falls on renaming by" in shown


def settings(tmp_path: Path, **suite: Any) -> Settings:
    rows = [{"question": f"Alice has {n} pens and Bob has 4. How many?", "answer": str(n + 4)} for n in range(5)]
    data, more = tmp_path / "rows.jsonl", suite.pop("more", {})
    data.write_text("".join(json.dumps({**row, **more}) + "\n" for row in rows), encoding="utf-8")
    own = {"name": "own", "items": {"data": str(data)}, "prompt": "{{ question }}", "metrics": ["number"], **suite}
    return Settings.model_validate(
        {
            "models": [{"name": "m", "provider": "python", "function": "app.py:answer"}],
            "suites": [own],
            "store": {"root": str(tmp_path / "store"), "runs": str(tmp_path / "runs")},
        }
    )


def test_twins_do_not_go_with_stopping_nor_with_given_responses(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="both twins and stop"):
        settings(tmp_path, twins=["names"], threshold=0.5, stop={"first": 2, "most": 5})
    given = settings(tmp_path, twins=["names"], more={"response": "7"})
    with pytest.raises(InputError, match="expected a model to ask the twins"):
        resolve(given)


def test_more_twins_of_a_kind_are_more_pairs_of_the_same_original(tmp_path: Path) -> None:
    suite = settings(tmp_path).suites[0]
    originals = ITEMS.frame(items_of(suite))
    twins = Twins(kinds=("names", "format"), k=3)
    wanted = TwinsWanted(suite.name, twins, tuple(suite.prompts_by_name.values()))
    made = [*twins_of(originals, wanted, Counter())]
    assert len({one["item_id"] for one in made}) == len(made)
    assert {one["item_id"] for one in made}.isdisjoint(originals["item_id"])
    of = Counter((json.loads(one["facts"])[TWIN]["item"], json.loads(one["facts"])[TWIN]["kind"]) for one in made)
    assert {item for item, _ in of} == {*originals["item_id"]}
    assert all(n <= 3 for n in of.values())
    assert {n for (_, kind), n in of.items() if kind == "names"} == {3}


def test_the_same_problems_in_another_language_are_pairs_with_equal_answers(shared: Path) -> None:
    values = {
        "models": [{"name": "m", "provider": "python", "function": "app.py:answer"}],
        "suites": ["cot"],
        "cot": {"data": str(shared / "mgsm_en.parquet"), "n_samples": 20, "twins": ["language"]},
    }
    (suite,) = Settings.model_validate(declared(values).raw).suites
    wanted = plan_twins(suite)
    assert wanted is not None
    originals, counts = ITEMS.frame(items_of(suite)), Counter[tuple[TwinKind, str]]()
    made = ITEMS.frame(twins_of(originals, wanted, counts))
    assert counts == {("language", ""): 20}
    assert {*made["language"]} == {"ru"}
    russian = dict(pl.read_parquet(shared / "mgsm_ru.parquet").select("question", "answer_number").iter_rows())
    asked = [json.loads(facts)["question"] for facts in made["facts"]]
    assert [russian[question] for question in asked] == [float(one.replace(",", "")) for one in originals["answer"]]
    assert all("Задача" in prompt for prompt in made["prompt"])


def test_own_rows_with_plain_equations_are_renewed(tmp_path: Path) -> None:
    reference = {"reference": "There are 4 pens + 12 pens = 16 pens.", "answer": "16"}
    asked = "Alice has 12 pens and Bob has 4 pens. How many pens are there?"
    suite = settings(tmp_path, twins=["numbers"], more={**reference, "question": asked}).suites[0]
    wanted = plan_twins(suite)
    assert wanted is not None
    made = [*twins_of(ITEMS.frame(items_of(suite)), wanted, Counter())]
    assert made
    for one in made:
        facts = json.loads(one["facts"])
        mine, yours = map(int, re.findall("[0-9]+", facts["question"]))
        assert one["answer"] == facts["answer"] == str(mine + yours) != "16", "metrics read the row's column"
        assert facts["reference"] == f"There are {yours} pens + {mine} pens = {one['answer']} pens."


def test_own_rows_pair_by_their_places_where_the_answers_are_equal(tmp_path: Path) -> None:
    english = [{"question": f"What is {n} plus 4?", "answer": str(n + 4)} for n in range(6)]
    russian = [{"question": f"Сколько будет {n} плюс 4?", "answer": str(n + 4)} for n in range(5)]
    russian[3]["answer"] = "99"
    for name, rows in (("sums_en", english), ("sums_ru", russian)):
        written = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(written, encoding="utf-8")
    items = {"data": str(tmp_path / "sums_en.jsonl"), "sample": {"method": "random", "n": 6, "seed": 1}}
    suite = settings(tmp_path, twins=["language"], items=items).suites[0]
    wanted, counts = plan_twins(suite), Counter[tuple[TwinKind, str]]()
    assert wanted is not None
    made = [*twins_of(ITEMS.frame(items_of(suite)), wanted, counts)]
    assert counts == {
        ("language", ""): 4,
        ("language", "another answer in the other language"): 1,
        ("language", "not there in another language"): 1,
    }
    told = {(one["prompt"], one["answer"], one["language"]) for one in made}
    assert told == {(f"Сколько будет {n} плюс 4?", str(n + 4), "ru") for n in (0, 1, 2, 4)}


def test_a_family_writes_its_twins_prompts_itself(tmp_path: Path) -> None:
    values = settings(tmp_path).model_dump() | {
        "suites": ["basic_control"],
        "basic_control": {
            "families": ["arithmetic", "data_extraction"],
            "n_items": 3,
            "twins": ["language", "names"],
        },
    }
    (suite,) = Settings.model_validate(declared(values).raw).suites
    wanted = plan_twins(suite)
    assert wanted is not None
    originals, counts = ITEMS.frame(items_of(suite)), Counter[tuple[TwinKind, str]]()
    made = ITEMS.frame(twins_of(originals, wanted, counts))
    assert counts["language", ""] == originals.height == made.height
    assert {*made["family"]} == {"arithmetic", "data_extraction"}
    assert {*made["language"]} == {"ru"}
    assert made["prompt"].str.contains("[а-я]").all()
    assert {*made["answer"]} <= {*originals["answer"]}


def test_an_edited_template_of_the_other_language_makes_twins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for language in ("en", "ru"):
        (tmp_path / "own" / language / "sums").mkdir(parents=True)
        (tmp_path / "own" / language / "sums" / "ask.j2").write_text("{{ question }}", encoding="utf-8")
        row = json.dumps({"question": f"{language}: 2 + 2?", "answer": "4"})
        (tmp_path / f"sums_{language}.jsonl").write_text(row + "\n", encoding="utf-8")
    monkeypatch.setenv(plugins.VARIABLE, str(tmp_path / "own"))
    items = {"data": str(tmp_path / "sums_en.jsonl")}
    suite = settings(tmp_path, twins=["language"], items=items, prompt="sums/ask").suites[0]
    before = hash_inputs("renew", {"wanted": plan_twins(suite)})
    (tmp_path / "own" / "ru" / "sums" / "ask.j2").write_text("Новое: {{ question }}", encoding="utf-8")
    assert hash_inputs("renew", {"wanted": plan_twins(suite)}) != before
