"""Store care from the command line: `python -m artifacts.store list | verify | prune | repair`.

Exit codes: 0 done, 1 `verify` found damage, 2 bad input or a store that cannot be used. What is heavy is imported
when it is needed, so that --help and bad arguments are answered at once.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from data.errors import InputError

if TYPE_CHECKING:
    from artifacts.inventory import Inventory
    from artifacts.replies import ReplyCache
    from artifacts.store import Store

DAMAGED = 1
ERROR = 2
ROOT = "artifacts/store"
RUNS = "artifacts/runs"
_UNITS = {"m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_THOUSAND = 1000.0


def seconds(text: str) -> float:
    """Read an age such as 30d, 12h, 90m or 2w, in seconds."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isascii() or not number.isdigit():
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a number and m, h, d or w, such as 30d")
    return int(number) * _UNITS[unit]


def count(text: str) -> int:
    """Read a number of 0 or more."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number of 0 or more")
    return int(text)


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m artifacts.store",
        description="Look after the store of tables, the reply cache and the runs.",
        epilog="Exit codes: 0 done, 1 verify found damage, 2 an error.",
    )
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--root", default=ROOT, help="the store: a folder or an fsspec URL (default: %(default)s)")
    shared.add_argument("--runs", default=RUNS, help="the folder of the runs (default: %(default)s)")
    shared.add_argument(
        "--cache", default="", help="the reply cache's SQLAlchemy URL (default: replies.sqlite in --root)"
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="list | verify | prune | repair")
    verbs.add_parser("list", parents=[shared], help="what is there")
    verbs.add_parser("verify", parents=[shared], help="is it whole: every table, every reply, every run")
    pruner = verbs.add_parser(
        "prune",
        parents=[shared],
        help="what can go, and with --yes its going",
        description="Say which runs, and which tables that no other run needs, can go; with --yes delete them. "
        "Without --older-than, --keep and --run, only tables that no run needs.",
    )
    pruner.add_argument("--older-than", type=seconds, metavar="AGE", help="runs that began earlier, such as 30d")
    pruner.add_argument("--keep", type=count, metavar="N", help="not the newest N finished runs")
    pruner.add_argument("--run", action="append", default=[], metavar="ID", help="this run; may be repeated")
    pruner.add_argument(
        "--grace",
        type=seconds,
        default="1d",
        metavar="AGE",
        help="nothing written or used since, as another run may need it (default: %(default)s)",
    )
    pruner.add_argument("--replies-unused", action="store_true", help="also replies that no kept table holds")
    pruner.add_argument("--yes", action="store_true", help="delete; without it nothing is touched")
    verbs.add_parser(
        "repair",
        parents=[shared],
        help="mend a damaged reply cache and bring replies back from the store's tables",
    )
    return parser


def _say(*lines: str) -> None:
    for line in lines:
        print(line)  # noqa: T201 - the command line's voice


def amount(size: float) -> str:
    """Return bytes as people read them."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < _THOUSAND:
            return f"{size:.0f} {unit}" if unit == "B" or size >= _THOUSAND / 10 else f"{size:.1f} {unit}"
        size /= _THOUSAND
    return f"{size:.1f} TB"


