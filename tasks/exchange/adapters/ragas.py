"""Results of ragas: its experiments (CSV, JSONL), and `evaluate(…).to_pandas()` written as either.

Source: ragas 0.4 (`SingleTurnSample`; `Experiment`).
"""

import ast
from collections.abc import Mapping
from typing import Any

from tasks.exchange.records import (
    Log,
    Recorded,
    Stated,
    conversation,
    mapped,
    number,
    stated,
    stated_facts,
    text_of,
)
from tasks.exchange.source import Source

TOOL = "ragas"
FORM = "ragas"
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
"""How the names begin of ragas' own metrics that ask a model."""


def fits(source: Source) -> bool:
    """Tell whether a file's rows are samples of ragas."""
    return "user_input" in source.head and bool({"response", "reference"} & source.head.keys())


def _judge(metric: str) -> str:
    return "a model" if metric.startswith(_SHIPPED) and not metric.startswith(_COMPUTED) else ""


def _measured(rows: list[Mapping[str, Any]]) -> list[str]:
    """Return the columns that are metrics: of numbers, or of pass and fail, in at least one row."""
    names = dict.fromkeys(name for row in rows for name in row if name not in _SAMPLE)
    known = {name: [row.get(name) for row in rows] for name in names}

    def measured(value: object) -> bool:
        return number(value) is not None or value in _NONE or isinstance(value, float)

    return [
        name
        for name, own in known.items()
        if all(map(measured, own)) and any(number(one) is not None for one in own)
    ]


def _asked(value: Any) -> str:
    """Return the question: a text, or the messages of a conversation (in CSV as Python writes them)."""
    if isinstance(value, str) and value.startswith("[{"):
        try:
            return conversation(ast.literal_eval(value))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return value
    return conversation(value)


def read(source: Source) -> Log:
    """Read samples with the columns of their metrics; NaN is a judge's failure."""
    rows = list(source.rows())
    metrics = _measured(rows)

    def scores(row: Mapping[str, Any]) -> dict[str, Stated]:
        return {name: stated(row.get(name), judge=_judge(name), reason="no number") for name in metrics}

    found = tuple(
        Recorded(
            text_of(row.get("id")),
            _asked(row.get("user_input")),
            text_of(row.get("reference")),
            text_of(row.get("response")),
            scores(row),
            text_of(row.get("model")) or "model",
        )
        for row in map(mapped, rows)
    )
    return Log(TOOL, found, stated_facts(tool=TOOL))
