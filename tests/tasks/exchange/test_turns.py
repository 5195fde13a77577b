"""Conversations in other tools' files are read and written as turns, with the calls that were made."""

import json
from pathlib import Path

from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, read_eval_log, write_eval_log
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentReasoning,
    ContentText,
    ModelOutput,
)
from inspect_ai.scorer import Score
from inspect_ai.tool import ToolCall

from basic_control.data.messages import write_message, write_transcript
from basic_control.data.records import Message
from basic_control.tasks.exchange.finished import Evaluation, write_evaluations
from basic_control.tasks.exchange.log_files import read
from basic_control.tasks.exchange.log_suites import read as read_replay
from basic_control.tasks.exchange.log_suites import write as write_suite
from tests.conftest import Run
from tests.helpers.runs import latest

RUN = {"run_name": "r", "started": "2026-01-01T00:00:00+00:00"}
CALL = {"name": "get_weather", "arguments": {"city": "Rome"}}
ASKED = [ChatMessageSystem(content="Be brief."), ChatMessageUser(content="How warm is Rome?")]
TURNS: list[ChatMessage] = [
    *ASKED,
    ChatMessageAssistant(
        content=[ContentReasoning(reasoning="I look it up."), ContentText(text="A moment.")],
        tool_calls=[ToolCall(id="c1", function="get_weather", arguments={"city": "Rome"})],
    ),
    ChatMessageTool(content="31 degrees", tool_call_id="c1", function="get_weather"),
    ChatMessageAssistant(content="31 degrees."),
]


def write_inspect(path: Path, messages: list[ChatMessage], answer: str = "31 degrees.") -> Path:
    """Write a log of Inspect with one sample, by its own package."""
    output = ModelOutput.from_content("m", answer)
    reply = messages[-1]
    assert isinstance(reply, ChatMessageAssistant)
    output.choices[0].message = reply
    sample = EvalSample(
        id="rome",
        epoch=1,
        input=[*ASKED],
        target=answer or "x",
        messages=messages,
        output=output,
        scores={"match": Score(value="C")},
    )
    spec = EvalSpec(
        created=RUN["started"],
        task="chat",
        dataset=EvalDataset(name="chat", samples=1),
        model="m",
        config=EvalConfig(),
    )
    write_eval_log(EvalLog(eval=spec, status="success", samples=[sample]), str(path))
    return path


def test_a_log_of_inspect_has_turns_and_calls(tmp_path: Path) -> None:
    (row,) = read(write_inspect(tmp_path / "a.eval", TURNS)).rows
    assert row.question == "system: Be brief.\n\nuser: How warm is Rome?"
    assert row.response == "31 degrees."
    assert [message.role for message in row.turns.before] == ["system", "user", "assistant", "tool"]
    assert row.turns.before[2].content == "A moment.", "what was thought is no text"
    assert row.turns.before[2].tool_calls == ({**CALL, "id": "c1"},)
    assert (row.turns.before[3].tool_call_id, row.turns.before[3].name) == ("c1", "get_weather")
    assert "get_weather(city='Rome')" in write_transcript(row.turns.before)


def test_a_reply_of_calls_alone_keeps_them_as_calls(tmp_path: Path) -> None:
    call = ToolCall(id="c1", function="get_weather", arguments={"city": "Rome"})
    log = write_inspect(tmp_path / "a.eval", [*ASKED, ChatMessageAssistant(content="", tool_calls=[call])], "")
    (row,) = read(log).rows
    assert row.response == ""
    assert row.turns.calls == ({**CALL, "id": "c1"},)


def test_turns_of_a_log_are_turns_in_a_run_and_its_calls_are_scored(run: Run, tmp_path: Path) -> None:
    call = ToolCall(id="c1", function="get_weather", arguments={"city": "Rome"})
    path = write_inspect(tmp_path / "a.eval", [*ASKED, ChatMessageAssistant(content="", tool_calls=[call])], "")
    log = read_replay(path)
    write_suite(log, tmp_path / "in", metric="tool_calls")
    rows = tmp_path / "in" / "rows.jsonl"
    row = {**json.loads(rows.read_text(encoding="utf-8")), "calls": [CALL]}
    rows.write_text(json.dumps(row), encoding="utf-8")
    done = run("--config", str(tmp_path / "in" / "run.yaml"), "--set", "gate=off")
    assert done.returncode == 0, done.stderr
    results = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    assert [model["score"] for model in results["final"]["models"]] == [1.0]
    (report,) = (latest(tmp_path) / "reports").glob("*.md")
    assert "user: How warm is Rome?" in report.read_text(encoding="utf-8")


