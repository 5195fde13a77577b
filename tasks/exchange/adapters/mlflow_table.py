"""MLflow's `eval_results_table.json`: columns and data, as `mlflow.evaluate` logs it.

Source: MLflow 2 and 3, `mlflow.evaluate` (pandas' form `split`).
"""

from collections.abc import Iterator

from tasks.exchange.records import (
    UNNAMED_JUDGE,
    Found,
    Recorded,
    conversation,
    expected,
    stated,
    stated_facts,
    text_of,
)
from tasks.exchange.source import Source

TOOL = "MLflow"
_QUESTIONS = ("inputs", "input", "question", "questions", "request", "prompt", "query")
_EXPECTED = ("ground_truth", "targets", "target", "expected_response", "label", "answer")
_REPLIES = ("outputs", "output", "predictions", "prediction", "response", "model_output")


def fits(source: Source) -> bool:
    """Return whether a file is such a table."""
    return source.head.keys() >= {"columns", "data"} and isinstance(source.head["columns"], list)


def read(source: Source) -> Iterator[Found]:
    """Read the table; the column `exact_match/v1/score` is the metric exact_match."""
    columns = [*map(str, source.head["columns"])]
    question, answer, reply = (
        next((name for name in names if name in columns), "") for names in (_QUESTIONS, _EXPECTED, _REPLIES)
    )
    metrics = {name.split("/")[0]: name for name in columns if name.endswith("/score")}
    metrics = metrics or {name: name for name in columns if name in {"correct", "score"}}
    judged = {name: UNNAMED_JUDGE for name in metrics if f"{name}/v1/justification" in columns}
    for line in source.head["data"]:
        if isinstance(line, list):
            row = dict(zip(columns, line, strict=False))
            yield Recorded(
                text_of(row.get("id") or row.get("request_id")),
                conversation(row.get(question)),
                expected(row.get(answer)),
                text_of(row.get(reply)),
                {name: stated(row.get(column), judge=judged.get(name, "")) for name, column in metrics.items()},
                text_of(row.get("model")) or "model",
            )
    yield frozenset({"toxicity"} & metrics.keys())
    yield stated_facts(tool=TOOL)
