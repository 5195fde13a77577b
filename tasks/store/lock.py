"""A lock on a file that many processes use and that one may have to replace.

SQLite must not have a database file moved away while any connection to it is open: closing such a connection
would delete the new file's log. So whoever uses the file holds a shared lock on `<file>.lock` for as long, and
whoever replaces it needs the lock alone.
"""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


class InUse(Exception):  # noqa: N818 - said of a file
    """Another process uses the file, so it cannot be replaced now."""


class FileLock:
    """This process's share of a file, held until `close`; who replaces the file holds it `exclusive`."""

    def __init__(self, path: Path) -> None:
        """Take a share of the file, waiting for whoever is replacing it; without a lock where none can be made."""
        self._lock: IO[bytes] | None = None
        try:
            # A file object, so that the share of a forgotten lock ends with it.
            self._lock = path.with_name(path.name + ".lock").open("ab")
            fcntl.flock(self._lock, fcntl.LOCK_SH)
        except OSError:
            # A place that cannot be written, where nothing will be replaced either.
            self.close()

    @contextmanager
    def exclusive(self, patience_s: float) -> Iterator[None]:
        """Be the file's only user, to replace it; whoever calls has closed it.

        Raises:
            InUse: others still used it after `patience_s` seconds.
        """
        try:
            self._exclude(patience_s)
            yield
        finally:
            if self._lock is not None:
                fcntl.flock(self._lock, fcntl.LOCK_SH)

    def _exclude(self, patience_s: float) -> None:
        if self._lock is None:
            return
        until = time.monotonic() + patience_s
        # Let go first: two who both want it alone would otherwise wait for each other's share.
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise InUse from None
                time.sleep(0.05)
            else:
                return

    def close(self) -> None:
        """Give the share back."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None
