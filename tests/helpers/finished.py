"""Finished runs as they lie in a folder, with the tables that a comparison reads; nothing is asked for them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.data.questions import identify_question
from basic_control.data.records import Item
from basic_control.data.tables import ITEMS, REQUESTS, RESPONSES, SCORES
from basic_control.tasks.store import manifest as manifests
from basic_control.tasks.store.tables import Store
from tests.tasks.scored import rows

HOSTILE = "<script>alert('x')</script>\x1b[31m\u202e[a](javascript:b) ```\n# not a heading"


def finished(
    tmp_path: Path,
    name: str,
    models: Sequence[str] = ("m",),
    right: Callable[[str, int], float] = lambda _, n: float(n % 2),
    **changes: Any,
) -> Path:
    """Write a finished run's folder and tables, as a run leaves them."""
    store = Store(str(tmp_path / "store"))
    scores, items = rows(list(models), right=right)
    if seed := changes.get("seed"):
        items, scores = ((f.with_columns(item_id=f"{seed}" + f["item_id"])) for f in (items, scores))
        items = items.with_columns(prompt=items["prompt"] + f" Drawn from {seed}.")
    asked = [
        identify_question(Item(prompt, answer, {}))
        for prompt, answer in items.select("prompt", "answer").iter_rows()
    ]
    items = items.drop(ITEMS.added).hstack(pl.DataFrame(asked, dict.fromkeys(ITEMS.added, pl.String), orient="row"))
    requests = REQUESTS.frame(
        {"request_id": f"{name}{model}{i}", "item_id": i, "model": model, "step": "answer", "key": "", "repeat": 0,
         "payload": "{}"}
        for model in models for i in items["item_id"]
    )  # fmt: skip
    responses = RESPONSES.frame(
        {"request_id": f"{name}{model}{i}", "text": f"{HOSTILE} of {name}", "cached": False}
        for model in models for i in items["item_id"]
    )  # fmt: skip
    frames = {"items": (ITEMS, items), "scores": (SCORES, scores)}
    frames |= {"requests": (REQUESTS, requests), "responses": (RESPONSES, responses)}
    listed = {}
    for table, (kind, frame) in frames.items():
        ref = store.write(kind, frame)
        listed[table] = [{"table": ref.table, "digest": ref.digest, "rows": ref.rows}]
    configuration = {
        "suites": ["basic_control"],
        "models": [{"name": m, "provider": "ollama", "temperature": changes.get("temperature", 0)} for m in models],
        "basic_control": {"seed": changes.get("seed", 42), "n_items": 10},
        "store": {"root": str(tmp_path / "store")},
        "report": {"language": changes.get("language", "en")},
    }
    folder = tmp_path / "runs" / name
    folder.mkdir(parents=True)
    manifests.write(
        folder,
        {"schema": 1, "run": name, "started": "2026-01-01T00:00:00+00:00", "configuration": configuration,
         "verifiers": {"m": 1}, "sources": {"m": changes.get("rules", "r")},
         "tables": listed,
         "identities": {m: {"digest": changes.get("digest", "d")} for m in models}},
    )  # fmt: skip
    return folder
