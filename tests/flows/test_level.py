"""The search for a model's level, from the command line, against models with a known curve."""

import json
import re
import subprocess
import zlib
from pathlib import Path
from typing import Any

from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers.running import Server, serve_openai

LEVEL = 7
"""Numbers in an expression that the scripted model gets right half of the time."""


def numbers(body: dict[str, Any]) -> tuple[int, float]:
    """Return how many numbers a question has, and a number from 0 to 1 that is the question's own."""
    text = str(body["messages"][-1]["content"])
    expression = next(line for line in text.splitlines() if re.fullmatch(r"[-+*() \d]+", line))
    return len(re.findall(r"\d+", expression)), zlib.crc32(text.encode()) / 2**32


def solve(text: str) -> int:
    """Evaluate the expression of a prompt, which the tests drew themselves."""
    expression = next(line for line in text.splitlines() if re.fullmatch(r"[-+*() \d]+", line))
    return int(eval(expression))  # noqa: S307 - digits, signs and parentheses only


def falls(body: dict[str, Any]) -> str:
    n, chance = numbers(body)
    right = chance < 1 / (1 + (n / LEVEL) ** 4)  # a logistic function of the logarithm
    return f"ANSWER: {solve(body['messages'][-1]['content']) + (not right)}"


def rises(body: dict[str, Any]) -> str:
    """Answer long expressions, and no short ones."""
    n, chance = numbers(body)
    right = chance < (0.95 if n >= LEVEL else 0.05)
    return f"ANSWER: {solve(body['messages'][-1]['content']) + (not right)}"


def search(run: Run, server: Server, *words: str, model: str = "m") -> subprocess.CompletedProcess[str]:
    models = json.dumps([{"name": "m", "provider": "openai", "base_url": server.base_url}])
    return run(model, "--family", "arithmetic", *words, "--set", f"models={models}", command="level")


def document(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((latest(folder) / "level.json").read_text(encoding="utf-8"))
    return found


def test_the_level_of_a_known_curve_is_found_and_no_question_is_asked_twice(run: Run, tmp_path: Path) -> None:
    with serve_openai(falls) as server:
        done = search(run, server, "--language", "ru", "--language", "en")
        assert done.returncode == 0, done.stderr
        first = document(tmp_path)
        asked = len(server.requests)
        again = search(run, server, "--language", "en", "--language", "ru", "--questions", "48")
        assert again.returncode == 0, again.stderr
        more = len(server.requests) - asked
    assert asked == 2 * 40
    assert more == 2 * 8, "the first 40 of 48 questions are those of a search of 40"
    for curve in first["curves"]:
        assert curve["low"] < LEVEL < curve["high"], curve
        assert curve["order"]["falls"]
        assert sum(rung["asked"] for rung in curve["rungs"]) == 40
        near = [rung["asked"] for rung in curve["rungs"] if 4 <= int(rung["value"]) <= 12]
        assert sum(near) > 30
    assert [curve["language"] for curve in first["curves"]] == ["ru", "en"]
    assert first["curves"][1]["unit"]["en"] == "numbers"
    assert "Level of m" in done.stdout
    page = next((latest(tmp_path) / "reports").glob("*.html")).read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "<script" not in page


def test_a_scale_that_does_not_hold_is_told(run: Run, tmp_path: Path) -> None:
    with serve_openai(rises) as server:
        done = search(run, server)
    assert done.returncode == 0, done.stderr
    (curve,) = document(tmp_path)["curves"]
    assert not curve["order"]["falls"]
    assert "the answers contradict the scale" in " ".join(done.stdout.split())


def test_a_model_family_or_number_that_there_is_not_is_one_message(run: Run) -> None:
    with serve_openai(falls) as server:
        for words, model, said in (
            ((), "nobody", "expected one of m"),
            (("--family", "alchemy"), "m", "alchemy"),
            (("--language", "xx"), "m", "xx"),
            (("--questions", "0"), "m", "Must be >= 1"),
        ):
            done = search(run, server, *words, model=model)
            assert done.returncode == 2, done.stdout
            assert said in done.stderr
            assert len(done.stderr.strip().splitlines()) == 1
        assert not server.requests
