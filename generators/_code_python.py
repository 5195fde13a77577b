"""Find the Python program in a response, or say that there is none.

The program is the last piece of code that defines the asked function at module level: a fenced block as it
stands, or, where prose is mixed in, the statements around the definition. Other pieces of the response join it
only where they define a name that it misses. A method of a class is not the asked function, and a function of
another name is not either: such code is still what the model answered, and fails when it is run.
"""

import ast
import builtins
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence

from generators._code_text import (
    BLOCKS_CAP,
    SOURCE_CAP,
    Block,
    answer_part,
    chunks,
    fenced,
    indentation,
    spans,
)

TAGS = frozenset({"", "python", "py", "python3", "py3", "pycon", "ipython", "ipython3", "sage"})
BUDGET = 4 * SOURCE_CAP
"""Characters that are parsed for one response."""

PIECES = 200
"""Pieces that are parsed for one response."""

HELPERS = 4
"""Helpers of helpers that are looked for."""

_START = re.compile(
    r"(?:async[ ]+def|def|class)[ ]+\w"
    r"|import[ ]+\w|from[ ]+[\w.]+[ ]+import\b|@\w"
    r"|[A-Za-z_]\w*[ ]*(?::[^=\n]{1,80})?=(?!=)"
)
_ANY_CODE = re.compile(r"^[ \t]*(?:async[ ]+def|def|class)[ ]+\w", re.MULTILINE)
_FUTURE = re.compile(r"^from[ ]+__future__[ ]+import[ ]+\w[\w, ]*$", re.MULTILINE)
_NAME = re.compile(r"\w+")
_BUILTINS = frozenset(dir(builtins))


class _Parser:
    """Parse within a budget, so that a response of ten thousand blocks costs little."""

    def __init__(self) -> None:
        self.characters = BUDGET
        self.pieces = PIECES

    def parse(self, source: str) -> ast.Module | None:
        """Return the syntax tree, or None where there is none or the budget is spent."""
        if len(source) > min(SOURCE_CAP, self.characters) or not self.pieces or "\0" in source:
            return None
        self.characters -= len(source)
        self.pieces -= 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a model's odd escapes are not ours to print
                return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def find_python(reply: str, function: str) -> str | None:
    """Return the source of the program that a response answers with; None where it holds no code."""
    text = answer_part(reply)
    blocks, outside = fenced(text)
    parser = _Parser()
    candidates = [block for block in blocks[-BLOCKS_CAP:] if function in block.text]
    for block in reversed(candidates):
        if source := _from_block(block, function, parser):
            return _completed(source, [b.text for b in blocks[-BLOCKS_CAP:] if b is not block], parser)
    if function in outside and (source := _from_prose(outside, function, parser)):
        return _completed(source, [b.text for b in blocks[-BLOCKS_CAP:]], parser)
    for source in reversed(spans(text, rf"(?:async[ ]+)?def[ ]+{function}[ ]*\(")[-BLOCKS_CAP:]):
        if parser.parse(source):
            return source
    return _other_code(blocks, outside, function)


def _from_block(block: Block, function: str, parser: _Parser) -> str | None:
    """Return the program of a block that defines the function, whole if it can be parsed whole."""
    for text in (block.text, *block.longer):
        source = _without_prompts(text, function)
        tree = parser.parse(source)
        if tree and function in _defined(tree.body):
            return source
        if tree:
            return None
    return _from_prose(block.text, function, parser)


def _without_prompts(text: str, function: str) -> str:
    """Return the statements of an interactive session, where the function is defined in one."""
    if not re.search(rf"^[ \t]*>>>[ ](?:async[ ]+)?def[ ]+{function}\b", text, re.MULTILINE):
        return text
    lines = [line.strip("\n").lstrip() for line in text.split("\n")]
    return "\n".join(line[4:] for line in lines if line.startswith((">>> ", "... ")) or line in {">>>", "..."})


