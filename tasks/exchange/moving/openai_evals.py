"""An export of OpenAI Evals as a configuration of ours: its graders are assertions, its items tests.

Source: OpenAI's reference of evals, runs and graders.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError
from basic_control.tasks.exchange.moving import promptfoo
from basic_control.tasks.exchange.moving.records import Conversion
from basic_control.tasks.exchange.moving.values import list_of, mapping_of

TOOL = "OpenAI Evals"
_ITEM = re.compile(r"\{\{\s*item\.(\w+)\s*\}\}")  # {{ item.city }}
_OUTPUT = re.compile(r"\s*\{\{\s*sample\.output_text\s*\}\}\s*")  # {{ sample.output_text }}
# Sampling parameters of a run by their names at a provider of promptfoo.
_SAMPLING = {"max_completions_tokens": "max_tokens", "max_completion_tokens": "max_tokens"}
_OPERATIONS = {"eq": "equals", "ne": "not-equals", "like": "contains", "ilike": "icontains"}


def fits(raw: Mapping[str, Any]) -> bool:
    """Return whether a file is an export of an evaluation."""
    return "testing_criteria" in mapping_of(raw.get("eval", raw))


def convert(raw: Mapping[str, Any], path: Path) -> Conversion:
    """Return an evaluation with the data of its first run as ours.

    Raises:
        InputError: its items are not in the file, or nothing of it can be taken over.
    """
    evaluation = mapping_of(raw.get("eval", raw))
    runs = raw.get("runs")
    run = mapping_of(runs[0]) if isinstance(runs, list) and runs else mapping_of(raw.get("run", raw))
    source = mapping_of(run.get("data_source") or evaluation.get("data_source"))
    content = mapping_of(source.get("source")).get("content")
    if not isinstance(content, list):
        raise InputError(f"{path}: found no items; expected those of a run: data_source.source.content.")
    messages = mapping_of(source.get("input_messages")).get("template")
    criteria = evaluation.get("testing_criteria")
    graders = [mapping_of(grader) for grader in criteria] if isinstance(criteria, list) else []
    items = [mapping_of(mapping_of(entry).get("item")) for entry in content]
    assertions = [_convert_grader(grader) for grader in graders]
    # Lists stay lists: an item is one test, whatever its columns hold.
    options = {"disableVarExpansion": True}
    equivalent = {
        "prompts": [_write_messages(messages)],
        "providers": _list_models(source),
        "tests": [{"vars": item, "assert": assertions, "options": options} for item in items if item],
    }
    conversion = promptfoo.convert(equivalent, path)
    conversion.tool = TOOL
    return conversion


def _list_models(source: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the model that a run asks, with its sampling; none where it only reads replies."""
    if not isinstance(source.get("model"), str):
        return []
    sampling = mapping_of(source.get("sampling_params"))
    settings = {_SAMPLING.get(key, key): value for key, value in sampling.items()}
    return [{"id": f"openai:{source['model']}", "config": settings}]


def _rename(value: Any) -> str:
    """Return a template of an item's columns as one of variables."""
    return _ITEM.sub(r"{{ \1 }}", value) if isinstance(value, str) else ""


def _write_messages(messages: Any) -> str:
    """Return the messages of a run's template as JSON; developers' are the system's."""
    return json.dumps([*_read_messages(messages)], ensure_ascii=False) if messages else ""


def _read_messages(messages: Any) -> Iterator[dict[str, str]]:
    for message in list_of(messages):
        content = mapping_of(message).get("content")
        text = content.get("text") if isinstance(content, dict) else content
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
        parts = [message["content"] for message in _read_messages(grader.get("input"))]
        texts = [re.sub(r"\{\{\s*sample\.\w+\s*\}\}", "the response", part) for part in parts]
        judge = f"openai:{grader.get('model')}" if isinstance(grader.get("model"), str) else None
        return {"type": "llm-rubric", "value": "\n".join(texts), "provider": judge}
    return {"type": kind}
