"""Files of other tools with known questions, replies and scores, in the form that each tool writes."""

import csv
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl


@dataclass(frozen=True, slots=True)
class Line:
    """A reply: right or wrong, to a question with an id."""

    id: str
    question: str
    right: bool
    answer: str = "yes"

    @property
    def reply(self) -> str:
        """What was said."""
        return self.answer if self.right else "no"


Lines = Sequence[Line]


def _json(path: Path, whole: Any) -> Path:
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def _jsonl(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def inspect_json(folder: Path, name: str, lines: Lines) -> Path:
    """Inspect's JSON log."""
    samples = [
        {
            "id": one.id, "epoch": 1, "input": one.question, "target": one.answer, "messages": [],
            "output": {"model": "m", "completion": one.reply,
                       "choices": [{"message": {"role": "assistant", "content": one.reply}, "stop_reason": "stop"}],
                       },
            "scores": {"match": {"value": "C" if one.right else "I"}},
        }
        for one in lines
    ]  # fmt: skip
    told = {"task": "sums", "model": "m", "config": {"epochs": 1}, "packages": {"inspect_ai": "0.3.285"}}
    return _json(
        folder / f"{name}.json", {"version": 2, "status": "success", "eval": told, "plan": {}, "samples": samples}
    )


def inspect_eval(folder: Path, name: str, lines: Lines) -> Path:
    """Inspect's `.eval`."""
    whole = json.loads(inspect_json(folder, f"{name}_whole", lines).read_text(encoding="utf-8"))
    (folder / f"{name}_whole.json").unlink()
    path = folder / f"{name}.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for n, sample in enumerate(whole.pop("samples")):
            packed.writestr(f"samples/{n}_epoch_1.json", json.dumps(sample))
        packed.writestr("header.json", json.dumps(whole))
    return path


def lm_eval(folder: Path, name: str, lines: Lines) -> Path:
    """A sample log of lm-evaluation-harness; it has no ids."""
    rows = [
        {
            "doc_id": n, "doc": {"question": one.question}, "target": one.answer, "resps": [[one.reply]],
            "arguments": {"gen_args_0": {"arg_0": [one.question], "arg_1": {}}}, "filtered_resps": [one.reply],
            "filter": "none", "metrics": ["exact_match"], "exact_match": float(one.right),
        }
        for n, one in enumerate(lines)
    ]  # fmt: skip
    return _jsonl(folder / f"samples_{name}.jsonl", rows)


def promptfoo(folder: Path, name: str, lines: Lines) -> Path:
    """Results of promptfoo."""
    rows = [
        {
            "provider": {"id": "m", "label": ""}, "prompt": {"raw": one.question, "label": "{{question}}"},
            "promptIdx": 0, "testIdx": n, "vars": {"question": one.question, "expected": one.answer},
            "response": {"output": one.reply, "finishReason": "stop"}, "success": one.right,
            "score": float(one.right), "failureReason": 0 if one.right else 1, "error": None if one.right else "no",
            "testCase": {"metadata": {"id": one.id}},
        }
        for n, one in enumerate(lines)
    ]  # fmt: skip
    whole = {"evalId": name, "results": {"version": 3, "prompts": [], "results": rows}, "config": {}}
    return _json(folder / f"{name}.json", whole)


def promptfoo_csv(folder: Path, name: str, lines: Lines) -> Path:
    """The CSV of promptfoo."""
    path = folder / f"{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as opened:
        out = csv.writer(opened)
        out.writerow(
            ["question", "expected", "[m] {{question}}", "Status", "Score", "Named Scores", "Grader Reason"]
        )
        for one in lines:
            status, score = ("PASS", "1.00") if one.right else ("FAIL", "0.00")
            out.writerow([one.question, one.answer, one.reply, status, score, "{}", ""])
    return path


def deepeval(folder: Path, name: str, lines: Lines) -> Path:
    """A test run of DeepEval."""
    cases = [
        {
            "name": one.id, "input": one.question, "actualOutput": one.reply, "expectedOutput": one.answer,
            "success": one.right, "order": n,
            "metricsData": [
                {"name": "Exact Match", "threshold": 1, "success": one.right, "score": float(one.right)}
            ],
        }
        for n, one in enumerate(lines)
    ]  # fmt: skip
    whole = {"testCases": cases, "conversationalTestCases": [], "hyperparameters": {"model": "m"}}
    return _json(folder / f"{name}.json", whole)


def ragas(folder: Path, name: str, lines: Lines) -> Path:
    """Samples of ragas with a metric."""
    rows = [
        {
            "user_input": one.question,
            "response": one.reply,
            "reference": one.answer,
            "exact_match": float(one.right),
        }
        for one in lines
    ]
    return _jsonl(folder / f"{name}.jsonl", rows)


def openai_evals(folder: Path, name: str, lines: Lines) -> Path:
    """Two pages of output items of hosted OpenAI Evals."""
    items = [
        {
            "object": "eval.run.output_item", "id": f"outputitem_{n}", "eval_id": "eval_1", "run_id": name,
            "datasource_item_id": n,
            "datasource_item": {"id": one.id, "question": one.question, "answer": one.answer},
            "status": "pass" if one.right else "fail",
            "results": [{"name": "match", "passed": one.right, "score": float(one.right), "type": "string_check"}],
            "sample": {"input": [{"role": "user", "content": one.question}], "model": "m", "finish_reason": "stop",
                       "output": [{"role": "assistant", "content": one.reply}], "error": None, "temperature": 1},
        }
        for n, one in enumerate(lines)
    ]  # fmt: skip
    half = len(items) // 2
    pages = [{"object": "list", "data": part, "has_more": False} for part in (items[:half], items[half:])]
    return _json(folder / f"{name}.json", pages)


def every_eval_ever(folder: Path, name: str, lines: Lines) -> Path:
    """Instances of Every Eval Ever."""
    rows = [
        {
            "schema_version": "0.3.0", "evaluation_id": f"sums/m/{name}", "model_id": "m",
            "evaluation_name": "sums",
            "sample_id": one.id, "interaction_type": "single_turn", "answer_attribution": [],
            "input": {"raw": one.question, "reference": [one.answer]}, "output": {"raw": [one.reply]},
            "evaluation": {"score": float(one.right), "is_correct": one.right},
        }
        for one in lines
    ]  # fmt: skip
    return _jsonl(folder / f"{name}.jsonl", rows)


def _rows(lines: Lines) -> list[dict[str, Any]]:
    return [
        {"id": one.id, "question": one.question, "expected": one.answer, "output": one.reply, "correct": one.right}
        for one in lines
    ]


def table_csv(folder: Path, name: str, lines: Lines) -> Path:
    """A CSV of one's own."""
    path = folder / f"{name}.csv"
    pl.DataFrame(_rows(lines)).write_csv(path)
    return path


def table_jsonl(folder: Path, name: str, lines: Lines) -> Path:
    """JSON lines of one's own."""
    return _jsonl(folder / f"{name}.jsonl", _rows(lines))


def table_parquet(folder: Path, name: str, lines: Lines) -> Path:
    """Parquet of one's own."""
    path = folder / f"{name}.parquet"
    pl.DataFrame(_rows(lines)).write_parquet(path)
    return path


FORMS: Mapping[str, Callable[[Path, str, Lines], Path]] = {
    one.__name__: one
    for one in (
        inspect_json, inspect_eval, lm_eval, promptfoo, promptfoo_csv, deepeval, ragas, openai_evals,
        every_eval_ever, table_csv, table_jsonl, table_parquet,
    )
}  # fmt: skip
"""Each form by its name."""
WITH_IDS = ("inspect_json", "inspect_eval", "promptfoo", "deepeval", "openai_evals", "every_eval_ever",
            "table_csv", "table_jsonl", "table_parquet")  # fmt: skip
"""Those that carry an id that the user declared."""
