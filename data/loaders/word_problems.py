"""Word problems with worked answers: the shipped sample, GSM8K, MGSM, and files of the same form."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from data.options import Frozen
from data.records import Item, Loader
from data.sampling import Sampling, chosen
from data.sources import SAMPLES, given_file


class Options(Frozen):
    """Which problems."""

    data: str = Field("sample", description="`sample` (shipped), `gsm8k`, `mgsm_en` … (fetched), or a file")
    language: Literal["", "en", "ru", "zh"] = Field("", description="of the questions; default: the data's own")
    sample: Sampling = Sampling()


def load(options: Mapping[str, Any], required: Sequence[str]) -> Iterator[Item]:
    """Yield problems: facts `question` and `reference` (its steps), the answer as a number."""
    from data import gsm8k  # polars is not for who only checks a configuration

    del required  # a problem has both
    frame = gsm8k.load(options["data"], language=options["language"])
    for number, row in chosen(frame, options["sample"]):
        facts = {"question": row["question"], "reference": row["reference"]}
        yield Item(
            "",
            row["answer"],
            facts,
            template=row["template"],
            language=row["language"],
            index=number,
            stated_language=row["stated_language"],
        )


def files(options: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the file that the problems come from."""
    yield given_file(options["data"], SAMPLES / "word_problems.jsonl")


UNIT = Loader(name="word_problems", version=1, load=load, options=Options, files=files)
