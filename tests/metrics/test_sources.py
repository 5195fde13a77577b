"""Cited sources by rule: what a URL, an identifier and a page's text can tell."""

import random
import socket
from dataclasses import asdict
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from basic_control.data.options import options_of
from basic_control.metrics.citation.citation import citation_score
from basic_control.metrics.citation.identifiers import identifiers, isbn_is_sound
from basic_control.metrics.citation.source_lists import ListedSource
from basic_control.metrics.citation.sources import MISSING, check_sources, judge_page, judge_status
from basic_control.metrics.citation.urls import Finding, Url, is_public, read_disguised, read_url
from tests.helpers.bounds import bounded

GOOD = {
    "https://en.wikipedia.org/wiki/RMS_Titanic": "https://en.wikipedia.org/wiki/RMS_Titanic",
    "HTTPS://EN.Wikipedia.org:443/wiki/RMS_Titanic#Sinking": "https://en.wikipedia.org/wiki/RMS_Titanic",
    "www.bbc.co.uk/news?id=1": "http://www.bbc.co.uk/news?id=1",
    "en.wikipedia.org/wiki/Ship": "http://en.wikipedia.org/wiki/Ship",
    "https://www.gov.uk./guidance": "https://www.gov.uk/guidance",
    "https://gov.uk": "https://gov.uk/",
    "http://президент.рф/закон": "http://xn--d1abbgf6aiiy.xn--p1ai/%D0%B7%D0%B0%D0%BA%D0%BE%D0%BD",
    "https://bücher.de/": "https://xn--bcher-kva.de/",
    "https://faß.de/": "https://xn--fa-hia.de/",
    "https://ja.wikipedia.org/wiki/日本": "https://ja.wikipedia.org/wiki/%E6%97%A5%E6%9C%AC",
    "https://my_blog.tumblr.com/post/1": "https://my_blog.tumblr.com/post/1",
    "https://web.archive.org/web/2020/http://a.com/": "https://web.archive.org/web/2020/http://a.com/",
    "https://en.wikipedia.org/wiki/Mercury_(planet)": "https://en.wikipedia.org/wiki/Mercury_(planet)",
    "https://archive.org/details/test": "https://archive.org/details/test",
    "https://a.com/x%20y?q=a|b": "https://a.com/x%20y?q=a%7Cb",
    "http://8.8.8.8/": "http://8.8.8.8/",
    "http://[2a00:1450:4001:0::1]/": "http://[2a00:1450:4001::1]/",
}
"""URL as cited -> its one normal form."""

BAD = {
    "https://www.example.com/article": "a placeholder domain",
    "https://example.co.uk/": "a placeholder domain",
    "https://your-site.com/page": "a placeholder domain",
    "http://yourwebsite.org": "a placeholder domain",
    "http://www.website.com/": "a placeholder domain",
    "https://placeholder.net/": "a placeholder domain",
    "https://somesite.example/": "a reserved name",
    "https://host.test/": "a reserved name",
    "https://no.such.invalid/": "a reserved name",
    "https://en.wikipedia.org/wiki/...": "a placeholder in the path",
    "https://news.com/path/to/article": "a placeholder in the path",
    "https://news.com/your-article-here": "a placeholder in the path",
    "https://news.com/{slug}": "a placeholder in the path",
    "https://news.com/XXXX": "a placeholder in the path",
    "https://www.journal.nosuchsuffix/": "no public suffix",
    "https://gооgle.com/": "a name that mixes scripts",
    "https://xn--a/": "not a host",
    "https://-a-.com/": "not a host",
    "https://a b.com/": "signs that no URL holds",
    "The Encyclopaedia": "signs that no URL holds",
    "none": "not a URL",
    "mailto:me@press.org": "not a web address",
}

