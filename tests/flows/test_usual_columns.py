"""Rows by other tools' names and notations: judges are shown them whole, or a run stops before it asks."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

import basic_control as bc
from basic_control.config.settings import Settings
from basic_control.data.errors import InputError
from basic_control.data.notations import parse_list
from basic_control.data.usual_columns import find_column, read_contexts
from basic_control.tasks.generate import items_of
from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

pytestmark = pytest.mark.usefixtures("forked_runs")
RAGAS = ("user_input", "response", "reference", "retrieved_contexts")
ROWS = [
    ("How many bridges has Lindow?", "Two.", "Two bridges.", ["Lindow is a town.", "Lindow has two bridges."]),
    ("Who built them?", "Ada.", "Ada Byron.", []),
]
JUDGED = ("answers_question", "context_precision", "response_groundedness")
VERDICTS = {"rating": 2, "verdict": "yes", "reason": "r"}


def write_csv(folder: Path, names: tuple[str, ...] = RAGAS, notation: Any = str) -> Path:
    path = folder / "rag.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows((*texts, notation(contexts)) for *texts, contexts in ROWS)
    return path


def judge(body: dict[str, Any]) -> str:
    """Answer each of the metrics' questions in its form."""
    text = str(body["messages"][-1]["content"])
    verdict = "FULLY" if "FULLY" in text else "yes"
    return json.dumps({**VERDICTS, "verdict": verdict})


def run_judged(run: Run, path: Path, server: Any, *metrics: str, **suite: Any) -> Any:
    entry = {"name": "j", "provider": "openai", "base_url": server.base_url, "structured": "off"}
    declared = {"name": "texts", "items": {"data": str(path)}, "metrics": {name: {} for name in metrics}, **suite}
    document = {"models": [], "judges": [entry], "suites": [declared], "report": {"html": False}}
    file = path.parent / "eval.yaml"
    file.write_text(json.dumps(document), encoding="utf-8")
    return run("--config", str(file))


def list_blocks(server: Any, name: str) -> list[str]:
    """Return the texts that judges were shown as a question, a context …, sorted."""
    pattern = rf"<{name}-\w+>\s*(.*?)\s*</{name}-"
    prompts = [str(request.body["messages"][-1]["content"]) for request in server.requests]
    return sorted(text for prompt in prompts for text in re.findall(pattern, prompt, re.DOTALL))


NAMES = {
    "ragas": RAGAS,
    "DeepEval": ("input", "response", "expected_output", "retrieval_context"),
    "queries": ("query", "response", "ground_truth", "contexts"),
    "our own": ("question", "response", "reference", "retrieved_contexts"),
}
NOTATIONS = {"Python": str, "JSON": json.dumps, "NumPy": lambda texts: "[" + "\n ".join(map(repr, texts)) + "]"}


@pytest.mark.parametrize("names", NAMES)
def test_the_default_loader_reads_a_table_of_another_tool(run: Run, tmp_path: Path, names: str) -> None:
    path = write_csv(tmp_path, NAMES[names])
    with serve_openai(judge) as server:
        done = run_judged(run, path, server, *JUDGED)
        questions, contexts = list_blocks(server, "question"), list_blocks(server, "context")
    assert done.returncode == 0, done.stderr
    # Fully answered twice, two useful contexts, one grounded reply: [] is no context.
    assert questions == sorted([ROWS[1][0], *[ROWS[0][0]] * 4])
    assert [text for text in contexts if "town" in text or "bridges" in text][:2] == sorted(ROWS[0][3])
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    (model,) = document["final"]["models"]
    assert {row["metric"]: row["n_scored"] for row in model["suites"]} == {
        "answers_question": 2,
        "context_precision": 1,
        "response_groundedness": 1,
    }


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_text_is_read_as_the_list_that_it_holds(notation: str) -> None:
    for contexts in (["one", "it's two"], ['a "quoted" one'], []):
        assert parse_list(NOTATIONS[notation](contexts)) == contexts


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("[1] A footnote, which is a text.", ["[1] A footnote, which is a text."]),
        ("[Note] Plain.", ["[Note] Plain."]),
        ('[{"text": "a"}, {"text": ""}, null]', ["a"]),
        ("[]", []),
        ("", []),
        (None, []),
        (["[]", "b"], ["[]", "b"]),
        ("[" * 5000, ["[" * 5000]),
    ],
)
def test_other_texts_and_objects_are_contexts_as_they_stand(value: Any, expected: list[str]) -> None:
    assert read_contexts(value, "row 1") == expected


