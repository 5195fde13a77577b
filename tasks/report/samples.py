"""The samples of the HTML report: every reply with its scores, in columns, packed to fit one page."""

import base64
import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from prompts.phrases import translated
from tasks.report.material import Material
from tasks.report.titles import counted

KEY = ["item_id", "model", "repeat"]
OUTCOMES = (
    "wrong", "partial", "no_answer", "truncated", "model_error", "judge_failed", "unscored", "not_applicable",
    "right",
)  # fmt: skip
"""How a sample ended, in the order in which samples are worth a place on the page."""

MOST = 50_000
LONGEST = 20_000
SHORTEST = 200
ROOM = 25_000_000
UNPACKED = 80_000_000
PLAIN = 100_000
"""Characters up to which samples stand in the page unpacked, so that any browser and any editor can read them."""

_WORST = ("model_error", "judge_failed", "truncated", "no_answer", "scored", "not_applicable")
_EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class Packed:
    """Samples as they stand in the page: `text` as JSON, or its gzip in base64.

    `shown` of `total` samples; no text is longer than `longest` characters.
    """

    text: str
    encoding: str
    shown: int
    total: int
    longest: int


@dataclass(frozen=True, slots=True)
class Frames:
    """What the page shows: a row for each sample, and apart from them items, metrics and judges' replies."""

    rows: pl.DataFrame
    items: pl.DataFrame
    scores: pl.DataFrame
    judged: pl.DataFrame


def primary(material: Material) -> pl.DataFrame:
    """Return each sample's `value`, `status`, `reason` and `outcome` by the metrics that its suite's score is of.

    Of several metrics the value is their mean and the status the worst one; what is not applicable is left out.
    """
    suites = material.items["suite"].unique().to_list()
    pairs = [(s, m) for s in suites for m in counted(material, s)]
    main = pl.DataFrame(pairs, schema={"suite": pl.String, "metric": pl.String}, orient="row")
    own = material.scores.join(material.items.select("item_id", "suite"), on="item_id", how="left")
    own = own.join(main, on=["suite", "metric"], how="semi").with_columns(
        rank=pl.col("status").replace_strict(list(_WORST), range(len(_WORST)), return_dtype=pl.Int64),
        value=pl.when(pl.col("status").is_in(["no_answer", "truncated"]))
        .then(pl.col("value").fill_null(0.0))
        .otherwise("value"),
    )
    applied = pl.col("value").filter(pl.col("status") != "not_applicable")
    own = _in_words(own, material)
    grouped = own.sort("rank", maintain_order=True).group_by(KEY, maintain_order=True)
    joined = grouped.agg(
        status=pl.col("status").first(),
        reason=pl.col("reason").filter(pl.col("reason") != "").first(),
        value=pl.when(applied.null_count() == 0).then(applied.mean()),
    )
    value = pl.col("value")
    return joined.with_columns(
        outcome=pl.when(pl.col("status") != "scored")
        .then("status")
        .when(value >= 1 - _EXACT)
        .then(pl.lit("right"))
        .when(value <= _EXACT)
        .then(pl.lit("wrong"))
        .otherwise(pl.lit("partial"))
    )


def _in_words(scores: pl.DataFrame, material: Material) -> pl.DataFrame:
    """Return scores with their reasons in the report's language."""
    language = material.settings.report.language
    known = {one: translated(one, language) for one in scores["reason"].unique().drop_nulls()}
    return scores.with_columns(pl.col("reason").replace(known)) if known and language != "en" else scores


def _askings(material: Material) -> pl.DataFrame:
    """Return judges' replies with the model and repeat that they are about."""
    judged = material.judged.rename({"model": "judge"}).drop("repeat")
    return judged.rename({"subject": "model", "subject_repeat": "repeat"}).drop_nulls(["model", "repeat"])


def frames(material: Material) -> Frames:
    """Gather the samples, those that are not right first where there are more than `MOST`."""
    asked = material.replies.select(
        *KEY, "request_id", "text", "reasoning", "error", "error_kind", "finish_reason", "tokens_in", "tokens_out",
        "latency_s", "cached",
    )  # fmt: skip
    keys = pl.concat([asked.select(KEY), material.scores.select(KEY)]).unique(maintain_order=True)
    rows = (
        keys.join(asked, on=KEY, how="left", maintain_order="left")
        .join(primary(material), on=KEY, how="left", maintain_order="left")
        .with_columns(pl.col("outcome").fill_null("unscored"))
    )
    scores = (
        _in_words(material.scores, material)
        .join(rows.select(KEY).with_row_index("row"), on=KEY)
        .sort("row", "metric")
    )
    judged = _askings(material).join(rows.select(KEY).with_row_index("row"), on=KEY).sort("row")
    items = material.items.join(rows.select("item_id").unique(), on="item_id", how="semi")
    return Frames(rows, items, scores, judged)


def _fewer(found: Frames, most: int) -> Frames:
    """Keep `most` samples, by what is worth a place, in their old order."""
    rank = pl.col("outcome").replace_strict(list(OUTCOMES), range(len(OUTCOMES)), return_dtype=pl.Int64)
    kept = found.rows.with_row_index("row").sort(rank, "row").head(most).sort("row")
    number = kept.select("row").with_row_index("new")

    def renumbered(frame: pl.DataFrame) -> pl.DataFrame:
        moved = frame.with_columns(pl.col("row").cast(pl.UInt32)).join(number, on="row", how="inner")
        return moved.drop("row").rename({"new": "row"}).sort("row")

    items = found.items.join(kept.select("item_id").unique(), on="item_id", how="semi")
    return replace(
        found,
        rows=kept.drop("row"),
        items=items,
        scores=renumbered(found.scores),
        judged=renumbered(found.judged),
    )


