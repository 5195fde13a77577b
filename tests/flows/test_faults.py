"""Faults in the middle of a run: after each, a rerun ends as an undisturbed run does, and pays for no call twice.

docs/reliability.md is the table of these faults and what comes of them.
"""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from tests.flows.scene import IN_FLIGHT, Scene, decided, outcome
from tests.helpers.preloaded import Process
from tests.helpers.runs import latest

KILLS = 8
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


@pytest.mark.timeout(1800)
def test_killed_at_eight_random_moments(scene: Scene, tmp_path: Path) -> None:
    """SIGKILL and resume, again and again; a run that ends before its turn is compared, and another begins.

    By turns after so many calls, which lies inside of a run however busy the machine is, and after a time, which
    may lie before the first call or after the last.
    """
    random = Random(20_261_121)
    ended = turn = left = 0
    kills, before = 0, 0
    folder = tmp_path / "0"

    def finished() -> None:
        nonlocal ended, kills, before, folder
        assert outcome(folder) == scene.expected
        asked = len(scene.server.requests) - before
        assert scene.calls <= asked <= scene.calls + IN_FLIGHT * kills, "only what was in flight is asked again"
        ended, kills, before = ended + 1, 0, len(scene.server.requests)
        folder = tmp_path / str(ended)

    def resume() -> list[str]:
        manifests = sorted((folder / "runs").glob("*/manifest.json"))
        # Killed when it had just ended, it is begun once more: what has ended is not resumed.
        begun = manifests and json.loads(manifests[-1].read_text(encoding="utf-8"))["status"] == "running"
        return ["--resume"] if begun else []

    wall = scene.wall_s  # of a run that may have had a busy machine: the quickest whole one says it better
    while left < KILLS:
        words, began, asked = resume(), time.monotonic(), len(scene.server.requests)
        process, turn = scene.start(folder, *words), turn + 1
        open_calls = scene.calls - (asked - before)
        if turn % 2 and open_calls > 0:
            moment = asked + random.randint(1, open_calls)
            while len(scene.server.requests) < moment and process.poll() is None:
                time.sleep(0.01)
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(random.uniform(0.2, 1.1) * wall)
        process.send_signal(signal.SIGKILL)
        _, err = process.communicate()
        if process.returncode == -signal.SIGKILL:
            kills += 1
            left += 1
        else:  # it ended, if only just before the kill
            assert process.returncode == 0, err
            wall = wall if words else min(wall, time.monotonic() - began)
            finished()
    scene.rerun(folder, *resume())
    finished()


def test_a_full_disk(scene: Scene, tmp_path: Path) -> None:
    with small_disk(tmp_path, "220k") as store:
        code, _, err = scene.run(tmp_path)
        assert code == 2
        assert "disk is full" in err
        remount(store, "size=100m")
        scene.rerun(tmp_path)
        # Each of the three batches may hold as many replies as are in flight, on their way to the disk.
        assert len(scene.server.requests) <= scene.calls + 3 * IN_FLIGHT, "only what could not be written"


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


@pytest.mark.parametrize("rounds", [1, 2])
def test_damaged_tables(scene: Scene, tmp_path: Path, rounds: int) -> None:
    """Every table, or every second one, has a stretch in its middle overwritten."""
    scene.rerun(tmp_path)
    tables = sorted((tmp_path / "store" / "tables").rglob("*.parquet"))[::rounds]
    for path in tables:
        content = bytearray(path.read_bytes())
        middle = len(content) // 2
        content[middle : middle + 8] = bytes(byte ^ 0xFF for byte in content[middle : middle + 8])
        path.write_bytes(content)
    scene.rerun(tmp_path)
    assert len(scene.server.requests) == scene.calls, "the replies were in the cache"
    notes = [row["note"] for row in json.loads((latest(tmp_path) / "manifest.json").read_text())["stages"]]
    assert any("missing or damaged" in note for note in notes)


@pytest.mark.parametrize("damage", ["middle", "head", "gone"])
def test_a_damaged_cache_file(scene: Scene, tmp_path: Path, damage: str) -> None:
    """The reply cache is overwritten in its middle, loses its head, or is gone: the run's tables still hold all."""
    scene.rerun(tmp_path)
    cache = tmp_path / "store" / "replies.sqlite"
    content = bytearray(cache.read_bytes())
    if damage == "gone":
        cache.unlink()
    else:
        at = len(content) // 2 if damage == "middle" else 0
        content[at : at + 4096] = os.urandom(4096)
        cache.write_bytes(content)
    code, out, err = scene.run(tmp_path)
    assert code == 0, err
    assert outcome(tmp_path) == scene.expected
    asked = len(scene.server.requests) - scene.calls
    if damage == "middle":
        assert asked < scene.calls, "what is sound in the file is kept"
    if damage != "gone":
        assert "damaged" in err, out


def test_a_server_that_dies_and_comes_back(scene: Scene, tmp_path: Path) -> None:
    process = scene.start(tmp_path)
    while len(scene.server.requests) < scene.calls // 3:
        assert process.poll() is None
        time.sleep(0.01)
    scene.server.stop()
    time.sleep(3)
    scene.server.start()
    code, _, err = scene.end(process)
    assert code == 0, err
    assert outcome(tmp_path) == scene.expected, "the run waited for its server"
    assert len(scene.server.requests) <= scene.calls + IN_FLIGHT


def test_a_server_that_dies_for_good_and_is_back_for_the_next_run(scene: Scene, tmp_path: Path) -> None:
    short = ("--set", "models.0.deadline_s=10", "--set", "judges.0.deadline_s=10", "--set", "gate=point")
    process = scene.start(tmp_path, *short)
    while len(scene.server.requests) < scene.calls // 3:
        assert process.poll() is None
        time.sleep(0.01)
    scene.server.stop()
    code, out, _ = scene.end(process)
    assert code == 2, out
    assert out.startswith("Error: "), out
    # Which suite's rows are named first hangs on which had answers when the server went.
    assert "nothing scored" in out or "of the applicable rows are scored" in out, out
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
    process = scene.start(tmp_path, **fake)
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
    code, out, err = scene.end(scene.start(tmp_path, **fake))
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