def _from_prose(text: str, function: str, parser: _Parser) -> str | None:
    """Return the function's definition out of a text with prose, with the statements around that it needs."""
    text = _without_prompts(text[-2 * SOURCE_CAP :], function)
    definition = re.compile(
        rf"^[ \t]*(?:(?:async[ ]+)?def[ ]+{function}[ ]*\(|{function}[ ]*(?::[^=\n]{{1,80}})?=)",
        re.MULTILINE,
    )
    starts = [found.start() for found in definition.finditer(text)]
    for indent in dict.fromkeys(indentation(text[start : start + 200]) for start in reversed(starts[-8:])):
        pieces = list(chunks(text, indent, _START))
        defining = [n for n, (_, code) in enumerate(pieces) if definition.search(code)]
        for n in reversed(defining[-8:]):
            if source := _first_parsed(pieces, n, function, parser):
                others = [code for m, (_, code) in enumerate(pieces) if m != n and m not in defining]
                return _completed(source, others, parser)
    return None


def _first_parsed(pieces: Sequence[tuple[int, str]], n: int, function: str, parser: _Parser) -> str | None:
    """Return the definition with as many of the pieces after it as it takes to parse (a long string, say)."""
    for end in range(n + 1, min(n + 4, len(pieces) + 1)):
        source = "\n".join(code for _, code in pieces[n:end])
        tree = parser.parse(source)
        if tree:
            return source if function in _defined(tree.body) else None
    return None


def _completed(source: str, others: Sequence[str], parser: _Parser) -> str:
    """Return the program with those other pieces before it that define what it misses."""
    tree = parser.parse(source)
    missing = _missing(tree) if tree else set()
    if not missing:
        return source
    found: dict[int, str] = {}
    trees: dict[int, ast.Module | None] = {}
    spelled = [frozenset(_NAME.findall(text)) for text in others]  # a search for each name would be quadratic
    for _ in range(HELPERS):  # a helper may need a helper
        before = len(found)
        for n, text in enumerate(others):
            if n in found or missing.isdisjoint(spelled[n]):
                continue
            if n not in trees:
                trees[n] = parser.parse(text)
            other = trees[n]
            if other and missing & _bound(other.body):
                found[n] = text
                missing |= _missing(other)
        if len(found) == before:
            break
    joined = "\n\n".join([*(found[n] for n in sorted(found)), source])
    if found and (futures := dict.fromkeys(_FUTURE.findall(joined))):  # they may only stand first
        joined = "\n".join([*futures, _FUTURE.sub("", joined)])
    return joined if len(joined) <= SOURCE_CAP else source


def _missing(tree: ast.Module) -> set[str]:
    """Return the names that a program reads and nowhere binds."""
    read: set[str] = set()
    bound: set[str] = set(_BUILTINS)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            bound.add(node.name)
    return read - bound


def _bound(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that module-level statements bind."""
    return _defined(body) | {
        (alias.asname or alias.name).partition(".")[0]
        for node in _statements(body)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def _defined(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that module-level statements define; an import is no definition of one's own."""
    names: set[str] = set()
    for node in _statements(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield module-level statements, those under `if`, `try` and `with` included."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            waiting += node.body
        if isinstance(node, ast.If | ast.Try):
            waiting += node.orelse
        if isinstance(node, ast.Try):
            waiting += [inner for handler in node.handlers for inner in handler.body]


def _other_code(blocks: Sequence[Block], outside: str, function: str) -> str | None:
    """Return code that does not define the function, or is broken: an answer all the same, and a wrong one."""
    definition = re.compile(rf"^[ \t]*(?:async[ ]+)?def[ ]+{function}[ ]*\(", re.MULTILINE)
    small = [block for block in blocks if len(block.text) <= SOURCE_CAP and block.text.strip()]
    for wanted in (definition, _ANY_CODE):
        for block in reversed(small):
            if (wanted is definition or block.tag in TAGS) and wanted.search(block.text):
                return block.text
        if (found := wanted.search(outside)) and outside[found.end() :].strip():
            return outside[found.start() :][:SOURCE_CAP]
    tagged = [block.text for block in small if block.tag and block.tag in TAGS]
    return tagged[-1] if tagged else None