def _shorten(column: pl.Series, longest: int) -> list[str | None]:
    return column.str.head(longest).to_list()


def _lengths(column: pl.Series, longest: int) -> list[int] | None:
    """Return the texts' whole lengths, 0 where nothing was cut; None where nothing was at all."""
    lengths = column.str.len_chars().fill_null(0)
    cut = lengths.zip_with(lengths > longest, pl.zeros(len(lengths), dtype=lengths.dtype, eager=True))
    return cut.to_list() if cut.sum() else None


def _texts(frame: pl.DataFrame, names: Iterable[str], longest: int) -> dict[str, Any]:
    """Return text columns, shortened, and under `<name>_whole` how long those that were cut are."""
    found: dict[str, Any] = {}
    for name in names:
        column = frame[name]
        if column.drop_nulls().is_empty():
            continue
        found[name] = _shorten(column, longest)
        if whole := _lengths(column, longest):
            found[f"{name}_whole"] = whole
    return found


def _coded(column: pl.Series) -> dict[str, Any]:
    """Return a column of few different texts as numbers and the texts."""
    filled = column.fill_null("")
    known = filled.unique(maintain_order=True)
    return {"of": known.to_list(), "at": filled.cast(pl.Enum(known)).to_physical().to_list()}


def columns(found: Frames, *, longest: int = LONGEST, titles: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the samples in columns, as the page's script reads them."""
    rows, items = found.rows, found.items
    place = rows.select("item_id").join(
        items.select("item_id").with_row_index("at"), on="item_id", how="left", maintain_order="left"
    )
    metrics = []
    for (metric,), group in found.scores.group_by("metric", maintain_order=True):
        details = group.with_columns(pl.when(pl.col("details") != "{}").then("details"))
        metrics.append(
            {
                "name": metric,
                "row": group["row"].to_list(),
                "value": group["value"].round(6).to_list(),
                "status": _coded(group["status"]),
                "reason": _coded(group["reason"].str.head(longest)),
                **_texts(details, ("details",), longest),
            }
        )
    judged = found.judged
    return {
        "titles": dict(titles or {}),
        "items": {
            "id": items["item_id"].to_list(),
            **{n: _coded(items[n]) for n in ("suite", "family", "level", "language", "template")},
            **_texts(items, ("prompt", "answer", "facts"), longest),
        },
        "rows": {
            "item": place["at"].to_list(),
            **{n: _coded(rows[n]) for n in ("model", "outcome", "finish_reason")},
            "reason": _coded(rows["reason"].str.head(longest)),
            **{n: rows[n].to_list() for n in ("repeat", "request_id", "tokens_in", "tokens_out", "cached")},
            "latency_s": rows["latency_s"].round(4).to_list(),
            "value": rows["value"].round(6).to_list(),
            **_texts(rows, ("text", "reasoning", "error", "error_kind"), longest),
        },
        "metrics": metrics,
        "judged": {
            "row": judged["row"].to_list(),
            **{n: _coded(judged[n]) for n in ("judge", "step", "key")},
            **_texts(judged, ("text", "error"), longest),
        },
    }


def inline(value: Any) -> str:
    """Return JSON that can stand in a script element: nothing in it ends the element, or a line of a script."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def encode(value: Any) -> tuple[str, str]:
    """Return JSON as it stands in the page, packed where it is long, and how: json or gzip (in base64)."""
    text = inline(value)
    if len(text) <= PLAIN:
        return text, "json"
    packed = gzip.compress(text.encode("utf-8", "replace"), compresslevel=6, mtime=0)
    return base64.b64encode(packed).decode("ascii"), "gzip"


def _room(found: Frames, longest: int) -> int:
    """Estimate the bytes of the texts when none is longer than so many characters."""
    texts = (
        *(found.rows[n] for n in ("text", "reasoning", "error")),
        *(found.items[n] for n in ("prompt", "answer", "facts")),
        found.scores["details"],
        found.judged["text"],
    )
    return sum(int(t.str.head(longest).str.len_bytes().sum()) for t in texts)


def pack(
    material: Material, *, titles: Mapping[str, str] | None = None, most: int = MOST, room: int = ROOM
) -> Packed:
    """Pack a run's samples into at most `room` characters: shorter texts first, then fewer samples.

    `titles` are the families' names for people.
    """
    found = frames(material)
    total = found.rows.height
    if total > most:
        found = _fewer(found, most)
    longest = LONGEST
    while longest > SHORTEST and _room(found, longest) > UNPACKED:
        longest //= 2
    while True:
        document = columns(found, longest=longest, titles=titles)
        text, encoding = encode({**document, "total": total, "longest": longest})
        if len(text) <= room:
            return Packed(text, encoding, found.rows.height, total, longest)
        if longest > SHORTEST:
            longest = max(SHORTEST, min(longest // 2, int(longest * room / len(text))))
        else:
            found = _fewer(found, found.rows.height // 2)
