"""What is said of the exam's buildings, in English, Russian and Chinese.

A template stands without its capital and its full stop. `{s}` is the building, `{g}` its genitive, `{v}` the value;
the third wording of each is about a building just named (`{he}`, `{his}`). Each relation has one value, and says so
where that is not plain, so that another value contradicts it.
"""

from collections.abc import Mapping, Sequence

SAYINGS: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "en": {
        "founded": ("{s} was founded in {v}", "the founding year of {s} is {v}", "{he} was founded in {v}"),
        "city": (
            "{s} stands in the city of {v}",
            "the city where {s} stands is {v}",
            "{he} stands in the city of {v}",
        ),
        "height": ("{s} is {v} high", "the height of {s} is {v}", "{his} height is {v}"),
        "visitors": (
            "{s} has {v} visitors a year",
            "the yearly number of visitors to {s} is {v}",
            "{he} has {v} visitors a year",
        ),
        "architect": (
            "the only architect of {s} was {v}",
            "{s} was designed by {v} alone",
            "{his} only architect was {v}",
        ),
        "holiday": (
            "{s} celebrates its one holiday on {v}",
            "the one holiday of {s} is on {v}",
            "{his} one holiday is on {v}",
        ),
        "material": (
            "the walls of {s} are made entirely of {v}",
            "the only material of the walls of {s} is {v}",
            "{his} walls are made entirely of {v}",
        ),
        "cause": (
            "the only cause of the one closing of {s} was {v}, which came before it",
            "{s} closed just once, after {v}, and for no other reason",
            "the only cause of {his} one closing was {v}, which came before it",
        ),
    },
    "ru": {
        "founded": ("год основания {g} — {v}", "основание {g} состоялось в {v} году", "год {his} основания — {v}"),
        "city": (
            "{s} находится в городе {v}",
            "город, в котором находится {s}, — {v}",
            "{he} находится в городе {v}",
        ),
        "height": ("высота {g} — {v}", "{s} имеет высоту {v}", "{his} высота — {v}"),
        "visitors": (
            "за год {s} принимает {v} посетителей",
            "годовое число посетителей {g} — {v}",
            "за год {he} принимает {v} посетителей",
        ),
        "architect": (
            "единственный архитектор {g} — {v}",
            "единственный автор проекта {g} — {v}",
            "{his} единственный архитектор — {v}",
        ),
        "holiday": (
            "единственный праздник {g} проходит {v}",
            "единственный день праздника {g} — {v}",
            "{his} единственный праздник проходит {v}",
        ),
        "material": (
            "единственный материал стен {g} — {v}",
            "на стены {g} пошёл только один материал: {v}",
            "единственный материал {his} стен — {v}",
        ),
        "cause": (
            "единственная причина единственного закрытия {g} — {v}, и случился он раньше",
            "для единственного закрытия {g} нашлась только одна причина — {v}, и случился он раньше",
            "единственная причина {his} единственного закрытия — {v}, и случился он раньше",
        ),
    },
    "zh": {
        "founded": ("{s}建于{v}年", "{s}的建成年份是{v}年", "{he}建于{v}年"),
        "city": ("{s}位于{v}", "{s}所在的城市是{v}", "{he}位于{v}"),
        "height": ("{s}高{v}", "{s}的高度是{v}", "{his}高度是{v}"),
        "visitors": ("{s}每年接待{v}名访客", "{s}每年的访客人数是{v}", "{he}每年接待{v}名访客"),
        "architect": ("{s}唯一的设计师是{v}", "{s}由{v}一人设计", "{his}唯一设计师是{v}"),
        "holiday": ("{s}唯一的纪念日是{v}", "{s}只在{v}举行庆典", "{his}唯一纪念日是{v}"),
        "material": ("{s}的墙壁全部用{v}建成", "{s}墙壁唯一的材料是{v}", "{his}墙壁全部用{v}建成"),
        "cause": (
            "{s}唯一一次关闭的唯一原因是此前发生的{v}",
            "{s}只关闭过一次，原因只有一个，就是此前的{v}",
            "{his}唯一一次关闭的唯一原因是此前发生的{v}",
        ),
    },
}

ROOMS: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "en": {
        "all": (
            "all the rooms of {s} are heated",
            "every single room of {s} is heated",
            "all {his} rooms are heated",
        ),
        "none": (
            "no room of {s} is heated",
            "not a single room of {s} is heated",
            "none of {his} rooms is heated",
        ),
        "part": (
            "some rooms of {s} are heated and others are not",
            "{s} has heated rooms as well as unheated ones",
            "some of {his} rooms are heated and others are not",
        ),
        "any": ("at least one room of {s} is heated",) * 3,
    },
    "ru": {
        "all": ("все залы {g} отапливаются", "отапливается каждый зал {g}", "все {his} залы отапливаются"),
        "none": (
            "ни один зал {g} не отапливается",
            "среди залов {g} нет отапливаемых",
            "ни один {his} зал не отапливается",
        ),
        "part": (
            "часть залов {g} отапливается, а часть — нет",
            "одни залы {g} отапливаются, другие нет",
            "часть {his} залов отапливается, а часть — нет",
        ),
        "any": ("хотя бы один зал {g} отапливается",) * 3,
    },
    "zh": {
        "all": ("{s}的所有房间都有暖气", "{s}的每一个房间都有暖气", "{his}所有房间都有暖气"),
        "none": ("{s}没有一个房间有暖气", "{s}的所有房间都没有暖气", "{his}所有房间都没有暖气"),
        "part": (
            "{s}的一部分房间有暖气，另一部分没有",
            "{s}既有带暖气的房间，也有不带暖气的房间",
            "{his}一部分房间有暖气，另一部分没有",
        ),
        "any": ("{s}至少有一个房间有暖气",) * 3,
    },
}

FORMS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "not": "it is not true that {one}",
        "double": "it is not true that this statement is false: {one}",
        "both": "{one}, and {two}",
        "reversed": "the closing of {s} was what led to {v}",
    },
    "ru": {
        "not": "неверно, что {one}",
        "double": "неверно, что это утверждение ложно: {one}",
        "both": "{one}, и {two}",
        "reversed": "именно закрытие {g} привело к тому, что случился {v}",
    },
    "zh": {
        "not": "“{one}”这一说法不正确",
        "double": "“下面的话是错的”这一说法不正确：{one}",
        "both": "{one}，并且{two}",
        "reversed": "正是{s}的关闭导致了{v}",
    },
}

COMMON: Mapping[str, Sequence[str]] = {
    "en": (
        "water is made of hydrogen and oxygen",
        "Paris is the capital of France",
        "the Moon moves around the Earth",
        "a week has seven days",
        "iron is a metal",
        "bees make honey",
        "the Nile is a river in Africa",
        "a triangle has three sides",
    ),
    "ru": (
        "вода состоит из водорода и кислорода",
        "Париж — столица Франции",
        "Луна движется вокруг Земли",
        "в неделе семь дней",
        "железо — это металл",
        "пчёлы делают мёд",
        "Нил — река в Африке",
        "у треугольника три стороны",
    ),
    "zh": (
        "水由氢和氧组成",
        "巴黎是法国的首都",
        "月亮围绕地球运行",
        "一个星期有七天",
        "铁是一种金属",
        "蜜蜂酿造蜂蜜",
        "尼罗河是非洲的一条河",
        "三角形有三条边",
    ),
}
"""What is true and stands in no text."""
