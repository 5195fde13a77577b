"""The check of the house's style finds what it says, and its list of exempt files only shrinks."""

import textwrap
from pathlib import Path

import pytest

from tests.house import Check, check_product, read_list, write_list

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


def test_the_list_is_begun_once_and_then_only_shrinks(tmp_path: Path) -> None:
    """A file is known by its text, imports apart: it may move, and what it imports may."""
    path = tmp_path / "house.txt"
    first, second = Check("data/a.py", "one = 1"), Check("data/b.py", "found = 1")
    write_list([first, second, Check("data/c.py", "count = 1")], path)
    assert read_list(path) == {first.digest: "data/a.py", second.digest: "data/b.py"}
    moved, touched = Check("data/sub/a.py", "import ast\none = 1"), Check("data/b.py", "found = 2")
    write_list([moved, touched, Check("data/new.py", "told = 1")], path)
    assert read_list(path) == {first.digest: "data/sub/a.py"}


def test_what_a_change_touches_satisfies_the_check() -> None:
    digests = read_list()
    if digests is None:
        pytest.skip("there is no list yet: `python -m tests.house --write` begins it")
    failing = {check.digest: check for check in check_product() if check.findings}
    touched = [check for digest, check in failing.items() if digest not in digests]
    findings = [f"{check.name}:{finding.line}: {finding.text}" for check in touched for finding in check.findings]
    assert not findings, "\n".join(["A file that a change touches satisfies the check (CONTRIBUTING):", *findings])
    assert digests.keys() <= failing.keys(), "the list shrinks: `python -m tests.house --write`"
