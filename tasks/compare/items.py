"""The items of finished runs, each with the id of its question: those of earlier versions are given theirs here."""

import json
from collections.abc import Iterator, Mapping

import polars as pl

from config.declared import suites_in
from data.errors import InputError
from data.plugins import loader
from data.questions import identify
from data.records import Item
from data.suites import Suite
from data.tables import ITEMS
from prompts import read_by
from tasks.store.runs import FinishedRun, load

_ADDED = ITEMS.added


def items_of(run: FinishedRun, root: str = "") -> pl.DataFrame:
    """Return the items of a run, all its batches; `root` is where its store is, where that has moved.

    Raises:
        InputError: the store does not hold them whole, or they are of an earlier version and their questions cannot
            be told.
    """
    return with_questions(
        load(run, "items", "items", root), {one.name: one for one in suites_in(run.configuration)}, run.name
    )


def with_questions(items: pl.DataFrame, suites: Mapping[str, Suite], run: str) -> pl.DataFrame:
    """Fill in the ids of questions where a table of an earlier version has none.

    Raises:
        InputError: nothing says what an item asks.
    """
    if not items["question_id"].null_count():
        return items
    bare = items.filter(pl.col("question_id").is_null())
    found = pl.DataFrame(
        [*_identities(bare, suites, run)], schema=dict.fromkeys(("item_id", *_ADDED), pl.String()), orient="row"
    )
    return items.drop(_ADDED).join(
        pl.concat([items.drop_nulls("question_id").select("item_id", *_ADDED), found]).unique("item_id"),
        on="item_id", how="left", maintain_order="left",
    )  # fmt: skip


def _identities(bare: pl.DataFrame, suites: Mapping[str, Suite], run: str) -> Iterator[tuple[str, ...]]:
    columns = ("item_id", "suite", "prompt", "answer", "facts")
    read = {name: read_by(suite.asked_by.values()) for name, suite in suites.items()}
    own = {name: _writes_prompts(suite) for name, suite in suites.items()}
    for item_id, suite, prompt, answer, facts in bare.select(columns).iter_rows():
        if suite not in suites:
            raise InputError(
                f"run {run}: its items are of an earlier version, and its configuration does not say any more what "
                f"the suite {suite} asks. Run the evaluation again: what was answered is not asked again."
            )
        row = json.loads(facts or "{}")
        item = Item(prompt if own[suite] else "", answer or "", row, stated_language=str(row.get("language") or ""))
        yield item_id, *identify(item, read[suite])


def _writes_prompts(suite: Suite) -> bool:
    """Say whether the prompts of a suite's items are their loader's own."""
    if not any(suite.asked_by.values()):
        return True
    try:
        return loader(suite.loader).generated
    except InputError:  # of a plug-in that is not there any more
        return False
