"""One worker: holds the compiled image, and runs each program in a fresh instance of it.

Started by `tasks.sandbox.pool` as `python -m tasks.sandbox.worker IMAGE MEMORY_MB`, with frames on standard input
and output. It first confines itself, then runs one small program to see that the image works, then says hello. A
job is `{load, calls, cpu_s}`, the component's requests ready made; to it answer `["load", 0, reply]` when the
program did not load, else `["call", k, reply]` for each call that came back, its text unread, and one
`["end", kind, error, message]`.
"""

import contextlib
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any, NoReturn

import wasmtime
from wasmtime.component import Component, ExportIndex, Linker

from tasks.sandbox import confinement, values
from tasks.sandbox.engine import engine

REPLY = 1 << 20
"""Characters of all replies to one program."""

TICK_S = 0.01
GRACE_S = 3
"""Past its CPU budget by this, the kernel ends a worker whose component could not be interrupted."""

_MEMORY_MORE = 1 << 30
"""Bytes that a worker may hold beside its component: Python, the engine, replies under way."""


class _SpentError(Exception):
    """The program's CPU time is used up."""


def _cpu_clock() -> Callable[[], float]:
    """Return the calling thread's CPU clock, readable from any thread; the process's where there is none."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.process_time
    return partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))


class _Watch:
    """Interrupt the component when its CPU time is used up, and end the process when its parent is gone.

    CPU time is that of the thread that makes the watch: a busy machine makes a program slower, not wrong. Epochs
    interrupt WebAssembly only; a component that sleeps in a host call is the pool's to end.
    """

    def __init__(self, held: wasmtime.Engine) -> None:
        self.engine = held
        self.parent = os.getppid()
        self.clock = _cpu_clock()
        self.cpu_end = float("inf")
        self.fired = False
        self.lock = threading.Lock()  # so that no program is interrupted for the one before it
        self.busy = threading.Event()
        threading.Thread(target=self._tick, daemon=True).start()

    def start(self, cpu_s: float) -> None:
        with self.lock:
            self.fired = False
            self.cpu_end = self.clock() + cpu_s
        self.busy.set()

    def check(self) -> None:
        """Hold what comes late to its budget: on a busy machine the ticks are far apart.

        Raises:
            _SpentError: the CPU time is used up.
        """
        if self.clock() > self.cpu_end:
            raise _SpentError

    def stop(self) -> None:
        self.busy.clear()
        with self.lock:
            self.cpu_end = float("inf")

    def _tick(self) -> NoReturn:
        while True:
            self.busy.wait()
            time.sleep(TICK_S)
            with self.lock:
                if self.clock() > self.cpu_end:
                    self.fired = True
                    self.engine.increment_epoch()
            if os.getppid() != self.parent:
                os._exit(3)


class _Guest:
    """Fresh instances of the image."""

    def __init__(self, image: str, memory: int) -> None:
        self.engine = engine()
        self.component = Component.deserialize_file(self.engine, image)
        self.linker = Linker(self.engine)
        self.linker.add_wasip2()
        self.memory = memory
        self.load, self.call = self._export("load"), self._export("call")

    def _export(self, name: str) -> ExportIndex:
        found = self.component.get_export_index(name)
        if found is None:
            raise RuntimeError(f"the image does not export {name!r}: build it again")
        return found

    def store(self) -> wasmtime.Store:
        """Return a store without files, network, arguments, environment or input."""
        store = wasmtime.Store(self.engine)
        store.set_wasi(wasmtime.WasiConfig())
        store.set_limits(memory_size=self.memory, table_elements=1_000_000, instances=64, tables=64, memories=4)
        store.set_epoch_deadline(1)
        return store


class _Run:
    """One program in one instance: `send` gets its replies, in order; `run` says how it ended."""

    def __init__(
        self, component: _Guest, watch: _Watch, job: dict[str, Any], send: Callable[[Any], object]
    ) -> None:
        self.component, self.watch, self.job, self.send = component, watch, job, send
        self.left = REPLY

    def _ask(self, store: wasmtime.Store, function: Any, request: str) -> str:
        reply = function(store, request)
        function.post_return(store)
        self.watch.check()
        self.left -= len(reply)
        if self.left < 0:
            raise OverflowError
        return str(reply)

    def run(self) -> tuple[str, str, str]:
        """Load the program and make its calls; return how that ended: a kind, an error and a message."""
        with contextlib.closing(self.component.store()) as store:
            self.watch.start(self.job["cpu_s"])
            try:
                self._converse(store)
            except _SpentError:
                return "timeout", "", ""
            except OverflowError:
                return "bad value", "", f"the replies are longer than {REPLY} characters"
            except wasmtime.ExitTrap as exit_:
                return "exception", "SystemExit", f"the program ended the interpreter with {exit_.code}"
            except (wasmtime.WasmtimeError, wasmtime.Trap) as trap:
                return self._trapped(str(trap))
            except MemoryError:
                return "memory", "", ""
            finally:
                self.watch.stop()
        return "done", "", ""

    def _converse(self, store: wasmtime.Store) -> None:
        instance = self.component.linker.instantiate(store, self.component.component)
        load, call = instance.get_func(store, self.component.load), instance.get_func(store, self.component.call)
        loaded = self._ask(store, load, self.job["load"])
        if loaded != '["loaded"]':
            self.send(["load", 0, loaded])
            return
        for k, arguments in enumerate(self.job["calls"]):
            self.send(["call", k, self._ask(store, call, arguments)])

    def _trapped(self, told: str) -> tuple[str, str, str]:
        if self.watch.fired:
            return "timeout", "", ""
        if "call stack exhausted" in told:
            return "exception", "RecursionError", "the native stack is used up"
        return "exception", "SystemError", "the interpreter aborted"


def _receive() -> Any:
    """Return the next job; end when the pool has closed the pipe."""
    line = sys.stdin.buffer.readline()
    if not line:
        os._exit(0)
    return json.loads(line)


def _send(content: Any) -> None:
    frame = memoryview(values.write(content).encode() + b"\n")
    try:
        while frame:
            frame = frame[os.write(1, frame) :]
    except OSError:  # nobody is there to hear it
        os._exit(0)


def _confine(memory: int) -> dict[str, str]:
    """Give up what a worker does not need, before it has a second thread (Landlock holds for the calling one)."""
    held = {
        "rlimits": confinement.limit(
            core=0, fsize=0, nofile=64, data=memory + _MEMORY_MORE, **{"as": (64 << 30) + memory}
        ),
        "no_new_privs": confinement.no_new_privs(),
        "landlock": confinement.landlock(),
        "seccomp": confinement.seccomp(),
    }
    return {name: how or "off" for name, how in held.items()}


_SOURCE = """
import sys, time
time.sleep(0.0001)
print(end='', flush=True)
def f(): return sys.version.split()[0]
"""
_TRIAL: dict[str, Any] = {
    "load": values.write([_SOURCE, "f"]),
    "calls": [values.write(["l"])],
    "cpu_s": 10.0,
}
"""Touches whatever the engine prepares at first use, such as its timer threads."""


def _trial(component: _Guest, watch: _Watch) -> str:
    """Run the trial program; return the component's Python version."""
    replies: list[Any] = []
    ended = _Run(component, watch, _TRIAL, replies.append).run()
    if ended[0] != "done" or not str(replies[-1][2]).startswith('["value"'):
        raise RuntimeError(f"the trial program ended with {ended} {replies}: build the image again")
    return str(values.read(replies[-1][2])[1])


