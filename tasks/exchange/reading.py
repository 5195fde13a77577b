"""Read any supported tool's file in the canonical form; the format is detected by content."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from basic_control.data.characters import make_storable
from basic_control.data.errors import InputError, plural
from basic_control.tasks.exchange.discovery import readers
from basic_control.tasks.exchange.records import AggregatesAlone, Log, Recorded
from basic_control.tasks.exchange.source import FORMS, Source, open_source

NAMED = 20
"""Maximum rows named in a remark."""


def read(path: Path, columns: Mapping[str, str] | None = None) -> Log:
    """Read a file of another tool, or a folder of such files.

    `columns` are our names for the columns of a table (`question`, `score`, …). Lone surrogates, which our files
    cannot hold, are read as U+FFFD, with a remark.

    Raises:
        InputError: the file is missing, too large, of no known tool or of two, or without a score or reply.
    """
    return _folder(path, columns) if path.is_dir() else _log(*_reader(open_source(path, columns)))


def _log(adapter: ModuleType, source: Source) -> Log:
    facts: dict[str, str] = {}
    remarks: list[str] = []
    rows: list[Recorded] = []
    halved: list[int] = []
    lower = frozenset[str]()
    try:
        for one in adapter.read(source):
            if isinstance(one, Recorded):
                rows.append(_storable(one))
                if rows[-1] is not one:
                    halved.append(len(rows))
            elif isinstance(one, str):
                remarks.append(one)
            elif isinstance(one, frozenset):
                lower |= one
            else:
                facts.update(one)
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InputError(
            f"{source.path}: it looks like a file of {adapter.TOOL}, but part of it cannot be read "
            f"({type(error).__name__}: {error}); expected the file as that tool wrote it."
        ) from error
    if not rows:
        raise AggregatesAlone(
            f"{source.path}: a file of {adapter.TOOL} without a row for each reply: found at most aggregates "
            "alone, which have nothing to pair."
        )
    if halved:
        listed = ", ".join(map(str, halved[:NAMED])) + (", …" if len(halved) > NAMED else "")
        remarks.append(f"Half of a surrogate pair is read as U+FFFD in {plural(len(halved), 'row')}: {listed}.")
    return Log(adapter.TOOL, tuple(rows), facts, tuple(remarks), lower)


def _reader(source: Source) -> tuple[ModuleType, Source]:
    """Return the one adapter that reads a file, and the file, without columns meant for other files."""
    if source.columns and not {*source.columns.values()} & source.head.keys():
        bare = replace(source, columns={})
        source = bare if any(one.fits(bare) for one in readers()) else source
    named = [one for one in readers() if not hasattr(one, "ANY")]
    others = [one for one in readers() if hasattr(one, "ANY")]
    able = [one for one in named if not source.columns and one.fits(source)]
    if len(able) > 1:
        raise InputError(
            f"{source.path}: it looks like a file of {' and of '.join(one.TOOL for one in able)}. Name "
            "its columns: --columns question=…,score=…"
        )
    if found := able or [one for one in others if source.columns or one.fits(source)]:
        return found[0], source
    if not source.head:
        raise InputError(f"{source.path}: the file is empty; expected a row for each reply.")
    raise InputError(
        f"{source.path}: not a file of {', '.join(one.TOOL for one in named)}; found the keys "
        f"{', '.join(map(str, source.head))}. If it is a table, name its columns: --columns question=…,score=… "
        "(also response, answer, id, model, suite, template)."
    )


def _folder(path: Path, columns: Mapping[str, str] | None) -> Log:
    """Join the files of a folder that are of a known tool: its parts, which have no question in common.

    Of two about the same questions, the later by name is kept.

    Raises:
        InputError: no file of it can be read, or one of a known tool is damaged.
    """
    listed = sorted(file for file in (*path.glob("*"), *path.glob("*/*")) if file.suffix.lower() in FORMS)
    if not listed:
        raise InputError(f"{path}: found no finished run and no file of another tool ({', '.join(FORMS)}).")
    found = [(file, _part(open_source(file, columns))) for file in listed]
    logs = [(file, one) for file, one in found if isinstance(one, Log)]
    if not logs:
        raise next(one for _, one in found if isinstance(one, InputError))
    rows: dict[tuple[str, str], list[Recorded]] = {}
    remarks = [remark for _, log in logs for remark in log.remarks]
    for file, log in logs:
        parts: dict[tuple[str, str], list[Recorded]] = {}
        for row in log.rows:
            parts.setdefault((row.suite, row.target), []).append(row)
        for key, own in parts.items():
            asked = {row.asked for row in own}
            if any(row.asked in asked for row in rows.get(key, ())):
                remarks.append(f"{path}: several files cover {' '.join(key).strip()}; {file.name} is used.")
                rows[key] = own
            else:  # a part, such as a page, of what another file began
                rows[key] = [*rows.get(key, ()), *own]
    merged = {name: value for _, log in logs for name, value in log.facts.items()}
    whole = tuple(row for own in rows.values() for row in own)
    lower = frozenset[str]().union(*(log.lower for _, log in logs))
    return Log(logs[0][1].tool, whole, merged, tuple(dict.fromkeys(remarks)), lower)


def _part(source: Source) -> Log | InputError:
    """Read a file of a folder; return the error if it is of no tool or has no row for each reply.

    Raises:
        InputError: it is damaged.
    """
    _ = source.head  # raises if it is
    try:
        adapter, source = _reader(source)
    except InputError as error:
        return error
    try:
        return _log(adapter, source)
    except InputError as error:
        if not isinstance(error, AggregatesAlone) and adapter.fits(source):
            raise
        return error


def _storable(row: Recorded) -> Recorded:
    """Return a row with texts valid in UTF-8; the same row if they all are."""

    def whole(value: Any) -> Any:
        if isinstance(value, str):
            return make_storable(value)
        if isinstance(value, Mapping):
            return {whole(name): whole(one) for name, one in value.items()}
        return type(value)(map(whole, value)) if isinstance(value, list | tuple) else value

    try:
        answer = (row.answer,) if isinstance(row.answer, str) else row.answer
        texts = (row.question, row.response or "", row.id, row.suite, row.target, row.template, row.error)
        "".join((*texts, *answer, *row.choices, *row.contexts, *row.scores)).encode()
    except UnicodeEncodeError:
        return Recorded(*map(whole, row))
    return row
