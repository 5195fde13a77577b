"""Operations that a chain says in words, written as signs: `57 plus 75 equals 132`, `half of 30 is 15`."""

import re
from collections.abc import Callable

_EQUALS = re.compile(
    r" (?:is|equals?|equal to|makes|gives|comes to|leaves|gets|будет|это|составляет|даст|даёт|дает|равн[оаы]|равен"
    r"|равняется) [-−(]?[$€£¥₽]?[0-9]|(?:是|等于|得到|得|为)\s?[$€£¥₽]?[0-9]"
)
_OPERATES = re.compile(r"[*×÷+/^√·²³⋅]| [-−–x] |[0-9][-−][0-9]|\\|plus|minus|times|плюс|минус|[加减乘除]")
_WORDS = (
    "half", "halv", "third", "quarter", "fourth", "fifth", "sixth", "eighth", "tenth", "twice", "double", "triple",
    "thrice", "squared", "cubed", "square root", "to the power", "divided by", "multiplied by",
)  # fmt: skip
_FOREIGN = re.compile(
    r"полов|трет|четверт|пят|множ|дел|вадрат|кубе|степени|корень|分之|一半|平方|立方|次方|的\s?[0-9.]{1,9}\s?%"
)


def says(line: str, *, equal: bool) -> bool:
    """Say whether a line may hold an operation, or what one comes to, in words; `equal`: it has an equals sign."""
    lowered = line.lower()
    if equal and _operates(lowered):
        return True
    return any(
        (_OPERATES.search(lowered, 0, match.start()) or _operates(lowered))
        and not _GOES_ON.match(lowered, match.end() - 1)
        for match in _EQUALS.finditer(lowered)
    )


def _operates(lowered: str) -> bool:
    """Say whether a line names an operation that no sign writes."""
    for word in _WORDS:  # faster than a pattern of them all
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
_SIGNS = tuple(
    (re.compile(said, re.IGNORECASE), sign)
    for said, sign in (
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
_COMPARES = re.compile(
    r"[-−(]?[$€£¥₽]?[0-9][0-9.,/]*\s?(?:percent|less|more|fewer|times|of|%|раз|больше|меньше|процент)",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"[-−(]?[$€£¥₽]?[0-9][0-9.,]*(?:\s?[^\W\d_]+){0,2}\s?(?:[*×x÷/+]|[-−–]\s)")
_CLAUSE = re.compile(r".*(?:[;:!?=≈。！？；：，]|[.,]\s)", re.DOTALL)
_OPERATED = re.compile(
    r"[0-9)%](?:\s?[^\W\d_]+){0,2}\s?[*×✕÷·⋅^+]|√|[0-9)%](?:\s?[^\W\d_]+){0,2}\s[-–−/x]\s?[$€£¥₽(0-9]"
    r"|[0-9](?:\s[^\W\d_]+){0,2}\s(?:plus|minus|times|плюс|минус|x)\s|[0-9]\s?(?:加上?|减去?|乘以?|除以)\s?[0-9]"
    r"|(?:%|percent|[0-9]/[0-9]+)\s(?:of|от)\s|[0-9]/[0-9]+\s\*|\\(?:times|div|cdot|frac|sqrt)"
)
_BACK = 120


def spoken(line: str) -> str:
    """Return a line with operations in words as signs, where numbers stand beside them.

    A word of equality (`is`, `равно`, `是`) becomes a sign where a number stands behind it, and an operation
    before it in its clause; so `pages 10-15 are 6` and `that is 3 more` stay as they are.
    """
    line = _PART.sub(_part, line)
    line = _MULTIPLE.sub(lambda m: f"{2 if m['times'].lower() in _TWICE else 3} * {m['number']}", line)
    line = _HAN_PART.sub(_han_part, line)
    for pattern, sign in _SIGNS:
        line = pattern.sub(sign, line)
    return _COMES_TO.sub(_equality(line), line)


_TWICE = frozenset({"twice", "double"})


def _part(match: re.Match[str]) -> str:
    count = _COUNTS[(match["count"] or "one").lower().replace("an", "a")]
    return f"{count}/{_PARTS[match['part'].lower()[:3]]} * {match['number']}"


def _han_part(match: re.Match[str]) -> str:
    if match["percent"]:
        return f"{match['number']} * {match['percent']}"
    over, under = (1, 2) if match["half"] else (_COUNTS[match["over"]], _COUNTS[match["under"]])
    return f"{match['number']} * {over}/{under}"


def _equality(line: str) -> Callable[[re.Match[str]], str]:
    """Return what writes a word of equality in this line as a sign."""

    def told(match: re.Match[str]) -> str:
        clause = line[max(0, match.start() - _BACK) : match.start() + 1]
        begins = _CLAUSE.match(clause)
        clause = clause[begins.end() :] if begins else clause
        compares = _COMPARES.match(line, match.end())
        goes_on = _GOES_ON.match(line, match.end())
        return " = " if _OPERATED.search(clause) and not (compares or goes_on) else match[0]

    return told
