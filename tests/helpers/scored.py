"""The scores that a run left, by the question and the metric."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from tests.helpers.runs import latest


def scores_of(tmp_path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    manifest = json.loads((latest(tmp_path) / "manifest.json").read_text(encoding="utf-8"))

    def read(name: str) -> pl.DataFrame:
        digests = [ref["digest"] for ref in manifest["tables"][name]]
        return pl.concat(pl.read_parquet(tmp_path / "store/tables" / one[:2] / f"{one}.parquet") for one in digests)

    rows = read("scores").join(read("items").select("item_id", "facts"), on="item_id")
    named = rows.with_columns(question=pl.col("facts").str.json_path_match("$.question"))
    return {(row["question"], row["metric"]): row for row in named.iter_rows(named=True)}
