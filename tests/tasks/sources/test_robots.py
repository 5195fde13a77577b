"""robots.txt as RFC 9309 says."""

import time

import pytest

from tasks.sources.robots import read_robots

RULES = """\
# for all
User-agent: *
Disallow: /private/
Allow: /private/open
Disallow: /*.gif$
Disallow: /search*page=
Crawl-delay: 2.5

Sitemap: http://press.org/map.xml

User-agent: one
User-agent: Two
Disallow: /

User-agent: three
Disallow:
"""


@pytest.mark.parametrize(
    ("product", "path", "allowed"),
    [
        ("nobody", "/", True),
        ("nobody", "/private/x", False),
        ("nobody", "/private", True),
        ("nobody", "/private/open/x", True),
        ("nobody", "/%70rivate/x", False),
        ("nobody", "/a/b.gif", False),
        ("nobody", "/a/b.gif?x", True),
        ("nobody", "/search?q=1&page=2", False),
        ("nobody", "/search?q=1", True),
        ("one", "/x", False),
        ("two", "/x", False),
        ("three", "/private/x", True),
    ],
)
def test_the_longest_rule_of_our_group_decides(product: str, path: str, *, allowed: bool) -> None:
    assert read_robots(RULES, product).allow(path) is allowed


def test_groups_of_one_name_are_joined_and_delays_are_read() -> None:
    robots = read_robots(
        "user-agent: a\nDisallow: /x\nuser-agent: b\nDisallow: /\nUSER-AGENT: A\rdisallow: /y", "a"
    )
    assert [robots.allow(path) for path in ("/x", "/y", "/z")] == [False, False, True]
    assert read_robots(RULES, "nobody").delay_s == 2.5


@pytest.mark.parametrize(
    "text", ["", "<html>not robots</html>", "Disallow: /", "User-agent", "\0" * 99, "User-agent: *"]
)
def test_what_is_no_rule_forbids_nothing(text: str) -> None:
    assert read_robots(text, "a").allow("/x")


@pytest.mark.parametrize("rule", ["/" + "*a" * 900, "/" + "*" * 1900, "/a*" * 600 + "$", "/%2a" * 400])
def test_hostile_rules_take_bounded_time(rule: str) -> None:
    robots = read_robots("User-agent: *\n" + f"Disallow: {rule}\n" * 2000, "a")
    started = time.process_time()
    robots.allow("/" + "a" * 1999)
    assert time.process_time() - started < 3
