"""Who may be asked for a page: names and addresses that are refused before anything is sent."""

import asyncio

import pytest

from basic_control.tasks.web import HostRefused, NetworkPolicy, check
from basic_control.tasks.web.network_policy import resolve_name
from tests.tasks.web.citing import answered
from tests.tasks.web.site import QUOTE, lookup


@pytest.mark.parametrize("host", ["127.0.0.1", "169.254.169.254", "::1", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_the_default_policy_refuses_addresses_as_well_as_names(host: str) -> None:
    """A second line: the rules for URLs have refused them before."""
    with pytest.raises(HostRefused, match="not a public address"):
        asyncio.run(NetworkPolicy().addresses(host))


@pytest.mark.parametrize("name", ["a" * 64, "a..b", "\0", "a" * 300])
def test_the_systems_resolver_survives_what_is_no_name(name: str) -> None:
    with pytest.raises(HostRefused):
        asyncio.run(resolve_name(name))


def test_without_a_network_no_name_is_said_not_to_exist() -> None:
    """Where the control name does not resolve either, the machine is what is at fault."""
    cited = [answered({"url": "http://press.org/x", "quote": QUOTE}, {"url": "http://news.org/x"})]
    offline = check(cited, network=True, net=NetworkPolicy(resolve=lookup({})))
    assert offline["reason"].to_list() == ["no name resolves here"] * 2
    assert offline["verdict"].to_list() == ["UNCERTAIN"] * 2
    online = check(cited, network=True, net=NetworkPolicy(resolve=lookup({"iana.org": "8.8.8.8"})))
    assert online["verdict"].to_list() == ["LIKELY_FABRICATED"] * 2
