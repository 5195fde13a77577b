"""Addresses, numbers and dates as models write them down, and the slips they make."""

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from random import Random

from data.records import Item

Found = dict[str, list[str]]
KINDS = ("emails", "phones", "dates")
SINGULAR = {"emails": "email", "phones": "phone", "dates": "date"}
TITLES = {"emails": ("Emails", "Электронная почта"), "phones": ("Phones", "Телефоны"), "dates": ("Dates", "Даты")}
MONTHS_EN = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip
MONTHS_RU = [
    "января", "февраля", "марта", "апреля", "мая", "июня",
    "июля", "августа", "сентября", "октября", "ноября", "декабря",
]  # fmt: skip


def expected(item: Item) -> Found:
    """Give what is expected, normalised."""
    return {kind: list(item.facts[kind]) for kind in KINDS}


def as_written(item: Item) -> Found:
    """Give the entities as they stand in the text, repetitions too."""
    found: Found = {kind: [] for kind in KINDS}
    for text in item.facts["written"]:
        digits = len(re.findall(r"\d", text))
        found["emails" if "@" in text else "phones" if digits > 8 else "dates"].append(text)
    return found


def each(found: Found, kind: str, change: Callable[[str], str]) -> Found:
    return {name: [change(text) for text in texts] if name == kind else texts for name, texts in found.items()}


def spelt_out(iso: str, language: str) -> str:
    day = date.fromisoformat(iso)
    if language == "ru":
        return f"{day.day} {MONTHS_RU[day.month - 1]} {day.year} г."
    return f"{MONTHS_EN[day.month - 1]} {day.day}, {day.year}"


def grouped(phone: str, separator: str) -> str:
    return separator.join([phone[:-7], phone[-7:-4], phone[-4:-2], phone[-2:]])


# Ways to write the entities themselves, all of which come to the same set.
FORMS: Mapping[str, Callable[[Item, Random], Found]] = {
    "normal": lambda item, _rng: expected(item),
    "as written": lambda item, _rng: as_written(item),
    "shuffled": lambda item, rng: {kind: rng.sample(texts, len(texts)) for kind, texts in expected(item).items()},
    "doubled": lambda item, _rng: {kind: texts * 2 for kind, texts in expected(item).items()},
    "emails upper": lambda item, _rng: each(expected(item), "emails", str.upper),
    "emails title": lambda item, _rng: each(as_written(item), "emails", str.title),
    "phones spaced": lambda item, _rng: each(expected(item), "phones", lambda p: grouped(p, " ")),
    "phones hyphened": lambda item, _rng: each(expected(item), "phones", lambda p: grouped(p, "-")),
    "phones no-break hyphens": lambda item, _rng: each(expected(item), "phones", lambda p: grouped(p, "\u2011")),
    "phones no-break spaces": lambda item, _rng: each(expected(item), "phones", lambda p: grouped(p, "\u00a0")),
    "dates spelt out": lambda item, _rng: each(expected(item), "dates", lambda d: spelt_out(d, item.language)),
    "dates slashed": lambda item, _rng: each(expected(item), "dates", lambda d: d.replace("-", "/")),
    "spaces around": lambda item, _rng: each(expected(item), "emails", lambda e: f" {e} "),
}  # fmt: skip


def one(found: Found, rng: Random, kind: str | None = None) -> tuple[str, int] | None:
    """Pick an entity: its kind and its place."""
    places = [(name, at) for name, texts in found.items() for at in range(len(texts)) if kind in {None, name}]
    return rng.choice(places) if places else None


def changed(kind: str, change: Callable[[str], str]) -> Callable[[Item, Random], Found | None]:
    """Make a slip that changes one entity of a kind."""

    def slip(item: Item, rng: Random) -> Found | None:
        found = expected(item)
        place = one(found, rng, kind)
        if place is None:
            return None
        found[kind][place[1]] = change(found[kind][place[1]])
        return found

    return slip


def added(kind: str, entity: str) -> Callable[[Item, Random], Found | None]:
    """Make a slip that invents an entity."""

    def slip(item: Item, _rng: Random) -> Found | None:
        found = expected(item)
        found[kind].append(entity)
        return found

    return slip


