"""The replies of an earlier run, judged in place of new ones: its items, requests, responses and evidence."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from basic_control.config.settings import StoreSettings
from basic_control.data.batches import Batch, Cell, QueryResult, Ref
from basic_control.data.tables import EVIDENCE, ITEMS, REQUESTS, RESPONSES
from basic_control.tasks.runtime.storage import open_store


@dataclass(frozen=True, slots=True)
class HeldReplies:
    """A run's replies, by its manifest, and what identified its models."""

    store: StoreSettings
    manifest: Mapping[str, Any]

    @property
    def identities(self) -> Mapping[str, Mapping[str, str]]:
        """What identified the run's models."""
        return dict(self.manifest.get("identities", {}))

    def items(self, suite: str) -> list[Ref]:
        """Return a suite's items, a table each batch."""
        store = open_store(self.store)
        tables = [store.read(ref).filter(suite=suite) for ref in self._refs("items")]
        return [store.write(ITEMS, table) for table in tables if table.height]

    def batches(
        self, suite: str, items: Mapping[int | None, Ref], names: Collection[str]
    ) -> Iterator[tuple[Batch, QueryResult]]:
        """Yield each target's replies to each batch of items; nobody is asked."""
        store = open_store(self.store)
        requests = store.read_all(self._refs("requests"), REQUESTS)
        responses = store.read_all(self._refs("responses"), RESPONSES).unique("request_id", maintain_order=True)
        evidence = store.read_all(self._refs("evidence"), EVIDENCE)
        # Each target's replies stand in the run's tables under its name.
        for name in names:
            for number, ref in items.items():
                batch = store.read(ref)
                requests_of_target = _of(requests, batch, name)
                if requests_of_target.is_empty():
                    continue
                answered = responses.join(requests_of_target, on="request_id", how="semi", maintain_order="left")
                answered = answered.with_columns(cached=pl.lit(value=True))
                findings = _of(evidence, batch, name)
                cell = Cell(suite, name, number)
                result = QueryResult(
                    requests=store.write(REQUESTS, requests_of_target),
                    responses=store.write(RESPONSES, answered),
                    supplied=answered.height,
                )
                proof = store.write(EVIDENCE, findings) if findings.height else None
                yield Batch(cell, ref, result.requests, result.responses, proof), result

    def _refs(self, table: str) -> list[Ref]:
        return [Ref.read(ref) for ref in self.manifest.get("tables", {}).get(table, ())]


def _of(frame: pl.DataFrame, items: pl.DataFrame, model: str) -> pl.DataFrame:
    """Return the rows of a model about some items."""
    return frame.filter(model=model).join(items, on="item_id", how="semi", maintain_order="left")
