"""Hosted OpenAI Evals: output items of a run, as its API lists them: a page, several, or an item per line.

Source: the API reference of Evals (`eval.run.output_item`); the service closes on 2026-11-30.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from basic_control.tasks.exchange.logs import (
    UNNAMED_JUDGE,
    Found,
    Recorded,
    Stated,
    Usage,
    build_score,
    collect_facts,
    join_messages,
    join_parts,
    read_count,
    read_expected,
    read_mapping,
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


def _read_score(result: Mapping[str, Any], error: str) -> tuple[str, Stated]:
    """Return a grader's name, without the id that the service appends, and its score."""
    kind = join_parts(result.get("type"))
    judge = join_parts(within(result, "sample", "model"))
    if not judge and kind in _JUDGED:
        judge = UNNAMED_JUDGE
    value = result.get("score")
    if value is None:
        value = result.get("passed")
    name = join_parts(result.get("name")) or kind or "score"
    start, _, end = name.rpartition("-")
    if len(end) >= _ID:
        name = start
    return name, build_score(value, judge=judge, error=error)


def _read_scores(item: Mapping[str, Any], error: str) -> dict[str, Stated]:
    scores: dict[str, Stated] = {}
    for result in map(read_mapping, item.get("results") or ()):
        name, score = _read_score(result, error)
        scores[name] = score
    judges = [score.judge for score in scores.values() if score.judge]
    value = {"pass": True, "fail": False}.get(str(item.get("status")))
    return {"pass": build_score(value, judge=next(iter(judges), ""), error=error), **scores}


def _read_item(item: Mapping[str, Any]) -> Recorded:
    row, sample = read_mapping(item.get("datasource_item")), read_mapping(item.get("sample"))
    inner = read_mapping(row.get("item")) or row
    error = _read_error(sample.get("error"))
    questions = [inner[name] for name in _QUESTIONS if inner.get(name)]
    question = join_messages(next(iter(questions), None) or sample.get("input"))
    expected = [inner[name] for name in _EXPECTED if inner.get(name) is not None]
    reply_text, output = None, sample.get("output")
    if output and not error:
        reply_text = join_messages(output)
    # Without a column of a known name, the question is the whole row.
    return Recorded(
        join_parts(inner.get("id")),
        question or json.dumps(dict(inner), ensure_ascii=False, sort_keys=True),
        read_expected(next(iter(expected), None)),
        reply_text,
        _read_scores(item, error),
        join_parts(sample.get("model")) or "model",
        join_parts(item.get("eval_id") or ""),
        finish_reason=join_parts(sample.get("finish_reason")),
        error=error,
        usage=Usage(
            read_count(within(sample, "usage", "prompt_tokens")),
            read_count(within(sample, "usage", "completion_tokens")),
        ),
    )


def _read_error(failure: Any) -> str:
    """Return why a call failed; '' for none, which the service also writes as an object without values."""
    if not failure or not any(read_mapping(failure).values()):
        return ""
    return join_parts(read_mapping(failure).get("message") or failure)


def read(source: Source) -> Iterator[Found]:
    """Read output items."""
    options: dict[str, dict[str, None]] = {name: {} for name in _OPTIONS}
    unfinished_pages = 0
    for row in source.rows():
        unfinished_pages += row.get("has_more") is True
        # A line is an item, or a page of them.
        items: Iterable[Any] = [row]
        if row.get("object") == "list":
            items = row.get("data") or ()
        for item in map(read_mapping, items):
            if item.get("object") == _ITEM:
                _note_options(item, options)
                yield _read_item(item)
    if unfinished_pages:
        yield f"The file may be incomplete: {unfinished_pages} of its pages say that more follow."
    yield collect_facts(tool=TOOL, **{name: ", ".join(values) for name, values in options.items()})


def _note_options(item: Mapping[str, Any], options: Mapping[str, dict[str, None]]) -> None:
    """Add an item's settings to those of the items before it, each value once."""
    for name, values in options.items():
        value = within(item, "sample", name)
        if value is not None:
            values[str(value)] = None
