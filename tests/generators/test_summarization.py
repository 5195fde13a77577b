"""Traps of the summarization family, each by name; the grammar of its texts; expected values by hand."""

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import product
from string import Formatter

import pymorphy3
import pytest
from rapidfuzz.distance import Indel

from basic_control.data.draw import draw
from basic_control.data.records import Item
from basic_control.generators.summarization.summarization import (
    LEVELS,
    Topic,
    list_near_misses,
    normalise,
    summarization,
    texts,
    verify,
)

KEY = "The town will close its “old” bridge from May."
SENTENCES = [
    "Barriers will go up in the first week of April.",
    KEY,
    "A gravel firm, for example, will have to use the motorway.",
    "Lovers tie ribbons to the railing.",
    "It is vital, says the sign, that nobody feeds the swans.",
]
ITEM = Item(
    prompt=" ".join(SENTENCES),
    answer=KEY,
    facts={"sentences": SENTENCES, "roles": ["detail", "key", "example", "aside", "loud"], "key": 1},
)

every_cell = pytest.mark.parametrize(("language", "level"), list(product(("en", "ru"), LEVELS)))
every_topic = pytest.mark.parametrize(
    ("language", "topic"),
    [*(("en", topic) for topic in texts("en").topics), *(("ru", topic) for topic in texts("ru").topics)],
    ids=lambda value: value.name if isinstance(value, Topic) else value,
)


@cache
def drawn(language: str, level: str) -> list[Item]:
    return draw(summarization, level=level, language=language, seed=4, count=1500)


def reason(reply: str) -> str:
    verdict = verify(ITEM, reply)
    assert verdict.correct is False
    return verdict.reason


@pytest.mark.parametrize(
    "reply",
    [
        KEY,
        KEY.rstrip("."),
        KEY.replace(".", "!"),
        'The town will close its "old" bridge from May',
        "The town will close its «old» bridge from May.",
        f"«{KEY}»",
        f"**{KEY}**",
        f"The most important sentence is:\n\n> {KEY}\n\nIt states the decision.",
        "The  town will close\n its “old” bridge\tfrom\u00a0May.",
        f"{KEY.rstrip('.')}\nThis is the decision.",
        f'"{KEY.rstrip(".")}", because it states the decision.',
        f"{KEY} {KEY}",
    ],
    ids=[
        "as it stands", "no full stop", "other final mark", "straight quotes", "other quotes", "quoted", "bold",
        "prose around", "white space", "no full stop, then a line", "quoted in a sentence", "said twice",
    ],
)  # fmt: skip
def test_the_key_sentence_passes(reply: str) -> None:
    verdict = verify(ITEM, reply)
    assert (verdict.correct, verdict.reason) == (True, "the key sentence")


def lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def escaped(sentence: str) -> str:
    return json.dumps({"summary": sentence})


def split_bold(sentence: str) -> str:
    first, second, rest = sentence.split(" ", 2)
    return f"**{first} {second}** {rest}"


STYLES = [
    split_bold,
    escaped,
    lambda key: json.dumps({"summary": key}, ensure_ascii=False),
    lambda key: f"The most important sentence says that {lowered(key)}",
    lambda key: f"Главное здесь то, что {lowered(key)}",
    lambda key: key.replace("ё", "е").replace("Ё", "Е"),
    lambda key: f"**{key.rstrip('.')}** is the sentence that matters.",
    lambda key: f"*{key}*\n\nLet me know if you need anything else!",
    lambda key: f"__{key}__",
    lambda key: f"`{key}`",
    lambda key: "> " + key.replace(" ", "\n> ", 3),
    lambda key: f"<b>{key[:7]}</b>{key[7:]}",
    lambda key: f"Конечно! Вот самое важное предложение:\n\n«{key}»\n\nЕсли нужно, поясню выбор.",
    lambda key: f"1. {key}",
    lambda key: key.translate(str.maketrans("«»“”", "''''")),
    lambda key: f"```\n{key}\n```",
    lambda key: f"\\boxed{{\\text{{{key}}}}}",
]


