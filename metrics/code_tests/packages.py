"""What a program fails for: a package that the sandbox does not have."""

import ast
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress

from basic_control.data.patterns import pattern
from basic_control.data.records import Outcome
from basic_control.metrics.code_tests.reach import find_bound_names, find_read_names

# The message of a failed import: No module named 'scipy.optimize'
_MISSING = pattern(r"No module named '([A-Za-z_]\w*)[\w.]*'")
# The message of an unknown name: name 'np' is not defined
_UNBOUND = pattern(r"name '(\w+)' is not defined")
# A name that a program gives a module of its own_names: "my_helpers", "solution"
_OWN = pattern(
    r"(?:your|my|our|the)_\w+|(?:solution|helper|util|test|problem|task|program|module|code|answer)s?(?:_?\w+)?"
    r"|main|candidate|submission|script|app|src|lib|input|data"
)
"""Modules that no package index has: files of the program's own_names, such as `from solution import f`."""


def find_package(source: str, outcome: Outcome, own_names: Collection[str]) -> str:
    """Return the package that a program failed for; '' if its failure is another one.

    `own_names` are names that cannot be a package's, such as the tested function's.
    """
    if outcome.kind != "exception" or outcome.error not in {"ModuleNotFoundError", "NameError"}:
        return ""
    tree = ast.Module([], [])
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        tree = ast.parse(source)
    unbound, missing = _UNBOUND.fullmatch(outcome.message), _MISSING.fullmatch(outcome.message)
    if outcome.error == "NameError" and unbound:
        return _find_unbound(tree, own_names).get(unbound[1], "")
    if missing and missing[1] in _find_imports(tree, own_names).values():
        return missing[1]
    return ""


def _find_imports(tree: ast.AST, own_names: Collection[str]) -> dict[str, str]:
    """Return what the imports of a program bind, and the package of each."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(aliases):
                for alias in aliases:
                    top = alias.name.partition(".")[0]
                    modules[alias.asname or top] = top
            case ast.ImportFrom(str(module), aliases, 0):
                for alias in aliases:
                    modules[alias.asname or alias.name] = module.partition(".")[0]
    return {name: top for name, top in modules.items() if _is_package(top, own_names)}


def _is_package(module: str, own_names: Collection[str]) -> bool:
    return not (module in sys.stdlib_module_names or module in own_names or _OWN.fullmatch(module.lower()))


def _find_unbound(tree: ast.Module, own_names: Collection[str]) -> dict[str, str]:
    """Return the names that a program lacks for want of a package, and the package of each.

    A statement that fails at module level is passed over when a program is loaded: an import, and then what needs
    it at once, such as `@njit def f(…)` or `LIMIT = np.inf`.
    """
    unbound = _find_imports(tree, own_names)
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        needed = sorted(
            unbound.keys() & {name for part in _run_at_once(statement) for name in find_read_names(part)}
        )
        if needed:
            is_definition = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            names = {statement.name} if is_definition else find_bound_names(statement)
            unbound |= dict.fromkeys(names, unbound[needed[0]])
    return unbound


def _run_at_once(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield what a statement evaluates when it is run: of a function what stands around its body."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from statement.decorator_list
            yield from statement.args.defaults
            yield from (default for default in statement.args.kw_defaults if default)
        case ast.ClassDef():
            yield from (*statement.decorator_list, *statement.bases)
            for inner in statement.body:
                yield from _run_at_once(inner)
        case _:
            yield statement
