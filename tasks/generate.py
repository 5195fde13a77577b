"""Generate: a suite's items, drawn by families or sampled from a data set by its loader, in batches."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from basic_control.config.settings import StoreSettings
from basic_control.data.batches import QueryResult, Ref
from basic_control.data.draw import content_id, format_canonical
from basic_control.data.loading import RESPONSE, offer_items, tools_of, with_tools
from basic_control.data.messages import column_of_messages
from basic_control.data.plugins import loader
from basic_control.data.questions import identify_asked
from basic_control.data.reading.ends import split
from basic_control.data.records import Item
from basic_control.data.sources import name_of
from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS, REQUESTS, RESPONSES
from basic_control.data.tools import TOOL_CALLS, TOOLS, read_calls, write_calls
from basic_control.data.units import UnitIdentity
from basic_control.prompts import fill, read_by, reads_of_system
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.stage import stage

ITEM_COLUMNS = ("item_id", "suite", "family", "version", "level", "language", "template", "seed", "index", "prompt",
                "answer")  # fmt: skip


def row(item: Item, read: Collection[str] = (), column: str = "") -> dict[str, Any]:
    """Return an item as a row of the items table.

    `read` are the columns that the suite's prompts read, `column` is that of its conversation, if it is a prompt.
    """
    told = {name: getattr(item, name) for name in ITEM_COLUMNS}
    identity = identify_asked(item, read, column)
    return {**told, "facts": format_canonical(dict(item.facts)), **identity._asdict()}


def rows(
    suite: str,
    unit_name: str,
    options: Mapping[str, Any],
    required: Sequence[str],
    prompts: Sequence[str],
    *,
    left_out: Collection[int] = (),
    systems: Sequence[str] = (),
    tools: str | Sequence[Mapping[str, Any]] = "",
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the items table; an item without a prompt from its loader gets the suite's first.

    `left_out` are the positions of drawn rows that are not asked, `systems` the system prompts, `tools`
    those that the models may call, or the column that holds them: they are part of the question.

    An item's id is unique in the run: two suites may draw the same items. Equal rows of a data set remain separate
    items: from the second on, the occurrence is part of the id.
    """
    source = name_of(str(options.get("data", unit_name)))
    prompt, read = prompts[0], read_by(prompts).union(*map(reads_of_system, systems))
    column = next(filter(None, map(column_of_messages, prompts)), "")
    seen: Counter[str] = Counter()
    for position, item in enumerate(loader(unit_name).load(options, required)):
        if position in left_out:
            continue
        if tools:
            item = with_tools(item, tools)  # noqa: PLW2901 - the item as it is asked
        found = row(item, {*read, TOOLS} if tools else read, column)
        found["suite"] = suite
        if not item.prompt:
            answered = RESPONSE in item.facts and not prompt  # then no call is needed
            found["prompt"] = "" if answered else fill(prompt, item.language, item.facts)
            found["family"] = found["family"] or source
        content = (item.item_id,) if item.item_id else (found["prompt"], item.answer, found["facts"])
        item_id = content_id(suite, item.language, *content)
        seen[item_id] += 1
        again = seen[item_id]
        found["item_id"] = item_id if again == 1 else content_id(item_id, "occurrence", again)
        yield found


def items_of(
    suite: Suite, required: Sequence[str] = (), left_out: Collection[int] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the items of a suite, which must have the `required` facts, as rows of the items table."""
    prompts = [*suite.prompts_by_name.values()]
    return rows(
        suite.name,
        suite.loader,
        offer_items(suite),
        required,
        prompts,
        left_out=left_out,
        systems=[suite.system or ""],
        tools=tools_of(suite, read_by(prompts)),
    )


@dataclass(frozen=True, slots=True)
class ItemSource:
    """The source of a suite's items: units, loader first, options, prompts; `digests` of files and templates.

    `left_out` are the positions of drawn rows that are not asked.
    """

    suite: str
    units: tuple[UnitIdentity, ...]
    options: Mapping[str, Any]
    required: tuple[str, ...]
    prompts: tuple[str, ...]
    batch_size: int
    digests: tuple[str, ...] = ()
    left_out: tuple[int, ...] = ()
    systems: tuple[str, ...] = ()
    tools: str | tuple[Mapping[str, Any], ...] = ""


@stage(version=2, part="generate")
def generate(store: StoreSettings, source: ItemSource) -> list[Ref]:
    """Create a suite's items, from any source, and store them in batches."""
    opened, size = open_store(store), source.batch_size
    made_by, left_out = source.units[0].name, frozenset(source.left_out)
    frame = ITEMS.frame(
        rows(
            source.suite,
            made_by,
            source.options,
            source.required,
            source.prompts,
            left_out=left_out,
            systems=source.systems,
            tools=source.tools,
        )
    )
    return [opened.write(ITEMS, frame.slice(start, size)) for start in range(0, max(1, frame.height), size)]


def _responded(facts: Mapping[str, Any]) -> dict[str, Any]:
    reason, counts = facts.get("finish_reason"), {name: facts.get(name) for name in ("tokens_in", "tokens_out")}
    response = facts[RESPONSE]
    calls = read_calls(facts[TOOL_CALLS]) if facts.get(TOOL_CALLS) else None
    text, stop_tokens = split(response, str(facts.get("question") or "")) if response else (response, "")
    missing = {"error": "the data have no response (null)", "error_kind": "missing"}
    return {
        **(missing if response is None and not calls else {}),
        "text": text,
        "stop_tokens": stop_tokens or None,
        "extra": format_canonical({TOOL_CALLS: write_calls(calls)}) if calls else None,
        "finish_reason": reason if isinstance(reason, str) else "",
        **{name: n for name, n in counts.items() if isinstance(n, int) and not isinstance(n, bool) and n >= 0},
    }


@stage(version=4, part="query", takes="generate")
def given(store: StoreSettings, items: Ref, *, model: str) -> QueryResult:
    """Return the responses in a data set as if `model` had been asked: no call is made or counted.

    A row may also have its response's `finish_reason`, length (`tokens_in`, `tokens_out`), and the calls of tools
    that it made (`tool_calls`).
    """
    opened = open_store(store)
    there = [
        (content_id("given", model, item_id), item_id, json.loads(facts))
        for item_id, facts in opened.read(items).select("item_id", "facts").iter_rows()
    ]
    same = {"model": model, "step": "given", "key": "", "repeat": 0, "payload": "{}"}
    requests = REQUESTS.frame({"request_id": one, "item_id": item_id, **same} for one, item_id, _ in there)
    responses = RESPONSES.frame({"request_id": one, **_responded(facts), "cached": True} for one, _, facts in there)
    refs = opened.write(REQUESTS, requests), opened.write(RESPONSES, responses)
    return QueryResult(
        *refs, total=0, cached=0, answered=0, failed=0, tokens_in=0, tokens_out=0, span_s=0.0, supplied=len(there)
    )
