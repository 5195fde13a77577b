r"""Formulas of LaTeX as plain text, so that `\frac{3}{4}\,\text{m}` and `3/4 m` are one wording."""

import re
import unicodedata

_BEGINS = re.compile(r"[\\$]")
# Each begins with what it looks for, which is found faster than a place behind something.
_DELIMITED = re.compile(r"\$(?<![\\$]\$)(?![\s$])([^$\n]{1,300}?)(?<![\s\\])\$(?![0-9$])")
r"""`$x^2$`, but not the money of `$5 and $6`."""
_INNER = r"\s?\{([^{}]{0,300})\}"
_WRAPPER = re.compile(
    rf"\\(?:text(?:bf|it|rm|sf|tt)?|math(?:rm|bf|it|sf|normal)|operatorname|mbox|boldsymbol|bm){_INNER}"
)
_FRACTION = re.compile(rf"\\[dtc]?frac{_INNER}{_INNER}|\\[dtc]?frac\s?(\d)(\d)")
_ROOT = re.compile(rf"\\sqrt{_INNER}|\\sqrt\s?(\d)")
_SCRIPT = re.compile(r"([\^_])\{([^{}]{1,60})\}")
_SUBSCRIPT = re.compile(r"_(?<=[A-Za-z]_)(?=\d)")  # H_2O
_SPACE = re.compile(r"\\(?:[,;:> ]|q?quad(?![a-z]))|~(?<=[^\W_]~)(?=[^\W_\\])")
_EMPTY = re.compile(r"\\!|\\(?:left|right|[bB]igg?[lr]?|displaystyle|limits)(?![a-zA-Z])|\\[()\[\]]")
_ESCAPED = re.compile(r"\\([%$&#_])")
_DEGREES = re.compile(r"\^\s?(?:\\circ|\{\s?\\circ\s?\})|\\degree")
_OPERATOR = re.compile(r" ?([×·=<>≤≥+]) ?(?=[^\s|<=>-])| (-) (?=[0-9a-z]\b)| +(%)")
"""With the spaces around it, which every notation sets in its own way."""
_GAP = re.compile(r" (?<=\S ) +(?=\S)")
_NAME = re.compile(r"\\([a-zA-Z]+)\s?")
_SIGNS = {
    "times": "×", "cdot": "·", "div": "÷", "pm": "±", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠",
    "neq": "≠", "approx": "≈", "infty": "∞", "to": "→", "rightarrow": "→", "in": "∈", "cup": "∪", "cap": "∩",
    "ldots": "...", "dots": "...", "AA": "Å", "ell": "ℓ", "varepsilon": "ε", "varphi": "φ",
}  # fmt: skip
_WRAPPERS = 3
"""Maximum depth of wrappings removed."""


def write_plainly(text: str) -> str:
    r"""Return a text with its formulas in plain signs: `\frac{3}{4}` as 3/4, `25\%` as 25%, `\text{m}` as m.

    Boxes and what has no plain form stay as they are. Linear in the text's length.

    Source: ours (SPEC 19 compares texts whatever their notation).
    """
    if _BEGINS.search(text) is None:
        return _OPERATOR.sub(_tighten, text)
    text = _DELIMITED.sub(r"\1", text)
    for _ in range(_WRAPPERS):
        text, count = _WRAPPER.subn(r"\1", text)
        if not count:
            break
    # Signs go before what encloses them: `\frac{\pi}{2}` is π/2.
    text = _SPACE.sub(" ", _EMPTY.sub("", _DEGREES.sub("°", text)))
    text = _SUBSCRIPT.sub("", _SCRIPT.sub(r"\1\2", _NAME.sub(_write_sign, text)))
    text = _OPERATOR.sub(_tighten, _ESCAPED.sub(r"\1", text))
    text = _ROOT.sub(_write_root, _FRACTION.sub(_write_fraction, text))
    return _GAP.sub(" ", text)


def _tighten(operator: re.Match[str]) -> str:
    before = operator.string[operator.start() - 1 : operator.start()]
    is_inside = (
        before.isdigit() if operator[1] is None else before and before not in "|<=>-" and not before.isspace()
    )
    if not is_inside:
        return operator[0]
    return operator[1] or operator[2] or operator[3]


def _write_fraction(fraction: re.Match[str]) -> str:
    over, under = fraction[1] or fraction[3] or "", fraction[2] or fraction[4] or ""
    return f"{_enclose(over)}/{_enclose(under)}"


def _write_root(root: re.Match[str]) -> str:
    return f"√{_enclose(root[1] or root[2] or '')}"


def _enclose(part: str) -> str:
    """Return a part of a formula, in brackets where it is more than one number or name."""
    part = part.strip()
    if re.fullmatch(r"[^\W_]*(?:\.\d+)?", part):
        return part
    return f"({part})"


def _write_sign(command: re.Match[str]) -> str:
    r"""Return a command's sign; the command where it has none: `\pi` is π, `\boxed` stays."""
    name = command[1]
    if name in _SIGNS:
        return _SIGNS[name]
    case = "CAPITAL" if name[0].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"GREEK {case} LETTER {name.upper()}")
    except KeyError:
        return command[0]
