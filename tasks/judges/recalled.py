"""Judges that do not count and were not asked: labels bring them back, so that the next run asks them.

Source: SPEC 16.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import polars as pl

from basic_control.data.errors import InputError
from basic_control.data.plugins import find_unit, metric
from basic_control.data.records import Provider
from basic_control.tasks.judges.labels import GROUP, select_distinct


@dataclass(frozen=True, slots=True)
class Recall:
    """What the next run of the same replies asks a judge: about how many `replies`, in about how many `calls`."""

    judge: str
    replies: int
    calls: int


def list_recalls(
    judged_replies: pl.DataFrame, labels: pl.DataFrame, requests: pl.DataFrame, silent: Collection[str] = ()
) -> list[Recall]:
    """Return the judges that labels bring back, in order of their names; `silent` ones decide without a call.

    A judge takes as many calls as another one took for these replies (`requests`; equal ones are one), else one a
    step: how often texts are split is not known.
    """
    labelled = labels.filter(pl.col("label").list.drop_nulls().list.len() > 0).select(GROUP).unique()
    replies = select_distinct(judged_replies).join(labelled, on=GROUP, how="semi")
    columns = ("metric", "item_id", "model", "repeat", "details")
    steps_by_judge: dict[str, list[tuple[str, str, int, str]]] = {}
    counts = Counter[str]()
    for name, item_id, model, repeat, details in replies.select(columns).iter_rows():
        document = json.loads(details)
        unasked = document.get("left_out", {}).keys() - document.get("judges", {}).keys()
        for judge in unasked.difference(silent):
            counts[judge] += 1
            steps = [(item_id, model, repeat, step.name) for step in metric(name).steps]
            steps_by_judge.setdefault(judge, []).extend(steps)
    recalls = []
    for judge, steps in sorted(steps_by_judge.items()):
        recalls.append(Recall(judge, counts[judge], _count_requests(requests, steps) or len(steps)))
    return recalls


def _count_requests(requests: pl.DataFrame, steps: Collection[tuple[str, str, int, str]]) -> int:
    """Return how many requests, each once, the judge that was asked most got for steps of replies."""
    keys = pl.DataFrame([*steps], ["item_id", "subject", "subject_repeat", "step"], orient="row")
    keys = keys.cast({name: requests.schema[name] for name in keys.columns})
    by_judge = (
        requests.join(keys, on=keys.columns, how="semi").group_by("model").agg(pl.col("request_id").n_unique())
    )
    return max(by_judge["request_id"], default=0)


def list_silent(judges: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the names of a configuration's judges that decide by rules, without a call."""
    silent = set[str]()
    for judge in judges:
        # A provider that is not installed here is taken for one that asks a server.
        with suppress(InputError):
            if find_unit(Provider, judge.get("provider", "")).decide:
                silent.add(judge["name"])
    return silent
