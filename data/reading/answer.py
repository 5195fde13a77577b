"""The answer of a reply: its last statement, else what its last sentences let infer. The fourth pass.

What is a value is the slot's business (a number, an option, a name); what states, denies, supposes or withdraws one
is the same for all.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, NamedTuple, Protocol

from basic_control.data.reading.clauses import Mention, Prepared, Values, find_before, is_denied, is_refuted, is_yes
from basic_control.data.reading.statements import Statement, find_brace, statements, with_content
from basic_control.data.reading.words import MARKUP, pattern
from basic_control.data.sentences import find_sentence_begin, find_sentence_end

TRIES = 50
"""Number of statements tried, from the last one backwards."""
_BLANK = re.compile(rf"(?:{MARKUP}|[()\[\]{{}}.:：…_=-]|\\[()])*")
_OPENING = re.compile(r"(?:\\(?:text\w*|math\w+)\s?\{|[\s*_`\"'“”„«»「」>|:：=(\[{\\$#~【】])*")
_FIRST, _SECOND = re.compile(r"[ \t*_]*1[.)、]"), re.compile(r"\n[ \t*_]*2[.)、]")
"""The first two lines of a list, which a cue may head."""
_OPENS_LIST = re.compile(
    r"[\s*_$(]*(?:1[.)、][\s*_]*[^\s\d].*\b2[.)、]|1\)|(?:first(?:ly)?|step ?1|to begin with"
    r"|сначала|во-первых|шаг ?1)(?![^\W_])|首先|第一步)",
    re.IGNORECASE,
)
_EQUATION = re.compile(r"[0-9)}%][^=\n]{0,60}[-+*/×÷:·−–xхX\\][^=\n]{0,60}=|<<[^>\n]{0,80}>>")
_CHECK = re.compile(r"\b(?:check|verif\w+|to confirm|провер\w+)\b|验证|检验|检查", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]*(?:```|~~~)\w*[ \t]*")
_TURNS = r"(?:but|so|then|since|because|therefore|thus|hence|now|with|here|но|так|поэтому|значит|а|但|所以|因此)"
_TURNED = re.compile(rf"[,;] ?{_TURNS}\b[^,;]*$", re.IGNORECASE)
_TURNING = re.compile(rf"\b{_TURNS}\b", re.IGNORECASE)
_CONDITION_END = re.compile(rf"[,;，；]|\b{_TURNS}\b", re.IGNORECASE)
_HEADING = re.compile(r"[\s*_]*[^\W\d_]{2}.*[:：]|.*[:：][\s*_]*$")
"""A marker line that is a heading, although it holds nothing but an answer: `Option D: Helium`."""
_QUALIFIED = re.compile(
    r"(?<![a-z])(?!(?:the|final|so|thus|therefore|hence|our|my|correct|right|best|end|overall|numerical|predicted|chosen)\b)"
    r"[a-z]+[\s*_]+\Z",
    re.IGNORECASE,
)
"""Before a word that is one for 'answer' only by itself: `new value = 5`, `add 10 to this value:`."""
_WORD = re.compile(r"[^\W_]")
_BREAK = re.compile(rf"{MARKUP}{{0,3}}(?:\.\.|[…,;—–-]){MARKUP}*")
"""Where a sentence may break off behind its answer."""
_NEXT_OPTION = re.compile(r"(?m:^)[ \t>*_]{0,8}B[*_]{0,3}[:：]")
"""Where `A:` is the first of a list of options, and no answer."""
_PAIR = 2
_GAP = 8
"""Characters between two sentences."""
_HEADING_WORDS = 2
"""Most words before 'answer' in a heading."""
_NEXT_LINES = 6
"""Lines after a cue's in which its answer may stand."""
_VERB = 16
"""Characters before the end of a cue in which its verb is denied."""
_LAST = 2_000
"""Characters at a reply's end in which it says that there is no answer."""

_LOOP, _LOOPS, _LOOP_TAIL = 40, 5, 4_000
"""Characters at a reply's end that make it a loop, if they stand so many times in the last part of it."""


