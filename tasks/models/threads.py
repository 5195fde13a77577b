"""Run work in threads that do not delay the end of the process."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def run_in_thread(act: Callable[[], T], name: str = "client") -> T:
    """Run `act` in a thread that does not delay process exit, as asyncio.to_thread's threads do."""
    future = Future[T]()
    future.set_running_or_notify_cancel()  # the waiter may leave, and the thread continues

    def run() -> None:
        try:
            future.set_result(act())
        except BaseException as raised:  # noqa: BLE001 - handed on to the caller, whatever it is
            future.set_exception(raised)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await asyncio.wrap_future(future)
