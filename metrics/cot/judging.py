"""Check of a calculation: its possible readings, and whether its sides agree in one of them."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from basic_control.data.measures import dimensions, unit
from basic_control.metrics.cot.expressions import Base, Exact, Token, decimals, evaluate, number

FLOAT_DIGITS = 14
"""Significant digits compared with a chain's result: later digits of a calculator are binary rounding."""

SIDES = 8
"""Maximum number of sides of an annotation with chained equations (`a = b = c`)."""

_PERCENT = Fraction(1, 100)
_MOST_ROUNDED = 6
_LONG = 40  # maximum number of tokens for converting units
_THOUSANDS = 3

Sides = Sequence[Sequence[Token]]


class CalculationCheck(NamedTuple):
    """The expected value, the given value, and whether the sides agree."""

    expected: Exact | None
    found: Exact | None
    right: bool


def judge(sides: Sides) -> CalculationCheck:
    """Recompute a calculation of two or more sides.

    A percent sign is a hundredth, and `x - 20%` is x reduced by a fifth; `100-20%=80%` is right too, with all of
    them read as plain numbers. If the sides do not agree as written, units of one measure are converted (`2 hours +
    10 = 130`), and `1,125` and `1.200` are read the other way.

    Source: SPEC 3; the readings beyond `x - 20%` are ours.
    """
    if len(sides) == 1 or len(sides) > SIDES:
        return CalculationCheck(evaluate(sides[0]), None, right=False)
    percents = any(token.kind == "percent" for side in sides for token in side)
    usual = partial(evaluate, base="running") if percents else evaluate
    values = [usual(side) for side in sides]
    right = _agree(sides, values, _PERCENT) or (values[0] is not None and _otherwise(sides, percents=percents))
    return CalculationCheck(values[0], values[-1], right)


def _otherwise(sides: Sides, *, percents: bool) -> bool:
    bases: tuple[Base, ...] = ("", "first") if percents else ()
    if percents:
        for base in bases:
            if _agree(sides, [evaluate(side, base=base) for side in sides], _PERCENT):
                return True
        if _agree(sides, [evaluate(side, percent=1) for side in sides], 1):
            return True
    if sum(map(len, sides)) > _LONG:
        return False
    read = ((other, [evaluate(side) for side in other]) for other in _readings(sides, tenfold_too=_converts(sides)))
    return any(_agree(other, values, _PERCENT, strict=True) for other, values in read)


def _converts(sides: Sides) -> bool:
    """Return whether an unwritten unit may be meant, ten, a hundred … times another one.

    True for `2 km + 500 = 2500` and `3 * 50 cents = 1.50`; but `26 * 2 = 520 years` is a slip, not decades.
    """
    first, last = evaluate(sides[0]), evaluate(sides[-1])
    if first is None or last is None or abs(Fraction(last)) < abs(Fraction(first)):
        return True
    named = _have_units(sides[0])
    return any(named) and not all(named) and any(token.text in {"+", "-"} for token in sides[0])


def _have_units(side: Sequence[Token]) -> list[bool]:
    """Return for each number of a side whether its unit is written."""
    return [bool(_unit(side, at)) for at, token in enumerate(side) if token.kind == "number"]


def _readings(sides: Sides, *, tenfold_too: bool) -> Iterator[Sides]:
    """Yield the sides with alternative values for their numbers: decimals for thousands, converted units."""
    if any(_ambiguous(token) for side in sides for token in side):
        yield [[_regrouped(token) if _ambiguous(token) else token for token in side] for side in sides]
    units = frozenset(name for side in sides for at in range(len(side)) if (name := _unit(side, at)))
    unlikely = _TENTH if any(_have_units(sides[0])) else _TENTH | _HUNDREDTH
    for sizes in _scales(units) if units else ():
        if _tenfold(sizes) and not (tenfold_too and unlikely.isdisjoint(sizes.values())):
            continue
        yield [[_scaled(side, at, sizes) for at in range(len(side))] for side in sides]


def _ambiguous(token: Token) -> bool:
    """Return whether a number may be thousands or a decimal: `1,125`, `1.200`."""
    whole, point, part = token.text.replace(",", ".").partition(".")
    return token.kind == "number" and bool(point) and len(part) == _THOUSANDS and 0 < len(whole) <= _THOUSANDS


def _regrouped(token: Token) -> Token:
    if "." in token.text:
        text = token.text.replace(".", "")
        return token._replace(value=int(text), text=text)
    text = token.text.replace(",", ".")
    return token._replace(value=Fraction(text), text=text)


def _unit(side: Sequence[Token], at: int) -> str:
    """Return the convertible unit of the number at `at`; '' if it has none."""
    token = side[at]
    if token.kind != "number":
        return ""
    follows = side[at + 1].text if at + 1 < len(side) and side[at + 1].kind == "word" else ""
    return unit(token.mark or follows)


