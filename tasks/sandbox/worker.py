"""A worker: loads the compiled image, and runs each program in a fresh instance of it.

Started by `tasks.sandbox.pool` as `python -m tasks.sandbox.worker IMAGE MEMORY_MB`, with frames on standard input
and output. It confines itself, runs one small program to test the image, then says hello. A job is `{load, calls,
cpu_s, call_s, checker, apart}`: the component's prepared requests, and which of the calls are made apart from the
program, in the instance that loads `checker`. The answer is `["load", 0, reply]` with what the program's loading
came to, `["call", k, reply]` for each completed call, and one `["end", kind, error, message, ms]`, with the
milliseconds of CPU time that all of it took. The replies' texts are not parsed here.
"""

import contextlib
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import version
from typing import Any, NoReturn

import wasmtime
from wasmtime.component import Component, Linker

from basic_control.tasks.sandbox import confinement, values
from basic_control.tasks.sandbox.build import engine

REPLY = 1 << 20
"""Maximum characters of all replies to one program."""

TICK_S = 0.01
GRACE_S = 3
"""Seconds past its CPU budget after which the kernel ends a worker whose component cannot be interrupted."""

_MEMORY_MORE = 1 << 30
"""Bytes that a worker may use besides its component: Python, the engine, replies in transit."""


class _Watch:
    """Interrupts the component when its CPU time is used up, and ends the process when its parent is gone.

    CPU time is that of the thread that creates the watch: a busy machine makes a program slower, not wrong. Epochs
    interrupt WebAssembly only; the pool ends a component that sleeps in a host call.
    """

    def __init__(self, watched: wasmtime.Engine) -> None:
        self.engine = watched
        self.parent = os.getppid()
        # readable from any thread; the whole process's if threads have none
        self.clock: Callable[[], float] = time.process_time
        if hasattr(time, "pthread_getcpuclockid"):
            self.clock = partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))
        self.cpu_end = self.last_end = float("inf")
        self.fired = False
        self.lock = threading.Lock()  # so that nothing is interrupted for what was before it
        self.busy = threading.Event()
        threading.Thread(target=self._keep_watch, daemon=True).start()

    @contextlib.contextmanager
    def within(self, cpu_s: float) -> Iterator[None]:
        """Limit the block to a CPU budget."""
        with self.lock:
            self.fired = False
            self.cpu_end = self.last_end = self.clock() + cpu_s
        self.busy.set()
        try:
            yield
        finally:
            self.busy.clear()
            with self.lock:
                self.cpu_end = self.last_end = float("inf")

    def give(self, cpu_s: float, stores: Iterable[wasmtime.Store]) -> None:
        """Limit what comes next in the block to a part of its budget."""
        with self.lock:
            self.fired = False
            self.cpu_end = min(self.clock() + cpu_s, self.last_end)
            for store in stores:
                store.set_epoch_deadline(1)  # a tick that came between two calls is for neither

    def check(self) -> None:
        """Check the budget after a call: on a busy machine the ticks are far apart.

        Raises:
            TimeoutError: the CPU time is used up.
        """
        if self.clock() > self.cpu_end:
            raise TimeoutError

    def _keep_watch(self) -> NoReturn:
        while True:
            self.busy.wait()
            time.sleep(TICK_S)
            with self.lock:
                if self.clock() > self.cpu_end:
                    self.fired = True
                    self.engine.increment_epoch()
            if os.getppid() != self.parent:
                os._exit(3)


class _Instance:
    """A fresh instance of the image, in a store without files, network, arguments, environment or input."""

    def __init__(self, component: Component, linker: Linker, memory: int) -> None:
        self.store = wasmtime.Store(linker.engine)
        self.store.set_wasi(wasmtime.WasiConfig())
        self.store.set_limits(memory_size=memory, table_elements=1_000_000, instances=64, tables=64, memories=4)
        self.store.set_epoch_deadline(1)
        instance = linker.instantiate(self.store, component)
        self._functions = {name: instance.get_func(self.store, name) for name in ("load", "call")}

    def ask(self, name: str, request: str) -> str:
        """Return the reply of a function of the component.

        Raises:
            OverflowError: it is too long.
        """
        function: Any = self._functions[name]
        reply = str(function(self.store, request))
        function.post_return(self.store)
        if len(reply) > REPLY:
            raise OverflowError
        return reply


class _Session:
    """A program in its instance, and its tests that run apart in another, for as long as both live."""

    def __init__(self, guest: "_Guest", watch: _Watch, job: dict[str, Any]) -> None:
        self.guest, self.watch, self.job = guest, watch, job
        self.left = REPLY
        self.instances: list[_Instance] = []

    def close(self) -> None:
        """Give the instances' memory back."""
        for instance in self.instances:
            instance.store.close()

    def converse(self, send: Callable[[Any], object]) -> None:
        """Load the program and make its calls."""
        loaded = self._ask(self._begin(self.guest.linker), "load", self.job["load"])
        send(["load", 0, loaded])
        if loaded == values.LOADED:
            for k, arguments in enumerate(self.job["calls"]):
                send(["call", k, self._call(k, arguments)])

    def _begin(self, linker: Linker) -> _Instance:
        self._give_time()
        self.instances.append(_Instance(self.guest.component, linker, self.guest.memory))
        return self.instances[-1]

    def _call(self, k: int, arguments: str) -> str:
        if k not in self.job["apart"]:
            return self._ask(self.instances[0], "call", arguments)
        # Most programs need no second instance: it is made for the first test that runs apart.
        if len(self.instances) == 1:
            self.guest.program = self.instances[0]
            self._ask(self._begin(self.guest.checking_linker), "load", self.job["checker"])
        return self._ask(self.instances[1], "call", arguments)

    def _give_time(self) -> None:
        self.watch.give(self.job["call_s"], [instance.store for instance in self.instances])

    def _ask(self, instance: _Instance, name: str, request: str) -> str:
        self._give_time()
        reply = instance.ask(name, request)
        self.watch.check()
        self.left -= len(reply)
        if self.left < 0:
            raise OverflowError
        return reply


