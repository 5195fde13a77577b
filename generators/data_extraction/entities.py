"""Draw e-mail addresses, phone numbers and dates, write them in various forms, and parse them to a normal form.

Normal forms: an e-mail address in lower case, a phone number in E.164, a date in ISO 8601.
Numbers are fictional where a region reserves some for fiction (US 555-01xx; GB Ofcom's drama numbers).
"""

import re
import unicodedata
from collections.abc import Container
from datetime import date
from functools import cache
from random import Random
from typing import Any

from data.patterns import pattern

KINDS = ("emails", "phones", "dates")
MONTHS = {
    "en": (
        "January", "February", "March", "April", "May", "June",
        "July", "August", "September", "October", "November", "December",
    ),
    "ru": (
        "января", "февраля", "марта", "апреля", "мая", "июня",
        "июля", "августа", "сентября", "октября", "ноября", "декабря",
    ),
}  # fmt: skip
SHORT = {
    "en": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "ru": ("янв.", "февр.", "мар.", "апр.", "мая", "июн.", "июл.", "авг.", "сент.", "окт.", "нояб.", "дек."),
}
_NOMINATIVE = (
    "январь", "февраль", "март", "апрель", "май", "июнь",
    "июль", "август", "сентябрь", "октябрь", "ноябрь", "декабрь",
)  # fmt: skip
_TABLES = (*MONTHS.values(), *SHORT.values(), _NOMINATIVE)
MONTH_NUMBERS = {name.lower().rstrip("."): number for names in _TABLES for number, name in enumerate(names, 1)} | {
    "sept": 9,
    "фев": 2,
    "сен": 9,
    "ноя": 11,
}

_ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd"}
_ORDINALS = [f"{day}{_ENDINGS.get(day, 'th')}" for day in range(29)]
# {0} year, {1} month, {2} day, {3} the month's name, {4} its short form, {5} the day as an ordinal.
_ENGLISH = ("{2} {3} {0}", "{3} {2}, {0}", "{0}-{1:02d}-{2:02d}", "{2} {4} {0}")
# Day and month in digits without a leading year are ambiguous unless the day is past 12; only with dots and in
# Russian does the day always come first.
_ONE_WAY: dict[str, tuple[str, ...]] = {
    "US": (*_ENGLISH, "{4} {2}, {0}", "{3} {5}, {0}", "{0}/{1:02d}/{2:02d}"),
    "GB": (*_ENGLISH, "{5} {3} {0}", "{5} of {3} {0}"),
    "RU": (
        "{2} {3} {0} г.", "{2} {3} {0} года", "{2:02d}.{1:02d}.{0}", "{0}-{1:02d}-{2:02d}", "{2} {4} {0} г.",
        "«{2}» {3} {0} г.",
    ),
}  # fmt: skip
_DAY_PAST_12: dict[str, tuple[str, ...]] = {
    "US": ("{1:02d}/{2:02d}/{0}", "{2:02d}.{1:02d}.{0}"),
    "GB": ("{2:02d}/{1:02d}/{0}", "{2:02d}.{1:02d}.{0}"),
    "RU": ("{2:02d}/{1:02d}/{0}",),
}
DATE_FORMS = {region: (_ONE_WAY[region], (*_ONE_WAY[region], *_DAY_PAST_12[region])) for region in _ONE_WAY}
"""Region -> (forms for a day up to 12, forms for a later day)."""
DATE_FORMS |= {
    "en": (_ENGLISH, _ENGLISH),
    "ru": (tuple(form for form in _ONE_WAY["RU"] if "}.{" not in form),) * 2,
}
"""Language -> forms that are unambiguous in texts from anywhere: with its own words, or the year first."""
_SURE_DAY = 12
_FIRST_YEAR, _YEARS = 2019, 13

