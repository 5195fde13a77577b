"""Find where a response takes a program back and puts other code in its place."""

import re
from collections.abc import Iterator

from data.patterns import pattern
from data.programs.cues import PLAIN, rank_blocks, takes_back
from data.programs.text import AROUND, BLOCKS_CAP, fenced

TRIES = 3
"""Places that are looked at closely, from the last one backwards: each costs a reading of what is before it."""

_CODE = pattern(r"^(?:[ \t>]*+(?:`{3,}+|~{3,}+)|(?:async[ ]+def|def|class|fun|import|from)[ ]+\w)", re.MULTILINE)
_FENCE = pattern(r"(?:`{3,}|~{3,})[^\n]*")


def withdrawals(text: str, function: str) -> Iterator[tuple[str, str]]:
    """Yield (what is said and taken back, the code in its place and all after it), the last such place first."""
    tried = 0
    for place in reversed([found.start() for found in _CODE.finditer(text)][-2 * BLOCKS_CAP :]):
        head = text[:place]
        between = _FENCE.split(text[max(0, place - AROUND) : place])[-1]
        # the words may need a block that is called wrong before them, so they are asked twice
        if not takes_back(between, 0) or function not in head:
            continue
        tried += 1
        if tried > TRIES:
            return
        blocks = fenced(head)[0][-BLOCKS_CAP:]
        if blocks and not blocks[-1].closed:
            continue  # amid a block: its last definition counts, whatever its comments say
        ranks = rank_blocks([(block.before, block.text, "") for block in blocks])
        if takes_back(between, ranks[-1] if ranks else PLAIN):
            yield head, text[place:]
