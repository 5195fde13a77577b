"""The common form of replies; what an application receives of a call, and its validated answer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from basic_control.data import characters
from basic_control.data.messages import MESSAGES, read_messages, write_message
from basic_control.data.reading import thinking
from basic_control.data.records import Call, Message, Reply
from basic_control.data.tools import TOOL_CALLS, read_arguments, read_calls, write_calls, write_tool
from basic_control.tasks.models.protocol import CallError

FIELDS = ("text", "contexts", "citations", "tokens_in", "tokens_out", "finish_reason", "calls", "messages")
"""Fields that an application may answer with."""
_MOST = 2**63
LONGEST_REASON = 100
"""Characters kept of a finish reason, which is a word."""
_DEEPEST = 200  # as of a function's answers (`python_child`): what reads citations later recurses
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
    text, aloud = thinking.split(_storable(answer))
    reasoning = "\n".join(part for part in (_storable(thought), aloud) if part)
    counts = {"thinking": _bound(thinking_tokens), "cached": _bound(cached_tokens)}
    usage = {name: count for name, count in counts.items() if count}
    extra: dict[str, Any] = {}
    if usage:
        extra["usage"] = usage
    if calls:
        extra[TOOL_CALLS] = [_read_call(call) for call in calls]
    finish_reason = _storable(finish_reason[:LONGEST_REASON])
    return Reply(text, reasoning, finish_reason, _bound(tokens_in), _bound(tokens_out), extra)


def _read_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call with its arguments as a mapping; as text, if a model wrote something else than JSON."""
    arguments = call.get("arguments")
    mapping = read_arguments(arguments)
    written = {"name": str(call["name"]), "arguments": arguments if mapping is None else dict(mapping)}
    if call.get("id"):
        written["id"] = str(call["id"])
    try:
        _bound_depth(written)
        return dict(json.loads(_storable(json.dumps(written, ensure_ascii=False, allow_nan=False))))
    except (ValueError, TypeError, RecursionError):
        return {"name": _storable(str(call["name"])), "arguments": _storable(str(arguments))}


def whole_number(value: Any) -> int | None:
    """Return a number of tokens as a server writes it, 12 or 12.0; None for anything else."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _bound(count: int | None) -> int | None:
    """Return a number of tokens; None if a server states one that no table holds."""
    return count if count is not None and 0 <= count < _MOST else None


def _storable(text: str) -> str:
    """Return text that UTF-8 and databases can hold."""
    return characters.make_storable(text).replace("\x00", "\ufffd")


def offered(call: Call) -> dict[str, Any]:
    """Return what an application receives of a call."""
    spoken = {role: [m.content for m in call.messages if m.role == role] for role in ("system", "user")}
    return {
        "prompt": spoken["user"][-1] if spoken["user"] else "",
        "system": "\n\n".join(spoken["system"]),
        "messages": [write_message(message) for message in call.messages],
        "tools": [write_tool(tool) for tool in call.tools],
        "parameters": dict(call.parameters),
        "item": dict(call.item),
    }


def read_answer(given: Mapping[str, Any], where: Mapping[str, str]) -> Reply:
    """Return an application's answer as a reply; `where` is each field's location for messages.

    Contexts and citations become `extra["retrieved_contexts"]` and `extra["citations"]`.

    Raises:
        CallError: a field has the wrong type.
    """
    extra: dict[str, Any] = {}
    if given.get("contexts") is not None:
        contexts = _listed(given["contexts"], where["contexts"], "a list of strings")
        if others := [one for one in contexts if not isinstance(one, str)]:
            raise _wrong(where["contexts"], "a list of strings", others[0])
        extra["retrieved_contexts"] = [_storable(one) for one in contexts]
    if given.get("citations") is not None:
        citations = _listed(given["citations"], where["citations"], "a list")
        try:
            _bound_depth(citations)
            extra["citations"] = json.loads(_storable(json.dumps(citations, ensure_ascii=False, allow_nan=False)))
        except (TypeError, ValueError, RecursionError) as error:
            said = f"{where['citations']}: expected JSON data ({error})"
            raise CallError("invalid", said) from None
    ended = given.get("finish_reason")
    if ended is not None and not isinstance(ended, str):
        raise _wrong(where["finish_reason"], "a string", ended)
    turns = _read_turns(given.get("messages"), where["messages"])
    calls = _read_made_calls(given.get("calls"), where["calls"])
    text = given.get("text")
    if turns:
        extra[MESSAGES] = [write_message(turn) for turn in turns]
        # What an application did not say apart is in its turns: its last words, and its calls.
        if text is None:
            text = next((turn.content for turn in reversed(turns) if turn.role == "assistant"), "")
        if given.get("calls") is None:
            calls = [call for turn in turns for call in turn.tool_calls]
    if text is None and calls:
        text = ""
    reply = read_reply(
        _text(text, where["text"]),
        calls=calls,
        finish_reason=_storable(ended or ""),
        tokens_in=_count(given.get("tokens_in"), where["tokens_in"]),
        tokens_out=_count(given.get("tokens_out"), where["tokens_out"]),
    )
    return replace(reply, extra={**reply.extra, **extra})


def _read_turns(value: Any, where: str) -> tuple[Message, ...]:
    """Return the messages that an application states: what it said and called since it was asked."""
    if value is None:
        return ()
    try:
        _bound_depth(value)
        return read_messages(json.loads(_storable(json.dumps(value, ensure_ascii=False, allow_nan=False))))
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


def _bound_depth(value: Any) -> None:
    """Raise RecursionError if JSON data nests deeper than `_DEEPEST`, whatever the stack has room for."""
    level = [value]
    for _ in range(_DEEPEST):
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [part for parts in inner for part in parts]
    if level:
        raise RecursionError(f"nested deeper than {_DEEPEST}")


def _text(value: Any, where: str) -> str:
    """Return a text, a number as text, or the joined parts of a text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return "".join(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise _wrong(where, "a string", value)


def _count(value: Any, where: str) -> int | None:
    if value is None:
        return None
    number = whole_number(value)
    if number is None or not 0 <= number < _MOST:
        raise _wrong(where, "a number of tokens", value)
    return number


def _listed(value: Any, where: str, expected: str) -> list[Any]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list | tuple):
        raise _wrong(where, expected, value)
    return [*value]


def _wrong(where: str, expected: str, found: Any) -> CallError:
    kind = _KINDS.get(type(found), f"a {type(found).__name__}")
    return CallError("invalid", f"{where}: expected {expected}, found {kind}")
