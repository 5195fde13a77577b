"""Questions with passages and gold answers: the shipped sample, Natural Questions in its forms, NQ-open."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from data.options import Frozen
from data.records import Item, Loader
from data.sampling import Sampling, chosen
from data.sources import SAMPLES, given_file, locate


class Options(Frozen):
    """Which questions, and whether their passages are given."""

    data: str = Field("sample", description="`sample` (shipped), `nq` (fetched), or a file")
    language: Literal["", "en", "ru", "zh"] = Field("", description="only rows of this language; default: all")
    mode: Literal["passages", "closed_book"] = Field("passages", description="whether numbered passages are given")
    sample: Sampling = Sampling(n=5)


def load(options: Mapping[str, Any], required: Sequence[str]) -> Iterator[Item]:
    """Yield questions: facts `question`, `passages`, `short_answers`, `long_answer`, `gold_number`."""
    from data import nq  # polars is not for who only checks a configuration

    del required  # a question has all, or the file is refused
    given = options["mode"] == "passages"
    source = options["data"]
    frame = nq.load(
        source if source == "sample" else locate(source),
        language=options["language"],
        passages=given,
        seed=options["sample"]["seed"],
    )
    for number, row in chosen(frame, options["sample"]):
        facts = {
            "question": row["question"],
            "passages": row["passages"] if given else [],
            "short_answers": row["short_answers"],
            "long_answer": row["long_answer"],
            "gold_number": row["gold_number"],
        }
        answer = "; ".join(row["short_answers"] or []) or row["long_answer"] or ""
        yield Item(
            "",
            answer,
            facts,
            language=row["language"],
            index=number,
            stated_language=row["stated_language"],
        )


def files(options: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the file that the questions come from."""
    yield given_file(options["data"], SAMPLES / "nq.jsonl")


UNIT = Loader(name="natural_questions", version=1, load=load, options=Options, files=files)