REAL = (
    "https://en.wikipedia.org/wiki/Your_Song",
    "https://www.nytimes.com/2009/04/04/your-money/04money.html",
    "https://en.wikipedia.org/wiki/Placeholder_name",
    "https://en.wikipedia.org/wiki/Insert_(SQL)",
    "https://test.de/",
    "https://abc.net.au/news/1",
    "https://abc.xyz/investor",
    "https://www.source.com/",
    "https://thesite.org/",
    "https://domain.com.au/news",
    "https://www.yourdost.com/",
    "https://www.foodandwine.com/",
)
"""Real sites whose names look like placeholders."""


def judge_source(source: ListedSource) -> Finding:
    return check_sources({1: source})[1][1]


@pytest.mark.parametrize(("url", "normal"), GOOD.items())
def test_a_good_url_is_at_best_uncertain_by_rule(url: str, normal: str) -> None:
    found = read_url(url)
    assert isinstance(found, Url)
    assert found.text == normal
    assert judge_source(ListedSource(1, url=url)) == Finding("UNCERTAIN", "not checked: network is off")


@pytest.mark.parametrize("url", REAL)
def test_a_real_site_is_not_taken_for_a_placeholder(url: str) -> None:
    assert judge_source(ListedSource(1, url=url)).verdict == "UNCERTAIN"


@pytest.mark.parametrize(("url", "reason"), BAD.items())
def test_a_url_that_names_no_public_page_is_likely_fabricated(url: str, reason: str) -> None:
    assert judge_source(ListedSource(1, url=url)) == Finding("LIKELY_FABRICATED", reason)


def test_sites_are_registrable_domains() -> None:
    sites = {
        "https://a.b.bbc.co.uk/": "bbc.co.uk",
        "https://x.github.io/": "github.io",
        "https://gov.uk/": "gov.uk",
    }
    found = {url: read_url(url) for url in sites}
    assert {url: one.site for url, one in found.items() if isinstance(one, Url)} == sites


@given(st.text(max_size=60) | st.from_regex(r"https?://[^/]{1,30}/?.{0,20}", fullmatch=True))
def test_reading_never_raises_and_reads_its_own_form_the_same_way(text: str) -> None:
    found = read_url(text)
    if isinstance(found, Url):
        assert found.text.isascii()
        assert read_url(found.text) == found


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_no_address_is_public_that_python_does_not_call_global(address: IPv4Address | IPv6Address) -> None:
    """Python's own list of special addresses is shorter than ours, and another one."""
    if is_public(address):
        assert address.is_global
        assert not address.is_multicast


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "93.184.216.34", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "2a00::1"]
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@given(
    st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 300), min_size=1, max_size=5),
    st.lists(st.sampled_from(["{}", "{:#x}", "0{:o}"]), min_size=5, max_size=5),
)
def test_disguised_addresses_are_read_as_the_c_library_reads_them(numbers: list[int], forms: list[str]) -> None:
    text = ".".join(form.format(number) for number, form in zip(numbers, forms, strict=False))
    try:
        expected = IPv4Address(socket.inet_aton(text))
    except OSError:
        expected = None
    assert read_disguised(text) == expected


# By hand: 0-306-40615-2 and 978-0-306-40615-7 are one book; 0-8044-2957-X has the check digit X.
@pytest.mark.parametrize(
    ("isbn", "sound"),
    [
        ("0306406152", True),
        ("9780306406157", True),
        ("080442957X", True),
        ("0306406153", False),
        ("9780306406158", False),
        ("9770306406150", False),
        ("030640615", False),
        ("X306406152", False),
        ("", False),
    ],
)
def test_isbn_check_digits(isbn: str, *, sound: bool) -> None:
    assert isbn_is_sound(isbn) is sound


