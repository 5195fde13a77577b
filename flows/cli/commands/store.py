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
    from basic_control.tasks.store.pruning import Inventory
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
    from basic_control.tasks.store.pruning import take
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
    from basic_control.tasks.runtime.storage import find_cache_url
    from basic_control.tasks.store.databases import find_file
    from basic_control.tasks.store.reply_cache import ReplyCache

    def state(run: "Run") -> str:
        if run.is_finished:
            return "finished"
        return "no manifest" if run.problem else "unfinished"

    at, store, inventory = _open(where)
    if inventory.runs:
        table = Table.of(
            inventory.runs,
            Column("run", lambda run: run.name, unbroken=True),
            Column("started", lambda run: f"{run.started:%Y-%m-%d %H:%M}", unbroken=True),
            Column("state", state, unbroken=True),
            Column("models", lambda run: ", ".join(run.models) or "–"),
            Column("suites", lambda run: ", ".join(run.suites) or "–"),
            Column("tables", lambda run: str(len(run.digests)), numeric=True),
            Column("size", lambda run: amount(inventory.size(run.digests)), numeric=True, unbroken=True),
        )
        show(table.terminal(len(inventory.runs)))
    else:
        show(f"No run in {at.runs}.")
    every, idle = set(inventory.tables), set(inventory.tables) - inventory.digests_in_use
    show(f"{at.root}: {plural(len(every), 'table')}, {amount(inventory.size(every))}")
    show(f"  needed by no run: {plural(len(idle), 'table')}, {amount(inventory.size(idle))}")
    # The cache may lie elsewhere, in a database that answers or not.
    url = find_cache_url(at)
    file = find_file(url)
    if file is not None and not file.exists():
        show("no reply cache yet")
        return
    try:
        replies = ReplyCache(url, store=store)
    except InputError as error:
        show(str(error))
        return
    size = replies.bytes()
    count = plural(replies.count(), "reply")
    if size:
        count += f", {amount(size)}"
    show(f"{replies.safe_url}: {count}")
    replies.close()


def verify(name: Annotated[str, Parameter(name="RUN"), RUN] = "", /, *, where: Where = USUAL) -> int:
    """Check every table, every run and every reply; the exit code is 1 if something is damaged.

    Args:
        name: only this run: its documents and tables, against the hashes that it holds and those of its audit
    """
    if name:
        return _verify_run(name, where)
    from basic_control.tasks.runtime.storage import find_cache_url
    from basic_control.tasks.store.databases import hide_password
    from basic_control.tasks.store.pruning import list_faults
    from basic_control.tasks.store.reply_cache import find_reply_faults
    from basic_control.tasks.store.seals import find_changed_documents
    from basic_control.tasks.store.tables import Damaged

    at, store, inventory = _open(where)
    # A damaged table is named with the runs that need it.
    users: dict[str, list[str]] = {}
    for run in inventory.runs:
        for digest in run.digests:
            users.setdefault(digest, []).append(run.name)
    faults = []
    for digest in sorted(inventory.tables):
        try:
            store.bytes(digest)
        except Damaged as error:
            needed = "no run needs it"
            if digest in users:
                needed = f"needed by {', '.join(users[digest])}"
            faults.append(f"{error} ({needed}): the next run of its stage writes it again, prune deletes it")
    for run in inventory.runs:
        faults += list_faults(run, set(inventory.tables))
        if run.is_finished:
            faults += [f"run {run.name}: {fault}" for fault in find_changed_documents(run)]
    url = find_cache_url(at)
    replies, reply_faults = find_reply_faults(url)
    faults += [f"reply cache {hide_password(url)}: {fault}" for fault in reply_faults]
    for fault in faults:
        show(f"DAMAGED  {fault}")
    tables, runs = plural(len(inventory.tables), "table"), plural(len(inventory.runs), "run")
    show(f"{tables}, {runs} and {plural(replies, 'reply')} checked: {_count_faults(faults)}.")
    return Exit.FAILED if faults else Exit.PASSED


def _count_faults(faults: Sequence[str]) -> str:
    if not faults:
        return "no faults"
    return plural(len(faults), "fault")


def _verify_run(name: str, where: Where) -> int:
    """Check one run, print the hashes of its documents, and return the exit code."""
    from basic_control.tasks.store.runs import find_run
    from basic_control.tasks.store.seals import find_faults, hash_documents
    from basic_control.tasks.store.tables import Store

    run = find_run(name, where.runs)
    root = where.root or str((run.configuration.get("store") or {}).get("root") or "")
    faults = [*find_faults(run, Store(root))]
    for document, digest in hash_documents(run.folder).items():
        show(f"{digest}  {document}")
    for fault in faults:
        show(f"DAMAGED  {fault}")
    show(f"Run {run.name}: {plural(len(run.digests), 'table')} and its documents checked: {_count_faults(faults)}.")
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

    at, _, inventory = _open(where)
    if inventory.tables and not Path(at.runs).is_dir():
        raise InputError(
            f"store.runs {at.runs}: there is no such folder, so the tables that its runs need are unknown; nothing "
            "was deleted. Name the folder of the runs that use this store, or an empty one if none are left."
        )
    planned = plan(inventory, older_than_s=older_than, keep=keep, runs=runs, grace_s=grace)
    for run in planned.runs:
        show(f"run    {run.name}  {', '.join(run.models)}")
    size = inventory.size(planned.tables)
    for note in planned.notes:
        show(f"note   {note}")
    goes = [plural(len(planned.runs), "run"), f"{plural(len(planned.tables), 'table')} ({amount(size)})"]
    if planned.results:
        goes.append(plural(len(planned.results), "stage result"))
    if not yes:
        show(f"Would delete {', '.join(goes)}. Nothing was deleted: add --yes.")
        return
    # Another run may have begun to use a table since it was planned.
    n_spared = len(planned.tables) - carry_out(inventory, planned)
    note = f" {plural(n_spared, 'table')} were kept: another run uses them now." if n_spared else ""
    show(f"Deleted {', '.join(goes)}.{note}")


VERBS = (list_, verify, prune)
