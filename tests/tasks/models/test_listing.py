"""What a server's listing tells without its package: the same identity, and the package only where one asks."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from config.settings import Model
from tasks.models.listing import ListingClient
from tasks.models.openai import OpenAIClient
from tests.conftest import TOP
from tests.servers.running import serve_openai
from tests.tasks.models.asking import using

IDENTIFIED = """
import asyncio, sys
from config.settings import Model
from tasks.models import open_client
model = Model(name="m", provider="openai", base_url=sys.argv[1], api_key_env=sys.argv[2])
assert asyncio.run(open_client(model).identity())["base_url"] == sys.argv[1]
print(*{"openai", "aiohttp", "httpx2"} & {*sys.modules})
"""


@pytest.mark.parametrize("variable", ["", "MY_KEY"])
def test_a_model_is_identified_without_its_package(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "right-key")
    with serve_openai("hi", key="right-key" if variable else "") as server:
        command = [sys.executable, "-c", IDENTIFIED, server.base_url, variable]
        done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True)
        (seen,) = server.lookups
    assert done.stdout.split() == []
    assert seen.headers.get("Authorization", "") == ("Bearer right-key" if variable else "")


@pytest.mark.parametrize("place", [{"api_key_header": "X-Key"}, {"api_key_query": "key"}])
def test_a_key_stands_where_the_entry_wants_it(place: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "right-key")
    with serve_openai("hi") as server:
        model = Model(name="m", provider="openai", base_url=server.base_url, api_key_env="MY_KEY", **place)
        using(model, lambda client: client.identity())
        (seen,) = server.lookups
    assert (seen.headers.get("X-Key"), seen.query) in {("right-key", ""), (None, "key=right-key")}
    assert "Authorization" not in seen.headers


@pytest.mark.parametrize(
    "form",
    ["{}", "{}/", "{}//", "{}/a%20b", "{}/ä b", "{}/v1?x=1", "{}/A/../b"],
)
def test_an_address_is_written_as_the_package_writes_it(form: str) -> None:
    """It is a part of every request's id."""

    async def both(model: Model) -> list[dict[str, str]]:
        clients = (ListingClient(model), OpenAIClient(model))
        try:
            return [dict(await client.identity()) for client in clients]
        finally:
            for client in clients:
                await client.close()

    with serve_openai("hi") as server:
        for url in (server.url, server.url.replace("http://127.0.0.1", "HTTP://LocalHost")):
            model = Model(name="m", provider="openai", base_url=form.format(url))
            listed, own = asyncio.run(both(model))
            assert listed == own
