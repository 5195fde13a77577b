"""Look after the store of tables, the reply cache and the runs."""

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, Token
from cyclopts.validators import Number
from rich.filesize import decimal as amount

from basic_control.data.errors import InputError, plural
from basic_control.data.exits import Exit
from basic_control.flows.cli.console import show
from basic_control.flows.cli.options import RUN, USUAL, Where

if TYPE_CHECKING:
    from basic_control.config.settings import StoreSettings
    from basic_control.tasks.store.inventory import Inventory
    from basic_control.tasks.store.runs import Run
    from basic_control.tasks.store.tables import Store

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def _seconds(_type: object, tokens: Sequence[Token]) -> float:
    """Convert an age such as 30d, 12h, 90m or 2w to seconds."""
    text = tokens[0].value
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isascii() or not number.isdigit():
        raise ValueError(f"found {text!r}, expected a number and m, h, d or w, such as 30d")
    return int(number) * _UNITS[unit]


def _open(where: Where) -> tuple["StoreSettings", "Store", "Inventory"]:
    from basic_control.tasks.store.inventory import take
    from basic_control.tasks.store.tables import Store

    # The reply cache's messages about a repair are part of the result.
    logging.basicConfig(format="%(message)s", stream=sys.stderr, level=logging.WARNING)
    at = where.store
    store = Store(at.root)
    if store.local is not None and not store.local.is_dir():
        raise InputError(
            f"store.root {at.root}: there is no such folder. Name the store's with --set store.root=FOLDER, or run "
            "an evaluation first."
        )
    return at, store, take(store, Path(at.runs))


def list_(*, where: Where = USUAL) -> None:
    """List runs, tables and cached replies."""
    from basic_control.tasks.report.tables import Column, Table
    from basic_control.tasks.runtime.storage import cache_url
    from basic_control.tasks.store.databases import file_of
    from basic_control.tasks.store.replies import ReplyCache

    def state(run: "Run") -> str:
        return "finished" if run.is_finished else "no manifest" if run.problem else "unfinished"

    at, store, there = _open(where)
    if there.runs:
        table = Table.of(
            there.runs,
            Column("run", lambda run: run.name, unbroken=True),
            Column("started", lambda run: f"{run.started:%Y-%m-%d %H:%M}", unbroken=True),
            Column("state", state, unbroken=True),
            Column("models", lambda run: ", ".join(run.models) or "–"),
            Column("suites", lambda run: ", ".join(run.suites) or "–"),
            Column("tables", lambda run: str(len(run.digests)), numeric=True),
            Column("size", lambda run: amount(there.size(run.digests)), numeric=True, unbroken=True),
        )
        show(table.terminal(len(there.runs)))
    else:
        show(f"No run in {at.runs}.")
    every, idle = set(there.tables), set(there.tables) - there.digests_in_use
    show(f"{at.root}: {plural(len(every), 'table')}, {amount(there.size(every))}")
    show(f"  needed by no run: {plural(len(idle), 'table')}, {amount(there.size(idle))}")
    file = file_of(url := cache_url(at))
    if file is not None and not file.exists():
        show("no reply cache yet")
        return
    try:
        replies = ReplyCache(url, tables=store)
    except InputError as error:
        show(str(error))
        return
    size = replies.bytes()
    show(f"{replies.safe_url}: {plural(replies.count(), 'reply')}{f', {amount(size)}' if size else ''}")
    replies.close()


