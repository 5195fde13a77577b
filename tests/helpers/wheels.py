"""A wheel of this tree, and environments that have the locked packages without a copy of ours."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from basic_control import ROOMS
from tests.conftest import TOP

PACKAGES = Path(sysconfig.get_path("purelib"))


def copied(folder: Path) -> Path:
    """Copy what a clean checkout has; what runs leave behind is there as well, and must not be taken."""
    folder.mkdir()
    for name in (".gitignore", "pyproject.toml", "prefect.yaml", "README.md", "LICENSE"):
        shutil.copy(TOP / name, folder)
    for name in ("basic_control", *ROOMS):
        shutil.copytree(TOP / name, folder / name, symlinks=True)
    for name in ("runs", "store"):
        (folder / "artifacts" / name).mkdir(parents=True)
        (folder / "artifacts" / name / "left.parquet").write_bytes(b"a user's own")
    return folder


def build_wheel(folder: Path) -> Path:
    """Build the wheel from a clean copy of the tree, below a folder, and return it."""
    source = copied(folder / "source")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (wheel,) = (folder / "dist").iterdir()
    return wheel


def lend_packages(site: Path, locked: Path) -> None:
    """Let an environment's `site` folder find this environment's packages, through a folder of links."""
    locked.mkdir()
    for path in PACKAGES.iterdir():
        if path.suffix != ".pth" and "basic_control" not in path.name and path.name not in {"pip", "setuptools"}:
            (locked / path.name).symlink_to(path)
    (site / "locked.pth").write_text(f"{locked}\n", encoding="utf-8")
