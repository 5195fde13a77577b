"""A judge's own prompt may show the whole conversation: its turns, the reply and what it called."""

from typing import Any

from basic_control.data.options import options_of
from basic_control.data.records import CALLS, RENDERED, TURNS
from basic_control.metrics.judging import begin
from basic_control.metrics.rubric import rubric

PROMPT = "Rate this.\n{{ conversation }}\n{{ response }}"


def shown(sample: dict[str, Any]) -> str:
    """Return what a judge is asked."""
    options = options_of(rubric, {"criteria": "Polite.", "prompt": PROMPT})
    (ask,) = begin(rubric, sample, language="en", options=options).asks
    return ask.messages[-1].content


def test_the_turns_of_the_prompt_the_reply_and_its_calls_are_shown() -> None:
    prompt = "user: Hello\n\nassistant: Hello, how can I help?\n\nuser: The weather?"
    calls = [{"name": "get_weather", "arguments": {"city": "Rome"}}]
    text = shown({RENDERED: prompt, "response": "I look it up.", CALLS: calls})
    assert f"{prompt}\n\nassistant: I look it up.\nget_weather(city='Rome')\nI look it up." in text


def test_a_single_question_is_the_user_s_turn_and_an_application_s_turns_stand_for_its_reply() -> None:
    assert "user: Why?\n\nassistant: Because." in shown({RENDERED: "Why?", "response": "Because."})
    turns = [{"role": "tool", "content": "31"}, {"role": "assistant", "content": "Warm."}]
    assert "user: Warm?\n\ntool: 31\n\nassistant: Warm." in shown(
        {RENDERED: "Warm?", "response": "Warm.", TURNS: turns}
    )
