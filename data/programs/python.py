"""Extraction of the Python program from a response, if there is one.

The program is the last fenced block that defines the asked function at module level, whatever the text says of it;
if no block does, the statements around the last definition in the text. Other pieces of the response join it only
if they define a name that it lacks. A method of a class is not the asked function, nor is a function of another
name: such code is still the model's answer, and fails when run.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from basic_control.data.patterns import pattern
from basic_control.data.programs.text import (
    BLOCKS_CAP,
    SOURCE_CAP,
    Block,
    answer_part,
    chunks,
    fenced,
    indentation,
    spans,
)
from basic_control.data.programs.tree import ENTITIES, FUNCTION, VALUE, Parser, completed, defines, missing
from basic_control.data.programs.wrapped import in_html, is_patch, repaired, unescaped, unwrapped, without_prompts

TAGS = frozenset({"", "python", "py", "python3", "py3", "pycon", "ipython", "ipython3", "sage"})
DEEP = 2
"""Maximum depth of wrappings removed."""
WRAPPED = 32
"""Maximum number of wrapped pieces tried per text."""
_NESTED = pattern(r"[ \t]*(?:async[ ]+def|def|class)\b[^\n]{0,300}:[ \t]*(?:#|$)")
_TAIL = pattern(r"(?:`{1,3}|</\w{1,20}>|\[/\w{1,20}\])$")
_START = pattern(
    r"(?:async[ ]+def|def|class)[ ]+\w"
    r"|import[ ]+\w|from[ ]+[\w.]+[ ]+import\b|@\w"
    r"|(?:if|for|while|try|with)\b[^\n]{0,300}:[ \t]*(?:#|$)"
    r"|[A-Za-z_]\w*(?:\.\w+|\[[^\]\n]{0,80}\]){0,3}[ ]*(?::[^=\n]{1,80})?[-+*/|&]{0,2}=(?!=)"
    r"|[A-Za-z_]\w*\.\w+\("
)
_ANY_CODE = pattern(r"^[ \t]*(?:async[ ]+def|def|class)[ ]+\w", re.MULTILINE)


class _Found(NamedTuple):
    """A program, how it defines the function (see `data.programs.tree.defines`), and its position."""

    source: str
    worth: int
    place: int = 0


def _best(found: Iterable[_Found | None]) -> _Found | None:
    """Return the first of the best; stop at one that defines a function."""
    best: _Found | None = None
    for one in found:
        if one and (best is None or one.worth > best.worth):
            best = one
            if one.worth == FUNCTION:
                break
    return best


class _Finder:
    def __init__(self, function: str) -> None:
        self.function = function
        self.parser = Parser()
        self.heads = (rf"(?:async[ ]+)?def[ ]+{function}[ ]*[(\[]", rf"{function}[ ]*(?::[^=\n]{{1,80}})?=(?!=)")

    def search(self, text: str, deep: int = DEEP) -> _Found | None:
        """Return the best program of a text, the last of equals."""
        blocks, outside = fenced(text)
        texts = [block.text for block in blocks[-BLOCKS_CAP:]]
        found = self._best_block(blocks[-BLOCKS_CAP:], deep)
        if found is None or found.worth < FUNCTION:
            prose = self._from_outside(outside, deep)
            if prose and (found is None or prose.worth > found.worth):
                return _Found(completed(prose.source, texts, self.parser), prose.worth)
        return found

    def _best_block(self, blocks: Sequence[Block], deep: int) -> _Found | None:
        last_first = [n for n in reversed(range(len(blocks))) if self.function in blocks[n].text]
        tried = ((n, self._from_block(blocks[n], deep)) for n in last_first)
        best = _best(found and found._replace(place=n) for n, found in tried)
        if best is None:
            return None
        others = [block.text for n, block in enumerate(blocks) if n != best.place]
        return _Found(completed(best.source, others, self.parser), best.worth)

    def _from_block(self, block: Block, deep: int) -> _Found | None:
        """Return the program of a block that defines the function, whole if it parses as a whole."""
        if is_patch(block.text):
            return self._from_pieces(block.text, deep)
        for text in (block.text, *block.longer):
            if found := self._whole(without_prompts(text, self.function)):
                return found
            if self.parser.parse(text):
                return self._from_pieces(text, deep)
        fences = "```" in block.text or "~~~" in block.text
        nested = self.search(block.text, deep - 1) if deep and fences else None
        return nested or self._from_pieces(block.text, deep) or self._from_prose(block.text)

    def _from_outside(self, text: str, deep: int) -> _Found | None:
        if self.function not in text:
            return None
        if in_html(text, self.function) or is_patch(text):
            return self._from_pieces(text, deep) or self._from_prose(text)
        return self._from_prose(text) or self._from_pieces(text, deep)

    def _from_pieces(self, text: str, deep: int) -> _Found | None:
        """Return the last of the best programs among a text's wrapped pieces."""
        pieces = islice(unwrapped(text, self.function), WRAPPED) if deep else ()
        tried = (self._whole(piece) or self.search(piece, deep - 1) for piece in pieces)
        found = [one for one in tried if one]
        return max(reversed(found), key=lambda one: one.worth, default=None)

    def _whole(self, text: str) -> _Found | None:
        """Return a text that is one program, possibly after removing additions of a page or a notebook."""
        for source in (text, *repaired(text)):
            if tree := self.parser.parse(source):
                if (level := defines(tree.body, self.function)) is None:
                    return None
                escaped = not missing(source).isdisjoint(ENTITIES)  # `a &lt; b` is valid Python, but meaningless
                return _Found(unescaped(source) if escaped else source, level)
        return None

    def _from_prose(self, text: str) -> _Found | None:
        """Return the function's definition from a text with prose, with the statements around it that it needs."""
        text = without_prompts(text[-2 * SOURCE_CAP :], self.function)

        def tried() -> Iterator[_Found | None]:
            for head in self.heads:
                starts = [found.start() for found in re.finditer(rf"^[ \t]*{head}", text, re.MULTILINE)]
                indents = (indentation(text[start : start + 200]) for start in reversed(starts[-8:]))
                yield from (self._at_indent(text, indent, head) for indent in dict.fromkeys(indents))

        return _best(tried())

    def _at_indent(self, text: str, indent: str, head: str) -> _Found | None:
        """Return the best definition among the statements at an indentation; only a callable can be assigned."""
        lines, begins = text.split("\n"), re.compile(rf"^{head}", re.MULTILINE)
        pieces = list(chunks(text, indent, _START, "#"))
        defining = [n for n, (_, code) in enumerate(pieces) if begins.search(code)]
        least = VALUE if head == self.heads[0] else FUNCTION

        def tried() -> Iterator[_Found]:
            for n in reversed(defining[-8:]):
                # Add following pieces until it parses: the definition may contain a long string, say.
                ends = range(n + 1, min(n + 4, len(pieces) + 1))
                wholes = (self._whole("\n".join(code for _, code in pieces[n:end])) for end in ends)
                found = next((one for one in wholes if one), None)
                if found and found.worth >= least and not _nested(lines, pieces[n][0], indent):
                    yield found

        found = _best(tried())
        others = [code for n, (_, code) in enumerate(pieces) if n not in defining]
        return found and _Found(completed(found.source, others, self.parser), found.worth)

    def amid_line(self, text: str) -> str | None:
        """Return a definition that begins within a line, after a label or a mark."""
        inner = re.compile(rf"(?<=[^\s\w])[ ]?(?=(?:async[ ]+)?{self.heads[0]})")
        for found in list(inner.finditer(text))[: -8 - 1 : -1]:
            for _, code in islice(chunks(text[found.end() : found.end() + SOURCE_CAP], "", _START, "#"), 1):
                if whole := self._whole(_TAIL.sub("", code.rstrip())):
                    return whole.source
        return None


