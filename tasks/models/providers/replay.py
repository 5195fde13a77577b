"""Recorded replies, from a file."""

from typing import Any

from basic_control.data.records import Provider


def _open(model: Any) -> Any:
    from basic_control.tasks.models.replay import ReplayClient

    return ReplayClient(model)


def _check(model: Any) -> str:
    if not model.file:
        return "provider replay needs `file`: a Parquet or JSONL file of recorded replies"
    return "provider replay takes no key" if model.key_place else ""


UNIT = Provider(name="replay", version=1, open=_open, check=_check, by_item=True)
