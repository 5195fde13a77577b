"""Python test scripts split into single tests, each with the code to run and the values to compare outside."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, filterfalse
from operator import attrgetter, itemgetter

from basic_control.metrics.code_tests.checks import Check, Part, is_constant, take_apart
from basic_control.metrics.code_tests.reach import BUILTINS, Reach, Repeatable, find_bound_names, shares_interpreter

_BLOCKS = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.AsyncFor, ast.AsyncWith)
_FAILS = (ast.Assert, ast.Raise)
_BOUND_TO_A_FUNCTION = (ast.Return, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal, ast.Await)


@dataclass(frozen=True, slots=True)
class Test:
    """One test: statements to run first, expressions to evaluate after them, and the condition on each value.

    Without expressions it passes if the statements end without an exception. Tests of one `script` share their
    names. `fresh` are the statements to run where the tests before it were not run. `apart`: it is run where the
    program cannot reach it, as are all tests of a script of which one does more than compare what a call returns.
    """

    script: int
    setup: str
    values: tuple[str, ...] = ()
    checks: tuple[tuple[Check, ...], ...] = ()
    text: str = ""
    fresh: str = ""
    apart: bool = False


@lru_cache(maxsize=256)
def read_tests(scripts: tuple[str, ...], entry: str) -> tuple[Test, ...]:
    """Return the tests of scripts, in order; none for invalid Python. A script of statements only is one test.

    A script may be assertions, a function `check(candidate)` that makes them, or functions `test_…()`. A script
    without tests is prepended to the next.
    """
    tests: list[Test] = []
    before: list[ast.stmt] = []
    for number, script in enumerate(scripts):
        try:
            body = ast.parse(script).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        script_tests = _Reader(number, entry).read([*before, *body])
        if not script_tests:
            before += body
        tests += script_tests
    if not tests and any(isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) for node in before):
        whole, apart = _source(before), not shares_interpreter(before, Reach(before, entry, ()))
        tests = [Test(0, whole, text=whole, fresh=whole, apart=apart)]
    return tuple(tests)


def entry_of(scripts: Iterable[str]) -> str:
    """Return the name of the function that scripts call without defining it; '' if there is none.

    A builtin's name is one only if nothing else is called: `assert sum(10, 15) == 6`.
    """
    builtin = ""
    for tree in _parse(scripts):
        names = _list_calls(tree)
        unknown = next(filterfalse(BUILTINS.__contains__, names), "")
        if unknown:
            return unknown
        builtin = builtin or next(iter(names), "")
    return builtin


def _list_calls(tree: ast.Module) -> list[str]:
    """Return the names that a script calls, or checks, without binding them, in order."""
    bound = find_bound_names(tree) | {"isclose"}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    checked = [call.args[0] for call in calls if _is_check(call) and call.args]
    nodes = (*checked, *map(attrgetter("func"), calls))
    return [node.id for node in nodes if isinstance(node, ast.Name) and node.id not in bound]


def imports_of(scripts: Iterable[str]) -> str:
    """Return the import statements of scripts, which a program may rely on: it and its tests share their names."""
    statements = chain.from_iterable(map(attrgetter("body"), _parse(scripts)))
    return _source([node for node in statements if isinstance(node, ast.Import | ast.ImportFrom)])


def _parse(scripts: Iterable[str]) -> Iterator[ast.Module]:
    for script in scripts:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            yield ast.parse(script)


def _is_check(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check"


def _source(body: Sequence[ast.stmt]) -> str:
    return "\n".join(map(ast.unparse, body))


class _Reader:
    """The parsing state of one script."""

    def __init__(self, number: int, entry: str) -> None:
        self.number = number
        self.entry = entry
        self.tests: list[Test] = []
        self.pending: list[ast.stmt] = []
        self.helpers: set[str] = set()
        self.reach = Reach((), entry, ())
        self.repeatable = Repeatable(self.reach)
        self.is_plain = True
        """Whether each test so far compares what a call returns."""

    def read(self, body: Sequence[ast.stmt]) -> list[Test]:
        """Return the tests of a script's statements."""
        # A block of tests that others call is a helper, and itself no test.
        opened: list[str] = []
        parameters: list[str] = []
        for node in body:
            if isinstance(node, ast.FunctionDef) and _is_block(node):
                opened.append(node.name)
                parameters += _list_parameters(node)
            elif isinstance(node, ast.FunctionDef) and _fails(node):
                self.helpers.add(node.name)
        self.helpers -= {*opened}
        called = {*_list_called_names(body)}
        self.reach = Reach(body, self.entry, parameters)
        self.repeatable = Repeatable(self.reach)
        for node in body:
            if isinstance(node, ast.FunctionDef) and node.name in opened:
                if node.name == "check" or node.name not in called:
                    self._block(node)
                else:
                    self.helpers.add(node.name)
                    self.pending.append(node)
            elif not (isinstance(node, ast.Expr) and _is_check(node.value) and "check" in opened):
                self._statement(node)
        apart = not self.is_plain and not shares_interpreter(body, self.reach)
        # What keeps to its own names can be run beside the program.
        return [replace(test, apart=apart) for test in self.tests]

    def _block(self, node: ast.FunctionDef) -> None:
        """Read a function made of tests: its body, or if that needs the function, a call of it."""
        parameters = _list_parameters(node)
        if any(isinstance(inner, _BOUND_TO_A_FUNCTION) for inner in _walk_body(node.body)):
            call = f"{node.name}({self.entry if parameters else ''})"
            self.pending.append(node)
            self._add_whole(ast.parse(call).body[0])
            return
        if parameters and parameters[0] != self.entry:
            self.pending += ast.parse(f"{parameters[0]} = {self.entry}").body
        for statement in node.body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assert):
            # `assert True, "this prints if …"` tests nothing.
            if is_constant(node.test):
                return
            parts = take_apart(node.test)
            if parts:
                self._add(self.pending, parts, node)
            else:
                self._add_whole(node)
        elif (isinstance(node, _BLOCKS) and _fails(node)) or self._uses_helper(node):
            self._add_whole(node)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            self.pending.append(node)

    def _add_whole(self, node: ast.stmt) -> None:
        self._add([*self.pending, node], (), node)

    def _add(self, statements: Sequence[ast.stmt], parts: Sequence[Part], node: ast.stmt) -> None:
        self.is_plain = self.is_plain and bool(parts) and all(map(self.reach.is_plain, map(itemgetter(0), parts)))
        expressions = [*map(itemgetter(0), parts)]
        values, checks = tuple(map(ast.unparse, expressions)), tuple(map(itemgetter(1), parts))
        setup, text = _source(statements), ast.unparse(node)
        fresh = self.repeatable.source + setup
        self.tests.append(Test(self.number, setup, values, checks, text, fresh))
        for statement in self.pending:
            self.repeatable.add(statement)
        self.pending = []

    def _uses_helper(self, node: ast.stmt) -> bool:
        """Return whether a statement calls a function of the script that makes assertions."""
        if not isinstance(node, (ast.Expr, *_BLOCKS)):
            return False
        return not self.helpers.isdisjoint(_list_called_names([node]))


def _list_parameters(node: ast.FunctionDef) -> list[str]:
    """Return the name of the parameter that a block of tests takes its function by, if there is one."""
    return [*map(attrgetter("arg"), node.args.args[:1])]


def _is_block(node: ast.FunctionDef) -> bool:
    """Return whether a function holds tests: `check(candidate)`, or `test_…()` without arguments."""
    arguments = len(node.args.args) - len(node.args.defaults)
    if node.name == "check":
        return arguments == 1
    return node.name.startswith("test_") and arguments == 0 and _fails(node)


def _fails(node: ast.AST) -> bool:
    return any(isinstance(inner, _FAILS) for inner in ast.walk(node))


def _list_called_names(body: Iterable[ast.stmt]) -> list[str]:
    """Return the names of the functions that statements call."""
    nodes = chain.from_iterable(map(ast.walk, body))
    functions = [node.func for node in nodes if isinstance(node, ast.Call)]
    return [function.id for function in functions if isinstance(function, ast.Name)]


def _walk_body(body: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """Yield the nodes of a function's body, without those of nested functions."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
