"""Instructions: each command and each kind of mistake, worked out by hand."""

import re

import pytest

from basic_control.data.draw import draw
from basic_control.data.records import Item
from basic_control.generators.instructions.instructions import carry_out, count_vowels, instructions, parts, verify


def item(text: str, commands: list[str], answer: str, language: str = "en") -> Item:
    return Item(prompt="", answer=answer, facts={"text": text, "commands": commands}, language=language)


@pytest.mark.parametrize(
    ("text", "commands", "expected"),
    [
        ("A red cat.", ["reverse"], ".tac der A"),
        ("A red cat.", ["count_vowels"], "A red cat. 3"),
        ("A red cat.", ["wrap"], "<data>A red cat.</data>"),
        ("A red cat.", ["upper"], "A RED CAT."),
        ("A red cat.", ["wrap", "upper"], "<DATA>A RED CAT.</DATA>"),
        ("A red cat.", ["wrap", "reverse"], ">atad/<.tac der A>atad<"),
        # The tags hold four more vowels; the count stands behind the closing tag.
        ("A red cat.", ["wrap", "count_vowels"], "<data>A red cat.</data> 7"),
        ("A red cat.", ["count_vowels", "wrap"], "<data>A red cat. 3</data>"),
        ("A red cat.", ["count_vowels", "reverse"], "3 .tac der A"),
        ("Twelve 12 and K34.", ["remove_digits"], "Twelve  and K."),
        ("A red cat sat.", ["swap_ends"], "sat. red cat A"),
        ("A red cat.", ["hyphens"], "A-red-cat."),
        ("A red cat.", ["double_vowels"], "AA reed caat."),
        ("A red cat.", ["reverse_words"], "cat. red A"),
        ("A red Cat.", ["swap_case"], "a RED cAT."),
        ("One", ["swap_ends"], "One"),
        ("Sky by my fly", ["count_vowels"], "Sky by my fly 0"),
    ],
)
def test_commands_in_english(text: str, commands: list[str], expected: str) -> None:
    assert carry_out(text, commands, "en") == expected


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        (["count_vowels"], "Ёжик и юла. 5"),
        (["upper", "count_vowels"], "ЁЖИК И ЮЛА. 5"),
        (["wrap", "count_vowels"], "<data>Ёжик и юла.</data> 5"),  # the tags' letters are Latin
        (["reverse"], ".алю и кижЁ"),
        (["double_vowels"], "ЁЁжиик ии ююлаа."),
    ],
)
def test_commands_in_russian(commands: list[str], expected: str) -> None:
    assert carry_out("Ёжик и юла.", commands, "ru") == expected


def test_every_vowel_of_each_language_counts_in_both_cases() -> None:
    assert count_vowels("aeiouAEIOU yY а", "en") == 10
    assert count_vowels("аеёиоуыэюяАЕЁИОУЫЭЮЯ йЙ a", "ru") == 20


CAT = item("A red cat.", ["reverse", "upper", "wrap"], "<data>.TAC DER A</data>")
COUNTED = item("A red cat.", ["count_vowels", "upper"], "A RED CAT. 3")


@pytest.mark.parametrize(
    ("asked", "reply", "correct", "reason"),
    [
        (CAT, "<data>.TAC DER A</data>", True, "right"),
        (CAT, "  <data>.TAC \n DER\tA</data>\n", True, "right"),
        (CAT, "<data>.TAC\u00a0DER A</data>", True, "right"),
        (CAT, "<data>A RED CAT.</data>", False, "a command was skipped: reverse"),
        (CAT, "<data>.tac der A</data>", False, "a command was skipped: upper"),
        (CAT, ".TAC DER A", False, "a command was skipped: wrap"),
        (CAT, "<DATA>.TAC DER A</DATA>", False, "commands in another order"),
        (CAT, ">ATAD/<.TAC DER A>ATAD<", False, "commands in another order"),
        (CAT, "A red cat.", False, "no command was carried out"),
        (CAT, "<data>.TAC dER A</data>", False, "letter case differs"),
        (CAT, "<data>.TAC DER E</data>", False, "differs in a character or two"),
        (CAT, "<data> .TAC DER A </data>", False, "differs in a character or two"),
        (CAT, "Here you are: <data>.TAC DER A</data>", False, "right text with something around it"),
        (CAT, "Quite another text.", False, "differs"),
        (CAT, "<data>.TAC DER A</data" + "x" * 5000, False, "differs"),
        (CAT, "", None, "empty reply"),
        (CAT, " \n\t", None, "empty reply"),
        (COUNTED, "A RED CAT. 3", True, "right"),
        (COUNTED, "A RED CAT. 4", False, "another number of vowels"),
        (COUNTED, "A RED CAT.", False, "a command was skipped: count_vowels"),
        (COUNTED, "a red cat. 3", False, "letter case differs"),
    ],
)
def test_verdict_and_reason(asked: Item, reply: str, correct: bool | None, reason: str) -> None:  # noqa: FBT001 - a table's column
    found = verify(asked, reply)
    assert (found.correct, found.reason) == (correct, reason)


