"""Servers that run: in a thread of the test, or in a process of their own so that their CPU is not counted."""

import asyncio
import base64
import json
import pickle
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Literal, Self

from aiohttp import web

from tests.servers import ollama, openai
from tests.servers.script import Faults, Reply, Script, Seen

Kind = Literal["openai", "ollama"]
BUILD = {"openai": openai.build, "ollama": ollama.build}
BASE = {"openai": "/v1", "ollama": ""}


async def listen(app: web.Application, port: int, tls: ssl.SSLContext | None = None) -> tuple[web.AppRunner, int]:
    """Bind to 127.0.0.1 and return the runner and its port (0 asks for a free one)."""
    runner = web.AppRunner(
        app, access_log=None, handle_signals=False, shutdown_timeout=0, handler_cancellation=True
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, reuse_address=True, backlog=1024, ssl_context=tls)
    await site.start()
    return runner, int(runner.addresses[0][1])


class Server:
    """A server on loopback: a context manager that starts it, and stops it at the end.

    `url` is its root, `base_url` what a client is given. `stop` drops every connection at once; `start` comes
    back on the same port. `requests` are the calls seen so far (`lookups`: listings and versions), also across
    a stop, `peak` the most that were in flight together.
    """

    def __init__(self, kind: Kind, script: Script) -> None:
        self.kind: Kind = kind
        self.script = script
        self.port = 0

    @property
    def url(self) -> str:
        """The server's root."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """What a client of this protocol is given."""
        return self.url + BASE[self.kind]

    @property
    def requests(self) -> Sequence[Seen]:
        """The calls seen so far."""
        return self.script.requests

    @property
    def lookups(self) -> Sequence[Seen]:
        """The listings, versions and descriptions asked for so far."""
        return self.script.lookups

    @property
    def peak(self) -> int:
        """The most calls that were in flight together."""
        return self.script.peak

    def start(self) -> None:
        """Start, on the port used before if there was one."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop at once, dropping every connection."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Running:
    """An application that is served from a thread of this process, on 127.0.0.1."""

    def __init__(self, app: web.Application, port: int, tls: ssl.SSLContext | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="test server", daemon=True)
        self._thread.start()
        self._runner, self.port = asyncio.run_coroutine_threadsafe(listen(app, port, tls), self._loop).result(30)

    @property
    def url(self) -> str:
        """The server's root."""
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Stop at once, dropping every connection."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _end(self) -> None:
        """Stop listening, drop the connections, and end what still runs: a hanging call waits for ever."""
        for site in list(self._runner.sites):
            await site.stop()
        assert self._runner.server is not None
        for connection in self._runner.server.connections:
            if connection.transport is not None:
                connection.transport.abort()
        rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        await self._runner.cleanup()


@contextmanager
def serve(app: web.Application, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve any application on loopback, over TLS where that is given; yields its root address."""
    running = Running(app, 0, tls)
    try:
        yield running.url.replace("http:", "https:") if tls else running.url
    finally:
        running.stop()


class Threaded(Server):
    """A server in a thread of this process: its script may be any function."""

    def start(self) -> None:
        """Start, on the port used before if there was one."""
        self._running = Running(BUILD[self.kind](self.script), self.port)
        self.port = self._running.port

    def stop(self) -> None:
        """Stop at once, dropping every connection."""
        self._running.stop()


class Apart(Server):
    """A server in a process of its own: its script must be data or functions of an importable module."""

    def __init__(self, kind: Kind, script: Script) -> None:
        super().__init__(kind, script)
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start, on the port used before if there was one."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers", "--apart", self.kind, str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = int(self._say(base64.b64encode(pickle.dumps(self.script)).decode()))

    def stop(self) -> None:
        """Stop at once, dropping every connection; what was seen is kept."""
        if self._process is None:
            return
        self._fetch()
        self._process.kill()
        self._process.communicate()
        self._process = None

    @property
    def requests(self) -> Sequence[Seen]:
        """The calls seen so far."""
        self._fetch()
        return self.script.requests

    @property
    def lookups(self) -> Sequence[Seen]:
        """The listings, versions and descriptions asked for so far."""
        self._fetch()
        return self.script.lookups

    @property
    def peak(self) -> int:
        """The most calls that were in flight together."""
        self._fetch()
        return self.script.peak

    def _fetch(self) -> None:
        if self._process is None:
            return
        seen = json.loads(self._say("seen"))
        self.script.requests = [Seen(**r) for r in seen["requests"]]
        self.script.lookups = [Seen(**r) for r in seen["lookups"]]
        self.script.peak = seen["peak"]

    def _say(self, line: str) -> str:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        if not (heard := self._process.stdout.readline()):
            raise RuntimeError("the server's process has ended; its error stands above")
        return heard


def serve_openai(
    reply: Reply,
    *,
    latency_s: float = 0.0,
    faults: Faults = (),
    models: Sequence[str] = (),
    key: str = "",
    refuse: Mapping[str, str] | None = None,
    apart: bool = False,
) -> Server:
    """Return a server that speaks as OpenAI's does; give a client its `base_url`.

    `reply`: see `script.Reply`. `latency_s`: of every good reply. `faults`: what goes wrong instead, by the
    request's number, or by a function of number and body. `models`: the known ones (none: every name is known).
    `key`: the only one let in. `refuse`: parameter -> message of the 400 that it gets. `apart`: in a process of
    its own.
    """
    script = Script(reply, latency_s, faults, dict.fromkeys(models, ""), key, refuse or {})
    return (Apart if apart else Threaded)("openai", script)


def serve_ollama(
    reply: Reply,
    *,
    latency_s: float = 0.0,
    faults: Faults = (),
    models: Mapping[str, str] | Sequence[str] = (),
    refuse: Mapping[str, str] | None = None,
    version: str = "0.12.6",
    apart: bool = False,
) -> Server:
    """Return a server that speaks Ollama's API; as `serve_openai`, with `models` name -> digest.

    A model without a tag is `:latest`; names without digests get one made of the name.
    """
    digests = (
        models if isinstance(models, Mapping) else {name: name.encode().hex().ljust(64, "0") for name in models}
    )
    known = {ollama.full(name): digest for name, digest in digests.items()}
    return (Apart if apart else Threaded)(
        "ollama", Script(reply, latency_s, faults, known, "", refuse or {}, version)
    )


async def attend(kind: Kind, port: int) -> None:
    """Run in a process of its own: the script comes as the first line of stdin, questions on the next."""
    loop = asyncio.get_running_loop()
    line = await loop.run_in_executor(None, sys.stdin.readline)
    script: Script = pickle.loads(base64.b64decode(line))  # noqa: S301 - written by the test that started us
    _, bound = await listen(BUILD[kind](script), port)
    print(bound, flush=True)  # noqa: T201 - the answer that the parent reads
    while await loop.run_in_executor(None, sys.stdin.readline):
        seen: dict[str, Any] = {
            "requests": [asdict(r) for r in script.requests],
            "lookups": [asdict(r) for r in script.lookups],
            "peak": script.peak,
        }
        print(json.dumps(seen), flush=True)  # noqa: T201 - the answer that the parent reads
