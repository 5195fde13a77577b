"""Options as answers: a label (A, b, ii, 12), or the text of an option."""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from basic_control.data.reading.clauses import (
    LONGEST_WHOLE,
    Mention,
    Prepared,
    Values,
    find_affirmed,
    find_affirmed_run,
    is_only,
    is_refuted,
    is_remark,
    lines,
    set_aside,
    unite,
)
from basic_control.data.reading.latex import write_plainly
from basic_control.data.reading.texts import collapse_spaces, unify
from basic_control.data.reading.words import MARKUP, pattern
from basic_control.data.sentences import split_sentences

_PAIR = 2
_NEAR = 30
"""Characters before a small letter that make it a label."""

_LETTER = r"[^\W_\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
"""A letter or digit of a script that puts spaces between words."""
_LABEL = re.compile(
    rf"(?<!{_LETTER})(?<![°%^\\])(?<![^\W_]_)(?<![)}}\]]_)(?<!{_LETTER}')(?<![-.,](?=[0-9]))([A-Za-zΑ-Ωα-ωА-Яа-яЁё]{{1,2}}|[0-9]{{1,2}}|[ivxlIVXL]{{3,5}}|[\u0621-\u064a\u0905-\u0939\u0985-\u09b9])"
    rf"(?!{_LETTER}|'(?:{_LETTER}{{1,2}}\b|[aeiouyhâàéèêëîïôùœ])(?<!'d[a-zıü]r)|[.,][0-9]|_[^\W_])"
)
_EDGE = re.compile(_LETTER)
_NOTHING = re.compile(
    rf"(?:{MARKUP}|[()\[\]{{}}.:：,，。！!、;；/&【】（）…-]|\\(?:text\w*|math\w+|[a-z]{{2}}(?![a-z])|[()])|<[^<>]{{0,20}}>|[\u2190-\u21ff\u2300-\u2bff\ufe0f\U0001f000-\U0001faff])*"
)
_TEXT_FOLLOWS = re.compile(r"[*_`\]})]{0,4}(?:[).:]|\s[-–—]|[)\].:]*[*_]{1,3})[*_`]{0,3}\s+\S")
_LOOKALIKES = str.maketrans("АВСЕНКМОРТХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABCEHKMOPTXIJSABEZHIKMNOPTYX")
"""Cyrillic and Greek capitals that look Latin."""
_ARTICLE = {  # what follows where a label is an article or a pronoun
    "A": re.compile(
        r" [0-9][0-9.,]*[- ]?[^\W\d_]{2}|"  # A 60-year-old
        r" (?!(?:or|and|is|are|was|were|be|because|since|but|not|as|fits?|matches|seems|must|would|can|could|"
        r"should|has|does|which|who|with|to|in|for|at|on|by|from|if|than|here|that|also|only|then|so)\b)[a-z]"
    ),
    "I": re.compile(r" (?!(?:or|and|is|because|since|as|fits?|seems|must)\b)[a-z]|'"),
}
_NOUN_FOLLOWS = re.compile(
    r" (?!(?:because|since|as|but|if|it|this|that|the|he|she|we|you|they|there|way|так|потому|поскольку|но|если|"
    r"это|он|она|оно|они|я|мы)\b)[a-zа-я]"
)
_DETERMINERS = frozenset({"no", "нет"})
"""Texts that are no answer before a noun: `there is no evidence`."""
_BEFORE_SMALL = re.compile(
    r"(?:(?:option|choice|letter|answer|pick|choose|select|is|вариант|ответ|选项|选|[:：])[\s*_\"'(]*|\()$"
)
_AFTER_SMALL = re.compile(r"[*_\"')\]]*(?:[).:,;!]|\s*$|\n| [-–—])")


