"""Find where a reply gives its answer: its marker lines, its final statement, or whether it breaks off.

Texts here are folded (`generators._naming.fold`).
"""

import re
from collections.abc import Collection, Iterator

from data.patterns import pattern
from generators._naming import ALL_BUT, WORD, Forms, is_unfinished, named, sentences

_LEADS = (
    r"so|thus|hence|therefore|and|my|the|your|our|final|correct|right|short|full|answer|итак|значит|следовательно|"
    r"таким|образом|поэтому|мой|наш|итоговый|окончательный|правильный|верный|финальный|краткий|полный"
)
_MARKUP = r"[*_\"'`«»“”(\[{<\\ \t]"
# {"reasoning": "…", "answer": "Nancy"}; <answer>Nancy</answer>; a line that begins with ANSWER.
_MARKER = pattern(
    r"[\"'“](?:final[_ ])?(?:answer|ответ)[\"'”]\s{0,9}:\s{0,9}[\"'“](?P<json>[^\"“”\n]{0,300})"
    r"|<(?:final_?)?(?:answer|ответ)>(?P<tag>[^<]{0,300})"
    rf"|^(?![ \t]*</)(?:\\[a-z]{{1,10}}|[^\w\n]|_|\d{{1,2}}[.)]){{0,16}}(?:(?:{_LEADS})"
    r"[ \t,*_]{1,6}){0,4}"
    rf"(?:answer|ответ){_MARKUP}{{0,6}}(?:(?P<sign>[::︰﹕∶=→➜➡⇒|]|[-‐‑‒–—―−]+>?)|(?![^\W_]))(?P<line>[^\n]*)",
    re.MULTILINE,
)
_MARKER_WORDS = ("answer", "ответ")
_FENCE = pattern(r"[ \t]*(?:```|~~~)\w*[ \t]*")
_NEXT_LINES = 6
_BARE_WORDS = 3
_MARKERS = 64

