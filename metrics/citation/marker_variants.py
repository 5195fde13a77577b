"""Write rarer forms of citation markers as the common one, `[1]`; tell sentences that only point to a source."""

import re
from functools import cache

from data.patterns import pattern
from metrics.citation.marker_forms import NAMES, SIGN
from metrics.citation.markers import is_noted

_NUMBER = r"[0-9]{1,3}"
_NAMED = rf"(?:{NAMES}{SIGN})?"
_CARETS = pattern(rf"\[\^({_NUMBER}(?:, ?\^?{_NUMBER}){{0,20}}+)\^\]")
_ANCHORED = pattern(rf"(\[{_NAMED}{_NUMBER}\]|\[\[{_NUMBER}\]\])\(#[^()\s]{{0,60}}\)", re.IGNORECASE)
_CITE = pattern(rf"<cite>[ ]?\[?({_NUMBER})\]?[ ]?</cite>", re.IGNORECASE)
_BRACES = pattern(
    rf"(?<![\\^_${{}}=a-z0-9])((?:\{{{_NUMBER}\}} ?){{1,20}}+)(?=[.,;:!?。，；：！？]|\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
_BRACES_AFTER = pattern(rf"(?<=[.!?。！？])( ?)((?:\{{{_NUMBER}\}} ?){{1,20}}+)")
_DIGITS = pattern(r"[0-9]+")
_ROUND = pattern(rf"[(（]({_NUMBER}(?:[,，、] ?{_NUMBER}){{0,20}}+)[)）]")
_CLOSES = pattern(r"\s*(?:[(（][0-9]|[.,;:!?。，；：！？]|$)", re.MULTILINE)
_STOPPED = pattern(r"[.!?。！？][\"'”’»]?$")


@cache
def _listed() -> re.Pattern[str]:
    """Return the form of markers with a name each or a quotation each, in brackets of their own; compiled once."""
    quote = r"(?:\"[^\"\n]{1,400}+\"|“[^”\n]{1,400}+”|«[^»\n]{1,400}+»|「[^」\n]{1,400}+」)"
    one = rf"{_NAMED}\[{_NUMBER}\](?:[ ]?[:：,，—–-][ ]?{quote})?+"
    return re.compile(rf"[(（][ ]?{one}(?:[ ]?(?:[;；,，、]|and|и|和)[ ]?{one}){{0,20}}+[ ]?[)）]", re.IGNORECASE)


def _as_marker(text: str) -> str:
    return f"[{', '.join(_DIGITS.findall(text))}]"


def common(body: str, n_passages: int = 0) -> str:
    """Return a body whose markers are written as `[1]`, where it has them in a rarer form.

    `[^1^]`, `[1](#1)`, `<cite>1</cite>`, `{1}` where a sentence or clause ends,
    `(Document [1]: "…"; Document [2])`; and `(1)` where no other marker stands, and each such number ends a clause.
    """
    if "[" in body:
        body = _CARETS.sub(lambda one: _as_marker(one[1]), body)
        body = _ANCHORED.sub(r"\1", body)
        body = _listed().sub(_unlisted, body)
    if "<" in body:
        body = _CITE.sub(r"[\1]", body)
    if "{" in body and n_passages:
        body = _BRACES_AFTER.sub(lambda one: f"{one[1]}{_as_marker(one[2])} ", body)
        body = _BRACES.sub(lambda one: _as_marker(one[1]), body)
    return body


def _unlisted(found: re.Match[str]) -> str:
    """Return `[1][2]` for what stands in the brackets; a number within a quotation is none of them."""
    bare = _QUOTATION.sub("", found[0])
    return "".join(f"[{number}]" for number in _DIGITS.findall(bare))


_QUOTATION = pattern(r"\"[^\"\n]*+\"|“[^”\n]*+”|«[^»\n]*+»|「[^」\n]*+」")


def rounded(body: str, n_passages: int) -> str:
    """Return a body without other markers whose numbers in round brackets are markers: each ends a clause."""
    found = [*_ROUND.finditer(body)]
    known = all(0 < int(number) <= n_passages for one in found for number in _DIGITS.findall(one[1]))
    if not found or not known or not all(_ends_clause(body, one) for one in found):
        return body
    return _ROUND.sub(lambda one: _as_marker(one[1]), body)


def _ends_clause(body: str, one: re.Match[str]) -> bool:
    """Tell whether what stands in brackets ends a clause or a sentence, or follows one; an enumeration does not."""
    before = body[max(0, one.start() - 40) : one.start()].rstrip(" ")
    if _STOPPED.search(before) is not None or before.endswith((")", "）")):
        return True
    return is_noted(before, power=one[1] in {"2", "3"}) and _CLOSES.match(body, one.end()) is not None


_POINTING = frozenset(
    """this that it these those which is are was were be been being can could may also clearly explicitly directly
    both stated states state mentioned mentions noted notes found said says given confirmed confirms confirm
    supported supports support described describes reported reports discussed shown shows listed seen indicated
    indicates backed referenced cited in by from on of the a an according to see cf for more information info fact
    facts claim statement detail details per as and or so same here above provided text passage passages document
    documents doc docs source sources reference references citation citations excerpt excerpts snippet snippets
    context contexts
    это этот эта эти эту этого об том этом сказано указано указывается говорится упоминается упомянуто подтверждает
    подтверждают подтверждается подтверждено подтвержден смотри смотрите см также информация данные факт сведения
    содержится содержатся приведена приведено приведены описано описана можно найти в во из на по согласно и или
    данная данный взята взято""".split()  # noqa: SIM905 - words
)
_POINTING_STEMS = ("документ", "отрыв", "источник", "фрагмент", "пассаж", "ссылк")
_POINTING_ZH = frozenset(
    "这此该一点信息内容事实见来自参见文档檔段落中里说明了支持确认证实提到指出出自源于据根據和与及以的也可在到被第片资料考献引用材件处查阅找"
)
_LONGEST = 120
_WORDS = pattern(r"[^\W\d_]+")


def points(sentence: str) -> bool:
    """Tell whether a sentence that cites says nothing itself: `This is stated in Document 5.`, `См. 2`."""
    if len(sentence) > _LONGEST:
        return False
    words = _WORDS.findall(sentence.lower())
    return all(
        word in _POINTING or word.startswith(_POINTING_STEMS) or _POINTING_ZH.issuperset(word) for word in words
    )
