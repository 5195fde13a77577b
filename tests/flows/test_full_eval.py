"""The street from end to end: the command line, real HTTP servers, Prefect."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.conftest import TOP, Run
from tests.helpers.preloaded import Preloaded
from tests.helpers.runs import SEED, TWO, at, latest
from tests.servers.running import serve, serve_ollama, serve_openai

FAMILIES = ("simple_logic", "instructions", "arithmetic")
ONLY = ("--set", "suites=[basic_control]", "--set", TWO, "--set", "basic_control.n_items=10")


def only(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    assert len(found) == 1, found
    return found[0]


def test_the_seeds_configuration_runs_against_ollama(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(SEED.replace("  - t03_code_gen\n", ""), encoding="utf-8")
    with serve_ollama("ОТВЕТ: Вера", models=["llama3:8b", "phi3", "janhq/Jan-v1-4B-GGUF"]) as server:
        done = run("--config", str(config), extra={"OLLAMA_HOST": server.url})
        assert done.returncode in {0, 1, 2}, done.stderr
        assert len(server.requests) == 3 * 5 * 10
        again = run("--config", str(config), extra={"OLLAMA_HOST": server.url})
        assert len(server.requests) == 3 * 5 * 10, "a second run asks nothing"
    said = "Ни один вызов модели не понадобился: все ответы (150) взяты из кэша."
    assert said in again.stdout, again.stderr
    folder = latest(tmp_path)
    report = only(folder, "reports/report_*.md").read_text(encoding="utf-8")
    assert report.startswith("# Отчет о Тестировании LLM\n\n**Дата и время:** ")
    assert "**Протестированные модели:** `llama3:8b`, `phi3`, `janhq/Jan-v1-4B-GGUF`" in report
    assert (
        "| Модель / Категория | Логика | Инструкции | Извлечение | Суммаризация | Арифметика | **ИТОГО** |"
        in report
    )
    assert re.search(r"^\| \*\*Jan-v1-4B-GGUF\*\* \|", report, re.MULTILINE)
    assert "Сильные стороны модели llama3:8b" in report
    names = sorted(path.name for path in (folder / "raw").iterdir())
    assert [name.rpartition("_")[0].rpartition("_")[0] for name in names] == [
        "janhq_Jan-v1-4B-GGUF",
        "llama3_8b",
        "phi3",
    ]
    rows = json.loads((folder / "raw" / names[1]).read_text(encoding="utf-8"))
    assert list(rows[0])[:7] == [
        "test_id",
        "model_name",
        "prompt",
        "llm_response",
        "expected_output",
        "is_correct",
        "execution_time_ms",
    ]
    assert re.fullmatch(r"t01_simple_logic_\d{10}_1", rows[0]["test_id"])
    assert [row["test_id"].rpartition("_")[2] for row in rows[:10]] == [str(n) for n in range(1, 11)]
    assert rows[0]["model_name"] == "llama3:8b"
    assert rows[0]["llm_response"] == "ОТВЕТ: Вера"


def test_the_same_runs_through_the_openai_package(run: Run, tmp_path: Path) -> None:
    with serve_openai("ANSWER: 12") as server:
        done = run("--set", at(server), *ONLY)
        assert "20 calls, 0 failed." in done.stdout, done.stderr
    folder = latest(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["requests"]["answered"] == 20
    assert manifest["cpu_s"] > 0.5
    assert manifest["configuration"]["models"][0]["name"] == "acme/tiny:1b"
    assert manifest["identities"]["acme/tiny:1b"]["provider"] == "openai"
    assert {s["stage"] for s in manifest["stages"]} >= {
        "generate",
        "prepare",
        "query",
        "verify",
        "score",
        "aggregate",
    }
    assert manifest["sandbox"] == {}
    assert (folder / "raw").is_dir()
    assert "sk-test" not in "".join(
        path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file()
    )


def test_one_suite_runs_alone_as_its_own_module(run: Run) -> None:
    with serve_openai("ANSWER: 12") as server:
        done = run("--set", at(server), *ONLY, flow="basic_control")
    assert "20 calls, 0 failed" in done.stdout, done.stderr


def test_an_end_by_sigterm_keeps_what_was_answered(forks: Preloaded, run: Run, tmp_path: Path) -> None:
    arguments = [*ONLY, "--set", "basic_control.n_items=40"]
    with serve_openai("yes", latency_s=0.05) as server:
        arguments += ["--set", at(server, max_concurrency=4)]
        arguments += ["--set", f"store.root={tmp_path}/store", "--set", f"store.runs={tmp_path}/runs"]
        process = forks.start("flows.full_eval", arguments, forks.environment)
        while len(server.requests) < 30:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        assert len(server.requests) < 60, "it stops asking at once"
        done = run(*arguments)
        assert len(server.requests) <= 84
    assert process.returncode == 130
    assert "Stopped. Everything answered so far is kept" in said
    assert "Traceback" not in said
    assert "asked now, 0 failed" in done.stdout


def test_an_earlier_run_is_read_before_prefect_is_imported() -> None:
    """Else its settings come too late: no stage cache, a second server, its telemetry."""
    modules = "basic_control.flows.cli.commands.evaluate, basic_control.flows.earlier, sys"
    script = f"import {modules}\nassert 'prefect' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], cwd=TOP, check=True)


def test_a_run_goes_on_from_the_cache_and_starts_no_server(run: Run, tmp_path: Path) -> None:
    with serve_openai("yes") as server:
        run("--set", at(server), *ONLY)
        done = run("--resume", latest(tmp_path).name, "--verbose")
    assert "Prefect" not in done.stderr
    assert "verify basic_control acme/tiny:1b: from the cache" in done.stdout, done.stderr
    assert "INFO" not in done.stderr, "no log of Prefect's"
    assert not [*tmp_path.rglob("prefect.db*")]


def test_a_second_run_takes_every_stage_from_the_cache(run: Run, tmp_path: Path) -> None:
    """In whatever order Python's sets come in it."""
    with serve_openai("ANSWER: 12") as server:
        arguments = ("--set", at(server), *ONLY)
        run(*arguments)
        run(*arguments, extra={"PYTHONHASHSEED": "2"})
    manifest = json.loads((latest(tmp_path) / "manifest.json").read_text(encoding="utf-8"))
    fresh = {s["stage"] for s in manifest["stages"] if not s["cached"]}
    assert fresh == {"query", "results", "gate", "report"}, "query has a cache of its own; the others write files"


