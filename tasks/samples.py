"""Samples, as metrics see them: a reply with its item's columns and facts."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from artifacts.store import Store
from data.records import Ref, Sample


@dataclass(frozen=True, slots=True)
class Answered:
    """One model's reply to one item; `error_kind` says why there is none."""

    item_id: str
    model: str
    repeat: int
    language: str
    sample: Sample
    error_kind: str | None
    error: str | None


def _evidence(store: Store, ref: Ref | None) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Return what is known of cited sources: (item, model, repeat) -> citation number -> finding."""
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for row in store.read(ref).iter_rows(named=True) if ref else ():
        finding = {name: row[name] for name in ("verdict", "reason", "span")}
        found.setdefault((row["item_id"], row["model"], row["repeat"]), {})[str(row["number"])] = finding
    return found


def answered(
    store: Store, items: Ref, requests: Ref, responses: Ref, evidence: Ref | None = None
) -> Iterator[Answered]:
    """Yield a batch's replies in the order in which they were asked for."""
    rows = {row["item_id"]: row for row in store.read(items).iter_rows(named=True)}
    facts: dict[str, Mapping[str, Any]] = {item_id: json.loads(row["facts"]) for item_id, row in rows.items()}
    known = _evidence(store, evidence)
    asked = store.read(requests).join(store.read(responses), on="request_id", how="left", maintain_order="left")
    for reply in asked.select("item_id", "model", "repeat", "text", "error", "error_kind").iter_rows(named=True):
        item = rows[reply["item_id"]]
        findings = known.get((reply["item_id"], reply["model"], reply["repeat"]), {})
        yield Answered(
            item_id=reply["item_id"],
            model=reply["model"],
            repeat=reply["repeat"],
            language=item["language"],
            sample={
                **item,
                **facts[reply["item_id"]],
                "response": reply["text"],
                **({"evidence": findings} if findings else {}),
            },
            error_kind=None if reply["text"] is not None else reply["error_kind"] or "error",
            error=reply["error"],
        )
