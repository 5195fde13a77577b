"""Word problems with worked answers: the shipped sample, GSM8K, MGSM, and files of the same form."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from data.errors import InputError
from data.files import Row, rows
from data.options import Frozen
from data.patterns import pattern
from data.records import Item, Loader
from data.sampling import Sampling, chosen
from data.sources import SAMPLES, given_file, locate

SAMPLE = SAMPLES / "word_problems.jsonl"
"""The sample that ships: the project's own problems, English and Russian."""

FORMS = "columns question and answer (GSM8K), or question and answer_number (MGSM)"
MGSM = ("question", "answer_number")
"""The columns of MGSM's own TSV, which has no header."""

_MARKER = "####"
_NAMED = pattern(r"(?:^|[_.-])(en|ru|zh)(?:[_.-]|$)")


class Options(Frozen):
    """Which problems."""

    data: str = Field("sample", description="`sample` (shipped), `gsm8k`, `mgsm_en` … (fetched), or a file")
    language: Literal["", "en", "ru", "zh"] = Field("", description="of the questions; default: the data's own")
    sample: Sampling = Sampling()


def load(options: Mapping[str, Any], required: Sequence[str]) -> Iterator[Item]:
    """Yield problems: facts `question` and `reference` (its steps), the answer as a number."""
    del required  # a problem has both
    return chosen(problems(options["data"], language=options["language"]), options["sample"])


def problems(source: str | Path = "sample", *, language: str = "") -> list[Item]:
    """Read a data set: `sample`, a fetched one (`gsm8k`, `mgsm_en` …), or a Parquet, JSONL, CSV or TSV file.

    A row's language is its column `language`, or what the file's name says (`mgsm_ru`), or what its letters say.
    `language` keeps only the rows of that language ('' keeps all). A reference is steps and a last line `#### n`;
    that line alone where there is no reasoning.

    Raises:
        InputError: no such file, columns missing, a broken row, or nothing left.
    """
    path = SAMPLE if str(source) == "sample" else locate(source)
    raw = [*rows(path, unnamed=MGSM)]
    there = dict.fromkeys(name for row in raw for name in row)
    if not raw or "question" not in there or not {"answer", "answer_number"} & set(there):
        has = f"columns {', '.join(map(str, there))}" if raw else "no row"
        raise InputError(f"{path}: found {has}; expected {FORMS}.")
    found = [_problem(row, number, path) for number, row in enumerate(raw, 1)]
    kept = [one for one in found if not language or one.language == language]
    if not kept:
        has = ", ".join(sorted({one.language for one in found}))
        raise InputError(
            f"{path}: no problem in language {language!r} among {len(found)} (there are: {has}). "
            "Set `language` to one that is there."
        )
    return kept


def _problem(raw: Row, number: int, path: Path) -> Item:
    from data.answers import final_number  # not for who only checks a configuration

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
    return Item(
        "",
        found.text,
        {"question": question.strip(), "reference": reference},
        template=str(raw.get("template") or ""),
        language=str(raw.get("language") or _language(question, path)),
        stated_language=str(raw.get("language") or ""),
    )


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


def files(options: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the file that the problems come from."""
    yield given_file(options["data"], SAMPLE)


UNIT = Loader(name="word_problems", version=1, load=load, options=Options, files=files)
