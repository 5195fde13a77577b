"""Strict, unambiguous URL parser that reports what is wrong with a URL, and a check for public addresses."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from operator import lshift
from typing import Any, Literal
from urllib.parse import quote

from basic_control.data.patterns import pattern

SourceVerdict = Literal["VERIFIED", "UNCERTAIN", "LIKELY_FABRICATED"]

Address = IPv4Address | IPv6Address

_IPV4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # looks public, but is the host machine's own service on Azure
    )
)  # fmt: skip
_GLOBAL = IPv6Network("2000::/3")
"""All allocated IPv6 space: the rest is loopback, mapped, compatible, NAT64, local or multicast."""

_IPV6 = tuple(
    IPv6Network(block)
    for block in ("2001::/23", "2001:db8::/32", "2002::/16", "3ffe::/16", "3fff::/20", "2620:4f:8000::/48")
)
_ISATAP = (0x00005EFE, 0x02005EFE)
# A part of an address as the C library reads it: "0x7f", "127"
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{0,16}|[0-9]{1,24}")


LONGEST = 2000
"""Maximum length of a URL in characters."""

PORTS = {"http": 80, "https": 443}
# A URL in parts: "https://example.org/page?q=1#top"
_SPLIT = pattern(r"([A-Za-z][A-Za-z0-9+.-]{0,30}):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?")
# A host with a port: "example.org:8080"
_AUTHORITY = pattern(r"(\[[^\[\]]*\]|[^:\[\]]+)(?::([0-9]{0,5}))?")
# An address without a scheme: "example.org/page"
_NO_SCHEME = pattern(r"(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}\.?(?::[0-9]{1,5})?(?:[/?#].*)?")
_NOT_FETCHED = frozenset({"ftp", "ftps", "sftp", "ipfs", "urn"})
# A label of a host: "example"
_LABEL = pattern(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_RESERVED = frozenset(
    """test example invalid localhost local localdomain internal intranet private corp home lan onion alt
    arpa""".split()  # noqa: SIM905 - words read as words
)
_WHOSE = "your|my|our|some|any|fake|dummy|sample|example|test"
_WHAT = "web-?site|site|domain|company|blog|page|url|link|source|server|host|org|organi[sz]ation"
# A label that stands for any: "your-domain"
_PLACEHOLDER = pattern(
    rf"(?:{_WHOSE})-?(?:{_WHAT})(?:-?(?:name|here|url|\d))?|(?:{_WHAT})-?(?:name|here|url)|"
    r"example\d?|placeholder|lorem-?ipsum|xxx+|insert-?(?:url|link)(?:-?here)?|yourname"
)
# A site that stands for any: "foo.com"
_PLACEHOLDER_SITE = pattern(
    r"(?:domain|website|site|url|link|foo|bar|foobar|sample|test|dummy|hostname|source\d)\.(?:com|org|net|edu|io)"
)
"""Words that are real names under other suffixes (test.de publishes tests)."""

# A path that stands for any: "/path/to"
_SAMPLE_PATH = pattern(
    r"(?:\.\.\.|…)(?=/|$)|[{}\[\]<>]|(?:^|/)(?:path/to|link[-_]here|url[-_]here|placeholder(?=[/.]|$)|"
    r"(?:your|insert)[-_](?:article|page|link|url|source|post|site|website|title|slug|text)(?![a-z])|"
    r"x{3,}(?:/|$)|example[-_](?:article|page|link|url|source|post)|article[-_](?:title|name|url|id)(?:/|$))",
    re.IGNORECASE,
)
_UNSEEN = frozenset({"Cf", "Co", "Cn"})
_SAFE = "%:@!$&'()*+,;=~-._/"


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding on a source: a verdict, a short reason, the supporting span and its match, 0–100."""

    verdict: SourceVerdict
    reason: str
    span: str = ""
    match: float | None = None