def plural(number: int, noun: str) -> str:
    """Return a number with its noun."""
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else several}".replace(",", " ")


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines with aligned columns."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _printable(text: str) -> str:
    """Return a name from a manifest without what a terminal would obey."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _open(root: str, runs: str) -> tuple["Store", "Inventory"]:
    from artifacts.inventory import take
    from artifacts.store import Store

    for option, given in (("--root", root), ("--runs", runs)):
        if not given:
            raise InputError(f"{option}: found no name, expected that of a folder.")
    store = Store(root)
    if store.local is not None and not store.local.is_dir():
        raise InputError(f"--root {root}: there is no such folder. Name the store's, or run an evaluation first.")
    return store, take(store, Path(runs))


def _cache_url(store: "Store", given: str) -> str:
    from artifacts.replies import url_in

    return given or url_in(store)


def _existing_cache(store: "Store", given: str) -> "ReplyCache | None":
    """Open the reply cache; None where its file is not there."""
    from artifacts.databases import file_of
    from artifacts.replies import ReplyCache

    url = _cache_url(store, given)
    file = file_of(url)
    return None if file is not None and not file.exists() else ReplyCache(url, tables=store)


def show(root: str, runs: str, cache: str) -> int:
    """Print what is there."""
    store, there = _open(root, runs)
    rows = [("run", "began", "state", "models", "suites", "tables", "size")]
    for run in there.runs:
        state = "finished" if run.finished else (run.problem and "no manifest") or "not ended"
        digests = run.digests
        rows.append(
            (
                run.name,
                run.started.strftime("%Y-%m-%d %H:%M"),
                state,
                _printable(", ".join(run.models)) or "–",
                _printable(", ".join(run.suites)) or "–",
                str(len(digests)),
                amount(there.size(digests)),
            )
        )
    _say(*_table(rows) if there.runs else [f"No run in {runs}."], "")
    every, idle = set(there.tables), set(there.tables) - there.needed
    _say(f"{root}: {plural(len(every), 'table')}, {amount(there.size(every))}")
    _say(f"  of no run's: {plural(len(idle), 'table')}, {amount(there.size(idle))}")
    try:
        replies = _existing_cache(store, cache)
    except InputError as error:
        _say(str(error))
        return 0
    if replies is None:
        _say("no reply cache yet")
        return 0
    number, characters = replies.size()
    _say(f"{replies.shown}: {plural(number, 'reply')}, {amount(replies.bytes() or characters)}")
    for aside in replies.asides():
        _say(f"  kept from a repair: {aside} ({amount(aside.stat().st_size)})")
    replies.close()
    return 0


def verify(root: str, runs: str, cache: str) -> int:
    """Check every table, every run and every reply; print what is damaged and return 1 where something is."""
    from artifacts.databases import shown
    from artifacts.store import Damaged
    from artifacts.verifying import faults_of_replies, faults_of_run

    store, there = _open(root, runs)
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
            found.append(f"{error} ({needed}): the next run of its stage writes it anew, prune clears it away")
    for run in there.runs:
        found += faults_of_run(run, set(there.tables))
    url = _cache_url(store, cache)
    replies, faults = faults_of_replies(url)
    found += [f"reply cache {shown(url)}: {fault}" for fault in faults]
    for line in found:
        _say(f"DAMAGED  {_printable(line)}")
    _say(
        f"{plural(len(there.tables), 'table')}, {plural(len(there.runs), 'run')} and {plural(replies, 'reply')} "
        f"checked: {plural(len(found), 'fault') if found else 'all whole'}."
    )
    return DAMAGED if found else 0


def prune(given: argparse.Namespace) -> int:
    """Print what can go; delete it where the user says so."""
    from artifacts.pruning import Wish, carry_out, plan, unused

    store, there = _open(given.root, given.runs)
    if there.tables and not Path(given.runs).is_dir():
        raise InputError(
            f"--runs {given.runs}: there is no such folder, so that what its runs need is not known and nothing "
            "can go. Name the folder of the runs that use this store; where all are gone for good, an empty one."
        )
    planned = plan(there, Wish(given.older_than, given.keep, given.run, given.grace))
    cache = _existing_cache(store, given.cache) if given.replies_unused else None
    replies = unused(there, planned, cache) if cache else []
    for run in planned.runs:
        _say(f"run    {run.name}  {_printable(', '.join(run.models))}")
    size = there.size(planned.tables)
    for note in planned.notes:
        _say(f"note   {note}")
    goes = [plural(len(planned.runs), "run"), f"{plural(len(planned.tables), 'table')} ({amount(size)})"]
    goes += [plural(len(planned.results), "stage result")] if planned.results else []
    goes += [plural(len(replies), "reply")] if given.replies_unused else []
    if not given.yes:
        _say(f"Would delete {', '.join(goes)}. Nothing was deleted: add --yes.")
        return 0
    gone = carry_out(there, planned)
    if cache and replies:
        cache.forget(replies)
    kept = (
        f" {plural(len(planned.tables) - gone, 'table')} came into use meanwhile."
        if gone < len(planned.tables)
        else ""
    )
    _say(f"Deleted {', '.join(goes)}.{kept}")
    return 0


def repair(root: str, runs: str, cache: str) -> int:
    """Mend the reply cache and bring back from the store's tables what it lacks."""
    from artifacts.replies import ReplyCache

    store, _ = _open(root, runs)
    opened = ReplyCache(_cache_url(store, cache), tables=store)
    mended, brought = opened.restore()
    number = opened.count()
    _say(
        f"{opened.shown}: {plural(number, 'reply')}; {plural(mended, 'reply')} with a wrong checksum removed, "
        f"{plural(brought, 'reply')} brought back from the store's tables."
    )
    opened.close()
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    given = arguments().parse_args(argv)
    # What the reply cache has to say of a repair is part of the answer.
    logging.basicConfig(format="%(message)s", stream=sys.stderr, level=logging.WARNING)
    try:
        if given.verb == "prune":
            return prune(given)
        return {"list": show, "verify": verify, "repair": repair}[given.verb](given.root, given.runs, given.cache)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the command line's voice
        return ERROR
    except BrokenPipeError:
        return 0


if __name__ == "__main__":
    raise SystemExit(main())
