"""Evidence of cited sources: what is kept, replayed, spared, and how politely it is fetched."""

import datetime as dt
import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from basic_control.data.options import options_of
from basic_control.data.tables import EVIDENCE
from basic_control.metrics.citation.citation import citation_score
from basic_control.tasks.store.samples import SampleRow
from basic_control.tasks.store.tables import Store
from basic_control.tasks.web import NetworkPolicy, check
from tests.tasks.web.citing import LIMITS, answered, certificate, net
from tests.tasks.web.site import (
    HOST,
    OTHER,
    PAGE,
    QUOTE,
    Answer,
    Site,
    hang,
    lookup,
    message,
    page,
    redirect,
    send,
    status,
)


@pytest.fixture(scope="module")
def encyclopedia() -> Iterator[Site]:
    """Serve an encyclopedia that many tests cite."""
    answers: dict[str, Answer] = {
        "encyclopedia.org/ship": page(),
        "encyclopedia.org/bees": page(OTHER),
        "encyclopedia.org/old": redirect("/ship", 301),
        "encyclopedia.org/кит": page(),
    }
    with Site(answers) as site:
        yield site


def test_the_evidence_of_a_page(encyclopedia: Site) -> None:
    before = dt.datetime.now(dt.UTC).replace(microsecond=0)
    frame = check(
        [answered({"url": "http://encyclopedia.org/old#Sinking", "quote": QUOTE})],
        network=True,
        net=net(encyclopedia, "encyclopedia.org"),
    )
    EVIDENCE.check(frame)
    row = frame.row(0, named=True)
    told = {name: row[name] for name in ("item_id", "model", "repeat", "number", "url", "final_url", "http_status")}
    assert told == {
        "item_id": "item",
        "model": "model",
        "repeat": 0,
        "number": 1,
        "url": "http://encyclopedia.org/old",
        "final_url": "http://encyclopedia.org/ship",
        "http_status": 200,
    }
    assert row["digest"] == hashlib.sha256(PAGE.encode()).hexdigest()
    assert before <= dt.datetime.fromisoformat(row["fetched_at"]) <= dt.datetime.now(dt.UTC)
    assert (row["verdict"], row["reason"], row["span"], row["match"]) == (
        "VERIFIED",
        "quote found",
        QUOTE.rstrip("."),
        100.0,
    )


def test_checks_run_in_any_thread(encyclopedia: Site) -> None:
    """Tasks run in threads of the flow's runner."""
    cited = [answered({"url": "http://encyclopedia.org/ship", "quote": QUOTE}, item=str(n)) for n in range(2)]
    policy = net(encyclopedia, "encyclopedia.org")
    with ThreadPoolExecutor(2) as pool:
        frames = list(pool.map(lambda one: check([one], network=True, net=policy), cited))
    assert [frame["verdict"].item() for frame in frames] == ["VERIFIED"] * 2


def test_without_network_nothing_is_looked_up(encyclopedia: Site) -> None:
    """The resolver would refuse every name, so that a lookup could not go unnoticed."""
    asked = len(encyclopedia.requests)
    frame = check(
        [answered({"url": "http://encyclopedia.org/ship", "quote": QUOTE}, {"url": "http://example.com/x"})],
        network=False,
        net=NetworkPolicy(resolve=lookup({})),
    )
    assert frame["reason"].to_list() == ["not checked: network is off", "a placeholder domain"]
    assert frame["verdict"].to_list() == ["UNCERTAIN", "LIKELY_FABRICATED"]
    assert frame["fetched_at"].to_list() == [None, None]
    assert len(encyclopedia.requests) == asked


def test_a_page_is_fetched_once_however_many_cite_it(encyclopedia: Site) -> None:
    asked = len(encyclopedia.requests)
    frame = check(
        [
            answered({"url": "http://encyclopedia.org/ship", "quote": QUOTE}, model=f"model-{n}", item=f"item-{n}")
            for n in range(20)
        ]
        + [answered({"url": "http://encyclopedia.org/ship#x", "quote": "Bees are fond of gardens in summer"})],
        network=True,
        net=net(encyclopedia, "encyclopedia.org"),
    )
    assert frame["verdict"].to_list() == ["VERIFIED"] * 20 + ["LIKELY_FABRICATED"]
    paths = [request.path for request in encyclopedia.requests[asked:]]
    assert paths == ["/robots.txt", "/ship"]


