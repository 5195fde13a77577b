"""Word problems with worked answers: the shipped sample, GSM8K, MGSM, and files of the same form."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import loader
from basic_control.data.draw import Sampling, select_items, select_language
from basic_control.data.errors import InputError
from basic_control.data.files import Row, read_file_rows
from basic_control.data.options import Frozen
from basic_control.data.patterns import pattern
from basic_control.data.public_sets import SAMPLES, find_data_file, locate
from basic_control.data.records import Item
from basic_control.data.values import write_value

SAMPLE = SAMPLES / "word_problems.jsonl"
"""The shipped sample: the project's own problems, English and Russian."""
FORMS = "columns question and answer (GSM8K), or question and answer_number (MGSM)"
MGSM = ("question", "answer_number")
"""The columns of MGSM's TSV, which has no header."""
_MARKER = "####"
# The language in a file's name: mgsm_ru.tsv
_LANGUAGE_NAME = pattern(r"(?:^|[_.-])(en|ru|zh)(?:[_.-]|$)")


class Options(Frozen):
    """Which problems."""

    data: str = Field("sample", description="`sample` (shipped), `gsm8k`, `mgsm_en` … (fetched), or a file")
    language: Literal["", "en", "ru", "zh"] = Field("", description="only questions in this language; default: all")
    sample: Sampling = Sampling()


def read_problems(source: str | Path = "sample", *, language: str = "") -> list[Item]:
    """Read a data set: `sample`, a fetched one (`gsm8k`, `mgsm_en` …), or a Parquet, JSONL, CSV or TSV file.

    A row's language is its column `language`, else that of the file name (`mgsm_ru`), else detected from its
    letters. `language` keeps only the rows of that language ('' keeps all). A reference is steps and a last line
    `#### n`; only that line if there is no reasoning.

    Raises:
        InputError: no such file, columns missing, a broken row, or nothing left.
    """
    path = locate(source, SAMPLE)
    raw = [*read_file_rows(path, unnamed=MGSM)]
    columns = dict.fromkeys(chain.from_iterable(raw))
    if "question" not in columns or columns.keys().isdisjoint(("answer", "answer_number")):
        contents = f"columns {', '.join(map(str, columns))}" if columns else "no row"
        raise InputError(f"{path}: found {contents}; expected {FORMS}.")
    items = [_build_item(row, f"{path}, row {number}", path) for number, row in enumerate(raw, 1)]
    return select_language(items, language, path)


def _build_item(raw: Row, where: str, path: Path) -> Item:
    from basic_control.data.numerals import find_numbers  # not needed for checking a configuration
    from basic_control.data.reading.numbers import read_number

    question, answer, value = raw.get("question"), raw.get("answer"), raw.get("answer_number")
    if not isinstance(question, str) or not question.strip():
        raise InputError(f"{where}: no question; expected text in column question.")
    # In a worked answer without its last line, any of its numbers may be the result.
    is_ambiguous = False
    if isinstance(answer, str) and _MARKER in answer:
        reference = answer.strip()
    else:
        if value is None or value == "":
            value = answer
        reference = _MARKER
        if value is not None:
            reference = f"{_MARKER} {write_value(value).strip()}"
        is_ambiguous = isinstance(value, str) and len(find_numbers(value)) > 1
    expected = None if is_ambiguous else read_number(reference).answer
    if expected is None or expected.value is None:
        raise InputError(
            f"{where}: no final answer; expected a line `{_MARKER} number` in column answer, or a number "
            "in column answer_number."
        )
    language = str(raw.get("language") or "")
    return Item(
        "",
        expected.text,
        {"question": question.strip(), "reference": reference},
        template=str(raw.get("template") or ""),
        language=language or _detect_language(question, path),
        stated_language=language,
    )


def _detect_language(question: str, path: Path) -> str:
    """Return the language that a file's name states, else that of a question's letters."""
    match = _LANGUAGE_NAME.search(path.name.partition(".")[0])
    if match and path != SAMPLE:
        return match[1]
    if re.search("[а-яё]", question, re.IGNORECASE):
        return "ru"
    if re.search("[\u4e00-\u9fff]", question):
        return "zh"
    return "en"


@loader(options=Options, files=lambda options: [find_data_file(options["data"], SAMPLE)])
def word_problems(options: Mapping[str, Any], _required: Sequence[str]) -> Iterator[Item]:
    """Yield problems: facts `question` and `reference` (its steps), the answer as a number."""
    return select_items(read_problems(options["data"], language=options["language"]), options["sample"])