_FORMULA = re.compile(r"[\\$=<>≤≥+×·^_%°√]")
_ENTRY = re.compile(
    r"[\s>*_#•-]*(?:(?:option|choice|вариант|选项)\s*)?[*_(]*([^\W_]{1,2})[)\].:][*_]*\s", re.IGNORECASE
)
"""The label of a line that is an entry of a list: `**C)** Mars`, `Option C: Mars`."""
_LABEL_ALONE = re.compile(r"[\s>*_#•(-]*[^\W_]{1,2}[*_)]*\.[*_]*")  # - **C.
_ALIKE = re.compile(
    r"(?<![^\W_])(?:both|all|either|оба|обе|все|любой)(?![^\W_])[^.!?\n]{0,20}\Z|[两都]", re.IGNORECASE
)
"""Before options that have one standing: `both options (A) and (B)`."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a question: label -> its text, '' where only labels are known; both unified.

    `has_formulas`: a text has signs that may be written in several ways.
    `labels`: each label by its capitals; `wordings`: each text in lower case, the longest first, with its labels.
    """

    texts: Mapping[str, str]
    labels: Mapping[str, str]
    wordings: tuple[tuple[str, Values], ...]
    has_formulas: bool = True
    is_chosen: bool = True

    def mentions(self, reply: Prepared, begin: int, end: int) -> list[Mention]:
        """Return where a stretch names options, by whole texts, and by labels on their own."""
        mentions, covered = list[Mention](), bytearray(end - begin)
        # The longest texts go first: 'York' in 'New York' is none.
        for wording, values in self.wordings:
            for start, stop in _find_wording(reply, wording, begin, end):
                if not any(covered[start - begin : stop - begin]):
                    covered[start - begin : stop - begin] = b"\1" * (stop - start)
                    mentions.append(Mention(values, start, stop))
        for match in _LABEL.finditer(reply.text, begin, end):
            label = self._read_label(reply.text, match)
            if label and not covered[match.start() - begin]:
                mentions.append(Mention(frozenset({label}), *match.span()))
        return sorted(mentions, key=_order)

    def _read_label(self, text: str, match: re.Match[str]) -> str:
        """Return the label that a token is; '' if it is none, an article, or a small letter in a sentence."""
        token = match[0]
        for form in (token, token.translate(_LOOKALIKES)):
            if form in self.texts:
                return "" if _is_article(text, form, match.end()) else form
        label = self.labels.get(token.upper(), "")
        if not label or token.isupper():
            return label
        line = text[max(0, match.start() - _NEAR) : match.start()].rpartition("\n")[2]
        leads = not line.strip(" \t*_`>\"'(-") or _BEFORE_SMALL.search(line.lower())
        return label if leads and _AFTER_SMALL.match(text, match.end()) else ""

    def read_whole(self, content: str) -> Values | None:
        """Return the options that are all that a text says; None if it says anything else."""
        content = content.strip()
        if len(content) > LONGEST_WHOLE:
            return None
        mentions = self.mentions(Prepared.of(content), 0, len(content))
        if not mentions:
            return self._read_letters(content)
        if is_only(content, mentions, _NOTHING):
            return unite(mentions).values
        return self._read_label_with_text(content, mentions)

    def read_entry(self, content: str) -> Values | None:
        """Return the options of an entry of a list of answers: `A` or `A) Mars`, but not `A: too small`."""
        mentions = self.mentions(Prepared.of(content), 0, len(content))
        if not mentions or not is_only(content, mentions, _NOTHING):
            return None
        return unite(mentions).values

    def _read_label_with_text(self, content: str, mentions: Sequence[Mention]) -> Values | None:
        """Return the label of a text that is not its option's; None if it calls it wrong."""
        # A label with a text that is not the option's: `B) a reddish metal`, but not `B - wrong`.
        label = mentions[0]
        text = _TEXT_FOLLOWS.match(content, label.end)
        if len(mentions) > 1 or text is None or "\n" in content:
            return None
        is_denied = re.search("[-–—]", text[0]) is not None and is_refuted(content, label.end)
        if is_denied or not is_only(content[: label.start], (), _NOTHING):
            return None
        return label.values

    def _read_letters(self, content: str) -> Values | None:
        """Return the labels of a text that is only letters: a small one, `DE`, or (none) one that is no option."""
        # `DE` are two labels before it is a word that adds nothing.
        for text in (content, pattern("fillers", content).sub(" ", content)):
            letters = _NOTHING.sub("", text).upper()
            if not (letters.isalpha() and letters.isascii() and len(letters) <= len(self.labels)):
                continue
            names = [letters] * (letters in self.labels) or list(letters)
            if len(names) == 1 or set(names) <= self.labels.keys():
                return frozenset(self.labels[name] for name in names if name in self.labels)
        return None

    def find_stated(self, reply: Prepared, begin: int, end: int) -> Mention | None:
        """Return the options that a clause after a cue states; none if it lists them all."""
        stated = find_affirmed_run(reply, begin, end, self.mentions(reply, begin, end))
        if stated and len(stated.values) == len(self.texts) > _PAIR:
            return None
        return stated

    def infer(self, reply: Prepared, begin: int) -> Mention | None:
        """Return the option that is the last or first line, else that of the last sentence with exactly one."""
        spans = [span for span in lines(reply.text, begin) if not is_remark(reply.text, *span)]
        answers = list[Mention]()
        for start, end in spans:
            values = self._read_line(reply, start, end, has_others=len(spans) > 1)
            if values:
                answers.append(Mention(values, start, end))
        for answer in (*answers[-1:], *answers[:1]):
            # Several lines that are options are a list of them, unless the same one opens or ends the reply again.
            elsewhere = [line.values for line in answers if line.start != answer.start]
            is_alone = answer.values in elsewhere or not elsewhere
            if is_alone and answer[1:] in {spans[0], spans[-1]}:
                return answer
        if answers and answers[-1][1:] == spans[-1]:
            return unite(self._find_list(answers, spans))
        return self._infer_from_sentences(reply, begin, self._list_entries(reply, spans))

    def _find_list(self, answers: Sequence[Mention], spans: Sequence[tuple[int, int]]) -> list[Mention]:
        """Return the last line with those of its list: right above it, or all where it is the next option's entry.

        An answer below headings that went through the options stands alone.
        """
        labels = [*self.texts]
        last, before = answers[-1], answers[-2]
        steps = [labels.index(str(label)) for line in (before, last) for label in line.values]
        if len(steps) == _PAIR and steps[1] == steps[0] + 1:
            return [*answers]
        entries = [last]
        for line, span in zip(reversed(answers[:-1]), reversed(spans[:-1]), strict=False):
            if line[1:] != span:
                break
            entries.insert(0, line)
        return entries

    def _infer_from_sentences(
        self, reply: Prepared, begin: int, entries: Sequence[tuple[int, int]]
    ) -> Mention | None:
        """Return the option of the last sentence with exactly one, else those of the last with several."""
        several: Mention | None = None
        for span in reversed([*_split_sentences(reply.text, begin)]):
            # A list that goes through the options concludes nothing by its last entry.
            if any(opened <= span[0] < closed for opened, closed in entries):
                continue
            affirmed = find_affirmed(reply, *span, self.mentions(reply, *span))
            options = unite(set_aside(reply.text, *span, affirmed))
            is_joint = len(options.values) > 1 and _ALIKE.search(reply.text, max(begin, span[0]), options.start)
            if len(options.values) == 1 or (is_joint and several is None):
                return options
            if options.values and several is None:
                several = options
        return several

    def _list_entries(self, reply: Prepared, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the lines that begin with a label, where those of three options or more do."""
        entries, labels = list[tuple[int, int]](), set[Hashable]()
        for start, end in spans:
            label = _ENTRY.match(reply.text, start, end)
            values = self.read_whole(label[1]) if label else None
            if values:
                entries.append((start, end))
                labels |= values
        return entries if len(labels) > _PAIR or len(labels) == len(self.texts) else []

    def _read_line(self, reply: Prepared, begin: int, end: int, *, has_others: bool) -> Values | None:
        """Return the options that are a whole line; none where one of several lines calls it wrong."""
        values = self.read_whole(reply.text[begin:end])
        if values and has_others:
            line = reply.text[:end]
            if any(is_refuted(line, mention.end) for mention in self.mentions(reply, begin, end)):
                return None
        return values


def _split_sentences(text: str, begin: int) -> Iterator[tuple[int, int]]:
    """Yield the sentences from a position on; a label with its stop belongs to what follows, as in `C. Zinc`."""
    opened = -1
    for start, end in split_sentences(text[begin:], initials=False):
        first, last = begin + start, begin + end
        if opened >= 0:
            first = opened
        opened = -1
        is_entry = first > begin and _LABEL_ALONE.fullmatch(text, first, last) is not None
        if is_entry and text.startswith((" ", "*"), last):
            opened = first
        else:
            yield first, last


def _is_article(text: str, form: str, end: int) -> bool:
    """Return whether a capital is an English article or pronoun by what follows: `A point`, not `A oder B`."""
    if form not in _ARTICLE or not _ARTICLE[form].match(text, end):
        return False
    return pattern("followers", text).match(text, end + 1) is None


def _order(mention: Mention) -> tuple[int, int]:
    return mention.start, mention.end


def _find_wording(reply: Prepared, wording: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where a folded text occurs at the boundaries of words; a sentence, also without its stop at an end."""
    is_sentence = wording.endswith(".") and len(wording) > _PAIR
    wording = wording.removesuffix(".") if is_sentence else wording
    start = reply.folded.find(wording, begin, end)
    while start >= 0:
        stop = start + len(wording)
        goes_on = (
            (_EDGE.match(wording[0]) and start and _EDGE.match(reply.text[start - 1]))
            or (_EDGE.match(wording[-1]) and _EDGE.match(reply.text, stop))
            or (wording[0].isdigit() and _NUMBER_BEFORE.search(reply.text, max(0, start - 2), start))
            or (wording[-1].isdigit() and _NUMBER_AFTER.match(reply.text, stop))
            or (is_sentence and _GOES_ON.match(reply.text, stop))
            or (wording in _DETERMINERS and _NOUN_FOLLOWS.match(reply.text, stop))
        )
        if not goes_on:
            yield start, stop
        start = reply.folded.find(wording, start + 1, end)


_NUMBER_BEFORE = re.compile(r"[0-9][.,]$|(?:^|[^\w)\]%])[-.]$")
"""A minus sign, a decimal point or a thousands' comma."""
_GOES_ON = re.compile(r"[ \t]+[^\W\d_]")
_NUMBER_AFTER = re.compile(r"[.,][0-9]")


@lru_cache(maxsize=256)  # each of a row's options is looked for in the replies of all models
def build_options(pairs: tuple[tuple[str, str], ...]) -> Options:
    """Return the options of (label, text) pairs."""
    texts = {label: collapse_spaces(write_plainly(unify(text))) for label, text in pairs}
    labels = dict[str, set[str]]()
    for label, text in texts.items():
        labels.setdefault(text.lower(), set()).add(label)
    wordings = sorted(filter(None, labels), key=len, reverse=True)
    return Options(
        texts,
        {label.upper(): label for label in texts},
        tuple((wording, frozenset(labels[wording])) for wording in wordings),
        any(map(_FORMULA.search, labels)),
    )
