"""Arithmetic in chains of thought: tokens, and exact values. Parsed, never evaluated by Python."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import gcd, isqrt
from typing import Literal, NamedTuple

from basic_control.data.numerals import MOST_DIGITS, parse_number

Exact = int | Fraction
"""An exact number: an int if it is whole (they hash and compare equal, and ints are fast)."""

Kind = Literal["number", "operator", "open", "close", "equals", "percent", "word", "break"]

MOST_TOKENS = 300
"""Maximum number of tokens of an expression."""

DEEPEST = 50
"""Maximum depth of brackets."""


class Token(NamedTuple):
    """A token, its start and end in the source text, and the value of a number.

    `mark` is the unit after a number, the dash used as a minus, or the hyphen before a word (`10-year`).
    """

    kind: Kind
    text: str
    start: int
    end: int
    value: Exact | None = None
    mark: str = ""


_OUTSIDE = Token("break", "", -1, -1)


def get_token(line_tokens: Sequence[Token], position: int) -> Token:
    """Return the token at a position; outside the line a break without text."""
    if 0 <= position < len(line_tokens):
        return line_tokens[position]
    return _OUTSIDE


class Operand(NamedTuple):
    """A number of an expression as written, and the values that it may represent.

    `20%` may be 20 or 0.2, the 5 of `-5` may be 5 or -5, and both numbers of `1/3` may be 1/3.
    """

    text: str
    value: Exact
    known_by: tuple[Exact, ...]


# One alternative a kind: 1 200.50 and 2 1/2 are numbers, ** an operator, km a word; other signs break off.
_TOKEN = re.compile(
    r"(?P<number>[0-9]+[.,][0-9]+(?:…|\.{2,})|[0-9]{1,3}(?: [0-9]{3})+(?![0-9])(?:[.,][0-9]+)?"
    r"|[0-9]{1,6} [0-9]{1,3}/[0-9]{1,3}(?![0-9/])|[0-9]+(?:[.,'][0-9]+)*|\.[0-9]+)"
    r"|(?P<operator>//|\*\*|[-+*/:–—^√])"
    r"|(?P<open>\()|(?P<close>\))|(?P<equals>[=≈])|(?P<percent>%)"
    r"|(?P<word>[xyn](?=[\u2e80-\uffff])|[^\W\d_]+)|(?P<break>[^\s$€£¥₽])"
)

_UNKNOWN_LETTERS = frozenset("xynXхХ")
_TIMES = frozenset({"x", "X", "х", "Х", "times", "умножить", "乘", "乘以"})
_PLUS = {
    "plus": "+", "minus": "-", "плюс": "+", "минус": "-", "加": "+", "加上": "+", "减": "-", "减去": "-",
    "除以": "/",
}  # fmt: skip
# A percent sign in words: per cent, процентов.
_PERCENT = re.compile(r"per ?cents?|процент(?:а|ов|ы)?", re.IGNORECASE)
_PART_OF = frozenset({"of", "от"})
OPERAND_BEGINNINGS = frozenset({"number", "open"})
OPERAND_ENDS = frozenset({"number", "close", "percent"})
"""Kinds of token with which an operand begins, and ends."""
_BEFORE_MINUS = frozenset({*OPERAND_ENDS, "word", "equals", "open"})


def tokenize(text: str) -> list[Token]:
    """Split a normalised text into tokens; currency signs and white space are dropped.

    A lone `x` between numbers is a multiplication, and so are `times`, and `of` after a percentage or a fraction; a
    colon between numbers is a division. A dash between numbers is a minus, elsewhere a break.
    """
    line_tokens: list[Token] = []
    is_unsettled = False
    for match in _TOKEN.finditer(text):
        kind: Kind = match.lastgroup  # pyrefly: ignore[bad-assignment] # the groups are named after the kinds
        token_text = match[0]
        start, end = match.span()
        if kind == "number":
            line_tokens.append(Token(kind, token_text, start, end, number(token_text)))
        else:
            is_unsettled |= kind == "word" or token_text in _UNSETTLED
            line_tokens.append(Token(kind, token_text, start, end))
    if is_unsettled:
        return [*_resolve_kinds(line_tokens)]
    return line_tokens


_UNSETTLED = frozenset({":", "//", "**", "–", "—"})
_ROOT = "√"
_ROOTS = frozenset({"sqrt", "корень"})
_OTHERWISE_WRITTEN = {"//": "/", "**": "^"}
_MINUSES = frozenset({"-", "–", "—"})


def _resolve_kinds(line_tokens: Sequence[Token]) -> Iterator[Token]:
    """Resolve the kind of each word, colon and dash, and drop the second half of units such as km/h."""
    kinds: list[Kind] = ["break", *[token.kind for token in line_tokens], "break"]
    is_skipped = is_hyphened = False
    # What a sign means depends on its neighbours.
    for position, (token, before, after) in enumerate(zip(line_tokens, kinds, kinds[2:], strict=False)):
        if is_skipped:
            is_skipped = False
        elif is_hyphened:
            is_hyphened = False
            yield token._replace(mark="-")
        elif token.kind == "word":
            yield _interpret_word(line_tokens, position, before, after)
        elif token.text == ":":
            yield _interpret_colon(line_tokens, position, before, after)
        elif token.text in _OTHERWISE_WRITTEN:
            yield token._replace(text=_OTHERWISE_WRITTEN[token.text])
        elif token.text in _MINUSES and after == "word" and _is_hyphen(line_tokens, position, before):
            is_hyphened = before == "number"
        elif token.text in {"–", "—"}:
            yield _interpret_dash(token, before, after)
        elif token.text == "/" and after == "word" and _belongs_to_unit(line_tokens, position, before):
            is_skipped = before == "word"  # the word after a number is its unit
        else:
            yield token


def _interpret_colon(line_tokens: Sequence[Token], position: int, before: Kind, after: Kind) -> Token:
    """Return a colon as a division between numbers (`12:3`, `12 : 3`), else as a break."""
    token = line_tokens[position]
    if before in OPERAND_ENDS and after in OPERAND_BEGINNINGS and _is_evenly_spaced(line_tokens, position):
        return token._replace(text="/")
    return token._replace(kind="break")


def _interpret_dash(token: Token, before: Kind, after: Kind) -> Token:
    """Return a dash between operands as a minus, else as a break."""
    if before in _BEFORE_MINUS and after in OPERAND_BEGINNINGS:
        return token._replace(text="-", mark=token.text)
    return token._replace(kind="break")


def _is_evenly_spaced(line_tokens: Sequence[Token], position: int) -> bool:
    """Return whether a token has a space on both sides, or on none."""
    return (line_tokens[position - 1].end == line_tokens[position].start) == (
        line_tokens[position].end == line_tokens[position + 1].start
    )


def _is_hyphen(line_tokens: Sequence[Token], position: int, before: Kind) -> bool:
    """Return whether a dash joins a word: `sit-ups`, `16-ounce`; not `16-x`."""
    is_touching = before in {"word", "number"} and line_tokens[position - 1].end == line_tokens[position].start
    word = line_tokens[position + 1]
    return is_touching and line_tokens[position].end == word.start and (before == "word" or len(word.text) > 1)


def _belongs_to_unit(line_tokens: Sequence[Token], position: int, before: Kind) -> bool:
    """Return whether a slash before a word belongs to a unit: `km/h`, `$2/egg`; not `12 / x`."""
    word = line_tokens[position + 1].text
    is_touching = line_tokens[position - 1].end == line_tokens[position].start
    is_word = len(word) > 1 or word >= "\u2e80"
    if word in _UNKNOWN_LETTERS:
        return False
    return (before == "word" and (is_touching or is_word)) or (
        before in {"number", "percent"} and is_touching and is_word
    )


def _interpret_word(line_tokens: Sequence[Token], position: int, before: Kind, after: Kind) -> Token:
    """Return the meaning of a word: an operation, a percent sign, or the word itself."""
    token = line_tokens[position]
    if before != "number" and after not in OPERAND_BEGINNINGS:
        return token  # far from numbers, as most words are
    word = token.text.lower()
    if after in OPERAND_BEGINNINGS:
        is_times = word in _TIMES and (before in OPERAND_ENDS or (before == "word" and len(word) == 1))
        if is_times or (word in _PART_OF and _follows_share(line_tokens, position)):
            return token._replace(kind="operator", text="*")
        if word in _PLUS and before in OPERAND_ENDS:
            return token._replace(kind="operator", text=_PLUS[word])
        if word in _ROOTS and after == "open":
            return token._replace(kind="operator", text=_ROOT)
    if before == "number" and word[0] in "pп" and _PERCENT.fullmatch(word):
        return token._replace(kind="percent", text="%")
    return token


def _follows_share(line_tokens: Sequence[Token], position: int) -> bool:
    """Return whether a percentage or a fraction stands before a token: `20% of`, `1/2 of`."""
    if not position:
        return False
    previous = line_tokens[position - 1]
    if previous.kind == "percent" or _PERCENT.fullmatch(previous.text):
        return True
    if previous.kind == "close":  # ((1)/(2)), of LaTeX
        return any(token.text == "/" for token in line_tokens[max(0, position - 5) : position])
    is_divisor = position > 1 and line_tokens[position - 2].text == "/"
    return previous.kind == "number" and ("/" in previous.text or is_divisor)


def number(text: str) -> Exact | None:
    """Return the value of a number token; None if it is too long, or not one number (`1.2.3`)."""
    text = text.rstrip(".…")
    if len(text) > MOST_DIGITS:
        return None
    if text.isdigit():
        return int(text)
    whole, point, decimals = text.partition(".")
    if point and decimals.isdigit() and (whole.isdigit() or not whole):
        return _simplify(Fraction(int(whole + decimals), 10 ** len(decimals)))
    if "/" in text:
        return _read_mixed(text)
    value = parse_number(text)
    if value is None:
        return None
    return _simplify(value)


def _read_mixed(text: str) -> Exact | None:
    """Return the value of a whole number with a fraction, `2 1/2`; None if it divides by zero."""
    whole, over, under = map(int, re.split("[ /]", text))
    if not under:
        return None
    return divide(whole * under + over, under)


def _simplify(value: Fraction) -> Exact:
    """Return a whole fraction as an int, any other as it is."""
    if value.denominator == 1:
        return value.numerator
    return value


def count_decimals(text: str) -> int:
    """Return the number of decimals of a number token."""
    text = text.rstrip(".…")
    if text.isdigit():
        return 0
    point = max(text.rfind("."), text.rfind(","))
    value = number(text)
    if point < 0 or value is None:
        return 0
    # Where all digits are the number's whole part, its commas group thousands.
    if value > 0 and value == int("".join(filter(str.isdigit, text))):
        return 0
    return len(text) - point - 1


Base = Literal["", "running", "first"]


def evaluate(side: Sequence[Token], *, percent: Exact = Fraction(1, 100), base: Base = "") -> Exact | None:
    """Return the exact value of an expression of `+ - * / ^ √`, brackets and percents; None if invalid.

    A percent sign multiplies by `percent`. An added or subtracted percentage is a percentage of nothing (`base`
    ''), of the value before it (`running`), or of the first term (`first`). Units (words after a number) are
    skipped. Powers beyond some 4000 bits, irrational roots, division by zero, more than 300 tokens and brackets
    deeper than 50 are invalid.
    """
    if len(side) == 1:
        return side[0].value
    if not side or len(side) > MOST_TOKENS:
        return None
    try:
        if _has_units(side):
            side = [token for token in side if token.kind != "word"]
        parser = _Parser(side, percent, base)
        value = parser.parse_sum(0)
    except (_UnreadableError, ZeroDivisionError):
        return None
    if parser.position < len(side):
        return None
    return value


def is_irrational(side: Sequence[Token]) -> bool:
    """Return whether an expression has a root or power without an exact value: `√(20)`, `8^(1/3)`."""
    return any(token.text in _IRRATIONAL for token in side) and evaluate(side) is None


_IRRATIONAL = frozenset({"√", "^"})


def _has_units(side: Sequence[Token]) -> bool:
    """Return whether there are words, all of them units; a word before a number is not, and is unreadable."""
    has_words = False
    for position, token in enumerate(side):
        if token.kind == "word":
            has_words = True
            if not position or side[position - 1].kind not in {"number", "close", "percent", "word"}:
                raise _UnreadableError
    return has_words


class _UnreadableError(Exception):
    """The tokens are no expression."""


class _Parser:
    """A recursive-descent parser over sum, product and factor, with exact arithmetic."""

    def __init__(self, tokens: Sequence[Token], percent: Exact, base: Base) -> None:
        self.tokens = tokens
        self.percent = percent
        self.base = base
        self.position = 0

    def _take(self, *texts: str) -> str:
        """Take the next token if it is one of these operators; else return the empty string."""
        if self.position >= len(self.tokens):
            return ""
        text = self.tokens[self.position].text
        if text not in texts:
            return ""
        self.position += 1
        return text

    def parse_sum(self, depth: int) -> Exact:
        """Take the tokens of a sum, at this depth of brackets, and return its value."""
        start = self.position
        value = first = self._parse_product(depth)
        begins_with_percentage = self.base and self._is_percentage(start)
        while sign := self._take("+", "-"):
            start = self.position
            term = self._parse_product(depth)
            # `x - 20%` is x reduced by a fifth: of what the sum has come to, or of its first term.
            if self.base and not begins_with_percentage and self._is_percentage(start):
                term *= value if self.base == "running" else first
            if sign == "-":
                value -= term
            else:
                value += term
        return value

    def _is_percentage(self, start: int) -> bool:
        """Return whether the term read from `start` is a single percentage."""
        return self.position == start + 2 and self.tokens[self.position - 1].kind == "percent"

    def _parse_product(self, depth: int) -> Exact:
        value = self._parse_factor(depth)
        while True:
            sign = self._take("*", "/")
            # A bracket or root after a factor multiplies it: 2(3 + 4).
            is_juxtaposed = self.position < len(self.tokens) and self.tokens[self.position].text in _FACTOR
            if not sign and not is_juxtaposed:
                return value
            factor = self._parse_factor(depth)
            if sign == "/":
                value = divide(value, factor)
            else:
                value *= factor

    def _parse_factor(self, depth: int) -> Exact:
        is_negative = False
        while sign := self._take("+", "-"):
            is_negative ^= sign == "-"
        value = self._parse_operand(depth)
        if self._take("%"):
            value *= self.percent
        if self._take("^"):
            value = _power(value, self._parse_factor(depth + 1))
        if is_negative:
            return -value
        return value

    def _parse_operand(self, depth: int) -> Exact:
        """Take a number, a root, or a sum in brackets, and return its value."""
        if self.position >= len(self.tokens) or depth > DEEPEST:
            raise _UnreadableError
        token = self.tokens[self.position]
        self.position += 1
        value: Exact | None = None
        if token.kind == "number":
            value = token.value
        elif token.text == _ROOT:
            value = _root(self._parse_factor(depth + 1))
        elif token.kind == "open":
            value = self.parse_sum(depth + 1)
            if not self._take(")"):
                raise _UnreadableError
        if value is None:
            raise _UnreadableError
        return value


_FACTOR = frozenset({"(", _ROOT})
_HIGHEST = 64
_MOST_BITS = 4096


def _power(base: Exact, exponent: Exact) -> Exact:
    """Raise to a whole power."""
    # The size of the result is bounded before it is computed: 9^9^9 would fill the memory.
    exact_base = Fraction(base)
    bits = max(exact_base.numerator.bit_length(), exact_base.denominator.bit_length())
    if not isinstance(exponent, int) or abs(exponent) > _HIGHEST or bits * abs(exponent) > _MOST_BITS:
        raise _UnreadableError
    return _simplify(Fraction(exact_base**exponent))


def _root(value: Exact) -> Exact:
    """Return the square root if it is rational."""
    square = Fraction(value)
    if square < 0:
        raise _UnreadableError
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if root * root != square:
        raise _UnreadableError
    return _simplify(root)


def divide(over: Exact, under: Exact) -> Exact:
    """Divide exactly; an int if the quotient is whole.

    Raises:
        ZeroDivisionError: the divisor is 0.
    """
    if not isinstance(over, int) or not isinstance(under, int):
        return _simplify(Fraction(over) / under)
    whole, remainder = divmod(over, under)
    if remainder:
        return Fraction(over, under)
    return whole


def list_operands(side: Sequence[Token]) -> list[Operand]:
    """Return the numbers of an expression, each with the values that it may represent."""
    operands: list[Operand] = []
    has_alternatives = not _OTHERWISE_KNOWN.isdisjoint([token.text for token in side])
    for position, token in enumerate(side):
        if token.kind != "number":
            continue
        value = token.value
        if value is None:
            operands.append(Operand(token.text[:40], -1, ()))
            continue
        values: tuple[Exact, ...] = (value,)
        if has_alternatives:
            values = (value, *_list_alternatives(side, position, value))
        operands.append(Operand(token.text, value, values))
    return operands


_OTHERWISE_KNOWN = frozenset("/-%")
"""Signs that give a number another possible value."""


def _list_alternatives(side: Sequence[Token], position: int, value: Exact) -> Iterator[Exact]:
    """Yield a number's other possible values: its fraction in lowest terms, its negative, its percentage."""
    for begin in (position, position - 2):
        if begin >= 0 and begin + 2 < len(side) and side[begin + 1].text == "/":
            over, under = side[begin].value, side[begin + 2].value
            if isinstance(over, int) and isinstance(under, int) and 0 < over < under and gcd(over, under) == 1:
                yield Fraction(over, under)
    if (
        position
        and side[position - 1].text == "-"
        and (position == 1 or side[position - 2].kind in {"operator", "open", "equals"})
    ):
        yield -value
    if position + 1 < len(side) and side[position + 1].kind == "percent":
        yield divide(value, 100)


