"""Runs of the street: a model's configuration, and what a run left."""

import json
from pathlib import Path
from typing import Any

from tests.servers.running import Server

TWO = "basic_control.families=[simple_logic,arithmetic]"

SEED = """\
models_to_test:
  - llama3:8b
  - phi3
  - janhq/Jan-v1-4B-GGUF

tests_to_run:
  - t01_simple_logic
  - t02_instructions
  - t03_code_gen
  - t04_data_extraction
  - t05_summarization
  - t06_mathematics

runs_per_test: 10 # how often
"""


def at(server: Server, **changes: Any) -> str:
    """Return a --set value that names one model at a server."""
    model = {"name": "acme/tiny:1b", "provider": "openai", "base_url": server.base_url, **changes}
    return f"models=[{json.dumps(model)}]"


def latest(tmp_path: Path) -> Path:
    return max((tmp_path / "runs").iterdir())


def results(folder: Path) -> list[dict[str, Any]]:
    """Return what a run decided, without what is only true of one run."""
    listed = []
    for path in sorted((folder / "raw").glob("*.json")):
        for row in json.loads(path.read_text(encoding="utf-8")):
            gone = {"test_id", "cached", "execution_time_ms"}
            listed.append({key: value for key, value in row.items() if key not in gone})
    return listed
