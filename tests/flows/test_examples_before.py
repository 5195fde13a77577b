"""Examples before each question: the same number for all rows, never the question itself, in an order by seed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.helpers.runs import at
from tests.servers.running import serve_openai

POOL = [{"question": f"Add {n} and {n}.", "answer": 2 * n} for n in range(1, 13)]


def ask(run: Run, folder: Path, pool: list[dict[str, Any]], rows: list[dict[str, Any]], **suite: Any) -> Any:
    """Run a suite with examples; return the finished run and the conversations that were sent."""
    for name, entries in (("pool", pool), ("rows", rows)):
        text = "".join(json.dumps(row) + "\n" for row in entries)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    examples = {"data": str(folder / "pool.jsonl"), **suite.pop("examples")}
    declared = {
        "name": "sums",
        "items": {"data": str(folder / "rows.jsonl")},
        "prompt": "Q: {{ question }}\nA:",
        "metrics": {"number": {}},
        "examples": examples,
        **suite,
    }
    path = folder / "run.yaml"
    path.write_text(json.dumps({"suites": [declared], "gate": "off"}), encoding="utf-8")
    with serve_openai("4") as server:
        done = run("--config", str(path), "--set", at(server))
        return done, {
            request.body["messages"][-1]["content"]: request.body["messages"] for request in server.requests
        }


@pytest.mark.parametrize("n", [0, 1, 8])
def test_each_question_has_so_many_turns_before_it_and_none_is_the_question(
    run: Run, tmp_path: Path, n: int
) -> None:
    done, sent = ask(run, tmp_path, POOL, POOL, examples={"n": n}, system="Add.")
    assert done.returncode == 0, done.stderr
    assert len(sent) == len(POOL)
    for asked, messages in sent.items():
        assert [message["role"] for message in messages] == ["system", *["user", "assistant"] * n, "user"]
        questions = [message["content"] for message in messages[1:-1:2]]
        answers = [message["content"] for message in messages[2:-1:2]]
        assert asked not in questions
        assert len({*questions}) == n
        assert answers == [str(2 * int(question.split()[2])) for question in questions]


def test_a_row_among_the_examples_gets_the_spare_one_in_its_place_and_the_seed_orders_them(
    run: Run, tmp_path: Path
) -> None:
    other = [{"question": "Add 50 and 50.", "answer": 100}]
    _, sent = ask(run, tmp_path, POOL, [*other, *POOL], examples={"n": 3, "seed": 5})
    common = [message["content"] for message in sent["Q: Add 50 and 50.\nA:"][:-1:2]]
    spares = set()
    for asked, messages in sent.items():
        questions = [message["content"] for message in messages[:-1:2]]
        if asked in common:
            spares.add(questions[common.index(asked)])
            questions[common.index(asked)] = asked
        assert questions == common
    assert len(spares) == 1
    assert not spares & {*common}
    _, again = ask(run, tmp_path, [*reversed(POOL)], other, examples={"n": 3, "seed": 6})
    assert [message["content"] for message in again["Q: Add 50 and 50.\nA:"][:-1:2]] != common
    _, same = ask(run, tmp_path, [*reversed(POOL)], other, examples={"n": 3, "seed": 5})
    assert [message["content"] for message in same["Q: Add 50 and 50.\nA:"][:-1:2]] == common, "by content"


def test_as_text_they_stand_in_the_question_and_excluded_rows_are_not_asked(run: Run, tmp_path: Path) -> None:
    done, sent = ask(run, tmp_path, POOL[:4], POOL[:6], examples={"n": 2, "as": "text", "exclude": True})
    assert done.returncode == 0, done.stderr
    assert len(sent) == 4
    assert "2 rows are examples and are not asked" in done.stdout
    for text, messages in sent.items():
        assert [message["role"] for message in messages] == ["user"]
        first, second, question = text.split("\n\n")
        assert question.endswith("A:")
        assert all(block.splitlines()[1].startswith("A: ") for block in (first, second))


@pytest.mark.parametrize(("n", "pool"), [(13, POOL), (12, POOL), (2, [{"question": "Add."}] * 3)])
def test_too_few_rows_or_one_without_an_answer_are_refused_before_anything_is_asked(
    run: Run, tmp_path: Path, n: int, pool: list[dict[str, Any]]
) -> None:
    done, sent = ask(run, tmp_path, pool, POOL, examples={"n": n})
    assert done.returncode == 2
    assert "examples" in done.stderr
    assert not sent


PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}}}
TOOL = {"name": "get_weather", "description": "The weather.", "parameters": PARAMETERS}
CITIES = ("Paris", "Rome", "Oslo", "Bern")
CALLING: dict[str, Any] = {"metrics": {"tool_calls": {}}, "prompt": "{{ question }}", "tools": [TOOL]}


def expect_calls(city: str, n: int = 1) -> dict[str, Any]:
    """Return a row whose arguments have alternatives."""
    arguments = {"city": [city, f"{city}, Europe"], "unit": ["", "C"]}
    return {"question": f"Weather of {city}?", "calls": [{"name": "get_weather", "arguments": arguments}] * n}


def test_examples_of_calls_are_turns_that_call_and_what_each_call_returned(run: Run, tmp_path: Path) -> None:
    """Every call has an id of its own, which the tool's message right behind it answers."""
    rows = [expect_calls(city, 2) for city in CITIES]
    done, sent = ask(run, tmp_path, rows, rows, examples={"n": 2}, **CALLING)
    assert done.returncode == 0, done.stderr
    assert len(sent) == len(rows)
    for messages in sent.values():
        assert [message["role"] for message in messages] == [*["user", "assistant", "tool", "tool"] * 2, "user"]
        identifiers = []
        for asked, turn, *returned in (messages[:4], messages[4:8]):
            calls = turn["tool_calls"]
            assert [message["tool_call_id"] for message in returned] == [entry["id"] for entry in calls]
            assert all(message["content"] for message in returned)
            identifiers += [entry["id"] for entry in calls]
            city = asked["content"].split()[-1].rstrip("?")
            for entry in calls:
                assert json.loads(entry["function"]["arguments"]) == {"city": city, "unit": "C"}
        assert len({*identifiers}) == 4


