"""Ollama's API: /api/chat, /api/generate, /api/show, /api/tags, /api/version."""

import asyncio
import json
from typing import Any

from aiohttp import web

from tests.servers.answering import Form, answer, misbehave, read
from tests.servers.script import Answer, Fault, Script, Seen, echoed

CREATED = "2026-01-02T03:04:05.678901234Z"


def build(script: Script) -> web.Application:
    """Return the application that follows the script."""

    async def chat(request: web.Request) -> web.StreamResponse:
        seen = await read(request)
        form = GENERATED if request.path == "/api/generate" else CHATTED
        if refused := check(script, seen):
            script.requests.append(seen)
            return web.json_response(error(refused, seen.headers), status=refused.status)
        if seen.body.get("stream", True):
            return await stream(request, script, seen, form)
        return await answer(request, script, seen, form)

    async def show(request: web.Request) -> web.StreamResponse:
        seen = await read(request)
        script.lookups.append(seen)
        name = str(seen.body.get("model") or seen.body.get("name") or "")
        if not name:
            return web.json_response({"error": "model is required"}, status=400)
        if script.models and full(name) not in script.models:
            return web.json_response({"error": f"model '{name}' not found"}, status=404)
        details = {"format": "gguf", "family": "llama", "parameter_size": "134.52M", "quantization_level": "Q4_1"}
        return web.json_response(
            {"modelfile": "", "details": details, "model_info": script.details, "capabilities": ["completion"]}
        )

    async def tags(request: web.Request) -> web.StreamResponse:
        script.lookups.append(await read(request))
        models = [
            {"name": name, "model": name, "modified_at": CREATED, "size": 1, "digest": digest, "details": {}}
            for name, digest in script.models.items()
        ]
        return web.json_response({"models": models})

    async def version(request: web.Request) -> web.StreamResponse:
        script.lookups.append(await read(request))
        return web.json_response({"version": script.version})

    async def root(_request: web.Request) -> web.StreamResponse:
        return web.Response(text="Ollama is running")

    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_post("/api/chat", chat)
    app.router.add_post("/api/generate", chat)
    app.router.add_post("/api/show", show)
    app.router.add_get("/api/tags", tags)
    app.router.add_get("/api/version", version)
    app.router.add_get("/", root)
    return app


def full(name: str) -> str:
    """Return a name with its tag, as Ollama reads it: `phi3` is `phi3:latest`."""
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"


def check(script: Script, seen: Seen) -> Fault | None:
    """Refuse an unknown model and a format that is no schema, as Ollama words it."""
    name = str(seen.body.get("model") or "")
    if not name:
        return Fault("status", 400, "model is required")
    if script.models and full(name) not in script.models:
        return Fault("status", 404, f"model '{name}' not found")
    form = seen.body.get("format")
    if form is not None and not isinstance(form, dict) and form not in {"", "json"}:
        return Fault("status", 400, f'invalid format: "{form}"; expected "json" or a valid JSON Schema object')
    for param, message in script.refuse.items():
        if param in seen.body or param in seen.body.get("options", {}):
            return Fault("status", 400, message)
    return None


async def stream(request: web.Request, script: Script, seen: Seen, form: Form) -> web.StreamResponse:
    """Send an answer word by word, one JSON object a line."""
    number = len(script.requests)
    script.requests.append(seen)
    spoken = await script.speak(number, seen.body)
    if isinstance(spoken, Fault):
        return await misbehave(request, spoken, seen, form)
    response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
    await response.prepare(request)
    for word in (spoken.text or "").splitlines(keepends=True):
        part = form.good(Answer(word), seen.body) | {"done": False}
        for counted in ("done_reason", "prompt_eval_count", "eval_count", "total_duration"):
            part.pop(counted)
        await response.write(json.dumps(part).encode() + b"\n")
        await asyncio.sleep(0)
    await response.write(json.dumps(form.good(Answer(""), seen.body)).encode() + b"\n")
    return response


def chatted(spoken: Answer, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of /api/chat."""
    message = {"role": "assistant", "content": spoken.text, **spoken.message}
    if spoken.reasoning:
        message["thinking"] = spoken.reasoning
    return {"model": body.get("model"), "message": message, **counts(spoken)}


def generated(spoken: Answer, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of /api/generate."""
    return {"model": body.get("model"), "response": spoken.text, "context": [], **counts(spoken)}


def counts(spoken: Answer) -> dict[str, Any]:
    """Return the fields that end every answer."""
    return {
        "created_at": CREATED,
        "done": True,
        "done_reason": spoken.finish_reason,
        "total_duration": 1_000_000,
        "prompt_eval_count": spoken.tokens_in,
        "eval_count": spoken.tokens_out,
        **spoken.body,
    }


def error(fault: Fault, headers: Any) -> dict[str, Any]:
    """Return an error body."""
    return {"error": echoed(fault, headers)}


CHATTED = Form(chatted, error, {"done": True})
GENERATED = Form(generated, error, {"done": True})
