"""Settings do what they say: concurrency, cost, structured replies, prompt files, judges that do not count."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.helpers.runs import at, latest
from tests.servers.running import Server, serve_openai
from tests.servers.script import Answer, last_user

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def write(folder: Path, n: int = 6, **suite: Any) -> str:
    """Write a configuration of one suite whose rows ask for cities."""
    rows = [{"question": f"Country {number}", "answer": f"City {number}"} for number in range(n)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole = {
        "name": "capitals",
        "items": {"data": str(folder / "rows.jsonl")},
        "prompt": "The capital of {{ question }}",
        "metrics": {"exact_match": {}},
        **suite,
    }
    (folder / "run.yaml").write_text(json.dumps({"suites": [whole]}))
    return str(folder / "run.yaml")


def read(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((latest(folder) / "results.json").read_text())
    return document


def reply(body: dict[str, Any]) -> str:
    return f"City {last_user(body).rpartition(' ')[2]}"


def entries(server: Server, *limits: int) -> str:
    models = [
        {"name": f"m{n}", "provider": "openai", "base_url": server.base_url, "max_concurrency": limit}
        for n, limit in enumerate(limits)
    ]
    return f"models={json.dumps(models)}"


@pytest.mark.parametrize("limits", [(1, 5), (5, 1), (3, 3)])
def test_two_entries_at_one_address_have_each_their_own_concurrency(
    run: Run, tmp_path: Path, limits: tuple[int, int]
) -> None:
    in_flight, peaks = {"m0": 0, "m1": 0}, {"m0": 0, "m1": 0}
    waiting = {name: asyncio.Event() for name in in_flight}

    async def gather(body: dict[str, Any]) -> str:
        name = body["model"]
        in_flight[name] += 1
        peaks[name] = max(peaks[name], in_flight[name])
        if in_flight[name] == limits[int(name[1])]:
            waiting[name].set()
        await waiting[name].wait()
        in_flight[name] -= 1
        return reply(body)

    with serve_openai(gather) as server:
        done = run("--config", write(tmp_path, 12), "--set", entries(server, *limits))
    assert done.returncode == 0, done.stderr
    assert (peaks["m0"], peaks["m1"]) == limits


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"prompt_tokens": 1_000_000, "completion_tokens": 0}, 6.0),
        ({"prompt_tokens": 1_000_000.0, "completion_tokens": 0.0}, 6.0),
        (None, None),
        ({}, None),
        ({"prompt_tokens": 5}, None),
        ({"prompt_tokens": "many", "completion_tokens": 5}, None),
    ],
)
def test_a_cost_is_unknown_where_usage_is_missing(run: Run, tmp_path: Path, usage: Any, cost: Any) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        return Answer(reply(body), body={"usage": usage})

    with serve_openai(answer) as server:
        done = run("--config", write(tmp_path), "--set", at(server, price_in=1, price_out=1))
    spending = read(tmp_path)["run"]["spending"]
    assert spending["cost"] == cost
    said = "The cost of acme/tiny:1b is not known" in " ".join(done.stdout.split())
    assert said is (cost is None)


def test_one_answer_without_usage_makes_the_cost_unknown(run: Run, tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        return Answer(reply(body), body={"usage": None} if last_user(body).endswith("3") else {})

    with serve_openai(answer) as server:
        run("--config", write(tmp_path), "--set", at(server, price_in=1, price_out=1))
    assert read(tmp_path)["run"]["spending"]["cost"] is None


def test_a_byte_order_mark_is_no_part_of_a_prompt(run: Run, tmp_path: Path) -> None:
    prompt = tmp_path / "ask.txt"
    prompt.write_text("\ufeffThe capital of {{ question }}", encoding="utf-8")
    with serve_openai(reply) as server:
        run("--config", write(tmp_path, prompt=str(prompt)), "--set", at(server))
        asked = {last_user(seen.body)[:3] for seen in server.requests}
    assert asked == {"The"}


def structured(server: Server, value: str) -> str:
    return at(server, structured=value)


@pytest.mark.parametrize("value", ["schema", "json", "off"])
def test_structured_of_a_model_is_refused_without_a_schema(run: Run, tmp_path: Path, value: str) -> None:
    with serve_openai(reply) as server:
        done = run("--config", write(tmp_path), "--set", structured(server, value))
        assert not server.requests
    assert done.returncode == 2
    assert f"models.0.structured: found '{value}', and no suite with a schema of replies" in done.stderr


@pytest.mark.parametrize(("value", "form"), [("schema", "json_schema"), ("json", "json_object"), ("off", "")])
def test_structured_of_a_model_constrains_its_replies(run: Run, tmp_path: Path, value: str, form: str) -> None:
    path = write(tmp_path, metrics={"json_match": {"schema": SCHEMA, "compare": "none"}})
    with serve_openai('{"city": "x"}') as server:
        run("--config", path, "--set", structured(server, value))
        first = [seen.body for seen in server.requests]
        run("--resume", latest(tmp_path).name)
        run("--config", path, "--set", at(server))
        rest = [seen.body for seen in server.requests][len(first) :]
    assert {body.get("response_format", {}).get("type", "") for body in first} == {form}
    assert len(first) == len(rest) == 6, "what nobody wrote changes no request, so those are others"
    assert not any("response_format" in body for body in rest)


def test_what_is_computed_stands_on_the_page_when_the_judge_beside_it_does_not_count(
    run: Run, tmp_path: Path
) -> None:
    metrics = {"exact_match": {}, "rubric": {"criteria": "Right."}}
    rows = [{"question": f"q{n}", "answer": "yes", "response": "yes" if n else "no"} for n in range(4)]
    path = write(tmp_path, metrics=metrics, score=["exact_match", "rubric"], prompt="")
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    suites = json.loads(Path(path).read_text())
    del suites["suites"][0]["prompt"]
    Path(path).write_text(json.dumps(suites))
    with serve_openai(json.dumps({"reason": "", "rating": 5})) as server:
        judge = {"name": "judge", "provider": "openai", "base_url": server.base_url, "exam": 6}
        done = run("--config", path, "--set", f"judges=[{json.dumps(judge)}]")
    assert "not measured" in done.stdout, done.stderr
    (page,) = (latest(tmp_path) / "reports").glob("*.html")
    heat = page.read_text().partition('id="heat"')[2]
    assert "75%" in heat or "75%" in page.read_text()