def find_operators(side: Sequence[Token]) -> frozenset[str]:
    """Return the operations of an expression, without signs of numbers."""
    if len(side) == 1:
        return frozenset()
    signs: set[str] = set()
    before: Kind = "equals"
    for token in side:
        if token.kind == "operator" and (before in {"number", "close", "percent", "word"} or token.text == _ROOT):
            signs.add(token.text)
        elif token.kind == "open" and before in {"number", "close"}:
            signs.add("*")
        before = token.kind
    return frozenset(signs)


def format_exact(value: Exact) -> str:
    """Format an exact number: as a decimal if it is finite and short, else as a fraction."""
    if value.denominator == 1 and abs(value.numerator) < 10**15:  # fast path for the usual case
        return str(value.numerator)
    fraction = Fraction(value)
    if max(fraction.numerator.bit_length(), fraction.denominator.bit_length()) > 3000:  # noqa: PLR2004 - some 900 digits
        return "a number with more than 900 digits"
    if fraction.denominator == 1:
        return str(fraction.numerator)
    cofactor, places = fraction.denominator, 0
    # Only fractions whose denominator has no other prime are finite decimals.
    for prime in (2, 5):
        exponent = 0
        while cofactor % prime == 0:
            cofactor //= prime
            exponent += 1
        places = max(places, exponent)
    if cofactor != 1 or places > 20:  # noqa: PLR2004 - longer than anybody reads
        return f"{fraction.numerator}/{fraction.denominator}"
    sign = ""
    if fraction < 0:
        sign = "-"
    digits = str(abs(fraction.numerator) * 10**places // fraction.denominator).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}"
