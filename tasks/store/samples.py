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


def answers_of(
    store: Store, asked: Sequence[QueryResult | Batch | Opponent], *, payload: bool = False
) -> pl.DataFrame:
    """Return requests, each with its response; with their `payload`, which `is_cut` reads, if asked for."""
    requests = store.read_all([a.requests for a in asked], REQUESTS)
    requests = requests if payload else requests.drop("payload")
    responses = store.read_all([a.responses for a in asked], RESPONSES).unique("request_id", maintain_order=True)
    return requests.join(responses, on="request_id", how="left", maintain_order="left")


def _evidence(store: Store, ref: Ref | None) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Return the findings on cited sources: (item, model, repeat) -> citation number -> finding."""
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for row in store.read(ref).iter_rows(named=True) if ref else ():
        finding = {name: row[name] for name in ("verdict", "reason", "span")}
        found.setdefault((row["item_id"], row["model"], row["repeat"]), {})[str(row["number"])] = finding
    return found


_OURS = ("usage", CONTEXT, HIDDEN_KEYS, TOOL_CALLS, MESSAGES)


def returned(extra: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an application returned besides its text, unless the row itself has it."""
    return {name: value for name, value in extra.items() if name not in _OURS and not facts.get(name)}


_OURS_ALONE = frozenset({"item_id", "language", "facts", "question_id", "text_digest", "answer_digest"})
"""Columns of the items table that say which item it is, whatever the row's own columns of these names hold."""


def named_columns(item: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item's columns and its row's own, by name: of equal names (`prompt`, `level`) the row's holds."""
    row = {name: value for name, value in facts.items() if name not in _OURS_ALONE}
    return {**item, **row, RENDERED: item["prompt"]}


def _opponent_replies(store: Store, opponent: Opponent | None) -> dict[tuple[str, int], dict[str, Any]]:
    """Return another target's replies to the same items: (item, repeat) -> text, error and its kind."""
    if opponent is None:
        return {}
    told = answers_of(store, [opponent]).select("item_id", "repeat", "text", "error", "error_kind", "finish_reason")
    return {(row["item_id"], row["repeat"]): row for row in told.iter_rows(named=True)}


def sample_rows(store: Store, batch: Batch) -> Iterator[SampleRow]:
    """Yield a batch's replies in the order of its requests."""
    rows = {row["item_id"]: row for row in store.read(batch.items).iter_rows(named=True)}
    facts: dict[str, Mapping[str, Any]] = {item_id: json.loads(row["facts"]) for item_id, row in rows.items()}
    known = _evidence(store, batch.evidence)
    others = _opponent_replies(store, batch.opponent)
    for reply in answers_of(store, [batch], payload=True).iter_rows(named=True):
        item = rows[reply["item_id"]]
        findings = known.get((reply["item_id"], reply["model"], reply["repeat"]), {})
        other = others.get((reply["item_id"], reply["repeat"])) if batch.opponent else None
        theirs = {batch.opponent.name: other["text"]} if batch.opponent and other else {}
        own = facts[reply["item_id"]]
        extra = json.loads(reply["extra"] or "{}")
        loss = find_loss(reply)
        # A column of the opponent's name goes before its reply.
        if loss is None and other and not own.keys() & theirs:
            loss = find_loss(other)
        error_kind, error = loss or (None, None)
        yield SampleRow(
            item_id=reply["item_id"],
            model=reply["model"],
            repeat=reply["repeat"],
            language=item["language"],
            sample={
                **theirs,
                **named_columns(item, own),
                "response": reply["text"],
                CUT: is_cut(reply),
                **({FILTERED: True} if error_kind == KIND else {}),
                CALLS: extra.get(TOOL_CALLS),
                TURNS: extra.get(MESSAGES),
                **returned(extra, own),
                **({"evidence": findings} if findings else {}),
            },
            error_kind=error_kind,
            error=error,
            cut=is_cut(reply),
            is_thinking=is_thinking_alone(reply),
        )
