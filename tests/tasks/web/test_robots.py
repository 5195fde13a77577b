"""robots.txt as RFC 9309 says."""

import pytest
from protego import Protego

from basic_control.tasks.web.fetching import read_robots
from tests.helpers.bounds import bounded

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


def allows(robots: Protego, product: str, path: str) -> bool:
    return robots.can_fetch(f"http://press.org{path}", product)


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
        ("one-and-more", "/x", True),
        ("nobody", "//private/x", True),
        ("nobody", "/x//b.gif", False),
    ],
)
def test_the_longest_rule_of_our_group_decides(product: str, path: str, *, allowed: bool) -> None:
    assert allows(read_robots(RULES, product), product, path) is allowed


def test_groups_of_one_name_are_joined_and_delays_are_read() -> None:
    robots = read_robots(
        "user-agent: a\nDisallow: /x\nuser-agent: b\nDisallow: /\nUSER-AGENT: A\rdisallow: /y", "a"
    )
    assert [allows(robots, "a", path) for path in ("/x", "/y", "/z")] == [False, False, True]
    assert read_robots(RULES, "nobody").crawl_delay("nobody") == 2.5


@pytest.mark.parametrize(
    "text", ["", "<html>not robots</html>", "Disallow: /", "User-agent", "\0" * 99, "User-agent: *"]
)
def test_what_is_no_rule_forbids_nothing(text: str) -> None:
    assert allows(read_robots(text, "a"), "a", "/x")


@pytest.mark.parametrize("rule", ["/" + "*a" * 900, "/" + "*" * 1900, "/a*" * 600 + "$", "/%2a" * 400])
def test_hostile_rules_take_bounded_time(rule: str) -> None:
    with bounded(3):
        robots = read_robots("User-agent: *\n" + f"Disallow: {rule}\n" * 2000, "a")
        allows(robots, "a", "/" + "a" * 1999)


@pytest.mark.parametrize("agent", ["User-agent: a{}", "Useragent a{}", "USER\xa0AGENT\xa0a{}", "user agent :a{}*"])
def test_rules_for_many_agents_take_bounded_time(agent: str) -> None:
    """Each of thousands of rules for each of thousands of agents: only our own group is kept apart."""
    with bounded(1):
        agents = "\n".join(agent.format(n) for n in range(2500))
        robots = read_robots(f"{agents}\n" + "".join(f"Disallow: /{n}\n" for n in range(10_000)), "a")
        assert allows(robots, "a", "/1")
