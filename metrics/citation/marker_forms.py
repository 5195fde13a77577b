"""What citation markers look like in English, Russian and Chinese: the patterns of `metrics.citation.markers`."""

import re
from functools import cache

from data.patterns import pattern
from metrics.citation.source_lists import HEADINGS

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
NAMES = rf"(?:search results?|{_EN}|{_RU}|{_ZH})"
_ONLY_BRACKETED = (
    rf"(?:{NAMES}|texts?|articles?|chunks?|paragraphs?|results?|items?|evidence|id|no\.?|текст|абзац|статья)"
)
SIGN = r"(?:[ \t]{0,3}+(?:№|#|No\.?|number|номер|под номером|:|：)|[.:])?[ \t]{0,3}+"
_DIGITS = r"[0-9０-９]++(?![页頁行条年])"
_NUMBER = rf"(?:{_ONLY_BRACKETED}{SIGN}|第[ ]?|[#№][ ]?)?\^?{_DIGITS}"
_NEXT = rf"(?:{NAMES}{SIGN}|第[ ]?|[#№][ ]?)?\^?{_DIGITS}"
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
MARKER = pattern(
    rf"[\[【［〔][ \t]{{0,3}}+(?:{_LEAD})?(?P<numbers>{_NUMBER}(?:{_JOIN}{_NEXT})*+)(?:篇|段|号)?"
    rf"(?::[0-9]{{1,4}}+(?=†))?(?:†[^\]】\n]{{0,80}}+|{_LOCATOR}|(?P<title>{_TITLE}))?+[ \t]{{0,3}}+[\]】］〕]"
    r"(?:\((?P<url>[a-z]{2,8}://[^\s()]*+(?:\([^\s()]*+\)[^\s()]*+)*+)\))?+",
    re.IGNORECASE,
)
NAMED = pattern(_ONLY_BRACKETED, re.IGNORECASE)
_ONE = re.sub(r"\?P<[a-z]+>", "?:", MARKER.pattern)
_SEVERAL = rf"({_ONE}(?:(?:[ \t,;，、]|and|и|和){{0,5}}{_ONE})*+)"
_NOTED = rf"[ \t]?(?:{_LEAD}){{0,2}}(?:{NAMES}[ \t:：]{{0,2}}+)?"
_WRAPPED = rf"\({_NOTED}{_SEVERAL}\)|（{_NOTED}{_SEVERAL}）|\*\*{_SEVERAL}\*\*|<sup>{_SEVERAL}</sup>|\[{_SEVERAL}\]"
BOLD = pattern(rf"([\[(（【])\*{{1,2}}({_NUMBER}(?:{_JOIN}{_NEXT})*+)\*{{1,2}}(?=[\])）】])", re.IGNORECASE)
ESCAPED = pattern(rf"\\\[({_NUMBER}(?:{_JOIN}{_NEXT})*+)\\?\]", re.IGNORECASE)
SPREAD = pattern(r"\[([0-9]{1,9})\]([–—−-])\[([0-9]{1,9})\]")
RANGE = pattern(r"([0-9０-９]++)(?:[ \t]*+[–—−-][ \t]*+\D{0,16}?([0-9０-９]++))?")

_SMALL = r"[0-9０-９]{1,3}+(?![0-9０-９]|[.,][0-9]|%)"
_COUNTED = rf"(?:第[ ]?)?{NAMES}{SIGN}{_SMALL}|第[ ]?{_SMALL}[ ]?(?:段落?|[个個篇份号號][ ]?{_ZH})"
ROUND = pattern(
    rf"[(（][ \t]?(?:{_LEAD}){{0,2}}(?P<numbers>(?:{_COUNTED})(?:{_JOIN}(?:{_COUNTED}|{_SMALL}))*+)"
    r"(?P<tail>[ \t]{0,2}+[,;:，；：–—-][^()（）\n]{0,120}+|[ \t]?[«“\"「《][^()（）\n]{0,120}+|"
    r"[ \t]{0,2}+[(（][^()（）\n]{0,120}+[)）])?+"
    r"[ \t]?[)）]",
    re.IGNORECASE,
)

ADDRESS = pattern(
    r"(?:(?<!\])(?P<open>[(（<][ ]?(?:(?:source|see|via|from|источник|см\.|来源|见)[ ]?[:：]?[ ]?)?)"
    r"|(?<![\w/(\[\]=\"'（<]))"
    r"(?P<link>(?:https?://|www\.)[^\s<>\"“”«»「」，。；（）]++)",
    re.IGNORECASE,
)
BRACKET = pattern(r"(?:[,;:][^()（）<>\n/]{0,80})?[ ]?[)）>]")

