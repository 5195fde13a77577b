"""Prefect's database: a file of the project's own store, begun as a copy of one whose migrations are done.

Making the tables takes Prefect some 4 s: `python -m flows.database` does so once for this user and this version
of Prefect, at set-up; a first run without it does the same and keeps what came out.
"""

import asyncio
import contextlib
import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import platformdirs

VARIABLES = ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "PREFECT_API_DATABASE_CONNECTION_URL")
"""How the environment names another one; Prefect reads both."""


CHECKED = 200_000_000
"""Bytes of a database whose pages are all looked at before a run: a larger one takes seconds."""


def url_of(database: Path) -> str:
    """Return the URL of a file; '' where its path holds what no URL of SQLAlchemy's can."""
    path = str(database.absolute())
    return "" if "?" in path else f"sqlite+aiosqlite:///{path}"


def template() -> Path:
    """Return where this user's migrated database for this version of Prefect is, or will be."""
    return platformdirs.user_cache_path("basic-control", appauthor=False) / "prefect" / f"{version('prefect')}.db"


def fault(database: Path) -> str:
    """Return why a database that is there cannot be used: it is damaged, or cannot be written; '' where it can."""
    if not database.exists():
        return ""
    try:
        with contextlib.closing(sqlite3.connect(database, timeout=0.1)) as opened:
            if database.stat().st_size < CHECKED:
                (found,) = opened.execute("PRAGMA quick_check(1)").fetchone()
                if found != "ok":
                    return str(found).splitlines()[-1]
            opened.execute("BEGIN IMMEDIATE")
            opened.execute("CREATE TABLE basic_control_probe AS SELECT zeroblob(65536) AS it")
            opened.execute("DROP TABLE basic_control_probe")
            opened.commit()
    except sqlite3.OperationalError as error:
        # Another run writes it just now.
        return "" if "locked" in str(error) or "busy" in str(error) else str(error)
    except (sqlite3.Error, OSError) as error:
        return str(error)
    return ""


def begin(database: Path) -> bool:
    """Copy the template to where nothing is yet; say whether the database needs no migration.

    Raises:
        OSError: it cannot be written.
    """
    made = template()
    database.parent.mkdir(parents=True, exist_ok=True)
    if made.is_file() and not database.exists():
        fresh = Path(tempfile.mkdtemp(dir=database.parent, prefix=".prefect-")) / database.name
        try:
            shutil.copyfile(made, fresh)
            with contextlib.suppress(FileExistsError):  # another run was faster
                os.link(fresh, database)
        except OSError:
            database.unlink(missing_ok=True)
            raise
        finally:
            shutil.rmtree(fresh.parent, ignore_errors=True)
    return bool(revision := _revision(made)) and revision == _revision(database)


def _revision(database: Path) -> str:
    """Return the migration that a database is at; '' where that cannot be told."""
    if not database.is_file():
        return ""
    try:
        with contextlib.closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            return str(opened.execute("SELECT version_num FROM alembic_version").fetchone()[0])
    except (sqlite3.Error, TypeError):
        return ""


def migrate(database: Path) -> None:
    """Bring the database up to date through Prefect, whose settings name it; a new one becomes the template.

    Side by side with other runs: one migrates, the others wait.
    """
    from prefect.server.database.dependencies import provide_database_interface

    with _alone(database):
        new = not database.exists()
        asyncio.run(provide_database_interface().create_db())
        if new and not template().exists():
            with contextlib.suppress(OSError, sqlite3.Error):  # then the next new store takes as long
                _keep(database, template())


def _keep(database: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        copy = Path(folder) / place.name
        closing = contextlib.closing
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(copy)) as to:
            source.backup(to)
            to.execute("PRAGMA journal_mode = DELETE")  # so that the file is all there is of it
        copy.replace(place)


@contextlib.contextmanager
def _alone(database: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:
        yield
        return
    with database.with_name(f"{database.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> int:
    """Make the template unless it is there; return the exit code."""
    if template().exists():
        return 0
    from flows.environment import PRIVACY, QUIET

    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "prefect.db"
        os.environ |= {**PRIVACY, **QUIET, "PREFECT_HOME": folder, VARIABLES[0]: url_of(database)}
        migrate(database)
    return 0


if __name__ == "__main__":
    sys.exit(main())
