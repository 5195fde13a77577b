"""Models of an Ollama server, asked through the ollama package."""

import hashlib
import json
import os
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, TypeVar

import httpx
import ollama

from basic_control.config.settings import Model
from basic_control.data.records import CONTEXT, Call, Message, Reply
from basic_control.data.tools import Tool, write_tool
from basic_control.tasks.models.access import find_ollama
from basic_control.tasks.models.dialect import Dialect
from basic_control.tasks.models.ollama_context import Context, is_prompt_cut, read_default
from basic_control.tasks.models.openai_forms import Body, Chat
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.replies import read_reply
from basic_control.tasks.models.server import CONNECT_S, Server
from basic_control.tasks.models.server_errors import Refusal

T = TypeVar("T")

_OUTSIDE = {"format", "think", "keep_alive", "truncate", "shift", "logprobs", "top_logprobs"}
"""Parameters that Ollama reads beside its options."""
_LARGEST = 1 << 20
"""Tokens of the largest context that is asked for."""
_NOT_ASKED = {"load", "unload"}
"""Ends of a reply for which the model was not run."""
_VARIABLE = "OLLAMA_API_KEY"
"""The variable of the key that the package sends if the model's entry names none."""


def _write_message(message: Message) -> dict[str, Any]:
    """Return a message as Ollama has it: a call's arguments are a mapping, and a tool's message has its name."""
    written: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        calls = [{"name": call["name"], "arguments": dict(call["arguments"])} for call in message.tool_calls]
        written["tool_calls"] = [{"function": call} for call in calls]
    if message.name:
        written["tool_name"] = message.name
    return written


def _flatten_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are set, with those that an entry's `extra` nests in `options`."""
    options = dict(parameters)
    nested = options.pop("options", None)
    if isinstance(nested, dict):
        options |= nested
    return {name: value for name, value in options.items() if value is not None}


class OllamaChat(Chat):
    """Ollama's own chats, in place of chat completions; `context` is what prompts are read in."""

    path = "/api/chat"
    holds = "reply in Ollama's format"
    structured = "format"
    names: Mapping[str, str] = {"max_tokens": "num_predict"}
    limits: Sequence[str] = ("num_predict",)

    def __init__(self, context: Context) -> None:
        self.context = context

    def body(
        self, model: str, messages: Iterable[Message], parameters: Mapping[str, Any], tools: Sequence[Tool] = ()
    ) -> Body:
        """Return a request's body: most parameters are its options."""
        options = _flatten_options(parameters)
        outside = {name: options.pop(name) for name in _OUTSIDE & set(options)}
        if isinstance(options.get("stop"), str):
            options["stop"] = [options["stop"]]
        if self.context.num_ctx:
            options.setdefault("num_ctx", self.context.num_ctx)
        body: Body = {"model": model, "messages": [*map(_write_message, messages)], "stream": False}
        body["tools"] = [{"type": "function", "function": write_tool(tool)} for tool in tools]
        return {**body, "options": options, **outside}

    def constrain(self, body: Body, schema: Mapping[str, Any] | None) -> None:
        """Request a reply that follows a schema, or any JSON if that is None."""
        body["format"] = "json" if schema is None else dict(schema)

    def find_constraint(self, body: Mapping[str, Any]) -> str:
        """Return the type of JSON that a body requests; '' if none."""
        form = _flatten_options(body).get("format", "")
        if form == "json":
            return "json_object"
        return "schema" if form else ""

    def read(self, body: Any) -> Reply:
        """Parse a reply.

        Raises:
            TypeError, ValueError: the form is wrong.
            CallError: it says that no reply was made.
        """
        answer = ollama.ChatResponse(**body)
        if not answer.done:
            raise CallError("server", "it sent an incomplete reply (`done` is not true)")
        if not answer.message.content and answer.done_reason in _NOT_ASKED:
            # It loads or unloads a model so, if it finds nothing to answer.
            raise CallError("empty", f"it made no answer (`done_reason` is {answer.done_reason})")
        return read_reply(
            answer.message.content or "",
            answer.message.thinking or "",
            finish_reason=answer.done_reason or "",
            tokens_in=answer.prompt_eval_count,
            tokens_out=answer.eval_count,
            calls=[
                {"name": tool_call.function.name, "arguments": dict(tool_call.function.arguments)}
                for tool_call in answer.message.tool_calls or ()
            ],
        )


