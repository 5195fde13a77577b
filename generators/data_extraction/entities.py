"""Draw e-mail addresses, phone numbers and dates, write them in various forms, and parse them to a normal form.

Normal forms: an e-mail address in lower case, a phone number in E.164, a date in ISO 8601.
Numbers are fictional where a region reserves some for fiction (US 555-01xx; GB Ofcom's drama numbers).
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from itertools import product
from random import Random
from typing import Any

from basic_control.data.beside import read_beside
from basic_control.data.patterns import pattern

KINDS = ("emails", "phones", "dates")


@dataclass(frozen=True, slots=True)
class Region:
    """A region's phone numbers and dates; `entities.yaml` documents the fields."""

    code: str
    dialled: Sequence[str]
    order: str
    areas: Sequence[str]
    phones: Sequence[str]
    abroad: tuple[str, str]
    dates: Sequence[str]
    late: Sequence[str]


_TABLES = read_beside(__file__)
REGIONS = {name: Region(**fields) for name, fields in _TABLES["regions"].items()}
MONTHS: Mapping[str, Sequence[str]] = _TABLES["months"]
_SHORT: Mapping[str, Sequence[str]] = _TABLES["short"]
_MONTH_LISTS = (*MONTHS.values(), *_SHORT.values(), _TABLES["alone"])
_MONTH_NUMBERS: dict[str, int] = {**_TABLES["also_short"]}
for _names in _MONTH_LISTS:
    _MONTH_NUMBERS |= {name.lower().rstrip("."): number for number, name in enumerate(_names, 1)}
_ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd"}
_ORDINALS = [f"{day}{_ENDINGS.get(day, 'th')}" for day in range(29)]
DATE_FORMS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    **{name: (region.dates, [*region.dates, *region.late]) for name, region in REGIONS.items()},
    **{language: (forms, forms) for language, forms in _TABLES["anywhere"].items()},
}
"""Region, or language for texts from anywhere -> (forms for a day up to 12, forms for a later day)."""
_SURE_DAY = 12
_FIRST_YEAR, _YEARS = 2019, 13

DOMAINS = tuple(map(".example.".join, product(_TABLES["hosts"], ("com", "org", "net"))))
MAILBOXES: Sequence[str] = _TABLES["mailboxes"]

_LOCAL = ("{first}.{last}", "{f}.{last}", "{last}_{first}", "{last}{n}")

Groups = tuple[str, ...]


def draw_date(rng: Random) -> tuple[int, int, int]:
    """Draw (year, month, day), the day from 1 to 28."""
    draw = rng.random
    return _FIRST_YEAR + int(draw() * _YEARS), 1 + int(draw() * 12), 1 + int(draw() * 28)


def write_date(year_month_day: tuple[int, int, int], usage: str, language: str, pick: float) -> str:
    """Write a date as a region or a language does, unambiguously; `pick` in [0, 1) picks the form."""
    y, m, d = year_month_day
    forms = DATE_FORMS[usage][d > _SURE_DAY]
    form = forms[int(pick * len(forms))]
    return form.format(y, m, d, MONTHS[language][m - 1], _SHORT[language][m - 1], _ORDINALS[d])


def draw_phone(rng: Random, region: str) -> Groups:
    """Draw the groups of a valid national number: three in US and GB, four in RU."""
    draw = rng.random
    areas = REGIONS[region].areas
    area = areas[int(draw() * len(areas))]
    if region == "US":
        return area, "555", f"01{int(draw() * 100):02d}"
    if region == "GB":
        code, middle, first = area.split(" ")
        return code, middle, f"{first}{int(draw() * 1000):03d}"
    number = int(draw() * 8_000_000) + 2_000_000
    return area, str(number // 10000), f"{number // 100 % 100:02d}", f"{number % 100:02d}"


def draw_email(rng: Random, latin: tuple[str, str]) -> str:
    """Draw a person's or an office's address; `latin` is the person's first and last name."""
    draw = rng.random
    first, last = latin
    way = int(draw() * 6)
    if way < len(_LOCAL):
        local = _LOCAL[way].format(first=first, last=last, f=first[0], n=int(draw() * 90) + 10)
    else:
        local = MAILBOXES[int(draw() * len(MAILBOXES))]
    return f"{local}@{DOMAINS[int(draw() * len(DOMAINS))]}"


_EMAIL = r"[a-z0-9][a-z0-9._%+\-]{0,63}@[a-z0-9\-]{1,63}(?:\.[a-z0-9\-]{1,63}){1,8}"
# An address: "ann@mail.example.com"
EMAIL = pattern(rf"(?<![\w.@%+\-]){_EMAIL}(?![\w@])")
_WEEKDAY = (
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|"
    r"понедельник|вторник|сред[ау]|четверг|пятниц[ау]|суббот[ау]|воскресенье"
)
_TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?:\.\d{1,9})?(?: ?[ap]\.?m\b\.?)?(?:z|[+\-]\d{2}:?\d{2})?"
# A date: "2024-05-03", "3.5.2024", "Fri, 3rd of May 2024", "May 3, 2024"
DATE = pattern(
    rf"(?<![\w.@+\-])(?:(?:{_WEEKDAY})\.?,? )?(?:the )?(?:"
    r"(?P<y1>\d{4})[\-./](?P<m1>\d{1,2})[\-./](?P<d1>\d{1,2})|"
    r"(?P<a2>\d{1,2})[\-./](?P<b2>\d{1,2})[\-./](?P<y2>\d{4}|\d{2})(?: ?(?:года?|г)\b\.?)?|"
    r'["«]?(?P<d3>\d{1,2})["»]?(?:st|nd|rd|th|-?го|-?е)?(?: of)?[ \-](?P<m3>[a-zа-яё]{3,9})\.?,?[ \-](?P<y3>\d{4})'
    r"(?: ?(?:года?|г)\b\.?)?|"
    r"(?P<m4>[a-z]{3,9})\.? (?:the )?(?P<d4>\d{1,2})(?:st|nd|rd|th)?,? (?P<y4>\d{4})"
    rf")(?:(?:t|,? (?:at |в )?){_TIME})?(?![\w@])"
)
# What a phone number is written with: "+1 (212) 555-0123"
PHONE = pattern(r"(?<![\w+])\+?\(?\d[\d ().\-–]{5,20}\d(?![\w@])")
# "20240503T1430"
COMPACT = pattern(r"(?<![\w.@+\-])(?P<y1>(?:19|20)\d\d)(?P<m1>\d\d)(?P<d1>\d\d)(?:t\d{4,6}z?)?(?![\w@])")
"""A compact ISO date, with the groups of `DATE`'s first form."""
_NUMBER = pattern(r"\d+")
_CLOCK = pattern(r"\d{1,2}:\d{2}(?::\d{2})?")

