"""Check of a calculation: its possible readings, and whether its sides agree in one of them."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from basic_control.data.measures import dimensions, unit
from basic_control.metrics.cot.expressions import Base, Exact, Token, count_decimals, evaluate, number

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
    stated: Exact | None
    right: bool


def recompute(sides: Sides) -> CalculationCheck:
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
    right = _agree(sides, values, _PERCENT) or (
        values[0] is not None and _agree_otherwise(sides, percents=percents)
    )
    return CalculationCheck(values[0], values[-1], right)


def _agree_otherwise(sides: Sides, *, percents: bool) -> bool:
    bases: tuple[Base, ...] = ("", "first")
    if percents:
        for base in bases:
            values = [evaluate(side, base=base) for side in sides]
            if _agree(sides, values, _PERCENT):
                return True
        if _agree(sides, [evaluate(side, percent=1) for side in sides], 1):
            return True
    # Converting tries each unit of a measure, which long sides would make slow.
    if sum(map(len, sides)) > _LONG:
        return False
    for reading in _list_readings(sides, tenfold_too=_may_convert(sides)):
        values = [evaluate(side) for side in reading]
        if _agree(reading, values, _PERCENT, strict=True):
            return True
    return False


def _may_convert(sides: Sides) -> bool:
    """Return whether an unwritten unit may be meant, ten, a hundred … times another one.

    True for `2 km + 500 = 2500` and `3 * 50 cents = 1.50`; but `26 * 2 = 520 years` is a slip, not decades.
    """
    first, last = evaluate(sides[0]), evaluate(sides[-1])
    if first is None or last is None or abs(Fraction(last)) < abs(Fraction(first)):
        return True
    has_units = _have_units(sides[0])
    return any(has_units) and not all(has_units) and any(token.text in {"+", "-"} for token in sides[0])


def _have_units(side: Sequence[Token]) -> list[bool]:
    """Return for each number of a side whether its unit is written."""
    return [bool(_find_unit(side, at)) for at, token in enumerate(side) if token.kind == "number"]


def _list_readings(sides: Sides, *, tenfold_too: bool) -> Iterator[Sides]:
    """Yield the sides with alternative values for their numbers: decimals for thousands, converted units."""
    if any(_is_ambiguous(token) for side in sides for token in side):
        yield [[*map(_regroup, side)] for side in sides]
    names = [_find_unit(side, at) for side in sides for at in range(len(side))]
    units = frozenset(filter(None, names))
    unlikely = _TENTH if any(_have_units(sides[0])) else _TENTH | _HUNDREDTH
    for sizes in _list_scales(units) if units else ():
        if _is_tenfold(sizes) and not (tenfold_too and unlikely.isdisjoint(sizes.values())):
            continue
        yield [_scale_side(side, sizes) for side in sides]


def _is_ambiguous(token: Token) -> bool:
    """Return whether a number may be thousands or a decimal: `1,125`, `1.200`."""
    whole, point, part = token.text.replace(",", ".").partition(".")
    return token.kind == "number" and bool(point) and len(part) == _THOUSANDS and 0 < len(whole) <= _THOUSANDS


def _regroup(token: Token) -> Token:
    """Return an ambiguous number read the other way, any other token as it is."""
    if not _is_ambiguous(token):
        return token
    if "." in token.text:
        text = token.text.replace(".", "")
        return token._replace(value=int(text), text=text)
    text = token.text.replace(",", ".")
    return token._replace(value=Fraction(text), text=text)


def _find_unit(side: Sequence[Token], at: int) -> str:
    """Return the convertible unit of the number at `at`; '' if it has none."""
    token = side[at]
    if token.kind != "number":
        return ""
    follows = side[at + 1].text if at + 1 < len(side) and side[at + 1].kind == "word" else ""
    return unit(token.mark or follows)


def _scale(side: Sequence[Token], at: int, sizes: Mapping[str, Fraction]) -> Token:
    """Return the token at `at` with its value in the unit of `sizes`."""
    token = side[at]
    size = sizes.get(_find_unit(side, at))
    return token if size is None or token.value is None else token._replace(value=token.value * size)


def _scale_side(side: Sequence[Token], sizes: Mapping[str, Fraction]) -> list[Token]:
    return [_scale(side, at, sizes) for at in range(len(side))]


def _agree(sides: Sides, values: Sequence[Exact | None], percent: Exact, *, strict: bool = False) -> bool:
    """Return whether each side equals the first, rounded to its shown digits; `strict`: to decimals."""
    first = values[0]
    for side, value in zip(sides[1:], values[1:], strict=True):
        if first is None or value is None:
            return False
        if value == first:
            continue
        # A whole number is no rounded one where units are converted: 2 hours are not 121 minutes.
        whole = strict and not any(count_decimals(token.text) for token in side if token.kind == "number")
        allowed = None if whole else _measure_rounding(side, value, percent)
        if not allowed or abs(value - first) > max(allowed, abs(Fraction(first)) / 10**FLOAT_DIGITS):
            return False
    return True


def _measure_rounding(side: Sequence[Token], value: Exact, percent: Exact) -> Fraction | None:
    """Return how far a side's rounded numbers may shift its value; None if none is rounded."""
    numeric = [at for at, token in enumerate(side) if token.kind == "number"]
    if len(numeric) == 1 and not any(t.kind in {"operator", "open"} and t.text != "-" for t in side):
        token = side[numeric[0]]
        written = number(token.text)
        if written and value:
            return _halve_last_digit(token) * abs(Fraction(value) / written)  # in hundredths, or another unit
        return _halve_last_digit(token) * (percent if any(t.kind == "percent" for t in side) else 1)
    decimal_indices = [at for at in numeric if side[at].value is not None and count_decimals(side[at].text)]
    if not decimal_indices or len(decimal_indices) > _MOST_ROUNDED:
        return None
    # The shifts add up, as errors of measurement do at their worst.
    total = Fraction(0)
    for at in decimal_indices:
        token = side[at]
        shifted = token._replace(value=(token.value or 0) + _halve_last_digit(token))
        shifted_value = evaluate([*side[:at], shifted, *side[at + 1 :]])
        total += abs(Fraction(shifted_value) - value) if shifted_value is not None else 0
    return total or None