class Slot(Protocol):
    """What an answer is: where a text mentions one, and how one is chosen among several."""

    @property
    def is_chosen(self) -> bool:
        """Whether an answer is one of a few that are given, and may be chosen ('I pick B') or called right."""
        ...

    def mentions(self, reply: Prepared, begin: int, end: int) -> list[Mention]:
        """Return where a stretch mentions values."""
        ...

    def read_whole(self, content: str) -> Values | None:
        """Return the values of a text that says nothing else; None if it does; empty where none is single."""
        ...

    def read_entry(self, content: str) -> Values | None:
        """Return the values of an entry of a list of answers, which says nothing about them either."""
        ...

    def find_stated(self, reply: Prepared, begin: int, end: int) -> Mention | None:
        """Return what a clause after a cue states; None if it mentions no value that it affirms."""
        ...

    def infer(self, reply: Prepared, begin: int) -> Mention | None:
        """Return what a text without a statement lets infer, from a position on."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply answers.

    `values`: one is an answer; several, or an empty set, equal nothing; None if nothing is stated or inferred, or
    if the reply says that there is no answer, takes it back or breaks off. `rule` is the kind of statement or 'last
    sentence'; `anchor` where the statement begins that decides (None: there is none); `start` and `end` where its
    value stands.
    """

    values: Values | None = None
    rule: str = ""
    anchor: int | None = None
    start: int = 0
    end: int = 0

    @property
    def is_said(self) -> bool:
        """Whether a statement gives the answer; else it is inferred."""
        return self.anchor is not None


class _Effect(NamedTuple):
    """What one statement does: it `states` values, only `might`, `cancels` those before it, or does nothing."""

    does: Literal["states", "might", "cancels", "nothing"]
    mention: Mention = Mention(frozenset(), 0, 0)
    end: int = 0


_NOTHING, _CANCELS = _Effect("nothing"), _Effect("cancels")


def _cancel_if(condition: object) -> _Effect:
    """Return what a statement does that states nothing: it cancels those before it, or does nothing."""
    return _CANCELS if condition else _NOTHING


def read(text: str, slot: Slot, *, cut: bool = False, prompt: str = "") -> Reading:
    """Return the answer that a reply gives; the text is what the first two passes leave, in one notation.

    `cut`: the reply ended at its token limit, so that only a statement counts. Never raises; the time is linear.

    Source: SPEC 19, passes 3 and 4.
    """
    reply = Prepared.of(text)
    hedged: Reading | None = None
    last_statements = islice(statements(text, is_chosen=slot.is_chosen), TRIES)
    for statement in last_statements:
        effect = _weigh_statement(reply, statement, slot, prompt)
        values, start, end = effect.mention
        reading = Reading(values, statement.kind.replace("few_shot", "cue"), statement.start, start, end)
        if effect.does == "cancels":
            return replace(reading, values=None)
        if effect.does == "states":
            resumed = _find_withdrawal(text, effect.end)
            # 'The answer is A... no wait, it is B.'
            if resumed is None and (turn := _BREAK.match(text, end)):
                resumed = _find_withdrawal(text, turn.end())
            if resumed is not None:
                return _infer(reply, slot, resumed, cut=cut)
            if slot.is_chosen:
                values |= _list_above(reply, statement, values, slot, last_statements)
            return replace(reading, values=values)
        # 'It could be B' is an answer where nothing says more.
        if effect.does == "might" and hedged is None:
            hedged = reading
    return hedged or _infer(reply, slot, 0, cut=cut)


def _list_above(
    reply: Prepared, statement: Statement, values: Values, slot: Slot, earlier: Iterator[Statement]
) -> Values:
    """Return the values of statements on the lines right above that are a list of three or more with this one."""
    count, start = 1, statement.start
    # Most answers stand alone; what is above them is not searched for statements.
    line = reply.text.rfind("\n", 0, start) + 1
    above_start = reply.text.rfind("\n", 0, max(0, line - 1)) + 1
    if line and not slot.mentions(reply, above_start, line):
        return frozenset()
    for above in earlier:
        effect = _weigh_statement(reply, above, slot, "")
        if "\n" in reply.text[above.end : start].strip("\n") or effect.does != "states":
            break
        values, count, start = values | effect.mention.values, count + 1, above.start
    return values if count == len(values) > _PAIR else frozenset()


