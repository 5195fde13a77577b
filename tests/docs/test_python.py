"""docs/python.md: its blocks, one after another as a reader runs them, come to what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.pages import blocks_of

PAGE = "docs/python.md"
CALLS = """
import pathlib
assert run.samples["brief"].to_list() == [1.0, 1.0], run.samples
test_capitals()
assert (first.passed, second.exit_code) == (True, 0)
assert second.samples.height == 4
print({path.name for path in pathlib.Path().glob("*") if path.is_dir()} - {"__pycache__"})
"""
"""After all blocks: what they came to."""


@pytest.mark.slow
def test_every_block_runs_as_it_stands_in_the_order_of_the_page(tmp_path: Path) -> None:
    files = {
        "capitals.csv": "question,answer\nFrance,Paris\nFrance again,Paris\n",
        "old.csv": "".join(["question,score\n", *(f"q{n},{n % 2}\n" for n in range(60))]),
        "new.csv": "".join(["question,score\n", *(f"q{n},{n % 2}\n" for n in range(60))]),
        "words.txt": "ape\n",
    }
    program = []
    for block in blocks_of(PAGE):
        assert block.language == "python"
        if block.file:
            files[block.file] = block.text
        else:
            program.append(block.text)
    files["program.py"] = "\n".join([*program, CALLS])
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "160"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"Pass: \S+ passes: contains 50 and short 100 \(threshold 50\)", lines[0])
    assert "I do not know." in "".join(lines[1:14]), "the wrong reply, in a frame"
    assert lines[-1] == "{'artifacts'}"


def test_every_exported_name_is_on_the_page() -> None:
    import basic_control as bc
    from tests.conftest import TOP

    text = (TOP / PAGE).read_text(encoding="utf-8")
    types = {"Sample", "Verdict", "Run"}
    assert [name for name in bc.__all__ if f"bc.{name}" not in text and name not in types] == []
