"""The reply cache: every answered call, by the hash of its whole identity, in any SQL database.

SQLite (in WAL mode) for one machine; Postgres for several. A reply is durable once `remember`
returns. Claims keep two workers from asking the same request: whoever holds the claim asks, the others wait
for the reply or for the claim's lease to expire. A damaged SQLite file is mended in passing, with a warning.
"""

import glob
import hashlib
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from artifacts.databases import DamagedFile, Database, Row, explained, file_of, shown
from artifacts.gate import Gate, InUse
from artifacts.sqlite_pages import log_is_cut, log_of
from data.draw import canonical
from data.errors import InputError
from data.records import Reply

if TYPE_CHECKING:
    from artifacts.store import Store

T = TypeVar("T")
_log = logging.getLogger(__name__)

CHUNK = 10_000
"""Ids in one statement."""
CHECKED = 512_000_000
"""Bytes of an SQLite file that is checked whole when it is opened: a second or two at most."""
GLANCE_S = 0.5
"""How long to wait for others who are just opening the file, so as to look at its log alone."""
WAIT_S = 60.0
"""How long a run waits for others to let go of a damaged file."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A reply as the cache keeps it: with the latency in seconds of the call that brought it."""

    request_id: str
    reply: Reply
    latency_s: float
    model: str = ""


def row_of(entry: Remembered) -> Row:
    """Return an entry as a row of `COLUMNS`."""
    reply = entry.reply
    content = (
        _storable(reply.text),
        _storable(reply.reasoning),
        reply.finish_reason,
        reply.tokens_in,
        reply.tokens_out,
        float(entry.latency_s),
    )
    return (entry.request_id, *content, entry.model, time.time(), _checksum(entry.request_id, content))


def entry_of(row: Row) -> Remembered | None:
    """Return a row of `COLUMNS` as an entry, or None where its content does not match its checksum."""
    request_id, *content, model, _, checksum = row
    if _checksum(request_id, content) != checksum:
        return None
    *reply, latency_s = content
    return Remembered(request_id, Reply(*reply), latency_s, model)


def _storable(text: str) -> str:
    """Return text that every database and UTF-8 can hold: no NUL, no lone surrogate."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _checksum(request_id: str, content: Sequence[Any]) -> str:
    return hashlib.sha256(canonical([request_id, *content]).encode()).hexdigest()[:16]


def url_in(store: "Store") -> str:
    """Return the URL of the reply cache that belongs to a store: a file in its folder, local for a remote store."""
    folder = store.local or Path("artifacts/store")
    return sa.URL.create("sqlite", database=str(folder / "replies.sqlite")).render_as_string(hide_password=False)


def batched(values: Sequence[str], size: int) -> Iterator[list[str]]:
    """Yield values in lists of at most `size`."""
    for start in range(0, len(values), size):
        yield list(values[start : start + size])


@cache
def _machine() -> str:
    """Return this machine's name and, where the kernel tells, which of its starts this is and whose processes.

    Containers may share a name, and not their process ids.
    """
    name = socket.gethostname().replace(":", "_")
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
        return f"{name}@{boot}+{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return name


def _boot(machine: str) -> str:
    return machine.partition("@")[2].partition("+")[0]


def owner() -> str:
    """Return a name for this process that no other has: machine, process id, and when it started."""
    return f"{_machine()}:{os.getpid()}:{_started(os.getpid())}"


def _started(pid: int) -> str:
    """Return when a process started, in the kernel's own words; '' where it does not say."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
        )
    except (OSError, IndexError):
        return ""


def _gone(claimant: str, *, here: bool) -> bool:
    """Say whether a claim's owner runs no more: a process of this machine, or of an earlier start of it.

    `here`: the cache is of this machine alone, whose clock began anew when it started.
    """
    machine, pid, started, *_ = [*claimant.split(":"), "", "", ""]
    boots = {_boot(machine), _boot(_machine())}
    if here and "" not in boots and len(boots) > 1:
        return True
    if machine != _machine() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return _started(int(pid)) != started


def _empty(file: Path) -> bool:
    return file.exists() and file.stat().st_size == 0


