"""Normalisation of arithmetic in chains of thought: LaTeX, Markdown, dashes, times of day, words."""

import re
from fractions import Fraction
from functools import partial

from basic_control.data.numerals import narrow_digits
from basic_control.metrics.cot.expressions import Token, evaluate, tokenize

UNKNOWN = "@"
"""Placeholder for a time of day, which is no number of a calculation. Expressions do not extend over it."""

_SIGNS = str.maketrans({
    **dict.fromkeys("×·∙⋅•✕✖＊∗", "*"), **dict.fromkeys("÷∶⁄∕／", "/"), **dict.fromkeys("−‐‑－", "-"),
    **dict.fromkeys("≃≅≒", "≈"), **dict.fromkeys("[{", "("), **dict.fromkeys("]}", ")"),
    **dict.fromkeys("\u00a0\u202f\u2009&", " "),
})  # fmt: skip
_DASHES = str.maketrans("–—", "--")
_VULGAR = {
    "½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅖": "2/5", "⅗": "3/5", "⅘": "4/5",
    "⅙": "1/6", "⅚": "5/6", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8",
}  # fmt: skip
_VULGARS = re.compile(f"([0-9]?)([{''.join(_VULGAR)}])")
_WORDS = re.compile(r"\\(?:f?boxed|text(?:bf|it|rm)?|math(?:rm|bf|it|sf)|mbox|operatorname)\s?\{([^{}]{0,120})\}")
_MIXED = re.compile(r"(?<=[0-9])\s?\\[dtc]?frac\s?\{([0-9]{1,3})\}\s?\{([0-9]{1,3})\}")
_FRACTION = re.compile(r"\\[dtc]?frac\s?\{([^{}]{1,80})\}\s?\{([^{}]{1,80})\}")
_LATEX = (
    (re.compile(r"\\[dtc]?frac\s?([0-9])\s?(?:([0-9])|\{([^{}]{1,80})\})"), r"((\1)/(\2\3))"),
    (re.compile(r"\\[dtc]?frac\s?\{([^{}]{1,80})\}\s?([0-9])"), r"((\1)/(\2))"),
    (re.compile(r"\\(?:times|cdot|ast)(?![a-zA-Z])"), "*"),
    (re.compile(r"\\div(?![a-zA-Z])"), "/"),
    (re.compile(r"\\(?:approx|simeq|cong)(?![a-zA-Z])"), "≈"),
    (re.compile(r"\\sqrt\s?\[[^\]\n]{1,20}\]\s?"), "∛"),  # \sqrt[3]{64}
    (re.compile(r"\\sqrt(?=\s?[{0-9])"), "√"),
    (re.compile(r"\s?\^\s?(?:\{\s?\\circ\s?\}|\\circ)"), "°"),  # 90^\circ
    (re.compile(r"\\(?:left|right)(?![a-zA-Z])"), ""),
    (re.compile(r"\\(?:overline|bar)\s?\{([0-9]{1,9})\}"), r"(\1)"),
    (re.compile(r"\\[lc]?dots(?![a-zA-Z])"), "…"),
    (re.compile(r"\\\\|\\(?:implies|Rightarrow|rightarrow|to|begin|end)(?![a-zA-Z])"), " ; "),
    (re.compile(r"\\[)\]]\s{0,9}:|:\s{0,9}\\[(\[]"), " ; "),
    (re.compile(r"\\(?:text|mathrm|mathbf|quad|qquad|displaystyle)\b|\\[()\[\],;!: ]"), " "),
    (re.compile(r"\\([$%#&])"), r"\1"),
)
_TIE = re.compile(r"(?<=[0-9])~(?=[0-9]{3}(?![0-9]))")  # LaTeX's space in 2~700; elsewhere ~ makes a range
_NESTED = re.compile(r"(?<=/ )([0-9]{1,6}/[0-9]{1,6})(?![0-9.]|/[0-9 ])")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}")
_AREA = re.compile(r"(?<=[^\W\d_])(?:\s?\^\s?[({]?[23][)}]?|[²³])")


