"""How a run is begun without a file: models by name, so many questions, a path, and what `init` writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.settings import Model
from basic_control.data.errors import InputError
from basic_control.flows.cli.application import main
from basic_control.flows.cli.named_models import build_entries, list_chosen
from basic_control.flows.cli.options import RunOptions, parse_words, read_settings
from tests.conftest import Run
from tests.helpers.runs import at, latest
from tests.servers.running import serve_ollama, serve_openai


@pytest.mark.parametrize(
    ("spec", "name", "provider"),
    [
        ("ollama/llama3.1:8b", "llama3.1:8b", "ollama"),
        ("openai/gpt-4o-mini", "gpt-4o-mini", "openai"),
        ("janhq/Jan-v1-4B-GGUF", "janhq/Jan-v1-4B-GGUF", "ollama"),
        ("openai/org/model", "org/model", "openai"),
        ("phi3", "phi3", "ollama"),
    ],
)
def test_what_stands_before_a_slash_counts_where_it_is_a_provider(spec: str, name: str, provider: str) -> None:
    assert build_entries("models", [spec]) == [{"name": name, "provider": provider}]


def test_a_provider_alone_is_the_entry_that_ships_if_one_does() -> None:
    (model,), (judge,) = build_entries("models", ["embedded"]), build_entries("judges", ["rules"])
    assert (model["name"], model["provider"]) == ("smollm2-135m", "embedded")
    assert (judge["name"], judge["provider"], judge["exam"]) == ("rules", "rules", 10)
    with pytest.raises(InputError, match="--judge openai: found a provider alone, expected --judge openai/NAME"):
        build_entries("judges", ["openai"])


def test_one_name_at_two_providers_keeps_them_apart() -> None:
    both = build_entries("models", ["ollama/phi3", "openai/phi3"])
    assert [one["name"] for one in both] == ["ollama/phi3", "openai/phi3"]
    assert {one["model"] for one in both} == {"phi3"}


def test_models_and_judges_that_are_named_replace_those_of_the_configuration() -> None:
    given = RunOptions(model=("openai/a", "b"), judge=("openai/j",), sets=("models.1.temperature=0.5",))
    settings, _ = read_settings("cot", given)
    assert [(one.name, one.provider, one.temperature) for one in settings.models] == [
        ("a", "openai", 0.0), ("b", "ollama", 0.5),
    ]  # fmt: skip
    assert [one.name for one in settings.judges] == ["j"]
    assert settings.suite_names == ("cot",)


def test_a_limit_bounds_the_questions_of_every_suite(tmp_path: Path) -> None:
    """Rows: so many of them; generated items: as many of each family, level and language as go into it."""
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps({"question": n}) + "\n" for n in range(40)), "utf-8")
    own = {"name": "own", "items": {"data": str(tmp_path / "rows.jsonl")}, "prompt": "{{ question }}"}
    suites = json.dumps(["basic_control", "cot", {**own, "metrics": {"exact_match": {}}}])
    sets = (f"suites={suites}", "basic_control.families=[simple_logic, arithmetic]", "basic_control.n_items=10")
    settings, _ = read_settings("", RunOptions(sets=(*sets, "basic_control.levels=[easy, hard]"), limit=13))
    generated, cot, rows = (suite.items for suite in settings.suites)
    assert generated["n_items"] == 3, "3 x 2 families x 2 levels are 12"
    assert (cot["sample"]["n"], cot["sample"]["method"]) == (13, "random")
    assert (rows["sample"]["n"], rows["sample"]["method"]) == (13, "random"), "of all rows so many at random"
    larger, _ = read_settings("basic_control", RunOptions(sets=sets[1:], limit=1000))
    assert larger.suites[0].items["n_items"] == 10, "a limit adds none"


@pytest.mark.parametrize("name", ["max_tokens", "extra.max_completion_tokens", "extra.num_predict"])
def test_a_larger_limit_may_stand_under_its_servers_name(name: str) -> None:
    given = RunOptions(run="19990101_000000", only_truncated=True, sets=(f"models.0.{name}=4096",))
    with pytest.raises(InputError, match="no such run"):
        read_settings("", given)


@pytest.mark.parametrize(("limit", "most"), [(13, (13, 13)), (2, (2, 2)), (1, (2, 1)), (5000, (1000, 1000))])
def test_a_limit_bounds_suites_that_ask_until_decided_too(limit: int, most: tuple[int, int]) -> None:
    """Of generated items at least one for each of two families."""
    sets = ("suites=[basic_control, cot]", "basic_control.families=[simple_logic, arithmetic]")
    settings, _ = read_settings("", RunOptions(sets=sets, limit=limit, until_decided=True))
    stops = [suite.stop for suite in settings.suites]
    assert [(one.first, one.most) for one in stops if one] == [(min(30, n), n) for n in most]


def test_a_path_is_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "eval.yaml"
    path.write_text("models: [{name: mine}]\nsuites: [cot]\n", encoding="utf-8")
    settings, _ = read_settings(*parse_words([str(path)], RunOptions(name="first", note="a note")))
    assert (settings.models[0].name, settings.suite_names, settings.title) == ("mine", ("cot",), "first")
    assert settings.report.note == "a note"
    assert parse_words(["cot", str(path)], RunOptions()) == ("cot", RunOptions(config=str(path)))
    with pytest.raises(InputError, match="found two configurations, expected one"):
        parse_words([str(path)], RunOptions(config=str(path)))
    with pytest.raises(InputError, match="cot and rag: found two suites, expected one"):
        parse_words(["cot", "rag"], RunOptions())


def test_init_writes_an_evaluation_says_what_it_asks_and_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    said = capsys.readouterr().out
    assert "10 calls: 0 from the cache, 10 to ask." in said
    assert said.splitlines()[-1].endswith("run eval.yaml")
    assert main(["init", "my evals"]) == 0
    assert "10 to ask" in capsys.readouterr().out
    (tmp_path / "eval.yaml").write_text("mine", encoding="utf-8")
    assert main(["init"]) == 2
    assert "eval.yaml: already exists" in capsys.readouterr().err
    assert (tmp_path / "eval.yaml").read_text(encoding="utf-8") == "mine"


def test_what_init_wrote_runs_under_a_name_that_lists_show(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "own")]) == 0
    with serve_openai("Paris") as server:
        words = ["--limit", "4", "--name", "capitals", "--note", "first try"]
        done = run(str(tmp_path / "own" / "eval.yaml"), "--set", at(server, name="m"), *words)
        assert len(server.requests) == 4, done.stderr
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("capitals: Fail: m fails: questions ")
    results: dict[str, Any] = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    assert results["run"]["configuration"]["report"]["name"] == "capitals"
    capsys.readouterr()
    assert main(["runs", "list", "--set", f"store.runs={latest(tmp_path).parent}"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert f"{latest(tmp_path).name}  capitals  " in line
    assert line.endswith("first try")


def test_given_responses_are_sampled_where_a_set_says_so() -> None:
    sets = ("rag.sample_method=first", "rag.n_samples=2", "rag.language=ru")
    settings, _ = read_settings("rag", RunOptions(data="answers.jsonl", sets=sets))
    items = settings.suites[0].items
    assert (items["sample"]["method"], items["sample"]["n"], items["language"]) == ("first", 2, "ru")


def test_a_name_may_have_any_character() -> None:
    settings, _ = read_settings("cot", RunOptions(name="🚀 first", note="𝔸"))
    assert (settings.title, settings.report.note) == ("🚀 first", "𝔸")


def test_a_model_without_a_provider_is_of_the_server_that_is_there(run: Run, tmp_path: Path) -> None:
    """No Ollama answers, and the environment names a server of OpenAI's API, which is asked."""
    (tmp_path / "rows.jsonl").write_text('{"question": "Q", "answer": "A"}', encoding="utf-8")
    suite = {"name": "own", "items": {"data": "rows.jsonl"}, "prompt": "{{ question }}", "metrics": ["exact_match"]}
    raw = {"models": [{"name": "small"}], "judges": [{"name": "j"}], "suites": [suite]}
    (tmp_path / "eval.yaml").write_text(json.dumps(raw), encoding="utf-8")
    with serve_openai("A") as server:
        named = {"OPENAI_BASE_URL": server.base_url}
        told = "small, j: asked at OpenAI's API, since no provider is named, OPENAI_BASE_URL is set and no Ollama"
        done = run("eval.yaml", command="run", cwd=tmp_path, extra=named)
        assert told in done.stderr
        assert [request.body["model"] for request in server.requests] == ["small"]
        # What is recorded says which: a repetition needs no such choice.
        again = run("--run", "last", "--fresh", command="run", cwd=tmp_path, extra=named)
        assert (again.returncode, "asked at OpenAI's" in again.stderr) == (0, False), again.stderr
        done = run("eval.yaml", "--model", "other", command="run", cwd=tmp_path, extra=named)
        assert "other: asked at OpenAI's API" in done.stderr
        assert server.requests[-1].body["model"] == "other"


