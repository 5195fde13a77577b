"""The two forms of OpenAI's API: chat completions, which many servers support, and responses."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from basic_control.config.settings import Judge, Model
from basic_control.data.filters import is_filtered
from basic_control.data.messages import write_message
from basic_control.data.options import Frozen
from basic_control.data.records import Message, Reply
from basic_control.data.tools import Tool, write_tool
from basic_control.data.truncation import LIMITS
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.replies import find_token_count, read_reply

Body = dict[str, Any]
_OF_TOOLS = frozenset({"tool_choice", "parallel_tool_calls"})
_BROKEN_OFF = frozenset({"error", "abort", "insufficient_system_resource"})
"""Finish reasons of a reply that the server gave up: OpenRouter's and Mistral's, vLLM's, DeepSeek's."""


class Chat:
    """Chat completions: how a call is written and its response read. `path` follows the base address.

    `names`: our parameters under its spelling; `lacks`: those it does not have; `limits`: other names of
    max_tokens. For messages: `holds` is the content of a response, `structured` the parameter that asks for JSON.
    """

    path = "/chat/completions"
    holds = "choices with a message"
    structured = "response_format"
    names: Mapping[str, str] = {}
    lacks: Sequence[str] = ()
    limits: Sequence[str] = ("max_completion_tokens", "max_output_tokens")

    def body(
        self, model: str, messages: Iterable[Message], parameters: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> Body:
        """Return a request's body; unknown parameters are passed through unchanged."""
        body: Body = {"model": model, "messages": [*map(_write_chat_message, messages)], **parameters}
        if tools:
            body["tools"] = [{"type": "function", "function": write_tool(tool)} for tool in tools]
        return _drop_choice(body)

    def constrain(self, body: Body, schema: Mapping[str, Any] | None) -> None:
        """Request a reply that follows a schema, or any JSON if that is None."""
        body["response_format"] = {"type": "json_object"}
        if schema is not None:
            strict = {"name": "reply", "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": strict}

    def find_constraint(self, body: Mapping[str, Any]) -> str:
        """Return the type of JSON that a body requests; '' if none."""
        return str(_mapping(body.get("response_format")).get("type") or "")

    def read(self, body: Any) -> Reply:
        """Parse a chat completion: the first choice, and the tokens as OpenAI, DeepSeek or llama.cpp report them.

        Raises:
            KeyError, IndexError, TypeError, AttributeError: the form is wrong.
            CallError: it says that no reply was made.
        """
        choice = _read_first_choice(body)
        answer, thought, refusal = _read_contents(choice["message"])
        calls = _read_chat_calls(choice["message"])
        finish = "refusal" if refusal else str(choice.get("finish_reason") or "")
        if finish in _BROKEN_OFF:
            raise CallError("server", f"it broke off the reply ({finish})")
        usage, timings = _mapping(body.get("usage")), _mapping(body.get("timings"))
        tokens_in = find_token_count(usage, "prompt_tokens")
        tokens_out = find_token_count(usage, "completion_tokens")
        thinking = find_token_count(usage.get("completion_tokens_details"), "reasoning_tokens") or 0
        cached = find_token_count(usage.get("prompt_tokens_details"), "cached_tokens")
        cached = (
            cached or find_token_count(usage, "prompt_cache_hit_tokens") or find_token_count(timings, "cache_n")
        )
        # Gemini's and xAI's completion_tokens exclude the thinking, which is billed all the same.
        if tokens_in is not None and tokens_out is not None:
            hidden = max(0, (find_token_count(usage, "total_tokens") or 0) - tokens_in - tokens_out)
            tokens_out, thinking = tokens_out + hidden, max(hidden, thinking)
        # llama.cpp counts what it has read, and what it had in its cache, apart.
        if tokens_in is None and "prompt_n" in timings:
            tokens_in = (find_token_count(timings, "prompt_n") or 0) + (find_token_count(timings, "cache_n") or 0)
        if tokens_out is None:
            tokens_out = find_token_count(timings, "predicted_n")
        return read_reply(
            answer or refusal,
            thought,
            finish_reason=finish,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            thinking_tokens=thinking,
            cached_tokens=cached,
            calls=calls,
        )