def normalise(text: str) -> str:
    """Return the text with one sign per operation, LaTeX commands as signs, and spaced dashes unchanged."""
    if "{,}" in text:
        text = text.replace("{,}", ",")
    if "~" in text and ("\\" in text or not _HAN.search(text)):
        text = _TIE.sub(" ", text)
    if "\\" in text:
        text = _WORDS.sub(r" \1 ", text)
        for _ in range(3):  # nested fractions
            text = _FRACTION.sub(r"((\1)/(\2))", _MIXED.sub(r" \1/\2", text))
        for pattern, replacement in _LATEX:
            text = pattern.sub(replacement, text)
    if not text.isascii() or "[" in text or "{" in text or "&" in text:
        text = narrow_digits(text).translate(_SIGNS)
        text = _VULGARS.sub(_write_vulgar, text)
    if "^" in text or (not text.isascii() and _RAISED.search(text)):
        text = _RAISED.sub(_write_power, _AREA.sub(" ", text))
    if "/ " in text:
        text = _NESTED.sub(r"(\1)", text)
    return text


def _write_power(match: re.Match[str]) -> str:
    """Return raised digits as a power: `5²` as `5^2`."""
    return f"^{match[0].translate(_SUPERSCRIPTS)}"


def _write_vulgar(match: re.Match[str]) -> str:
    """Return a fraction of one character, perhaps after a whole number: `2½` as `2 1/2`, `½` as `(1/2)`."""
    whole, fraction = match[1], _VULGAR[match[2]]
    if whole:
        return f"{whole} {fraction}"
    return f"({fraction})"


def replace_dashes(text: str) -> str:
    """Return the text with every dash as a minus."""
    return text.translate(_DASHES)


# A list's bullet or number at the start of a line: - , 2. , (3), ①.
_BULLET = re.compile(
    r"\s*(?:[-*•+–—>#]{1,4}\s|\(?[0-9]{1,3}(?:\.\s|\)\s?|、)|[a-zа-я]\)\s|[①-⑳]\s?)", re.IGNORECASE
)
# A power that Markdown could take for bold type: 5**2.
_POWER = re.compile(r"(?<=[0-9)])\*\*(?=[0-9(])")
# Markdown's bold type and code: **12**, `12`.
_BOLD = re.compile(r"\*\*+|__+|`")
_INNER = r"(?:[^*\n]|(?<=\s)\*(?=\s)|(?<=[\w)])\*(?=[\w(]))"  # a times sign among italics
_ITALIC = re.compile(rf"(?:(?<=[\s=(])|^)\*(?=[^\s*])({_INNER}{{1,80}})(?<=\S)\*(?=[\s.,;:!?)]|$)")
# Words in brackets after a word or number, but no remainder or rounding: 12 (per month).
_ASIDE = re.compile(
    r"(?<=[\w)%])\s?\(\s?(?!rem|round|ост|окр|余|取|四|R)(?:[^\W\d_]{2}|[\u2e80-\uffff]|[mghslLtмгчлтс]\s?(?=\)))[^()=*+\n]{0,80}\)"
)
# A number with what explains it: 72 (6 * 12), 10% ($30).
_EXPLAINED = re.compile(
    r"(?P<number>[0-9][0-9.,]{0,20}(?<=[0-9]))(?P<percent>\s?%)?(?:\s?[$€£¥₽])?\s?\((?P<inside>[^()=≈\n]{1,80})\)"
)
# A mixed number in words: 2 and 1/2.
_AND_PART = re.compile(r"(?<=[0-9]) and \(?([0-9]{1,3}/[0-9]{1,3})\)?(?![0-9/])")
# Cents, beside which dollars are a unit: 50 cents.
_CENTS = re.compile(r"(?<!per)(?<!per )\bcents?\b|¢")
_DOLLARS = re.compile(r"\$\s?([0-9][0-9.,]{0,20}(?<=[0-9]))")
_TIMES_UNKNOWN = re.compile(r"(?<=[0-9])\([A-Z][^()=\n]{0,80}\)")  # 20(Pencil Price)
_IDEOGRAPH = "\u2e80"
# An abbreviated unit whose full stop ends no sentence: 5 ft. * 3.
_ABBREVIATION = re.compile(
    r"\b(sq|oz|lbs?|ft|in|hrs?|mins?|secs?|yd|gal|руб|р|коп|шт|кг|мин|сек|ч|г|м|т|тыс|млн|млрд|л|см|км|дн|нед|мес|чел"
    r"|стр|кв)\.(?=\s{0,3}(?:[^\W\d_]|[-+*/=)]))"
)
_SHORTENED = re.compile(r"\.(?<=[^\W\d_]\.)(?=\s{0,3}(?:[^\W\d_]|[-+*/=)]))")
"""The full stop of an abbreviation, as a cheap test before the pattern."""
_POINTED_UNIT = re.compile(r"(?<=[^\W\d_])\.(?=/[^\W\d_])")  # 22 р./м
_PRICE = re.compile(r"(?<=[0-9])\s?[$€£¥₽]\s?(?=/\s?[^\W\d_])")  # 13 ₽/h
# A percent sign before its number: %20.
_LEADING_PERCENT = re.compile(r"(?<=[\s=(])%(?=[0-9])")
# A time of day: 7:30, 07:30:15.
_CLOCK = re.compile(r"(?<![0-9:.,])([0-9]{1,2}):([0-5][0-9])(?::[0-5][0-9])?(?![0-9:])")
# The half of a day after its time: 7 p.m.
_HALF_DAY = re.compile(r"(?<=[0-9])\s?(?:[ap]\.?m\b\.?)", re.IGNORECASE)
_HALF_DAYS = re.compile(r"[mM](?<=[aApP.].)")
"""Characters of each half of a time of day, as a cheap test before the pattern."""
_LOOSE_COLON = re.compile(r"(?<! ):|:(?! )")  # in a text, only a colon between spaces divides
_TIGHT_COLON = re.compile(r"(?<=[0-9)]):(?=[0-9(])")
_CYRILLIC = re.compile(r"[а-яё]", re.IGNORECASE)
_HAN = re.compile("[\u4e00-\u9fff]")
_WIDE_COMMA = re.compile("，(?![０-９])|[、；。]")  # no comma of a number, which `narrow` would make of it
_TIGHT_COMMA = re.compile(  # 3×4=12,12+5=17; 5×3=15,2个
    r"(=\s?)([0-9]{1,15}),([0-9]{1,15})(?=\s?[-+*/×÷−·]|[\u4e00-\u9fff])"
)
_AND_HALF = re.compile(  # 2 and a half hours, 2个半小时
    r"(?<![0-9.,/])([0-9]{1,6})(?: and a half\b| с половиной\b|(个)半(?=小时|月|星期|钟头))"
)
_SUM = re.compile(r"[-0-9.,()+*/×÷−· $€£¥₽%]++\Z")
_OPERATED = re.compile(r"[0-9)%]\s*[-+*/×÷−·]\s*[^\s]")
_LONGEST_SUM = 100
_QUARTERS = frozenset({"00", "15", "30", "45"})
_HOURS = 24


