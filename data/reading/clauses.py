"""What a clause states of the values that it mentions: which are denied, compared, set aside, or joined."""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from basic_control.data.reading.words import MARKUP, pattern

Values = frozenset[Hashable]

_BRACKETS = re.compile(r"[(（\[][^()（）\[\]\n]{0,300}[)）\]]")
_SIGNS = r"[)\]*_`\"'”»}$\\]{0,6}"
_FILLED = rf"(?:{MARKUP}|[(\[{{:]|\\\(|\\text\w*|\\math\w+)*"
_JOIN = rf"(?:{MARKUP}|[)\]}}(\[{{]|\\[()])*"
_LABELS = r"(?:(?:the|an?|option|choice|answer|letter|вариант|ответ|选项|答案|[a-z]\s?=)(?![^\W_])\s*)"
_FILLERS = rf"(?:{_LABELS}|(?:bei?|choose|pick|select|it|is|to|that|this|это|что)(?![^\W_])\s*)"
_BOUNDARY = re.compile(
    r"[,;:.!?，；：。—–](?=\s|$|[^\x00-\x7f])|[=0-9]|(?<![^\W_])(?:but|so|then|and|because|since|therefore|thus|hence|"
    r"а|но|и|поэтому|значит|ибо)(?![^\W_])|所以|因此|而",
    re.IGNORECASE,
)
"""What ends the reach of a denial: `not 12, it is 9`."""
_TURNING = re.compile(
    r"[.!?;](?=\s)|(?<![^\W_])(?:but|so|then|because|therefore|но|а|однако|поэтому|значит|aber|jedoch|sondern|mais|pero|sino"
    r"|mas|ma)(?![^\W_])|但|而是|不过",
    re.IGNORECASE,
)
_ASKED = re.compile(r"[?？][*_\"'”»)\]\s]*\Z")
_COMPUTED = re.compile(
    r"(?:[=≈]|\\approx|\b(?:equals|gives|which is|to get|we get|is equal to))"
    r"\s*(?:us |a total of )?[\\$€£¥*_({-]{0,6}[0-9]",
    re.IGNORECASE,
)
"""What comes to a number: `= 45`, `which equals 10`."""
_YES = re.compile(
    r"[?？]?[*_\"'”»)\]]{0,3}\s{0,2}(?:yes|yep|indeed|correct|да|верно|именно|是的|对)(?![^\W_])", re.IGNORECASE
)
_LINE_OPENING = rf"(?:{MARKUP}|[#-])*"
LONGEST_WHOLE = 500
"""Most characters of a text that is nothing but an answer."""
OTHER = ""
"""The value of something that a clause leaves open beside what it names."""
_OPEN_END = re.compile(rf"{_JOIN}[,;]?\s*(?:or|и|или|либо|and)\W*", re.IGNORECASE)
_FILLING = re.compile(rf"{_FILLED}{_FILLERS}{{0,3}}{_FILLED}", re.IGNORECASE)
_OR = re.compile(r"\s?(?:or|или|либо|或)(?![^\W_])", re.IGNORECASE)
_EITHER = re.compile(r"(?<![^\W_])(?:either|либо|или)(?![^\W_])", re.IGNORECASE)
_GOVERNED = 40
"""Characters between a denial and what it denies, in the same clause."""
_LOOK_BACK = 120
_TEXT_WORDS = 6
"""Words of an option's text between its label and what is said of it."""


class Prepared(NamedTuple):
    """A reply in one notation, and the same text of equal length in lower case."""

    text: str
    folded: str

    @classmethod
    def of(cls, text: str) -> "Prepared":
        """Prepare a text that is in one notation already."""
        folded = text.lower()
        if len(folded) != len(text):  # İ in lower case is two characters
            folded = "".join(sign.lower()[:1] for sign in text)
        return cls(text, folded)


class Mention(NamedTuple):
    """A place of a text that names a value, or several of the same wording."""

    values: Values
    start: int
    end: int


