"""Models of an Ollama server, asked through the ollama package."""

import hashlib
import json
import logging
import os
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, TypeVar

import httpx
import ollama

from basic_control.config.settings import Model
from basic_control.data.characters import make_visible
from basic_control.data.records import CONTEXT, Call, Message, Reply
from basic_control.data.tools import write_tool
from basic_control.tasks.models.access import find_ollama
from basic_control.tasks.models.ollama_context import Context, is_prompt_cut, read_default
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.refused_parameters import names_structure
from basic_control.tasks.models.replies import read_reply
from basic_control.tasks.models.server import CONNECT_S, Server
from basic_control.tasks.models.server_errors import Refusal

T = TypeVar("T")

_log = logging.getLogger(__name__.removeprefix("basic_control."))  # not a child of the events' logger

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
        self._structured = model.structured

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
            body = self._body_of(call)
            num_ctx = body["options"].get("num_ctx")
            try:
                answer = await self._reach(self._post(body))
            except Refusal as refusal:
                if call.schema is None or "format" not in body or not names_structure(refusal.body.lower()):
                    raise
                self._weaken(body["format"])
                continue
            if not answer.done:
                raise CallError("server", f"{self._errors.where} sent an incomplete reply (`done` is not true)")
            if not answer.message.content and answer.done_reason in _NOT_ASKED:
                # It loads or unloads a model so, if it finds nothing to answer.
                text = f"{self._errors.where} made no answer (`done_reason` is {answer.done_reason})"
                raise CallError("empty", text)
            if not is_prompt_cut(call, answer.prompt_eval_count, num_ctx):
                break
            self._enlarge(num_ctx, answer.prompt_eval_count or 0)
        reply = read_reply(
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
        if self._context.num_ctx:
            reply = replace(reply, extra={**reply.extra, CONTEXT: num_ctx})
        return reply

    def expect(self, calls: Iterable[Call]) -> None:
        """Choose one context for all calls: each other one would load the model again."""
        if "num_ctx" not in self._options_of({}):
            self._context.expect(calls)

    def doubts(self, call: Call, reply: Reply) -> bool:
        """Return whether a kept reply answers a prompt that the server cut."""
        num_ctx = reply.extra.get(CONTEXT) or self._options_of(call.parameters).get("num_ctx")
        return is_prompt_cut(call, reply.tokens_in, num_ctx)

    def _options_of(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return a call's parameters that are set, with those that the entry's `extra` nests in `options`."""
        options = {**self._model.extra, **parameters}
        nested = options.pop("options", None)
        if isinstance(nested, dict):
            options |= nested
        return {name: value for name, value in options.items() if value is not None}

    def _body_of(self, call: Call) -> dict[str, Any]:
        """Return the body of a call's request."""
        options = self._options_of(call.parameters)
        outside = {name: options.pop(name) for name in _OUTSIDE & set(options)}
        if "max_tokens" in options:
            options = {"num_predict": options.pop("max_tokens"), **options}
        if isinstance(options.get("stop"), str):
            options["stop"] = [options["stop"]]
        if self._context.num_ctx and "num_ctx" not in options:
            options["num_ctx"] = self._context.num_ctx
        if call.schema is not None and self._structured != "off":
            outside["format"] = dict(call.schema) if self._structured == "schema" else "json"
        messages = [_write_message(message) for message in call.messages]
        tools = [{"type": "function", "function": write_tool(tool)} for tool in call.tools]
        body = {"model": self._model.server_name, "messages": messages, "tools": tools, "stream": False}
        return {**body, "options": options, **outside}

    async def _post(self, body: Mapping[str, Any]) -> ollama.ChatResponse:
        response = await self._http.post("/api/chat", json=body)
        return ollama.ChatResponse(**response.json())

    def _weaken(self, form: Any) -> None:
        """Ask for JSON in a weaker way from now on than in a form that the server refused."""
        weaker = "off" if form == "json" or self._structured == "off" else "json"
        if weaker != self._structured:
            text = "model %s at %s refuses the format of its replies; continuing with %r"
            _log.warning(text, make_visible(self._model.name), self._errors.where, weaker)
        self._structured = weaker

    def _enlarge(self, num_ctx: int | None, n_read: int) -> None:
        """Ask for twice the context in which a prompt was cut.

        Raises:
            CallError: the entry sets the context, or the model has no larger one.
        """
        is_set = "num_ctx" in self._options_of({})
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