@given(st.integers(0, 12), st.integers(1, 9))
def test_any_wrong_digit_of_an_isbn_is_found(place: int, by: int) -> None:
    good = "9780306406157"
    bad = good[:place] + str((int(good[place]) + by) % 10) + good[place + 1 :]
    assert not isbn_is_sound(bad)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("doi:10.1038/nature14539", ("doi", "10.1038/nature14539", "")),
        ("https://doi.org/10.1002/(SICI)1097-4571(199806)49:8", ("doi", "10.1002/(SICI)1097-4571(199806)49:8", "")),
        ("https://dx.doi.org/10.1145/3292500.3330701.", ("doi", "10.1145/3292500.3330701", "")),
        ("https://doi.org/11.1038/nature14539", ("doi", "11.1038/nature14539", "a malformed DOI")),
        ("doi: 10.1/x", ("doi", "10.1/x", "a malformed DOI")),
        ("https://doi.org/10.1000/xyz123", ("doi", "10.1000/xyz123", "a made-up DOI")),
        ("https://arxiv.org/abs/1706.03762v7", ("arxiv", "1706.03762v7", "")),
        ("https://arxiv.org/pdf/1706.03762.pdf", ("arxiv", "1706.03762", "")),
        ("arXiv:hep-th/9901001", ("arxiv", "hep-th/9901001", "")),
        ("arXiv:math.GT/0309136", ("arxiv", "math.GT/0309136", "")),
        ("arXiv:1713.03762", ("arxiv", "1713.03762", "an impossible arXiv id")),
        ("arXiv:0703.0001", ("arxiv", "0703.0001", "an impossible arXiv id")),
        ("arXiv:1412.12345", ("arxiv", "1412.12345", "an impossible arXiv id")),
        ("arXiv:1501.1234", ("arxiv", "1501.1234", "an impossible arXiv id")),
        ("arXiv:1706.00000", ("arxiv", "1706.00000", "an impossible arXiv id")),
        ("arXiv:poetry/9901001", ("arxiv", "poetry/9901001", "an impossible arXiv id")),
        ("ISBN 978-0-306-40615-7", ("isbn", "978-0-306-40615-7", "")),
        ("ISBN-10: 0-306-40615-3", ("isbn", "0-306-40615-3", "an ISBN whose check digit is wrong")),
        ("ISBN 978-3-16-148410-0", ("isbn", "978-3-16-148410-0", "a made-up ISBN")),
    ],
)
def test_identifiers_are_read_and_checked(text: str, expected: tuple[str, str, str]) -> None:
    assert list(identifiers(text)) == [expected]


@pytest.mark.parametrize(
    ("source", "verdict", "reason"),
    [
        (ListedSource(1, "A book", text="A book. ISBN 0306406152"), "UNCERTAIN", "an ISBN has no page"),
        (
            ListedSource(1, "A book", text="ISBN 0306406153"),
            "LIKELY_FABRICATED",
            "an ISBN whose check digit is wrong",
        ),
        (ListedSource(1, "A title only", text="A title only"), "UNCERTAIN", "no URL"),
        (ListedSource(1, text="doi:10.1038/nature14539"), "UNCERTAIN", "not checked: network is off"),
        (ListedSource(1, url="https://arxiv.org/abs/2313.00001"), "LIKELY_FABRICATED", "an impossible arXiv id"),
        (ListedSource(1, url="https://a.com/", text="doi:10.1/x"), "LIKELY_FABRICATED", "a malformed DOI"),
        (ListedSource(1, url="http://127.0.0.1/"), "LIKELY_FABRICATED", "not a public address"),
    ],
)
def test_a_source_is_judged_by_all_that_it_says_of_itself(source: ListedSource, verdict: str, reason: str) -> None:
    assert judge_source(source) == Finding(verdict, reason)  # pyrefly: ignore[bad-argument-type] # a literal, from a table


