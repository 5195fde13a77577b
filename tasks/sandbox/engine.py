"""The WebAssembly engine, set up alike where the image is compiled and where it is run."""

import wasmtime

STACK = 2 << 20
"""Bytes of native stack for the component: recursion through C (lru_cache, sorted keys) to depth 900 fits."""


def engine() -> wasmtime.Engine:
    """Return an engine whose running code a ticker can interrupt."""
    config = wasmtime.Config()
    config.epoch_interruption = True
    config.max_wasm_stack = STACK
    return wasmtime.Engine(config)
