"""A GGUF model in this process, run by llama.cpp (xllamacpp): no server, no key, no network.

Its weights are on disk, or in a package that is located but never imported, since it needs another runtime.
"""

import asyncio
import atexit
import hashlib
import json
import logging
import os
import secrets
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from http import HTTPStatus
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from basic_control.config.settings import Model
from basic_control.data.errors import InputError
from basic_control.data.extras import format_install
from basic_control.data.records import Call, Reply
from basic_control.data.tools import TOOL_CALLS
from basic_control.data.typed import TypedQuestion
from basic_control.tasks.models import bundled
from basic_control.tasks.models.deciding_judges import (
    Answered,
    SystemOneWire,
    put_alone,
    put_together,
    read_answers,
)
from basic_control.tasks.models.dialect import Dialect
from basic_control.tasks.models.openai_forms import Body, Chat
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.server import Server
from basic_control.tasks.models.server_errors import Refusal
from basic_control.tasks.models.threads import run_in_thread
from basic_control.tasks.models.told_tools import CHOICE, is_required, read_told_calls, tell_tools
from basic_control.tasks.runtime import machine
from basic_control.tasks.runtime.logs import log_event
from basic_control.tasks.runtime.storage import find_cache_folder
from basic_control.tasks.store.tables import write_json

_MAGIC = b"GGUF"
_ENGINE_BYTES = 128 << 20
"""Memory of an engine besides its weights, at a context of 4096 tokens."""
_ALIAS = "embedded"
# Measured once: the number of engines does not change during a run.
_memory = cache(machine.measure_free_memory)
_BATCH = 64
"""Tokens of a prompt between two checks whether the caller is still there: a third of a second on 2 cores."""


def find_weights(model: Model) -> tuple[Path, str]:
    """Return the GGUF file and the digest it must have ("" for any).

    Raises:
        InputError: there is no such file, it is no GGUF, or the extra is not installed.
    """
    if model.file:
        path, digest = Path(model.file).expanduser().resolve(), model.sha256
    else:
        path, digest = bundled.find_file(), model.sha256 or bundled.SHA256
        if path is None:
            engine = "" if find_spec("xllamacpp") else f"{_explain_missing_extra()}; and "
            raise InputError(f"model {model.name!r}: {engine}SmolLM2 is not here; {bundled.advise_fetching()}")
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise InputError(
            f"model {model.name!r}: {path} cannot be read: {error.strerror}; expected the path of a GGUF file in "
            "`file`, or no `file` for the bundled model"
        ) from None
    if magic != _MAGIC:
        raise InputError(
            f"model {model.name!r}: {path} starts with {magic!r}, expected a GGUF file; convert it first"
        )
    return path, digest


def _explain_missing_extra() -> str:
    return f"the extra `embedded` is not installed; run: {format_install('embedded')}"


def count_engines(model: Model) -> int:
    """Return how many engines of a model run in parallel on this machine: at least one."""
    return count_fitting_engines(model, machine.count_cores(), _memory())