_BOXED = pattern(r"boxed\s?\{([^\n]{0,200})")
_BESIDE = 120
_CLOSERS = pattern(r"[\s}$*_`)\]\\]*")
_TAIL = pattern(r"[^\n.,;:!?]*[!?]?")
_UNTRUE = pattern(
    r"(?<![^\W_])(?:(?:[^\W_]{0,5}n['’]t|not|never|cannot|hardly) (?:[^\W_]+ ){0,2}?(?:think|believe|say|mean|"
    r"agree|sure|certain|true|case|correct|right|suppose|expect|convinced)|false|wrong|incorrect|untrue|unlikely|"
    r"i doubt|impossible|неверно|неправда|неправильно|ложно|не (?:думаю|считаю|уверен[^\W_]?|верю|факт|скажу|"
    r"согласен|согласна)|сомневаюсь|вряд ли|едва ли|маловероятно|невозможно|сомнительно)(?![^\W_])"
)
_PART = pattern(
    r"[.!?;:](?=\s)|,(?! ?(?:что|чтобы|будто|that)(?![^\W_]))|(?<![^\W_])(?:so|and|but|но|и|а)(?![^\W_])"
)
_CUE = pattern(
    r"(?<![^\W_])(?:answer|ответ(?:ом)?)(?![^\W_])[^\n.!;]{0,100}?(?:[::=→]|[—–]| - |(?<![^\W_])(?:is|was|are|"
    r"(?:must|would|will|should|has to) be|это|будет|является|таков|звучит|оказывается)(?![^\W_]))"
)
_IS_ANSWER = pattern(
    r"[^\W_]{2,20}[*_\"'»”`]{0,4}(?: (?:is|was|[—–-]|это)| ?[—–])? (?:это )?(?:the |my |our )?"
    r"(?:(?:final|correct|right|only|правильный|верный|окончательный|итоговый) )?(?:answer|ответ)(?![^\W_])"
)
_IF = pattern(
    r"(?<![^\W_])(?:if|suppose|supposing|assume|assuming|whether|unless|imagine|could|might|may|can|say|если|"
    r"допустим|предположим|пусть|ли|может|мог|могла)(?![^\W_])"
)
_EXPLAINS = pattern(
    r"\W*(?:because|since|as|this|that|the reason|reason|explanation|why|here|she|he|we|it|they|given|from|note|"
    r"step|потому|так как|поскольку|ведь|это|объяснение|обоснование|пояснение|почему|она|он|мы|из)(?![^\W_])"
)
_TURNS = pattern(
    r"(?<![^\W_])(?:wait|actually|hmm+|no|however|but|instead|correction|oops|sorry|стоп|подожди(?:те)?|"
    r"погоди(?:те)?|нет|однако|хотя|но|вернее|точнее|ошиб[^\W_]{1,6})(?![^\W_])"
)
_CLOSING = pattern(
    r"\W*(?:please )?(?:let me know|i hope|hope|feel free|if you|happy to|glad|i['’]?m (?:happy|glad|here)|"
    r"would you|do you|is there anything|can i|good luck|have a|thank|you['’]?re welcome|want me|shall i|надеюсь|"
    r"если (?:у вас|вам|нужн|хотите|что|остал|возник)|обращ|дайте знать|рад|готов|могу|хотите|пишите|спрашивайте|"
    r"удачи|спасибо|нужн|буду рад)"
)
_BOLD_LINE = pattern(r"[\s>#-]*(?:\*\*\*?|__)([^*\n]{1,300}?)(?:\*\*\*?|__)[.!\s]*")
_BOLD = pattern(r"(?:\*\*|__)([^*_\n]{1,100})(?:\*\*|__)")
_STEP = pattern(r"\W*(?:\d{1,2}[.):]|(?:step|fact|statement|premise|clue|шаг|факт|утверждение|условие)(?![^\W_]))")
_PLANS = pattern(
    r"\W*(?:(?:first|second|now|next|then|ok|okay|well|so|alright|сначала|теперь|далее|итак)\W+)?(?:let(?:['’]?s|"
    r" us| me)|consider|suppose|assume|start|begin|compare|if(?! i(?:['’]m| am) not)|(?:we|i) (?:need|have to|must|"
    r"start|begin|should|will|can|are)|to (?:find|determine|solve|answer|see|figure)|давайте|рассмотрим|"
    r"предположим|допустим|пусть|начн[^\W_]+|если|сравним|посмотрим|нам|нужно|необходимо|чтобы|для того)(?![^\W_])"
)
_STARTS = pattern(
    r"\W*(?:since|because|given|as|when|while|from|according|first|firstly|next|now|then|also|we|know|knowing|"
    r"so that|is|are|was|could|can|might|may|would|does|should|так как|поскольку|потому|согласно|известно|дано|"
    r"во-первых|сначала|далее|затем|мы|раз|когда|разве|неужели)(?![^\W_])"
)
_NAMES_NOW = pattern(
    r"(?:(?<![^\W_])(?:is|it['’]s|its|be|это|является|будет|зовут|say|name|имя|и это)|[::=→—–]|"
    r" -)[\s*_\"'`«»“”({\[\\-]*$"
)
_HEADED = pattern(r"\s*#{1,6}\s*((?:[^\W_]+[^\w\n#]*){1,3})")
_IT_IS = pattern(
    r"(?<![^\W_])(?:(?:it|this|that)(?: is| must be| has to be| can only be|['’]s)|это(?: именно| точно)?)"
    r"[\s*_\"'`«“]{1,4}([^\W_]+)[*_\"'`»”]{0,4}(?:,? (?:then|though|indeed|тогда))?[.!*_\s]*$"
)
_THEN = pattern(
    r"[,;:]\s|(?<![^\W_])(?:so|thus|hence|therefore|that|итак|значит|следовательно|поэтому|что)(?![^\W_])"
)
_ASKS = pattern(r"[.,!]\s")
_OR = pattern(r"(?<![^\W_])(?:either|or|perhaps|maybe|probably|либо|или|возможно|наверное)(?![^\W_])")
_PLACED = pattern(
    r"\((?=[^()]*(?<![^\W_])(?:next|second|third|last|behind|after|follow(?:s|ed)|runner|втор[^\W_]{2,3}|трет[^\W_]{2,3}|"
    r"следу[^\W_]{2,5}|идет|стоит|после|последн[^\W_]{2,3})(?![^\W_]))[^()\n]{1,80}\)"
)
_ASIDE = 2000  # characters at a reply's end that contain its last sentence
_ALL = frozenset({"all", "everyone", "everybody", "others", "anyone", "group", "всех", "остальных", "других"})
_TURNING = frozenset({"but", "no", "wait", "oh", "и", "а", "но", "нет", "ах"})
_FILLING = "place stands them окажется месте них самый самая который которая"
_SMALL = "who is the a an if from to in of and everyone кто из в и если все по"
_STEM = 5  # letters shared by the inflected forms of a word
_WRAPPING = " \t\n*_`\"'»”)]}>$"


def _said(text: str, match: re.Match[str], forms: Forms) -> str | None:
    """Return a marker's text: the rest of its line, or the next line with a word; None if it is no marker."""
    said = match[match.lastgroup or "line"]
    if match.lastgroup != "line":
        return said
    first = WORD.search(said)
    if first:
        bare = match["sign"] is not None or (first[0] in forms and len(WORD.findall(said[:200])) <= _BARE_WORDS)
        return said if bare else None
    for line in _lines(text, match.end(), _NEXT_LINES):
        if WORD.search(line) and not _FENCE.fullmatch(line):
            return line
    return ""


