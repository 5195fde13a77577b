"""Find the Kotlin program in a response, or say that there is none.

As for Python: the last fenced block that declares the asked function, or the declarations around it in a text
with prose. Without a Kotlin parser, what is whole is judged by indentation and the compiler has the last word.
"""

import re
from collections.abc import Sequence

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

TAGS = frozenset({"", "kotlin", "kt", "kts"})
_MODIFIERS = (
    r"(?:(?:private|public|internal|inline|tailrec|operator|infix|suspend|data|sealed|enum|open|abstract|const|value)"
    r"[ ]+){0,4}"
)
_START = re.compile(rf"{_MODIFIERS}(?:fun|class|object|interface|val|var|typealias|import)\b|@\w")
_ANY_CODE = re.compile(rf"^[ \t]*{_MODIFIERS}(?:fun|class)[ ]+\w", re.MULTILINE)
_PACKAGE = re.compile(r"^[ \t]*package[ ]+[\w.]+[ \t]*;?[ \t]*$", re.MULTILINE)
_DECLARED = re.compile(r"\b(?:fun|class|object|interface|val|var|typealias)[ ]+(\w{1,80})")
_WORD = re.compile(r"\b[A-Za-z_]\w{0,80}\b")


def find_kotlin(reply: str, function: str) -> str | None:
    """Return the source of the program that a response answers with, without its `package` line; or None."""
    text = answer_part(reply)
    blocks, outside = fenced(text)
    declares = re.compile(rf"\bfun[ ]+(?:<[^>\n]{{1,100}}>[ ]*)?{function}[ ]*\(")
    small = [block for block in blocks[-BLOCKS_CAP:] if len(block.text) <= SOURCE_CAP and block.text.strip()]
    source = _declaring(small, outside, declares)
    if source is None:
        lines = [line for line in spans(text, declares.pattern.removeprefix(r"\b")) if "=" in line or "{" in line]
        source = lines[-1] if lines else _other_code(small)
    return None if source is None else _PACKAGE.sub("", source).strip("\n")[:SOURCE_CAP]


def _declaring(blocks: Sequence[Block], outside: str, declares: re.Pattern[str]) -> str | None:
    for block in reversed(blocks):
        if declares.search(block.text):
            source = block.text if block.closed else _from_prose(block.text, declares) or block.text
            return _completed(source, [b.text for b in blocks if b is not block and b.tag in TAGS])
    return _from_prose(outside, declares)


def _from_prose(text: str, declares: re.Pattern[str]) -> str | None:
    """Return the declarations of a text, at the indentation of the function's own."""
    text = text[-2 * SOURCE_CAP :]
    found = list(declares.finditer(text))
    if not found:
        return None
    line = text[text.rfind("\n", 0, found[-1].start()) + 1 : found[-1].end()]
    pieces = [code for _, code in chunks(text, indentation(line), _START)]
    own = [code for code in pieces if declares.search(code)]
    if not own:
        return None
    others = [code for code in pieces if not declares.search(code)]
    imports = [code for code in others if code.startswith("import")]
    return "\n".join([*imports, _completed(own[-1], [code for code in others if code not in imports])])


def _completed(source: str, others: Sequence[str]) -> str:
    """Return the program with those other pieces that declare what it mentions and does not declare."""
    missing = set(_WORD.findall(source)) - set(_DECLARED.findall(source))
    added = [text for text in others if missing & set(_DECLARED.findall(text[:SOURCE_CAP]))]
    imports = [line for text in added for line in text.split("\n") if line.startswith("import ")]
    rest = ["\n".join(line for line in text.split("\n") if not line.startswith("import ")) for text in added]
    joined = "\n".join([*imports, source, *rest])
    return joined if added and len(joined) <= SOURCE_CAP else source


def _other_code(blocks: Sequence[Block]) -> str | None:
    """Return code that does not declare the function: an answer all the same, and a wrong one."""
    for block in reversed(blocks):
        if block.tag in TAGS and (block.tag or _ANY_CODE.search(block.text)):
            return block.text
    return None
