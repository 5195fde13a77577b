"""A Postgres server for the tests of this folder, where one is installed, and caches on it and on SQLite."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from basic_control.tasks.store.reply_cache import ReplyCache
from tests.servers.postgres import MISSING, Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Run one Postgres server for all tests; skip where there is none."""
    if not Postgres.available():
        pytest.skip(MISSING)
    with Postgres() as server:
        yield server


@pytest.fixture
def empty(postgres: Postgres) -> Postgres:
    """Return the server with an empty database."""
    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS replies, claims, failures")
        connection.execute("ALTER DATABASE postgres RESET ALL")
    return postgres


@pytest.fixture(params=["sqlite", "postgres"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReplyCache]:
    """Open an empty cache on each kind of database."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/deep/replies.sqlite"
    else:
        url = request.getfixturevalue("empty").url
    opened = ReplyCache(url)
    yield opened
    opened.close()