def _lines(text: str, at: int, most: int) -> Iterator[str]:
    """Yield up to `most` lines after the line of a position."""
    for _ in range(most):
        at = text.find("\n", at)
        if at < 0:
            return
        at += 1
        end = text.find("\n", at)
        yield text[at : end if end >= 0 else len(text)]


def marked(text: str, forms: Forms) -> tuple[str, set[str]] | None:
    """Return the last marker's text and the names listed beside it; None without a marker.

    Names are listed by later lines that contain only a name, and by markers on consecutive lines if they cover
    everybody.
    """
    places = [at for word in _MARKER_WORDS if (at := text.find(word)) >= 0]
    if not places:
        return None
    markers = [
        (match.start(), match.end(), said)
        for match in _MARKER.finditer(text, text.rfind("\n", 0, min(places)) + 1)
        if (said := _said(text, match, forms)) is not None
    ]
    if not markers:
        return None
    start, end, said = markers[-1]
    above = named(said, forms)
    for earlier, close, other in markers[-2 : -_MARKERS - 2 : -1]:
        if WORD.search(text, close, start):
            break
        above |= named(other, forms)
        start = earlier
    listed = above if start < markers[-1][0] and above == set(forms.values()) else set[str]()
    seen = bool(WORD.search(text[end - len(said) : end]))  # else its text is on the next line
    for line in _lines(text, end, _MARKERS):
        words = WORD.findall(line)
        if any(word not in forms for word in words) and (seen or line != said):
            break
        listed |= named(line, forms)
        seen = seen or bool(words)
    return said, listed


def _without_closing(text: str) -> str:
    kept = text.rstrip()
    for _ in range(4):
        at = max(kept.rfind(sign, 0, len(kept) - 1) for sign in (". ", "! ", "? ", "\n"))
        if at < 0 or not _CLOSING.match(kept, at + 1):
            break
        kept = kept[: at + 1].rstrip()
    return kept


def final_statement(text: str, forms: Forms) -> str | None:
    r"""Return the passage with the final statement: `\boxed{}`, the answer's sentence, a bold last line."""
    text = _without_closing(text)
    for match in reversed([*_BOXED.finditer(text)][-_MARKERS:]):
        inside = _to_brace(match[1])
        if named(inside, forms):
            return _around_box(text, match, inside, forms)
    if (sentence := _answer_sentence(text, forms)) is not None:
        return sentence
    line = text[text.rfind("\n") + 1 :]
    if _STEP.match(line) or line.rstrip(" *_").endswith((":", "...", "…")):
        return None
    whole = _BOLD_LINE.fullmatch(line) or _HEADED.fullmatch(line)
    if whole and named(whole[1], forms):
        return whole[1]
    bold = set[str]().union(*(named(span, forms) for span in _BOLD.findall(line)))
    ended = line.endswith((".", "!")) or (
        line.endswith("**") and _NAMES_NOW.search(line[: line.rfind("**", 0, -2)])
    )
    if len(bold) == 1 and bold == named(line, forms) and ended and not _PLANS.match(line):
        return line
    return None


def concluded(text: str, forms: Forms, prompt: str) -> str | None:
    """Return a reply's last clause if it gives a name: `so it must be Vera`, `Vera is the tallest`.

    The second form must have all words of the folded prompt's last asking clause that say what to find.
    """
    *_, (sentence, sign) = [*sentences(_without_closing(text)[-_ASIDE:])] or [("", "")]
    if "?" in sign or _STEP.match(sentence) or not named(sentence, forms):
        return None
    given = _IT_IS.search(sentence)
    if given and given[1] in forms:
        begin = given.start()
    else:
        begin = max((part.end() for part in _THEN.finditer(sentence)), default=0)
        *_, asks = prompt.rpartition("?")[0].split("\n")
        question = set(WORD.findall(_ASKS.split(asks)[-1]))
        wanted = set(map(_stem, question - {*_SMALL.split(), *_FILLING.split(), *forms}))
        said = set(map(_stem, WORD.findall(sentence[begin:])))
        if not sign or not wanted or not wanted <= said or _PLANS.match(sentence) or _IF.search(sentence):
            return None
    lead, clause = sentence[:begin], sentence[begin:]
    if len(named(clause, forms)) != 1 or _IF.search(lead) or _OR.search(lead) or _UNTRUE.search(lead):
        return None
    aside = named(lead, forms) or set(WORD.findall(lead)) <= _TURNING  # 'But no, it is Vera' denies nobody
    return clause if aside else sentence