class OllamaClient:
    """A model of an Ollama server at `base_url`, else OLLAMA_HOST, else port 11434 of this machine."""

    def __init__(self, model: Model) -> None:
        self._model = model
        variable, secret = model.api_key_env or _VARIABLE, os.environ.get(_VARIABLE, "")
        self._server = Server(model, find_ollama(model), variable=variable, secret=secret)
        self._errors = self._server.errors
        # A name with an owner may be that of a repository at Hugging Face.
        pull = f"get it with `ollama pull {model.server_name}`"
        if "/" in model.server_name and "." not in model.server_name.split("/", 1)[0]:
            pull += f" (from Hugging Face: `ollama pull hf.co/{model.server_name}`)"
        runs = "check that Ollama runs there (`ollama serve`), or set `base_url`"
        self._errors.advice |= {"unknown_model": pull, "connection": runs}
        self._client = ollama.AsyncClient(self._server.url, params=self._server.query, **self._server.options)
        # The package has no call for /api/version, and takes neither `truncate` nor a single text of `stop`.
        self._http: httpx.AsyncClient = self._client._client  # noqa: SLF001 - as said above
        self._context = Context()
        self._dialect = Dialect(model, OllamaChat(self._context), self._errors)

    async def identity(self) -> Mapping[str, str]:
        """Return provider, model, its digest on the server, and the server's version."""
        version = await self._find_version()
        self._context.default = read_default(version)
        answer = await self._reach(self._client.list())
        digests = {str(entry.model): str(entry.digest) for entry in answer.models if entry.model}
        name = self._model.server_name  # `phi3` is `phi3:latest`
        if ":" not in name.rsplit("/", 1)[-1]:
            name += ":latest"
        matches = [digest for model, digest in digests.items() if model.lower() == name.lower()]
        digest = matches[0] if matches else await self._digest_details(sorted(digests))
        return {
            "provider": "ollama",
            "model": self._model.server_name,
            "digest": digest,
            "server": f"ollama {version}",
        }

    async def ask(self, call: Call) -> Reply:
        """Ask once; see `Client`. A prompt that the server cut is asked once more, in a larger context."""
        self.expect([call])
        while True:
            if self._context.size and not self._context.window:
                self._context.window = await self._find_window()
            num_ctx = self._dialect.body_of(call)["options"].get("num_ctx")
            reply = await self._dialect.ask(call, self._send)
            if not is_prompt_cut(call, reply.tokens_in, num_ctx):
                break
            self._enlarge(num_ctx, reply.tokens_in or 0)
        if self._context.num_ctx:
            reply = replace(reply, extra={**reply.extra, CONTEXT: num_ctx})
        return reply

    def expect(self, calls: Iterable[Call]) -> None:
        """Choose one context for all calls: each other one would load the model again."""
        if "num_ctx" not in _flatten_options(self._model.extra):
            self._context.expect(calls)

    def doubts(self, call: Call, reply: Reply) -> bool:
        """Return whether a kept reply answers a prompt that the server cut."""
        num_ctx = reply.extra.get(CONTEXT) or _flatten_options({**self._model.extra, **call.parameters}).get(
            "num_ctx"
        )
        return is_prompt_cut(call, reply.tokens_in, num_ctx)

    async def _send(self, body: Body) -> bytes:
        return (await self._reach(self._http.post(OllamaChat.path, json=body))).content

    def _enlarge(self, num_ctx: int | None, n_read: int) -> None:
        """Ask for twice the context in which a prompt was cut.

        Raises:
            CallError: the entry sets the context, or the model has no larger one.
        """
        is_set = "num_ctx" in _flatten_options(self._model.extra)
        size = 2 * (num_ctx or n_read)
        if is_set or num_ctx == self._context.window or size > _LARGEST:
            advice = "raise `num_ctx` in the entry's `extra`" if is_set else "the model has no larger one"
            text = f"{self._errors.where} cut the prompt to its context: it read {n_read} tokens; {advice}"
            raise CallError("invalid", text)
        self._context.enlarge(size)

    async def _find_window(self) -> int:
        """Return the largest context of the model, as its server states it; a very large one if it does not."""
        try:
            details = await self._reach(self._client.show(self._model.server_name))
        except CallError:
            return _LARGEST
        # Such as llama.context_length.
        lengths = [n for name, n in (details.modelinfo or {}).items() if name.endswith(".context_length")]
        return next((n for n in lengths if isinstance(n, int) and n > 0), _LARGEST)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _find_version(self) -> str:
        """Return the server's version.

        Raises:
            CallError: it is no Ollama server, or refuses the key.
        """
        try:
            response = await self._reach(self._http.get("/api/version", timeout=CONNECT_S))
            return str(response.json()["version"])
        except Refusal as refusal:
            if refusal.kind == "auth":
                raise
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        where = self._errors.where
        raise CallError("server", f"{where}/api/version does not answer as Ollama does; check `base_url`")

    async def _digest_details(self, names: list[str]) -> str:
        """Return a digest of the server's details of a model that it does not list (a remote one).

        Raises:
            CallError: it does not know the model; the message names similar or available ones.
        """
        try:
            details = await self._reach(self._client.show(self._model.server_name))
        except CallError as error:
            if error.kind != "unknown_model":
                raise
            near = get_close_matches(self._model.server_name, names, n=5, cutoff=0.5) or names[:10]
            available = f"available: {', '.join(near)}" if near else "it has no models"
            raise CallError("unknown_model", self._errors.clean(f"{error.message}; {available}")) from None
        fields = details.model_dump(mode="json", exclude={"modified_at"})
        return "shown-" + hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()

    async def _reach(self, answering: Awaitable[T]) -> T:
        """Await the package's call and translate its errors into CallErrors."""
        try:
            with self._server.raise_call_errors():
                return await answering
        except Refusal as refusal:
            if refusal.kind == "invalid" and "does not support thinking" in refusal.body:
                text = f"{refusal.message}; remove `think` from the entry's `extra`"
                raise CallError("parameter", text) from None
            raise
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            text = self._errors.clean(str(error))
            where = self._errors.where
            raise CallError("server", f"{where} sent a body that is not in Ollama's format: {text}") from None
