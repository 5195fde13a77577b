"""What lies outside the sandbox, and must stay as it is."""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from basic_control.tasks import sandbox
from basic_control.tasks.sandbox import WorkerPool

SECRET = "canary-7c1f0e52"
CPU_S = 0.25


@dataclass
class Outside:
    """A folder with a secret file, a secret in the environment, and a listener."""

    folder: Path
    listener: socket.socket
    pool: WorkerPool
    others: frozenset[int]

    def fill(self, source: str) -> str:
        """Tell a hostile source where to aim."""
        aims = {
            "@CANARY@": str(self.folder),
            "@PORT@": str(self.listener.getsockname()[1]),
            "@PARENT@": str(os.getpid()),
        }
        for mark, aim in aims.items():
            source = source.replace(mark, aim)
        return source

    def check(self) -> None:
        """Assert that nothing was written, reached or left running."""
        assert {p.name: p.read_text() for p in self.folder.iterdir()} == {"secret": SECRET}
        with pytest.raises(BlockingIOError):
            self.listener.accept()
        ours = {worker.process.pid for worker in self.pool.workers}
        # Servers that other tests started are this process's children too.
        new = [child for child in psutil.Process().children() if child.pid not in self.others]
        left = {child.pid for child in new} | {
            below.pid for child in new for below in child.children(recursive=True)
        }
        assert left <= ours


@pytest.fixture(scope="package")
def pool() -> Iterator[WorkerPool]:
    """One worker, so that an honest program runs where the hostile one before it ran."""
    with WorkerPool(workers=1) as pool:
        pool.layers()
        yield pool


@pytest.fixture(scope="package")
def outside(tmp_path_factory: pytest.TempPathFactory, pool: WorkerPool) -> Iterator[Outside]:
    """What hostile programs aim at."""
    # Other tests' pool is this process's too, and its workers are none that an attack has left.
    sandbox.close()
    folder = tmp_path_factory.mktemp("canary")
    (folder / "secret").write_text(SECRET)
    os.environ["BASIC_CONTROL_CANARY"] = SECRET
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        workers = {worker.process.pid for worker in pool.workers}
        others = frozenset(child.pid for child in psutil.Process().children()) - workers
        yield Outside(folder, listener, pool, others)
    del os.environ["BASIC_CONTROL_CANARY"]
