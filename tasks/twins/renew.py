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
from basic_control.data.public_sets import find_data_file
from basic_control.data.records import Item
from basic_control.data.suites import Suite, TwinKind, Twins
from basic_control.data.tables import ITEMS
from basic_control.data.units import UnitIdentity
from basic_control.generators.twins.base import Refused, Renewed
from basic_control.generators.twins.kinds import renew as renewed
from basic_control.generators.twins.parity import in_language
from basic_control.metrics.cot.chain import annotate
from basic_control.prompts import digest_templates, fill, find_columns_of_all
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
        items = loader(self.loader).load(self.options, ())
        return {item.index: replace(item, language=self.language) for item in items}


def find_paired_data(suite: Suite) -> PairedData | None:
    """Return the first existing data set named as a suite with another language."""
    folder, slash, file = str(suite.source.get("data", "")).rpartition("/")
    for language in LANGUAGES:
        renamed = _NAMED.sub(language, file.replace("_", " ")).replace(" ", "_")
        name = f"{folder}{slash}{renamed}"
        path = find_data_file(name, Path())
        if renamed != file and path.is_file():
            options = {**suite.source, "data": name, "language": ""}
            sample = suite.source.get("sample")
            # All rows: the draw is that of the originals.
            if isinstance(sample, Mapping):
                options["sample"] = {**sample, "method": "all"}
            return PairedData(language, suite.loader, options, hashlib.sha256(path.read_bytes()).hexdigest())
    return None


def partner(item: Mapping[str, Any], paired: Mapping[int, Item]) -> Item:
    """Return an item in the other language.

    Raises:
        Refused: it does not exist, or has a different answer.
    """
    counterpart = paired.get(item["index"])
    if counterpart is None:
        raise Refused("not there in another language")
    if counterpart.answer.replace(",", "") != str(item["answer"]).replace(",", ""):
        raise Refused("another answer in the other language")
    return counterpart


def in_family(item: Mapping[str, Any], families: Mapping[str, Mapping[str, Any]]) -> Item:
    """Return a family's item in the first of its other languages, from the same draw.

    Raises:
        Refused: the same draw makes another item there.
    """
    unit = family(item["family"])
    target = next((language for language in unit.languages if language != item["language"]), "")
    return replace(in_language(unit, item, families.get(unit.name, {}), target), language=target)


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


def plan_twins(suite: Suite) -> TwinsWanted | None:
    """Return which twins a suite asks for; None if none."""
    if suite.twins is None:
        return None
    paired = None
    if "language" in suite.twins.kinds:
        paired = find_paired_data(suite)
    options = {family(name).name: overrides for name, overrides in suite.source.get("options", {}).items()}
    drawn = {unit.name: options.get(unit.name, {}) for unit in families_of(suite)}
    prompts = tuple(suite.prompts_by_name.values())
    return TwinsWanted(
        suite.name, suite.twins, prompts, paired, makers_of(suite), drawn, digest_templates(*prompts)
    )


def twins_of(
    items: pl.DataFrame, request: TwinsWanted, counts: Counter[tuple[TwinKind, str]]
) -> Iterator[dict[str, Any]]:
    """Yield rows of the items table: the twins of some items; count each original's outcome by kind."""
    paired = request.paired.items() if request.paired else {}
    for original in items.iter_rows(named=True):
        for kind in request.twins.kinds:
            digests_of_twins = {original["text_digest"]}
            for number in range(request.twins.k):
                # An original that has no first twin has no other either.
                try:
                    twin = _renew_item(original, kind, number, request, paired)
                except Refused as reason:
                    counts[kind, str(reason)] += not number
                    break
                counts[kind, ""] += not number
                if twin["text_digest"] not in digests_of_twins:
                    digests_of_twins.add(twin["text_digest"])
                    yield twin


def _renew_item(
    original: Mapping[str, Any], kind: TwinKind, number: int, request: TwinsWanted, paired: Mapping[int, Item]
) -> dict[str, Any]:
    prompt, language = request.prompts[0], original["language"]
    if not prompt and kind != "language":
        raise Refused("a prompt of the family's own")
    facts: dict[str, Any] = json.loads(original["facts"])
    if kind == "language":
        counterpart = partner(original, paired) if prompt else in_family(original, request.families)
        language = counterpart.language
        twin = Renewed(counterpart.answer, counterpart.facts, counterpart.prompt)
    else:
        item = original["text_digest"] or original["item_id"]
        annotated = {**facts, "annotated": annotate(str(facts.get("reference") or ""))}
        seed = request.twins.seed
        twin = renewed(kind, item, annotated, original["answer"], language, seed=seed, number=number)
    # Metrics compare with the row's own column.
    if "answer" in facts and twin.answer != original["answer"]:
        facts["answer"] = twin.answer
    facts |= {**twin.facts, TWIN: {"item": original["item_id"], "kind": kind}}
    shared = {name: original[name] for name in ("family", "version", "level", "template", "seed", "index")}
    written = Item(twin.prompt, twin.answer, facts, language=language, suite=request.suite, **shared)
    return row(written, find_columns_of_all(request.prompts)) | {
        "item_id": content_id("twin", original["item_id"], kind, number),
        "prompt": twin.prompt or fill(prompt, language, facts),
    }


@stage(version=3, part="generate", takes="generate")
def renew(store: StoreSettings, items: Ref, *, request: TwinsWanted) -> RenewedItems:
    """Create the twins of a batch of items."""
    opened = open_store(store)
    counts: Counter[tuple[TwinKind, str]] = Counter()
    frame = ITEMS.frame(twins_of(opened.read(items), request, counts))
    outcomes = tuple(TwinCount(request.suite, kind, reason, n) for (kind, reason), n in sorted(counts.items()) if n)
    return RenewedItems(opened.write(ITEMS, frame), outcomes)


def select_originals(twins: pl.DataFrame) -> pl.DataFrame:
    """Return item_id, original, kind of each twin of an items table."""
    facts = pl.col("facts").str
    return twins.select(
        "item_id", original=facts.json_path_match(f"$.{TWIN}.item"), kind=facts.json_path_match(f"$.{TWIN}.kind")
    )
