"""The words of the exam's worlds in English, Russian and Chinese: buildings, values, questions.

In a question `{s}` is the building, `{g}` its genitive. Russian values are chosen so that no word has to agree:
causes are masculine, round numbers take the genitive plural.
"""

from collections.abc import Mapping, Sequence

RELATIONS = ("founded", "city", "height", "visitors", "architect", "holiday", "material", "rooms", "cause")
NAMED = RELATIONS[:7]
"""The relations whose value can be recognised in a sentence by itself."""

Kinds = Mapping[str, tuple[str, str, str, str]]

KINDS: Mapping[str, Kinds] = {
    "en": {
        kind: (f"the {{name}} {kind.capitalize()}", f"the {{name}} {kind.capitalize()}", "it", "its")
        for kind in ("museum", "library", "theatre", "school", "hotel", "station")
    },
    "ru": {
        "museum": ("музей «{name}»", "музея «{name}»", "он", "его"),
        "library": ("библиотека «{name}»", "библиотеки «{name}»", "она", "её"),
        "theatre": ("театр «{name}»", "театра «{name}»", "он", "его"),
        "school": ("школа «{name}»", "школы «{name}»", "она", "её"),
        "hotel": ("гостиница «{name}»", "гостиницы «{name}»", "она", "её"),
        "station": ("вокзал «{name}»", "вокзала «{name}»", "он", "его"),
    },
    "zh": {
        kind: (f"{{name}}{word}", f"{{name}}{word}", "它", "它的")
        for kind, word in (
            ("museum", "博物馆"),
            ("library", "图书馆"),
            ("theatre", "剧院"),
            ("school", "学校"),
            ("hotel", "酒店"),
            ("station", "车站"),
        )
    },
}
"""By language and kind: nominative, genitive, pronoun, possessive."""

SYLLABLES: Mapping[str, Sequence[str]] = {
    "en": [
        "vel",
        "mor",
        "tan",
        "bel",
        "kar",
        "lin",
        "dor",
        "sel",
        "nav",
        "rim",
        "gal",
        "pol",
        "tur",
        "hav",
        "lom",
        "ser",
    ],
    "ru": [
        "вел",
        "мор",
        "тан",
        "бел",
        "кар",
        "лин",
        "дор",
        "сел",
        "нав",
        "рим",
        "гал",
        "пол",
        "тур",
        "лом",
        "сер",
        "зор",
    ],
    "zh": tuple("云山海明安泰和清文宁华林松江玉石虹星"),
}

VALUES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "en": {
        "city": [
            "Arden",
            "Belmont",
            "Corwell",
            "Dunmore",
            "Easton",
            "Farley",
            "Glenford",
            "Hartley",
            "Ilford",
            "Kenton",
            "Larkham",
            "Marston",
            "Norwell",
        ],
        "first": [
            "Anna",
            "Brian",
            "Clara",
            "David",
            "Emma",
            "Frank",
            "Greta",
            "Henry",
            "Irene",
            "James",
            "Laura",
            "Martin",
        ],
        "last": [
            "Weller",
            "Barton",
            "Fenwick",
            "Garland",
            "Holloway",
            "Kirby",
            "Langdon",
            "Mercer",
            "Norris",
            "Prescott",
            "Thorne",
        ],
        "material": ["granite", "brick", "marble", "timber", "concrete", "limestone"],
        "cause": ("a fire", "a flood", "a storm", "a frost", "a landslide", "a hurricane"),
        "month": [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ],
    },
    "ru": {
        "city": [
            "Белогорск",
            "Верхнереченск",
            "Заозёрск",
            "Каменск",
            "Лугоград",
            "Озёрск",
            "Приволжск",
            "Светлогорск",
            "Тихорецк",
            "Черноборск",
            "Яснополь",
            "Дубравинск",
        ],
        "first": [
            "Анна",
            "Борис",
            "Вера",
            "Денис",
            "Елена",
            "Захар",
            "Ирина",
            "Кирилл",
            "Лидия",
            "Михаил",
            "Нина",
            "Павел",
        ],
        "last": [
            "Стриж",
            "Коваленко",
            "Седых",
            "Живаго",
            "Черных",
            "Белых",
            "Дурново",
            "Шевченко",
            "Гончаренко",
            "Вольф",
            "Майер",
        ],
        "material": ["гранит", "кирпич", "мрамор", "дерево", "бетон", "известняк"],
        "cause": ("пожар", "шторм", "мороз", "паводок", "оползень", "ураган"),
        "month": [
            "января",
            "февраля",
            "марта",
            "апреля",
            "мая",
            "июня",
            "июля",
            "августа",
            "сентября",
            "октября",
            "ноября",
            "декабря",
        ],
    },
    "zh": {
        "city": [
            "白河市",
            "青林市",
            "远山市",
            "石桥市",
            "东湖市",
            "南岭市",
            "金泉市",
            "柳城市",
            "云溪市",
            "长坪市",
            "北港市",
            "西塘市",
        ],
        "first": ["立明", "晓东", "文静", "国强", "雅琴", "建华", "思远", "海燕", "志勇", "秀兰"],
        "last": ["王", "李", "张", "刘", "陈", "杨", "赵", "黄", "周", "吴"],
        "material": ["花岗岩", "砖块", "大理石", "木材", "混凝土", "石灰岩"],
        "cause": ("火灾", "洪水", "风暴", "霜冻", "山体滑坡", "飓风"),
        "month": (),
    },
}

UNITS: Mapping[str, tuple[str, str, str]] = {
    "en": ("{n} metres", "{c} centimetres", "{n} kilometres"),
    "ru": ("{n} м", "{c} см", "{n} км"),
    "zh": ("{n}米", "{c}厘米", "{n}千米"),
}
"""A height of n metres: as it is, the same in centimetres, and in a wrong unit."""

QUESTIONS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "founded": "In which year was {s} founded?",
        "city": "In which city does {s} stand?",
        "height": "How high is {s}?",
        "visitors": "How many visitors a year does {s} have?",
        "architect": "Who was the only architect of {s}?",
        "holiday": "On which day of the year is the one holiday of {s}?",
        "material": "What are the walls of {s} made of?",
    },
    "ru": {
        "founded": "В каком году состоялось основание {g}?",
        "city": "В каком городе находится {s}?",
        "height": "Какова высота {g}?",
        "visitors": "Сколько посетителей за год принимает {s}?",
        "architect": "Кто единственный архитектор {g}?",
        "holiday": "Какого числа проходит единственный праздник {g}?",
        "material": "Каков единственный материал стен {g}?",
    },
    "zh": {
        "founded": "{s}建于哪一年？",
        "city": "{s}位于哪个城市？",
        "height": "{s}有多高？",
        "visitors": "{s}每年接待多少名访客？",
        "architect": "{s}唯一的设计师是谁？",
        "holiday": "{s}唯一的纪念日是哪一天？",
        "material": "{s}的墙壁是用什么建成的？",
    },
}
