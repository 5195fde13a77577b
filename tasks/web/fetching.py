"""Fetch a page: each hop is checked and connected to the checked address, with limits on size and time.

Source: RFC 9309 for robots.txt, as protego reads it.
"""

import asyncio
import re
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urljoin

import httpcore
from protego import Protego

from basic_control.metrics.citation.sources import judge_outcome, judge_status
from basic_control.metrics.citation.urls import Finding, Url, read_url
from basic_control.tasks.runtime.bodies import ACCEPTED, TooLarge, Undecodable, read_body
from basic_control.tasks.web.network_policy import PRODUCT, USER_AGENT, HostRefused, NetworkPolicy

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEXT = frozenset({"text/html", "application/xhtml+xml", "text/plain", ""})
# In a Content-Type's parameters: charset="utf-8".
_CHARSET = re.compile(r"charset[ ]*=[ ]*[\"']?([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
# Where one must log in: /login, /sign-in?next=…, /wp-login.php.
_LOGIN = re.compile(r"/(?:log-?in|sign-?in|auth|sso|account/login|wp-login\.php|session/new)\b", re.IGNORECASE)
# A line of robots.txt that begins a group: User-agent: GPTBot.
_AGENT = re.compile(r"\s*user[\s-]*agent[\s:]+([^#]*)", re.IGNORECASE)
_NO_ROBOTS = {"redirects too often", "larger than is read", "an encoding that is not read", "broken reply"}
_ROBOTS_LINES = 5000
"""Maximum lines read of robots.txt; nobody writes longer ones."""
_BINARY = (b"%PDF-", b"\x1f\x8b", b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"\x28\xb5\x2f\xfd", b"BZh")


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was fetched: the last URL, its status and headers, and its body if that may be a page's.

    `finding`: why it is no page that can be read.
    """

    url: Url
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    finding: Finding | None = None

    @property
    def kind(self) -> str:
        """The media type, '' if missing."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """The charset, '' if missing."""
        match = _CHARSET.search(self.headers.get("content-type", "").partition(";")[2])
        if match is None:
            return ""
        return match[1].lower()


class MeteredStream:
    """A connection that ends when more data than allowed has arrived, of any kind: headers, hints, body.

    All that brings no data is the connection's own.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream, max_bytes: int) -> None:
        self._stream = stream
        self._remaining = max_bytes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def allow(self, n_bytes: int) -> None:
        """Raise the limit by so many bytes."""
        self._remaining += n_bytes

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's
        """Read available data.

        Raises:
            TooLarge: it is more than is allowed.
        """
        data = await self._stream.read(max_bytes, timeout)
        self._remaining -= len(data)
        if self._remaining < 0:
            raise TooLarge("larger than is read")
        return data

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's
    ) -> "MeteredStream":
        """Begin TLS with the requested name."""
        return MeteredStream(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._remaining)


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Look a host up, check all its addresses, and connect to one of those, without a second lookup.

    TLS keeps the name (SNI and certificate), as the request's Host does.
    """

    def __init__(self, net: NetworkPolicy) -> None:
        self._net = net
        self._dialler: httpcore.AsyncNetworkBackend = httpcore.AnyIOBackend()  # pyrefly: ignore[bad-assignment] # anyio is here

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to an allowed host.

        Raises:
            HostRefused: its port or one of its addresses is not allowed, or it has none.
        """
        limits = self._net.limits
        if port not in self._net.ports:
            raise HostRefused("a port that is not fetched")
        addresses = (await self._net.addresses(host))[: limits.addresses]
        for address in addresses:
            try:
                stream = await self._dialler.connect_tcp(
                    address, self._net.ports[port], timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if address == addresses[-1]:
                    raise
            else:
                return cast("httpcore.AsyncNetworkStream", MeteredStream(stream, limits.head_bytes))
        raise HostRefused("no connection")


def read_robots(text: str, product: str) -> Protego:
    """Parse the groups of robots.txt that name the product, and those of `*`; groups of one name are joined.

    All other agents get one name: a part of our name must not match, and rules times agents would be too many.
    """
    lines = text.splitlines()[:_ROBOTS_LINES]
    return Protego.parse("\n".join(_rename_agent(line, product) for line in lines))


def _rename_agent(line: str, product: str) -> str:
    match = _AGENT.match(line)
    if match is None or match[1].strip().lower() in {"*", product}:
        return line
    return "User-agent: other"


class Fetcher:
    """Fetch pages within a policy; robots.txt is read once for each origin. No cookies, no proxies, no retries."""

    def __init__(self, net: NetworkPolicy) -> None:
        self.net = net
        self._robots: dict[str, Protego | Finding] = {}
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=net.tls,
            network_backend=GuardedBackend(net),
            max_connections=net.limits.at_once,
            max_keepalive_connections=0,
            retries=0,
            http2=False,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()

    async def fetch(self, url: Url) -> Fetched:
        """Fetch a page, or find why it cannot be read, within `total_s`."""
        visited = [url]
        try:
            async with asyncio.timeout(self.net.limits.total_s):
                reply = await self._follow(visited, self.net.limits.page_bytes, pages=True)
        except TimeoutError:
            return Fetched(visited[-1], finding=judge_outcome("time-out"))
        if reply.finding:
            return reply
        return replace(reply, finding=_find_fault(reply, url))

    def delay_of(self, url: Url) -> float:
        """Return the seconds that a site's robots.txt requires between two fetches, as far as known."""
        robots = self._robots.get(_origin(url))
        delay_s = robots.crawl_delay(PRODUCT) if isinstance(robots, Protego) else None
        return max(self.net.limits.delay_s, min(delay_s or 0.0, self.net.limits.longest_delay_s))

    async def _follow(self, visited: list[Url], max_bytes: int, *, pages: bool) -> Fetched:
        """Return the last reply of a chain of redirects, whose URLs `visited` collects; pages obey robots.txt."""
        for _ in range(self.net.limits.redirects + 1):
            url = visited[-1]
            refusal = await self._find_refusal(url) if pages else None
            reply = Fetched(url, finding=refusal) if refusal else await self._get(url, max_bytes, pages=pages)
            if reply.finding:
                return replace(reply, finding=_judge_chain(reply.finding, visited))
            if reply.status not in _REDIRECTS:
                return reply
            target = _read_redirect(url, reply.headers.get("location", ""))
            if isinstance(target, Finding):
                return replace(reply, finding=target)
            visited.append(target)
        return Fetched(visited[-1], finding=judge_outcome("redirects too often"))

    async def _find_refusal(self, url: Url) -> Finding | None:
        """Return why robots.txt forbids a page; None if it does not."""
        origin = _origin(url)
        if origin not in self._robots:
            self._robots[origin] = await self._read_robots(url)
        robots = self._robots[origin]
        if isinstance(robots, Finding):
            return robots
        if robots.can_fetch(url.text, PRODUCT):
            return None
        return judge_outcome("robots.txt forbids it")

    async def _read_robots(self, url: Url) -> Protego | Finding:
        """Fetch an origin's robots.txt through the same guard: none (4xx) allows all, a failing server nothing."""
        first = read_url(f"{_origin(url)}/robots.txt")
        if isinstance(first, Finding):
            return Protego()
        reply = await self._follow([first], self.net.limits.robots_bytes, pages=False)
        if reply.finding:
            # With a status it was redirected to what is not fetched.
            if reply.status or reply.finding.reason in _NO_ROBOTS:
                return Protego()
            if reply.url == first:
                return reply.finding
            # A problem with a host that only robots.txt leads to says nothing about the page.
            return judge_outcome("robots.txt cannot be read")
        if (reply.status or 0) >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return judge_outcome("robots.txt cannot be read")
        text = reply.body.decode("utf-8", "replace") if reply.status == HTTPStatus.OK else ""
        return read_robots(text, PRODUCT)

    async def _get(self, url: Url, max_bytes: int, *, pages: bool) -> Fetched:
        """Request one URL, once; a finding if no complete reply arrived."""
        try:
            return await self._ask(url, max_bytes, pages=pages)
        except httpcore.TimeoutException:
            reason = "time-out"
        except httpcore.ConnectError as error:
            cause = error.__cause__ or error.__context__
            reason = "no trusted TLS" if isinstance(cause, ssl.SSLError) else "no connection"
        except (HostRefused, TooLarge, Undecodable) as error:
            reason = str(error)
        except Exception:  # noqa: BLE001 - whatever a hostile server provokes must not end the run
            reason = "broken reply"
        if reason == "the name does not resolve" and not await asyncio.shield(self._online):
            reason = "no name resolves here"
        return Fetched(url, finding=judge_outcome(reason))

    async def _ask(self, url: Url, max_bytes: int, *, pages: bool) -> Fetched:
        limits = self.net.limits
        async with self._pool.stream(
            b"GET",
            httpcore.URL(
                scheme=url.scheme.encode(), host=url.host.encode(), port=url.port, target=url.target.encode()
            ),
            headers=[
                (b"Host", url.authority.encode()),
                (b"User-Agent", USER_AGENT.encode()),
                (b"Accept", b"text/html,application/xhtml+xml,text/plain;q=0.8"),
                (b"Accept-Encoding", ACCEPTED.encode()),
                (b"Connection", b"close"),
            ],
            extensions={"timeout": {"connect": limits.connect_s, "read": limits.read_s, "write": limits.read_s}},
        ) as response:
            # The first of duplicate headers counts.
            pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers]
            headers = dict(reversed(pairs))
            reply = Fetched(url, response.status, headers)
            has_body = reply.status == HTTPStatus.OK or (pages and judge_status(response.status) is None)
            if not has_body or (pages and reply.kind not in _TEXT):
                return reply
            length = headers.get("content-length", "")
            if length.isascii() and length.isdigit() and int(length[:12]) > max_bytes:
                raise TooLarge("larger than is read")
            stream = response.extensions.get("network_stream")
            if isinstance(stream, MeteredStream):
                # The framing of chunks is added.
                stream.allow(max_bytes + limits.head_bytes)
            body = await read_body(response.aiter_stream(), headers.get("content-encoding", ""), max_bytes)
            return replace(reply, body=body)

    @cached_property
    def _online(self) -> asyncio.Task[bool]:
        """Whether names resolve here at all, by the control name, looked up once."""

        async def look_up() -> bool:
            try:
                return bool(await self.net.resolve(self.net.control))
            except HostRefused:
                return False

        return asyncio.ensure_future(look_up())