class Responses:
    """OpenAI's responses API, which some of its models need for thinking or to report more of it; as `Chat`."""

    path = "/responses"
    holds = "output of a response"
    structured = "text.format"
    names: Mapping[str, str] = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
    lacks: Sequence[str] = ("seed", "stop", "presence_penalty", "frequency_penalty", "logit_bias", "n")
    limits = Chat.limits

    def body(
        self, model: str, messages: Iterable[Message], parameters: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> Body:
        """Return a request's body; the server is told to store nothing unless a parameter `store` says so."""
        parameters = dict(parameters)
        body: Body = {"model": model, "input": [*_write_items(messages)], "store": False}
        if tools:
            body["tools"] = [{"type": "function", **write_tool(tool)} for tool in tools]
        # What chat completions have at the top is inside an object here.
        for name, home, inner in (("reasoning_effort", "reasoning", "effort"), ("verbosity", "text", "verbosity")):
            if name in parameters:
                parameters[home] = {inner: parameters.pop(name), **_mapping(parameters.get(home))}
        return _drop_choice(body | parameters)

    def constrain(self, body: Body, schema: Mapping[str, Any] | None) -> None:
        """Request a reply that follows a schema, or any JSON if that is None."""
        form: Body = {"type": "json_object"}
        if schema is not None:
            form = {"type": "json_schema", "name": "reply", "schema": schema, "strict": True}
        body["text"] = {**_mapping(body.get("text")), "format": form}

    def find_constraint(self, body: Mapping[str, Any]) -> str:
        """Return the type of JSON that a body requests; '' if none."""
        form = _mapping(_mapping(body.get("text")).get("format"))
        return str(form.get("type") or "")

    def read(self, body: Any) -> Reply:
        """Parse a response: messages are the text, reasoning items the thinking; a refusal is the text.

        Raises:
            KeyError, IndexError, TypeError, AttributeError: the form is wrong.
            CallError: it says that no reply was made.
        """
        if body["status"] in {"failed", "cancelled"}:
            raise CallError("server", f"the response has the status {body['status']!r}")
        # A reply is a list of items, and each item a list of parts.
        texts, thoughts, refusals = [], [], []
        for item in body["output"]:
            for part in (*(item.get("summary") or ()), *(item.get("content") or ())):
                kind, text = part["type"], part.get("text") or ""
                if not isinstance(text, str):
                    raise TypeError("expected a text")
                if item["type"] == "reasoning":
                    thoughts.append(text)
                elif item["type"] == "message" and kind == "output_text":
                    texts.append(text)
                elif kind == "refusal":
                    refusals.append(str(part["refusal"]))
        finish = "refusal" if refusals else "stop"
        if body["status"] == "incomplete":
            finish = str(_mapping(body.get("incomplete_details")).get("reason") or "incomplete")
        items = [item for item in body["output"] if item["type"] == "function_call"]
        calls = [*map(_read_call_item, items)]
        if not (texts or refusals or thoughts or calls) and finish == "stop":
            raise CallError("empty", "it made no answer: its output is empty")
        usage = _mapping(body.get("usage"))
        return read_reply(
            "".join(texts or refusals),
            "\n".join(thoughts),
            finish_reason=finish,
            tokens_in=find_token_count(usage, "input_tokens"),
            tokens_out=find_token_count(usage, "output_tokens"),
            thinking_tokens=find_token_count(usage.get("output_tokens_details"), "reasoning_tokens"),
            cached_tokens=find_token_count(usage.get("input_tokens_details"), "cached_tokens"),
            calls=calls,
        )


Form = Chat | Responses


class Options(Frozen):
    """How the server is asked."""

    api: Literal["chat", "responses", "decisions", "systemone", "logprobs"] = Field(
        "chat",
        description="chat completions, which all such servers support, or OpenAI's responses API; of a judge "
        "also decisions or systemone, whose models decide by probabilities, or logprobs: a chat model's "
        "probabilities of the labels' first tokens",
    )


LOGPROBS = "logprobs"
DECIDING = frozenset({"decisions", "systemone", LOGPROBS})
"""The forms in which a judge is put typed questions."""


def find_misfit(model: Model) -> str:
    """Return what of an entry its form of the API does not have; '' if it has all."""
    api = model.options["api"]
    if api in DECIDING and not isinstance(model, Judge):
        return f"found `api: {api}` of a model; only an entry of `judges` decides"
    if api in DECIDING and model.batch != "off":
        return f"found `batch: {model.batch}` with `api: {api}`, which has no batch endpoint; leave it off"
    names = [name for name in model.extra if name in Responses.lacks]
    if api != "responses" or not names:
        return ""
    return f"found `extra.{names[0]}`, which the responses API does not have; remove it, or set `api: chat`"


def _drop_choice(body: Body) -> Body:
    """Return a body without what says how to choose among tools, if it has none: servers refuse that."""
    if body.get("tools"):
        return body
    return {name: value for name, value in body.items() if name not in _OF_TOOLS}


def _write_chat_message(message: Message) -> Body:
    """Return a message as chat completions have it: a call's arguments are JSON text."""
    written = write_message(message)
    if message.tool_calls:
        written["content"] = message.content or None
        written["tool_calls"] = [
            {
                "id": call.get("id") or f"call_{number}",
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["arguments"], ensure_ascii=False)},
            }
            for number, call in enumerate(message.tool_calls, 1)
        ]
    return written


