"""What stands for the program where tests run apart from it: its names, and handles of its objects.

A handle forwards what is done with an object to the program's instance, by way of the worker. It is never compared
there: an `__eq__` that is always true makes nothing equal, and a number that the test knows never goes into the
program's arithmetic. What comes back is read as what any program sends: nothing in it is evaluated.
"""

import builtins
import collections
import importlib
import io
import operator
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tasks.sandbox import values
from tasks.sandbox.component.objects import FACTORIES, LINE, MOMENTS

_VIEWS: Mapping[str, type] = {"dict_keys": type({}.keys()), "dict_items": type({}.items())}

_BASES = (int, float, str, bytes, list, tuple, set, frozenset, dict)
_LIVE = (list, set, dict)
_KINDS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (*vars(builtins).values(), *vars(types).values(), *_VIEWS.values())
    if isinstance(kind, type) and kind not in {*_BASES, complex, bool}
}
"""What a handle says that it is, by the name of its object's type. A plain value is never sent as a handle."""

_MAKERS: Mapping[str, Callable[..., Any]] = {
    "range": range,
    "deque": lambda limit, *members: collections.deque(members, limit),
    "Counter": collections.Counter,
    "OrderedDict": collections.OrderedDict,
    "defaultdict": lambda factory, members: collections.defaultdict(FACTORIES.get(factory), members),
    **{kind.__name__: kind for kind in MOMENTS},
}
"""How values of the standard library are made from what they are sent as."""


class _World:
    """The way to the program's instance."""

    # It can only be imported while the image is built.
    ask: Callable[[str], str] = importlib.import_module("wit_world").ask if sys.platform == "wasi" else str


@contextmanager
def ask_here(serve: Callable[[str], str]) -> Iterator[None]:
    """Ask in this very instance while the block lasts, and forget what was asked."""
    ask = _World.ask
    _World.ask = staticmethod(serve)
    try:
        yield
    finally:
        _World.ask = staticmethod(ask)
        _handles.clear()


class Remote:
    """An object of the program's, whose attributes are asked there.

    It has a number by which the program's instance knows it, and the name of its type.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return ask("getattr", self, name)

    def __setattr__(self, name: str, value: object) -> None:
        ask("setattr", self, name, value)

    def __delattr__(self, name: str) -> None:
        ask("delattr", self, name)


def _mark(remote: Any, number: int, kind: str) -> Any:
    """Give a new handle its number and the name of its type."""
    object.__setattr__(remote, "__number__", number)
    object.__setattr__(remote, "__kind__", kind)
    return remote


def _number_of(remote: Remote) -> int:
    return int(object.__getattribute__(remote, "__number__"))


class Handle(Remote):
    """An object that is no plain value."""

    __slots__ = ("__kind__", "__number__")

    @property
    def __class__(self) -> type:
        return _KINDS.get(self.__kind__, Handle)

    def __eq__(self, other: object) -> bool:
        if self.__kind__ in _VIEWS and isinstance(other, (*_VIEWS.values(), set, frozenset)):
            return set(self) == set(other)
        if not isinstance(other, Handle):
            return False
        if _number_of(self) == _number_of(other):
            return True
        state = ask("state", self)
        return state is not None and bool(state == ask("state", other))

    def __hash__(self) -> int:
        return hash(_number_of(self))

    def __contains__(self, member: object) -> bool:
        # Not by the program's own `__contains__`, which may find everything.
        return any(member is item or member == item for item in self)

    def __instancecheck__(self, instance: object) -> bool:
        return ask("isinstance", instance, self) is True

    def __subclasscheck__(self, kind: type) -> bool:
        return ask("issubclass", kind, self) is True


class CallableHandle(Handle):
    """A function, a class, or another object that can be called."""

    __slots__ = ()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call it there."""
        return ask("call", self, *arguments, **keywords)


class LiveHandle(Handle):
    """A list, set or dict that belongs to an object of the program's; compared by what it holds at the moment."""

    __slots__ = ()

    @property
    def __class__(self) -> type:
        return next((kind for kind in _LIVE if kind.__name__ == self.__kind__), LiveHandle)


