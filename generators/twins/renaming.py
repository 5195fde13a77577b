"""Rename a text's people, or its things of one kind, in the question and its reference; quantities stay.

This is the placebo: a larger drop on renewed numbers is not explained by a text that merely looks different.

Source: SPEC 17.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from random import Random

from pydantic import BaseModel, ConfigDict

from basic_control.generators._texts import by_language
from basic_control.generators.simple_logic.people import cases, genders
from basic_control.generators.twins.base import Refused, Renewed

LANGUAGES = ("en", "ru")
# A capitalised word: "Tom" in "Tom ran.", "Tom" in "Tom's".
_CAPITAL = re.compile(r"(?<![^\W_])[^\W\d_a-zа-яё][a-zа-яё]+(?![^\W_])")
# A title before a name: "Mrs. "
_TITLE = re.compile(r"(?:Mr|Mrs|Ms|Miss|Dr)\.?\s\Z")
# What is before a sentence's first word: "He ran. "
_OPENS = re.compile(r"(?:\A|[.!?\n:;“\"])\s*\Z")
# The word after a name: " runs"
_VERB = re.compile(r"\s([a-z]+)")
# A word that a town's name follows: " in "
_PREPOSITION = re.compile(r"\b(?:in|at|from|to|of|near|the|new)\s\Z", re.IGNORECASE)


class Renaming(BaseModel):
    """A language's words; `renaming.yaml` documents each list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    neutral: tuple[str, ...]
    female: tuple[str, ...]
    male: tuple[str, ...]
    capital: frozenset[str]
    verbs: frozenset[str]
    things: tuple[Mapping[str, str], ...]


_load_words = by_language(Renaming, "renaming")


def renew(
    question: str, reference: str, answer: str, language: str, rng: Random, *, fixed_text: str = ""
) -> Renewed:
    """Make a twin with other names: facts `question` and `reference`; the answer and `fixed_text` stay.

    Raises:
        Refused: the text names no person or thing that could be renamed, or what stays names it too.
    """
    if language not in LANGUAGES:
        raise Refused("a language without rules for names")
    words = _load_words(language)
    people = _rename_russians(question, rng) if language == "ru" else _rename_people(question, words, rng)
    new_names = people or _rename_things(question, words, rng)
    if not new_names:
        raise Refused("nobody and nothing to rename")
    unchanged = f"{answer} {fixed_text}"
    if _replace_names(unchanged, new_names) != unchanged:
        raise Refused("a name outside of the question")
    facts = {"question": _replace_names(question, new_names)}
    if reference:
        facts["reference"] = _replace_names(reference, new_names)
    return Renewed(answer, facts)


def _rename_people(question: str, words: Renaming, rng: Random) -> dict[str, str]:
    """Map each person to another name, of the same gender if that is known."""
    people = [*dict.fromkeys(_find_people(question, words))]
    gender_by_name = genders("en")
    # Of a single person the pronouns say which gender an unknown name has.
    lowered = {*re.findall(r"[a-z]+", question)}
    pronouns = {"f": words.female, "m": words.male}
    spoken = [gender for gender, forms in pronouns.items() if lowered & {*forms}]
    is_certain = len(spoken) == len(people) == 1
    new_names: dict[str, str] = {}
    for name in people:
        gender = gender_by_name.get(name)
        if gender is None and is_certain:
            gender = spoken[0]
        candidates: Iterable[str] = words.neutral
        if gender:
            candidates = [candidate for candidate, sex in gender_by_name.items() if sex == gender]
        in_use = {*new_names.values()}
        free = [candidate for candidate in candidates if candidate not in question and candidate not in in_use]
        if free:
            new_names[name] = rng.choice(free)
    return new_names


def _find_people(text: str, words: Renaming) -> Iterator[str]:
    """Yield the words of a text that are people's names, judged by capitals and neighbouring words."""
    gender_by_name = genders("en")
    for match in _CAPITAL.finditer(text):
        name, before, after = match[0], text[: match.start()], text[match.end() :]
        # "Green Lantern" is one name, of which neither word is a person's.
        is_single = not re.match(r"\s[A-Z][a-z]", after) and not re.search(r"[A-Z][a-z]+\s\Z", before)
        has_title = _TITLE.search(before)
        is_place = _PREPOSITION.search(before) and not has_title
        # A sentence's first word is a name only if it acts, or owns something.
        verb = _VERB.match(after)
        acts = verb is not None and verb[1] in words.verbs
        opens = _OPENS.search(before) and not acts and not re.match(r"['’]s\b", after)
        is_common_noun = re.search(rf"(?<![^\W_]){name.lower()}(?![^\W_])", text)
        if name in words.capital or is_common_noun:
            continue
        if name in gender_by_name or has_title or (is_single and not is_place and not opens):
            yield name


def _rename_things(question: str, words: Renaming, rng: Random) -> dict[str, str]:
    """Map each thing that a text names to another of its kind."""
    new_names: dict[str, str] = {}
    question_words = {*re.findall(r"[^\W\d_]+", question.lower())}
    for plurals in words.things:
        used = [thing for thing in plurals if {thing, plurals[thing]} & question_words]
        free = [thing for thing in plurals if thing not in used]
        rng.shuffle(free)
        for thing, substitute in zip(used, free, strict=False):
            new_names |= {thing: substitute, plurals[thing]: plurals[substitute]}
    return new_names


def _replace_names(text: str, new_names: Mapping[str, str]) -> str:
    """Write a text with the new names and matching articles."""
    capitalised = {name.capitalize(): substitute.capitalize() for name, substitute in new_names.items()}
    substitutes = {**capitalised, **new_names}
    # Longer names first: "Annabel" begins with "Anna".
    alternatives = "|".join(sorted(map(re.escape, substitutes), key=len, reverse=True))
    pattern = re.compile(rf"(?P<article>\b[Aa]n? )?(?<![^\W_])(?P<name>{alternatives})(?![^\W_])")

    def replace_match(match: re.Match[str]) -> str:
        article, substitute = match["article"], substitutes[match["name"]]
        if not article:
            return substitute
        if substitute[0].lower() in "aeiou":
            return f"{article[0]}n {substitute}"
        return f"{article[0]} {substitute}"

    return pattern.sub(replace_match, text)


def _rename_russians(question: str, rng: Random) -> dict[str, str]:
    """Map each person to another name of the same gender, in every case."""
    gender_by_name = genders("ru")
    question_words = {*re.findall(r"[^\W\d_]+", question)}
    people = [name for name in gender_by_name if question_words & {*cases(name)}]
    new_names: dict[str, str] = {}
    used = [*people]
    for name in people:
        gender = gender_by_name[name]
        free = [candidate for candidate, sex in gender_by_name.items() if sex == gender and candidate not in used]
        substitute = rng.choice(free)
        used.append(substitute)
        # A case that two people share is that of the first.
        new_names = {**dict(zip(cases(name), cases(substitute), strict=True)), **new_names}
    return new_names
