"""Small logs of other tools, in our own words."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LINES = (("What is 2 + 3?", "5", "It is 5.", 1.0), ("What is 4 + 4?", "8", "It is 9.", 0.0))


def lm_eval(folder: Path, *, filters: Iterable[str] = ("strict",), **changes: Any) -> Path:
    """Write a sample log of lm-evaluation-harness and its results file."""
    rows = []
    for name in filters:
        for number, (question, answer, reply, score) in enumerate(LINES):
            sent = json.dumps([{"role": "user", "content": f"Question: {question}"}])
            rows.append(
                {
                    "doc_id": number,
                    "doc": {"question": question, "answer": answer},
                    "target": answer,
                    "arguments": {"gen_args_0": {"arg_0": [sent], "arg_1": {"until": []}}},
                    "resps": [[reply]],
                    "filtered_resps": [answer],
                    "filter": name,
                    "metrics": ["exact_match"],
                    "exact_match": score,
                    **changes,
                }
            )
    (folder / "results_2026.json").write_text(
        json.dumps({"results": {"sums": {"exact_match,strict": 0.5}}, "model_name": "acme/tiny"}), encoding="utf-8"
    )
    return lines(folder / "samples_sums_2026.jsonl", rows)


def instances(folder: Path, *, more: Iterable[Mapping[str, Any]] = ()) -> Path:
    """Write a record of Every Eval Ever and its instances; return the record."""
    rows = [
        {
            "schema_version": "0.3.0",
            "evaluation_id": "sums/acme/1",
            "model_id": "acme/tiny",
            "evaluation_name": "sums",
            "sample_id": str(number),
            "interaction_type": "single_turn",
            "input": {"raw": question, "reference": [answer]},
            "output": {"raw": [reply], "reasoning_trace": ["Let me see."]},
            "answer_attribution": [],
            "evaluation": {"score": score, "is_correct": score == 1},
            "token_usage": {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13},
        }
        for number, (question, answer, reply, score) in enumerate(LINES)
    ]
    lines(folder / "1_samples.jsonl", [*rows, *more])
    record = folder / "1.json"
    detailed = {"format": "jsonl", "file_path": "data/sums/acme/tiny/1_samples.jsonl"}
    record.write_text(json.dumps({"detailed_evaluation_results": detailed}), encoding="utf-8")
    return record


def lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