def _forward(operation: str) -> Callable[..., Any]:
    return lambda handle, *arguments: ask(operation, handle, *arguments)


def _forward_pair(operation: str) -> Callable[..., Any]:
    def operate(handle: Handle, operand: object) -> Any:
        # A plain number would tell the program what it is compared with: `abs(f(x) - 3.0) < 1e-6`.
        return ask(operation, handle, operand) if isinstance(operand, Handle) else NotImplemented

    return operate


def _compare_content(operation: str) -> Callable[..., Any]:
    def compare(handle: Handle, operand: object) -> Any:
        if isinstance(operand, LiveHandle):
            operand = ask("content", operand)
        return getattr(operator, operation)(ask("content", handle), operand)

    return compare


_FORWARDED = "len iter next reversed bool str repr enter exit getitem setitem delitem copy"
_COMPUTED = "add sub mul matmul truediv floordiv mod pow and_ or_ xor"
_COMPARED = "eq ne lt le gt ge add"
for _operation in _FORWARDED.split():
    setattr(Handle, f"__{_operation}__", _forward(_operation))
for _operation in _COMPUTED.split():
    setattr(Handle, f"__{_operation.rstrip('_')}__", _forward_pair(_operation))
for _operation in _COMPARED.split():
    setattr(LiveHandle, f"__{_operation}__", _compare_content(_operation))
_OTHERS: Mapping[str, Any] = {
    "__deepcopy__": lambda handle, _memory: ask("deepcopy", handle),
    "__doc__": property(lambda handle: ask("getattr", handle, "__doc__")),
}
for _operation, _method in _OTHERS.items():
    setattr(Handle, _operation, _method)

_PROJECTED: Mapping[type, type] = {base: type(base.__name__, (Remote, base), {}) for base in _BASES}
"""Types of what is a plain value besides, such as a named tuple: compared, and computed with, as that value."""


_handles: dict[tuple[type, int], Handle] = {}
"""Handles by kind and number: one object of the program's is one object here."""


def _hold(kind: type[Handle], number: int, name: str) -> Handle:
    if (kind, number) not in _handles:
        _handles[kind, number] = _mark(object.__new__(kind), number, name)
    return _handles[kind, number]


class _Unpacker(values.Unpacker):
    """Reads what the program's instance sends: plain values, and what stands for objects."""

    def build(self, tag: str, members: list[Any]) -> Any:
        """Return a container, an object's handle, an exception's class, or a value of the standard library."""
        match tag, members:
            case "object", [int(number), str(kind), bool(is_callable), plain]:
                if plain is not None:
                    return _mark(_PROJECTED[type(plain)](plain), number, kind)
                return _hold(CallableHandle if is_callable else Handle, number, kind)
            case "live", [int(number), str(kind)]:
                return _hold(LiveHandle, number, kind)
            case "class", line:
                return _class_of(line[:LINE])
        if tag in _MAKERS:
            return _MAKERS[tag](*members)
        return super().build(tag, members)


_classes: dict[int, type[BaseException]] = {}
"""Stand-ins for the program's own exceptions, by the number of the class."""


def _class_of(line: list[Any]) -> type[BaseException]:
    """Return the class of an exception, with the line of classes above it: the program's own are made here.

    A class of the program's own is its name and its number: `["candidate.Refused", 7, "builtins.ValueError", …]`.
    """
    for position, name in enumerate(line):
        following = line[position + 1 : position + 2]
        if isinstance(name, str) and following and isinstance(following[0], int):
            return _make_class(name, following[0], line[position + 2 :])
        kind = _find_class(name) if isinstance(name, str) else None
        if isinstance(kind, type) and issubclass(kind, BaseException):
            return kind
    return Exception


def _find_class(name: str) -> Any:
    # Only what is imported already: a name that the program sends loads nothing.
    module, _, own_name = name.rpartition(".")
    return getattr(sys.modules.get(module), own_name, None)


