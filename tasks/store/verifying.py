"""Verify: what is wrong with a run, or with the reply cache, without changing anything."""

import sqlalchemy as sa

from data.commands import typed
from data.errors import plural
from tasks.store import repair
from tasks.store.databases import DamagedFile, Database, explained, file_of
from tasks.store.inventory import RunFolder
from tasks.store.lock import FileLock
from tasks.store.rows import entry_of

MEND = f"`{typed('store repair')}` saves what can be read; the next run does so by itself"


def faults_of_run(run: RunFolder, there: set[str]) -> list[str]:
    """Return what is wrong with a run, given the digests of the tables that are there."""
    if run.problem:
        return [f"run {run.name}: {run.problem}"] if (run.folder / "manifest.json").exists() else []
    lost = {kind: digests - there for kind, digests in run.tables.items() if digests - there}
    found = [
        f"run {run.name}: {len(digests)} of its tables of {kind} missing ({min(digests)[:12]} …)"
        for kind, digests in lost.items()
    ]
    reports = [str(name) for name in run.manifest.get("reports", [])]
    found += [f"run {run.name}: report {name} is missing" for name in reports if not (run.folder / name).is_file()]
    return found


def faults_of_replies(url: str) -> tuple[int, list[str]]:
    """Return how many replies a cache holds and what is wrong with it; an absent file is an empty cache.

    Raises:
        InputError: the database cannot be reached.
    """
    file = file_of(url)
    if file is None:
        return _walk(url)
    if repair.pending(file):
        return 0, [f"a repair of it was cut short; {MEND}"]
    if not file.exists():
        return 0, []
    lock = FileLock(file)
    try:
        if not repair.is_sqlite(file):
            return 0, [f"the file is no database; {MEND}"]
        return _walk(url)
    finally:
        lock.close()


def _walk(url: str) -> tuple[int, list[str]]:
    number, wrong = 0, 0
    try:
        database = Database(url)
        try:
            found = [f"{fault}; {MEND}" for fault in database.faults()]
            if found:
                return 0, found
            for rows in database.walk():
                number += len(rows)
                wrong += sum(entry_of(row) is None for row in rows)
        finally:
            database.close()
    except DamagedFile as error:
        return number, [f"{error}; {MEND}"]
    except sa.exc.SQLAlchemyError as error:
        raise explained(url, error) from error
    if wrong:
        return number, [f"{plural(wrong, 'reply')} with a wrong checksum; {MEND}"]
    return number, []
