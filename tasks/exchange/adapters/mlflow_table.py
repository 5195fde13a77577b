"""MLflow's `eval_results_table.json`: columns and data, as `mlflow.evaluate` logs it.

Source: MLflow 2 and 3, `mlflow.evaluate` (pandas' form `split`).
"""

from collections.abc import Iterator

from tasks.exchange.records import Found, Recorded, conversation, expected, stated, stated_facts, text_of
from tasks.exchange.source import Source

TOOL = "MLflow"
_QUESTIONS = ("inputs", "input", "question", "questions", "request", "prompt", "query")
_EXPECTED = ("ground_truth", "targets", "target", "expected_response", "label", "answer")
_REPLIES = ("outputs", "output", "predictions", "prediction", "response", "model_output")
_SCORE = "/score"


def fits(source: Source) -> bool:
    """Tell whether a file is such a table."""
    return source.head.keys() >= {"columns", "data"} and isinstance(source.head["columns"], list)


def _metrics(columns: list[str]) -> dict[str, str]:
    """Return the columns of scores by the metric's name: `exact_match/v1/score` is exact_match's."""
    scores = {name.split("/")[0]: name for name in columns if name.endswith(_SCORE)}
    return scores or {name: name for name in columns if name in {"correct", "score"}}


def read(source: Source) -> Iterator[Found]:
    """Read the table."""
    columns = [str(one) for one in source.head["columns"]]
    named = {kind: next((one for one in names if one in columns), "") for kind, names in
             (("question", _QUESTIONS), ("answer", _EXPECTED), ("reply", _REPLIES))}  # fmt: skip
    metrics = _metrics(columns)
    judged = {name: "a model" for name in metrics if f"{name}/v1/justification" in columns}

    for row in (dict(zip(columns, line, strict=False)) for line in source.head["data"] if isinstance(line, list)):
        yield Recorded(
            text_of(row.get("id") or row.get("request_id")),
            conversation(row.get(named["question"])),
            expected(row.get(named["answer"])),
            text_of(row.get(named["reply"])),
            {name: stated(row.get(column), judge=judged.get(name, "")) for name, column in metrics.items()},
            text_of(row.get("model")) or "model",
        )

    yield stated_facts(tool=TOOL)
