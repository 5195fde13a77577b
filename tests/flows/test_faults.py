"""Faults in the middle of a run: after each, a rerun ends as an undisturbed run does, and pays for no call twice.

docs/reliability.md is the table of these faults and what comes of them.
"""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flows.scene import IN_FLIGHT, Scene, decided, outcome
from tests.helpers.preloaded import Preloaded, Process
from tests.helpers.runs import latest

pytestmark = pytest.mark.slow

FAKETIME = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount a disk of its own at `folder`/store; skip where that cannot be done."""
    store = folder / "store"
    store.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(store)]
    if os.geteuid() or subprocess.run(mount, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield store
    finally:
        subprocess.run(["umount", str(store)], check=True)


def remount(store: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(store)], check=True)


def resumed(folder: Path) -> list[str]:
    """Return what to add to a start: what has ended, just before it would have been killed, is not resumed."""
    manifests = sorted((folder / "runs").glob("*/manifest.json"))
    running = manifests and json.loads(manifests[-1].read_text(encoding="utf-8"))["status"] == "running"
    return ["--resume"] if running else []


def test_killed_in_every_part_of_a_run(scene: Scene, tmp_path: Path) -> None:
    """SIGKILL and resume: before the first call, among the model's and the judge's, and as results are written."""

    def questions(share: float) -> Callable[[], object]:
        return lambda: len(scene.asked()) >= scene.calls * share

    def written() -> object:
        return [*tmp_path.glob("runs/*/raw/*.json")]

    moments = [lambda: resumed(tmp_path), questions(1 / 4), questions(3 / 4), written]
    for reached in moments:
        process = scene.start(tmp_path, *resumed(tmp_path))
        while not reached() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        _, err = process.communicate()
        assert process.returncode == -signal.SIGKILL or (reached is written and not process.returncode), err
    scene.rerun(tmp_path, *resumed(tmp_path))
    assert len(scene.server.requests) <= scene.calls + len(moments) * IN_FLIGHT, (
        "only what was in flight is asked again"
    )


def test_a_full_disk(scene: Scene, tmp_path: Path) -> None:
    with small_disk(tmp_path, "220k") as store:
        # A process of its own: while one lives, what it could not even give back stays its own for a minute.
        code, _, err = scene.end(scene.start(tmp_path))
        assert code == 2
        assert "disk is full" in err
        before = len(scene.server.requests)
        remount(store, "size=100m")
        scene.rerun(tmp_path)
        again = len(scene.server.requests) - before
        assert again < scene.calls, "what was written is kept"
        # Each of the three batches may hold as many replies as are in flight, on their way to the disk.
        assert again <= scene.calls - before + 3 * IN_FLIGHT, "only what could not be written"


def test_a_read_only_store(scene: Scene, tmp_path: Path) -> None:
    with small_disk(tmp_path, "100m") as store:
        process = scene.start(tmp_path)
        while len(scene.server.requests) < scene.calls // 2:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        remount(store, "ro")
        before = len(scene.server.requests)
        code, _, err = scene.run(tmp_path)
        assert code == 2
        assert "read-only" in err.lower(), err
        assert str(store) in err
        assert len(scene.server.requests) == before, "nothing is asked that could not be kept"
        remount(store, "rw")
        scene.rerun(tmp_path)
    assert len(scene.server.requests) <= scene.calls + IN_FLIGHT


def test_damaged_tables(undisturbed: Scene) -> None:
    """Every table is overwritten in its middle, cut or deleted by turns, then every second one."""
    before = len(undisturbed.server.requests)
    for step in (1, 2):
        for number, path in enumerate(sorted((undisturbed.folder / "store" / "tables").rglob("*.parquet"))[::step]):
            content = bytearray(path.read_bytes())
            middle = len(content) // 2
            content[middle : middle + 8] = bytes(byte ^ 0xFF for byte in content[middle : middle + 8])
            path.write_bytes(path.read_bytes()[:-7] if number % 3 == 1 else content)
            if number % 3 == 2:
                path.unlink()
        undisturbed.rerun(undisturbed.folder)
        assert len(undisturbed.server.requests) == before, "the replies were in the cache"
        manifest = json.loads((latest(undisturbed.folder) / "manifest.json").read_text(encoding="utf-8"))
        assert any("missing or damaged" in row["note"] for row in manifest["stages"])


@pytest.mark.parametrize("damage", ["middle", "head", "gone"])
def test_a_damaged_cache_file(undisturbed: Scene, damage: str) -> None:
    """The reply cache is overwritten in its middle, loses its head, or is gone: the run's tables still hold all."""
    cache = undisturbed.folder / "store" / "replies.sqlite"
    before, content = len(undisturbed.server.requests), bytearray(cache.read_bytes())
    if damage == "gone":
        cache.unlink()
    else:
        at = len(content) // 2 if damage == "middle" else 0
        content[at : at + 4096] = os.urandom(4096)
        cache.write_bytes(content)
    code, out, err = undisturbed.run(undisturbed.folder)
    assert code == 0, err
    assert outcome(undisturbed.folder) == undisturbed.expected
    assert len(undisturbed.server.requests) == before, "what the file has lost is in the tables"
    assert "was made anew" in err, out


