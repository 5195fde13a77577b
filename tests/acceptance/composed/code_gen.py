"""Replies to small programming tasks in Python."""

import html
from collections.abc import Mapping
from random import Random

from data.records import Item
from tests.acceptance.composed import code_otherwise, code_presented, code_rewritten, code_spoiled
from tests.acceptance.composed.code_presented import (
    longer_words,
    longer_wrong_words,
    right_words,
    taken_words,
    wrong_words,
)
from tests.acceptance.composed.common import ECHOES, EMPTY, Style, styles
from tests.acceptance.composed.programs import mutant, right, surely_wrong


def rewritten(rewrite: code_rewritten.Rewriting, *, wrong: bool) -> Style:
    """Write a rewriting of the right program, or of a wrong one, in a fence."""

    def write(item: Item, rng: Random) -> str | None:
        source = rewrite(mutant(item, rng) if wrong else right(item))
        # A rewriting may replace the very line that was wrong.
        return code_spoiled.fenced(source if not wrong or (source and surely_wrong(item, source)) else None)

    return write


def spoiled_words(item: Item, _rng: Random) -> Mapping[str, str]:
    return code_spoiled.words(item)


LONG = {name: text for name, text in code_presented.ALONE.items() if name not in code_presented.LINE_BY_LINE}


def in_a_page(name: str) -> Style:
    """Write a rewriting into a page's code element, the code beginning on the line of the tag."""

    def write(item: Item, _rng: Random) -> str | None:
        source = code_rewritten.REWRITTEN[name](right(item))
        return source and f'<p>Code:</p>\n<pre><code class="language-python">{html.escape(source)}\n</code></pre>'

    return write


RIGHT: Mapping[str, Style] = {
    **styles(code_presented.ALONE, right_words),
    **styles(LONG, longer_words, "longer: "),
    **{f"rewritten: {name}": rewritten(rewrite, wrong=False) for name, rewrite in code_rewritten.REWRITTEN.items()},
    **code_otherwise.STYLES,
    **{f"page: {name}": in_a_page(name) for name in ("helper above", "two helpers", "constant below")},
}

WRONG: Mapping[str, Style] = {
    **EMPTY,
    **ECHOES,
    **styles(code_presented.ALONE, wrong_words, "mutant: "),
    **{
        f"mutant: rewritten: {name}": rewritten(made, wrong=True) for name, made in code_rewritten.REWRITTEN.items()
    },
    **styles(LONG, longer_wrong_words, "longer mutant: "),
    **styles(code_presented.TAKEN_BACK, taken_words),
    **{f"result: {name}": code_spoiled.with_result(result) for name, result in code_spoiled.RESULTS.items()},
    **{f"ending: {name}": code_spoiled.with_ending(ending) for name, ending in code_spoiled.ENDINGS.items()},
    **{f"error: {name}": code_spoiled.with_error(error) for name, error in code_spoiled.ERRORS.items()},
    **styles(code_spoiled.WHOLE, spoiled_words),
    "hard-coded example": code_spoiled.hard_coded,
    "mutant and praise": code_spoiled.mutant_in_prose,
    "two mutants": code_spoiled.two_mutants,
}

ENDLESS: Mapping[str, Style] = styles(code_spoiled.ENDLESS, spoiled_words)
