"""Recorded replies, from a file."""

from typing import Any

from basic_control.data.decorators import provider


def _check(model: Any) -> str:
    if not model.file:
        return "provider replay needs `file`: a Parquet or JSONL file of recorded replies"
    return "provider replay takes no key" if model.key_place else ""


@provider(check=_check, by_item=True)
def replay(model: Any) -> Any:
    """Return a client that answers from the file."""
    from basic_control.tasks.models.replay import ReplayClient

    return ReplayClient(model)
