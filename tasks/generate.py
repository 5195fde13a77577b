"""Generate: draw the items of the families, in batches."""

from collections.abc import Mapping
from typing import Any

from config.settings import Store
from data.draw import canonical, draw
from data.plugins import family
from data.records import Item, Ref
from data.tables import ITEMS
from tasks.place import open_store
from tasks.stage import stage


def row(item: Item) -> dict[str, Any]:
    """Return an item as a row of the items table."""
    return {
        "item_id": item.item_id,
        "suite": item.suite,
        "family": item.family,
        "version": item.version,
        "level": item.level,
        "language": item.language,
        "template": item.template,
        "seed": item.seed,
        "index": item.index,
        "prompt": item.prompt,
        "answer": item.answer,
        "facts": canonical(dict(item.facts)),
    }


def draw_all(
    families: Mapping[str, int],
    *,
    levels: tuple[str, ...],
    languages: tuple[str, ...],
    seed: int,
    n_items: int,
    options: Mapping[str, Mapping[str, Any]],
) -> list[Item]:
    """Draw `n_items` of each family, level and language; no prompt of a family comes twice in a run."""
    items: list[Item] = []
    for name in families:
        unit, seen = family(name), set[str]()
        for language in languages:
            for level in levels:
                items += draw(
                    unit,
                    level=level,
                    language=language,
                    seed=seed,
                    count=n_items,
                    options=options.get(name),
                    seen=seen,
                )
    return items


@stage(version=1)
def generate(
    store: Store,
    *,
    families: Mapping[str, int],
    levels: tuple[str, ...],
    languages: tuple[str, ...],
    seed: int,
    n_items: int,
    options: Mapping[str, Mapping[str, Any]],
    batch_size: int,
) -> list[Ref]:
    """Draw the items and store them in batches.

    `families` maps names to versions: a family of another version has other items.
    """
    items = draw_all(families, levels=levels, languages=languages, seed=seed, n_items=n_items, options=options)
    place = open_store(store)
    return [
        place.write(ITEMS, ITEMS.frame(row(item) for item in items[start : start + batch_size]))
        for start in range(0, len(items), batch_size)
    ]