def _nested(lines: Sequence[str], place: int, indent: str) -> bool:
    above = (line for line in reversed(lines[:place]) if line.strip() and len(indentation(line)) < len(indent))
    return bool(indent) and _NESTED.match(next(above, "")) is not None


def find_python(reply: str, function: str) -> str | None:
    """Return the source of the program in a response; None if it holds no code."""
    text = answer_part(reply)
    finder = _Finder(function)
    if found := finder.search(text):
        return found.source
    for source in reversed(spans(text, rf"(?:async[ ]+)?def[ ]+{function}[ ]*\(")[-BLOCKS_CAP:]):
        if finder.parser.parse(source):
            return source
    blocks, outside = fenced(text)
    if found_amid := finder.amid_line(outside):
        return found_amid
    return _other_code(blocks, outside, re.compile(rf"^[ \t]*{finder.heads[0]}", re.MULTILINE))


def _other_code(blocks: Sequence[Block], outside: str, definition: re.Pattern[str]) -> str | None:
    """Return code that does not define the function, or is broken: it is still an answer, and a wrong one."""
    small = [block for block in blocks if len(block.text) <= SOURCE_CAP and block.text.strip()]
    for wanted in (definition, _ANY_CODE):
        for block in reversed(small):
            if (wanted is definition or block.tag in TAGS) and wanted.search(block.text):
                return block.text
        if (found := wanted.search(outside)) and outside[found.end() :].strip():
            return outside[found.start() :][:SOURCE_CAP]
    tagged = [block.text for block in small if block.tag and block.tag in TAGS]
    return tagged[-1] if tagged else None
