"""A log as a suite: its rows as JSONL, and a configuration that scores them here, without a call."""

import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import yaml

from data.errors import InputError
from data.files import rows as read_rows
from tasks.exchange.discovery import readers
from tasks.exchange.records import Log

ROWS, RUN = "rows.jsonl", "run.yaml"
_NAME = 64
_NUMBER = re.compile(r"[-−+]?[$€£]?\d[\d., ]*%?")


LARGEST = 512 << 20
"""Bytes of a log, unpacked: it is read whole, and takes some five times that much memory."""
NAMED = 20
"""Rows that are named one by one where something of them cannot be carried over."""
_HALF = re.compile("[\ud800-\udfff]")


def read(path: Path, *, metric: str = "", filtered: str = "", task: str = "") -> Log:
    """Read a log of another tool, whichever it is.

    `metric` names the tool's score to set beside ours, `filtered` a filter of lm-evaluation-harness, `task` an
    evaluation of an Every Eval Ever file; the first there is unless given. Halves of surrogate pairs, which no
    file of ours can hold, are read as U+FFFD, and each such row is told in the remarks.

    Raises:
        InputError: no such file, one that is too large, no log of a known tool, or none with a reply.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file. Give a log of another tool: .eval, .json or .jsonl.")
    if (size := _unpacked(path)) > LARGEST:
        raise InputError(
            f"{path}: it holds {size / 1e6:,.0f} MB unpacked, expected at most {LARGEST / 1e6:,.0f} MB, since it "
            "is read whole. Write fewer samples to a log, or several logs."
        )
    return _storable(_read(path, metric=metric, filtered=filtered, task=task))


def _unpacked(path: Path) -> int:
    """Return how many bytes a log has, of a zip those of its members; a damaged one is its reader's to tell."""
    if not zipfile.is_zipfile(path):
        return path.stat().st_size
    try:
        with zipfile.ZipFile(path) as packed:
            return sum(member.file_size for member in packed.infolist())
    except (zipfile.BadZipFile, ValueError):
        return path.stat().st_size


def _storable(log: Log) -> Log:
    """Return a log whose texts can be written as UTF-8, with a remark for each row that could not."""
    told: list[str] = []

    def whole(value: Any) -> Any:
        if isinstance(value, str):
            return _HALF.sub("\ufffd", value)
        return type(value)(map(whole, value)) if isinstance(value, list | tuple) else value

    rows = []
    for number, row in enumerate(log.rows, 1):
        found = {field.name: getattr(row, field.name) for field in fields(row)}
        kept = {name: whole(value) for name, value in found.items()}
        if changed := [name for name in found if found[name] != kept[name]]:
            told.append(f"Row {number}: half of a surrogate pair in its {', '.join(changed)}; read as U+FFFD.")
        rows.append(replace(row, **kept))
    if not told:
        return log
    more = [f"{len(told) - NAMED} more rows of the same kind."] if len(told) > NAMED else []
    return replace(log, rows=tuple(rows), remarks=(*log.remarks, *told[:NAMED], *more))


def _read(path: Path, *, metric: str, filtered: str, task: str) -> Log:
    head = _head(path)
    able = [one for one in readers() if one.fits(path, head)]
    if len(able) > 1:
        raise InputError(f"{path}: it may be of {' or of '.join(one.TOOL for one in able)}; expected one of them.")
    if not able:
        raise InputError(
            f"{path}: it is no log of {', '.join(one.TOOL for one in readers())}; found the keys "
            f"{', '.join(map(str, head)) or 'none'}. Rows of your own need no import: docs/suites.md."
        )
    log: Log = able[0].read(path, metric=metric, filtered=filtered, task=task)
    return log


def _head(path: Path) -> Mapping[str, Any]:
    """Return the object that a JSON file holds, or the first row of JSONL; of other forms nothing."""
    if path.suffix == ".eval":
        return {}
    if path.suffix != ".json":
        return next(iter(read_rows(path)), {})
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON ({error}).") from error
    return whole if isinstance(whole, Mapping) else {}


def fitting(log: Log) -> str:
    """Return the metric that fits the expected answers: `choice`, `number` or `exact_match`."""
    if all(row.choices for row in log.rows):
        return "choice"
    answers = [one for row in log.rows for one in (row.answer if isinstance(row.answer, list) else [row.answer])]
    return "number" if answers and all(_NUMBER.fullmatch(one.strip()) for one in answers) else "exact_match"


def _named(task: str) -> str:
    name = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "_" for c in task).lstrip("_.-")
    return name[:_NAME] or "recorded"


def configuration(log: Log, *, metric: str, language: str) -> dict[str, Any]:
    """Return a run's configuration for a log: one suite of given responses, scored by `metric` beside `stated`."""
    stated: dict[str, Any] = {"stated": {}} if log.accuracy is not None else {}
    return {
        "suites": [
            {
                "name": _named(log.task),
                "title": log.task,
                "items": {"data": ROWS, "language": language},
                "prompt": "{{ question }}",
                "metrics": {metric: {}, **stated},
                "score": [metric],
                "responses_of": log.model,
            }
        ]
    }


def write(log: Log, folder: Path, *, metric: str = "", language: str = "en") -> str:
    """Write a log into a folder as `rows.jsonl` and `run.yaml`; return the metric that scores it.

    Raises:
        InputError: the folder holds such files already, or cannot be written.
    """
    if there := next((name for name in (ROWS, RUN) if (folder / name).exists()), ""):
        raise InputError(f"{folder / there} is there already; give another folder with --to.")
    chosen = metric or fitting(log)
    declared = configuration(log, metric=chosen, language=language)
    declared["suites"][0]["items"]["data"] = str(folder / ROWS)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(row.row(), ensure_ascii=False) + "\n" for row in log.rows)
        (folder / ROWS).write_text("".join(lines), encoding="utf-8")
        heading = f"# Read from a log of {log.tool}; rows.jsonl holds its {len(log.rows)} replies.\n"
        text = yaml.safe_dump(declared, allow_unicode=True, sort_keys=False, width=110)
        (folder / RUN).write_text(heading + text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}).") from error
    return chosen
