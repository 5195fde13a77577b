"""Metrics of an evaluation from Python: functions of a cell, a script or a test, beside names and options."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import openai
import polars as pl
import pytest

import basic_control as bc
from tests.servers.running import serve_openai

pytestmark = pytest.mark.usefixtures("forked_runs")
ROWS = [{"question": f"{word}?", "expected": word} for word in ("Paris", "Oslo", "Rome", "Bern", "Riga", "Kyiv")]
COLUMNS = {"answer": "expected"}


def echo(prompt: str) -> str:
    """Answer with what is asked, but for one question."""
    return "I do not know." if "Rome" in prompt else prompt.removesuffix("?")


def places(folder: Path) -> dict[str, Any]:
    return {"store": {"root": str(folder / "store"), "runs": str(folder / "runs")}}


def evaluate(folder: Path, metrics: Any, **extra: Any) -> bc.Run:
    arguments = {"columns": COLUMNS, "gate": "off", **places(folder), **extra}
    return bc.evaluate(ROWS, echo, metrics=metrics, **arguments)


def run_program(folder: Path, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(textwrap.dedent(program), encoding="utf-8")
    command = [sys.executable, *(words or ("program.py",))]
    return subprocess.run(
        command, cwd=folder, env={**os.environ}, capture_output=True, text=True, check=False, stdin=None
    )


def test_functions_of_any_kind_score_beside_names_and_options(tmp_path: Path) -> None:
    seen = []
    limit = 3

    def brief(response: str, words: int = 2) -> bool:
        seen.append(response)
        return len(response.split()) < min(words, limit)

    async def near(response: str, answer: str) -> float:
        return 1.0 if response == answer else 0.25

    class Tone:
        def __call__(self, response: str) -> bc.Score:
            return bc.Score(float("not" not in response), reason="by one word")

    @bc.metric(name="named")
    def _inner(sample: Any) -> float | None:
        return None if sample["answer"] == "Bern" else 1.0

    run = evaluate(
        tmp_path,
        [
            "exact_match",
            brief,
            near,
            Tone(),
            _inner,
            {"contains": {"texts": ["oslo"]}},
            lambda response: "i" in response,
            lambda response: "o" in response,
        ],
    )
    assert len(seen) == len(ROWS)
    scores = {row["metric"]: row["score"] for row in run.summary.to_dicts()}
    assert {name: round(score, 3) for name, score in scores.items() if name != "all"} == {
        "exact_match": 0.833,
        "brief": 0.833,
        "near": 0.875,
        "Tone": 0.833,
        "named": 1.0,
        "contains": 0.167,
        "lambda": 0.5,
        "lambda_2": 0.333,
    }
    by_name = run.scores.filter(pl.col("metric") == "named")
    assert sorted(by_name["status"]) == ["not_applicable", *["scored"] * 5]
    assert {*run.scores.filter(pl.col("metric") == "Tone")["reason"]} == {"by one word"}


@pytest.mark.slow
def test_options_of_a_function_are_set_beside_its_name(tmp_path: Path) -> None:
    def long(response: str, words: int = 1, parse: Any = str.split) -> bool:
        return len(parse(response)) > words

    assert evaluate(tmp_path, [long]).summary["score"][0] == pytest.approx(1 / 6)
    assert evaluate(tmp_path, {long: {"words": 9}}).summary["score"][0] == 0
    with pytest.raises(bc.InputError, match="word"):
        evaluate(tmp_path, {long: {"word": 9}})


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (
            lambda response: len(response) + 0,
            r"metric lambda returned 5 \(int\); expected True or False, a number from 0 to 1",
        ),
        pytest.param(lambda response: response, r"returned 'Paris' \(str\)", marks=pytest.mark.slow),
        pytest.param(lambda response: [response], r"returned \"\['Paris'\]\" \(list\)", marks=pytest.mark.slow),
        pytest.param(
            lambda response: {}[response],
            r"raised KeyError: 'Paris' \(test_python_metrics\.py, line \d+\)",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda response: bc.Score(len(response) / 9, "half"),
            "status 'half'; expected .*reason='…'",
            marks=pytest.mark.slow,
        ),
        (lambda reply: not reply, "its parameter 'reply' is no column; expected response .* question, answer"),
        (lambda answr: not answr, r"'answr' is no column; .* or a default\. Did you mean 'answer'\?"),
        (float("nan"), "metrics: found a float, expected a name, a function"),
    ],
)
def test_what_is_wrong_with_a_function_is_said_in_its_terms(tmp_path: Path, function: Any, text: str) -> None:
    with pytest.raises(bc.InputError, match=text) as raised:
        evaluate(tmp_path, [function])
    assert ".jsonl" not in str(raised.value)
    if "'Paris'" in text or "5" in text:
        assert "for the question 'Paris?'" in str(raised.value)


@pytest.mark.slow
def test_without_a_version_functions_score_anew_and_with_one_from_the_cache(tmp_path: Path) -> None:
    counts: list[str] = []

    def count(response: str) -> bool:
        counts.append(response)
        return True

    for _ in range(2):
        evaluate(tmp_path, [count], version="1")
    assert len(counts) == len(ROWS)
    for _ in range(2):
        evaluate(tmp_path, [count])
    assert len(counts) == 3 * len(ROWS)


@pytest.mark.slow
def test_a_script_without_a_guard_runs_once(tmp_path: Path) -> None:
    program = """
        import basic_control as bc

        print("begins")

        @bc.metric
        def short(response) -> bool:
            return len(response) < FEW

        FEW = 3
        run = bc.evaluate([{"question": "a"}, {"question": "abcd"}], str.strip, metrics=short, gate="off")
        print(run.summary["score"][0])
    """
    finished = run_program(tmp_path, program)
    assert (finished.returncode, finished.stdout.split()) == (0, ["begins", "0.5"]), finished.stderr


@pytest.mark.slow
def test_a_metric_of_an_interactive_shell_sees_its_variables(tmp_path: Path) -> None:
    lines = """
