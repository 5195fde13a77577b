"""Samples, as metrics see them: a reply with its item's columns and facts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from basic_control.data.batches import Batch, Opponent, QueryResult, Ref
from basic_control.data.filters import FILTERED, KIND, find_loss
from basic_control.data.messages import MESSAGES
from basic_control.data.records import CALLS, CONTEXT, HIDDEN_KEYS, RENDERED, TURNS, Sample
from basic_control.data.tables import REQUESTS, RESPONSES
from basic_control.data.tools import TOOL_CALLS
from basic_control.data.truncation import CUT, is_cut, is_thinking_alone
from basic_control.prompts import fill
from basic_control.tasks.store.tables import Store


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One model's reply to one item; `error_kind` says why it is missing, `cut` that it hit the token limit.

    `is_thinking`: it has no answer beside its thinking.
    It is also missing if the reply of the model it is compared with is: `error` is then of that call. A reply that
    a content filter stopped is missing, whatever text it has.
    """

    item_id: str
    model: str
    repeat: int
    language: str
    sample: Sample
    error_kind: str | None
    error: str | None
    cut: bool = False
    is_thinking: bool = False


def read_calls(
    store: Store, batches: Sequence[QueryResult | Batch | Opponent], *, payload: bool = False
) -> pl.DataFrame:
    """Return requests, each with its response; with their `payload`, which `is_cut` reads, if asked for."""
    requests = store.read_all([batch.requests for batch in batches], REQUESTS)
    if not payload:
        requests = requests.drop("payload")
    responses = store.read_all([batch.responses for batch in batches], RESPONSES)
    # A response is stored for each batch that asked it, and the same question may be in several.
    responses = responses.unique("request_id", maintain_order=True)
    return requests.join(responses, on="request_id", how="left", maintain_order="left")


def _read_evidence(store: Store, ref: Ref | None) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Return the findings on cited sources: (item, model, repeat) -> citation number -> finding."""
    if ref is None:
        return {}
    findings: dict[tuple[str, str, int], dict[str, Any]] = {}
    for row in store.read(ref).iter_rows(named=True):
        finding = {name: row[name] for name in ("verdict", "reason", "span")}
        findings.setdefault((row["item_id"], row["model"], row["repeat"]), {})[str(row["number"])] = finding
    return findings


_OURS = ("usage", CONTEXT, HIDDEN_KEYS, TOOL_CALLS, MESSAGES)


def select_returned(extra: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an application returned besides its text, unless the row itself has it."""
    return {name: value for name, value in extra.items() if name not in _OURS and not facts.get(name)}


_OURS_ALONE = frozenset({"item_id", "language", "facts", "question_id", "text_digest", "answer_digest"})
"""Columns of the items table that say which item it is, whatever the row's own columns of these names hold."""


def merge_columns(item: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item's columns and its row's own, by name: of equal names (`prompt`, `level`) the row's holds."""
    row = {name: value for name, value in facts.items() if name not in _OURS_ALONE}
    return {**item, **row, RENDERED: item["prompt"]}


def fill_item(item: Mapping[str, Any], facts: Mapping[str, Any], template: str | None) -> Mapping[str, Any]:
    """Return an item with the prompt by which a target was asked it; `template` is None if it is stored so."""
    if template is None:
        return item
    return {**item, "prompt": fill(template, item["language"], facts)}


def _read_opponent_replies(store: Store, opponent: Opponent | None) -> dict[tuple[str, int], dict[str, Any]]:
    """Return another target's replies to the same items: (item, repeat) -> text, error and its kind."""
    if opponent is None:
        return {}
    replies = read_calls(store, [opponent])
    replies = replies.select("item_id", "repeat", "text", "error", "error_kind", "finish_reason")
    return {(row["item_id"], row["repeat"]): row for row in replies.iter_rows(named=True)}


def read_samples(store: Store, batch: Batch) -> Iterator[SampleRow]:
    """Yield a batch's replies in the order of its requests."""
    items: dict[str, Mapping[str, Any]] = {}
    facts: dict[str, Mapping[str, Any]] = {}
    for item in store.read(batch.items).iter_rows(named=True):
        row = json.loads(item["facts"])
        items[item["item_id"]] = fill_item(item, row, batch.template)
        facts[item["item_id"]] = row
    evidence = _read_evidence(store, batch.evidence)
    opponent_replies = _read_opponent_replies(store, batch.opponent)
    for reply in read_calls(store, [batch], payload=True).iter_rows(named=True):
        item = items[reply["item_id"]]
        row_facts = facts[reply["item_id"]]
        findings = evidence.get((reply["item_id"], reply["model"], reply["repeat"]), {})
        opponent_column: dict[str, Any] = {}
        opponent_reply = opponent_replies.get((reply["item_id"], reply["repeat"]))
        if batch.opponent and opponent_reply:
            opponent_column = {batch.opponent.name: opponent_reply["text"]}
        extra = json.loads(reply["extra"] or "{}")
        loss = find_loss(reply)
        # A column of the opponent's name goes before its reply.
        if loss is None and opponent_reply and not row_facts.keys() & opponent_column:
            loss = find_loss(opponent_reply)
        error_kind, error = loss or (None, None)
        # Absent, not empty, where there is nothing to say.
        filtered = {FILTERED: True} if error_kind == KIND else {}
        cited = {"evidence": findings} if findings else {}
        yield SampleRow(
            item_id=reply["item_id"],
            model=reply["model"],
            repeat=reply["repeat"],
            language=item["language"],
            sample={
                **opponent_column,
                **merge_columns(item, row_facts),
                "response": reply["text"],
                CUT: is_cut(reply),
                **filtered,
                CALLS: extra.get(TOOL_CALLS),
                TURNS: extra.get(MESSAGES),
                **select_returned(extra, row_facts),
                **cited,
            },
            error_kind=error_kind,
            error=error,
            cut=is_cut(reply),
            is_thinking=is_thinking_alone(reply),
        )


def read_judged(store: Store, batch: Batch) -> list[SampleRow]:
    """Return a batch's replies that judges are asked about: a reply that only calls tools has no text for them."""
    judged: list[SampleRow] = []
    for reply in read_samples(store, batch):
        has_text = reply.sample["response"] or not reply.sample.get(CALLS)
        if reply.error_kind is None and has_text:
            judged.append(reply)
    return judged
