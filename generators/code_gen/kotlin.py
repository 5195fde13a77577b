"""Find the Kotlin program in a response, if there is one.

As for Python: the last fenced block that declares the requested function, or the declarations around it in a text
with prose. Without a Kotlin parser, indentation decides what is complete and the compiler has the last word.
"""

import re
from collections.abc import Sequence
from itertools import islice

from basic_control.data.patterns import pattern
from basic_control.data.programs.text import (
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
_START = pattern(rf"{_MODIFIERS}(?:fun|class|object|interface|val|var|typealias|import)\b|@\w")
_ANY_CODE = pattern(rf"^[ \t]*{_MODIFIERS}(?:fun|class)[ ]+\w", re.MULTILINE)
_PACKAGE = pattern(r"^[ \t]*package[ ]+[\w.`]+[ \t]*;?[ \t]*(?://[^\n]*|/\*[^\n*]{0,200}\*/[ \t]*)?$", re.MULTILINE)
_FILE = pattern(r"^[ \t]*@file:[^\n]*\n?", re.MULTILINE)
_DECLARED = pattern(r"\b(?:fun|class|object|interface|val|var|typealias)[ ]+(\w{1,80})")
_WORD = pattern(r"\b[A-Za-z_]\w{0,80}\b")
_BODY = pattern(r"(?:[^{}=\n]|\n(?!\s*\n)){0,400}(?:=|\{)\s*(?!TODO\(|\}|\s)")
_STATEMENT = pattern(r"(?:print|println|assert\w*|check\w*|require\w*|repeat|for|while|if|try|when)\b[ ]*[({]")
_OPEN_ENDS = ("=", "else", "->", "&&", "||", "?:", "return", ",", "+")
_BRACES = pattern(
    r'"(?:[^"\\\n]|\\[^\n]){0,300}+"|' r"'(?:[^'\\\n]|\\[^\n]){1,8}+'|//[^\n]*+|([{(\[])|([})\]])"
)  # fmt: skip


def find_kotlin(reply: str, function: str) -> str | None:
    """Return the source of a response's program, without its `package` line; or None."""
    text = cut_answer(reply)
    declares = re.compile(rf"\bfun[ ]+(?:<[^>\n]{{1,100}}>[ ]*)?{function}[ ]*\(")
    source = _search(text, declares, function)
    if source is None:
        lines = [
            line for line in find_spans(text, declares.pattern.removeprefix(r"\b")) if "=" in line or "{" in line
        ]
        lines = lines or [one.text for one in split_fences(text)[0][-BLOCKS_CAP:] if _is_code(one)]
        if not lines:
            return None
        source = lines[-1]
    source = _PACKAGE.sub("", _declarations(source))
    if heads := "".join(line.strip() + "\n" for line in _FILE.findall(source)):  # they are only valid at the top
        source = heads + _FILE.sub("", source)
    return source.strip("\n")[:SOURCE_CAP]


def _search(text: str, declares: re.Pattern[str], function: str, deep: int = DEEP) -> str | None:
    """Return the last program in a text."""
    blocks, outside = split_fences(text)
    blocks = [block for block in blocks[-BLOCKS_CAP:] if len(block.text) <= SOURCE_CAP and block.text.strip()]
    for block in reversed(blocks):
        if function in block.text and (source := _from_block(block, declares, function, deep)):
            return _completed(source, [one.text for one in blocks if one is not block and one.tag in TAGS])
    if function not in outside:
        return None
    wrapped = in_html(outside, function) or outside.lstrip()[:1] in {"{", "["} or is_patch(outside)
    prose = None if wrapped else _from_prose(outside, declares)
    return prose or _from_pieces(outside, declares, function, deep)


def _from_block(block: Block, declares: re.Pattern[str], function: str, deep: int) -> str | None:
    text = without_prompts(block.text, function)
    if in_html(text, function) or text.lstrip()[:1] in {"{", "["} or is_patch(text):
        return _from_pieces(text, declares, function, deep)
    if deep and re.search("^[ \t]*(?:```|~~~)", text, re.MULTILINE):
        return _search(text, declares, function, deep - 1)
    if not any(_BODY.match(text, found.end()) for found in declares.finditer(text)):
        return None
    return text if block.closed else _from_prose(text, declares) or text


def _from_pieces(text: str, declares: re.Pattern[str], function: str, deep: int) -> str | None:
    """Return the last program in the wrapped pieces of a text."""
    pieces = list(islice(unwrap(text, function), WRAPPED)) if deep else []
    for piece in reversed(pieces):
        if "```" not in piece and declares.search(piece):
            return piece
        if found := _search(piece, declares, function, deep - 1):
            return found
    return None


def _from_prose(text: str, declares: re.Pattern[str]) -> str | None:
    """Return a text's declarations at the indentation of the function's own."""
    text = text[-2 * SOURCE_CAP :]
    found = list(declares.finditer(text))
    if not found:
        return None
    line = text[text.rfind("\n", 0, found[-1].start()) + 1 : found[-1].end()]
    pieces = [code for _, code in split_chunks(text, read_indentation(line), _START, "//")]
    own = [code for code in pieces if declares.search(code)]
    if not own:
        return None
    others = [code for code in pieces if not declares.search(code)]
    heads = [code for first in ("@file:", "import") for code in others if code.startswith(first)]
    rest = [code for code in others if not code.startswith(("@file:", "import"))]
    return "\n".join([*heads, _completed(own[-1], rest)])


def _completed(source: str, others: Sequence[str]) -> str:
    """Return the program with the other pieces that declare names it uses but does not declare."""
    missing = set(_WORD.findall(source)) - set(_DECLARED.findall(source))
    added = [text for text in others if missing & set(_DECLARED.findall(text[:SOURCE_CAP]))]
    imports = [line for text in added for line in text.split("\n") if line.startswith("import ")]
    rest = ["\n".join(line for line in text.split("\n") if not line.startswith("import ")) for text in added]
    joined = "\n".join([*imports, source, *rest])
    return joined if added and len(joined) <= SOURCE_CAP else source


def _declarations(source: str) -> str:
    """Return a program without the statements that demonstrate it: only a script may have those."""
    kept: list[str] = []
    depth, skips, goes_on = 0, False, False
    for line in source.split("\n"):
        if depth <= 0 and line.strip():
            skips = _STATEMENT.match(line) is not None and not goes_on
        goes_on = line.rstrip().endswith(_OPEN_ENDS) or (goes_on and not line.strip())
        depth += sum(bool(mark[1]) - bool(mark[2]) for mark in _BRACES.finditer(line))
        if not skips:
            kept.append(line)
    return "\n".join(kept)


def _is_code(block: Block) -> bool:
    """Return whether a block is code: code without the function is a wrong answer, but still an answer."""
    small = len(block.text) <= SOURCE_CAP and block.text.strip() != ""
    return small and block.tag in TAGS and (block.tag != "" or _ANY_CODE.search(block.text) is not None)
