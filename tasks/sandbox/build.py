"""Build the image's parts, in the current folder: `python -m tasks.sandbox.build componentize|compile`.

Each runs in a process of its own, started by `tasks.sandbox.image`.
"""

import sys
from pathlib import Path

import wasmtime
from wasmtime.component import Component

STACK = 2 << 20
"""Bytes of native stack for the component: recursion through C (lru_cache, sorted keys) to depth 900 fits."""


def engine() -> wasmtime.Engine:
    """Return an engine whose running code a ticker can interrupt; alike for compiling the image and running it."""
    config = wasmtime.Config()
    config.epoch_interruption = True
    config.max_wasm_stack = STACK
    return wasmtime.Engine(config)


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
