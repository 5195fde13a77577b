"""Fetch cited pages, and parse them in a process that is killed on a timeout."""

import asyncio
import contextlib
import hashlib
import json
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from basic_control.metrics.citation.sources import judge_outcome
from basic_control.metrics.citation.urls import Finding, Url
from basic_control.tasks.sandbox import processes
from basic_control.tasks.web.fetching import Fetched, Fetcher
from basic_control.tasks.web.network_policy import NetworkPolicy

START_S = 60.0
"""Seconds that the process may take for its imports, on top of the first page."""

_REPLY = 16_000_000
_TOGETHER = 16
"""Citations of one page that are judged together."""
_SILENT = {"time-out", "no connection", "too many requests"}


@dataclass(slots=True)
class Reader:
    """A reading process, started for the first page and again after each that had to be killed."""

    limit_s: float
    _process: Process | None = None
    _fresh: bool = True
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def read(
        self, body: bytes, *, kind: str, charset: str, asks: Sequence[Mapping[str, Any]]
    ) -> list[Finding]:
        """Return a finding for each ask (`quote`, `claims`, `title`); all UNCERTAIN if the page is not read."""
        job = {"length": len(body), "kind": kind, "charset": charset, "asks": list(asks)}
        async with self._turn:
            try:
                process = await self._start()
                jobs, replies = cast("StreamWriter", process.stdin), cast("StreamReader", process.stdout)
                # The first page waits for imports as well.
                async with asyncio.timeout(self.limit_s + (START_S if self._fresh else 0.0)):
                    jobs.write(json.dumps(job).encode() + b"\n" + body)
                    await jobs.drain()
                    rows = json.loads(await replies.readline())
                self._fresh = False
                return [Finding(**row) for _, row in zip(asks, rows, strict=True)]
            # Too slow, gone, or an invalid reply.
            except (OSError, ValueError, TypeError):
                await self.aclose()
                return [judge_outcome("the page cannot be read") for _ in asks]

    async def _start(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *processes.build_command("basic_control.tasks.web.reader"),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env=dict(processes.build_environment()),
                cwd="/",
                limit=_REPLY,
                start_new_session=True,
            )
            self._fresh = True
        return self._process

    async def aclose(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        cast("StreamWriter", process.stdin).close()


Citation = tuple[Url, Mapping[str, Any]]
"""A page, and the checks of one citation (`quote`, `claims`, `title`)."""


async def fetch_all(citations: Mapping[int, Citation], net: NetworkPolicy) -> dict[int, dict[str, Any]]:
    """Fetch every page once, sites in parallel; return each citation's result by its number."""
    sites: dict[str, dict[str, tuple[Url, dict[int, Mapping[str, Any]]]]] = {}
    for number, (url, ask) in citations.items():
        sites.setdefault(url.site, {}).setdefault(url.text, (url, {}))[1][number] = ask
    turn = asyncio.Semaphore(net.limits.at_once)
    results: dict[int, dict[str, Any]] = {}
    async with (
        contextlib.aclosing(Reader(net.limits.extraction_s)) as reader,
        contextlib.aclosing(Fetcher(net)) as fetcher,
        asyncio.TaskGroup() as group,
    ):
        for pages in sites.values():
            group.create_task(_visit(pages.values(), fetcher, reader, turn, results))
    return results


async def _visit(
    pages: Iterable[tuple[Url, Mapping[int, Mapping[str, Any]]]],
    fetcher: Fetcher,
    reader: Reader,
    turn: asyncio.Semaphore,
    results: dict[int, dict[str, Any]],
) -> None:
    """Fetch a site's pages one after the other, with a delay; give up on a site that does not answer."""
    failures = 0
    for count, (url, asks) in enumerate(pages):
        if failures >= fetcher.net.limits.failures_per_site:
            results |= dict.fromkeys(asks, asdict(judge_outcome("the site does not answer")))
            continue
        if count:
            await asyncio.sleep(fetcher.delay_of(url))
        async with turn:
            page = await fetcher.fetch(url)
        results_of_page = await _judge(page, list(asks.values()), reader)
        results |= dict(zip(asks, results_of_page, strict=True))
        failures = failures + 1 if results_of_page[0]["reason"] in _SILENT else 0


async def _judge(page: Fetched, asks: Sequence[Mapping[str, Any]], reader: Reader) -> list[dict[str, Any]]:
    """Return the result of each of a page's citations."""
    facts = {
        "final_url": page.url.text,
        "http_status": page.status,
        "fetched_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if page.finding:
        return [asdict(page.finding) | facts] * len(asks)
    facts["digest"] = hashlib.sha256(page.body).hexdigest()
    findings: list[Finding] = []
    for start in range(0, len(asks), _TOGETHER):
        together = asks[start : start + _TOGETHER]
        findings += await reader.read(page.body, kind=page.kind, charset=page.charset, asks=together)
    return [asdict(finding) | facts for finding in findings]
