"""Questions with references and retrieved contexts, with or without responses: the shipped sample, or a file."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import loader
from basic_control.data.draw import Sampling, select_items, select_language
from basic_control.data.errors import InputError, propose_name
from basic_control.data.files import Row, convert_text, read_file_rows
from basic_control.data.options import Frozen
from basic_control.data.public_sets import SAMPLES, find_data_file
from basic_control.data.records import Item
from basic_control.data.usual_columns import CONTEXTS, USUAL_NAMES, find_column, read_contexts

SAMPLE = SAMPLES / "rag.jsonl"
"""The shipped sample: English and Russian, without responses."""
REQUIRED = ("question", "reference", "retrieved_contexts")


class Options(Frozen):
    """Which rows."""

    data: str = Field("sample", description="`sample` (shipped) or a Parquet, CSV or JSONL file")
    language: Literal["", "en", "ru", "zh"] = Field("", description="only rows of this language; default: all")
    sample: Sampling = Sampling(method="all")


def read_questions(
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
    path = find_data_file(str(source), SAMPLE)
    raw = list(read_file_rows(path))
    if not raw:
        raise InputError(f"{path}: no rows; expected columns {', '.join(required)}.")
    columns = dict.fromkeys(chain.from_iterable(raw))
    names: dict[str, str] = {}
    for column in USUAL_NAMES:
        # A file may have both: then ours is the column, and the other is not read.
        name = find_column(column, columns)
        if name is not None:
            names[column] = name
    missing = [name for name in required if name not in names]
    if missing:
        expected = "; ".join(map(_describe_column, missing))
        proposal = propose_name(missing[0], columns)
        raise InputError(f"{path}: found columns {', '.join(map(str, columns))}; missing: {expected}.{proposal}")
    items = [_build_item(row, f"{path}, row {number}", names) for number, row in enumerate(raw, 1)]
    return select_language(items, language, path)


def _describe_column(name: str) -> str:
    """Return a column with the names by which other tools call it."""
    if name not in USUAL_NAMES:
        return name
    return f"{name} (or {', '.join(USUAL_NAMES[name])})"


def _build_item(raw: Row, where: str, names: Mapping[str, str]) -> Item:
    """Return a row as an item; `names` are the file's names of our columns."""
    columns = {column: raw.get(name) for column, name in names.items()}
    texts: dict[str, str | None] = {}
    for name in ("question", "response", "reference"):
        texts[name] = convert_text(columns.get(name), f"{where}, {name}")
    contexts = read_contexts(columns.get(CONTEXTS), where)
    # A recorded response can be judged without its question, if the metrics need none.
    if texts["response"] is None and not (texts["question"] or "").strip():
        raise InputError(
            f"{where}: found neither a question nor a response; expected a question to ask the models, or a "
            "response to judge. Fill one in, or delete the row."
        )
    language = str(raw.get("language") or "")
    facts = {**texts, "retrieved_contexts": contexts}
    return Item("", texts["reference"] or "", facts, language=language or "en", stated_language=language)


@loader(name="retrieved", options=Options, files=lambda options: [find_data_file(options["data"], SAMPLE)])
def retrieval(options: Mapping[str, Any], required: Sequence[str]) -> Iterator[Item]:
    """Yield rows: facts `question`, `response` (if any), `reference`, `retrieved_contexts`."""
    columns = ["question", *required]
    if "answer" in columns:  # which is the reference here
        columns[columns.index("answer")] = "reference"
    items = read_questions(options["data"], language=options["language"], required=columns)
    return select_items(items, options["sample"])
