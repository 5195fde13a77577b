"""Load word problems: the shipped sample, GSM8K, MGSM, and files of the same form.

Every form becomes the same frame, one row a problem: `id`, `language`, `template` (of the sample's problems, else
''), `question`, `reference` (steps, and a last line `#### n`; that line alone where there is no reasoning),
`answer` (the final answer, as written) and `stated_language` (the row's own column, '' where it has none).
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from data.answers import final_number
from data.errors import InputError
from data.files import Row, rows
from data.patterns import pattern
from data.sources import locate

SAMPLE = Path(__file__).parent / "samples" / "word_problems.jsonl"
"""The sample that ships: the project's own problems, English and Russian."""

SCHEMA: Mapping[str, pl.DataType] = {
    "id": pl.String(),
    "language": pl.String(),
    "template": pl.String(),
    "question": pl.String(),
    "reference": pl.String(),
    "answer": pl.String(),
    "stated_language": pl.String(),
}
FORMS = "columns question and answer (GSM8K), or question and answer_number (MGSM)"
MGSM = ("question", "answer_number")
"""The columns of MGSM's own TSV, which has no header."""

_MARKER = "####"
_NAMED = pattern(r"(?:^|[_.-])(en|ru|zh)(?:[_.-]|$)")


def load(source: str | Path = "sample", *, language: str = "") -> pl.DataFrame:
    """Load a data set: `sample`, a fetched one (`gsm8k`, `mgsm_en` …), or a Parquet, JSONL, CSV or TSV file.

    A row's language is its column `language`, or what the file's name says (`mgsm_ru`), or what its letters say.
    `language` keeps only the rows of that language ('' keeps all).

    Raises:
        InputError: no such file, columns missing, a broken row, or nothing left.
    """
    path = SAMPLE if str(source) == "sample" else locate(source)
    raw = [*rows(path, unnamed=MGSM)]
    there = dict.fromkeys(name for row in raw for name in row)
    if not raw or "question" not in there or not {"answer", "answer_number"} & set(there):
        found = f"columns {', '.join(map(str, there))}" if raw else "no row"
        raise InputError(f"{path}: found {found}; expected {FORMS}.")
    problems = [_row(row, number, path) for number, row in enumerate(raw, 1)]
    kept = [row for row in problems if not language or row["language"] == language]
    if not kept:
        has = ", ".join(sorted({row["language"] for row in problems}))
        raise InputError(
            f"{path}: no problem in language {language!r} among {len(problems)} (there are: {has}). "
            "Set `language` to one that is there."
        )
    return pl.DataFrame(kept, schema=dict(SCHEMA), orient="row")


def _row(raw: Row, number: int, path: Path) -> dict[str, Any]:
    """Bring one row into the common form."""
    question, answer, value = raw.get("question"), raw.get("answer"), raw.get("answer_number")
    where = f"{path}, row {number}"
    if not isinstance(question, str) or not question.strip():
        raise InputError(f"{where}: found no question, expected a text in column question.")
    if isinstance(answer, str) and _MARKER in answer:
        reference = answer.strip()
    else:
        reference = f"{_MARKER} {_written(answer if value is None or value == '' else value)}"
    if _broken(question) or _broken(reference):
        raise InputError(f"{where}: found half a surrogate pair (\\ud800 … \\udfff), expected text.")
    found = final_number(reference)
    if found is None:
        raise InputError(
            f"{where}: found no final answer, expected a line `{_MARKER} number` in column answer, or a number "
            "in column answer_number."
        )
    return {
        "id": str(raw.get("id") or f"{path.name.partition('.')[0]}-{number:05d}"),
        "language": str(raw.get("language") or _language(question, path)),
        "template": str(raw.get("template") or ""),
        "question": question.strip(),
        "reference": reference,
        "answer": found.text,
        "stated_language": str(raw.get("language") or ""),
    }


def _broken(text: str) -> bool:
    """Say whether a text cannot be written down: JSON's escapes may spell half a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _written(value: Any) -> str:
    """Write a number of a column down: 18.0 as 18."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value).strip()


def _language(question: str, path: Path) -> str:
    if path != SAMPLE and (named := _NAMED.search(path.name.partition(".")[0])):
        return named[1]
    if re.search("[а-яё]", question, re.IGNORECASE):
        return "ru"
    return "zh" if re.search("[\u4e00-\u9fff]", question) else "en"
