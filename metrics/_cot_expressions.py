"""Arithmetic as a chain of thought writes it: tokens, and exact values. Parsed, never evaluated by Python."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import gcd
from typing import Literal, NamedTuple

from data.numerals import MOST_DIGITS, exact, narrow

Exact = int | Fraction
"""An exact number: an int where it is whole (they hash and compare alike, and ints are fast)."""

Kind = Literal["number", "operator", "open", "close", "equals", "percent", "word", "break"]

MOST_TOKENS = 300
"""An expression with more tokens is not read."""

DEEPEST = 50
"""Brackets nested more deeply are not read."""


class Token(NamedTuple):
    """A token, where it begins and ends in the text it was read from, and the value of a number."""

    kind: Kind
    text: str
    start: int
    end: int
    value: Exact | None = None


class Operand(NamedTuple):
    """A number of an expression as it is written, and the values that it may be known by.

    `20%` may be known as 20 or 0.2, the 5 of `-5` as 5 or -5, and both numbers of `1/3` as 1/3.
    """

    text: str
    value: Exact
    known_by: tuple[Exact, ...]


_SIGNS = str.maketrans({
    **dict.fromkeys("×·∙⋅•✕✖＊∗", "*"), **dict.fromkeys("÷∶⁄／", "/"), **dict.fromkeys("−–—‐‑－", "-"),
    **dict.fromkeys("[{", "("), **dict.fromkeys("]}", ")"), "\u00a0": " ", "\u202f": " ", "\u2009": " ",
})  # fmt: skip
_LATEX = (
    (re.compile(r"\\[dtc]?frac\s?\{([^{}]{1,80})\}\s?\{([^{}]{1,80})\}"), r"((\1)/(\2))"),
    (re.compile(r"\\(?:times|cdot)\b"), "*"),
    (re.compile(r"\\div\b"), "/"),
    (re.compile(r"\\(?:approx|equiv)\b"), "="),
    (re.compile(r"\\(?:text|mathrm|mathbf|left|right|quad|qquad)\b|\\[()\[\],;!]"), " "),
    (re.compile(r"\\([$%])"), r"\1"),
)
_TOKEN = re.compile(
    r"(?P<number>[0-9]{1,3}(?: [0-9]{3})+(?![0-9])|[0-9]{1,6} [0-9]{1,3}/[0-9]{1,3}(?![0-9/])"
    r"|[0-9]+(?:[.,'][0-9]+)*|\.[0-9]+)|(?P<operator>//|[-+*/:])"
    r"|(?P<open>\()|(?P<close>\))|(?P<equals>[=≈])|(?P<percent>%)|(?P<word>[^\W\d_]+)|(?P<break>[^\s$€£¥₽])"
)


_NESTED = re.compile(r"(?<=/ )([0-9]{1,6}/[0-9]{1,6})(?![0-9/.])")


def normalise(text: str) -> str:
    """Return the text with one sign for each operation, and LaTeX commands as signs."""
    if "\\" in text:
        for pattern, replacement in _LATEX:
            text = pattern.sub(replacement, text)
    if not text.isascii() or "[" in text or "{" in text:
        text = narrow(text).translate(_SIGNS)
    return _NESTED.sub(r"(\1)", text) if "/ " in text else text


def tokens(text: str) -> list[Token]:
    """Split a normalised text into tokens; currency signs and white space are dropped.

    A lone `x` between numbers is a multiplication, and so is a colon a division.
    """
    found: list[Token] = []
    unsettled = False
    for match in _TOKEN.finditer(text):
        kind: Kind = match.lastgroup  # type: ignore[assignment]  # the groups are named after the kinds
        written = match[0]
        if kind == "number":
            found.append(Token(kind, written, match.start(), match.end(), number(written)))
        else:
            unsettled |= kind == "word" or written in {":", "//"}
            found.append(Token(kind, written, match.start(), match.end()))
    return [*_settled(found)] if unsettled else found


def _settled(found: Sequence[Token]) -> Iterator[Token]:
    """Say of each `x` and colon what it is, and drop the second half of units such as km/h."""
    for at, token in enumerate(found):
        before = found[at - 1].kind if at else "break"
        after = found[at + 1].kind if at + 1 < len(found) else "break"
        numeric = before in {"number", "close", "percent"} and after in {"number", "open"}
        even = numeric and (found[at - 1].end == token.start) == (token.end == found[at + 1].start)
        if (
            token.kind == "word"
            and token.text in {"x", "X", "х", "Х"}
            and (numeric or (before == "word" and after == "number"))
        ):
            yield token._replace(kind="operator", text="*")
        elif token.text == ":":
            yield token._replace(text="/") if even else token._replace(kind="break")
        elif token.text == "//":
            yield token._replace(text="/")
        elif token.text == "/" and before == "word" and after == "word":
            continue
        else:
            yield token


def number(text: str) -> Exact | None:
    """Return the value of a number token; None if it is longer than is read, or not one number (`1.2.3`)."""
    if text.isdigit():
        return int(text) if len(text) <= MOST_DIGITS else None
    whole, point, part = text.partition(".")
    if point and part.isdigit() and (whole.isdigit() or not whole):
        return _whole(Fraction(int(whole + part), 10 ** len(part))) if len(text) <= MOST_DIGITS else None
    if "/" in text:
        count, over, under = re.split("[ /]", text)
        return divide(int(count) * int(under) + int(over), int(under)) if int(under) else None
    value = exact(text) if len(text) <= MOST_DIGITS else None
    return None if value is None else _whole(value)


def _whole(value: Fraction) -> Exact:
    return value.numerator if value.denominator == 1 else value


def decimals(text: str) -> int:
    """Return how many decimals a number token shows."""
    if text.isdigit():
        return 0
    point = max(text.rfind("."), text.rfind(","))
    value = number(text)
    whole = point < 0 or value is None or (value > 0 and value == int("".join(filter(str.isdigit, text))))
    return 0 if whole else len(text) - point - 1


def evaluate(found: Sequence[Token], *, percent: Exact = Fraction(1, 100)) -> Exact | None:
    """Return the exact value of an expression of `+ - * /`, brackets, signs and percents; None if it is none.

    A percent sign multiplies by `percent`. Units (words after a number) are skipped. A power, a division by
    zero, more than 300 tokens or brackets deeper than 50 make no expression.
    """
    if len(found) == 1:
        return found[0].value
    if not found or len(found) > MOST_TOKENS:
        return None
    try:
        parser = _Parser([t for t in found if t.kind != "word"] if _units(found) else found, percent)
        value = parser.sum(0)
    except (_UnreadableError, ZeroDivisionError):
        return None
    return value if parser.at == len(parser.found) else None


def _units(found: Sequence[Token]) -> bool:
    """Say whether there are words, all of them units; a word before a number is none, and nothing can be read.

    Raises:
        _UnreadableError: a word stands where an operand should.
    """
    words = False
    for at, token in enumerate(found):
        if token.kind == "word":
            words = True
            if not at or found[at - 1].kind not in {"number", "close", "percent", "word"}:
                raise _UnreadableError
    return words


class _UnreadableError(Exception):
    """The tokens are no expression."""


class _Parser:
    """A recursive descent over sum, product and factor, with exact arithmetic."""

    def __init__(self, found: Sequence[Token], percent: Exact) -> None:
        self.found = found
        self.percent = percent
        self.at = 0

    def _next(self, *texts: str) -> str:
        """Take the next token if it is an operator among these; the empty string if not."""
        if self.at < len(self.found) and (text := self.found[self.at].text) in texts:
            self.at += 1
            return text
        return ""

    def sum(self, depth: int) -> Exact:
        value = self._product(depth)
        while sign := self._next("+", "-"):
            term = self._product(depth)
            value = value + term if sign == "+" else value - term
        return value

    def _product(self, depth: int) -> Exact:
        value = self._factor(depth)
        while True:
            sign = self._next("*", "/")
            bracket = self.at < len(self.found) and self.found[self.at].kind == "open"
            if not sign and not bracket:
                return value
            factor = self._factor(depth)
            value = divide(value, factor) if sign == "/" else value * factor

    def _factor(self, depth: int) -> Exact:
        negative = False
        while sign := self._next("+", "-"):
            negative ^= sign == "-"
        if self.at >= len(self.found) or depth > DEEPEST:
            raise _UnreadableError
        token = self.found[self.at]
        self.at += 1
        value: Exact | None = None
        if token.kind == "number":
            value = token.value
        elif token.kind == "open":
            value = self.sum(depth + 1)
            if not self._next(")"):
                raise _UnreadableError
        if value is None:
            raise _UnreadableError
        if self._next("%"):
            value *= self.percent
        return -value if negative else value


def divide(over: Exact, under: Exact) -> Exact:
    """Divide exactly; an int where the quotient is whole.

    Raises:
        ZeroDivisionError: the divisor is 0.
    """
    if isinstance(over, int) and isinstance(under, int):
        whole, rest = divmod(over, under)
        return Fraction(over, under) if rest else whole
    return _whole(Fraction(over) / under)


def operands(found: Sequence[Token]) -> list[Operand]:
    """Return the numbers of an expression, each with the values that it may be known by."""
    read: list[Operand] = []
    mixed = any(token.text in {"/", "-", "%"} for token in found)
    for at, token in enumerate(found):
        if token.kind != "number":
            continue
        value = token.value
        if value is None:
            read.append(Operand(token.text[:40], -1, ()))
            continue
        read.append(Operand(token.text, value, (value, *_others(found, at, value)) if mixed else (value,)))
    return read


def _others(found: Sequence[Token], at: int, value: Exact) -> Iterator[Exact]:
    """Yield what else a number may be known by: its fraction in lowest terms, its negative, its percent."""
    for left in (at, at - 2):
        if left >= 0 and left + 2 < len(found) and found[left + 1].text == "/":
            over, under = found[left].value, found[left + 2].value
            if isinstance(over, int) and isinstance(under, int) and 0 < over < under and gcd(over, under) == 1:
                yield Fraction(over, under)
    if at and found[at - 1].text == "-" and (at == 1 or found[at - 2].kind in {"operator", "open", "equals"}):
        yield -value
    if at + 1 < len(found) and found[at + 1].kind == "percent":
        yield divide(value, 100)


def operators(found: Sequence[Token]) -> frozenset[str]:
    """Return the operations of an expression, signs of numbers not counted."""
    signs: set[str] = set()
    for at, token in enumerate(found):
        before = found[at - 1].kind if at else "equals"
        if token.kind == "operator" and before in {"number", "close", "percent", "word"}:
            signs.add(token.text)
        elif token.kind == "open" and before in {"number", "close"}:
            signs.add("*")
    return frozenset(signs)


def shown(value: Exact) -> str:
    """Write an exact number down: as a decimal where it is finite and short, else as a fraction."""
    if isinstance(value, int) and abs(value) < 10**15:  # the usual case, at once
        return str(value)
    fraction = Fraction(value)
    if max(fraction.numerator.bit_length(), fraction.denominator.bit_length()) > 3000:  # noqa: PLR2004 - some 900 digits
        return "a number with more than 900 digits"
    if fraction.denominator == 1:
        return str(fraction.numerator)
    rest, places = fraction.denominator, 0
    for prime in (2, 5):
        count = 0
        while rest % prime == 0:
            rest, count = rest // prime, count + 1
        places = max(places, count)
    if rest != 1 or places > 20:  # noqa: PLR2004 - longer than anybody reads
        return f"{fraction.numerator}/{fraction.denominator}"
    digits = str(abs(fraction.numerator) * 10**places // fraction.denominator).rjust(places + 1, "0")
    return f"{'-' if fraction < 0 else ''}{digits[:-places]}.{digits[-places:]}"
