"""Servers with OpenAI's API: OpenAI, Azure, Gemini's compatible endpoint, vLLM and many others."""

import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import tasks.models.partial  # noqa: F401 - first, so that half of openai stays where it is

# isort: split
import httpx2
import openai
from openai import AsyncAzureOpenAI, AsyncOpenAI, DefaultAioHttpClient, RequestOptions

from config.settings import Model
from data.characters import visible
from data.draw import canonical
from data.records import Call, Reply
from tasks.models.bodies import ACCEPTED, BoundedBody, bound
from tasks.models.errors import USED_UP, ServerErrors, read_error
from tasks.models.openai_forms import Chat, Form, Responses, identified
from tasks.models.protocol import CallError
from tasks.models.replies import read_reply
from tasks.models.secrets import Secrets, bare, carriers, find_key, key_variable, read_address

_log = logging.getLogger(__name__)

_OPTIONAL = ("temperature", "top_p", "seed", "stop", "presence_penalty", "frequency_penalty")
_LIMITS = ("max_completion_tokens", "max_output_tokens")
_STRENGTHS = ("schema", "json", "off")
_STRUCTURED = ("response_format", "text.format", "json_schema", "json_object", "'json'", "guided", "json mode")
_UNSUPPORTED = (
    "unsupported", "not support", "unknown", "unrecognized", "not permitted", "extra_forbidden", "unexpected",
)  # fmt: skip
_KEYS = frozenset({"authorization", "api-key"})
_CONNECT_S = 30.0
_REFUSING = (openai.BadRequestError, openai.UnprocessableEntityError)
"""Errors of a server that refuses a parameter by name."""
_OPTIONS: RequestOptions = {
    "security": {"bearer_auth": True},  # OPENAI_ADMIN_KEY is not for model calls
    "idempotency_key": "none",  # never sent, but the package draws random bytes for it on each call
}


class _Stream(BoundedBody, httpx2.AsyncByteStream):
    """A bounded body that httpx2 reads."""


