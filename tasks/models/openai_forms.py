"""The two forms of OpenAI's API: chat completions, which many servers support, and responses."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from config.settings import Model
from data.options import Frozen
from data.records import Message, Reply
from tasks.models.protocol import CallError
from tasks.models.replies import read_reply

Body = dict[str, Any]
_BROKEN_OFF = frozenset({"error", "abort", "insufficient_system_resource"})
"""Finish reasons of a reply that the server gave up: OpenRouter's and Mistral's, vLLM's, DeepSeek's."""


class Chat:
    """Chat completions: how a call is written and its response read. `path` follows the base address.

    `names`: our parameters under its spelling; `lacks`: those it does not have. For messages: `holds` is the
    content of a response, `structured` the parameter that asks for JSON.
    """

    path = "/chat/completions"
    holds = "choices with a message"
    structured = "response_format"
    names: Mapping[str, str] = {}
    lacks: Sequence[str] = ()

    def body(self, model: str, messages: Iterable[Message], parameters: Mapping[str, Any]) -> Body:
        """Return a request's body; unknown parameters are passed through unchanged."""
        return {"model": model, "messages": _chat_messages(messages), **parameters}

    def constrain(self, body: Body, schema: Mapping[str, Any] | None) -> None:
        """Request a reply that follows a schema, or any JSON if that is None."""
        body["response_format"] = {"type": "json_object"}
        if schema is not None:
            strict = {"name": "reply", "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": strict}

    def constrained(self, body: Mapping[str, Any]) -> str:
        """Return the type of JSON that a body requests; empty if none."""
        return _type(body.get("response_format"))

    def read(self, body: Any) -> Reply:
        """Parse a chat completion: the first choice, and the tokens as OpenAI, DeepSeek or llama.cpp report them.

        Raises:
            KeyError, IndexError, TypeError, AttributeError: the form is wrong.
            CallError: it says that no reply was made.
        """
        choice = body["choices"][0]
        answer, thought = _contents(choice["message"])
        if (finish := str(choice.get("finish_reason") or "")) in _BROKEN_OFF:
            raise CallError("server", f"it broke off the reply ({finish})")
        usage, timings = _mapping(body.get("usage")), _mapping(body.get("timings"))
        read, kept = _count(timings, "prompt_n"), _count(timings, "cache_n")
        tokens_in = _count(usage, "prompt_tokens")
        tokens_out = _count(usage, "completion_tokens")
        thinking = _count(usage.get("completion_tokens_details"), "reasoning_tokens")
        cached = _count(usage.get("prompt_tokens_details"), "cached_tokens")
        total = _count(usage, "total_tokens") or 0
        # Gemini's and xAI's completion_tokens exclude the thinking, which is billed all the same.
        if tokens_in is not None and tokens_out is not None and (more := total - tokens_in - tokens_out) > 0:
            tokens_out, thinking = tokens_out + more, max(more, thinking or 0)
        if tokens_in is None and read is not None:
            tokens_in = read + (kept or 0)
        return read_reply(
            answer,
            thought,
            finish_reason=finish,
            tokens_in=tokens_in,
            tokens_out=_count(timings, "predicted_n") if tokens_out is None else tokens_out,
            thinking_tokens=thinking,
            cached_tokens=cached or _count(usage, "prompt_cache_hit_tokens") or kept,
        )