def _make_class(name: str, number: int, line: list[Any]) -> type[BaseException]:
    if number not in _classes:
        base = _class_of(line)
        bases = (base,) if issubclass(base, _OwnError) else (_OwnError, base)
        _classes[number] = type(name.rpartition(".")[2], bases, {})
    return _classes[number]


class _OwnError(Exception):
    """An exception of the program's own class, whose attributes are asked there."""

    __handle__: Handle

    def __getattr__(self, name: str) -> Any:
        if name == "__handle__":  # made by the test itself
            raise AttributeError(name)
        return getattr(self.__handle__, name)


class _Pickler(pickle.Pickler):
    """Writes arguments: handles by their number, functions of the row's code by their name, iterators as lists."""

    def persistent_id(self, thing: Any) -> int | str | None:
        """Return the program's name for an object."""
        if isinstance(thing, Remote):
            return _number_of(thing)
        if isinstance(thing, types.FunctionType) and isinstance(thing.__globals__, ScriptNames):
            return thing.__name__
        return next((number for number, kind in _classes.items() if kind is thing), None)

    def reducer_override(self, thing: Any) -> Any:
        """Return how an iterator is made again."""
        return (iter, (list(thing),)) if isinstance(thing, Iterator) else NotImplemented


def ask(operation: str, *arguments: Any, **keywords: Any) -> Any:
    """Have an operation carried out in the program's instance; return its value.

    Raises:
        BaseException: what the program raised, of the same class, or of a stand-in for its own class.
    """
    written = io.BytesIO()
    _Pickler(written).dump((arguments, keywords))
    request = values.write(["ask", operation, written.getvalue().hex()])
    match values.read(_World.ask(request)):
        case ["value", packed, *changed]:
            _update(arguments, changed)
            return _Unpacker().unpack(packed)
        case ["argument", int(position), *changed]:
            _update(arguments, changed)
            return arguments[position]
        case ["raised", [*line], str(message), packed, int(number)]:
            raise _exception(_class_of(line[:LINE]), message, _Unpacker().unpack(packed), number)
        case ["memory"]:
            raise MemoryError
    raise SystemError("the program's instance gave no reply")


def _exception(kind: type[BaseException], message: str, arguments: Any, number: int) -> BaseException:
    error = kind.__new__(kind)
    error.args = (message,)
    if isinstance(arguments, tuple):
        error.args = arguments
    if isinstance(error, _OwnError):
        error.__handle__ = _hold(Handle, number, kind.__name__)
        error.args = (message,)
    return error


def _update(arguments: tuple[Any, ...], changed: list[Any]) -> None:
    for position, packed in changed:
        _update_in_place(arguments[position], _Unpacker().unpack(packed))


def _update_in_place(old: Any, new: Any) -> None:
    """Give a list, dict or set the content of another, and what it holds likewise: a test's names see it."""
    if isinstance(old, list):
        # Rows of a grid stay the same lists: a test may hold one by a name of its own.
        pairs = zip(old, new, strict=False)
        old[:] = [_merge(*pair) for pair in pairs] + new[len(old) :]
    elif isinstance(old, dict):
        merged = {key: _merge(old.get(key), value) for key, value in new.items()}
        old.clear()
        old.update(merged)
    elif isinstance(old, set):
        old.clear()
        old.update(new)


def _merge(old: Any, new: Any) -> Any:
    if type(old) is type(new) and type(old) in {list, dict, set}:
        _update_in_place(old, new)
        return old
    return new


class ScriptNames(dict[str, Any]):
    """The names of a script apart from its program: the tested function, and what it does not define, are there.

    Built-in functions and modules of the standard library are this instance's own, whatever became of the others.
    """

    def __init__(self, entry: str, names: Mapping[str, Any]) -> None:
        super().__init__(names)
        self.entry = entry

    def __missing__(self, name: str) -> Any:
        """Return what the program calls so; functions and classes are kept."""
        if name != self.entry:
            if hasattr(builtins, name) or name.startswith("__"):
                raise KeyError(name)
            if name in sys.stdlib_module_names and name in sys.modules:
                return sys.modules[name]
        value = ask("name", name)
        if isinstance(value, CallableHandle | type):
            self[name] = value
        return value
