"""OpenAI's batch endpoint, which others speak too: a file of requests, answered within a day at half the price."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import openai

from data.records import Call, Reply
from tasks.models.openai import OpenAIClient
from tasks.models.protocol import BatchState, CallError

TOKEN = "basic_control"  # noqa: S105 - the name of a field, and no password
"""The field of a batch's metadata that tells whose it is."""
_OPEN = {"validating", "in_progress", "finalizing", "cancelling"}


class OpenAIBatches:
    """The batches of a client's server."""

    def __init__(self, client: OpenAIClient) -> None:
        self._client = client
        self._api = client.api
        self._address: Any = f"/v1{client.form.path}"

    async def submit(self, calls: Mapping[str, Call], token: str) -> str:
        """Upload calls as a file, make a batch of it under a token, and return the batch's id.

        Raises:
            CallError: the server refuses, or cannot be reached.
        """
        lines = "".join(
            f"{json.dumps(self._line(name, call), ensure_ascii=False)}\n" for name, call in calls.items()
        )
        with self._client.told():
            file = await self._api.files.create(file=(f"{token}.jsonl", lines.encode("utf-8")), purpose="batch")
            batch = await self._api.batches.create(
                input_file_id=file.id,
                endpoint=self._address,
                completion_window="24h",
                metadata={TOKEN: token},
            )
        return batch.id

    def _line(self, name: str, call: Call) -> dict[str, Any]:
        return {"custom_id": name, "method": "POST", "url": self._address, "body": self._client.body_of(call)}

    async def find(self, token: str) -> str | None:
        """Return the batch that was made under a token; None where there is none.

        Raises:
            CallError: the server refuses, or cannot be reached.
        """
        with self._client.told():
            async for batch in self._api.batches.list(limit=100):
                if (batch.metadata or {}).get(TOKEN) == token:
                    return batch.id
        return None

    async def look(self, batch_id: str) -> BatchState:
        """Return how a batch stands.

        Raises:
            CallError: the server refuses, cannot be reached, or does not know the batch (`missing`).
        """
        try:
            with self._client.told(passing=(openai.NotFoundError,)):
                batch = await self._api.batches.retrieve(batch_id)
        except openai.NotFoundError:
            raise CallError("missing", f"the server does not know batch {batch_id} any more; run again") from None
        faults = [str(fault.message) for fault in (batch.errors.data or () if batch.errors else ())]
        files = tuple(one for one in (batch.output_file_id, batch.error_file_id) if one)
        counts = batch.request_counts
        return BatchState(
            status=batch.status,
            over=batch.status not in _OPEN,
            files=files,
            seconds=float(max(0, _ended(batch) - batch.created_at)),
            done=counts.completed + counts.failed if counts else 0,
            message="; ".join(faults[:3]),
        )

    async def results(self, state: BatchState) -> AsyncIterator[tuple[str, Reply | CallError]]:
        """Yield what became of each request that a batch's files tell of.

        Raises:
            CallError: a file cannot be had.
        """
        for name in state.files:
            with self._client.told():
                content = await self._api.files.content(name)
            for line in self._lines(content.content):
                yield line

    def _lines(self, content: bytes) -> Iterator[tuple[str, Reply | CallError]]:
        for raw in content.splitlines():
            try:
                line = json.loads(raw)
                name, response, error = str(line["custom_id"]), line.get("response"), line.get("error")
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue  # whose line it is cannot be told: its request is missing, and says so
            try:
                yield name, self._client.read_line(response, error)
            except CallError as refused:
                yield name, refused


def _ended(batch: Any) -> int:
    """Return when a batch ended, as the server says; its beginning where it does not."""
    times = (batch.completed_at, batch.expired_at, batch.cancelled_at, batch.failed_at)
    return next((int(one) for one in times if one), int(batch.created_at))
