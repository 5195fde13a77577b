"""Requests: calls to make, each under the hash of its whole identity; and those of an earlier run."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from basic_control.config.settings import Model
from basic_control.data.batches import Ref
from basic_control.data.draw import format_canonical, source
from basic_control.data.examples import Example, Surroundings
from basic_control.data.messages import SYSTEM, read_messages, write_message
from basic_control.data.records import Call, Message, Provider
from basic_control.data.tables import REQUESTS
from basic_control.data.tools import TOOLS, Tool, read_tools, write_tool
from basic_control.data.truncation import NAMES, is_cut
from basic_control.data.typed import TypedQuestion
from basic_control.prompts import fill_messages, fill_system
from basic_control.tasks.store.tables import Store

NOTHING_AROUND = Surroundings()
"""What goes with a question unless its suite says so."""
_RETURNED = "OK"
"""What an example's tool returned: no tool is run, and not every server takes an empty text."""


def list_parameters(model: Model, **changes: Any) -> dict[str, Any]:
    """Return every sampling parameter of a model by its common name; `changes` override them."""
    values = {"temperature": model.temperature, "seed": model.seed, "max_tokens": model.max_tokens}
    values |= {**model.extra, **changes}
    return {name: value for name, value in values.items() if value is not None}


def build_request(
    model: Model,
    identity: Mapping[str, str],
    messages: Iterable[Message],
    *,
    item_id: str,
    step: str = "answer",
    target: str = "",
    subject: tuple[str, int] | None = None,
    key: str = "",
    repeat: int = 0,
    schema: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
    facts: Mapping[str, Any] | None = None,
    unit: Provider | None = None,
    typed: TypedQuestion | None = None,
    tools: Iterable[Tool] = (),
) -> dict[str, Any]:
    """Return a row of the requests table.

    The id covers provider, model and digest (`identity`), messages, tools, sampling parameters, the schema as it is
    sent and how it is enforced, and the repeat index; the item too, if the provider answers by it or receives it.
    `unit` is the model's provider, for callers that already have it. `typed` is a question about the message, and
    part of the id.
    """
    sent_schema = None
    if schema and model.structured != "off":
        sent_schema = _as_sent(schema, model.structured)
    item, item_repeat = subject or (None, None)
    payload: dict[str, Any] = {
        "identity": dict(identity),
        "messages": [write_message(message) for message in messages],
        "parameters": list_parameters(model, **(changes or {})),
        "schema": sent_schema,
        "structured": model.structured if schema else None,
        "repeat": repeat,
    }
    # A request without tools has no such key, so that replies of earlier versions are found.
    described = [write_tool(tool) for tool in tools]
    if described:
        payload["tools"] = described
    unit = unit or model.unit
    if unit.by_item:
        payload["item_id"] = item_id
    if unit.sees and unit.sees(model):
        payload["item"] = {**(facts or {}), "item_id": item_id}
    if typed is not None:
        # As text, since the order of the labels is part of the question.
        question = {"kind": typed.kind, "instructions": typed.instructions, "labels": dict(typed.labels)}
        payload["typed"] = json.dumps(question, ensure_ascii=False)
    text = format_canonical(payload)
    return {
        "request_id": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
        "item_id": item_id,
        "model": target or model.name,
        "step": step,
        "subject": item,
        "subject_repeat": item_repeat,
        "key": key,
        "repeat": repeat,
        "payload": text,
    }


def _as_sent(schema: Mapping[str, Any], structured: str) -> dict[str, Any] | str:
    """Return a schema as a payload holds it: as text if sorting would lose the declared order.

    A constrained judge writes the properties in the order of the schema sent, so that order is part of the request.
    `json` sends none of it.
    """
    declared = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    if structured == "schema" and declared != format_canonical(schema):
        return declared
    return dict(schema)


def read_call(row: Mapping[str, Any]) -> Call:
    """Return the call of a row of the requests table."""
    payload = json.loads(row["payload"])
    schema, parameters = payload["schema"], payload["parameters"]
    # With one seed, every repeat would have the same answer.
    if row["repeat"] and "seed" in parameters:
        parameters["seed"] = source("repeat", parameters["seed"], row["repeat"]).getrandbits(31)
    return Call(
        messages=read_messages(payload["messages"]),
        parameters=parameters,
        schema=json.loads(schema) if isinstance(schema, str) else schema,
        item_id=row["item_id"],
        repeat=row["repeat"],
        item=payload.get("item", {}),
        typed=_read_question(payload),
        tools=read_tools(payload.get("tools", ())),
    )


def _read_question(payload: Mapping[str, Any]) -> TypedQuestion | None:
    """Return the typed question of a request; None if it has none."""
    if "typed" not in payload:
        return None
    question = json.loads(payload["typed"])
    # Without instructions of its own the message is a prompt that says everything.
    state = json.loads(payload["messages"][0]["content"]) if question["instructions"] else {}
    return TypedQuestion(**question, state=state)


