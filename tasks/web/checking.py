"""Check the sources that answers cite, and keep the evidence.

The process that reads pages imports this package too: tables and clients are imported late.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from data.draw import canonical
from metrics.citation.citation import parse
from metrics.citation.sources import check_answer, judge_outcome, locate
from metrics.citation.urls import Finding, Url
from tasks.models.masking import hide
from tasks.web.policy import NetworkPolicy

if TYPE_CHECKING:
    import polars as pl

    from tasks.store.samples import SampleRow
    from tasks.web.extraction import Reader
    from tasks.web.fetching import Fetcher, FetchFailure, Page

_CHARACTERS = 4001
"""Signs of a quote or claim that go on: one more than a quote may have, so that a longer one is seen as such."""

_CLAIMS, _TOGETHER = 4, 16
"""Claims of one citation that are looked for; citations of one page that are judged in one go."""

_LARGEST = 2**63
_NETWORK_COLUMNS = ("final_url", "http_status", "digest", "fetched_at", "match", "span", "verdict", "reason")


@dataclass(frozen=True, slots=True)
class CitedSource:
    """One source that one answer cites: what is asked of it, and what the rules say.

    `url` is None where there is nothing to fetch. `source_id` is the same for the same URL, quote and claims.
    """

    item_id: str
    model: str
    repeat: int
    number: int
    source_id: str
    text: str
    url: Url | None
    ask: Mapping[str, Any]
    rule: Mapping[str, Any]

    def row(self, **more: Any) -> dict[str, Any]:
        """Return the source's row of the evidence table."""
        names = ("item_id", "model", "repeat", "number", "source_id")
        blank = dict.fromkeys(_NETWORK_COLUMNS)
        row = {**{name: getattr(self, name) for name in names}, "url": self.text, **blank, **self.rule, **more}
        # A page may repeat what another program sent it.
        return {name: hide(value)[0] if isinstance(value, str) else value for name, value in row.items()}


def cited_sources(answer: "SampleRow") -> Iterator[CitedSource]:
    """Yield the sources that an answer cites and lists, in the order of its list."""
    parsed = parse(answer.sample)
    claims: dict[int, dict[str, None]] = {}
    for citation in parsed.citations:
        claims.setdefault(citation.number, {})[citation.claim[:_CHARACTERS]] = None
    rules = check_answer(parsed.sources)
    for number, source in parsed.sources.items():
        if number not in claims or not -_LARGEST <= number < _LARGEST:
            continue
        where = locate(source)
        url = where if isinstance(where, Url) else None
        text = _storable(url.text if url else source.url)
        ask = {
            "quote": _storable(source.quote[:_CHARACTERS]),
            "claims": [_storable(claim) for claim in list(claims[number])[:_CLAIMS]],
            "title": _storable(source.title),
        }
        source_id = hashlib.sha256(canonical([text, ask]).encode()).hexdigest()[:32]
        yield CitedSource(
            answer.item_id, answer.model, answer.repeat, number, source_id, text, url, ask, rules[number]
        )  # fmt: skip


def _storable(text: str) -> str:
    """Return a text without halves of surrogate pairs, which no table holds."""
    return text.encode("utf-8", "replace").decode("utf-8")


def check(
    answers: Iterable["SampleRow"],
    *,
    network: bool,
    net: NetworkPolicy | None = None,
) -> "pl.DataFrame":
    """Check the sources that answers cite: a row of the evidence table for each.

    By rule alone unless `network`. A page is fetched once however many cite it, and `digest` is the SHA-256 of its
    body as decoded. Runs its own event loop in this thread.
    """
    from data.tables import EVIDENCE

    listed = [one for answer in answers if answer.error_kind is None for one in cited_sources(answer)]
    rows: dict[int, dict[str, Any]] = {}
    waiting: dict[int, CitedSource] = {}
    pages: Counter[tuple[str, str, int]] = Counter()
    policy = net or NetworkPolicy()
    for place, one in enumerate(listed):
        answer = (one.item_id, one.model, one.repeat)
        if one.url is None or not network:
            rows[place] = one.row()
        elif pages[answer] >= policy.limits.pages_per_answer:
            rows[place] = one.row(**_of(judge_outcome("beyond the most pages fetched")))
        else:
            pages[answer] += 1
            waiting[place] = one
    if waiting:
        rows |= asyncio.run(_fetch_all(waiting, policy))
    return EVIDENCE.frame(rows[place] for place in range(len(listed)))


def _of(finding: Finding) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in ("verdict", "reason", "span", "match")}


async def _fetch_all(waiting: Mapping[int, CitedSource], net: NetworkPolicy) -> dict[int, dict[str, Any]]:
    """Fetch every page once, site by site beside each other, and judge all that cite it."""
    from tasks.web.extraction import Reader
    from tasks.web.fetching import Fetcher

    sites: dict[str, dict[str, dict[int, CitedSource]]] = {}
    for place, one in waiting.items():
        if one.url:
            sites.setdefault(one.url.site, {}).setdefault(one.url.text, {})[place] = one
    turn = asyncio.Semaphore(net.limits.at_once)
    rows: dict[int, dict[str, Any]] = {}
    async with Reader(net.limits.extraction_s) as reader, Fetcher(net) as fetcher, asyncio.TaskGroup() as group:
        for pages in sites.values():
            group.create_task(_visit(list(pages.values()), fetcher, reader, turn, rows))
    return rows


async def _visit(
    pages: Sequence[Mapping[int, CitedSource]],
    fetcher: "Fetcher",
    reader: "Reader",
    turn: asyncio.Semaphore,
    rows: dict[int, dict[str, Any]],
) -> None:
    """Fetch a site's pages one after the other, leaving time between; give up on a site that does not answer."""
    failures = 0
    limits = fetcher.net.limits
    for count, citing in enumerate(pages):
        url = next(iter(citing.values())).url
        if url is None:
            continue
        if failures >= limits.failures_per_site:
            silent = judge_outcome("the site does not answer")
            rows |= {place: one.row(**_of(silent)) for place, one in citing.items()}
            continue
        if count:
            await asyncio.sleep(fetcher.delay_of(url))
        async with turn:
            came = await fetcher.fetch(url)
        found = await _judge(came, list(citing.values()), reader)
        rows |= dict(zip(citing, found, strict=True))
        silent_reasons = {"time-out", "no connection", "too many requests"}
        failures = failures + 1 if found[0]["reason"] in silent_reasons else 0


async def _judge(
    came: "Page | FetchFailure", citing: Sequence[CitedSource], reader: "Reader"
) -> list[dict[str, Any]]:
    """Return a row for each that cites a page."""
    from tasks.web.fetching import FetchFailure

    facts = {
        "final_url": came.url.text,
        "http_status": came.status,
        "fetched_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if isinstance(came, FetchFailure):
        return [one.row(**_of(came.finding), **facts) for one in citing]
    facts["digest"] = hashlib.sha256(came.body).hexdigest()
    findings: list[Finding] = []
    for start in range(0, len(citing), _TOGETHER):
        asks = [one.ask for one in citing[start : start + _TOGETHER]]
        findings += await reader.read(came.body, kind=came.kind, charset=came.charset, asks=asks)
    return [one.row(**_of(finding), **facts) for one, finding in zip(citing, findings, strict=True)]
