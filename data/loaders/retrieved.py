"""Questions with references and retrieved contexts, with or without responses: the shipped sample, or a file."""

import json
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import loader
from basic_control.data.draw import Sampling, select_items
from basic_control.data.errors import InputError
from basic_control.data.files import Row, convert_text, read_file_rows
from basic_control.data.options import Frozen
from basic_control.data.records import Item
from basic_control.data.sources import SAMPLES, given_file

SAMPLE = SAMPLES / "rag.jsonl"
"""The shipped sample: English and Russian, without responses."""
REQUIRED = ("question", "reference", "retrieved_contexts")
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("user_input", "query"),
    "response": ("answer",),
    "reference": ("ground_truth", "expected_output"),
    "retrieved_contexts": ("contexts", "retrievedContexts"),
}
"""Other tools' names for the columns; our own names take precedence."""


class Options(Frozen):
    """Which rows."""

    data: str = Field("sample", description="`sample` (shipped) or a Parquet, CSV or JSONL file")
    language: Literal["", "en", "ru", "zh"] = Field("", description="only rows of this language; default: all")
    sample: Sampling = Sampling(method="all")


def questions(
    source: str | Path = "sample", *, language: str = "", required: Sequence[str] = REQUIRED
) -> list[Item]:
    """Read a data set: `sample`, or a Parquet, CSV or JSONL file.

    `response` is None if the models are to be asked. `retrieved_contexts` is a list of texts (or of objects with
    `text`); in CSV a list in JSON or Python notation, or one text. `required` names the columns that the chosen
    metrics need; a present column may have empty cells, but a row without a response needs a question. `language`
    keeps only rows of that language ('' keeps all; a row without one counts as en).

    Raises:
        InputError: no such file, columns missing (all of them named at once), a broken row, or no row.
    """
    path = SAMPLE if str(source) == "sample" else Path(source)
    raw = list(read_file_rows(path))
    if not raw:
        raise InputError(f"{path}: no rows; expected columns {', '.join(required)}.")
    there = dict.fromkeys(name for row in raw for name in row)
    names = {ours: next((n for n in (ours, *others) if n in there), None) for ours, others in OTHER_NAMES.items()}
    if missing := [name for name in required if names.get(name) is None]:
        others = "; ".join(
            f"{name} (or {', '.join(OTHER_NAMES[name])})" if name in OTHER_NAMES else name for name in missing
        )
        raise InputError(f"{path}: found columns {', '.join(map(str, there))}; missing: {others}.")
    found = [_question(row, f"{path}, row {number}", names) for number, row in enumerate(raw, 1)]
    kept = [one for one in found if not language or one.language == language]
    if not kept:
        raise InputError(f"{path}: no rows in language {language!r} among {len(found)}.")
    return kept


def _question(raw: Row, where: str, names: Mapping[str, str | None]) -> Item:
    taken = {ours: raw.get(name) if name else None for ours, name in names.items()}
    texts = {name: convert_text(taken[name], f"{where}, {name}") for name in ("question", "response", "reference")}
    contexts = _contexts(taken["retrieved_contexts"], where)
    if texts["response"] is None and not (texts["question"] or "").strip():
        raise InputError(
            f"{where}: found neither a question nor a response; expected a question to ask the models, or a "
            "response to judge. Fill one in, or delete the row."
        )
    stated, facts = str(raw.get("language") or ""), {**texts, "retrieved_contexts": contexts}
    return Item("", texts["reference"] or "", facts, language=stated or "en", stated_language=stated)


def _contexts(value: Any, where: str) -> list[str]:
    """Read one row's contexts: a list of texts or of objects with `text`, such a list in a text, or one text.

    In a CSV cell the list is in JSON or Python notation.
    """
    for read in (json.loads, literal_eval) if isinstance(value, str) and value.strip().startswith("[") else ():
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            listed = read(value.strip())
            if isinstance(listed, list):
                value = listed
                break
    found = []
    for one in value if isinstance(value, list) else [value]:
        text = convert_text(one.get("text") if isinstance(one, Mapping) else one, f"{where}, retrieved_contexts")
        if text and text.strip():
            found.append(text)
    return found


@loader(name="retrieved", options=Options, files=lambda options: [given_file(options["data"], SAMPLE)])
def retrieval(options: Mapping[str, Any], required: Sequence[str]) -> Iterator[Item]:
    """Yield rows: facts `question`, `response` (if any), `reference`, `retrieved_contexts`."""
    needed = ("reference" if name == "answer" else name for name in required)  # "answer" is the reference
    found = questions(options["data"], language=options["language"], required=("question", *needed))
    return select_items(found, options["sample"])
