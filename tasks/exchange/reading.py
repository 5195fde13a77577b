"""Read a file of another tool, whichever it is, in the canonical form; told apart by what it holds."""

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from data.errors import InputError
from tasks.exchange.discovery import readers
from tasks.exchange.records import Log
from tasks.exchange.source import FORMS, Source, open_source

NAMED = 20
"""Rows that are named one by one where something of them cannot be carried over."""
_HALF = re.compile("[\ud800-\udfff]")


def read(path: Path, columns: Mapping[str, str] | None = None) -> Log:
    """Read a file of another tool, or a folder of such files.

    `columns` are our names for the columns of a table (`question`, `score`, …). Halves of surrogate pairs, which no
    file of ours can hold, are read as U+FFFD, and each such row is told in the remarks.

    Raises:
        InputError: no such file, one that is too large, of no known tool, or of two, or without a score or reply.
    """
    return _folder(path, columns) if path.is_dir() else _file(open_source(path, columns))


def _file(source: Source) -> Log:
    able = [one for one in readers() if one.fits(source)] if not source.columns else []
    named = [one for one in able if not getattr(one, "ANY", False)]
    if len(named) > 1:
        raise InputError(
            f"{source.path}: it may be of {' or of '.join(one.TOOL for one in named)}; expected one of them. Name "
            "its columns: --columns question=…,score=…"
        )
    found = named or able or [one for one in readers() if source.columns and getattr(one, "ANY", False)]
    if not found:
        known = ", ".join(one.TOOL for one in readers() if not getattr(one, "ANY", False))
        raise InputError(
            f"{source.path}: it is no log of {known}; found the keys "
            f"{', '.join(map(str, source.head)) or 'none'}. Say which are which: --columns question=…,score=… "
            "(also response, answer, id, model, suite, template)."
        )
    log: Log = found[0].read(source)
    return _storable(log)


def _folder(path: Path, columns: Mapping[str, str] | None) -> Log:
    """Join the files of a folder that are of a known tool; of two about the same, the later by name stands."""
    listed = sorted(file for file in (*path.glob("*"), *path.glob("*/*")) if file.suffix.lower() in FORMS)
    if not listed:
        raise InputError(f"{path}: found no finished run and no file of another tool ({', '.join(FORMS)}).")
    logs, wrong = [], []
    for file in listed:
        try:
            logs.append((file, _file(open_source(file, columns))))
        except InputError as error:
            wrong.append(str(error))
    if not logs:
        raise InputError(wrong[0])
    rows: dict[tuple[str, str], tuple[Any, ...]] = {}
    remarks = [remark for _, log in logs for remark in log.remarks]
    for file, log in logs:
        parts: dict[tuple[str, str], list[Any]] = {}
        for row in log.rows:
            parts.setdefault((row.suite, row.target), []).append(row)
        for key, own in parts.items():
            if key in rows:
                remarks.append(f"{path}: of several files about {' '.join(key).strip()}, {file.name} is read.")
            rows[key] = tuple(own)
    merged = {name: value for _, log in logs for name, value in log.facts.items()}
    whole = tuple(row for own in rows.values() for row in own)
    return Log(logs[0][1].tool, whole, merged, tuple(dict.fromkeys(remarks)))


def _storable(log: Log) -> Log:
    """Return a log whose texts can be written as UTF-8, with a remark for each row that could not."""
    told: list[str] = []

    def whole(value: Any) -> Any:
        if isinstance(value, str):
            return _HALF.sub("\ufffd", value)
        return type(value)(map(whole, value)) if isinstance(value, list | tuple) else value

    rows = list(log.rows)
    for number, row in enumerate(log.rows):
        try:
            texts = (row.question, row.response or "", row.id, row.suite, row.target, row.template, row.error)
            "".join((*texts, *row.answer, *row.choices, *row.contexts)).encode()
        except UnicodeEncodeError:
            found = {field.name: getattr(row, field.name) for field in fields(row)}
            kept = {name: whole(value) for name, value in found.items()}
            changed = ", ".join(name for name in found if found[name] != kept[name])
            told.append(f"Row {number + 1}: half of a surrogate pair in its {changed}; read as U+FFFD.")
            rows[number] = replace(row, **kept)
    if not told:
        return log
    more = [f"{len(told) - NAMED} more rows of the same kind."] if len(told) > NAMED else []
    return replace(log, rows=tuple(rows), remarks=(*log.remarks, *told[:NAMED], *more))
