"""Static mistakes, and runs too large to be meant, are told before Prefect is imported or a server started."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.settings import Settings
from basic_control.data.errors import InputError
from basic_control.flows.preflight import check_rows, list_unasked, unread_responses
from basic_control.tasks.plan import resolve
from tests.conftest import TOP, free_port

# Ends with a defect's message if Prefect is asked for, or any process started, on the way.
GUARDED = """
import json, subprocess, sys

class NoPrefect:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "prefect":
            raise RuntimeError("Prefect is imported")

def no_process(*args, **kwargs):
    raise RuntimeError("a process is started")

sys.meta_path.insert(0, NoPrefect())
subprocess.Popen = no_process
from basic_control.flows.cli.application import main
for words in json.load(sys.stdin):
    code = main(words)
    print(f"== {code}", file=sys.stderr, flush=True)
"""

OWN = {"name": "own", "prompt": "{{ question }}", "metrics": {"exact_match": {}}, "score": ["exact_match"]}


def at(**changes: object) -> str:
    model = {"name": "m", "provider": "openai", "base_url": f"http://127.0.0.1:{free_port()}/v1", **changes}
    return f"models=[{json.dumps(model)}]"


def test_responses_that_nothing_reads_are_said(tmp_path: Path) -> None:
    """The loader of worked answers has no responses; that of own rows takes them as given."""
    (tmp_path / "rows.jsonl").write_text('{"question": "1 + 2?", "answer": "#### 3", "response": "3"}\n', "utf-8")
    data = {"data": str(tmp_path / "rows.jsonl")}
    suites = [{"name": "cot", "items": data}, {**OWN, "items": data}]
    settings = Settings(models=[{"name": "m"}], suites=suites)
    (said,) = unread_responses(resolve(settings))
    assert said.startswith(f"suite cot: {data['data']} has a column 'response', which the loader word_problems")


@pytest.mark.parametrize(
    ("columns", "advice"),
    [
        ({}, "rows of suite own have replies (column 'response'), which are scored. To ask, give that column"),
        (
            {"response": "bot"},
            "(column 'bot'), which are scored. To ask, leave `response: bot` out of its `columns`",
        ),
        ({"earlier": "response"}, ""),
    ],
)
def test_a_model_that_is_named_and_not_asked_is_said_and_grades_nothing_of_its_own(
    tmp_path: Path, columns: dict[str, str], advice: str
) -> None:
    row = '{"question": "1 + 2?", "answer": "3", "response": "3", "bot": "4", "reference": "3"}\n'
    (tmp_path / "rows.jsonl").write_text(row, "utf-8")
    items = {"data": str(tmp_path / "rows.jsonl"), "columns": columns}
    suite = {"name": "own", "items": items, "prompt": "{{ question }}", "metrics": {"factual_correctness": {}}}
    settings = Settings(models=[{"name": "m"}], judges=[{"name": "m"}], suites=[suite])
    plan = resolve(settings)
    sentences = [*list_unasked(settings.models, plan)]
    assert len(sentences) == bool(advice)
    assert all(sentence.startswith("m: not asked") and advice in sentence for sentence in sentences)
    # Replies that stand in a file are not the model's.
    assert plan.own_models == ({} if advice else {"m": {"m"}})
    assert not [*unread_responses(plan)], "what another name was given to is no reply"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Return what each mistake comes to: the exit code, and what was said; all in one process."""
    folder = tmp_path_factory.mktemp("preflight")
    rows = folder / "rows.jsonl"
    rows.write_text(json.dumps({"question": "2 + 2?", "answer": "4"}) + "\n", encoding="utf-8")
    uneven = folder / "uneven.jsonl"
    uneven.write_text(rows.read_text("utf-8") + '{"question": "3 + 3?", "answer": "6", "hint": "even"}\n', "utf-8")
    nowhere = str(folder / "nowhere.jsonl")

    def own(data: str, **changes: object) -> str:
        return f"suites={json.dumps([{**OWN, 'items': {'data': data, **changes}}])}"

    judged = {**OWN, "items": {"data": str(rows)}, "metrics": {"rubric": {"criteria": "good"}}, "score": ["rubric"]}
    weightless = {**OWN, "items": {"data": str(rows)}, "weight": 0}
    grounded = {"metrics": {"response_groundedness": {}}, "score": ["response_groundedness"]}
    wanting = {**OWN, "items": {"data": str(rows)}, **grounded}
    listening = socket.create_server(("127.0.0.1", 0))
    there = at(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
    few = ["suites=[basic_control]", "basic_control.families=[simple_logic]"]

    def asked(**changes: object) -> str:
        return f"suites={json.dumps([{**OWN, 'items': {'data': str(uneven)}, **changes}])}"

    chosen = {"metrics": {"choice": {"texts": ["A", "B"]}}, "score": ["choice"]}
    cases = {
        "key": [at(api_key_env="NO_SUCH_KEY"), *few],
        "usual key": [at(base_url=""), *few],
        "address": [at(), *few],
        "ollama": [at(provider="ollama", base_url=f"http://localhost:{free_port()}"), *few],
        "http": [at(provider="http"), *few],
        "weights": [at(), f"suites={json.dumps([weightless])}"],
        "file": [at(), own(nowhere)],
        "column": [at(), own(str(rows), columns={"answer": "expected"})],
        "needed column": [there, there.replace("models", "judges"), f"suites={json.dumps([wanting])}"],
        "no prompt": [there, asked(prompt="")],
        "template": [there, asked(prompt="cot/tsk")],
        "name in a prompt": [there, asked(prompt="{{ quest }}")],
        "name in the second": [there, asked(prompt="", prompts={"a": "{{ question }}", "b": "{{ hint }}"})],
        "one question": [there, asked(prompt="Say yes.")],
        "not Jinja": [there, asked(prompt="{{ question")],
        "option's column": [there, asked(**chosen)],
        "judge": [there, "judges=[]", f"suites={json.dumps([judged])}"],
        "judge's key": [
            there,
            f"judges=[{json.dumps({'name': 'j', 'provider': 'openai', 'api_key_env': 'NO_SUCH_KEY'})}]",
            f"suites={json.dumps([judged])}",
        ],
        "weights file": [at(provider="embedded", base_url="", file=nowhere), *few],
        "vast": [at(), *few, "basic_control.n_items=5000000"],
    }
    lines = {name: [word for one in sets for word in ("--set", one)] for name, sets in cases.items()}
    lines["vast, agreed to"] = ["--yes", *lines["vast"]]
    lines["vast, estimated"] = ["--dry-run", *lines["vast"]]
    place = ["--set", f"store.root={folder}/store", "--set", f"store.runs={folder}/runs"]
    kept = {k: v for k, v in os.environ.items() if "PREFECT" not in k and "PROXY" not in k.upper()}
    done = subprocess.run(
        [sys.executable, "-c", GUARDED],
        input=json.dumps([[*words, *place] for words in lines.values()]),
        cwd=TOP,
        env={**kept, "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    listening.close()
    parts = done.stdout.split("== ")
    said = [parts[0], *(part.partition("\n")[2] for part in parts[1:])]
    codes = [int(part.partition("\n")[0]) for part in parts[1:]]
    assert not (folder / "store").exists(), "nothing is made"
    assert not (folder / "runs").exists()
    return dict(zip(lines, zip(codes, said, strict=False), strict=True))


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("key", "NO_SUCH_KEY, which is not set"),
        ("usual key", "OPENAI_API_KEY, which is not set"),
        ("address", "nothing listens at http://127.0.0.1:"),
        ("ollama", "nothing listens at http://localhost:"),
        ("http", "nothing listens at http://127.0.0.1:"),
        ("weights", "weights: own have weight 0"),
        ("file", "nowhere.jsonl"),
        ("column", "column 'expected', named in `columns`"),
        ("needed column", "required by a metric of the suite"),
        ("no prompt", "suite own, row 1: prompt: missing"),
        ("template", "suite own, row 1: prompt: no template is named 'cot/tsk'"),
        (
            "name in a prompt",
            "cannot be filled ('quest' is undefined); the row has answer, question. Did you mean 'question'?",
        ),
        ("name in the second", "suite own [b], row 1: prompt: cannot be filled ('hint' is undefined)"),
        (
            "one question",
            "suite own: prompt: found 'Say yes.', which uses no column, so that 2 rows ask the same ",
        ),
        ("not Jinja", "suite own, row 1: prompt, line 1: not valid Jinja2"),
        ("option's column", "column 'A', required by a metric of the suite, not found"),
        ("judge", "suite own: found no judge"),
        ("judge's key", "NO_SUCH_KEY, which is not set"),
        ("weights file", "nowhere.jsonl"),
        (
            "vast",
            "5\u202f000\u202f000 calls, without those of judges: about ",
        ),
        ("vast, agreed to", "nothing listens at"),
    ],
)
def test_a_static_mistake_is_told_before_prefect_is_there(
    told: dict[str, tuple[int, str]], mistake: str, words: str
) -> None:
    code, said = told[mistake]
    assert code == 2, said
    assert words in said
    assert said.startswith("error: ")
    assert "defect" not in said, said
    assert "Traceback" not in said


ITEM_MODELS = {
    "shown the item": {"provider": "http", "base_url": "http://127.0.0.1:9", "body": {"q": "{{ item.question }}"}},
    "replies recorded by item": {"provider": "replay", "file": "replies.jsonl"},
}


@pytest.mark.parametrize("model", [*ITEM_MODELS.values()], ids=[*ITEM_MODELS])
def test_who_is_given_the_row_itself_may_be_asked_by_a_constant_prompt(
    tmp_path: Path, model: dict[str, Any]
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"question": f"{n}?", "answer": "4"}) + "\n" for n in range(3)), "utf-8")
    suite = {**OWN, "items": {"data": str(rows)}, "prompt": "Answer."}
    plan = resolve(Settings(models=[{"name": "m", **model}], suites=[suite]))
    check_rows(plan)
    shown = resolve(Settings(models=[{"name": "m", **model}, {"name": "plain"}], suites=[suite]))
    with pytest.raises(InputError, match="uses no column, so that 3 rows"):
        check_rows(shown)


