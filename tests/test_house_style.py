"""The check of the house's style finds what it says, and every file satisfies it."""

import textwrap
from pathlib import Path

import pytest

from tests.house import Check, check_product

PLAIN = '''
"""A module."""

def count_failures(replies: list[str], limit: int) -> int:
    """Count the replies that failed."""
    failures = [reply for reply in replies if not reply]
    return len(failures) if limit else 0

class Box:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box)
'''
WRONG = {
    "name": ["one = 1", "def count(found: int) -> int: ...", "for other in (): ...", "class Row:\n    rest: int"],
    "function": ["def listed() -> None: ...", "def _whole_rows() -> None: ...", "def missing(x: int) -> None: ..."],
    "walrus": ["if (a := 1) and (b := 2):\n    print(a, b)"],
    "nested": ["rows = [sum(n for n in row) for row in table]"],
    "conditional": [
        "rows = [1 if row else 2 for row in table]",
        "rows = [row for row in table if (1 if row else 0)]",
    ],
    "compound": ["a = 1 if b else 2\nc = 1 if d else 2", "a = 1 if b else 2\nc = [x for row in rows for x in row]"],
    "dense": ["a = [x for x in y]\n" * 4],
    "comments": ["a = 1\n" * 60],
    "steps": ["def count() -> None:\n" + "    a = 1\n" * 26],
    "record": ["class Row:\n" + "".join(f"    field_{n}: int\n" for n in range(16))],
}


def rules(text: str, name: str = "data/example.py") -> set[str]:
    """Return what a text is told to mend."""
    return {finding.rule for finding in Check(name, text).findings}


def test_plain_code_passes() -> None:
    assert rules(PLAIN) == set()


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in WRONG.items() for text in texts])
def test_what_is_not_plain_is_named(rule: str, text: str) -> None:
    assert rule in rules(text)


def test_what_is_allowed_passes() -> None:
    assert rules("rows = [row for row in (a if b else c)]") == set()
    assert rules("# why\n# how\n" + "a = 1  # for\n" * 60) == set()
    assert rules("a = 1  # noqa: F841\n" * 60) == {"comments"}
    assert rules(textwrap.dedent(WRONG["record"][0]), "config/settings.py") == set()


def test_the_check_satisfies_itself() -> None:
    path = Path(__file__).with_name("house.py")
    assert Check("tests/house.py", path.read_text("utf-8")).findings == []


def test_every_file_satisfies_the_check() -> None:
    findings = [
        f"{check.name}:{finding.line}: {finding.text}" for check in check_product() for finding in check.findings
    ]
    assert not findings, "\n".join(["Say it plainly (CONTRIBUTING):", *findings])