def _infer(reply: Prepared, slot: Slot, begin: int, *, cut: bool) -> Reading:
    """Return what the last sentences let infer, unless they say that there is no answer."""
    text = reply.text
    window = max(begin, len(text) - _LAST)
    spans = [match.span() for match in pattern("withholdings", text[window:]).finditer(text, window)]
    withholdings = [span for span in spans if not slot.mentions(reply, *span)]
    if withholdings:
        begin = find_sentence_end(text, withholdings[-1][1])
        # 'It cannot be determined, so I guess B'
        if not pattern("consequences", text[begin:], after="|=").search(text, begin):
            return _read_last_line(text, slot, begin)
    # A reply that repeats itself to its end was cut, whatever its server says.
    if cut or _is_loop(text):
        return _read_first_line(text, slot)
    inferred = slot.infer(reply, begin)
    if inferred is None:
        return Reading()
    return Reading(inferred.values, "last sentence", None, inferred.start, inferred.end)


def _is_loop(text: str) -> bool:
    """Return whether a text ends in what stands many times right before: 'Let us try again. We get 6. But that'."""
    tail = text[-_LOOP_TAIL:].rstrip()
    return tail.count(tail[-_LOOP:]) >= _LOOPS and len(tail) > _LOOP


def _read_last_line(text: str, slot: Slot, begin: int) -> Reading:
    """Return the answer that is a whole line at the end, below a sentence that says that there is none: `**B**`."""
    start = max(begin, text.rstrip().rfind("\n") + 1)
    values = slot.read_whole(text[start:])
    if values is None or "\n" not in text[begin - 1 : start]:
        return Reading()
    return Reading(values, "last sentence", None, start, len(text.rstrip()))


def _read_first_line(text: str, slot: Slot) -> Reading:
    """Return the choice that is the whole first line of several: of a reply that is cut, that is a statement."""
    line, _, following = text.strip().partition("\n")
    values = slot.read_whole(line)
    if values is None or not slot.is_chosen or not following.strip():
        return Reading()
    return Reading(values, "first line", 0, 0, len(line))


def _weigh_statement(reply: Prepared, statement: Statement, slot: Slot, prompt: str) -> _Effect:
    """Return what a statement does to the answer; its kind says which words decide."""
    if statement.kind == "marker":
        return _weigh_marker(reply, statement, slot)
    if statement.kind == "box":
        statement = with_content(reply.text, statement)
    if statement.content is not None:
        return _weigh_content(reply, statement, slot, prompt)
    if statement.kind == "rightness":
        return _weigh_predicate(reply, statement, slot)
    return _weigh_cue(reply, statement, slot)


def _weigh_marker(reply: Prepared, statement: Statement, slot: Slot) -> _Effect:
    """Weigh the line after a marker: a whole answer, nothing, or else a heading."""
    line = reply.text[statement.begin : statement.end]
    if _BLANK.fullmatch(line):
        return _cancel_if(not reply.text[statement.end :].strip())
    values = slot.read_whole(line)
    if values is not None and not _HEADING.match(line):
        return _Effect("states", _trim(reply.text, values, statement.begin, statement.end), statement.end)
    return _cancel_if(_refuses(line))


