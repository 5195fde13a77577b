"""The image is native code: it is kept where nobody else can write, published whole, and built by one at a time."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from basic_control.data.errors import InputError
from basic_control.tasks.sandbox import image, prepare, private

ROOT = Path(__file__).parents[3]


def test_it_stands_in_a_folder_of_ours_alone() -> None:
    built = prepare()
    assert built.parent.name == image.digest_sources()
    for folder in built.parents[:3]:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert folder.stat().st_uid == os.geteuid()


def test_it_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second asking builds nothing and says nothing, wherever the process stands."""
    prepare()
    monkeypatch.chdir("/")
    monkeypatch.setattr(image, "say", pytest.fail)
    assert prepare().exists()


def test_a_place_that_others_can_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "open"))
    with pytest.raises(InputError, match="is writable by others"):
        prepare()


def test_a_link_in_its_place_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "basic-control").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(InputError, match="is not a folder that you own"):
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
    assert private.make_private(folder).stat().st_mode & 0o777 == 0o700


KEY = b"k" * 32


def published(tmp_path: Path, content: bytes, key: bytes = KEY) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "runner.cwasm").write_bytes(content)
    image._publish(work / "runner.cwasm", tmp_path / "runner.cwasm", key)
    assert not list(work.iterdir())
    work.rmdir()
    return tmp_path / "runner.cwasm"


def test_an_image_is_whole_or_not_there(tmp_path: Path) -> None:
    """Cut short, altered, linked, opened to others or without its seal, it is not taken."""
    assert not image._is_intact(tmp_path / "runner.cwasm", KEY)
    target = published(tmp_path, b"native code")
    assert image._is_intact(target, KEY)
    for spoiled in (b"native", b"native c0de"):
        target.write_bytes(spoiled)
        assert not image._is_intact(target, KEY)
    target.write_bytes(b"native code")
    assert image._is_intact(target, KEY)
    for file in (target, target.with_suffix(".seal")):
        file.chmod(0o666)
        assert not image._is_intact(target, KEY)
        file.chmod(0o600)
    target.with_suffix(".seal").write_text("ё" * 100_000)
    assert not image._is_intact(target, KEY)
    target = published(tmp_path, b"native code")
    target.rename(tmp_path / "moved")
    target.symlink_to(tmp_path / "moved")
    assert not image._is_intact(target, KEY)


def test_an_image_and_its_seal_changed_together_are_not_taken(tmp_path: Path) -> None:
    """Who can write there, but has not the key, cannot seal another image."""
    target = published(tmp_path, b"another's code", b"a" * 32)
    assert image._is_intact(target, b"a" * 32)
    assert not image._is_intact(target, KEY)


def test_the_key_lies_apart_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours alone, made once; one that others could have written is replaced; without a home it lies beside."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    key = tmp_path / "state" / "basic-control" / "sandbox.key"
    first = private.read_secret(tmp_path)
    assert (len(first), first) == (32, private.read_secret(tmp_path))
    assert (key.stat().st_mode & 0o777, [path.name for path in key.parent.iterdir()]) == (0o600, ["sandbox.key"])
    key.chmod(0o666)
    assert private.read_secret(tmp_path) != first
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/none")
    assert private.read_secret(tmp_path) == (tmp_path / "key").read_bytes()


def test_a_umask_of_zero_opens_nothing(tmp_path: Path) -> None:
    """Neither the folders on the way, nor what is put there: it stays sound, and is not built again and again."""
    before = os.umask(0)
    try:
        folder = private.make_private(tmp_path / "cache" / "made" / "here")
        target = published(folder, b"native code")
        key = private.read_secret(folder)
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in (folder, folder.parent, folder.parent.parent)]
    assert modes == [0o700] * 3
    assert [path.stat().st_mode & 0o777 for path in (target, target.with_suffix(".seal"))] == [0o600] * 2
    assert image._is_intact(target, KEY)
    assert len(key) == 32


def test_a_link_in_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    """Where it leads to is ours alone, and yet others could let it lead elsewhere."""
    (tmp_path / "ours").mkdir(0o700)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "open" / "link").symlink_to(tmp_path / "ours")
    (tmp_path / "far").symlink_to("open/../open/link")
    for path in ("open/link/cache", "far/cache"):
        with pytest.raises(InputError, match=r"open, above .* is writable by others"):
            private.make_private(tmp_path / path)
    (tmp_path / "near").symlink_to("ours")
    assert private.make_private(tmp_path / "near" / "cache").is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_anothers_link_is_refused(tmp_path: Path) -> None:
    """In a folder like /tmp, whose entries are their owners': the owner may let it lead elsewhere."""
    (tmp_path / "ours").mkdir(0o700)
    (tmp_path / "sticky").mkdir()
    (tmp_path / "sticky").chmod(0o1777)
    link = tmp_path / "sticky" / "link"
    link.symlink_to(tmp_path / "ours")
    assert private.make_private(link / "cache").is_dir()
    os.lchown(link, 12345, 12345)
    with pytest.raises(InputError, match="another user's link"):
        private.make_private(link / "cache")


def test_the_lock_of_a_killed_builder_holds_nobody_up(tmp_path: Path) -> None:
    code = (
        "import time, pathlib, sys\nfrom tasks.sandbox import private\n"
        "with private.hold_lock(pathlib.Path(sys.argv[1]), print):\n"
        "    print('held', flush=True)\n    time.sleep(1000)"
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

    with private.hold_lock(tmp_path, kill):
        assert waiting == ["Sandbox: waiting for another process to build it …"]
    holder.communicate()


def test_a_build_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"failed with exit code 3: no such thing\. Check that componentize-py"):
        image._run("building", [sys.executable, "-c", "import sys; print('no such thing'); sys.exit(3)"], tmp_path)


def test_the_set_up_command_prepares_and_says_the_layers() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "basic_control", "sandbox"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=300,
    )
    assert done.stdout.startswith("Sandbox: wasm CPython 3.14")
    assert done.stdout.count("\n") == 1
