"""promptfoo's assertions as checks of a row, compared as promptfoo compares: character by character."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from basic_control.metrics.checks.checks import expects
from basic_control.metrics.checks.rows import COLUMN
from basic_control.tasks.exchange.moving.conversions import ConvertedCheck
from basic_control.tasks.exchange.moving.foreign_files import SCHEME, Folder, parse
from basic_control.tasks.exchange.moving.variables import UntakenError, fill_variables, mapping_of, wrap, write_text

INVERSE = "not-"
SIMILAR = 0.75
"""promptfoo's default threshold of likeness."""
MOST_TEXTS = 1000
MOST_WORDS = 100_000
LOWER = "toLowerCase()"
_CARRIED = re.compile(r"output(?:\.(?:trim|toLowerCase)\(\))*;?")  # output.trim().toLowerCase()
_MODES = {"": "any", "-any": "any", "-all": "all"}
_HINTS = {
    "javascript": "a program, which is not run; write a metric of your own (docs/suites.md)",
    "python": "a program, which is not run; write a metric of your own (docs/suites.md)",
    "ruby": "a program, which is not run; write a metric of your own (docs/suites.md)",
    "webhook": "nothing is fetched",
    "factuality": "no equal; factual_correctness asks a judge the same of a column `reference`",
    "model-graded-factuality": "no equal; factual_correctness asks a judge the same of a column `reference`",
    "context-faithfulness": "no equal; see faithfulness, which reads `retrieved_contexts`",
    "context-recall": "no equal; see context_recall, which reads `retrieved_contexts`",
    "context-relevance": "no equal; see context_precision, which reads `retrieved_contexts`",
    "answer-relevance": "no equal; see answers_question",
    "select-best": "no equal; see preference",
    "cost": "the report shows cost; budget limits it",
    "latency": "the report shows latency",
}


def convert_assertion(assertion: Mapping[str, Any], variables: Mapping[str, Any], folder: Folder) -> ConvertedCheck:
    """Return an assertion as a check of ours, or as a judge's criterion.

    Raises:
        UntakenError: it has no equal.
    """
    kind = write_text(assertion.get("type"))
    base = kind.removeprefix(INVERSE)
    maker = _MAKERS.get(base)
    if maker is None:
        raise UntakenError(_HINTS.get(base, "no equal"))
    if _read_transforms(assertion, base):
        maker = _convert_lowered
    value = fill_variables(_read_value(assertion.get("value"), folder), variables)
    converted = maker(base, value, assertion)
    # A judge's criterion has no opposite; a check by rule has.
    if converted.criterion:
        if kind != base:
            raise UntakenError("no equal: that a judge rejects a reply")
        return converted
    check = converted.check
    if kind != base and check["metric"] == "contains" and "mode" not in check:
        check["mode"] = "none"
    elif kind != base:
        check["not"] = True
    if isinstance(assertion.get("metric"), str) and "{" not in assertion["metric"]:
        check["name"] = assertion["metric"]
    problem = expects({COLUMN: [check]}, {}).problem
    if problem:
        raise UntakenError(problem.removeprefix("check 1: ")[:150])
    return converted


def is_carried(transform: Any) -> bool:
    """Return whether a transform is one that a comparison of ours can stand for."""
    return bool(_CARRIED.fullmatch(write_text(transform).strip()))


def _read_transforms(assertion: Mapping[str, Any], kind: str) -> bool:
    """Return whether an assertion's transforms make the reply lower case, so that its comparison must allow for it.

    White space around a reply never counts, nor does a parser where JSON is looked for.

    Raises:
        UntakenError: one is another program.
    """
    is_lowered = False
    for transform in filter(None, wrap(assertion.get("transform"))):
        text = write_text(transform).strip()
        if is_carried(text):
            is_lowered = is_lowered or LOWER in text
        elif kind != "is-json" or text.removesuffix(";") != "JSON.parse(output)":
            raise UntakenError(f"its transform `{' '.join(text.split())[:80]}` is a program, which is not run")
    return is_lowered and not kind.startswith("icontains")


def _convert_lowered(kind: str, value: Any, _: Mapping[str, Any]) -> ConvertedCheck:
    """Return the check of a reply that a transform makes lower case."""
    text = write_text(value)
    is_compared = kind in {"equals", "contains", "contains-any", "contains-all"}
    if not is_compared or (kind == "equals" and isinstance(value, dict | list)):
        raise UntakenError(f"its transform makes the reply lower case ({LOWER}), which has no equal here")
    if text != text.lower():
        raise UntakenError(f"its transform makes the reply lower case ({LOWER}), which its upper case never equals")
    if kind != "equals":
        return _contains(f"i{kind}", value, {})
    check = {**_equals(kind, value, {}).check}
    del check["raw"]
    return ConvertedCheck(check, change="notation, upper and lower case do not count, as its transform has it")


def _read_value(value: Any, folder: Folder) -> Any:
    if not isinstance(value, str) or not value.startswith(SCHEME):
        return value
    text = folder.read(value)
    if value.endswith((".json", ".yaml", ".yml")):
        return parse(text, value)
    return text


