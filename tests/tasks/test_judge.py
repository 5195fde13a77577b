"""What a judge is asked: the metric's own words and temperature, and what its configuration says."""

import json
from typing import Any

import pytest

from basic_control.config.settings import Judge
from basic_control.data.records import Message, Question
from basic_control.metrics.judging import Judgement, JudgeRequest, write
from basic_control.tasks.judge import decode, encode, pose_question
from basic_control.tasks.plan import Panel
from basic_control.tasks.store.samples import SampleRow
from tests.metrics.judge_pages import FOLDER, pages

ASK = JudgeRequest("rate", Question("all", {}), (Message("system", "Rate it."), Message("user", "A text.")))
SAMPLE = SampleRow("i", "m", 0, "en", {}, None, None)


def asked(metrics: float | None, **judge: Any) -> dict[str, Any]:
    one = Judge(name="j", **judge)
    row = pose_question(one, Panel((one,), {"j": {"provider": "ollama"}}, metrics), SAMPLE, ASK)
    found: dict[str, Any] = json.loads(row["payload"])
    return found


@pytest.mark.parametrize(
    ("metrics", "judges", "sent"),
    [(None, None, 0.0), (0.1, None, 0.1), (0.0, None, 0.0), (0.1, 0.0, 0.0), (0.0, 0.7, 0.7), (None, 0.3, 0.3)],
)
def test_a_temperature_that_a_judge_was_given_stands_over_the_metrics(
    metrics: float | None, judges: float | None, sent: float
) -> None:
    assert asked(metrics, temperature=judges)["parameters"]["temperature"] == sent


def test_a_judges_system_prompt_is_said_before_the_metrics() -> None:
    assert asked(None)["messages"][0] == {"role": "system", "content": "Rate it."}
    messages = asked(None, system="Be strict.")["messages"]
    assert messages[0] == {"role": "system", "content": "Be strict.\n\nRate it."}
    assert [message["role"] for message in messages] == ["system", "user"]


def test_what_a_judge_found_comes_back_from_json_as_it_was() -> None:
    rated = Judgement("PARTLY", 1.0, "half of it")
    found = {"rate": {"all": rated}, "claims": {"all": ["Anna wrote it.", "1"]}, "none": {}, "judgement": {"a": []}}
    assert decode(json.loads(json.dumps(encode(found)))) == found


@pytest.mark.parametrize("structured", ["schema", "json"])
def test_a_chat_judges_requests_are_those_that_were_kept_before_steps_were_typed(structured: str) -> None:
    recorded = json.loads((FOLDER / "keys.json").read_text(encoding="utf-8"))
    judge = Judge.model_validate({"name": "j", "provider": "openai", "structured": structured})
    panel = Panel((judge,), {"j": {"provider": "openai", "model": "j"}}, 0.0)
    for page in pages():
        ask = write(page.step, page.question, page.language, {"prompt": ""})
        sample = SampleRow("i", "m", 0, page.language, {}, None, None)
        request_id = pose_question(judge, panel, sample, ask)["request_id"]
        assert request_id == recorded[f"{page.name} {structured}"], page.name