def _origin(url: Url) -> str:
    return f"{url.scheme}://{url.authority}"


def _read_redirect(url: Url, location: str) -> Url | Finding:
    """Return a redirect's target, parsed as strictly as a cited URL; a finding if that is not fetched."""
    refusal = judge_outcome("redirects to what is not fetched")
    text = location.encode("latin-1", "replace").decode("utf-8", "replace").strip(" ")
    # urljoin drops tabs and line ends, and parsers disagree about backslashes: reject both before.
    if not text or "\\" in text or any(sign.isspace() or not sign.isprintable() for sign in text):
        return refusal
    try:
        target = read_url(urljoin(url.text, text))
    except ValueError:
        return refusal
    if isinstance(target, Url):
        return target
    if target.reason in {"not a public address", "a reserved name", "an address in disguise"}:
        return judge_outcome("redirects to no public address")
    return refusal


def _judge_chain(finding: Finding, visited: list[Url]) -> Finding:
    """Return a hop's finding as that of the whole chain."""
    if len(visited) > 1 and finding.reason == "not a public address":
        return judge_outcome("redirects to no public address")
    return finding


def _find_fault(reply: Fetched, cited: Url) -> Finding | None:
    """Return why the last reply to a cited URL is not a readable page; None if it is one."""
    last = reply.url
    # The bytes may not be text, whatever the headers say; UTF-16 has NULs, but a mark before them.
    has_mark = reply.body.startswith((b"\xff\xfe", b"\xfe\xff"))
    is_binary = reply.body.startswith(_BINARY) or (b"\0" in reply.body[:4096] and not has_mark)
    finding = judge_status(reply.status or 0)
    if finding:
        return finding
    if last.at_home and not cited.at_home:
        return judge_outcome("redirects to the home page")
    if _LOGIN.search(last.target) and not _LOGIN.search(cited.target):
        return judge_outcome("redirects to a log-in page")
    if reply.kind == "application/pdf" or reply.body.startswith(b"%PDF-"):
        return judge_outcome("a PDF is not read")
    if reply.kind not in _TEXT or is_binary:
        return judge_outcome("not a text page")
    return None
