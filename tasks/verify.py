"""Verify: each family's verifier decides on each reply; programs run in the sandbox first."""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from basic_control.config.settings import Sandbox, StoreSettings
from basic_control.data.batches import Batch, Ref
from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError
from basic_control.data.filters import KIND, find_loss
from basic_control.data.plugins import family
from basic_control.data.records import VALUED, Item, Outcome, Program, Status, Verdict
from basic_control.data.tables import VERDICTS
from basic_control.data.truncation import THINKING_ALONE, is_cut, is_thinking_alone
from basic_control.data.units import UnitIdentity
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.stage import stage
from basic_control.tasks.store.samples import read_calls

_FOUND = Sandbox()
"""Tools found in the environment."""


@dataclass(frozen=True, slots=True)
class ReplyToVerify:
    """One reply to verify: the item's row, the target, the call's outcome; is it cut, or thinking alone?"""

    item: Mapping[str, Any]
    model: str
    repeat: int
    text: str | None
    error: str | None
    error_kind: str | None
    cut: bool = False
    is_thinking: bool = False


def _reply_to_verify(item: Mapping[str, Any], row: Mapping[str, Any]) -> ReplyToVerify:
    """Return a row of the requests, joined with its response, as a reply to verify."""
    kind, error = find_loss(row) or (None, None)
    text = None if kind else row["text"]
    return ReplyToVerify(item, row["model"], row["repeat"], text, error, kind, is_cut(row), is_thinking_alone(row))


def item_of(row: Mapping[str, Any]) -> Item:
    """Return a row of the items table as an item."""
    return Item(**{**row, "facts": json.loads(row["facts"])})


@cache
def _takes_cut(verify: Callable[..., Verdict]) -> bool:
    """Return whether a verifier is to be told that a reply ended at its token limit."""
    return "cut" in inspect.signature(verify).parameters


def verdict_row(reply: ReplyToVerify, outcomes: Sequence[Outcome] | None = None) -> dict[str, Any]:
    """Verify one reply and return its row of the verdicts table.

    Raises:
        InputError: the verifier itself failed, which is a defect of the family.
    """
    verdict = Verdict(None, reply.error_kind or "error", {"error": reply.error})
    status: Status = "filtered" if reply.error_kind == KIND else "model_error"
    if reply.text is not None or any(outcome.kind == "unavailable" for outcome in outcomes or ()):
        item = item_of(reply.item)
        unit = family(item.family)
        ran = () if unit.program is None else (tuple(outcomes) if outcomes is not None else None,)
        ended = {"cut": reply.cut} if _takes_cut(unit.verify) else {}
        try:
            verdict = unit.verify(item, reply.text or "", *ran, **ended)
            details = dict(verdict.details)
        except Exception as error:
            raise InputError(
                f"family {item.family}: its verifier raised {type(error).__name__} ({error}) on item "
                f"{item.item_id}. A verifier must accept any text: fix the family, then run again; every reply is "
                "kept."
            ) from error
        status = details.pop("status", None) or ("no_answer" if verdict.correct is None else "scored")
        if reply.cut and status in VALUED and not verdict.correct:
            status = "truncated"
        if status == "no_answer" and reply.is_thinking:
            verdict = replace(verdict, reason=THINKING_ALONE)
        verdict = replace(verdict, details=details)
    return {
        "item_id": reply.item["item_id"],
        "model": reply.model,
        "repeat": reply.repeat,
        "correct": verdict.correct,
        "status": status,
        "reason": verdict.reason,
        "details": format_canonical(dict(verdict.details)),
    }


def _programs_of(reply: ReplyToVerify) -> tuple[Program | None, Program | None]:
    """Return (program, None) of a reply; without a program, (None, an empty one in its item's language)."""
    unit = family(reply.item["family"])
    if unit.program is None:
        return None, None
    item = item_of(reply.item)
    if reply.text is not None and (own := unit.program(item, reply.text)):
        return own, None
    known = unit.program(item, unit.reference(item))
    return None, known and replace(known, source="", function="")


def verify_all(replies: Iterable[ReplyToVerify], tools: Sandbox = _FOUND) -> list[dict[str, Any]]:
    """Verify replies of any families, in order; the programs in them run in the sandbox first.

    If an item's language cannot run here, the verdict is the same for replies without a program or text.
    """
    listed = list(replies)
    programs = [_programs_of(reply) for reply in listed]
    outcomes = iter(_run([program for pair in programs for program in pair if program], tools))
    rows = []
    for reply, (own, blank) in zip(listed, programs, strict=True):
        ran = next(outcomes) if own or blank else None
        told = own or any(outcome.kind == "unavailable" for outcome in ran or ())
        rows.append(verdict_row(reply, ran if told else None))
    return rows


def _run(programs: Sequence[Program], tools: Sandbox) -> list[tuple[Outcome, ...]]:
    if not programs:
        return []
    from basic_control.tasks import sandbox

    return sandbox.run(programs, kotlin_compiler=tools.kotlin_compiler, java=tools.java)


@stage(version=3, part="verify", takes="query")
def verify(
    store: StoreSettings, batch: Batch, *, families: tuple[UnitIdentity, ...], tools: Sandbox, runner: str
) -> Ref:
    """Verify a batch of replies; `families` are those of its items, for the cache key.

    `runner` is the result of `kotlin_tools.describe`: another compiler, or none, changes verdicts.
    """
    del families, runner
    opened = open_store(store)
    rows = {row["item_id"]: row for row in opened.read(batch.items).iter_rows(named=True)}
    replies = (
        _reply_to_verify(rows[r["item_id"]], r)
        for r in read_calls(opened, [batch], payload=True).iter_rows(named=True)
    )
    return opened.write(VERDICTS, VERDICTS.frame(verify_all(replies, tools)))