class _Guest:
    """The image, and what instances of it import: a program's may ask nobody, its tests' may ask the program's."""

    def __init__(self, image: str, memory: int) -> None:
        self.engine = engine()
        self.component = Component.deserialize_file(self.engine, image)
        self.memory = memory
        # An empty text is no reply: a program that asks gets an error.
        self.linker = self._link(lambda _store, _request: "")
        self.checking_linker = self._link(lambda _store, request: self.program.ask("call", request))
        self.program: _Instance
        """The instance of the program that is being tested."""

    def _link(self, ask: Callable[[Any, str], str]) -> Linker:
        linker = Linker(self.engine)
        linker.add_wasip2()
        with linker.root() as root:
            root.add_func("ask", ask)
        return linker

    def run(self, watch: _Watch, job: dict[str, Any], send: Callable[[Any], object]) -> tuple[str, str, str, int]:
        """Load a program and make its calls; return how that ended: a kind, an error, a message, and its CPU time.

        `send` is called with its replies, in order.
        """
        began = watch.clock()
        with contextlib.closing(_Session(self, watch, job)) as session, watch.within(job["cpu_s"]):
            ended = ("done", "", "")
            try:
                session.converse(send)
            except TimeoutError:
                ended = ("timeout", "", "")
            except OverflowError:
                ended = ("bad value", "", f"the replies are longer than {REPLY} characters")
            except wasmtime.ExitTrap as exit_:
                ended = ("exception", "SystemExit", f"the program ended the interpreter with {exit_.code}")
            except (wasmtime.WasmtimeError, wasmtime.Trap) as trap:
                if watch.fired:
                    ended = ("timeout", "", "")
                elif "call stack exhausted" in str(trap):
                    ended = ("exception", "RecursionError", "the native stack is used up")
                else:
                    ended = ("exception", "SystemError", "the interpreter aborted")
            except MemoryError:
                ended = ("memory", "", "")
        kind, error, message = ended
        return kind, error, message, int((watch.clock() - began) * 1000)


def _send(content: Any) -> None:
    frame = memoryview(values.write(content).encode() + b"\n")
    try:
        while frame:
            frame = frame[os.write(1, frame) :]
    except OSError:  # nobody is there to hear it
        os._exit(0)


def _fail(error: Exception) -> None:
    _send(["failed", f"{type(error).__name__}: {str(error)[:2000]}"])


def _confine(memory: int) -> dict[str, str]:
    """Apply the confinement, before there is a second thread (Landlock applies to the calling one)."""
    layers = {
        "rlimits": confinement.limit(
            core=0, fsize=0, nofile=64, data=2 * memory + _MEMORY_MORE, **{"as": (64 << 30) + 2 * memory}
        ),
        "no_new_privs": confinement.drop_new_privs(),
        "landlock": confinement.restrict_files(),
        "seccomp": confinement.restrict_calls(),
    }
    return {name: how or "off" for name, how in layers.items()}


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
    "call_s": 10.0,
    "checker": "",
    "apart": [],
}
"""Exercises what the engine prepares at first use, such as its timer threads."""


def _serve(guest: _Guest, layers: dict[str, str]) -> None:
    frames: list[Any] = []
    try:
        watch = _Watch(guest.engine)
        ended = guest.run(watch, _TRIAL, frames.append)
        if ended[0] != "done" or not str(frames[-1][2]).startswith('["value"'):
            message = f"the trial program ended with {ended} {frames}: rebuild the image"
            raise RuntimeError(message)  # noqa: TRY301 - the pool reports it as whatever else fails here
        layers["wasm"] = f"CPython {values.read(frames[-1][2])[1]} in {layers['wasm']}"
    except Exception as error:  # noqa: BLE001 - whatever it is, the pool reports it
        _fail(error)
        return
    confinement.limit(nproc=0)  # the last thread has been started
    _send(["hello", threading.get_native_id(), list(layers.items())])
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    for line in sys.stdin.buffer:
        job = json.loads(line)
        # The kernel's limit on a loop outside the component
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + job["cpu_s"]) + GRACE_S, hard))
        _send(["end", *guest.run(watch, job, _send)])
    os._exit(0)  # the pool has closed the pipe


def main() -> None:
    """Load, confine, and serve on a thread with room for the component's stack.

    The thread starts after the confinement, and so inherits it.
    """
    memory = int(sys.argv[2]) << 20
    try:
        guest = _Guest(sys.argv[1], memory)
        layers = {"wasm": f"wasmtime {version('wasmtime')}", **_confine(memory)}
    except Exception as error:  # noqa: BLE001 - whatever it is, the pool reports it
        _fail(error)
        return
    threading.stack_size(16 << 20)
    serving = threading.Thread(target=_serve, args=(guest, layers))
    serving.start()
    serving.join()


if __name__ == "__main__":
    main()