def group_mentions(text: str, mentions: Sequence[Mention]) -> list[list[Mention]]:
    """Group mentions joined by 'and', 'or', a comma or a slash; a letter beside its text is one mention."""
    grouped = list[list[Mention]]()
    join = pattern(
        "joiners", text, rf"{_JOIN}(?:(?:[,、，/&|±+]|\\pm|", rf"){_JOIN}{_LABELS}{{0,3}}{_JOIN}){{1,5}}"
    )
    for mention in mentions:
        if grouped:
            last = grouped[-1][-1]
            gap = text[last.end : mention.start]
            # `B) Copper` is one mention, as nothing but signs stands between.
            is_beside = mention.values == last.values and not re.search(r"[^\W_]", gap)
            if is_beside or (len(gap) <= _GOVERNED and join.fullmatch(gap)):
                grouped[-1].append(mention)
                continue
        grouped.append([mention])
    return grouped


def drop_denied(text: str, mentions: Sequence[Mention], begin: int) -> list[Mention]:
    """Return the mentions in a clause from `begin` that it does not deny; a denial holds for all of a run."""
    undenied, last = list[Mention](), begin
    grouped = group_mentions(text, mentions)
    for number, run in enumerate(grouped):
        start, end = run[0].start, run[-1].end
        # `B, not C`: a denial before the next value is that one's.
        following = [later[0].start for later in grouped[number + 1 : number + 2]]
        is_denied_before = is_denied(text, max(last, start - _LOOK_BACK), start)
        if not (is_denied_before or is_refuted(text, end, *following)):
            undenied += run
        last = end
    return undenied


def is_denied(text: str, begin: int, end: int) -> bool:
    """Return whether the words between two positions deny what comes at the second: 'not', 'I doubt that it is'."""
    before = pattern("idioms", text).sub(lambda idiom: " " * len(idiom[0]), text[begin:end])
    # 'I doubt that …' holds to the sentence's end, 'not' for what stands near by.
    disbelief = pattern("disbeliefs", text).search(before)
    if disbelief and not _TURNING.search(before, disbelief.end()):
        return True
    denials = [denial.end() for denial in pattern("denials", text).finditer(before)]
    if not denials:
        return False
    between = before[denials[-1] :]
    return len(between) <= _GOVERNED and not _BOUNDARY.search(between)


def is_refuted(text: str, end: int, following: int | None = None) -> bool:
    """Return whether what follows a value denies it ('is wrong'), and not the next value: 'B, not C'.

    Words after `B)` or `B.` are the option's text, unless they begin with a verb.
    """
    before = rf"{_SIGNS}(?:,[^,.;:!?\n]{{1,30}},)?(?:[ :]|, ?(?=\w{{2,5}}(?:n't| not)))?(?:[—–-] ?|\( ?)?"
    if pattern("contrasts", text, before).match(text, end):
        return True
    refutation = pattern("refutations", text, before).match(text, end)
    if refutation is None or following is None:
        return refutation is not None
    gap = text[refutation.end() : following]
    return not (len(gap) <= _GOVERNED and _FILLING.fullmatch(gap))


def set_aside(text: str, begin: int, end: int, mentions: Iterable[Mention]) -> list[Mention]:
    """Return a clause's mentions outside of brackets, reasons and comparisons that follow the first of them."""
    mentions = [*mentions]
    if not mentions:
        return []
    brackets = [match.span() for match in _BRACKETS.finditer(text, begin, end)]
    main = [mention for mention in mentions if not _is_bracketed(text, mention, brackets)] or mentions[:1]
    aside = pattern("asides", text).search(text, main[0].end, end)
    if aside is None:
        return main
    return [mention for mention in main if mention.start < aside.start()]


def _is_bracketed(text: str, mention: Mention, brackets: Iterable[tuple[int, int]]) -> bool:
    """Return whether a mention stands in a bracket with other words, but for `(or B)`."""
    for start, stop in brackets:
        if start <= mention.start < stop and not _OR.match(text, start + 1):
            words = text[start + 1 : mention.start] + text[mention.end : stop - 1]
            return re.search(r"[^\W_]", words) is not None
    return False


def unite(mentions: Sequence[Mention]) -> Mention:
    """Return mentions as one, with all their values, over the stretch of them."""
    if not mentions:
        return Mention(frozenset(), 0, 0)
    values = frozenset[Hashable]().union(*(mention.values for mention in mentions))
    return Mention(values, mentions[0].start, mentions[-1].end)


