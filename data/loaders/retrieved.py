"""Questions with references and retrieved contexts, with or without responses: the shipped sample, or a file."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from data.options import Frozen
from data.records import Item, Loader
from data.sampling import Sampling, chosen
from data.sources import SAMPLES, given_file


class Options(Frozen):
    """Which rows."""

    data: str = Field("sample", description="`sample` (shipped) or a Parquet, CSV or JSONL file")
    language: Literal["", "en", "ru", "zh"] = Field("", description="only rows of this language; default: all")
    sample: Sampling = Sampling(method="all")


def load(options: Mapping[str, Any], required: Sequence[str]) -> Iterator[Item]:
    """Yield rows: facts `question`, `response` (if any), `reference`, `retrieved_contexts`."""
    from data import rag  # polars is not for who only checks a configuration

    needed = ("reference" if name == "answer" else name for name in required)  # what is expected is the reference
    frame = rag.load(options["data"], language=options["language"], required=("question", *needed))
    for number, row in chosen(frame, options["sample"]):
        facts = {name: row[name] for name in ("question", "response", "reference", "retrieved_contexts")}
        yield Item(
            "",
            row["reference"] or "",
            facts,
            language=row["language"],
            index=number,
            stated_language=row["stated_language"],
        )


def files(options: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the file that the rows come from."""
    yield given_file(options["data"], SAMPLES / "rag.jsonl")


UNIT = Loader(name="retrieved", version=1, load=load, options=Options, files=files)