@pytest.mark.parametrize(
    "suite",
    [{"examples": {"n": 1, "as": "text"}}, {"examples": {"n": 1}, "tools": [], "prompt": "Q: {{ question }}"}],
)
def test_examples_of_calls_are_json_where_they_are_text_or_no_tools_are_sent(
    run: Run, tmp_path: Path, suite: dict[str, Any]
) -> None:
    rows = [expect_calls(city) for city in CITIES]
    _, sent = ask(run, tmp_path, rows[:2], rows[2:], **{**CALLING, **suite})
    (messages, *_) = sent.values()
    assert not any("tool_calls" in message for message in messages)
    assert '[{"name": "get_weather", "arguments": {"city": ' in messages[-1 if len(messages) == 1 else 1]["content"]


def test_an_example_that_calls_nothing_answers_in_words_or_is_refused(run: Run, tmp_path: Path) -> None:
    pool = [{"question": f"Hello {n}.", "calls": [], "answer": f"Good day {n}."} for n in range(3)]
    rows = [expect_calls(city) for city in CITIES]
    done, sent = ask(run, tmp_path, pool, rows, examples={"n": 1}, **CALLING)
    assert done.returncode == 0, done.stderr
    assert {messages[1]["content"][:9] for messages in sent.values()} == {"Good day "}
    silent = [{"question": row["question"], "calls": []} for row in pool]
    done, sent = ask(run, tmp_path, silent, rows, examples={"n": 1}, **CALLING)
    assert done.returncode == 2
    assert not sent
    assert "found no call, expected some in column calls, or in column answer" in " ".join(done.stderr.split())
