"""OpenAI's batch endpoint, also offered by others: a file of requests, answered within a day at half the price."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from basic_control.data.records import Call, Reply
from basic_control.tasks.models.openai import OpenAIClient
from basic_control.tasks.models.protocol import BatchState, CallError
from basic_control.tasks.models.server_errors import Refusal

TOKEN = "basic_control"  # noqa: S105 - the name of a field, and no password
"""The field of a batch's metadata that identifies its submission."""
_OPEN = {"validating", "in_progress", "finalizing", "cancelling"}


class OpenAIBatches:
    """The batches of a client's server; requests are written in the form the client has `learned`.

    All methods raise CallError if the server refuses or cannot be reached; `missing` if it does not know a batch.
    """

    def __init__(self, client: OpenAIClient) -> None:
        self.client = client
        self.dialect = client.dialect
        self._address: Any = f"/v1{client.dialect.form.path}"

    async def upload(self, calls: Mapping[str, Call], token: str) -> str:
        """Upload calls as a file; return its id."""
        lines = []
        for name, call in calls.items():
            body = self.dialect.body_of(call)
            line = {"custom_id": name, "method": "POST", "url": self._address, "body": body}
            lines.append(json.dumps(line, ensure_ascii=False) + "\n")
        with self.client.raise_call_errors():
            file = await self.client.api.files.create(
                file=(f"{token}.jsonl", "".join(lines).encode()), purpose="batch"
            )
        return file.id

    async def create(self, file: str, token: str) -> str:
        """Create a batch of a file under a token; return its id. After a connection error it may exist."""
        with self.client.raise_call_errors():
            batch = await self.client.api.batches.create(
                input_file_id=file, endpoint=self._address, completion_window="24h", metadata={TOKEN: token}
            )
        return batch.id

    async def find(self, token: str) -> str | None:
        """Return the batch created under a token; None if the server lists none."""
        try:
            with self._tell_missing("the list of batches"):
                async for batch in self.client.api.batches.list(limit=100):
                    if (batch.metadata or {}).get(TOKEN) == token:
                        return batch.id
        except CallError as error:
            if error.kind != "missing":
                raise
        return None

    async def look(self, batch_id: str) -> BatchState:
        """Return the state of a batch."""
        with self._tell_missing(f"batch {batch_id}"):
            batch = await self.client.api.batches.retrieve(batch_id)
        faults = tuple(fault.model_dump() for fault in (batch.errors.data or () if batch.errors else ()))
        counts = batch.request_counts
        # Of the four times the one at which it ended, if it has.
        ended = batch.completed_at or batch.expired_at or batch.cancelled_at or batch.failed_at or batch.created_at
        return BatchState(
            status=batch.status,
            over=batch.status not in _OPEN,
            files=tuple(filter(None, (batch.output_file_id, batch.error_file_id))),
            seconds=float(max(0, ended - batch.created_at)),
            done=counts.completed + counts.failed if counts else 0,
            message="; ".join(str(fault.get("message")) for fault in faults[:3]),
            faults=faults,
        )

    @contextmanager
    def _tell_missing(self, what: str) -> Iterator[None]:
        """Distinguish the server's own "not found" from a 404 sent by something in its place.

        Raises:
            CallError: any error inside; `missing` if the server itself does not know the object.
        """
        try:
            with self.client.raise_call_errors():
                yield
        except Refusal as refusal:
            if refusal.status != HTTPStatus.NOT_FOUND:
                raise
            # A page of a gateway, or of a server that is starting up, knows nothing of batches.
            if not refusal.body.lstrip().startswith("{"):
                raise CallError("server", f"HTTP 404 for {what}, but not from the API itself") from None
            raise CallError("missing", f"the server no longer has {what}") from None

    async def results(
        self, state: BatchState, calls: Mapping[str, Call], form: str
    ) -> AsyncIterator[tuple[str, Reply | CallError]]:
        """Yield the outcome of each request in a batch's files, and learn from refusals of `calls`.

        `form` is what the dialect had learned when the batch was submitted.

        Raises:
            CallError: a file cannot be read; `missing`: it, or all of them, are gone.
        """
        # A whole file is refused for what all of its calls have.
        if calls:
            call = next(iter(calls.values()))
            for fault in state.faults:
                self._heed({"error": fault}, call, form)
        if state.done and not state.files:
            raise CallError("missing", "the server kept none of the batch's files")
        for name in state.files:
            with self._tell_missing(f"file {name} of the batch"):
                content = await self.client.api.files.content(name)
            for outcome in self._read_lines(content.content, calls, form):
                yield outcome

    def _read_lines(
        self, content: bytes, calls: Mapping[str, Call], form: str
    ) -> Iterator[tuple[str, Reply | CallError]]:
        for raw in content.splitlines():
            try:
                line = json.loads(raw)
                request_id, response, error = str(line["custom_id"]), line.get("response"), line.get("error")
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue  # the line's request is unknown; that request is reported as missing
            try:
                yield request_id, self.dialect.read_line(response, error)
            except CallError as refusal:
                error = None
                if refusal.kind == "invalid" and request_id in calls and isinstance(response, dict):
                    error = self._heed(response.get("body"), calls[request_id], form)
                yield request_id, error or refusal

    def _heed(self, refusal: Any, call: Call, form: str) -> CallError | None:
        """Learn one thing from a refusal; return the error if it concerns a parameter set by the configuration."""
        if self.dialect.lessons == form:  # later lines of the same batch refer to the old form
            try:
                self.dialect.heed(refusal, call)
            except CallError as error:
                return error
        return None