_MONTH_WORD = pattern(r"[^\W\d_]{3}")

LONGEST = 120  # characters of an entity in a reply; anything longer is none
_E164_DIGITS = 15
_CENTURY = 2000


def normalise(text: str) -> str:
    """Fold compatibility forms, case, white space and the marks that replies wrap values in."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\u2011", "-").replace("−", "-")
        text = text.replace("“", '"').replace("”", '"')
    return " ".join(text.lower().split()).strip("`*'\",; ")


def read_email(text: str) -> str | None:
    """Read one address from cleaned text, dropping `mailto:` and a name before `<address>`."""
    if text.endswith(">") and "<" in text:
        text = text[text.rindex("<") + 1 : -1]
    text = text.removeprefix("mailto:").rstrip(".")
    if EMAIL.fullmatch(text):
        return text
    return None


def _calendar(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def read_date_match(match: re.Match[str], region: str, language: str = "") -> str | None:
    """Return the ISO date of a match of `DATE` or `COMPACT`, or None if the calendar has no such date."""
    groups = match.groupdict()
    if groups["y1"]:
        return _calendar(int(groups["y1"]), int(groups["m1"]), int(groups["d1"]))
    if groups["y2"]:
        year = int(groups["y2"])
        if len(groups["y2"]) == 2:  # noqa: PLR2004 - two digits
            year += _CENTURY
        a, b = int(groups["a2"]), int(groups["b2"])
        # 3/5 is what the region says, unless there is no such date.
        if REGIONS[region].order == "MDY" and language != "ru":
            return _calendar(year, a, b) or _calendar(year, b, a)
        return _calendar(year, b, a) or _calendar(year, a, b)
    form = "3" if groups["y3"] else "4"
    month = _MONTH_NUMBERS.get(groups[f"m{form}"])
    if not month:
        return None
    return _calendar(int(groups[f"y{form}"]), month, int(groups[f"d{form}"]))


def read_date(text: str, region: str, language: str, *, slowly: bool = False) -> str | None:
    """Read one complete date from cleaned text; `slowly` falls back to dateparser."""
    match = DATE.fullmatch(text) or COMPACT.fullmatch(text)
    if match:
        return read_date_match(match, region, language)
    # Apart from a time, it must have two numbers (a day and a year) and a word.
    numbers = _NUMBER.findall(_CLOCK.sub("", text))
    if not slowly or not _MONTH_WORD.search(text) or sorted(map(len, numbers)) not in ([1, 4], [2, 4]):
        return None
    try:
        moment = _date_parser(region, language).get_date_data(text).date_obj
    except Exception:  # noqa: BLE001 - a third-party parser on a model's text: whatever it raises, there is no date
        return None
    return moment.date().isoformat() if moment else None


@cache
def _date_parser(region: str, language: str) -> Any:
    from dateparser.date import DateDataParser

    return DateDataParser(
        languages=[*dict.fromkeys([language, "en"])],
        settings={
            "REQUIRE_PARTS": ["day", "month", "year"],
            "PARSERS": ["absolute-time"],
            "DATE_ORDER": REGIONS[region].order,
            "TIMEZONE": "UTC",
        },
    )


def read_phone(text: str, region: str) -> str | None:
    """Read one phone number from cleaned text as E.164; numbers without a country code are the region's."""
    import phonenumbers

    text = text.removeprefix("tel:")
    for prefix in filter(text.startswith, REGIONS[region].dialled):
        text = f"+{text[len(prefix) :].lstrip(' -')}"
        break
    digits = len("".join(_NUMBER.findall(text)))
    if not 5 <= digits <= _E164_DIGITS + 2:  # noqa: PLR2004 - a trunk zero and a short extension fit in
        return None
    try:
        number = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
