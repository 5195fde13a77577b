"""Rule-based check of an answer's sources: URLs, identifiers, duplicates, and the text of fetched pages.

Rules alone make a source at best UNCERTAIN; code that fetches pages (only if the configuration allows it) gets the
verdicts on the results from here as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus

from basic_control.metrics.citation.identifiers import PAGES, identifiers
from basic_control.metrics.citation.quotes import find_claims, find_quote
from basic_control.metrics.citation.source_lists import ListedSource
from basic_control.metrics.citation.urls import Finding, Url, read_url

QUOTE_MATCH = 90.0
CLAIM_MATCH = 75.0
"""Minimum share of a claim, 0–100, on a page that counts as its source without a quote."""

LEAST_TEXT = 200
"""Minimum length of a page's text in characters; shorter pages probably need scripts."""

UNCHECKED = Finding("UNCERTAIN", "not checked: network is off")

MISSING = frozenset(
    {"the name does not resolve", "page not found", "not a public address", "redirects to no public address"}
)
"""The ways in which a fetch can end without a page that say that there is none for the public."""


def judge_outcome(reason: str) -> Finding:
    """Return the finding of a fetch that ended without a page, by its reason.

    A missing or non-public page is LIKELY_FABRICATED; one that may exist, unseen, is UNCERTAIN.

    Source: SPEC 4; a private address is no public source (ours).
    """
    if reason in MISSING:
        return Finding("LIKELY_FABRICATED", reason)
    return Finding("UNCERTAIN", reason)


def judge_status(status: int) -> Finding | None:
    """Judge a non-redirect HTTP status; None if it comes with a page (200, 203).

    Source: SPEC 4.
    """
    if status in {HTTPStatus.OK, HTTPStatus.NON_AUTHORITATIVE_INFORMATION}:
        return None
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return judge_outcome("page not found")
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS}:
        return judge_outcome("access refused")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return judge_outcome("too many requests")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return judge_outcome("server error")
    return judge_outcome("unexpected status")


def locate(source: ListedSource) -> Url | Finding:
    """Return the URL for looking a source up: its own, or its DOI's or arXiv id's page.

    Return a finding if there is none: LIKELY_FABRICATED if the URL or an identifier is impossible, UNCERTAIN if the
    source is a book (a sound ISBN) or nothing that can be looked up. A URL with another port or with another
    page-serving scheme (ftp) is UNCERTAIN: it is never fetched.
    """
    pages: list[str] = []
    has_identifier = False
    for kind, identifier, flaw in identifiers(f"{source.url}\n{source.title}\n{source.text}"):
        if flaw:
            return Finding("LIKELY_FABRICATED", flaw)
        has_identifier = True
        if kind in PAGES:
            pages.append(PAGES[kind] + identifier)
    # A URL of one's own counts more than an identifier, unless it is one.
    if source.url and not (pages and source.url.lower().startswith(("doi:", "arxiv:"))):
        return read_url(source.url)
    if pages:
        return read_url(pages[0])
    return Finding("UNCERTAIN", "an ISBN has no page" if has_identifier else "no URL")


def check_sources(sources: Mapping[int, ListedSource]) -> dict[int, tuple[Url | None, Finding]]:
    """Judge an answer's sources by rule alone: number -> the URL for looking it up, if any, and the finding.

    A duplicate source (the same URL under two numbers, or the same title without a URL) keeps its first number's
    verdict; the reason says so.
    """
    first: dict[str, int] = {}
    findings: dict[int, tuple[Url | None, Finding]] = {}
    for number, source in sources.items():
        location = locate(source)
        if isinstance(location, Url):
            url, finding = location, UNCHECKED
            key = f"{location.authority.removeprefix('www.')}{location.target.rstrip('/')}"
        else:
            url, finding = None, location
            key = (source.url or " ".join(source.title.lower().split())).strip()
        first_number = first.setdefault(key, number) if key else number
        if first_number != number:
            finding = replace(finding, reason=f"{finding.reason} (the same source as [{first_number}])")
        findings[number] = url, finding
    return findings


def judge_page(text: str, *, quote: str = "", claims: Sequence[str] = (), title: str = "") -> Finding:
    """Judge a source by the text of its page; the finding keeps the span.

    With a quote: VERIFIED if it matches at 90 or more, LIKELY_FABRICATED if it does not, UNCERTAIN if the page has
    hardly any text. Without one (or with only the title): the best spans for the claims; VERIFIED if each claim
    with enough words is said at 75 or more, else UNCERTAIN. The judge compares span and claim.

    Source: SPEC 4; the threshold of claims is ours.
    """
    quote = quote.strip()
    if quote and quote.lower() != title.strip().lower():
        finding = find_quote(quote, text, QUOTE_MATCH)
        if finding:
            return finding
        if len(text) < LEAST_TEXT:
            return Finding("UNCERTAIN", "the page shows hardly any text")
        return Finding("LIKELY_FABRICATED", "quote not on the page")
    scores, spans = [], dict[str, None]()
    for score, span in find_claims(claims, text):
        scores.append(score)
        if span:
            spans[span] = None
    worst = min(scores, default=0.0)
    if worst >= CLAIM_MATCH:
        return Finding("VERIFIED", "the claim's words found", " … ".join(spans), round(worst, 1))
    return Finding("UNCERTAIN", "page found, nothing quoted", " … ".join(spans), round(worst, 1))