COINS = '''\
"""Pay an amount with the fewest coins; every optimal payment is right."""

import re
from random import Random

from basic_control.data.records import Family, Item, Verdict

ANSWER = re.compile(r"^ANSWER: *(\\d{1,4}(?: +\\d{1,4})*) *$", re.MULTILINE)
PROMPT = "Coins: {coins}. Pay {amount} with as few coins as possible. End with a line ANSWER: and the coins."


def generate(rng: Random, *, kinds: int, most: int) -> Item:
    coins = [1, *sorted(rng.sample(range(2, 26), kinds - 1))]
    amount = rng.randint(most // 2, most)
    best: list[list[int]] = [[]]
    for cents in range(1, amount + 1):
        best.append(min(([*best[cents - c], c] for c in coins if c <= cents), key=len))
    facts = {"coins": coins, "amount": amount, "fewest": len(best[amount])}
    return Item(prompt=PROMPT.format(**facts), answer=" ".join(map(str, best[amount])), facts=facts)


def verify(item: Item, reply: str) -> Verdict:
    lines = ANSWER.findall(reply)
    if not lines:
        return Verdict(None, "no ANSWER line")
    paid = [int(coin) for coin in lines[-1].split()]
    if unknown := set(paid) - set(item.facts["coins"]):
        return Verdict(False, f"coins that do not exist: {sorted(unknown)}")
    if sum(paid) != item.facts["amount"]:
        return Verdict(False, f"paid {sum(paid)}, not {item.facts['amount']}")
    return Verdict(len(paid) == item.facts["fewest"], f"paid with {len(paid)} coins")


LEVELS = {"easy": {"kinds": 3, "most": 30}, "hard": {"kinds": 6, "most": 200}}
UNIT = Family(name="coin_change", version=1, levels=LEVELS, generate=generate, verify=verify)
'''


def pay(body: dict[str, Any]) -> str:
    """Answer a coin prompt with ones only, which is exact but rarely shortest."""
    amount = int(re.search(r"Pay (\d+)", body["messages"][-1]["content"])[1])  # pyrefly: ignore[unsupported-operation] # the prompt is ours
    return "ANSWER: " + " ".join("1" for _ in range(amount))


