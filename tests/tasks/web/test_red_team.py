"""A cited URL reaches public servers only, and each ends in its stated verdict in bounded time."""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

import pytest

from basic_control.tasks.store.samples import SampleRow
from basic_control.tasks.web import Limits, NetworkPolicy, check
from tests.tasks.web import red_team
from tests.tasks.web.site import HOST, QUOTE, Site, lookup

CASES = {case.name: case for case in red_team.cases()}
LIMITS = Limits(connect_s=4, read_s=4, total_s=8, page_bytes=300_000, delay_s=0)

_seen: list[tuple[str, Any]] = []
_watched: list[int] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched and event == "socket.connect" and threading.get_ident() in _watched:
        _seen.append((event, arguments[1][:2]))
    elif _watched and event == "socket.getaddrinfo" and arguments[0] not in {"127.0.0.1", "localhost", None}:
        _seen.append((event, arguments[0]))


def answered(number: int, url: str, quote: str = QUOTE) -> SampleRow:
    """Return a model's answer that cites a URL."""
    body = {
        "answer": "The ship sank on 15 April 1912 after four days [1].",
        "citations": [{"number": 1, "title": "The ship", "url": url, "quote": quote}],
    }
    sample = {"question": "When did the ship sink?", "response": json.dumps(body)}
    return SampleRow(f"item-{number}", "model", 0, "en", sample, None, None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of all cases in one go."""

    rows: Mapping[str, dict[str, Any]]
    seconds: float
    connections: list[tuple[str, Any]]
    touched: list[str]
    hosts: set[str]
    canaries: int
    address: tuple[str, int]


@pytest.fixture(scope="module")
def outcome() -> Iterator[Outcome]:
    """Check every case's URL, all in one go, with a proxy in the environment that must not be used."""
    sys.addaudithook(_watch)
    with Site(red_team.answers()) as site, pytest.MonkeyPatch.context() as patch:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"):
            patch.setenv(name, f"http://127.0.0.1:{site.port}")
        net = NetworkPolicy(
            resolve=lookup(red_team.names()),
            allows=lambda address: address == ip_address(HOST),
            ports={80: site.port},
            limits=LIMITS,
        )
        _watched.append(threading.get_ident())
        started = time.monotonic()
        frame = check([answered(n, case.url) for n, case in enumerate(CASES.values())], network=True, net=net)
        seconds = time.monotonic() - started
        _watched.clear()
        rows = dict(zip(CASES, frame.iter_rows(named=True), strict=True))
        hosts = {request.host for request in site.requests}
        address = (HOST, site.port)
        yield Outcome(rows, seconds, list(_seen), list(site.touched), hosts, len(site.canaries), address)
        assert "http_proxy" in os.environ


@pytest.mark.parametrize("name", CASES)
def test_each_url_ends_in_its_verdict(name: str, outcome: Outcome) -> None:
    row = outcome.rows[name]
    assert (row["verdict"], row["reason"]) == (CASES[name].verdict, CASES[name].reason)


def test_nothing_but_the_public_server_is_connected_to(outcome: Outcome) -> None:
    """Python's own audit events tell of every connection and lookup of this thread, whoever makes it."""
    assert set(outcome.connections) == {("socket.connect", outcome.address)}


def test_no_canary_is_touched(outcome: Outcome) -> None:
    assert outcome.canaries >= 3
    assert outcome.touched == []


def test_the_server_is_asked_by_public_names_only(outcome: Outcome) -> None:
    named = set(red_team.names())
    assert outcome.hosts <= named
    assert "inside-of-it.org" not in outcome.hosts


def test_all_end_in_bounded_time(outcome: Outcome) -> None:
    """What is slow takes its time-out, sixteen at once: far from one after another."""
    slow = sum(case.reason == "time-out" for case in CASES.values())
    assert slow >= 6
    assert outcome.seconds < slow * LIMITS.total_s


def test_the_list_is_long_and_has_no_case_twice() -> None:
    urls = [case.url for case in red_team.cases()]
    assert len(urls) == len(set(urls)) == len(CASES) > 180
