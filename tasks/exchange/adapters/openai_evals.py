"""Hosted OpenAI Evals: output items of a run, as its API lists them: a page, several, or an item per line.

Source: the API reference of Evals (`eval.run.output_item`); the service closes on 2026-11-30.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from basic_control.tasks.exchange.records import (
    UNNAMED_JUDGE,
    Found,
    Recorded,
    Stated,
    Usage,
    build_score,
    collect_facts,
    conversation,
    read_count,
    read_expected,
    read_mapping,
    text_of,
    within,
)
from basic_control.tasks.exchange.source import Source

TOOL = "OpenAI Evals (hosted)"
_ITEM, _RUN = "eval.run.output_item", "eval.run"
_ID = 32
"""Minimum length of the id that the service appends to each grader's name."""
_QUESTIONS = ("question", "input", "prompt", "query", "text", "messages")
_EXPECTED = ("answer", "expected", "ideal", "reference", "correct_label", "label", "ground_truth", "target")
_OPTIONS = ("model", "temperature", "top_p", "seed", "max_completion_tokens")
_JUDGED = ("label_model", "score_model", "score-model", "label-model")


def fits(source: Source) -> bool:
    """Return whether a file contains output items."""
    head = source.head
    pages = head.get("data") if head.get("object") == "list" else None
    first = read_mapping(pages[0]) if isinstance(pages, list) and pages else head
    return first.get("object") in {_ITEM, _RUN}


def _scores(item: Mapping[str, Any], error: str) -> dict[str, Stated]:
    found: dict[str, Stated] = {}
    for one in map(read_mapping, item.get("results") or ()):
        kind = text_of(one.get("type"))
        judge = text_of(within(one, "sample", "model")) or (UNNAMED_JUDGE if kind in _JUDGED else "")
        value = one.get("passed") if one.get("score") is None else one.get("score")
        name = text_of(one.get("name")) or kind or "score"
        bare, _, last = name.rpartition("-")
        found[bare if len(last) >= _ID else name] = build_score(value, judge=judge, error=error)
    judge = next((one.judge for one in found.values() if one.judge), "")
    whole = {"pass": True, "fail": False}.get(str(item.get("status")))
    return {"pass": build_score(whole, judge=judge, error=error), **found}


def _recorded(item: Mapping[str, Any]) -> Recorded:
    row, sample = read_mapping(item.get("datasource_item")), read_mapping(item.get("sample"))
    inner = read_mapping(row.get("item")) or row
    failure = sample.get("error")
    error = (
        text_of(read_mapping(failure).get("message") or failure)
        if failure and any(read_mapping(failure).values())
        else ""
    )
    asked = next((inner[name] for name in _QUESTIONS if inner.get(name)), None) or sample.get("input")
    output = sample.get("output")
    return Recorded(
        text_of(inner.get("id")),
        conversation(asked) or json.dumps(dict(inner), ensure_ascii=False, sort_keys=True),
        read_expected(next((inner[name] for name in _EXPECTED if inner.get(name) is not None), None)),
        None if error else conversation(output) if output else None,
        _scores(item, error),
        text_of(sample.get("model")) or "model",
        text_of(item.get("eval_id") or ""),
        finish_reason=text_of(sample.get("finish_reason")),
        error=error,
        usage=Usage(
            read_count(within(sample, "usage", "prompt_tokens")),
            read_count(within(sample, "usage", "completion_tokens")),
        ),
    )


def read(source: Source) -> Iterator[Found]:
    """Read output items."""
    options: dict[str, dict[str, None]] = {name: {} for name in _OPTIONS}
    more = 0
    for row in source.rows():
        more += row.get("has_more") is True
        for item in map(read_mapping, (row.get("data") or ()) if row.get("object") == "list" else [row]):
            if item.get("object") == _ITEM:
                for name in _OPTIONS:
                    if (value := within(item, "sample", name)) is not None:
                        options[name][str(value)] = None
                yield _recorded(item)
    if more:
        yield f"The file may be incomplete: {more} of its pages say that more follow."
    yield collect_facts(tool=TOOL, **{name: ", ".join(there) for name, there in options.items()})
