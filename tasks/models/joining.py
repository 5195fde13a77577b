"""Questions about one text that are asked at the same time, put in one request."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from basic_control.data.records import Call, Reply
from basic_control.data.typed import TypedQuestion
from basic_control.tasks.models.deciding import MOST_QUESTIONS, Answered, reply_of
from basic_control.tasks.models.protocol import CallError

JOINED_S = 0.003
"""How long a question waits for others about the same text: less than any server takes."""

Send = Callable[[str, Sequence[TypedQuestion]], Awaitable[Answered]]


@dataclass(eq=False)
class _Request:
    """A request that is being gathered: its questions, and the callers who wait for their answers."""

    questions: list[TypedQuestion] = field(default_factory=list)
    callers: list[asyncio.Future[Reply]] = field(default_factory=list)


class Joining:
    """Puts typed questions by way of `send`; each has its own reply, and its own failure.

    The tokens of a request are shared out among its questions.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._gathering: dict[str, _Request] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, call: Call) -> Reply:
        """Ask one question, with others about the same state.

        Raises:
            CallError: the request failed, or this answer of it.
        """
        state = call.messages[0].content
        if call.typed is None:
            raise CallError("invalid", "this judge only answers typed questions, and was sent a prompt")
        request = self._gathering.get(state)
        if request is None or len(request.questions) >= MOST_QUESTIONS:
            request = self._gathering[state] = _Request()
            task = asyncio.create_task(self._bring(state, request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        caller: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        request.questions.append(call.typed)
        request.callers.append(caller)
        return await caller

    async def close(self) -> None:
        """End what is still being asked."""
        for task in list(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _bring(self, state: str, request: _Request) -> None:
        """Send a request when its questions are gathered, and hand out the answers."""
        await asyncio.sleep(JOINED_S)
        if self._gathering.get(state) is request:
            del self._gathering[state]
        # A caller may have been stopped while it waited.
        waiting = [n for n, caller in enumerate(request.callers) if not caller.done()]
        if not waiting:
            return
        try:
            answered = await self._send(state, [request.questions[n] for n in waiting])
        except CallError as error:
            for n in waiting:
                _hand(request.callers[n], CallError(error.kind, error.message, error.retry_after_s))
            return
        except BaseException:
            for n in waiting:
                request.callers[n].cancel()
            raise
        for position, n in enumerate(waiting):
            answer = answered.answers[position]
            if isinstance(answer, str):
                tokens_in = _share(answered.tokens_in, position, len(waiting))
                tokens_out = _share(answered.tokens_out, position, len(waiting))
                answer = reply_of(answer, tokens_in, tokens_out)
            _hand(request.callers[n], answer)


def _share(tokens: int | None, position: int, n: int) -> int | None:
    """Return the tokens of one of n questions: equal shares, what is over to the first."""
    if tokens is None:
        return None
    share, over = divmod(tokens, n)
    return share + (over if position == 0 else 0)


def _hand(caller: asyncio.Future[Reply], end: Reply | CallError) -> None:
    if caller.done():
        return
    if isinstance(end, CallError):
        caller.set_exception(end)
    else:
        caller.set_result(end)