def missing(kind: str | None) -> Callable[[Item, Random], Found | None]:
    """Make a slip that leaves out an entity."""

    def slip(item: Item, rng: Random) -> Found | None:
        found = expected(item)
        place = one(found, rng, kind)
        if place is None:
            return None
        del found[place[0]][place[1]]
        return found

    return slip


def later(days: int) -> Callable[[str], str]:
    return lambda iso: (date.fromisoformat(iso) + timedelta(days=days)).isoformat()


def kind_missing(item: Item, rng: Random) -> Found | None:
    found = expected(item)
    found[rng.choice([kind for kind in KINDS if found[kind]])] = []
    return found


def nothing_found(_item: Item, _rng: Random) -> Found | None:
    return {kind: [] for kind in KINDS}


def keys_swapped(item: Item, _rng: Random) -> Found | None:
    found = expected(item)
    return {"emails": found["dates"], "phones": found["emails"], "dates": found["phones"]}


def day_and_month(item: Item, rng: Random) -> Found | None:
    """Swap day and month where that makes another date."""
    found = expected(item)
    for at, iso in enumerate(found["dates"]):
        year, month, day = iso.split("-")
        if int(day) <= 12 and day != month:
            found["dates"][at] = f"{year}-{day}-{month}"
            return found
    del rng
    return None


def trap(kind: str, into: str) -> Callable[[Item, Random], Found | None]:
    """Make a slip that takes something else for an entity, where the text holds such a thing."""

    def slip(item: Item, _rng: Random) -> Found | None:
        found = expected(item)
        texts = [text for text, what in item.facts["distractors"].items() if what == kind]
        if not texts:
            return None
        found[into].append(texts[0] + (" 2031" if kind == "a partial date" else ""))
        return found

    return slip


def half_invented(item: Item, rng: Random) -> Found | None:
    """Leave one out and invent another of its kind: the numbers of entities are right."""
    found = missing("emails")(item, rng)
    if found is not None:
        found["emails"].append("info@example.com")
    return found


def stranger(_item: Item, _rng: Random) -> Found | None:
    return {"emails": ["john.doe@example.com"], "phones": ["+12025550123"], "dates": ["2024-01-15"]}


SLIPS: Mapping[str, Callable[[Item, Random], Found | None]] = {
    "one missing": missing(None),
    "email missing": missing("emails"),
    "phone missing": missing("phones"),
    "date missing": missing("dates"),
    "kind missing": kind_missing,
    "nothing found": nothing_found,
    "email invented": added("emails", "office@lighthouse.example.org"),
    "phone invented": added("phones", "+12025550147"),
    "date invented": added("dates", "2017-05-23"),
    "email letter changed": changed("emails", lambda e: e[0] + "q" + e[1:]),
    "email letter missing": changed("emails", lambda e: e[0] + e[2:]),
    "email domain changed": changed("emails", lambda e: e.split("example", maxsplit=1)[0] + "example.edu"),
    "email cut": changed("emails", lambda e: e.rsplit(".", 1)[0]),
    "email without at": changed("emails", lambda e: e.replace("@", ".")),
    "phone digit changed": changed("phones", lambda p: p[:-1] + str((int(p[-1]) + 1) % 10)),
    "phone digits swapped": changed("phones", lambda p: p[:-4] + str((int(p[-4]) + 5) % 10) + p[-3:]),
    "phone digit missing": changed("phones", lambda p: p[:-1]),
    "phone digit added": changed("phones", lambda p: p + "7"),
    "phone of another country": changed("phones", lambda p: "+49" + p[-9:]),
    "phone's end alone": changed("phones", lambda p: p[-4:]),
    "date a day later": changed("dates", later(1)),
    "date a day earlier": changed("dates", later(-1)),
    "date a month later": changed("dates", later(31)),
    "date a year later": changed("dates", later(366)),
    "date of another century": changed("dates", lambda d: "19" + d[2:]),
    "date without year": changed("dates", lambda d: d[5:]),
    "day and month swapped": day_and_month,
    "keys swapped": keys_swapped,
    "half invented": half_invented,
    "stranger": stranger,
    "trap: partial date": trap("a partial date", "dates"),
    "trap: handle": trap("a handle", "emails"),
    "trap: time": trap("a time", "dates"),
    "trap: order number": trap("an order number", "phones"),
    "trap: room number": trap("a room number", "phones"),
    "trap: price": trap("a price", "phones"),
}  # fmt: skip
