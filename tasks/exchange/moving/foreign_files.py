"""Files that a foreign configuration names: read within its folder, up to a size, never run or fetched."""

import csv
import glob
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from basic_control.data.errors import InputError
from basic_control.data.yaml_depth import check_depth
from basic_control.tasks.exchange.moving.variables import wrap

LARGEST = 20_000_000
"""Bytes of a file."""
MOST_NODES = 2_000_000
"""Values in a file, those that YAML's aliases repeat counted each time."""
MOST_FILES = 1000
SCHEME = "file://"
LOOKED_AT = 200_000
"""Characters of a file that are looked at."""
# `prompts:` at the start of a line, or "prompts": as a key of JSON.
_PROMPTFOO = re.compile(r"""^(?:prompts|\s*"prompts")\s*:""", re.MULTILINE)
_PROMPTFOO_TOO = re.compile(r"""^(?:\s*")?(?:providers|targets|tests|defaultTest)"?\s*:""", re.MULTILINE)
_TASK = re.compile(r"""^task\s*:""", re.MULTILINE)
_TASK_TOO = re.compile(r"""^(?:doc_to_text|dataset_path|output_type)\s*:""", re.MULTILINE)
_DATASET = re.compile(r"""\b(?:actual_output|retrieval_context|user_input)\b""")
_OURS = re.compile(r"""^(?:suites|models|models_to_test|judges|store)\s*:""", re.MULTILINE)
PROGRAMS = (".js", ".mjs", ".cjs", ".ts", ".py", ".rb", ".go", ".sh", ".exe")


PROGRAM_TAG = "!"
"""How a value begins that YAML marks as a program's: `!function utils.make`; it is read as text."""


class _Loader(yaml.CSafeLoader):
    """YAML's safe loader, for which a tag of a tool's own makes text of a value."""


def _write_tag(_: yaml.CSafeLoader, suffix: str, node: yaml.Node) -> str:
    value = node.value if isinstance(node, yaml.ScalarNode) else ""
    return f"{PROGRAM_TAG}{suffix} {value}"


_Loader.add_multi_constructor(PROGRAM_TAG, _write_tag)


class UnreadableError(Exception):
    """A named file that is not read; the text says why."""


def count_nodes(value: Any) -> int:
    """Return how many values a value holds, itself included; counting ends above `MOST_NODES`."""
    count, due = 0, [value]
    while due and count <= MOST_NODES:
        node = due.pop()
        count += 1
        if isinstance(node, dict):
            due.extend(node.values())
        elif isinstance(node, list):
            due.extend(node)
    return count


