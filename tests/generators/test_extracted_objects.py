"""JSON as models write it: comments, types, cut objects; and what stands beside it."""

import json

import pytest

from data.draw import draw
from data.records import Item
from generators.data_extraction.data_extraction import LEVELS, UNIT, verify
from generators.data_extraction.objects import find
from tests.helpers.bounds import bounded

EMAIL, PHONE, DAY = "anna.baker@kestrel.example.com", "+12125550123", "2025-03-14"
RIGHT = {"emails": [EMAIL], "phones": [PHONE], "dates": [DAY]}
ITEM = Item(
    prompt="Find all.",
    answer="",
    facts={
        **RIGHT, "region": "US", "language": "en", "text": "Write before March 14, 2025.", "written": [],
        "distractors": {},
    },
)  # fmt: skip
J = json.dumps(RIGHT, indent=2)
TYPED = [
    {"type": "email", "value": EMAIL},
    {"type": "phone", "value": "(212) 555-0123"},
    {"type": "date", "value": "March 14, 2025"},
]
READ = [
    J,
    J.replace("[\n", "[ // the list\n"),
    J.replace('"phones"', '/* calls */ "phones"'),
    J.replace("\n", " # note\n", 1),
    J.replace("\n  ]", ",\n  ]"),
    json.dumps(TYPED),
    json.dumps({"entities": TYPED}),
    f'{{"emails": ["{EMAIL}"]}}\n{{"phones": ["{PHONE}"]}}\n{{"dates": ["{DAY}"]}}',
    json.dumps({"email": EMAIL, "phone number": [PHONE], "Date": [DAY]}),
    json.dumps({"адреса электронной почты": [EMAIL], "Телефоны": [PHONE], "дата": DAY}, ensure_ascii=False),
    json.dumps({"email_1": EMAIL, "phone_1": PHONE, "date_1": DAY}),
    json.dumps({**RIGHT, "emails": {"1": EMAIL}, "dates": {"1": {"year": 2025, "month": "March", "day": "14"}}}),
    json.dumps({**RIGHT, "phones": ["0012125550123"], "dates": [{"day": 14, "month": 3, "year": 2025}]}),
    json.dumps([{"email": EMAIL}, {"phone": "011 1 (212) 555-0123"}, {"date": DAY}]),
    "\n".join(map(json.dumps, TYPED)),
    json.dumps(
        [
            {"type": "EMAIL", "text": EMAIL},
            {"type": "PHONE_NUMBER", "text": PHONE},
            {"type": "DATE", "text": "20250314"},
        ]
    ),
    json.dumps({**RIGHT, "dates": ["20250314"]}),
    json.dumps({**RIGHT, "dates": [20250314]}),
    json.dumps({**RIGHT, "dates": ["20250314T100000Z"]}),
    "- 20250314\n- " + EMAIL + "\n- " + PHONE,
    "[\n" + J + "\n]",
    J.replace('"', "'"),
    J.replace("null", "None"),
    "Here are the entities:\n\n```json\n" + J + "\n```\n\nLet me know if you need [anything] {else}!",
    f"Emails: {EMAIL}\nPhones: {PHONE}\nDates: {DAY}",
    f"**Emails (1):**\n- {EMAIL}\n\n**Phones (1):**\n- {PHONE}\n\n**Dates (1):**\n- {DAY}\n\nTotal: 3",
    f"Email 1: {EMAIL}\nPhone 1: {PHONE}\nDate 1: {DAY}",
    f"- Email 1: {EMAIL}\n- Phone 1: {PHONE}\n- Date 1: {DAY}",
    f"| Type | Value |\n|---|---|\n| Email | {EMAIL} |\n| Phone | {PHONE} |\n| Date | {DAY} |",
    f"📧 {EMAIL}\n📞 {PHONE}\n📅 {DAY}",
    f"- [{EMAIL}](mailto:{EMAIL})\n- {PHONE}\n- {DAY}",
    json.dumps({**RIGHT, "emails": [f"[{EMAIL}](mailto:{EMAIL})"]}),
    json.dumps(
        {
            "emails": [{"value": EMAIL, "note": "museum"}],
            "phones": [{"number": PHONE, "type": "office"}],
            "dates": [{"date": DAY, "context": "the opening"}],
        }
    ),
    J.replace(',\n  "phones"', '\n  "phones"'),
    '{emails: ["' + EMAIL + '"], phones: ["' + PHONE + '"], dates: ["' + DAY + '"]}',
    json.dumps({**RIGHT, "note": "see http://example.com // {"}),
    f"E-mail: {EMAIL}\nТелефоны: {PHONE}\nДаты: {DAY}",
    f"1. **{EMAIL}**\n2. **{PHONE}**\n3. **{DAY}**",
    "<think>{</think>" + J,
    json.dumps({"result": [RIGHT]}),
    json.dumps({"emails": EMAIL, "phones": f"{PHONE}, 212-555-0123", "dates": f"{DAY}; March 14, 2025"}),
    'The format is {"emails": [...], "phones": [...], "dates": [...]}.\n' + J,
    J + '\nI used {"emails": [...]} as asked.',
    J.replace("{", "{ // here\n", 1) + " // done",
]
REFUSED = [
    J[:-1],
    J[:-4],
    J[: len(J) // 2],
    J[:-1] + "\n```",
    f'{{"emails": ["{EMAIL}"],\n"phones": ["{PHONE}"],\n"dates": ["{DAY}", "2024-01-01',
    f'{{"emails": ["{EMAIL}"],\n"phones": ["{PHONE}"],\n"dates": ["{DAY}"',
    "```json\n" + J[:-3] + "\n```",
    json.dumps(TYPED)[:-1],
    json.dumps(TYPED)[:-5],
    json.dumps({"entities": TYPED})[:-1],
    json.dumps({"result": RIGHT})[:-1],
    J + "\n\nNo, rather:\n" + J[:-5],
    json.dumps([*TYPED, {"type": "date", "value": "2024-01-01"}]),
    json.dumps(TYPED[:2]),
    f'{{"emails": ["{EMAIL}"]}}\n{{"phones": ["{PHONE}"]}}\n{{"dates": []}}',
    json.dumps({"email": EMAIL, "phone": PHONE, "date": "2025-03-15"}),
    json.dumps({**RIGHT, "dates": [{"year": 2025, "month": 3, "day": 15}]}),
    json.dumps({**RIGHT, "phones": ["0072125550123"]}),
    json.dumps([{**TYPED[0], "type": "phone"}, *TYPED[1:]]),
    json.dumps({**RIGHT, "dates": ["20250315"]}),
    json.dumps({**RIGHT, "dates": ["20250314", "20240101"]}),
    json.dumps({**RIGHT, "emails": []}),
    f"- {EMAIL}\n- {PHONE}",
    f"- {EMAIL}\n- {PHONE}\n- {DAY}\n- 2024-01-01",
    f"- {EMAIL}\n- {PHONE}\n- {DAY}\n- 12 May",
    f"- {EMAIL}\n- {PHONE}\n- {DAY}\n- 30289-47",
    "I cannot.",
    "",
    '{"emails": ["' + EMAIL + '"], // "phones": ["' + PHONE + '"],\n"dates": ["' + DAY + '"]}',
    J.replace(EMAIL, "anna.baker@kestrel.example.org"),
    f'{{"emails": ["{EMAIL}", "b@c.com"], "phones": ["{PHONE}"], "dates": ["{DAY}"]}}',
    f"Emails: {EMAIL}\nPhones: {PHONE}\nDates: {DAY}, 2024-01-01",
    f'"emails": ["{EMAIL}"],\n"phones": ["{PHONE}"],\n"dates": ["{DAY}", "2024-0',
    f'[\n"{EMAIL}",\n"{PHONE}",\n"{DAY}",\n"2024-',
]


@pytest.mark.parametrize("reply", READ)
def test_the_right_set_is_read_in_every_dress(reply: str) -> None:
    assert verify(ITEM, reply).correct is True


@pytest.mark.parametrize("reply", REFUSED)
def test_what_is_cut_off_or_another_set_is_refused(reply: str) -> None:
    assert verify(ITEM, reply).correct is not True


@pytest.mark.parametrize("language", UNIT.languages)
@pytest.mark.parametrize("level", LEVELS)
def test_an_object_cut_off_anywhere_is_no_answer(language: str, level: str) -> None:
    """Also in a fence that is closed, pretty-printed, with the entities one a line, and after a whole draft."""
    for item in draw(UNIT, level=level, language=language, seed=5, count=25):
        pretty = json.dumps(json.loads(item.answer), indent=2)
        for text in (item.answer, pretty):
            for end in range(1, len(text), 3):
                cut = text[:end]
                for reply in (cut, f"```json\n{cut}\n```", f"{text}\nNo, rather:\n{cut}"):
                    found = verify(item, reply)
                    assert (found.correct, found.reason) == (None, "the JSON object is cut off"), reply


@pytest.mark.parametrize("language", UNIT.languages)
@pytest.mark.parametrize("level", LEVELS)
def test_types_comments_and_compact_dates_change_nothing(language: str, level: str) -> None:
    for item in draw(UNIT, level=level, language=language, seed=5, count=60):
        facts = item.facts
        compact = [day.replace("-", "") for day in facts["dates"]]
        typed = [
            {"type": kind, "value": value}
            for kind, values in (("email", facts["emails"]), ("phone", facts["phones"]), ("date", compact))
            for value in values
        ]
        commented = item.answer.replace('"phones"', '// their phones {\n"phones"').replace("]}", "],} # all")
        for reply in (json.dumps(typed), json.dumps({"entities": typed}, indent=1), commented):
            assert verify(item, reply).correct is True, reply
        for wrong in (typed[1:], [*typed, {"type": "date", "value": "19990101"}]):
            assert verify(item, json.dumps(wrong)).correct is False


UNITS = (
    "{",
    "[",
    '{"a":',
    "{/*",
    '{"',
    "{“",
    "{'",
    '{"\\',
    '{"type":"email","value":"a@b.c"}\n',
    "{#",
    "{a:",
    '["a",',
)


@pytest.mark.parametrize("unit", UNITS)
def test_a_megabyte_is_read_in_little_time(unit: str) -> None:
    with bounded(15):  # takes a few seconds at most; a quadratic scan takes hours
        assert verify(ITEM, unit * (1_000_000 // len(unit))).correct is not True


def test_objects_are_found_in_order_and_outermost() -> None:
    text = 'a {"x": {"y": 1}} b {not json {"z": [1, 2,],} } c'
    assert find(text) == ([{"x": {"y": "1"}}, {"z": ["1", "2"]}], False, False)
    assert find('{"x": 1} {"y": [2') == ([{"x": "1"}], True, True)
    assert find("{x: [1 2] // no } here\n} [ ] {so} it [goes") == ([{"x": ["1", "2"]}, []], False, False)