def _weigh_content(reply: Prepared, statement: Statement, slot: Slot, prompt: str) -> _Effect:
    """Weigh a box, a tag or a member of an object by its content, and by its sentence."""
    text, content = reply.text, statement.content or ""
    if _BLANK.fullmatch(content):
        return _cancel_if(not _is_wording(text, statement, prompt))
    values = slot.read_whole(content)
    if values is None and _refuses(content):
        return _CANCELS
    # A box of another kind is passed over; in a tag, a sentence may state the answer.
    if values is None and statement.kind != "box":
        stated = slot.find_stated(Prepared.of(content), 0, len(content))
        if stated:
            values = stated.values
    begin, end = find_sentence_begin(text, statement.start), find_sentence_end(text, statement.end)
    if values is None or _is_asked(text, end) or is_denied(text, begin, statement.start):
        return _NOTHING
    if is_refuted(text, min(len(text), statement.end + 1)):
        return _CANCELS
    return _Effect("states", _trim(text, values, statement.begin, statement.end), statement.end)


def _trim(text: str, values: Values, begin: int, end: int) -> Mention:
    """Return values with the stretch that gives them, without white space and braces around it."""
    stretch = text[begin:end]
    start = begin + len(stretch) - len(stretch.lstrip(" {"))
    return Mention(values, start, max(start, begin + len(stretch.rstrip(" }"))))


def _skip_opening(text: str, begin: int, end: int) -> int:
    """Return where the words of a clause begin."""
    opening = _OPENING.match(text, begin, end)
    return opening.end() if opening else begin


def _refuses(content: str) -> bool:
    """Return whether a text begins by saying that there is no answer."""
    return pattern("refusals", content).match(content, _skip_opening(content, 0, len(content))) is not None


def _is_asked(text: str, end: int) -> bool:
    """Return whether a sentence that ends there is a question that is not answered by yes."""
    return text[end : end + 1] in {"?", "？"} and not is_yes(text, end)


def _is_wording(text: str, statement: Statement, prompt: str) -> bool:
    r"""Return whether an empty box stands in a sentence as the prompt words it: `within \boxed{}`."""
    before = text[max(0, statement.start - _VERB) : statement.start].rpartition("\n")[2].strip().lower()
    return bool(before) and before in prompt.lower() and "boxed" in prompt


def _weigh_predicate(reply: Prepared, statement: Statement, slot: Slot) -> _Effect:
    """Weigh 'B is correct': the value stands right before the words."""
    text = reply.text
    begin, end = find_sentence_begin(text, statement.start), find_sentence_end(text, statement.end)
    value = find_before(reply, begin, statement.start, slot.mentions(reply, begin, statement.start))
    if value is None or _is_asked(text, end) or _is_supposed(text, begin, statement.start, end):
        return _NOTHING
    return _Effect("states", value, end)


def _weigh_cue(reply: Prepared, statement: Statement, slot: Slot) -> _Effect:
    """Weigh a cue by the words before it and by the clause after it."""
    text = reply.text
    first = find_sentence_begin(text, statement.start)
    clause = _find_clause(text, statement)
    if clause is None or not _leads(text, statement, first):
        return _NOTHING
    is_entry = statement.kind == "few_shot" and slot.is_chosen and _NEXT_OPTION.search(text, statement.end)
    is_qualified = statement.is_weak and not slot.is_chosen and _QUALIFIED.search(text, first, statement.start)
    if is_entry or is_qualified:
        return _NOTHING
    begin, end = clause
    if begin >= end:
        return _cancel_if(statement.kind == "cue" and statement.is_said and not statement.is_weak)
    if _is_asked(text, end) or (not slot.is_chosen and _heads_derivation(text, statement, begin, end)):
        return _NOTHING
    effect = _weigh_clause(reply, statement, slot, begin, end)
    lead = text[first : statement.start]
    if effect.does != "states" or _is_condition(lead) or _is_supposed(text, first, statement.end, end):
        return _cancel_if(effect.does == "cancels")
    # 'The answer could be B', 'if it is metal, the answer is B': weaker than what says so outright.
    hedges = pattern("possibilities", text).search(text, statement.start, statement.end)
    return effect._replace(does="might") if hedges or _is_conditional(lead) else effect


