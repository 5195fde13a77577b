"""Pages written by hand lack none of what the code has."""

import ast
import re
from collections.abc import Iterator

from basic_control.data.exits import MEANINGS as EXITS
from basic_control.data.exits import Exit
from tests.conftest import TOP


def page(name: str) -> str:
    return (TOP / "docs" / name).read_text(encoding="utf-8")


def test_the_page_of_commands_explains_each_exit_code_in_the_codes_words() -> None:
    text = page("commands.md")
    assert [*EXITS] == [*Exit]
    for code, (word, said) in EXITS.items():
        assert f"| {code.value} | {word} | {said} |" in text


def events() -> Iterator[tuple[str, str]]:
    """Yield the name of every event that the code tells, and where."""
    for room in ("flows", "tasks"):
        for path in sorted((TOP / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "log_event":
                    first = node.args[0] if node.args else None
                    if isinstance(first, ast.Constant):
                        yield str(first.value), path.relative_to(TOP).as_posix()


def test_every_event_stands_on_the_page_of_events() -> None:
    section = page("reference.md").partition("## Events")[2].partition("## Tables")[0]
    named = {
        name
        for cell in re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", cell)
    }
    told = dict(events())
    assert len(told) > 10
    assert {name: where for name, where in told.items() if name not in named} == {}
