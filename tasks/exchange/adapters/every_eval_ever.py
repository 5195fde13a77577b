"""Records of Every Eval Ever: an aggregate JSON file, and its instances as JSONL.

Source: the schemas `eval` and `instance_level_eval` of every-eval-ever 0.3.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from data.errors import InputError
from data.files import rows as read_rows
from tasks.exchange.finished import Evaluation, ScoredReply
from tasks.exchange.records import Log, Recorded, counted, share, text_of

TOOL = "Every Eval Ever"
FORM = "every-eval-ever"
SCHEMA = "0.3.0"
UNNAMED = "unnamed"
"""The developer of a model whose name says none: the form wants one."""
_KEYS = {"schema_version", "evaluation_id", "model_id", "sample_id", "interaction_type", "input", "evaluation"}


def fits(path: Path, head: Mapping[str, Any]) -> bool:
    """Tell whether a file is an aggregate record, or its first line an instance."""
    if path.suffix == ".json":
        return not head.keys().isdisjoint({"schema_version", "detailed_evaluation_results"})
    return head.keys() >= _KEYS


def instances_of(path: Path) -> Path:
    """Return the file of instances that an aggregate record names; it stands beside it, never elsewhere.

    Raises:
        InputError: the record is none, or names no file, or the file is not there.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as JSON ({error}).") from error
    detailed = record.get("detailed_evaluation_results") if isinstance(record, dict) else None
    named = detailed.get("file_path") if isinstance(detailed, Mapping) else None
    if not isinstance(named, str):
        raise InputError(
            f"{path}: found no detailed_evaluation_results.file_path; only records with their instances "
            "hold replies that can be verified."
        )
    found = path.parent / Path(named).name
    if not found.is_file():
        raise InputError(f"{path}: its instances {found.name} are not beside it; put the file there.")
    return found


def _rows(listed: list[Mapping[str, Any]], remarks: list[str]) -> Iterator[Recorded]:
    turns = failed = traces = 0
    for number, row in enumerate(listed):
        output = row.get("output")
        if row["interaction_type"] != "single_turn" or not isinstance(output, Mapping):
            turns += 1
            continue
        if row.get("error"):
            failed += 1
            continue
        traces += bool(output.get("reasoning_trace"))
        asked, usage = row["input"], row.get("token_usage") or {}
        replies = output.get("raw")
        evaluation = row["evaluation"]
        yield Recorded(
            str(row.get("sample_id", number)),
            text_of(asked.get("raw")),
            [str(one) for one in asked.get("reference") or ()],
            text_of(replies[0] if isinstance(replies, list) and replies else replies),
            share(evaluation.get("score")),
            tokens_in=counted(usage.get("input_tokens")),
            tokens_out=counted(usage.get("output_tokens")),
            choices=tuple(map(str, asked.get("choices") or ())),
        )
    if turns:
        remarks.append(f"{turns} instances are conversations of several turns or of agents; they are left out.")
    if failed:
        remarks.append(f"{failed} instances ended in an error; they are left out.")
    if traces:
        remarks.append(f"The reasoning traces of {traces} instances are left out: only answers are verified.")


def read(path: Path, *, metric: str = "", filtered: str = "", task: str = "") -> Log:  # noqa: ARG001 - others' options
    """Read a record: its aggregate file, or its instances.

    Raises:
        InputError: it cannot be read, or holds no reply of one turn, or the task is not in it.
    """
    where = instances_of(path) if path.suffix == ".json" else path
    listed = list(read_rows(where))
    if strange := next((n for n, row in enumerate(listed, 1) if not row.keys() >= _KEYS), None):
        raise InputError(f"{where}, line {strange}: expected an instance of {TOOL}: {', '.join(sorted(_KEYS))}.")
    named = list(dict.fromkeys(str(row.get("evaluation_name")) for row in listed))
    models = list(dict.fromkeys(str(row["model_id"]) for row in listed))
    if len(models) > 1:
        raise InputError(f"{where}: found {len(models)} models, expected one; split the file by model_id.")
    if task and task not in named:
        raise InputError(f"{where}: found no evaluation {task!r}; there are: {', '.join(named)}.")
    chosen = task or next(iter(named), "")
    remarks: list[str] = []
    rows = tuple(_rows([row for row in listed if str(row.get("evaluation_name")) == chosen], remarks))
    if not rows:
        raise InputError(f"{where}: found no reply of one turn; nothing can be verified here.")
    if len(named) > 1:
        remarks.append(f"Only {chosen!r} is read; the file holds {len(named)} evaluations (--task names one).")
    remarks.append("The record does not say why replies ended: none can be identified as cut at the token limit.")
    return Log(TOOL, chosen, models[0], "score", rows, tuple(remarks))


