"""Verify: what each family's verifier says of each reply; programs run in the sandbox first."""

import json
import multiprocessing
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from config.settings import Sandbox, StoreSettings
from data.batches import Batch, Ref
from data.draw import canonical
from data.errors import InputError
from data.plugins import family
from data.records import VALUED, Item, Outcome, Program, Status, Verdict
from data.tables import VERDICTS
from data.truncation import is_cut
from data.units import UnitIdentity
from tasks.runtime.storage import open_store
from tasks.stage import stage

PAYS_FROM = 20_000
"""Replies: below, starting processes costs more than it saves."""
_FOUND = Sandbox()
"""Tools as the environment has them."""


@dataclass(frozen=True, slots=True)
class ReplyToVerify:
    """One reply to verify: the item's row, whose reply it is, what came of the call, and whether it was cut."""

    item: Mapping[str, Any]
    model: str
    repeat: int
    text: str | None
    error: str | None
    error_kind: str | None
    cut: bool = False


def item_of(row: Mapping[str, Any]) -> Item:
    """Return a row of the items table as an item."""
    return Item(**{**row, "facts": json.loads(row["facts"])})


def _row(
    reply: ReplyToVerify, status: Status, *, correct: bool | None, reason: str, details: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "item_id": reply.item["item_id"],
        "model": reply.model,
        "repeat": reply.repeat,
        "correct": correct,
        "status": status,
        "reason": reason,
        "details": canonical(dict(details)),
    }


def verdict_row(reply: ReplyToVerify, outcomes: Sequence[Outcome] | None = None) -> dict[str, Any]:
    """Verify one reply and return its row of the verdicts table.

    Raises:
        InputError: the verifier itself failed, which is a defect of the family.
    """
    unavailable = any(outcome.kind == "unavailable" for outcome in outcomes or ())
    if reply.text is None and not unavailable:
        return _row(
            reply, "model_error", correct=None, reason=reply.error_kind or "error", details={"error": reply.error}
        )
    item = item_of(reply.item)
    unit = family(item.family)
    text = reply.text or ""
    try:
        if unit.program is None:
            verdict: Verdict = unit.verify(item, text)
        else:
            verdict = unit.verify(item, text, tuple(outcomes) if outcomes is not None else None)
        details = dict(verdict.details)
    except Exception as error:
        raise InputError(
            f"family {item.family}: its verifier raised {type(error).__name__} ({error}) on item {item.item_id}. "
            "A verifier must accept any text: fix the family, then run again; every reply is kept."
        ) from error
    said = details.pop("status", None)
    status: Status = said or ("no_answer" if verdict.correct is None else "scored")
    if reply.cut and status in VALUED and not verdict.correct:
        status = "truncated"
    return _row(reply, status, correct=verdict.correct, reason=verdict.reason, details=details)


def verify_plain(replies: Sequence[ReplyToVerify]) -> list[dict[str, Any]]:
    """Verify replies whose families need no program run, in processes where that pays."""
    workers = os.cpu_count() or 1
    if workers == 1 or len(replies) < PAYS_FROM:
        return list(map(verdict_row, replies))
    # Not fork: the asking thread and Prefect's threads hold locks.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(verdict_row, replies, chunksize=-(-len(replies) // (4 * workers))))


def program_of(reply: ReplyToVerify) -> Program | None:
    """Return the program that a reply holds, if its family runs programs and it holds one."""
    unit = family(reply.item["family"])
    if unit.program is None or reply.text is None:
        return None
    return unit.program(item_of(reply.item), reply.text)


def _blank(reply: ReplyToVerify) -> Program | None:
    """Return a program of no function in the language of a reply's item: it says whether that runs here."""
    unit = family(reply.item["family"])
    if unit.program is None:
        return None
    item = item_of(reply.item)
    known = unit.program(item, unit.reference(item))
    return known and replace(known, source="", function="")


def _of_blank(outcomes: Sequence[Outcome]) -> Sequence[Outcome] | None:
    return outcomes if any(outcome.kind == "unavailable" for outcome in outcomes) else None


def verify_programs(replies: Sequence[ReplyToVerify], tools: Sandbox) -> list[dict[str, Any]]:
    """Run the programs in replies in the sandbox, then verify.

    Where nothing runs an item's language, that decides about a reply without a program too, and about none at all.
    """
    from tasks import sandbox

    programs = [program_of(reply) for reply in replies]
    asked = [program or _blank(reply) for reply, program in zip(replies, programs, strict=True)]
    chosen = [program for program in asked if program]
    ran = iter(sandbox.run(chosen, kotlin_compiler=tools.kotlin_compiler, java=tools.java))
    outcomes = [next(ran) if each else None for each in asked]
    return [
        verdict_row(reply, each if program or each is None else _of_blank(each))
        for reply, program, each in zip(replies, programs, outcomes, strict=True)
    ]


def verify_all(replies: Iterable[ReplyToVerify], tools: Sandbox = _FOUND) -> list[dict[str, Any]]:
    """Verify replies of any families; rows in the replies' order."""
    listed = list(replies)
    runs = [family(reply.item["family"]).program is not None for reply in listed]
    plain = iter(verify_plain([r for r, run in zip(listed, runs, strict=True) if not run]))
    ran = [reply for reply, run in zip(listed, runs, strict=True) if run]
    programs = iter(verify_programs(ran, tools) if ran else [])
    return [next(programs) if run else next(plain) for run in runs]


@stage(version=2, part="verify", takes="query")
def verify(
    store: StoreSettings, batch: Batch, *, families: tuple[UnitIdentity, ...], tools: Sandbox, runner: str
) -> Ref:
    """Verify a batch of replies; `families` are those of its items, as the key knows them.

    `runner` is what `kotlin_tools.describe` says: with another compiler, or none any more, verdicts are others.
    """
    del families, runner
    opened = open_store(store)
    rows = {row["item_id"]: row for row in opened.read(batch.items).iter_rows(named=True)}
    asked = opened.read(batch.requests).join(
        opened.read(batch.responses), on="request_id", how="left", maintain_order="left"
    )
    replies = (
        ReplyToVerify(
            rows[r["item_id"]], r["model"], r["repeat"], r["text"], r["error"], r["error_kind"], is_cut(r)
        )
        for r in asked.iter_rows(named=True)
    )
    return opened.write(VERDICTS, VERDICTS.frame(verify_all(replies, tools)))
