"""`--dry-run` says what would be asked, asks nothing, leaves nothing behind, and is right."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.reading import read
from basic_control.config.settings import Settings
from basic_control.data.batches import Cell
from basic_control.data.tables import ITEMS
from basic_control.flows.cli.estimate import list_totals, write_effect
from basic_control.metrics.stats.power import find_difference
from basic_control.tasks.estimate.costs import CallEstimate, CostEstimate, find_detectable_effect
from basic_control.tasks.estimate.rehearsal import stand_in
from basic_control.tasks.generate import items_of
from basic_control.tasks.models.requests import build_requests
from basic_control.tasks.query import ask, identify_model
from tests.conftest import Run
from tests.helpers.estimates import estimate
from tests.helpers.judges import CLAIMS, judged_by
from tests.helpers.judges import kind as asked_kind
from tests.helpers.runs import at
from tests.helpers.suites import shipped
from tests.servers.running import serve_openai
from tests.servers.script import Answer

BASIC = ["basic_control.families=[simple_logic,arithmetic]", "basic_control.n_items=4"]


def speak(body: dict[str, Any]) -> str:
    """Answer as a model, or as a judge with two claims, each supported."""
    if "response_format" not in body:
        return "ANSWER: 12 because Anna wrote it."
    if asked_kind(body) == "claims":
        return CLAIMS
    if asked_kind(body) == "rating":
        return '{"reason": "partly", "rating": 1}'
    return json.dumps({"verdicts": [{"id": i, "reason": "so", "verdict": "SUPPORTED"} for i in ("1", "2")]})


def by_name(found: CostEstimate) -> dict[tuple[str, str, str], CallEstimate]:
    return {(p.suite, p.role, p.metric): p for p in found.portions}


def sets(*assignments: str) -> list[str]:
    return [word for one in assignments for word in ("--set", one)]


def test_what_a_run_asks_was_forecast_and_is_remembered_afterwards(run: Run, tmp_path: Path) -> None:
    with serve_openai(speak) as server:
        words = [at(server, price_in=1.0, price_out=2.0, system="Be short."), judged_by(server), *BASIC]
        words += ["suites=[basic_control,rag]", "report.html=false"]
        before = run(*sets(*words), "--dry-run")
        assert before.returncode == 0, before.stderr
        assert not server.requests
        assert not (tmp_path / "store" / "tables").exists()
        assert not (tmp_path / "runs").exists()
        supposed = estimate(read(None, [*words, f"store.root={tmp_path}/store"]))
        done = run(*sets(*words))
        calls = Counter("judge" if "response_format" in r.body else "model" for r in server.requests)
        known = estimate(read(None, [*words, f"store.root={tmp_path}/store"]))
        assert sum(calls.values()) == len(server.requests), "the second estimate asked nothing"
    assert done.returncode == 0, done.stderr
    assert "0 from the cache" in before.stdout
    assert "no price is configured for" in before.stdout
    assert "Cost of this run: 0.0" in done.stdout
    assert "No price, so not in the total: " in done.stdout
    n = calls["model"] + calls["judge"]
    assert next(list_totals(known)) == f"{n} calls: {n} from the cache, 0 to ask."
    first, second = by_name(supposed), by_name(known)
    assert first["basic_control", "model", ""].calls == 8
    assert first["basic_control", "model", ""].calls + first["rag", "model", ""].calls == calls["model"]
    judge_calls = sum(p.calls for p in supposed.portions if p.role == "judge")
    assert judge_calls == pytest.approx(calls["judge"], rel=0.25)
    assert all(not p.exact for p in supposed.portions if p.role == "judge")
    assert all(p.exact and p.cached == p.calls and p.cost in {0, None} for p in second.values())
    assert known.seconds == 0
    assert supposed.seconds is None


def test_a_part_that_is_remembered_tells_tokens_time_and_cost_of_the_rest(tmp_path: Path) -> None:
    with serve_openai("ANSWER: 12", latency_s=0.05) as server:
        words = [at(server, price_in=1.0, price_out=2.0, max_concurrency=2), *BASIC, "suites=[basic_control]"]
        settings = read(None, [*words, f"store.root={tmp_path}/store"])
        model = settings.models[0]
        requests = build_requests(ITEMS.frame(items_of(settings.suites[0])), model, identify_model(model), 1)
        began = time.monotonic()
        ask(requests, model, settings.store, Cell("some"))
        longest = time.monotonic() - began  # that any of its calls took
        n = len(server.requests)
        found = estimate(read(None, [*words, "basic_control.n_items=12", f"store.root={tmp_path}/store"]))
        assert len(server.requests) == n
    (portion,) = found.portions
    assert (portion.calls, portion.cached, portion.calls_due) == (24, 8, 16)
    assert portion.tokens_basis == "8 cached replies here"
    written = portion.tokens_out / 16
    assert written == int(written), "every reply of the server has as many tokens"
    assert portion.cost == pytest.approx((portion.tokens_in * 1.0 + portion.tokens_out * 2.0) / 1e6, rel=0.01)
    assert portion.cost_in_batches == pytest.approx((portion.cost or 0.0) / 2)
    assert "in batches (batch: submit)" in list(list_totals(found))[1]
    assert portion.seconds is not None
    assert 16 * 0.05 / 2 <= portion.seconds < 16 * longest / 2


def test_a_server_that_cannot_be_reached_counts_everything_and_says_so(tmp_path: Path) -> None:
    model = {"name": "m", "provider": "ollama", "base_url": "http://127.0.0.1:9", "requests_per_minute": 6}
    settings = read(None, [f"models=[{json.dumps(model)}]", *BASIC, "suites=[basic_control]", "repeats=3",
                           f"store.root={tmp_path}/store"])  # fmt: skip
    found = estimate(settings)
    assert [(p.calls, p.cached) for p in found.portions] == [(24, 0)]
    assert any("cannot be looked up for model m" in note and "127.0.0.1:9" in note for note in found.notes)
    assert any("model m cannot be asked" in problem and "127.0.0.1:9" in problem for problem in found.problems)
    assert not (tmp_path / "store").exists()


def test_a_limit_under_its_servers_name_bounds_the_estimate(tmp_path: Path) -> None:
    at_none = {"name": "m", "provider": "openai", "base_url": "http://127.0.0.1:9/v1"}
    model = json.dumps({**at_none, "extra": {"max_completion_tokens": 16_000}})
    words = [f"models=[{model}]", *BASIC, "suites=[basic_control]", f"store.root={tmp_path}/store"]
    (portion,) = estimate(read(None, words)).portions
    assert (portion.calls, portion.tokens_out) == (8, 8 * 16_000)


def told_apart(body: dict[str, Any]) -> str | Answer:
    """Answer four of five questions in a text of its own, a token a letter; judge as `speak` does."""
    if "response_format" in body:
        return speak(body)
    question = str(body["messages"][-1]["content"])
    number = int(question.rpartition("wrote book ")[2].partition("?")[0])
    text = "" if number % 5 == 0 else f"It was written by Anna in the year {number}."
    return Answer(text, tokens_in=len(question) // 3, tokens_out=len(text))


def test_what_a_run_would_end_by_is_an_error_and_tables_fit_eighty_columns(run: Run) -> None:
    with serve_openai("ANSWER: 12") as server:
        price = {"price_in": 150.0, "price_out": 600.0}
        words = ["suites=[basic_control,cot,citation]", "basic_control.n_items=10000", "cot.n_samples=30"]
        words += ["basic_control.families=[arithmetic, simple_logic]"]
        words += [at(server, **price), judged_by(server, **price)]
        good = run(*sets(*words), "--dry-run", extra={"COLUMNS": "80"})
        assert good.returncode == 0, good.stderr
        table = good.stdout[good.stdout.index("asked") : good.stdout.index("calls:")]
        assert "…" not in table
        assert max(map(len, table.splitlines())) <= 80
        assert "basic_control:" in table
        for changes, said in (
            (["judges=[]"], "found no judge"),
            ([at(server, api_key_env="NO_SUCH_KEY")], "NO_SUCH_KEY"),
            (["cot.data=nowhere.jsonl"], "nowhere.jsonl"),
        ):
            bad = run(*sets(*words, "basic_control.n_items=4", *changes), "--dry-run")
            assert bad.returncode == 2, (changes, bad.stdout)
            assert said in bad.stderr
            assert "Traceback" not in bad.stderr
    assert not server.requests


@pytest.mark.parametrize(("mode", "each"), [("f1", 4), ("precision", 2), ("recall", 2)])
def test_judges_calls_follow_from_the_metrics_steps(tmp_path: Path, mode: str, each: int) -> None:
    rows = [
        {
            "question": f"Who {n}?",
            "response": f"Anna {n}.",
            "reference": f"Anna {n}!",
            "retrieved_contexts": ["Bo."],
        }
        for n in range(3)
    ]
    data = tmp_path / "answers.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judge = {"name": "j", "provider": "ollama", "base_url": "http://127.0.0.1:9"}
    words = [f"judges=[{json.dumps(judge)}]", "suites=[rag]", f"rag.data={data}", f"store.root={tmp_path}/store"]
    found = estimate(read(None, [*words, f"rag.factual_correctness.mode={mode}"]))
    calls = {p.metric: p.calls for p in found.portions}
    assert calls == {"factual_correctness": 3 * each, "response_groundedness": 3}


def test_cited_answers_are_rehearsed_with_citations(tmp_path: Path) -> None:
    judge = {"name": "j", "provider": "ollama", "base_url": "http://127.0.0.1:9"}
    words = [f"models=[{json.dumps(judge)}]", f"judges=[{json.dumps(judge)}]", "suites=[citation]"]
    for mode in ("passages", "closed_book"):
        found = estimate(read(None, [*words, f"citation.mode={mode}", f"store.root={tmp_path}/store"]))
        model, judged = found.portions
        assert model.calls == 4
        assert 4 + 4 <= judged.calls <= 4 + 3 * 4, "correctness, and support of one to three citations"


def test_a_stand_in_fits_its_schema() -> None:
    import jsonschema

    schema = {
        "type": "object",
        "properties": {
            "ids": {"type": "array", "minItems": 4, "maxItems": 4, "items": {"enum": ["1", "2", "3", "4"]}},
            "claims": {"type": "array", "items": {"type": "string"}},
            "rating": {"type": "integer", "minimum": 1},
            "sure": {"type": "boolean"},
        },
        "required": ["ids", "claims", "rating", "sure"],
    }
    value = stand_in(schema)
    jsonschema.validate(value, schema)
    assert value["ids"] == ["1", "2", "3", "4"]


def test_the_effect_is_of_the_suites_own_kind_of_values() -> None:
    assert find_detectable_effect(shipped("basic_control"), 100).between == find_difference(100)
    assert find_detectable_effect(shipped("cot"), 100).between == pytest.approx(
        (1.959964 + 0.841621) * 0.5**0.5 / 10, abs=1e-6
    )
    assert find_detectable_effect(shipped("cot"), 0).between is None


def test_too_few_items_are_said_to_show_nothing() -> None:
    one, thirty = (write_effect(find_detectable_effect(shipped("cot"), n)) for n in (1, 30))
    few = write_effect(find_detectable_effect(shipped("basic_control"), 4))
    assert "not enough questions (1) to tell two models apart" in one
    assert "4 questions are too few to tell two models apart, but show a difference of" in few
    assert "30 questions are enough to see a difference of 36.2% or more between two models" in thirty


def test_an_estimate_of_what_could_only_fail_is_an_error(run: Run, tmp_path: Path) -> None:
    """Without a Prefect server: a dead server, and a column, file, judge and key that are not there."""
    rows, other = tmp_path / "rows.jsonl", tmp_path / "other.jsonl"
    for path in (rows, other):
        path.write_text(json.dumps({"question": "2 + 2?", "answer": "4"}) + "\n", encoding="utf-8")

    def own(data: Path = rows, **changes: object) -> str:
        suite = {"name": "own", "prompt": "{{ question }}", "metrics": ["exact_match"], **changes}
        columns = {"columns": {"answer": "expected"}} if data == other else {}
        return f"suites={json.dumps([{**suite, 'items': {'data': str(data), **columns}}])}"

    with serve_openai("4") as server:
        dead = at(server, base_url="http://127.0.0.1:9/v1")
        for words, said in (
            ([dead, own()], "http://127.0.0.1:9"),
            ([at(server), own(other)], "column 'expected', named in `columns`"),
            ([at(server), own(tmp_path / "nowhere.jsonl")], "nowhere.jsonl"),
            ([at(server), "judges=[]", own(metrics={"rubric": {"criteria": "good"}})], "judge"),
            ([at(server, api_key_env="NO_SUCH_KEY"), own()], "NO_SUCH_KEY"),
        ):
            done = run("--dry-run", *sets(*words))
            assert done.returncode == 2, (words, done.stdout)
            assert said in done.stderr
            assert "Traceback" not in done.stderr
    assert not server.requests
    assert not (tmp_path / "store").exists()


def test_given_responses_are_said_and_the_short_exam_counts_once(tmp_path: Path) -> None:
    """Two suites are judged by one step: its exam is taken for both, 10 questions of each of 5 ratings."""
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(f'{{"question": "q{n}", "response": "r{n}"}}\n' for n in range(3)), encoding="utf-8")
    own = {"items": {"data": str(data)}, "metrics": {"rubric": {"criteria": "good"}}, "score": ["rubric"]}
    judge = {"name": "j", "provider": "openai", "base_url": "http://127.0.0.1:9/v1", "exam": 10}
    store = {"root": str(tmp_path / "store"), "runs": str(tmp_path / "runs")}
    settings = {"judges": [judge], "suites": [{"name": name, **own} for name in ("a", "b")], "store": store}
    found = estimate(Settings(**settings))
    assert {key: part.calls for key, part in by_name(found).items()} == {
        ("a", "judge", "rubric"): 3,
        ("a", "judge", "exam"): 50,
        ("b", "judge", "rubric"): 3,
    }
    assert next(list_totals(found)) == "About 56 calls: 0 from the cache, 56 to ask."
    assert "a: its responses are given, so no model is asked." in found.notes
    assert not (tmp_path / "store").exists()


def test_the_tokens_of_examples_and_tools_are_counted(tmp_path: Path) -> None:
    rows = "".join(json.dumps({"question": f"{n} + {n}?", "answer": str(2 * n)}) + "\n" for n in range(8))
    (tmp_path / "rows.jsonl").write_text(rows, encoding="utf-8")
    (tmp_path / "pool.jsonl").write_text(rows.replace("?", " apples, how many are there in all?"), encoding="utf-8")
    tool = {"name": "add", "description": "Adds. " * 100, "parameters": {"type": "object", "properties": {}}}

    def count_tokens(**suite: Any) -> int:
        declared = {"name": "sums", "items": {"data": str(tmp_path / "rows.jsonl")}, "metrics": {"contains": {}}}
        declared |= {"prompt": "{{ question }}", **suite}
        models = [{"name": "m", "provider": "ollama"}]
        store = {"root": str(tmp_path / "store")}
        (portion,) = estimate(
            Settings.model_validate({"models": models, "suites": [declared], "store": store})
        ).portions
        return portion.tokens_in

    alone = count_tokens()
    with_tools = count_tokens(tools=[tool])
    with_examples = count_tokens(examples={"data": str(tmp_path / "pool.jsonl"), "n": 4})
    # 600 characters of a tool, at four a token, in each of eight questions; four examples of some 40 in each.
    assert with_tools - alone > 8 * 600 / 4
    assert 8 * 4 * 35 / 4 < with_examples - alone < 8 * 4 * 50 / 4
