"""What comes nearest here to a metric of another tool, for whoever writes its name."""

import re
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("equivalents.yaml")
NOTHING = "nothing"
"""Where the file has the metrics that have no equivalent."""
# What differs between ways to write a metric's name: `LLM-Context_Recall` is `llmcontextrecall`.
_SIGNS = re.compile(r"[\W_]+")
# The last word of a metric's class: `AnswerRelevancyMetric`.
_CLASS = re.compile(r"(metric|scorer)$")


def _simplify(name: str) -> str:
    """Return a name without case, signs, and the word for what it is."""
    return _CLASS.sub("", _SIGNS.sub("", name).casefold())


@cache
def _read_names() -> dict[str, tuple[str, dict[str, str]]]:
    """Return for each name of theirs, simplified, what is nearest here, and their name by tool."""
    import yaml  # only a message needs it

    names: dict[str, tuple[str, dict[str, str]]] = {}
    groups = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    for nearest, by_tool in groups.items():
        for tool, metrics in by_tool.items():
            for metric in metrics:
                tools = names.setdefault(_simplify(metric), (nearest, {}))[1]
                tools[tool] = metric
    return names


def explain_equivalent(name: str) -> str:
    """Return a sentence with what is nearest here to a metric of another tool; '' if the name is no such."""
    nearest, tools = _read_names().get(_simplify(name), ("", {}))
    if not nearest:
        return ""
    their_names = " and ".join(f"{metric} of {tool}" for tool, metric in tools.items())
    if nearest == NOTHING:
        return f" Nothing here is like {their_names}; a metric of your own may be (docs/tutorial.md)."
    return f" Did you mean {nearest!r}? It is nearest to {their_names}."
