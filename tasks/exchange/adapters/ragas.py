"""Results of ragas: its experiments (CSV, JSONL), and `evaluate(…).to_pandas()` written as either.

Source: ragas 0.4 (`SingleTurnSample`; `Experiment`).
"""

import ast
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from basic_control.tasks.exchange.logs import (
    UNNAMED_JUDGE,
    Found,
    Recorded,
    build_score,
    collect_facts,
    join_messages,
    join_parts,
    read_stated_value,
)
from basic_control.tasks.exchange.source import Source

TOOL = "ragas"
_SAMPLE = frozenset((
    "user_input", "response", "reference", "retrieved_contexts", "reference_contexts", "rubrics", "id", "name",
    "multi_responses", "model", "experiment_name", "persona_name", "query_style", "query_length",
    "synthesizer_name", "reference_tool_calls", "retrieved_context_ids", "reference_context_ids",
))  # fmt: skip
"""The columns of a sample; all others may be metrics."""
_NONE = (None, "", "nan", "NaN")
_COMPUTED = ("exact_match", "string_present", "non_llm", "bleu", "rouge", "chrf", "id_based", "tool_call")
_SHIPPED = (
    "faithfulness", "answer_relevancy", "context_", "llm_context", "answer_correctness", "factual_correctness",
    "semantic_similarity", "noise_sensitivity", "aspect_critic", "rubrics_score", "response_groundedness",
    "response_relevancy", "answer_accuracy", "summary_score", "topic_adherence", "harmfulness", "maliciousness",
    "coherence", "conciseness", "nv_",
)  # fmt: skip
"""Prefixes of ragas' own metrics that call a model."""
_LOWER = ("noise_sensitivity", "harmfulness", "maliciousness")
"""Prefixes of those of which less is better."""


def fits(source: Source) -> bool:
    """Return whether a file's rows are samples of ragas."""
    return "user_input" in source.head and bool({"response", "reference"} & source.head.keys())


def _list_metrics(source: Source) -> list[str]:
    """Return the metric columns: with numbers, or pass and fail, in at least one row."""
    has_number: dict[str, bool] = {}
    text_columns: set[str] = set()
    for row in source.rows():
        for name, value in row.items():
            if name in _SAMPLE or name in text_columns:
                continue
            is_number = read_stated_value(value) is not None
            # NaN is a float without a number: it says nothing of its column.
            if not is_number and value not in _NONE and not isinstance(value, float):
                text_columns.add(name)
            has_number[name] = has_number.get(name, False) or is_number
    return [name for name in has_number if has_number[name] and name not in text_columns]


def _read_question(value: Any) -> str:
    """Return the question: a text, or the messages of a conversation (in CSV in Python's notation)."""
    if isinstance(value, str) and value.startswith("[{"):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            value = ast.literal_eval(value)
    return join_messages(value)


def _name_judge(metric: str) -> str:
    """Return how the judge of a metric is called; '' if the metric is computed, or not of ragas."""
    is_judged = metric.startswith(_SHIPPED) and not metric.startswith(_COMPUTED)
    return UNNAMED_JUDGE if is_judged else ""


def read(source: Source) -> Iterator[Found]:
    """Read samples with the columns of their metrics; NaN is a judge's failure."""
    judges = {name: _name_judge(name) for name in _list_metrics(source)}
    for row in source.rows():
        yield Recorded(
            join_parts(row.get("id")),
            _read_question(row.get("user_input")),
            join_parts(row.get("reference")),
            join_parts(row.get("response")),
            {name: build_score(row.get(name), judge=judge) for name, judge in judges.items()},
            join_parts(row.get("model")) or "model",
        )
    yield frozenset(name for name in judges if name.startswith(_LOWER))
    yield collect_facts(tool=TOOL)
