"""URLs that mean harm, each with the verdict and the reason that it must end in."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.tasks.web.site import (
    HOST,
    OTHER,
    PAGE,
    QUOTE,
    Answer,
    drip,
    gzip_bomb,
    hang,
    message,
    page,
    redirect,
    reset,
    send,
    status,
)

FAKE, UNSURE, TRUE = "LIKELY_FABRICATED", "UNCERTAIN", "VERIFIED"
PRIVATE, DISGUISE = "not a public address", "an address in disguise"
NO_HOST, NO_WEB, INSIDE = "not a host", "not a web address", "redirects to no public address"
ELSEWHERE, LARGE, BROKEN = "redirects to what is not fetched", "larger than is read", "broken reply"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

URLS: tuple[tuple[str, str, str], ...] = (
    # private addresses, plainly and in every notation
    ("http://127.0.0.1/", FAKE, PRIVATE),
    (f"http://{HOST}/", FAKE, PRIVATE),
    ("http://127.0.0.1:80/admin", FAKE, PRIVATE),
    ("http://127.0.0.1./", FAKE, PRIVATE),
    ("http://10.0.0.1/", FAKE, PRIVATE),
    ("http://172.16.31.4/", FAKE, PRIVATE),
    ("http://192.168.1.1/", FAKE, PRIVATE),
    ("http://100.64.0.1/", FAKE, PRIVATE),
    ("http://169.254.169.254/latest/meta-data/", FAKE, PRIVATE),
    ("http://168.63.129.16/metadata", FAKE, PRIVATE),
    ("http://0.0.0.0/", FAKE, PRIVATE),
    ("http://224.0.0.1/", FAKE, PRIVATE),
    ("http://255.255.255.255/", FAKE, PRIVATE),
    ("http://192.0.2.7/", FAKE, PRIVATE),
    ("http://198.18.0.1/", FAKE, PRIVATE),
    ("http://2130706433/", FAKE, PRIVATE),
    ("http://2852039166/", FAKE, PRIVATE),
    ("http://0x7f000001/", FAKE, PRIVATE),
    ("http://0X7F.0.0.1/", FAKE, PRIVATE),
    ("http://0x7f.1/", FAKE, PRIVATE),
    ("http://017700000001/", FAKE, PRIVATE),
    ("http://0177.0.0.1/", FAKE, PRIVATE),
    ("http://127.1/", FAKE, PRIVATE),
    ("http://127.0.1/", FAKE, PRIVATE),
    ("http://0/", FAKE, PRIVATE),
    ("http://00000.0.0.0/", FAKE, PRIVATE),
    ("http://010.8.8.8/", FAKE, DISGUISE),
    ("http://134744072/", FAKE, DISGUISE),
    ("http://127.0.0.1.1/", FAKE, NO_HOST),
    ("http://4294967296/", FAKE, NO_HOST),
    ("http://256.256.256.256/", FAKE, NO_HOST),
    ("http://127。0。0。1/", FAKE, PRIVATE),
    ("http://127｡0｡0｡1/", FAKE, PRIVATE),
    ("http://１２７.0.0.1/", FAKE, PRIVATE),
    ("http://①②⑦.0.0.1/", FAKE, PRIVATE),
    ("http://٠.0.0.1/", FAKE, NO_HOST),
    ("http://127.0.0.1\u200b/", FAKE, NO_HOST),
    ("http://%31%32%37.0.0.1/", FAKE, "a percent sign in the host"),
    ("http://[::1]/", FAKE, PRIVATE),
    ("http://[::]/", FAKE, PRIVATE),
    ("http://[0:0:0:0:0:0:0:1]:80/", FAKE, PRIVATE),
    ("http://[::ffff:127.0.0.1]/", FAKE, PRIVATE),
    ("http://[::ffff:7f00:1]/", FAKE, PRIVATE),
    ("http://[::127.0.0.1]/", FAKE, PRIVATE),
    ("http://[64:ff9b::7f00:1]/", FAKE, PRIVATE),
    ("http://[64:ff9b:1::a00:1]/", FAKE, PRIVATE),
    ("http://[2002:7f00:1::]/", FAKE, PRIVATE),
    ("http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", FAKE, PRIVATE),
    ("http://[2001:db8::1]/", FAKE, PRIVATE),
    ("http://[fe80::1]/", FAKE, PRIVATE),
    ("http://[fe80::1%25eth0]/", FAKE, NO_HOST),
    ("http://[fc00::1]/", FAKE, PRIVATE),
    ("http://[fd00:ec2::254]/latest/meta-data/", FAKE, PRIVATE),
    ("http://[ff02::1]/", FAKE, PRIVATE),
    ("http://[2a00:1450::5efe:7f00:1]/", FAKE, PRIVATE),
    ("http://[127.0.0.1]/", FAKE, NO_HOST),
    ("http://::1/", FAKE, NO_HOST),
    ("http://[::1/", FAKE, NO_HOST),
    # what other readers might take for a host, or for none
    ("http://127.0.0.1#.wikipedia.org/", FAKE, PRIVATE),
    ("http://127.0.0.1?.wikipedia.org/", FAKE, PRIVATE),
    ("http://127.0.0.1;.wikipedia.org/", FAKE, NO_HOST),
    ("http://127.0.0.1../", FAKE, NO_HOST),
    ("http://\U0001d7cf\U0001d7d0\U0001d7d5.\U0001d7ce.0.1/", FAKE, PRIVATE),
    ("http://\u246f\u2468.254.169.254/", FAKE, PRIVATE),
    ("http://127\u00ad.0.0.1/", FAKE, NO_HOST),
    ("http://loc\u00adalhost/", FAKE, NO_HOST),
    ("http://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/", FAKE, "a reserved name"),
    ("http://localho\u017ft/", FAKE, "a reserved name"),
    ("http://xn--localhost/", FAKE, NO_HOST),
    ("http://xn--127-0-0-1-.org/", FAKE, NO_HOST),
    ("http://100.100.100.200/latest/", FAKE, PRIVATE),
    ("http://[::ffff:a9fe:a9fe]/", FAKE, PRIVATE),
    ("http://[::ffff:0:127.0.0.1]/", FAKE, PRIVATE),
    ("http://[fec0::1]/", FAKE, PRIVATE),
    ("http://[100::1]/", FAKE, PRIVATE),
    ("http://[5f00::1]/", FAKE, PRIVATE),
    ("http://[::1%lo]/", FAKE, NO_HOST),
    ("http://[v1.x]/", FAKE, NO_HOST),
    ("http://kubernetes.default.svc/", FAKE, "no public suffix"),
    ("www.localhost", FAKE, "a reserved name"),
    ("http+unix://x/", FAKE, NO_WEB),
    ("blob:http://127.0.0.1/", FAKE, NO_WEB),
    ("netdoc:///etc/passwd", FAKE, NO_WEB),
    # names that are reserved, or no names
    ("http://localhost/", FAKE, "a reserved name"),
    ("http://LOCALHOST./", FAKE, "a reserved name"),
    ("http://printer.local/", FAKE, "a reserved name"),
    ("http://metadata.google.internal/", FAKE, "a reserved name"),
    ("http://service.cluster.local/", FAKE, "a reserved name"),
    ("http://intranet/", FAKE, "a reserved name"),
    ("http://redis/", FAKE, "no public suffix"),
    ("http://db.corpnet/", FAKE, "no public suffix"),
    ("http://ｌocalhost/", FAKE, "a reserved name"),
    ("http://a..press.org/", FAKE, NO_HOST),
    ("http://pаypal.com/", FAKE, "a name that mixes scripts"),
    # who is really asked
    ("http://en.wikipedia.org@169.254.169.254/", FAKE, "user-info in the URL"),
    ("http://169.254.169.254@en.wikipedia.org/", FAKE, "user-info in the URL"),
    ("http://user:pass@press-userinfo.org/", FAKE, "user-info in the URL"),
    ("http://127.0.0.1:80\\@press-backslash.org/", FAKE, "a backslash in the URL"),
    ("http:\\\\127.0.0.1\\", FAKE, "a backslash in the URL"),
    ("http://press-slash.org\\.127.0.0.1/", FAKE, "a backslash in the URL"),
    ("http://press-tab.org\t.127.0.0.1/", FAKE, "signs that no URL holds"),
    ("http://127.0.0.1\r\nHost: inside/", FAKE, "signs that no URL holds"),
    ("http://press-crlf.org/x\r\nX-Evil: 1", FAKE, "signs that no URL holds"),
    ("http://press-nul.org\x00.127.0.0.1/", FAKE, "signs that no URL holds"),
    ("ht\ntp://127.0.0.1/", FAKE, "signs that no URL holds"),
    ("http:///127.0.0.1/", FAKE, "no host"),
    ("http:127.0.0.1/", FAKE, "no host"),
    ("//127.0.0.1/", FAKE, "not a URL"),
    # other schemes
    ("file:///etc/passwd", FAKE, NO_WEB),
    ("file://127.0.0.1/etc/passwd", FAKE, NO_WEB),
    ("data:text/html,<h1>ship</h1>", FAKE, NO_WEB),
    ("javascript:alert(1)", FAKE, NO_WEB),
    ("gopher://127.0.0.1:6379/_FLUSHALL", FAKE, NO_WEB),
    ("dict://127.0.0.1:11211/stat", FAKE, NO_WEB),
    ("jar:http://127.0.0.1!/x", FAKE, NO_WEB),
    ("ldap://127.0.0.1/", FAKE, NO_WEB),
    ("unix:/var/run/docker.sock", FAKE, NO_WEB),
    ("view-source:http://127.0.0.1/", FAKE, NO_WEB),
    ("ftp://127.0.0.1/", UNSURE, "a scheme that is not fetched"),
    # other ports
    ("http://press-port.org:22/", UNSURE, "a port that is not fetched"),
    ("http://press-port.org:6379/", UNSURE, "a port that is not fetched"),
    ("http://press-port.org:8080/", UNSURE, "a port that is not fetched"),
    ("http://press-port.org:0/", FAKE, "not a port"),
    ("http://press-port.org:65616/", FAKE, "not a port"),
    ("http://press-port.org:80:80/", FAKE, NO_HOST),
    ("http://" + "a" * 64 + ".org/", FAKE, NO_HOST),
    ("http://" + "a." * 130 + "org/", FAKE, NO_HOST),
    ("http://press-long.org/" + "a" * 1990, FAKE, "longer than a URL"),
)
"""(URL, verdict, reason): what is refused before anything is looked up."""

NAMES: tuple[tuple[str, str | Sequence[str], str, str], ...] = (
    ("loopback", "127.0.0.1", FAKE, PRIVATE),
    ("other-loopback", "127.0.0.2", FAKE, PRIVATE),
    ("metadata", "169.254.169.254", FAKE, PRIVATE),
    ("ten", "10.1.2.3", FAKE, PRIVATE),
    ("six-loopback", "::1", FAKE, PRIVATE),
    ("mapped", f"::ffff:{HOST}", FAKE, PRIVATE),
    ("compatible", f"::{HOST}", FAKE, PRIVATE),
    ("nat64", "64:ff9b::7f00:4d", FAKE, PRIVATE),
    ("six-to-four", "2002:7f00:4d::1", FAKE, PRIVATE),
    ("zone", "fe80::1%lo", FAKE, PRIVATE),
    ("garbage", "not-an-address", FAKE, PRIVATE),
    ("mixed", f"{HOST} 127.0.0.1", FAKE, PRIVATE),
    ("mixed-late", f"{HOST} {HOST} {HOST} {HOST} 10.0.0.1", FAKE, PRIVATE),
    ("mixed-six", f"{HOST} ::1", FAKE, PRIVATE),
    ("rebinding", (HOST, "127.0.0.1"), FAKE, PRIVATE),
    ("rebinding-six", (HOST, "::1"), FAKE, PRIVATE),
    ("rebinding-after-the-checks", (HOST, HOST, "127.0.0.1"), FAKE, "page not found"),
    ("nowhere", (), FAKE, "the name does not resolve"),
)
"""(name, addresses, verdict, reason): names as a resolver answers for them; a sequence answers lookup by lookup.

