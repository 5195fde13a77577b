"""Have pages read in a process that is ended when it takes too long."""

import asyncio
import contextlib
import json
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from metrics.citation.sources import judge_outcome
from metrics.citation.urls import Finding
from tasks.sandbox import child

START_S = 60.0
"""Seconds that the process may take for its imports, on top of the first page."""

_REPLY = 16_000_000


@dataclass(slots=True)
class Reader:
    """One reading process, started when the first page comes and again after each that had to be ended."""

    limit_s: float
    _process: Process | None = None
    _fresh: bool = True
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def read(
        self, body: bytes, *, kind: str, charset: str, asks: Sequence[Mapping[str, Any]]
    ) -> list[Finding]:
        """Return a finding for each ask (`quote`, `claims`, `title`); all UNCERTAIN where the page is not read."""
        job = {"length": len(body), "kind": kind, "charset": charset, "asks": list(asks)}
        found: list[Finding] = []
        async with self._turn:
            try:
                process = await self._start()
                # The first page waits for imports as well.
                async with asyncio.timeout(self.limit_s + (START_S if self._fresh else 0.0)):
                    rows = await _converse(process, json.dumps(job).encode() + b"\n" + body)
                self._fresh = False
                found = [Finding(**row) for row in rows or ()]
            except (OSError, ValueError, TypeError):
                found = []  # too slow, gone, or a reply that is none
            finally:
                if len(found) != len(asks):  # out of step with us, or gone
                    await self._end()
        return found if len(found) == len(asks) else [judge_outcome("the page cannot be read") for _ in asks]

    async def _start(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *child.command("tasks.web.reader"),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env=dict(child.environment()),
                cwd="/",
                limit=_REPLY,
                start_new_session=True,
            )
            self._fresh = True
        return self._process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()
        if process.stdin:
            process.stdin.close()


async def _converse(process: Process, job: bytes) -> Any:
    """Send a job and return its reply.

    Raises:
        ValueError: what came back is no JSON, or nothing came.
        OSError: the process is gone.
    """
    if process.stdin is None or process.stdout is None:
        raise OSError("the reading process has no pipes")
    process.stdin.write(job)
    await process.stdin.drain()
    return json.loads(await process.stdout.readline())
