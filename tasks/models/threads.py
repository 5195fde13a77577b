"""Work in threads that the end of the process does not wait for."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def in_thread(act: Callable[[], T], name: str = "client") -> T:
    """Act in a thread that does not hold up the end of the process, as those of asyncio.to_thread do."""
    future = Future[T]()
    future.set_running_or_notify_cancel()  # whoever waits may leave, and the thread goes on

    def run() -> None:
        try:
            future.set_result(act())
        except BaseException as raised:  # noqa: BLE001 - handed on to the caller, whatever it is
            future.set_exception(raised)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await asyncio.wrap_future(future)
