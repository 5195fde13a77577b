"""Records of Every Eval Ever: an aggregate JSON file, and its instances as JSONL.

Source: the schemas `eval` and `instance_level_eval` of every-eval-ever 0.3.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from basic_control.data.errors import InputError, plural
from basic_control.tasks.exchange.finished import Evaluation, ScoredReply
from basic_control.tasks.exchange.records import (
    AggregatesAlone,
    Found,
    Material,
    Recorded,
    Usage,
    build_score,
    collect_facts,
    list_objects,
    read_count,
    read_mapping,
    text_of,
    within,
)
from basic_control.tasks.exchange.source import Source, open_source

TOOL = "Every Eval Ever"
FORM = "every-eval-ever"
WRITES = "JSON and JSONL"
SCHEMA = "0.3.0"
UNNAMED = "unnamed"
"""The developer of a model whose name has none: the format requires one."""
_KEYS = {"schema_version", "evaluation_id", "model_id", "sample_id", "interaction_type", "input", "evaluation"}


def fits(source: Source) -> bool:
    """Return whether a file is an aggregate record, or its first line an instance."""
    return (
        source.head.keys() >= _KEYS
        or "detailed_evaluation_results" in source.head
        or ("schema_version" in source.head and source.document is not None)
    )


def _instances(source: Source) -> Path:
    """Return the instances file that an aggregate record names; only from the same folder."""
    path, named = source.path, within(source.head, "detailed_evaluation_results", "file_path")
    if not isinstance(named, str):
        raise AggregatesAlone(
            f"{path}: found aggregates alone: no detailed_evaluation_results.file_path. Only a record that names "
            "its instances has replies."
        )
    found = path.parent / Path(named).name
    if not found.is_file():
        raise InputError(f"{path}: its instances file {found.name} is not in the same folder; put it there.")
    return found


def _recorded(row: Mapping[str, Any], error: str) -> Recorded:
    asked, replies = read_mapping(row["input"]), within(row, "output", "raw")
    metric = text_of(within(row, "metadata", "metric")) or text_of(row.get("evaluation_name")) or "score"
    return Recorded(
        text_of(row.get("sample_id")),
        text_of(asked.get("raw")),
        [str(one) for one in asked.get("reference") or ()],
        None if error else text_of(replies[0] if isinstance(replies, list) and replies else replies),
        {metric: build_score(within(row, "evaluation", "score"), error=error)},
        str(row["model_id"]),
        str(row.get("evaluation_name") or ""),
        error=error,
        usage=Usage(
            read_count(within(row, "token_usage", "input_tokens")),
            read_count(within(row, "token_usage", "output_tokens")),
        ),
        material=Material(choices=tuple(map(str, asked.get("choices") or ()))),
    )


def read(source: Source) -> Iterator[Found]:
    """Read a record: its aggregate file, or its instances.

    Raises:
        InputError: it cannot be read.
    """
    aggregate = "detailed_evaluation_results" in source.head or not source.head.keys() >= _KEYS
    where = open_source(_instances(source)) if aggregate else source
    turns, traces = 0, 0
    told = list_objects(source.head.get("evaluation_results")) if aggregate else []
    rising = {one.get("evaluation_name") for one in told if not within(one, "metric_config", "lower_is_better")}
    falling = {one.get("evaluation_name") for one in told} - rising
    for line, row in enumerate(where.rows(), 1):
        if not row.keys() >= _KEYS:
            raise InputError(
                f"{where.path}, line {line}: expected an instance of {TOOL}: {', '.join(sorted(_KEYS))}."
            )
        error = text_of(row.get("error"))
        if not error and (row["interaction_type"] != "single_turn" or not isinstance(row.get("output"), Mapping)):
            turns += 1
            continue
        traces += bool(within(row, "output", "reasoning_trace"))
        yield (one := _recorded(row, error))
        if one.suite in falling:
            yield frozenset(one.scores)
    yield "The record does not say why replies ended, so truncated replies cannot be identified."
    if turns:
        yield f"{plural(turns, 'instance')} left out: multi-turn conversations or agent runs."
    if traces:
        yield f"The reasoning traces of {plural(traces, 'instance')} are left out; only answers are verified."
    version = within(source.head, "eval_library", "version") if aggregate else None
    yield collect_facts(tool=TOOL, tool_version=version, schema=source.head.get("schema_version"))


def _part(text: str) -> str:
    """Return a name as a path component valid on any system."""
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


def _result(metric: str, evaluation: Evaluation, evaluation_id: str) -> dict[str, Any]:
    cell = evaluation.cells[metric]
    details: dict[str, Any] = {"score": cell.value.mean}
    low, high = cell.value.interval.low, cell.value.interval.high
    if low is not None and high is not None:
        bounds = {"lower": low, "upper": high, "confidence_level": 0.95}
        details["uncertainty"] = {"confidence_interval": bounds, "num_samples": cell.counts.n_scored}
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


def write(evaluations: Iterable[Evaluation], folder: Path, *, run: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the aggregate record of each suite and model with a score and, beside it, its instances.

    `run` has the run's id (`run`), when it `started`, and our `version`. Instances carry the first metric of the
    suite's score.
    """
    for one in evaluations:
        if one.metrics():
            yield from _record(one, folder, run)


def _record(evaluation: Evaluation, folder: Path, run: Mapping[str, Any]) -> tuple[Path, Path]:
    main, *_ = metrics = evaluation.metrics()
    evaluation_id = f"{evaluation.suite}/{evaluation.target}/{run['run']}"
    lines = [_instance(row, evaluation, main, evaluation_id) for row in evaluation.rows if main in row.scores]
    # The layout its own validator expects: data/benchmark/developer/model/uuid.json, and uuid_samples.jsonl.
    developer, _, model = evaluation.target.rpartition("/")
    place = Path("data", _part(evaluation.suite), _part(developer or UNNAMED), _part(model))
    name = str(UUID(bytes=hashlib.sha256(evaluation_id.encode()).digest()[:16], version=4))
    instances, record = folder / place / f"{name}_samples.jsonl", folder / place / f"{name}.json"
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
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
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": [_result(name, evaluation, evaluation_id) for name in metrics],
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
