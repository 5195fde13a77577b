"""The reply cache: every answered call, by the hash of its whole identity, in any SQL database.

SQLite (in WAL mode) for one machine; Postgres for several. A reply is durable once `remember`
returns. Claims keep two workers from asking the same request: whoever holds the claim asks, the others wait
for the reply, for the claim to be given back, or for its lease to expire. A call that failed gives its claim back
as well, and is no reply: its failure is kept for the other askers of the same run, and means nothing to any other
run. A damaged SQLite file is mended in passing, with a warning.
"""

import glob
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from data.errors import InputError
from tasks.store import repair
from tasks.store.databases import DamagedFile, Database, Row, explained, file_of, log_of, shown
from tasks.store.lock import FileLock, InUse
from tasks.store.owners import described, has_ended, owner
from tasks.store.rows import FailedCall, Remembered, entry_of, failure_row, row_of
from tasks.store.tables import Store

__all__ = ["FailedCall", "Remembered", "ReplyCache", "batched", "owner", "url_in"]

T = TypeVar("T")
_log = logging.getLogger(__name__)

CHUNK = 10_000
"""Ids in one statement."""
CHECKED = 512_000_000
"""Bytes of an SQLite file that is checked whole when it is opened: a second or two at most."""
GLANCE_S = 0.5
"""How long to wait for others who are just making the file."""
FORGIVEN_S = 30 * 86_400.0
"""How long the failures of a run that was killed are kept."""
WAIT_S = 60.0
"""How long a run waits for others to let go of a damaged file."""


def url_in(store: Store) -> str:
    """Return the URL of the reply cache that belongs to a store: a file in its folder, local for a remote store."""
    folder = store.local or Path("artifacts/store")
    return sa.URL.create("sqlite", database=str(folder / "replies.sqlite")).render_as_string(hide_password=False)


def batched(values: Sequence[str], size: int) -> Iterator[list[str]]:
    """Yield values in lists of at most `size`."""
    for start in range(0, len(values), size):
        yield list(values[start : start + size])


def _empty(file: Path) -> bool:
    return file.exists() and file.stat().st_size == 0