def test_the_address_of_ollama_is_looked_at_once_for_all_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    addresses: list[object] = []

    def refuse(address: object, **_options: object) -> None:
        addresses.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr("socket.create_connection", refuse)
    chosen = list_chosen([Model(name=name) for name in "abc"], [])
    assert [text.rpartition("=")[2] for text in chosen] == ["openai"] * 3
    assert [entry["provider"] for entry in build_entries("models", ["d", "e"])] == ["openai"] * 2
    assert len(addresses) == 2, "once for a configuration, once for the names of the command line"


def test_ollama_goes_first_where_it_is_named(run: Run, tmp_path: Path) -> None:
    with serve_ollama("ANSWER: 4", models=["small"]) as server:
        named = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OLLAMA_HOST": server.url}
        done = run("basic_control", "--model", "small", "--limit", "1", command="run", cwd=tmp_path, extra=named)
        assert "asked at OpenAI's" not in done.stderr
        assert server.requests


@pytest.mark.parametrize(
    ("name", "variables", "provider"),
    [
        ("gpt-4o-mini", {"OPENAI_API_KEY": "sk-test"}, "openai"),
        ("qwen3:8b", {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "openai"),
        ("org/model", {"OPENAI_API_KEY": "sk-test"}, "openai"),
        ("phi3", {"OPENAI_API_KEY": ""}, "ollama"),
        ("phi3", {"OPENAI_API_KEY": "sk-test", "OLLAMA_HOST": "127.0.0.1:9"}, "ollama"),
        ("ollama/phi3", {"OPENAI_API_KEY": "sk-test"}, "ollama"),
    ],
)
def test_the_environment_says_whose_a_bare_name_is(
    monkeypatch: pytest.MonkeyPatch, name: str, variables: dict[str, str], provider: str
) -> None:
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    (entry,) = build_entries("models", [name])
    assert entry["provider"] == provider