class Responses:
    """OpenAI's responses API, which some of its models need for thinking or to report more of it; as `Chat`."""

    path = "/responses"
    holds = "output of a response"
    structured = "text.format"
    names: Mapping[str, str] = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
    lacks: Sequence[str] = ("seed", "stop", "presence_penalty", "frequency_penalty", "logit_bias", "n")

    def body(self, model: str, messages: Iterable[Message], parameters: Mapping[str, Any]) -> Body:
        """Return a request's body; the server is told to store nothing unless a parameter `store` says so."""
        rest = dict(parameters)
        body: Body = {"model": model, "input": _chat_messages(messages), "store": False}
        for name, home, inner in (("reasoning_effort", "reasoning", "effort"), ("verbosity", "text", "verbosity")):
            if name in rest:
                rest[home] = {inner: rest.pop(name), **_mapping(rest.get(home))}
        return body | rest

    def constrain(self, body: Body, schema: Mapping[str, Any] | None) -> None:
        """Request a reply that follows a schema, or any JSON if that is None."""
        form: Body = {"type": "json_object"}
        if schema is not None:
            form = {"type": "json_schema", "name": "reply", "schema": schema, "strict": True}
        body["text"] = {**_mapping(body.get("text")), "format": form}

    def constrained(self, body: Mapping[str, Any]) -> str:
        """Return the type of JSON that a body requests."""
        return _type(_mapping(body.get("text")).get("format"))

    def read(self, body: Any) -> Reply:
        """Parse a response: messages are the text, reasoning items the thinking; a refusal is the text.

        Raises:
            KeyError, IndexError, TypeError, AttributeError: the form is wrong.
            CallError: it says that no reply was made.
        """
        if body["status"] in {"failed", "cancelled"}:
            raise CallError("server", f"the response has the status {body['status']!r}")
        texts, thoughts, refusals = [], [], []
        for item in body["output"]:
            for part in (*(item.get("summary") or ()), *(item.get("content") or ())):
                kind, text = part["type"], str(part.get("text") or "")
                if item["type"] == "reasoning":
                    thoughts.append(text)
                elif item["type"] == "message" and kind == "output_text":
                    texts.append(text)
                elif kind == "refusal":
                    refusals.append(str(part["refusal"]))
        finish = "refusal" if refusals and not texts else "stop"
        if body["status"] == "incomplete":
            finish = str(_mapping(body.get("incomplete_details")).get("reason") or "incomplete")
        usage = _mapping(body.get("usage"))
        return read_reply(
            "".join(texts or refusals),
            "\n".join(thoughts),
            finish_reason=finish,
            tokens_in=_count(usage, "input_tokens"),
            tokens_out=_count(usage, "output_tokens"),
            thinking_tokens=_count(usage.get("output_tokens_details"), "reasoning_tokens"),
            cached_tokens=_count(usage.get("input_tokens_details"), "cached_tokens"),
        )


Form = Chat | Responses


class Options(Frozen):
    """How the server is asked."""

    api: Literal["chat", "responses"] = Field(
        "chat", description="chat completions, which all such servers support, or OpenAI's responses API"
    )


def find_misfit(model: Model) -> str:
    """Return which of an entry's parameters its form of the API does not have; '' if it has them all."""
    names = [name for name in model.extra if name in Responses.lacks]
    if model.options["api"] == "chat" or not names:
        return ""
    return f"found `extra.{names[0]}`, which the responses API does not have; remove it, or set `api: chat`"


def _chat_messages(messages: Iterable[Message]) -> list[Body]:
    return [{"role": message.role, "content": message.content} for message in messages]


def _contents(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return (answer, reasoning) of a message; its content is a text or a list of parts."""
    content = message.get("content")
    thoughts = [
        str(message[k])
        for k in ("reasoning_content", "reasoning")
        if isinstance(message.get(k), str) and message[k]
    ]
    if isinstance(content, list):
        answer = "".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
        thoughts += [
            str(inner.get("text", ""))
            for part in content
            if part.get("type") == "thinking"
            for inner in part.get("thinking", ())
            if isinstance(inner, dict)
        ]
    else:
        answer = content if isinstance(content, str) else ""
    return answer or str(message.get("refusal") or ""), "\n".join(dict.fromkeys(thoughts))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _type(form: Any) -> str:
    return str(_mapping(form).get("type") or "")


def _count(counts: Any, name: str) -> int | None:
    value = _mapping(counts).get(name)
    return value if isinstance(value, int) else None
