"""Prompts of the logic family, read again as a person would: English ones, and Russian ones put into English."""

import re
from collections.abc import Sequence
from itertools import takewhile

MORE = {  # what stands before 'than', and the property that it speaks of, upwards or downwards
    "taller": ("tall", 1), "shorter": ("tall", -1), "older": ("old", 1), "younger": ("old", -1),
    "faster": ("fast", 1), "slower": ("fast", -1), "stronger": ("strong", 1), "weaker": ("strong", -1),
    "heavier": ("heavy", 1), "lighter": ("heavy", -1), "richer": ("rich", 1), "poorer": ("rich", -1),
    "happier": ("happy", 1), "sadder": ("happy", -1), "tidier": ("tidy", 1), "messier": ("tidy", -1),
    **{f"{sign} {word}": (word, up) for sign, up in (("more", 1), ("less", -1))
       for word in ("patient", "polite", "generous", "courageous", "talkative", "cautious")},
}  # fmt: skip
MOST = {
    **{
        word.replace("more ", "most ").replace("less ", "least "): means
        for word, means in MORE.items()
        if " " in word
    },
    **{re.sub("er$", "est", word): means for word, means in MORE.items() if " " not in word},
}
COUNTS = {"two": 2, "three": 3}
PLACES = {"second": 1, "third": 2, "fourth": 3}

RUSSIAN = {  # a comparative and an adjective's stem, and the English comparative
    "выше высок": "taller", "ниже низк": "shorter", "старше старш": "older", "младше младш": "younger",
    "быстрее быстр": "faster", "медленнее медленн": "slower", "сильнее сильн": "stronger", "слабее слаб": "weaker",
    "тяжелее тяжёл": "heavier", "легче лёгк": "lighter", "богаче богат": "richer", "беднее бедн": "poorer",
    "веселее весёл": "happier", "грустнее грустн": "sadder", "аккуратнее аккуратн": "tidier",
    "неряшливее неряшлив": "messier", "терпеливее терпелив": "more patient",
    "нетерпеливее нетерпелив": "less patient", "вежливее вежлив": "more polite", "грубее груб": "less polite",
    "щедрее щедр": "more generous", "скупее скуп": "less generous", "смелее смел": "more courageous",
    "трусливее труслив": "less courageous", "разговорчивее разговорчив": "more talkative",
    "молчаливее молчалив": "less talkative", "осторожнее осторожн": "more cautious",
    "беспечнее беспечн": "less cautious",
}  # fmt: skip
_FRAMES = {
    r"Только (\w+) (.+) (\w+)": r"Only \1 is \2 than \3",
    r"Ровно два человека (.+) (\w+)": r"Exactly two people are \1 than \2",
    r"Ровно три человека (.+) (\w+)": r"Exactly three people are \1 than \2",
    r"(\w+) (.+) (\w+), но (.+) (\w+)": r"\1 is \2 than \3 but \4 than \5",
    r"(\w+) не (the .+) и не (the .+)": r"\1 is neither \2 nor \3",
    r"(\w+) не (the .+)": r"\1 is not \2",
    r"(\w+) не (.+) (\w+)": r"\1 is not \2 than \3",
    r"Кто из них (.+)\?": r"Who is \1?",
    r"Если выстроить всех от (.+) к (.+), кто окажется на втором месте\?": (
        r"If everyone is lined up from \1 to \2, who stands in the second place?"
    ),
    r"Если выстроить всех от (.+) к (.+), кто окажется на третьем месте\?": (
        r"If everyone is lined up from \1 to \2, who stands in the third place?"
    ),
    r"Если выстроить всех от (.+) к (.+), кто окажется на четвёртом месте\?": (
        r"If everyone is lined up from \1 to \2, who stands in the fourth place?"
    ),
    r"(\w+) (.+) (\w+)": r"\1 is \2 than \3",
}


def read(prompt: str, people: Sequence[str], language: str) -> tuple[list[str], str]:
    """Return the statements and the question of a prompt, in English."""
    _, told, _, question, *_ = prompt.splitlines()
    statements = re.split(r"\. ?", told)[:-1]
    if language == "en":
        return statements, question
    return [in_english(one, people) for one in statements], in_english(question, people)


def in_english(sentence: str, people: Sequence[str]) -> str:
    """Put a Russian statement or question into English; names stay Russian, in the nominative."""
    for words, comparative in RUSSIAN.items():
        word, stem = words.split()
        least = next(most for most, means in MOST.items() if means == MORE[comparative])
        sentence = re.sub(rf"сам(?:ый|ая|ого|ому|ой) {stem}\w+", f"the {least}", sentence)
        sentence = re.sub(rf"\b{word}\b", comparative, sentence)
    frame = next(frame for frame in _FRAMES if re.fullmatch(frame, sentence))
    english = re.sub(frame, _FRAMES[frame], sentence)
    return re.sub(r"[А-ЯЁ]\w+", lambda match: _nominative(match[0], people), english)


def _nominative(form: str, people: Sequence[str]) -> str:
    def fits(name: str) -> tuple[int, int]:
        both = zip(name.replace("ё", "е"), form.replace("ё", "е"), strict=False)
        return len([*takewhile(lambda letters: letters[0] == letters[1], both)]), -len(name)

    return max(people, key=fits)


def holds(sentence: str, asked: str, at: dict[str, int]) -> bool:
    """Read an English sentence, as a person would, and tell whether it holds of an order (0: most of `asked`)."""
    comparative = "|".join(sorted(MORE, key=len, reverse=True))
    superlative = "|".join(sorted(MOST, key=len, reverse=True))

    def above(one: str, word: str, other: str) -> bool:
        return (at[one] < at[other]) == (MORE[word][1] > 0)

    if found := re.fullmatch(rf"(\w+) is (not )?({comparative}) than (\w+)", sentence):
        one, denied, word, other = found.groups()
        return MORE[word][0] != asked or above(one, word, other) != bool(denied)
    if found := re.fullmatch(rf"(\w+) is ({comparative}) than (\w+) but ({comparative}) than (\w+)", sentence):
        one, word, other, second, third = found.groups()
        return above(one, word, other) and above(one, second, third)
    if found := re.fullmatch(rf"Only (\w+) is ({comparative}) than (\w+)", sentence):
        return [name for name in at if name != found[3] and above(name, found[2], found[3])] == [found[1]]
    if found := re.fullmatch(rf"Exactly (\w+) people are ({comparative}) than (\w+)", sentence):
        return sum(above(name, found[2], found[3]) for name in at if name != found[3]) == COUNTS[found[1]]
    end = {word: 0 if up > 0 else len(at) - 1 for word, (_, up) in MOST.items()}
    if found := re.fullmatch(rf"(\w+) is not the ({superlative})", sentence):
        return at[found[1]] != end[found[2]]
    if found := re.fullmatch(rf"(\w+) is neither the ({superlative}) nor the ({superlative})", sentence):
        return at[found[1]] not in {end[found[2]], end[found[3]]}
    raise AssertionError(sentence)


def asked_place(question: str, size: int) -> tuple[str, int]:
    """Read an English question: the property and the place from the top."""
    if found := re.fullmatch(r"Who is (?:the )?(.+)\?", question):
        word, up = (MOST if "the " in question else MORE)[found[1]]
        return word, 0 if up > 0 else size - 1
    found = re.fullmatch(
        r"If everyone is lined up from the (.+) to the .+, who stands in the (\w+) place\?", question
    )
    assert found, question
    return MOST[found[1]][0], PLACES[found[2]]
