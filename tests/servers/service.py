"""An application of somebody's own behind HTTP: it keeps what it was sent, and answers as it is told."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Answering = Callable[[int, web.Request, Any], Any]
"""(the request's number, the request, its decoded body) -> a response, or what is sent as JSON."""


@dataclass(slots=True)
class Service:
    """A service at any path; `seen` are the requests: method, path with query, headers, body."""

    answering: Answering
    seen: list[tuple[str, str, dict[str, str], Any]] = field(default_factory=list)

    def build(self) -> web.Application:
        """Return the application."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        return app

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        try:
            body = json.loads(text)
        except ValueError:
            body = text
        self.seen.append((request.method, request.path_qs, dict(request.headers), body))
        answer = self.answering(len(self.seen) - 1, request, body)
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)