AREAS = {
    "US": (
        "201", "202", "206", "212", "213", "214", "216", "303", "305", "312", "313", "404", "407", "412", "415",
        "503", "504", "512", "602", "612", "615", "617", "619", "702", "713", "718", "801", "808", "901", "919",
    ),
    "GB": (
        "20 7946 0", "113 496 0", "114 496 0", "116 496 0", "117 496 0", "118 496 0", "121 496 0",
        "131 496 0", "141 496 0", "151 496 0", "161 496 0", "191 498 0", "29 2018 0", "28 9649 6",
    ),
    "RU": (
        "901", "903", "905", "909", "910", "912", "915", "916", "921", "926", "950", "961", "977", "981", "985",
        "495", "499", "812", "343", "383", "843", "846", "391", "423", "472",
    ),
}  # fmt: skip
PHONE_FORMS = {
    "US": (
        "(%s) %s-%s", "%s-%s-%s", "+1 %s %s %s", "+1 (%s) %s-%s", "%s.%s.%s", "1-%s-%s-%s", "+1%s%s%s",
        "+1-%s-%s-%s",
    ),
    "GB": (
        "0%s %s %s", "+44 %s %s %s", "(0%s) %s %s", "+44 (0)%s %s %s", "0%s-%s-%s", "+44%s%s%s", "0%s%s%s",
    ),
    "RU": (
        "8 (%s) %s-%s-%s", "+7 %s %s-%s-%s", "+7 (%s) %s-%s-%s", "8-%s-%s-%s-%s", "8 %s %s %s %s", "+7%s%s%s%s",
        "8%s%s%s%s", "+7-%s-%s-%s-%s",
    ),
}  # fmt: skip
"""Region -> written forms; the gaps take the number's groups."""
CODES = {"US": "+1", "GB": "+44", "RU": "+7"}
_ABROAD = {"US": ("00", "011"), "GB": ("00",), "RU": ("00",)}
"""Region -> international call prefixes."""
ABROAD = {"US": ("GB", "+44 %s %s %s"), "GB": ("US", "+1 %s %s %s"), "RU": ("GB", "+44 %s %s %s")}
"""Region -> another region, and its unambiguous international form."""

HOSTS = (
    "kestrel", "northgate", "harbour", "lindenhof", "bluebridge", "rivermill", "oakfield", "starling", "greystone",
    "westpier", "maplecourt", "ironworks", "saltmarsh", "hilltop", "lanterna", "corvid", "meridian", "juniper",
)  # fmt: skip
DOMAINS = tuple(f"{host}.example.{end}" for host in HOSTS for end in ("com", "org", "net"))
MAILBOXES = (
    "info", "office", "booking", "contact", "hello", "registry", "support", "team", "desk", "orders",
)  # fmt: skip

_LOCAL = ("{first}.{last}", "{f}.{last}", "{last}_{first}", "{last}{n}")

Groups = tuple[str, ...]


def draw_date(rng: Random) -> tuple[int, int, int]:
    """Draw (year, month, day), the day from 1 to 28."""
    draw = rng.random
    return _FIRST_YEAR + int(draw() * _YEARS), 1 + int(draw() * 12), 1 + int(draw() * 28)


def write_date(when: tuple[int, int, int], where: str, language: str, chance: float) -> str:
    """Write a date in a form that is unambiguous there; `chance` in [0, 1) picks the form."""
    y, m, d = when
    forms = DATE_FORMS[where][d > _SURE_DAY]
    form = forms[int(chance * len(forms))]
    return form.format(y, m, d, MONTHS[language][m - 1], SHORT[language][m - 1], _ORDINALS[d])


def draw_phone(rng: Random, region: str) -> Groups:
    """Draw the groups of a valid national number: three in US and GB, four in RU."""
    draw = rng.random
    areas = AREAS[region]
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
EMAIL = pattern(rf"(?<![\w.@%+\-]){_EMAIL}(?![\w@])")
_WEEKDAY = (
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|"
    r"понедельник|вторник|сред[ау]|четверг|пятниц[ау]|суббот[ау]|воскресенье"
)
_TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?:\.\d{1,9})?(?: ?[ap]\.?m\b\.?)?(?:z|[+\-]\d{2}:?\d{2})?"
DATE = pattern(
    rf"(?<![\w.@+\-])(?:(?:{_WEEKDAY})\.?,? )?(?:the )?(?:"
    r"(?P<y1>\d{4})[\-./](?P<m1>\d{1,2})[\-./](?P<d1>\d{1,2})|"
    r"(?P<a2>\d{1,2})[\-./](?P<b2>\d{1,2})[\-./](?P<y2>\d{4}|\d{2})(?: ?(?:года?|г)\b\.?)?|"
    r'["«]?(?P<d3>\d{1,2})["»]?(?:st|nd|rd|th|-?го|-?е)?(?: of)?[ \-](?P<m3>[a-zа-яё]{3,9})\.?,?[ \-](?P<y3>\d{4})'
    r"(?: ?(?:года?|г)\b\.?)?|"
    r"(?P<m4>[a-z]{3,9})\.? (?:the )?(?P<d4>\d{1,2})(?:st|nd|rd|th)?,? (?P<y4>\d{4})"
    rf")(?:(?:t|,? (?:at |в )?){_TIME})?(?![\w@])"
)
PHONE = pattern(r"(?<![\w+])\+?\(?\d[\d ().\-–]{5,20}\d(?![\w@])")
COMPACT = pattern(r"(?<![\w.@+\-])(?P<y1>(?:19|20)\d\d)(?P<m1>\d\d)(?P<d1>\d\d)(?:t\d{4,6}z?)?(?![\w@])")
"""A compact ISO date, with the groups of `DATE`'s first form."""
_PHONE_ONLY = pattern(r"[+\d ().\-–/]+")
_NUMBER = pattern(r"\d+")
_CLOCK = pattern(r"\d{1,2}:\d{2}(?::\d{2})?")

