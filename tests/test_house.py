"""How the tests themselves are laid out."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import TOP


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or ''}.{name.name}" for name in node.names)


def test_nothing_imports_from_a_test_file() -> None:
    hostile = TOP / "tests" / "fixtures"
    found = {
        f"{path.relative_to(TOP)}: {name}"
        for path in (TOP / "tests").rglob("*.py")
        if hostile not in path.parents
        for name in imported(path)
        if any(part.startswith("test_") for part in name.split(".")[:-1])
    }
    assert not found, "what tests share stands in tests/helpers"
