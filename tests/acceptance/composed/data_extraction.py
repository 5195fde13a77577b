"""Replies with the addresses, numbers and dates found in a text: as JSON, as lists, and spoilt."""

import json
import re
from collections.abc import Mapping
from random import Random

from data.records import Item
from tests.acceptance.composed.common import ECHOES, EMPTY, Style, Template, by_language, styles
from tests.acceptance.composed.entities import (
    FORMS,
    KINDS,
    SINGULAR,
    SLIPS,
    TITLES,
    Found,
    as_written,
    expected,
    one,
)


def titled(found: Found, language: str, head: str, bullet: str) -> str:
    """Write lists under headings; a kind without entities has none."""
    parts = []
    for kind, texts in found.items():
        if texts:
            title = TITLES[kind][language == "ru"]
            lines = [f"{bullet.replace('1', str(number))}{text}" for number, text in enumerate(texts, 1)]
            parts.append("\n".join([head.replace("?", title), *lines]))
    return "\n\n".join(parts)


def typed(found: Found) -> list[dict[str, str]]:
    return [{"type": SINGULAR[kind], "value": text} for kind, texts in found.items() for text in texts]


def with_comments(found: Found) -> str:
    lines = [f'  "{kind}": {json.dumps(texts)}, // {len(texts)} in all' for kind, texts in found.items()]
    return "{\n" + "\n".join(lines) + "\n}"


def with_block_comments(found: Found) -> str:
    lines = [f'  /* "{kind}": [...] */\n  "{kind}": {json.dumps(texts)}' for kind, texts in found.items()]
    return "{\n" + ",\n".join(lines) + "\n}"


def with_trailing_commas(found: Found) -> str:
    lists = {kind: "".join(json.dumps(text) + ", " for text in texts) for kind, texts in found.items()}
    return "{" + "".join(f'"{kind}": [{texts}],' for kind, texts in lists.items()) + "}"


def words(item: Item, found: Found, other: Found) -> dict[str, str]:
    """Say what the templates' letters stand for: %j JSON in forms, %l lists in forms, %w other JSON."""
    flat = [text for texts in found.values() for text in texts]
    english = item.language != "ru"
    names = {"emails": "Email", "phones": "Phone", "dates": "Date"} if english else {
        "emails": "Почта", "phones": "Телефон", "dates": "Дата",
    }  # fmt: skip
    labelled = [(names[kind], text) for kind, texts in found.items() for text in texts]
    return {
        "j": json.dumps(found, ensure_ascii=False),
        "i": json.dumps(found, ensure_ascii=False, indent=2),
        "J": json.dumps(found, ensure_ascii=False, separators=(",", ":")),
        "k": json.dumps(dict(reversed(found.items())), ensure_ascii=False),
        "u": re.sub(r"[@+/]", lambda match: f"\\u{ord(match[0]):04x}", json.dumps(found)),
        "c": with_comments(found),
        "C": with_block_comments(found),
        "t": with_trailing_commas(found),
        "y": json.dumps(typed(found), ensure_ascii=False),
        "Y": json.dumps(typed(found), ensure_ascii=False, indent=2),
        "w": json.dumps(other, ensure_ascii=False),
        "m": "\n".join(f"- {text}" for text in flat),
        "a": "\n".join(f"* {text}" for text in flat),
        "o": "\n".join(f"• {text}" for text in flat),
        "n": "\n".join(f"{number}. {text}" for number, text in enumerate(flat, 1)),
        "q": "\n".join(f"- `{text}`" for text in flat),
        "b": "\n".join(f"- **{text}**" for text in flat),
        "e": "\n".join(f"- {name}: {text}" for name, text in labelled),
        "f": "\n".join(f"- **{name}:** {text}" for name, text in labelled),
        "s": titled(found, item.language, "?:", "- "),
        "h": titled(found, item.language, "**?:**", "* "),
        "g": titled(found, item.language, "### ?", "1. "),
    }


