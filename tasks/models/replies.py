"""The common form of replies; what an application receives of a call, and its validated answer."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from basic_control.data import characters
from basic_control.data.messages import MESSAGES, read_messages, write_message
from basic_control.data.reading import thinking
from basic_control.data.records import Call, Message, Reply
from basic_control.data.tools import TOOL_CALLS, read_arguments, read_calls, write_calls, write_tool
from basic_control.tasks.models.protocol import CallError

FIELDS = ("text", "contexts", "citations", "tokens_in", "tokens_out", "finish_reason", "calls", "messages")
"""Fields that an application may answer with."""
_LARGEST_COUNT = 2**63
LONGEST_REASON = 100
"""Characters kept of a finish reason, which is a word."""
_DEEPEST = 200
"""Levels of an application's JSON: what reads citations later recurses."""
_KINDS = {type(None): "nothing", str: "a string", bool: "a boolean", dict: "a mapping", list: "a list"}


def read_reply(
    answer: str,
    thought: str = "",
    *,
    finish_reason: str = "",
    tokens_in: int | None = None,
    tokens_out: int | None = None,
    thinking_tokens: int | None = None,
    cached_tokens: int | None = None,
    calls: Sequence[Mapping[str, Any]] = (),
) -> Reply:
    """Return a reply with the thinking inside the answer split off, appended to the server's separate thinking.

    `calls` are the calls of tools that it makes, each with `name`, `arguments` and perhaps an `id`.
    `thinking_tokens` (of the output) and `cached_tokens` (of the input) go into `extra["usage"]`, if any. Invalid
    text (lone surrogates, NUL) becomes U+FFFD: neither UTF-8 nor a database can hold it.
    """
    text, aloud = thinking.split(_clean(answer))
    reasoning = "\n".join(part for part in (_clean(thought), aloud) if part)
    counts = {"thinking": read_token_count(thinking_tokens), "cached": read_token_count(cached_tokens)}
    usage = {name: count for name, count in counts.items() if count}
    extra: dict[str, Any] = {}
    if usage:
        extra["usage"] = usage
    if calls:
        extra[TOOL_CALLS] = [_read_call(call) for call in calls]
    finish_reason = _clean(finish_reason[:LONGEST_REASON])
    return Reply(text, reasoning, finish_reason, read_token_count(tokens_in), read_token_count(tokens_out), extra)


def _read_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call with its arguments as a mapping; as text, if a model wrote something else than JSON."""
    arguments = call.get("arguments")
    mapping = read_arguments(arguments)
    written = {"name": str(call["name"]), "arguments": arguments if mapping is None else dict(mapping)}
    if call.get("id"):
        written["id"] = str(call["id"])
    # What is too deep to be stored as JSON is stored as text.
    try:
        return dict(_clean_json(written))
    except (ValueError, TypeError, RecursionError):
        return {"name": _clean(str(call["name"])), "arguments": _clean(str(arguments))}


def read_token_count(value: Any) -> int | None:
    """Return a number of tokens that a table holds, as a server writes it, 12 or 12.0; None for anything else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_COUNT:
        return value
    return None


def find_token_count(counts: Any, name: str) -> int | None:
    """Return a number of tokens among counts that a server states, if it does."""
    if not isinstance(counts, Mapping):
        return None
    return read_token_count(counts.get(name))


def _clean(text: str) -> str:
    """Return text that UTF-8 and databases can hold."""
    return characters.make_storable(text).replace("\x00", "\ufffd")


def build_offer(call: Call) -> dict[str, Any]:
    """Return what an application receives of a call."""
    system_texts = [message.content for message in call.messages if message.role == "system"]
    user_texts = [message.content for message in call.messages if message.role == "user"]
    return {
        "prompt": user_texts[-1] if user_texts else "",
        "system": "\n\n".join(system_texts),
        "messages": [write_message(message) for message in call.messages],
        "tools": [write_tool(tool) for tool in call.tools],
        "parameters": dict(call.parameters),
        "item": dict(call.item),
    }