def _halve_last_digit(token: Token) -> Fraction:
    """Return half a unit of a number's last digit; a whole unit if dots show that it continues."""
    cut = token.text.endswith(("…", "."))
    return Fraction(1, (1 if cut else 2) * 10 ** count_decimals(token.text))


_DIMENSIONS = dimensions()
*_MEASURES, _COUNTING = (frozenset(sizes.values()) for sizes in _DIMENSIONS)
_SIZES = (*_MEASURES, _COUNTING | {1})
LETTERS = frozenset("mghslLt")
"""Latin letters that are a unit after a number and a space: `5 m`."""


def _list_scales(units: frozenset[str]) -> Iterator[Mapping[str, Fraction]]:
    """Yield conversion factors of these units to a common unit, for every unit that most can be converted to."""
    maximum = max(len(units & dimension.keys()) for dimension in _DIMENSIONS)
    for dimension, sizes in zip(_DIMENSIONS, _SIZES, strict=True):
        shared = units & dimension.keys()
        if shared and len(shared) == maximum:
            for size in sorted(sizes):
                yield {word: Fraction(dimension[word], size) for word in shared}


_TENTH = frozenset({Fraction(10), Fraction(1, 10)})
_HUNDREDTH = frozenset({Fraction(100), Fraction(1, 100)})
"""Nobody means dimes by `50 cents * 3 = 15`, nor cents by `50 * 3 = 1.50 dollars`; `500 + 1500 = 2 km` is said."""


def _is_tenfold(sizes: Mapping[str, Fraction]) -> bool:
    """Return whether two units of a measure differ by ten, a hundred … times."""
    if len(sizes) != 1:
        return False
    ((word, size),) = sizes.items()
    smaller, larger = sorted((size.numerator, size.denominator))
    return word not in _DIMENSIONS[-1] and smaller == 1 and str(larger).rstrip("0") == "1"


_AND = frozenset({"and", "и", "又", "零"})


def join_quantities(line_tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens with each quantity in two units as a sum in brackets: `1 hour 15 minutes`.

    The brackets are marked to distinguish them from written ones.
    """
    kinds = [token.kind for token in line_tokens]
    if kinds.count("word") <= 1 or kinds.count("number") <= 1:
        return line_tokens
    joined_tokens: list[Token] = []
    at = 0
    while at < len(line_tokens):
        length = _count_quantity_tokens(line_tokens, at) if line_tokens[at].kind == "number" else 0
        if not length:
            joined_tokens.append(line_tokens[at])
            at += 1
            continue
        first, last = line_tokens[at], line_tokens[at + length - 1]
        second_number = line_tokens[at + length - 2]
        joined_tokens += [
            Token("open", "(", first.start, first.start, mark="+"),
            *line_tokens[at : at + 2],
            Token("operator", "+", second_number.start, second_number.start),
            second_number,
            last,
            Token("close", ")", last.end, last.end, mark="+"),
        ]
        at += length
    return joined_tokens


def _count_quantity_tokens(line_tokens: Sequence[Token], at: int) -> int:
    """Return the number of tokens from `at` in a quantity of two units, the second less than one of the first."""
    # The two quantities may be joined by a word: 1 hour and 15 minutes.
    length = 5 if at + 2 < len(line_tokens) and line_tokens[at + 2].text in _AND else 4
    parts = [*line_tokens[at : at + 2], *line_tokens[at + length - 2 : at + length]]
    if [token.kind for token in parts] != ["number", "word", "number", "word"]:
        return 0
    large, small, value = unit(parts[1].text), unit(parts[3].text), parts[2].value
    sizes = (d for d in _DIMENSIONS[:-1] if large in d and small in d)
    return length if value is not None and any(value * d[small] < d[large] for d in sizes) else 0
