"""How an answer or a fault becomes bytes on the wire, the same for every protocol."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.servers.script import Answer, Fault, Script, Seen


@dataclass(frozen=True, slots=True)
class Form:
    """How a protocol writes a good body, an error's, and one with nothing in it."""

    good: Callable[[Answer, dict[str, Any]], Any]
    bad: Callable[[Fault, Any], Any]
    empty: Any


async def read(request: web.Request) -> Seen:
    """Return the request as seen; a body that is not a JSON object reads as an empty one."""
    raw = await request.read()
    try:
        body = json.loads(raw) if raw else {}
    except ValueError:
        body = {}
    return Seen(request.path, body if isinstance(body, dict) else {}, dict(request.headers), request.query_string)


async def answer(request: web.Request, script: Script, seen: Seen, form: Form) -> web.StreamResponse:
    """Count the request, ask the script, and send what it says."""
    number = len(script.requests)
    script.requests.append(seen)
    script.in_flight += 1
    script.peak = max(script.peak, script.in_flight)
    try:
        spoken = await script.speak(number, seen.body)
        if isinstance(spoken, Answer):
            return web.json_response(form.good(spoken, seen.body))
        return await misbehave(request, spoken, seen, form)
    finally:
        script.in_flight -= 1


async def misbehave(request: web.Request, fault: Fault, seen: Seen, form: Form) -> web.StreamResponse:
    """Send a fault, or spoil a good body."""
    if fault.kind == "status":
        if fault.raw is not None:
            return web.Response(status=fault.status, text=fault.raw, headers=fault.headers)
        return web.json_response(form.bad(fault, seen.headers), status=fault.status, headers=fault.headers)
    if fault.kind == "hang":
        await asyncio.Event().wait()
    if fault.kind == "empty":
        return web.json_response(form.empty)
    body = json.dumps(form.good(Answer("a good answer"), seen.body)).encode()
    if fault.kind == "broken_json":
        return web.Response(body=body[: len(body) // 2], content_type="application/json")
    return await drip(request, fault, body)


async def drip(request: web.Request, fault: Fault, body: bytes) -> web.StreamResponse:
    """Send a body piece by piece, half of it, or none."""
    assert request.transport is not None
    if fault.kind == "reset":
        request.transport.abort()
        return web.Response()
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(body))})
    await response.prepare(request)
    if fault.kind == "cut":
        await response.write(body[: len(body) // 2])
        request.transport.close()
        return response
    size = -(-len(body) // fault.pieces)
    for start in range(0, len(body), size):
        await response.write(body[start : start + size])
        await asyncio.sleep(fault.pause_s)
    return response
