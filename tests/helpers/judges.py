"""A judge at a server: its configuration, and what it is asked."""

import json
from collections.abc import Mapping
from typing import Any

from tests.servers.running import Server

CLAIMS = json.dumps({"claims": ["Anna wrote the book.", "The book has ten chapters."]})


def kind(body: Mapping[str, Any]) -> str:
    schema = json.dumps(body.get("response_format", {}))
    return "rating" if '"rating"' in schema else "verdicts" if '"verdicts"' in schema else "claims"


def judged_by(server: Server, **changes: Any) -> str:
    judge = {"name": "judge", "provider": "openai", "base_url": server.base_url, "deadline_s": 20, **changes}
    return f"judges=[{json.dumps(judge)}]"
