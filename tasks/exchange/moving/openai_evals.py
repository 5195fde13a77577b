"""An export of OpenAI Evals as a configuration of ours: its graders are assertions, its items tests.

Source: OpenAI's reference of evals, runs and graders.
"""

import json
import re
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError
from basic_control.tasks.exchange.moving import promptfoo
from basic_control.tasks.exchange.moving.conversions import Account, Conversion
from basic_control.tasks.exchange.moving.variables import list_of, mapping_of

TOOL = "OpenAI Evals"
_ITEM = re.compile(r"\{\{\s*item\.(\w+)\s*\}\}")  # {{ item.city }}
_SAMPLE = re.compile(r"\{\{\s*sample\.\w+\s*\}\}")  # {{ sample.output_json }}
_OUTPUT = re.compile(r"\s*\{\{\s*sample\.output_text\s*\}\}\s*")  # {{ sample.output_text }}
# Sampling parameters of a run by their names at a provider of promptfoo.
_SAMPLING = {"max_completions_tokens": "max_tokens", "max_completion_tokens": "max_tokens"}
_OPERATIONS = {"eq": "equals", "ne": "not-equals", "like": "contains", "ilike": "icontains"}


_MODELS = ("score_model", "label_model")
_OF_EACH = {"type", "name", "input"}
_OF_GRADERS: Mapping[str, set[str]] = {
    "string_check": {"operation", "reference"},
    "text_similarity": {"reference", "pass_threshold"},
    "score_model": {"model", "range", "pass_threshold"},
    "label_model": {"model", "labels", "passing_labels"},
}
"""The keys of graders that are carried; others, such as `sampling_params`, are named as left out."""
_UNIT_RANGE = (0, 1)


def fits(raw: Mapping[str, Any]) -> bool:
    """Return whether a file is an export of an evaluation."""
    return "testing_criteria" in mapping_of(raw.get("eval", raw))


def convert(raw: Mapping[str, Any], path: Path) -> Conversion:
    """Return an evaluation with the data of its first run as ours.

    Raises:
        InputError: its items are not in the file, or nothing of it can be taken over.
    """
    evaluation = mapping_of(raw.get("eval", raw))
    # Of several runs of an evaluation, the first: they share its items.
    (run, *_) = [*list_of(raw.get("runs")), raw.get("run", raw)]
    run = mapping_of(run)
    source = mapping_of(run.get("data_source") or evaluation.get("data_source"))
    content = mapping_of(source.get("source")).get("content")
    if not isinstance(content, list):
        raise InputError(f"{path}: found no items; expected those of a run: data_source.source.content.")
    messages = mapping_of(source.get("input_messages")).get("template")
    graders = map(mapping_of, list_of(evaluation.get("testing_criteria")))
    assertions = [*map(_convert_grader, graders)]
    items = [mapping_of(mapping_of(entry).get("item")) for entry in content]
    # Lists stay lists: an item is one test, whatever its columns hold.
    options = {"disableVarExpansion": True}
    equivalent = {
        "prompts": [_write_messages(messages)],
        "providers": _list_models(source),
        "tests": [{"vars": item, "assert": assertions, "options": options} for item in items if item],
    }
    conversion = promptfoo.convert(equivalent, path)
    conversion.tool = TOOL
    _account_for_graders(evaluation, conversion.account)
    n_unread = len(list_of(raw.get("runs"))) - 1
    if n_unread > 0:
        conversion.account.add(
            "runs", "left out", f"{n_unread} more than the first, whose items and model are taken"
        )
    n_recorded = sum("sample" in mapping_of(entry) for entry in content)
    if n_recorded:
        conversion.account.add(
            "items: sample", "left out", f"{n_recorded} recorded replies; the model is asked anew"
        )
    n_empty = len(items) - sum(map(bool, items))
    if n_empty:
        conversion.account.add("items", "left out", f"{n_empty} without columns")
    return conversion