def count_fitting_engines(model: Model, cores: int, free: int | None) -> int:
    """Return how many engines to start: one per core (or per `threads` cores), as far as half of `free` allows.

    `free`: bytes of memory; None if unknown.
    """
    limit = max(1, min(model.max_concurrency, cores // (model.threads or 1)))
    if free is None or limit == 1:
        return limit
    try:
        path, _ = find_weights(model)
    except InputError:
        # Reported when it is opened.
        return 1
    # An engine keeps a second, processor-specific copy of its weights, and the prompt it has read so far.
    return max(1, min(limit, free // 2 // (2 * path.stat().st_size + _ENGINE_BYTES)))


def check_digest(model: Model, path: Path, expected: str) -> str:
    """Return a file's SHA-256, cached by path, size, modification times and inode.

    Raises:
        InputError: it is not the expected one.
    """
    note = find_cache_folder() / "digests" / f"{hashlib.sha256(str(path).encode()).hexdigest()[:32]}.json"
    status = path.stat()
    stamp = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
    try:
        noted = json.loads(note.read_text(encoding="utf-8"))
        digest = str(noted["sha256"]) if noted["stamp"] == stamp else ""
    except (OSError, ValueError, KeyError, TypeError):
        digest = ""
    if not digest:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        # If the cache cannot be written, it is computed again next time.
        with suppress(InputError):
            write_json(note, {"path": str(path), "stamp": stamp, "sha256": digest})
    if expected and digest != expected.lower():
        raise InputError(
            f"model {model.name!r}: {path} has the SHA-256 {digest}, expected {expected.lower()}; it is damaged or "
            "a different file: download it again, or correct `sha256`"
        )
    return digest


class EmbeddedClient:
    """A model loaded in this process, in as many engines as fit, each with its own queue.

    An engine is llama.cpp's own server on 127.0.0.1. The connection makes a call interruptible: a caller that
    disconnects frees the engine within one batch, which the in-process entry point cannot do while it reads a
    prompt. Single-threaded engines have a higher total throughput than one multi-threaded engine, whose threads
    wait for each other, and produce the same texts. One slot, since parallel slots change texts at temperature 0.
    So does llama.cpp's prompt cache, which resumes where two prompts diverge; here a prompt is always read in the
    same batches, and the cached prefix is cut back to whole batches (`_count_shared`): no text depends on earlier
    calls. The weights are loaded at the first call: `identity` needs only their digest.

    Raises:
        InputError: the extra is not installed, or the file is not there.
    """

    def __init__(self, model: Model) -> None:
        if find_spec("xllamacpp") is None:
            raise InputError(f"model {model.name!r}: {_explain_missing_extra()}")
        self._model = model
        self._weights = find_weights(model)
        self._opening = asyncio.Lock()
        self._loaded: _LoadedModel | None = None
        self._connections: dict[_Engine, _Connection] = {}

    async def identity(self) -> Mapping[str, str]:
        """Return the weights' SHA-256 and the runtime's version.

        Raises:
            InputError: the SHA-256 is not the expected one.
        """
        return {
            "provider": "embedded",
            "model": self._model.server_name,
            "digest": await run_in_thread(lambda: check_digest(self._model, *self._weights)),
            "server": f"xllamacpp {metadata.version('xllamacpp')}",
            "context": str(self._model.context),
            **({"api": "systemone"} if self._model.decides else {}),
        }

    async def ask(self, call: Call) -> Reply:
        """Ask once; calls queue for the engines.

        Raises:
            CallError: the model cannot be loaded, or refuses the call (a prompt longer than its context).
        """
        if call.typed is not None:
            return await put_alone(call, self._put)
        if call.tools:
            return await self._ask_with_tools(call)
        return await self._ask_free(call)

    async def _ask_with_tools(self, call: Call) -> Reply:
        """Ask with tools: by the model's own template, if it has them and may choose; else told in words."""
        choice = {**self._model.extra, **call.parameters}.get(CHOICE)
        engines = await self._load()
        if not is_required(choice) and await self._connection(engines[0]).takes_tools():
            return await self._ask_free(call)
        return read_told_calls(await self._ask_free(tell_tools(call, choice)), call.tools, choice)

    async def _ask_free(self, call: Call) -> Reply:
        """Ask the engine that is free, or has read the most of the prompt."""
        engines = await self._load()
        tokens = await self._tokens(engines[0], call)
        async with self._hold_engine(tokens) as engine:
            return await self._ask(engine, call, tokens)

    @asynccontextmanager
    async def _hold_engine(self, tokens: Sequence[int] = ()) -> AsyncIterator["_Engine"]:
        """Hold the engine that is free, or has the fewest calls, or has read the most of a prompt's tokens."""
        engines = await self._load()
        engine = min(engines, key=lambda candidate: (candidate.calls, -_count_shared(candidate.prompt, tokens)))
        engine.calls += 1
        try:
            async with engine.turn():
                yield engine
        finally:
            engine.calls -= 1

    async def _load(self) -> "list[_Engine]":
        """Return the engines, started at the first call."""
        async with self._opening:
            if self._loaded is None:
                await run_in_thread(lambda: check_digest(self._model, *self._weights))
                self._loaded = await run_in_thread(lambda: _load(self._model, self._weights[0]))
            return self._loaded.engines

    async def _put(self, state: str, questions: Sequence[TypedQuestion]) -> Answered:
        """Put typed questions to an engine whose weights are a decision model's.

        Raises:
            CallError: they are not, or it refuses the request.
        """
        wire = SystemOneWire()
        async with self._hold_engine() as engine:
            connection = self._connection(engine)
            engine.prompt = []
            try:
                content = await connection.send(f"/v1{wire.path}", wire.body(state, questions))
            except Refusal as refusal:
                if refusal.status != HTTPStatus.NOT_IMPLEMENTED:
                    raise
                message = (
                    f"model {self._model.name!r}: {refusal.message}; `api: systemone` needs a decision model's GGUF"
                )
                raise CallError("unknown_model", message) from None
        return read_answers(content, wire, questions, connection.server.errors)

    async def ask_together(self, calls: Sequence[Call]) -> list[Reply | CallError]:
        """Ask typed questions about one text in one request.

        Raises:
            CallError: the request failed.
        """
        return await put_together(calls, self._put)

    async def close(self) -> None:
        """Close the connections; the weights stay loaded until others are loaded or the process ends."""
        for connection in self._connections.values():
            await connection.server.aclose()
        self._connections.clear()
        if self._loaded:
            self._loaded.users -= 1
            self._loaded = None

    async def _tokens(self, engine: "_Engine", call: Call) -> list[int]:
        """Return a call's prompt as tokens; empty if the engine refuses it, as it will again."""
        connection = self._connection(engine)
        try:
            prompt = await connection.post("/apply-template", connection.dialect.body_of(call))
            text = {"content": prompt["prompt"], "add_special": True, "parse_special": True}
            return list((await connection.post("/tokenize", text))["tokens"])
        except CallError:
            return []

    async def _ask(self, engine: "_Engine", call: Call, tokens: list[int]) -> Reply:
        """Send a call to an engine, reusing its cached prompt only up to a whole batch."""
        connection, n_shared = self._connection(engine), _count_shared(engine.prompt, tokens)
        # Until the call has ended: an abandoned prompt may have been read in part.
        engine.prompt = []
        # The engine forgets what follows a token that differs.
        next_token = next(token for token in (1, 2) if token not in tokens[n_shared : n_shared + 1])
        cut = {"prompt": [*tokens[:n_shared], next_token], "n_predict": 0, "cache_prompt": True}
        await connection.post("/completion", cut)
        reply = await connection.dialect.ask(call, connection.chat)
        engine.prompt = tokens
        # How much of the prompt was cached is no part of the reply.
        calls = reply.extra.get(TOOL_CALLS)
        return replace(reply, extra={TOOL_CALLS: calls} if calls else {})

    def _connection(self, engine: "_Engine") -> "_Connection":
        """Return this client's connection to an engine."""
        if engine not in self._connections:
            self._connections[engine] = _Connection(self._model, engine)
        return self._connections[engine]


class _Connection:
    """One client's connection to an engine's server, which speaks OpenAI's form of chats."""

    def __init__(self, model: Model, engine: "_Engine") -> None:
        extra = {**model.extra, "cache_prompt": True}
        local = model.model_copy(update={"model": _ALIAS, "base_url": engine.address, "extra": extra})
        self.server = Server(local, engine.address, key=engine.key)
        self.dialect = Dialect(local, Chat(), self.server.errors)
        self.http = self.server.open_client(base_url=engine.address)
        self._takes_tools: bool | None = None

    async def send(self, path: str, body: Body) -> bytes:
        """Return the body of the response at a path.

        Raises:
            CallError: the engine refuses, or has ended.
        """
        with self.server.raise_call_errors():
            return (await self.http.post(path, json=body)).content

    async def takes_tools(self) -> bool:
        """Return whether the model's chat template has tools."""
        if self._takes_tools is None:
            with self.server.raise_call_errors():
                properties = (await self.http.get("/props")).json()
            self._takes_tools = bool(properties.get("chat_template_caps", {}).get("supports_tools"))
        return self._takes_tools

    async def chat(self, body: Body) -> bytes:
        """Return the body of the response to a chat."""
        return await self.send(f"/v1{Chat.path}", body)

    async def post(self, path: str, body: Body) -> Any:
        """Return the JSON of the response at a path of llama.cpp's own."""
        return json.loads(await self.send(path, body))


class _Engine:
    """One engine behind its server: its number of calls, and the last `prompt` it read, as tokens."""

    def __init__(self, server: Any, key: str) -> None:
        self.server = server
        self.address = str(server.listening_address)
        self.key = key
        self.calls = 0
        self.prompt: Sequence[int] = ()
        self._turn = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def turn(self) -> asyncio.Lock:
        """Return the lock that makes a call atomic: clients of several models share an engine."""
        loop = asyncio.get_running_loop()
        # The engine outlives its first loop.
        if loop is not self._loop:
            self._turn, self._loop = asyncio.Lock(), loop
        return self._turn


def _count_shared(cached: Sequence[int], tokens: Sequence[int]) -> int:
    """Return how many tokens of a prompt are cached, in whole batches; at least one is left to read."""
    length = min(len(cached), len(tokens) - 1)
    n_shared = next((n for n in range(length) if cached[n] != tokens[n]), length)
    return max(0, n_shared) // _BATCH * _BATCH


@dataclass
class _LoadedModel:
    """A loaded model: its engines, and how many clients have it open."""

    engines: list[_Engine] = field(default_factory=list)
    users: int = 0


_LOADED: dict[tuple[str, int, int], _LoadedModel] = {}
_LOADING = threading.Lock()


def _load(model: Model, path: Path) -> _LoadedModel:
    """Return the loaded model, shared by all clients of the same file; unused weights are unloaded."""
    threads = model.threads or 1
    key = (str(path), model.context, threads)
    with _LOADING:
        loaded = _LOADED.get(key) or _LoadedModel()
        if key not in _LOADED:
            for idle in [other_key for other_key, rival in _LOADED.items() if not rival.users]:
                del _LOADED[idle]
        while len(loaded.engines) < model.concurrency:
            try:
                loaded.engines.append(_start(model, path, threads))
            except CallError:
                if not loaded.engines:
                    raise
                log_event(
                    "engine_not_started", level=logging.WARNING, model=model.name, started=len(loaded.engines)
                )
                break
        loaded.users += 1
        _LOADED[key] = loaded
        return loaded


def _start(model: Model, path: Path, threads: int) -> _Engine:
    """Load the weights and start their server, which only accepts a key generated here."""
    # Before the import: spinning threads slow a busy machine to 2 tokens/s (20 with this).
    os.environ.setdefault("GOMP_SPINCOUNT", "100")
    try:
        import xllamacpp
    except ImportError as error:
        message = f"xllamacpp cannot be imported: {error}"
        if "libgomp" in str(error):
            advice = "install it (Debian, Ubuntu: apt-get install libgomp1; Fedora: dnf install libgomp)"
            message = f"llama.cpp needs libgomp.so.1, which is missing; {advice}"
        raise InputError(f"model {model.name!r}: {message}") from None
    api_key = secrets.token_urlsafe(24)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {_ALIAS}
    parameters.n_ctx, parameters.n_parallel, parameters.n_batch = model.context, 1, _BATCH
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.cache_prompt = False
    # Otherwise up to 8 GiB of old prompts are cached.
    parameters.cache_ram_mib = parameters.n_ctx_checkpoints = 0
    parameters.api_keys = [api_key]
    parameters.ui = parameters.warmup = False
    parameters.verbosity = 0
    try:
        return _Engine(xllamacpp.Server(parameters), api_key)
    except (RuntimeError, ValueError) as error:
        raise CallError(
            "unknown_model", f"llama.cpp cannot load {path}: {error}; check the file, its size, and the free memory"
        ) from None


@atexit.register
def _unload() -> None:
    """Stop the servers before the interpreter exits: a busy one would delay it."""
    _LOADED.clear()
