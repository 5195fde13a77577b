"""Check of a calculation: its possible readings, and whether its sides agree in one of them."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

from basic_control.data.measures import dimensions, unit
from basic_control.metrics.cot.expressions import Base, Exact, Token, count_decimals, evaluate, number

FLOAT_DIGITS = 14
"""Significant digits compared with a chain's result: later digits of a calculator are binary rounding."""

SIDES = 8
"""Maximum number of sides of an annotation with chained equations (`a = b = c`)."""

_PERCENT = Fraction(1, 100)
_MAXIMUM_ROUNDED = 6  # maximum number of rounded numbers of a side
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
    has_percent = any(map(_has_percent, sides))
    base: Base = ""
    if has_percent:
        base = "running"
    values = [evaluate(side, base=base) for side in sides]
    is_right = _agree(sides, values, _PERCENT)
    if not is_right and values[0] is not None:
        is_right = _agree_otherwise(sides, has_percent=has_percent)
    return CalculationCheck(values[0], values[-1], is_right)


def _agree_otherwise(sides: Sides, *, has_percent: bool) -> bool:
    """Return whether sides that do not agree as written agree in another reading."""
    if has_percent and _agree_on_percentages(sides):
        return True
    # Converting tries each unit of a measure, which long sides would make slow.
    if sum(map(len, sides)) > _LONG:
        return False
    for reading in _list_readings(sides, may_convert=_may_convert(sides)):
        values = [evaluate(side) for side in reading]
        if _agree(reading, values, _PERCENT, is_strict=True):
            return True
    return False


def _agree_on_percentages(sides: Sides) -> bool:
    """Return whether sides agree with percentages of nothing or of the first term, or read as plain numbers."""
    bases: tuple[Base, ...] = ("", "first")
    for base in bases:
        values = [evaluate(side, base=base) for side in sides]
        if _agree(sides, values, _PERCENT):
            return True
    plain_values = [evaluate(side, percent=1) for side in sides]
    return _agree(sides, plain_values, 1)


def _may_convert(sides: Sides) -> bool:
    """Return whether an unwritten unit may be meant, ten, a hundred … times another one.

    True for `2 km + 500 = 2500` and `3 * 50 cents = 1.50`; but `26 * 2 = 520 years` is a slip, not decades.
    """
    first, last = evaluate(sides[0]), evaluate(sides[-1])
    if first is None or last is None or abs(Fraction(last)) < abs(Fraction(first)):
        return True
    units = _list_units(sides[0])
    are_some_unwritten = any(units) and not all(units)
    return are_some_unwritten and any(token.text in {"+", "-"} for token in sides[0])


def _list_units(side: Sequence[Token]) -> list[str]:
    """Return the unit of each number of a side; '' for one without."""
    return [_find_unit(side, position) for position, token in enumerate(side) if token.kind == "number"]


def _list_readings(sides: Sides, *, may_convert: bool) -> Iterator[Sides]:
    """Yield the sides with alternative values for their numbers: decimals for thousands, converted units.

    Without `may_convert` no unit stands for one that is ten, a hundred … times as large.
    """
    if any(map(_is_ambiguous, chain.from_iterable(sides))):
        yield [[*map(_regroup, side)] for side in sides]
    units = frozenset(filter(None, chain.from_iterable(map(_list_units, sides))))
    if not units:
        return
    unlikely = _TENTH | _HUNDREDTH
    if any(_list_units(sides[0])):
        unlikely = _TENTH
    for sizes in _list_scales(units):
        is_likely = may_convert and unlikely.isdisjoint(sizes.values())
        if is_likely or not _is_tenfold(sizes):
            yield [_scale_side(side, sizes) for side in sides]


def _is_ambiguous(token: Token) -> bool:
    """Return whether a number may be thousands or a decimal: `1,125`, `1.200`."""
    whole, point, decimals = token.text.replace(",", ".").partition(".")
    return token.kind == "number" and bool(point) and len(decimals) == _THOUSANDS and 0 < len(whole) <= _THOUSANDS


def _regroup(token: Token) -> Token:
    """Return an ambiguous number read the other way, any other token as it is."""
    if not _is_ambiguous(token):
        return token
    if "." in token.text:
        text = token.text.replace(".", "")
        return token._replace(value=int(text), text=text)
    text = token.text.replace(",", ".")
    return token._replace(value=Fraction(text), text=text)


def _find_unit(side: Sequence[Token], position: int) -> str:
    """Return the convertible unit of the number at `position`; '' if it has none."""
    token = side[position]
    if token.kind != "number":
        return ""
    if token.mark:
        return unit(token.mark)
    if position + 1 < len(side) and side[position + 1].kind == "word":
        return unit(side[position + 1].text)
    return ""


def _scale_side(side: Sequence[Token], sizes: Mapping[str, Fraction]) -> list[Token]:
    """Return a side with the values of its numbers times the sizes of their units."""
    scaled_side: list[Token] = []
    for position, token in enumerate(side):
        size = sizes.get(_find_unit(side, position))
        if size is None or token.value is None:
            scaled_side.append(token)
        else:
            scaled_side.append(token._replace(value=token.value * size))
    return scaled_side


