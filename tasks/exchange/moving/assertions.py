"""promptfoo's assertions as metrics of ours, compared as promptfoo compares: character by character."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from basic_control.tasks.exchange.moving.conversions import ConvertedCheck
from basic_control.tasks.exchange.moving.foreign_files import SCHEME, Folder, UnreadableError, parse
from basic_control.tasks.exchange.moving.variables import UnfilledError, fill_variables, wrap, write_text

RAW = {"raw": True, "words": False, "case_sensitive": True}
FOLDED = {"raw": False, "words": False, "case_sensitive": False}
IN_REFERENCE = "The response meets what the reference demands of it."
PASS_OR_FAIL = [0, 1]
SIMILAR = 0.75
"""promptfoo's default threshold of likeness."""
MOST_TEXTS = 1000
_KINDS = {"": "any", "-any": "any", "-all": "all"}
JSON_ALONE = r"\s*(?:\{[\s\S]*\}|\[[\s\S]*\]|\"[\s\S]*\"|-?[0-9.eE+-]+|true|false|null)\s*\Z"
"""A reply that is JSON and nothing else: `{"a": 1}`, not `Here: {"a": 1}`."""
_HINTS = {
    "javascript": "a program, which is not run; write a metric of your own (docs/suites.md)",
    "python": "a program, which is not run; write a metric of your own (docs/suites.md)",
    "webhook": "nothing is fetched",
    "factuality": "no equal; factual_correctness asks a judge the same of a column `reference`",
    "context-faithfulness": "no equal; see response_groundedness",
    "context-recall": "no equal; see context_recall, which reads `retrieved_contexts`",
    "context-relevance": "no equal; see context_precision, which reads `retrieved_contexts`",
    "answer-relevance": "no equal; see answers_question",
    "cost": "the report shows cost; budget limits it",
    "latency": "the report shows latency",
}


class UntakenError(Exception):
    """An assertion without an equal here; the text says why."""


def convert_assertion(assertion: Mapping[str, Any], variables: Mapping[str, Any], folder: Folder) -> ConvertedCheck:
    """Return an assertion as a check of ours.

    Raises:
        UntakenError: it has no equal.
    """
    kind = write_text(assertion.get("type"))
    base = kind.removeprefix("not-")
    maker = _MAKERS.get(base)
    if maker is None:
        raise UntakenError(_HINTS.get(base, "no equal"))
    if assertion.get("transform") is not None:
        raise UntakenError("its transform is a program, which is not run")
    try:
        value = fill_variables(_read_value(assertion.get("value"), folder), variables)
    except (UnfilledError, UnreadableError) as error:
        raise UntakenError(str(error)) from error
    return maker(kind, value, assertion)


def _read_value(value: Any, folder: Folder) -> Any:
    if not isinstance(value, str) or not value.startswith(SCHEME):
        return value
    text = folder.read(value)
    if value.endswith((".json", ".yaml", ".yml")):
        return parse(text, value)
    return text


def _texts_of(value: Any) -> list[str]:
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
    is_inverse = kind.startswith("not-")
    base = kind.removeprefix("not-")
    is_folded = base.startswith("icontains")
    mode = _KINDS[base.removeprefix("i").removeprefix("contains")]
    if not base.endswith(("-any", "-all")):
        value = [value]
    texts = _texts_of(value)
    if is_inverse and mode == "all" and len(texts) > 1:
        raise UntakenError("no equal: that a reply lacks at least one of the texts")
    comparison, change = RAW, ""
    if is_folded:
        comparison, change = FOLDED, "notation and white space do not count either"
    options = {"mode": mode, **comparison}
    if is_inverse:
        options["mode"] = "none"
    return ConvertedCheck(
        kind,
        "contains",
        {"texts": texts, **options},
        texts,
        options,
        pattern=_pattern_of(texts, mode, is_inverse=is_inverse, is_folded=is_folded),
        change=change,
    )


def _pattern_of(texts: list[str], mode: str, *, is_inverse: bool, is_folded: bool) -> str:
    """Return lookaheads that hold where a reply contains the texts."""
    flags = "i" if is_folded else ""
    sign = "!" if is_inverse else "="
    # As in (?=[\s\S]*?(?i:Paris|Rome)); without a flag, (?:Paris|Rome).
    if mode == "any":
        alternatives = "|".join(map(re.escape, texts))
        return f"(?{sign}[\\s\\S]*?(?{flags}:{alternatives}))"
    return "".join(_pattern_of([text], "any", is_inverse=is_inverse, is_folded=is_folded) for text in texts)