def _weigh_clause(reply: Prepared, statement: Statement, slot: Slot, begin: int, end: int) -> _Effect:
    """Weigh the clause after a cue: a whole answer, or what it states among other words."""
    text = reply.text
    values = slot.read_whole(text[begin:end])
    if values is not None:
        value = _trim(text, values, begin, end)
    # A clause of other words needs a cue that leaves no doubt.
    elif statement.is_weak or not statement.is_said or statement.kind == "remainders" or _appraises(text, begin):
        return _NOTHING
    elif _withholds(reply, begin, end, slot):
        return _CANCELS
    else:
        stated = slot.find_stated(reply, begin, end)
        if stated is None:
            return _NOTHING
        value = stated
    if slot.is_chosen:
        # Below a cue, a list is its answers; behind an answer, what is said of the options.
        is_below = "\n" in text[statement.end : begin]
        value = _add_list(text, value, end, slot.read_whole if is_below else slot.read_entry)
    return _Effect("states", value, end)


def _appraises(text: str, begin: int) -> bool:
    """Return whether a clause says what an answer is like, and why: 'correct, as 4 * 3 = 12'."""
    appraisal = pattern("appraisals", text).match(text, _skip_opening(text, begin, len(text)))
    return appraisal is not None and pattern("asides", text, r",? ?").match(text, appraisal.end()) is not None


def _add_list(text: str, value: Mention, end: int, read_line: Callable[[str], Values | None]) -> Mention:
    """Return a value with those of the next lines, where each of them is only a value as well."""
    for line in text[end:].split("\n")[1 : _NEXT_LINES + 1]:
        values = read_line(line)
        if values is None and not _BLANK.fullmatch(line):
            break
        value = value._replace(values=value.values | (values or frozenset()))
    return value


def _heads_derivation(text: str, statement: Statement, begin: int, end: int) -> bool:
    """Return whether a cue with a colon heads a derivation, so that the answer is what that comes to.

    `Answer: First, …`, `Answer: 1) …`, `Answer: 48 / 2 = 24. 48 + 24 = 72.`; not `Answer: 2 * 9 = 18. Check: …`
    """
    if text[statement.start : begin].rstrip(" *_")[-1:] not in {":", "：", "\n"}:
        return False
    if _OPENS_LIST.match(text, begin, end):
        return True
    word = _WORD.search(text, end, end + _GAP)
    if word is None or word.start() == end:
        return False
    following = text[word.start() : min(find_sentence_end(text, word.start()), _find_end(text, end, "\n\n"))]
    concludes = pattern("consequences", following).match(following) or _EQUATION.search(text, begin, end)
    return bool(concludes and _EQUATION.search(following) and not _CHECK.search(following))


def _find_end(text: str, begin: int, closing: str) -> int:
    """Return where a line or a paragraph ends."""
    end = text.find(closing, begin)
    return end if end >= 0 else len(text)


def _withholds(reply: Prepared, begin: int, end: int, slot: Slot) -> bool:
    """Return whether a clause says that there is no answer before it mentions one."""
    text, opened = reply.text, _skip_opening(reply.text, begin, end)
    first = min([end, *(mention.start for mention in slot.mentions(reply, begin, end))])
    if first <= opened:
        return False
    refuses = pattern("refusals", text).match(text, opened)
    return bool(refuses or pattern("withholdings", text).search(text, begin, first))


def _leads(text: str, statement: Statement, first: int) -> bool:
    """Return whether the words before a cue leave it the reply's own statement."""
    if statement.kind != "cue":
        return True
    lead, verb = text[first : statement.start], text[max(statement.start, statement.end - _VERB) : statement.end]
    if pattern("purposes", lead).search(lead) or is_denied(lead, 0, len(lead)):
        return False
    if statement.is_said and pattern("denials", verb).search(verb):
        return False
    # No cue: 'The answer cannot be determined: 16 eggs are given.'
    cue = text[statement.start : statement.end]
    if pattern("withholdings", cue).search(cue):
        return False
    return not pattern("attributions", lead, after=rf"(?:\s[^\W_]{{1,12}})?{MARKUP}*$").search(lead)