@every_cell
@pytest.mark.parametrize("style", STYLES)
def test_a_copy_passes_however_it_is_dressed_and_hides_no_second_sentence(
    style: Callable[[str], str], language: str, level: str
) -> None:
    for item in drawn(language, level)[:12]:
        sentences = list(item.facts["sentences"])
        key = sentences.pop(item.facts["key"])
        assert verify(item, style(key)).correct is True, style(key)
        for other in sentences:
            assert verify(item, style(other)).correct is False, style(other)
            assert verify(item, f"{key}\n\n{style(other)}").correct is False, style(other)
        assert verify(item, style(key.rsplit(" ", 1)[0])).correct is False
        assert verify(item, style(key.title())).correct is False


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (SENTENCES[0], "chose a detail"),
        (SENTENCES[2], "chose an example"),
        (f"I choose: {SENTENCES[3]}", "chose an aside"),
        (SENTENCES[4], "chose a loud trifle"),
        (f"{SENTENCES[0]} {SENTENCES[3]}", "chose several sentences"),
        (" ".join(SENTENCES), "copied the whole paragraph"),
        ("\n".join(f"{n}. {sentence}" for n, sentence in enumerate(SENTENCES, 1)), "copied the whole paragraph"),
        (f"{KEY} {SENTENCES[2]}", "added an example"),
        (f"{KEY} {SENTENCES[3].upper()}", "added an aside"),
        (f"{SENTENCES[0].rstrip('.')}, and: {KEY}", "added a detail"),
        (KEY.replace("close", "shut"), "changed the key sentence"),
        (KEY.title(), "changed the key sentence"),
        (KEY.replace("May.", "Mayor."), "changed the key sentence"),
        (f"X{KEY}", "changed the key sentence"),
        (KEY.replace("May.", "May only at night."), "changed the key sentence"),
        (KEY.replace("May.", "May, but only at night."), "changed the key sentence"),
        ("close its “old” bridge from May", "cut the key sentence short"),
        (SENTENCES[3].replace("tie", "bind"), "changed an aside"),
        ("From May on, the old bridge of the town stays closed, since it is not safe.", "paraphrased"),
        ("I cannot say.", "none of the sentences"),
        ("2", "none of the sentences"),
    ],
)
def test_each_mistake_is_refused_by_its_name(reply: str, expected: str) -> None:
    assert reason(reply) == expected


@pytest.mark.parametrize("reply", ["", " \n\t\u00a0 "])
def test_nothing_is_no_answer(reply: str) -> None:
    assert verify(ITEM, reply).correct is None


def test_a_sentence_inside_a_longer_word_is_not_copied() -> None:
    """'… the railing' stands in '… the railings', but not at a word's end: only the key was copied."""
    reply = f"{KEY} Note: Lovers tie ribbons to the railings."
    assert verify(ITEM, reply).correct is True


def test_similarity_by_hand() -> None:
    """Indel similarity: twice the common letters in order over both lengths; 'May' against 'March' shares 'Ma'."""
    item = Item(
        prompt="", answer="", facts={"sentences": ["May.", "Unrelated."], "roles": ["key", "detail"], "key": 0}
    )
    assert verify(item, "March").details == {"similarity": round(2 * 2 / (3 + 5), 4)}
    assert verify(item, "«May»").details == {"similarity": 1.0}
    assert verify(item, "").details == {"similarity": 0.0}
    long = verify(ITEM, f"{KEY} It states the decision.").details["similarity"]
    said, key = normalise(f"{KEY} It states the decision"), normalise(KEY).rstrip(".")
    assert long == round(Indel.normalized_similarity(said, key), 4)
    assert 0.5 < long < 1.0


@every_cell
def test_a_paragraph_is_what_its_level_says(language: str, level: str) -> None:
    size = LEVELS[level]
    for item in drawn(language, level):
        sentences, roles, key = item.facts["sentences"], item.facts["roles"], item.facts["key"]
        assert size["minimum"] <= len(sentences) <= size["maximum"]
        assert len(set(sentences)) == len(sentences)
        assert (roles.count("key"), roles[key], sentences[key]) == (1, "key", item.answer)
        assert roles.count("loud") == size["loud"]
        assert roles.count("detail") >= 1
        assert roles[0] in {"key", "detail"}, "nothing opens with an example or an aside"
        assert f"\n{' '.join(sentences)}\n" in item.prompt
        assert "{" not in item.prompt


@every_cell
def test_the_key_stands_anywhere_alike(language: str, level: str) -> None:
    """Among paragraphs of the largest size each place comes up as often: within five standard deviations."""
    most = LEVELS[level]["maximum"]
    places = Counter(item.facts["key"] for item in drawn(language, level) if len(item.facts["sentences"]) == most)
    total, share = places.total(), 1 / most
    for place in range(most):
        assert abs(places[place] - total * share) < 5 * (total * share * (1 - share)) ** 0.5


@every_cell
def test_near_misses_are_refused_and_the_reference_is_not(language: str, level: str) -> None:
    for item in drawn(language, level)[:150]:
        assert verify(item, item.answer).correct is True
        assert verify(item, normalise(item.answer).rstrip(".")).correct is True
        for reply in list_near_misses(item):
            assert verify(item, reply).correct is False, reply


def test_there_are_thirty_topics_and_more_the_same_in_both_languages() -> None:
    names = [topic.name for topic in texts("en").topics]
    assert len(set(names)) == len(names) >= 30
    assert names == [topic.name for topic in texts("ru").topics]