def read_answer(answer: Mapping[str, Any], where: Mapping[str, str]) -> Reply:
    """Return an application's answer as a reply; `where` is each field's location for messages.

    Contexts and citations become `extra["retrieved_contexts"]` and `extra["citations"]`.

    Raises:
        CallError: a field has the wrong type.
    """
    extra: dict[str, Any] = {}
    if answer.get("contexts") is not None:
        extra["retrieved_contexts"] = _read_texts(answer["contexts"], where["contexts"])
    if answer.get("citations") is not None:
        citations = _read_list(answer["citations"], where["citations"], "a list")
        try:
            extra["citations"] = _clean_json(citations)
        except (TypeError, ValueError, RecursionError) as error:
            message = f"{where['citations']}: expected JSON data ({error})"
            raise CallError("invalid", message) from None
    finish_reason = answer.get("finish_reason")
    if finish_reason is not None and not isinstance(finish_reason, str):
        raise _build_error(where["finish_reason"], "a string", finish_reason)
    turns = _read_turns(answer.get("messages"), where["messages"])
    calls = _read_made_calls(answer.get("calls"), where["calls"])
    text = answer.get("text")
    if turns:
        extra[MESSAGES] = [write_message(turn) for turn in turns]
        # What an application did not say apart is in its turns: its last words, and its calls.
        if text is None:
            text = next((turn.content for turn in reversed(turns) if turn.role == "assistant"), "")
        if answer.get("calls") is None:
            calls = [*chain.from_iterable(turn.tool_calls for turn in turns)]
    # An answer may be its calls alone.
    if text is None and calls:
        text = ""
    reply = read_reply(
        _text(text, where["text"]),
        calls=calls,
        finish_reason=_clean(finish_reason or ""),
        tokens_in=_count(answer.get("tokens_in"), where["tokens_in"]),
        tokens_out=_count(answer.get("tokens_out"), where["tokens_out"]),
    )
    return replace(reply, extra={**reply.extra, **extra})


def _read_turns(value: Any, where: str) -> tuple[Message, ...]:
    """Return the messages that an application states: what it said and called since it was asked."""
    if value is None:
        return ()
    try:
        return read_messages(_clean_json(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise CallError("invalid", f"{where}: {error}") from None


def _read_made_calls(value: Any, where: str) -> Sequence[Mapping[str, Any]]:
    """Return the calls that an application states to have made."""
    if value is None:
        return []
    calls = read_calls(value)
    if calls is None:
        raise CallError("invalid", f"{where}: expected a list of calls, each with `name` and `arguments`")
    return write_calls(calls)


def _clean_json(value: Any) -> Any:
    """Return JSON data whose texts UTF-8 and databases can hold.

    Raises:
        ValueError, TypeError: it is no JSON data.
        RecursionError: it nests deeper than `_DEEPEST`, whatever the stack has room for.
    """
    level = [value]
    for _ in range(_DEEPEST):
        level = [*chain.from_iterable(map(_list_parts, level))]
    if level:
        raise RecursionError(f"nested deeper than {_DEEPEST}")
    return json.loads(_clean(json.dumps(value, ensure_ascii=False, allow_nan=False)))


def _list_parts(value: Any) -> Iterable[Any]:
    """Return what a mapping or a list holds; nothing of a value without parts."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _text(value: Any, where: str) -> str:
    """Return a text, a number as text, or the joined parts of a text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return "".join(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise _build_error(where, "a string", value)


def _count(value: Any, where: str) -> int | None:
    if value is None:
        return None
    number = read_token_count(value)
    if number is None:
        raise _build_error(where, "a number of tokens", value)
    return number


def _read_list(value: Any, where: str, expected: str) -> list[Any]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list | tuple):
        raise _build_error(where, expected, value)
    return [*value]


def _read_texts(value: Any, where: str) -> list[str]:
    texts = _read_list(value, where, "a list of strings")
    for text in texts:
        if not isinstance(text, str):
            raise _build_error(where, "a list of strings", text)
    return [*map(_clean, texts)]


def _build_error(where: str, expected: str, value: Any) -> CallError:
    kind = _KINDS.get(type(value), f"a {type(value).__name__}")
    return CallError("invalid", f"{where}: expected {expected}, found {kind}")
