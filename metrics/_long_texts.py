"""Long texts, divided so that a judge has room for all the claims of each part."""

from collections.abc import Sequence
from dataclasses import dataclass

from basic_control.data.sentences import split_sentences
from basic_control.metrics._reply_bounds import DOUBTFUL, hold_by_token

_SPREAD = 3.75
"""Characters that a judge may write for each of a text: claims repeat names, and have a form of their own."""
_LEAST = 100
"""Characters of the shortest part."""
_LARGEST = 4096
"""Tokens of a reply of which a part makes use, and the sentences that it has at most."""
_SENTENCES = 60
_CLAIM = 16
"""Tokens of text for a claim; a text of more claims than a list may have is long."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a text: whole sentences, from the `first` to the `last`, or a piece of one that is very long."""

    first: int
    last: int
    text: str


def is_short(text: str, max_claims: int, max_length: int, language: str) -> bool:
    """Return whether a list of claims, bounded in number and in characters of each, holds a text's."""
    lengths = [end - start for start, end in split_sentences(text)]
    claim = _CLAIM * hold_by_token(language)
    n_claims = sum(1 + int(length / claim) for length in lengths)
    return n_claims < max_claims and max(lengths, default=0) < max_length - DOUBTFUL


def divide(text: str, tokens: int, language: str) -> list[Passage]:
    """Return the passages of a text, in order, whose claims fit each into a reply of so many tokens."""
    # A list may have far more claims than a part has, whatever the judge's room.
    max_characters = max(_LEAST, int(min(tokens, _LARGEST) * hold_by_token(language) / _SPREAD))
    passages: list[Passage] = []
    start = 0
    for number, (begin, end) in enumerate(split_sentences(text), 1):
        if passages and end - start <= max_characters and number - passages[-1].first < _SENTENCES:
            passages[-1] = Passage(passages[-1].first, number, text[start:end])
            continue
        passages += [Passage(number, number, piece) for piece in _cut_sentence(text[begin:end], max_characters)]
        start = end - len(passages[-1].text)
    return passages


def _cut_sentence(sentence: str, max_characters: int) -> Sequence[str]:
    """Cut a sentence that is too long at white space, or anywhere if it has none; another is one piece."""
    pieces = []
    while len(sentence) > max_characters:
        end = sentence.rfind(" ", max_characters // 2, max_characters)
        if end < 0:
            end = max_characters
        pieces.append(sentence[:end])
        sentence = sentence[end:].lstrip()
    return [*pieces, sentence]
