"""Addresses: a key in one is found whatever it is called, refused, and repeated nowhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from basic_control.config.addresses import find_secret_part, mask_secrets
from basic_control.config.reading import read
from basic_control.config.settings import Settings
from basic_control.data.errors import InputError

SECRETS = [
    "?key=hunter2", "?KEY=hunter2", "?api-key=hunter2", "?api_key=hunter2", "?apikey=hunter2", "?apiKey=hunter2",
    "?sig=hunter2", "?sv=2024&sig=hunter2", "?token=hunter2", "?access_token=hunter2", "?accessToken=hunter2",
    "?subscription-key=hunter2", "?code=hunter2", "?x=1;auth=hunter2", "?%6bey=hunter2", "#key=hunter2",
    "?clientSecret=hunter2", "?password=hunter2", "?X-Amz-Signature=hunter2", "?v=sk-hunter2", "?hf_hunter2",
    "?k=hunter2aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "?x-functions-key=hunter2", "?v=Bearer%20hunter2",
]  # fmt: skip
PLAIN = [
    "", "?api-version=2024-05-01-preview", "?region=eu&tier=1", "?keyboard=qwerty", "?tokens=12", "?design=flat",
    "?tenant=123e4567-e89b-12d3-a456-426614174000", "?monkey=1", "?author=anna", "?alt=sse", "?key=",
]  # fmt: skip


@pytest.mark.parametrize("query", SECRETS)
@pytest.mark.parametrize("listed", ["models", "judges"])
def test_a_key_in_an_address_is_refused_and_not_repeated(listed: str, query: str) -> None:
    address = f"http://127.0.0.1:8000/v1{query}"
    one = {"name": "m", "provider": "openai", "base_url": address}
    path = (
        f"{listed}.0.base_url={address}" if listed == "models" else f"judges=[{{name: m, base_url: '{address}'}}]"
    )
    with pytest.raises(InputError, match=rf"{listed}\.0\.base_url: contains a key .*api_key_query") as caught:
        read(None, [path])
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ValidationError) as validated:
        Settings.model_validate({"models": [{"name": "m"}], listed: [one]})
    assert "hunter2" not in str(validated.value), "Prefect keeps what an error says"


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        ({"api_key": "hunter2"}, "api_key"),
        ({"extra_headers": {"Authorization": "hunter2"}}, "extra_headers.Authorization"),
        ({"user": "sk-hunter2"}, "user"),
        ({"metadata": {"x": "Bearer hunter2"}}, "metadata.x"),
    ],
)
def test_a_key_among_the_requests_parameters_is_refused_and_not_repeated(extra: object, named: str) -> None:
    with pytest.raises(InputError, match=rf"models\.0\.extra: {named} contains a key") as caught:
        read(None, [f"models.0.extra={json.dumps(extra)}"])
    assert "hunter2" not in str(caught.value)


def test_parameters_that_are_no_keys_go_through() -> None:
    extra = {"prompt_cache_key": "a", "top_k": 3, "stop": ["task-force"], "eos_token": "</s>", "user": "task-anna"}
    assert read(None, [f"models.0.extra={json.dumps(extra)}"]).models[0].extra == extra


@pytest.mark.parametrize("query", PLAIN)
def test_what_is_no_key_may_stand_in_a_query(query: str) -> None:
    assert not find_secret_part(f"http://127.0.0.1:8000/v1{query}")
    assert read(None, [f"models.0.base_url=http://127.0.0.1:8000/v1{query}"])


@pytest.mark.parametrize("address", ["http://hunter2@host/v1", "http://me:hunter2@host/v1", "me:hunter2@host"])
def test_a_user_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(InputError, match="contains a user or a password"):
        read(None, [f"models.0.base_url={address}"])
    assert "hunter2" not in mask_secrets(f"--set models.0.base_url={address}:") or "://" not in address


@pytest.mark.parametrize("key", ["root", "cache"])
def test_a_key_in_the_stores_address_is_refused(key: str) -> None:
    with pytest.raises(InputError, match="contains a password or a key") as caught:
        read(None, [f"store.{key}=postgresql://db.example/replies?password=hunter2"])
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"api_key_header": "X-Api-Key"}, "name its variable in `api_key_env`"),
        ({"api_key_env": "K", "api_key_header": "X", "api_key_query": "key"}, "not both"),
        ({"api_key_env": "K", "api_key_header": "X-Api-Key: hunter2"}, "expected the name of a header"),
        ({"api_key_env": "K", "api_key_query": "key=hunter2"}, "expected the name of a header or a query"),
        ({"api_key_env": "K", "api_key_header": "Host"}, "cannot carry a key"),
        ({"api_key_env": "K", "api_key_query": "key", "provider": "replay", "file": "f"}, "takes no key"),
    ],
)
def test_a_place_for_a_key_must_make_sense(fields: dict[str, str], said: str) -> None:
    pairs = ", ".join(f"{name}: '{value}'" for name, value in fields.items())
    with pytest.raises(InputError, match=said) as caught:
        read(None, [f"models=[{{name: m, {pairs}}}]"])
    assert "hunter2" not in str(caught.value).replace(f"--set models=[{{name: m, {pairs}}}]", "")


HIDDEN = "Zq9" + "x7Lw2" * 6
"""A key of no known form, as its variable holds it."""
PLACES = ["models.0.system", "judges.0.system", "suites.0.prompt", "suites.0.prompts.b", "suites.0.system"]


def told(place: str, text: str, folder: Path) -> dict[str, Any]:
    """Return a configuration in which a text is said to models at a place."""
    (folder / "rows.jsonl").write_text('{"question": "q", "answer": "a"}\n', encoding="utf-8")
    own: dict[str, Any] = {"name": "own", "items": {"data": str(folder / "rows.jsonl")}}
    own |= {"metrics": {"exact_match": {}}, "prompt": "{{ question }}"}
    whole = {"models": [{"name": "m", "api_key_env": "MY_KEY"}], "judges": [{"name": "j"}], "suites": [own]}
    listed, _, name = place.split(".", 2)
    if name == "prompts.b":
        del own["prompt"]
        own["prompts"] = {"a": "A {{ question }}", "b": text}
    else:
        whole[listed][0][name] = text
    return whole


@pytest.mark.parametrize("key", [HIDDEN, "sk-proj-Ab3dEf6hIj9kLm2nOp5q", "Bearer Ab3dEf6hIj9kLm2nOp5q"])
@pytest.mark.parametrize("place", PLACES)
def test_a_key_in_what_is_said_to_a_model_is_refused_and_not_repeated(
    place: str, key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_KEY", HIDDEN)
    Settings.model_validate(told(place, "Say {{ question }}", tmp_path))
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(told(place, f"Use {key}: {{{{ question }}}}", tmp_path))
    (error,) = caught.value.errors()
    assert f"{place}: contains a key" in error["msg"]
    assert key not in error["msg"]


ELSEWHERE: dict[str, dict[str, Any]] = {
    "models.0.base_url": {"models": [{"name": "m", "base_url": "http://h/v1/KEY/chat"}]},
    "models.0.name": {"models": [{"name": "KEY"}]},
    "models.0.api_key_env": {"models": [{"name": "m", "provider": "openai", "api_key_env": "KEY"}]},
    "models.0.extra.metadata.note": {
        "models": [{"name": "m", "provider": "openai", "extra": {"metadata": {"note": "a KEY"}}}]
    },
    "suites.0.metrics.contains.texts.0": {"suites": [{"metrics": {"contains": {"texts": ["KEY"]}}}]},
    "suites.0.items.data": {"suites": [{"items": {"data": "rows/KEY.jsonl"}}]},
    "store.root": {"store": {"root": "kept/KEY/store"}},
}
"""Other places at which a user may put a key by mistake, and a configuration with one there."""


@pytest.mark.parametrize("key", [HIDDEN, "sk-proj-Ab3dEf6hIj9kLm2nOp5q"])
@pytest.mark.parametrize("place", ELSEWHERE)
def test_a_key_is_refused_wherever_it_was_put(
    place: str, key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", HIDDEN)
    whole = told("models.0.system", "Say {{ question }}", tmp_path)
    changes = json.loads(json.dumps(ELSEWHERE[place]).replace("KEY", key))
    own = changes.pop("suites", [{}])[0]
    whole |= {"models": [{"name": "m"}], **changes, "suites": [{**whole["suites"][0], **own}]}
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(whole)
    messages = [error["msg"] for error in caught.value.errors()]
    assert all(key not in message for message in messages), messages
    assert any("key" in message for message in messages), messages


@pytest.mark.parametrize(
    "text",
    ["Use scikit-learn (sk-learn) 1.5.", "The bearer of this letter, born 1971", "Is hf_hub a package? sk-12",
     "EMPTY", "Basic arithmetic of numbers from 1 to 1000000000",
     "an id such as 123e4567-e89b-12d3-a456-426614174000"],
)  # fmt: skip
def test_words_in_a_prompt_are_no_keys(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "EMPTY")
    model = {"name": "m", "api_key_env": "MY_KEY", "system": text}
    assert Settings.model_validate({"models": [model], "suites": ["cot"]}).models[0].system == text


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/x", "unix:/run/x.sock", "FILE:///x"])
def test_an_address_of_another_scheme_is_refused_when_the_configuration_is_read(address: str) -> None:
    with pytest.raises(ValidationError, match=r"models\.0\.base_url: found the scheme \w+:, expected"):
        Settings.model_validate({"models": [{"name": "m", "base_url": address}], "suites": ["cot"]})


@pytest.mark.parametrize(
    "address", ["localhost:11434", "127.0.0.1:11434", "http://h/v1", "HTTPS://h", "h.example:80/v1"]
)
def test_an_address_without_a_scheme_is_taken(address: str) -> None:
    Settings.model_validate({"models": [{"name": "m", "base_url": address}], "suites": ["cot"]})