def test_our_log_has_a_conversation_in_the_form_of_inspect(tmp_path: Path) -> None:
    sent = (
        Message("developer", "Be brief."),
        Message("user", "How warm is Rome?"),
        Message("assistant", "", ({**CALL, "id": "c1"},)),
        Message("tool", "31 degrees", tool_call_id="c1", name="get_weather"),
        Message("user", "And in May?"),
    )
    row = {"repeat": 0, "answer": "x", "facts": None, "error": None, "error_kind": None, "finish_reason": "stop"}
    row |= {"tokens_in": 1, "tokens_out": 1, "scores": None, "extra": None}
    asked = {"messages": [*map(write_message, sent)]}
    called_alone = {"prompt": write_transcript(sent), "text": "", "extra": json.dumps({"tool_calls": [CALL]})}
    reply = {**row, **called_alone, "item_id": "q", "payload": json.dumps(asked)}
    greeting = json.dumps({"messages": [{"role": "user", "content": "Hi?"}]})
    alone = {**row, "item_id": "p", "prompt": "Hi?", "text": "Hi.", "payload": greeting}
    evaluation = Evaluation("chat", "m", (), {}, (reply, alone))
    (path,) = write_evaluations([evaluation], tmp_path, **RUN)
    # Inspect's own package reads what was written for it.
    samples = {sample.id: sample for sample in read_eval_log(str(path)).samples or ()}
    messages = samples["q"].messages
    assert [message.role for message in messages] == ["system", "user", "assistant", "tool", "user", "assistant"]
    assert samples["q"].input == messages[:-1]
    called = messages[2]
    assert isinstance(called, ChatMessageAssistant)
    assert [(call.id, call.function, call.arguments) for call in called.tool_calls or ()] == [
        ("c1", "get_weather", {"city": "Rome"})
    ]
    answered = messages[-1]
    assert isinstance(answered, ChatMessageAssistant)
    assert [call.function for call in answered.tool_calls or ()] == ["get_weather"]
    assert samples["p"].input == "Hi?"
    rows = {row.id: row for row in read(path).rows}
    assert [message.content for message in rows["q"].turns.before] == [message.content for message in sent]
    assert rows["q"].turns.calls[0]["name"] == "get_weather"
    assert rows["p"].turns.before == ()


def test_promptfoos_prompt_of_messages_is_turns_and_its_output_of_calls_is_calls(tmp_path: Path) -> None:
    prompt = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How warm is Rome?"}]
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
    row = {
        "provider": {"id": "openai:chat:m"},
        "prompt": {"raw": json.dumps(prompt), "label": "chat"},
        "vars": {},
        "response": {"output": [call]},
        "success": True,
        "score": 1,
        "testCase": {},
        "promptIdx": 0,
    }
    whole = {"results": {"version": 3, "results": [row], "prompts": [{"raw": json.dumps(prompt)}], "stats": {}}}
    path = tmp_path / "results.json"
    path.write_text(json.dumps(whole), encoding="utf-8")
    (recorded,) = read(path).rows
    assert recorded.question == "system: Be brief.\n\nuser: How warm is Rome?"
    assert [message.role for message in recorded.turns.before] == ["system", "user"]
    assert recorded.turns.calls == (CALL,)
    assert recorded.response == ""


def test_messages_of_strange_form_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    strange = [
        {"role": "robot", "content": {"a": 1}},
        {"role": "user", "content": [{"type": "image", "image": "x"}, {"type": "text", "text": "See?"}, 7, None]},
        {"role": "assistant", "content": None, "tool_calls": [{"broken": 1}, "text", None, {"function": "f"}]},
        {"role": "tool", "content": "attachment://gone", "tool_call_id": 5, "name": ["x"]},
        {"role": "assistant", "content": "\ud800</script>"},
    ]
    sample = {"id": 1, "epoch": 1, "input": strange, "target": "", "messages": strange, "output": {"choices": [{}]}}
    path = tmp_path / "log.json"
    header = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}
    scored = {**sample, "scores": {"match": {"value": "C"}}}
    path.write_text(json.dumps({**header, "samples": [scored]}), encoding="utf-8")
    (row,) = read(path).rows
    assert [message.role for message in row.turns.before] == ["user", "user", "assistant", "tool"]
    assert row.turns.before[1].content == "See?"


def test_a_conversation_in_a_log_is_the_question_of_our_run(run: Run, tmp_path: Path) -> None:
    """Whether the system message stands in the row or in the suite; the run's other suite asks something else."""
    reply = ChatMessageAssistant(content="31 degrees.")
    turns = [ChatMessageUser(content="I am in Rome."), ChatMessageAssistant(content="Fine."), ASKED[1]]
    log = write_inspect(tmp_path / "theirs.json", [ASKED[0], *turns, reply])
    # One file leaves the system message to the suite, the other has it in the row.
    messages = [{"role": message.role, "content": message.content} for message in turns]
    row = {"messages": messages, "answer": "31 degrees.", "response": "31 degrees."}
    (tmp_path / "chats.jsonl").write_text(json.dumps(row), encoding="utf-8")
    row["messages"] = [{"role": "system", "content": "Be brief."}, *messages]
    (tmp_path / "briefed.jsonl").write_text(json.dumps(row), encoding="utf-8")
    # Beside another suite, whose metric comes first, the log is compared with the one that asks the same.
    sums = {"question": "1 + 1", "answer": "2", "response": "2"}
    (tmp_path / "sums.jsonl").write_text(json.dumps(sums), encoding="utf-8")
    for name in ("chats", "briefed"):
        suites = [
            {
                "name": "sums",
                "items": {"data": str(tmp_path / "sums.jsonl")},
                "metrics": ["number"],
                "responses_of": "ours",
            },
            {
                "name": name,
                "items": {"data": str(tmp_path / f"{name}.jsonl")},
                "metrics": ["contains"],
                "responses_of": "ours",
            },
        ]
        configuration = tmp_path / f"{name}.json"
        configuration.write_text(json.dumps({"suites": suites, "gate": "off"}), encoding="utf-8")
        done = run("--config", str(configuration))
        assert done.returncode == 0, done.stderr
        compared = run(str(log), "last", command="compare")
        assert compared.returncode == 0, compared.stderr
        assert f"{name}: 1 question in all runs" in compared.stdout, compared.stdout
        assert f"{name}: match / contains" in compared.stdout, compared.stdout