def parse(text: str, name: str) -> Any:
    """Return the value of a YAML or JSON text.

    Raises:
        UnreadableError: it is neither, or holds too much.
    """
    try:
        check_depth(text)
        value = yaml.load(text, _Loader)  # noqa: S506 - a safe loader
        if count_nodes(value) > MOST_NODES:
            return None
        # Dates, sets and what else JSON cannot hold become text; a loop of aliases fails here.
        return json.loads(json.dumps(value, default=str))
    except (yaml.YAMLError, RecursionError, ValueError, TypeError) as error:
        problem = getattr(error, "problem", None) or str(error).splitlines()[0][:120]
        raise UnreadableError(f"{name} is not valid YAML or JSON ({problem})") from error


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a foreign configuration.

    With the configuration's own path as its `source`, a file that is not there or cannot be read is the user's
    mistake, and no part that is left out.
    """

    path: Path
    source: Path | None = None

    def refuse(self, reference: str, reason: str) -> None:
        """Refuse a file that is named and cannot be read.

        Raises:
            InputError: the configuration is this folder's `source`.
            UnreadableError: else.
        """
        if self.source is None:
            raise UnreadableError(reason)
        name = reference.removeprefix(SCHEME)
        raise InputError(f"{self.source}: {reference}: {reason}.{self._propose_file(Path(name))}")

    def _propose_file(self, name: Path) -> str:
        """Return a question after the file that is meant, by its path as it is typed; '' if none is near."""
        folder = (self.path / name).parent
        paths = [*folder.glob("*")]
        if not folder.is_dir():
            # A folder is misspelt where others hold a file of that name.
            paths = [*self.path.glob(f"*/{glob.escape(name.name)}")]
        files = {path.name: path.relative_to(self.path).as_posix() for path in paths if path.is_file()}
        for similar in get_close_matches(name.name, files, n=1):
            return f" Did you mean {files[similar]!r}?"
        return ""

    def find(self, reference: str) -> list[Path]:
        """Return the files that a reference such as `file://tests/*.yaml` names.

        Raises:
            UnreadableError: there is none, it lies outside of the folder, or it is a program.
        """
        name = reference.removeprefix(SCHEME).removeprefix("./")
        if "://" in name:
            raise UnreadableError("nothing is fetched")
        # `tests.py:make` names a function, `sheet.xlsx#2` a sheet.
        bare = name.rpartition(":")[0] or name
        if bare.lower().endswith(PROGRAMS) or name.lower().endswith(PROGRAMS):
            raise UnreadableError("a program, which is not run")
        if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name:
            raise UnreadableError("it lies outside of the configuration's folder")
        try:
            paths = [self.path / name]
            if "*" in name:
                paths = sorted(self.path.glob(name))[:MOST_FILES]
            top = self.path.resolve()
            is_inside = all(path.resolve().is_relative_to(top) for path in paths)
        except (OSError, ValueError) as error:
            raise UnreadableError("not the name of a file") from error
        if not is_inside:
            raise UnreadableError("it lies outside of the configuration's folder")
        files = [path for path in paths if path.is_file()]
        if not files:
            self.refuse(reference, "there is no such file")
        return files

    def read(self, reference: str) -> str:
        """Return the text of a file that a reference names.

        Raises:
            UnreadableError: it is missing, too large, a program, or no UTF-8.
        """
        paths = self.find(reference)
        try:
            return "\n".join(map(read_text, paths))
        except UnreadableError as error:
            self.refuse(reference, str(error))
            raise

    def load(self, reference: str) -> Any:
        """Return the value of a YAML or JSON file.

        Raises:
            UnreadableError: it cannot be read as one.
        """
        text = self.read(reference)
        try:
            return parse(text, reference)
        except UnreadableError as error:
            self.refuse(reference, str(error))
            raise

    def load_rows(self, path: Path) -> list[Any]:
        """Return the entries of a table or a list in the folder.

        Raises:
            UnreadableError: as `read_rows`.
        """
        try:
            return [*read_rows(path)]
        except UnreadableError as error:
            self.refuse(path.relative_to(self.path).as_posix(), str(error))
            raise


def read_text(path: Path) -> str:
    """Return a file's text.

    Raises:
        UnreadableError: it is missing, too large, or no UTF-8.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise UnreadableError(f"it is larger than {LARGEST:,} bytes")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UnreadableError(f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UnreadableError("it is not UTF-8 text") from error


def read_rows(path: Path) -> Iterator[Any]:
    """Yield the entries of a CSV, JSON Lines, JSON or YAML file.

    Raises:
        UnreadableError: it cannot be read as one.
    """
    text = read_text(path)
    kind = path.suffix.lower()
    if kind in {".csv", ".tsv"}:
        delimiter = "\t" if kind == ".tsv" else ","
        try:
            yield from csv.DictReader(io.StringIO(text), delimiter=delimiter, strict=True)
        except csv.Error as error:
            raise UnreadableError(f"not valid CSV ({error})") from error
    elif kind in {".jsonl", ".ndjson"}:
        yield from (parse(line, path.name) for line in text.splitlines() if line.strip())
    elif kind in {".json", ".yaml", ".yml"}:
        value = parse(text, path.name)
        yield from wrap(value)
    else:
        raise UnreadableError(f"files of the kind {kind or 'without an ending'} are not read")


def load_configuration(path: Path) -> dict[str, Any]:
    """Return a foreign configuration.

    Raises:
        InputError: it is missing, too large, no YAML or JSON, or no mapping.
    """
    try:
        value = parse(read_text(path), path.name)
    except UnreadableError as error:
        raise InputError(f"{path}: {error}; expected another tool's configuration.") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected `key: value` lines of another tool's configuration.")
    return value


def name_tool(path: Path) -> str:
    """Return the tool whose configuration or data set a file looks like; '' if none that is converted."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(LOOKED_AT)
    except (OSError, UnicodeDecodeError, ValueError):
        return ""
    if _PROMPTFOO.search(text) and _PROMPTFOO_TOO.search(text) and not _OURS.search(text):
        return "promptfoo"
    if '"testing_criteria"' in text:
        return "OpenAI Evals"
    if path.suffix.lower() not in {".yaml", ".yml"}:
        return "DeepEval or ragas" if _DATASET.search(text) else ""
    if _TASK.search(text) and _TASK_TOO.search(text) and not _OURS.search(text):
        return "lm-evaluation-harness"
    return ""
