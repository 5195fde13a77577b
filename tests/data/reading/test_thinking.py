"""Thinking is told from answers by tags that stand where models put them."""

import pytest

from basic_control.data.reading.thinking import split
from tests.helpers.bounds import bounded, of_each_size


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        ("42", "42", ""),
        ("  42\n", "  42\n", ""),
        ("<think>a</think>\n\n42\n", "42", "a"),
        ("<think>\na", "", "a"),
        ("a\nb\n</think>\n\n42", "42", "a\nb"),
        ("<THINK>a</Think>b\n<reasoning>c</reasoning>d", "b\nd", "a\nc"),
        ("<thinking>a</think> b</thinking>c", "c", "a</think> b"),
        ("<think></think>\n\nok", "ok", ""),
        ("the tag <think> opens", "the tag <think> opens", ""),
        ("`<think>` and `</think>` are tags", "`<think>` and `</think>` are tags", ""),
        ("<data>think</data>", "<data>think</data>", ""),
        ("", "", ""),
    ],
)
def test_split(text: str, answer: str, reasoning: str) -> None:
    assert split(text) == (answer, reasoning)


@pytest.mark.parametrize(
    "unit", ["x <think> ", "<think>\n", "</think>", " ", "<think", "\n   ", "</think>   x", "<think></think>", "<"]
)
@of_each_size
def test_a_megabyte_of_anything_takes_bounded_time(unit: str, share: int) -> None:
    with bounded(5 / share):
        split(unit * (1_000_000 // share // len(unit)))
