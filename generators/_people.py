"""First names with their gender and, in Russian, their case forms.

No name is an everyday word (Will, Rose, Роман, Надежда), and no form of one name is a form of another
(Александр and Александра share one), so that a name found in a reply is one person's.
"""

from functools import cache
from types import MappingProxyType
from typing import Literal

Gender = Literal["f", "m"]

_ENGLISH_F = (
    "Abigail Agnes Alice Amanda Amelia Anita Anna Audrey Barbara Beatrice Bella Brenda Camilla Caroline Cecilia "
    "Charlotte Claire Clara Cynthia Daisy Deborah Diana Dorothy Edith Eleanor Eliza Emily Emma Esther Evelyn "
    "Fiona Florence Frances Gloria Greta Hannah Harriet Helen Ingrid Irene Isabel Jane Jessica Joan Julia Karen "
    "Laura Leah Lillian Linda Louise Lucy Lydia Mabel Margaret Maria Martha Matilda Megan Miriam Molly Monica "
    "Nancy Naomi Nina Nora Olivia Pamela Patricia Paula Phoebe Rachel Rebecca Rosalind Ruth Sandra Sarah Sophia "
    "Stella Susan Sylvia Tamara Teresa Tina Ursula Valerie Vera Victoria Violet Vivian Wendy Yvonne Zoe"
)
_ENGLISH_M = (
    "Aaron Adam Adrian Alan Albert Alexander Alfred Andrew Anthony Arnold Arthur Barry Ben Bernard Boris Brian "
    "Bruce Calvin Carl Cedric Charles Clarence Colin Conrad Daniel David Dennis Derek Donald Douglas Edgar Edmund "
    "Edward Eric Ernest Eugene Felix Frederick Gabriel Geoffrey George Gerald Gilbert Gordon Gregory Harold Harry "
    "Henry Herbert Howard Hugo Ian Isaac Ivan Jacob James Jason Jeremy John Jonathan Joseph Joshua Julian Keith "
    "Kenneth Kevin Laurence Leon Leonard Louis Lucas Malcolm Martin Matthew Maurice Michael Nathan Neil Nicholas "
    "Nigel Norman Oliver Oscar Owen Patrick Paul Peter Philip Ralph Raymond Richard Robert Roger Roland Ronald "
    "Samuel Sidney Simon Stanley Stephen Theodore Thomas Timothy Tobias Victor Vincent Walter Wilfred William"
)
_RUSSIAN_F = (
    "Агата Аглая Алёна Алина Алиса Анастасия Ангелина Анна Антонина Арина Варвара Василиса Вера Вероника "
    "Виктория Галина Дарья Диана Дина Екатерина Елена Елизавета Жанна Злата Зинаида Зоя Инга Инна Ирина Камилла "
    "Карина Кира Клара Кристина Ксения Лариса Лидия Людмила Майя Маргарита Марина Мария Милана Наталья Нина "
    "Оксана Олеся Ольга Пелагея Полина Раиса Регина Сабина Светлана Снежана Софья Таисия Тамара Татьяна Ульяна "
    "Фаина Эльвира Эмма Юлия"
)
_RUSSIAN_M = (
    "Алексей Анатолий Андрей Антон Аркадий Арсений Артём Артур Афанасий Богдан Борис Вадим Валерий Василий "
    "Виктор Виталий Владимир Владислав Вячеслав Геннадий Георгий Герман Глеб Григорий Давид Денис Дмитрий Егор "
    "Евгений Елисей Ефим Захар Иван Игорь Илья Кирилл Константин Кузьма Лазарь Леонид Макар Максим Матвей Михаил "
    "Никита Николай Олег Остап Павел Пётр Прохор Руслан Семён Сергей Станислав Степан Тарас Тимофей Тимур Фёдор "
    "Филипп Фома Эдуард Юрий Яков Ярослав"
)

_ENDINGS = (
    # nominative, then genitive, dative, accusative, instrumental, prepositional; the first that fits is used.
    ("ия", ("ии", "ии", "ию", "ией", "ии")),
    ("я", ("и", "е", "ю", "ей", "е")),
    ("га", ("ги", "ге", "гу", "гой", "ге")),
    ("ка", ("ки", "ке", "ку", "кой", "ке")),
    ("а", ("ы", "е", "у", "ой", "е")),
    ("ий", ("ия", "ию", "ия", "ием", "ии")),
    ("й", ("я", "ю", "я", "ем", "е")),
    ("ь", ("я", "ю", "я", "ем", "е")),
    ("", ("а", "у", "а", "ом", "е")),
)
_STEMS = MappingProxyType({"Павел": "Павл", "Пётр": "Петр"})


@cache
def genders(language: str) -> MappingProxyType[str, Gender]:
    """Return the names of a language, each with its gender."""
    women, men = (_RUSSIAN_F, _RUSSIAN_M) if language == "ru" else (_ENGLISH_F, _ENGLISH_M)
    listed: dict[str, Gender] = dict.fromkeys(women.split(), "f")
    listed.update(dict.fromkeys(men.split(), "m"))
    return MappingProxyType(listed)


@cache
def names(language: str) -> tuple[str, ...]:
    """Return the names of a language."""
    return tuple(genders(language))


@cache
def cases(name: str) -> tuple[str, ...]:
    """Return a name's forms: nominative, genitive, dative, accusative, instrumental, prepositional.

    A name that is not among the Russian ones has one form.
    """
    if name not in genders("ru"):
        return (name,)
    for ending, others in _ENDINGS:
        if name.endswith(ending):
            stem = _STEMS.get(name, name.removesuffix(ending))
            return (name, *(stem + other for other in others))
    raise AssertionError(name)  # the last ending fits every name