def test_the_metric_reads_the_evidence(encyclopedia: Site) -> None:
    """The span that was fetched is what the judge compares with the claim."""
    one = answered({"url": "http://encyclopedia.org/ship"}, {"url": "http://encyclopedia.org/bees", "quote": QUOTE})
    frame = check([one], network=True, net=net(encyclopedia, "encyclopedia.org"))
    evidence = {
        str(row["number"]): {name: row[name] for name in ("verdict", "reason", "span")}
        for row in frame.iter_rows(named=True)
    }
    sample = {**one.sample, "evidence": evidence, "short_answers": ["1912"]}
    options = options_of(citation_score, {"mode": "closed_book"})
    rows = citation_score.score(sample, {}, options).details["citations"]
    assert [row["verification"] for row in rows] == ["VERIFIED", "LIKELY_FABRICATED"]
    assert QUOTE in rows[0]["span"]
    asked = list(citation_score.steps[0].rows(sample, {}, options))
    assert [question.values["kind"] for question in asked] == ["fetched", "quote"]


def test_sources_that_are_not_cited_or_have_no_url_are_not_fetched(encyclopedia: Site) -> None:
    asked = len(encyclopedia.requests)
    frame = check(
        [
            answered(
                {"title": "A book, ISBN 0306406153"},
                {"url": "http://encyclopedia.org/ship"},
                text="The ship sank in April 1912 [1].",
            )
        ],
        network=True,
        net=net(encyclopedia, "encyclopedia.org"),
    )
    assert frame["number"].to_list() == [1]
    assert len(encyclopedia.requests) == asked


def test_a_failed_call_has_no_sources() -> None:
    failed = SampleRow("item", "model", 0, "en", {"question": "?", "response": None}, "timeout", "late")
    assert check([failed], network=True).height == 0


def test_requests_are_honest_and_carry_nothing_over() -> None:
    """A cookie that a page sets is not sent again; no Referer, no credentials."""
    with Site({"press.org/a": page(head="Set-Cookie: id=1\r\n"), "press.org/b": page()}) as site:
        check(
            [
                answered(
                    {"url": "http://press.org/a", "quote": QUOTE}, {"url": "http://press.org/b", "quote": QUOTE}
                )
            ],
            network=True,
            net=net(site, "press.org"),
        )
    assert [request.path for request in site.requests] == ["/robots.txt", "/a", "/b"]
    for request in site.requests:
        assert request.headers["user-agent"].startswith("basic-control/")
        assert set(request.headers) == {"host", "user-agent", "accept", "accept-encoding", "connection"}


ROBOTS = "User-agent: *\nDisallow: /private\nAllow: /private/open\n"


@pytest.mark.parametrize(
    ("robots", "path", "reason", "fetched"),
    [
        (page(ROBOTS, "text/plain"), "/ship", "quote found", True),
        (page(ROBOTS, "text/plain"), "/private/ship", "robots.txt forbids it", False),
        (page(ROBOTS, "text/plain"), "/private/open/ship", "quote found", True),
        (page("User-agent: basic-control\nDisallow: /\n", "text/plain"), "/ship", "robots.txt forbids it", False),
        (page("User-agent: other\nDisallow: /\n", "text/plain"), "/ship", "quote found", True),
        (status("404 Not Found"), "/ship", "quote found", True),
        (status("403 Forbidden"), "/ship", "quote found", True),
        (status("503 Service Unavailable"), "/ship", "robots.txt cannot be read", False),
        (hang, "/ship", "time-out", False),
        (redirect("http://127.0.0.1/robots.txt"), "/ship", "quote found", True),
        (redirect("http://inside.org/robots.txt"), "/ship", "robots.txt cannot be read", False),
        (page(b"\x8b" * 900_000, "text/plain"), "/ship", "quote found", True),
    ],
)
def test_robots_are_respected(robots: Answer, path: str, reason: str, *, fetched: bool) -> None:
    answers = {"press.org/robots.txt": robots, "press.org/*": page()}
    with Site(answers) as site:
        policy = net(site, "press.org", limits=replace(LIMITS, read_s=0.3), more={"inside.org": "127.0.0.1"})
        frame = check([answered({"url": f"http://press.org{path}", "quote": QUOTE})], network=True, net=policy)
    assert frame["reason"].to_list() == [reason]
    assert (path in [request.path for request in site.requests]) is fetched
    assert site.touched == []


