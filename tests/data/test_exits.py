"""The exit codes are named once, and said as they are."""

import re

from basic_control.data.exits import EXPLAINED, Exit


def test_help_says_the_code_of_every_end() -> None:
    assert [int(code) for code in re.findall(r"\d+", EXPLAINED)] == sorted(Exit)
    assert sorted(Exit) == [0, 1, 2, 3, 130]
