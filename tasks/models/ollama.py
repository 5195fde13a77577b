"""Models of an Ollama server, asked through the ollama package."""

import hashlib
import json
import os
from collections.abc import Awaitable, Mapping
from contextvars import ContextVar
from difflib import get_close_matches
from typing import Any, TypeVar
from urllib.request import getproxies

import httpx
import ollama

from config.settings import Model
from data.records import Call, Reply
from tasks.models.bodies import ACCEPTED, BoundedBody, bound
from tasks.models.errors import ServerErrors
from tasks.models.protocol import CallError
from tasks.models.replies import read_reply
from tasks.models.secrets import Secrets, bare, carriers, find_key, read_address

T = TypeVar("T")

_DEFAULT = "http://127.0.0.1:11434"
_CONNECT_S = 30.0
_OUTSIDE = {"think", "keep_alive"}  # Ollama parameters that are not options
_REFUSED: ContextVar[Mapping[str, str]] = ContextVar("headers of the last refusal", default={})  # noqa: B039 - never changed in place


UNBOUNDED = httpx.Limits(max_connections=None, keepalive_expiry=60.0)
"""No limit here: the endpoint limits concurrency (`rate_limits`)."""


class Spread(httpx.AsyncBaseTransport):
    """Connections in many small pools, since the cost of one pool grows quadratically with the calls in flight.

    At 64 in flight one pool took 17 ms of CPU per call, many pools 1.3 ms.
    """

    def __init__(self, pools: int = 32) -> None:
        context = httpx.create_ssl_context()
        self._pools = [httpx.AsyncHTTPTransport(verify=context, limits=UNBOUNDED) for _ in range(pools)]
        self._busy = [0] * pools

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request through the pool with the fewest in flight."""
        least = self._busy.index(min(self._busy))
        self._busy[least] += 1
        try:
            return await self._pools[least].handle_async_request(request)
        finally:
            self._busy[least] -= 1

    async def aclose(self) -> None:
        """Close every connection."""
        for pool in self._pools:
            await pool.aclose()


class BoundedStream(BoundedBody, httpx.AsyncByteStream):
    """A bounded body that httpx reads."""


class OllamaClient:
    """A model of an Ollama server at `base_url`, else OLLAMA_HOST, else port 11434 of this machine."""

    def __init__(self, model: Model) -> None:
        host = model.base_url or os.environ.get("OLLAMA_HOST") or _DEFAULT
        key = find_key(model)
        host = host if "://" in host else f"//{host}"  # without a scheme Ollama's own port is meant, not 80
        url, headers, query = read_address(model, host)
        carrying, asking = carriers(model, key, headers)
        self._client = ollama.AsyncClient(
            # /v1 is the address of its OpenAI-compatible API, often copied.
            host=url.removeprefix("//").removesuffix("/v1"),
            headers={"Accept-Encoding": ACCEPTED, **carrying},
            params=query | asking,
            follow_redirects=not model.key_place,  # a redirect would send our headers to another host
            timeout=httpx.Timeout(model.deadline_s, connect=min(_CONNECT_S, model.deadline_s)),
            # If the environment names a proxy, httpx's own pool uses it.
            transport=None if getproxies() else Spread(),
            limits=UNBOUNDED,
        )
        self._http: httpx.AsyncClient = self._client._client  # noqa: SLF001 - the package has no call for /api/version
        self._where = bare(str(self._http.base_url))
        self._http.event_hooks = {"response": [_note, bound(BoundedStream, model.max_response_bytes, self._where)]}
        self._model = model
        pull = f"; get it with `ollama pull {model.served}`"
        if "/" in model.served and "." not in model.served.split("/", 1)[0]:
            pull += f" (from Hugging Face: `ollama pull hf.co/{model.served}`)"
        self._errors = ServerErrors(
            model,
            self._where,
            Secrets(key or os.environ.get("OLLAMA_API_KEY", ""), host),
            variable=model.api_key_env or "OLLAMA_API_KEY",
            advice={
                "unknown_model": pull,
                "connection": "; check that Ollama runs there (`ollama serve`), or set `base_url`",
            },
        )

    async def identity(self) -> Mapping[str, str]:
        """Return provider, model, its digest on the server, and the server's version."""
        answer = await self._reach(self._http.get("/api/version", timeout=_CONNECT_S))
        try:
            version = answer.raise_for_status().json()["version"]
        except (httpx.HTTPError, ValueError, KeyError, TypeError, RecursionError):
            raise CallError(
                "server", f"{self._where}/api/version does not answer as Ollama does; check `base_url`"
            ) from None
        listed = await self._reach(self._client.list())
        digests = {str(m.model): str(m.digest) for m in listed.models if m.model}
        name = self._model.served  # `phi3` is `phi3:latest`
        name = name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"
        digest = next((d for n, d in digests.items() if n.lower() == name.lower()), "")
        digest = digest or await self._shown(sorted(digests))
        return {"provider": "ollama", "model": self._model.served, "digest": digest, "server": f"ollama {version}"}

    async def ask(self, call: Call) -> Reply:
        """Ask once; see `Client`."""
        given = {
            name: value for name, value in {**self._model.extra, **call.parameters}.items() if value is not None
        }
        outside = {name: given.pop(name) for name in _OUTSIDE & set(given)}
        limit = {"num_predict": given.pop("max_tokens")} if "max_tokens" in given else {}
        options = {**limit, **given}
        if isinstance(options.get("stop"), str):
            options["stop"] = [options["stop"]]
        form: Any = None
        if call.schema is not None and self._model.structured != "off":
            form = dict(call.schema) if self._model.structured == "schema" else "json"
        messages = [{"role": m.role, "content": m.content} for m in call.messages]
        answer = await self._reach(
            self._client.chat(
                model=self._model.served, messages=messages, options=options, format=form, stream=False, **outside
            )
        )
        if not answer.done:
            raise CallError("server", f"{self._where} sent an incomplete reply (`done` is not true)")
        return read_reply(
            answer.message.content or "",
            answer.message.thinking or "",
            finish_reason=answer.done_reason or "",
            tokens_in=answer.prompt_eval_count,
            tokens_out=answer.eval_count,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _shown(self, names: list[str]) -> str:
        """Return a digest of the server's details of a model that it does not list (a remote one).

        Raises:
            CallError: it does not know the model; the message names similar or available ones.
        """
        try:
            shown = await self._reach(self._client.show(self._model.served))
        except CallError as error:
            if error.kind != "unknown_model":
                raise
            near = get_close_matches(self._model.served, names, n=5, cutoff=0.5) or names[:10]
            there = f"; available: {', '.join(near)}" if near else "; it has no models"
            raise CallError("unknown_model", self._errors.clean(error.message + there)) from None
        told = shown.model_dump(mode="json", exclude={"modified_at"})
        return "shown-" + hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    async def _reach(self, answering: Awaitable[T]) -> T:
        """Await the package's call and translate its errors into CallErrors."""
        _REFUSED.set({})
        try:
            return await answering
        except ollama.ResponseError as error:
            raise self._refusal(error) from None
        except httpx.ReadTimeout:
            raise self._errors.silent() from None
        except (ConnectionError, httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._errors.broken(error) from None
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            said = self._errors.clean(str(error))
            raise CallError("server", f"{self._where} sent a body that is not in Ollama's format: {said}") from None

    def _refusal(self, error: ollama.ResponseError) -> CallError:
        told = error.error if isinstance(error.error, str) else json.dumps({"error": error.error})
        found = self._errors.refusal(error.status_code, _REFUSED.get(), told)
        if found.kind == "invalid" and "does not support thinking" in told:
            return CallError("parameter", f"{found.message}; remove `think` from the entry's `extra`")
        return found


async def _note(response: httpx.Response) -> None:
    """Keep an error's headers, which the package's exception omits; this runs in the caller's own task."""
    if response.is_error:
        _REFUSED.set(response.headers)
