"""The numbers of a text that may be a result: not operands, ends of ranges, or one of several alternatives."""

import re
from collections.abc import Sequence

from data.measures import dimensions, unit
from data.numerals import MINUS, Number, narrow, numbers
from data.patterns import pattern

_GAP = 70
"""Characters between two numbers beyond which they are not related."""

_OPERATOR = pattern(
    r"\s*(?:[-+*/^~…−–—×÷·∶]|\.{2,3}|[xXхХ]|\\times|\\cdot|\\div|to|до|到|至)\s*[($€£¥₽\\~]*\s*"
    r"|[^=\n.;!?]{0,30}\s(?:[×*÷+]|\\times)\s[^=\n.;!?]{0,30}"
)
_ALTERNATIVE = pattern(r"[^=\n.;!?0-9]{0,20}?(?:\bor\b|\bили\b|或者?|还是)\s*[({}*$€£¥₽\\~]*\s*", re.IGNORECASE)
_APPOSED = pattern(r"[^(\n]*\([ ]?(?:or|или|或者?)\b[^)\n]*", re.IGNORECASE)
_UNKNOWN_AFTER = pattern(
    r"[ \t$]{0,2}(?:\\(?:times|cdot)\b|[×÷])[ \t$]{0,2}(?:\\text\{)?[^\W\d_]"
    r"|(?:[ ]\+[ ]|\+)[$]?(?:\\text\{)?[^\W\d_]"
    r"|[ \t]?[-−–*/·][ \t]?[xyznXYZNхХ](?![\w'’.])"
)
_UNKNOWN_BEFORE = pattern(r"(?<![^\W_])[xyzXYZхХ][)$]?[ \t]?[-+−–*/×÷·][ \t]?[($€£¥₽\\]{0,2}$")
_BETWEEN = pattern(r"(?:\bbetween|\bмежду|介于|在)\s*[(*$€£¥₽\\~]*\s*$", re.IGNORECASE)
_AND = pattern(r"[^=\n.;!?0-9]{0,20}?(?:\band\b|\bи\b|和|与)\s*[({}*$€£¥₽\\~]*\s*", re.IGNORECASE)


def candidates(text: str) -> list[Number]:
    """Find the numbers as `numbers` does, and mark the `joined` ones, which are not results by themselves.

    Source: ours.
    """
    found = numbers(text)
    text = narrow(text)
    marked = _relate(text, found) if len(found) > 1 else found
    return [one if one.joined or not _with_unknown(text, one) else one._replace(joined=True) for one in marked]


def _with_unknown(text: str, number: Number) -> bool:
    """Say whether a number is an operand beside an unknown: `18 + x`, `x - 18`, `18 + number of eggs`."""
    if _UNKNOWN_AFTER.match(text, number.end):
        return True
    return _UNKNOWN_BEFORE.search(text, max(0, number.start - 8), number.start) is not None


def _relate(text: str, found: Sequence[Number]) -> list[Number]:
    """Mark the numbers that are operands, ends of ranges, or alternatives of different values."""
    marked = list(found)
    for at in range(1, len(found)):
        left, right = found[at - 1], found[at]
        gap = text[left.end : right.start]
        if len(gap) > _GAP:
            continue
        signed = not gap.strip() and right.start < len(text) and text[right.start] in MINUS
        alternative = (
            left.value != right.value
            and _ALTERNATIVE.fullmatch(gap)
            and not (_APPOSED.fullmatch(gap) or _same_quantity(text, left, right))
        )
        between = _AND.fullmatch(gap) and _BETWEEN.search(text, max(0, left.start - 20), left.start)
        if signed or alternative or between or _OPERATOR.fullmatch(gap):
            marked[at - 1] = marked[at - 1]._replace(joined=True)
            marked[at] = right._replace(joined=True)
    return marked


_UNIT = pattern(r"[ \u00a0*_$]{0,3}([^\W\d_]+|¢)")
_SIGNS = {"$": "dollar", "₽": "руб"}


def _unit(text: str, number: Number) -> str:
    """Return the unit of measure that a number has, before or behind it; '' where it has none."""
    written = text[number.start : number.end]
    if sign := next((word for sign, word in _SIGNS.items() if sign in written), ""):
        return sign
    behind = _UNIT.match(text, number.end)
    return unit(behind[1]) if behind else ""


def _same_quantity(text: str, left: Number, right: Number) -> bool:
    """Say whether two numbers are one quantity in two units: `60 minutes or 1 hour`."""
    if left.value is None or right.value is None:
        return False
    one, other = _unit(text, left), _unit(text, right)
    shared = (sizes for sizes in dimensions() if one in sizes and other in sizes)
    return any(left.value * sizes[one] == right.value * sizes[other] for sizes in shared)
