"""Anthropic's Messages API, called through the anthropic package."""

import gc
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

from basic_control.config.settings import Model
from basic_control.data.errors import InputError
from basic_control.data.extras import format_install
from basic_control.data.messages import SYSTEM
from basic_control.data.records import Call, Message, Reply
from basic_control.data.tools import Tool
from basic_control.tasks.models.access import find_key_variable
from basic_control.tasks.models.dialect import Dialect
from basic_control.tasks.models.openai_forms import Body, Chat
from basic_control.tasks.models.replies import find_token_count, read_reply
from basic_control.tasks.models.server import CONNECT_S, Server

_USUAL = "https://api.anthropic.com"
_LACKS = frozenset({"seed", "presence_penalty", "frequency_penalty", "logit_bias", "n", "parallel_tool_calls"})
"""Parameters that the API does not have."""
_SAMPLING = frozenset({"temperature", "top_p", "top_k"})
_ENDS = {"max_tokens": "length", "model_context_window_exceeded": "length", "end_turn": "stop"}
"""Stop reasons under the names that other servers give them; the others keep their own, `refusal` among them."""


class Messages(Chat):
    """Messages, in place of chat completions."""

    path = "/v1/messages"
    holds = "content of a message"
    names: Mapping[str, str] = {"stop": "stop_sequences"}
    limits: Sequence[str] = ()

    def body(
        self, model: str, messages: Iterable[Message], parameters: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> Body:
        """Return a request's body; unknown parameters are passed through unchanged."""
        turns = [*messages]
        body: Body = {"model": model, "messages": _write_turns(turns)}
        system = "\n\n".join(message.content for message in turns if message.role in SYSTEM)
        if system:
            body["system"] = system
        if tools:
            body["tools"] = [*map(_write_tool, tools)]
        thinking = parameters.get("thinking")
        lacks = _LACKS
        if thinking and thinking.get("type") != "disabled":
            # Thinking goes with no sampling parameter.
            lacks = _LACKS | _SAMPLING
        body |= {name: value for name, value in parameters.items() if name not in lacks}
        if isinstance(body.get("stop_sequences"), str):
            body["stop_sequences"] = [body["stop_sequences"]]
        choice = body.pop("tool_choice", None)
        # The entry's `extra` may have tools too.
        if choice is not None and body.get("tools"):
            body["tool_choice"] = _write_choice(choice)
        return body

    def constrain(self, body: Body, schema: Mapping[str, Any] | None) -> None:
        """Ask for no form: the prompt describes it."""

    def read(self, body: Any) -> Reply:
        """Parse a message: its blocks of text, thinking and calls.

        Raises:
            KeyError, TypeError, AttributeError: the form is wrong.
        """
        texts, thoughts, calls = list[str](), list[str](), list[Body]()
        for block in body["content"]:
            if block["type"] == "text":
                texts.append(str(block["text"]))
            elif block["type"] == "thinking":
                thoughts.append(str(block["thinking"]))
            elif block["type"] == "tool_use":
                calls.append({"id": block.get("id"), "name": block["name"], "arguments": block.get("input")})
        finish = str(body.get("stop_reason") or "")
        usage = body.get("usage")
        cached = find_token_count(usage, "cache_read_input_tokens")
        tokens_in = find_token_count(usage, "input_tokens")
        if tokens_in is not None:
            # What was read from the cache, or written to it, is counted apart.
            tokens_in += (cached or 0) + (find_token_count(usage, "cache_creation_input_tokens") or 0)
        return read_reply(
            "".join(texts),
            "\n".join(thoughts),
            finish_reason=_ENDS.get(finish, finish),
            tokens_in=tokens_in,
            tokens_out=find_token_count(usage, "output_tokens"),
            cached_tokens=cached,
            calls=calls,
        )


class AnthropicClient:
    """A model behind Anthropic's API, or another server that speaks it at `base_url`."""

    def __init__(self, model: Model) -> None:
        self._model = model
        url = model.base_url or os.environ.get("ANTHROPIC_BASE_URL") or _USUAL
        self._server = Server(model, url.rstrip("/"), key_header="x-api-key", variable=find_key_variable(model))
        self._server.errors.advice |= {
            "connection": "check that the server runs there",
            "quota": "the account is exhausted: top it up, or use another key",
            "unknown_model": f"check the model name {model.server_name!r}",
        }
        self._dialect = Dialect(model, Messages(), self._server.errors)

    def prepare(self) -> None:
        """Import the package before the first call's time counts."""
        self.api  # noqa: B018 - made at its first use

    @cached_property
    def api(self) -> Any:
        """The package's own client.

        Raises:
            InputError: the extra is not installed.
        """
        import httpx2

        try:
            package = import_module("anthropic")
        except ImportError:
            advice = f"the extra `anthropic` is not installed; run: {format_install('anthropic')}"
            raise InputError(f"model {self._model.name!r}: {advice}") from None
        # The server's transport carries the key, and the scheduler tries again.
        client = package.AsyncAnthropic(
            api_key="none",
            base_url=self._server.url,
            max_retries=0,
            timeout=self._model.deadline_s,
            default_query=self._server.query,
            http_client=httpx2.AsyncClient(**self._server.options),
        )
        gc.freeze()  # objects of the package's import are permanent: exclude them from garbage collection
        return client

    async def identity(self) -> Mapping[str, str]:
        """Return provider, model and address; list the server's models once, to fail early."""
        await self._server.await_listing(self._send(None))
        return {"provider": "anthropic", "model": self._model.server_name, "base_url": self._server.where}

    async def ask(self, call: Call) -> Reply:
        """Ask once; a sampling parameter that the model refuses is left out, and the call repeated at once."""
        return await self._dialect.ask(call, self._send)

    async def close(self) -> None:
        """Close the connections."""
        await self._server.aclose()

    async def _send(self, body: Body | None) -> bytes:
        """Return the body of the response to a call; without one, of the list of models."""
        from httpx2 import Response

        api = self.api
        with self._server.raise_call_errors(import_module("anthropic").AnthropicError):
            if body is None:
                response = await api.get("/v1/models", cast_to=Response, options={"timeout": CONNECT_S})
            else:
                response = await api.post(Messages.path, cast_to=Response, body=body)
        return response.content


def _write_turns(messages: Sequence[Message]) -> list[Body]:
    """Return the turns of a conversation; the system's are a field of their own."""
    turns = list[Body]()
    for message in messages:
        if message.role in SYSTEM:
            continue
        if message.role in {"tool", "function"}:
            block = {"type": "tool_result", "tool_use_id": message.tool_call_id, "content": message.content}
            # What several tools returned stands in one turn.
            is_open = bool(turns) and isinstance(turns[-1]["content"], list) and turns[-1]["role"] == "user"
            if is_open:
                turns[-1]["content"].append(block)
            else:
                turns.append({"role": "user", "content": [block]})
            continue
        content: Any = message.content
        if message.tool_calls:
            content = [*_write_calls(message)]
        turns.append({"role": message.role, "content": content})
    return turns


def _write_calls(message: Message) -> list[Body]:
    """Return an assistant's turn that calls tools as blocks: its text, if any, then the calls."""
    blocks = list[Body]()
    if message.content:
        blocks.append({"type": "text", "text": message.content})
    for number, call in enumerate(message.tool_calls, 1):
        call_id = call.get("id") or f"call_{number}"
        blocks.append({"type": "tool_use", "id": call_id, "name": call["name"], "input": call["arguments"]})
    return blocks


def _write_tool(tool: Tool) -> Body:
    schema = {"type": "object", **tool.parameters}
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _write_choice(choice: Any) -> Any:
    """Return a `tool_choice` in Anthropic's form: `required` is `any`, a function is a tool."""
    if isinstance(choice, str):
        return {"type": "any" if choice == "required" else choice}
    function = choice.get("function") if isinstance(choice, Mapping) else None
    return {"type": "tool", "name": function["name"]} if isinstance(function, Mapping) else choice