@every_topic
def test_no_sentence_of_a_topic_stands_in_another(language: str, topic: Topic) -> None:
    """None is a prefix or a part of another, in any case; each begins with a capital and has one full stop."""
    slots = {"en": {"town", "month", "n", "k"}, "ru": {"town", "of", "at", "by", "during", "n", "k"}}[language]
    sentences = [topic.key, *topic.details, topic.example, topic.aside, *topic.loud]
    for sentence in sentences:
        assert {name for _, name, _, _ in Formatter().parse(sentence) if name} <= slots
        assert re.fullmatch(r"(?:[A-ZА-ЯЁ]|\{town\}).+[^.!?]\.", sentence)
        assert not re.search(r"[.!?] ", sentence), "one sentence each"
        assert sum(sentence.rstrip(".").lower() in other.lower() for other in sentences) == 1
    assert "{town}" in topic.key or "{of}" in topic.key or "{at}" in topic.key


def test_russian_towns_and_months_are_inflected_as_pymorphy_does() -> None:
    morph = pymorphy3.MorphAnalyzer()

    def forms(word: str, case: str, tag: str) -> set[str]:
        found = {
            f.word for p in morph.parse(word) if tag in p.tag and "nomn" in p.tag for f in [p.inflect({case})] if f
        }
        return {form.replace("ё", "е") for form in found}

    for town in texts("ru").towns:
        assert town["of"].lower() in forms(town["town"].lower(), "gent", "NOUN"), town
        assert town["at"].lower() in forms(town["town"].lower(), "loct", "NOUN"), town
    names = "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь".split()  # noqa: SIM905 - reads better
    for name, month in zip(names, texts("ru").months, strict=True):
        assert month["by"] in forms(name, "gent", "NOUN")
        assert month["during"] in forms(name, "loct", "NOUN")


@pytest.mark.parametrize("topic", texts("ru").topics, ids=lambda topic: topic.name)
def test_a_russian_number_is_followed_by_the_right_case(topic: Topic) -> None:
    """After a number in 0 or 5: genitive plural; after 'в' of place and a number: prepositional plural."""
    morph = pymorphy3.MorphAnalyzer()
    for sentence in (topic.key, *topic.details, topic.example, topic.aside, *topic.loud):
        for before, after in re.findall(r"(\w+)? ?\{[nk]\} (\w+)", sentence):
            place = before == "в" and "обойд" not in sentence  # 'обойдётся в' asks for the accusative
            case = "loct" if place else "gent"
            assert any({case, "plur"} <= parse.tag.grammemes for parse in morph.parse(after)), sentence


@every_cell
def test_numbers_in_a_text_end_in_0_or_5(language: str, level: str) -> None:
    """So that the Russian word after them is in the genitive plural, whichever number was drawn."""
    for item in drawn(language, level)[:300]:
        for number in re.findall(r"\d+", " ".join(item.facts["sentences"])):
            assert int(number) % 5 == 0
            assert 15 <= int(number) <= 60


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["The town " * 110_000, KEY[:-5] * 25_000, "“" * 1_000_000, "x" * 1_000_000])
def test_a_megabyte_ends_soon_and_does_not_pass(text: str) -> None:
    assert verify(ITEM, text).correct is False
    assert verify(ITEM, f"{text}. {SENTENCES[0]} {KEY}").correct is False


@pytest.mark.parametrize(
    "form",
    [
        "It is false that {k}.", "Don't choose \"{K}\"", "“{K}” is not the key point.",
        "Anything but “{K}”", "No, “{K}” isn't it.",
        "I would not choose: {K}", "{K}? No.", "Неверно, что {k}.",
        "Не выбирайте «{K}»", "Нельзя сказать, что {k}.",
        "«{K}» — не главное.", "Самое важное предложение — не «{K}».",
    ],
)  # fmt: skip
def test_a_key_sentence_that_is_denied_is_refused(form: str) -> None:
    said = form.format(K=KEY.rstrip("."), k=lowered(KEY.rstrip(".")))
    assert verify(ITEM, said).correct is False


@pytest.mark.parametrize(
    "form",
    [
        "There is no doubt: {K}", "The key, not a detail, is “{K}”", "You can't miss it:\n\n{K}",
        "{K}\n\nIt is not a detail.",
        "Sure, no problem! {K}", "Главное, а не деталь: «{K}»", "I choose “{K}” since the others do not matter.",
    ],
)  # fmt: skip
def test_a_denial_of_something_else_does_no_harm(form: str) -> None:
    assert verify(ITEM, form.format(K=KEY)).correct is True


def test_capitals_throughout_are_accepted() -> None:
    assert verify(ITEM, KEY.upper()).correct is True
    assert verify(ITEM, f"ANSWER: {KEY.upper()} IT IS THE POINT.").correct is True
    assert verify(ITEM, KEY.upper().replace("MAY.", "MAY ONLY")).correct is False
