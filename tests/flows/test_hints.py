"""What people type and mean otherwise gets a hint, before anything is asked."""

import json
from pathlib import Path

import pytest

from basic_control.flows.cli.hints import check_name, correct_suggestion, explain_word
from tests.conftest import Run
from tests.helpers.runs import latest

PROVIDERS = {"openai", "azure", "anthropic", "ollama", "http"}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-4o-mini", "openai/gpt-4o-mini"),
        ("gpt-5", "openai/gpt-5"),
        ("o3-mini", "openai/o3-mini"),
        ("chatgpt-4o-latest", "openai/chatgpt-4o-latest"),
        ("opnai/gpt-4o", "openai/gpt-4o"),
        ("openia/gpt-4o", "openai/gpt-4o"),
        ("openai:gpt-4o", "openai/gpt-4o"),
        ("antropic/claude-sonnet-4", "anthropic/claude-sonnet-4"),
        ("claude-sonnet-4", "anthropic/claude-sonnet-4"),
    ],
)
def test_a_model_without_its_provider_is_told_with_it(run: Run, name: str, meant: str) -> None:
    done = run("--model", name, extra={"OPENAI_API_KEY": ""})
    assert done.returncode == 2
    assert f"Did you mean --model {meant}?" in done.stderr


@pytest.mark.parametrize(
    "name",
    ["llama3.1:8b", "gpt-oss:20b", "phi3", "hf.co/bartowski/x", "acme/tiny:1b", "openchat:7b", "qwen2.5:0.5b"],
)
def test_names_of_ollama_stay(name: str) -> None:
    check_name("--model", name, PROVIDERS)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("tickets.csv", "these are rows, not a configuration"),
        ("rows.jsonl.gz", "these are rows, not a configuration"),
        ("task.py", "this is Python, not a configuration"),
    ],
)
def test_a_file_of_another_kind_is_told_with_what_to_do(run: Run, word: str, says: str) -> None:
    done = run(word, command="run")
    assert (done.returncode, f"{word}: {says}" in done.stderr) == (2, True), done.stderr


def test_the_name_of_a_suite_is_no_file() -> None:
    assert explain_word("v3.1") == explain_word("basic_control") == ""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("--threshold", "0.5"),
            "Unknown option: --threshold. It is a key of the configuration: --set threshold=…",
        ),
        (("--batch-size=5",), "It is a key of the configuration: --set batch_size=…"),
        (("--limt", "4"), "Unknown option: --limt. Did you mean --limit?"),
        (("--treshold", "1"), "Did you mean --set threshold=…?"),
        (("--banana",), "Unknown option: --banana. See"),
    ],
)
def test_an_unknown_option_is_told_with_what_is_near(run: Run, words: tuple[str, ...], says: str) -> None:
    done = run(*words, command="run")
    assert done.returncode == 2
    assert says in done.stderr
    assert "--fresh" not in done.stderr


def test_other_messages_stay() -> None:
    assert correct_suggestion("Missing argument: RUN.") == "Missing argument: RUN."


def test_short_options_name_the_configuration_and_the_results(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "a?", "answer": "4", "response": 4}\n')
    suite = {"name": "s", "items": {"data": str(tmp_path / "rows.jsonl")}, "metrics": {"exact_match": {}}}
    (tmp_path / "run.yaml").write_text(json.dumps({"suites": [suite]}))
    done = run("-c", str(tmp_path / "run.yaml"), "-o", str(tmp_path / "out.json"))
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "out.json").read_text())
    assert written == json.loads((latest(tmp_path) / "results.json").read_text())
    assert written["final"]["models"][0]["suites"][0]["score"] == 1.0


def test_a_null_response_is_a_failed_call(run: Run, tmp_path: Path) -> None:
    rows = [{"question": f"q{n}?", "answer": "4", "response": 4 if n else None} for n in range(20)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    suite = {"name": "s", "items": {"data": str(tmp_path / "rows.jsonl")}, "metrics": {"exact_match": {}}}
    (tmp_path / "run.yaml").write_text(json.dumps({"suites": [suite]}))
    assert run(str(tmp_path / "run.yaml"), "--dry-run", command="run").returncode == 0
    run(str(tmp_path / "run.yaml"), command="run")
    (model,) = json.loads((latest(tmp_path) / "results.json").read_text())["final"]["models"]
    suite_entry = model["suites"][0]
    assert (suite_entry["score"], suite_entry["n_failed"], suite_entry["n_scored"]) == (1.0, 1, 19)


def test_an_entry_that_only_its_maker_serves_is_told_with_the_provider(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "a?", "answer": "4"}\n')
    items = {"data": str(tmp_path / "rows.jsonl")}
    suite = {"name": "s", "items": items, "prompt": "{{ question }}", "metrics": {"exact_match": {}}}
    entry = {"name": "gpt-4o-mini", "base_url": "http://127.0.0.1:9"}
    (tmp_path / "run.yaml").write_text(json.dumps({"models": [entry], "suites": [suite]}))
    done = run(str(tmp_path / "run.yaml"), command="run")
    assert (done.returncode, "set `provider: openai`" in done.stderr) == (2, True), done.stderr
