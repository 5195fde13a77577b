"""Check the context of a reply's number: a denial, question, bound, other number, or truncation.

Source: ours (SPEC 2).
"""

from fractions import Fraction

from data.patterns import pattern
from generators._naming import ALL_BUT, IDIOM, fold

_BEFORE, _AFTER = 240, 120
"""Characters read before and after the number."""

_TAG = pattern(r"</?[a-z!|][^<>\n]{0,40}>")
_OPENING = r"[\s*_$`\"'«“„(\[{\\]*"
_CLOSING = r"(?:[*_$`\"'»”“)\]}>\\]|</[a-z]{1,9}>)*"
_NUMBER = r"[-−–]?\d+(?:[.,]\d+)*"
_TEXT = pattern(r"\\(?:text|mathrm|mathbf|textbf)\s?\{")

# Where the words that qualify a number begin: the last of these before it.
_PART = pattern(
    r"[.!?;:…](?=[\s*_\"»”)]|$)|,(?! ?(?:что|чтобы|будто|that)(?![^\W_]))|\d[*_$`)]*\s*(?=[—–]|(?:it|this|that|"
    r"это)(?![^\W_]))|(?<![^\W_])(?:(?<!not )so|but|and|because|since|as|therefore|thus|hence|then|а|но|и|ибо|"
    r"поэтому|значит|следовательно|итак|получаем)(?![^\W_])"
)
_UNEQUAL = pattern(r"[≠≉≢]|!=|=/=|/=|<>|\\not(?![a-z])|\\neq?(?![a-z])")
_EXCEPT = pattern(
    r"(?<![^\W_])(?:(?:any|every)(?:thing| number| value)?,? (?:but|save)|all,? but|except|excluding|besides|"
    r"(?:other|rather) than|(?:apart|aside) from|instead of|no way|by no means|"
    r"кроме|помимо|исключая|за исключением|вместо)(?![^\W_])"
)
_NOTHING_BUT = pattern(
    r"(?<![^\W_])(?:nothing(?: else)?,? (?:but|except|other than)|(?:not|n['’]t) mistaken|не ошиб[^\W_]+|"
    r"не что иное,? как|ничто иное,? как|ничего,? кроме)(?![^\W_])"
)
_DENIAL = pattern(
    r"n['’]t(?![^\W_])|(?<![^\W_])(?:not|isnt|doesnt|never|neither|nor|cannot|cant|hardly|scarcely|unlikely|"
    r"impossible|wrong|incorrect|false|untrue|(?<!no )(?<!out )doubt|не|ни|нет|никак|никогда|нельзя|"
    r"вряд ли|едва ли|неверно|неправда|неправильно|ложно|невозможно|исключено|маловероятно|сомневаюсь|"
    r"сомнительно)(?![^\W_])"
)
_JUST_BEFORE = pattern(r"(?:n['’]t|(?<![^\W_])(?:not|не|ни))[\s:*_$`\"'«“(\[{\\—–]*$")
_CONTRAST = r"(?![^.!?\n]{0,20}\d)"  # '39, not 87', '39 — not 87'
_REFUTED = pattern(
    rf"{_CLOSING}\s?(?:[—–(-]\s?)?(?:(?:is|was|are|can|could|does|did|would|will|might|это|точно|явно|clearly|"
    rf"definitely|simply|also|just) ){{0,3}}(?:(?:is|was|are|does|did|could|would|wo|ca)n['’]t|not|never|cannot|"
    rf"wrong|incorrect|false|untrue|impossible|не|неверн[^\W_]+|неправильн[^\W_]+|ошибочн[^\W_]+|ложн[^\W_]+|"
    rf"исключено|невозможно)(?![^\W_]){_CONTRAST}"
)

