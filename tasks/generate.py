"""Generate: a suite's items, drawn by families or sampled from a data set by its loader, in batches."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from basic_control.config.settings import StoreSettings
from basic_control.data.batches import QueryResult, Ref
from basic_control.data.draw import content_id, format_canonical
from basic_control.data.loading import RESPONSE, add_tools, offer_items, tools_of
from basic_control.data.messages import column_of_messages
from basic_control.data.plugins import loader
from basic_control.data.public_sets import name_set
from basic_control.data.questions import identify_asked
from basic_control.data.reading.ends import split_at_end
from basic_control.data.records import Item
from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS, REQUESTS, RESPONSES
from basic_control.data.tools import TOOL_CALLS, TOOLS, read_calls, write_calls
from basic_control.data.units import UnitIdentity
from basic_control.data.usual_columns import name_facts
from basic_control.prompts import fill, find_columns_of_all, find_columns_of_system
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.stage import stage

ITEM_COLUMNS = ("item_id", "suite", "family", "version", "level", "language", "template", "seed", "index", "prompt",
                "answer")  # fmt: skip


def row(item: Item, read: Collection[str] = (), column: str = "") -> dict[str, Any]:
    """Return an item as a row of the items table.

    `read` are the columns that the suite's prompts read, `column` is that of its conversation, if it is a prompt.
    """
    columns = {name: getattr(item, name) for name in ITEM_COLUMNS}
    identity = identify_asked(item, read, column)
    return {**columns, "facts": format_canonical(dict(item.facts)), **identity._asdict()}


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
    source = name_set(str(options.get("data", unit_name)))
    prompt, read = prompts[0], find_columns_of_all(prompts).union(*map(find_columns_of_system, systems))
    column = next(filter(None, map(column_of_messages, prompts)), "")
    if tools:
        read |= {TOOLS}
    occurrences: Counter[str] = Counter()
    for position, row_item in enumerate(loader(unit_name).load(options, required)):
        if position in left_out:
            continue
        item = name_facts(row_item, read)
        if tools:
            item = add_tools(item, tools)
        item_row = row(item, read, column)
        item_row["suite"] = suite
        # A family's items have their prompts; a row of a data set is filled into the suite's.
        if not item.prompt:
            is_answered = RESPONSE in item.facts and not prompt  # then no call is needed
            item_row["prompt"] = "" if is_answered else fill(prompt, item.language, item.facts)
            item_row["family"] = item_row["family"] or source
        content = (item.item_id,) if item.item_id else (item_row["prompt"], item.answer, item_row["facts"])
        item_id = content_id(suite, item.language, *content)
        occurrences[item_id] += 1
        if occurrences[item_id] > 1:
            item_id = content_id(item_id, "occurrence", occurrences[item_id])
        item_row["item_id"] = item_id
        yield item_row


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
        tools=tools_of(suite, find_columns_of_all(prompts)),
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


def _build_response(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response that a row brings, as columns of the responses table."""
    text, reason = facts[RESPONSE], facts.get("finish_reason")
    response: dict[str, Any] = {"finish_reason": reason if isinstance(reason, str) else ""}
    calls = read_calls(facts.get(TOOL_CALLS) or [])
    if calls:
        response["extra"] = format_canonical({TOOL_CALLS: write_calls(calls)})
    elif text is None:
        response |= {"error": "the data have no response (null)", "error_kind": "missing"}
    stop_tokens = ""
    if text:
        text, stop_tokens = split_at_end(text, str(facts.get("question") or ""))
    response |= {"text": text, "stop_tokens": stop_tokens or None}
    # People's counts: what is no number of tokens is left out.
    for name in ("tokens_in", "tokens_out"):
        count = facts.get(name)
        if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
            response[name] = count
    return response


@stage(version=4, part="query", takes="generate", name="given")
def record_given(store: StoreSettings, items: Ref, *, model: str) -> QueryResult:
    """Return the responses in a data set as if `model` had been asked: no call is made or counted.

    A row may also have its response's `finish_reason`, length (`tokens_in`, `tokens_out`), and the calls of tools
    that it made (`tool_calls`).
    """
    opened = open_store(store)
    shared = {"model": model, "step": "given", "key": "", "repeat": 0, "payload": "{}"}
    requests, responses = list[dict[str, Any]](), list[dict[str, Any]]()
    for item_id, facts in opened.read(items).select("item_id", "facts").iter_rows():
        request_id = content_id("given", model, item_id)
        requests.append({"request_id": request_id, "item_id": item_id, **shared})
        responses.append({"request_id": request_id, **_build_response(json.loads(facts)), "cached": True})
    return QueryResult(
        requests=opened.write(REQUESTS, REQUESTS.frame(requests)),
        responses=opened.write(RESPONSES, RESPONSES.frame(responses)),
        supplied=len(responses),
    )
