"""Random sentences of plain words: somebody does something to a thing, somewhere, with a code in it."""

from functools import cache
from random import Random
from types import MappingProxyType
from typing import NamedTuple

_ENGLISH = MappingProxyType(
    {
        "who": (
            "actor artist baker banker barber builder captain carpenter clerk coach cook dancer dentist "
            "doctor driver editor engineer farmer fisherman gardener guard guide hunter janitor judge lawyer "
            "librarian mayor mechanic miner nurse painter pilot poet potter reporter sailor scientist singer "
            "student surgeon tailor teacher tourist waiter weaver writer"
        ),
        "mood": (
            "angry anxious brave busy careful cheerful clever clumsy curious eager famous gentle grumpy happy "
            "honest hungry lazy lonely lucky modest nervous patient polite proud quiet serious sleepy "
            "stubborn tired wise young"
        ),
        "did": (
            "admired borrowed bought broke carried cleaned covered described dropped examined found hid "
            "lifted lost measured moved noticed opened ordered painted photographed polished repaired "
            "replaced returned sketched sold stole tested touched washed weighed wrapped"
        ),
        "look": (
            "ancient black blue broken bronze cheap copper dusty empty golden green grey heavy huge little "
            "narrow new old orange pink plain purple red round rusty shiny silver small square striped "
            "strange tiny white wooden yellow"
        ),
        "what": (
            "anchor bag barrel basket bell bench bicycle blanket boat book bottle bowl box bridge bucket "
            "cabinet camera candle chair chest clock coat compass cup curtain desk door drum fence flag gate "
            "glove guitar hammer hat kettle key kite ladder lamp lantern map mirror oven piano pillow plate "
            "rope saddle shelf ship spoon statue table telescope tent tower trumpet trunk umbrella vase "
            "violin wagon wheel whistle window"
        ),
        "where": (
            "airport bakery bank bridge castle cinema factory farm forest fountain garage garden harbour "
            "hospital hotel kitchen lake library market mill museum office palace park pharmacy river school "
            "square stadium station theatre workshop"
        ),
        "mark": "box crate file hall platform room shed shelf track van",
    }
)
# People, adjectives and things by gender; verbs masculine (feminine: + а); things in the accusative.
_RUSSIAN = MappingProxyType(
    {
        "who_m": (
            "адвокат актёр архитектор банкир врач геолог гончар доктор журналист инженер капитан кузнец "
            "лётчик маляр механик моряк музыкант охотник пекарь писатель плотник повар поэт рыбак садовник "
            "скульптор столяр студент токарь турист учёный фермер физик химик художник часовщик шахтёр"
        ),
        "who_f": (
            "актриса балерина бабушка гимнастка девушка журналистка певица писательница поэтесса принцесса "
            "пианистка портниха соседка спортсменка студентка танцовщица туристка учительница художница швея"
        ),
        "mood": (
            "аккуратн бодр вежлив весёл внимательн голодн грустн добр забавн задумчив застенчив известн ленив "
            "любопытн мудр нервн опытн осторожн печальн радостн рассеянн серьёзн скромн смел сонн спокойн "
            "терпелив упрям устал хитр честн"
        ),
        "did": (
            "бросил взвесил взял видел вымыл выронил забыл заметил измерил искал купил нарисовал описал "
            "починил поднял показал получил помыл поставил потерял потрогал проверил продал сломал спрятал "
            "сфотографировал украл уронил"
        ),
        "look": (
            "бел бронзов грязн деревянн желт жёлт зелён красн кругл крупн квадратн медн нов огромн оранжев "
            "полосат пыльн разбит ржав розов серебрян сер стар странн тяжёл чёрн"
        ),
        "what_m": (
            "альбом барабан блокнот бокал велосипед глобус горшок диван зонт кабинет камень ключ ковёр компас "
            "котёл кувшин мешок молоток мост мяч нож парус пень плащ рояль самовар сапог сейф словарь стакан "
            "стол стул сундук телескоп топор фонарь чайник чемодан шкаф якорь ящик"
        ),
        "what_f": (
            "бочку вазу дверь доску игрушку иглу кастрюлю карту картину книгу коробку корзину кровать куртку "
            "ладью лампу ленту лестницу лодку ложку лопату миску монету палатку печать пилу подушку полку "
            "посуду ракету рамку решётку розу ручку свечу скамью скатерть скрипку сковороду статую сумку "
            "тарелку телегу трубу чашку шкатулку шляпу шубу"
        ),
        "where": (
            "аптеки аэропорта базара банка берега больницы вокзала гаража гостиницы дворца завода замка "
            "каланчи мастерской мельницы моста музея озера парка пекарни площади порта реки рынка сада "
            "стадиона театра фабрики фермы фонтана школы"
        ),
        "mark": "зала дома причала склада вагона гаража корпуса отдела ангара павильона",
    }
)
_CODE_LETTERS = MappingProxyType({"en": "BCDFGHKLMNPRTVXZ", "ru": "БВГДЖЗКЛМНПРСТФЦ"})


class Words(NamedTuple):
    """A language's words, by their part in a sentence; each person with the verbs that agree, each thing ready."""

    who: tuple[tuple[str, tuple[str, ...]], ...]
    what: tuple[str, ...]
    where: tuple[str, ...]
    mark: tuple[str, ...]


@cache
def words(language: str) -> Words:
    """Join adjectives and nouns, and make verbs agree."""
    if language == "ru":
        part = {name: text.split() for name, text in _RUSSIAN.items()}
        women = tuple(f"{verb}а" for verb in part["did"])
        who = [
            (f"{mood}ый {man}".capitalize(), tuple(part["did"])) for mood in part["mood"] for man in part["who_m"]
        ]
        who += [(f"{mood}ая {woman}".capitalize(), women) for mood in part["mood"] for woman in part["who_f"]]
        what = [f"{look}ый {thing}" for look in part["look"] for thing in part["what_m"]]
        what += [f"{look}ую {thing}" for look in part["look"] for thing in part["what_f"]]
        where, mark = [f"возле {place}" for place in part["where"]], [f"для {place}" for place in part["mark"]]
    else:
        part = {name: text.split() for name, text in _ENGLISH.items()}
        verbs = tuple(part["did"])
        who = [(f"The {mood} {person}", verbs) for mood in part["mood"] for person in part["who"]]
        what = [f"the {look} {thing}" for look in part["look"] for thing in part["what"]]
        where, mark = [f"near the {place}" for place in part["where"]], [f"for {place}" for place in part["mark"]]
    return Words(tuple(who), tuple(what), tuple(where), tuple(mark))


def sentence(rng: Random, language: str, *, code: bool, place: bool) -> str:
    """Draw a sentence; its digits, if it has any, stand in a code such as K27, never as a word of their own."""
    known = words(language)
    who, verbs = rng.choice(known.who)
    parts = [who, rng.choice(verbs), rng.choice(known.what)]
    if code:
        parts += [rng.choice(known.mark), f"{rng.choice(_CODE_LETTERS[language])}{rng.randint(10, 99)}"]
    if place:
        parts.append(rng.choice(known.where))
    return f"{' '.join(parts)}."
