"""A row of promptfoo's CSV as a test: columns that begin with `__` mean something, the others are variables.

Source: promptfoo's documentation of test cases in CSV.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from basic_control.data.errors import InputError
from basic_control.tasks.exchange.moving.conversions import Account

# contains-any(0.8): a, b
_SHORT = re.compile(
    r"(?P<type>(?:not-)?[a-z][a-z0-9:-]*?)(?:\((?P<threshold>\d+(?:\.\d+)?)\))?(?::(?P<value>[\s\S]*))?"
)
_LEGACY = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}
# file://checks.py:judge
_PROGRAM = re.compile(r"file://\S+\.(?:(?P<python>py)|[cm]?[jt]s)(?::\S+)?")
TYPES = frozenset(
    (
        *("answer-relevance", "bleu", "classifier", "contains", "contains-all", "contains-any", "contains-html"),
        *("contains-json", "contains-sql", "contains-xml", "context-faithfulness", "context-recall"),
        *("context-relevance", "conversation-relevance", "cost", "equals", "factuality", "finish-reason", "g-eval"),
        *("gleu", "guardrails", "icontains", "icontains-all", "icontains-any", "is-html", "is-json", "is-refusal"),
        *("is-sql", "is-valid-function-call", "is-valid-openai-function-call", "is-valid-openai-tools-call"),
        *("is-xml", "javascript", "latency", "levenshtein", "llm-rubric", "meteor", "model-graded-closedqa"),
        *("model-graded-factuality", "moderation", "perplexity", "perplexity-score", "pi", "python", "regex"),
        *("rouge-n", "ruby", "search-rubric", "similar", "similar:cosine", "similar:dot", "similar:euclidean"),
        *("starts-with", "tool-call-f1", "trace-error-spans", "trace-span-count", "trace-span-duration"),
        *("webhook", "word-count"),
    )
)
"""The kinds that a cell may begin with: `equals: 4`; any other text is what a reply must equal."""
SIMILAR = 0.8
"""promptfoo's threshold of likeness in a cell."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")  # 0.75
_METADATA = "__metadata:"
# __config:__expected2:threshold; without a number the first.
_CONFIG = re.compile(r"__config:__expected(?P<number>\d{,6}):threshold")
_COLUMNS = (
    *("__expected", "__prefix", "__suffix", "__description", "__metric", "__threshold", "__providerOutput"),
    *("__metadata", "__config"),
)
_CLOSE = 0.8
"""How alike an unknown column and a known one are if one is meant for the other."""
# __expcted2, __metdata:area
_OWN = re.compile(r"(?P<stem>__[^:\d]*)(?P<ending>\d*(?::.*)?)")
# _expected, where __expected is meant
_MISSPELT = re.compile(r"_(?:expected\d*|prefix|suffix|description|metric|threshold|metadata:.*)")


def read_row(row: Mapping[str, Any], source: str, account: Account) -> dict[str, Any]:
    """Return a CSV's row as a test; `source` is its place.

    Raises:
        InputError: its cells do not fit the header, or a column looks like one that means something.
    """
    test: dict[str, Any] = {"vars": {}, "options": {}, "metadata": {}}
    assertions: list[dict[str, Any]] = []
    settings: dict[int, dict[str, Any]] = {}
    for name, cell in row.items():
        if not isinstance(name, str) or not isinstance(cell, str):
            raise InputError(f"{source}: it has more or fewer cells than the header.")
        _check_column(name, source)
        config = _CONFIG.fullmatch(name)
        if not name.startswith("__"):
            test["vars"][name] = cell
        elif not cell.strip():
            continue
        elif name.startswith("__expected"):
            assertions.append(read_cell(cell.strip()))
        elif config and _NUMBER.fullmatch(cell.strip()):
            settings[int(config["number"] or 1)] = {"threshold": float(cell)}
        elif not _read_key(name, cell, test):
            account.add(f"column {name}", "left out", "no equal")
    metric = {key: test.pop(key) for key in ("metric",) if key in test}
    # Their number counts the cells that are filled.
    settled = [
        {**assertion, **settings.get(number, {}), **metric} for number, assertion in enumerate(assertions, 1)
    ]
    return {**test, "assert": settled}


def _check_column(name: str, source: str) -> None:
    """Check that a column is none of promptfoo's own misspelt.

    Raises:
        InputError: it looks like one.
    """
    meant = ""
    match = _OWN.fullmatch(name)
    if _MISSPELT.fullmatch(name):
        meant = f"_{name}"
    elif match and match["stem"] not in _COLUMNS and not name.startswith("__expected"):
        for stem in get_close_matches(match["stem"], _COLUMNS, n=1, cutoff=_CLOSE):
            meant = stem + match["ending"]
    if meant:
        raise InputError(f"{source}: column {name!r}; did you mean {meant!r}?")


def _read_key(name: str, cell: str, test: dict[str, Any]) -> bool:
    """Put a key of the whole test there; return whether the column is one."""
    key, text = name.removeprefix("__"), cell.strip()
    if name.startswith(_METADATA):
        test["metadata"][name.removeprefix(_METADATA).removesuffix("[]")] = text
    elif key in {"prefix", "suffix"}:
        # Their white space stands between them and the prompt.
        test["options"][key] = cell
    elif key == "threshold" and _NUMBER.fullmatch(text):
        test[key] = float(text)
    elif key in {"description", "metric"}:
        test[key] = text
    else:
        return False
    return True


def read_cell(cell: str) -> dict[str, Any]:
    """Return the assertion that a cell stands for: `contains: Paris`, `latency(2000)`; else `equals`."""
    program = _PROGRAM.fullmatch(cell)
    if program:
        return {"type": "python" if program["python"] else "javascript", "value": cell}
    name, colon, text = cell.partition(":")
    if colon and name in _LEGACY:
        return {"type": _LEGACY[name], "value": text.strip()}
    match = _SHORT.fullmatch(cell)
    if match is None or match["type"].removeprefix("not-") not in TYPES:
        return {"type": "equals", "value": cell}
    assertion: dict[str, Any] = {"type": match["type"]}
    if match["value"] is not None:
        assertion["value"] = match["value"].strip()
    if match["threshold"]:
        assertion["threshold"] = float(match["threshold"])
    elif match["type"].startswith("similar"):
        assertion["threshold"] = SIMILAR
    return assertion