def test_an_answers_sources_as_the_metric_reads_them() -> None:
    """A source that stands twice keeps its verdict; the second says which it is the same as."""
    sources = {
        1: ListedSource(1, url="https://en.wikipedia.org/wiki/Ship"),
        2: ListedSource(2, url="https://example.com/ship"),
        3: ListedSource(3, url="http://EN.wikipedia.org/wiki/Ship/#Sinking"),
        4: ListedSource(4, title="A book"),
        5: ListedSource(5, title="A  Book"),
    }
    found = {number: finding for number, (_, finding) in check_sources(sources).items()}
    assert [one.verdict for one in found.values()] == [
        "UNCERTAIN", "LIKELY_FABRICATED", "UNCERTAIN", "UNCERTAIN", "UNCERTAIN",
    ]  # fmt: skip
    assert found[3].reason == "not checked: network is off (the same source as [1])"
    assert found[5].reason == "no URL (the same source as [4])"
    sample = {
        "response": "The ship sank in 1912 [2].",
        "evidence": {n: asdict(one) for n, one in found.items()},
        "short_answers": ["1912"],
    }
    scored = citation_score.score(sample, {}, options_of(citation_score, {"mode": "closed_book"}))
    assert scored.details["citations"][0]["verification_reason"] == "a placeholder domain"


TEXT = (
    "The liner left Southampton on 10 April 1912. In the night of 14 April she struck an iceberg. "
    "She sank in the early hours of 15 April 1912, and more than 1,500 people died. An inquiry followed. "
    "Later ships carried lifeboats for everyone on board, and a patrol watches the ice to this day."
)


@pytest.mark.parametrize(
    ("quote", "verdict"),
    [
        ("She sank in the early hours of 15 April 1912", "VERIFIED"),
        ("she sank in the   early hours of 15 april 1912", "VERIFIED"),
        ("She sank in the early hours of 15 April, 1912", "VERIFIED"),
        ("“struck an iceberg … more than 1,500 people died”", "VERIFIED"),
        ("She sank in the early hours of 25 May 1915, and nobody was hurt", "LIKELY_FABRICATED"),
        ("struck an iceberg … and all were saved by a passing steamer", "LIKELY_FABRICATED"),
        (TEXT + " And a great deal more was said that the page does not say. " * 9, "LIKELY_FABRICATED"),
        ("x" * 5000, "LIKELY_FABRICATED"),
    ],
)
def test_a_quote_is_on_the_page_or_not(quote: str, verdict: str) -> None:
    assert judge_page(TEXT, quote=quote).verdict == verdict


def test_the_span_is_the_pages_own_words() -> None:
    found = judge_page(TEXT, quote="she sunk in the early hours of 15 April 1912")
    assert found.span in TEXT
    assert "15 April 1912" in found.span
    assert found.match is not None
    assert 90 <= found.match < 100


def test_a_long_quote_is_found_in_a_long_page() -> None:
    """One sign in twenty is changed; the text itself is drawn at random, so that nothing else resembles it."""
    rng = random.Random(7)
    words = ["".join(rng.choices("abcdefghijklmnopqrst", k=rng.randint(2, 9))) for _ in range(2000)]
    page = " ".join(rng.choices(words, k=70_000))
    true = page[300_000:300_700]
    near = "".join("#" if k % 20 == 10 else sign for k, sign in enumerate(true))
    far = "".join("#" if k % 4 == 1 else sign for k, sign in enumerate(true))
    found = judge_page(page, quote=near)
    assert found.verdict == "VERIFIED"
    assert found.span.strip() in true or true.strip() in found.span
    assert judge_page(page, quote=far).verdict == "LIKELY_FABRICATED"


@pytest.mark.parametrize(
    ("claim", "verdict", "span"),
    [
        ("More than 1500 people died when she sank on 15 April 1912.", "VERIFIED", "1,500 people died"),
        ("More than 1900 people died when she sank on 15 April 1912.", "UNCERTAIN", "1,500 people died"),
        ("Every passenger was rescued by fishermen from Iceland.", "UNCERTAIN", ""),
        ("She sank.", "UNCERTAIN", ""),
    ],
)
def test_without_a_quote_the_best_span_is_kept(claim: str, verdict: str, span: str) -> None:
    found = judge_page(TEXT, claims=[claim])
    assert found.verdict == verdict
    assert span in found.span