def prepare_line(line: str) -> str:
    """Return a line of text normalised for finding equations."""
    if "**" in line:
        line = _POWER.sub(_replace_power, line)
    line = _strip_bullet(_strip_bullet(_BOLD.sub(" ", line)))
    if "*" in line:
        line = _ITALIC.sub(r"\1", line)
    if not line.isascii():
        line = _WIDE_COMMA.sub(" ; ", line)
    if "," in line:
        line = _TIGHT_COMMA.sub(_split_at_comma, line)
    text = normalise(line)
    if ":" in text:
        text = _mark_colons(text)
    if _HALF_DAYS.search(text):
        text = _HALF_DAY.sub(f" {UNKNOWN} ", text)
    return _strip_additions(text)


def _strip_additions(text: str) -> str:
    """Return a normalised line without additions to its numbers: prices, asides, abbreviations' dots."""
    if " and " in text:
        text = _AND_PART.sub(r" \1", text)
    if "half" in text or "половиной" in text or "个半" in text:
        text = _AND_HALF.sub(_write_half, text)
    if "$" in text and _CENTS.search(text):
        text = _DOLLARS.sub(r"\1 dollars", text)
    if "(" in text:
        text = _TIMES_UNKNOWN.sub(f" {UNKNOWN} ", text)
        text = _EXPLAINED.sub(_strip_explanation, _ASIDE.sub(" ", text))
    if "/" in text:
        text = _PRICE.sub("", _POINTED_UNIT.sub("", text))
    if _SHORTENED.search(text):
        text = _ABBREVIATION.sub(r"\1 ", text)
    if "%" in text:
        text = _LEADING_PERCENT.sub("", text)
    return text.replace("==", "=")


def _write_half(match: re.Match[str]) -> str:
    """Return a number and a half as a decimal: `2 and a half` as `2.5`, `2个半` as `2.5个`."""
    measure_word = match[2] or ""
    return f"{match[1]}.5{measure_word}"


