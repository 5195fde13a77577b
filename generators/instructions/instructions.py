"""Apply an ordered list of commands to a sentence, each to the result of the previous one.

Source: seed 001, category 2; the commands beyond its four, and the names of mistakes: ours (SPEC 2).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations, permutations, product
from random import Random
from typing import NamedTuple, TypeVar

from basic_control.data.beside import read_beside
from basic_control.data.decorators import family
from basic_control.data.patterns import pattern
from basic_control.data.reading import reply_text
from basic_control.data.records import Item, Verdict
from basic_control.generators._texts import by_language
from basic_control.prompts import render

BASIC = ("reverse", "count_vowels", "wrap", "upper")
WIDER = (*BASIC, "remove_digits", "swap_ends", "hyphens")
ALL = (*WIDER, "double_vowels", "reverse_words", "swap_case")
LEVELS = {
    "easy": {"commands": (2, 4), "pool": BASIC, "code": False, "with_place": False},
    "medium": {"commands": (3, 4), "pool": WIDER, "code": True, "with_place": False},
    "hard": {"commands": (4, 6), "pool": ALL, "code": True, "with_place": True},
}
_CODE_LETTERS = {"en": "BCDFGHKLMNPRTVXZ", "ru": "БВГДЖЗКЛМНПРСТФЦ"}
VOWELS: Mapping[str, str] = {"en": "aeiou", "ru": "аеёиоуыэюя"}

# A digit, which `remove_digits` removes: "7"
_DIGIT = pattern(r"[0-9]")
# What commands add, remove or double: "-", "7", "a"
_LOOSE = {language: re.compile(rf"[-0-9\s{vowels}]+") for language, vowels in VOWELS.items()}
# The same where no vowel is doubled: "-", "7"
_LOOSE_NUMBERS = pattern(r"[-0-9\s]+")
_DOUBLED: dict[str, dict[int, str]] = {}
for _language, _vowels in VOWELS.items():
    _DOUBLED[_language] = {ord(letter): letter * 2 for letter in _vowels + _vowels.upper()}
_TABLES: Mapping[str, str] = read_beside(__file__)
_WORDS, _NOUNS = _TABLES["words"].replace(" ", "|"), _TABLES["nouns"].replace(" ", "|")
_INNER = r"(?P<inner>.+)"
# A label: Result: … | **Final text:** … | ### Результат, and the text on the next line
_LABEL = (
    rf"[#>*_ ]{{0,6}}(?={_WORDS})(?=[^:：\n]{{0,80}}(?<![^\W_])(?:{_NOUNS})(?![^\W_]))"
    rf"(?:{_WORDS})(?: (?:{_WORDS})){{0,3}}[*_]{{0,3}} ?(?:[:：][*_]{{0,3}}|[—–=]|(?=\n)){_INNER}"
)
_WRAPPINGS = tuple(
    pattern(wrapping, re.DOTALL | re.IGNORECASE)
    for wrapping in (
        _LABEL,
        # A code fence, as in ```text\nA red cat.\n```
        rf"(?P<fence>```|~~~)(?:[a-z]{{0,12}}\n)?{_INNER}(?P=fence)",
        # Marks of quotation, as in «A red cat.»
        rf"(?=\".*\"$|'.*'$|«.*»$|“.*”$|„.*[“”]$|‘.*’$).{_INNER}.",
        # Marks of emphasis, as in **A red cat.**
        rf"(?P<bold>\*\*\*|\*\*|\*|___|__|_){_INNER}(?P=bold)",
        # Marks of code in a line, as in `A red cat.`
        rf"`(?!`){_INNER}`",
    )
)
_EVERY_ORDER = 4
"""Up to this many commands, a reply is compared with every order of them; beyond, with every swap of two."""
_SLIGHT = 2
_WRAPPED = 120  # characters that a label, a fence and marks may add
_LONGEST = 1_000

Word = TypeVar("Word")


class SentenceWords(NamedTuple):
    """A language's words by part of speech; each person with the agreeing verbs, each thing ready to use."""

    who: Sequence[tuple[str, Sequence[str]]]
    what: Sequence[str]
    where: Sequence[str]
    mark: Sequence[str]


