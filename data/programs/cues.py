"""Tell which blocks of a response are its answer by what is said of them, in English and Russian.

A block may be announced as what not to write, or as one more way to do it: `rank_blocks` ranks it.
"""

import re
from collections.abc import Sequence

from data.patterns import pattern

PLAIN, OTHER, WRONG = 2, 1, 0
"""How a block stands: the answer, for all that is said; an alternative to it; what not to write."""

_SAID = 400
"""Characters before a block that are read."""

_NOT_TO = pattern(
    r"\b(?:do not|don'?t|never|avoid|should(?: not|n'?t)|must(?: not|n'?t)|cannot|can'?t"
    r"|not to)\s+(?:ever\s+|simply\s+|just\s+)?"
    r"(?:(?:writ|do|us|cod|implement|try|copy|submit|solv|rely|repeat|return|mak)\w*\s*)?(?:on\s+)?"
    r"(?:this|that|these|it|the following|like|code|such|something|anything|so|\W*$)"
    r"|\b(?:do not|don'?t|never)\b[^.:]{0,60}\blike (?:this|that|so)\b|^not (?:this|that)\b"
    r"|\bне\b[^.:]{0,60}\bвот так\b"
    r"|\b(?:what|how)(?: you should)? not to\b|\bnot (?:like (?:this|that|so)|recommended"
    r"|correct|right|valid|the (?:right )?(?:answer|solution))\b"
    r"|\bне\s+(?:(?:надо|нужно|стоит|следует|рекомендую|рекомендуется|советую)\s+)?(?:так\s+)?"
    r"(?:пиш|писа|дела|использ|реша|копир|повтор|отправ|примен|пробу)\w*\s*(?:(?:так|это"
    r"|этот|эту|этого|такой|такое|такую|такого|следующ|подобн|код|вариант)\w*|\W*$)"
    r"|\bтак\s+(?:\w+\s+)?(?:нельзя|не\s+(?:надо|нужно|стоит|следует|пиш|дела|работа)\w*)"
    r"|\bнельзя\s+(?:так|писать|делать|использовать)"
    r"|\bне\s+так\b|\bне\s+(?:надо|нужно|стоит|следует)\s+(?:так|этого)|\bкак\s+не\s+(?:надо"
    r"|нужно|стоит|следует)\b|\bизбегайте\s+(?:этого|так|следующ|подобн|код)\w*"
    r"|❌|🚫|✗|✘|⛔|👎",
)  # fmt: skip
_FAULTY = pattern(
    r"\b(?:wrong|incorrect|bad|buggy|broken|faulty|flawed|erroneous|mistaken|bugged|non-?working)\b"
    r"(?!\s+(?:input|value|argument|type|data|number|string|index|indices|format|entr|case"
    r"|email|character|sign|call|key|item|element|length|name|word)s?)"
    r"|\b(?:common|typical|frequent|classic|usual|popular)\s+(?:mistake|error|bug|pitfall"
    r"|trap)s?\b|\bpitfalls?\b|\banti-?patterns?\b"
    r"|\bcounter-?examples?\b|\bmistakes?\s*(?::|$)|\bbugs?\b(?!.?free)|\bbeware\b"
    r"|\b(?:this|that|it|which|version|code|below|following|one)\s+(?:would|will|does|do"
    r"|did|could|can)(?:\s+not|n'?t)\s+(?:work|pass|be (?:right|correct))\b"
    r"|\b(?:would|will)(?:\s+not|n'?t)\s+(?:work|pass)\s*\W*$|\b(?:this|that|it|which|version"
    r"|code|below|following|one)\s+(?:fails|breaks|is wrong|would (?:fail|break|be wrong"
    r"|crash))\b"
    r"|\b(?:first|initial|earlier|previous|rough|old|original|rejected|discarded)\s+(?:draft"
    r"|attempt|try|version|idea|thought|code)\b"
    r"|\bdraft\b|\bfor (?:comparison|contrast)\b"
    r"|\b(?:неправильн|неверн|ошибочн|некорректн|плох|неудачн|сломанн|нерабоч|бракованн)\w*"
    r"(?!\s+(?:ввод|данн|аргумент|значени|тип|формат|индекс|числ|строк|символ|ключ|знак|длин|вызов))"
    r"|\b(?:типичн|част|распростран[её]нн|обычн|классическ)\w*\s+ошибк\w*|\bошиб(?:к\w*"
    r"|ок)\s*(?::|$)|\bанти-?(?:паттерн|пример)\w*|\bконтрпример\w*"
    r"|\bне\s+(?:будет\s+)?(?:работает|работать|сработает|пройд[её]т)\b|\bчернов\w+|\b(?:перв"
    r"|первоначальн|прежн|стар)\w+\s+(?:попытк|верси|набросок|вариант)\w*"
    r"|\bдля сравнения\b",
)  # fmt: skip
_BETTER = pattern(
    r"\b(?:correct|corrected|correctly|fix|fixed|fixes|fixing|right|proper|improved?|better"
    r"|final|finally|instead|works|working|should be|use this|use the following|write this)\b"
    r"|\b(?:исправ\w*|правильн\w*|верн(?:ый|ое|ая|о|ую)|корректн\w*|лучше|вместо|итог\w*"
    r"|окончательн\w*|(?<!не )работает|рабоч\w+|наконец|надо так|нужно так)\b"
    r"|✅|✔|👍",
)
_ALSO = pattern(
    r"\balternative(?:ly|s)?\b|\banother (?:way|option|approach|version|variant|solution)\b"
    r"|\byou (?:could|can|may|might) also\b"
    r"|\bone could also\b|\bequivalent(?:ly)?\b|^or\b|\bnaive\b|\bbonus\b|\bvariants?\b|\bvariation\b"
    r"|\bальтернатив\w*|\b(?:друг|ин)(?:ой|ая|ое)\s+(?:вариант|способ|верси|решени|подход)\w*"
    r"|\bможно\s+(?:и\s+так|также|ещё|еще|иначе)"
    r"|^или\b|\b(?:ещё|еще)\s+один\b|\bна\s?ивн\w*",
)  # fmt: skip
_AFTER = pattern(
    r"\W*(?:this|that|the above|such code|the (?:last|second) (?:one|version)|(?:this|that"
    r"|the) (?:code|version|variant|one))\b[^.!\n]{0,30}"
    r"\b(?:is|was|would be)\s+(?:wrong|incorrect|buggy|broken|a mistake|not (?:correct|right))"
    r"|\W*(?:так|это|такой код|этот код|этот вариант|такой вариант|эта версия)\b[^.!\n]{0,30}"
    r"\b(?:неправильн|неверн|ошибочн|некорректн|нельзя|не работает|не надо|не нужно|не следует)",
)
_BACK = pattern(
    r"\W*(?:this|that|it|there|here|these|wait|hmm+|oops|это|эт\w+|так|такой|здесь|тут|ой|хм+|стоп|но)\b"
)
_ABOVE = pattern(r"\b(?:above|wait|oops|hmm+|actually|выше|поэтому)\b")
"""What is said looks back at the block before, unless it ends in a colon."""