def test_a_site_is_asked_one_page_at_a_time_and_sites_beside_each_other() -> None:
    names = [f"press-{n}.org" for n in range(4)]
    slow = {f"{name}/*": page() for name in names}
    with Site(slow) as site:
        cited = [
            answered({"url": f"http://{name}/{n}", "quote": QUOTE}, item=f"{name}{n}")
            for name in names
            for n in range(3)
        ]
        check(cited, network=True, net=net(site, *names))
    for name in names:
        mine = [request.path for request in site.requests if request.host == name]
        assert mine == ["/robots.txt", "/0", "/1", "/2"]
    assert 1 < site.most_at_once <= len(names)


def test_a_site_that_does_not_answer_is_given_up() -> None:
    with Site({"press.org/*": hang}) as site:
        cited = [answered({"url": f"http://press.org/{n}", "quote": QUOTE}, item=str(n)) for n in range(8)]
        limits = replace(LIMITS, read_s=0.2, failures_per_site=2)
        frame = check(cited, network=True, net=net(site, "press.org", limits=limits))
    assert frame["reason"].to_list() == ["time-out"] * 2 + ["the site does not answer"] * 6
    assert len(site.requests) == 3


def test_an_answer_may_have_so_many_pages_fetched() -> None:
    with Site({"press.org/*": page()}) as site:
        cited = [answered(*({"url": f"http://press.org/{n}", "quote": QUOTE} for n in range(9)))]
        limits = replace(LIMITS, pages_per_answer=3)
        frame = check(cited, network=True, net=net(site, "press.org", limits=limits))
    assert frame["reason"].to_list()[3:] == ["beyond the most pages fetched"] * 6
    assert len(site.requests) == 4


def test_a_refused_connection_settles_nothing() -> None:
    with Site({}) as site:
        policy = net(site, "press.org")
    frame = check([answered({"url": "http://press.org/x", "quote": QUOTE})], network=True, net=policy)
    assert (frame["verdict"].item(), frame["reason"].item()) == ("UNCERTAIN", "no connection")


def test_the_next_address_is_tried_where_one_does_not_answer() -> None:
    """Both addresses of the name are allowed; nobody listens on the first."""
    with Site({"press.org/x": page()}) as site:
        policy = NetworkPolicy(
            resolve=lookup({"press.org": f"127.0.0.78 {HOST}"}),
            allows=lambda address: str(address) in {"127.0.0.78", HOST},
            ports={80: site.port},
            limits=LIMITS,
        )
        frame = check([answered({"url": "http://press.org/x", "quote": QUOTE})], network=True, net=policy)
    assert frame["verdict"].item() == "VERIFIED"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<p>Лайнер затонул ранним утром 15 апреля 1912 года.".encode("cp1251"), "text/html; charset=windows-1251"),
        (
            b'<meta charset="koi8-r"><p>' + "Лайнер затонул ранним утром 15 апреля 1912 года.".encode("koi8-r"),
            "text/html",
        ),
        ("Лайнер затонул ранним утром 15 апреля 1912 года.".encode(), "text/plain"),
        ("\ufeffЛайнер затонул ранним утром 15 апреля 1912 года.".encode("utf-16-le"), "text/html"),
        ("Лайнер затонул ранним утром 15 апреля 1912 года.".encode(), ""),
    ],
    ids=["stated", "meta", "utf-8", "mark", "none"],
)
def test_pages_are_read_in_their_charset(body: bytes, kind: str) -> None:
    with Site({"press.org/x": page(body, kind)}) as site:
        cited = [answered({"url": "http://press.org/x", "quote": "затонул ранним утром 15 апреля 1912 года"})]
        frame = check(cited, network=True, net=net(site, "press.org"))
    assert frame["reason"].to_list() == ["quote found"]