def test_claims_in_russian_and_chinese_are_matched_by_stems_and_pairs() -> None:
    russian = "Лайнер затонул ночью 15 апреля 1912 года. Погибло более 1500 пассажиров и членов экипажа."
    assert judge_page(russian, claims=["Более 1500 пассажира лайнера погибли."]).verdict == "VERIFIED"
    assert judge_page(russian, claims=["Более 1700 пассажиров лайнера погибло."]).verdict == "UNCERTAIN"
    chinese = "泰坦尼克号于1912年4月15日凌晨沉没。这次事故造成约1500人死亡。"
    assert judge_page(chinese, claims=["泰坦尼克号在1912年4月沉没"]).verdict == "VERIFIED"
    assert judge_page(chinese, claims=["泰坦尼克号在1915年5月沉没"]).verdict == "UNCERTAIN"


def test_every_claim_of_a_citation_must_be_said() -> None:
    told = "She struck an iceberg in the night of 14 April."
    both = judge_page(TEXT, claims=[told, "The captain was awarded a medal by the king of Sweden."])
    assert (judge_page(TEXT, claims=[told]).verdict, both.verdict) == ("VERIFIED", "UNCERTAIN")


def test_a_quote_that_is_only_the_title_is_none() -> None:
    assert judge_page(TEXT, quote="The Liner", title="The liner").reason == "page found, nothing quoted"


def test_a_page_that_shows_nothing_without_scripts_settles_nothing() -> None:
    found = judge_page("Please enable JavaScript.", quote="She sank in the early hours of 15 April 1912")
    assert found == Finding("UNCERTAIN", "the page shows hardly any text")


@pytest.mark.parametrize(
    ("text", "quote", "claim"),
    [
        ("ab " * 400_000, "ab " * 1300 + "x", ""),
        ("ab" * 500_000, "…".join(["ab" * 32 + "x"] * 60), ""),
        ("a" * 1_000_000, "a" * 3999 + "b", ""),
        ("a" * 1_000_000, "…".join("ab" * 999), ""),
        ("The ship. " * 100_000, "", "The ship " * 400),
        ("1 2 3 4. " * 110_000, "", " ".join(map(str, range(900)))),
        ("?!" * 500_000, "?!" * 2000, "?!" * 2000),
    ],
)
def test_hostile_pages_and_quotes_take_bounded_time(text: str, quote: str, claim: str) -> None:
    """Processor time, so that a busy machine does not count."""
    with bounded(10):
        judge_page(text, quote=quote, claims=[claim])


def test_hostile_urls_and_texts_take_bounded_time() -> None:
    with bounded(5):
        for piece in (
            "a.",
            "://",
            "@",
            "%",
            "-",
            "[",
            "xn--a.",
            "http://",
            "10.1/",
            "doi:",
            "ISBN 1-",
            "…",
            "／",
            "0x",
        ):
            judge_source(ListedSource(1, url="http://" + piece * (1990 // len(piece))))
            judge_source(ListedSource(1, text=piece * (200_000 // len(piece))))


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (404, "LIKELY_FABRICATED"),
        (410, "LIKELY_FABRICATED"),
        *((status, "UNCERTAIN") for status in (204, 304, 400, 401, 403, 405, 418, 429, 451, 500, 502, 503, 599)),
    ],
)
def test_a_status_without_a_page_is_judged_as_the_specification_says(status: int, verdict: str) -> None:
    found = judge_status(status)
    assert found is not None
    assert found.verdict == verdict


def test_only_what_is_not_there_or_not_public_is_likely_fabricated() -> None:
    assert {
        "the name does not resolve", "page not found", "not a public address", "redirects to no public address",
    } == MISSING  # fmt: skip
