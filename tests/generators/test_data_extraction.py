"""Traps of the data extraction family; expected values by hand, or from phonenumbers and dateparser."""

import json
import re
from datetime import date
from functools import cache
from itertools import product
from random import Random

import dateparser
import phonenumbers
import pytest

from basic_control.data.draw import draw
from basic_control.data.records import Item, Verdict
from basic_control.generators.data_extraction.data_extraction import (
    LEVELS,
    RUN,
    data_extraction,
    list_near_misses,
    reference,
    verify,
)
from basic_control.generators.data_extraction.entities import (
    DATE_FORMS,
    KINDS,
    REGIONS,
    draw_phone,
    normalise,
    read_date,
    read_phone,
    write_date,
)
from basic_control.generators.data_extraction.letters import correspondence
from tests.helpers.parity import entities

TEXT = (
    "The tram museum in the old depot would like to thank every component of its opening day. "
    "Write to Anna.Baker@kestrel.example.com or call (212) 555-0123 before March 14, 2025. "
    "The order number is 30289-47, news come from @tram_museum, and each 12 May is free."
)
EMAIL, PHONE, DAY = "anna.baker@kestrel.example.com", "+12125550123", "2025-03-14"
FACTS = {
    "emails": [EMAIL],
    "phones": [PHONE],
    "dates": [DAY],
    "region": "US",
    "language": "en",
    "text": TEXT,
    "written": ["Anna.Baker@kestrel.example.com", "(212) 555-0123", "March 14, 2025"],
    "distractors": {"30289-47": "an order number", "@tram_museum": "a handle", "12 May": "a partial date"},
}
ITEM = Item(prompt=TEXT, answer="", facts=FACTS)
RIGHT = {"emails": [EMAIL], "phones": [PHONE], "dates": [DAY]}


def judged(**changes: object) -> Verdict:
    """Judge a reply that is right but for the changes."""
    return verify(ITEM, json.dumps({**RIGHT, **changes}, ensure_ascii=False))


@cache
def drawn(language: str, level: str) -> list[Item]:
    return draw(data_extraction, level=level, language=language, seed=11, count=400)


every_cell = pytest.mark.parametrize(("language", "level"), list(product(("en", "ru"), LEVELS)))


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(RIGHT),
        f"```json\n{json.dumps(RIGHT, indent=2)}\n```",
        f"Here it is:\n{json.dumps(RIGHT)}\nI left {{curly}} things out.",
        json.dumps(RIGHT).replace("]", ", ]").replace("]}", "],}"),
        json.dumps(RIGHT).replace('"', "'"),
        json.dumps(RIGHT).replace('"', "“"),
        json.dumps(RIGHT).replace('"emails"', "emails"),
        json.dumps({"result": RIGHT}),
        'He said "go' + json.dumps(RIGHT),
        '{"emails": ["draft@example.com"]}\nNo, rather:\n' + json.dumps(RIGHT),
        json.dumps({k.upper(): v for k, v in RIGHT.items()}),
        json.dumps({**RIGHT, "note": "nothing else was found"}),
        json.dumps({"emails": EMAIL, "phones": PHONE, "dates": DAY}),
        json.dumps({"emails": [EMAIL, EMAIL.upper()], "phones": [PHONE, "212.555.0123"], "dates": [DAY]}),
    ],
    ids=[
        "bare", "fenced", "prose around", "trailing commas", "single quotes", "curly quotes", "bare key", "nested",
        "stray quote", "last object", "capital keys", "empty words under another key", "no lists", "said twice",
    ],
)  # fmt: skip
def test_the_right_set_passes_in_any_object(reply: str) -> None:
    assert verify(ITEM, reply) == Verdict(
        correct=True,
        reason="every entity and nothing else",
        details={"precision": 1.0, "recall": 1.0, "missing": [], "extra": [], "read": "object"},
    )


@pytest.mark.parametrize(
    "reply",
    [
        f"- {EMAIL}\n- (212) 555-0123\n- March 14, 2025",
        f"1. E-mail: {EMAIL}\n2. Phone: +1 212 555 0123\n3. Date: 2025-03-14",
        f"**E-mails:** {EMAIL}\n**Phones:** 212-555-0123\n**Dates:** 14th of March 2025",
        f"Emails:\n{EMAIL}\nPhones:\n1-212-555-0123\nDates:\n03/14/2025",
        f"I found three things in all.\n* {EMAIL}, 212.555.0123\n* 14 Mar 2025 (the deadline)",
    ],
)
def test_without_an_object_list_lines_count(reply: str) -> None:
    verdict = verify(ITEM, reply)
    assert (verdict.correct, verdict.details["read"]) == (True, "lines")


