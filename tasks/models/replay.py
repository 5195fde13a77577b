"""Recorded replies, from a Parquet or JSONL file, in place of a model."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from basic_control.config.settings import Model
from basic_control.data.errors import InputError
from basic_control.data.files import read_file_rows
from basic_control.data.records import Call, Reply
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.replies import read_reply, read_token_count

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
        prompts_of_items = defaultdict[str, set[str]](set)
        for row in self._select_rows(_read_rows(self._path, f"model {model.name!r}: replay file {model.file}")):
            reply, prompt, item = _read_row(row), row.get("prompt"), row.get("item_id")
            groups = []
            if prompt is not None:
                groups.append(self._prompts[_normalize(str(prompt))])
            if item is not None:
                groups.append(self._items[str(item)])
                prompts_of_items[str(item)].add(str(prompt))
            for group in groups:
                repeat = read_token_count(row.get("repeat"))
                if repeat is None:
                    repeat = len(group)
                # The first of two rows for one repeat counts.
                group.setdefault(repeat, reply)
        for item, prompts in prompts_of_items.items():
            if len(prompts) > 1:
                del self._items[item]

    async def identity(self) -> Mapping[str, str]:
        """Return the provider, the model and the digest of the file."""
        with self._path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"provider": "replay", "model": self._model.server_name, "digest": digest}

    async def ask(self, call: Call) -> Reply:
        """Look the reply up.

        Raises:
            CallError: the file does not contain it.
        """
        prompt = next((message.content for message in reversed(call.messages) if message.role == "user"), "")
        recorded = self._prompts.get(_normalize(prompt)) or self._items.get(call.item_id, {})
        reply = recorded.get(call.repeat)
        if reply:
            return reply
        cause = "neither its prompt nor its item is there"
        if recorded:
            cause = f"only repeats {', '.join(map(str, sorted(recorded)))}"
        raise CallError(
            "missing",
            f"{self._model.file} has no reply to item {call.item_id!r}, repeat {call.repeat} ({cause}); record it, "
            "or leave it out",
        )

    async def close(self) -> None:
        """Do nothing: the file is read at the start."""

    def _select_rows(self, rows: list[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
        """Return this model's rows that contain a reply."""
        rows_with_reply = [row for row in rows if _find_text(row) is not None]
        # The first column that says anything: a file may have one of them without values.
        for column in _MODELS:
            if all(row.get(column) is None for row in rows):
                continue
            expected = {self._model.server_name, self._model.name}
            names = {str(row.get(column)) for row in rows}
            if not expected & names:
                raise InputError(
                    f"model {self._model.name!r}: replay file {self._model.file} contains replies of "
                    f"{', '.join(sorted(names))} (column `{column}`), expected {self._model.server_name!r}; set "
                    "`model` to one of those"
                )
            return [row for row in rows_with_reply if row.get(column) in expected]
        return rows_with_reply


def _normalize(prompt: str) -> str:
    """Return a prompt normalized for line endings and surrounding whitespace."""
    return prompt.replace("\r\n", "\n").strip()


def _find_text(row: Mapping[str, Any]) -> Any:
    return next((row[name] for name in _TEXTS if row.get(name) is not None), None)


def _read_row(row: Mapping[str, Any]) -> Reply:
    return read_reply(
        str(_find_text(row)),
        str(row.get("reasoning") or ""),
        finish_reason=str(row.get("finish_reason") or "stop"),
        tokens_in=read_token_count(row.get("tokens_in")),
        tokens_out=read_token_count(row.get("tokens_out")),
    )


def _read_rows(path: Path, where: str) -> list[Mapping[str, Any]]:
    """Read the file's rows, and check that they have prompts or items, and replies."""
    try:
        rows = [*read_file_rows(path)]
    except InputError as error:
        raise InputError(f"{where}: {error} Expected a Parquet or JSONL file of replies.") from None
    columns = set[str]().union(*rows)
    if columns.isdisjoint(_KEYS) or columns.isdisjoint(_TEXTS):
        raise InputError(f"{where}: found columns {', '.join(sorted(columns)) or 'none'}, expected {_EXPECTED}")
    for number, row in enumerate(rows, 1):
        for name in ("repeat", "tokens_in", "tokens_out"):
            if row.get(name) is not None and read_token_count(row[name]) is None:
                raise InputError(
                    f"{where}, row {number}: found {name} {row[name]!r}, expected a whole number from 0"
                )
    return rows