def test_a_broken_list_is_an_error_with_its_row(run: Run, tmp_path: Path) -> None:
    path = write_csv(tmp_path, notation=lambda texts: "['broken list" if texts else "[]")
    with serve_openai(judge) as server:
        done = run_judged(run, path, server, "response_groundedness")
        assert not server.requests
    assert done.returncode == 2
    assert 'row 1, retrieved_contexts: found "[\'broken list", which begins as a list and is none' in done.stderr
    (tmp_path / "rows.jsonl").write_text(json.dumps({"response": "r", "query": "q", "contexts": '["a'}), "utf-8")
    with serve_openai(judge) as server:
        items = {"loader": "retrieved", "data": str(tmp_path / "rows.jsonl")}
        done = run_judged(run, path, server, "response_groundedness", items=items)
    assert "begins as a list and is none" in done.stderr


@pytest.mark.parametrize(
    ("row", "metric", "message"),
    [
        ({"response": "r"}, "answers_question", "column 'question', required by a metric"),
        (
            {"response": "r", "question": " "},
            "answers_question",
            "answers_question reads the column 'question', which",
        ),
        (
            {"response": "r", "query": "", "reference": "a", "contexts": ["c"]},
            "context_precision",
            "column 'question'",
        ),
        ({"response": "r", "contexts": "[]"}, "faithfulness", "faithfulness reads the column 'retrieved_contexts'"),
        ({"response": "r", "reference": None}, "factual_correctness", "reads the column 'reference'"),
    ],
)
def test_a_column_that_a_judge_needs_is_there_before_anything_is_asked(
    run: Run, tmp_path: Path, row: dict[str, Any], metric: str, message: str
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    with serve_openai(judge) as server:
        done = run_judged(run, path, server, metric)
        assert not server.requests
    assert done.returncode == 2
    assert message in done.stderr
    assert metric in done.stderr
    assert "columns: {" in done.stderr


def test_replies_of_a_name_that_is_not_read_are_told_how_to_be_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"input": "q?", "actual_output": "r", "contexts": ["c"]}), encoding="utf-8")
    with serve_openai(judge) as server:
        done = run_judged(run, path, server, "response_groundedness")
        assert done.returncode == 2
        assert "columns: {response: NAME}" in done.stderr
        items = {"data": str(path), "columns": {"response": "actual_output"}}
        assert run_judged(run, path, server, "response_groundedness", items=items).returncode == 0


def test_an_explicit_column_goes_before_a_usual_name(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"input": "wrong", "ask": "right?", "response": "r"}), encoding="utf-8")
    with serve_openai(judge) as server:
        items = {"data": str(path), "columns": {"question": "ask"}}
        done = run_judged(run, path, server, "answers_question", items=items)
        assert list_blocks(server, "question") == ["right?"]
    assert done.returncode == 0, done.stderr


def test_from_python_rows_of_another_tool_are_read_by_prompts_too(tmp_path: Path) -> None:
    # A model that repeats what it is asked.
    def echo(prompt: str) -> str:
        return prompt

    # Nothing of it is kept beside the tests.
    store = {
        "runs": str(tmp_path / "runs"),
        "root": str(tmp_path / "store"),
        "cache": f"sqlite:///{tmp_path}/replies.sqlite",
    }
    rows = [{"user_input": "Two?", "answer": "Two?"}, {"user_input": "Ten?", "answer": "Ten?"}]
    result = bc.evaluate(rows, echo, metrics="exact_match", threshold=1.0, store=store)
    assert result.passed


