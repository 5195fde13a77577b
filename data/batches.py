"""Batches on their way: which cell of work they are, and the tables that hold them."""

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
    def read(cls, told: Mapping[str, Any]) -> "Ref":
        """Return the reference that a document has, such as a manifest."""
        return cls(told["table"], told["digest"], told["rows"])

    def as_dict(self) -> dict[str, Any]:
        """Return it as documents have it."""
        return {"table": self.table, "digest": self.digest, "rows": self.rows}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of work: which suite, target, batch, metric and judge; '' and None where it is of all.

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

    `submitted` ones wait in batches at a server. `given` replies, of a data set or a recording, were asked of
    nobody, and are in none of the other counts. `model` is the name of the entry that was asked, a judge's too; ''
    where nobody was.
    """

    requests: Ref
    responses: Ref
    total: int
    cached: int
    answered: int
    failed: int
    tokens_in: int
    tokens_out: int
    span_s: float
    submitted: int = 0
    given: int = 0
    began_s: float = 0.0
    model: str = ""


def spanned_s(asked: Iterable[QueryResult]) -> float:
    """Compute the seconds in which at least one batch waited for replies: batches are asked side by side."""
    total = until = 0.0
    for began, ended in sorted((one.began_s, one.began_s + one.span_s) for one in asked):
        total += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return total


@dataclass(frozen=True, slots=True)
class TwinCount:
    """How many originals of a suite have no twin of a kind, and why; reason '' counts those that have one."""

    suite: str
    kind: str
    reason: str
    n: int


@dataclass(frozen=True, slots=True)
class Opponent:
    """Another target's replies to the same items; `name` is what samples hold them under."""

    name: str
    requests: Ref
    responses: Ref


@dataclass(frozen=True, slots=True)
class Batch:
    """One target's replies to a batch of items, what is known of the sources they cite, and an opponent's."""

    cell: Cell
    items: Ref
    requests: Ref
    responses: Ref
    evidence: Ref | None = None
    opponent: Opponent | None = None


@dataclass(frozen=True)
class Tables:
    """The tables that suites wrote, in batches."""

    items: list[Ref] = field(default_factory=list)
    asked: list[QueryResult] = field(default_factory=list)
    judged: list[QueryResult] = field(default_factory=list)
    judgements: list[Ref] = field(default_factory=list)
    evidence: list[Ref] = field(default_factory=list)
    verdicts: list[Ref] = field(default_factory=list)
    scores: list[Ref] = field(default_factory=list)
    twin_items: list[Ref] = field(default_factory=list)
    twin_scores: list[Ref] = field(default_factory=list)
    twin_counts: list[TwinCount] = field(default_factory=list)

    @property
    def of_twins(self) -> "Tables":
        """The same tables as those of renewed items, which no score of the suite counts."""
        asked = Tables(asked=self.asked, judged=self.judged)
        return asked.join(Tables(twin_items=self.items, twin_scores=self.scores))

    def join(self, other: "Tables") -> "Tables":
        """Return both suites' tables."""
        return Tables(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))