def _agree(sides: Sides, values: Sequence[Exact | None], percent: Exact, *, is_strict: bool = False) -> bool:
    """Return whether each side equals the first, rounded to its shown digits; `is_strict`: to decimals."""
    first = values[0]
    for side, value in zip(sides[1:], values[1:], strict=True):
        if first is None or value is None:
            return False
        if value == first:
            continue
        # A whole number is no rounded one where units are converted: 2 hours are not 121 minutes.
        if is_strict and not _has_decimals(side):
            return False
        rounding = _measure_rounding(side, value, percent)
        if not rounding or abs(value - first) > max(rounding, abs(Fraction(first)) / 10**FLOAT_DIGITS):
            return False
    return True


def _has_percent(side: Sequence[Token]) -> bool:
    return any(token.kind == "percent" for token in side)


def _has_decimals(side: Sequence[Token]) -> bool:
    return any(count_decimals(token.text) for token in side if token.kind == "number")


def _measure_rounding(side: Sequence[Token], value: Exact, percent: Exact) -> Fraction | None:
    """Return how far a side's rounded numbers may shift its value; None if none is rounded."""
    positions = [position for position, token in enumerate(side) if token.kind == "number"]
    if len(positions) == 1 and not any(token.kind in _OPERATIONS and token.text != "-" for token in side):
        return _measure_rounding_of_number(side, side[positions[0]], value, percent)
    decimal_positions = [
        position
        for position in positions
        if side[position].value is not None and count_decimals(side[position].text)
    ]
    if not decimal_positions or len(decimal_positions) > _MAXIMUM_ROUNDED:
        return None
    # The shifts add up, as errors of measurement do at their worst.
    total = Fraction(0)
    for position in decimal_positions:
        token = side[position]
        shifted = token._replace(value=(token.value or 0) + _halve_last_digit(token))
        shifted_value = evaluate([*side[:position], shifted, *side[position + 1 :]])
        if shifted_value is not None:
            total += abs(Fraction(shifted_value) - value)
    return total or None


_OPERATIONS = frozenset({"operator", "open"})


def _measure_rounding_of_number(side: Sequence[Token], token: Token, value: Exact, percent: Exact) -> Fraction:
    """Return how far rounding may shift the value of a side that is one number, with its sign and unit."""
    rounding = _halve_last_digit(token)
    written = number(token.text)
    if written and value:
        return rounding * abs(Fraction(value) / written)  # in hundredths, or another unit
    if _has_percent(side):
        return rounding * percent
    return rounding


def _halve_last_digit(token: Token) -> Fraction:
    """Return half a unit of a number's last digit; a whole unit if dots show that it continues."""
    last_digit = Fraction(1, 10 ** count_decimals(token.text))
    if token.text.endswith(("…", ".")):
        return last_digit
    return last_digit / 2


_DIMENSIONS = dimensions()
*_MEASURES, _COUNTING = (frozenset(sizes.values()) for sizes in _DIMENSIONS)
_SIZES = (*_MEASURES, _COUNTING | {1})


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
    position = 0
    while position < len(line_tokens):
        length = 0
        if kinds[position] == "number":
            length = _count_quantity_tokens(line_tokens, position)
        if length:
            joined_tokens += _bracket_sum(line_tokens[position : position + length])
            position += length
        else:
            joined_tokens.append(line_tokens[position])
            position += 1
    return joined_tokens


def _bracket_sum(quantity: Sequence[Token]) -> list[Token]:
    """Return a quantity in two units (number, unit, perhaps a joining word, number, unit) as a sum in brackets."""
    first, last = quantity[0], quantity[-1]
    second_number = quantity[-2]
    return [
        Token("open", "(", first.start, first.start, mark="+"),
        *quantity[:2],
        Token("operator", "+", second_number.start, second_number.start),
        second_number,
        last,
        Token("close", ")", last.end, last.end, mark="+"),
    ]


def _count_quantity_tokens(line_tokens: Sequence[Token], position: int) -> int:
    """Return how many tokens from `position` are a quantity in two units, the second less than one of the first."""
    length = 4
    # The two quantities may be joined by a word: 1 hour and 15 minutes.
    if position + 2 < len(line_tokens) and line_tokens[position + 2].text in _AND:
        length = 5
    parts = [*line_tokens[position : position + 2], *line_tokens[position + length - 2 : position + length]]
    if [token.kind for token in parts] != ["number", "word", "number", "word"]:
        return 0
    large_unit, small_unit, small_count = unit(parts[1].text), unit(parts[3].text), parts[2].value
    if small_count is None:
        return 0
    for dimension in _DIMENSIONS[:-1]:
        is_shared = large_unit in dimension and small_unit in dimension
        if is_shared and small_count * dimension[small_unit] < dimension[large_unit]:
            return length
    return 0
