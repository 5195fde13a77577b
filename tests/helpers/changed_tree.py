"""The project as it would be with some files added or changed: links to all others, in a folder of the test's."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import TOP


def changed_tree(folder: Path, files: Mapping[str, str]) -> Path:
    """Return a tree of links to the project in which some files, by their paths in it, have these texts."""
    _link(folder, TOP, files)
    return folder


def _link(folder: Path, original: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    inside: dict[str, dict[str, str]] = {}
    for path, text in files.items():
        first, _, rest = path.partition("/")
        if rest:
            inside.setdefault(first, {})[rest] = text
        else:
            (folder / first).write_text(text, encoding="utf-8")
            inside[first] = {}
    for one in original.iterdir():
        if one.name not in inside and one.name[0] != "." and one.name != "__pycache__":
            (folder / one.name).symlink_to(one)
    for name, texts in inside.items():
        if texts:
            _link(folder / name, original / name, texts)


def run_in(tree: Path, *arguments: str) -> str:
    """Return what Python prints in a tree, whose own modules it imports."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tree, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