@dataclass(frozen=True, slots=True)
class Url:
    """An http or https URL, in ASCII: `host` is a name without trailing dot, or an address without brackets.

    `target` is path and query, percent-encoded; `site` is the registrable domain (or the address).
    """

    scheme: str
    host: str
    port: int
    target: str
    site: str
    address: Address | None = None

    @property
    def authority(self) -> str:
        """The host, in brackets for IPv6, with the port if it is not the scheme's default."""
        host = self.host
        if ":" in host:
            host = f"[{host}]"
        if self.port == PORTS[self.scheme]:
            return host
        return f"{host}:{self.port}"

    @property
    def text(self) -> str:
        """The URL in its normal form, without fragment."""
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def at_home(self) -> bool:
        """Whether this is a site's home page, in any language."""
        return bool(_HOME.fullmatch(self.target))


# The path of a home page: "/index.html"
_HOME = pattern(
    r"/?(?:[a-z]{2}(?:[-_][a-z]{2,4})?/?)?(?:(?:index|home|default|main)(?:\.[a-z]{3,5})?/?)?(?:\?[^/]{0,200})?",
    re.IGNORECASE,
)


class _RefusedError(Exception):
    """A URL that names no fetchable page: `LIKELY_FABRICATED`, or another finding."""

    def __init__(self, reason: str, verdict: SourceVerdict = "LIKELY_FABRICATED") -> None:
        super().__init__(reason)
        self.finding = Finding(verdict, reason)


def read_url(text: str) -> Url | Finding:
    """Parse a cited URL; return what is wrong with it if it names no page that may be fetched.

    `www.…` and a bare domain are read as http. There is only one reading: characters that parsers disagree about (a
    backslash, white space, control characters, user-info, a percent sign in the host) are refused, not repaired.
    """
    try:
        return _read(text.strip(" "))
    except _RefusedError as refused:
        return refused.finding


def _read(text: str) -> Url:
    _check_signs(text)
    # People leave out the scheme.
    if _NO_SCHEME.fullmatch(text):
        text = f"http://{text}"
    parts = _SPLIT.fullmatch(text)
    if not parts:
        raise _RefusedError("not a URL")
    scheme, authority = parts[1].lower(), parts[2]
    if scheme in _NOT_FETCHED:
        raise _RefusedError("a scheme that is not fetched", "UNCERTAIN")
    if scheme not in PORTS:
        raise _RefusedError("not a web address")
    if not authority:
        raise _RefusedError("no host")
    if "@" in authority:
        raise _RefusedError("user-info in the URL")
    split = _AUTHORITY.fullmatch(authority)
    if not split:
        raise _RefusedError("not a host")
    return _build_url(scheme, _read_host(split[1]), int(split[2] or PORTS[scheme]), parts[3], parts[4])


def _check_signs(text: str) -> None:
    """Refuse a text that no URL can be, before anything reads it."""
    if not text:
        raise _RefusedError("no URL", "UNCERTAIN")
    if len(text) > LONGEST:
        raise _RefusedError("longer than a URL")
    if any(sign.isspace() or unicodedata.category(sign) in {"Cc", "Cs"} for sign in text):
        raise _RefusedError("signs that no URL holds")
    if "\\" in text:
        raise _RefusedError("a backslash in the URL")


def _build_url(scheme: str, host: str, port: int, path: str, query: str | None) -> Url:
    if not 0 < port < 65536:  # noqa: PLR2004 - ports
        raise _RefusedError("not a port")
    if _SAMPLE_PATH.search(path):
        raise _RefusedError("a placeholder in the path")
    if port not in PORTS.values():
        raise _RefusedError("a port that is not fetched", "UNCERTAIN")
    target = quote(path or "/", safe=_SAFE)
    if query is not None:
        target += f"?{quote(query, safe=_SAFE + '?')}"
    address = read_address(host)
    return Url(scheme, host, port, target, host if address else site_of(host), address)


