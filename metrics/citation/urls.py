"""Read a URL strictly, in one way only, and say what is wrong with it."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal
from urllib.parse import quote

from data.patterns import pattern
from metrics.citation.addresses import Address, ends_in_number, is_public, read_address, read_disguised

SourceVerdict = Literal["VERIFIED", "UNCERTAIN", "LIKELY_FABRICATED"]

LONGEST = 2000
"""Signs of a URL; a longer one is none."""

PORTS = {"http": 80, "https": 443}
_SPLIT = pattern(r"([A-Za-z][A-Za-z0-9+.-]{0,30}):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?")
_NO_SCHEME = pattern(r"(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}\.?(?::[0-9]{1,5})?(?:[/?#].*)?")
_NOT_FETCHED = frozenset({"ftp", "ftps", "sftp", "ipfs", "urn"})
_LABEL = pattern(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_RESERVED = frozenset(
    """test example invalid localhost local localdomain internal intranet private corp home lan onion alt
    arpa""".split()  # noqa: SIM905 - words read as words
)
_WHOSE = "your|my|our|some|any|fake|dummy|sample|example|test"
_WHAT = "web-?site|site|domain|company|blog|page|url|link|source|server|host|org|organi[sz]ation"
_PLACEHOLDER = pattern(
    rf"(?:{_WHOSE})-?(?:{_WHAT})(?:-?(?:name|here|url|\d))?|(?:{_WHAT})-?(?:name|here|url)|"
    r"example\d?|placeholder|lorem-?ipsum|xxx+|insert-?(?:url|link)(?:-?here)?|yourname"
)
_PLACEHOLDER_SITE = pattern(
    r"(?:domain|website|site|url|link|foo|bar|foobar|sample|test|dummy|hostname|source\d)\.(?:com|org|net|edu|io)"
)
"""Words that are real names under other suffixes (test.de publishes tests)."""

_SAMPLE_PATH = pattern(
    r"(?:\.\.\.|…)(?=/|$)|[{}\[\]<>]|(?:^|/)(?:path/to|your[-_]\w|insert[-_]|placeholder|link[-_]here|url[-_]here|"
    r"x{3,}(?:/|$)|example[-_](?:article|page|link|url|source|post)|article[-_](?:title|name|url|id)(?:/|$))",
    re.IGNORECASE,
)
_UNSEEN = frozenset({"Cf", "Co", "Cn"})
_SAFE = "%:@!$&'()*+,;=~-._/"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is found of a source: a verdict, a short reason, the span that bears it out and its match, 0–100."""

    verdict: SourceVerdict
    reason: str
    span: str = ""
    match: float | None = None


@dataclass(frozen=True, slots=True)
class Url:
    """A URL of http or https, in ASCII: `host` is a name without trailing dot, or an address without brackets.

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
        """The host, in brackets where IPv6, and the port where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def text(self) -> str:
        """The URL in its one normal form, without fragment."""
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def at_home(self) -> bool:
        """Whether this is a site's home page, in whatever language."""
        return bool(_HOME.fullmatch(self.target))


_HOME = pattern(
    r"/?(?:[a-z]{2}(?:[-_][a-z]{2,4})?/?)?(?:(?:index|home|default|main)(?:\.[a-z]{3,5})?/?)?(?:\?[^/]{0,200})?",
    re.IGNORECASE,
)


def _bad(reason: str) -> Finding:
    return Finding("LIKELY_FABRICATED", reason)


def read_url(text: str) -> Url | Finding:  # noqa: PLR0911 - each way out is a reason of its own
    """Read a cited URL; return what is wrong with it where it names no page that may be fetched.

    `www.…` and a bare domain are read as http. There is one reading only: signs that parsers disagree about (a
    backslash, white space, control signs, user-info, a percent sign in the host) are refused, not mended.
    """
    text = text.strip(" ")
    if not text:
        return Finding("UNCERTAIN", "no URL")
    if len(text) > LONGEST:
        return _bad("longer than a URL")
    if any(sign.isspace() or unicodedata.category(sign) in {"Cc", "Cs"} for sign in text):
        return _bad("signs that no URL holds")
    if "\\" in text:
        return _bad("a backslash in the URL")
    if _NO_SCHEME.fullmatch(text):
        text = f"http://{text}"
    parts = _SPLIT.fullmatch(text)
    if not parts:
        return _bad("not a URL")
    scheme, authority = parts[1].lower(), parts[2]
    if scheme not in PORTS:
        kept = scheme in _NOT_FETCHED
        return Finding("UNCERTAIN", "a scheme that is not fetched") if kept else _bad("not a web address")
    if not authority:
        return _bad("no host")
    return _read_authority(scheme, authority, parts[3], parts[4])