_OWNED = pattern(
    r"\W*(?:i\b|sorry|my\b|no\b|one moment|я\b|извин\w*|прост\w*|прошу прощения|нет\b|погод\w*|подожд\w*|мо[йя]\b)"
)
_MENDED = pattern(
    r"\b(?:corrected|fixed|amended|rectified|let me (?:fix|correct|rewrite|redo|try again|mend)"
    r"|i(?:'ll| will) (?:fix|correct|rewrite|redo)|here(?:'s| is) (?:a|the|my) (?:fix|correction))\b"
    r"|\b(?:исправленн|поправленн|переписанн)\w*|\b(?:исправл(?:яю|ю|яем)|исправим|поправлю|перепишу|переписываю)\b"
)
"""What is said of code that takes the place of the code before it."""

_KEY_NOT = pattern(r"\b(?:not?|non|не|before|до|было)\b")
_KEY_NOW = pattern(r"\b(?:after|new|после|стало|нов\w+)\b")
_KEY_WRONG = pattern(
    r"\b(?:wrong|incorrect|bad|buggy|broken|faulty|flawed|erroneous|invalid|draft|old|original|previous|initial"
    r"|rejected|discarded|mistak\w*|errors?|bugs?|anti ?pattern|не(?:верн|правильн|корректн|удачн|рабоч)\w*"
    r"|ошиб\w*|плох\w*|чернов\w*|стар\w+|исходн\w+|прежн\w+|предыдущ\w+|первоначальн\w+)\b"
)
_HEADING = pattern(
    r"[ \t]{0,3}(?:#{1,6}[ \t]|\*\*[^*\n]{1,120}\*\*[ \t]*:?[ \t]*$|__[^_\n]{1,120}__[ \t]*:?[ \t]*$)"
)
_COMMENT = pattern(r"[ \t]*(?:#|//)[ \t]*([^\n]{1,200})")
_SENTENCE = pattern(r"(?<=[.!?;])\s+")