parts = by_language(dict[str, list[str]], "sentences")
"""A language's words by part of speech."""


@cache
def words(language: str) -> SentenceWords:
    """Join adjectives and nouns, and make verbs agree."""
    part = parts(language)
    did = part["did"]
    # Russian adjectives and verbs agree in gender.
    if language == "ru":
        near, for_whom, women = "возле", "для", [f"{verb}а" for verb in did]
        who = [(f"{mood}ый {man}".capitalize(), did) for mood, man in product(part["mood"], part["who_m"])]
        who += [(f"{mood}ая {woman}".capitalize(), women) for mood, woman in product(part["mood"], part["who_f"])]
        what = [f"{look}ый {thing}" for look, thing in product(part["look"], part["what_m"])]
        what += [f"{look}ую {thing}" for look, thing in product(part["look"], part["what_f"])]
    else:
        near, for_whom = "near the", "for"
        who = [(f"The {mood} {person}", did) for mood, person in product(part["mood"], part["who"])]
        what = [f"the {look} {thing}" for look, thing in product(part["look"], part["what"])]
    where = [*map(f"{near} ".__add__, part["where"])]
    mark = [*map(f"{for_whom} ".__add__, part["mark"])]
    return SentenceWords(who, what, where, mark)


def sentence(rng: Random, language: str, *, code: bool, with_place: bool, drawn: str = "") -> str:
    """Draw a sentence; digits only occur in a code such as K27, never as a separate word.

    `drawn`: the language whose lists the words are drawn from; this one's are taken at about the same positions.
    """
    lists, drawn_lists = words(language), words(drawn or language)

    def draw_word(drawn_list: Sequence[Word], word_list: Sequence[Word]) -> Word:
        return word_list[rng.randrange(len(drawn_list)) * len(word_list) // len(drawn_list)]

    who, verbs = draw_word(drawn_lists.who, lists.who)
    parts = [who, draw_word(drawn_lists.who[0][1], verbs), draw_word(drawn_lists.what, lists.what)]
    if code:
        letters = _CODE_LETTERS[language]
        parts += [draw_word(drawn_lists.mark, lists.mark), f"{rng.choice(letters)}{rng.randint(10, 99)}"]
    if with_place:
        parts.append(draw_word(drawn_lists.where, lists.where))
    return f"{' '.join(parts)}."


def count_vowels(text: str, language: str) -> int:
    """Count a language's vowels in a text, in either case."""
    lower = text.lower()
    return sum(map(lower.count, VOWELS[language]))


def _swap_ends(text: str) -> str:
    words = text.split(" ")
    if len(words) > 1:
        words[0], words[-1] = words[-1], words[0]
    return " ".join(words)


COMMANDS: Mapping[str, Callable[[str, str], str]] = {
    "reverse": lambda text, _: text[::-1],
    "count_vowels": lambda text, language: f"{text} {count_vowels(text, language)}",
    "wrap": lambda text, _: f"<data>{text}</data>",
    "upper": lambda text, _: text.upper(),
    "remove_digits": lambda text, _: _DIGIT.sub("", text),
    "swap_ends": lambda text, _: _swap_ends(text),
    "hyphens": lambda text, _: text.replace(" ", "-"),
    "double_vowels": lambda text, language: text.translate(_DOUBLED[language]),
    "reverse_words": lambda text, _: " ".join(text.split(" ")[::-1]),
    "swap_case": lambda text, _: text.swapcase(),
}
"""Each command's function of a text and a language."""


def carry_out(text: str, commands: Iterable[str], language: str) -> str:
    """Apply commands in order, each to the result of the previous one."""
    for command in commands:
        text = COMMANDS[command](text, language)
    return text


@cache
def _wordings(language: str) -> Mapping[str, str]:
    lines = render("instructions/commands", language).splitlines()
    return dict(line.split(": ", 1) for line in lines)


def _has_effect(text: str, commands: Sequence[str], language: str) -> bool:
    """Return whether every command changes its text and none undoes an earlier one."""
    if "count_vowels" in commands and "remove_digits" in commands[commands.index("count_vowels") :]:
        return False
    for command in commands:
        changed = COMMANDS[command](text, language)
        if changed == text:
            return False
        text = changed
    return True


_MARK = "\ufeff"  # the byte-order mark that some servers and files put before a text


def normalise(text: str) -> str:
    """Return the text with each run of white space collapsed to one space, and stripped."""
    return " ".join(text.split())


def unwrap(text: str, wrappings: Sequence[re.Pattern[str]] = _WRAPPINGS) -> Iterator[str]:
    """Yield a text, normalised, and the remainder as wrappings are removed, at most one of each kind."""
    yield normalise(text)
    for index, wrapping in enumerate(wrappings):
        match = wrapping.fullmatch(text)
        if match:
            yield from unwrap(match["inner"].strip(), (*wrappings[:index], *wrappings[index + 1 :]))


def verify(item: Item, reply: str) -> Verdict:
    """Accept exactly the expected text, character by character after white space is normalised.

    A byte-order mark or label before it, and one code fence or pair of quotes or bold marks around the whole, are
    ignored.
    """
    reply = reply_text(reply.lstrip(_MARK), prompt=item.prompt, expected=item.answer)
    text, expected = normalise(reply), normalise(item.answer)
    if text == expected:
        return Verdict(correct=True, reason="right")
    if not text:
        return Verdict(correct=None, reason="empty reply")
    # A longer one cannot be the expected text in wrappings.
    if len(text) <= len(expected) + _WRAPPED:
        lines = filter(None, map(normalise, reply.splitlines()))
        texts = [*unwrap("\n".join(lines))]
        if expected in texts:
            return Verdict(correct=True, reason="right")
        text = min(texts, key=len)
    return Verdict(correct=False, reason=_name_mistake(item, text, expected))


def _name_mistake(item: Item, reply: str, expected: str) -> str:
    """Return the kind of mistake in a wrong reply, checking the most specific first."""
    text, commands = item.facts["text"], tuple(item.facts["commands"])
    if expected in reply:
        return "right text with something around it"
    if len(reply) > _LONGEST:  # no sequence of commands makes a sentence this long
        return "differs"
    if reply == normalise(text):
        return "no command was carried out"
    skipped = skips(text, commands, item.language).get(reply)
    if skipped:
        return f"a command was skipped: {skipped}"
    loose = _LOOSE[item.language] if "double_vowels" in commands else _LOOSE_NUMBERS
    if _may_be_reordered(reply, expected, loose) and reply in reorders(text, commands, item.language):
        return "commands in another order"
    return _name_typo(reply, expected, commands)


def _name_typo(reply: str, expected: str, commands: Sequence[str]) -> str:
    if reply.lower() == expected.lower():
        return "letter case differs"
    if "count_vowels" in commands and _DIGIT.sub("", reply) == _DIGIT.sub("", expected):
        return "another number of vowels"
    from rapidfuzz.distance import Levenshtein

    if Levenshtein.distance(reply, expected, score_cutoff=_SLIGHT) <= _SLIGHT:
        return "differs in a character or two"
    return "differs"


def _may_be_reordered(reply: str, expected: str, loose: re.Pattern[str]) -> bool:
    """Return whether two texts have the same characters in any order and case, except the loose ones.

    All orders of the commands give the same characters, except digits, spaces, hyphens, and vowels where they may
    be doubled once or twice, in tags. Trying the orders takes twenty times as long.
    """
    firm, expected_firm = loose.sub("", reply.lower()), loose.sub("", expected.lower())
    return len(firm) == len(expected_firm) and sorted(firm) == sorted(expected_firm)


def skips(text: str, commands: tuple[str, ...], language: str) -> Mapping[str, str]:
    """Map each text that results from leaving out one command to that command's name."""
    skipped_by_text = {}
    for index, command in enumerate(commands):
        skipped_by_text[normalise(carry_out(text, commands[index + 1 :], language))] = command
        text = COMMANDS[command](text, language)
    return skipped_by_text


@lru_cache(maxsize=1024)
def reorders(text: str, commands: tuple[str, ...], language: str) -> frozenset[str]:
    """Return the texts that result from other orders of the commands."""
    return frozenset(normalise(carry_out(text, order, language)) for order in _reorder(commands))


def _reorder(commands: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield other orders: all permutations of a few commands, swaps of two of many."""
    if len(commands) <= _EVERY_ORDER:
        yield from filter(commands.__ne__, permutations(commands))
        return
    yield commands[::-1]
    for first, second in combinations(range(len(commands)), 2):
        order = list(commands)
        order[first], order[second] = order[second], order[first]
        yield tuple(order)


def reference(item: Item) -> str:
    """Return the expected text."""
    return item.answer


def _miscount(item: Item, difference: int) -> str:
    """Return the text with the vowels counted wrongly by so many."""
    text: str = item.facts["text"]
    for command in item.facts["commands"]:
        if command == "count_vowels":
            text = f"{text} {count_vowels(text, item.language) + difference}"
        else:
            text = COMMANDS[command](text, item.language)
    return text


def list_near_misses(item: Item) -> Sequence[str]:
    """Return replies with a command skipped, reordered or miscounted, and with typos."""
    right, vowels = item.answer, VOWELS[item.language]
    text, commands = item.facts["text"], tuple(item.facts["commands"])
    # A typo in the first vowel.
    index = next((index for index, letter in enumerate(right) if letter.lower() in vowels), 0)
    vowel = next(filter(right[index].lower().__ne__, vowels))
    replies = (
        text,
        *skips(text, commands, item.language),
        *sorted(reorders(text, commands, item.language)),
        _miscount(item, 1),
        _miscount(item, -1),
        right.lower(),
        right.swapcase(),
        right[:index] + vowel + right[index + 1 :],
        right[:index] + right[index + 1 :],
        right[:index] + right[index] + right[index:],
        right[:-1],
        right[1:],
        right.replace(" ", ""),
        right[::-1],
        f"{right} {right}",
        f'"{right}',
        f"**{right}",
        f"```\n{right}",
        f"Result: {right} (done)",
        f"Sure! {right}",
        f"Here is the text that comes out: {right}",
        f"{right}\n\nI carried out every command.",
    )
    expected = normalise(right)
    return [reply for reply in dict.fromkeys(replies) if normalise(reply) != expected]


@family(
    levels=LEVELS,
    verify=verify,
    languages=("en", "ru"),
    seed_id="t02_instructions",
    titles={"en": "Instructions", "ru": "Инструкции"},
    reference=reference,
    near_misses=list_near_misses,
    verifier_version=4,
)
def instructions(
    rng: Random,
    *,
    commands: tuple[int, int],
    pool: tuple[str, ...],
    code: bool,
    with_place: bool,
    language: str,
    drawn: str = "",
) -> Item:
    """Draw a sentence, from the words of the language `drawn`, and commands that each change something."""
    text = sentence(rng, language, code=code, with_place=with_place, drawn=drawn)
    while True:
        chosen = rng.sample(pool, rng.randint(*commands))
        # The four basic ones always change something.
        if pool is BASIC or _has_effect(text, chosen, language):
            break
    wordings = _wordings(language)
    numbered = "\n".join([f"{number}. {wordings[command]}" for number, command in enumerate(chosen, 1)])
    return Item(
        prompt=render("instructions/task", language, text=text, commands=numbered),
        answer=carry_out(text, chosen, language),
        facts={"text": text, "commands": chosen},
        template=">".join(chosen),
    )