def _replace_power(match: re.Match[str]) -> str:
    """Distinguish a power from the end of bold type: `5**2`, `**Step 1)**5 * 2`."""
    before = _POWER.sub("", match.string[: match.start()])
    is_bold = len(_BOLD.findall(before)) % 2 == 1
    if is_bold:
        return match[0]
    return "^"


def _strip_explanation(match: re.Match[str]) -> str:
    """Remove brackets that explain the number before them: `72 (6 a month)`, `72 (6 * 12)`, `10% ($30)`."""
    inside = tokenize(match["inside"])
    percent = match["percent"] or ""
    if inside and inside[0].kind == "number" and any(map(_is_word, inside)):
        return f"{match['number']}{percent} "
    if percent and len(inside) == 1:
        return f"{match['number']}{percent} "
    # A calculation in brackets explains the number if it gives it.
    if len(inside) > 1:
        value = evaluate(tokenize(match["number"]))
        if value is not None and evaluate(inside) == value:
            return f"{match['number']} "
    return match[0]


def _is_word(token: Token) -> bool:
    """Return whether a token is a word of two letters, or of one Chinese character."""
    if token.kind != "word":
        return False
    return len(token.text) > 1 or token.text >= _IDEOGRAPH


def _strip_bullet(line: str) -> str:
    bullet = _BULLET.match(line)
    if bullet is None:
        return line
    return line[bullet.end() :]


def _split_at_comma(match: re.Match[str]) -> str:
    """Separate two equations at a comma without a space; if it may be a decimal comma, only if the first is right.

    In `11 / 2*6 = 5,5*6` it is a decimal comma: the text before it gives 5.5, or nothing. Chinese has none. After
    another comma, as in `1*6,6 = 6,6*2`, only a calculation counts as the first equation.
    """
    before = _SUM.search(match.string, max(0, match.start() - _LONGEST_SUM), match.start())
    sums: list[str] = []
    if before:
        sums.append(before[0])
        preceding, _, last_sum = before[0].rpartition(",")
        if preceding and _OPERATED.search(last_sum):
            sums.append(last_sum)
    values = [evaluate(tokenize(normalise(text))) for text in sums]
    result, following = match[2], match[3]
    decimal, grouped = Fraction(f"{result}.{following}"), int(result + following)
    # 12,12: the second equation begins with the first one's result.
    is_repeated = result == following and grouped not in values and _HAN.search(match.string)
    is_result = int(result) in values and decimal not in values
    if is_repeated or is_result:
        return f"{match[1]}{result} ; {following}"
    return match[0]


def _mark_colons(text: str) -> str:
    """Mark times of day; a colon without spaces is a division in Russian."""
    is_russian = _CYRILLIC.search(text) is not None

    def mark_time(match: re.Match[str]) -> str:
        is_time = int(match[1]) <= _HOURS and match[2] in _QUARTERS
        if is_russian and not is_time:
            return match[0]
        return f" {UNKNOWN} "

    text = _CLOCK.sub(mark_time, text)
    if is_russian:
        text = _TIGHT_COLON.sub(" : ", text)
    return _LOOSE_COLON.sub(" ; ", text)


# A word of equality before a number: is 5, 等于5.
_EQUALS = re.compile(
    r" (?:is|equals?|equal to|makes|gives|comes to|leaves|gets|будет|это|составляет|даст|даёт|дает|равн[оаы]|равен"
    r"|равняется) [-−(]?[$€£¥₽]?[0-9]|(?:是|等于|得到|得|为)\s?[$€£¥₽]?[0-9]"
)
_OPERATES = re.compile(r"[*×÷+/^√·²³⋅]| [-−–x] |[0-9][-−][0-9]|\\|plus|minus|times|плюс|минус|[加减乘除]")
_WORD_OPERATIONS = (
    "half", "halv", "third", "quarter", "fourth", "fifth", "sixth", "eighth", "tenth", "twice", "double", "triple",
    "thrice", "squared", "cubed", "square root", "to the power", "divided by", "multiplied by",
)  # fmt: skip
# Operations in Russian and Chinese words: половина, 分之一.
_FOREIGN = re.compile(
    r"полов|трет|четверт|пят|множ|дел|вадрат|кубе|степени|корень|分之|一半|平方|立方|次方|的\s?[0-9.]{1,9}\s?%"
)


