"""The screens of the first commands, without what differs from run to run, and what SmolLM2 replied in them."""

import json
import os
import re
from typing import Any

import polars as pl

from tests.conftest import TOP
from tests.servers.running import Server
from tests.servers.script import Answer

SCREENS = TOP / "tests" / "fixtures" / "screens"
PIPE = {"COLUMNS": ""}
"""The environment of a build's log, where nobody says how wide a line is."""
REPLIES = TOP / "tests" / "fixtures" / "recorded" / "first_runs.parquet"
"""The embedded model's replies to the prompts of `make eval` and of what `init` writes, of November 2026."""


def settle(screen: str) -> str:
    """Return a screen without times, and without the names of runs and folders."""
    text = re.sub(r"Time: [^.]*\.", "Time: …", screen)
    text = re.sub(r"(?<=: )\S*runs/(?=\d{8}_\d{6})", "artifacts/runs/", text)
    return re.sub(r"\d{8}_\d{6}(?:_\d+)?", "RUN", text)


def expect(name: str, screen: str) -> str:
    """Return a screen as it was read by eye; with WRITE_SCREENS in the environment, write it, to be read."""
    path = SCREENS / f"{name}.txt"
    if "WRITE_SCREENS" in os.environ:
        path.write_text(settle(screen), encoding="utf-8")
    return path.read_text(encoding="utf-8")


def speak() -> dict[str, Answer]:
    """Return what the embedded model replied to each prompt."""
    return {
        row["prompt"]: Answer(
            row["text"],
            finish_reason=row["finish_reason"],
            tokens_in=row["tokens_in"],
            tokens_out=row["tokens_out"],
        )
        for row in pl.read_parquet(REPLIES).iter_rows(named=True)
    }


def replace_model(server: Server, **keys: Any) -> str:
    """Return a --set value that puts a server in place of the embedded model."""
    model = {"name": "smollm2-135m", "provider": "openai", "base_url": server.base_url, **keys}
    return f"models=[{json.dumps(model)}]"
