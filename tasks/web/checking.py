"""Check the sources that answers cite, and store the evidence.

The process that reads pages imports this package too: tables and clients are imported late.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from basic_control.data.characters import make_storable
from basic_control.data.draw import format_canonical
from basic_control.metrics.citation.citation import parse
from basic_control.metrics.citation.sources import check_sources, judge_outcome
from basic_control.metrics.citation.urls import Url
from basic_control.tasks.runtime.secrets import hide
from basic_control.tasks.web.network_policy import NetworkPolicy

if TYPE_CHECKING:
    import polars as pl

    from basic_control.tasks.store.samples import SampleRow

_CHARACTERS = 4001
"""Characters of a quote or claim passed on: one above the limit, so that a longer one is detected."""

_CLAIMS = 4
"""Maximum claims of one citation that are checked."""

_LARGEST = 2**63
_NETWORK_COLUMNS = ("final_url", "http_status", "digest", "fetched_at")


def _list_sources(answer: "SampleRow") -> Iterator[tuple[dict[str, Any], Url | None, dict[str, Any]]]:
    """Yield each source that an answer cites and lists, in the order of its list.

    That is its row of the evidence table by rule, the URL to fetch, if any, and the checks for it. The row's
    `source_id` is the same for the same URL, quote and claims.
    """
    parsed = parse(answer.sample)
    claims: dict[int, dict[str, None]] = {}
    for citation in parsed.citations:
        claims.setdefault(citation.number, {})[citation.claim[:_CHARACTERS]] = None
    for number, (url, finding) in check_sources(parsed.sources).items():
        if number not in claims or not -_LARGEST <= number < _LARGEST:
            continue
        source = parsed.sources[number]
        # A URL of a form that is not fetched is kept as it was written.
        text = make_storable(url.text if url else source.url)
        ask = {
            "quote": make_storable(source.quote[:_CHARACTERS]),
            "claims": [make_storable(claim) for claim in list(claims[number])[:_CLAIMS]],
            "title": make_storable(source.title),
        }
        row = {
            "item_id": answer.item_id,
            "model": answer.model,
            "repeat": answer.repeat,
            "number": number,
            "source_id": hashlib.sha256(format_canonical([text, ask]).encode()).hexdigest()[:32],
            "url": text,
            **dict.fromkeys(_NETWORK_COLUMNS),
            **asdict(finding),
        }
        yield row, url, ask


def check(answers: Iterable["SampleRow"], *, network: bool, net: NetworkPolicy | None = None) -> "pl.DataFrame":
    """Check the sources that answers cite: a row of the evidence table for each.

    By rule alone unless `network`. A page is fetched once however many cite it, and `digest` is the SHA-256 of its
    decoded body. Runs its own event loop in this thread.
    """
    from basic_control.data.tables import EVIDENCE

    policy = net or NetworkPolicy()
    rows: list[dict[str, Any]] = []
    # What is to be fetched, by the place of its row.
    fetches: dict[int, tuple[Url, dict[str, Any]]] = {}
    for answer in answers:
        if answer.error_kind is not None:
            continue
        pages = 0
        for row, url, ask in _list_sources(answer):
            rows.append(row)
            if url and network:
                pages += 1
                if pages > policy.limits.pages_per_answer:
                    rows[-1] |= asdict(judge_outcome("beyond the most pages fetched"))
                else:
                    fetches[len(rows) - 1] = url, ask
    if fetches:
        from basic_control.tasks.web.extraction import fetch_all

        for position, result in asyncio.run(fetch_all(fetches, policy)).items():
            rows[position] |= result
    return EVIDENCE.frame(map(_hide_secrets, rows))


def _hide_secrets(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without our secrets: a page may repeat what another program sent it."""
    return row | {name: hide(value)[0] for name, value in row.items() if isinstance(value, str)}