# %j, %i, %J, ... as `words` gives them; %w is JSON of other entities.
REPLIES: Mapping[str, Template] = {
    "json": "%j",
    "json indented": "%i",
    "json compact": "%J",
    "json keys reversed": "%k",
    "json escapes": "%u",
    "json comments": "%c",
    "json trailing commas": "%t",
    "json blank lines": "\n\n%i\n\n",
    "json fence": "```json\n%i\n```",
    "json fence upper": "```JSON\n%j\n```",
    "json bare fence": "```\n%i\n```",
    "json one-line fence": "```json\n%j\n```\n",
    "json fence comments": "```json\n%c\n```",
    "json fence trailing commas": "```json\n%t\n```",
    "json labelled": ("Result: %j", "Результат: %j"),
    "json answer": ("ANSWER: %j", "ОТВЕТ: %j"),
    "json heading": ("### Result\n\n```json\n%i\n```", "### Результат\n\n```json\n%i\n```"),
    "json bold label": ("**Extracted data:**\n\n%i", "**Извлечённые данные:**\n\n%i"),
    "json chatty": (
        "Sure! Here is the JSON object:\n\n```json\n%i\n```\n\nLet me know if you need anything else! 😊",
        "Конечно! Вот JSON-объект:\n\n```json\n%i\n```\n\nЕсли нужно что-то ещё, обращайтесь! 😊",
    ),
    "json and note": (
        "%i\n\nNote: phone numbers were put into international form.",
        "%i\n\nПримечание: номера телефонов приведены к международному виду.",
    ),
    "json after lists": (
        "First I list what I see:\n\n%s\n\nAs JSON:\n\n%j",
        "Сначала перечислю найденное:\n\n%s\n\nВ виде JSON:\n\n%j",
    ),
    "json after template": (
        'The form is {"emails": [], "phones": [], "dates": []}.\n\n%j',
        'Вид ответа: {"emails": [], "phones": [], "dates": []}.\n\n%j',
    ),
    "json self-correction": (
        "%w\n\nWait, that is not right. Let me check again.\n\n%j",
        "%w\n\nСтоп, это неверно. Проверю ещё раз.\n\n%j",
    ),
    "json self-correction fences": (
        "```json\n%w\n```\n\nCorrected:\n\n```json\n%i\n```",
        "```json\n%w\n```\n\nИсправленный вариант:\n\n```json\n%i\n```",
    ),
    "json thinking": (
        "<think>\nLet me see. Maybe %w? No.\n</think>\n\n%j",
        "<think>\nПосмотрим. Может быть, %w? Нет.\n</think>\n\n%j",
    ),
    "json thinking's end": ("so that is all.\n</think>\n\n%j", "вот и всё.\n</think>\n\n%j"),
    "json quoted line": "> %j",
    "json and offer": ("%j\n\nShall I put the dates in another form?", "%j\n\nЗаписать даты в другом виде?"),
    "json after braces": ("The form is {emails, phones, dates}.\n\n%j", "Вид: {emails, phones, dates}.\n\n%j"),
    "json before braces": ("%j\n\nThe keys are {emails, phones, dates}.", "%j\n\nКлючи: {emails, phones, dates}."),
    "json block comments": "%C",
    "json carriage returns": "\r\n%j\r\n",
    "json html": "<pre>\n%j\n</pre>",
    "json end of text": "%j<|im_end|>",
    "json twice": "%j\n\n%j",
    "typed list": "%y",
    "typed list fence": "```json\n%Y\n```",
    "typed list chatty": ("Here you are:\n%Y", "Вот список:\n%Y"),
    "typed entities": '{"entities": %y}',
    "list hyphens": "%m",
    "list asterisks": "%a",
    "list bullets": "%o",
    "list numbers": "%n",
    "list code": "%q",
    "list bold": "%b",
    "list labelled": "%e",
    "list bold labels": "%f",
    "list sections": "%s",
    "list bold sections": "%h",
    "list headings": "%g",
    "list chatty": (
        "Here is what I found:\n\n%h\n\nLet me know if you need anything else!",
        "Вот что удалось найти:\n\n%h\n\nЕсли нужно что-то ещё, обращайтесь!",
    ),
    "list carriage returns": ("Found:\r\n\r\n%m\r\n", "Найдено:\r\n\r\n%m\r\n"),
}  # fmt: skip


def slipped(item: Item, rng: Random) -> Found:
    """Make one of the surest slips."""
    names = ["one missing", "email invented", "phone digit changed", "email letter changed", "date a day later"]
    made = [SLIPS[name](item, rng) for name in names]
    return rng.choice([found for found in made if found is not None])


def right_words(item: Item, rng: Random) -> Mapping[str, str]:
    return words(item, expected(item), slipped(item, rng))


def written_words(item: Item, _rng: Random) -> Mapping[str, str]:
    return words(item, as_written(item), expected(item))


def wrong_words(item: Item, rng: Random) -> Mapping[str, str]:
    return words(item, slipped(item, rng), expected(item))


def form(name: str) -> Style:
    return lambda item, rng: json.dumps(FORMS[name](item, rng), ensure_ascii=False)


def slip(name: str, indent: int | None = None) -> Style:
    def write(item: Item, rng: Random) -> str | None:
        found = SLIPS[name](item, rng)
        return None if found is None else json.dumps(found, ensure_ascii=False, indent=indent)

    return write


RIGHT: dict[str, Style] = {
    **styles(REPLIES, right_words),
    **styles({name: REPLIES[name] for name in ("list hyphens", "list numbers", "list bold sections", "typed list")},
             written_words, "as written: "),
    **{f"form: {name}": form(name) for name in FORMS},
}  # fmt: skip