def _stem(word: str) -> str:
    return word if word.isascii() else word[:_STEM]


def without_place(passage: str, forms: Forms) -> str:
    """Remove brackets that place others behind the person named before them: `Vera (Oscar is next)`."""
    first = next((word.end() for word in WORD.finditer(passage) if word[0] in forms), len(passage))
    return passage[:first] + _PLACED.sub(lambda one: one[0] if _OR.search(one[0]) else " ", passage[first:])


def _around_box(text: str, match: re.Match[str], inside: str, forms: Forms) -> str:
    """Return a box's content with its context in the sentence, if that names nobody: 'Is it …?', 'not …'."""
    line = text[max(text.rfind("\n", 0, match.start()) + 1, match.start() - _BESIDE) : match.start()].rstrip("\\")
    lead = _PART.split(ALL_BUT.sub(" not ", line))[-1]
    close = match.start(1) + len(inside)
    rest = _CLOSERS.sub("", text[close : close + _BESIDE], count=1)
    tail = _TAIL.match(rest)
    after = tail[0] if tail and not named(tail[0], forms) else ""
    return f"{'' if named(lead, forms) else lead} {inside} {after}"


def _to_brace(text: str) -> str:
    depth = 1
    for at, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if not depth:
            return text[:at]
    return text


def _answer_sentence(text: str, forms: Forms) -> str | None:
    """Return the part of the last 'the answer is X' that names somebody, if only its reasons follow."""
    for cue in (_CUE, _IS_ANSWER):
        for match in reversed([*cue.finditer(text)][-_MARKERS:]):
            start = match.end() if cue is _CUE else match.start()
            sentence, sign = next(sentences(text[start : start + 1000]), ("", ""))
            if not named(sentence, forms):
                continue
            begin = max(text.rfind(end, 0, match.start()) for end in (". ", "! ", "? ", "\n", "; ")) + 1
            rest = text[start + len(sentence) + len(sign) :]
            follows = named(rest, forms) and (not _EXPLAINS.match(rest) or _TURNS.search(rest))
            if _IF.search(text[begin:start]) or follows:
                return None
            lead = _PART.split(text[begin:start])[-1]
            return f"{lead if _UNTRUE.search(lead) and not named(lead, forms) else ''}{sentence}{sign}"
    return None


def statements(text: str, forms: Forms) -> list[str]:
    """Return the sentences with a name, except those that only plan the work."""
    return [
        sentence + sign
        for sentence, sign in sentences(text)
        if named(sentence, forms) and not _PLANS.match(sentence)
    ]


def breaks_off(text: str, forms: Forms, prompt: str) -> bool:
    """Return whether a reply with one name in it stops before its end.

    Without a final full stop it must end in a name that is being given ('It is Vera'), in nothing but a name, or in
    a word of the folded prompt's question sentences ('Vera is the tallest').
    """
    text = _without_closing(text)
    tail = text[-300:].rstrip(_WRAPPING)
    while tail and not (tail[-1].isalnum() or tail[-1] in ".!?…。,;:—–-("):
        tail = tail[:-1].rstrip(_WRAPPING)  # an emoji
    if is_unfinished(tail) or tail.endswith((":", ";")):
        return True
    if tail.endswith((".", "!", "?", "。")):
        return False
    *before, (last, _) = [pair for pair in sentences(text) if WORD.search(pair[0])] or [("", "")]
    if not named(last, forms):
        return WORD.search(last) is not None
    told = [sentence for sentence, sign in before if "?" not in sign]  # a restated question plans nothing
    asked = " ".join(part for line in prompt.splitlines() for part in line.split("?")[:-1])
    line = text[text.rfind("\n") + 1 :]
    return not _is_whole(last, told[-1] if told else "", line, forms, frozenset(WORD.findall(asked)))


def _is_whole(sentence: str, before: str, line: str, forms: Forms, question: Collection[str]) -> bool:
    """Return whether a last sentence with a name, but without a full stop, is complete."""
    if _STEP.match(line) or _PLANS.match(before or sentence) or _STARTS.match(sentence):
        return False
    words = WORD.findall(sentence)
    if words[-1] not in forms:
        return words[-1] in _ALL or (words[-1] in question and words[-1] not in _SMALL.split())
    if all(word in forms for word in words):
        return not (before and re.match(r"\W*[-*•]\s", line))
    stems = {word[:_STEM] for word in question if len(word) >= _STEM}
    return words[-2][:_STEM] in stems or bool(_NAMES_NOW.search(sentence[: sentence.rindex(words[-1])][-40:]))
