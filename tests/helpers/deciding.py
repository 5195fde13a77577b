"""A run whose judge decides: its configuration and rows."""

import json
from pathlib import Path
from typing import Any

import yaml

N = 12


def configure(folder: Path, url: str, api: str, **changes: Any) -> Path:
    rows = [
        {"question": f"Question {n}?", "response": f"Reply {n}.", "retrieved_contexts": [f"Text {n}."]}
        for n in range(N)
    ]
    rows[0]["response"] = "Decline this."
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judge = {"name": "small", "provider": "openai", "base_url": f"{url}/v1", "api": api, "deadline_s": 20}
    suite = {
        "name": "support",
        "threshold": 0.5,
        "items": {"data": str(folder / "rows.jsonl")},
        "responses_of": "bot",
        "metrics": {
            "rubric": {"criteria": {"polite": "It is polite.", "short": "It is short."}},
            "response_groundedness": {},
        },
    }
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump({"judges": [judge], "suites": [{**suite, **changes}]}), encoding="utf-8")
    return path
