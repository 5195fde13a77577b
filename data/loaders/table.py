"""A user's rows, from JSONL, CSV, TSV or Parquet, or a fetched set: one question a row, columns by name."""

import ast
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import loader
from basic_control.data.draw import Sampling, choose
from basic_control.data.errors import InputError
from basic_control.data.files import read_file_rows
from basic_control.data.options import Frozen
from basic_control.data.records import Item
from basic_control.data.sources import given_file, locate

RESPONSE = "response"
"""Column of recorded replies."""
BOOLEANS = {"true": True, "false": False}


class Options(Frozen):
    """Which rows, and the roles of their columns."""

    data: str = Field(description="a JSONL, CSV, TSV or Parquet file, or the name of a fetched set")
    columns: dict[str, str] = Field(
        default_factory=dict,
        description="the file's columns by our names, such as {question: ticket, answer: expected}; other columns "
        "keep their names. `answer` is the expected answer, `response` a recorded reply, `language` the row's "
        "language, `id` a question's identifier across runs, unique within a language",
    )
    language: str = Field(
        "", description="only the rows of this language; or the language of rows without a column"
    )
    sample: Sampling = Sampling(method="all")
    answers: Literal["typed", "text"] = Field(
        "typed",
        description="typed: a number, a boolean or a list is compared as one, in CSV and TSV if every filled cell "
        "of the column holds true or false, or a list; text: every answer is compared as text",
    )


def _renamed(raw: Mapping[str, Any], columns: Mapping[str, str], where: str) -> dict[str, Any]:
    if missing := [theirs for theirs in columns.values() if theirs not in raw]:
        there = ", ".join(map(str, raw))
        raise InputError(f"{where}: column {missing[0]!r}, named in `columns`, not found; the row has {there}.")
    taken = set(columns.values())
    rest = {str(name): value for name, value in raw.items() if name not in taken and name not in columns}
    return {**{ours: raw[theirs] for ours, theirs in columns.items()}, **rest}


def read_response(value: Any) -> Any:
    """Return a recorded response as text: a number or a boolean as it is written; None if there is none."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, int | float) else value


def _text(value: Any) -> str:
    """Format an expected value for people, including several values."""
    if isinstance(value, list | tuple):
        return "; ".join(map(_text, value))
    return "" if value is None else str(value)


def _typed(text: str) -> bool | list[Any] | None:
    """Return the boolean or the list in a cell, as JSON or as pandas prints it; None if it holds neither."""
    text = text.strip()
    if text.lower() in BOOLEANS:
        return BOOLEANS[text.lower()]
    if text[:1] != "[":
        return None
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            value = read(text)
            return value if isinstance(value, list) else None
    return None


def _type_answers(found: Sequence[dict[str, Any]], path: Path, answers: str) -> None:
    """Give the answers of all rows their types; a file of texts has one for a whole column, or none."""
    if answers == "text":
        for row in found:
            if "answer" in row:
                row["answer"] = _plain(row["answer"])
    elif path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
        filled = [row for row in found if str(row.get("answer") or "").strip()]
        typed = [_typed(row["answer"]) for row in filled]
        if None not in typed and len(set(map(type, typed))) == 1:
            for row, value in zip(filled, typed, strict=True):
                row["answer"] = value


def _plain(value: Any) -> Any:
    """Return a value as the text that the file shows; lists and mappings as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _declared(listed: Sequence[tuple[int, str, Mapping[str, Any]]], path: Path) -> dict[int, str]:
    """Return the declared ids by row number.

    Raises:
        InputError: a row has none, or two of one language have the same.
    """
    seen: dict[tuple[str, str], int] = {}
    for number, _, found in listed:
        named, language = " ".join(_text(found["id"]).split()), str(found.get("language") or "")
        if not named:
            raise InputError(f"{path}, row {number + 1}: missing id; `columns` declares an id column.")
        if (first := seen.setdefault((language, named), number)) != number:
            spoken = f" in language {language!r}" if language else ""
            raise InputError(
                f"{path}: duplicate id {named!r} in rows {first + 1} and {number + 1}; expected unique "
                f"ids{spoken}. Fix them, or remove `id` from `columns` to identify questions by their text."
            )
    return {number: named for (_, named), number in seen.items()}


@loader(name="table", version=2, options=Options, files=lambda options: [given_file(options["data"], Path())])
def table_rows(options: Mapping[str, Any], required: Sequence[str]) -> Iterator[Item]:
    """Yield rows; their columns are the facts.

    Raises:
        InputError: no such file, a column that is named or needed is not there, a broken row, or no row.
    """
    path, wanted = locate(options["data"]), options["language"]
    listed = []
    all_rows = list[dict[str, Any]]()
    for number, raw in enumerate(read_file_rows(path)):
        found = _renamed(raw, options["columns"], f"{path}, row {number + 1}")
        if missing := [name for name in required if name not in found]:
            raise InputError(
                f"{path}, row {number + 1}: column {missing[0]!r}, required by a metric of the suite, not found; "
                f"the file has {', '.join(found)}. Map it under `columns`."
            )
        if RESPONSE in found:
            found[RESPONSE] = read_response(found[RESPONSE])
        all_rows.append(found)
        language = str(found.get("language") or wanted or "en")
        if not wanted or language == wanted:
            listed.append((number, language, found))
    _type_answers(all_rows, path, options["answers"])
    declared = _declared(listed, path) if "id" in options["columns"] else {}
    if not listed:
        kept = f" in language {wanted!r}" if wanted else ""
        raise InputError(f"{path}: no rows{kept}; expected one question per row.")
    for place in choose(len(listed), **options["sample"]):
        number, language, found = listed[place]
        yield Item(
            "",
            _text(found.get("answer")),
            found,
            template=str(found.get("template") or ""),
            language=language,
            index=number,
            stated_language=str(found.get("language") or ""),
            declared_id=declared.get(number, ""),
        )
