"""Find the Kotlin program in a response, if there is one.

As for Python: the last fenced block that declares the requested function, or the declarations around it in a text
with prose. Without a Kotlin parser, indentation decides what is complete and the compiler has the last word.
"""

import re
from collections.abc import Sequence
from itertools import filterfalse, islice

from basic_control.data.patterns import pattern
from basic_control.data.programs.code_blocks import (
    BLOCKS_CAP,
    SOURCE_CAP,
    Block,
    cut_answer,
    find_spans,
    read_indentation,
    split_chunks,
    split_fences,
)
from basic_control.data.programs.wrapped import in_html, is_patch, unwrap, without_prompts

TAGS = frozenset({"", "kotlin", "kt", "kts"})
DEEP, WRAPPED = 2, 32  # nesting levels of wrappings to unwrap, and wrapped pieces of one text to try

_MODIFIERS = (
    r"(?:(?:private|public|internal|inline|tailrec|operator|infix|suspend|data|sealed|enum|open|abstract|const|value)"
    r"[ ]+){0,4}"
)
# The first word of a declaration: "private fun", "@Test"
_START = pattern(rf"{_MODIFIERS}(?:fun|class|object|interface|val|var|typealias|import)\b|@\w")
# A line that declares a function or a class: "  fun f"
_ANY_CODE = pattern(rf"^[ \t]*{_MODIFIERS}(?:fun|class)[ ]+\w", re.MULTILINE)
# A line with a package: "package com.example"
_PACKAGE = pattern(r"^[ \t]*package[ ]+[\w.`]+[ \t]*;?[ \t]*(?://[^\n]*|/\*[^\n*]{0,200}\*/[ \t]*)?$", re.MULTILINE)
# An annotation of the file: "@file:Suppress(…)"
_FILE = pattern(r"^[ \t]*@file:[^\n]*\n?", re.MULTILINE)
# A declared name: "limit" of "val limit"
_DECLARED = pattern(r"\b(?:fun|class|object|interface|val|var|typealias)[ ]+(\w{1,80})")
# A name: "limit"
_WORD = pattern(r"\b[A-Za-z_]\w{0,80}\b")
# A parameter list with a body that is more than a placeholder: "(a: Int) = a"
_BODY = pattern(r"(?:[^{}=\n]|\n(?!\s*\n)){0,400}(?:=|\{)\s*(?!TODO\(|\}|\s)")
# A statement that only a script may have at its top: "println("
_STATEMENT = pattern(r"(?:print|println|assert\w*|check\w*|require\w*|repeat|for|while|if|try|when)\b[ ]*[({]")
_OPEN_ENDS = ("=", "else", "->", "&&", "||", "?:", "return", ",", "+")
# A line that imports: "import java.util.*"
_IMPORT = pattern("import ")
# A text or a comment, which is skipped, or a bracket: "{"
_BRACES = pattern(
    r'"(?:[^"\\\n]|\\[^\n]){0,300}+"|' r"'(?:[^'\\\n]|\\[^\n]){1,8}+'|//[^\n]*+|([{(\[])|([})\]])"
)  # fmt: skip


def find_kotlin(reply: str, function: str) -> str | None:
    """Return the source of a response's program, without its `package` line; or None."""
    text = cut_answer(reply)
    # The declaration: "fun <T> f("
    declares = re.compile(rf"\bfun[ ]+(?:<[^>\n]{{1,100}}>[ ]*)?{function}[ ]*\(")
    source = _search(text, declares, function)
    if source is None:
        lines = [
            line for line in find_spans(text, declares.pattern.removeprefix(r"\b")) if "=" in line or "{" in line
        ]
        lines = lines or [block.text for block in split_fences(text)[0][-BLOCKS_CAP:] if _is_code(block)]
        if not lines:
            return None
        source = lines[-1]
    source = _PACKAGE.sub("", _declarations(source))
    # Annotations of the file are only valid at its top.
    heads = map(str.strip, _FILE.findall(source))
    source = "\n".join([*heads, _FILE.sub("", source)])
    return source.strip("\n")[:SOURCE_CAP]


