"""How deep YAML may nest: its fast parser recurses, and would end the process."""

from typing import Any

import yaml

DEEPEST = 100
"""Levels of lists and mappings; configurations have some ten."""
_OPENERS = ("[", "{", "- ", "? ", ":")
"""What every level begins with."""


def check_depth(text: str) -> None:
    """Check that YAML nests no deeper than `DEEPEST`.

    Raises:
        MarkedYAMLError: it does; what else is wrong with it is for the parser to say.
    """
    # Most texts have too few of what a level begins with.
    if sum(map(text.count, _OPENERS)) <= DEEPEST:
        return
    mark = _find_too_deep(text)
    if mark:
        raise yaml.MarkedYAMLError(problem=f"nested deeper than {DEEPEST} levels", problem_mark=mark)


def _find_too_deep(text: str) -> Any:
    """Return the mark of the first list or mapping that is too deep; None if there is none."""
    depth = 0
    try:
        # Events are read one after another: only what builds values from them recurses.
        for event in yaml.parse(text, yaml.CSafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > DEEPEST:
                return event.start_mark
    except yaml.YAMLError:
        pass
    return None
