"""Records of Every Eval Ever: an aggregate JSON file, and its instances as JSONL.

Source: the schemas `eval` and `instance_level_eval` of every-eval-ever 0.3.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError, plural
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
