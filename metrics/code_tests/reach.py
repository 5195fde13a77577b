"""How a test script reaches the program, as far as its syntax tells: which names are the program's."""

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

BUILTINS = frozenset(dir(builtins))
_SHARED = frozenset(
    {
        "asyncio",
        "builtins",
        "mock",
        "monkeypatch",
        "patch",
        "redirect_stderr",
        "redirect_stdout",
        "seed",
        "signature",
        "stderr",
        "stdin",
        "stdout",
    }
)
"""Names of what a script and the program must have in common, such as a redirected output."""
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def find_bound_names(tree: ast.AST) -> set[str]:
    """Return every name that a script binds."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Import() | ast.ImportFrom():
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            case ast.Name(name, ast.Store()):
                names.add(name)
            case ast.arg(name):
                names.add(name)
    return names


def find_read_names(node: ast.AST) -> set[str]:
    """Return every name that a part of a script reads."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)}


class Reach:
    """The names by which a script reaches the program.

    `program` are those of the program itself: the tested function, also as the parameter of `check(candidate)`, and
    whatever the script reads without binding it. `helpers` are the script's own functions that use them.
    """

    def __init__(self, body: Sequence[ast.stmt], entry: str, parameters: Iterable[str]) -> None:
        tree = ast.Module([*body], [])
        self.program = {entry, *parameters} | (find_read_names(tree) - find_bound_names(tree) - BUILTINS)
        self.helpers: set[str] = set()
        # In order: a helper may use one above it.
        for node in body:
            if isinstance(node, ast.FunctionDef) and find_read_names(node) & self.names:
                self.helpers.add(node.name)

    def is_plain(self, expression: ast.expr) -> bool:
        """Return whether an expression is a call of the program, or its truth, and no more is computed."""
        match expression:
            case ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), operand)):
                return self.is_plain(operand)
            case ast.Call(ast.Name(name)):
                return name in self.program
            case ast.Call(ast.Attribute(owner)):  # Solution().add(1, 2)
                return self.is_plain(owner)
        return False

    @property
    def names(self) -> set[str]:
        """Both kinds of names."""
        return self.program | self.helpers


def shares_interpreter(body: Sequence[ast.stmt], reach: Reach) -> bool:
    """Return whether a script only works in the program's own interpreter, by its syntax.

    It hands a function or a class of its own to the program, or changes what they share: streams, seeds, patches.
    """
    tree = ast.Module([*body], [])
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            functions |= find_bound_names(node)
    harmless = {id(node) for node in _find_harmless(tree, BUILTINS - reach.program)}
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef() | ast.Await() | ast.AsyncFunctionDef():
                return True
            case ast.Name(name) | ast.Attribute(attr=name) | ast.alias(name) if name in _SHARED:
                return True
            case ast.Name(name) if name in functions and id(node) not in harmless:
                return True
            case ast.Lambda() if id(node) not in harmless:
                return True
    return False


def _find_harmless(tree: ast.AST, builtin_names: AbstractSet[str]) -> Iterator[ast.expr]:
    """Yield what may be a function without reaching the program: `len_of(x)`, `sorted(x, key=len_of)`, `f = g`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            yield node.value
        if isinstance(node, ast.Call):
            yield node.func
            if isinstance(node.func, ast.Name) and node.func.id in builtin_names:
                yield from node.args
                yield from (keyword.value for keyword in node.keywords)


class Repeatable:
    """The statements of a script so far that a fresh interpreter can run at once: none of them asks the program.

    What the program computed in those left out is missing there, and so is what was computed from it.
    """

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._missing: set[str] = set()
        self.source = ""

    def add(self, statement: ast.stmt) -> None:
        """Add a statement, if it can be run again."""
        if isinstance(statement, _DEFINITIONS):
            self._append(statement)
            return
        read, bound = find_read_names(statement), find_bound_names(statement)
        # `candidate = f` names the program without asking it.
        calls = any(isinstance(node, ast.Call) for node in ast.walk(statement))
        if read & self._missing or (calls and read & self._reach.names):
            self._missing |= bound
        else:
            self._missing -= bound
            self._append(statement)

    def _append(self, statement: ast.stmt) -> None:
        self.source += f"{ast.unparse(statement)}\n"
