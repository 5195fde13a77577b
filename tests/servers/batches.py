"""OpenAI's files and batches on loopback: what is submitted is charged, and answered when told."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

from tests.servers.openai import response
from tests.servers.script import Answer

Became = Literal["answered", "refused", "expired", "missing"]
"""What a batch makes of a request; `missing`: no file tells of it."""


def _all_answered(name: str, body: dict[str, Any]) -> Became:
    del name, body
    return "answered"


@dataclass
class BatchServer:
    """What it was handed, and what becomes of it.

    `ready`: a batch is over as soon as it is looked at; else once `finish` was called, or it was looked at
    `looks_needed` times. `lose_answers`: how many batches are made, and the connection cut before the answer.
    `hold_answer`, `hold_content`: an answer waits as long as they are true. `charged` counts each request taken.
    `refused`: parameter -> message of the 400 that each line with it gets. `unlisted`: so many listings do not show
    the last batch yet. `away`: 404 to every look, in the server's own words (`json`) or a gateway's (`html`);
    `emptied` to every file of results.
    """

    answer: Callable[[dict[str, Any]], str | Mapping[str, Any]]
    becomes: Callable[[str, dict[str, Any]], Became] = _all_answered
    status: str = "completed"
    ready: bool = True
    looks_needed: int = 0
    lose_answers: int = 0
    refuse: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    made: dict[str, dict[str, Any]] = field(default_factory=dict)
    charged: Counter[str] = field(default_factory=Counter)
    direct: int = 0
    looks: int = 0
    served: int = 0
    hold_answer: bool = False
    hold_content: bool = False
    refused: dict[str, str] = field(default_factory=dict)
    unlisted: int = 0
    away: Literal["", "json", "html"] = ""
    emptied: bool = False
    listings: int = 0

    def finish(self) -> None:
        """Bring every batch to its end."""
        self.ready = True

    def lines(self, file_id: str) -> list[dict[str, Any]]:
        """Return the requests of a file."""
        return [json.loads(line) for line in self.files[file_id].splitlines()]

    def build(self) -> web.Application:
        """Return the application."""
        app = web.Application(client_max_size=512 * 2**20)
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{id}/content", self._content)
        app.router.add_post("/v1/batches", self._create)
        app.router.add_get("/v1/batches", self._list)
        app.router.add_get("/v1/batches/{id}", self._look)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        return app

    async def _models(self, request: web.Request) -> web.Response:
        del request
        return web.json_response({"object": "list", "data": []})

    async def _chat(self, request: web.Request) -> web.Response:
        self.direct += 1
        return web.json_response(self._completion(await request.json()))

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        assert form["purpose"] == "batch"
        sent = form["file"]
        assert isinstance(sent, web.FileField)
        name = f"file-{len(self.files)}"
        self.files[name] = sent.file.read()
        size = len(self.files[name])
        told = {
            "id": name,
            "object": "file",
            "bytes": size,
            "created_at": int(time.time()),
            "filename": sent.filename,
        }
        return web.json_response({**told, "purpose": "batch", "status": "processed"})

    async def _create(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        assert body["endpoint"] in {"/v1/chat/completions", "/v1/responses"}
        assert {line["url"] for line in self.lines(body["input_file_id"])} == {body["endpoint"]}
        assert body["completion_window"] == "24h"
        if self.refuse:
            self.refuse -= 1
            return web.json_response({"error": {"message": "no batches today", "code": "busy"}}, status=400)
        name = f"batch-{len(self.made)}"
        self.made[name] = {
            "id": name,
            "object": "batch",
            "endpoint": body["endpoint"],
            "completion_window": "24h",
            "input_file_id": body["input_file_id"],
            "created_at": int(time.time()),
            "metadata": body.get("metadata"),
            "status": "in_progress",
        }
        self.charged.update(line["custom_id"] for line in self.lines(body["input_file_id"]))
        if self.lose_answers:
            self.lose_answers -= 1
            assert request.transport is not None
            request.transport.abort()
        while self.hold_answer:  # noqa: ASYNC110 - set from the test's own thread
            await asyncio.sleep(0.01)
        return web.json_response(self.made[name])

    async def _list(self, request: web.Request) -> web.Response:
        after = request.query.get("after", "")
        names = list(self.made)
        self.listings += not after
        if self.listings <= self.unlisted:
            names = names[:-1]
        rest = names[names.index(after) + 1 :] if after else names
        data = [self.made[name] for name in rest[:2]]
        told = {"object": "list", "data": data, "has_more": len(rest) > len(data)}
        return web.json_response(
            {**told, "first_id": rest[0] if rest else None, "last_id": data[-1]["id"] if data else None}
        )

    async def _look(self, request: web.Request) -> web.Response:
        self.looks += 1
        batch = self.made.get(request.match_info["id"])
        if batch is None or self.away == "json":
            return web.json_response({"error": {"message": "no such batch", "code": "not_found"}}, status=404)
        if self.away == "html":
            return web.Response(status=404, text="<html>Not here</html>", content_type="text/html")
        if batch["status"] == "in_progress" and self.ready and self.looks > self.looks_needed:
            self._end(batch)
        return web.json_response(batch)

    def _end(self, batch: dict[str, Any]) -> None:
        """Write the batch's files, the last request first."""
        batch["status"] = self.status
        batch["completed_at"] = batch["created_at"] + 60
        if self.status == "failed":
            batch["errors"] = {"object": "list", "data": [{"message": "the file is too long", "code": "invalid"}]}
            return
        written: dict[str, list[str]] = {"output_file_id": [], "error_file_id": []}
        told: dict[str, Any]
        for line in reversed(self.lines(batch["input_file_id"])):
            became = self.becomes(line["custom_id"], line["body"])
            if param := next((name for name in self.refused if name in line["body"]), ""):
                fault = {"message": self.refused[param], "code": "unsupported_parameter", "param": param}
                told = {"response": {"status_code": 400, "body": {"error": fault}}, "error": None}
                file = "error_file_id"
            elif became == "answered":
                response: dict[str, Any] = {
                    "status_code": 200,
                    "request_id": "r",
                    "body": self._completion(line["body"]),
                }
                told, file = {"response": response, "error": None}, "output_file_id"
            elif became == "refused":
                body = {"error": {"message": "the content is not allowed", "code": "content_filter"}}
                told, file = {"response": {"status_code": 400, "body": body}, "error": None}, "error_file_id"
            elif became == "expired":
                error = {"code": "batch_expired", "message": "This request could not be executed in time."}
                told, file = {"response": None, "error": error}, "error_file_id"
            else:
                continue
            written[file].append(json.dumps({"id": "x", "custom_id": line["custom_id"], **told}))
        for name, listed in written.items():
            if listed:
                batch[name] = f"{batch['id']}-{name}"
                self.files[batch[name]] = "\n".join(listed).encode()

    def _completion(self, body: dict[str, Any]) -> dict[str, Any]:
        if "input" in body:
            return response(Answer(str(self.answer(body))), body)
        spoken = self.answer(body)
        # More than a text: calls of tools.
        fields = spoken if isinstance(spoken, Mapping) else {"content": spoken}
        message = {"role": "assistant", **fields}
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        told = {"id": "c", "object": "chat.completion", "created": 0, "model": body["model"]}
        return {**told, "choices": [choice], "usage": usage}

    async def _content(self, request: web.Request) -> web.Response:
        self.served += 1
        if self.emptied:
            return web.json_response({"error": {"message": "No such File object", "code": None}}, status=404)
        while self.hold_content:  # noqa: ASYNC110 - set from the test's own thread
            await asyncio.sleep(0.01)
        return web.Response(body=self.files[request.match_info["id"]])