_YES = pattern(r"\W{0,6}(?:yes|yep|indeed|correct|да|верно|именно)(?![^\W_])")
_ASKED = pattern(
    rf"{_CLOSING}[.\s]{{0,2}}(?:[(\[]\s?)?(?:,? ?(?:right|correct|yes|no|или нет|or not|верно|правильно|так|да))?"
    rf"[*_$`)\]]*\s?\?"
)
_ASKING = pattern(
    r"\W*(?:(?:so|but|and|or|hmm|then|а|и|но|или|так|хм)\W+)?(?:is|isn['’]t|are|was|could|can|might|may|would|"
    r"should|does|did|will|what if|how about|maybe|perhaps|может|возможно|разве|неужели|верно ли|правда ли|"
    r"точно ли|а если|правильно ли|равно ли|будет ли|является ли|это ли|это)(?![^\W_])"
)
_SENTENCE = pattern(r"[.!?…](?=[\s*_\"»”)])|\n")
_SENTENCE_END = pattern(r"[.!?…](?=[\s*_\"»”)$`}\\]|$)|\n")

_BOUND = pattern(
    r"(?:[≤≥≦≧⩽⩾]|\\(?:leq?|geq?|leqslant|geqslant|lt|gt)(?![a-z])|(?<![-=>])>=?|(?<![<])<=?"
    r"|&[lg]t;"
    r"|(?<![^\W_])(?:(?:more|less|greater|fewer|bigger|larger|smaller|higher|lower)(?:,? than)?"
    r"(?: or equal to)?|at (?:least|most)|up to|under|over|above|below|almost|nearly|exceeds?|"
    r"(?:больше|меньше|более|менее|свыше|выше|ниже|крупнее|почти|минимум|максимум|превышает|чуть)"
    r"(?: или равно)?(?:,? чем)?))"
    rf"{_OPENING}$"
)
_BOUND_AFTER = pattern(
    rf"{_CLOSING},? (?:(?:and|or|и|или) )?(?:more|less|up|upwards?|above|below|at (?:least|most)|"
    rf"больше|более|выше|меньше|менее|ниже)(?![^\W_])(?! than| чем)"
)
_QUOTED = pattern(r"[ \t>]*>\s*$")

_MARKS = r"[\s*_$`\"'«»“”„()\[\]{}\\]*"
_END = rf"{_CLOSING}\s*(?:[.!?;,]|$|\n|(?:are|is|both|fit|оба|обе|подход[^\W_]+|возможн[^\W_]+)(?![^\W_]))"
_OR = pattern(
    rf"{_CLOSING}\s?[,;]?\s?(?:\\text\s?\{{)?\s?(?:or|или|либо)(?![^\W_])(?:{_MARKS}(?P<number>{_NUMBER}))?"
)
_AND = pattern(
    rf"{_CLOSING}\s?[,;]?\s?(?:\\text\s?\{{)?\s?(?:(?:and|и)(?![^\W_])|&)(?: also| maybe| possibly| perhaps| также|"
    rf" ещё| еще| возможно)?{_MARKS}(?P<number>{_NUMBER}){_END}"
)
_LIST = pattern(rf"[*_$`\"'»”]*(?:[,;]\s?[*_$`\"'«“]*(?P<number>{_NUMBER})[*_$`\"'»”.]*)+\s*(?:\n|$|[\])}}]|\\\}})")
_AFTER_AND = pattern(
    rf"(?<![\d.,])(?<![-+*/×÷·−] )(?P<number>{_NUMBER}){_CLOSING}\s?[,;]?\s?(?:(?:and|or|и|или|либо)(?![^\W_])|&)"
    rf"(?: also| maybe| possibly| perhaps| также| возможно)?{_MARKS}$"
)
_IN_LIST = pattern(
    rf"(?:^|[\n\[({{])[*_$`\"'«“\s]*(?P<number>{_NUMBER})(?:[*_$`\"'»”]*[,;]\s?[*_$`\"'«“]*{_NUMBER})*"
    rf"[*_$`\"'»”]*[,;]\s?[*_$`\"'«“]*$"
)
_OTHERWISE = (
    r"(?<![^\W_])(?:another|others?|or|alternatively|(?:just )?as (?:well|likely)|equally|also|друг[^\W_]{1,3}|"
    r"или|либо|можно|столь же|с тем же успехом|равно|также|тоже)(?![^\W_])"
)
_ONE_THEN = pattern(
    rf"(?<![\d.,])(?<![-+*/×÷·−] )(?P<number>{_NUMBER})(?![^\n.!?;=\d]{{0,9}}[+*/×÷=])[^\n.!?=\d]{{0,60}}?"
    rf"{_OTHERWISE}[^\n.!?=\d]{{0,40}}$"
)
_THEN_ONE = pattern(
    rf"{_CLOSING},? [^\n.!?=\d(]{{0,40}}?{_OTHERWISE}[^\n.!?=\d(]{{0,40}}?(?P<number>{_NUMBER})"
    rf"(?!\s?(?:[-+*/×÷=(]|\\times))"
)

