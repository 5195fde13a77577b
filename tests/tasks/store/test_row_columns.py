"""Rows whose columns hold values of several types: read all the same, such a column as JSON."""

import json
from typing import Any

import polars as pl

from basic_control.tasks.store.frames import KEY, join_samples


def test_a_column_of_several_types_is_json_and_the_others_keep_theirs() -> None:
    rows: list[dict[str, Any]] = [
        {"ticket": "a", "n": 1, "checks": [{"metric": "contains"}]},
        {"ticket": "b", "n": 2, "checks": {"threshold": 0.5, "checks": []}},
        {"ticket": "c", "n": 3},
    ]
    ids = [str(number) for number in range(len(rows))]
    items = pl.DataFrame({"item_id": ids, "facts": [*map(json.dumps, rows)]})
    replies = pl.DataFrame({"item_id": ids, "model": "m", "repeat": 0, "text": "t"})
    scores = pl.DataFrame(schema=dict.fromkeys((*KEY, "metric"), pl.String) | {"value": pl.Float64})
    samples = join_samples(items, replies, scores)
    assert samples["ticket"].to_list() == ["a", "b", "c"]
    assert samples["n"].to_list() == [1, 2, 3]
    assert samples["checks"].to_list() == [
        '[{"metric":"contains"}]',
        '{"checks":[],"threshold":0.5}',
        None,
    ]