class ReplyCache:
    """The replies behind one SQLAlchemy URL. Safe to share between threads.

    `tables` is the store whose responses tables bring back what a damaged file has lost.
    """

    def __init__(self, url: str, *, tables: Store | None = None) -> None:
        """Open the cache, making its tables where they are missing, and mending its file where it is damaged.

        Raises:
            InputError: the URL cannot be used, or the database cannot be opened.
        """
        self.url = url
        self._tables = tables
        self._file = file_of(url)
        self._lock: FileLock | None = None
        self._database: Database | None = None
        try:
            try:
                self._open()
            except DamagedFile as error:
                self._mend(None, error)
        except InputError:
            self.close()
            raise

    def _open(self) -> None:
        if self._file is not None:
            folder = self._file.parent
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(
                    f"cannot make the folder {folder} of the reply cache: {error.strerror}. Choose another with "
                    "--set store.root=… or --set store.cache=…."
                ) from error
        try:
            if self._file is None:
                self._database = Database(self.url)
                return
            self._lock = FileLock(self._file)
            self._complete(self._lock, self._file)
            self._database = self._sound(self._file)
        except OSError as error:
            raise InputError(f"reply cache {shown(self.url)}: cannot be opened ({error}).") from error
        except sa.exc.SQLAlchemyError as error:
            raise explained(self.url, error) from error

    def _sound(self, file: Path, *, suspect: bool = False) -> Database:
        """Open a file, checked whole if that takes no time to speak of, or if damage was met in it."""
        database = Database(self.url)
        self._inode = file.stat().st_ino
        if (suspect or file.stat().st_size <= CHECKED) and (faults := database.faults(1)):
            database.close()
            raise DamagedFile(faults[0])
        return database

    def _complete(self, lock: FileLock, file: Path) -> None:
        """Bring what a killed repair began to its end; an emptied file is damaged, unless another is making it."""
        if repair.pending(file):
            with lock.exclusive(WAIT_S):
                repair.replace_damaged(file)
        elif _empty(file):
            # Where another run uses it, that run is making it.
            with suppress(InUse), lock.exclusive(GLANCE_S):
                if _empty(file):
                    raise DamagedFile("the file is empty")
        elif file.exists() and not repair.is_sqlite(file):
            # Before SQLite sees it, which would delete a log that it cannot read.
            raise DamagedFile("file is not a database")

    def _mend(self, damaged: Database | None, reason: DamagedFile) -> None:
        """Replace a damaged file by one with every reply that can be saved, unless someone just has.

        Raises:
            InputError: other processes use it, or the new file cannot be written.
        """
        if self._file is None or self._lock is None:
            raise InputError(
                f"reply cache {shown(self.url)}: {reason}. It cannot be repaired in memory; run again."
            )
        try:
            with self._lock.exclusive(WAIT_S):
                if self._database is damaged:
                    self._database = None
                    self._database = self._mended(self._file, damaged, reason)
        except InUse as error:
            raise InputError(
                f"reply cache {shown(self.url)} is damaged ({reason}), and another process uses it, so that it "
                "cannot be repaired now. Wait for that run to end, or stop it, and run again; everything answered "
                "so far is kept."
            ) from error
        except sa.exc.SQLAlchemyError as error:
            raise explained(self.url, error) from error

    def _mended(self, file: Path, damaged: Database | None, reason: DamagedFile) -> Database:
        """Return the database of a file that was damaged; the lock is held alone."""
        if damaged is not None:
            damaged.close()
        if damaged is None or file.stat().st_ino == self._inode:
            with suppress(DamagedFile):
                if not _empty(file):
                    # What one process mended, another need not.
                    return self._sound(file, suspect=True)
            saved = repair.mend(file, self._tables)
            _log.warning("reply cache %s was damaged (%s): %s", shown(self.url), reason, saved.in_words())
        return self._sound(file)

    def _work(self, work: Callable[[Database], T]) -> T:
        """Do a piece of work that may be repeated; once more after mending a damaged file."""
        damaged: Database | None = None
        for _ in range(2):
            try:
                if self._lock is None:
                    return work(self._opened())
                with self._lock.shared():
                    damaged = self._opened()
                    return work(damaged)
            except DamagedFile as error:
                reason = error
                self._mend(damaged, error)
            except sa.exc.SQLAlchemyError as error:
                raise explained(self.url, error) from error
        raise InputError(f"reply cache {shown(self.url)}: damaged again ({reason}). Is the disk failing?")

    def _opened(self) -> Database:
        if self._database is None:
            raise InputError(f"reply cache {shown(self.url)} could not be repaired. Run again.")
        return self._database

    def lookup(self, request_ids: Sequence[str]) -> dict[str, Remembered]:
        """Return what is known of these requests.

        A row that fails its checksum is brought back from the store's tables, or removed, to be asked again.
        """
        found: dict[str, Remembered] = {}
        damaged: list[str] = []
        for chunk in batched(request_ids, CHUNK):
            for row in self._work(lambda database, ids=chunk: database.lookup(ids)):  # type: ignore[misc] # mypy sees no type for defaults of a lambda
                if entry := entry_of(row):
                    found[entry.request_id] = entry
                else:
                    damaged.append(row[0])
        if damaged:
            found |= self._replace(damaged)
        return found

    def _replace(self, damaged: list[str]) -> dict[str, Remembered]:
        """Remove damaged rows; return those that the store's tables still hold, remembered again."""
        back = repair.recall(self._tables, set(damaged)) if self._tables else {}
        self._work(lambda database: database.delete(damaged))
        self.remember(list(back.values()))
        _log.warning(
            "reply cache %s: %d replies failed their checksums; %d were brought back from the store's tables, %d "
            "will be asked again.",
            shown(self.url),
            len(damaged),
            len(back),
            len(damaged) - len(back),
        )
        return back

    def remember(self, entries: Sequence[Remembered]) -> None:
        """Keep replies, durably, and give their claims back; the first reply stays."""
        if entries:
            rows = [row_of(entry) for entry in entries]
            self._work(lambda database: database.insert(rows))

    def fail(self, failures: Sequence[FailedCall], *, holder: str, run: str, way: str) -> None:
        """Keep failures for who asks in the same way in the same run, and give the holder's claims on them back."""
        if failures:
            rows = [failure_row(one, run, way) for one in failures]
            self._work(lambda database: database.fail(rows, holder=holder))

    def failures(self, request_ids: Sequence[str], *, run: str, way: str) -> dict[str, FailedCall]:
        """Return those of these requests that failed in a run when they were asked in a way."""
        found: dict[str, FailedCall] = {}
        for chunk in batched(request_ids, CHUNK):
            for row in self._work(lambda database, ids=chunk: database.failures(ids, run=run, way=way)):  # type: ignore[misc] # mypy sees no type for defaults of a lambda
                found[row[0]] = FailedCall(*row)
        return found

    def forgive(self, run: str) -> None:
        """Forget the failures of a run that has ended, and those of killed ones."""
        self._work(lambda database: database.forgive(run=run, before=time.time() - FORGIVEN_S))

    def claim(self, request_ids: Sequence[str], *, holder: str, lease_s: float) -> set[str]:
        """Claim requests for a holder for a time; return those that were free, or whose holder is gone.

        Look claimed requests up once more before asking: another worker may have answered one in between.
        """
        wanted = list(dict.fromkeys(request_ids))
        granted: set[str] = set()
        for ids in batched(wanted, CHUNK):
            granted |= self._claim(ids, holder, lease_s)
        return granted

    def _claim(self, ids: list[str], holder: str, lease_s: float) -> set[str]:
        granted = self._work(lambda database: database.claim(ids, holder=holder, lease_s=lease_s, gone=()))
        if len(granted) < len(ids):
            held = [i for i in ids if i not in granted]
            owners = self._work(lambda database: database.owners(held))
            gone = [one for one in owners if has_ended(one, here=self._file is not None)]
            if gone:
                granted |= self._work(
                    lambda database: database.claim(held, holder=holder, lease_s=lease_s, gone=gone)
                )
        return granted

    def holders(self, request_ids: Sequence[str]) -> list[str]:
        """Return who holds claims on these requests, in words for people."""
        found: set[str] = set()
        for ids in batched(request_ids, CHUNK):
            found |= set(self._work(lambda database, i=ids: database.owners(i)))  # type: ignore[misc] # mypy sees no type for defaults of a lambda
        return sorted({described(one) for one in found})

    def renew(self, *, holder: str, lease_s: float) -> None:
        """Extend all claims of a holder."""
        self._work(lambda database: database.renew(holder=holder, lease_s=lease_s))

    def release(self, request_ids: Sequence[str], *, holder: str) -> None:
        """Give claims back without an answer."""
        for ids in batched(request_ids, CHUNK):
            self._work(lambda database, i=ids: database.release(i, holder=holder))  # type: ignore[misc] # mypy sees no type for defaults of a lambda

    def forget(self, request_ids: Sequence[str]) -> int:
        """Delete replies; return how many there were."""
        return sum(
            self._work(lambda database, i=ids: database.delete(i))  # type: ignore[misc] # mypy sees no type for defaults of a lambda
            for ids in batched(request_ids, CHUNK)
        )

    def restore(self) -> tuple[int, int]:
        """Remove rows with wrong checksums and bring back all that the store's tables hold.

        Returns how many rows were wrong, and how many replies there are more than before.
        """
        wrong = [row[0] for row in self.walk() if entry_of(row) is None]
        self.forget(wrong)
        before = self.count()
        for entries in repair.responses_in(self._tables) if self._tables else ():
            self.remember(entries)
        return len(wrong), self.count() - before

    def walk(self) -> Iterator[Row]:
        """Yield every row as it is kept, in the order of request ids; see `entry_of` for its soundness."""
        for rows in self._opened().walk():
            yield from rows

    def size(self) -> tuple[int, int]:
        """Return how many replies are kept, and the characters of their texts."""
        return self._work(lambda database: database.size())

    def bytes(self) -> int:
        """Return the bytes of the cache's files; 0 where it is on a server."""
        if self._file is None:
            return 0
        return sum(path.stat().st_size for path in (self._file, log_of(self._file)) if path.exists())

    def asides(self) -> list[Path]:
        """Return the damaged files that repairs have kept."""
        if self._file is None:
            return []
        return sorted(self._file.parent.glob(f"{glob.escape(self._file.name)}.damaged-*"))

    @property
    def shown(self) -> str:
        """The cache's URL without its password."""
        return shown(self.url)

    def count(self) -> int:
        """Return how many replies are kept."""
        return self._work(lambda database: database.count())

    def close(self) -> None:
        """Let go of the connections."""
        if self._database is not None:
            self._database.close()
        if self._lock is not None:
            self._lock.close()