def test_prose_is_no_list() -> None:
    reply = f"You can write to {EMAIL} or call (212) 555-0123 until March 14, 2025."
    assert verify(ITEM, reply) == Verdict(
        correct=None,
        reason="no JSON object and no list",
        details={"precision": 0.0, "recall": 0.0, "missing": sorted([EMAIL, PHONE, DAY]), "extra": [], "read": ""},
    )


def test_an_object_goes_before_list_lines() -> None:
    assert verify(ITEM, f'- {EMAIL}\n- {PHONE}\n- {DAY}\n{{"emails": []}}').correct is False


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"phones": []}, "missed a phone"),
        ({"emails": None}, "missed an e-mail"),
        ({"dates": ["none"]}, "missed a date"),
        ({"phones": ["+1 212 555 0124"]}, "changed a phone"),
        ({"dates": ["2025-03-15"]}, "changed a date"),
        ({"dates": ["2025-02-30"]}, "changed a date"),
        ({"emails": [EMAIL, "info@kestrel.example.com"]}, "invented an e-mail"),
        ({"phones": [PHONE, "+44 20 7946 0123"]}, "invented a phone"),
        ({"dates": [DAY, "14 March 2026"]}, "invented a date"),
        ({"phones": [PHONE, "30289-47"]}, "extracted an order number"),
        ({"emails": [EMAIL, "@tram_museum"]}, "extracted a handle"),
        ({"dates": [DAY, "12 May"]}, "extracted a partial date"),
        ({"dates": [DAY, "12 May 2025"]}, "extracted a partial date"),
        ({"emails": [EMAIL, PHONE], "phones": []}, "wrong key"),
        ({"contacts": ["boss@kestrel.example.com"]}, "invented an e-mail"),
        ({"phones": ["212-555-0123 / 999-555-0199"]}, "changed a phone"),
        ({"dates": ["2025-03-14 to 2025-03-15"]}, "changed a date"),
        ({"dates": ["March 14"]}, "changed a date"),
    ],
)
def test_each_mistake_is_refused_by_its_name(changes: dict[str, object], reason: str) -> None:
    verdict = judged(**changes)
    assert (verdict.correct, verdict.reason) == (False, reason)


def test_wrong_keys_are_refused() -> None:
    for wrong in ({"contacts": [EMAIL], "numbers": [PHONE], "days": [DAY]}, {"люди": [EMAIL]}, {}):
        assert verify(ITEM, json.dumps(wrong)).reason == "wrong key"


def test_precision_and_recall_by_hand() -> None:
    """Of four values given two are right; of three expected two were found."""
    details = judged(phones=["+1 212 555 0124", "+1 212 555 0125"]).details
    assert (details["precision"], details["recall"]) == (0.5, 0.6667)
    assert details["missing"] == [PHONE]
    assert details["extra"] == ["+1 212 555 0124", "+1 212 555 0125"]


def test_an_echo_is_refused_even_with_the_right_set() -> None:
    echo = "the old depot would like to thank every"
    for reply in (TEXT, f"{TEXT}\n{json.dumps(RIGHT)}", f"{echo.upper()} {json.dumps(RIGHT)}"):
        assert verify(ITEM, reply).reason == "echoed the source"


def test_seven_words_or_eight_around_an_entity_are_no_echo() -> None:
    seven = "The old depot would like to thank\n"
    around = "Write to Anna.Baker@kestrel.example.com or call (212) 555-0123 before March 14, 2025\n"
    assert verify(ITEM, seven + json.dumps(RIGHT)).correct is True
    assert verify(ITEM, around + json.dumps(RIGHT)).correct is True


def test_an_echo_as_list_lines_is_refused() -> None:
    assert verify(ITEM, "\n".join(f"- {part}" for part in TEXT.split(". "))).reason == "echoed the source"


@pytest.mark.parametrize(
    "written",
    [
        "(212) 555-0123", "212-555-0123", "212.555.0123", "+1 212 555 0123", "+1 (212) 555-0123", "1-212-555-0123",
        "+12125550123", "2125550123", "tel:+1-212-555-0123", "212‑555‑0123", "２１２-555-0123",
        " +1 212 555 0123. ",
    ],
)  # fmt: skip
def test_every_notation_of_a_phone_is_the_same_number(written: str) -> None:
    assert judged(phones=[written]).correct is True


def test_a_phone_given_as_a_json_number_is_read() -> None:
    assert verify(ITEM, json.dumps(RIGHT).replace(f'"{PHONE}"', "12125550123")).correct is True


