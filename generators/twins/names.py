"""Rename a text's people, or its things of one kind, in the question and its reference; quantities stay.

This is the placebo: a larger drop on renewed numbers is not explained by a text that merely looks different.

Source: SPEC 17.
"""

import re
from collections.abc import Iterator, Mapping
from random import Random

from pydantic import BaseModel, ConfigDict

from basic_control.generators._texts import by_language
from basic_control.generators.simple_logic.people import cases, genders
from basic_control.generators.twins.base import Refused, Renewed

LANGUAGES = ("en", "ru")
_CAPITAL = re.compile(r"(?<![^\W_])[^\W\d_a-zа-яё][a-zа-яё]+(?![^\W_])")
_TITLE = re.compile(r"(?:Mr|Mrs|Ms|Miss|Dr)\.?\s\Z")
_OPENS = re.compile(r"(?:\A|[.!?\n:;“\"])\s*\Z")
_VERB = re.compile(r"\s([a-z]+)")
_PLACE = re.compile(r"\b(?:in|at|from|to|of|near|the|new)\s\Z", re.IGNORECASE)


class Renaming(BaseModel):
    """A language's words; `renaming.yaml` documents each list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    neutral: tuple[str, ...]
    female: tuple[str, ...]
    male: tuple[str, ...]
    capital: frozenset[str]
    verbs: frozenset[str]
    things: tuple[Mapping[str, str], ...]


_words = by_language(Renaming, "renaming")


def renew(question: str, reference: str, answer: str, language: str, rng: Random, *, beside: str = "") -> Renewed:
    """Make a twin with other names: facts `question` and `reference`; the answer and what is `beside` them stay.

    Raises:
        Refused: the text names no person or thing that could be renamed, or what stays names it too.
    """
    if language not in LANGUAGES:
        raise Refused("a language without rules for names")
    words = _words(language)
    new = _russian(question, rng) if language == "ru" else _people(question, words, rng)
    new = new or _things(question, words, rng)
    if not new:
        raise Refused("nobody and nothing to rename")
    if _renamed(kept := f"{answer} {beside}", new) != kept:
        raise Refused("a name outside of the question")
    texts = {"question": question, **({"reference": reference} if reference else {})}
    return Renewed(answer, {name: _renamed(text, new) for name, text in texts.items()})


def _people(question: str, words: Renaming, rng: Random) -> dict[str, str]:
    """Map each person to another name, of the same gender if that is known."""
    found = [*dict.fromkeys(_named(question, words))]
    lowered = {*re.findall(r"[a-z]+", question)}
    spoken = [sex for sex, told in (("f", words.female), ("m", words.male)) if lowered & {*told}]
    new: dict[str, str] = {}
    for name in found:
        gender = genders("en").get(name) or (spoken[0] if len(spoken) == len(found) == 1 else None)
        known = [one for one, sex in genders("en").items() if sex == gender] if gender else words.neutral
        fresh = [one for one in known if one not in question and one not in new.values()]
        if fresh:
            new[name] = rng.choice(fresh)
    return new


def _named(text: str, words: Renaming) -> Iterator[str]:
    """Yield the words of a text that are people's names, judged by capitals and neighbouring words."""
    known = genders("en")
    for match in _CAPITAL.finditer(text):
        name, before, after = match[0], text[: match.start()], text[match.end() :]
        alone = not re.match(r"\s[A-Z][a-z]", after) and not re.search(r"[A-Z][a-z]+\s\Z", before)
        place = _PLACE.search(before) and not _TITLE.search(before)
        acts = (verb := _VERB.match(after)) and verb[1] in words.verbs
        opens = _OPENS.search(before) and not acts and not re.match(r"['’]s\b", after)
        plain = re.search(rf"(?<![^\W_]){name.lower()}(?![^\W_])", text)
        if name in words.capital or plain:
            continue
        if name in known or _TITLE.search(before) or (alone and not place and not opens):
            yield name


def _things(question: str, words: Renaming, rng: Random) -> dict[str, str]:
    """Map each thing that a text names to another of its kind."""
    new: dict[str, str] = {}
    there = {*re.findall(r"[^\W\d_]+", question.lower())}
    for group in words.things:
        used = [one for one in group if {one, group[one]} & there]
        free = [one for one in group if one not in used]
        rng.shuffle(free)
        for old, other in zip(used, free, strict=False):
            new |= {old: other, group[old]: group[other]}
    return new


def _renamed(text: str, new: Mapping[str, str]) -> str:
    """Write a text with the new names and matching articles."""
    both = {**{old.capitalize(): other.capitalize() for old, other in new.items()}, **new}
    listed = "|".join(sorted(map(re.escape, both), key=len, reverse=True))
    pattern = re.compile(rf"(?P<article>\b[Aa]n? )?(?<![^\W_])(?P<name>{listed})(?![^\W_])")

    def one(match: re.Match[str]) -> str:
        article, name = match["article"] or "", both[match["name"]]
        if article:
            article = article[0] + ("n " if name[0].lower() in "aeiou" else " ")
        return article + name

    return pattern.sub(one, text)


def _russian(question: str, rng: Random) -> dict[str, str]:
    """Map each person to another name of the same gender, in every case."""
    known = genders("ru")
    there = {*re.findall(r"[^\W\d_]+", question)}
    found = [name for name in known if there & {*cases(name)}]
    new: dict[str, str] = {}
    taken = [*found]
    for name in found:
        taken.append(rng.choice([one for one in known if known[one] == known[name] and one not in taken]))
        new = {**dict(zip(cases(name), cases(taken[-1]), strict=True)), **new}
    return new
