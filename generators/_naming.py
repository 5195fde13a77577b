"""Read a passage that should name one person: who is stated, who is denied, and who is only asked about.

Texts here are folded: lower case, ё as е, no invisible characters, lines ended by a line feed.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from data.beside import read_beside
from data.patterns import pattern

Forms = Mapping[str, str]  # folded form of a name -> the name

WORD = pattern(r"[^\W_]+")
_INVISIBLE = pattern("[\u0301\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]")

_WORDS: Mapping[str, str] = read_beside(__file__)
_DENIALS, _HANGING = frozenset(_WORDS["denials"].split()), frozenset(_WORDS["hanging"].split())
_DENYING_PHRASE = pattern(
    r"n['’]t(?![^\W_])|(?<![^\W_])(?:(?:other|rather) than|instead of|(?:apart|aside) from|ruled? out|(?:is|"
    r"are) out|вместо|неверн[^\W_]+|неправильн[^\W_]+|ошибочн[^\W_]+|ложн[^\W_]+)(?![^\W_])"
)
# 'anyone but Vera' and the like become one word of denial, so that commas inside them do not split the clause.
ALL_BUT = pattern(r"(?<![^\W_])(?:(?:any|every)(?:one|body|thing)|all),? but(?![^\W_])")
IDIOM = pattern(
    r"(?<![^\W_])(?:(?:there (?:is|can be) |i have |i['’]m in |with |have |without )?(?:a |any |no |not a )?(?:no|"
    r"any|without(?: an?y?)?) (?:shadow of a )?doubts?(?: about it| whatsoever)?|do(?:es)?(?:n['’]t| not) doubt|"
    r"no question(?: about it)?|un?doubted(?:ly)?|none other than|no(?: one|body) (?:else|other)(?: than| but)?|"
    r"(?:не|нет|без|никаких|вне) (?:всяк(?:их|ого) )?сомнени[йяе]|не (?:вызывает|подлежит) сомнени[йяю]|(?:not|"
    r"n['’]t) mistaken|не ошиб(?:аюсь|аемся|ся|лась)|не сомнева(?:юсь|емся|йтесь)|(?:не|ни)кто ин(?:ой|"
    r"ая)(?=,? как)|никто другой|больше никто)(?![^\W_])"
)
# 'Nancy, not Felix': a contrast after the name.
_AGAINST = pattern(
    r"(?:[,;(—–-] ?(?:and |but |definitely |certainly |а |но |и )?(?:not|не|никак не)|(?<![^\W_])(?:rather than|"
    r"instead of|as opposed to|and not|but not|а не|и не|но не|вместо))(?![^\W_])(?! only| только)[^,.;:!?()\n—–]*"
)
# 'not Felix but Nancy'
_NOT_BUT = pattern(
    r"(?<![^\W_])(?:not|n['’]t|не)(?! only| только)(?![^\W_])[^.;:!?\n,]{0,60}(?:,? but(?: rather)?|, а)(?![^\W_])"
)
_ALSO = "well|likely|much|possible|easily|good|plausible"  # 'as well', 'just as likely as'
_AS = "".join(f"(?<!{each}\\s)" for each in _ALSO.split("|")) + rf"as(?!\s(?:{_ALSO})(?!\w))"
_REASONS = (
    f"because since {_AS} while whereas who which whom with given for due потому поскольку так(?!\\sже) ведь "
    "котор\\w{2,3} который ибо благодаря хотя although though"
)
_CONCLUSIONS = (
    "so(?!\\s(?:is|are|was|does|do|can|could|might|may|would)(?!\\w)) therefore thus hence consequently "
    "значит поэтому следовательно итак"
)
_CUT = pattern(
    rf"(?P<end>[.!?。！？\n]+)|(?P<soft>[,;:()\[\]{{}}，；：]|[—–]| - )"
    rf"|(?<![^\W_])(?:(?P<why>{'|'.join(_REASONS.split())})|(?P<so>{'|'.join(_CONCLUSIONS.split())}))(?![^\W_])"
)
_END = pattern(r"(?<![.!?…。！？])[.!?…。！？]++(?![^\s*_\"'`»”)\]}])|\n")
_COMPARED = pattern(
    r"(?<![^\W_])(?:than|above|below|ahead|behind|after|before|more|less|чем|перед|за|после|над|под|(?:tall|short|"
    r"old|young|fast|slow|strong|weak|heav|light|rich|poor|happ|sad|tid|mess|high|low)d?i?er|(?!даже|тоже|также|"
    r"раньше|позже|лучше|вообще)[^\W\d_]{2,14}(?:ше|же|че|ее|ле))(?![^\W_])"
)
_EITHER = pattern(
    r"(?<![^\W_])(?:or|either|as well as|just as|так же,? как|или|либо|and (?:some|an)?other|and some(?:one|body)|"
    r"и (?:кто|еще|друг[^\W_]{1,3}))(?![^\W_])"
)
# 'Florence fits, while Nigel is just as possible'
_ALIKE = pattern(
    r"(?<![^\W_])(?:just as|equally|as well|likewise|also|too|тоже|также|равно|столь же|не менее|не хуже)(?![^\W_])"
)
_POSSIBLE = pattern(
    r"(?<![^\W_])(?:could|might|may|can|fits?|possible|plausible|likely|подход[^\W_]{1,4}|возможн[^\W_]{1,3}|может|могла?|"
    r"годится)(?![^\W_])"
)
WHAT = pattern(r"\W*(?:что|будто|чтобы|that)(?![^\W_])")
_VERB_DENIAL = pattern(
    r"\W*(?:(?:is|was|can|could|does|did|has|will)(?:n['’]t| not)|not|never|не|никак|(?:(?:is|was|это) )?(?:wrong|"
    r"incorrect|false|untrue|impossible|неверн[^\W_]+|неправильн[^\W_]+|ошибочн[^\W_]+))(?![^\W_])"
)
_JUST_NO = frozenset({"no", "nope", "нет"})
_CLAUSE = 120
_NAME_AND_VERB = 2


class NamedPeople(NamedTuple):
    """The people that a passage states, denies, or only asks about."""

    stated: frozenset[str]
    denied: frozenset[str]
    asked: frozenset[str]
    vague: bool


class _Clause(NamedTuple):
    text: str
    names: set[str]
    opener: str  # the group of _CUT that separates it from the previous one
    sentence: int
    asked: bool


def fold(text: str) -> str:
    """Lower-case a text, replace ё by е, normalise line ends; drop stress marks and invisible characters."""
    if not text.isascii():
        text = _INVISIBLE.sub("", text.replace("е\u0308", "е").replace("и\u0306", "й").replace("И\u0306", "Й"))
    return text.lower().replace("ё", "е").replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n")


def named(passage: str, forms: Forms) -> set[str]:
    """Return the names that have a form among the passage's words."""
    return {forms[word] for word in WORD.findall(passage) if word in forms}