def _scaled(side: Sequence[Token], at: int, sizes: Mapping[str, Fraction]) -> Token:
    """Return the token at `at` with its value in the unit of `sizes`."""
    token = side[at]
    size = sizes.get(_unit(side, at))
    return token if size is None or token.value is None else token._replace(value=token.value * size)


def _agree(sides: Sides, values: Sequence[Exact | None], percent: Exact, *, strict: bool = False) -> bool:
    """Return whether each side equals the first, rounded to its shown digits; `strict`: to decimals."""
    first = values[0]
    for side, value in zip(sides[1:], values[1:], strict=True):
        if first is None or value is None:
            return False
        if value == first:
            continue
        whole = strict and not any(decimals(token.text) for token in side if token.kind == "number")
        allowed = None if whole else _rounding(side, value, percent)
        if not allowed or abs(value - first) > max(allowed, abs(Fraction(first)) / 10**FLOAT_DIGITS):
            return False
    return True


def _rounding(side: Sequence[Token], value: Exact, percent: Exact) -> Fraction | None:
    """Return how far a side's rounded numbers may shift its value; None if none is rounded."""
    numeric = [at for at, token in enumerate(side) if token.kind == "number"]
    if len(numeric) == 1 and not any(t.kind in {"operator", "open"} and t.text != "-" for t in side):
        token = side[numeric[0]]
        written = number(token.text)
        if written and value:
            return _half(token) * abs(Fraction(value) / written)  # in hundredths, or another unit
        return _half(token) * (percent if any(t.kind == "percent" for t in side) else 1)
    shown = [at for at in numeric if side[at].value is not None and decimals(side[at].text)]
    if not shown or len(shown) > _MOST_ROUNDED:
        return None
    total = Fraction(0)
    for at in shown:
        token = side[at]
        moved = token._replace(value=(token.value or 0) + _half(token))
        other = evaluate([*side[:at], moved, *side[at + 1 :]])
        total += abs(Fraction(other) - value) if other is not None else 0
    return total or None


def _half(token: Token) -> Fraction:
    """Return half a unit of a number's last digit; a whole unit if dots show that it continues."""
    cut = token.text.endswith(("…", "."))
    return Fraction(1, (1 if cut else 2) * 10 ** decimals(token.text))


_DIMENSIONS = dimensions()
*_MEASURES, _COUNTING = (frozenset(sizes.values()) for sizes in _DIMENSIONS)
_SIZES = (*_MEASURES, _COUNTING | {1})
LETTERS = frozenset("mghslLt")
"""Latin letters that are a unit after a number and a space: `5 m`."""


def _scales(units: frozenset[str]) -> Iterator[Mapping[str, Fraction]]:
    """Yield conversion factors of these units to a common unit, for every unit that most can be converted to."""
    most = max(len(units & dimension.keys()) for dimension in _DIMENSIONS)
    for dimension, sizes in zip(_DIMENSIONS, _SIZES, strict=True):
        shared = units & dimension.keys()
        if shared and len(shared) == most:
            for size in sorted(sizes):
                yield {word: Fraction(dimension[word], size) for word in shared}


_TENTH = frozenset({Fraction(10), Fraction(1, 10)})
_HUNDREDTH = frozenset({Fraction(100), Fraction(1, 100)})
"""Nobody means dimes by `50 cents * 3 = 15`, nor cents by `50 * 3 = 1.50 dollars`; `500 + 1500 = 2 km` is said."""


def _tenfold(sizes: Mapping[str, Fraction]) -> bool:
    """Return whether two units of a measure differ by ten, a hundred … times."""
    if len(sizes) != 1:
        return False
    ((word, size),) = sizes.items()
    fewer, more = sorted((size.numerator, size.denominator))
    return word not in _DIMENSIONS[-1] and fewer == 1 and str(more).rstrip("0") == "1"


_AND = frozenset({"and", "и", "又", "零"})


def joined(found: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens with each quantity in two units as a sum in brackets: `1 hour 15 minutes`.

    The brackets are marked to distinguish them from written ones.
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
    """Return the number of tokens from `at` in a quantity of two units, the second less than one of the first."""
    length = 5 if at + 2 < len(found) and found[at + 2].text in _AND else 4
    parts = [*found[at : at + 2], *found[at + length - 2 : at + length]]
    if [token.kind for token in parts] != ["number", "word", "number", "word"]:
        return 0
    large, small, value = unit(parts[1].text), unit(parts[3].text), parts[2].value
    sizes = (d for d in _DIMENSIONS[:-1] if large in d and small in d)
    return length if value is not None and any(value * d[small] < d[large] for d in sizes) else 0
