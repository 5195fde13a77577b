"""Recorded replies, from a Parquet or JSONL file, in place of a model."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from basic_control.config.settings import Model
from basic_control.data.errors import InputError
from basic_control.data.files import read_file_rows as read_rows
from basic_control.data.records import Call, Reply
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.replies import read_reply

_KEYS = ("item_id", "prompt")
_TEXTS = ("response", "llm_response", "text")
_MODELS = ("model", "model_name")
_EXPECTED = (
    "`item_id` or `prompt`, and `response` (or `llm_response`, or `text`); `model`, `repeat`, `reasoning`, "
    "`finish_reason`, `tokens_in` and `tokens_out` are optional"
)


class ReplayClient:
    """Replies looked up by prompt (the last user message), else by item.

    A `model` column selects this model's rows. The n-th row of a prompt or an item answers repeat n, unless a
    `repeat` column says which it answers. An item with several prompts is never looked up by item: a judge is asked
    several questions about one, so its replies are distinguished by prompt alone.

    Raises:
        InputError: the file does not exist, cannot be read, lacks a column, or has no rows of this model.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._path = Path(model.file).expanduser()
        self._prompts = defaultdict[str, dict[int, Reply]](dict)
        self._items = defaultdict[str, dict[int, Reply]](dict)
        asked = defaultdict[str, set[str]](set)
        for row in self._mine(_rows(self._path, f"model {model.name!r}: replay file {model.file}")):
            reply, prompt, item = _reply(row), row.get("prompt"), row.get("item_id")
            groups = []
            if prompt is not None:
                groups.append(self._prompts[_folded(str(prompt))])
            if item is not None:
                groups.append(self._items[str(item)])
                asked[str(item)].add(str(prompt))
            for group in groups:  # the first of two rows for one repeat counts
                group.setdefault(len(group) if row.get("repeat") is None else int(row["repeat"]), reply)
        for item, prompts in asked.items():
            if len(prompts) > 1:
                del self._items[item]

    async def identity(self) -> Mapping[str, str]:
        """Return the provider, the model and the digest of the file."""
        with self._path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"provider": "replay", "model": self._model.served, "digest": digest}

    async def ask(self, call: Call) -> Reply:
        """Look the reply up.

        Raises:
            CallError: the file does not contain it.
        """
        prompt = next((m.content for m in reversed(call.messages) if m.role == "user"), "")
        recorded = self._prompts.get(_folded(prompt)) or self._items.get(call.item_id, {})
        if reply := recorded.get(call.repeat):
            return reply
        repeats = ", ".join(map(str, sorted(recorded)))
        held = f"only repeats {repeats}" if recorded else "neither its prompt nor its item is there"
        asked = f"item {call.item_id!r}, repeat {call.repeat}"
        raise CallError(
            "missing", f"{self._model.file} has no reply to {asked} ({held}); record it, or leave it out"
        )

    async def close(self) -> None:
        """Do nothing: the file is read at the start."""

    def _mine(self, rows: list[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
        """Return this model's rows that contain a reply."""
        column = next((name for name in _MODELS if any(row.get(name) is not None for row in rows)), "")
        names = {str(row.get(column)) for row in rows} if column else set()
        wanted = {self._model.served, self._model.name}
        if column and not wanted & names:
            raise InputError(
                f"model {self._model.name!r}: replay file {self._model.file} contains replies of "
                f"{', '.join(sorted(names))} (column `{column}`), expected {self._model.served!r}; set `model` to "
                "one of those"
            )
        return (row for row in rows if (not column or row.get(column) in wanted) and _text(row) is not None)


def _folded(prompt: str) -> str:
    """Return a prompt normalized for line endings and surrounding whitespace."""
    return prompt.replace("\r\n", "\n").strip()


def _text(row: Mapping[str, Any]) -> Any:
    return next((row[name] for name in _TEXTS if row.get(name) is not None), None)


def _reply(row: Mapping[str, Any]) -> Reply:
    tokens_in, tokens_out = (
        None if row.get(name) is None else int(row[name]) for name in ("tokens_in", "tokens_out")
    )
    finish, reasoning = str(row.get("finish_reason") or "stop"), str(row.get("reasoning") or "")
    return read_reply(str(_text(row)), reasoning, finish_reason=finish, tokens_in=tokens_in, tokens_out=tokens_out)


def _rows(path: Path, where: str) -> list[Mapping[str, Any]]:
    """Read the file's rows, and check that they have prompts or items, and replies."""
    try:
        rows = [*read_rows(path)]
    except InputError as error:
        raise InputError(f"{where}: {error} Expected a Parquet or JSONL file of replies.") from None
    found = sorted({name for row in rows for name in row})
    if not any(name in found for name in _KEYS) or not any(name in found for name in _TEXTS):
        raise InputError(f"{where}: found columns {', '.join(found) or 'none'}, expected {_EXPECTED}")
    for number, row in enumerate(rows, 1):
        for name in ("repeat", "tokens_in", "tokens_out"):
            if row.get(name) is not None and not _is_count(row[name]):
                raise InputError(
                    f"{where}, row {number}: found {name} {row[name]!r}, expected a whole number from 0"
                )
    return rows


def _is_count(value: object) -> bool:
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 and float(value).is_integer()
    )
