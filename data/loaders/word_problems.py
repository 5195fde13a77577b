"""Word problems with worked answers: the shipped sample, GSM8K, MGSM, and files of the same form."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import loader
from basic_control.data.draw import Sampling, select_items
from basic_control.data.errors import InputError
from basic_control.data.files import Row, read_file_rows
from basic_control.data.options import Frozen
from basic_control.data.patterns import pattern
from basic_control.data.records import Item
from basic_control.data.sources import SAMPLES, given_file, locate

SAMPLE = SAMPLES / "word_problems.jsonl"
"""The shipped sample: the project's own problems, English and Russian."""
FORMS = "columns question and answer (GSM8K), or question and answer_number (MGSM)"
MGSM = ("question", "answer_number")
"""The columns of MGSM's TSV, which has no header."""
_MARKER = "####"
_NAMED = pattern(r"(?:^|[_.-])(en|ru|zh)(?:[_.-]|$)")


class Options(Frozen):
    """Which problems."""

    data: str = Field("sample", description="`sample` (shipped), `gsm8k`, `mgsm_en` … (fetched), or a file")
    language: Literal["", "en", "ru", "zh"] = Field("", description="only questions in this language; default: all")
    sample: Sampling = Sampling()


def problems(source: str | Path = "sample", *, language: str = "") -> list[Item]:
    """Read a data set: `sample`, a fetched one (`gsm8k`, `mgsm_en` …), or a Parquet, JSONL, CSV or TSV file.

    A row's language is its column `language`, else that of the file name (`mgsm_ru`), else detected from its
    letters. `language` keeps only the rows of that language ('' keeps all). A reference is steps and a last line
    `#### n`; only that line if there is no reasoning.

    Raises:
        InputError: no such file, columns missing, a broken row, or nothing left.
    """
    path = SAMPLE if str(source) == "sample" else locate(source)
    raw = [*read_file_rows(path, unnamed=MGSM)]
    there = dict.fromkeys(name for row in raw for name in row)
    if not raw or "question" not in there or not {"answer", "answer_number"} & set(there):
        has = f"columns {', '.join(map(str, there))}" if raw else "no row"
        raise InputError(f"{path}: found {has}; expected {FORMS}.")
    found = [_problem(row, f"{path}, row {number}", path) for number, row in enumerate(raw, 1)]
    kept = [one for one in found if not language or one.language == language]
    if not kept:
        has = ", ".join(sorted({one.language for one in found}))
        raise InputError(
            f"{path}: no problems in language {language!r} among {len(found)} (found: {has}). "
            "Set `language` to one of these."
        )
    return kept


def _problem(raw: Row, where: str, path: Path) -> Item:
    from basic_control.data.numerals import find_numbers  # not needed for checking a configuration
    from basic_control.data.reading.numbers import read_number

    question, answer, value = raw.get("question"), raw.get("answer"), raw.get("answer_number")
    if not isinstance(question, str) or not question.strip():
        raise InputError(f"{where}: no question; expected text in column question.")
    several = False  # in a worked answer without its last line, any of its numbers may be the result
    if isinstance(answer, str) and _MARKER in answer:
        reference = answer.strip()
    else:
        told = answer if value is None or value == "" else value
        told = int(told) if isinstance(told, float) and told.is_integer() else told
        reference = f"{_MARKER} {'' if told is None else str(told).strip()}"
        several = isinstance(told, str) and len(find_numbers(told)) > 1
    found = None if several else read_number(reference).answer
    if found is None or found.value is None:
        raise InputError(
            f"{where}: no final answer; expected a line `{_MARKER} number` in column answer, or a number "
            "in column answer_number."
        )
    stated = str(raw.get("language") or "")
    return Item(
        "",
        found.text,
        {"question": question.strip(), "reference": reference},
        template=str(raw.get("template") or ""),
        language=stated or _language(question, path),
        stated_language=stated,
    )


def _language(question: str, path: Path) -> str:
    if path != SAMPLE and (named := _NAMED.search(path.name.partition(".")[0])):
        return named[1]
    if re.search("[а-яё]", question, re.IGNORECASE):
        return "ru"
    return "zh" if re.search("[\u4e00-\u9fff]", question) else "en"


@loader(options=Options, files=lambda options: [given_file(options["data"], SAMPLE)])
def word_problems(options: Mapping[str, Any], _required: Sequence[str]) -> Iterator[Item]:
    """Yield problems: facts `question` and `reference` (its steps), the answer as a number."""
    return select_items(problems(options["data"], language=options["language"]), options["sample"])
