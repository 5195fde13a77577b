"""A web server on loopback that plays public sites, good and hostile, and canaries that must not be touched."""

import asyncio
import contextlib
import gzip
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from basic_control.tasks.web import HostRefused

HOST = "127.0.0.77"
"""The one address that tests allow: on Linux all of 127.0.0.0/8 is loopback."""

QUOTE = "The ship sank in the early hours of 15 April 1912, four days into her maiden voyage."
FILLER = "<p>" + "She had set out from Southampton with mail and passengers on board. " * 12 + "</p>"
PAGE = (
    "<html><head><title>Ship</title></head><body><article><h1>Ship</h1>"
    f"<p>{QUOTE}</p>{FILLER}</article></body></html>"
)
OTHER = PAGE.replace(QUOTE, "Nothing of the kind is told on this page, which is about gardens and bees.")


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came in."""

    host: str
    path: str
    headers: Mapping[str, str]


Answer = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


def message(
    body: bytes | str = PAGE, *, status: str = "200 OK", kind: str = "text/html; charset=utf-8", head: str = ""
) -> bytes:
    """Return a whole HTTP message."""
    content = body.encode() if isinstance(body, str) else body
    lines = f"HTTP/1.1 {status}\r\n" + (f"Content-Type: {kind}\r\n" if kind else "") + head
    return f"{lines}Content-Length: {len(content)}\r\n\r\n".encode("latin-1") + content


def send(content: bytes) -> Answer:
    """Send these bytes, and end."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(content)
        await writer.drain()

    return answer


def page(body: bytes | str = PAGE, kind: str = "text/html; charset=utf-8", head: str = "") -> Answer:
    """Send a page."""
    return send(message(body, kind=kind, head=head))


def status(line: str) -> Answer:
    """Send a status with a page that has the quote in it all the same."""
    return send(message(status=line))


def redirect(to: str, code: int = 302) -> Answer:
    """Redirect, with the quote in the body."""
    return send(message(status=f"{code} Moved", head=f"Location: {to}\r\n"))


def drip(head: bytes, piece: bytes, pause_s: float = 0.02) -> Answer:
    """Send a head, and then a piece again and again, without end."""

    async def answer(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return answer


async def hang(_: Request, __: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.sleep(60)


async def reset(_: Request, writer: asyncio.StreamWriter) -> None:
    """Cut the connection without a byte."""
    writer.transport.abort()


def gzip_bomb(megabytes: int, layers: int = 1) -> bytes:
    """Return zeros, compressed so many times over."""
    content = b"\0" * (megabytes << 20)
    for _ in range(layers):
        content = gzip.compress(content, 9)
    return content


@dataclass(slots=True)
class Site:
    """The server: what each host answers at each path (`*`: any), and what was asked; else 404, robots.txt too."""

    answers: Mapping[str, Answer]
    tls: ssl.SSLContext | None = None
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)
    most_at_once: int = 0
    _at_once: int = 0
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _thread: threading.Thread | None = None
    _servers: list[asyncio.Server] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        if self._thread:
            self._thread.join(10)
        self._loop.close()

    async def _open(self) -> None:
        server = await asyncio.start_server(self._serve, HOST, 0, ssl=self.tls)
        self.port = server.sockets[0].getsockname()[1]
        self._servers.append(server)
        for host, port in (("127.0.0.1", self.port), ("127.0.0.2", self.port), ("::1", self.port), (HOST, 0)):
            with contextlib.suppress(OSError):  # a machine without IPv6, or a port that is taken
                self._servers.append(await asyncio.start_server(self._canary(host), host, port))

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def canaries(self) -> Sequence[tuple[str, int]]:
        """Where the canaries listen."""
        return [server.sockets[0].getsockname()[:2] for server in self._servers[1:]]

    def _canary(self, host: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def note(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.touched.append(host)
            writer.close()

        return note

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            await self._answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # whoever asked has gone
        finally:
            self._at_once -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:]) if k}
        request = Request(headers.get("host", ""), lines[0].split(" ")[1], headers)
        self.requests.append(request)
        path = request.path.partition("?")[0]
        keys = [f"{request.host}{path}"] + ([] if path == "/robots.txt" else [f"{request.host}/*", f"*{path}"])
        answer = next((self.answers[key] for key in keys if key in self.answers), status("404 Not Found"))
        await answer(request, writer)


def lookup(names: Mapping[str, str | Sequence[str]]) -> Callable[[str], Awaitable[list[str]]]:
    """Return a resolver: addresses by name, apart with spaces; of a sequence one entry a lookup, then the last."""
    asked: dict[str, Iterator[str]] = {}
    last: dict[str, str] = {}

    async def resolve(host: str) -> list[str]:
        if host not in names:
            raise HostRefused("the name does not resolve")
        told = names[host]
        turn = asked.setdefault(host, iter([told] if isinstance(told, str) else told))
        last[host] = next(turn, last.get(host, ""))
        return last[host].split()

    return resolve
