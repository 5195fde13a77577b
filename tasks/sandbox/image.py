"""The image: CPython and our component as one WebAssembly component, compiled for this machine, stored privately.

It is built once, in child processes (compiling takes 400 MB that the caller should not keep), into a folder named
by a hash of everything it depends on. It is native code: it is loaded only from a folder that nobody else can write
to, and only if it is the published file, verified by a seal whose key is stored elsewhere.
"""

import contextlib
import functools
import hashlib
import hmac
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import version
from io import BufferedReader
from pathlib import Path

from basic_control.data.errors import InputError
from basic_control.tasks.sandbox import processes
from basic_control.tasks.sandbox.private import hold_lock, make_cache, open_own_file, read_secret

_HERE = Path(__file__).parent
_INSIDE = ("values.py", *[f"component/{name}.py" for name in ("handles", "objects", "scripts", "stand_ins")])
"""Modules of this package that are built into the image, by the names that they have here."""
_PACKAGES = ("sortedcontainers",)
"""Packages of pure Python that are built in as well: programs often use them."""
_SOURCES = ("component/app.py", "component/world.wit", *_INSIDE, "build.py")
_LIMIT_S = 600
_CPUINFO = Path("/proc/cpuinfo")


def say(message: str) -> None:
    """Write a progress line to standard error during a build."""
    sys.stderr.write(f"{message}\n")


def _processor() -> str:
    """Return what compiled code depends on: the machine's instruction set, feature by feature if known."""
    with contextlib.suppress(OSError), _CPUINFO.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.lower().startswith(("flags", "features")):
                return " ".join(sorted(line.partition(":")[2].split()))
    return platform.processor()


@functools.cache
def digest_sources() -> str:
    """Return 16 hex digits over sources, versions and processor: the image's name."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        digest.update((_HERE / name).read_bytes() + b"\0")
    versions = [version(name) for name in ("componentize-py", "wasmtime", *_PACKAGES)]
    for part in (*versions, platform.system(), platform.machine(), _processor()):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:16]


def _seal(image: BufferedReader, key: bytes) -> bytes:
    """Return a keyed seal that proves that an image is the one published under this name."""
    digest = hashlib.file_digest(image, "sha256").hexdigest()
    return hmac.new(key, f"{digest_sources()} {digest}".encode(), "sha256").hexdigest().encode()


def _is_intact(image: Path, key: bytes) -> bool:
    """Return whether the published image exists and is intact."""
    try:
        with open_own_file(image) as file, open_own_file(image.with_suffix(".seal")) as seal:
            return hmac.compare_digest(_seal(file, key), seal.read())
    except OSError:
        return False


def _run(what: str, command: list[str], work: Path) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, running our own modules
            command,
            cwd=work,
            env=processes.build_environment(TMPDIR=str(work), VIRTUAL_ENV=str(work / "empty"), PATH=os.defpath),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            umask=0o077,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InputError(
            f"sandbox image: {what} took more than {_LIMIT_S} s. Try again when the machine is less busy."
        ) from None
    if done.returncode != 0:
        output = done.stdout.decode(errors="replace").strip()[-2000:]
        raise InputError(
            f"sandbox image: {what} failed with exit code {done.returncode}: {output or 'no output'}. "
            "Check that componentize-py and wasmtime are installed for this platform (`uv sync`), and that about "
            "500 MB of memory and disk space are free."
        )


def _build(work: Path) -> Path:
    """Build and compile in `work`; return the compiled file."""
    # Stands in for a virtual environment: nothing installed here belongs in the image.
    (work / "empty").mkdir()
    package = work / "app" / "tasks" / "sandbox"
    (package / "component").mkdir(parents=True)
    targets = {"component/app.py": work / "app" / "app.py", "component/world.wit": work / "world.wit"}
    for source, target in {**targets, **{name: package / name for name in _INSIDE}}.items():
        shutil.copy(_HERE / source, target)
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise InputError(f"sandbox image: the package {name} is not installed. Install it (`uv sync`).")
        shutil.copytree(Path(spec.origin).parent, work / "app" / name, ignore=shutil.ignore_patterns("__pycache__"))
    say("Sandbox: building Python for WebAssembly (once, about 10 s) …")
    _run(
        "building the component", processes.build_command("basic_control.tasks.sandbox.build", "componentize"), work
    )
    say("Sandbox: compiling it for this machine (once, about 15 s) …")
    _run("compiling the component", processes.build_command("basic_control.tasks.sandbox.build", "compile"), work)
    return work / "runner.cwasm"


def _publish(built: Path, image: Path, key: bytes) -> None:
    """Move the compiled file into place atomically."""
    note = built.with_suffix(".seal")
    note.touch()
    for file in (built, note):
        file.chmod(0o600)
    with built.open("rb") as content:
        note.write_bytes(_seal(content, key))
        os.fsync(content.fileno())
    note.replace(image.with_suffix(".seal"))
    built.replace(image)


def prepare() -> Path:
    """Return the compiled image's path, building it first if missing (some 25 s, once).

    Several processes may call this at once: one builds, the others wait for it. Standard error gets a line for
    each stage.

    Raises:
        InputError: it cannot be built, or there is no private folder to store it.
    """
    folder = make_cache(digest_sources())
    image, key = folder / "runner.cwasm", read_secret(folder.parent)
    if _is_intact(image, key):
        return image
    # Another process may have built it while this one waited.
    with hold_lock(folder, say) as work:
        if not _is_intact(image, key):
            _publish(_build(work), image, key)
            say("Sandbox: ready.")
    return image
