"""What a run asks: models by name, entries of a configuration, and functions of this process."""

import inspect
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from basic_control.function_server import ServedFunction
from basic_control.plain_values import as_plain

Target = str | Mapping[str, Any] | Callable[..., Any]
"""A model, "provider/name"; an entry of `models`; or a function of the prompt."""
Wanted = Target | Sequence[Target]


class Targets:
    """The targets of a run: their entries in its configuration, and the functions among them by name."""

    def __init__(self, *, version: str = "", concurrency: int = 1) -> None:
        self._version = str(version)
        self.concurrency = concurrency
        self.functions: dict[str, ServedFunction] = {}

    def entries(self, targets: Wanted) -> list[Any]:
        """Return the entries of targets: names as they are, functions as entries of their own.

        Raises:
            InputError: one of them is none, or a function that requires other arguments.
        """
        if isinstance(targets, str | Mapping) or not isinstance(targets, Iterable):
            targets = (targets,)
        return [self._entry(target) for target in targets]

    def _entry(self, target: Any) -> Any:
        if isinstance(target, str):
            return target
        if isinstance(target, Mapping):
            return as_plain(target, "target")
        if callable(target):
            return self._function_entry(target)
        from basic_control.data.errors import InputError

        raise InputError(
            f"target: found a {type(target).__name__}, expected a function, a text such as openai/gpt-6-luna, "
            "or an entry of `models`."
        )

    def _function_entry(self, function: Callable[..., Any]) -> dict[str, Any]:
        from basic_control.data.errors import InputError
        from basic_control.tasks.models.python_child import NotCallable, inspect_arguments, write_answer

        name = choose_name(function, self.functions)
        try:
            takes, by_position = inspect_arguments(function)
        except NotCallable as error:
            raise InputError(f"target {name}: {error}") from None

        def call(offered: Mapping[str, Any]) -> Any:
            prompts = [offered["prompt"]] if by_position else []
            return function(*prompts, **{argument: offered[argument] for argument in takes})

        self.functions[name] = ServedFunction(function, call, write_answer)
        return {
            "name": name,
            "provider": "callable",
            "version": self._version,
            "sees_item": "item" in takes,
            "max_concurrency": self.concurrency,
        }


def choose_name(function: Callable[..., Any], names: Container[str]) -> str:
    """Return a function's name, numbered if another one has it."""
    while isinstance(function, partial):
        function = function.func
    inner = inspect.unwrap(function)
    name = str(getattr(inner, "__name__", type(inner).__name__)).strip("<>")
    number, free_name = 1, name
    while free_name in names:
        number += 1
        free_name = f"{name}_{number}"
    return free_name
