"""The test servers keep their own promises: what they are told they do, and what they saw they say."""

import httpx
import pytest

from tests.servers import Answer, Fault, serve_ollama, serve_openai

BODY = {"model": "m", "messages": [{"role": "user", "content": "one"}]}


@pytest.mark.parametrize("apart", [False, True])
def test_a_server_that_dies_comes_back_on_its_port_and_remembers_what_it_saw(*, apart: bool) -> None:
    with serve_openai(
        ["first", Answer("second")], faults=[Fault("status", 503), None, None], apart=apart
    ) as server:
        address = server.base_url + "/chat/completions"
        assert httpx.post(address, json=BODY).status_code == 503
        assert httpx.post(address, json=BODY).json()["choices"][0]["message"]["content"] == "second"
        server.stop()
        with pytest.raises(httpx.ConnectError):
            httpx.post(address, json=BODY)
        server.start()
        assert httpx.post(address, json=BODY).status_code == 200
        assert [seen.body for seen in server.requests] == [BODY] * 3
        assert server.peak == 1


def test_ollama_knows_a_model_without_its_tag_and_refuses_a_format_that_is_none() -> None:
    with serve_ollama({"one": "1"}, models=["m"]) as server:
        whole = BODY | {"stream": False}
        assert httpx.post(server.url + "/api/chat", json=whole).json()["message"]["content"] == "1"
        assert httpx.post(server.url + "/api/chat", json=whole | {"format": "yaml"}).status_code == 400
        assert httpx.post(server.url + "/api/chat", json=whole | {"model": "n"}).json() == {
            "error": "model 'n' not found"
        }
        assert httpx.post(server.url + "/api/show", json={"model": "m"}).status_code == 200
        assert [m["name"] for m in httpx.get(server.url + "/api/tags").json()["models"]] == ["m:latest"]