def _find_clause(text: str, statement: Statement, blank: re.Pattern[str] = _BLANK) -> tuple[int, int] | None:
    """Return where the clause after a cue begins and ends; an empty one at the reply's end, None for no cue.

    `blank`: what says nothing on a line.
    """
    begin, line_end = statement.end, _find_end(text, statement.end, "\n")
    if not blank.fullmatch(text, begin, line_end):
        return begin, find_sentence_end(text, begin)
    before = text[text.rfind("\n", 0, statement.start) + 1 : statement.start]
    if not statement.is_said and len(re.findall(r"[^\W_]+", before)) > _HEADING_WORDS:
        return None
    # With nothing behind it, a cue takes the next line that is not empty, but for a list that it heads.
    for _ in range(_NEXT_LINES):
        begin, line_end = line_end + 1, _find_end(text, line_end + 1, "\n")
        if begin >= len(text):
            return len(text), len(text)
        if not (blank.fullmatch(text, begin, line_end) or _FENCE.fullmatch(text, begin, line_end)):
            is_list = _FIRST.match(text, begin) and _SECOND.search(text, line_end)
            return None if is_list else (begin, min(line_end, find_sentence_end(text, begin)))
    return None


def _is_supposed(text: str, first: int, verb: int, end: int) -> bool:
    """Return whether a sentence only supposes: a condition, and a word for what would be."""
    sentence = text[first:end]
    return (
        pattern("possibilities", sentence).search(sentence) is not None
        and pattern("suppositions", sentence).search(sentence) is not None
        and not _TURNED.search(text[first:verb])
    )


def _is_conditional(lead: str) -> bool:
    """Return whether a condition comes before a cue in its sentence, and nothing turns from it."""
    condition = pattern("suppositions", lead).search(lead)
    return condition is not None and not _TURNING.search(lead, condition.end())


def _is_condition(lead: str) -> bool:
    """Return whether a cue is part of a condition: `if the answer is B, …`."""
    conditions = [condition.end() for condition in pattern("suppositions", lead).finditer(lead)]
    return bool(conditions) and not _CONDITION_END.search(lead, conditions[-1])


def _find_withdrawal(text: str, end: int) -> int | None:
    """Return where a reply goes on after it takes back the statement that ends there; None if it does not."""
    before = rf"[.!?。！？…,;—–-]*{MARKUP}*[)\]}}]*[.!。]*{MARKUP}*"
    match = pattern("withdrawals", text, before).match(text, end)
    return match and match.end()


def read_cue(text: str) -> str:
    """Return the text that a reply's last line gives as its answer behind a cue; '' if it gives none.

    Source: SPEC 19 (exact_match).
    """
    last = len(text.rstrip())
    line = text.rfind("\n", 0, last) + 1
    for statement in statements(text[:last], is_chosen=False):
        if statement.kind not in {"cue", "few_shot"} or not statement.is_said:
            continue
        # Brackets may be what is asked for: `the answer is ] >`.
        begin, end = _find_clause(text, statement, _EMPTY) or (0, 0)
        if begin >= end or end < line or not _leads(text, statement, find_sentence_begin(text, statement.start)):
            return ""
        value = text[begin:last]
        box = _BOXED.search(value)
        if box:
            value = value[box.end() : find_brace(value, box.end())]
        marks = _CLOSING.search(value)
        if marks and value.count(marks[1]) % _PAIR:  # those of `**Answer: Paris**`
            value = value[: marks.start()] + marks[2]
        if begin <= line:
            value = _QUOTED.sub("", value)
        return _MATH.sub(r"\1", _LEADING.sub("", value).strip().strip("$`"))
    return ""


_BOXED = re.compile(r"\\boxed\s?\{")
_EMPTY = re.compile(r"[\s*_:：$`]*")
_LEADING = re.compile(r"\A(?:[\s:：】]|\*\*(?=\s)|[-*•]\s)+")
_CLOSING = re.compile(r"\s*([*_]{1,3})([.。]?)\s*\Z")
_QUOTED = re.compile(r"\A[\s:：*]*>\s+")
_MATH = re.compile(r"\A\\(?:text|mathrm|mathbf|textbf)\{(.*)\}\Z")
