"""A real Postgres server on loopback, for tests: made in a temporary folder, gone at the end."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

from tests.conftest import free_port

MISSING = "no Postgres server is installed here (apt-get install -y --no-install-recommends postgresql)"


def binary(name: str) -> str | None:
    """Return where one of Postgres's programs is, or None."""
    return shutil.which(name) or next(
        (str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)), None
    )


class Postgres:
    """A server with one database, `replies`: a context manager; `stop` and `start` are a restart in between.

    Durability is off (fsync) unless `durable`: a killed server is not what most tests are about.
    """

    def __init__(self, *, durable: bool = False, connections: int = 200) -> None:
        self.port = free_port()
        self._durable = durable
        self._connections = connections
        # Postgres refuses to run as root; whoever else starts it owns the files.
        self._user = pwd.getpwnam("postgres").pw_name if os.geteuid() == 0 else None

    @staticmethod
    def available() -> bool:
        """Say whether a server can be started here."""
        if not (binary("initdb") and binary("pg_ctl")):
            return False
        if os.geteuid():
            return True
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            return False
        return True

    @property
    def url(self) -> str:
        """The database, as SQLAlchemy names it."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def dsn(self) -> str:
        """The database, as Postgres's own clients name it."""
        return self.url.replace("+psycopg", "")

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="basic-control-postgres-"))
        if self._user:
            shutil.chown(self._folder, self._user)
        self._run("initdb", "-A", "trust", "-N", "-U", "postgres", "-E", "UTF8", "--no-locale", "-D", "data")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Start the server on its port."""
        options = f"-p {self.port} -h 127.0.0.1 -k {self._folder} -c max_connections={self._connections}"
        if not self._durable:
            options += " -c fsync=off"
        self._run("pg_ctl", "-w", "-D", "data", "-l", "log", "-o", options, "start")

    def stop(self) -> None:
        """Stop at once: transactions are rolled back and connections dropped."""
        self._run("pg_ctl", "-w", "-m", "fast", "-D", "data", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        found = binary(program)
        assert found, MISSING
        done = subprocess.run(
            [found, *arguments],
            cwd=self._folder,
            user=self._user,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            # Not pipes: the server would keep them open.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        assert done.returncode == 0, f"{program}: exit code {done.returncode}"
