"""Batches between stages: their cell of work, and their tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Ref:
    """A table in the store: the SHA-256 of its Parquet file, and its number of rows.

    `content` is what later stages depend on: the digest of the same table without its volatile columns.
    """

    table: str
    digest: str
    rows: int
    content: str = ""

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "Ref":
        """Return the reference stored in a document, such as a manifest."""
        return cls(document["table"], document["digest"], document["rows"])

    def as_dict(self) -> dict[str, Any]:
        """Return the reference as stored in documents."""
        return {"table": self.table, "digest": self.digest, "rows": self.rows}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of work: suite, target, batch, metric and judge; '' and None for all.

    Stages, reruns and records select by its fields; its text is for people only and is never parsed.
    """

    suite: str = ""
    model: str = ""
    batch: int | None = None
    metric: str = ""
    judge: str = ""

    def __str__(self) -> str:
        batch = "" if self.batch is None else str(self.batch)
        return " ".join(filter(None, (self.suite, self.model, batch, self.metric, self.judge))) or "all"


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a batch of requests; `span_s` is from the first call, at `began_s` (epoch), to the last reply.

    `submitted` requests wait in batches at a server. `supplied` replies come from a data set or a recording,
    without a call, and are in none of the other counts. `model` is the entry that was asked, which may be a
    judge's; '' without calls.
    """

    requests: Ref
    responses: Ref
    total: int = 0
    cached: int = 0
    answered: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    span_s: float = 0.0
    submitted: int = 0
    supplied: int = 0
    began_s: float = 0.0
    model: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """One stage's execution in this run: its wall time, when it `ended` (Unix time), its calls by outcome."""

    stage: str
    cell: Cell
    cached: bool
    seconds: float
    note: str = ""
    ended: float = 0.0
    queries: tuple[QueryResult, ...] = ()


def compute_span_s(queries: Iterable[QueryResult]) -> float:
    """Compute the seconds in which at least one batch waited for replies: batches run concurrently."""
    spans = sorted((query.began_s, query.began_s + query.span_s) for query in queries)
    total = until = 0.0
    # Of each span, in the order of their beginnings, only what lies after all earlier ones adds to the total.
    for began, ended in spans:
        total += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return total


@dataclass(frozen=True, slots=True)
class TwinCount:
    """Number of originals of a suite without a twin of a kind, and why; reason '' counts those that have one."""

    suite: str
    kind: str
    reason: str
    n: int


@dataclass(frozen=True, slots=True)
class Opponent:
    """Another target's responses to the same items; `name` is their key in samples."""

    name: str
    requests: Ref
    responses: Ref


@dataclass(frozen=True, slots=True)
class Batch:
    """One target's responses to a batch of items, the evidence on their cited sources, and an opponent's.

    `template` is the prompt by which the target was asked, None if it is the one with which the items are stored.
    """

    cell: Cell
    items: Ref
    requests: Ref
    responses: Ref
    evidence: Ref | None = None
    opponent: Opponent | None = None
    template: str | None = None


@dataclass(frozen=True)
class Tables:
    """The tables written by suites, in batches; `n_offered` questions were there, of which rounds may ask fewer."""

    items: list[Ref] = field(default_factory=list)
    queries: list[QueryResult] = field(default_factory=list)
    judged: list[QueryResult] = field(default_factory=list)
    judgements: list[Ref] = field(default_factory=list)
    evidence: list[Ref] = field(default_factory=list)
    verdicts: list[Ref] = field(default_factory=list)
    scores: list[Ref] = field(default_factory=list)
    twin_items: list[Ref] = field(default_factory=list)
    twin_scores: list[Ref] = field(default_factory=list)
    twin_counts: list[TwinCount] = field(default_factory=list)
    n_offered: int = 0

    @property
    def of_twins(self) -> "Tables":
        """The corresponding tables of renewed items, which no score of the suite counts."""
        queries = Tables(queries=self.queries, judged=self.judged)
        return queries.join(Tables(twin_items=self.items, twin_scores=self.scores))

    def join(self, tables: "Tables") -> "Tables":
        """Return both suites' tables."""
        return Tables(*(getattr(self, part.name) + getattr(tables, part.name) for part in fields(self)))


@dataclass(frozen=True, slots=True)
class StoredIdentity:
    """What identified a model at a moment (seconds of the epoch); `reason`: why its server cannot be asked now."""

    values: Mapping[str, str]
    identified_at: float
    reason: str = ""