_CUT = pattern(r"[*_$`\\)\]}>. ]{0,8}(?: ?[-+/×÷−=]\s*$| \*\s*$)")


def fault(text: str, start: int, end: int, value: Fraction | int) -> str:
    """Return why the number at text[start:end] is not given as the answer; '' if it is."""
    before = fold(_TAG.sub(" ", text[max(0, start - _BEFORE) : start].lower()))
    after = fold(text[end : end + _AFTER])
    if _asks(before, after):
        return "asks a question"
    if _bounds(before, after):
        return "gives a bound"
    if _denies(before, after):
        return "denies the number it gives"
    if _several(before, after, value):
        return "gives several numbers"
    return "breaks off" if _CUT.match(after) else ""


def _asks(before: str, after: str) -> bool:
    """Return whether a question mark follows the number, or its sentence begins and ends as a question."""
    if asked := _ASKED.match(after):
        return _YES.match(after, asked.end()) is None
    ending = _SENTENCE_END.search(after)
    if ending is None or ending[0] != "?" or _YES.match(after, ending.end()):
        return False
    opened = [match.end() for match in _SENTENCE.finditer(before)]
    return _ASKING.match(before, opened[-1] if opened else 0) is not None


def _bounds(before: str, after: str) -> bool:
    """Return whether the number is only a bound; `> 39` at a line's start is a quotation, `<39>` a bracket."""
    if _BOUND_AFTER.match(after):
        return True
    found = _BOUND.search(before)
    if found is None or (found[0][0] == "<" and after.lstrip()[:1] == ">"):
        return False
    return not _QUOTED.fullmatch(before, before.rfind("\n", 0, found.start() + 1) + 1)


def _denies(before: str, after: str) -> bool:
    """Return whether the words that qualify the number deny it: in its clause before it, or right after it."""
    if _REFUTED.match(after):
        return True
    plain = _NOTHING_BUT.sub(" ", IDIOM.sub(" ", _TEXT.sub(" ", before)))
    if _JUST_BEFORE.search(plain):
        return True
    line = plain[plain.rfind("\n") + 1 :]
    line = _EXCEPT.sub(" not ", ALL_BUT.sub(" not ", _UNEQUAL.sub(" not ", line)))
    ends = [match.end() for match in _PART.finditer(line)]
    return _DENIAL.search(line, ends[-1] if ends else 0) is not None


def _several(before: str, after: str, value: Fraction | int) -> bool:
    """Return whether another number is given beside this one: '5 and 7', '5 or 7', '[5, 7]', 'one 5, another 7'."""
    found = _OR.match(after)
    if found and (found["number"] is None or _differs(found["number"], value)):
        return True
    others = (
        _AND.match(after), _LIST.match(after), _THEN_ONE.match(after),
        _AFTER_AND.search(before), _IN_LIST.search(before), _ONE_THEN.search(before),
    )  # fmt: skip
    return any(other and _differs(other["number"], value) for other in others)


def _differs(number: str, value: Fraction | int) -> bool:
    """Return whether a written number has another value; if it can be read two ways, both must differ."""
    plain = number.replace("−", "-").replace("–", "-")
    readings = {plain.replace(",", ""), plain.replace(",", ".")}
    return all(Fraction(each) != value for each in readings if each.count(".") <= 1)