def _read_authority(scheme: str, authority: str, path: str, query: str | None) -> Url | Finding:
    if "@" in authority:
        return _bad("user-info in the URL")
    split = re.fullmatch(r"(\[[^\[\]]*\]|[^:\[\]]+)(?::([0-9]{0,5}))?", authority)
    host = read_host(split[1]) if split else _bad("not a host")
    if not split or isinstance(host, Finding):
        return host if isinstance(host, Finding) else _bad("not a host")
    port = int(split[2] or PORTS[scheme])
    if not 0 < port < 65536:  # noqa: PLR2004 - ports
        return _bad("not a port")
    if _SAMPLE_PATH.search(path):
        return _bad("a placeholder in the path")
    if port not in PORTS.values():
        return Finding("UNCERTAIN", "a port that is not fetched")
    target = quote(path or "/", safe=_SAFE) + (f"?{quote(query, safe=_SAFE + '?')}" if query is not None else "")
    address = read_address(host)
    return Url(scheme, host, port, target, host if address else site_of(host), address)


def read_host(text: str) -> str | Finding:
    """Read a host: a public address in its plain form, or a name under a public suffix, as ASCII (IDNA)."""
    if text.startswith("["):
        found = read_address(text[1:-1])
        if found is None or found.version != 6:  # noqa: PLR2004 - a version
            return _bad("not a host")
        return str(found) if is_public(found) else _bad("not a public address")
    if "%" in text:
        return _bad("a percent sign in the host")
    host = _to_ascii(text)
    if host is None:
        return _bad("not a host")
    if ends_in_number(host):
        return _read_number_host(text, host)
    return _judge_name(host, text)


def _read_number_host(text: str, host: str) -> str | Finding:
    """Judge a host that resolvers take for an IPv4 address."""
    plain = read_address(text.removesuffix("."))
    if plain is not None:
        return str(plain) if is_public(plain) else _bad("not a public address")
    disguised = read_disguised(host)
    if disguised is None:
        return _bad("not a host")
    return _bad("an address in disguise" if is_public(disguised) else "not a public address")


def _to_ascii(text: str) -> str | None:
    """Return a host as lower-case ASCII without its trailing dot; None where it is no host."""
    if len(text) > 253 or any(unicodedata.category(sign) in _UNSEEN for sign in text):  # noqa: PLR2004 - DNS
        return None
    host = text.lower().removesuffix(".")
    if not host.isascii() or "xn--" in host:
        import idna

        try:
            host = idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower().removesuffix(".")
        except (idna.IDNAError, UnicodeError):
            return None
    return host if host and all(_LABEL.fullmatch(label) for label in host.split(".")) else None


def _judge_name(host: str, text: str) -> str | Finding:
    labels = host.split(".")
    if labels[-1] in _RESERVED:
        return _bad("a reserved name")
    site = site_of(host)
    if not site:
        return _bad("no public suffix")
    if _PLACEHOLDER.fullmatch(site.partition(".")[0]) or _PLACEHOLDER_SITE.fullmatch(site):
        return _bad("a placeholder domain")
    if not text.isascii() or "xn--" in host:
        import idna

        if any(mixes_scripts(label) for label in idna.decode(host).split(".")):
            return _bad("a name that mixes scripts")
    return host


def mixes_scripts(label: str) -> bool:
    """Tell whether a label mixes Latin with Cyrillic or Greek letters, as names do that pass for others."""
    scripts = {unicodedata.name(sign, "").partition(" ")[0] for sign in label if sign.isalpha()}
    return len(scripts & {"LATIN", "CYRILLIC", "GREEK"}) > 1


@cache
def _suffixes() -> Any:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(accept_unknown=False, only_icann=True)


def site_of(host: str) -> str:
    """Return the registrable domain of a host name; '' where it ends in no public suffix.

    A suffix of two labels or more may be a site itself (gov.uk is).
    """
    found = _suffixes().privatesuffix(host)
    return str(found or (host if "." in host and _suffixes().publicsuffix(host) else ""))
