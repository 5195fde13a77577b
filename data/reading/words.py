"""The words of words.yaml as patterns: what answers, denies, supposes, withdraws and joins."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from basic_control.data.beside import read_beside

BOUND, END = r"(?<![^\W_])", r"(?![^\W_])"
"""Boundaries of a word in scripts that put spaces between words."""
MARKUP = r"[\s*_`\"'“”„«»「」$\\>|~]"
"""White space, emphasis, quotation marks and signs of Markdown and LaTeX, which say nothing."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_OTHER_LETTER = re.compile("[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u1fff\u2c00-\ud7ff\uf900-\ufaff\ufe70-\uffff]")
_SYNTAX = re.compile(r"\\\w|\(\?[:=!<]+|\[[^\]]*\]|\{[0-9,]*\}|[A-Z]-")
"""What is no word in a form: `\\w`, `(?:`, `[a-z]`, `{1,3}`."""
_ASCII_WORD = re.compile(r"(?<![^\W_])[a-z]+(?![^\W_])|[!<=]=|<>")
_COLON = r"[:：︰﹕∶ঃ]|=>?|[→➜➡⇒]|[—–]|\s-\s"
_GAP = r"(?:(?!{nouns})[^\n.:：=!?。！？।]){{0,80}}?"
"""Between a word for 'answer' and its verb: no second such word, which is a cue of its own."""
_FEW_SHOT = r"(?m:^)[ \t>*_]{0,8}A[*_]{0,3}(?P<few_shot>[:：])"
"""`A: 18`, as in prompts with examples."""


@cache
def _read_table() -> Mapping[str, Any]:
    """Return the table; a form that texts in one notation write otherwise (Thai am) is in it both ways."""
    table = read_beside(__file__)
    for language in table["answers"]:
        for key in ("probes", "nouns", "weak", "verbs"):
            forms = language.get(key, [])
            normal_forms = [unicodedata.normalize("NFKC", form) for form in forms]
            language[key] = [*dict.fromkeys([*forms, *normal_forms])]
    return table


def _join(forms: Iterable[str]) -> str:
    """Return forms as alternatives; those of scripts with spaces between words begin where a word does."""
    bound_forms, free_forms = list[str](), list[str]()
    for form in forms:
        if _UNSPACED.search(form):
            free_forms.append(form)
        else:
            bound_forms.append(form.removeprefix(BOUND))
    # One boundary before all of them is looked for once.
    bound = [f"{BOUND}(?:{'|'.join(bound_forms)})"] * bool(bound_forms)
    return "|".join([*bound, *free_forms]) or "(?!)"


def is_ascii(text: str) -> bool:
    """Return whether a text has no letters but ASCII's; signs such as `×`, `°` or `≈` do not count."""
    return text.isascii() or not _has_other_letters(text)


@lru_cache(maxsize=64)
def _has_other_letters(text: str) -> bool:
    return _OTHER_LETTER.search(text) is not None


def _may_be_ascii(form: str) -> bool:
    r"""Return whether a form has words in ASCII letters or signs: 'pas|plutôt que', but not '不是' or 'нет\w*'."""
    words = _SYNTAX.sub(" ", form)
    return _ASCII_WORD.search(words) is not None


@cache
def _compile(section: str, before: str, after: str, *, has_ascii_only: bool) -> re.Pattern[str]:
    forms = [str(row["form"]) for row in _read_table()[section]]
    if has_ascii_only:  # it has no word of other scripts; what is not looked for costs nothing
        forms = list(filter(_may_be_ascii, forms))
    return re.compile(f"{before}(?:{_join(forms)}){after}", re.IGNORECASE)


def pattern(section: str, text: str, before: str = "", after: str = "") -> re.Pattern[str]:
    """Return the pattern of a section's words for a text, between two others."""
    return _compile(section, before, after, has_ascii_only=is_ascii(text))


@cache
def _list_probes(*, has_ascii_only: bool) -> list[list[str]]:
    """Return for each language the words of which one is in every text that has its word for 'answer'."""
    probes = [language["probes"] or [""] for language in _read_table()["answers"]]
    if not has_ascii_only:
        return probes
    return [list(filter(str.isascii, words)) for words in probes]


def answer_cues(text: str) -> re.Pattern[str]:
    """Return the pattern of the words for 'answer' in a text, each with the colon or verb after it.

    Groups with a name that begins with `said`: the colon or verb; with `weak`: the same of a noun that needs an
    answer right behind it.
    """
    folded = text.casefold()
    probes = _list_probes(has_ascii_only=is_ascii(folded))
    languages = [number for number, words in enumerate(probes) if any(map(folded.__contains__, words))]
    return _compile_cues(tuple(languages))


@cache
def _compile_cues(languages: tuple[int, ...]) -> re.Pattern[str]:
    patterns = [_FEW_SHOT]
    for number in languages:
        language = _read_table()["answers"][number]
        bound, end = BOUND, END
        if language.get("unspaced"):
            bound = end = ""
        nouns, weak = "|".join(language["nouns"]), "|".join(language["weak"])
        verbs = f"{bound}(?:{'|'.join(language['verbs'])}){end}(?:{MARKUP}{{0,3}}[:：])?"
        gap = _GAP.format(nouns=nouns)
        link = rf"{MARKUP}{{0,4}}(?:{_COLON})|{gap}(?:{_COLON}|{verbs})"
        patterns.append(rf"{bound}(?:{nouns}){end}(?P<said{number}>{link})?")
        patterns.append(rf"{bound}(?:{weak}){end}(?P<weak{number}>{MARKUP}{{0,4}}(?:{_COLON}|{verbs}))")
    return re.compile("|".join(patterns), re.IGNORECASE)
