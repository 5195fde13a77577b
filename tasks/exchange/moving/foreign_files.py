"""Files that a foreign configuration names: read within its folder, up to a size, never run or fetched."""

import glob
import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from basic_control.data.commands import format_command
from basic_control.data.errors import InputError
from basic_control.data.files import stream_rows
from basic_control.data.yaml_depth import check_depth
from basic_control.tasks.exchange.moving.variables import UntakenError, wrap

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
        UntakenError: it is neither, or holds too much.
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
        raise UntakenError(f"{name} is not valid YAML or JSON ({problem})") from error


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
            UntakenError: else.
        """
        if self.source is None:
            raise UntakenError(reason)
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
            UntakenError: there is none, it lies outside of the folder, or it is a program.
        """
        name = reference.removeprefix(SCHEME).removeprefix("./")
        if "://" in name:
            raise UntakenError("nothing is fetched")
        # `tests.py:make` names a function, `sheet.xlsx#2` a sheet.
        bare = name.rpartition(":")[0] or name
        if bare.lower().endswith(PROGRAMS) or name.lower().endswith(PROGRAMS):
            raise UntakenError("a program, which is not run")
        if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name:
            raise UntakenError("it lies outside of the configuration's folder")
        try:
            paths = [self.path / name]
            if "*" in name:
                paths = sorted(self.path.glob(name))[:MOST_FILES]
            top = self.path.resolve()
            is_inside = all(path.resolve().is_relative_to(top) for path in paths)
        except (OSError, ValueError) as error:
            raise UntakenError("not the name of a file") from error
        if not is_inside:
            raise UntakenError("it lies outside of the configuration's folder")
        files = [path for path in paths if path.is_file()]
        if not files:
            self.refuse(reference, "there is no such file")
        return files

    def read(self, reference: str) -> str:
        """Return the text of a file that a reference names.

        Raises:
            UntakenError: it is missing, or a program.
            InputError: it is too large, or no UTF-8.
        """
        return "\n".join(map(read_text, self.find(reference)))

    def load(self, reference: str) -> Any:
        """Return the value of a YAML or JSON file.

        Raises:
            UntakenError: it cannot be read as one.
        """
        text = self.read(reference)
        try:
            return parse(text, reference)
        except UntakenError as error:
            self.refuse(reference, str(error))
            raise


def read_text(path: Path) -> str:
    """Return a file's text.

    Raises:
        InputError: it is missing, too large, or no UTF-8.
    """
    try:
        _refuse_large(path)
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: it is not UTF-8 text.") from error


def _refuse_large(path: Path) -> None:
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path}: it is larger than {LARGEST:,} bytes.")


def read_value(path: Path) -> Any:
    """Return the value of a YAML or JSON file.

    Raises:
        InputError: it cannot be read as one.
    """
    text = read_text(path)
    try:
        return parse(text, path.name)
    except UntakenError as error:
        if _is_json_lines(text):
            raise InputError(
                f"{path}: found a JSON value on each line, as results have; expected another tool's configuration "
                f"or data set. Of results, `{format_command(f'gate {path}')}` gives a verdict on their scores, "
                f"and `{format_command(f'exchange read {path} --to FOLDER')}` scores their replies here."
            ) from error
        raise InputError(f"{path}: {error}; expected another tool's configuration or data set.") from error


def _is_json_lines(text: str) -> bool:
    """Return whether the first two lines are a JSON object each."""
    lines = [line for line in text.splitlines() if line.strip()][:2]
    try:
        return len(lines) > 1 and all(isinstance(json.loads(line), dict) for line in lines)
    except (ValueError, RecursionError):
        return False


def read_rows(path: Path) -> list[Any]:
    """Return the entries of a table or a list: of JSON, YAML, or what else has rows.

    Raises:
        InputError: it cannot be read as one.
    """
    if path.suffix.lower() in {".json", ".yaml", ".yml"}:
        return wrap(read_value(path))
    _refuse_large(path)
    return [*stream_rows(path)]


def load_configuration(path: Path) -> dict[str, Any]:
    """Return a foreign configuration.

    Raises:
        InputError: it is missing, too large, no YAML or JSON, or no mapping.
    """
    value = read_value(path)
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
