"""Keys that go where the configuration says: a header or a query parameter of one's own, and nowhere else."""

import logging
import traceback
from typing import Any
from urllib.parse import parse_qs

import pytest

from basic_control.config.settings import Model
from basic_control.tasks.models.protocol import CallError, Client
from tests.servers import Fault, Server, serve_ollama, serve_openai
from tests.tasks.models.asking import call, reply_of, using

KEY = "k-0123456789/with+odd=signs&more"
PLACES = [{"api_key_header": "X-My-Key"}, {"api_key_query": "key"}]
SERVERS = [serve_openai, serve_ollama]


def model(server: Server, place: dict[str, str], **fields: Any) -> Model:
    given = {
        "name": "m",
        "provider": server.kind,
        "base_url": server.base_url,
        "deadline_s": 20,
        "api_key_env": "MY_KEY",
    }
    return Model.model_validate(given | place | fields)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("serve", SERVERS)
def test_the_key_goes_where_it_is_wanted_and_only_there(serve: Any, place: dict[str, str]) -> None:
    with serve("hi", models=["m"]) as server:
        asked = model(server, place)
        told = using(asked, lambda client: client.identity())
        assert reply_of(asked).text == "hi"
        for seen in (*server.lookups, *server.requests):
            headers = {name.lower(): value for name, value in seen.headers.items()}
            if "api_key_header" in place:
                assert headers.pop("x-my-key") == KEY
                assert not seen.query
            else:
                assert parse_qs(seen.query) == {"key": [KEY]}
            assert not {"authorization", "api-key"} & set(headers)
            assert KEY not in str(headers)
    assert KEY not in str(told)


def test_azures_gateway_may_want_its_key_in_a_header_of_its_own() -> None:
    place = {"api_key_header": "Ocp-Apim-Subscription-Key"}
    with serve_openai("hi") as server:
        reply_of(model(server, place, provider="azure", base_url=server.url, api_version="2025-01-01"))
        (seen,) = server.requests
    headers = {name.lower(): value for name, value in seen.headers.items()}
    assert headers["ocp-apim-subscription-key"] == KEY
    assert not {"authorization", "api-key"} & set(headers)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("serve", SERVERS)
@pytest.mark.parametrize(
    "fault", [Fault("status", 401, f"no such key: {KEY}"), Fault("reset"), Fault("broken_json")]
)
def test_the_key_is_in_no_error_log_repr_or_traceback(
    serve: Any, place: dict[str, str], fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(client: Client) -> str:
        said = [repr(client), str(vars(client))]
        await client.ask(call())
        try:
            await client.ask(call())
        except CallError as error:
            said += [str(error), repr(error), "".join(traceback.format_exception(error))]
        return "\n".join(said)

    with serve("hi", faults=[None, fault]) as server, caplog.at_level(logging.DEBUG):
        said = using(model(server, place), act)
    for part in (KEY, "k-0123456789"):
        assert part not in said
        assert part not in caplog.text


def test_http_packages_stay_silent_where_a_later_set_up_of_logging_enables_them(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # As `logging.config.dictConfig` does with all loggers, and Prefect by way of it.
    monkeypatch.setattr(logging.getLogger("httpx"), "disabled", False)
    with serve_openai("hi") as server, caplog.at_level(logging.DEBUG):
        base_url = f"{server.base_url}?key=k-0123456789"
        using(model(server, {"base_url": base_url}), lambda client: client.ask(call()))
    assert "httpx" not in {record.name for record in caplog.records}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("serve", SERVERS)
def test_a_redirect_takes_the_key_nowhere(serve: Any, place: dict[str, str]) -> None:
    with serve("elsewhere") as other:
        away = Fault("status", 307, "moved", headers={"Location": f"{other.url}/api/chat"})
        with serve("hi", faults=[away]) as server, pytest.raises(CallError, match="307"):
            using(model(server, place), lambda client: client.ask(call()))
        assert not other.requests