def _read_host(text: str) -> str:
    """Parse a host: a public address in its plain form, or a name under a public suffix, as ASCII (IDNA)."""
    host = text[1:-1]
    stated = read_address(host) if text.startswith("[") else None
    if text.startswith("[") and not isinstance(stated, IPv6Address):
        raise _RefusedError("not a host")
    if "%" in text:
        raise _RefusedError("a percent sign in the host")
    if stated is None:
        host = _encode_host(text)
        # Resolvers treat a host with a numeric last label as an IPv4 address (the WHATWG URL standard).
        if not _NUMBER.fullmatch(host.rpartition(".")[2]):
            return _judge_name(host, idn=not text.isascii() or "xn--" in host)
        stated = read_address(text.removesuffix("."))
    address = stated or read_disguised(host)
    if address is None:
        raise _RefusedError("not a host")
    if not is_public(address):
        raise _RefusedError("not a public address")
    if stated is None:
        raise _RefusedError("an address in disguise")
    return str(stated)


def _encode_host(text: str) -> str:
    host = text.lower().removesuffix(".")
    if len(text) > 253 or any(unicodedata.category(sign) in _UNSEEN for sign in text):  # noqa: PLR2004 - DNS
        raise _RefusedError("not a host")
    if not host.isascii() or "xn--" in host:
        import idna

        try:
            host = idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower().removesuffix(".")
        except (idna.IDNAError, UnicodeError) as error:
            raise _RefusedError("not a host") from error
    if not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise _RefusedError("not a host")
    return host


def _judge_name(host: str, *, idn: bool) -> str:
    site = site_of(host)
    if host.rpartition(".")[2] in _RESERVED:
        raise _RefusedError("a reserved name")
    if not site:
        raise _RefusedError("no public suffix")
    if _PLACEHOLDER.fullmatch(site.partition(".")[0]) or _PLACEHOLDER_SITE.fullmatch(site):
        raise _RefusedError("a placeholder domain")
    if idn:
        import idna

        for label in idna.decode(host).split("."):
            scripts = {unicodedata.name(sign, "").partition(" ")[0] for sign in label if sign.isalpha()}
            if len(scripts & {"LATIN", "CYRILLIC", "GREEK"}) > 1:  # as names do that pass for others
                raise _RefusedError("a name that mixes scripts")
    return host


def is_public(address: Address) -> bool:
    """Return whether an address is on the public internet.

    False for private, loopback, link-local, shared, multicast, reserved and documentation addresses, and for IPv6
    addresses that embed another address (mapped, compatible, NAT64, 6to4, Teredo, ISATAP).

    Source: IANA's special-purpose address registries (RFC 6890 and its updates).
    """
    if isinstance(address, IPv4Address):
        return not any(address in block for block in _IPV4)
    carries = (int(address) >> 32) & 0xFFFFFFFF in _ISATAP
    return address in _GLOBAL and not carries and not any(address in block for block in _IPV6)


def read_address(text: str) -> Address | None:
    """Parse an address in its plain form (no zone, no octal, no short form); None if it is not one."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def read_disguised(host: str) -> IPv4Address | None:
    """Parse an IPv4 address as the C library does: decimal, octal or hexadecimal, one to four parts."""
    parts = host.removesuffix(".").split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):  # noqa: PLR2004 - bytes of an address
        return None
    try:
        *bytes_, last = map(_read_part, parts)
    except ValueError:
        return None
    if max(bytes_, default=0) > 255 or last >= 256 ** (4 - len(bytes_)):  # noqa: PLR2004 - a byte
        return None
    # The last part fills the bytes that are left: 127.1 is 127.0.0.1.
    shifts = map(lshift, bytes_, (24, 16, 8))
    return IPv4Address(last + sum(shifts))


def _read_part(text: str) -> int:
    if text[1:2] in {"x", "X"}:
        return int(text[2:] or "0", 16)
    return int(text, 8 if text.startswith("0") else 10)


@cache
def _suffixes() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(accept_unknown=False, only_icann=True)


def site_of(host: str) -> str:
    """Return the registrable domain of a host name; '' if it has no public suffix.

    A suffix of two or more labels may itself be a site (gov.uk is).
    """
    site = _suffixes().privatesuffix(host)
    return str(site or (host if "." in host and _suffixes().publicsuffix(host) else ""))
