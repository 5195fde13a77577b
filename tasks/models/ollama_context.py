"""The context that an Ollama server reads a prompt in: what is longer, it cuts without a word."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from basic_control.data.records import Call

OLD_DEFAULT, DEFAULT = 2048, 4096
"""Tokens of context without `num_ctx`: of servers before `_SINCE`, and at least of later ones."""
_SINCE = (0, 6, 7)
_ANSWER = 512
"""Tokens that an answer without a limit is given."""
_PER_MESSAGE = 12
_CHARACTERS = 3.0
"""Characters of ASCII in a token, at least on average; any other character may be one by itself."""
_TO_A_WORD = 1.3
_POWERS = tuple(2**power for power in range(11, 21))
"""Contexts that a server may have by default."""
_MARGIN = 8
"""Tokens that a server keeps of the beginning of a prompt that it halves."""
_TOO_MANY = 1.75
"""How many times the tokens that a server read an estimate of ours comes to only if it did not read all."""


def estimate_tokens(call: Call) -> int:
    """Return at least the tokens of a call's prompt and of the longest answer to it."""
    limit = call.parameters.get("num_predict") or call.parameters.get("max_tokens") or 0
    prompt = _estimate_messages(call) + _PER_MESSAGE * len(call.messages)
    return prompt + (limit if limit > 0 else _ANSWER)


def _estimate_messages(call: Call) -> int:
    return sum(_estimate_text(message.content) for message in call.messages)


def _estimate_text(text: str) -> int:
    n_ascii = sum(character.isascii() for character in text)
    by_characters = n_ascii / _CHARACTERS + (len(text) - n_ascii)
    return int(max(by_characters, _TO_A_WORD * len(text.split()))) + 1


def read_default(version: str) -> int:
    """Return the least context that a server of a version, such as 0.12.6, has by default."""
    # The first three of 0.12.6-rc1, say.
    numbers = tuple(map(int, re.findall(r"\d+", version)[:3]))
    if numbers and numbers < _SINCE:
        return OLD_DEFAULT
    return DEFAULT


def is_prompt_cut(call: Call, tokens_in: int | None, num_ctx: int | None) -> bool:
    """Return whether a server cut a prompt of which it read so many tokens, in a context of `num_ctx`.

    Earlier servers cut it to the context, later ones to half of it. Without `num_ctx` the context may be any power
    of two.
    """
    if not tokens_in:
        return False
    contexts = _POWERS
    if num_ctx:
        contexts = (num_ctx,)
    if tokens_in in contexts:
        return True
    is_half = any(0 <= tokens_in - context // 2 <= _MARGIN for context in contexts)
    return is_half and _estimate_messages(call) > _TOO_MANY * tokens_in


@dataclass(slots=True)
class Context:
    """The context that a model is asked with: the default as long as that holds every call, else a power of two.

    `window`: the largest that the model has; 0: not known.
    """

    default: int = DEFAULT
    size: int = 0
    window: int = 0

    def expect(self, calls: Iterable[Call]) -> None:
        """Make room for the longest of some calls, and for their answers."""
        for call in calls:
            self.hold(estimate_tokens(call))

    def hold(self, n_tokens: int) -> None:
        """Make room for so many tokens."""
        if n_tokens > max(self.default, self.size):
            self.enlarge(n_tokens)

    def enlarge(self, n_tokens: int) -> None:
        """Ask for a context of at least so many tokens, whatever the server's default is said to be."""
        self.size = max(self.size, 1 << (n_tokens - 1).bit_length())

    @property
    def num_ctx(self) -> int | None:
        """The context to ask for; None if the server's default is enough."""
        return min(self.size, self.window or self.size) or None
