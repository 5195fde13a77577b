"""A function of the user's own in place of a model."""

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from config.settings import Model
from data.errors import InputError
from data.records import Call, Reply
from tasks.models.answers import FIELDS, read_answer
from tasks.models.protocol import CallError
from tasks.models.python_process import Application, Message, ProcessEnded, application, interpreter_of, said_of
from tasks.models.threads import in_thread


def load(model: Model) -> tuple[Application, Message]:
    """Load a model's function; return its application, and what it takes, with the digest of its file.

    Raises:
        InputError: there is no such interpreter, file, module or function, it cannot be loaded, or asks for other
            arguments.
    """
    where = _where(model)
    module, _, name = str(model.options["function"]).rpartition(":")
    place = Path.cwd()
    if module.endswith(".py"):
        path = Path(module).expanduser().resolve()
        if not path.is_file():
            raise InputError(f"{where}: there is no file {path}; expected a Python file and a function in it.")
        module, place = str(path), path.parent
    home = application(interpreter_of(str(model.options["python"]), where), module, str(place))
    return home, home.function(name, where)


def _where(model: Model) -> str:
    """Return how messages name a model's function."""
    return f"model {model.name!r}: {model.options['function']}"


class PythonClient:
    """A function that is called with the prompt, in its own process: in a thread, or on a loop where it is async.

    A thread cannot be stopped: one that passes its deadline goes on until the function returns, unheard.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._reference = str(model.options["function"])
        self._loaded: tuple[Application, Message] | None = None
        self._alone = asyncio.Lock()

    async def identity(self) -> Mapping[str, str]:
        """Return the function's reference and the SHA-256 of its source file.

        Raises:
            InputError: it cannot be loaded.
        """
        _, found = await self._load()
        identity = {"provider": "python", "model": self._model.served, "function": self._reference}
        named = {name: str(self._model.options[name]) for name in ("version", "python")}
        return {**identity, "digest": found["digest"], **{name: said for name, said in named.items() if said}}

    async def ask(self, call: Call) -> Reply:
        """Call the function once.

        Raises:
            CallError: it raised, returned something else than a text or a mapping, or ended its process.
        """
        home, _ = await self._load()
        if self._alone.locked():
            async with self._alone:
                pass
        try:
            said = await self._answer(home, call)
        except ProcessEnded:
            # Whoever else was being answered may have ended it: once more, with nobody beside.
            async with self._alone:
                try:
                    said = await self._answer(home, call)
                except ProcessEnded as error:
                    raise CallError("invalid", f"{self._reference} ended its process {error}") from None
        return self._read(said)

    async def close(self) -> None:
        """End the function's process."""
        if self._loaded:
            await in_thread(self._loaded[0].close, "python")

    async def _load(self) -> tuple[Application, Message]:
        if self._loaded is None:
            self._loaded = await in_thread(partial(load, self._model), "python")
        return self._loaded

    async def _answer(self, home: Application, call: Call) -> Message:
        """Have the function called, in its process as it is, or in a new one."""
        process = home.running
        if process is None:
            try:
                process = await in_thread(partial(home.process, _where(self._model)), "python")
            except InputError as error:
                raise CallError("invalid", str(error)) from None
        number, answer = process.ask(function=self._reference.rpartition(":")[2], offered=_offered(call))
        try:
            return await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            process.stop(number)
            raise

    def _read(self, said: Message) -> Reply:
        if "raised" in said:
            raise CallError("invalid", f"{self._reference} raised {said_of(said)}")
        if "returned" in said:
            raise CallError(
                "invalid",
                f"{self._reference} returned a {said['returned']}, expected a text or a mapping with text",
            )
        answer = said["answer"]
        if unknown := [key[:40] for key in answer if key not in FIELDS]:
            raise CallError(
                "invalid", f"{self._reference} returned the key {unknown[0]!r}; expected only {', '.join(FIELDS)}"
            )
        return read_answer(answer, {name: f"{self._reference} returned {name}" for name in FIELDS})


def _offered(call: Call) -> dict[str, Any]:
    """Return what a function may take of a call."""
    return {
        "prompt": next((m.content for m in reversed(call.messages) if m.role == "user"), ""),
        "system": "\n\n".join(m.content for m in call.messages if m.role == "system"),
        "messages": [{"role": m.role, "content": m.content} for m in call.messages],
        "parameters": dict(call.parameters),
        "item": dict(call.item),
    }