def _equals(kind: str, value: Any, _: Mapping[str, Any]) -> ConvertedCheck:
    is_inverse = kind.startswith("not-")
    if isinstance(value, dict | list):
        if is_inverse:
            raise UntakenError("no equal: that a reply is another JSON value")
        answer = json.dumps(value, ensure_ascii=False)
        return ConvertedCheck(kind, "json_match", {}, answer, {"compare": "equal"}, needs_column=True)
    text = write_text(value)
    if not text.strip():
        raise UntakenError("expected a text")
    literal = re.escape(text.strip())
    if is_inverse:
        return ConvertedCheck(kind, "regex", {}, pattern=f"(?!{literal}\\Z)")
    pattern = f"(?={literal}\\Z)"
    # Replies are read without white space around them.
    return ConvertedCheck(kind, "exact_match", {}, text.strip(), {"raw": True}, needs_column=True, pattern=pattern)


def _starts_with(kind: str, value: Any, _: Mapping[str, Any]) -> ConvertedCheck:
    text = write_text(value).lstrip()
    if not text:
        raise UntakenError("expected a text")
    sign = "!" if kind.startswith("not-") else "="
    return ConvertedCheck(kind, "regex", pattern=f"(?{sign}{re.escape(text)})")


def _regex(kind: str, value: Any, _: Mapping[str, Any]) -> ConvertedCheck:
    if not isinstance(value, str) or not value:
        raise UntakenError("expected a regular expression")
    # JavaScript refers to a group as \\k<year>, the package regex as (?P=year).
    value = re.sub(r"\\k<(\w+)>", r"(?P=\1)", value)
    if kind.startswith("not-"):
        return ConvertedCheck(kind, "regex", pattern=f"(?![\\s\\S]*?(?:{value}))")
    return ConvertedCheck(kind, "regex", {"pattern": value}, pattern=f"(?=[\\s\\S]*?(?:{value}))")


def _json(kind: str, value: Any, _: Mapping[str, Any]) -> ConvertedCheck:
    if kind.startswith("not-"):
        raise UntakenError("no equal: that a reply is no JSON")
    if isinstance(value, str) and value.strip():
        try:
            value = parse(value, "its schema")
        except UnreadableError as error:
            raise UntakenError(str(error)) from error
    if value not in (None, "") and not isinstance(value, dict):
        raise UntakenError("expected a JSON schema")
    # No answer is compared: promptfoo checks the form alone.
    options: dict[str, Any] = {"compare": "none"}
    if value:
        options["schema"] = value
    pattern = ""
    if kind == "is-json":
        # The metric also reads JSON within a text, as contains-json does.
        pattern = f"(?={JSON_ALONE})"
    return ConvertedCheck(kind, "json_match", options, pattern=pattern)


def _rubric(kind: str, value: Any, assertion: Mapping[str, Any]) -> ConvertedCheck:
    if kind.startswith("not-"):
        raise UntakenError("no equal: that a judge rejects a reply")
    text = write_text(value).strip()
    if not text:
        raise UntakenError("expected a criterion")
    return ConvertedCheck(
        kind,
        "rubric",
        {"criteria": text, "scale": PASS_OR_FAIL},
        text,
        {"criteria": IN_REFERENCE, "scale": PASS_OR_FAIL},
        threshold=1.0,
        judge=assertion.get("provider"),
        change="our judge's prompt; it rates 0 or 1",
    )


def _similar(kind: str, value: Any, assertion: Mapping[str, Any]) -> ConvertedCheck:
    if kind.startswith("not-"):
        raise UntakenError("no equal: that a reply is unlike a text")
    texts = _texts_of(wrap(value))
    threshold = assertion.get("threshold")
    if not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        threshold = SIMILAR
    return ConvertedCheck(
        kind,
        "similarity",
        {},
        texts,
        {"scorer": "token_set_ratio"},
        needs_column=True,
        threshold=float(threshold),
        change="compares words, not embeddings: check the threshold",
    )


_MAKERS: dict[str, Callable[[str, Any, Mapping[str, Any]], ConvertedCheck]] = {
    **{f"{start}{kind}": _contains for start in ("contains", "icontains") for kind in _KINDS},
    "equals": _equals,
    "starts-with": _starts_with,
    "regex": _regex,
    "is-json": _json,
    "contains-json": _json,
    "llm-rubric": _rubric,
    "model-graded-closedqa": _rubric,
    "similar": _similar,
}