def _part(text: str) -> str:
    """Return a name as a part of a path that any system takes."""
    kept = "".join(c if c.isalnum() or c in "-_." else "_" for c in text).strip(".")
    return f"{kept}_" if kept.lower() in {"", "data", "unknown"} else kept


def _instance(row: ScoredReply, evaluation: Evaluation, metric: str, evaluation_id: str) -> dict[str, Any]:
    value = row.scores[metric]
    instance: dict[str, Any] = {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation_id,
        "model_id": evaluation.target,
        "evaluation_name": evaluation.suite,
        "evaluation_result_id": f"{evaluation_id}/{metric}",
        "sample_id": row.item_id if row.repeat == 0 else f"{row.item_id}, repeat {row.repeat}",
        "sample_hash": hashlib.sha256((row.prompt + "".join(row.answer)).encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": {"raw": row.prompt, "reference": row.answer},
        "output": {"raw": [row.text]},
        "answer_attribution": [],
        "evaluation": {"score": value, "is_correct": value == 1.0},
        "metadata": {"metric": metric, "reason": row.reasons.get(metric, "")},
    }
    if row.tokens_in is not None and row.tokens_out is not None:
        counts = {"input_tokens": row.tokens_in, "output_tokens": row.tokens_out}
        instance["token_usage"] = {**counts, "total_tokens": row.tokens_in + row.tokens_out}
    if row.latency_s is not None:
        instance["performance"] = {"latency_ms": row.latency_s * 1000}
    return instance


def _result(metric: str, cell: Mapping[str, Any], evaluation: Evaluation, evaluation_id: str) -> dict[str, Any]:
    details: dict[str, Any] = {"score": cell["mean"]}
    if cell.get("ci_low") is not None and cell.get("ci_high") is not None:
        bounds = {"lower": cell["ci_low"], "upper": cell["ci_high"], "confidence_level": 0.95}
        details["uncertainty"] = {"confidence_interval": bounds, "num_samples": cell["n_scored"]}
    return {
        "evaluation_result_id": f"{evaluation_id}/{metric}",
        "evaluation_name": evaluation.suite,
        "source_data": {"dataset_name": evaluation.suite, "source_type": "other"},
        "metric_config": {
            "metric_id": metric,
            "metric_name": metric,
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
        },
        "score_details": details,
    }


def write(
    evaluation: Evaluation, folder: Path, *, run: Mapping[str, Any], cells: Mapping[str, Mapping[str, Any]]
) -> tuple[Path, Path] | None:
    """Write a suite's replies and scores: the aggregate record and, beside it, its instances; None without a score.

    `run` has the run's id (`run`), when it `started`, and our `version`; `cells` are the means and intervals of the
    metrics, by name. Instances carry the first metric of the suite's score.
    """
    metrics = [name for name in evaluation.metrics() if name in cells]
    if not metrics:
        return None
    evaluation_id = f"{evaluation.suite}/{evaluation.target}/{run['run']}"
    lines = [
        _instance(row, evaluation, metrics[0], evaluation_id) for row in evaluation.rows if metrics[0] in row.scores
    ]
    # Where its own validator wants them: data/benchmark/developer/model/uuid.json, and uuid_samples.jsonl.
    developer, _, model = evaluation.target.rpartition("/")
    place = Path("data", _part(evaluation.suite), _part(developer or UNNAMED), _part(model))
    name = str(UUID(bytes=hashlib.sha256(evaluation_id.encode()).digest()[:16], version=4))
    instances, record = folder / place / f"{name}_samples.jsonl", folder / place / f"{name}.json"
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    known = {"deployment_type": "unknown", "model_availability": "unknown"}
    whole = {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation_id,
        "evaluation_timestamp": str(run["started"]),
        "retrieved_timestamp": str(datetime.now(UTC).timestamp()),
        "source_metadata": {
            "source_name": "Basic Control",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "basic-control", "version": str(run["version"])},
        "model_info": {
            "name": evaluation.target,
            "id": evaluation.target,
            "developer": developer or UNNAMED,
            "additional_details": known,
        },
        "evaluation_results": [_result(name, cells[name], evaluation, evaluation_id) for name in metrics],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": (place / instances.name).as_posix(),
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(text.encode()).hexdigest(),
            "total_rows": len(lines),
        },
    }
    record.parent.mkdir(parents=True, exist_ok=True)
    instances.write_text(text, encoding="utf-8")
    record.write_text(json.dumps(whole, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return record, instances
