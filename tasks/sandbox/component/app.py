"""What runs inside the WebAssembly component: load one program, then call its function, once for each request.

A reply is JSON: `["loaded"]`, `["value", tagged]`, `["exception", type, message, class, ...]`, `["memory"]`,
`["syntax", message]`, `["no such function"]` or `["bad value", message]`. The program shares this interpreter
and may rewrite anything in it: a forged reply gains nothing that returning the same value would not, since no
expected value is ever in here. What breaks out of these functions traps, and the worker says so.
"""

import __future__

import ast
import builtins
import gc
import importlib
import random
import sys
from itertools import islice, pairwise
from types import CodeType, ModuleType, TracebackType
from typing import Any, ClassVar

from tasks.sandbox import values
from tasks.sandbox.component import handles, objects, scripts, stand_ins

MESSAGE = 300
"""Characters kept of an exception's text."""

CLASSES = 32
"""Classes kept of an exception's line of them."""

MODULES = """
    abc argparse array ast asyncio base64 binascii bisect builtins calendar cmath cmd codecs collections
    collections.abc colorsys concurrent.futures concurrent.futures.thread configparser contextlib
    contextvars copy copyreg csv dataclasses datetime decimal difflib dis doctest email.message
    encodings.ascii encodings.cp1251 encodings.hex_codec encodings.idna encodings.latin_1 encodings.punycode
    encodings.raw_unicode_escape encodings.rot_13 encodings.unicode_escape encodings.utf_16 encodings.utf_32
    encodings.utf_8_sig enum errno faulthandler filecmp fileinput fnmatch fractions functools gc getopt
    getpass gettext glob graphlib gzip hashlib heapq hmac html html.parser http importlib importlib.util
    inspect io ipaddress itertools json json.decoder keyword linecache locale logging marshal math mimetypes
    numbers opcode operator optparse os os.path pathlib pickle pickletools pkgutil platform plistlib pprint
    profile pstats queue quopri random re reprlib runpy sched secrets select selectors shelve shlex shutil
    signal socket stat statistics string stringprep struct subprocess symtable sys tempfile textwrap
    threading time timeit token tokenize tomllib trace traceback types typing unicodedata unittest
    unittest.mock urllib.parse uuid warnings weakref xml.etree.ElementTree zipfile zlib zoneinfo _strptime
    _pydecimal _pydatetime _pylong sortedcontainers
"""
"""The standard library as far as it can be imported without a system: none of it can be loaded later.

At the end stand what the interpreter imports by itself, such as `_pylong` to divide integers of 9 000 bits, and a
package that is built in.
"""


LARGEST, SMALL, ALIGNED, POOL = 1 << 16, 512, 8, 1 << 14
"""Bytes of the largest hole that is filled; of Python's allocator: its largest block, their step, and a pool."""

FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
_BUILTINS = {id(kind): kind.__name__ for kind in vars(builtins).values() if isinstance(kind, type)}
_name, _line, _module = (type.__dict__[name].__get__ for name in ("__name__", "__mro__", "__module__"))
"""A metaclass may answer for its classes' attributes itself."""


class _Loaded:
    function: Any = None
    failed: str = ""
    """What the first statement that failed came to."""
    results: ClassVar[list[Any]] = []
    """Kept until the instance ends: letting a deep structure go overflows the stack, and a `__del__` may loop."""


def _describe(error: BaseException) -> str:
    """Return the reply for an exception. Its `__str__` is the program's own and may do anything, here."""
    try:
        message = str.__str__(str(error))[:MESSAGE]
    except BaseException:  # noqa: BLE001 - whatever it raises, the exception itself is what counts
        message = ""
    classes = [_full_name(kind) for kind in _line(type(error))[:CLASSES]]
    return values.write(["exception", _name(type(error))[:MESSAGE], message, *classes])


def _full_name(kind: type) -> str:
    # Its own `__hash__` is not asked.
    if id(kind) in _BUILTINS:
        return _BUILTINS[id(kind)]
    try:
        module = _module(kind)
    except AttributeError:
        module = None
    if type(module) is not str:
        module = "?"
    return f"{module}.{_name(kind)}"[:MESSAGE]


