"""Extraction from a response of a whole program without a known function name, or of a given function's body."""

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from itertools import takewhile

from basic_control.data.patterns import pattern
from basic_control.data.programs.code_blocks import BLOCKS_CAP, SOURCE_CAP, cut_answer, split_fences
from basic_control.data.programs.python_code import TAGS, find_python
from basic_control.data.programs.tree import FUNCTION, Parser, get_definition_worth, join_programs

CUTS = 20
"""Maximum number of paragraphs removed as prose from the end of an unfenced program."""
_WORKS = (ast.Call, ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign)
# A program that reads: `input()`, `sys.stdin`, `open(0)`.
_READS = pattern(r"\binput[ ]*\(|\bopen[ ]*\(0|\bstdin\b")
_SPEAKS = pattern(r"\b(?:input|print|open)[ ]*\(|\bstd(?:in|out)\b")
# A line with which a program may begin: `import os`, `n = int(input())`, `for x in y:`.
_BEGINS = pattern(
    r"^(?:import[ ]+\w|from[ ]+[\w.]+[ ]+import\b|(?:def|class)[ ]+\w|@\w|print[ ]*\(|(?:for|while|if|with|try)\b"
    r"[^\n]{0,200}:[ \t]*$|[A-Za-z_][\w, ]{0,80}=(?!=))",
    re.MULTILINE,
)
_ACTS = pattern(r"\b(?:return|yield|raise)\b|=|\(")


def _is_program(text: str, parser: Parser) -> bool:
    """Return whether a text is Python that does anything; a single word is valid Python too."""
    tree = parser.parse(text)
    return tree is not None and any(isinstance(node, _WORKS) for node in ast.walk(tree))


def find_script(reply: str) -> str | None:
    """Return the source of the whole program in a response; None if it holds no code.

    Among several fenced programs the last one that reads its input is taken, else the last one that prints.
    """
    text = cut_answer(reply)
    parser = Parser()
    blocks, outside = split_fences(text)
    blocks = blocks[-BLOCKS_CAP:]
    candidates: list[tuple[bool, bool, bool, int, str]] = []
    for n, block in enumerate(blocks):
        if block.tag not in TAGS:
            continue
        source = _find_program((block.text, *block.longer), parser)
        if source:
            speaks = (_READS.search(source) is not None, _SPEAKS.search(source) is not None)
            candidates.append((*speaks, bool(block.tag), n, source))
    if candidates:
        return max(candidates)[-1]
    unfenced = _find_program(_list_unfenced(outside), parser)
    if unfenced:
        return unfenced
    # Code that does not parse is still an answer, and a wrong one.
    broken = [block.text for block in blocks if block.tag and block.tag in TAGS and len(block.text) <= SOURCE_CAP]
    return broken[-1] if broken else None


def _find_program(texts: Iterable[str], parser: Parser) -> str:
    """Return the first of some texts that is a program; '' if none is."""
    return next((text for text in texts if _is_program(text, parser)), "")


def _list_unfenced(text: str) -> Iterator[str]:
    """Yield candidate programs of a text without fences, shorter and shorter."""
    begin = _BEGINS.search(text)
    if begin is None:
        return
    program = text[begin.start() :]
    for _ in range(CUTS):
        yield program
        program, cut, _ = program.rstrip().rpartition("\n\n")
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
    tree: ast.Module | None = None
    if program:
        tree = parser.parse(program)
    if program and tree and get_definition_worth(tree.body, function) is not None:
        return join_programs(find_code_before(head, function, parser), program)
    text = cut_answer(reply)
    bodies = [block.text for block in split_fences(text)[0][-2:]] or [text]
    for body in reversed(bodies):
        for source in _list_continued(head.rstrip(" \t"), body.strip("\n").rstrip()):
            continued = parser.parse(source)
            if continued and get_definition_worth(continued.body[-1:], function) == FUNCTION:  # more than a stub
                return source
    if not program:
        return None
    return join_programs(find_code_before(head, function, parser), program, _wrap_method(tree, function))


def _wrap_method(tree: ast.Module | None, function: str) -> str:
    """Return a function that calls the method of that name: `class Solution:`; '' without such a class."""
    if tree is None:
        return ""
    for node in reversed(tree.body):
        if isinstance(node, ast.ClassDef) and get_definition_worth(node.body, function) == FUNCTION:
            return f"def {function}(*args, **kwargs):\n    return {node.name}().{function}(*args, **kwargs)"
    return ""


def find_code_before(head: str, function: str, parser: Parser | None = None) -> str:
    """Return what stands before a function's signature at the end of a code: imports, helpers."""
    parser = parser or Parser()
    tree = parser.parse(f"{head.rstrip()}\n    pass\n") or parser.parse(head)
    if tree is None:
        return ""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "\n".join(head.split("\n")[: first - 1])
    return ""


def _list_continued(head: str, body: str) -> Iterator[str]:
    """Yield a head with a body, restoring the indentation of the body or of its first line."""
    if not _ACTS.search(body) or len(head) + len(body) > SOURCE_CAP:
        return
    start = head.removesuffix("\n") + "\n"
    indented = f"    {body.lstrip()}"
    yield start + body
    yield start + indented
    yield start + textwrap.indent(textwrap.dedent(body), "    ")
    # Prose after the body, which no indentation has.
    for text in (body, indented):
        first, *lines = text.split("\n")
        inner = takewhile(lambda line: not line.strip() or line[0].isspace(), lines)
        yield start + "\n".join([first, *inner])
