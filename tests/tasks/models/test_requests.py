"""Requests: the same question has the same identity for ever, and what is sent is what was declared."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.settings import Model
from basic_control.data import plugins
from basic_control.data.plugins import metrics
from basic_control.data.records import Message, Question
from basic_control.tasks.models.requests import build_request, read_call
from basic_control.tasks.query import identify_model
from tests.servers import Server, serve_ollama, serve_openai
from tests.tasks.models.asking import ask

SERVED = Model(name="m", provider="openai", model="served", system="Be brief.", extra={"top_p": 0.9})
IDENTITY = {"provider": "openai", "model": "served", "base_url": "http://127.0.0.1:8000/v1"}
QUESTION = (Message("user", "q"),)
REVERSED = {"type": "object", "properties": {"b": {}, "a": {}}}
SORTED = {"properties": {"a": {}, "b": {}}, "type": "object"}


def questions() -> Mapping[str, Question]:
    """Return a question for each step whose schema depends on it."""
    claims = [{"id": "1", "text": "A claim."}, {"id": "2", "text": "Another."}]
    return {
        "entails": Question("response", {"claims": claims, "source": "A text."}),
        "rate": Question("polite", {"lo": 1, "hi": 5}),
        "rubric": Question("polite", {"lo": 1, "hi": 5}),
        "find": Question("1", {"steps": ["2 + 2 = 4"]}),
    }


def schemas() -> dict[str, Mapping[str, Any]]:
    """Return every schema that a shipped metric sends to its judges."""
    return {
        f"{metric.name} {step.name}": schema
        for metric in metrics().values()
        for step in metric.steps
        if (schema := step.schema_of(questions().get(step.name, Question("ab", {"lo": 1, "hi": 5}))))
    }


def objects(schema: Any) -> Iterator[list[str]]:
    """Yield the declared properties of each object in a schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield list(schema["properties"])
        for part in schema.values():
            yield from objects(part)


def test_requests_without_a_schema_keep_the_identity_that_they_had() -> None:
    spoken = [Message("system", "Be brief."), Message("user", "Сколько будет 2 + 2?")]
    asked = build_request(SERVED, IDENTITY, spoken, item_id="x", repeat=1)
    assert asked["request_id"] == "711bf923be43e9aa0c47062bf58449ff8bb77b904af7ddf1b0ad40c16f2d5871"
    replay = Model(name="r", provider="replay", file="f.jsonl")
    replayed = build_request(replay, {"provider": "replay", "digest": "d"}, QUESTION, item_id="x")
    assert replayed["request_id"] == "a91772faafb27608a6bdfa0954f97710243a689283c2bb9c253b4a25eea34082"


@pytest.mark.parametrize(
    ("structured", "schema", "digest"),
    [
        ("off", REVERSED, "98c729c587a6c41c4d99823803fc5c5a50e5a73a9a21ff9d17aa6356efee90f8"),
        ("json", REVERSED, "95096b7612cb8bfcb21773abb2ab9ddaf8bef286cd1b967531a9f4467c0adaee"),
        ("schema", SORTED, "cf91123841c0aaf7017d5ac873aed7f049024575747439536ac286bf394f4411"),
    ],
)
def test_a_schema_that_is_sent_as_ever_or_not_at_all_changes_no_identity(
    structured: str, schema: dict[str, Any], digest: str
) -> None:
    model = SERVED.model_copy(update={"structured": structured})
    assert build_request(model, IDENTITY, QUESTION, item_id="x", schema=schema)["request_id"] == digest


def test_schemas_of_another_order_are_other_requests() -> None:
    ids = {
        build_request(SERVED, IDENTITY, QUESTION, item_id="x", schema=schema)["request_id"]
        for schema in (SORTED, REVERSED, {"type": "object", "properties": {"a": {}, "b": {}}})
    }
    assert len(ids) == 3


def test_every_judge_is_asked_for_its_reason_before_its_verdict() -> None:
    found = {
        name: [o for o in objects(schema) if {"verdict", "rating"} & set(o)] for name, schema in schemas().items()
    }
    for name, declared in found.items():
        for properties in declared:
            told = next(p for p in properties if p in {"verdict", "rating"})
            assert properties.index("reason") < properties.index(told), name
    assert sum(map(len, found.values())) >= 5


@pytest.mark.parametrize("serve", [serve_openai, serve_ollama])
@pytest.mark.parametrize("name", schemas())
def test_a_schema_reaches_the_server_as_it_was_declared(serve: Any, name: str) -> None:
    schema = schemas()[name]
    server: Server
    with serve("{}") as server:
        model = Model(name="m", provider=server.kind, base_url=server.base_url, deadline_s=20)
        ask(model, read_call(build_request(model, IDENTITY, QUESTION, item_id="x", schema=schema)))
        body = server.requests[0].body
    sent = body["format"] if server.kind == "ollama" else body["response_format"]["json_schema"]["schema"]
    assert json.dumps(sent) == json.dumps(schema), "the same keys in the same order"


PARROT = """
from beak import said
WORDS = ("polly.json", "*.txt", "*.md", "parrot.md", "artifacts", "out")
from basic_control.data.records import Provider
from basic_control.tasks.models.protocol import CallError


class Parrot:
    def __init__(self, model):
        self.model = model

    async def identity(self):
        return {"provider": "parrot", "model": self.model.name}


UNIT = Provider(name="parrot", version=1, open=Parrot)
"""


def test_an_edited_provider_of_ones_own_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its client tells of itself is the same; so is what it imports of ours, which no reply hangs on."""
    (tmp_path / "parrot.py").write_text(PARROT, encoding="utf-8")
    (tmp_path / "beak.py").write_text("said = str.upper\n", encoding="utf-8")
    monkeypatch.setenv(plugins.VARIABLE, "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    try:
        plugins.use([tmp_path])
        model = Model(name="polly", provider="parrot")
        before = identify_model(model)
        assert identify_model(model) == before
        for name in ("parrot.py", "beak.py"):
            (tmp_path / name).write_text(f"{(tmp_path / name).read_text('utf-8')}# edited\n", encoding="utf-8")
            plugins.forget()
            now = identify_model(model)
            assert now != before, name
            before = now
        # What a run writes there, and what the provider itself writes, asks nothing again.
        for name in (
            "artifacts/runs/r/report.md",
            "out/r/manifest.json",
            "out/r/parrot.md",
            "polly.json",
            ".h/a.txt",
        ):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("{}", encoding="utf-8")
        plugins.forget()
        assert identify_model(model) == now
    finally:
        sys.modules.pop("beak", None)
        monkeypatch.undo()
        plugins.forget()


def test_the_query_of_an_address_is_part_of_a_models_identity() -> None:
    """A gateway may choose the model by it."""
    said = []
    with serve_openai("yes") as server:
        for query in ("", "?route=blue", "?route=green"):
            at = f"{server.base_url}{query}"
            said.append(identify_model(Model.model_validate({"name": "m", "provider": "openai", "base_url": at})))
    assert said[0] == {"provider": "openai", "model": "m", "base_url": server.base_url}
    assert len({str(one) for one in said}) == 3
    assert "blue" not in str(said), "a query may hold what must not be written down"


def test_a_temperature_of_null_sends_none() -> None:
    with serve_openai("yes") as server:
        at = {"name": "m", "provider": "openai", "base_url": server.base_url}
        for given in ({}, {"temperature": None}):
            model = Model.model_validate({**at, **given})
            ask(model, read_call(build_request(model, IDENTITY, QUESTION, item_id="i")))
        assert ["temperature" in seen.body for seen in server.requests] == [True, False]