def test_a_new_family_is_one_new_file(environment: dict[str, str], tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    keep = ("basic_control", "flows", "tasks", "config", "generators", "metrics", "prompts", "data")
    for package in keep:
        shutil.copytree(
            TOP / package, tree / package, symlinks=True
        )  # with the bytecode, which would be made again
    (tree / "generators" / "coin_change.py").write_text(COINS, encoding="utf-8")
    with serve_openai(pay) as server:
        command = [sys.executable, "-m", "flows.full_eval", "--set", at(server)]
        command += [
            "--set",
            "suites=[basic_control]",
            "--set",
            "basic_control.n_items=10",
            "--set",
            "basic_control.families=[coin_change]",
            "--set",
            "basic_control.levels=[easy,hard]",
        ]
        done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert "20 calls, 0 failed" in done.stdout, done.stderr
    report = only(tree / "artifacts" / "runs", "*/reports/*.md").read_text(encoding="utf-8")
    assert "coin\\_change" in report or "coin_change" in report
    assert "paid with" in report


def test_a_family_of_another_package_is_found_by_its_entry_point(run: Run, tmp_path: Path) -> None:
    site = tmp_path / "site"
    told = site / "coins-1.dist-info"  # as an installer leaves a package
    told.mkdir(parents=True)
    (site / "coins.py").write_text(COINS.replace("coin_change", "coins_elsewhere"), encoding="utf-8")
    (told / "METADATA").write_text("Metadata-Version: 2.4\nName: coins\nVersion: 1\n", encoding="utf-8")
    (told / "entry_points.txt").write_text("[basic_control.generators]\ncoins = coins:UNIT\n", encoding="utf-8")
    with serve_openai(pay) as server:
        done = run(
            "--set",
            at(server),
            "--set",
            "suites=[basic_control]",
            "--set",
            "basic_control.n_items=10",
            "--set",
            "basic_control.families=[coins_elsewhere]",
            extra={"PYTHONPATH": str(site)},
        )
    assert "10 calls, 0 failed" in done.stdout, done.stderr


BAD = [
    (["--set", "basic_control.families=[nonsense]"], "unknown family 'nonsense'"),
    (["--set", "models=[{name: m, provider: acme}]"], "provider"),
    (["--set", "models=[{name: m, provider: ollama, base_url: 'http://127.0.0.1:9'}]"], "127.0.0.1:9"),
    (["--set", "models=[{name: m, provider: openai, api_key_env: NO_SUCH_KEY}]"], "NO_SUCH_KEY"),
    (["--set", "basic_control.n_items=-1"], "basic_control.n_items"),
    (["--set", "models=[{name: m, provider: replay, file: nowhere.jsonl}]"], "nowhere.jsonl"),
    (["--config", "nowhere.yaml"], "nowhere.yaml"),
    (["--junit", "nowhere/results.xml"], "nowhere is not a writable folder"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_input_is_one_message_and_exit_code_2(run: Run, arguments: list[str], words: str) -> None:
    done = run(*ONLY, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert len(done.stderr.strip().splitlines()) <= 3, done.stderr


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/api", "nowhere"])
def test_a_prefect_server_that_is_not_there_is_one_message(run: Run, url: str) -> None:
    with serve_openai("yes") as server:
        done = run("--set", at(server), *ONLY, extra={"PREFECT_API_URL": url})
    assert done.returncode == 2
    assert f"The Prefect server {url} cannot be reached" in done.stderr
    assert "defect" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("status", "told"), [(503, "is overloaded or broken: it answered HTTP 503"), (401, "refuses")]
)
def test_a_prefect_server_that_answers_with_an_error_is_no_defect_of_the_program(
    run: Run, status: int, told: str
) -> None:
    async def busy(request: web.Request) -> web.Response:
        return web.json_response(data=True, status=200 if request.path.endswith("/health") else status)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", busy)
    with serve_openai("yes") as server, serve(app) as prefect:
        url = f"{prefect}/api"
        done = run("--set", at(server), *ONLY, extra={"PREFECT_API_URL": url, "PREFECT_CLIENT_MAX_RETRIES": "0"})
    assert done.returncode == 2
    assert f"The Prefect server {url} {told}" in done.stderr
    assert "defect" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_that_the_server_does_not_have_is_one_message(run: Run) -> None:
    with serve_openai("yes", models=["acme/known"]) as server:
        done = run(*ONLY, "--set", at(server))
        assert len(server.requests) <= 16, "eight in a row, and what is in flight with them"
    assert done.returncode == 2
    assert "acme/tiny:1b" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_replay_file_with_missing_columns_says_which(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text('{"question": "a", "reply": "b"}\n', encoding="utf-8")
    done = run("--set", f"models=[{{name: m, provider: replay, file: '{file}'}}]", *ONLY)
    assert done.returncode == 2
    assert "question" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_place_that_cannot_be_written_is_one_message(run: Run) -> None:
    with serve_openai("yes") as server:
        done = run("--set", at(server), *ONLY, root="/proc/nowhere")
    assert done.returncode == 2
    assert "/proc/nowhere" in done.stderr
    assert "Traceback" not in done.stderr
