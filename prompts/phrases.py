"""Phrases of reports: a catalogue for each language, `<language>/phrases.yaml`, next to its prompts.

A language is available if it has a catalogue, here or in a plug-in's folder. Missing phrases fall back to English.
A catalogue has sections of phrases, and two that English does not need: `units`, texts declared by metrics,
families and suites (in the project's languages), and `reasons`, those of verdicts and scores, which the tables
store in English; a gap `{name}` of a reason matches any text, which is translated as well if it is a reason itself.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import ne
from pathlib import Path
from string import Formatter

import yaml

from basic_control.data.errors import InputError
from basic_control.data.shown import Text
from basic_control.prompts import folders

ENGLISH = "en"
_FOLDER = Path(__file__).parent
_FILE = "phrases.yaml"
_APART = ("units", "reasons")
_BETWEEN = re.compile(r"; (?![^(]*\))")
"""Separator of several judges' reasons; text in brackets is part of one reason."""
# A number as the tables write it: −0.25, 95.0%
_NUMBER = re.compile(r"[+−-]?\d+\.\d+%?")
# `{n} questions are`, `all {n} calls`
_COUNTED = re.compile(
    r"(?:all )?(?<!of )\{(?P<gap>\w+)\}(?P<more> (?:cached|more|renewed|truncated))? "
    r"(?P<noun>answer|call|character|change|item|label|model|note|pair|point|question|rating|repl|request|row|run|sample|"
    r"template|test|twin|warning)(?P<ending>s|ies)\b(?P<verb> (?:are|have|were)\b)?"
)
"""A count with its noun in an English phrase, and the words that agree with it."""
_OF_ONE = {" are": " is", " have": " has", " were": " was"}
_NAME = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")


@dataclass(frozen=True, eq=False)
class Catalogue:
    """A language's texts: `phrases` by `section.name`, `units` by their keys, `reasons` by their English text."""

    phrases: Mapping[str, str]
    units: Mapping[str, str]
    reasons: Mapping[str, str]
    forms: tuple[tuple[re.Pattern[str], str], ...]


@cache
def _find_catalogues(existing: tuple[Path, ...]) -> Mapping[str, Path]:
    """Return the catalogues in folders by language; the project's precede those of plug-ins."""
    catalogues: dict[str, Path] = {}
    for folder in existing:
        for path in sorted(folder.glob(f"*/{_FILE}")):
            if _NAME.fullmatch(path.parent.name):
                catalogues.setdefault(path.parent.name, path)
    return catalogues


def languages() -> list[str]:
    """Return the languages available for reports."""
    return sorted(_find_catalogues(folders()))


def catalogue(language: str) -> Catalogue:
    """Return a language's catalogue.

    Raises:
        InputError: there is none, or it is not valid; the message says where and why.
    """
    path = _find_catalogues(folders()).get(language)
    if path:
        return _read_catalogue(path)
    expected = ", ".join(languages())
    raise InputError(f"no catalogue of phrases in language {language!r}; expected one of {expected}.")


@cache
def _read_catalogue(path: Path) -> Catalogue:
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid YAML ({error}).") from error
    sections = raw if isinstance(raw, dict) else {}
    phrases: dict[str, str] = {}
    for name, section in sections.items():
        if not isinstance(section, dict) or not {*map(type, section.values())} <= {str}:
            raise InputError(f"{path}: {name}: expected texts by name.")
        if name not in _APART:
            phrases |= {f"{name}.{key}": text for key, text in section.items()}
    if path.parent != _FOLDER / ENGLISH:
        _check_phrases(phrases, path)
    reasons = sections.get("reasons", {})
    forms = tuple((_compile_form(pattern), text) for pattern, text in reasons.items() if "{" in pattern)
    return Catalogue(phrases, sections.get("units", {}), reasons, forms)


def _check_phrases(phrases: Mapping[str, str], path: Path) -> None:
    """Refuse phrases that English does not have, and unknown gaps."""
    english = catalogue(ENGLISH).phrases
    for name, text in phrases.items():
        if name not in english:
            raise InputError(f"{path}: {name}: there is no such phrase; the names are those of en/{_FILE}.")
        try:
            unknown = sorted(gaps(text) - gaps(english[name]))
        except ValueError as error:
            raise InputError(f"{path}: {name}: {error}; write {{{{ and }}}} for braces.") from error
        if unknown:
            expected = ", ".join(sorted(gaps(english[name]))) or "none"
            raise InputError(f"{path}: {name}: unknown gap {unknown[0]!r}, expected among {expected}.")


def gaps(text: str) -> set[str]:
    """Return the names in a phrase's braces."""
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def _compile_form(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", pattern)
    # The texts between gaps, and the names of the gaps, take turns.
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = [f"(?P<{name}>.*)" for name in parts[1::2]]
    return re.compile("".join(parts))


def phrase(name: str, language: str, /, **values: object) -> str:
    """Return a phrase, `section.name`, with its gaps filled; in English if the language lacks it."""
    text = catalogue(language).phrases.get(name)
    if text is None or language == ENGLISH:
        text = _COUNTED.sub(lambda match: _write_singular(match, values), catalogue(ENGLISH).phrases[name])
    return text.format(**values)


def _write_singular(match: re.Match[str], values: Mapping[str, object]) -> str:
    """Return a gap with its noun and verb in the singular if its value is 1."""
    if str(values.get(match["gap"])) != "1":
        return match[0]
    noun = match["noun"]
    if match["ending"] == "ies":
        noun += "y"
    return f"{{{match['gap']}}}{match['more'] or ''} {noun}{_OF_ONE.get(match['verb'], '')}"


def list_phrases(section: str, language: str) -> dict[str, str]:
    """Return all phrases of a section by name, gaps unfilled; in English if the language lacks one."""
    phrases, prefix = catalogue(language).phrases, f"{section}."
    english = catalogue(ENGLISH).phrases.items()
    return {key.removeprefix(prefix): phrases.get(key, text) for key, text in english if key.startswith(prefix)}


def get_declared(text: Text, key: str, language: str, default: str = "") -> str:
    """Return a unit's declared text in a language: its own, else the catalogue's by `key`, else English."""
    return text.get(language) or catalogue(language).units.get(key) or text.get(ENGLISH) or default


@lru_cache(maxsize=4096)
def _find_translation(reason: str, texts: Catalogue) -> str:
    return next(_list_translations(reason, texts), reason)


def _list_translations(reason: str, texts: Catalogue) -> Iterator[str]:
    """Yield translations of a reason, the best first."""
    translation = texts.reasons.get(reason)
    if translation:
        yield translation
    # Several judges' reasons, joined: where all of them have translations, these are better than a form's.
    parts = _BETWEEN.split(reason)
    translations = [_find_translation(part, texts) for part in parts] if len(parts) > 1 else []
    if translations and all(map(ne, translations, parts)):
        yield "; ".join(translations)
    for pattern, text in texts.forms:
        match = pattern.fullmatch(reason)
        if match:
            yield text.format(**{name: _translate_gap(part, texts) for name, part in match.groupdict().items()})
    if translations:
        yield "; ".join(translations)


def _translate_gap(part: str, texts: Catalogue) -> str:
    """Return a gap's translation: of a reason, or of a number in the language's notation."""
    if _NUMBER.fullmatch(part):
        return part.replace(".", texts.phrases.get("common.point", "."))
    return _find_translation(part, texts)


def translate_reason(reason: str, language: str) -> str:
    """Return the reason of a verdict or score in a language; unchanged if its catalogue lacks it."""
    if not reason or language == ENGLISH:
        return reason
    return _find_translation(reason, catalogue(language))