def is_unfinished(passage: str) -> bool:
    """Return whether a passage ends in a word or sign that needs a continuation."""
    tail = passage[-200:].rstrip(" \t\n*_`\"'»”")
    if tail.endswith((",", "(", "—", "–", "...", "…", "-")):
        return True
    words = WORD.findall(tail)
    return bool(words) and words[-1] in _HANGING and tail.endswith(words[-1])


def denies(clause: str) -> bool:
    """Return whether a folded clause has a word of denial."""
    return not _DENIALS.isdisjoint(WORD.findall(clause)) or bool(_DENYING_PHRASE.search(clause))


def _without_contrast(passage: str, forms: Forms) -> str:
    """Remove contrasts to the name: 'Nancy, not Felix', 'not Felix but Nancy'."""
    passage = _NOT_BUT.sub(lambda match: " " if named(match[0], forms) else match[0], passage)
    first = next((match.start() for match in WORD.finditer(passage) if match[0] in forms), len(passage))

    def drop(match: re.Match[str]) -> str:
        if match.start() < first:
            return match[0]
        # 'is the tallest, not the shortest' contrasts two properties; 'Vera, not the tallest' denies Vera.
        said = _CUT.split(passage[max(0, match.start() - _CLAUSE) : match.start()])[-1]
        whole = match[0][0] == "," and len(WORD.findall(said)) > _NAME_AND_VERB
        return " " if whole or named(match[0], forms) else match[0]

    return _AGAINST.sub(drop, passage)


