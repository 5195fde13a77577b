"""Raw results in the seed's form: one JSON file for each model.

Source: seed 001, section 5.2, as SPEC 2 settles it.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from data.plugins import families
from data.records import VALUED
from tasks.report.report_data import ReportData
from tasks.store.tables import write_json

MOST_BYTES = 120
"""Of a model's name in a file name, which file systems hold to 255 with all that stands around it."""


def model_slug(model: str) -> str:
    """Return a model's name fit for a file name: / and : become _, and nothing else gets through unasked.

    A name that is too long is cut, and told apart by a digest.
    """
    slug = "".join(c if c.isalnum() or c in "._-" else "_" for c in model).lstrip(".") or "_"
    if len(slug.encode()) <= MOST_BYTES:
        return slug
    return slug.encode()[: MOST_BYTES - 9].decode(errors="ignore") + f"_{_digest(model)}"


def slugs(models: Sequence[str]) -> list[str]:
    """Return names fit for file names; of several that would be one file, all but the first get a digest.

    Names that differ in case only are one file to some file systems.
    """
    taken: set[str] = set()
    found = []
    for model in models:
        slug = model_slug(model)
        if slug.casefold() in taken:
            slug = f"{slug}_{_digest(model)}"
        taken.add(slug.casefold())
        found.append(slug)
    return found


def _digest(model: str) -> str:
    return hashlib.sha256(model.encode("utf-8", "replace")).hexdigest()[:8]


def entries(data: ReportData, model: str) -> list[dict[str, Any]]:
    """Return the objects of one model's file: the seed's keys first, our additions after them."""
    start = int(data.started.timestamp())
    known = families() if data.verdicts.height else {}
    numbers: Counter[str] = Counter()
    verdicts = data.verdicts.filter(model=model)
    replies = data.replies.filter(model=model)
    joined = replies.join(verdicts, on=["item_id", "model", "repeat"], how="inner", maintain_order="left")
    listed = []
    for row in joined.iter_rows(named=True):
        name = row["family"]
        seed_id = (known[name].seed_id if name in known else "") or name
        numbers[seed_id] += 1
        listed.append(
            {
                "test_id": f"{seed_id}_{start}_{numbers[seed_id]}",
                "model_name": model,
                "prompt": row["prompt"],
                "llm_response": row["text"],
                "expected_output": row["answer"],
                "is_correct": bool(row["correct"]) if row["status"] in VALUED else None,
                "execution_time_ms": None if row["latency_s"] is None else round(1000 * row["latency_s"]),
                "status": row["status"],
                "reason": row["reason"],
                "details": json.loads(row["details"]) if row["details"] else {},
                "error": row["error"],
                "reasoning": row["reasoning"],
                "finish_reason": row["finish_reason"],
                "tokens_in": row["tokens_in"],
                "tokens_out": row["tokens_out"],
                "cached": row["cached"],
                "item_id": row["item_id"],
                "level": row["level"],
                "language": row["language"],
                "repeat": row["repeat"],
                "request_id": row["request_id"],
            }
        )
    return listed


def write(data: ReportData, folder: Path) -> list[Path]:
    """Write one file for each model of the run that was asked generated items."""
    written = []
    models = data.verdicts["model"].unique(maintain_order=True).to_list()
    for model, slug in zip(models, slugs(models), strict=True):
        path = folder / "raw" / f"{slug}_{data.stamp}.json"
        written.append(write_json(path, entries(data, model), indent=2))
    return written
