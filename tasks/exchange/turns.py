"""Conversations in other tools' files: their messages as turns, and the calls of tools that a reply made."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from basic_control.data.characters import make_storable
from basic_control.data.messages import ROLES, is_conversation, read_made_call
from basic_control.data.notations import parse_cell
from basic_control.data.records import Message
from basic_control.data.tools import ToolCall, read_calls, write_calls
from basic_control.tasks.exchange.logs import Turns, join_parts, read_mapping

ATTACHED = "attachment://"
"""Begins a text that stands elsewhere in a file, by its digest."""


def read_messages_of_file(value: Any, attachments: Mapping[str, Any] | None = None) -> tuple[Message, ...]:
    """Return a file's messages, or those in JSON text; none if it has none.

    Of contents that are no text, such as images and thoughts, only the texts are read. `attachments` are texts that
    stand elsewhere in the file.
    """
    if not is_conversation(value):
        return ()
    messages = list[Message]()
    for entry in map(read_mapping, parse_cell(value)):
        role = str(entry.get("role")).strip().lower()
        if role not in ROLES:
            role = "user"
        name = entry.get("name") or entry.get("function")
        messages.append(
            Message(
                role=role,
                content=find_text(join_parts(entry.get("content")), attachments),
                tool_calls=tuple(_read_made_calls(entry)),
                tool_call_id=make_storable(join_parts(entry.get("tool_call_id"))),
                name=make_storable(name) if isinstance(name, str) else "",
            )
        )
    return tuple(messages)


def find_text(text: str, attachments: Mapping[str, Any] | None = None) -> str:
    """Return a text, or the attachment that it stands for."""
    if text.startswith(ATTACHED):
        text = str((attachments or {}).get(text.removeprefix(ATTACHED), text))
    return make_storable(text)


def _read_made_calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the calls of a message, those that can be read, with their ids."""
    calls = list[Mapping[str, Any]]()
    for number, entry in enumerate(message.get("tool_calls") or (), 1):
        with suppress(ValueError):
            calls.append(read_made_call(entry, number))
    return calls


def read_calls_of_output(output: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the calls that an output is: a list of them, or a message with some; none if it is something else."""
    if isinstance(output, Mapping) and output.get("role"):
        return tuple(_read_made_calls(output))
    calls: list[ToolCall] | None = None
    if isinstance(output, list) and output:
        calls = read_calls(output, is_marked=False)
    return tuple(write_calls(calls or ()))


def cut_before_reply(messages: Sequence[Message]) -> Turns:
    """Return a conversation as what came before its last assistant's message, and the calls of that one."""
    for number in range(len(messages) - 1, -1, -1):
        if messages[number].role == "assistant":
            return Turns(tuple(messages[:number]), messages[number].tool_calls)
    return Turns(tuple(messages))