def _account_for_graders(evaluation: Mapping[str, Any], account: Account) -> None:
    """Say which settings of graders are left out, or are carried in other words."""
    for grader in map(mapping_of, list_of(evaluation.get("testing_criteria"))):
        kind = str(grader.get("type"))
        if kind not in _OF_GRADERS:
            continue
        for key in sorted(map(str, grader.keys() - _OF_GRADERS[kind] - _OF_EACH)):
            account.add(f"{kind}.{key}", "left out", "no equal")
        # What passes is said in the criterion, which our judge rates by 0 or 1.
        for key in ("passing_labels", "pass_threshold"):
            if kind in _MODELS and grader.get(key) is not None:
                account.add(f"{kind}.{key}", "changed", "in the words of the criterion")


def _describe_pass(grader: Mapping[str, Any]) -> str:
    """Return in words which labels or scores of a grading model pass; '' where it names none."""
    labels = [*map(str, list_of(grader.get("labels")))]
    passing = [*map(str, list_of(grader.get("passing_labels")))]
    if passing:
        refused = [label for label in labels if label not in passing]
        failing = ""
        if refused:
            failing = f"; it is not met if the label is {' or '.join(refused)}"
        return f"\nThe criterion is met if the label of the response is {' or '.join(passing)}{failing}."
    threshold = grader.get("pass_threshold")
    if not isinstance(threshold, int | float):
        return ""
    ends = list_of(grader.get("range"))
    low, high = ends if len(ends) == len(_UNIT_RANGE) else _UNIT_RANGE
    return f"\nThe criterion is met if that score, from {low} to {high}, is at least {threshold}."


def _list_models(source: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the model that a run asks, with its sampling; none where it only reads replies."""
    if not isinstance(source.get("model"), str):
        return []
    sampling = mapping_of(source.get("sampling_params"))
    settings = {_SAMPLING.get(key, key): value for key, value in sampling.items()}
    return [{"id": f"openai:{source['model']}", "config": settings}]


def _rename(value: Any) -> str:
    """Return a template of an item's columns as one of variables."""
    if not isinstance(value, str):
        return ""
    return _ITEM.sub(r"{{ \1 }}", value)


def _write_messages(messages: Any) -> str:
    """Return the messages of a run's template as JSON; developers' are the system's."""
    if not messages:
        return ""
    return json.dumps([*_read_messages(messages)], ensure_ascii=False)


def _read_messages(messages: Any) -> Iterator[dict[str, str]]:
    for message in list_of(messages):
        content = mapping_of(message).get("content")
        text = mapping_of(content).get("text", content)
        role = str(mapping_of(message).get("role", "user")).replace("developer", "system")
        yield {"role": role, "content": _rename(text)}


def _convert_grader(grader: Mapping[str, Any]) -> dict[str, Any]:
    """Return a grader as an assertion; one without an equal keeps its own kind, which the account names."""
    kind = str(grader.get("type"))
    is_of_output = isinstance(grader.get("input"), str) and _OUTPUT.fullmatch(grader["input"])
    reference = _rename(grader.get("reference"))
    if kind == "string_check" and is_of_output:
        operation = str(grader.get("operation"))
        return {"type": _OPERATIONS.get(operation, f"string_check {operation}"), "value": reference}
    if kind == "text_similarity" and is_of_output:
        return {"type": "similar", "value": reference, "threshold": grader.get("pass_threshold")}
    if kind in {"score_model", "label_model"}:
        # The grader's own messages say what is right; the reply is shown by our judge's prompt.
        texts = map(itemgetter("content"), _read_messages(grader.get("input")))
        criterion = _SAMPLE.sub("the response", "\n".join(texts))
        criterion += _describe_pass(grader)
        model = grader.get("model")
        judge = f"openai:{model}" if isinstance(model, str) else None
        return {"type": "llm-rubric", "value": criterion, "provider": judge}
    return {"type": kind}
