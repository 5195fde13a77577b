"""Raw results in the seed's form: one JSON file for each model.

Source: seed 001, section 5.2, as SPEC 2 settles it.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from artifacts.store import write_atomically
from data.plugins import families
from tasks.report.material import Material


def file_name(model: str, stamp: str) -> str:
    """Return `<model>_<stamp>.json`, with what a file name should not hold replaced."""
    return f"{model_slug(model)}_{stamp}.json"


def model_slug(model: str) -> str:
    """Return a model's name fit for a file name: / and : become _, and nothing else gets through unasked."""
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in model).lstrip(".") or "_"


def entries(material: Material, model: str) -> list[dict[str, Any]]:
    """Return the objects of one model's file: the seed's keys first, our additions after them."""
    start = int(material.started.timestamp())
    known = families()
    numbers: Counter[str] = Counter()
    verdicts = material.verdicts.filter(model=model)
    replies = material.replies.filter(model=model, suite="basic_control")
    joined = replies.join(verdicts, on=["item_id", "model", "repeat"], how="left", maintain_order="left")
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
                "is_correct": bool(row["correct"]) if row["status"] in {"scored", "no_answer"} else None,
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


def write(material: Material, folder: Path) -> list[Path]:
    """Write one file for each model of the run that was asked generated items."""
    written = []
    for model in material.replies.filter(suite="basic_control")["model"].unique(maintain_order=True):
        path = folder / "raw" / file_name(model, material.stamp)
        write_atomically(path, json.dumps(entries(material, model), ensure_ascii=False, indent=2).encode())
        written.append(path)
    return written