def verify(name: Annotated[str, Parameter(name="RUN"), RUN] = "", /, *, where: Where = USUAL) -> int:
    """Check every table, every run and every reply; the exit code is 1 if something is damaged.

    Args:
        name: only this run: its documents and tables, against the hashes that it holds and those of its audit
    """
    if name:
        return _verify_run(name, where)
    from basic_control.tasks.runtime.storage import cache_url
    from basic_control.tasks.store.databases import hide_password
    from basic_control.tasks.store.inventory import faults_of_run
    from basic_control.tasks.store.repair import faults_of_replies
    from basic_control.tasks.store.tables import Damaged

    at, store, there = _open(where)
    users: dict[str, list[str]] = {}
    for run in there.runs:
        for digest in run.digests:
            users.setdefault(digest, []).append(run.name)
    found = []
    for digest in sorted(there.tables):
        try:
            store.bytes(digest)
        except Damaged as error:
            needed = f"needed by {', '.join(users[digest])}" if digest in users else "no run needs it"
            found.append(f"{error} ({needed}): the next run of its stage writes it again, prune deletes it")
    for run in there.runs:
        found += faults_of_run(run, set(there.tables))
    url = cache_url(at)
    replies, faults = faults_of_replies(url)
    found += [f"reply cache {hide_password(url)}: {fault}" for fault in faults]
    for line in found:
        show(f"DAMAGED  {line}")
    show(
        f"{plural(len(there.tables), 'table')}, {plural(len(there.runs), 'run')} and {plural(replies, 'reply')} "
        f"checked: {plural(len(found), 'fault') if found else 'no faults'}."
    )
    return Exit.FAILED if found else Exit.PASSED


def _verify_run(name: str, where: Where) -> int:
    """Check one run, print the hashes of its documents, and return the exit code."""
    from basic_control.tasks.store.runs import find_last
    from basic_control.tasks.store.seals import find_faults, hash_documents
    from basic_control.tasks.store.tables import Store

    run = find_last(name, where.runs)
    root = where.root or str((run.configuration.get("store") or {}).get("root") or "")
    faults = [*find_faults(run, Store(root))]
    for document, digest in hash_documents(run.folder).items():
        show(f"{digest}  {document}")
    for fault in faults:
        show(f"DAMAGED  {fault}")
    counted = plural(len(faults), "fault") if faults else "no faults"
    show(f"Run {run.name}: {plural(len(run.digests), 'table')} and its documents checked: {counted}.")
    return Exit.FAILED if faults else Exit.PASSED


def prune(
    *,
    older_than: Annotated[float | None, Parameter(converter=_seconds, metavar="AGE")] = None,
    keep: Annotated[int | None, Parameter(metavar="N", validator=Number(gte=0))] = None,
    runs: Annotated[tuple[str, ...], Parameter(name="--run", metavar="ID", json_list=False)] = (),
    grace: Annotated[float, Parameter(converter=_seconds, metavar="AGE")] = _UNITS["d"],
    yes: bool = False,
    where: Where = USUAL,
) -> None:
    """List runs that can be deleted, and tables that no other run needs; with --yes, delete them.

    Without --older-than, --keep and --run, only tables that no run needs.

    Args:
        older_than: runs that started before this time, such as 30d
        keep: all but the newest N finished runs
        runs: this run; may be repeated
        grace: spare what was written or used within this time, as another run may need it (default: 1d)
        yes: delete; without it, nothing is deleted
    """
    from basic_control.tasks.store.pruning import carry_out, plan

    at, _, there = _open(where)
    if there.tables and not Path(at.runs).is_dir():
        raise InputError(
            f"store.runs {at.runs}: there is no such folder, so the tables that its runs need are unknown; nothing "
            "was deleted. Name the folder of the runs that use this store, or an empty one if none are left."
        )
    planned = plan(there, older_than_s=older_than, keep=keep, runs=runs, grace_s=grace)
    for run in planned.runs:
        show(f"run    {run.name}  {', '.join(run.models)}")
    size = there.size(planned.tables)
    for note in planned.notes:
        show(f"note   {note}")
    goes = [plural(len(planned.runs), "run"), f"{plural(len(planned.tables), 'table')} ({amount(size)})"]
    goes += [plural(len(planned.results), "stage result")] if planned.results else []
    if not yes:
        show(f"Would delete {', '.join(goes)}. Nothing was deleted: add --yes.")
        return
    gone = carry_out(there, planned)
    kept = plural(len(planned.tables) - gone, "table")
    note = f" {kept} were kept: another run uses them now." if gone < len(planned.tables) else ""
    show(f"Deleted {', '.join(goes)}.{note}")


VERBS = (list_, verify, prune)
