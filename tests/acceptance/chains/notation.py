"""How an expression is written out: operators, numbers, units, LaTeX."""

from dataclasses import dataclass, field, replace
from fractions import Fraction

from tests.acceptance.chains.sums import Expression, Number, Sum, by_share, leaves
from tests.acceptance.chains.words import Words

SLIP = "\ue000"  # stands before a planted slip until the text is whole: it tells the slip's line
STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}
BARE = ("", "frac", "pct")


@dataclass(frozen=True)
class Notation:
    """A style's way with formulas.

    `units`: none, result, after (in brackets after the result), all, or rates (all, with `$5/book`);
    `share`: how a percentage is written: sign, decimal or hundredth.
    """

    signs: dict[str, str] = field(default_factory=lambda: {"+": " + ", "-": " - ", "*": " * ", "/": " / "})
    equals: str = " = "
    units: str = "none"
    group: str = ""
    decimal: str = "."
    money: str = "${}"
    share: str = "sign"
    cents: bool = False
    latex: bool = False
    fraction: bool = False
    implicit: bool = False
    per: str = "/"


def digits(value: Fraction, way: Notation, *, cents: bool = False) -> str:
    """Write a number that ends after at most six decimals."""
    whole, rest = divmod(abs(value), 1)
    text = str(whole)
    if way.group and whole >= 1000:
        text = f"{whole:,}".replace(",", way.group)
    tail = f"{int(rest * 10**6):06d}".rstrip("0")
    if cents and tail:
        tail = tail.ljust(2, "0")
    return f"{'-' if value < 0 else ''}{text}{way.decimal + tail if tail else ''}"


def amount(number: Number, way: Notation, words: Words, *, unit: bool = True) -> str:
    """Write a number with its unit, or without."""
    slip = SLIP if number.wrong else ""
    if number.unit == "pct":
        return slip + _share(number.value, way)
    if number.unit == "frac":
        return slip + _fraction(number.value, way)
    text = digits(number.value, way, cents=way.cents and number.unit == "money")
    if not unit or number.unit == "":
        return slip + text
    if number.unit == "money":
        return slip + money(text, way)
    return slip + with_unit(text, number, way, words)


def money(text: str, way: Notation) -> str:
    """Write a sum of money."""
    if not way.latex:
        return way.money.format(text)
    name = way.money.replace("{}", "")
    if not name.strip().isalpha() and way.money.endswith("{}"):
        return (f"\\{name}" if name == "$" else name) + text
    return f"{text} \\text{{{name}}}" if name.startswith(" ") else f"{text}\\text{{{name}}}"


def with_unit(text: str, number: Number, way: Notation, words: Words) -> str:
    """Write a number's digits with the form of its unit that it asks for."""
    name = unit_name(number, words)
    gap = "" if words.language == "zh" else " "
    return f"{text} \\text{{{gap}{name}}}" if way.latex else f"{text}{gap}{name}"


def unit_name(number: Number, words: Words) -> str:
    """Inflect a unit for its number."""
    if number.unit == "money":
        return {"en": "dollars", "ru": "руб.", "zh": "元"}[words.language]
    forms = words.units[number.unit]
    if len(forms) == 1:
        return forms[0]
    if number.value.denominator != 1:
        return forms[1]
    if words.language == "en":
        return forms[0] if number.value == 1 else forms[1]
    last, two = int(number.value) % 10, int(number.value) % 100
    if last == 1 and two != 11:
        return forms[0]
    return forms[1] if 2 <= last <= 4 and two not in {12, 13, 14} else forms[2]


def _share(value: Fraction, way: Notation) -> str:
    if way.share == "decimal":
        return digits(value, way)
    hundred = digits(value * 100, way)
    if way.share == "hundredth":
        return f"\\frac{{{hundred}}}{{100}}" if way.latex and way.fraction else f"{hundred}/100"
    return hundred + ("\\%" if way.latex else "%")


def _fraction(value: Fraction, way: Notation) -> str:
    over, under = value.numerator, value.denominator
    return f"\\frac{{{over}}}{{{under}}}" if way.latex and way.fraction else f"{over}/{under}"


def write(node: Expression, way: Notation, words: Words) -> str:
    """Write an expression out, with units on its numbers where the style has them there."""
    if isinstance(node, Number):
        return amount(node, way, words, unit=way.units in {"all", "rates"})
    rated = _rated(node, way, words)
    if rated is not None:
        return rated
    if by_share(node):
        way = replace(way, share="sign")
    left, right = write(node.left, way, words), write(node.right, way, words)
    if node.sign == "/" and way.fraction:
        return f"\\frac{{{left}}}{{{right}}}"
    left = _bracket(left, node.left, node, way, right=False)
    if way.implicit and node.sign == "*" and isinstance(node.right, Sum) and STRENGTH[node.right.sign] == 1:
        return f"{left}({right})"
    return left + way.signs[node.sign] + _bracket(right, node.right, node, way, right=True)


def _rated(node: Sum, way: Notation, words: Words) -> str | None:
    """Write `$5/book × 3 books`: None where the style or the numbers give no occasion."""
    if way.units != "rates" or way.latex or node.sign != "*":
        return None
    if not isinstance(node.left, Number) or not isinstance(node.right, Number):
        return None
    if (node.left.unit == "money") == (node.right.unit == "money"):
        return None
    price, times = (node.left, node.right) if node.left.unit == "money" else (node.right, node.left)
    if times.unit in BARE:
        return None
    one = unit_name(Number(Fraction(1), times.unit), words)
    rate = f"{amount(price, way, words)}{way.per}{one}"
    both = (rate, amount(times, way, words)) if price is node.left else (amount(times, way, words), rate)
    return way.signs["*"].join(both)


def _bracket(text: str, node: Expression, above: Sum, way: Notation, *, right: bool) -> str:
    if isinstance(node, Number):
        compound = "/" in text and node.unit in BARE and not way.fraction
        return f"({text})" if compound and (right and above.sign == "/") else text
    if node.sign == "/" and way.fraction:
        return text
    weaker = STRENGTH[node.sign] < STRENGTH[above.sign]
    same = right and STRENGTH[node.sign] == STRENGTH[above.sign] and above.sign in "-/"
    grouped = right and above.sign == "*" and node.sign == "*"
    if not (weaker or same or grouped):
        return text
    return f"\\left({text}\\right)" if way.latex and len(list(leaves(node))) > 2 else f"({text})"


def equation(sides: list[Expression], way: Notation, words: Words) -> str:
    """Write the sides of an equation, the last with its unit as the style has it."""
    *before, last = sides
    assert isinstance(last, Number)
    return way.equals.join([*(write(side, way, words) for side in before), result(last, way, words)])


def result(number: Number, way: Notation, words: Words) -> str:
    """Write an equation's result."""
    if way.units == "after" and number.unit not in BARE:
        name = unit_name(number, words)
        bare = amount(number, way, words, unit=False)
        if way.latex:
            return f"{bare} \\text{{ ({name})}}"
        return f"{bare}（{name}）" if words.language == "zh" else f"{bare} ({name})"
    return amount(number, way, words, unit=way.units != "none")
