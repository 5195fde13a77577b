"""Read any supported tool's file in the canonical form; the format is detected by content."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

from basic_control.data.characters import make_storable
from basic_control.data.errors import InputError, plural
from basic_control.tasks.exchange.discovery import load_adapters
from basic_control.tasks.exchange.logs import AggregatesAlone, Log, Material, Recorded
from basic_control.tasks.exchange.source import FORMS, Source, open_source
from basic_control.tasks.exchange.unscored import describe_unscored

NAMED = 20
"""Maximum rows named in a remark."""


def read(path: Path, columns: Mapping[str, str] | None = None) -> Log:
    """Read a file of another tool, or a folder of such files.

    `columns` are our names for the columns of a table (`question`, `score`, …). Lone surrogates, which our files
    cannot hold, are read as U+FFFD, with a remark.

    Raises:
        InputError: the file is missing, too large, of no known tool or of two, or without a score or reply.
    """
    if path.is_dir():
        return _read_folder(path, columns)
    return _read_log(*_find_reader(open_source(path, columns)))


def _read_log(adapter: ModuleType, source: Source) -> Log:
    facts: dict[str, str] = {}
    remarks: list[str] = []
    rows: list[Recorded] = []
    halved: list[int] = []
    lower_is_better = frozenset[str]()
    # Whatever a damaged file makes an adapter stumble over becomes one message.
    try:
        for entry in adapter.read(source):
            if isinstance(entry, Recorded):
                rows.append(_make_storable(entry))
                if rows[-1] is not entry:
                    halved.append(len(rows))
            elif isinstance(entry, str):
                remarks.append(entry)
            elif isinstance(entry, frozenset):
                lower_is_better |= entry
            else:
                facts.update(entry)
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
        numbers = [*map(str, halved[:NAMED])]
        if len(halved) > NAMED:
            numbers.append("…")
        rows_named = f"{plural(len(halved), 'row')}: {', '.join(numbers)}"
        remarks.append(f"Half of a surrogate pair is read as U+FFFD in {rows_named}.")
    return Log(adapter.TOOL, tuple(rows), facts, tuple(remarks), lower_is_better)


def _find_reader(source: Source) -> tuple[ModuleType, Source]:
    """Return the one adapter that reads a file, and the file, without columns meant for other files."""
    if source.columns and not {*source.columns.values()} & source.head.keys():
        bare = replace(source, columns={})
        if any(adapter.fits(bare) for adapter in load_adapters()):
            source = bare
    tools = [adapter for adapter in load_adapters() if not hasattr(adapter, "ANY")]
    fallbacks = [adapter for adapter in load_adapters() if hasattr(adapter, "ANY")]
    able = [adapter for adapter in tools if not source.columns and adapter.fits(source)]
    if len(able) > 1:
        names = " and of ".join(adapter.TOOL for adapter in able)
        raise InputError(
            f"{source.path}: it looks like a file of {names}. Name its columns: --columns question=…,score=…"
        )
    # A table is what no tool's adapter recognises, and what a user names the columns of.
    able += [adapter for adapter in fallbacks if source.columns or adapter.fits(source)]
    if able:
        return able[0], source
    if not source.head:
        raise InputError(f"{source.path}: the file is empty; expected a row for each reply.")
    unscored = describe_unscored(source.path)
    if unscored:
        raise InputError(f"{source.path}: {unscored}")
    raise InputError(
        f"{source.path}: not a file of {', '.join(adapter.TOOL for adapter in tools)}; found the keys "
        f"{', '.join(map(str, source.head))}. If it is a table, name its columns: --columns question=…,score=… "
        "(also response, answer, id, model, suite, template). If it has no scores yet, it is the `--data` of a run."
    )


def _read_folder(path: Path, columns: Mapping[str, str] | None) -> Log:
    """Join the files of a folder that are of a known tool: its parts, which have no question in common.

    Of two about the same questions, the later by name is kept.

    Raises:
        InputError: no file of it can be read, or one of a known tool is damaged.
    """
    every_file = (*path.glob("*"), *path.glob("*/*"))
    files = sorted(file for file in every_file if file.suffix.lower() in FORMS)
    if not files:
        raise InputError(f"{path}: found no finished run and no file of another tool ({', '.join(FORMS)}).")
    logs: list[tuple[Path, Log]] = []
    errors: list[InputError] = []
    for file in files:
        outcome = _read_part(open_source(file, columns))
        if isinstance(outcome, Log):
            logs.append((file, outcome))
        else:
            errors.append(outcome)
    # Beside a tool's files others may lie; if there are only such, the first says why it was not read.
    if not logs:
        raise errors[0]
    rows: dict[tuple[str, str], list[Recorded]] = {}
    remarks: list[str] = []
    facts: dict[str, str] = {}
    lower_is_better = frozenset[str]()
    for file, log in logs:
        remarks += log.remarks
        facts |= log.facts
        lower_is_better |= log.lower_is_better
        parts: dict[tuple[str, str], list[Recorded]] = {}
        for row in log.rows:
            parts.setdefault((row.suite, row.target), []).append(row)
        for key, own_rows in parts.items():
            questions = {row.question_key for row in own_rows}
            if any(row.question_key in questions for row in rows.get(key, ())):
                remarks.append(f"{path}: several files cover {' '.join(key).strip()}; {file.name} is used.")
                rows[key] = own_rows
            else:  # a part, such as a page, of what another file began
                rows[key] = [*rows.get(key, ()), *own_rows]
    all_rows = tuple(chain.from_iterable(rows.values()))
    return Log(logs[0][1].tool, all_rows, facts, tuple(dict.fromkeys(remarks)), lower_is_better)


def _read_part(source: Source) -> Log | InputError:
    """Read a file of a folder; return the error if it is of no tool or has no row for each reply.

    Raises:
        InputError: it is damaged.
    """
    _ = source.head  # raises if it is
    try:
        adapter, source = _find_reader(source)
    except InputError as error:
        return error
    try:
        return _read_log(adapter, source)
    except InputError as error:
        if not isinstance(error, AggregatesAlone) and adapter.fits(source):
            raise
        return error


def _make_storable(row: Recorded) -> Recorded:
    """Return a row with texts valid in UTF-8; the same row if they all are."""

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return make_storable(value)
        if isinstance(value, Mapping):
            return {clean(name): clean(part) for name, part in value.items()}
        if isinstance(value, Material):
            return Material(*map(clean, value))
        if type(value) in {list, tuple}:
            return type(value)(map(clean, value))
        return value

    try:
        answer = (row.answer,) if isinstance(row.answer, str) else row.answer
        texts = (row.question, row.response or "", row.id, row.suite, row.target, row.template, row.error)
        choices, contexts, sent, _ = row.material
        "".join((*texts, *answer, *choices, *contexts, sent, *row.scores)).encode()
    except UnicodeEncodeError:
        return Recorded(*map(clean, row))
    return row