def _load(source: str, function: str) -> str:
    # Not __main__: what stands under `if __name__ == "__main__"` is not part of the answer.
    module = ModuleType("candidate")
    # Dataclasses look their module up there.
    sys.modules["candidate"] = module
    source = source.removeprefix("\ufeff")
    try:
        code = compile(source, "<candidate>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return values.write(["syntax", f"{str(error.msg)[:MESSAGE]} (line {error.lineno})"])
    except Exception as error:  # noqa: BLE001 - surrogates, NULs, digits without end, nesting: no program either way
        return values.write(["syntax", type(error).__name__])
    names = module.__dict__
    # As in any embedded interpreter: argparse and unittest look at the first.
    sys.argv = [""]
    # The same program draws the same numbers, always.
    random.seed(0)
    try:
        candidate = _execute(source, code, names, function)
    except MemoryError:
        return values.write(["memory"])
    if candidate is None:
        return _Loaded.failed or values.write(["no such function"])
    _Loaded.function = names[function] = candidate
    return values.LOADED


def _execute(source: str, code: CodeType, names: dict[str, Any], function: str) -> Any:
    """Run the module's statements; return the last callable that the function's name stood for, or None.

    A statement that fails is passed over: what counts is what the function returns, not an import that it does
    not use, nor input that the module asks for below it; what it does need is then missing when it is called.
    """
    _Loaded.failed = ""
    done = 0
    if _is_only_called(source, function):
        try:
            exec(code, names)  # noqa: S102 - running it is what this interpreter is for
        except MemoryError:
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit and its like are a program's failure too
            _Loaded.failed = _describe(error)
            done = _count_begun(ast.parse(source).body, code, sys.exc_info()[2])
        else:
            return _find_callable(names, function)
    return _execute_singly(ast.parse(source).body[done:], code.co_flags & FUTURE, names, function)


def _is_only_called(source: str, function: str) -> bool:
    """Tell whether a name is always followed by a parenthesis: it is defined and called, never bound otherwise."""
    return all(
        _in_word(before[-1:]) or _in_word(after[:1]) or after.lstrip(" ").startswith("(")
        for before, after in pairwise(source.split(function))
    )


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _find_callable(names: dict[str, Any], function: str) -> Any:
    value = names.get(function)
    return value if callable(value) else None


def _count_begun(body: list[ast.stmt], code: CodeType, trace: TracebackType | None) -> int:
    """Return how many statements were begun before an error left the module, the one that failed included."""
    while trace and trace.tb_frame.f_code is not code:
        trace = trace.tb_next
    # Not even the first one.
    if not trace:
        return 1
    line, _, column, _ = next(islice(code.co_positions(), trace.tb_lasti // 2, None))
    if line is None:
        line = trace.tb_lineno
    position = (line, column or 0)
    return sum(_find_start(statement) <= position for statement in body)


def _find_start(statement: ast.stmt) -> tuple[int, int]:
    """Return the line and column where a statement begins, with its decorators."""
    parts = (statement, *getattr(statement, "decorator_list", ()))
    return min((part.lineno, part.col_offset) for part in parts)


def _execute_singly(body: list[ast.stmt], flags: int, names: dict[str, Any], function: str) -> Any:
    """Run statements one after the other; return the last callable that the function's name stood for, or None."""
    candidate = _find_callable(names, function)
    for statement in body:
        module = ast.Module([statement], [])
        try:
            exec(compile(module, "<candidate>", "exec", flags, dont_inherit=True), names)  # noqa: S102 - as above
        except MemoryError:
            raise
        except BaseException as error:  # noqa: BLE001 - as above
            _Loaded.failed = _Loaded.failed or _describe(error)
        value = names.get(function)
        if callable(value):
            candidate = value
    return candidate if function in names else None


def _call(arguments: list[Any]) -> str:
    try:
        result = _Loaded.function(*arguments)
        _Loaded.results.append(result)
        return values.write(["value", values.pack(result)])
    except MemoryError:
        return values.write(["memory"])
    except values.UnfitError as error:
        return values.write(["bad value", str(error)[:MESSAGE]])
    except BaseException as error:  # noqa: BLE001 - SystemExit and its like are a program's failure too
        return _describe(error)


class WitWorld:
    """The component's exports, as componentize-py looks for them."""

    def load(self, request: str) -> str:
        """Load a program."""
        source, function = values.read(request)
        return _load(source, function)

    def call(self, request: str) -> str:
        """Call the program's function, or do what a test that runs apart asks."""
        match values.read(request):
            case ["ask", str(operation), str(arguments)]:
                return objects.serve(operation, arguments)
            case packed:
                return _call(values.unpack(packed))


def _import() -> None:
    for name in MODULES.split():
        try:
            importlib.import_module(name)
        except ImportError:
            # What WASI lacks.
            continue


def _rehearse() -> None:
    """Run one small program, so that what Python prepares at first use is in the image."""
    world = WitWorld()
    source = "import math\ndef f(x, y=(1.5, 'a')):\n    return [x, y, {'x': math.pi}]\n"
    world.load(values.write([source, "f"]))
    world.call(values.write(values.pack([3])))
    world.load(values.write(["def f(:", "f"]))
    world.load(values.write(["def f():\n    raise ValueError('x')", "f"]))
    world.call(values.write(values.pack([])))
    world.load(values.write([source, "f"]))
    scripts.run_beside(0, "y = f(2)", "(f(3), y)")
    with handles.ask_here(world.call):
        scripts.run_apart("f", "", 1, "y = f([2])", "(f(3)[2] == y, len(y))")
    scripts.forget()
    objects.forget()
    del sys.modules["candidate"]
    _Loaded.function = None
    _Loaded.results.clear()


def _fill_holes() -> list[bytes]:
    """Return what fills the holes that importing left: a program's objects then lie side by side.

    Every page that an instance writes to is copied from the image first: a few full ones cost less than many with a
    little on each. Blocks of one size are taken until they follow each other without a gap, for a whole pool.
    """
    blocks = [b""]
    empty = sys.getsizeof(b"")
    for size in (*(LARGEST * 3**k // 4**k for k in range(18)), *range(SMALL, 32, -ALIGNED)):
        target = POOL // size if size <= SMALL else 4
        step, run = 0, 0
        # Until so many blocks in a row are equally far from each other.
        while run < target:
            blocks.append(bytes(size - empty))
            distance = id(blocks[-1]) - id(blocks[-2])
            run = run + 1 if 0 < distance == step else 0
            step = distance
    return blocks


_import()
if sys.platform == "wasi":
    stand_ins.install()
_rehearse()
gc.collect()
# Elsewhere blocks lie otherwise, and nothing is kept of them.
_filled = _fill_holes() if sys.platform == "wasi" else []
# The collector need not walk, and so touch, the image's pages.
gc.freeze()