def _write_items(messages: Iterable[Message]) -> Iterator[Body]:
    """Yield messages as the responses API has them: calls and what they returned are items of their own."""
    for message in messages:
        if message.role in {"tool", "function"}:
            yield {"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}
            continue
        if message.content or not message.tool_calls:
            yield {"role": message.role, "content": message.content}
        for number, call in enumerate(message.tool_calls, 1):
            arguments = json.dumps(call["arguments"], ensure_ascii=False)
            call_id = call.get("id") or f"call_{number}"
            yield {"type": "function_call", "call_id": call_id, "name": call["name"], "arguments": arguments}


def _read_call_item(item: Mapping[str, Any]) -> Body:
    """Return the call in an item of a response's output."""
    return {"id": item.get("call_id"), "name": item["name"], "arguments": item.get("arguments")}


def _read_chat_calls(message: Mapping[str, Any]) -> list[Body]:
    """Return the calls of a message: `tool_calls`, or the single `function_call` of earlier servers."""
    calls = list[Body]()
    for call in message.get("tool_calls") or ():
        function = call["function"]
        calls.append({"id": call.get("id"), "name": function["name"], "arguments": function.get("arguments")})
    function = message.get("function_call")
    if function and not calls:
        calls.append({"name": function["name"], "arguments": function.get("arguments")})
    return calls


def _read_first_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first choice, with a message: an empty one where the choice says why there is none.

    Raises:
        CallError: no answer was made: a filter blocked the prompt, or the server does not say why.
    """
    choices = body["choices"]
    choice = choices[0] if choices else {}
    if choice.get("message") is not None:
        return dict(choice)
    finish = str(choice.get("finish_reason") or "")
    if is_filtered(finish) or finish.strip().lower() in LIMITS:
        return {**choice, "message": {}}
    reason = _find_block_reason(body)
    if reason:
        raise CallError("filtered", f"a content filter blocked the prompt ({reason})")
    lacking = "a choice without a message" if choices else "no choice"
    raise CallError("empty", f"it made no answer: {lacking}")


def _find_block_reason(body: Mapping[str, Any]) -> str:
    """Return why a prompt was blocked: Gemini's block reason, or what Azure's filter found; '' if it was not."""
    for name in ("promptFeedback", "prompt_feedback"):
        feedback = _mapping(body.get(name))
        reason = feedback.get("blockReason") or feedback.get("block_reason")
        if reason:
            return str(reason)[:60]
    results = body.get("prompt_filter_results") or body.get("prompt_annotations") or ()
    filters: list[str] = []
    for result in results:
        kinds = _mapping(_mapping(result).get("content_filter_results"))
        filters += [name for name, kind in kinds.items() if _mapping(kind).get("filtered") is True]
    return ", ".join(filters)


def _read_contents(message: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return (answer, reasoning, refusal) of a message; its content is a text or a list of parts."""
    content = message.get("content")
    thoughts = [message.get("reasoning_content"), message.get("reasoning")]
    texts = [content]
    if isinstance(content, list):
        texts = [part["text"] for part in content if part.get("type") == "text"]
        for part in content:
            if part.get("type") == "thinking":
                thoughts += [_mapping(inner).get("text") for inner in part.get("thinking", ())]
    # A number or an object is no answer, and nothing says what it means.
    if content is not None and not all(isinstance(text, str) for text in texts):
        raise TypeError("expected a text")
    answer = "".join(text for text in texts if isinstance(text, str))
    # Some servers send the reasoning under both names.
    reasoning = dict.fromkeys(thought for thought in thoughts if thought and isinstance(thought, str))
    refusal = message.get("refusal")
    if isinstance(content, list) and not refusal:
        refusal = next((part.get("refusal") for part in content if part.get("type") == "refusal"), None)
    return answer, "\n".join(reasoning), refusal.strip() if isinstance(refusal, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
