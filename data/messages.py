"""Conversations: messages as data files, servers and applications write them, in one form."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from basic_control.data.notations import parse_cell
from basic_control.data.records import Message
from basic_control.data.tools import parse_json, read_call, show

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
"""The roles of messages, as servers know them; `developer` is another name of `system`."""
MESSAGES = "messages"
"""The column of messages that `{{ messages }}` alone takes, and the key of a prompt that names its column."""
SYSTEM = frozenset({"system", "developer"})
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})


def is_conversation(value: Any) -> bool:
    """Return whether a value is a list of messages, or the text of one, by its form."""
    messages = parse_cell(value)
    if not isinstance(messages, list | tuple) or not messages:
        return False
    return all(isinstance(message, Mapping) and "role" in message for message in messages)


def read_messages(value: Any) -> tuple[Message, ...]:
    """Read a list of messages, or the text of one.

    Raises:
        ValueError: an entry is no message, or holds something else than text; the text says which and what.
    """
    messages = parse_cell(value)
    if not isinstance(messages, list | tuple) or not messages:
        raise ValueError(f"found {show(value)}, expected a list of messages, each with `role` and `content`")
    return tuple(_read_message(message, number) for number, message in enumerate(messages, 1))


def _read_message(message: Any, number: int) -> Message:
    message = parse_json(message)
    if not isinstance(message, Mapping) or "role" not in message:
        raise ValueError(f"message {number}: found {show(message)}, expected `role` and `content`")
    role = str(message["role"]).strip().lower()
    if role not in ROLES:
        raise ValueError(f"message {number}: found role {message['role']!r}, expected one of {', '.join(ROLES)}")
    calls = list[Mapping[str, Any]]()
    for entry in parse_json(message.get("tool_calls")) or ():
        calls.append(read_made_call(entry, number))
    return Message(
        role=role,
        content=_join_parts(message.get("content"), number),
        tool_calls=tuple(calls),
        tool_call_id=str(message.get("tool_call_id") or ""),
        name=str(message.get("name") or ""),
    )


def read_made_call(entry: Any, number: int) -> Mapping[str, Any]:
    """Return a call in the message of that number as `name`, `arguments` and, if it has one, its `id`.

    Raises:
        ValueError: it is no call.
    """
    call = read_call(entry)
    if call is None:
        raise ValueError(f"message {number}: found {show(entry)}, expected a call with `name` and `arguments`")
    written: dict[str, Any] = {"name": call.name, "arguments": dict(call.arguments)}
    # The id ties a tool's message to its call.
    if isinstance(entry, Mapping) and entry.get("id"):
        written["id"] = str(entry["id"])
    return written


def _join_parts(content: Any, number: int) -> str:
    """Return a content as text: a text, or the joined texts of its parts."""
    parts = content
    if not isinstance(content, list | tuple):
        parts = [content]
    texts = list[str]()
    for part in parts:
        texts.append(_read_part(part, number))
    return "".join(texts)


def _read_part(part: Any, number: int) -> str:
    """Return the text of a part; one without is not left out silently: the question would be another one."""
    if part is None:
        return ""
    kind, text = "text", part
    if isinstance(part, Mapping):
        kind, text = part.get("type", kind), part.get("text")
    if kind not in _TEXT_PARTS or not isinstance(text, str | int | float):
        raise ValueError(
            f"message {number}: found {show(part)}, a part of type {kind}; expected text: no images, sound or "
            "files are sent"
        )
    return str(text)


def has_system(messages: Iterable[Message]) -> bool:
    """Return whether a conversation has a system message of its own."""
    return any(message.role in SYSTEM for message in messages)


def is_chat(messages: Sequence[Message]) -> bool:
    """Return whether messages are more than one of a user."""
    return [message.role for message in messages] not in ([], ["user"])


def write_message(message: Message) -> dict[str, Any]:
    """Return a message as a mapping: `role`, `content`, and of the rest what it has."""
    written: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        written["tool_calls"] = [*map(dict, message.tool_calls)]
    if message.tool_call_id:
        written["tool_call_id"] = message.tool_call_id
    if message.name:
        written["name"] = message.name
    return written


def write_call(name: str, arguments: Any) -> str:
    """Return a call as people read it: `get_weather(city='Paris')`."""
    if not isinstance(arguments, Mapping):
        return f"{name}({arguments})"
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def write_transcript(messages: Sequence[Message]) -> str:
    """Return a conversation as text for people and judges; a single user's message is its content."""
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].content
    turns = list[str]()
    for message in messages:
        # What an assistant called stands below what it said.
        lines = [*filter(str.strip, [message.content])]
        lines += [write_call(call["name"], call["arguments"]) for call in message.tool_calls]
        turns.append(f"{message.role}: " + "\n".join(lines))
    return "\n\n".join(turns)


def write_conversation(messages: Any) -> str:
    """Return a prompt that is a conversation as text: its messages' templates, or the column that holds them.

    Raises:
        ValueError: an entry is no message.
    """
    if not isinstance(messages, str):
        messages = [write_message(message) for message in read_messages(messages)]
    return json.dumps({MESSAGES: messages}, ensure_ascii=False)


@cache
def read_conversation(prompt: str) -> tuple[Message, ...] | str | None:
    """Return a prompt's messages, whose contents are templates, or their column's name; None for a text."""
    if not prompt.startswith(f'{{"{MESSAGES}":'):
        return None
    try:
        messages = json.loads(prompt)[MESSAGES]
        return messages if isinstance(messages, str) else read_messages(messages)
    except (ValueError, KeyError, TypeError):
        return None


def column_of_messages(prompt: str) -> str:
    """Return the column that a prompt takes its conversation from; '' if it is another prompt."""
    conversation = read_conversation(prompt)
    return conversation if isinstance(conversation, str) else ""
