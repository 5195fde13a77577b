"""OpenAI's chat completions and responses, and Azure's paths to them."""

import time
from typing import Any

from aiohttp import web
from openai.types.responses.response_create_params import ResponseCreateParamsBase

from tests.servers.answering import Form, answer, read
from tests.servers.script import Answer, Fault, Script, Seen, echoed

RESPONSE_PARAMETERS = {*ResponseCreateParamsBase.__annotations__, "stream"}
KINDS = {401: "authentication_error", 404: "invalid_request_error", 429: "rate_limit_error"}


def build(script: Script) -> web.Application:
    """Return the application that follows the script."""

    async def chat(request: web.Request) -> web.StreamResponse:
        seen = await read(request)
        if refused := check(script, seen, request.match_info.get("deployment", "")):
            script.requests.append(seen)
            return web.json_response(error(refused, seen.headers), status=refused.status)
        return await answer(request, script, seen, FORM)

    async def responses(request: web.Request) -> web.StreamResponse:
        seen = await read(request)
        if refused := check(script, seen, "") or check_response(seen):
            script.requests.append(seen)
            return web.json_response(error(refused, seen.headers), status=refused.status)
        return await answer(request, script, seen, RESPONSES)

    async def models(request: web.Request) -> web.StreamResponse:
        seen = await read(request)
        script.lookups.append(seen)
        if not authorised(script, seen):
            refused = Fault("status", 401, "Incorrect API key provided:", "invalid_api_key", echo=True)
            return web.json_response(error(refused, seen.headers), status=401)
        data = [{"id": name, "object": "model", "owned_by": "tests"} for name in script.models]
        return web.json_response({"object": "list", "data": data})

    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_post("/openai/deployments/{deployment}/chat/completions", chat)
    app.router.add_post("/v1/responses", responses)
    app.router.add_post("/openai/responses", responses)
    app.router.add_get("/v1/models", models)
    return app


def authorised(script: Script, seen: Seen) -> bool:
    """Say whether the request carries the script's key, in OpenAI's header or Azure's."""
    headers = {k.lower(): v for k, v in seen.headers.items()}
    given = headers.get("authorization", "").removeprefix("Bearer "), headers.get("api-key", "")
    return not script.key or script.key in given


def check(script: Script, seen: Seen, deployment: str) -> Fault | None:
    """Refuse a wrong key, an unknown model and a refused parameter, as OpenAI words it."""
    if not authorised(script, seen):
        return Fault("status", 401, "Incorrect API key provided:", "invalid_api_key", echo=True)
    model = deployment or str(seen.body.get("model"))
    if script.models and model not in script.models:
        return Fault("status", 404, f"The model `{model}` does not exist", "model_not_found")
    for param, message in script.refuse.items():
        if param in seen.body:
            return Fault("status", 400, message, "unsupported_parameter", param)
    return None


def check_response(seen: Seen) -> Fault | None:
    """Refuse a parameter that responses do not have, as OpenAI words it."""
    for name in seen.body:
        if name not in RESPONSE_PARAMETERS:
            return Fault("status", 400, f"Unknown parameter: '{name}'.", "unknown_parameter", name)
    return None


def completion(spoken: Answer, body: dict[str, Any]) -> dict[str, Any]:
    """Return a chat completion."""
    message = {"role": "assistant", "content": spoken.text, **spoken.message}
    if spoken.reasoning:
        message["reasoning_content"] = spoken.reasoning
    apart = {
        **({"completion_tokens_details": {"reasoning_tokens": spoken.thinking}} if spoken.thinking else {}),
        **({"prompt_tokens_details": {"cached_tokens": spoken.cached}} if spoken.cached else {}),
    }
    return {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": spoken.finish_reason}],
        "usage": {
            "prompt_tokens": spoken.tokens_in,
            "completion_tokens": spoken.tokens_out,
            "total_tokens": spoken.tokens_in + spoken.tokens_out,
            **apart,
        },
        **spoken.body,
    }


def response(spoken: Answer, body: dict[str, Any]) -> dict[str, Any]:
    """Return a response: its reasoning, then its message; not complete for any reason but `stop`."""
    output: list[dict[str, Any]] = []
    if spoken.reasoning:
        summary = [{"type": "summary_text", "text": spoken.reasoning}]
        output.append({"type": "reasoning", "id": "rs_test", "summary": summary})
    if spoken.text is not None or spoken.message:
        part: dict[str, Any] = {"type": "output_text", "text": spoken.text, "annotations": []}
        content = [{"type": "refusal", **spoken.message} if spoken.message else part]
        message = {"type": "message", "id": "msg_test", "role": "assistant", "status": "completed"}
        output.append({**message, "content": content})
    whole = spoken.finish_reason == "stop"
    return {
        "id": "resp_test",
        "object": "response",
        "created_at": int(time.time()),
        "model": body.get("model"),
        "status": "completed" if whole else "incomplete",
        "incomplete_details": None if whole else {"reason": spoken.finish_reason},
        "error": None,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": spoken.tokens_in,
            "input_tokens_details": {"cached_tokens": spoken.cached, "cache_write_tokens": 0},
            "output_tokens": spoken.tokens_out,
            "output_tokens_details": {"reasoning_tokens": spoken.thinking},
            "total_tokens": spoken.tokens_in + spoken.tokens_out,
        },
        **spoken.body,
    }


def error(fault: Fault, headers: Any) -> dict[str, Any]:
    """Return an error body."""
    return {
        "error": {
            "message": echoed(fault, headers),
            "type": KINDS.get(fault.status, "server_error"),
            "param": fault.param or None,
            "code": fault.code or None,
        }
    }


FORM = Form(completion, error, {"object": "chat.completion", "choices": []})
RESPONSES = Form(response, error, {"object": "response", "status": "completed"})
