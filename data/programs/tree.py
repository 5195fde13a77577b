"""Analysis of Python syntax trees: what a program defines, what it lacks, and what completes it."""

import ast
import builtins
import re
import symtable
import warnings
from collections.abc import Iterable, Iterator, Sequence

from basic_control.data.patterns import pattern
from basic_control.data.programs.text import SOURCE_CAP

BUDGET, PIECES = 4 * SOURCE_CAP, 200
"""Maximum number of characters, and of pieces, parsed for one response."""
HELPERS = 4
"""Maximum depth of helpers of helpers."""
ENTITIES = frozenset({"lt", "gt", "amp", "quot"})
"""Names left behind only by HTML entities."""
FUNCTION, VALUE = 2, 1
"""What a name is bound to: a callable, or something that is probably not one."""
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


def completed(source: str, others: Sequence[str], parser: Parser) -> str:
    """Return the program preceded by those other pieces that define the names it lacks."""
    needed = missing(source) if others else set()
    if not needed:
        return source
    found: dict[int, str] = {}
    trees: dict[int, ast.Module | None] = {}
    spelled = [frozenset(_NAME.findall(text)) for text in others]  # a search for each name would be quadratic
    for _ in range(HELPERS):  # a helper may need a helper
        before = len(found)
        for n, text in enumerate(others):
            if n in found or needed.isdisjoint(spelled[n]):
                continue
            if n not in trees:
                trees[n] = parser.parse(text)
            other = trees[n]
            if other and needed & names_bound(other.body):
                found[n] = text
                needed |= missing(text)
        if len(found) == before:
            break
    whole = joined(*(found[n] for n in sorted(found)), source) if found else source
    return whole if len(whole) <= SOURCE_CAP else source


def joined(*sources: str) -> str:
    """Join programs; imports from `__future__` must be first."""
    whole = "\n\n".join(source for source in sources if source.strip())
    futures = dict.fromkeys(_FUTURE.findall(whole))
    return "\n".join([*futures, _FUTURE.sub("", whole)]) if futures else whole


def missing(source: str) -> set[str]:
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


def names_bound(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that module-level statements bind or fill."""
    names: set[str] = set()
    for node in _statements(body):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Import() | ast.ImportFrom():
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            case ast.Assign():
                names |= {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            case ast.AnnAssign() | ast.AugAssign():
                names |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(owner)))):  # sys.setrecursionlimit, memo.update
                names.add(owner)
    return names


def defines(body: Iterable[ast.stmt], name: str) -> int | None:
    """Return what module-level statements bind a name to: FUNCTION, VALUE (or a stub), or None for nothing."""
    return max((_level(node, name) for node in _statements(body, loops=False)), default=0) or None


def _level(node: ast.stmt, name: str) -> int:
    match node:
        case ast.FunctionDef(name=own) | ast.AsyncFunctionDef(name=own) if own == name:
            return VALUE if all(map(_says_nothing, node.body)) else FUNCTION
        case ast.ClassDef(name=own) if own == name:
            return VALUE
        case ast.Assign(targets, value) if any(isinstance(t, ast.Name) and t.id == name for t in targets):
            return _callable(value, name)
        case ast.AnnAssign(ast.Name(own), _, ast.expr() as value) if own == name:
            return _callable(value, name)
    return 0


def _says_nothing(node: ast.stmt) -> bool:
    """Return whether a statement is part of a stub: a docstring, `...`, `pass`, `raise NotImplementedError`."""
    match node:
        case ast.Pass() | ast.Expr(ast.Constant()):
            return True
        case ast.Raise(ast.Name("NotImplementedError") | ast.Call(ast.Name("NotImplementedError"))):
            return True
    return False


def _callable(value: ast.expr, name: str) -> int:
    match value:
        case ast.Lambda() | ast.Attribute() | ast.Call(ast.Attribute(ast.Name("functools")) | ast.Call()):
            return FUNCTION
        case ast.Name(other):
            return FUNCTION if other != name else VALUE
        case ast.Call(ast.Name(called), [ast.Name() | ast.Lambda() | ast.Attribute(), *_]):
            # partial(g, 1), cache(g); applied to the name itself, its earlier value
            return VALUE if called == name or called in _BUILTINS else FUNCTION
    return VALUE


def _statements(body: Iterable[ast.stmt], *, loops: bool = True) -> Iterator[ast.stmt]:
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
            waiting += [inner for handler in node.handlers for inner in handler.body]