TO_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻˒⸴", "0123456789-,,")
_UP = "⁰¹²³⁴⁵⁶⁷⁸⁹"
SUPER = pattern(
    rf"(?P<up>[¹²³⁴⁵⁶⁷⁸⁹][{_UP}]{{0,2}}+(?:[ ]?[˒⸴,⁻–-]?[ ]?[¹²³⁴⁵⁶⁷⁸⁹][{_UP}]{{0,2}}+){{0,20}}+)(?![{_UP}⁺⁻ⁿ])"
    r"|<sup>(?P<tag>[1-9][0-9]{0,2}(?:[ ]?[,–-][ ]?[1-9][0-9]{0,2}){0,20}+)</sup>"
    r"|(?P<math>(?:\$\^(?:\{\[?[0-9]{1,3}(?:,[ ]?[0-9]{1,3}){0,20}+\]?\}|[1-9])\$){1,20}+)"
    r"|\^(?P<caret>[1-9][0-9]{0,2}(?:,[ ]?[1-9][0-9]{0,2}){0,20}+)\^"
)
MATH = pattern(r"[0-9]+")
"""The numbers of a superscript in a formula's dollars."""
RAISED_WORD = pattern(r"(?P<word>[^\W\d_]+)[\"'”’»*_)]{0,3}$|(?P<year>(?<![0-9])(?:1[0-9]|20)[0-9]{2})$")
FORMULA = pattern(
    r"(?:[=+×·]\s?[0-9]{0,9}[a-zA-Z\u0370-\u03ff]{1,2}|(?<![\u0370-\u03ff])[\u0370-\u03ff][a-zA-Z]?|[\u3400-\u9fff][a-z])$"
)
"""A variable of a formula, whose superscript is a power: `E = mc²`, `πr²`, `面积为r²`."""
STOPPED = pattern(r"[.,;:!?…。，；：！？、][\"'”’»)*_」』）]{0,3}$|[\"”»」』]$")
CALCULATED = pattern(r"[ ]?[=+*/×÷]|[^\W\d_]")
MEASURED = frozenset(
    """mm cm dm km nm ft in yd mi sq ha acre acres meter meters metre metres feet foot inch inches mile miles
    kilometer
    kilometers kilometre kilometres sin cos tan log ln mc мм см дм км га метр метра метров фут фута футов миля
    мили миль километр километра километров sec кв куб""".split()  # noqa: SIM905 - words
)
MEASURED_ZH = frozenset("米里寸尺码")
CORE = pattern(
    rf"(?<![^\W_\u3400-\u9fff])(?P<label>(?:sources?|источники?|来源|來源)[ ]?[:：][ *_]{{0,3}})?"
    rf"(?:第[ ]?)?{NAMES}{SIGN}[*_]{{0,2}}(?:[\[【]{_SMALL}[\]】]|{_SMALL})"
    rf"|第[ ]?{_SMALL}[ ]?[个個篇份号號][ ]?(?:{_ZH})",
    re.IGNORECASE,
)
MORE = pattern(
    rf"(?P<join>[ \t]{{0,2}}(?:,[ ]?and|,|and|&|или|и|or|和|与|及|、)[ \t]{{0,2}})"
    rf"(?:(?P<named>{NAMES}{SIGN}[\[【]?|[\[【]){_SMALL}[\]】]?|(?P<bare>{_SMALL}))",
    re.IGNORECASE,
)
TITLED = pattern(r"[ ]?[(（\[][^()（）\[\]\n]{1,120}[)）\]]|,? [\"“«][^\"”»\n]{1,120}[\"”»],?")
OF = pattern(r"[ ](?:of|to)[ ](?:the|a|an|this|that|its|our|[A-Z])|[-.:][0-9]|[ ](?:к|от)[ ]")
INTRODUCED = pattern(
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
STATED = pattern(
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
PREPOSED = pattern(
    r"(?:\b(?:according to|based on|as per|per|see|from|in|by|citing|cites?|quoting|to|with|of|and|"
    r"согласно|в|из|по|на основании|см\.)|(?<![\u3400-\u9fff])(?:根据|根據|依据|据|按照|如|见|参见|在|从|由))[ ]?$",
    re.IGNORECASE,
)

_BARE = rf"(?:{_ONE}|{NAMES}{SIGN}{_SMALL})"
POINTED = pattern(
    rf"\s*^[ \t#>*_]{{0,8}}+(?:{HEADINGS})[ \t*_]{{0,6}}+[:：][ \t*_]{{0,6}}+"
    rf"(?P<marks>(?:\s{{0,3}}+(?:[-*•][ \t]{{1,3}}+)?{_BARE}(?!\(|[ \t]*:)[ \t,;.，；、。]{{0,3}}+)++)\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)


@cache
def wrapped() -> re.Pattern[str]:
    """Return the form of markers in brackets or bold of their own; compiling it takes a tenth of a second, once."""
    return re.compile(_WRAPPED, re.IGNORECASE)