def says(line: str, *, equal: bool) -> bool:
    """Return whether a line may hold an operation or equality in words; `equal`: it has an equals sign."""
    lowered = line.lower()
    if equal and _names_operation(lowered):
        return True
    return any(
        (_OPERATES.search(lowered, 0, match.start()) or _names_operation(lowered))
        and not _GOES_ON.match(lowered, match.end() - 1)
        for match in _EQUALS.finditer(lowered)
    )


def _names_operation(lowered: str) -> bool:
    for word in _WORD_OPERATIONS:  # faster than a pattern of them all
        if word in lowered:
            return True
    return not lowered.isascii() and bool(_FOREIGN.search(lowered))


_NUMBER = r"[$€£¥₽]?\s?(?P<number>[0-9](?:[0-9., ]{0,20}[0-9])?)"
_UNITS = r"(?:\s?[^\W\d_]+){0,2}"
_THEN = (
    rf"(?={_UNITS}\s?(?:[=≈＝]|is\b|equals?\b|gives\b|makes\b"
    r"|равн|равен|будет|[—–-]\sэто|это\b|составля|是|等于|得|为))"
)
_COUNTS = {
    "a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "одна": 1, "две": 2, "три": 3, "четыре": 4,
    "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10,
}  # fmt: skip
_PARTS = {
    "hal": 2, "thi": 3, "qua": 4, "fou": 4, "fif": 5, "six": 6, "eig": 8, "ten": 10,
    "пол": 2, "тре": 3, "чет": 4, "пят": 5,
}  # fmt: skip
_PART = re.compile(
    r"\b(?:(?P<count>an?|one|two|three|four|одна|две|три|четыре)[\s-])?"
    r"(?P<part>hal(?:f|ves)|thirds?|quarters?|fourths?|fifths?|sixths?|eighths?|tenths?"
    r"|половин\w|трет[ьи]|четверт[ьи]|пят(?:ая|ую|ых))\s(?:of\s|от\s|из\s)?(?:the\s)?" + _NUMBER + _THEN,
    re.IGNORECASE,
)
_MULTIPLE = re.compile(rf"\b(?P<times>twice|double|triple|thrice)\s(?:of\s)?{_NUMBER}{_THEN}", re.IGNORECASE)
_HAN_PART = re.compile(
    r"(?P<number>[0-9][0-9.,]{0,20})\s?[^\W\d_]{0,2}的\s?"
    r"(?:(?P<half>一半)|(?P<percent>[0-9.]{1,9}%)|(?P<under>[二三四五六七八九十])分之(?P<over>[一二两三四五六七八九]))"
)
_TIMES = "multiplied by|умноженное на|умножить на|умножаем на|умножено на"
_OVER = "divided by|разделить на|делить на|делённое на|деленное на|разделённое на|делим на"
_ROOT = "(?:the )?square root of|квадратный корень из|корень из"
_SAID_SIGNS = tuple(
    (re.compile(words, re.IGNORECASE), sign)
    for words, sign in (
        (rf"(?<=[\w)%])\s(?:{_TIMES})\s(?=[($€£¥₽0-9])", " * "),
        (rf"(?<=[\w)%])\s(?:{_OVER})\s(?=[($€£¥₽0-9])", " / "),
        (r"(?<=[0-9)])\s?(?:squared|в квадрате|的?平方(?![米厘分公千毫英尺根]))", "^2"),
        (r"(?<=[0-9)])\s?(?:cubed|в кубе|的?立方(?![米厘分公千毫英尺根]))", "^3"),
        (r"(?<=[0-9)])\s?(?:to the power(?: of)?|в степени)\s(?=[0-9])", "^"),
        (r"(?<=[0-9])\s?的\s?([0-9]{1,2})\s?次方", r"^\1"),
        (rf"(?:{_ROOT})\s(?=[0-9])", "√"),
        (r"(?<![\w.])([0-9]{1,12})\s?的平方根", r"√\1"),
    )
)
_COMES_TO = re.compile(
    r"(?<=[\w)%])\s(?:is|equals?|is equal to|makes|gives|comes to|leaves|gets|равно|равняется|равен|равна|будет"
    r"|[—–-]\sэто|это|составляет|даст|даёт|дает)\s(?=[-−(]?[$€£¥₽]?[0-9])"
    r"|(?<=[\w)%])\s?(?:就是|等于|得到|是|得|为)\s?(?=[$€£¥₽]?[0-9])"
    r"(?![$€£¥₽]?[0-9][0-9.,]*\s?(?:倍|%|％|折|比))",
    re.IGNORECASE,
)
# A number that compares rather than results: is 3 more, is 20% of.
_COMPARES = re.compile(
    r"[-−(]?[$€£¥₽]?[0-9][0-9.,/]*\s?(?:percent|less|more|fewer|times|of|%|раз|больше|меньше|процент)",
    re.IGNORECASE,
)
# A number with which an operation begins: is 5 * 3.
_GOES_ON = re.compile(r"[-−(]?[$€£¥₽]?[0-9][0-9.,]*(?:\s?[^\W\d_]+){0,2}\s?(?:[*×x÷/+]|[-−–]\s)")
_FUNCTIONS = re.compile(  # the remainder when 55 is divided by 9 is 1
    r"\b(?:remainder|digit|average|mean|median|factor|divisor|multiple|reciprocal|inverse|остат|цифр|средн|делител)"
    r"|余数|平均",
    re.IGNORECASE,
)
# All that stands before the last clause: "First, ".
_CLAUSE = re.compile(r".*(?:[;:!?=≈。！？；：，]|[.,]\s)", re.DOTALL)
# A clause that calculates: 3 bags * 4, 5 plus 6, 1/2 of.
_OPERATION = re.compile(
    r"[0-9)%](?:\s?[^\W\d_]+){0,2}\s?[*×✕÷·⋅^+]|√|[0-9)%](?:\s?[^\W\d_]+){0,2}\s[-–−/x]\s?[$€£¥₽(0-9]"
    r"|[0-9](?:\s[^\W\d_]+){0,2}\s(?:plus|minus|times|плюс|минус|x)\s|[0-9]\s?(?:加上?|减去?|乘以?|除以)\s?[0-9]"
    r"|(?:%|percent|[0-9]/[0-9]+)\s(?:of|от)\s|[0-9]/[0-9]+\s\*|\\(?:times|div|cdot|frac|sqrt)"
)
_CLAUSE_LENGTH = 120
"""Characters before a word of equality in which its clause may begin."""


