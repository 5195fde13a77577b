"""Stop tokens that servers leak at a reply's end are taken off; those that a reply speaks of stay."""

import pytest

from basic_control.data.reading.ends import split_at_end
from tests.helpers.bounds import bounded, of_each_size

LEAKED = [
    "</s>",
    "<|im_end|>",
    "<|eot_id|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<｜end▁of▁sentence｜>",
    "<eos>",
    "[EOS]",
]
KEPT = [
    "The token is `</s>`.",
    'print("<|im_end|>")', "The <s>old</s>", "It was <s>ten</s> <s>nine</s>", "a <b> c", "x < y > z",
    "See [1]", "<data>RIVER</data>", "</s> ends it", "", "18",
]  # fmt: skip
HOSTILE = ["</s>", "<s></s>", "<|a|>", "<", " ", "[EOS]", "<|", " >"]


@pytest.mark.parametrize("token", LEAKED)
@pytest.mark.parametrize("text", ["18", "ОТВЕТ: Вера", "答案是 C。", "so:\n\n```\nx\n```"])
def test_a_leaked_token_is_taken_off(text: str, token: str) -> None:
    for tail in (token, f"\n{token}\n", f" {token}{token}", f"{token}\n\n<|im_end|> "):
        assert split_at_end(text + tail) == (text, tail)


@pytest.mark.parametrize("text", KEPT)
def test_what_a_reply_says_stays(text: str) -> None:
    assert split_at_end(text) == (text, "")


def test_a_leaked_opening_strikes_nothing_through() -> None:
    assert split_at_end("<s> 18</s>") == ("<s> 18", "</s>")
    assert split_at_end("an <s>old</s></s>") == ("an <s>old</s>", "</s>")


@pytest.mark.parametrize("unit", HOSTILE)
@of_each_size
def test_a_megabyte_takes_linear_time(unit: str, share: int) -> None:
    text = unit * (1_000_000 // share // len(unit))
    with bounded(3.0 / share):
        for one in (text, f"{text}</s>", f"18{text}>"):
            assert "".join(split_at_end(one)) == one