def test_a_prompt_reads_the_contexts_of_another_tools_table(tmp_path: Path) -> None:
    """Texts one by one, also from a text; the question's id is that of a file by our names."""
    prompt = "{% for text in retrieved_contexts %}[{{ text }}]{% endfor %} {{ question }}"
    ids = []
    for names in (RAGAS, NAMES["our own"], NAMES["queries"]):
        rows = [dict(zip(names, ROWS[0], strict=True))]
        if names == NAMES["queries"]:
            rows[0]["contexts"] = str(ROWS[0][3])
        rows[0].pop("response")
        path = tmp_path / "rows.jsonl"
        path.write_text(json.dumps(rows[0]), encoding="utf-8")
        suite = {
            "name": "s",
            "items": {"data": str(path)},
            "prompt": prompt,
            "metrics": {"factual_correctness": {}},
        }
        settings = Settings.model_validate(
            {"suites": [suite], "models": [{"name": "m"}], "judges": [{"name": "j"}]}
        )
        (item,) = items_of(settings.suites[0], ("reference",))
        assert item["prompt"] == "[Lindow is a town.][Lindow has two bridges.] How many bridges has Lindow?"
        ids.append(item["question_id"])
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("{% for text in docs %}[{{ text }}]{% endfor %}", "[Lindow is a town.][Lindow has two bridges.]"),
        (
            "{% for text in docs | reverse %}[{{ text }}]{% endfor %}",
            "[Lindow has two bridges.][Lindow is a town.]",
        ),
        ("{{ docs[1] }} {{ docs | length }}", "Lindow has two bridges. 2"),
        ("{{ docs[:1] | join(' ') }} {{ row.docs | last }}", "Lindow is a town. Lindow has two bridges."),
        ("{{ docs }}", json.dumps(ROWS[0][3])),
        ("{{ question[0] }}{% for letter in question[:3] %}.{{ letter }}{% endfor %}", "H.H.o.w"),
    ],
)
def test_the_text_of_a_list_is_that_list_where_a_prompt_takes_its_parts(
    tmp_path: Path, prompt: str, text: str
) -> None:
    """As a cell of CSV has it."""
    names = ("question", "earlier", "answer", "docs")
    path = write_csv(tmp_path, names, json.dumps)
    suite = {"name": "s", "items": {"data": str(path)}, "prompt": prompt, "metrics": ["contains"]}
    settings = Settings.model_validate({"suites": [suite], "models": [{"name": "m"}]})
    assert next(iter(items_of(settings.suites[0], ("answer",))))["prompt"] == text


def test_the_prompt_that_ships_takes_contexts_from_csv(tmp_path: Path) -> None:
    names = ("question", "earlier", "answer", "docs")
    path = write_csv(tmp_path, names, json.dumps)
    source: dict[str, Any] = {"data": str(path), "columns": {"retrieved_contexts": "docs"}}
    suite = {"name": "s", "items": source, "prompt": "rag/answer", "metrics": ["contains"]}
    settings = Settings.model_validate({"suites": [suite], "models": [{"name": "m"}]})
    filled = next(iter(items_of(settings.suites[0], ("answer",))))["prompt"]
    assert "[1] Lindow is a town.\n\n[2] Lindow has two bridges.\n" in filled


def test_a_list_that_is_too_long_is_a_text() -> None:
    text = "[" + "'a', " * 500_000 + "]"
    assert parse_list(text) == text


def test_the_loader_of_a_table_of_contexts_reads_the_same_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="user_input, input, query"):
        bc.evaluate(
            [{"response": "r"}],
            metrics="answers_question",
            suite={"items": {"loader": "retrieved"}},
            store={"runs": str(tmp_path / "runs")},
        )


@pytest.mark.parametrize(
    ("columns", "name", "column"),
    [
        (["Question", "Answer"], "answer", "Answer"),
        ([" ANSWER ", "id"], "answer", " ANSWER "),
        (["Answer", "ANSWER"], "answer", None),
        (["Answer", "answer"], "answer", "answer"),
        (["User_Input"], "question", "User_Input"),
        (["Query", "input"], "question", "input"),
        (["ОТВЕТ"], "ответ", "ОТВЕТ"),
        (["answers"], "answer", None),
    ],
)
def test_a_column_is_found_whatever_its_case_if_it_is_the_only_one(
    columns: list[str], name: str, column: str | None
) -> None:
    assert find_column(name, columns) == column


def test_a_sheet_with_capitals_needs_no_mapping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sheet.csv").write_text("Question,Answer\nWho?,Ada\nWhere?,Rome\n", encoding="utf-8")

    def is_short(response: str, answer: str) -> bool:
        return len(response) <= len(answer)

    rows = [{"Question": "Who?", "Answer": "Ada"}, {"Question": "Where?", "Answer": "Rome"}]
    for source in ("sheet.csv", rows):
        run = bc.evaluate(
            source, lambda prompt: "Ada" * ("Who" in prompt), metrics=["exact_match", is_short], score="all"
        )
        assert run.samples["all"].to_list() == [1, 0]
