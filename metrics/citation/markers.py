"""Citation markers in English, Russian and Chinese: bracketed, superscript, or in words (`Document 3 states`)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from basic_control.data.patterns import pattern
from basic_control.metrics.citation.source_lists import HEADINGS, LINK, trim_url

_EN = r"passages?|documents?|docs?\.?|sources?|references?|refs?\.?|citations?|excerpts?|snippets?|contexts?"
_RU = (
    r"отрыв(?:ок|к[а-я]{1,3})|документ[а-я]{0,3}|док\.|источник[а-я]{0,3}|ист\.|фрагмент[а-я]{0,3}|"
    r"пассаж[а-я]{0,3}|"
    r"ссылк[а-я]{1,3}|ссылок"
)
_ZH = (
    r"(?:参考文献|參考文獻|参考资料|段落|文档|文檔|文件|文献|文獻|来源|來源|资料|資料|出处|出處|片段|材料|引用|"
    r"参考)"
)
_NAMES = rf"(?:search results?|{_EN}|{_RU}|{_ZH})"
_ONLY_BRACKETED = (
    rf"(?:{_NAMES}|texts?|articles?|chunks?|paragraphs?|results?|items?|evidence|id|no\.?|текст|абзац|статья)"
)
_SIGN = r"(?:[ \t]{0,3}+(?:№|#|No\.?|number|номер|под номером|:|：)|[.:])?[ \t]{0,3}+"
_DIGITS = r"[0-9０-９]++(?![页頁行条年])"
_NUMBER = rf"(?:{_ONLY_BRACKETED}{_SIGN}|第[ ]?|[#№][ ]?)?\^?{_DIGITS}"
_NEXT = rf"(?:{_NAMES}{_SIGN}|第[ ]?|[#№][ ]?)?\^?{_DIGITS}"
_JOIN = r"[ \t]{0,3}+(?:[,;，、；–—−-](?:[ \t]{0,3}+(?:and|и|和)\b)?+|and\b|&|и\b|和|及|与)[ \t]{0,3}+"
_LEAD = (
    r"(?:(?:see(?: also)?|cf\.?|from|per|as per|via|in|sources?|according to|as (?:stated|noted|described) in|"
    r"см\.?(?: также)?|из|по|согласно|источники?)[ \t:：]{1,3}+|"
    r"(?:参见|參見|见|見|根据|根據|据|出自|来自|引自|来源|來源)[ \t:：]{0,3}+)"
)
_LOCATOR = (
    r"[ \t]{0,2}+[,;:，；：][ \t]{0,2}+(?:pp?\b|pages?\b|par|sec|§|¶|lines?\b|ch\b|chap|fig|table|с\b|стр|абз|гл|"
    r"п\b|"
    r"строк|第|页|頁|段|行|[\"“«「])[^\]】］〕\n()（）]{0,120}+|"
    r"[ \t]{0,2}+[:：][ \t]{0,2}+[^\W\d_][^\]】］〕\n]{0,120}+"
)
_TITLE = r"[ \t]{0,2}+[,;:，；：(（–—«“\"「《-][ \t]{0,2}+[^\]】］〕\n]{0,160}+"
# A marker in brackets: "[1, 2]", "【1:0†source】", "[1](https://…)"
_MARKER = pattern(
    rf"[\[【［〔][ \t]{{0,3}}+(?:{_LEAD})?(?P<numbers>{_NUMBER}(?:{_JOIN}{_NEXT})*+)(?:篇|段|号)?"
    rf"(?::[0-9]{{1,4}}+(?=†))?(?:†[^\]】\n]{{0,80}}+|{_LOCATOR}|(?P<title>{_TITLE}))?+[ \t]{{0,3}}+[\]】］〕]"
    r"(?:\((?P<url>[a-z]{2,8}://[^\s()]*+(?:\([^\s()]*+\)[^\s()]*+)*+)\))?+",
    re.IGNORECASE,
)
# A number with a noun: "Passage 1"
_NAMED = pattern(_ONLY_BRACKETED, re.IGNORECASE)
_ONE = re.sub(r"\?P<[a-z]+>", "?:", _MARKER.pattern)
_SEVERAL = rf"({_ONE}(?:(?:[ \t,;，、]|and|и|和){{0,5}}{_ONE})*+)"
_NOTED = rf"[ \t]?(?:{_LEAD}){{0,2}}(?:{_NAMES}[ \t:：]{{0,2}}+)?"
# A marker in further brackets or bold: "(see [1])", "**[1]**"
_WRAPPED = pattern(
    rf"\({_NOTED}{_SEVERAL}\)|（{_NOTED}{_SEVERAL}）|\*\*{_SEVERAL}\*\*|<sup>{_SEVERAL}</sup>|\[{_SEVERAL}\]",
    re.IGNORECASE,
)
# Bold inside of brackets: "[**1**]"
_BOLD = pattern(rf"([\[(（【])\*{{1,2}}({_NUMBER}(?:{_JOIN}{_NEXT})*+)\*{{1,2}}(?=[\])）】])", re.IGNORECASE)
# An escaped marker, as Markdown may need it
_ESCAPED = pattern(rf"\\\[({_NUMBER}(?:{_JOIN}{_NEXT})*+)\\?\]", re.IGNORECASE)
# A range of two markers: "[1]–[3]"
_SPREAD = pattern(r"\[([0-9]{1,9})\]([–—−-])\[([0-9]{1,9})\]")
# A number, or a range: "1-3"
_RANGE = pattern(r"([0-9０-９]++)(?:[ \t]*+[–—−-][ \t]*+\D{0,16}?([0-9０-９]++))?")

_SMALL = r"[0-9０-９]{1,3}+(?![0-9０-９]|[.,][0-9]|%)"
_COUNTED = rf"(?:第[ ]?)?{_NAMES}{_SIGN}{_SMALL}|第[ ]?{_SMALL}[ ]?(?:段落?|[个個篇份号號][ ]?{_ZH})"
# A noun and numbers in round brackets: "(Document 1)"
_ROUND = pattern(
    rf"[(（][ \t]?(?:{_LEAD}){{0,2}}(?P<numbers>(?:{_COUNTED})(?:{_JOIN}(?:{_COUNTED}|{_SMALL}))*+)"
    r"(?P<tail>[ \t]{0,2}+[,;:，；：–—-][^()（）\n]{0,120}+|[ \t]?[«“\"「《][^()（）\n]{0,120}+|"
    r"[ \t]{0,2}+[(（][^()（）\n]{0,120}+[)）])?+"
    r"[ \t]?[)）]",
    re.IGNORECASE,
)

# A bare address, perhaps in brackets: "(source: https://…"
_ADDRESS = pattern(
    r"(?:(?<!\])(?P<open>[(（<][ ]?(?:(?:source|see|via|from|источник|см\.|来源|见)[ ]?[:：]?[ ]?)?)"
    r"|(?<![\w/(\[\]=\"'（<]))"
    r"(?P<link>(?:https?://|www\.)[^\s<>\"“”«»「」，。；（）]++)",
    re.IGNORECASE,
)
# The end of such brackets: ")"
_BRACKET = pattern(r"(?:[,;:][^()（）<>\n/]{0,80})?[ ]?[)）>]")

_TO_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻˒⸴", "0123456789-,,")
_UP = "⁰¹²³⁴⁵⁶⁷⁸⁹"
# A raised number: "¹", "<sup>1</sup>", "^1^"
_SUPER = pattern(
    rf"(?P<up>[¹²³⁴⁵⁶⁷⁸⁹][{_UP}]{{0,2}}+(?:[ ]?[˒⸴,⁻–-]?[ ]?[¹²³⁴⁵⁶⁷⁸⁹][{_UP}]{{0,2}}+){{0,20}}+)(?![{_UP}⁺⁻ⁿ])"
    r"|<sup>(?P<tag>[1-9][0-9]{0,2}(?:[ ]?[,–-][ ]?[1-9][0-9]{0,2}){0,20}+)</sup>"
    r"|(?P<math>(?:\$\^(?:\{\[?[0-9]{1,3}(?:,[ ]?[0-9]{1,3}){0,20}+\]?\}|[1-9])\$){1,20}+)"
    r"|\^(?P<caret>[1-9][0-9]{0,2}(?:,[ ]?[1-9][0-9]{0,2}){0,20}+)\^"
)
# A number: "12"
_MATH = pattern(r"[0-9]+")
"""The numbers of a superscript in LaTeX dollars."""
# The word or year before a raised number: "ship", "1912"
_RAISED_WORD = pattern(r"(?P<word>[^\W\d_]+)[\"'”’»*_)]{0,3}$|(?P<year>(?<![0-9])(?:1[0-9]|20)[0-9]{2})$")
# The end of a formula: "= 2x"
_FORMULA = pattern(
    r"(?:[=+×·]\s?[0-9]{0,9}[a-zA-Z\u0370-\u03ff]{1,2}|(?<![\u0370-\u03ff])[\u0370-\u03ff][a-zA-Z]?|[\u3400-\u9fff][a-z])$"
)
"""A variable of a formula, whose superscript is a power: `E = mc²`, `πr²`, `面积为r²`."""
# The end of a clause or quotation before a number: ".”"
_STOPPED = pattern(r"[.,;:!?…。，；：！？、][\"'”’»)*_」』）]{0,3}$|[\"”»」』]$")
# What goes on calculating: " = "
_CALCULATED = pattern(r"[ ]?[=+*/×÷]|[^\W\d_]")
_MEASURED = frozenset(
    """mm cm dm km nm ft in yd mi sq ha acre acres meter meters metre metres feet foot inch inches mile miles
    kilometer
    kilometers kilometre kilometres sin cos tan log ln mc мм см дм км га метр метра метров фут фута футов миля
    мили миль километр километра километров sec кв куб""".split()  # noqa: SIM905 - words
)
_MEASURED_ZH = frozenset("米里寸尺码")
# A source in words: "Document 10", "第3篇文档"
_CORE = pattern(
    rf"(?<![^\W_\u3400-\u9fff])(?P<label>(?:sources?|источники?|来源|來源)[ ]?[:：][ *_]{{0,3}})?"
    rf"(?:第[ ]?)?{_NAMES}{_SIGN}[*_]{{0,2}}(?:[\[【]{_SMALL}[\]】]|{_SMALL})"
    rf"|第[ ]?{_SMALL}[ ]?[个個篇份号號][ ]?(?:{_ZH})",
    re.IGNORECASE,
)
# A further number of a list: ", 3", " and Document 5"
_MORE = pattern(
    rf"(?P<join>[ \t]{{0,2}}(?:,[ ]?and|,|and|&|или|и|or|和|与|及|、)[ \t]{{0,2}})"
    rf"(?:(?P<named>{_NAMES}{_SIGN}[\[【]?|[\[【]){_SMALL}[\]】]?|(?P<bare>{_SMALL}))",
    re.IGNORECASE,
)
# A title after it: "(The Ship)"
_TITLED = pattern(r"[ ]?[(（\[][^()（）\[\]\n]{1,120}[)）\]]|,? [\"“«][^\"”»\n]{1,120}[\"”»],?")
# What makes it part of a name: " of the treaty"
_OF = pattern(r"[ ](?:of|to)[ ](?:the|a|an|this|that|its|our|[A-Z])|[-.:][0-9]|[ ](?:к|от)[ ]")
# What introduces it: "according to "
_INTRODUCED = pattern(
    r"(?:\b(?:according to|(?:as )?(?:is |was |are |were )?(?:also )?(?:clearly |explicitly |directly )?"
    r"(?:stated|noted|mentioned|described|shown|reported|indicated|explained|detailed|discussed|written|seen|found|"
    r"confirmed|outlined|given|listed|provided|supported|cited|said|specified) (?:in|by)|based on|as per|per|see|"
    r"from|"
    r"in|by|cit(?:es?|ing)|quoting|(?:refer|referring) to|source[:]|"
    r"согласно|как (?:указано|сказано|отмечено|говорится|написано|сообщается|описано|видно|следует|утверждается) "
    r"(?:в|из)|в|во|из|по|по данным|на основании|на основе|судя по|см\.|исходя из)[ ]"
    r"(?:(?:both|the|provided|given|retrieved|предоставленно\w*|приведенно\w*|данным|данном|самом) ){0,2}"
    r"|(?:根据|根據|依据|依據|据|據|按照|如|正如|见|見|参见|參見|在|从|從|来自|來自|由|参照|基于)[ ]?(?:提供的|"
    r"给出的)?"
    r"|[ ][—–-][ ])[\"“«(*_]{0,2}$",
    re.IGNORECASE,
)
# What it does: " states"
_STATED = pattern(
    r"['’]s[ ]|"
    r"[*_]{0,2},?[ ]?(?:,? (?:which|who|however|for example),? )?(?:(?:also|clearly|explicitly|specifically|"
    r"further|only|"
    r"both|all|then|does not|do not|doesn't|также|прямо|не|оба) ){0,2}"
    r"(?:states?|says?|mentions?|notes?|indicates?|explains?|describes?|reports?|confirms?|shows?|lists?|provides?|"
    r"suggests?|specif(?:y|ies)|claims?|tells?|discuss(?:es)?|details?|gives?|contains?|supports?|identif(?:y|ies)|"
    r"refers?|reveals?|adds?|highlights?|points? out|makes? (?:it )?clear|names?|cites?|defines?|attributes?|"
    r"credits?|"
    r"puts?|dates?|agrees?|contradicts?|disagrees?|is about|covers?|records?|"
    r"говор\w+|сообща\w+|указыва\w+|утвержда\w+|глас\w+|подтвержда\w+|упомина\w+|отмеча\w+|описыва\w+|содерж\w+|"
    r"привод\w+|пиш[еу]т|рассказыва\w+|показыва\w+|объясня\w+|указан\w*|сказано|написано|называ\w+|сходятся)\b"
    r"|[ ]?(?:中|里|裡|也|还|均|都|则|明确)?(?:指出|提到|说明|說明|表明|显示|顯示|说|說|称|稱|写道|记载|記載|"
    r"所述|所示|介绍|介紹|证实|證實|"
    r"提及|描述|认为|認為|强调|给出|的内容|支持|列出|确认)|[ ]?[中里裡](?=[，,的]|$)",
    re.IGNORECASE,
)
# A preposition before a marker: "in "
_PREPOSED = pattern(
    r"(?:\b(?:according to|based on|as per|per|see|from|in|by|citing|cites?|quoting|to|with|of|and|"
    r"согласно|в|из|по|на основании|см\.)|(?<![\u3400-\u9fff])(?:根据|根據|依据|据|按照|如|见|参见|在|从|由))[ ]?$",
    re.IGNORECASE,
)

_BARE = rf"(?:{_ONE}|{_NAMES}{_SIGN}{_SMALL})"
# A closing list of markers alone: "Sources: [1], [3]"
_POINTED = pattern(
    rf"\s*^[ \t#>*_]{{0,8}}+(?:{HEADINGS})[ \t*_]{{0,6}}+[:：][ \t*_]{{0,6}}+"
    rf"(?P<marks>(?:\s{{0,3}}+(?:[-*•][ \t]{{1,3}}+)?{_BARE}(?!\(|[ \t]*:)[ \t,;.，；、。]{{0,3}}+)++)\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)

_SMALL_NUMBER = r"[0-9]{1,3}"
_MAYBE_NAMED = rf"(?:{_NAMES}{_SIGN})?"
# A footnote: "[^1^]"
_CARETS = pattern(rf"\[\^({_SMALL_NUMBER}(?:, ?\^?{_SMALL_NUMBER}){{0,20}}+)\^\]")
# A link within the page: "[1](#ref)"
_ANCHORED = pattern(
    rf"(\[{_MAYBE_NAMED}{_SMALL_NUMBER}\]|\[\[{_SMALL_NUMBER}\]\])\(#[^()\s]{{0,60}}\)", re.IGNORECASE
)
# A tag: "<cite>1</cite>"
_CITE = pattern(rf"<cite>[ ]?\[?({_SMALL_NUMBER})\]?[ ]?</cite>", re.IGNORECASE)
# Braces at a clause's end: "{1}."
_BRACES = pattern(
    rf"(?<![\\^_${{}}=a-z0-9])((?:\{{{_SMALL_NUMBER}\}} ?){{1,20}}+)(?=[.,;:!?。，；：！？]|\s*$)",
    re.IGNORECASE | re.MULTILINE,
)
# Braces after a stop: ". {1}"
_BRACES_AFTER = pattern(rf"(?<=[.!?。！？])( ?)((?:\{{{_SMALL_NUMBER}\}} ?){{1,20}}+)")
# A number in round brackets: "(1)"
_ENCLOSED = pattern(rf"[(（]({_SMALL_NUMBER}(?:[,，、] ?{_SMALL_NUMBER}){{0,20}}+)[)）]")
# What may follow it: "."
_CLOSES = pattern(r"\s*(?:[(（][0-9]|[.,;:!?。，；：！？]|$)", re.MULTILINE)
# A stop: "."
_PERIOD = pattern(r"[.!?。！？][\"'”’»]?$")
_QUOTE = r"(?:\"[^\"\n]{1,400}+\"|“[^”\n]{1,400}+”|«[^»\n]{1,400}+»|「[^」\n]{1,400}+」)"
_LISTED_ONE = rf"{_MAYBE_NAMED}\[{_SMALL_NUMBER}\](?:[ ]?[:：,，—–-][ ]?{_QUOTE})?+"
# Markers in a list: "(Document [1]; Document [2])"
_LISTED = pattern(
    rf"[(（][ ]?{_LISTED_ONE}(?:[ ]?(?:[;；,，、]|and|и|和)[ ]?{_LISTED_ONE}){{0,20}}+[ ]?[)）]", re.IGNORECASE
)
# A quotation: "«so»"
_QUOTATION = pattern(r"\"[^\"\n]*+\"|“[^”\n]*+”|«[^»\n]*+»|「[^」\n]*+」")
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
_LONGEST_POINTER = 120
# A word: "ship"
_WORDS = pattern(r"[^\W\d_]+")

WIDEST = 50
"""Maximum size of a range `[a-b]`; for a wider or descending one only the two ends are taken."""

LARGEST = 10**9

_BEFORE, _LONGEST = 48, 20
"""Characters searched before a marker for its introduction; maximum numbers in a marker in words."""

_POWERS = frozenset({"2", "3"})
_CLOSING = 1000
"""Characters at the end of an answer searched for a list of only numbers."""

_OPENING = 24
"""Maximum length in characters of an introduction such as `As stated in` before a marker."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A marker: its position, its text, and what it cites.

    `in_words`: it is part of its sentence's grammar. A link or a bare URL has no numbers, and a link a `name`.
    """

    start: int
    end: int
    label: str
    numbers: tuple[int, ...] = ()
    in_words: bool = False
    url: str = ""
    name: str = ""

    @property
    def link(self) -> str:
        """The URL of a mark without numbers."""
        if self.numbers:
            return ""
        return self.url


def _numbers(marker: str) -> tuple[int, ...]:
    """Return the numbers inside a marker, such as `1`, `1, 2`, `1-3`; a wide range gives its ends."""
    numbers: list[int] = []
    for match in _RANGE.finditer(marker):
        low = min(int(match[1][:10]), LARGEST)
        high = min(int(match[2][:10]), LARGEST) if match[2] else low
        numbers += range(low, high + 1) if 0 <= high - low < WIDEST else (low, high)
    return tuple(numbers)


def _write_marker(text: str) -> str:
    return f"[{', '.join(_MATH.findall(text))}]"


def write_common(body: str, n_passages: int = 0) -> str:
    r"""Return a body with rarer forms of markers rewritten as `[1]`.

    Markdown's `\[1\]`, `[^1^]`, `[1](#1)`, `<cite>1</cite>`, `{1}` at the end of a sentence or clause, `(Document
    [1]: "…"; Document [2])`, ignoring numbers in the quotations; and a closing `Sources: [1], [3]` with only
    numbers, if the body has no markers for it to summarise.
    """
    body = _ESCAPED.sub(r"[\1]", body)
    body = _CARETS.sub(lambda match: _write_marker(match[1]), body)
    body = _ANCHORED.sub(r"\1", body)
    body = _LISTED.sub(
        lambda match: "".join(f"[{number}]" for number in _MATH.findall(_QUOTATION.sub("", match[0]))), body
    )
    body = _CITE.sub(r"[\1]", body)
    if n_passages:
        body = _BRACES_AFTER.sub(lambda match: f"{match[1]}{_write_marker(match[2])} ", body)
        body = _BRACES.sub(lambda match: _write_marker(match[1]), body)
    last = _POINTED.search(body, max(0, len(body) - _CLOSING))
    if last is None or "://" in last["marks"] or marks(unwrap(body[: last.start()])):
        return body
    return f"{body[: last.start()]} [{', '.join(map(str, _numbers(last['marks'])))}]"


def mark_rounded(body: str, n_passages: int) -> str:
    """Return a body without other markers, with each number in round brackets that ends a clause as a marker.

    A number may also follow another marker; an enumeration (`(1) gold, (2) iron`) has none.
    """
    for match in _ENCLOSED.finditer(body):
        before = body[max(0, match.start() - 40) : match.start()].rstrip(" ")
        ends = _PERIOD.search(before) or before.endswith((")", "）"))
        ends = ends or (_is_noted(before, power=match[1] in _POWERS) and _CLOSES.match(body, match.end()))
        if not ends or not all(0 < int(number) <= n_passages for number in _MATH.findall(match[1])):
            return body
    return _ENCLOSED.sub(lambda match: _write_marker(match[1]), body)


def points(sentence: str) -> bool:
    """Return whether a citing sentence only points to a source: `This is stated in Document 5.`, `См. 2`."""
    return len(sentence) <= _LONGEST_POINTER and all(
        word in _POINTING or word.startswith(_POINTING_STEMS) or _POINTING_ZH.issuperset(word)
        for word in _WORDS.findall(sentence.lower())
    )


def unwrap(body: str) -> str:
    """Return a body with the wrapping of markers removed: brackets, bold, a range's second brackets."""
    unwrapped = _WRAPPED.sub(lambda match: match[match.lastindex or 0], _BOLD.sub(r"\1\2", body))
    return _SPREAD.sub(r"[\1\2\3]", unwrapped)


def marks(body: str, n_passages: int = 0) -> list[Mark]:
    """Return the markers and Markdown links of an unwrapped body, in order, without nesting.

    A number that is no citation stays text: an exponent (`m²`), a bare number in round brackets (`World War (2)`),
    part of another name (`Document 3 of the treaty`), a year. Linear in the body's length.
    """
    candidates = [
        *_find_in_words(body, n_passages),
        *_find_bracketed(body),
        *_find_raised(body, n_passages),
        *_find_links(body),
    ]
    chosen: list[Mark] = []
    for mark in sorted(candidates, key=lambda mark: (mark.start, -mark.end)):
        if not chosen or mark.start >= chosen[-1].end:
            chosen.append(mark)
    return chosen


def _find_bracketed(body: str) -> Iterator[Mark]:
    for match in _MARKER.finditer(body):
        if match["title"] and not _NAMED.search(match["numbers"]):
            continue
        start, end = match.span()
        in_words = _PREPOSED.search(body, max(0, start - _BEFORE), start) is not None
        if body[max(0, start - 4) : start].strip(" *_")[-1:] in _OPENS:
            in_words = in_words or _STATED.match(body, end) is not None
        url = trim_url(match["url"]) if match["url"] else ""
        yield Mark(start, end, match[0], _numbers(match["numbers"]), in_words, url)
    for match in _ROUND.finditer(body):
        yield Mark(*match.span(), match[0], _numbers(match["numbers"]))


_OPENS = frozenset({"", ".", "!", "?", "。", "\n", ",", "，"})
"""Text before a marker that opens its sentence."""


def _find_links(body: str) -> Iterator[Mark]:
    """Find links and bare URLs, with enclosing brackets; `in_words` if the sentence continues after a URL."""
    for match in LINK.finditer(body):
        yield Mark(*match.span(), match[0], url=trim_url(match["link"]), name=match["label"])
    for match in _ADDRESS.finditer(body) if "://" in body or "www." in body else ():
        url = trim_url(match["link"])
        start, end = match.start("link"), match.start("link") + len(url)
        close = _BRACKET.match(body, end) if match["open"] else None
        if close:
            yield Mark(match.start(), close.end(), body[match.start() : close.end()], url=url)
        else:
            yield Mark(start, end, url, url=url, in_words=body[end : end + 2].lstrip(" ").islower())


def _find_raised(body: str, n_passages: int) -> Iterator[Mark]:
    """Find superscript notes, after a word, a year or a stop; not powers, units, isotopes."""
    for match in _SUPER.finditer(body) if any(sign in body for sign in "¹²³⁴⁵⁶⁷⁸⁹^<") else ():
        before = body[max(0, match.start() - 40) : match.start()].rstrip(" ")
        if _CALCULATED.match(body, match.end()) and not _cjk(body[match.end() : match.end() + 1]):
            continue
        math = match["math"] and ",".join(_MATH.findall(match["math"]))
        text = math or (match["up"] or match["tag"] or match["caret"]).translate(_TO_DIGITS).replace(" ", ",")
        if not (_STOPPED.search(before) or _is_noted(before, power=text.strip() in _POWERS)):
            continue
        run = text.isdigit() and n_passages and int(text) > n_passages
        apart = run and all(0 < int(digit) <= n_passages for digit in text)
        yield Mark(*match.span(), match[0], _numbers(",".join(text) if apart else text))


def _cjk(sign: str) -> bool:
    return "\u3400" <= sign <= "\u9fff"


def _is_noted(before: str, *, power: bool) -> bool:
    """Return whether a note may follow this text: it ends in a word that is no unit and no variable, or in a year.

    A unit can have notes too, unless they may be its `power`.
    """
    match = _RAISED_WORD.search(before)
    if match is None or _FORMULA.search(before):
        return False
    if match["year"]:
        return True
    word = match["word"]
    if _cjk(word[-1]):
        return not power or word[-1] not in _MEASURED_ZH
    return len(word) > 1 and word.lower() not in _MEASURED


def _find_in_words(body: str, n_passages: int) -> Iterator[Mark]:
    """Find citations in words: `According to Document 10`, `Document 3 states`."""
    end = 0
    for core in _CORE.finditer(body):
        start = core.start()
        if start < end:
            continue
        numbers, end = _read_list(body, core)
        if body[end : end + 2] in {": ", "： "} and body[start - 1 : start] in {"", "\n"}:
            yield Mark(start, end + 1, body[start:end], numbers)  # it opens its line, as `[3] …` does
            continue
        after = _TITLED.match(body, end)
        stated = _STATED.match(body, after.end() if after else end)
        introduced = stated or _INTRODUCED.search(body[max(0, start - _BEFORE) : start])
        in_words = core["label"] is None and bool(introduced)
        is_in_range = all(0 < number <= (n_passages or LARGEST) for number in numbers)
        bracketed = core["label"] is not None or core[0].endswith(("]", "】"))
        if bracketed or (in_words and is_in_range and not _OF.match(body, end)):
            yield Mark(start, end, body[start:end], numbers, in_words)


def _read_list(body: str, core: re.Match[str]) -> tuple[tuple[int, ...], int]:
    """Return the numbers that a marker in words lists, and where it ends: `Documents 1, 3 and 5`."""
    numbers, end, at = _numbers(core[0]), core.end(), core.end()
    waiting: tuple[int, ...] = ()
    for _ in range(_LONGEST):
        match = _MORE.match(body, at)
        if match is None:
            break
        at = match.end()
        waiting += _numbers(match[0])
        if match["named"] or match["join"].strip() not in {",", "、"}:
            numbers, end, waiting = numbers + waiting, at, ()
            if not match["named"]:
                break
    # After commas alone the last ones count only if a verb follows: "Documents 1, 3 state".
    if waiting and _STATED.match(body, at):
        return numbers + waiting, at
    return numbers, end


def split_in_words(text: str, span: tuple[int, int], markers: Sequence[tuple[int, int]]) -> list[str]:
    """Return the claim of each marker in words in the sentence at `span`, the marker included.

    One marker: its whole sentence. Several: if the first opens the sentence, each with the text up to the next
    one's clause; else each with the text before it.
    """
    cuts: list[int] = []
    opens = markers[0][0] - span[0] <= _OPENING
    for (_, end), (next_start, _) in pairwise(markers):
        # The last comma or semicolon between two markers begins the next one's clause.
        commas = (text.rfind(sign, end, next_start) + 1 for sign in ",;，；")
        cuts.append(max(end, *commas) if opens else end)
    return [text[start:end] for start, end in pairwise([span[0], *cuts, span[1]])]
