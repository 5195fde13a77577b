"""Build the image's parts, in the current folder: `python -m tasks.sandbox.build componentize|compile`.

Each runs in a process of its own, started by `tasks.sandbox.image`.
"""

import sys
from pathlib import Path

from wasmtime.component import Component

from tasks.sandbox.engine import engine


def componentize() -> None:
    """Snapshot CPython with `app/app.py` imported as `runner.wasm`."""
    import componentize_py

    sys.argv = [
        "componentize-py", "-q", "-d", "world.wit", "-w", "runner",
        "componentize", "app", "-p", "app", "-o", "runner.wasm",
    ]  # fmt: skip
    componentize_py.script()


def translate() -> None:
    """Compile `runner.wasm` to this machine's code, `runner.cwasm`."""
    Path("runner.cwasm").write_bytes(Component.from_file(engine(), "runner.wasm").serialize())


if __name__ == "__main__":
    {"componentize": componentize, "compile": translate}[sys.argv[1]]()
