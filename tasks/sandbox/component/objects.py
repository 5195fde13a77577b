"""The program's side of tests that run apart from it: carry out what they ask, and number the objects they hold.

A request names an operation and has its arguments as a pickle: the tests are trusted, the program is not. The reply
is `["value", packed, changed, …]`, with the arguments that a call has changed in place, by their position;
`["argument", position, changed, …]` if the value is one of them; or `["raised", classes, message, arguments,
number]`. Plain values are packed as `tasks.sandbox.values` has them, and some of the standard library's by the name
of their type.
"""

import collections
import copy
import datetime as dt
import io
import operator
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from tasks.sandbox import values

MESSAGE = 300
"""Characters kept of a name or an exception's text."""

LINE = 64
"""Members kept of an exception's line of classes."""

MOMENTS: Mapping[type, tuple[str, ...]] = {
    dt.datetime: ("year", "month", "day", "hour", "minute", "second", "microsecond"),
    dt.date: ("year", "month", "day"),
    dt.time: ("hour", "minute", "second", "microsecond"),
    dt.timedelta: ("days", "seconds", "microseconds"),
}
"""Types of times, and the parts that a value of them is made of."""

_BASES = (int, float, str, bytes, list, tuple, set, frozenset, dict)
_CHANGEABLE = (list, dict, set)
FACTORIES: Mapping[str, type] = {kind.__name__: kind for kind in (int, float, str, list, set, dict)}
"""Factories of a defaultdict that tests have as well, by name."""

_objects: list[Any] = []
_numbers: dict[int, int] = {}
"""The objects that a test holds, kept alive, and the number of each by its `id`."""


def forget() -> None:
    """Forget all objects."""
    _objects.clear()
    _numbers.clear()


def _number_of(thing: object) -> int:
    if id(thing) not in _numbers:
        _numbers[id(thing)] = len(_objects)
        _objects.append(thing)
    return _numbers[id(thing)]


class _Packer(values.Packer):
    """Packs plain values as they are, and what is none as a reference to a numbered object."""

    def pack(self, value: Any, depth: int = 0) -> Any:
        """Return the packed form of a value."""
        kind = type(value)
        parts: list[Any] | None = None
        if kind is range:
            parts = [value.start, value.stop, value.step]
        elif kind is collections.deque:
            parts = [value.maxlen, *value]
        elif kind in {collections.Counter, collections.OrderedDict}:
            parts = [dict(value)]
        elif kind is collections.defaultdict:
            parts = [getattr(value.default_factory, "__name__", ""), dict(value)]
        elif kind in MOMENTS and getattr(value, "tzinfo", None) is None:
            parts = [getattr(value, part) for part in MOMENTS[kind]]
        if parts is None:
            return super().pack(value, depth)
        return [kind.__name__, *[self.pack(part, depth + 1) for part in parts]]

    def pack_scalar(self, value: Any, kind: type) -> Any:
        """Return the packed form of a value that is no container."""
        try:
            return super().pack_scalar(value, kind)
        except values.UnfitError:
            return self.refer(value)

    def refer(self, value: Any, depth: int = 0) -> Any:
        """Return a reference: the object's number, its type, and the plain value that it is besides."""
        if isinstance(value, type) and issubclass(value, BaseException):
            return ["class", *islice(_class_line(value), LINE)]
        base = next((base for base in _BASES if isinstance(value, base) and type(value) is not base), None)
        plain = None if base is None else self.pack(base(value), depth + 1)
        if isinstance(plain, list) and plain[0] == "object":  # it is too large to be sent
            plain = None
        return ["object", _number_of(value), type(value).__name__[:MESSAGE], callable(value), plain]


def _class_line(kind: type) -> Iterator[str | int]:
    """Yield an exception's classes, each by module and name; the program's own are followed by their number."""
    for ancestor in kind.__mro__:
        yield f"{ancestor.__module__}.{ancestor.__qualname__}"[:MESSAGE]
        if ancestor.__module__.partition(".")[0] not in sys.stdlib_module_names:
            yield _number_of(ancestor)


def _pack(value: object, *, live: bool = False) -> Any:
    """Pack a value; what is too large or too deep is an object. A live container changes with the program."""
    if live and type(value) in _CHANGEABLE:
        return ["live", _number_of(value), type(value).__name__]
    try:
        return _Packer().pack(value)
    except values.UnfitError:
        return ["object", _number_of(value), type(value).__name__[:MESSAGE], callable(value), None]


class _ObjectReader(pickle.Unpickler):
    """Reads arguments: what the tests hold of the program's is named by its number, or by its name."""

    def persistent_load(self, reference: int | str) -> Any:
        """Return the program's object."""
        return _objects[reference] if isinstance(reference, int) else _find_global(reference)


def _find_global(name: str) -> Any:
    return vars(sys.modules["candidate"])[name]


def _read_state(thing: Any) -> Any:
    """Return an object's class and attributes, so that two of them can be compared; None if it has none."""
    state = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if hasattr(thing, name):
                state[name] = getattr(thing, name)
    return (type(thing), state) if state else None


def _enter(manager: Any) -> Any:
    return type(manager).__enter__(manager)


def _exit(manager: Any, *error: Any) -> Any:
    return type(manager).__exit__(manager, *error)


_LIVE = frozenset({"name", "getattr", "getitem"})
"""Operations whose value goes on belonging to an object of the program's: `node.children.append(…)`."""

OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "name": _find_global, "getattr": getattr, "setattr": setattr, "delattr": delattr, "call": operator.call,
    "state": _read_state, "copy": copy.copy, "deepcopy": copy.deepcopy,
    "len": len, "iter": iter, "next": next, "reversed": reversed, "bool": bool, "str": str, "repr": repr,
    "enter": _enter, "exit": _exit, "isinstance": isinstance, "issubclass": issubclass,
    "content": lambda thing: thing,
    **{name: getattr(operator, name) for name in (
        "getitem", "setitem", "delitem", "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow",
        "and_", "or_", "xor",
    )},
}  # fmt: skip


def serve(operation: str, arguments: str) -> str:
    """Carry out what a test asks; return the reply."""
    try:
        positional, keywords = _ObjectReader(io.BytesIO(bytes.fromhex(arguments))).load()
        # What is the program's own changes here, where a test asks for it; what the test has made changes there.
        changeable = [
            (position, argument)
            for position, argument in enumerate(positional)
            if type(argument) in _CHANGEABLE and id(argument) not in _numbers
        ]
        value = OPERATIONS[operation](*positional, **keywords)
        return values.write(_write_reply(value, changeable, live=operation in _LIVE))
    except MemoryError:
        return values.write(["memory"])
    except BaseException as error:  # noqa: BLE001 - whatever it is, the test is told
        return values.write(_write_error(error))


def _write_reply(value: Any, changeable: Iterable[tuple[int, Any]], *, live: bool) -> list[Any]:
    changed = [[position, _pack(argument)] for position, argument in changeable]
    for position, argument in changeable:
        if argument is value:
            return ["argument", position, *changed]
    return ["value", _pack(value, live=live), *changed]


def _write_error(error: BaseException) -> list[Any]:
    try:
        message = str(error)[:MESSAGE]
    except BaseException:  # noqa: BLE001 - its `__str__` is the program's own
        message = ""
    # Its arguments may hold objects that only it knows of; its number leads to its attributes.
    return ["raised", [*islice(_class_line(type(error)), LINE)], message, _pack(error.args), _number_of(error)]
