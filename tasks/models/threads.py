"""Work in threads that the end of the process does not wait for."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def in_thread(act: Callable[[], T], name: str = "client") -> T:
    """Act in a thread that does not hold up the end of the process, as those of asyncio.to_thread do."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if not future.done():
            future.set_exception(error) if error else future.set_result(result)  # pyrefly: ignore[bad-argument-type] # one of the two is there

    def run() -> None:
        result, error = None, None
        try:
            result = act()
        except BaseException as raised:  # noqa: BLE001 - handed on to the caller, whatever it is
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await future
