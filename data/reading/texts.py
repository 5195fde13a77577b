"""Normalisation of texts for comparison: notation is unified, wording is not."""

import re
import unicodedata

_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISED = re.compile(rf"(?<=[^\W_])⁻?[{_SUPERSCRIPTS}]+")
_UNSEEN = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]")
_HYPHEN = re.compile(
    "(?<=[^\\W_])[\u2010-\u2015\u2212\ufe63\uff0d](?=[^\\W_])|[\u2010-\u2015\u2212\ufe63\uff0d](?=[0-9])"
)
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")  # ٣, of any script
_DIGITS = str.maketrans(f"{_SUPERSCRIPTS}⁻", "0123456789-")
_ALIKE = {**dict.fromkeys(map(ord, "’‘ʼ‛′´`＇"), "'"), ord("⁄"): "/", ord("∕"): "/"}
_YO = {ord("ё"): "е", ord("Ё"): "Е"}
_MARKED = re.compile(rf"(?<=[^\W_])[{_SUPERSCRIPTS}]+(?=\W*$)")


def unify(text: str) -> str:
    """Return a text in one notation: compatibility forms, digits, hyphens, apostrophes, nothing invisible; ё as е.

    A superscript becomes `^2`, and `½` becomes `1/2`.

    Source: SPEC 19.
    """
    if text.isascii():
        return text.replace("`", "'")
    text = _RAISED.sub(lambda raised: "^" + raised[0].translate(_DIGITS), text)
    text = re.sub(r"(?<=[0-9])(?=[¼-¾⅐-⅞])", " ", text)
    text = unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).translate(_ALIKE).translate(_YO)
    text = text.replace("\u0301", "")  # a stress mark; that of a letter is part of it by now
    text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)
    return _HYPHEN.sub("-", text)


def without_note(text: str) -> str:
    """Return a text without the superscript of a note at its end: `12¹`."""
    return _MARKED.sub("", text)


def collapse_spaces(text: str) -> str:
    """Return a text with white space collapsed, stripped."""
    return " ".join(text.split())