def test_a_prompt_that_only_a_language_changes_asks_the_rows_of_one_language_the_same(tmp_path: Path) -> None:
    prompt = "{% if language == 'ru' %}Скажи да{% else %}Say yes{% endif %}."
    path = tmp_path / "rows.jsonl"
    suite = {**OWN, "items": {"data": str(path)}, "prompt": prompt}
    rows = [
        json.dumps({"question": f"{n}?", "answer": "4", "language": one}) + "\n"
        for n, one in enumerate(("en", "ru", "en"))
    ]
    path.write_text("".join(rows[:2]), "utf-8")
    plan = resolve(Settings(models=[{"name": "m"}], suites=[suite]))
    check_rows(plan)
    path.write_text("".join(rows), "utf-8")
    with pytest.raises(InputError, match="expected at least one of the columns question, answer, "):
        check_rows(plan)


def test_one_row_may_be_asked_by_a_constant_prompt(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "2 + 2?", "answer": "4"}\n', "utf-8")
    suite = {**OWN, "items": {"data": str(rows)}, "prompt": "Say yes.", "repeats": 5}
    check_rows(resolve(Settings(models=[{"name": "m"}], suites=[suite])))


def test_a_vast_run_names_the_option_that_begins_it_and_is_estimated_without_drawing(
    told: dict[str, tuple[int, str]],
) -> None:
    assert "Give --yes to start it" in told["vast"][1]
    code, said = told["vast, estimated"]
    assert code == 0
    assert "5\u202f000\u202f000 calls" in said


FEW_FILES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
from basic_control.flows.cli.application import main
raise SystemExit(main(["run", "run.yaml"]))
"""


def test_too_few_open_files_are_a_message_before_anything_begins(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "a", "answer": "b", "response": "b"}\n', "utf-8")
    suite = "suites: [{name: s, items: {data: rows.jsonl}, metrics: {exact_match: {}}}]\n"
    (tmp_path / "run.yaml").write_text(suite, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(TOP)}
    command = [sys.executable, "-c", FEW_FILES]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: This process may have 24 files open, and a run needs 64 or more.")
