"""A script that lets a real model speak: what a server is asked goes on to the embedded model."""

from typing import Any

from basic_control.config.settings import Model
from basic_control.data.records import Call, Message
from basic_control.tasks.models import open_client
from basic_control.tasks.models.protocol import CallError
from tests.servers.script import Answer, Fault

# One thread: two that wait for each other crawl on a busy machine.
MODEL = Model(name="smollm2", provider="embedded", threads=1)
NAMES = {"num_predict": "max_tokens"}
TAKEN = ("temperature", "seed", "max_tokens", "num_predict", "top_p", "top_k", "stop")


async def embedded(body: dict[str, Any]) -> Answer | Fault:
    """Answer as the bundled model does, to Ollama's form or OpenAI's; its refusals become the server's."""
    options = body.get("options", body)
    form = body.get("format") or body.get("response_format", {}).get("json_schema", {}).get("schema")
    call = Call(
        messages=tuple(Message(m["role"], m["content"]) for m in body["messages"]),
        parameters={NAMES.get(name, name): options[name] for name in TAKEN if name in options},
        schema=form if isinstance(form, dict) else None,
    )
    client = open_client(MODEL)  # the weights stay loaded from call to call, and the loop is the server's
    try:
        reply = await client.ask(call)
    except CallError as error:
        return Fault("status", 400 if error.kind == "invalid" else 500, error.message)
    finally:
        await client.close()
    return Answer(reply.text, "", reply.finish_reason, reply.tokens_in or 0, reply.tokens_out or 0)