In rebinding, robots.txt is read from the public address, and the page's own lookup answers with another one; or a
third lookup would, if whoever dials looked the name up again.
"""

FETCHES: tuple[tuple[str, Answer, str, str], ...] = (
    # redirects to what must not be reached
    ("to-loopback", redirect("http://127.0.0.1/"), FAKE, INSIDE),
    ("to-server-itself", redirect(f"http://{HOST}/"), FAKE, INSIDE),
    ("to-metadata", redirect("http://169.254.169.254/latest/", 301), FAKE, INSIDE),
    ("to-decimal", redirect("http://2130706433/", 303), FAKE, INSIDE),
    ("to-short", redirect("http://127.1/", 307), FAKE, INSIDE),
    ("to-six", redirect("http://[::1]/", 308), FAKE, INSIDE),
    ("to-mapped", redirect("http://[::ffff:127.0.0.1]/"), FAKE, INSIDE),
    ("to-localhost", redirect("http://localhost/"), FAKE, INSIDE),
    ("to-relative-host", redirect("//127.0.0.1/x"), FAKE, INSIDE),
    ("to-private-name", redirect("http://inside-of-it.org/"), FAKE, INSIDE),
    ("to-chain", redirect("http://chain-1.org/"), FAKE, INSIDE),
    ("to-userinfo", redirect("http://good.org@127.0.0.1/"), UNSURE, ELSEWHERE),
    ("to-backslash", redirect("http:\\\\127.0.0.1/"), UNSURE, ELSEWHERE),
    ("to-slash-backslash", redirect("/\\127.0.0.1/"), UNSURE, ELSEWHERE),
    ("to-tab", redirect("/\t/127.0.0.1/"), UNSURE, ELSEWHERE),
    ("to-file", redirect("file:///etc/passwd"), UNSURE, ELSEWHERE),
    ("to-gopher", redirect("gopher://127.0.0.1:6379/_x"), UNSURE, ELSEWHERE),
    ("to-ftp", redirect("ftp://127.0.0.1/"), UNSURE, ELSEWHERE),
    ("to-data", redirect("data:text/html,x"), UNSURE, ELSEWHERE),
    ("to-javascript", redirect("javascript:alert(1)"), UNSURE, ELSEWHERE),
    ("to-port", redirect("http://other-port.org:6379/"), UNSURE, ELSEWHERE),
    ("to-nothing", send(message(status="302 Found")), UNSURE, ELSEWHERE),
    ("to-brackets", redirect("http://[::1"), UNSURE, ELSEWHERE),
    ("to-itself", redirect("/x"), UNSURE, "redirects too often"),
    ("to-each-other", redirect("http://ping.org/"), UNSURE, "redirects too often"),
    ("to-nowhere", redirect("http://unknown-name.org/"), FAKE, "the name does not resolve"),
    (
        "meta-refresh",
        page(OTHER.replace("<head>", '<head><meta http-equiv="refresh" content="0;url=http://127.0.0.1/">')),
        FAKE,
        "quote not on the page",
    ),
    (
        "embedded-things",
        page(PAGE.replace("<p>", '<img src="http://127.0.0.1/"><iframe src="http://127.0.0.2/"></iframe><p>', 1)),
        TRUE,
        "quote found",
    ),
    ("refresh-header", page(OTHER, head="Refresh: 0;url=http://127.0.0.1/\r\n"), FAKE, "quote not on the page"),
    # huge bodies
    ("huge", page("x" * 3_000_000), UNSURE, LARGE),
    ("huge-unannounced", drip(HEAD + b"\r\n", b"x" * 65536, 0.0), UNSURE, LARGE),
    (
        "huge-chunks",
        drip(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * 65536 + b"\r\n", 0.0),
        UNSURE,
        LARGE,
    ),
    ("length-of-a-disk", send(HEAD + b"Content-Length: 99999999999999\r\n\r\nx"), UNSURE, LARGE),
    ("gzip-bomb", page(gzip_bomb(16), head="Content-Encoding: gzip\r\n"), UNSURE, LARGE),
    (
        "gzip-in-gzip",
        page(gzip_bomb(16, 2), head="Content-Encoding: gzip, gzip\r\n"),
        UNSURE,
        "an encoding that is not read",
    ),
    ("gzip-hidden", page(gzip_bomb(16)), UNSURE, "not a text page"),
    (
        "gzip-twice",
        page(gzip.compress(gzip_bomb(16)), head="Content-Encoding: gzip\r\n"),
        UNSURE,
        "not a text page",
    ),
    (
        "deflate",
        page(zlib.compress(PAGE.encode()), head="Content-Encoding: deflate\r\n"),
        TRUE,
        "quote found",
    ),
    ("brotli", page(b"\x8b\x02\x80x\x03", head="Content-Encoding: br\r\n"), UNSURE, "an encoding that is not read"),
    (
        "zstd",
        page(b"\x28\xb5\x2f\xfd" * 20, head="Content-Encoding: zstd\r\n"),
        UNSURE,
        "an encoding that is not read",
    ),
    ("gzip-that-is-none", page(PAGE, head="Content-Encoding: gzip\r\n"), UNSURE, BROKEN),
    ("gzip-cut", page(gzip.compress(PAGE.encode())[:-20], head="Content-Encoding: gzip\r\n"), UNSURE, BROKEN),
    ("gzip-honest", page(gzip.compress(PAGE.encode()), head="Content-Encoding: gzip\r\n"), TRUE, "quote found"),
    # slow and broken servers
    ("silent", hang, UNSURE, "time-out"),
    ("reset", reset, UNSURE, BROKEN),
    ("empty", send(b""), UNSURE, BROKEN),
    ("no-http", send(b"220 mail.press.org ESMTP\r\n\r\n"), UNSURE, BROKEN),
    ("slow-headers", drip(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"), UNSURE, "time-out"),
    ("slow-status", drip(b"", b"H"), UNSURE, "time-out"),
    ("slow-body", drip(HEAD + b"Content-Length: 100000\r\n\r\n", b"x"), UNSURE, "time-out"),
    ("slow-chunks", drip(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"), UNSURE, "time-out"),
    ("endless-continue", drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.01), UNSURE, "time-out"),  # 20 kB by then
    ("endless-early-hints", drip(b"", b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", 0.0), UNSURE, LARGE),
    ("huge-header", drip(b"HTTP/1.1 200 OK\r\nX-A: ", b"b" * 65536, 0.0), UNSURE, BROKEN),
    ("many-headers", drip(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n" * 999, 0.0), UNSURE, BROKEN),
    ("length-too-long", send(HEAD + b"Content-Length: 99999\r\n\r\n" + PAGE.encode()), UNSURE, BROKEN),
    ("length-negative", send(HEAD + b"Content-Length: -1\r\n\r\n" + PAGE.encode()), UNSURE, BROKEN),
    (
        "length-twice",
        send(HEAD + b"Content-Length: 5\r\nContent-Length: 9\r\n\r\n" + PAGE.encode()),
        UNSURE,
        BROKEN,
    ),
    ("chunk-of-any-size", send(HEAD + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nx"), UNSURE, BROKEN),
    (
        "upgrade",
        send(b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\nxx"),
        UNSURE,
        BROKEN,
    ),
    # lies about what a page is
    ("picture", page(b"\x89PNG\r\n\x1a\n" + QUOTE.encode()), UNSURE, "not a text page"),
    ("nul-bytes", page(b"<html>\0\0" + PAGE.encode()), UNSURE, "not a text page"),
    ("pdf-as-html", page(b"%PDF-1.7\n" + QUOTE.encode()), UNSURE, "a PDF is not read"),
    ("pdf", page(b"%PDF-1.7\n" + QUOTE.encode(), "application/pdf"), UNSURE, "a PDF is not read"),
    ("json", page(f'{{"text": "{QUOTE}"}}', "application/json"), UNSURE, "not a text page"),
    ("program", page(PAGE, "application/octet-stream"), UNSURE, "not a text page"),
    ("charset-idna", page(PAGE, "text/html; charset=idna"), TRUE, "quote found"),
    ("charset-escape", page(PAGE, "text/html; charset=unicode_escape"), TRUE, "quote found"),
    # what the status says
    ("gone", status("410 Gone"), FAKE, "page not found"),
    ("missing", status("404 Not Found"), FAKE, "page not found"),
    ("forbidden", status("403 Forbidden"), UNSURE, "access refused"),
    ("unauthorized", status("401 Unauthorized"), UNSURE, "access refused"),
    ("too-many", status("429 Too Many Requests"), UNSURE, "too many requests"),
    ("failing", status("503 Service Unavailable"), UNSURE, "server error"),
    ("no-content", send(b"HTTP/1.1 204 No Content\r\n\r\n"), UNSURE, "unexpected status"),
    ("odd-status", status("299 Fine"), UNSURE, "unexpected status"),
    ("to-home", redirect("/"), UNSURE, "redirects to the home page"),
    ("to-home-in-french", redirect("/fr/?from=x"), UNSURE, "redirects to the home page"),
    ("to-login", redirect("/login?next=/x"), UNSURE, "redirects to a log-in page"),
    ("deep-markup", page("<div>" * 30_000 + QUOTE), TRUE, "quote found"),
    ("good", page(), TRUE, "quote found"),
    ("to-good", redirect("http://press-good.org/x", 301), TRUE, "quote found"),
    ("without-quote", page(OTHER), FAKE, "quote not on the page"),
)
"""(site, what it answers, verdict, reason): what is fetched, from a server on the one address that is allowed."""


@dataclass(frozen=True, slots=True)
class Case:
    """One URL with what must come of it."""

    name: str
    url: str
    verdict: str
    reason: str


def cases() -> Iterator[Case]:
    """Yield all cases."""
    for url, verdict, reason in URLS:
        yield Case(ascii(url[:60]), url, verdict, reason)
    for name, _, verdict, reason in NAMES:
        yield Case(f"name {name}", f"http://dns-{name}.org/x", verdict, reason)
    for name, _, verdict, reason in FETCHES:
        yield Case(f"site {name}", f"http://press-{name}.org/x", verdict, reason)


def answers() -> dict[str, Answer]:
    """Return what the server answers, by host and path."""
    found = {f"press-{name}.org/x": answer for name, answer, _, _ in FETCHES}
    found |= {f"chain-{n}.org/": redirect(f"http://chain-{n + 1}.org/") for n in (1, 2)}
    found["chain-3.org/"] = redirect("http://10.0.0.1/")
    found["ping.org/"] = redirect("http://pong.org/")
    found["pong.org/"] = redirect("http://ping.org/")
    found |= {"*/": page(), "*/fr/": page(), "*/login": page()}
    return found


def names() -> dict[str, str | Sequence[str]]:
    """Return what the resolver answers."""
    found: dict[str, str | Sequence[str]] = {f"dns-{name}.org": told for name, told, _, _ in NAMES if told}
    found |= {f"press-{name}.org": HOST for name, _, _, _ in FETCHES}
    found |= dict.fromkeys(("chain-1.org", "chain-2.org", "chain-3.org", "ping.org", "pong.org", "iana.org"), HOST)
    return found | {"inside-of-it.org": "127.0.0.1", "press-port.org": HOST, "good.org": HOST}
