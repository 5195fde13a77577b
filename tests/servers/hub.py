"""A hub of model files as Hugging Face's: `/owner/repo/resolve/main/file` redirects to where the bytes are."""

import hashlib
from dataclasses import dataclass, field

from aiohttp import web


@dataclass(slots=True)
class Hub:
    """The files by `owner/repo/revision/file`, and how the hub behaves.

    `cut_after`: the bytes after which each of the first transfers breaks. `ranges`: resumes where asked to.
    `token`: the only one let in. `tag`: told as the content's SHA-256 in its place. `size`: told as its size in
    its place. `endless`: bytes without end go out with a redirect and after a file. `packed`: files are said to be.
    """

    files: dict[str, bytes]
    cut_after: list[int] = field(default_factory=list)
    ranges: bool = True
    token: str = ""
    tag: str = ""
    size: str = ""
    endless: bool = False
    packed: bool = False
    sent: int = 0
    seen: list[tuple[str, str, str, str]] = field(default_factory=list)

    def build(self) -> web.Application:
        """Return the hub's application."""
        app = web.Application()
        app.router.add_get("/{owner}/{repo}/resolve/{revision}/{file:.+}", self._resolve)
        app.router.add_get("/bytes/{name:.+}", self._send)
        return app

    def _note(self, request: web.Request) -> None:
        headers = request.headers
        self.seen.append((request.method, request.path, headers.get("Range", ""), headers.get("Authorization", "")))

    async def _resolve(self, request: web.Request) -> web.StreamResponse:
        self._note(request)
        name = "{owner}/{repo}/{revision}/{file}".format(**request.match_info)
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.Response(status=401, text="Access to this repository is restricted")
        if name not in self.files:
            return web.Response(status=404, text="Entry not found")
        content = self.files[name]
        headers = {
            "Location": f"/bytes/{name}",
            "X-Linked-ETag": f'"{self.tag or hashlib.sha256(content).hexdigest()}"',
            "X-Linked-Size": self.size or str(len(content)),
        }
        if self.endless and request.method == "GET":
            return await self._flood(request, web.StreamResponse(status=302, headers=headers))
        return web.Response(status=302, headers=headers)

    async def _send(self, request: web.Request) -> web.StreamResponse:
        self._note(request)
        content = self.files[request.match_info["name"]]
        start, status, headers = 0, 200, {"ETag": '"of-the-bytes"'}
        if self.ranges and (asked := request.headers.get("Range")):
            start, status = int(asked.removeprefix("bytes=").rstrip("-")), 206
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        if not self.endless:
            headers["Content-Length"] = str(len(content) - start)
        if self.packed:
            headers["Content-Encoding"] = "gzip"
        response = web.StreamResponse(status=status, headers=headers)
        await response.prepare(request)
        if request.method == "HEAD":
            return response
        if self.cut_after:
            await response.write(content[start : start + self.cut_after.pop(0)])
            assert request.transport is not None
            request.transport.close()
            return response
        await response.write(content[start:])
        return await self._flood(request, response) if self.endless else response

    async def _flood(self, request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
        if not response.prepared:
            await response.prepare(request)
        while True:
            try:
                await response.write(bytes(100_000))
            except ConnectionError:
                return response
            self.sent += 100_000