def _clauses(passage: str, forms: Forms) -> list[_Clause]:
    """Split a passage at sentence ends, commas and brackets, and before reasons and conclusions."""
    found: list[tuple[str, str, int]] = []
    asks: list[bool] = []  # one per sentence
    at, opener = 0, "end"
    for match in _CUT.finditer(passage):
        found.append((passage[at : match.start()], opener, len(asks)))
        at, opener = match.end(), str(match.lastgroup)
        if opener == "end":
            asks.append("?" in match[0] or "？" in match[0])
    found.append((passage[at:], opener, len(asks)))
    asks.append(False)
    return [_Clause(text, named(text, forms), how, number, asks[number]) for text, how, number in found]


def _denied(clauses: list[_Clause]) -> list[bool]:
    """Return for each clause with a name whether it, or an adjacent nameless clause, denies the name."""
    denied = [bool(clause.names) and denies(clause.text) for clause in clauses]
    last = -1
    for at, clause in enumerate(clauses):
        if clause.opener == "end":
            last = -1
        if clause.names:
            last = at
            denied[at] |= clause.opener == "soft" and _denied_before(clauses, at - 1)
        elif last >= 0 and clause.opener == "soft" and _VERB_DENIAL.match(clause.text):
            denied[last] = True
    return denied


def _denied_before(clauses: list[_Clause], at: int) -> bool:
    """Return whether the nameless clause before a name, or one governing it ('Неверно, что …, —'), denies it."""
    if clauses[at].names:
        return False
    while at and clauses[at].opener == "soft" and not clauses[at - 1].names and WHAT.match(clauses[at].text):
        at -= 1
    text = clauses[at].text
    return denies(text) and not _JUST_NO.issuperset(WORD.findall(text))


def read(passage: str, forms: Forms) -> NamedPeople:
    """Return whom a passage states, denies and asks about.

    A further name counts unless it is in a reason or a comparison after the first one: 'Nancy, since she is taller
    than Felix' states Nancy, 'Nancy, Felix' both. `vague`: there is an 'or' beside the name.
    """
    clauses = _clauses(_without_contrast(ALL_BUT.sub(" not ", IDIOM.sub(" ", passage)), forms), forms)
    denied, asked = set[str](), set[str]()
    stated: list[_Clause] = []
    for clause, no in zip(clauses, _denied(clauses), strict=True):
        if clause.asked:
            asked |= clause.names
        elif no:
            denied |= clause.names
        elif clause.names:
            stated.append(clause)
    chosen = _chosen(stated)
    vague = any(
        (one.names & chosen and one.opener != "why" and _EITHER.search(one.text))
        or (one.names - chosen and _ALIKE.search(one.text) and _POSSIBLE.search(one.text))
        for one in stated
    ) or any(one.opener == "soft" and _EITHER.match(one.text.lstrip()) for one in clauses)
    return NamedPeople(frozenset(chosen), frozenset(denied), frozenset(asked), vague)


def _chosen(stated: list[_Clause]) -> set[str]:
    """Return the names that count among the clauses that state one."""
    chosen, explained = set[str](), -1
    for clause in stated:
        if clause.opener == "why":
            explained = clause.sentence if chosen else explained
        elif not chosen or not (clause.sentence == explained or _COMPARED.search(clause.text)):
            chosen |= clause.names
    if not chosen:
        return set[str]().union(*(clause.names for clause in stated))
    if len(chosen) > 1 and stated[-1].opener == "so":
        return stated[-1].names  # Felix is shorter than Nancy, so Nancy
    return chosen


def sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield (sentence, its final punctuation); a line end also ends a sentence."""
    at = 0
    for match in _END.finditer(text):
        if match.start() > at:
            yield text[at : match.start()], match[0]
        at = match.end()
    if at < len(text):
        yield text[at:], ""