_MONTH_WORD = pattern(r"[^\W\d_]{3}")

LONGEST = 120  # characters of an entity in a reply; anything longer is none
_E164_DIGITS = 15
_NATIONAL_DIGITS = 10
_CENTURY = 2000
_ORDERS = {"US": "MDY", "GB": "DMY", "RU": "DMY"}


def clean(text: str) -> str:
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
    return text if EMAIL.fullmatch(text) else None


def _calendar(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def date_of(match: re.Match[str], region: str) -> str | None:
    """Return the ISO date of a match of `DATE` or `COMPACT`, or None if the calendar has no such date."""
    part = match.group
    if part("y1"):
        return _calendar(int(part("y1")), int(part("m1")), int(part("d1")))
    if part("y2"):
        year = int(part("y2")) if len(part("y2")) > 2 else _CENTURY + int(part("y2"))  # noqa: PLR2004 - two digits
        a, b = int(part("a2")), int(part("b2"))
        first, second = ((a, b), (b, a)) if _ORDERS[region] == "MDY" else ((b, a), (a, b))
        return _calendar(year, *first) or _calendar(year, *second)
    which = "3" if part("y3") else "4"
    month = MONTH_NUMBERS.get(part(f"m{which}"))
    return _calendar(int(part(f"y{which}")), month, int(part(f"d{which}"))) if month else None


def read_date(text: str, region: str, language: str, *, slowly: bool = False) -> str | None:
    """Read one complete date from cleaned text; `slowly` falls back to dateparser."""
    if match := DATE.fullmatch(text):
        return date_of(match, region)
    if match := COMPACT.fullmatch(text):
        return _calendar(*map(int, match.group("y1", "m1", "d1")))
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
        languages=[language] if language == "en" else [language, "en"],
        settings={
            "REQUIRE_PARTS": ["day", "month", "year"],
            "PARSERS": ["absolute-time"],
            "DATE_ORDER": _ORDERS[region],
            "TIMEZONE": "UTC",
        },
    )


def read_phone(text: str, region: str, expected: Container[str] = ()) -> str | None:
    """Read one phone number from cleaned text as E.164; numbers without a country code are the region's.

    `00` (in the US also `011`) before a country code stands for the plus sign. Common notations of an `expected`
    number are read without phonenumbers, which takes 40 µs per number.
    """
    text = text.removeprefix("tel:")
    dialled = next((prefix for prefix in _ABROAD[region] if text.startswith(prefix)), "")
    text = f"+{text[len(dialled) :].lstrip(' -')}" if dialled else text
    digits = "".join(_NUMBER.findall(text))
    if not 5 <= len(digits) <= _E164_DIGITS + 2:  # noqa: PLR2004 - a trunk zero and a short extension fit in
        return None
    if _PHONE_ONLY.fullmatch(text):
        quick = _e164(text, digits, region)
        if quick in expected:
            return quick
    import phonenumbers

    try:
        number = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def _e164(text: str, digits: str, region: str) -> str:
    if "+" in text:
        return "+" + (digits.replace("440", "44", 1) if "(0)" in text and digits.startswith("440") else digits)
    if region == "GB":
        return "+44" + digits[1:] if digits[0] == "0" else ""
    national = len(digits) == _NATIONAL_DIGITS or (
        len(digits) == _NATIONAL_DIGITS + 1 and digits[0] in ("78" if region == "RU" else "1")
    )
    return CODES[region] + digits[-_NATIONAL_DIGITS:] if national else ""
