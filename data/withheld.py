"""Statements that there is no answer: `cannot be determined`, `no idea`, `не знаю`, `无法确定`."""

import re

from data.patterns import pattern

_FIND = (
    r"(?:be )?(?:\w{1,20}ly )?(?:determin\w+|answer(?:ed)?|solv(?:ed?|ing)|calculat\w+|comput\w+|find|found|"
    r"known?|tell|say|deduce\w*|figured? out|work(?:ed)? out|establish\w*|conclude\w*|identif\w+|decide\w*)"
)
_FIND_RU = (
    r"(?:определ\w+|най(?:ти|дено)|реш\w+|вычисл\w+|отве(?:тить|чу)|узна\w+|сказать|посчитать|рассчит\w+|установ\w+|"
    r"дать (?:\w{1,20} )?ответ|выбрать|понять)"
)
_FACTS = r"(?:information|data|details?|facts|context|given)"
_FACTS_RU = r"(?:данных|информации|сведений|условий)"
_ENGLISH = (
    rf"(?:can(?:not| not|['’]?t)|could(?: not|n['’]t)|unable to|(?:im|not )possible to|no way (?:to|of)) {_FIND}",
    r"(?:can(?:not|['’]?t)|unable to) (?:give|provide|state|offer|help)",
    rf"(?:insufficient|lacks?|missing) {_FACTS}",
    rf"not (?:\w{{1,20}} )?(?:enough|sufficient) {_FACTS}",
    r"(?:problem|question|text|task) (?:does not|doesn['’]?t) (?:say|specify|state|tell|give|provide|mention)",
    r"no idea",
    rf"(?:need|require)s? (?:more|additional|further) {_FACTS}",
    r"(?:i|we) (?:really |simply |honestly )?(?:do not|don['’]?t) know",
    r"(?:there is|there['’]s|has|have|with) no (?:\w{1,20} )?(?:answer|solution)",
    r"un(?:solv|answer)able",
    r"not (?:solv|answer|determin)able",
)
_RUSSIAN = (
    r"не зна(?:ю|ем)",
    r"понятия не име\w+",
    rf"не (?:могу|можем|удалось|уда[её]тся|получается) (?:\w{{1,20}} )?{_FIND_RU}",
    rf"(?:невозможно|нельзя) (?:\w{{1,20}} ){{0,2}}?{_FIND_RU}",
    rf"{_FIND_RU} (?:\w{{1,20}} ){{0,2}}?(?:невозможно|нельзя|не уда\w+)",
    rf"(?:недостаточно|не хватает|мало|нет) (?:\w{{1,20}} )?{_FACTS_RU}",
    rf"{_FACTS_RU} (?:\w{{1,20}} )?(?:недостаточно|не хватает|мало|нет)",
    r"в (?:условии|задаче|вопросе) не (?:указан\w*|сказано|дан\w*|хватает)",
    r"не позволя[юе]т (?:\w{1,20} )?(?:определить|ответить|решить)",
    r"нет (?:\w{1,20} )?(?:ответа|решения)",
    r"(?:ответа|решения) нет",
)
_CHINESE = (
    r"不知道|不清楚|无解",
    r"(?:无法|無法)\w{0,3}?(?:确定|確定|求|得|计算|判断|回答|知道|解|算|选)",
    r"不能(?:确定|求出|回答|得出|算出|判断)",
    r"(?:条件|信息|数据|资料|已知)(?:不足|不够|不全)",
    r"没有(?:足够|答案|解)",
    r"缺(?:少|乏)(?:条件|信息|数据)",
    r"(?:题目|题中|问题)中?(?:没有|未)(?:给出|说明|提供)",
)
WITHHELD = pattern(
    rf"(?<![^\W_])(?:{'|'.join((*_ENGLISH, *_RUSSIAN))})(?![^\W_])|n['’]t (?:enough|sufficient) {_FACTS}"
    rf"|{'|'.join(_CHINESE)}",
    re.IGNORECASE,
)

REFUSED = pattern(
    r"(?:unknown|n/a|undefined|unclear|undetermined|indeterminate|impossible|"
    r"not (?:clear|given|known|possible|specified)|no (?:answer|idea|solution)|"
    r"неизвест\w+|невозможно|нельзя|нет (?:данных|ответа|решения)|未知)(?![^\W_一-鿿])",
    re.IGNORECASE,
)
"""Phrases that replace an answer; whatever follows is an aside."""
