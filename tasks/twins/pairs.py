"""The same items in another language: a data set that lies beside a suite's under its language's name."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from data.plugins import family, loader
from data.records import Item
from data.sources import given_file
from data.suites import Suite
from generators.twins.base import Refused
from generators.twins.parity import in_language

LANGUAGES = ("en", "ru", "zh")
_NAMED = re.compile(r"(?<![A-Za-z0-9])(?:en|ru|zh)(?![A-Za-z0-9])")


@dataclass(frozen=True, slots=True)
class PairedData:
    """A data set whose rows are those of a suite's in another language: `mgsm_ru` beside `mgsm_en`."""

    language: str
    loader: str
    options: Mapping[str, Any]
    digest: str

    def items(self) -> dict[int, Item]:
        """Return the items by their places."""
        listed = loader(self.loader).load(self.options, ())
        return {item.index: replace(item, language=self.language) for item in listed}


def paired_data(suite: Suite) -> PairedData | None:
    """Return the first data set that is there under a suite's name with another language in it."""
    for language, name in _others(str(suite.source.get("data", ""))):
        path = given_file(name, Path())
        if path.is_file():
            sample = suite.source.get("sample")
            every = {"sample": {**sample, "method": "all"}} if isinstance(sample, Mapping) else {}
            options = {**suite.source, **every, "data": name, "language": ""}
            return PairedData(language, suite.loader, options, hashlib.sha256(path.read_bytes()).hexdigest())
    return None


def _others(name: str) -> Iterator[tuple[str, str]]:
    folder, _, file = name.rpartition("/")
    for language in LANGUAGES:
        other = _NAMED.sub(language, file.replace("_", " ")).replace(" ", "_")
        if other != file:
            yield language, f"{folder}/{other}" if folder else other


def partner(item: Mapping[str, Any], paired: Mapping[int, Item]) -> Item:
    """Return an item in the other language.

    Raises:
        Refused: it is not there, or its answer is another one.
    """
    found = paired.get(item["index"])
    if found is None:
        raise Refused("not there in another language")
    if found.answer.replace(",", "") != str(item["answer"]).replace(",", ""):
        raise Refused("another answer in the other language")
    return found


def in_family(item: Mapping[str, Any], families: Mapping[str, Mapping[str, Any]]) -> Item:
    """Return a family's item in the first of its other languages, from the same draw.

    Raises:
        Refused: the same draw makes another item there.
    """
    unit = family(item["family"])
    other = next((one for one in unit.languages if one != item["language"]), "")
    return replace(in_language(unit, item, families.get(unit.name, {}), other), language=other)