def _read_texts(value: Any) -> list[str]:
    """Return the texts of a list, or of a text with commas between them."""
    if isinstance(value, list):
        texts = [write_text(part) for part in value]
    else:
        # promptfoo reads `a, b` as two texts, without the space between.
        texts = [part.strip() for part in write_text(value).split(",")]
    if not texts or not all(map(str.strip, texts)) or len(texts) > MOST_TEXTS:
        raise UntakenError("expected texts to look for")
    return texts


def _contains(kind: str, value: Any, _: Mapping[str, Any]) -> ConvertedCheck:
    is_folded = kind.startswith("i")
    mode = _MODES[kind.removeprefix("i").removeprefix("contains")]
    if not kind.endswith(("-any", "-all")):
        value = [value]
    check: dict[str, Any] = {"metric": "contains", "texts": _read_texts(value)}
    if mode == "all":
        check["mode"] = mode
    if not is_folded:
        return ConvertedCheck({**check, "raw": True})
    change = "any writing of a letter, digit or space counts as the same one"
    return ConvertedCheck({**check, "words": False}, change=change)


def _equals(_: str, value: Any, __: Mapping[str, Any]) -> ConvertedCheck:
    if isinstance(value, dict | list):
        answer = value or json.dumps(value)
        return ConvertedCheck({"metric": "json_match", "answer": answer, "alone": True})
    # Replies are read without white space around them.
    text = write_text(value).strip()
    if not text:
        raise UntakenError("expected a text")
    return ConvertedCheck({"metric": "exact_match", "answer": text, "raw": True})


def _starts_with(_: str, value: Any, __: Mapping[str, Any]) -> ConvertedCheck:
    text = write_text(value).lstrip()
    if not text:
        raise UntakenError("expected a text")
    return ConvertedCheck({"metric": "regex", "pattern": rf"\A{re.escape(text)}"})


def _regex(_: str, value: Any, __: Mapping[str, Any]) -> ConvertedCheck:
    if not isinstance(value, str) or not value:
        raise UntakenError("expected a regular expression")
    # JavaScript refers to a group as \\k<year>, the package regex as (?P=year).
    return ConvertedCheck({"metric": "regex", "pattern": re.sub(r"\\k<(\w+)>", r"(?P=\1)", value)})


def _json(kind: str, value: Any, _: Mapping[str, Any]) -> ConvertedCheck:
    if isinstance(value, str) and value.strip():
        value = parse(value, "its schema")
    if value not in (None, "") and not isinstance(value, dict):
        raise UntakenError("expected a JSON schema")
    # No answer is compared: promptfoo checks the form alone.
    check: dict[str, Any] = {"metric": "json_match", "compare": "none"}
    if kind == "is-json":
        check["alone"] = True
    if value:
        check["schema"] = value
    return ConvertedCheck(check)


def _rubric(_: str, value: Any, assertion: Mapping[str, Any]) -> ConvertedCheck:
    text = write_text(value).strip()
    if not text:
        raise UntakenError("expected a criterion")
    change = "our judge's prompt; it rates 0 or 1"
    if assertion.get("rubricPrompt"):
        change = "our judge's prompt, not its `rubricPrompt`: see that the criterion says all; it rates 0 or 1"
    return ConvertedCheck(criterion=text, judge=assertion.get("provider"), change=change)


def _similar(_: str, value: Any, assertion: Mapping[str, Any]) -> ConvertedCheck:
    threshold = assertion.get("threshold")
    if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        threshold = SIMILAR
    check = {"metric": "similarity", "answer": _read_texts(wrap(value)), "scorer": "token_set_ratio"}
    change = "compares words, not embeddings: check the threshold"
    return ConvertedCheck({**check, "threshold": float(threshold)}, change=change)


def _refusal(_: str, __: Any, ___: Mapping[str, Any]) -> ConvertedCheck:
    return ConvertedCheck({"metric": "refusal", "expected": "refuse"}, change="our rules of what declines")


def _word_count(_: str, value: Any, __: Mapping[str, Any]) -> ConvertedCheck:
    bounds = mapping_of(value)
    if not bounds:
        bounds = {"min": value, "max": value}
    counts = []
    for bound in (bounds.get("min", 1), bounds.get("max", MOST_WORDS)):
        if not re.fullmatch(r"\d{1,6}", write_text(bound)) or not int(bound):
            raise UntakenError("expected a number of words, or `min` and `max`")
        counts.append(int(bound) - 1)
    fewest, largest = counts
    return ConvertedCheck({"metric": "regex", "pattern": rf"\A\S+(?:\s+\S+){{{fewest},{largest}}}\Z"})


_MAKERS: dict[str, Callable[[str, Any, Mapping[str, Any]], ConvertedCheck]] = {
    **{f"{start}{kind}": _contains for start in ("contains", "icontains") for kind in _MODES},
    "equals": _equals,
    "starts-with": _starts_with,
    "regex": _regex,
    "is-json": _json,
    "contains-json": _json,
    "is-refusal": _refusal,
    "word-count": _word_count,
    "llm-rubric": _rubric,
    "model-graded-closedqa": _rubric,
    "similar": _similar,
}
