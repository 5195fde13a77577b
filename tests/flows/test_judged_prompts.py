"""Judges are shown the prompt that a reply answered, whichever of a suite's prompts that was."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from basic_control.config.reading import read
from tests.conftest import Run
from tests.helpers.estimates import estimate
from tests.servers.running import Server, serve_openai

SHORT, LONG = "Say {{ word }}", "Write one word for {{ word }}"


def speak(body: dict[str, Any]) -> str:
    if body["model"] == "judge":
        return json.dumps({"reason": "as asked", "rating": 1})
    return f"You asked: {body['messages'][-1]['content']}"


def write_configuration(
    folder: Path, server: Server, prompts: Mapping[str, str], column: Mapping[str, str] | None = None
) -> Path:
    data = folder / "rows.jsonl"
    rows = [{"word": "salt", **(column or {})}, {"word": "tea", **(column or {})}]
    data.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    entry = {"provider": "openai", "base_url": server.base_url}
    suite = {
        "name": "words",
        "items": {"data": str(data)},
        "prompts": dict(prompts),
        "metrics": {"rubric": {"criteria": "It is polite.", "scale": [0, 1]}},
    }
    document = {
        "models": [{"name": "m", **entry}],
        "judges": [{"name": "judge", **entry, "exam": 0}],
        "suites": [suite],
        "gate": "off",
    }
    path = folder / "eval.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def list_shown(server: Server, start: int = 0) -> list[tuple[str, str]]:
    """Return the question and the response that each call of the judge shows, from a call on."""
    pairs = []
    for call in server.requests[start:]:
        if call.body["model"] != "judge":
            continue
        text = "\n".join(message["content"] for message in call.body["messages"])
        question = re.search(r"<question-\w+>\s*(.*?)\s*</question-", text, re.DOTALL)
        response = re.search(r"<response-\w+>\s*(.*?)\s*</response-", text, re.DOTALL)
        assert question, text
        assert response, text
        pairs.append((question[1], response[1]))
    return sorted(pairs)


def test_each_reply_is_judged_beside_its_own_prompt_and_another_prompts_text_changes_nothing(
    run: Run, tmp_path: Path
) -> None:
    with serve_openai(speak) as server:
        path = write_configuration(tmp_path, server, {"a": SHORT, "b": LONG})
        done = run("--config", str(path))
        assert done.returncode == 0, done.stderr
        texts = ["Say salt", "Say tea", "Write one word for salt", "Write one word for tea"]
        assert list_shown(server) == [(text, f"You asked: {text}") for text in texts]
        # The dry run foresees the same calls, all of which are remembered now.
        foreseen = estimate(read(path, [f"store.root={tmp_path}/store"]))
        assert {(part.name, part.calls, part.cached) for part in foreseen.portions} == {
            ("m [a]", 2, 2),
            ("m [b]", 2, 2),
            ("judge", 4, 4),
        }
        n_before = len(server.requests)
        path = write_configuration(tmp_path, server, {"a": "Name {{ word }}", "b": LONG})
        assert run("--config", str(path)).returncode == 0
        changed = ["Name salt", "Name tea"]
        assert list_shown(server, n_before) == [(text, f"You asked: {text}") for text in changed]


def test_a_row_that_says_its_question_is_judged_beside_it_whatever_the_prompt(run: Run, tmp_path: Path) -> None:
    with serve_openai(speak) as server:
        path = write_configuration(tmp_path, server, {"a": SHORT, "b": LONG}, {"question": "Which word?"})
        done = run("--config", str(path))
        assert done.returncode == 0, done.stderr
        assert {question for question, _ in list_shown(server)} == {"Which word?"}
