"""Public data sets that `basic-control fetch` downloads: addresses, hashes, and local paths."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from basic_control.data.commands import format_command
from basic_control.data.errors import InputError, find_folder_above

SAMPLES = Path(__file__).parent / "samples"
"""The shipped data."""


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A public file: its address, pinned to a commit; its SHA-256 and size in bytes; its licence.

    `blob` is git's id of the file (SHA-1 over `blob <length>`, a zero byte and the content), used to check a
    download of unknown SHA-256.
    """

    url: str
    sha256: str
    size: int
    licence: str
    blob: str = ""

    @property
    def suffix(self) -> str:
        """The file name's extension, which gives its format."""
        path = Path(self.url)
        if path.suffix != ".gz":
            return path.suffix
        return Path(path.stem).suffix + path.suffix


_DECLARED = json.loads(Path(__file__).with_name("public_sets.json").read_text(encoding="utf-8"))
SOURCES: Mapping[str, PublicFile] = {name: PublicFile(**file) for name, file in _DECLARED.items()}
GROUPS: Mapping[str, tuple[str, ...]] = {
    "mgsm": ("mgsm_en", "mgsm_ru", "mgsm_zh"),
    "begin": ("begin_dev", "begin_test"),
    "wice": ("wice_dev", "wice_test"),
    "llmbar": ("llmbar_natural", "llmbar_manual", "llmbar_neighbor", "llmbar_gptinst", "llmbar_gptout"),
}
"""Names for several files."""


def folder() -> Path:
    """Return the data folder: $BASIC_CONTROL_DATA, or basic-control in the user's data folder."""
    path = os.environ.get("BASIC_CONTROL_DATA")
    if path:
        return Path(path)
    return platformdirs.user_data_path("basic-control", appauthor=False)


def local_path(name: str) -> Path:
    """Return the local path of a public data set's file."""
    return folder() / f"{name}{SOURCES[name].suffix}"


def locate(source: str | Path, sample: Path | None = None) -> Path:
    """Return the file of a data set: the shipped sample or a fetched one by name, any other by path.

    Raises:
        InputError: there is no such file; the message says how to get it.
    """
    name = str(source)
    path = find_data_file(name, sample)
    if path.is_file():
        return path
    if name in SOURCES:
        raise InputError(
            f"data set {name!r} has not been fetched to {path}. Run: {format_command(f'fetch {name}')}"
        )
    if name in GROUPS:
        raise InputError(f"{name!r} is a group of data sets; expected one of {', '.join(GROUPS[name])}.")
    names = ", ".join(("sample", *SOURCES))
    # Of a path, the rule is said; a bare word may be meant for a set.
    folder = find_folder_above(path)
    hint = f" It exists from {folder}: run from there." if folder else ""
    if len(path.parts) > 1:
        hint = f" Paths are relative to where the run starts, {Path.cwd()}.{hint}"
    raise InputError(f"{path}: no such file.{hint} Give a file, or one of {names}.")


def find_data_file(source: str, sample: Path | None = None) -> Path:
    """Return the path of a data set's file, there or not: the sample, a fetched one, or the user's."""
    if source == "sample" and sample:
        return sample
    return local_path(source) if source in SOURCES else Path(source)


# The endings of a file of rows, such as .jsonl and .csv.gz.
_ENDINGS = re.compile(r"(?:\.(?:jsonl|ndjson|json|csv|tsv|parquet|yaml|yml))?(?:\.gz)?$", re.IGNORECASE)


def name_set(source: str) -> str:
    """Return a data set's name for the column `family`."""
    name = Path(source).name
    # A dot within a name, as in v3.1.jsonl, belongs to it.
    return _ENDINGS.sub("", name) or name
