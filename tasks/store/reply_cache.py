"""The reply cache: every answered call, by the hash of its whole identity, in any SQL database.

SQLite (in WAL mode) for one machine; Postgres for several. A reply is durable once `remember` returns. Claims keep
two workers from asking the same request: the holder asks, the others wait for the reply, for the claim to be
released, or for its lease to expire. A failed call releases its claim too, without a reply: its failure is kept for
the other askers of the same run, and means nothing to any other run. A damaged or deleted SQLite file is replaced
when it is opened, with a warning.
"""

import json
import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import sqlalchemy as sa

from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError
from basic_control.tasks.store import repair
from basic_control.tasks.store.databases import find_file, find_log, hide_password
from basic_control.tasks.store.owners import describe_owner, has_ended, name_owner
from basic_control.tasks.store.reply_tables import (
    FailedCall,
    Remembered,
    ReplyDatabase,
    read_row,
    write_failure_row,
    write_row,
)
from basic_control.tasks.store.tables import Store

__all__ = ["FailedCall", "Remembered", "ReplyCache", "find_url", "name_owner"]

_log = logging.getLogger(__name__.removeprefix("basic_control."))  # not a child of the events' logger

FORGIVEN_S = 30 * 86_400.0
"""How long the failures of a killed run are kept."""


def find_url(store: Store) -> str:
    """Return the URL of a store's reply cache: a file in its folder, local for a remote store."""
    folder = store.local or Path("artifacts/store")
    return sa.URL.create("sqlite", database=str(folder / "replies.sqlite")).render_as_string(hide_password=False)


class ReplyCache(ReplyDatabase):
    """The replies behind one SQLAlchemy URL. Safe to share between threads.

    `store` is the one whose responses tables restore what a damaged or deleted file has lost.
    """

    def __init__(self, url: str, *, store: Store | None = None) -> None:
        """Open the cache, creating missing tables, and a new file in place of a damaged or deleted one.

        Raises:
            InputError: the URL cannot be used, or the database cannot be opened.
        """
        self._store = store
        self._file = find_file(url)
        try:
            self._lock = repair.make_ready(self._file, store) if self._file else None
            super().__init__(url)
        except OSError as error:
            raise InputError(
                f"reply cache {hide_password(url)}: cannot be opened ({error}). Choose another with --set "
                "store.root=… or --set store.cache=…."
            ) from error

    def lookup(self, request_ids: Sequence[str]) -> dict[str, Remembered]:
        """Return the cached replies to these requests.

        A row that fails its checksum is restored from the store's tables, or removed, to be asked again.
        """
        replies: dict[str, Remembered] = {}
        damaged: list[str] = []
        for row in self.rows("lookup", ids=request_ids):
            entry = read_row(row)
            if entry:
                replies[entry.request_id] = entry
            else:
                damaged.append(row[0])
        if damaged:
            replies |= self._restore(damaged)
        return replies

    def _restore(self, damaged: list[str]) -> dict[str, Remembered]:
        """Remove damaged rows; return those restored from the store's tables."""
        restored: dict[str, Remembered] = {}
        if self._store:
            # Of several tables with a reply, the newest holds: it comes first.
            for entries in repair.read_responses(self._store, damaged):
                restored = {entry.request_id: entry for entry in entries} | restored
        self.forget(damaged)
        self.remember(list(restored.values()))
        _log.warning(
            "reply cache %s: %d replies failed their checksums; %d were restored from the store's tables, %d "
            "will be asked again.",
            self.safe_url,
            len(damaged),
            len(restored),
            len(damaged) - len(restored),
        )
        return restored

    def remember(self, entries: Sequence[Remembered]) -> None:
        """Store replies durably and release their claims; the first reply to a request is kept."""
        self.insert([write_row(entry) for entry in entries])

    def remember_failures(self, failures: Sequence[FailedCall], *, holder: str, run: str, way: str) -> None:
        """Store failures for those asking in the same way in the same run, and release the holder's claims.

        `way` is a digest of the model's settings that decide how it is reached.
        """
        rows = [write_failure_row(failure, run, way) for failure in failures]
        self.insert_rows("insert failures", rows, "release", {"holder": holder})

    def failures(self, request_ids: Sequence[str], *, run: str, way: str) -> dict[str, FailedCall]:
        """Return these requests' failures in a run when asked in this way."""
        return {row[0]: FailedCall(*row) for row in self.rows("failures", ids=request_ids, run=run, way=way)}

    def forgive(self, run: str) -> None:
        """Delete the failures of a run that has ended, and those of killed ones."""
        self.run("forgive", run=run, before=time.time() - FORGIVEN_S)

    def claim(self, request_ids: Sequence[str], *, holder: str, lease_s: float) -> set[str]:
        """Claim requests for a holder for a time; return those that were free, or whose holder is gone.

        Look claimed requests up once more before asking: another worker may have answered one in between.
        """
        granted = self._claim(sorted(set(request_ids)), holder, lease_s)
        refused = sorted(set(request_ids) - granted)
        # A cache in a file has no other users than this machine's processes.
        is_sole_user = self._file is not None
        gone = [name for name in self._owners(refused) if has_ended(name, is_sole_user=is_sole_user)]
        if gone:
            granted |= self._claim(refused, holder, lease_s, gone)
        return granted

    def _claim(self, ids: Sequence[str], holder: str, lease_s: float, gone: Sequence[str] = ()) -> set[str]:
        """Claim what is free, the holder's own, expired, or claimed by one of `gone`; return what is now held.

        One statement, so that only one of several that find a claim expired gets it.
        """
        claimed = self.rows("claim", ids=ids, holder=holder, lease_s=lease_s, gone=gone)
        return {row[0] for row in claimed}

    def _owners(self, ids: Sequence[str]) -> list[str]:
        return [row[0] for row in self.rows("owners", ids=ids)]

    def holders(self, request_ids: Sequence[str]) -> list[str]:
        """Return the holders of claims on these requests, in words for people."""
        return sorted(set(map(describe_owner, self._owners(request_ids))))

    def renew(self, *, holder: str, lease_s: float) -> None:
        """Extend all claims of a holder."""
        self.run("renew", holder=holder, lease_s=lease_s)

    def release(self, request_ids: Sequence[str], *, holder: str) -> None:
        """Release claims without an answer."""
        self.run("release", ids=request_ids, holder=holder)

    def forget(self, request_ids: Sequence[str]) -> int:
        """Delete replies; return how many there were."""
        return self.run("delete", ids=request_ids)

    def remember_identity(self, access: str, identity: Mapping[str, str]) -> None:
        """Store what identifies the model behind an access, in place of what did; `access` is a digest."""
        self.run("identify", access=access, identity=format_canonical(identity), identified_at=time.time())

    def recall_identity(self, access: str) -> tuple[dict[str, str], float] | None:
        """Return what identified the model behind an access last, and when; None if it never was."""
        rows = self.rows("identity", of=access)
        if not rows:
            return None
        _, identity, identified_at = rows[0]
        return json.loads(identity), float(identified_at)

    def bytes(self) -> int:
        """Return the bytes of the cache's files; 0 if it is on a server."""
        if self._file is None:
            return 0
        return sum(path.stat().st_size for path in (self._file, find_log(self._file)) if path.exists())

    @property
    def safe_url(self) -> str:
        """The cache's URL without its password."""
        return hide_password(self.url)

    def close(self) -> None:
        """Close the connections."""
        super().close()
        if self._lock is not None:
            self._lock.close()