def announced_rank(sentence: str) -> int | None:
    """Return how a sentence lets the code after it stand; None where it says nothing of that."""
    back = _BACK.match(sentence.lower()) is not None and not sentence.rstrip().endswith((":", "："))
    words = _plain(sentence)
    if _NOT_TO.search(words):
        return None if back else WRONG
    if _BETTER.search(words):
        return PLAIN
    if _FAULTY.search(words):
        return None if back or _ABOVE.search(words) else WRONG
    return OTHER if _ALSO.search(words) else None


def _plain(sentence: str) -> str:
    return sentence.lower().replace("’", "'").replace("*", "").replace("_", " ").strip(" \t#>:-–—.\n")


def takes_back(before: str, rank: int) -> bool:
    """Say whether the words between two pieces of code put the second in the place of the first.

    They call the first wrong, or the second a correction; `rank` is that of the first one without them.
    """
    lines = [line for line in before[-_SAID:].split("\n") if line.strip()]
    if not lines or lines[-1].startswith(("    ", "\t")):
        return False
    sentences = [sentence for line in lines[-3:] for sentence in _SENTENCE.split(line.strip())]
    last = announced_rank(sentences[-1])
    if last not in {None, PLAIN}:
        return False
    if _faults(sentences[-1]) or _MENDED.search(_plain(sentences[-1])):
        return True
    return last == PLAIN and (rank == WRONG or any(map(_faults, sentences[-4:-1])))


def _faults(sentence: str) -> bool:
    """Say whether a sentence calls what stands before it wrong."""
    low, words = sentence.lower(), _plain(sentence)
    back = _BACK.match(low) or _ABOVE.search(low) or _OWNED.match(low) or _AFTER.match(low)
    return back is not None and _FAULTY.search(words) is not None


def key_standing(key: str) -> int | None:
    """Return how the key of an object lets the code under it stand; None where it says nothing of that."""
    words = re.sub(r"(?<=[a-zа-яё])(?=[A-ZА-ЯЁ])|[\W_]+", " ", key[:_SAID]).lower().strip()
    if _KEY_NOT.search(words):
        return WRONG
    if _KEY_NOW.search(words) or _BETTER.search(words):
        return PLAIN
    if _KEY_WRONG.search(words):
        return WRONG
    return OTHER if _ALSO.search(words) else None


def _introduced(before: str) -> int | None:
    """Return how the last sentences before a block let it stand, the very last first."""
    lines = [line for line in before[-_SAID:].split("\n") if line.strip()]
    if not lines:
        return None
    for sentence in reversed(_SENTENCE.split(lines[-1].strip())[-2:]):
        if (found := announced_rank(sentence)) is not None:
            return found
    return None


def rank_blocks(blocks: Sequence[tuple[str, str, str]]) -> list[int]:
    """Return how each block stands, of (what is said before it since the last one, its code, what is said after).

    A heading holds until the next one; what stands right before a block, or in its first line, goes first.
    """
    found = []
    heading: int | None = None
    for before, code, after in blocks:
        for line in before.split("\n")[-200:]:
            if _HEADING.match(line):
                heading = announced_rank(line[:_SAID])
        own = _introduced(before)
        first = _COMMENT.match(code.lstrip("\n")[:_SAID])
        if first and own is None:
            own = announced_rank(first[1])
        line = after[:_SAID].strip().split("\n")[0].rstrip()
        if _AFTER.match(line.lower()) and not line.endswith(":"):
            own = WRONG
        rank = own if own is not None else heading
        found.append(PLAIN if rank is None else rank)
    return found
