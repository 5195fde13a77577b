"""Verify: each family's verifier decides on each reply; programs run in the sandbox first."""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
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

_STATUSES: tuple[Status, Status] = ("no_answer", "scored")
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


def _build_reply(item: Mapping[str, Any], row: Mapping[str, Any]) -> ReplyToVerify:
    """Return a row of the requests, joined with its response, as a reply to verify."""
    kind, error = find_loss(row) or (None, None)
    text = row["text"]
    if kind:
        text = None
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
    if reply.text is not None or _is_unavailable(outcomes or ()):
        item = item_of(reply.item)
        unit = family(item.family)
        # A verifier of programs takes their outcomes too, and one with such a parameter whether the reply is cut.
        arguments: list[Any] = [item, reply.text or ""]
        if unit.program is not None:
            arguments.append(None if outcomes is None else tuple(outcomes))
        options = {"cut": reply.cut} if _takes_cut(unit.verify) else {}
        try:
            verdict = unit.verify(*arguments, **options)
            details = dict(verdict.details)
        except Exception as error:
            raise InputError(
                f"family {item.family}: its verifier raised {type(error).__name__} ({error}) on item "
                f"{item.item_id}. A verifier must accept any text: fix the family, then run again; every reply is "
                "kept."
            ) from error
        status = details.pop("status", None) or _STATUSES[verdict.correct is not None]
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
    if reply.text is not None:
        program = unit.program(item, reply.text)
        if program:
            return program, None
    reference = unit.program(item, unit.reference(item))
    return None, reference and replace(reference, source="", function="")


def verify_all(replies: Iterable[ReplyToVerify], tools: Sandbox = _FOUND) -> list[dict[str, Any]]:
    """Verify replies of any families, in order; the programs in them run in the sandbox first.

    If an item's language cannot run here, the verdict is the same for replies without a program or text.
    """
    all_replies = list(replies)
    pairs = [_programs_of(reply) for reply in all_replies]
    results = iter(_run([*filter(None, chain.from_iterable(pairs))], tools))
    rows = []
    for reply, (program, blank) in zip(all_replies, pairs, strict=True):
        outcomes: tuple[Outcome, ...] = ()
        if program or blank:
            outcomes = next(results)
        # An empty program was run only to learn whether the language can run here.
        if program or _is_unavailable(outcomes):
            rows.append(verdict_row(reply, outcomes))
        else:
            rows.append(verdict_row(reply))
    return rows


def _is_unavailable(outcomes: Iterable[Outcome]) -> bool:
    return any(outcome.kind == "unavailable" for outcome in outcomes)


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
    calls = read_calls(opened, [batch], payload=True).iter_rows(named=True)
    replies = (_build_reply(rows[call["item_id"]], call) for call in calls)
    return opened.write(VERDICTS, VERDICTS.frame(verify_all(replies, tools)))
