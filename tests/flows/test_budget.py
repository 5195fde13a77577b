"""A budget stops a run before the call that could exceed it; the run is undecided, and goes on with another."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.helpers.judges import judged_by
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai
from tests.servers.script import Answer, Fault, Spoken, last_user

N = 20
UNPRICED = {"name": "gpt-x", "provider": "openai"}
BATCHED = {**UNPRICED, "batch": "submit", "price_in": 1, "price_out": 1}


def write(folder: Path, n: int = N, **suite: Any) -> str:
    rows = [{"question": f"Country {number}", "answer": f"City {number}"} for number in range(n)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole = {
        "name": "capitals",
        "items": {"data": str(folder / "rows.jsonl")},
        "prompt": "The capital of {{ question }}",
        "metrics": {"exact_match": {}},
        "threshold": 0.8,
        **suite,
    }
    (folder / "run.yaml").write_text(json.dumps({"suites": [whole], "gate": "point"}))
    return str(folder / "run.yaml")


def reply(body: dict[str, Any]) -> Answer:
    """Answer right; a call costs one dollar at a price of one."""
    return Answer(f"City {last_user(body).rpartition(' ')[2]}", tokens_in=600_000, tokens_out=400_000)


def suite_of(folder: Path) -> dict[str, Any]:
    (model,) = json.loads((latest(folder) / "results.json").read_text())["final"]["models"]
    return dict(model["suites"][0])


def cost(folder: Path) -> float:
    return float(json.loads((latest(folder) / "results.json").read_text())["run"]["spending"]["cost_now"])


BUDGETS = {"5": 5, "{calls: 7}": 7, "{usd: 5, calls: 3}": 3, "0": 0}
"""What each allows to be asked."""


@pytest.mark.parametrize(
    ("budget", "concurrency"),
    [
        *((budget, 64) for budget in BUDGETS),
        ("5", 1),
        *(pytest.param(budget, 4, marks=pytest.mark.slow) for budget in BUDGETS),
        *(pytest.param(budget, 1, marks=pytest.mark.slow) for budget in BUDGETS if budget != "5"),
    ],
)
def test_no_call_starts_that_could_exceed_the_budget(
    run: Run, tmp_path: Path, budget: str, concurrency: int
) -> None:
    asked = BUDGETS[budget]
    with serve_openai(reply) as server:
        model = at(server, price_in=1, price_out=1, max_concurrency=concurrency)
        done = run("--config", write(tmp_path), "--set", model, "--set", f"budget={budget}")
        assert len(server.requests) == asked
    assert done.returncode == 3, done.stdout + done.stderr
    suite = suite_of(tmp_path)
    assert (suite["outcome"], suite["waiting"]) == ("undecided", N - asked)
    assert f"{N - asked} are still to be answered" in " ".join(done.stdout.split())
    assert re.search(r"the budget of .* is spent: \d+ requests not asked", " ".join(done.stdout.split()))


def test_what_it_takes_to_go_on_is_said_and_going_on_asks_the_rest_alone(run: Run, tmp_path: Path) -> None:
    with serve_openai(reply) as server:
        model = at(server, price_in=1, price_out=1)
        done = run("--config", write(tmp_path), "--set", model, "--set", "budget=5")
        said = " ".join(done.stdout.split())
        assert "15 requests were not asked; at the price of those so far they cost about 15.00 USD" in said
        command = re.search(r"run (--resume \S+) --set (\S+)", said)
        assert command, said
        again = run(*command[1].split(), "--set", command[2])
        assert len(server.requests) == N
        assert len({json.dumps(seen.body["messages"]) for seen in server.requests}) == N
    assert again.returncode == 0, again.stdout + again.stderr
    assert (suite_of(tmp_path)["score"], suite_of(tmp_path)["waiting"]) == (1.0, 0)


def test_a_run_whose_time_is_over_ends_undecided_with_its_reports_and_goes_on(run: Run, tmp_path: Path) -> None:
    with serve_openai(reply) as server:
        words = ("--config", write(tmp_path), "--set", at(server))
        run(*words, "--set", "budget={calls: 8}")
        done = run(*words, "--set", "budget.minutes=0")
        assert len(server.requests) == 8
        screen = " ".join(done.stdout.split())
        assert done.returncode == 3, done.stderr
        assert "the budget of 0 minutes is spent: 12 requests not asked" in screen
        assert "20 calls: 8 already answered, 0 asked now, 0 failed. 12 are still to be answered." in screen
        assert suite_of(tmp_path)["outcome"] == "undecided"
        command = re.search(r"Go on with another: .*? run (--resume \S+)", screen)
        assert command, screen
        again = run(*command[1].split(), "--set", "budget.minutes=60")
        assert len(server.requests) == N
    assert again.returncode == 0, again.stdout + again.stderr


def test_judges_spend_from_the_same_budget_and_none_of_them_is_said_to_have_failed(
    run: Run, tmp_path: Path
) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        text = json.dumps({"reason": "", "rating": 5}) if "rating" in json.dumps(body) else "City"
        return Answer(text, tokens_in=500_000, tokens_out=500_000)

    path = write(tmp_path, 6, metrics={"rubric": {"criteria": "Right."}})
    prices = {"price_in": 1, "price_out": 1}
    with serve_openai(answer) as server:
        models = ("--set", at(server, **prices), "--set", judged_by(server, **prices))
        done = run("--config", path, *models, "--set", "budget=8")
        assert len(server.requests) == 8
    suite = suite_of(tmp_path)
    assert (done.returncode, suite["outcome"], suite["waiting"]) == (3, "undecided", 4)


def test_calls_that_fail_count_as_calls_and_cost_nothing(run: Run, tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> Spoken:
        return Fault("status", 400, "no") if last_user(body).endswith("1") else reply(body)

    with serve_openai(answer) as server:
        model = at(server, price_in=1, price_out=1, max_concurrency=1)
        run("--config", write(tmp_path, 6), "--set", model, "--set", "budget=5")
        assert len(server.requests) == 6
    assert cost(tmp_path) == 5.0


def test_dear_calls_do_not_start_when_the_rest_is_small(run: Run, tmp_path: Path) -> None:
    """Two dollars a call: two of them in five, where a third would make six."""
    with serve_openai(reply) as server:
        run("--config", write(tmp_path), "--set", at(server, price_in=2, price_out=2), "--set", "budget=5")
    assert cost(tmp_path) == 4.0


def test_replies_of_the_cache_cost_nothing(run: Run, tmp_path: Path) -> None:
    with serve_openai(reply) as server:
        words = ("--config", write(tmp_path), "--set", at(server, price_in=1, price_out=1))
        run(*words)
        again = run(*words, "--set", "budget={calls: 0}")
    assert again.returncode == 0, again.stdout


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["budget=much"], "budget.usd: input should be a valid number"),
        (["budget=-1"], "budget.usd"),
        (["budget={}"], "found no limit; expected a number of US dollars, {calls: 500} or {minutes: 20}"),
        (["budget={calls: 1.5}"], "budget.calls"),
        (["budget={dollars: 5}"], "dollars"),
        (["budget=5", f"models=[{json.dumps(UNPRICED)}]"], "models.0: found no price, and a budget"),
        (["budget=5", f"models=[{json.dumps(BATCHED)}]"], "models.0.batch: found 'submit' and a budget"),
    ],
)  # fmt: skip
def test_a_budget_that_cannot_be_kept_is_refused(run: Run, tmp_path: Path, keys: list[str], message: str) -> None:
    words = [word for key in keys for word in ("--set", key)]
    done = run("--config", write(tmp_path), *words)
    assert (done.returncode, message in " ".join(done.stderr.split())) == (2, True), done.stderr


def test_a_budget_in_money_ends_where_answers_do_not_say_what_they_took(run: Run, tmp_path: Path) -> None:
    def silent(body: dict[str, Any]) -> Answer:
        return Answer(reply(body).text, body={"usage": None})

    with serve_openai(silent) as server:
        done = run("--config", write(tmp_path), "--set", at(server, price_in=1, price_out=1), "--set", "budget=5")
        assert len(server.requests) == 1
    assert done.returncode == 3
    assert "no budget in money can be kept" in " ".join((done.stdout + done.stderr).split())
