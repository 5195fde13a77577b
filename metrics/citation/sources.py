"""Rule-based check of an answer's sources: URLs, identifiers, duplicates, and the text of fetched pages.

Rules alone make a source at best UNCERTAIN; code that fetches pages (only if the configuration allows it) gets the
verdicts on the results from here as well.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from metrics.citation.identifiers import identifiers, page_of
from metrics.citation.quotes import find_claims, find_quote
from metrics.citation.source_lists import ListedSource
from metrics.citation.urls import Finding, SourceVerdict, Url, read_url

QUOTE_MATCH = 90.0
CLAIM_MATCH = 75.0
"""Minimum share of a claim, 0–100, on a page that counts as its source without a quote."""

LEAST_TEXT = 200
"""Minimum length of a page's text in characters; shorter pages probably need scripts."""

UNCHECKED = Finding("UNCERTAIN", "not checked: network is off")

_REASONS: Mapping[SourceVerdict, tuple[str, ...]] = {
    "LIKELY_FABRICATED": (
        "the name does not resolve", "page not found", "not a public address", "redirects to no public address",
    ),
    "UNCERTAIN": (
        "no name resolves here", "the name cannot be looked up", "time-out", "no connection", "no trusted TLS",
        "broken reply", "access refused", "too many requests", "server error", "unexpected status",
        "redirects to the home page", "redirects to a log-in page", "redirects too often",
        "redirects to what is not fetched", "robots.txt forbids it", "robots.txt cannot be read",
        "a port that is not fetched", "larger than is read", "not a text page", "a PDF is not read",
        "an encoding that is not read", "the page cannot be read", "the site does not answer",
        "beyond the most pages fetched",
    ),
}  # fmt: skip
OUTCOMES = {reason: verdict for verdict, reasons in _REASONS.items() for reason in reasons}
"""Every way in which a fetch can end without a page, and its verdict.

A missing or non-public page is LIKELY_FABRICATED; one that may exist, unseen, is UNCERTAIN.

Source: SPEC 4; a private address is no public source (ours).
"""


def judge_outcome(reason: str) -> Finding:
    """Return the finding of a fetch that ended without a page, by its reason (`OUTCOMES`)."""
    return Finding(OUTCOMES[reason], reason)


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
    return judge_outcome("server error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "unexpected status")


def locate(source: ListedSource) -> Url | Finding:
    """Return the URL for looking a source up: its own, or its DOI's or arXiv id's page.

    Return a finding if there is none: LIKELY_FABRICATED if the URL or an identifier is impossible, UNCERTAIN if the
    source is a book (a sound ISBN) or nothing that can be looked up. A URL with another port or with another
    page-serving scheme (ftp) is UNCERTAIN: it is never fetched.
    """
    told = f"{source.url}\n{source.title}\n{source.text}"
    named = list(identifiers(told))
    if flaw := next((flaw for _, _, flaw in named if flaw), ""):
        return Finding("LIKELY_FABRICATED", flaw)
    pages = [page for kind, identifier, _ in named if (page := page_of(kind, identifier))]
    if source.url and not (pages and source.url.lower().startswith(("doi:", "arxiv:"))):
        return read_url(source.url)
    if pages:
        return read_url(pages[0])
    return Finding("UNCERTAIN", "an ISBN has no page" if named else "no URL")


def judge_source(source: ListedSource) -> Finding:
    """Judge one source of an answer by rule alone."""
    found = locate(source)
    return found if isinstance(found, Finding) else UNCHECKED


def check_answer(sources: Mapping[int, ListedSource]) -> dict[int, dict[str, Any]]:
    """Judge an answer's sources by rule: number -> `verdict`, `reason`, `span`, as used by metrics.citation.

    A duplicate source (the same URL under two numbers, or the same title without a URL) keeps its first number's
    verdict; the reason says so.
    """
    first: dict[str, int] = {}
    found: dict[int, dict[str, Any]] = {}
    for number, source in sources.items():
        finding, key = judge_source(source), identity(source)
        same = first.setdefault(key, number) if key else number
        reason = finding.reason if same == number else f"{finding.reason} (the same source as [{same}])"
        found[number] = {"verdict": finding.verdict, "reason": reason, "span": finding.span}
    return found


def identity(source: ListedSource) -> str:
    """Return the key that entries of the same source share: the URL's normal form, or the title."""
    where = locate(source)
    if isinstance(where, Url):
        target = where.target.rstrip("/")
        return f"{where.authority.removeprefix('www.')}{target}"
    return (source.url or " ".join(source.title.lower().split())).strip()


def judge_page(text: str, *, quote: str = "", claims: Sequence[str] = (), title: str = "") -> Finding:
    """Judge a source by the text of its page; the finding keeps the span.

    With a quote: VERIFIED if it matches at 90 or more, LIKELY_FABRICATED if it does not, UNCERTAIN if the page has
    hardly any text. Without one (or with only the title): the best spans for the claims; VERIFIED if each claim
    with enough words is said at 75 or more, else UNCERTAIN. The judge compares span and claim.

    Source: SPEC 4; the threshold of claims is ours.
    """
    quote = "" if quote.strip().lower() == title.strip().lower() else quote.strip()
    if quote:
        score, span = find_quote(quote, text, QUOTE_MATCH)
        if score >= QUOTE_MATCH:
            return Finding("VERIFIED", "quote found", span, round(score, 1))
        if len(text) < LEAST_TEXT:
            return Finding("UNCERTAIN", "the page shows hardly any text")
        return Finding("LIKELY_FABRICATED", "quote not on the page")
    found = find_claims(claims[:_CLAIMS], text)
    spans = list(dict.fromkeys(span for _, span in found if span))
    worst = min((score for score, _ in found), default=0.0)
    if worst >= CLAIM_MATCH:
        return Finding("VERIFIED", "the claim's words found", " … ".join(spans), round(worst, 1))
    return Finding("UNCERTAIN", "page found, nothing quoted", " … ".join(spans), round(worst, 1))


_CLAIMS = 4
"""Maximum number of claims searched for on one source's page."""
