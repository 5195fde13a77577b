"""Units of measure and counting words that a calculation may pass between: `2 hours + 10 = 130`."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from data.measures import dimensions, unit
from metrics.cot.expressions import Token

_DIMENSIONS = dimensions()
*_MEASURES, _COUNTING = (frozenset(sizes.values()) for sizes in _DIMENSIONS)
_SIZES = (*_MEASURES, _COUNTING | {1})
LETTERS = frozenset("mghslLt")
"""Latin letters that are a unit where a space parts them from the number: `5 m`."""


def scales(units: frozenset[str]) -> Iterator[Mapping[str, Fraction]]:
    """Yield what each of these units is in one and the same unit, for every unit that most may be changed to."""
    most = max(len(units & dimension.keys()) for dimension in _DIMENSIONS)
    for dimension, sizes in zip(_DIMENSIONS, _SIZES, strict=True):
        shared = units & dimension.keys()
        if shared and len(shared) == most:
            for size in sorted(sizes):
                yield {word: Fraction(dimension[word], size) for word in shared}


def tenfold(sizes: Mapping[str, Fraction]) -> bool:
    """Say whether one unit of measure becomes another one, ten, a hundred … times as large or as small."""
    if len(sizes) != 1:
        return False
    ((word, size),) = sizes.items()
    fewer, more = sorted((size.numerator, size.denominator))
    return word not in _DIMENSIONS[-1] and fewer == 1 and str(more).rstrip("0") == "1"


_AND = frozenset({"and", "и", "又", "零"})


def joined(found: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens with each quantity in two units as a sum in brackets: `1 hour 15 minutes`.

    The brackets are marked, so that they can be told from written ones.
    """
    kinds = [token.kind for token in found]
    if kinds.count("word") <= 1 or kinds.count("number") <= 1:
        return found
    made: list[Token] = []
    at = 0
    while at < len(found):
        length = _compound(found, at) if found[at].kind == "number" else 0
        if not length:
            made.append(found[at])
            at += 1
            continue
        first, last = found[at], found[at + length - 1]
        number = found[at + length - 2]
        made += [
            Token("open", "(", first.start, first.start, mark="+"),
            *found[at : at + 2],
            Token("operator", "+", number.start, number.start),
            number,
            last,
            Token("close", ")", last.end, last.end, mark="+"),
        ]
        at += length
    return made


def _compound(found: Sequence[Token], at: int) -> int:
    """Return how many tokens from `at` on are one quantity in two units, the second less than one of the first."""
    length = 5 if at + 2 < len(found) and found[at + 2].text in _AND else 4
    parts = [*found[at : at + 2], *found[at + length - 2 : at + length]]
    if [token.kind for token in parts] != ["number", "word", "number", "word"]:
        return 0
    large, small, value = unit(parts[1].text), unit(parts[3].text), parts[2].value
    sizes = (d for d in _DIMENSIONS[:-1] if large in d and small in d)
    return length if value is not None and any(value * d[small] < d[large] for d in sizes) else 0
