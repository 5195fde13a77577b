"""The samples of the HTML report: an index of all, and their texts in chunks that are unpacked one by one.

The index has the columns that filters, sorting and the matrix need of every sample. Texts, reasons, scores and
judges' replies are in chunks: `rows-<n>` of samples, `items-<n>` of the questions, which the models share.
"""

import base64
import gzip
import json
import os.path
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from basic_control.data.prefixes import measure_shared_beginnings
from basic_control.tasks.report.samples import OUTCOME, Frames

SIZE = 750
"""Maximum number of samples or items in a chunk."""
WEIGHT = 600_000
"""Maximum characters of a chunk's texts; a single longer text gets its own chunk."""
LONGEST = 100_000
"""Maximum characters of a text in the page; a truncated text is marked."""
PLAIN = 100_000
"""Maximum characters of a value stored uncompressed: any browser and any editor can read it."""
AHEAD = 16
"""Chunks made ahead: packed chunks wait in memory until they are written."""

_KIND = ["suite", "family", "level", "language"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of the samples, by its name in the page: `text` is JSON, or its gzip in base64, as `encoding` says."""

    name: str
    text: str
    encoding: str


def inline(value: Any) -> str:
    """Return JSON that is safe in a script element: nothing in it ends the element, or a line of a script."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def encode(value: Any, *, plain: int = PLAIN) -> tuple[str, str]:
    """Return (text, encoding) of JSON for the page: `json`, or `gzip` (in base64) if it is long."""
    text = inline(value)
    if len(text) <= plain:
        return text, "json"
    packed = gzip.compress(text.encode("utf-8", "replace"), compresslevel=6, mtime=0)
    return base64.b64encode(packed).decode("ascii"), "gzip"


def _collect_texts(frame: pl.DataFrame, names: Iterable[str]) -> dict[str, Any]:
    """Return text columns, truncated, and under `<name>_whole` the full lengths of truncated ones."""
    columns: dict[str, Any] = {}
    for name in names:
        column = frame[name]
        # What no sample has takes no room in the page.
        if column.null_count() == len(column):
            continue
        columns[name] = column.to_list()
        if (column.str.len_bytes() > LONGEST).any():  # byte lengths are known, characters must be counted
            lengths = column.str.len_chars().fill_null(0)
            columns[name] = column.str.head(LONGEST).to_list()
            columns[f"{name}_whole"] = lengths.set(lengths <= LONGEST, 0).to_list()
    return columns


def _encode_texts(column: pl.Series) -> dict[str, Any]:
    """Return a column of few distinct texts as codes and the texts."""
    filled = column.fill_null("")
    texts = filled.unique(maintain_order=True)
    return {"of": texts.to_list(), "at": filled.cast(pl.Enum(texts)).to_physical().to_list()}


class Chunks:
    """The samples of a run, cut into chunks of at most `size` samples."""

    def __init__(self, frames: Frames, *, size: int = SIZE) -> None:
        self.frames = frames
        prompts = (name for name in frames.items.columns if name.startswith("prompt"))
        items = frames.items.with_columns(
            begins=_measure_instructions(frames.items),
            question=pl.when(pl.col("question") != pl.col("prompt")).then("question"),
        )
        self._items = items
        # All that a sample shows counts: its own texts, those of its scores, and those of its judges.
        row_weights = pl.concat(
            frame.select(pl.col("row").cast(pl.Int64), weight=_sum_bytes(*names))
            for frame, names in (
                (frames.rows.with_row_index("row"), ("text", "reasoning", "error")),
                (frames.scores, ("details", "reason")),
                (frames.judged, ("text", "error")),
            )
        )
        weights = row_weights.group_by("row").agg(pl.col("weight").sum()).sort("row")
        self._texts_of_items = (*prompts, "question", "answer", "facts")
        self.starts = {
            "rows": _find_starts(weights["weight"], size),
            "items": _find_starts(items.select(weight=_sum_bytes(*self._texts_of_items))["weight"], size),
        }

    def index(self) -> dict[str, Any]:
        """Return the columns that the page needs of all samples at once."""
        rows, items = self.frames.rows, self.frames.items
        scores = self.frames.scores.with_columns(outcome=OUTCOME)
        metrics = []
        for (name,), metric_scores in scores.group_by("metric", maintain_order=True):
            metrics.append(
                {
                    "name": name,
                    "row": metric_scores["row"].to_list(),
                    "value": metric_scores["value"].round(4).to_list(),
                    "outcome": _encode_texts(metric_scores["outcome"]),
                }
            )
        item_positions = rows.select("item_id").join(
            items.select("item_id").with_row_index("at"), on="item_id", how="left", maintain_order="left"
        )
        return {
            # The values of each metric per sample, unless there is only one, which is the score itself.
            "metrics": metrics if len(metrics) > 1 else [],
            "starts": self.starts,
            "items": {
                "id": items["item_id"].to_list(),
                "number": (items["index"] + 1).to_list(),
                **{n: _encode_texts(items[n]) for n in (*_KIND, "template")},
            },
            "rows": {
                "item": item_positions["at"].to_list(),
                **{n: _encode_texts(rows[n]) for n in ("model", "outcome", "scored_by", "outcomes")},
                "repeat": rows["repeat"].to_list(),
                "latency_s": rows["latency_s"].round(4).to_list(),
                "value": rows["value"].round(6).to_list(),
            },
        }

    def __iter__(self) -> Iterator[Chunk]:
        """Yield the chunks, those of the first samples first; threads compress them."""
        parts = [
            (number, kind, start, end)
            for kind, height in (("rows", self.frames.rows.height), ("items", self._items.height))
            for number, (start, end) in enumerate(pairwise((*self.starts[kind], height)))
        ]
        parts.sort(key=lambda part: part[0])
        with ThreadPoolExecutor(max_workers=4) as pool:
            for first in range(0, len(parts), AHEAD):
                yield from pool.map(self._build_chunk, *zip(*parts[first : first + AHEAD], strict=True))

    def _build_chunk(self, number: int, kind: str, start: int, end: int) -> Chunk:
        is_single = max(map(len, self.starts.values())) == 1
        document = self._build_rows(start, end) if kind == "rows" else self._build_items(start, end)
        # The parts of a small run stay readable; of several, each is packed.
        return Chunk(f"{kind}-{number}", *encode(document, plain=PLAIN if is_single else 0))

    def _build_rows(self, start: int, end: int) -> dict[str, Any]:
        """Return samples in columns; the rows of scores and judges' replies are relative to `start`."""
        rows = self.frames.rows.slice(start, end - start)
        metrics = []
        for (metric,), group in _select_rows(self.frames.scores, start, end).group_by(
            "metric", maintain_order=True
        ):
            # Scores without details, as most are, have no texts there.
            details = group.with_columns(pl.when(pl.col("details") != "{}").then("details"))
            metrics.append(
                {
                    "name": metric,
                    "row": group["row"].to_list(),
                    "value": group["value"].round(6).to_list(),
                    "status": _encode_texts(group["status"]),
                    "reason": _encode_texts(group["reason"].str.head(LONGEST)),
                    **_collect_texts(details, ("details",)),
                }
            )
        judged = _select_rows(self.frames.judged, start, end)
        return {
            **{n: rows[n].to_list() for n in ("request_id", "finish_reason", "tokens_in", "tokens_out", "cached")},
            **_collect_texts(rows, ("reason", "text", "reasoning", "error", "error_kind", "marks")),
            "metrics": metrics,
            "judged": {
                "row": judged["row"].to_list(),
                **{n: _encode_texts(judged[n]) for n in ("judge", "step", "key")},
                **_collect_texts(judged, ("text", "error")),
            },
        }

    def _build_items(self, start: int, end: int) -> dict[str, Any]:
        items = self._items.slice(start, end - start)
        return {
            "begins": items["begins"].to_list(),
            **_collect_texts(items, self._texts_of_items),
        }


def _select_rows(frame: pl.DataFrame, start: int, end: int) -> pl.DataFrame:
    """Return the rows of samples `start` to `end`, renumbered from 0; they are sorted by `row`."""
    first, last = (int(frame["row"].search_sorted(edge, "left")) for edge in (start, end))
    return frame.slice(first, last - first).with_columns(pl.col("row").cast(pl.Int64) - start)


def _sum_bytes(*names: str) -> pl.Expr:
    """Return how many bytes of text each row takes in the page."""
    lengths = (pl.col(name).str.len_bytes().clip(upper_bound=4 * LONGEST).fill_null(0) for name in names)
    return pl.sum_horizontal(*lengths).cast(pl.Int64)


def _find_starts(weights: Iterable[int], size: int) -> list[int]:
    """Return the starts of the chunks; at least one."""
    starts, weight = [0], 0
    for row, row_weight in enumerate(weights):
        if row > starts[-1] and (row - starts[-1] >= size or weight + row_weight > WEIGHT):
            starts.append(row)
            weight = 0
        weight += row_weight
    return starts


def _measure_instructions(items: pl.DataFrame) -> pl.Series:
    """Return where each question begins to differ from others of its kind, in the page's UTF-16 units.

    The common prefix of all prompts of a kind, up to a line's end, is the instructions: they distinguish no items.
    Rows' own questions may begin alike too, such as with examples.
    """
    ends = items.group_by(_KIND).agg(first=pl.col("prompt").min(), last=pl.col("prompt").max())
    pairs = ends.select(pl.col("first", "last").fill_null("")).iter_rows()
    common = [os.path.commonprefix(pair) for pair in pairs]  # noqa: RUF071 - of texts, not of paths
    shared = [len(text[: text.rfind("\n") + 1].encode("utf-16-le", "replace")) // 2 for text in common]
    begins = ends.select(*_KIND, begins=pl.Series(shared, dtype=pl.Int64))
    joined = items.join(begins, on=_KIND, how="left", maintain_order="left", nulls_equal=True)
    own_texts = items["question"].fill_null("").to_list()
    lengths = map(_count_units, own_texts, measure_shared_beginnings(own_texts))
    own_begins = pl.Series("own", [*lengths], dtype=pl.Int64)
    skipped = pl.when(pl.col("question").is_null()).then("begins").otherwise(own_begins)
    return joined.select(begins=skipped)["begins"]


def _count_units(text: str, length: int) -> int:
    """Return how many of the page's UTF-16 units the first characters of a text take."""
    return len(text[:length].encode("utf-16-le", "replace")) // 2