def test_a_quote_outside_the_article_is_found_as_well() -> None:
    body = PAGE.replace(
        "</body>", "<footer><small>Set in type by the compositors of Leeds in 1999</small></footer></body>"
    )
    with Site({"press.org/x": page(body)}) as site:
        cited = [
            answered({"url": "http://press.org/x", "quote": "Set in type by the compositors of Leeds in 1999"})
        ]
        frame = check(cited, network=True, net=net(site, "press.org"))
    assert frame["verdict"].to_list() == ["VERIFIED"]


def test_a_page_that_takes_too_long_to_read_is_given_up_and_the_next_is_read() -> None:
    """The reader is ended with the page that holds it up; a fresh one reads the next."""
    hostile = "ab " * 160_000
    pages = {"press.org/a": page(), "press.org/b": page(hostile, "text/plain"), "press.org/c": page()}
    with Site(pages) as site:
        cited = [
            answered({"url": "http://press.org/a", "quote": QUOTE}, item="before"),
            *(
                answered({"url": "http://press.org/b", "quote": "a b " * 900 + f"x{n}"}, item=f"slow {n}")
                for n in range(12)
            ),
            answered({"url": "http://press.org/c", "quote": QUOTE}, item="after"),
        ]
        limits = replace(LIMITS, extraction_s=0.05)
        frame = check(cited, network=True, net=net(site, "press.org", limits=limits))
    reasons = frame["reason"].to_list()
    assert reasons == ["quote found", *["the page cannot be read"] * 12, "quote found"]


def test_text_that_no_table_holds_is_stored_all_the_same(tmp_path: Path) -> None:
    """Halves of surrogate pairs, and numbers beyond 64 bits."""
    response = (
        '{"answer": "The ship sank in April 1912 [1].", "citations": ['
        '{"number": 1, "url": "http://press.org/\\ud800", "quote": "\\udfff"},'
        '{"number": 99999999999999999999999, "claim": "It sank in the morning", "url": "http://press.org/"}]}'
    )
    frame = check([SampleRow("i", "m", 0, "en", {"response": response}, None, None)], network=False)
    assert Store(str(tmp_path)).write(EVIDENCE, frame).rows == frame.height == 1


def test_tls_keeps_the_name_though_an_address_is_dialled(tmp_path: Path) -> None:
    """The server sees the name in SNI and Host; a certificate of another name, or an untrusted one, is refused."""
    server, client = certificate(tmp_path, "press.org")
    named: list[str] = []
    server.sni_callback = lambda _socket, name, _context: named.append(name)
    with Site({"*/x": page()}, tls=server) as site:
        policy = replace(net(site, "press.org", "other.org"), ports={443: site.port}, tls=client)
        cited = [
            answered({"url": f"https://{name}/x", "quote": QUOTE}, item=name) for name in ("press.org", "other.org")
        ]
        frame = check(cited, network=True, net=policy)
        untrusted = check(cited[:1], network=True, net=replace(policy, tls=None))
    assert frame["reason"].to_list() == ["quote found", "no trusted TLS"]
    assert untrusted["reason"].to_list() == ["no trusted TLS"]
    assert set(named) == {"press.org", "other.org"}
    assert {request.host for request in site.requests} == {"press.org"}


def test_identifiers_lead_to_their_pages(tmp_path: Path) -> None:
    """A DOI is looked for at doi.org, and the page that this redirects to is what counts."""
    server, client = certificate(tmp_path, "doi.org", "press.org")
    answers = {"doi.org/10.1038/nature14539": redirect("https://press.org/x"), "press.org/x": page()}
    with Site(answers, tls=server) as site:
        policy = replace(net(site, "doi.org", "press.org"), ports={443: site.port}, tls=client)
        frame = check([answered({"title": "doi:10.1038/nature14539", "quote": QUOTE})], network=True, net=policy)
    assert frame["url"].to_list() == ["https://doi.org/10.1038/nature14539"]
    assert frame["final_url"].to_list() == ["https://press.org/x"]
    assert frame["verdict"].to_list() == ["VERIFIED"]


def test_a_head_that_is_said_twice_counts_once() -> None:
    content = message(PAGE, head="Content-Type: application/pdf\r\n")
    with Site({"press.org/x": send(content)}) as site:
        frame = check(
            [answered({"url": "http://press.org/x", "quote": QUOTE})], network=True, net=net(site, "press.org")
        )
    assert frame["verdict"].to_list() == ["VERIFIED"]
