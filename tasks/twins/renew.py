"""Renew: each item's twins, drawn from the item, the kind and the seed alone."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.config.settings import StoreSettings
from basic_control.data.batches import Ref, TwinCount
from basic_control.data.draw import content_id
from basic_control.data.loading import families_of, makers_of
from basic_control.data.plugins import family, loader
from basic_control.data.records import Item
from basic_control.data.sources import find_data_file
from basic_control.data.suites import Suite, TwinKind, Twins
from basic_control.data.tables import ITEMS
from basic_control.data.units import UnitIdentity
from basic_control.generators.twins.base import Refused, Renewed
from basic_control.generators.twins.kinds import renew as renewed
from basic_control.generators.twins.parity import in_language
from basic_control.metrics.cot.chain import annotate
from basic_control.prompts import digests, fill, read_by
from basic_control.tasks.generate import row
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.stage import stage

TWIN = "twin_of"
"""The fact of a twin that names its original and its kind."""


LANGUAGES = ("en", "ru", "zh")
_NAMED = re.compile(r"(?<![A-Za-z0-9])(?:en|ru|zh)(?![A-Za-z0-9])")


@dataclass(frozen=True, slots=True)
class PairedData:
    """A data set with the same rows as a suite's in another language: `mgsm_ru` beside `mgsm_en`."""

    language: str
    loader: str
    options: Mapping[str, Any]
    digest: str

    def items(self) -> dict[int, Item]:
        """Return the items by position."""
        listed = loader(self.loader).load(self.options, ())
        return {item.index: replace(item, language=self.language) for item in listed}


def paired_data(suite: Suite) -> PairedData | None:
    """Return the first existing data set named as a suite with another language."""
    folder, slash, file = str(suite.source.get("data", "")).rpartition("/")
    for language in LANGUAGES:
        other = _NAMED.sub(language, file.replace("_", " ")).replace(" ", "_")
        name = f"{folder}{slash}{other}"
        path = find_data_file(name, Path())
        if other != file and path.is_file():
            sample = suite.source.get("sample")
            every = {"sample": {**sample, "method": "all"}} if isinstance(sample, Mapping) else {}
            options = {**suite.source, **every, "data": name, "language": ""}
            return PairedData(language, suite.loader, options, hashlib.sha256(path.read_bytes()).hexdigest())
    return None


def partner(item: Mapping[str, Any], paired: Mapping[int, Item]) -> Item:
    """Return an item in the other language.

    Raises:
        Refused: it does not exist, or has a different answer.
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


@dataclass(frozen=True, slots=True)
class RenewedItems:
    """A batch's twins, and the outcomes of its originals."""

    items: Ref
    counts: tuple[TwinCount, ...]


@dataclass(frozen=True, slots=True)
class TwinsWanted:
    """Which twins a suite's items get: its name and prompts, and its data in another language, if any.

    `units` make the items; `families` are the options of those that draw them; `digests` are those of the prompts.
    """

    suite: str
    twins: Twins
    prompts: tuple[str, ...]
    paired: PairedData | None = None
    units: tuple[UnitIdentity, ...] = ()
    families: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    digests: tuple[str, ...] = ()


def wanted_of(suite: Suite) -> TwinsWanted | None:
    """Return which twins a suite asks for; None if none."""
    if suite.twins is None:
        return None
    paired = paired_data(suite) if "language" in suite.twins.kinds else None
    options = {family(name).name: own for name, own in suite.source.get("options", {}).items()}
    drawn = {unit.name: options.get(unit.name, {}) for unit in families_of(suite)}
    prompts = tuple(suite.prompts_by_name.values())
    return TwinsWanted(suite.name, suite.twins, prompts, paired, makers_of(suite), drawn, digests(*prompts))


def twins_of(
    items: pl.DataFrame, wanted: TwinsWanted, counts: Counter[tuple[TwinKind, str]]
) -> Iterator[dict[str, Any]]:
    """Yield rows of the items table: the twins of some items; count each original's outcome by kind."""
    paired = wanted.paired.items() if wanted.paired else {}
    for original in items.iter_rows(named=True):
        for kind in wanted.twins.kinds:
            seen = {original["text_digest"]}
            for number in range(wanted.twins.k):
                try:
                    found = _twin(original, kind, number, wanted, paired)
                except Refused as reason:
                    counts[kind, str(reason)] += not number
                    break
                counts[kind, ""] += not number
                if found["text_digest"] not in seen:
                    seen.add(found["text_digest"])
                    yield found


def _twin(
    original: Mapping[str, Any], kind: TwinKind, number: int, wanted: TwinsWanted, paired: Mapping[int, Item]
) -> dict[str, Any]:
    prompt, language = wanted.prompts[0], original["language"]
    if not prompt and kind != "language":
        raise Refused("a prompt of the family's own")
    facts: dict[str, Any] = json.loads(original["facts"])
    if kind == "language":
        other = partner(original, paired) if prompt else in_family(original, wanted.families)
        language, twin = other.language, Renewed(other.answer, other.facts, other.prompt)
    else:
        item = original["text_digest"] or original["item_id"]
        given = {**facts, "annotated": annotate(str(facts.get("reference") or ""))}
        twin = renewed(kind, item, given, original["answer"], language, seed=wanted.twins.seed, number=number)
    if "answer" in facts and twin.answer != original["answer"]:
        facts["answer"] = twin.answer  # metrics compare with the row's own column
    facts |= {**twin.facts, TWIN: {"item": original["item_id"], "kind": kind}}
    same = {name: original[name] for name in ("family", "version", "level", "template", "seed", "index")}
    written = Item(twin.prompt, twin.answer, facts, language=language, suite=wanted.suite, **same)
    return row(written, read_by(wanted.prompts)) | {
        "item_id": content_id("twin", original["item_id"], kind, number),
        "prompt": twin.prompt or fill(prompt, language, facts),
    }


@stage(version=3, part="generate", takes="generate")
def renew(store: StoreSettings, items: Ref, *, wanted: TwinsWanted) -> RenewedItems:
    """Create the twins of a batch of items."""
    opened = open_store(store)
    counts: Counter[tuple[TwinKind, str]] = Counter()
    frame = ITEMS.frame(twins_of(opened.read(items), wanted, counts))
    listed = tuple(TwinCount(wanted.suite, kind, reason, n) for (kind, reason), n in sorted(counts.items()) if n)
    return RenewedItems(opened.write(ITEMS, frame), listed)


def named(twins: pl.DataFrame) -> pl.DataFrame:
    """Return item_id, original, kind of each twin of an items table."""
    told = pl.col("facts").str
    return twins.select(
        "item_id", original=told.json_path_match(f"$.{TWIN}.item"), kind=told.json_path_match(f"$.{TWIN}.kind")
    )
