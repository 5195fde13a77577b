"""Extraction of the Python program from a response, if there is one.

The program is the last fenced block that defines the asked function at module level, whatever the text says of it;
if no block does, the statements around the last definition in the text. Other pieces of the response join it only
if they define a name that it lacks. A method of a class is not the asked function, nor is a function of another
name: such code is still the model's answer, and fails when run.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

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
from basic_control.data.programs.tree import (
    ENTITIES,
    FUNCTION,
    VALUE,
    Parser,
    complete_program,
    find_missing_names,
    get_definition_worth,
)
from basic_control.data.programs.wrapped import (
    in_html,
    is_patch,
    list_repairs,
    resolve_entities,
    unwrap,
    without_prompts,
)

TAGS = frozenset({"", "python", "py", "python3", "py3", "pycon", "ipython", "ipython3", "sage"})
DEEP = 2
"""Maximum depth of wrappings removed."""
WRAPPED = 32
"""Maximum number of wrapped pieces tried per text."""
# The line of a definition inside which others may be: `class Solution:`
_DEFINITION = pattern(r"[ \t]*(?:async[ ]+def|def|class)\b[^\n]{0,300}:[ \t]*(?:#|$)")
# What may stand behind code on its line: a closing mark, tag or label.
_TAIL = pattern(r"(?:`{1,3}|</\w{1,20}>|\[/\w{1,20}\])$")
# A line with which a statement begins: `def f`, `import os`, `for x in y:`, `x = 1`, `sys.exit(`.
_START = pattern(
    r"(?:async[ ]+def|def|class)[ ]+\w"
    r"|import[ ]+\w|from[ ]+[\w.]+[ ]+import\b|@\w"
    r"|(?:if|for|while|try|with)\b[^\n]{0,300}:[ \t]*(?:#|$)"
    r"|[A-Za-z_]\w*(?:\.\w+|\[[^\]\n]{0,80}\]){0,3}[ ]*(?::[^=\n]{1,80})?[-+*/|&]{0,2}=(?!=)"
    r"|[A-Za-z_]\w*\.\w+\("
)
_ANY_CODE = pattern(r"^[ \t]*(?:async[ ]+def|def|class)[ ]+\w", re.MULTILINE)


class _Program(NamedTuple):
    """A program, how it defines the function (see `data.programs.tree.get_definition_worth`), and its position."""

    source: str
    worth: int
    position: int = 0


def _choose_program(programs: Iterable[_Program | None]) -> _Program | None:
    """Return the first of the best; stop at one that defines a function."""
    best: _Program | None = None
    for program in programs:
        if program and (best is None or program.worth > best.worth):
            best = program
            if program.worth == FUNCTION:
                break
    return best


class _Finder:
    def __init__(self, function: str) -> None:
        self.function = function
        self.parser = Parser()
        self.heads = (rf"(?:async[ ]+)?def[ ]+{function}[ ]*[(\[]", rf"{function}[ ]*(?::[^=\n]{{1,80}})?=(?!=)")

    def search(self, text: str, deep: int = DEEP) -> _Program | None:
        """Return the best program of a text, the last of equals."""
        blocks, outside = split_fences(text)
        texts = [block.text for block in blocks[-BLOCKS_CAP:]]
        program = self._choose_from_blocks(blocks[-BLOCKS_CAP:], deep)
        if program is None or program.worth < FUNCTION:
            outer = self._choose_from_outside(outside, deep)
            if outer and (program is None or outer.worth > program.worth):
                return _Program(complete_program(outer.source, texts, self.parser), outer.worth)
        return program

    def _choose_from_blocks(self, blocks: Sequence[Block], deep: int) -> _Program | None:
        """Return the best program of the blocks, completed by the other blocks."""
        best = _choose_program(self._list_programs(blocks, deep))
        if best is None:
            return None
        texts = [block.text for position, block in enumerate(blocks) if position != best.position]
        return _Program(complete_program(best.source, texts, self.parser), best.worth)

    def _list_programs(self, blocks: Sequence[Block], deep: int) -> Iterator[_Program]:
        """Yield the programs of the blocks that name the function, from the last one backwards."""
        for position in reversed(range(len(blocks))):
            if self.function in blocks[position].text:
                program = self._from_block(blocks[position], deep)
                if program:
                    yield program._replace(position=position)

    def _from_block(self, block: Block, deep: int) -> _Program | None:
        """Return the program of a block that defines the function, whole if it parses as a whole."""
        if is_patch(block.text):
            return self._from_pieces(block.text, deep)
        for text in (block.text, *block.longer):
            program = self._read_program(without_prompts(text, self.function))
            if program:
                return program
            if self.parser.parse(text):
                return self._from_pieces(text, deep)
        nested: _Program | None = None
        if deep and ("```" in block.text or "~~~" in block.text):
            nested = self.search(block.text, deep - 1)
        return nested or self._from_pieces(block.text, deep) or self._from_prose(block.text)

    def _choose_from_outside(self, text: str, deep: int) -> _Program | None:
        if self.function not in text:
            return None
        if in_html(text, self.function) or is_patch(text):
            return self._from_pieces(text, deep) or self._from_prose(text)
        return self._from_prose(text) or self._from_pieces(text, deep)

    def _from_pieces(self, text: str, deep: int) -> _Program | None:
        """Return the last of the best programs among a text's wrapped pieces."""
        if not deep:
            return None
        programs: list[_Program] = []
        for piece in islice(unwrap(text, self.function), WRAPPED):
            program = self._read_program(piece) or self.search(piece, deep - 1)
            if program:
                programs.append(program)
        return max(reversed(programs), key=attrgetter("worth"), default=None)

    def _read_program(self, text: str) -> _Program | None:
        """Return a text that is one program, possibly after removing additions of a page or a notebook."""
        for source in (text, *list_repairs(text)):
            tree = self.parser.parse(source)
            if tree is None:
                continue
            worth = get_definition_worth(tree.body, self.function)
            if worth is None:
                return None
            if find_missing_names(source).isdisjoint(ENTITIES):
                return _Program(source, worth)
            return _Program(resolve_entities(source), worth)  # `a &lt; b` is valid Python, but meaningless
        return None

    def _from_prose(self, text: str) -> _Program | None:
        """Return the function's definition from a text with prose, with the statements around it that it needs."""
        return _choose_program(self._list_definitions(without_prompts(text[-2 * SOURCE_CAP :], self.function)))

    def _list_definitions(self, text: str) -> Iterator[_Program | None]:
        for head in self.heads:
            starts = [match.start() for match in re.finditer(rf"^[ \t]*{head}", text, re.MULTILINE)]
            # The last ones first, each indentation once.
            indents = [read_indentation(text[start : start + 200]) for start in reversed(starts[-8:])]
            for indent in dict.fromkeys(indents):
                yield self._at_indent(text, indent, head)

    def _at_indent(self, text: str, indent: str, head: str) -> _Program | None:
        """Return the best definition among the statements at an indentation; only a callable can be assigned."""
        lines, begins = text.split("\n"), re.compile(rf"^{head}", re.MULTILINE)
        starts, codes = list[int](), list[str]()
        for start, code in split_chunks(text, indent, _START, "#"):
            starts.append(start)
            codes.append(code)
        defining = [n for n, code in enumerate(codes) if begins.search(code)]
        required = VALUE if head == self.heads[0] else FUNCTION
        definitions = self._join_codes(codes, defining[: -8 - 1 : -1])
        fitting = (program for program in definitions if program.worth >= required)
        best = _choose_program(
            program for program in fitting if not _is_nested(lines, starts[program.position], indent)
        )
        if best is None:
            return None
        helpers = [code for n, code in enumerate(codes) if n not in defining]
        return _Program(complete_program(best.source, helpers, self.parser), best.worth)

    def _join_codes(self, codes: Sequence[str], positions: Sequence[int]) -> Iterator[_Program]:
        """Yield the programs that begin with the codes of these positions."""
        for start in positions:
            # Add following codes until it parses: the definition may contain a long string, say.
            for end in range(start + 1, min(start + 4, len(codes) + 1)):
                program = self._read_program("\n".join(codes[start:end]))
                if program:
                    yield program._replace(position=start)
                    break

    def find_amid_line(self, text: str) -> str | None:
        """Return a definition that begins within a line, after a label or a mark."""
        inner = re.compile(rf"(?<=[^\s\w])[ ]?(?=(?:async[ ]+)?{self.heads[0]})")
        for match in list(inner.finditer(text))[: -8 - 1 : -1]:
            codes = split_chunks(text[match.end() : match.end() + SOURCE_CAP], "", _START, "#")
            for _, code in islice(codes, 1):
                program = self._read_program(_TAIL.sub("", code.rstrip()))
                if program:
                    return program.source
        return None