def test_a_mistake_is_named_whatever_it_is_wrapped_in() -> None:
    assert verify(CAT, "**Result:** <data>.tac der A</data>").reason == "a command was skipped: upper"


@pytest.mark.parametrize("language", instructions.languages)
def test_easy_is_of_the_seeds_size(language: str) -> None:
    basic = {"reverse", "count_vowels", "wrap", "upper"}
    for drawn in draw(instructions, level="easy", language=language, seed=5, count=200):
        commands = drawn.facts["commands"]
        assert 2 <= len(commands) <= 4
        assert set(commands) <= basic
        assert len(set(commands)) == len(commands)
        assert len(re.findall(r"^\d\. ", drawn.prompt, re.MULTILINE)) == len(commands)
        assert carry_out(drawn.facts["text"], commands, language) == drawn.answer


@pytest.mark.parametrize("language", instructions.languages)
@pytest.mark.parametrize("level", instructions.levels)
def test_every_command_changes_the_text_that_it_gets(language: str, level: str) -> None:
    for drawn in draw(instructions, level=level, language=language, seed=5, count=200):
        text = drawn.facts["text"]
        for command in drawn.facts["commands"]:
            changed = carry_out(text, [command], language)
            assert changed != text
            text = changed


def test_no_digit_stands_alone_in_a_sentence() -> None:
    """Else deleting digits would leave two spaces, and the answer would hang on how they are taken."""
    for drawn in draw(instructions, level="hard", language="en", seed=5, count=200):
        assert not any(word.strip(".").isdigit() for word in drawn.facts["text"].split())
        assert "  " not in drawn.answer


@pytest.mark.parametrize("language", ["en", "ru"])
def test_no_word_is_listed_twice(language: str) -> None:
    for words in parts(language).values():
        assert len(set(words)) == len(words)


RUSSIAN_GRAMMAR = [
    ("who_m", "", {"NOUN", "masc", "nomn", "anim"}),
    ("who_f", "", {"NOUN", "femn", "nomn", "anim"}),
    ("mood", "ый", {"masc", "nomn"}),
    ("mood", "ая", {"femn", "nomn"}),
    ("look", "ый", {"masc", "accs", "inan"}),
    ("look", "ую", {"femn", "accs"}),
    ("did", "", {"VERB", "past", "masc", "tran"}),
    ("did", "а", {"VERB", "past", "femn", "tran"}),
    ("what_m", "", {"NOUN", "masc", "accs", "inan"}),
    ("what_f", "", {"NOUN", "femn", "accs", "sing"}),
    ("where", "", {"NOUN", "gent", "sing"}),
    ("mark", "", {"NOUN", "gent", "sing"}),
]


@pytest.mark.parametrize(("part", "ending", "grammemes"), RUSSIAN_GRAMMAR)
def test_russian_words_agree(part: str, ending: str, grammemes: set[str]) -> None:
    """The dictionary of pymorphy3 is the judge of every form."""
    import pymorphy3

    morph = pymorphy3.MorphAnalyzer(lang="ru")
    for word in parts("ru")[part]:
        form = f"{word}{ending}"
        assert morph.word_is_known(form), form
        assert any(grammemes in parse.tag for parse in morph.parse(form)), form
