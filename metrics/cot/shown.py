"""How reports show chains of thought."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from data.shown import read_shown

LATEST_STEP = 8
"""Steps from this one on are counted together where reports say at which the first wrong calculation stands."""


def _first_wrong(details: Mapping[str, Any]) -> Iterator[str]:
    if step := details.get("first_wrong_step"):
        yield str(step) if step < LATEST_STEP else f"{LATEST_STEP}+"


def _crossed(details: Mapping[str, Any]) -> tuple[str, str]:
    """Name a response's cell: is its answer right, does its chain hold."""
    answer = "none" if details.get("answer") is None else "right" if details.get("right") else "wrong"
    chain = "invalid" if details.get("first_wrong_step") else "valid" if details.get("n_calculations") else "bare"
    return answer, chain


SHOWN = read_shown(
    Path(__file__).with_name("shown.yaml"),
    cells=_crossed,
    first_wrong=_first_wrong,
    first_error=lambda details: [(details.get("first_error") or {}).get("kind") or "none"],
    sound=lambda details: [details["sound"]] if details.get("sound") else [],
    unsupported=lambda details: ["yes" if details.get("unsupported") else "no"],
    rule=lambda details: [details.get("rule") or "none"],
)