def cut(item: Item, rng: Random) -> str:
    text = json.dumps(expected(item), ensure_ascii=False)
    return text[: rng.randrange(len(text) // 2, len(text))]


def cut_indented(item: Item, rng: Random) -> str:
    text = json.dumps(expected(item), ensure_ascii=False, indent=2)
    return "```json\n" + text[: rng.randrange(len(text) // 2, len(text))]


def cut_at_the_end(item: Item, _rng: Random) -> str:
    return json.dumps(expected(item), ensure_ascii=False, indent=2).rstrip("} \n")


def cut_before_the_brace(item: Item, _rng: Random) -> str:
    return json.dumps(expected(item), ensure_ascii=False)[:-1]


def commented_out(item: Item, _rng: Random) -> str:
    lines = [f'"{kind}": [/* {json.dumps(texts)[1:-1]} */]' for kind, texts in expected(item).items()]
    return "{" + ", ".join(lines) + "}"


def line_commented_out(item: Item, rng: Random) -> str:
    found = expected(item)
    place = one(found, rng)
    assert place is not None
    gone = found[place[0]].pop(place[1])
    return "{ // without " + json.dumps(gone) + "\n" + json.dumps(found, ensure_ascii=False)[1:]


def last_object_wrong(item: Item, rng: Random) -> str:
    return json.dumps(expected(item)) + "\n\n" + json.dumps(slipped(item, rng))


def hedged(item: Item, rng: Random) -> str:
    either, or_ = by_language(item, "Either", "Либо"), by_language(item, "or", "либо")
    return f"{either} {json.dumps(expected(item))}\n{or_} {json.dumps(slipped(item, rng))}"


def last_object_empty(item: Item, _rng: Random) -> str:
    return json.dumps(expected(item)) + '\n\n{"emails": [], "phones": [], "dates": []}'


def right_only_in_thought(item: Item, rng: Random) -> str:
    return f"<think>\n{json.dumps(expected(item))}\n</think>\n\n{json.dumps(slipped(item, rng))}"


def text_as_list(item: Item, _rng: Random) -> str:
    return "\n".join(f"- {line}" for line in re.split(r"(?<=[.!?])\s+", item.facts["text"]))


def text_alone(item: Item, _rng: Random) -> str:
    return str(item.facts["text"])


def text_and_json(item: Item, _rng: Random) -> str:
    return f"{item.facts['text']}\n\n{item.answer}"


def text_in_json(item: Item, _rng: Random) -> str:
    return json.dumps({kind: [item.facts["text"]] for kind in KINDS}, ensure_ascii=False)


def list_and_more(item: Item, rng: Random) -> str:
    return words(item, expected(item), slipped(item, rng))["m"] + "\n- office@lighthouse.example.org"


def list_cut(item: Item, rng: Random) -> str:
    return words(item, expected(item), slipped(item, rng))["m"][:-4]


SPOILT: tuple[Style, ...] = (
    cut, cut_indented, cut_at_the_end, cut_before_the_brace, commented_out, line_commented_out, last_object_wrong,
    hedged, last_object_empty, right_only_in_thought, text_as_list, text_alone, text_and_json, text_in_json,
    list_and_more, list_cut,
)  # fmt: skip

EMPTY_OBJECTS: Mapping[str, Template] = {
    "object empty": "{}",
    "list empty": "[]",
    "schema": '{"emails": ["string"], "phones": ["string"], "dates": ["string"]}',
    "schema dots": '{"emails": ["..."], "phones": ["..."], "dates": ["..."]}',
    "schema nulls": '{"emails": null, "phones": null, "dates": null}',
    "schema counts": '{"emails": 2, "phones": 1, "dates": 1}',
    "schema true": '{"emails": true, "phones": true, "dates": true}',
    "nothing there": ("There are no entities in the text.", "В тексте ничего такого нет."),
    "code": (
        "```python\nimport re\nemails = re.findall(r'\\S+@\\S+', text)\n```",
        "```python\nimport re\nphones = re.findall(r'\\+?\\d+', text)\n```",
    ),
    "breaks off at once": '```json\n{"emails": [',
    "headings alone": ("Emails:\n- \nPhones:\n- \nDates:\n- ", "Почта:\n- \nТелефоны:\n- \nДаты:\n- "),
}  # fmt: skip

WRONG: dict[str, Style] = {
    **styles(REPLIES, wrong_words, "wrong in: "),
    **{f"slip: {name}": slip(name) for name in SLIPS},
    **{f"slip indented: {name}": slip(name, 2) for name in ("one missing", "phone digit changed", "keys swapped")},
    **{style.__name__.replace("_", " "): style for style in SPOILT},
    **styles(EMPTY_OBJECTS, right_words),
    **EMPTY,
    **ECHOES,
}
