"""Parser for DOIs, arXiv ids and ISBNs, with checks of form and checksum."""

import re
from collections.abc import Iterator
from itertools import cycle
from operator import mul

# A DOI, or its address: "doi:10.1000/182", "doi.org/10.1000/182"
_DOI = re.compile(r"(?:\bdoi:[ ]?|(?:dx\.)?doi\.org/)(?P<id>[^\s\"<>]{1,300})", re.IGNORECASE)
# The form of a DOI: "10.1000/182"
_DOI_FORM = re.compile(r"10\.[1-9][0-9]{3,8}(?:\.[0-9]{1,9})*+/[^\s/][^\s]*")
# A DOI that stands for any: "10.1234/example"
_DOI_MADE_UP = re.compile(
    r"10\.(?:5555/|1234/(?:example|5678|xyz|abc|test)|1000/(?:xyz|123)|0000+/|x{2,}|[0-9.]{4,20}/x{3,})",
    re.IGNORECASE,
)
# An arXiv id, or its address: "arXiv:1706.03762"
_ARXIV = re.compile(
    r"(?:\barxiv:[ ]?|arxiv\.org/(?:abs|pdf|html|format|e-print|ps)/)(?P<id>[^\s\"<>?#]{1,80})", re.IGNORECASE
)
# An id since April 2007: "1706.03762v5"
_ARXIV_NEW = re.compile(r"([0-9]{2})([0-9]{2})\.([0-9]{4,5})(?:v[1-9][0-9]{0,2})?")
# An earlier id: "hep-th/9901001"
_ARXIV_OLD = re.compile(
    r"(?:astro-ph|cond-mat|gr-qc|hep-(?:ex|lat|ph|th)|math-ph|nlin|nucl-(?:ex|th)|physics|quant-ph|math|cs|q-bio|"
    r"q-fin|stat|acc-phys|adap-org|alg-geom|ao-sci|atom-ph|bayes-an|chao-dyn|chem-ph|cmp-lg|comp-gas|dg-ga|"
    r"funct-an|mtrl-th|patt-sol|plasm-ph|q-alg|solv-int|supr-con)(?:\.[a-z]{2})?/"
    r"([0-9]{2})([0-9]{2})[0-9]{3}(?:v[1-9][0-9]{0,2})?",
    re.IGNORECASE,
)
# An ISBN: "ISBN 978-0-306-40615-7"
_ISBN = re.compile(r"\bISBN(?:-?1[03])?[ :№]{0,3}(?P<id>[0-9][0-9 ‐‑–-]{8,20}[0-9Xx])(?![0-9])", re.IGNORECASE)
_ISBN_MADE_UP = frozenset({"9783161484100", "316148410X", "9780000000002", "0000000000", "9781234567897"})
_TRAILING = ".,;:)]}'\"»”*_"
_FIVE_DIGITS = 15
"""The year (of 20..) from which arXiv numbers have five digits."""


def _doi_flaw(text: str) -> str:
    if _DOI_MADE_UP.match(text):
        return "a made-up DOI"
    if not _DOI_FORM.fullmatch(text):
        return "a malformed DOI"
    return ""


def _arxiv_flaw(text: str) -> str:
    new = _ARXIV_NEW.fullmatch(text)
    if new:
        year, month, number = int(new[1]), int(new[2]), new[3]
        is_real = (year, month) >= (7, 4) and 1 <= month <= 12 and int(number) > 0  # noqa: PLR2004 - months
        if is_real and (len(number) == 5) == (year >= _FIVE_DIGITS):  # noqa: PLR2004 - digits
            return ""
        return "an impossible arXiv id"
    old = _ARXIV_OLD.fullmatch(text)
    if old and 1 <= int(old[2]) <= 12 and (int(old[1]) >= 91 or (int(old[1]), int(old[2])) <= (7, 3)):  # noqa: PLR2004 - 1991 to March 2007
        return ""
    return "an impossible arXiv id"


def isbn_is_sound(isbn: str) -> bool:
    """Return whether an ISBN of 10 or 13 characters, without separators, has the right check digit.

    Source: ISO 2108.
    """
    if re.fullmatch(r"[0-9]{9}[0-9X]", isbn):
        digits = map("0123456789X".index, isbn)
        return sum(map(mul, range(10, 0, -1), digits)) % 11 == 0
    if re.fullmatch(r"97[89][0-9]{10}", isbn):
        # Every second digit counts three times.
        digits = map(int, isbn)
        return sum(map(mul, cycle((1, 3)), digits)) % 10 == 0
    return False


def _isbn_flaw(text: str) -> str:
    isbn = re.sub(r"[^0-9X]", "", text.upper())
    if isbn in _ISBN_MADE_UP:
        return "a made-up ISBN"
    if not isbn_is_sound(isbn):
        return "an ISBN whose check digit is wrong"
    return ""


def identifiers(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, id, flaw) of each DOI, arXiv id and ISBN; kind `doi`, `arxiv`, `isbn`; flaw '' for none."""
    for match in _DOI.finditer(text):
        doi = match["id"].split("?")[0].split("#")[0].rstrip(_TRAILING)
        yield "doi", doi, _doi_flaw(doi)
    for match in _ARXIV.finditer(text):
        arxiv = re.sub(r"\.pdf$", "", match["id"].rstrip("/" + _TRAILING), flags=re.IGNORECASE)
        yield "arxiv", arxiv, _arxiv_flaw(arxiv)
    for match in _ISBN.finditer(text):
        yield "isbn", match["id"], _isbn_flaw(match["id"])


PAGES = {"doi": "https://doi.org/", "arxiv": "https://arxiv.org/abs/"}
"""Where an identifier's page is, by its kind; an ISBN has none."""
