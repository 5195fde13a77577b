"""The image is native code: it is kept where nobody else can write, published whole, and built by one at a time."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from data.errors import InputError
from tasks.sandbox import image, prepare

ROOT = Path(__file__).parents[3]


def test_it_stands_in_a_folder_of_ours_alone() -> None:
    built = prepare()
    assert built.parent.name == image.identity()
    for folder in built.parents[:3]:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert folder.stat().st_uid == os.geteuid()


def test_it_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second asking builds nothing and says nothing, wherever the process stands."""
    prepare()
    monkeypatch.chdir("/")
    assert prepare(pytest.fail).exists()


def test_a_place_that_others_can_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "open"))
    with pytest.raises(InputError, match="can be written by others"):
        prepare()


def test_a_link_in_its_place_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "basic-control").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InputError, match="is not a folder of yours"):
        prepare()


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(InputError, match="Set XDG_CACHE_HOME"):
        prepare()


def test_a_folder_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o755)
    assert image._private(folder).stat().st_mode & 0o777 == 0o700


def test_an_image_is_whole_or_not_there(tmp_path: Path) -> None:
    """Cut short, altered, linked, opened to others or without its note, it is not taken."""
    work = tmp_path / "work"
    work.mkdir()
    target = tmp_path / "runner.cwasm"
    assert not image._sound(target)
    (work / "runner.cwasm").write_bytes(b"native code")
    image._publish(work / "runner.cwasm", target)
    assert image._sound(target)
    assert not list(work.iterdir())
    for spoiled in (b"native", b"native c0de"):
        target.write_bytes(spoiled)
        assert not image._sound(target)
    target.write_bytes(b"native code")
    assert image._sound(target)
    target.chmod(0o666)
    assert not image._sound(target)
    target.rename(tmp_path / "moved")
    (tmp_path / "moved").chmod(0o600)
    target.symlink_to(tmp_path / "moved")
    assert not image._sound(target)


def test_the_lock_of_a_killed_builder_holds_nobody_up(tmp_path: Path) -> None:
    code = (
        "import time, pathlib, sys\nfrom tasks.sandbox import image\n"
        "with image._locked(pathlib.Path(sys.argv[1]), print):\n    print('held', flush=True)\n    time.sleep(1000)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    waiting: list[str] = []

    def kill(message: str) -> None:
        waiting.append(message)
        holder.send_signal(signal.SIGKILL)

    with image._locked(tmp_path, kill):
        assert waiting == ["Sandbox: another process is building it; waiting …"]
    holder.communicate()


def test_a_build_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"failed with exit code 3: no such thing\. Check that componentize-py"):
        image._run("building", [sys.executable, "-c", "import sys; print('no such thing'); sys.exit(3)"], tmp_path)


def test_the_set_up_command_prepares_and_says_the_layers() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tasks.sandbox"], capture_output=True, text=True, check=True, cwd=ROOT, timeout=300
    )
    assert done.stdout.startswith("Sandbox: wasm CPython 3.14")
    assert done.stdout.count("\n") == 1