@pytest.mark.parametrize(
    "written",
    [
        "2025-03-14", "2025/03/14", "March 14, 2025", "Mar. 14, 2025", "14 March 2025", "14th March 2025",
        "the 14th of March, 2025", "03/14/2025", "14.03.2025", "3/14/25", "Friday, March 14th, 2025",
        "2025-03-14T00:00:00Z", "14-Mar-2025", "2025 March 14", "14 марта 2025 г.",
    ],
)  # fmt: skip
def test_every_notation_of_a_date_is_the_same_day(written: str) -> None:
    assert judged(dates=[written]).correct is True


def test_digits_are_read_in_the_order_of_the_region() -> None:
    for region, expected in (("US", "2025-03-04"), ("GB", "2025-04-03"), ("RU", "2025-04-03")):
        assert read_date("03/04/2025", region, "en") == expected


@pytest.mark.parametrize(
    "written",
    [EMAIL.upper(), f"mailto:{EMAIL}", f"Anna Baker <{EMAIL}>", f"<{EMAIL}>", f"{EMAIL}.", f" {EMAIL} "],
)
def test_an_address_is_read_without_its_wrapping(written: str) -> None:
    assert judged(emails=[written]).correct is True


@pytest.mark.parametrize("written", [f"{EMAIL}, x@y.zz", "anna baker@kestrel.example.com", f"x{EMAIL}", EMAIL[:-1]])
def test_an_address_that_differs_is_another_one(written: str) -> None:
    assert judged(emails=[written]).correct is False


@pytest.mark.parametrize("region", sorted(REGIONS))
def test_every_form_of_a_phone_is_a_valid_number_for_phonenumbers(region: str) -> None:
    """And our own reading of the written form agrees with phonenumbers'."""
    rng, areas = Random(5), set()
    abroad = [one.abroad for one in REGIONS.values()]
    forms = [*REGIONS[region].phones, *(form for other, form in abroad if other == region)]
    for form in forms * 60:
        groups = draw_phone(rng, region)
        areas.add(groups[0])
        written, normal = form % groups, REGIONS[region].code + "".join(groups)
        number = phonenumbers.parse(written, region)
        assert phonenumbers.is_valid_number(number), written
        assert phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164) == normal
        assert read_phone(normalise(written), region) == normal
        for home in REGIONS if "+" in written else ():
            assert read_phone(normalise(written), home) == normal
    assert len(areas) == len({area.split(" ")[0] for area in REGIONS[region].areas})


@pytest.mark.parametrize("region", sorted(DATE_FORMS))
def test_every_form_of_a_date_reads_back_and_can_be_read_one_way_only(region: str) -> None:
    """dateparser, told either order of day and month, comes to the same day (in Russian: day first is the rule)."""
    language = "ru" if region in {"RU", "ru"} else "en"
    orders = ("DMY",) if region == "RU" else ("DMY", "MDY")
    home = {"en": "RU", "ru": "US"}.get(region, region)  # a form for any region, in a text from another one
    for year, month, day in product((2019, 2031), range(1, 13), (1, 2, 3, 11, 12, 13, 21, 22, 28)):
        forms = len(DATE_FORMS[region][day > 12])
        for form in range(forms):
            written = write_date((year, month, day), region, language, (form + 0.5) / forms)
            assert read_date(normalise(written), home, language) == date(year, month, day).isoformat(), written
            if month in (2, 9) and year == 2031 and "«" not in written:
                for order in orders:
                    settings = {"DATE_ORDER": order, "REQUIRE_PARTS": ["day", "month", "year"]}
                    read = dateparser.parse(written, languages=[language], settings=settings)
                    assert read, written
                    assert read.date() == date(year, month, day), written


@every_cell
def test_a_text_holds_exactly_its_entities(language: str, level: str) -> None:
    """By phonenumbers' own matcher, an e-mail pattern, and the dates with a year in the text."""
    for item in drawn(language, level):
        facts = item.facts
        text, region = facts["text"], facts["region"]
        assert item.prompt.count(text) == 1
        assert all(written in text for written in facts["written"])
        assert entities(text, region) == {kind: facts[kind] for kind in KINDS}, text
        assert ".." not in text
        assert "{" not in text


@every_cell
def test_sizes_are_those_of_the_level(language: str, level: str) -> None:
    size = LEVELS[level]
    for item in drawn(language, level):
        count = sum(len(item.facts[kind]) for kind in KINDS)
        assert size["minimum"] <= count <= size["maximum"]
        assert sum(bool(item.facts[kind]) for kind in KINDS) >= 2
        assert len(item.facts["distractors"]) == size["distractors"]
        assert json.loads(item.answer) == {kind: item.facts[kind] for kind in KINDS}


