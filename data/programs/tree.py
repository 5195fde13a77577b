"""Analysis of Python syntax trees: what a program defines, what it lacks, and what completes it."""

import ast
import builtins
import re
import symtable
import warnings
from collections.abc import Iterable, Iterator, Sequence

from basic_control.data.patterns import pattern
from basic_control.data.programs.code_blocks import SOURCE_CAP

BUDGET, PIECES = 4 * SOURCE_CAP, 200
"""Maximum number of characters, and of pieces, parsed for one response."""
HELPERS = 4
"""Maximum depth of helpers of helpers."""
ENTITIES = frozenset({"lt", "gt", "amp", "quot"})
"""Names left behind only by HTML entities."""
FUNCTION, VALUE = 2, 1
"""What a name is bound to: a callable, or something that is probably not one."""
# A line that must be a program's first: `from __future__ import annotations`.
_FUTURE = pattern(r"^from[ ]+__future__[ ]+import[ ]+\w[\w, ]*$", re.MULTILINE)
_NAME = pattern(r"\w+")
_BUILTINS = frozenset(dir(builtins))


class Parser:
    """A parser with a budget, so that a response of ten thousand blocks costs little."""

    def __init__(self) -> None:
        self.characters = BUDGET
        self.pieces = PIECES

    def parse(self, source: str) -> ast.Module | None:
        """Return the syntax tree, or None if the source is invalid or the budget is spent."""
        if len(source) > min(SOURCE_CAP, self.characters) or not self.pieces or "\0" in source:
            return None
        self.characters -= len(source)
        self.pieces -= 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # do not print warnings about a model's odd escapes
                return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def complete_program(source: str, texts: Sequence[str], parser: Parser) -> str:
    """Return the program preceded by those other texts that define the names it lacks."""
    needed = find_missing_names(source) if texts else set()
    if not needed:
        return source
    helpers: dict[int, str] = {}
    trees: dict[int, ast.Module | None] = {}
    words = [frozenset(_NAME.findall(text)) for text in texts]  # a search for each name would be quadratic
    for _ in range(HELPERS):  # a helper may need a helper
        n_before = len(helpers)
        for n, text in enumerate(texts):
            if n in helpers or needed.isdisjoint(words[n]):
                continue
            # Parsing takes from the budget: only what names something that is needed is parsed, and once.
            if n not in trees:
                trees[n] = parser.parse(text)
            tree = trees[n]
            if tree and needed & list_bound_names(tree.body):
                helpers[n] = text
                needed |= find_missing_names(text)
        if len(helpers) == n_before:
            break
    if not helpers:
        return source
    program = join_programs(*(helpers[n] for n in sorted(helpers)), source)
    return program if len(program) <= SOURCE_CAP else source


def join_programs(*sources: str) -> str:
    """Join programs; imports from `__future__` must be first."""
    program = "\n\n".join(source for source in sources if source.strip())
    futures = dict.fromkeys(_FUTURE.findall(program))
    if not futures:
        return program
    return "\n".join([*futures, _FUTURE.sub("", program)])


def find_missing_names(source: str) -> set[str]:
    """Return the module-level names that a program reads, in any scope, but does not bind."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            waiting = [symtable.symtable(source, "<reply>", "exec")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    read: set[str] = set()
    bound: set[str] = set(_BUILTINS)
    while waiting:
        table = waiting.pop()
        for symbol in table.get_symbols():
            if table.get_type() != "module" and not symbol.is_global():
                continue
            if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace():
                bound.add(symbol.get_name())
            if symbol.is_referenced():
                read.add(symbol.get_name())
        waiting += table.get_children()
    return read - bound


def list_bound_names(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that module-level statements bind or fill."""
    names: set[str] = set()
    for node in _walk_statements(body):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Import() | ast.ImportFrom():
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            case ast.Assign():
                for target in node.targets:
                    names |= _list_names(target)
            case ast.AnnAssign() | ast.AugAssign():
                names |= _list_names(node.target)
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(owner)))):  # sys.setrecursionlimit, memo.update
                names.add(owner)
    return names


def _list_names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def get_definition_worth(body: Iterable[ast.stmt], name: str) -> int | None:
    """Return what module-level statements bind a name to: FUNCTION, VALUE (or a stub), or None for nothing."""
    return max((_rate_statement(node, name) for node in _walk_statements(body, loops=False)), default=0) or None


def _rate_statement(node: ast.stmt, name: str) -> int:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name == name:
            return VALUE if all(map(_says_nothing, node.body)) else FUNCTION
        case ast.ClassDef() if node.name == name:
            return VALUE
        case ast.Assign(targets, value):
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                return _rate_value(value, name)
        case ast.AnnAssign(ast.Name(target), _, ast.expr() as value) if target == name:
            return _rate_value(value, name)
    return 0


def _says_nothing(node: ast.stmt) -> bool:
    """Return whether a statement is part of a stub: a docstring, `...`, `pass`, `raise NotImplementedError`."""
    match node:
        case ast.Pass() | ast.Expr(ast.Constant()):
            return True
        case ast.Raise(ast.Name("NotImplementedError") | ast.Call(ast.Name("NotImplementedError"))):
            return True
    return False


def _rate_value(value: ast.expr, name: str) -> int:
    """Return FUNCTION for a value that is probably a callable, else VALUE."""
    match value:
        case ast.Lambda() | ast.Attribute() | ast.Call(ast.Attribute(ast.Name("functools")) | ast.Call()):
            return FUNCTION
        case ast.Name(alias):
            if alias != name:
                return FUNCTION
        case ast.Call(ast.Name(called), [ast.Name() | ast.Lambda() | ast.Attribute(), *_]):
            # partial(g, 1), cache(g); applied to the name itself, its earlier value
            return VALUE if called == name or called in _BUILTINS else FUNCTION
    return VALUE


def _walk_statements(body: Iterable[ast.stmt], *, loops: bool = True) -> Iterator[ast.stmt]:
    """Yield module-level statements, including those inside `if`, `for`, `try` and the like."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With) or (loops and isinstance(node, ast.For | ast.While)):
            waiting += node.body
        if isinstance(node, ast.If | ast.Try):
            waiting += node.orelse
        if isinstance(node, ast.Try):
            for handler in node.handlers:
                waiting += handler.body