def test_a_server_that_dies_and_comes_back(scene: Scene, tmp_path: Path) -> None:
    process = scene.start(tmp_path)
    while len(scene.server.requests) < scene.calls // 3:
        assert process.poll() is None
        time.sleep(0.01)
    scene.server.stop()
    time.sleep(1)
    scene.server.start()
    code, _, err = scene.end(process)
    assert code == 0, err
    assert outcome(tmp_path) == scene.expected, "the run waited for its server"
    assert len(scene.server.requests) <= scene.calls + IN_FLIGHT


def test_a_server_that_dies_for_good_and_is_back_for_the_next_run(scene: Scene, tmp_path: Path) -> None:
    short = ("--set", "models.0.deadline_s=5", "--set", "judges.0.deadline_s=5", "--set", "gate=point")
    process = scene.start(tmp_path, *short)
    while len(scene.server.requests) < scene.calls // 3:
        assert process.poll() is None
        time.sleep(0.01)
    scene.server.stop()
    code, out, _ = scene.end(process)
    assert code == 2, out
    assert out.startswith("Error: "), out
    # Which suite's rows are named first hangs on which had answers when the server went.
    assert " has a score" in out or "of its rows have a score" in out, out
    before = len(scene.server.requests)
    scene.server.start()
    scene.rerun(tmp_path)
    assert before < scene.calls
    assert len(scene.server.requests) <= scene.calls + IN_FLIGHT


@pytest.mark.skipif(FAKETIME is None, reason="libfaketime is not installed here (apt-get install faketime)")
def test_clocks_that_jump(scene: Scene, tmp_path: Path) -> None:
    """The clock leaps to and fro inside of a run, which is killed; the next one runs by the right time."""
    clock = tmp_path / "clock"
    clock.write_text("+0")
    fake = {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        # Files have the times that they have; and bytecode would look older than what it was made from.
        "NO_FAKE_STAT": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "PYTHONPATH": str(tmp_path),
    }
    # libfaketime shifts the monotonic moment until which Python sleeps, and the kernel refuses what comes out.
    (tmp_path / "sitecustomize.py").write_text(
        "import select, time\ntime.sleep = lambda seconds: select.select([], [], [], seconds) and None\n"
    )
    forks = Preloaded({**scene.forks.environment, **fake})  # imported once by that clock, which takes its time
    faked = replace(scene, forks=forks)
    process = faked.start(tmp_path)
    for share, shift in ((1 / 4, "+1d"), (1 / 2, "-2d"), (3 / 4, "+400d")):
        while len(scene.server.requests) < scene.calls * share:
            assert process.poll() is None, process.communicate()[1][-2000:]
            time.sleep(0.01)
        clock.write_text(shift)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    scene.rerun(tmp_path)  # ends: no claim of another time is waited for, which would take days
    assert len(scene.server.requests) <= scene.calls + IN_FLIGHT
    clock.write_text("-2d")
    code, out, err = faked.end(faked.start(tmp_path))
    forks.end()
    assert code == 0, err
    assert outcome(tmp_path) == scene.expected
    assert "No model call was made" in out


def test_two_runs_at_once_in_one_store(scene: Scene, tmp_path: Path) -> None:
    """Both end as one alone does, and each question was asked once."""
    both = [scene.start(tmp_path) for _ in range(2)]
    ends: list[tuple[int, str, str]] = []

    def wait(process: Process) -> Callable[[], None]:
        return lambda: ends.append(scene.end(process))

    threads = [threading.Thread(target=wait(process)) for process in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [code for code, _, _ in ends] == [0, 0], [err for _, _, err in ends]
    assert set(scene.asked().values()) == {1}
    folders = sorted((tmp_path / "runs").iterdir())
    assert len(folders) == 2
    for folder in folders:
        assert decided(folder) == scene.expected["raw"]
