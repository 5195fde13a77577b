"""Extraction from a response of a whole program without a known function name, or of a given function's body."""

import ast
import re
import textwrap
from collections.abc import Iterator

from basic_control.data.patterns import pattern
from basic_control.data.programs.python import TAGS, find_python
from basic_control.data.programs.text import BLOCKS_CAP, SOURCE_CAP, answer_part, fenced
from basic_control.data.programs.tree import FUNCTION, Parser, defines, joined

CUTS = 20
"""Maximum number of paragraphs removed as prose from the end of an unfenced program."""
_WORKS = (ast.Call, ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign)
_READS = pattern(r"\binput[ ]*\(|\bopen[ ]*\(0|\bstdin\b")
_SPEAKS = pattern(r"\b(?:input|print|open)[ ]*\(|\bstd(?:in|out)\b")
_BEGINS = pattern(
    r"^(?:import[ ]+\w|from[ ]+[\w.]+[ ]+import\b|(?:def|class)[ ]+\w|@\w|print[ ]*\(|(?:for|while|if|with|try)\b"
    r"[^\n]{0,200}:[ \t]*$|[A-Za-z_][\w, ]{0,80}=(?!=))",
    re.MULTILINE,
)
_ACTS = pattern(r"\b(?:return|yield|raise)\b|=|\(")


def _program(text: str, parser: Parser) -> bool:
    """Return whether a text is Python that does anything; a single word is valid Python too."""
    tree = parser.parse(text)
    return tree is not None and any(isinstance(node, _WORKS) for node in ast.walk(tree))


def find_script(reply: str) -> str | None:
    """Return the source of the whole program in a response; None if it holds no code.

    Among several fenced programs the last one that reads its input is taken, else the last one that prints.
    """
    text = answer_part(reply)
    parser = Parser()
    blocks, outside = fenced(text)
    blocks = blocks[-BLOCKS_CAP:]
    found: list[tuple[bool, bool, bool, int, str]] = []
    for n, block in enumerate(blocks):
        texts = (block.text, *block.longer) if block.tag in TAGS else ()
        if source := next((text for text in texts if _program(text, parser)), ""):
            speaks = (_READS.search(source) is not None, _SPEAKS.search(source) is not None)
            found.append((*speaks, bool(block.tag), n, source))
    if found:
        return max(found)[-1]
    if unfenced := next((piece for piece in _unfenced(outside) if _program(piece, parser)), None):
        return unfenced
    broken = [block.text for block in blocks if block.tag and block.tag in TAGS and len(block.text) <= SOURCE_CAP]
    return broken[-1] if broken else None


def _unfenced(text: str) -> Iterator[str]:
    """Yield candidate programs of a text without fences, shorter and shorter."""
    if not (begins := _BEGINS.search(text)):
        return
    rest = text[begins.start() :]
    for _ in range(CUTS):
        yield rest
        rest, cut, _ = rest.rstrip().rpartition("\n\n")
        if not cut:
            return


def find_completion(reply: str, function: str, head: str) -> str | None:
    """Return the program of a response that defines a function, or that continues `head` with its body.

    Failing that, a class whose method has the function's name (`class Solution:`), with a function that calls it.

    `head` is code that ends with the function's signature, or its docstring: the code before the function (imports,
    helpers) belongs to the program either way.
    """
    program = find_python(reply, function)
    parser = Parser()
    tree = parser.parse(program) if program else None
    if program and tree and defines(tree.body, function) is not None:
        return joined(code_before(head, function, parser), program)
    text = answer_part(reply)
    bodies = [block.text for block in fenced(text)[0][-2:]] or [text]
    for body in reversed(bodies):
        for whole in _continued(head.rstrip(" \t"), body.strip("\n").rstrip()):
            continued = parser.parse(whole)
            if continued and defines(continued.body[-1:], function) == FUNCTION:  # more than a stub
                return whole
    return joined(code_before(head, function, parser), program, _by_method(tree, function)) if program else None


def _by_method(tree: ast.Module | None, function: str) -> str:
    """Return a function that calls the method of that name: `class Solution:`; '' without such a class."""
    for node in reversed(tree.body if tree else ()):
        if isinstance(node, ast.ClassDef) and defines(node.body, function) == FUNCTION:
            return f"def {function}(*args, **kwargs):\n    return {node.name}().{function}(*args, **kwargs)"
    return ""


def code_before(head: str, function: str, parser: Parser | None = None) -> str:
    """Return what stands before a function's signature at the end of a code: imports, helpers."""
    parser = parser or Parser()
    tree = parser.parse(f"{head.rstrip()}\n    pass\n") or parser.parse(head)
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            return "\n".join(head.split("\n")[: first - 1])
    return ""


def _continued(head: str, body: str) -> Iterator[str]:
    """Yield a head with a body, restoring the indentation of the body or of its first line."""
    if not _ACTS.search(body) or len(head) + len(body) > SOURCE_CAP:
        return
    start = head if head.endswith("\n") else f"{head}\n"
    bare = f"    {body.lstrip()}"
    yield start + body
    yield start + bare
    yield start + textwrap.indent(textwrap.dedent(body), "    ")
    for text in (body, bare):
        first, *lines = text.split("\n")
        end = next((n for n, line in enumerate(lines) if line.strip() and not line[0].isspace()), len(lines))
        yield start + "\n".join([first, *lines[:end]])