def _is_nested(lines: Sequence[str], number: int, indent: str) -> bool:
    """Return whether the line of a number is inside a definition: a method, or a function in a function."""
    if not indent:
        return False
    for line in reversed(lines[:number]):
        if line.strip() and len(read_indentation(line)) < len(indent):
            return _DEFINITION.match(line) is not None
    return False


def find_python(reply: str, function: str) -> str | None:
    """Return the source of the program in a response; None if it holds no code."""
    text = cut_answer(reply)
    finder = _Finder(function)
    program = finder.search(text)
    if program:
        return program.source
    # Inline code, and then a definition behind a label: `Answer: def f(x): …`.
    for source in reversed(find_spans(text, rf"(?:async[ ]+)?def[ ]+{function}[ ]*\(")[-BLOCKS_CAP:]):
        if finder.parser.parse(source):
            return source
    blocks, outside = split_fences(text)
    definition = finder.find_amid_line(outside)
    if definition:
        return definition
    return _find_other_code(blocks, outside, re.compile(rf"^[ \t]*{finder.heads[0]}", re.MULTILINE))


def _find_other_code(blocks: Sequence[Block], outside: str, definition: re.Pattern[str]) -> str | None:
    """Return code that does not define the function, or is broken: it is still an answer, and a wrong one."""
    small = [block for block in blocks if len(block.text) <= SOURCE_CAP and block.text.strip()]
    for code in (definition, _ANY_CODE):
        for block in reversed(small):
            if (code is definition or block.tag in TAGS) and code.search(block.text):
                return block.text
        match = code.search(outside)
        if match and outside[match.end() :].strip():
            return outside[match.start() :][:SOURCE_CAP]
    tagged = [block.text for block in small if block.tag and block.tag in TAGS]
    return tagged[-1] if tagged else None
