"""The exam's truths, worked out again: by rules over a world's facts and what a claim says, not by its maker."""

from collections.abc import Mapping
from typing import Any

YES, NO, OPEN = "SUPPORTED", "CONTRADICTED", "NEUTRAL"
OPPOSITE = {YES: NO, NO: YES, OPEN: OPEN}


def plain(facts: Mapping[str, Any], relation: str, value: Any) -> str:
    """Judge a bare statement; every relation has one value."""
    if relation not in facts:
        return OPEN
    if value == "any":  # at least one room
        return NO if facts[relation] == "none" else YES
    return YES if facts[relation] == value else NO


def judge(world: list[Mapping[str, Any]], says: Mapping[str, Any]) -> str:
    """Judge a claim by what it says."""
    if says["form"] == "common":
        return OPEN  # no world holds it
    facts = next(one["facts"] for one in world if one["name"] == says["subject"])
    bare = plain(facts, says["relation"], says["value"])
    ruled = {
        "plain": bare,
        "unit": bare,
        "wrong_unit": NO if says["relation"] in facts else OPEN,
        "not": OPPOSITE[bare],
        "double": OPPOSITE[OPPOSITE[bare]],
        "reversed": NO if says["relation"] in facts else OPEN,  # the cause came before
    }
    if says["form"] in ruled:
        return ruled[says["form"]]
    assert says["form"] == "both"
    both = {bare, plain(facts, says["also"]["relation"], says["also"]["value"])}
    return NO if NO in both else OPEN if OPEN in both else YES


def grade(facts: Mapping[str, Any], asked: list[str], says: Mapping[str, Any]) -> str:
    """Grade an answer by what it states of what was asked for."""
    right = [one for one in asked if one in says and says[one] == facts[one]]
    undecided = [one for one in asked if isinstance(says.get(one), dict)]
    if any(one not in asked and value != facts[one] for one, value in says.items()):
        return "CONTRADICTS"
    if len(right) == len(asked):
        return "CORRECT"
    return "PARTIALLY_CORRECT" if right and not undecided else "INCORRECT"