class OpenAIClient:
    """A model behind an OpenAI-compatible server, called through the openai package, whose client is `api`.

    What a server refuses by name (max_tokens, a sampling parameter, structured output) is renamed or left out from
    then on, with a warning in the log: some models accept no temperature, for example. `key` is given only for our
    own server on this machine, which is never reached through a proxy.
    """

    def __init__(self, model: Model, *, key: str = "") -> None:
        azure, local = model.provider == "azure", bool(key)
        key = key or find_key(model)
        timeout = httpx2.Timeout(model.deadline_s, connect=min(_CONNECT_S, model.deadline_s))
        # The endpoint limits concurrency (`rate_limits`). 0: no limit here; None would be aiohttp's own, 100.
        limits = httpx2.Limits(max_connections=0, keepalive_expiry=60.0)
        url, headers, query = read_address(model, model.base_url)
        elsewhere = bool(model.key_place)
        # The package itself sends a key that has no place of its own.
        carrying, asking = carriers(model, key, headers) if elsewhere or not key else ({}, {})
        without = [_leaving_out(_KEYS - {name.lower() for name in carrying})] if elsewhere else []
        held = bound(_Stream, model.max_response_bytes, bare(url) or "the server")
        common: dict[str, Any] = {
            # The package requires one; servers without keys ignore it.
            "api_key": "none" if elsewhere else key or "none",
            "default_headers": {"Accept-Encoding": ACCEPTED, **carrying},
            "default_query": query | asking,
            "max_retries": 0,
            "timeout": timeout,
            # A redirect to another host would take our headers with it.
            "http_client": DefaultAioHttpClient(
                timeout=timeout,
                limits=limits,
                trust_env=not local,
                follow_redirects=not elsewhere,
                event_hooks={"request": without, "response": [held]},
            ),
        }
        self.api: AsyncOpenAI
        if azure:
            self.api = AsyncAzureOpenAI(azure_endpoint=url, api_version=model.api_version, **common)
        else:
            self.api = AsyncOpenAI(base_url=url or None, **common)
        # Absolute, since a relative address is parsed again for each call; Azure's is assembled by the package.
        base = "" if azure else str(self.api.base_url).rstrip("/")
        self.form: Form = Responses() if model.options.get("api") == "responses" else Chat()
        self._address = f"{base}{self.form.path}"
        self._where = bare(str(self.api.base_url))
        self._errors = ServerErrors(
            model,
            self._where,
            Secrets(key, model.base_url or str(self.api.base_url)),
            variable=key_variable(model),
            advice={
                "connection": "; check that the server runs there",
                "quota": "; the account is exhausted: top it up, or use another key",
                "unknown_model": f"; check the model name {model.served!r} and the address {self._where} "
                "(many end in /v1)",
            },
        )
        self._model = model
        self._renamed = dict(self.form.names)
        self._left_out: set[str] = set()
        self._structured = model.structured

    async def identity(self) -> Mapping[str, str]:
        """Return provider, model and address; list the server's models once, to fail early.

        A server without a listing, or one that refuses it to this key, is no error.
        """
        if self._model.provider != "azure":  # its listing names base models, not deployments
            try:
                await self.api.with_options(timeout=_CONNECT_S).get("/models", cast_to=httpx2.Response)
            except openai.AuthenticationError as error:
                raise self._status(error) from None
            except (openai.APIConnectionError, CallError) as error:
                broken = self._broken(error)
                if broken.kind in {"connection", "timeout", "auth"}:
                    raise broken from None
            except openai.APIError:
                pass
        return identified(self._model, self._where)

    async def ask(self, call: Call) -> Reply:
        """Ask once; a refused parameter is renamed or left out and the call repeated at once."""
        while True:
            request = self.body_of(call)
            try:
                # Not `chat.completions.create`, which checks every message's types for half of all CPU time.
                with self.raising_call_errors(passing=_REFUSING):
                    answer = await self.api.post(
                        self._address, cast_to=httpx2.Response, body=request, options=_OPTIONS
                    )
                    return self._read(answer.content)
            except _REFUSING as error:
                if USED_UP in read_error(error.response.text)[0]:
                    return read_reply("", finish_reason="length")
                if not self._adapt(error.response.status_code, error.response.text, request):
                    raise self._status(error) from None

    async def post(self, address: str, body: Mapping[str, Any]) -> Any:
        """Return our own server's response at another path.

        Raises:
            CallError: it refuses, or cannot be reached.
        """
        with self.raising_call_errors():
            answer = await self.api.post(address, cast_to=httpx2.Response, body=dict(body), options=_OPTIONS)
        return json.loads(answer.content)

    async def close(self) -> None:
        """Close the connections."""
        await self.api.close()

    @property
    def learned(self) -> str:
        """The learned request form of the server, as text that `learn` reads."""
        refused = sorted(self._left_out.difference(self.form.lacks))
        if not refused and self._renamed == self.form.names and self._structured == self._model.structured:
            return ""
        told = {"left_out": refused, "renamed": self._renamed, "structured": self._structured}
        return canonical({self.form.path: told})

    def learn(self, learned: str) -> None:
        """Adopt the request form that another client of the same model has learned."""
        told = json.loads(learned or "{}").get(self.form.path)
        if told is None:
            return
        self._left_out |= {*told["left_out"]}
        self._renamed |= told["renamed"]
        self._structured = max(self._structured, told["structured"], key=_STRENGTHS.index)
        if told["left_out"]:
            self._warn(f"has refused {', '.join(told['left_out'])} before; continuing without")

    def heed(self, told: Any, call: Call) -> None:
        """Learn from a refusal in a batch's results, for a call in the current request form.

        Raises:
            CallError: it refuses a parameter that `extra` sets.
        """
        self._adapt(HTTPStatus.BAD_REQUEST, json.dumps(told), self.body_of(call))

    def read_line(self, response: Any, error: Any) -> Reply:
        """Parse one line of a batch's results: a request's response, or its error.

        Raises:
            CallError: there is no usable reply.
        """
        status = response.get("status_code") if isinstance(response, dict) else None
        body = response.get("body") if isinstance(response, dict) else None
        if status == HTTPStatus.OK:
            return self._read(json.dumps(body).encode())
        told = json.dumps(body or {"error": error})
        message, code, _ = read_error(told)
        if USED_UP in message:
            return read_reply("", finish_reason="length")
        if "expired" in code:
            raise CallError("expired", f"{self._where}: {self._errors.clean(message)}")
        raise self._errors.refusal(status if isinstance(status, int) else 500, {}, told)

    @contextmanager
    def raising_call_errors(self, *, passing: tuple[type[openai.APIStatusError], ...] = ()) -> Iterator[None]:
        """Convert exceptions inside the block to CallError, except those in `passing`."""
        try:
            yield
        except passing:
            raise
        except openai.APIStatusError as error:
            raise self._status(error) from None
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            raise self._broken(error) from None

    def body_of(self, call: Call) -> dict[str, Any]:
        """Return a call's request body; unknown parameters are passed through unchanged."""
        given = {n: value for n, value in {**self._model.extra, **call.parameters}.items() if value is not None}
        if any(name in given for name in _LIMITS):
            given.pop("max_tokens", None)  # set under its other name; servers refuse both together
        for name in sorted({*self.form.lacks} & {*given} - self._left_out):
            self._left_out.add(name)
            self._warn(f"uses the responses API, which has no parameter {name!r}; continuing without it")
        request = self.form.body(
            self._model.served,
            call.messages,
            {self._renamed.get(name, name): given[name] for name in given if name not in self._left_out},
        )
        if call.schema is not None and self._structured != "off":
            self.form.constrain(request, call.schema if self._structured == "schema" else None)
        return request

    def _adapt(self, status: int, body: str, request: Mapping[str, Any]) -> bool:
        """Learn from a refusal; return whether the call can be repeated in another form.

        Raises:
            CallError: it refuses a parameter that `extra` sets, and would refuse it in every call.
        """
        message, code, param = read_error(body)
        said = f"{param} {message}".lower()
        refused = self.form.constrained(request)
        if refused and any(mark in said for mark in _STRUCTURED):
            # Never upgrade: of many calls in flight, one may see the first refusal after another saw the second.
            self._structured = "off" if self._structured == "off" or refused == "json_object" else "json"
            self._warn(f"refuses {self.form.structured} {refused}; continuing with {self._structured!r}")
            return True
        if "max_tokens" in request and (param == "max_tokens" or "max_completion_tokens" in said):
            if "max_completion_tokens" not in said and "unsupported" not in f"{code} {said}".lower():
                return False
            self._renamed["max_tokens"] = "max_completion_tokens"
            return True
        unsupported = any(mark in f"{code} {said}".lower() for mark in _UNSUPPORTED)
        for name in _OPTIONAL:
            if name in request and unsupported and _names(name, param, said):
                self._left_out.add(name)
                self._warn(f"refuses the parameter {name!r}; continuing without it")
                return True
        for name in self._model.extra:
            if _names(name, param, said if unsupported else ""):
                told = self._errors.clean(message)
                raise CallError(
                    "parameter",
                    f"HTTP {status}: {told}; the entry's `extra` sets {name}, which the server "
                    "does not accept: change or remove it",
                )
        return False

    def _warn(self, what: str) -> None:
        _log.warning("model %s at %s %s", visible(self._model.name), self._where, what)

    def _read(self, content: bytes) -> Reply:
        """Parse a chat completion's body."""
        body = self._errors.parsed(content)
        if isinstance(body, dict) and body.get("error"):
            told = json.dumps(body)
            raise self._errors.refusal(_status_of(read_error(told)[1]), {}, told)
        try:
            return self.form.read(body)
        except CallError as error:
            said = f"{self._where}: {error.message}: {self._errors.quoted(content)}"
            raise CallError(error.kind, said) from None
        except (KeyError, IndexError, TypeError, AttributeError):
            said = f"{self._where} sent no {self.form.holds}: {self._errors.quoted(content)}"
            raise CallError("server", said) from None

    def _status(self, error: openai.APIStatusError) -> CallError:
        answer = error.response
        return self._errors.refusal(answer.status_code, answer.headers, answer.text)

    def _broken(self, error: Exception) -> CallError:
        """Return the error of a connection that failed or broke."""
        cause = error.__cause__ or error
        if isinstance(cause, CallError):  # ours, of a body that is too large
            return cause
        return self._errors.silent() if isinstance(cause, httpx2.ReadTimeout) else self._errors.broken(cause)


def _leaving_out(names: frozenset[str]) -> Callable[[httpx2.Request], Awaitable[None]]:
    """Return a hook that removes the package's own key headers from a request whose key is sent elsewhere."""

    async def leave_out(request: httpx2.Request) -> None:
        for name in names:
            request.headers.pop(name, None)

    return leave_out


def _names(name: str, param: str, said: str) -> bool:
    """Return whether a refusal names a parameter: in its field, or in quotes; `reasoning.effort` is a flat one."""
    if param and name in {param, param.replace(".", "_"), param.partition(".")[0]}:
        return True
    return f"'{name}'" in said or f'"{name}"' in said


def _status_of(code: str) -> int:
    """Return the HTTP status for an error in the body of a 2xx response."""
    for mark, status in (("rate_limit", 429), ("invalid_prompt", 400)):
        if mark in code:
            return status
    return next((int(word) for word in code.split() if word.isdecimal() and len(word) == 3), 500)  # noqa: PLR2004 - an HTTP status
