"""The words of words.yaml as patterns: what answers, denies, supposes, withdraws and joins."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any

from data.beside import read_beside

BOUND, END = r"(?<![^\W_])", r"(?![^\W_])"
"""Boundaries of a word in scripts that put spaces between words."""
MARKUP = r"[\s*_`\"'“”„«»「」$\\>|~]"
"""White space, emphasis, quotation marks and signs of Markdown and LaTeX, which say nothing."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_COLON = r"[:：︰﹕∶ঃ]|=>?|[→➜➡⇒]|[—–]|\s-\s"
_GAP = r"[^\n.:：=!?。！？।]{0,80}?"
_FEW_SHOT = r"(?m:^)[ \t>*_]{0,8}A[*_]{0,3}(?P<few_shot>[:：])"
"""`A: 18`, as in prompts with examples."""


@cache
def _table() -> Mapping[str, Any]:
    """Return the table; a form that texts in one notation write otherwise (Thai am) is in it both ways."""
    table = read_beside(__file__)
    for language in table["answers"]:
        for key in ("probes", "nouns", "weak", "verbs"):
            listed = language.get(key, [])
            language[key] = [*dict.fromkeys([*listed, *(unicodedata.normalize("NFKC", form) for form in listed)])]
    return table


@cache
def _compiled(section: str, before: str, after: str, *, is_ascii: bool) -> re.Pattern[str]:
    listed = [str(row["form"]) for row in _table()[section] if row["example"].isascii() or not is_ascii]
    kept = [form if _UNSPACED.search(form) else BOUND + form for form in listed]
    return re.compile(f"{before}(?:{'|'.join(kept) or '(?!)'}){after}", re.IGNORECASE)


def pattern(section: str, text: str, before: str = "", after: str = "") -> re.Pattern[str]:
    """Return the pattern of a section's words for a text, between two others."""
    return _compiled(section, before, after, is_ascii=text.isascii())


def answer_cues(text: str) -> re.Pattern[str]:
    """Return the pattern of the words for 'answer' in a text, each with the colon or verb after it.

    Groups with a name that begins with `said`: the colon or verb; with `weak`: the same of a noun that needs an
    answer right behind it.
    """
    folded = text.casefold()
    is_ascii = folded.isascii()
    present = []
    for number, language in enumerate(_table()["answers"]):
        probes = [probe for probe in language["probes"] or ("",) if not is_ascii or probe.isascii()]
        if any(probe in folded for probe in probes):
            present.append(number)
    return _cues(tuple(present))


@cache
def _cues(present: tuple[int, ...]) -> re.Pattern[str]:
    listed = [_FEW_SHOT]
    for number in present:
        language = _table()["answers"][number]
        bound, end = ("", "") if language.get("unspaced") else (BOUND, END)
        nouns, weak = "|".join(language["nouns"]), "|".join(language["weak"])
        verbs = f"{bound}(?:{'|'.join(language['verbs'])}){end}(?:{MARKUP}{{0,3}}[:：])?"
        said = rf"{MARKUP}{{0,4}}(?:{_COLON})|{_GAP}(?:{_COLON}|{verbs})"
        listed.append(rf"{bound}(?:{nouns}){end}(?P<said{number}>{said})?")
        listed.append(rf"{bound}(?:{weak}){end}(?P<weak{number}>{MARKUP}{{0,4}}(?:{_COLON}|{verbs}))")
    return re.compile("|".join(listed), re.IGNORECASE)
