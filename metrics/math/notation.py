"""Notation of expressions: text of a reply or of an expected answer in, LaTeX out, with words marked as text."""

import re

_SIGNS = {
    "√": r"\sqrt ", "∛": r"\sqrt[3]", "∞": r"\infty ", "π": r"\pi ", "θ": r"\theta ", "α": r"\alpha ",
    "β": r"\beta ", "φ": r"\phi ", "λ": r"\lambda ", "ω": r"\omega ",
    "≤": r"\le ", "⩽": r"\le ", "≥": r"\ge ", "⩾": r"\ge ",
    "≠": r"\ne ", "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "∅": r"\emptyset ", "×": r"\times ", "÷": r"\div ",
    "·": r"\cdot ", "⋅": r"\cdot ", "±": r"\pm ", "≈": "=", "ℝ": r"\mathbb{R}", "°": r"^\circ ", "−": "-", "–": "-",
}  # fmt: skip
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_DELIMITERS = re.compile(r"(?<!\\)(?:\\[\[\]()]|\$)|`|\\(?:display|text)style\b|\\left\b|\\right\b|\\q?quad\b")
"""Delimiters of mathematics and spaces, which say nothing: `\\(x\\)`."""
_SPACES = re.compile(r"(?<!\\)\\[!,;: ]|(?<=\d)(?:\{,\}|,\\!)(?=\d{3})")  # 10,\!080 and 10{,}080
_LABEL = re.compile(r"\A\s*\\text\{[^{}]*:\s*\}")  # \text{Answer:}
_BOX = re.compile(r"\\f?boxed\s*(?=\{)")
_ROOT = re.compile(r"\\sqrt\s+(\d+|[a-zA-Z]|\([^()]*\))")  # √2, √(x+1)
_POWER = re.compile(r"(?<=[\w)}])\*\*(?=[\w({-])")  # x**2
_RECURRING = re.compile(r"(?<![\w.])(\d*)\.(\d*)\\(?:overline|bar|dot)\{?(\d+)\}?")  # 0.1\overline{6}
_CASES = re.compile(r"\\begin\{(?:cases|aligned|align\*?)\}(.*?)\\end\{(?:cases|aligned|align\*?)\}", re.DOTALL)
_ROW_END = re.compile(r"\\\\(?:\[[^\]]*\])?(?!\s*\Z)")
_BASE = re.compile(r"(?<![\w.])([0-9A-F]+)_\{?(\d+)\}?")  # 2516_8
_PROTECTED = re.compile(
    r"\\(?:text|mbox|mathrm|operatorname|mathbf|hbox)\w*\s*\{[^{}]*\}|\\(?:begin|end)\{[^{}]*\}|\\[a-zA-Z]+"
)
"""What has no words to mark: text, and commands."""
_WORDS = re.compile(
    r"(?<![^\W\d_])(?:[^\W\d_]{2,}[ -]+)*[^\W\d_]{4,}(?:[ -]+[^\W\d_]{2,})*"  # no real solution
    r"|(?<=[0-9] )[^\W\d_]{2,3}(?![^\W\d_(])|\A[^\W\d_]{2,3}\Z"  # 5 cm, yes
)
_FUNCTIONS = frozenset(["arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "sqrt"])
_JOINS = re.compile(r"\s*(?:,\s*)?(?<![^\W_])(?:and|or|и|или|und|oder|et|ou)(?![^\W_])\s*", re.IGNORECASE)


def to_latex(text: str) -> str:
    """Return an expression as LaTeX: signs as commands, words as text, `and` and `or` as commas.

    A recurring decimal is written as the fraction that it is.
    """
    text = _DELIMITERS.sub(" ", text.strip(" *_\n"))
    text = _BOX.sub("", _SPACES.sub("", _LABEL.sub("", text)))
    text = _SIGN.sub(lambda sign: _SIGNS[sign[0]], text)
    # What is left of `**` is emphasis.
    text = _POWER.sub("^", text).replace("**", " ")
    text = _ROOT.sub(lambda root: rf"\sqrt{{{root[1].strip('()')}}}", text)
    text = _RECURRING.sub(_write_fraction, text)
    text = _CASES.sub(_list_cases, text)
    text = _mark_words(_JOINS.sub(", ", text))
    return " ".join(text.split()).rstrip(". ,;:").lstrip(":=≈ ")


def _write_fraction(decimal: re.Match[str]) -> str:
    """Return a recurring decimal as a fraction: 0.1(6) is (16 - 1) / 90."""
    whole, fixed, period = decimal[1] or "0", decimal[2], decimal[3]
    numerator = int(whole + fixed + period) - int(whole + fixed)
    denominator = (10 ** len(period) - 1) * 10 ** len(fixed)
    return rf"\frac{{{numerator}}}{{{denominator}}}"


def _list_cases(cases: re.Match[str]) -> str:
    """Return equations on lines of their own as a list of them."""
    return _ROW_END.sub(", ", cases[1].replace("&", ""))


def _mark_words(text: str) -> str:
    """Return an expression with its words marked as text, so that none is a product of letters."""
    pieces, position = list[str](), 0
    for protected in _PROTECTED.finditer(text):
        pieces += [_WORDS.sub(_mark, text[position : protected.start()]), protected[0]]
        position = protected.end()
    return "".join([*pieces, _WORDS.sub(_mark, text[position:])])


def _mark(words: re.Match[str]) -> str:
    """Return words as text, but for a function that is written as a word."""
    if words[0].lower() in _FUNCTIONS:
        return words[0]
    return rf"\text{{{words[0]}}}"


def find_base(latex: str) -> str:
    """Return the base that a number names as its subscript: 8 of `2516_8`; '' if it names none."""
    base = _BASE.search(latex)
    return base[2] if base else ""