def replace_spoken(line: str) -> str:
    """Return a line with operations in words as signs, if they are next to numbers.

    A word of equality (`is`, `равно`, `是`) becomes a sign if a number follows and its clause has an operation
    before it; so `pages 10-15 are 6` and `that is 3 more` stay as they are.
    """
    line = _PART.sub(_write_part, line)
    line = _MULTIPLE.sub(_write_multiple, line)
    line = _HAN_PART.sub(_write_part_han, line)
    for pattern, sign in _SAID_SIGNS:
        line = pattern.sub(sign, line)
    return _COMES_TO.sub(partial(_write_equals, line), line)


_TWICE = frozenset({"twice", "double"})


def _write_part(match: re.Match[str]) -> str:
    """Return a part of a number as a product: `half of 10` as `1/2 * 10`."""
    count = _COUNTS[(match["count"] or "one").lower().replace("an", "a")]
    divisor = _PARTS.get(match["part"].lower()[:3])
    if divisor is None:
        return match[0]  # thırd, whose ı a pattern without case takes for an i
    return f"{count}/{divisor} * {match['number']}"


def _write_multiple(match: re.Match[str]) -> str:
    """Return a multiple of a number as a product: `twice 10` as `2 * 10`."""
    factor = 3
    if match["times"].lower() in _TWICE:
        factor = 2
    return f"{factor} * {match['number']}"


def _write_part_han(match: re.Match[str]) -> str:
    """Return a part in Chinese as a product: `10的一半` as `10 * 1/2`, `10的三分之二` as `10 * 2/3`."""
    if match["percent"]:
        return f"{match['number']} * {match['percent']}"
    over, under = 1, 2
    if not match["half"]:
        over, under = _COUNTS[match["over"]], _COUNTS[match["under"]]
    return f"{match['number']} * {over}/{under}"


def _write_equals(line: str, match: re.Match[str]) -> str:
    """Return an equals sign for a word of equality after a clause of the line that calculates, else the word."""
    clause = line[max(0, match.start() - _CLAUSE_LENGTH) : match.start() + 1]
    clause_start = _CLAUSE.match(clause)
    if clause_start:
        clause = clause[clause_start.end() :]
    if not _OPERATION.search(clause) or _FUNCTIONS.search(clause):
        return match[0]
    # The number after the word may compare (`is 3 more`) or begin an operation (`is 5 * 3`).
    if _COMPARES.match(line, match.end()) or _GOES_ON.match(line, match.end()):
        return match[0]
    return " = "
