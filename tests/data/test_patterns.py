"""Patterns that wait to be compiled."""

import copy
import pickle
import re

import pytest

from basic_control.data.patterns import pattern


def test_a_pattern_does_what_the_compiled_one_does() -> None:
    given, waiting = re.compile(r"(?P<word>b+)\w", re.IGNORECASE), pattern(r"(?P<word>b+)\w", re.IGNORECASE)
    assert [m["word"] for m in waiting.finditer("aBBc bd")] == [m["word"] for m in given.finditer("aBBc bd")]
    assert waiting.sub("-", "xBa") == given.sub("-", "xBa") == "x-"
    assert (waiting.pattern, waiting.flags, waiting.groupindex) == (given.pattern, given.flags, given.groupindex)


def test_a_pattern_is_compiled_at_its_first_use_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, real = [], re.compile

    def compiling(text: str, flags: int) -> re.Pattern[str]:
        compiled.append(text)
        return real(text, flags)

    monkeypatch.setattr(re, "compile", compiling)
    waiting = pattern("a+")
    assert not compiled
    assert waiting.search("ba")
    assert waiting.search("aa")
    assert compiled == ["a+"]


def test_a_pattern_can_be_copied_and_sent_to_another_process() -> None:
    for one in (copy.deepcopy(pattern("a+")), pickle.loads(pickle.dumps(pattern("a+")))):  # noqa: S301 - our own bytes
        assert one.fullmatch("aaa")