@every_cell
def test_no_sentence_comes_twice(language: str, level: str) -> None:
    """With its entity taken out, no sentence of a text is like another."""
    for item in drawn(language, level):
        text = item.facts["text"]
        for written in sorted(item.facts["written"], key=len, reverse=True):
            text = text.replace(written, "")
        sentences = [part.strip(" -") for part in re.split(r"[.?!]\s", text) if len(part) > 25]
        named = r"[A-ZА-ЯЁ]\w+ [A-ZА-ЯЁ]\w+"
        plain = [re.sub(named, "", sentence) for sentence in sentences]
        assert len(set(plain)) == len(plain), text


@every_cell
def test_the_text_alone_is_an_echo(language: str, level: str) -> None:
    """Every opening and closing has a run of eight words without an entity."""
    for item in drawn(language, level)[:100]:
        assert verify(item, item.facts["text"]).reason == "echoed the source"
    words = correspondence(language)
    for sentence in (*words.closings, *(opening for s in words.scenarios for opening in s.openings)):
        assert len(re.findall(r"\w+", sentence)) >= RUN, sentence


@every_cell
def test_written_forms_as_copied_from_the_text_pass(language: str, level: str) -> None:
    """A model need not normalise: entities as they stand in the text are right."""
    for item in drawn(language, level)[:150]:
        reply: dict[str, list[str]] = {"emails": [], "phones": [], "dates": []}
        for written in item.facts["written"]:
            dated = read_date(normalise(written), item.facts["region"], language)
            reply["emails" if "@" in written else "dates" if dated else "phones"].append(written)
        assert verify(item, json.dumps(reply)).correct is True, (reply, item.facts)
        assert verify(item, "\n".join(f"- {written}" for written in item.facts["written"])).correct is True
        assert verify(item, reference(item)).correct is True


@every_cell
def test_near_misses_are_refused(language: str, level: str) -> None:
    for item in drawn(language, level)[:60]:
        for reply in list_near_misses(item):
            assert verify(item, reply).correct is False, reply


def test_phones_without_a_code_are_of_the_region_that_the_prompt_names() -> None:
    named = {"US": "are US numbers", "GB": "are UK numbers", "RU": "российские"}
    found = set()
    for language in data_extraction.languages:
        for item in drawn(language, "easy"):
            found.add(item.facts["region"])
            assert named[item.facts["region"]] in item.prompt
    assert found == set(named)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "{" * 200_000,
        "{}" * 100_000,
        '{"a":' * 40_000,
        '{"a":' * 20_000 + "1" + "}" * 20_000,
        '{"emails":' + "[" * 200_000,
        '\\"' * 100_000,
        '{"emails": ["' + "a" * 200_000,
        '{"emails": [' + ", " * 20_000 + "]}",
        '{"phones": [' + "9" * 40_000 + "]}",
        '{"dates": ["' + '", "'.join(f"{1 + n % 28} marzec {1900 + n}" for n in range(2000)) + '"]}',
        "- 15 March 2025\n" * 12_000,
        ("- " + "a@a." * 70 + "\n") * 700,
        "1\n" * 100_000,
    ],
    ids=[
        "open braces", "pairs", "open objects", "nested objects", "open arrays", "escaped quotes", "open string",
        "commas", "digits", "fake dates", "date lines", "address lines", "short lines",
    ],
)  # fmt: skip
def test_hostile_texts_end_soon_and_do_not_pass(text: str) -> None:
    assert verify(ITEM, text).correct is not True
    assert verify(ITEM, f"{text}\n{json.dumps({**RIGHT, 'dates': []})}").correct is not True


def test_details_can_be_stored_whatever_the_reply_holds() -> None:
    """A lone surrogate, which JSON can spell, has no UTF-8; long values are cut."""
    details = verify(
        ITEM, '{"emails": ["\\ud800@x.com"], "phones": ["' + "5" * 5000 + '"], "dates": ["\\udfff"]}'
    ).details
    assert len(json.dumps(details, ensure_ascii=False).encode()) < 1000


def test_in_russian_the_day_comes_first_whatever_the_region() -> None:
    assert read_date("05.03.2024", "US", "ru") == "2024-03-05"
    twin = Item(prompt=TEXT, answer="", facts={**FACTS, "language": "ru", "dates": ["2024-03-05"]})
    assert verify(twin, json.dumps({**RIGHT, "dates": ["05.03.2024"]})).correct is True
    lines = f"- {EMAIL}\n- {PHONE}\n- 05.03.2024"
    assert verify(twin, lines).correct is True