class ReplyCache:
    """The replies behind one SQLAlchemy URL. Safe to share between threads.

    `tables` is the store whose responses tables bring back what a damaged file has lost.
    """

    def __init__(self, url: str, *, tables: "Store | None" = None) -> None:
        """Open the cache, making its tables where they are missing, and mending its file where it is damaged.

        Raises:
            InputError: the URL cannot be used, or the database cannot be opened.
        """
        self.url = url
        self._tables = tables
        self._file = file_of(url)
        self._gate: Gate | None = None
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
            self._gate = Gate(self._file)
            self._complete(self._gate, self._file)
            self._database = self._sound(self._file)
        except OSError as error:
            raise InputError(f"reply cache {shown(self.url)}: cannot be opened ({error}).") from error
        except sa.exc.SQLAlchemyError as error:
            raise explained(self.url, error) from error

    def _sound(self, file: Path) -> Database:
        """Open a file, checked as far as that takes no time to speak of."""
        database = Database(self.url)
        self._inode = file.stat().st_ino
        if file.stat().st_size <= CHECKED and (faults := database.faults(1)):
            database.close()
            raise DamagedFile(faults[0])
        return database

    def _complete(self, gate: Gate, file: Path) -> None:
        """Bring what a killed repair began to its end; an emptied file is damaged, unless another is making it."""
        from artifacts import repair

        if repair.pending(file):
            with gate.alone(WAIT_S):
                repair.swap(file)
        elif file.exists() and not _empty(file) and not repair.is_sqlite(file):
            # Before SQLite sees it, which would delete a log that it cannot read.
            raise DamagedFile("file is not a database")
        elif log_of(file).exists() or _empty(file):
            # Where another run uses it, that run has looked.
            with suppress(InUse), gate.alone(GLANCE_S):
                if _empty(file) and not log_of(file).exists():
                    raise DamagedFile("the file is empty")
                if log_is_cut(file):
                    raise DamagedFile("its write-ahead log is damaged")

    def _mend(self, damaged: Database | None, reason: DamagedFile) -> None:
        """Replace a damaged file by one with every reply that can be saved, unless someone just has.

        Raises:
            InputError: other processes use it, or the new file cannot be written.
        """
        if self._file is None or self._gate is None:
            raise InputError(f"reply cache {shown(self.url)}: {reason}. It cannot be mended in memory; run again.")
        try:
            with self._gate.alone(WAIT_S):
                if self._database is damaged:
                    self._database = None
                    self._database = self._mended(self._file, damaged, reason)
        except InUse as error:
            raise InputError(
                f"reply cache {shown(self.url)} is damaged ({reason}), and another process uses it, so that it "
                "cannot be mended now. Wait for that run to end, or stop it, and run again; everything answered so "
                "far is kept."
            ) from error
        except sa.exc.SQLAlchemyError as error:
            raise explained(self.url, error) from error

    def _mended(self, file: Path, damaged: Database | None, reason: DamagedFile) -> Database:
        """Return the database of a file that was damaged; the gate is held alone."""
        from artifacts import repair

        if damaged is not None:
            damaged.close()
        if damaged is None or file.stat().st_ino == self._inode:
            with suppress(DamagedFile):
                if not _empty(file) and not log_is_cut(file):
                    # What one process mended, another need not.
                    return self._sound(file)
            saved = repair.mend(file, self._tables)
            _log.warning("reply cache %s was damaged (%s): %s", shown(self.url), reason, saved.told())
        return self._sound(file)

    def _work(self, work: Callable[[Database], T]) -> T:
        """Do a piece of work that may be repeated; once more after mending a damaged file."""
        damaged: Database | None = None
        for _ in range(2):
            try:
                if self._gate is None:
                    return work(self._opened())
                with self._gate.inside():
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
            raise InputError(f"reply cache {shown(self.url)} could not be mended. Run again.")
        return self._database

    def lookup(self, request_ids: Sequence[str]) -> dict[str, Remembered]:
        """Return what is known of these requests.

        A row that fails its checksum is brought back from the store's tables, or removed, to be asked anew.
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
        from artifacts import repair

        back = repair.recall(self._tables, set(damaged)) if self._tables else {}
        self._work(lambda database: database.delete(damaged))
        self.remember(list(back.values()))
        _log.warning(
            "reply cache %s: %d replies failed their checksums; %d were brought back from the store's tables, %d "
            "will be asked anew.",
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
            gone = [one for one in owners if _gone(one, here=self._file is not None)]
            if gone:
                granted |= self._work(
                    lambda database: database.claim(held, holder=holder, lease_s=lease_s, gone=gone)
                )
        return granted

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
        if self._gate is not None:
            self._gate.close()