def build_requests(
    items: pl.DataFrame,
    model: Model,
    identity: Mapping[str, str],
    repeats: int,
    *,
    target: str = "",
    prompt: str | None = None,
    around: Surroundings = NOTHING_AROUND,
    schema: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Return the requests that ask a model each item `repeats` times, under the name of a target.

    `prompt`, if given, is filled with an item's facts and replaces the item's own. `around` is what goes with each
    question: tools, examples. `schema`: of the replies, for an entry that says how these are constrained.
    """
    unit = model.unit
    sent_schema = schema if model.is_structured else None
    rows = list[dict[str, Any]]()
    columns = ("item_id", "prompt", "language", "facts", "text_digest")
    for item_id, text, language, facts_text, text_digest in items.select(columns).iter_rows():
        facts = json.loads(facts_text)
        # A question's tools are a column of its row.
        tools: Sequence[Tool] = ()
        if around.has_tools:
            tools = read_tools(facts.get(TOOLS) or ())
        row = {"prompt": text, "language": language, "text_digest": text_digest}
        messages = build_row_messages(row, facts, prompt, around, model.system)
        for repeat in range(repeats):
            rows.append(
                build_request(
                    model,
                    identity,
                    messages,
                    item_id=item_id,
                    target=target,
                    repeat=repeat,
                    facts=facts,
                    schema=sent_schema,
                    changes=around.parameters,
                    unit=unit,
                    tools=tools,
                )
            )
    return REQUESTS.frame(rows)


def build_row_messages(
    row: Mapping[str, Any], facts: Mapping[str, Any], prompt: str | None, around: Surroundings, system: str
) -> tuple[Message, ...]:
    """Return all messages that ask a row of the items table, with its facts: system prompt, examples, question."""
    messages = build_messages(row["prompt"], prompt, row["language"], facts, system)
    if not around.examples:
        return messages
    sends_tools = around.has_tools and bool(facts.get(TOOLS))
    return _put_examples(messages, around, prompt, row["text_digest"], may_call=sends_tools)


def build_messages(
    text: str, prompt: str | None, language: str, facts: Mapping[str, Any], system: str = ""
) -> tuple[Message, ...]:
    """Return the messages that ask an item: its own text, or a prompt that replaces it, after the system prompt."""
    if prompt is not None:
        return fill_messages(prompt, language, facts, system)
    question = Message("user", text)
    if not system:
        return (question,)
    return (Message("system", fill_system(system, facts)), question)


def _put_examples(
    messages: Sequence[Message], around: Surroundings, prompt: str | None, text_digest: str, *, may_call: bool
) -> tuple[Message, ...]:
    """Return the messages that ask an item with examples before it: as turns, or in the text of the question.

    `may_call`: tools go with it; without any, a model writes its calls into the text.
    """
    template = around.prompt if prompt is None else prompt
    turns = list[Message]()
    texts = list[str]()
    n_calls = 0
    for example in around.examples_for(text_digest):
        filled = fill_messages(template, example.language, example.facts)
        question = [message for message in filled if message.role not in SYSTEM]
        answer = " ".join(filter(None, [example.answer, _write_calls(example)]))
        texts.append(" ".join((question[-1].content.rstrip(), answer)))
        turns += question
        if example.calls and may_call:
            turns += _make_calls(example, n_calls)
            n_calls += len(example.calls)
        else:
            turns.append(Message("assistant", answer))
    # The system prompt stays first.
    n_system = sum(message.role in SYSTEM for message in messages)
    if around.form == "turns":
        return (*messages[:n_system], *turns, *messages[n_system:])
    *before, last = messages
    return (*before, replace(last, content="\n\n".join([*texts, last.content])))


def _make_calls(example: Example, n_calls: int) -> Iterator[Message]:
    """Yield the turn of an example's calls, and what each returned: servers refuse calls without it.

    `n_calls` were made before.
    """
    # Some servers take ids of nine letters and digits only: call00001
    calls = [{**call, "id": f"call{number:05}"} for number, call in enumerate(example.calls, n_calls + 1)]
    yield Message("assistant", example.answer, tool_calls=tuple(calls))
    for call in calls:
        yield Message("tool", _RETURNED, tool_call_id=call["id"], name=call["name"])


def _write_calls(example: Example) -> str:
    """Return an example's calls as JSON; '' if it has none."""
    if not example.calls:
        return ""
    return json.dumps(example.calls, ensure_ascii=False)


def _drop_limits(payload: str) -> str:
    """Return a request's identity without its token limit, and without the schema that a judge's limit bounds."""
    identity = json.loads(payload)
    # A response that came with the data has none.
    parameters = identity.get("parameters", {})
    parameters = {name: value for name, value in parameters.items() if name not in NAMES}
    return format_canonical({**identity, "parameters": parameters, "schema": None})


def store_uncut(store: Store, manifest: Mapping[str, Any]) -> Ref:
    """Write a table of the run's requests, to models and judges, whose replies ended by themselves.

    With a higher token limit these replies would be the same.

    Raises:
        Damaged: a table of the run is not intact.
    """
    tables = manifest.get("tables", {})
    frames = [REQUESTS.frame([])]
    for requests_role, responses_role in (("requests", "responses"), ("judge_requests", "judge_responses")):
        for pair in zip(tables.get(requests_role, []), tables.get(responses_role, []), strict=True):
            requests, responses = (store.read(Ref.read(ref)) for ref in pair)
            joined = requests.join(responses, on="request_id", how="inner", maintain_order="left")
            answered = joined.filter(pl.col("error").is_null() & pl.col("text").is_not_null())
            is_whole = [not is_cut(row) for row in answered.iter_rows(named=True)]
            frames.append(answered.filter(pl.Series(is_whole, dtype=pl.Boolean)).select(requests.columns))
    return store.write(REQUESTS, pl.concat(frames))


def reuse_recorded(requests: pl.DataFrame, recorded: pl.DataFrame) -> pl.DataFrame:
    """Return requests, using the recorded form of those that differ from it only in the token limit."""
    columns = ("request_id", "payload")
    by_stem = {
        _drop_limits(payload): (request_id, payload) for request_id, payload in recorded.select(columns).iter_rows()
    }
    rows = [by_stem.get(_drop_limits(row[1]), row) for row in requests.select(columns).iter_rows()]
    schema = dict.fromkeys(columns, pl.String)
    return requests.with_columns(pl.DataFrame(rows, schema=schema, orient="row"))
