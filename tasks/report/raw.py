"""Results in the seeds' forms: one JSON file for each model, `results.json`, and `FINAL_RESULTS_<YYYYMMDD>.json`.

Source: seed 001, section 5.2, as SPEC 2 settles it.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from basic_control.data.plugins import families
from basic_control.data.records import VALUED
from basic_control.metrics.analysis.document import document
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.store.tables import write_json

# What the seed's files have not, after its keys.
_ADDED = ("error", "reasoning", "finish_reason", "tokens_in", "tokens_out", "cached", "item_id", "level",
          "language", "repeat", "request_id")  # fmt: skip
# What a file name may not have everywhere, such as "/" and ":" in "org/model:latest".
_UNSAFE = re.compile(r"[^\w.-]")
MOST_BYTES = 120
"""Bytes of a model's name in a file name, which file systems limit to 255 in total."""


def slugs(models: Sequence[str]) -> list[str]:
    """Return names fit for file names: / and : become _, and only safe characters are kept.

    A name that is too long is truncated, with a digest added; so are all but the first of several that would be one
    file. Names that differ in case only are one file to some file systems.
    """
    folded_slugs: set[str] = set()
    model_slugs = []
    for model in models:
        digest = hashlib.sha256(model.encode("utf-8", "replace")).hexdigest()[:8]
        # A name that begins with a dot would be a hidden file.
        slug = _UNSAFE.sub("_", model).lstrip(".") or "_"
        if len(slug.encode()) > MOST_BYTES:
            slug = slug.encode()[: MOST_BYTES - 9].decode(errors="ignore") + f"_{digest}"
        if slug.casefold() in folded_slugs:
            slug = f"{slug}_{digest}"
        folded_slugs.add(slug.casefold())
        model_slugs.append(slug)
    return model_slugs


def entries(data: ReportData, model: str) -> list[dict[str, Any]]:
    """Return the objects of one model's file: the seed's keys first, our additions after them."""
    start = int(data.start_time.timestamp())
    # Families are registered by importing their modules: not for a run that has none.
    registry = families() if data.verdicts.height else {}
    numbers: Counter[str] = Counter()
    verdicts = data.verdicts.filter(model=model)
    replies = data.replies.filter(model=model)
    joined = replies.join(verdicts, on=["item_id", "model", "repeat"], how="inner", maintain_order="left")
    objects = []
    for row in joined.iter_rows(named=True):
        name = row["family"]
        seed_id = name
        if name in registry:
            seed_id = registry[name].seed_id or name
        numbers[seed_id] += 1
        objects.append(
            {
                "test_id": f"{seed_id}_{start}_{numbers[seed_id]}",
                "model_name": model,
                "prompt": row["prompt"],
                "llm_response": row["text"],
                "expected_output": row["answer"],
                "is_correct": _find_verdict(row),
                "execution_time_ms": _find_milliseconds(row),
                "status": row["status"],
                "reason": row["reason"],
                "details": json.loads(row["details"] or "{}"),
                **{name: row[name] for name in _ADDED},
            }
        )
    return objects


def _find_verdict(row: Mapping[str, Any]) -> bool | None:
    """Return whether a reply is right; None of one that has no value."""
    if row["status"] not in VALUED:
        return None
    return bool(row["correct"])


def _find_milliseconds(row: Mapping[str, Any]) -> int | None:
    if row["latency_s"] is None:
        return None
    return round(1000 * row["latency_s"])


def write(data: ReportData, folder: Path) -> list[Path]:
    """Write one file for each model of the run that was asked generated items."""
    models = data.verdicts["model"].unique(maintain_order=True).to_list()
    return [
        write_json(folder / "raw" / f"{slug}_{data.stamp}.json", entries(data, model), indent=2)
        for model, slug in zip(models, slugs(models), strict=True)
    ]


def write_results(results: Results, verdict: RunVerdict, folder: Path, *, copy: str = "") -> None:
    """Write `results.json`, also to the file `copy`, and `FINAL_RESULTS_<YYYYMMDD>.json` if it applies."""
    content = document(results, verdict)
    write_json(folder / "results.json", content)
    if copy:
        write_json(Path(copy), content)
    write_explained(results, folder)


def write_explained(results: Results, folder: Path) -> None:
    """Write `FINAL_RESULTS_<YYYYMMDD>.json`; of several models, `FINAL_RESULTS_<YYYYMMDD>_<model>.json` of each.

    If one model reasoned and another cited, the file of several has both their names.
    """
    day = str(results.run["started"])[:10].replace("-", "")
    reports = results.explainability
    names = slugs([report.name for report in reports])
    for report, name in zip(reports, names, strict=True):
        stem = f"FINAL_RESULTS_{day}"
        if len(reports) > 1:
            stem += f"_{name}"
        write_json(folder / f"{stem}.json", report.published, indent=2)