def _serve(component: _Guest, layers: dict[str, str]) -> None:
    try:
        watch = _Watch(component.engine)
        python = _trial(component, watch)
    except Exception as error:  # noqa: BLE001 - whatever it is, the pool reports it
        _send(["failed", f"{type(error).__name__}: {str(error)[:2000]}"])
        return
    confinement.limit(nproc=0)  # the last thread has been started
    layers["wasm"] = f"CPython {python} in {layers['wasm']}"
    _send(["hello", threading.get_native_id(), list(layers.items())])
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    while True:
        job = _receive()
        # the kernel's own end to a loop that is not the component's
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + job["cpu_s"]) + GRACE_S, hard))
        _send(["end", *_Run(component, watch, job, _send).run()])


def main() -> None:
    """Load, confine, and serve on a thread with room for the component's stack.

    The thread begins after the confinement, and so inherits it.
    """
    memory = int(sys.argv[2]) << 20
    try:
        component = _Guest(sys.argv[1], memory)
        layers = {"wasm": f"wasmtime {version('wasmtime')}", **_confine(memory)}
    except Exception as error:  # noqa: BLE001 - whatever it is, the pool reports it
        _send(["failed", f"{type(error).__name__}: {str(error)[:2000]}"])
        return
    threading.stack_size(16 << 20)
    serving = threading.Thread(target=_serve, args=(component, layers))
    serving.start()
    serving.join()


if __name__ == "__main__":
    main()