def _search(text: str, declares: re.Pattern[str], function: str, deep: int = DEEP) -> str | None:
    """Return the last program in a text."""
    blocks, outside = split_fences(text)
    blocks = [block for block in blocks[-BLOCKS_CAP:] if len(block.text) <= SOURCE_CAP and block.text.strip()]
    for block in reversed(blocks):
        source = _from_block(block, declares, function, deep) if function in block.text else None
        if source:
            return _complete(source, [piece.text for piece in blocks if piece is not block and piece.tag in TAGS])
    if function not in outside:
        return None
    prose = None
    if not _is_wrapped(outside, function):
        prose = _from_prose(outside, declares)
    return prose or _from_pieces(outside, declares, function, deep)


def _is_wrapped(text: str, function: str) -> bool:
    """Return whether a text is HTML, JSON or a patch, which may have a program inside."""
    return in_html(text, function) or text.lstrip()[:1] in {"{", "["} or is_patch(text)


def _from_block(block: Block, declares: re.Pattern[str], function: str, deep: int) -> str | None:
    text = without_prompts(block.text, function)
    if _is_wrapped(text, function):
        return _from_pieces(text, declares, function, deep)
    if deep and re.search("^[ \t]*(?:```|~~~)", text, re.MULTILINE):
        return _search(text, declares, function, deep - 1)
    if not any(_BODY.match(text, declaration.end()) for declaration in declares.finditer(text)):
        return None
    if block.closed:
        return text
    return _from_prose(text, declares) or text


def _from_pieces(text: str, declares: re.Pattern[str], function: str, deep: int) -> str | None:
    """Return the last program in the wrapped pieces of a text."""
    if not deep:
        return None
    for piece in reversed([*islice(unwrap(text, function), WRAPPED)]):
        if "```" not in piece and declares.search(piece):
            return piece
        source = _search(piece, declares, function, deep - 1)
        if source:
            return source
    return None


def _from_prose(text: str, declares: re.Pattern[str]) -> str | None:
    """Return a text's declarations at the indentation of the function's own."""
    text = text[-2 * SOURCE_CAP :]
    declarations = list(declares.finditer(text))
    if not declarations:
        return None
    start = text.rfind("\n", 0, declarations[-1].start()) + 1
    pieces = [
        code for _, code in split_chunks(text, read_indentation(text[start : declarations[-1].end()]), _START, "//")
    ]
    with_function = [*filter(declares.search, pieces)]
    if not with_function:
        return None
    helpers = [*filterfalse(declares.search, pieces)]
    # What stands at a file's top goes there, in the order that Kotlin wants.
    heads = sorted(filter(_is_head, helpers), key=_is_import)
    return "\n".join([*heads, _complete(with_function[-1], [*filterfalse(_is_head, helpers)])])


def _is_head(code: str) -> bool:
    return code.startswith(("@file:", "import"))


def _is_import(code: str) -> bool:
    return code.startswith("import")


def _complete(source: str, pieces: Sequence[str]) -> str:
    """Return the program with the other pieces that declare names it uses but does not declare."""
    missing = set(_WORD.findall(source)) - set(_DECLARED.findall(source))
    imports, bodies = list[str](), list[str]()
    for piece in pieces:
        if missing.isdisjoint(_DECLARED.findall(piece[:SOURCE_CAP])):
            continue
        lines = piece.split("\n")
        imports += filter(_IMPORT.match, lines)
        bodies.append("\n".join(filterfalse(_IMPORT.match, lines)))
    program = "\n".join([*imports, source, *bodies])
    return program if bodies and len(program) <= SOURCE_CAP else source


def _declarations(source: str) -> str:
    """Return a program without the statements that demonstrate it: only a script may have those."""
    lines: list[str] = []
    depth, skips, goes_on = 0, False, False
    for line in source.split("\n"):
        # Whether a line at the top begins a statement; the lines inside its braces go with it.
        if depth <= 0 and line.strip():
            skips = _STATEMENT.match(line) is not None and not goes_on
        goes_on = line.rstrip().endswith(_OPEN_ENDS) or (goes_on and not line.strip())
        depth += sum(bool(mark[1]) - bool(mark[2]) for mark in _BRACES.finditer(line))
        if not skips:
            lines.append(line)
    return "\n".join(lines)


def _is_code(block: Block) -> bool:
    """Return whether a block is code: code without the function is a wrong answer, but still an answer."""
    small = len(block.text) <= SOURCE_CAP and block.text.strip() != ""
    return small and block.tag in TAGS and (block.tag != "" or _ANY_CODE.search(block.text) is not None)
