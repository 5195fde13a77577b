"""What an application answers with, checked: text, contexts, citations, tokens, why it ended."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from data.records import Reply
from tasks.models.protocol import CallError
from tasks.models.replies import read_reply, storable

FIELDS = ("text", "contexts", "citations", "tokens_in", "tokens_out", "finish_reason")
_MOST = 2**63
_KINDS = {type(None): "nothing", str: "a text", bool: "true or false", dict: "a mapping", list: "a list"}


def read_answer(given: Mapping[str, Any], where: Mapping[str, str]) -> Reply:
    """Return an application's answer as a reply; `where` says for messages where each field was found.

    Contexts and citations become `extra["retrieved_contexts"]` and `extra["citations"]`.

    Raises:
        CallError: a field has another type than it must have.
    """
    extra: dict[str, Any] = {}
    if given.get("contexts") is not None:
        extra["retrieved_contexts"] = _texts(given["contexts"], where["contexts"])
    if given.get("citations") is not None:
        extra["citations"] = _citations(given["citations"], where["citations"])
    ended = given.get("finish_reason")
    if ended is not None and not isinstance(ended, str):
        raise _wrong(where["finish_reason"], "a text", ended)
    reply = read_reply(
        _text(given.get("text"), where["text"]),
        finish_reason=storable(ended or ""),
        tokens_in=_count(given.get("tokens_in"), where["tokens_in"]),
        tokens_out=_count(given.get("tokens_out"), where["tokens_out"]),
    )
    return replace(reply, extra=extra)


def _wrong(where: str, expected: str, found: Any) -> CallError:
    kind = _KINDS.get(type(found), f"a {type(found).__name__}")
    return CallError("invalid", f"{where}: expected {expected}, found {kind}")


def _text(value: Any, where: str) -> str:
    """Return a text, a number as a text, or the parts of a text put together."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
        return "".join(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise _wrong(where, "a text", value)


def _texts(value: Any, where: str) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple):
        raise _wrong(where, "a list of texts", value)
    for one in listed:
        if not isinstance(one, str):
            raise _wrong(where, "a list of texts", one)
    return [storable(one) for one in listed]


def _citations(value: Any, where: str) -> list[Any]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple):
        raise _wrong(where, "a list", value)
    try:
        kept: list[Any] = json.loads(storable(json.dumps(list(listed), ensure_ascii=False, allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise CallError("invalid", f"{where}: expected what JSON can hold ({error})") from None
    return kept


def _count(value: Any, where: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
        raise _wrong(where, "a number of tokens from 0", value)
    return value
