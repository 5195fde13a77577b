"""Records of Every Eval Ever: an aggregate JSON file, and its instances as JSONL.

Source: the schemas `eval` and `instance_level_eval` of every-eval-ever 0.3.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from basic_control.data.errors import InputError, plural
from basic_control.tasks.exchange.finished import Evaluation, ScoredReply
from basic_control.tasks.exchange.logs import (
    AggregatesAlone,
    Found,
    Material,
    Recorded,
    Usage,
    build_score,
    collect_facts,
    join_parts,
    list_objects,
    read_count,
    read_mapping,
    within,
)
from basic_control.tasks.exchange.source import Source, open_source

TOOL = "Every Eval Ever"
FORM = "every-eval-ever"
WRITES = "JSON and JSONL"
SCHEMA = "0.3.0"
UNNAMED = "unnamed"
"""The developer of a model whose name has none: the format requires one."""
# What a path's component may not have: the `:` of `gpt-4o:free`.
_UNSAFE = re.compile(r"[^\w.-]")
_KEYS = {"schema_version", "evaluation_id", "model_id", "sample_id", "interaction_type", "input", "evaluation"}


def fits(source: Source) -> bool:
    """Return whether a file is an aggregate record, or its first line an instance."""
    return (
        source.head.keys() >= _KEYS
        or "detailed_evaluation_results" in source.head
        or ("schema_version" in source.head and source.document is not None)
    )


def _find_instances(source: Source) -> Path:
    """Return the instances file that an aggregate record names; only from the same folder."""
    path, file_path = source.path, within(source.head, "detailed_evaluation_results", "file_path")
    if not isinstance(file_path, str):
        raise AggregatesAlone(
            f"{path}: found aggregates alone: no detailed_evaluation_results.file_path. Only a record that names "
            "its instances has replies."
        )
    instances = path.parent / Path(file_path).name
    if not instances.is_file():
        raise InputError(f"{path}: its instances file {instances.name} is not in the same folder; put it there.")
    return instances


def _read_instance(row: Mapping[str, Any], error: str) -> Recorded:
    question, replies = read_mapping(row["input"]), within(row, "output", "raw")
    # The format has a list here, other writers a text; the score is that of the first.
    if isinstance(replies, list) and replies:
        replies = replies[0]
    metric = join_parts(within(row, "metadata", "metric")) or join_parts(row.get("evaluation_name")) or "score"
    return Recorded(
        join_parts(row.get("sample_id")),
        join_parts(question.get("raw")),
        [*map(str, question.get("reference") or ())],
        None if error else join_parts(replies),
        {metric: build_score(within(row, "evaluation", "score"), error=error)},
        str(row["model_id"]),
        str(row.get("evaluation_name") or ""),
        error=error,
        usage=Usage(
            read_count(within(row, "token_usage", "input_tokens")),
            read_count(within(row, "token_usage", "output_tokens")),
        ),
        material=Material(choices=tuple(map(str, question.get("choices") or ()))),
    )


def _list_falling(results: list[Mapping[str, Any]]) -> set[Any]:
    """Return the names of those evaluations of which every result says that lower is better."""
    rising = {
        result.get("evaluation_name")
        for result in results
        if not within(result, "metric_config", "lower_is_better")
    }
    return {result.get("evaluation_name") for result in results} - rising


def read(source: Source) -> Iterator[Found]:
    """Read a record: its aggregate file, or its instances.

    Raises:
        InputError: it cannot be read.
    """
    instances, version, falling = source, None, set[Any]()
    if "detailed_evaluation_results" in source.head or not source.head.keys() >= _KEYS:
        instances = open_source(_find_instances(source))
        falling = _list_falling(list_objects(source.head.get("evaluation_results")))
        version = within(source.head, "eval_library", "version")
    turn_count = trace_count = 0
    for line_number, instance in enumerate(instances.rows(), 1):
        if not instance.keys() >= _KEYS:
            raise InputError(
                f"{instances.path}, line {line_number}: expected an instance of {TOOL}: {', '.join(sorted(_KEYS))}."
            )
        error = join_parts(instance.get("error"))
        # Conversations and agents' runs have no single reply to score; a failed call has no output at all.
        is_single = instance["interaction_type"] == "single_turn" and isinstance(instance.get("output"), Mapping)
        if not error and not is_single:
            turn_count += 1
            continue
        trace_count += bool(within(instance, "output", "reasoning_trace"))
        row = _read_instance(instance, error)
        yield row
        if row.suite in falling:
            yield frozenset(row.scores)
    yield "The record does not say why replies ended, so truncated replies cannot be identified."
    if turn_count:
        yield f"{plural(turn_count, 'instance')} left out: multi-turn conversations or agent runs."
    if trace_count:
        yield f"The reasoning traces of {plural(trace_count, 'instance')} are left out; only answers are verified."
    yield collect_facts(tool=TOOL, tool_version=version, schema=source.head.get("schema_version"))


def _format_part(text: str) -> str:
    """Return a name as a path component valid on any system."""
    part = _UNSAFE.sub("_", text).strip(".")
    # The names that its own validator does not accept.
    if part.lower() in {"", "data", "unknown"}:
        return f"{part}_"
    return part


def _write_instance(row: ScoredReply, evaluation: Evaluation, metric: str, evaluation_id: str) -> dict[str, Any]:
    score = row.scores[metric]
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
        "evaluation": {"score": score, "is_correct": score == 1.0},
        "metadata": {"metric": metric, "reason": row.reasons.get(metric, "")},
    }
    # The format requires a total where there are tokens.
    if row.tokens_in is not None and row.tokens_out is not None:
        counts = {"input_tokens": row.tokens_in, "output_tokens": row.tokens_out}
        instance["token_usage"] = {**counts, "total_tokens": row.tokens_in + row.tokens_out}
    if row.latency_s is not None:
        instance["performance"] = {"latency_ms": row.latency_s * 1000}
    return instance


def _write_result(metric: str, evaluation: Evaluation, evaluation_id: str) -> dict[str, Any]:
    cell = evaluation.cells[metric]
    details: dict[str, Any] = {"score": cell.value.mean}
    lower, upper = cell.value.interval.low, cell.value.interval.high
    if lower is not None and upper is not None:
        interval = {"lower": lower, "upper": upper, "confidence_level": 0.95}
        details["uncertainty"] = {"confidence_interval": interval, "num_samples": cell.counts.n_scored}
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
    for evaluation in evaluations:
        if evaluation.metrics():
            yield from _write_record(evaluation, folder, run)


def _write_record(evaluation: Evaluation, folder: Path, run: Mapping[str, Any]) -> tuple[Path, Path]:
    metrics = evaluation.metrics()
    first_metric = metrics[0]
    evaluation_id = f"{evaluation.suite}/{evaluation.target}/{run['run']}"
    scored_rows = [row for row in evaluation.rows if first_metric in row.scores]
    lines = [_write_instance(row, evaluation, first_metric, evaluation_id) for row in scored_rows]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    # The layout its own validator expects: data/benchmark/developer/model/uuid.json, and uuid_samples.jsonl.
    developer, _, model = evaluation.target.rpartition("/")
    developer = developer or UNNAMED
    subfolder = Path("data", *map(_format_part, (evaluation.suite, developer, model)))
    name = str(UUID(bytes=hashlib.sha256(evaluation_id.encode()).digest()[:16], version=4))
    instances_path, record_path = subfolder / f"{name}_samples.jsonl", subfolder / f"{name}.json"
    record = {
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
            "developer": developer,
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": [_write_result(metric, evaluation, evaluation_id) for metric in metrics],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": instances_path.as_posix(),
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(text.encode()).hexdigest(),
            "total_rows": len(lines),
        },
    }
    (folder / subfolder).mkdir(parents=True, exist_ok=True)
    (folder / instances_path).write_text(text, encoding="utf-8")
    (folder / record_path).write_text(json.dumps(record, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return folder / record_path, folder / instances_path