import basic_control as bc
words = {"a"}
def listed(response): return response in words

rows = [{"question": "a", "gold": "a"}, {"question": "b", "gold": "b"}]
run = bc.evaluate(rows, str.strip, metrics=["exact_match", listed], columns={"answer": "gold"}, gate="off")
words.add("b")
again = bc.evaluate(rows, str.strip, metrics=listed, gate="off")
print("scores", run.summary["score"].to_list(), again.summary["score"].to_list())
"""
    finished = subprocess.run(
        [sys.executable, "-i", "-q"],
        cwd=tmp_path,
        input=lines,
        env={**os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "scores [1.0, 0.5] [1.0]" in finished.stdout, finished.stderr


@pytest.mark.slow
def test_what_a_run_repeats_later_names_the_function_that_is_gone(tmp_path: Path) -> None:
    program = """
        import basic_control as bc

        bc.evaluate([{"question": "a"}], str.strip, metrics=lambda response: True, gate="off")
    """
    assert run_program(tmp_path, program).returncode == 0
    (run,) = (path.name for path in (tmp_path / "artifacts" / "runs").iterdir() if path.name[0].isdigit())
    words = ("-m", "basic_control", "run", "--run", run, "--rerun", "score")
    again = run_program(tmp_path, program, *words)
    assert again.returncode == 2
    assert "it is a function of the Python process that started its run" in again.stderr
    assert "Traceback" not in again.stderr


def test_messages_speak_of_arguments_and_rows(tmp_path: Path) -> None:
    with pytest.raises(bc.InputError) as raised:
        evaluate(tmp_path, "exact_match", columns=None)
    assert str(raised.value).startswith("rows, row 1: column 'answer'")
    with pytest.raises(bc.InputError) as raised:
        evaluate(tmp_path, "exact_match", treshold=1)
    assert str(raised.value).startswith("treshold=1: unknown key")
    with pytest.raises(bc.InputError) as raised:
        evaluate(tmp_path, "exact_match", columns={"answer": "expcted"})
    assert "column 'expcted', named in `columns`, not found" in str(raised.value)
    assert str(raised.value).endswith("Did you mean 'expected'?")


@pytest.mark.slow
def test_a_failed_check_has_the_screen_and_a_summary_the_interval(tmp_path: Path) -> None:
    run = evaluate(tmp_path, "exact_match", threshold=0.9, gate="point")
    (row,) = run.summary.to_dicts()
    assert (row["suite"], row["model"], row["metric"], row["threshold"]) == (
        "evaluation",
        "echo",
        "exact_match",
        0.9,
    )
    assert (row["verdict"], row["scored"], row["asked"]) == ("fail", 6, 6)
    # Wilson's interval of 5 of 6.
    assert (row["low"], row["high"]) == pytest.approx((0.4365, 0.9699), abs=1e-4)
    with pytest.raises(AssertionError) as raised:
        run.check()
    assert str(raised.value) == str(run)
    evaluate(tmp_path, "exact_match", threshold=0.5, gate="point").check()


def test_reasons_of_judges_and_of_failed_calls_stand_beside_the_scores(tmp_path: Path) -> None:
    def fail_once(prompt: str) -> str:
        if "Oslo" in prompt:
            raise LookupError("no such city")
        return echo(prompt)

    def judge(body: dict[str, Any]) -> str:
        is_right = "I do not know" not in body["messages"][-1]["content"]
        return json.dumps({"reason": "It answers." if is_right else "It gives up.", "rating": 1 + 4 * is_right})

    with serve_openai(judge) as server:
        run = bc.evaluate(
            ROWS,
            fail_once,
            metrics=[{"rubric": {"criteria": "It answers."}}],
            judges={"name": "judge", "provider": "openai", "base_url": server.base_url},
            gate="off",
            **places(tmp_path),
        )
    reasons = run.scores["reason"].to_list()
    file, line = Path(__file__).name, fail_once.__code__.co_firstlineno + 2
    assert sorted(reasons) == [
        *["It answers."] * 4,
        "It gives up.",
        f"invalid: fail_once raised LookupError: no such city ({file}, line {line})",
    ]


@pytest.mark.slow
def test_a_notebook_shows_the_screen_once(tmp_path: Path) -> None:
    # As IPython's own module says that a kernel runs.
    kernel = "class ZMQInteractiveShell: ...\ndef get_ipython(): return ZMQInteractiveShell()\n"
    (tmp_path / "IPython.py").write_text(kernel, encoding="utf-8")
    program = """
        import IPython
        import basic_control as bc

        run = bc.evaluate([{"question": "a"}], str.strip, metrics=lambda response: True, threshold=1)
        print(run._repr_html_())
    """
    finished = run_program(tmp_path, program)
    assert finished.stderr.count("Pass: ") == finished.stdout.count("Pass: ") == 1
    assert "Report: " not in finished.stderr


@pytest.mark.slow
def test_a_client_that_was_made_once_serves_every_evaluation(tmp_path: Path) -> None:
    """A client keeps connections of the loop in which it was first used: the next evaluation goes on there."""
    with serve_openai(lambda body: body["messages"][-1]["content"]) as server:
        client = openai.AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=0)

        async def ask(prompt: str) -> str:
            reply = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": prompt.removesuffix("?")}]
            )
            return reply.choices[0].message.content or ""

        for _ in range(3):
            run = bc.evaluate(
                ROWS, ask, metrics="exact_match", columns=COLUMNS, threshold=1, concurrency=3, **places(tmp_path)
            )
            assert not any(run.samples["error"])
            run.check()


@pytest.mark.slow
def test_a_run_that_passes_without_a_row_says_why_the_row_is_missing(tmp_path: Path) -> None:
    def fail_once(prompt: str) -> str:
        if prompt == "11":
            raise LookupError("no such row")
        return prompt

    rows = [{"question": str(number), "answer": str(number)} for number in range(12)]
    run = bc.evaluate(rows, fail_once, metrics="exact_match", threshold=0.5, **places(tmp_path))
    assert run.passed
    assert "12 calls, 1 failed. Rows without a score: fail_once raised LookupError: no such row" in str(run)