def lines(text: str, begin: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each line with a letter or digit."""
    position = begin
    for line in text[begin:].split("\n"):
        if re.search(r"[^\W_]", line):
            yield position, position + len(line)
        position += len(line) + 1


def is_only(content: str, mentions: Sequence[Mention], nothing: re.Pattern[str]) -> bool:
    """Return whether a text holds nothing but mentions and words that add nothing to them."""
    pieces, position = list[str](), 0
    for mention in mentions:
        pieces.append(content[position : mention.start])
        position = mention.end
    remainder = " ".join([*pieces, content[position:]])
    return nothing.fullmatch(pattern("fillers", content).sub(" ", remainder)) is not None


def find_affirmed_run(reply: Prepared, begin: int, end: int, mentions: Sequence[Mention]) -> Mention | None:
    """Return the values of the first run of mentions that a clause affirms; None if it affirms none.

    A later part of the clause that begins with a consequence ('so', 'therefore') takes the place of what is before.
    """
    text = reply.text
    consequences = [match.end() for match in pattern("consequences", text).finditer(text, begin, end)]
    for position in reversed([begin, *consequences]):
        later = [mention for mention in mentions if mention.start >= position]
        main = set_aside(text, position, end, drop_denied(text, later, position))
        if main:
            run = unite(group_mentions(text, main)[0])
            return run._replace(values=run.values | open_values(text, position, run, end))
    return None


def open_values(text: str, begin: int, run: Mention, end: int) -> Values:
    """Return OTHER where a clause leaves a value open beside a run: 'either B', 'B or another one', 'B or'."""
    alternative = pattern("others", text, rf"{_JOIN}[,;]?\s*(?:or|and|или|либо|и)(?![^\W_])\s*")
    is_open = (
        _EITHER.search(text, max(begin, run.start - _LOOK_BACK), run.start)
        or alternative.match(text, run.end, end)
        or _OPEN_END.fullmatch(text, run.end, end)
    )
    return frozenset([OTHER] * bool(is_open))


def find_before(reply: Prepared, begin: int, end: int, mentions: Sequence[Mention]) -> Mention | None:
    """Return the values of the run of mentions right before a position, if the clause does not deny it."""
    grouped = [unite(run) for run in group_mentions(reply.text, mentions)]
    if not grouped:
        return None
    run = grouped[-1]
    start = max([begin, run.start - _LOOK_BACK, *(earlier.end for earlier in grouped[-2:-1])])
    between = re.sub(_FILLED, " ", reply.text[run.end : end])
    is_near = len(between.split()) <= _TEXT_WORDS and not pattern("denials", between).search(between)
    if not is_near or is_denied(reply.text, start, run.start):
        return None
    return run


def find_affirmed(reply: Prepared, begin: int, end: int, mentions: Sequence[Mention]) -> list[Mention]:
    """Return the mentions of a sentence that it does not deny; none in a question, a plan or a remark."""
    if not mentions or is_idle(reply.text, begin, end):
        return []
    return drop_denied(reply.text, mentions, begin)


def is_idle(text: str, begin: int, end: int) -> bool:
    """Return whether a sentence states nothing: it asks (and nobody says yes), plans, or remarks on the reply.

    What it plans and computes, it states: `To find the sum, we add them: 20 + 25 = 45.`
    """
    sentence = text[begin:end]
    if _ASKED.search(sentence):
        return _YES.match(text, end) is None
    plan = pattern("plans", sentence, _LINE_OPENING).match(sentence)
    if plan and not _COMPUTED.search(sentence, plan.end()):
        return pattern("consequences", sentence).search(sentence, plan.end()) is None
    return is_remark(text, begin, end)


def is_remark(text: str, begin: int, end: int) -> bool:
    """Return whether a line or a sentence says something about the reply: `Confidence: 95`, 'I hope this helps'."""
    sentence = text[begin:end]
    return pattern("remarks", sentence, _LINE_OPENING).match(sentence) is not None


def is_yes(text: str, end: int) -> bool:
    """Return whether a question that ends there is answered by yes."""
    return _YES.match(text, end) is not None
