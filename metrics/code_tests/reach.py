"""How a test script reaches the program, as far as its syntax tells: which names are the program's."""

import ast
import builtins
from collections.abc import Iterable, Sequence

BUILTINS = frozenset(dir(builtins))
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def bound_names(tree: ast.AST) -> set[str]:
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


def _read_names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)}


class Reach:
    """The names by which a script reaches the program.

    `program` are those of the program itself: the tested function, also as the parameter of `check(candidate)`, and
    whatever the script reads without binding it. `helpers` are the script's own functions that use them.
    """

    def __init__(self, body: Sequence[ast.stmt], entry: str, parameters: Iterable[str]) -> None:
        tree = ast.Module([*body], [])
        self.program = {entry, *parameters} | (_read_names(tree) - bound_names(tree) - BUILTINS)
        self.helpers: set[str] = set()
        for node in body:
            if isinstance(node, ast.FunctionDef) and _read_names(node) & self.names:
                self.helpers.add(node.name)

    @property
    def names(self) -> set[str]:
        """Both kinds of names."""
        return self.program | self.helpers


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
        read, bound = _read_names(statement), bound_names(statement)
        # `candidate = f` names the program without asking it.
        calls = any(isinstance(node, ast.Call) for node in ast.walk(statement))
        if read & self._missing or (calls and read & self._reach.names):
            self._missing |= bound
        else:
            self._missing -= bound
            self._append(statement)

    def _append(self, statement: ast.stmt) -> None:
        self.source += f"{ast.unparse(statement)}\n"
