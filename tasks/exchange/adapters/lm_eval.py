"""Sample logs of lm-evaluation-harness: `samples_<task>_<date>.jsonl`, beside its `results_<date>.json`.

Source: lm-evaluation-harness 0.4, `--log_samples`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from basic_control.data.draw import content_id
from basic_control.data.errors import InputError, plural
from basic_control.tasks.exchange.logs import (
    FILTER,
    AggregatesAlone,
    Found,
    Material,
    Recorded,
    Stated,
    build_score,
    collect_facts,
    join_messages,
    list_objects,
    read_expected,
    read_mapping,
    read_stated_value,
    within,
)
from basic_control.tasks.exchange.source import Source

TOOL = "lm-evaluation-harness"
_KEYS = {"doc_id", "doc", "target", "arguments", "resps"}
# What surrounds the task and the date in a log's name: the ends of `samples_gsm8k_2024-11-03T10-11-12.5.jsonl`.
_NAME = re.compile(r"^(lm_eval_)?(samples_)?|(\.jsonl)?(\.gz)?$")
# The date at a name's end: `_2024-11-03T10-11-12.123456`.
_DATE = re.compile(r"_\d{4}-\d\d-\d\dT[\d.:-]+$")
_QUESTIONS = ("question", "Question", "query", "problem", "input", "prompt")


def fits(source: Source) -> bool:
    """Return whether a file's first line is a sample of lm-evaluation-harness, or the file its results."""
    return source.head.keys() >= _KEYS or _has_aggregates(source)


def _has_aggregates(source: Source) -> bool:
    return isinstance(source.document, Mapping) and {"results", "configs", "n-shot"} <= source.head.keys()


def _read_question(row: Mapping[str, Any]) -> str:
    """Return the question: the document's if it has one; '' if it has none."""
    doc = read_mapping(row["doc"])
    for key in _QUESTIONS:
        text = doc.get(key)
        if isinstance(text, str) and text.strip():
            return text
    return ""


def _read_sent(row: Mapping[str, Any]) -> str:
    """Return the prompt that was sent, with the examples before the question."""
    arguments = row["arguments"]
    sent = within(arguments, "gen_args_0", "arg_0")
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], list) and arguments[0]:
        sent = arguments[0][0]
    if isinstance(sent, list):
        sent = next(iter(sent), "")
    # A chat template's messages are logged as JSON in a text.
    if isinstance(sent, str) and sent.startswith("["):
        with suppress(ValueError, RecursionError):
            sent = json.loads(sent)
    return join_messages(sent)


def _digest_document(row: Mapping[str, Any]) -> str:
    return content_id("document", json.dumps(row["doc"], sort_keys=True, default=str))


def _read_replies(row: Mapping[str, Any]) -> list[str]:
    """Return the generated texts; none if options were compared by likelihood."""
    parts: list[object] = []
    if isinstance(row["resps"], list):
        # A request's replies are a list, or its one reply itself.
        for replies in row["resps"]:
            parts += replies if isinstance(replies, list) else [replies]
    return [part for part in parts if isinstance(part, str)]


def _read_scores(row: Mapping[str, Any]) -> dict[str, Stated]:
    """Return a row's scores, under the metric's name and that of the filter by which its reply was read."""
    filter_name, metric_names = str(row.get("filter") or "none"), row.get("metrics")
    end = "" if filter_name == "none" else f",{filter_name}"
    scores = dict[str, Stated]()
    if isinstance(metric_names, list):
        for name in metric_names:
            if isinstance(name, str) and read_stated_value(row.get(name)) is not None:
                scores[f"{name}{end}"] = build_score(row[name])
    return scores


def _load_results(path: Path) -> Mapping[str, Any]:
    """Return the results file beside a sample log, of its date if there is one; empty if none is readable."""

    def rank(file: Path) -> tuple[bool, str]:
        date = _DATE.search(file.stem)
        return bool(date and date[0] in path.name), file.name

    for file in sorted(path.parent.glob("*results*.json"), key=rank, reverse=True):
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(document, dict) and isinstance(document.get("results"), dict):
            return document
    return {}


def _tell_apart(rows: list[tuple[Recorded, str]]) -> Iterator[Recorded]:
    """Yield rows, with their document where one question is asked about several, such as passages."""
    documents_of: dict[str, set[str]] = {}
    for row, document in rows:
        documents_of.setdefault(row.question, set()).add(document)
    for row, document in rows:
        if len(documents_of[row.question]) > 1:
            yield row._replace(material=row.material._replace(contexts=(document,)))
        else:
            yield row


def read(source: Source) -> Iterator[Found]:
    """Read a sample log: each document once, with the scores of all filters.

    Raises:
        InputError: it cannot be read, or contains aggregates only.
    """
    if _has_aggregates(source):
        raise AggregatesAlone(
            f"{source.path}: found aggregates alone, which have no rows to pair. Run {TOOL} with --log_samples, "
            "and give its samples_*.jsonl."
        )
    results = _load_results(source.path)
    task = _name_task(source.path.name, results)
    model = results.get("model_name") or within(results, "config", "model")
    scores: dict[str, dict[str, Stated]] = {}
    rows: list[tuple[Recorded, str]] = []
    several_count = 0
    for line_number, sample in enumerate(source.rows(), 1):
        if not sample.keys() >= _KEYS:
            raise InputError(
                f"{source.path}, line {line_number}: expected a sample of {TOOL} with {', '.join(sorted(_KEYS))}."
            )
        replies, document_id = _read_replies(sample), str(sample["doc_id"])
        # A document has a line for each filter, which adds its own scores to the row of the first.
        if document_id in scores:
            scores[document_id] |= _read_scores(sample)
            continue
        several_count += len(replies) > 1
        scores[document_id], sent = _read_scores(sample), _read_sent(sample)
        row = Recorded(
            "",
            _read_question(sample) or sent,
            read_expected(sample["target"]),
            next(iter(replies), None),
            scores[document_id],
            str(model or "model"),
            task,
            material=Material(sent=sent),
        )
        rows.append((row, _digest_document(sample)))
    yield from _tell_apart(rows)
    yield "The log does not say why replies ended, so truncated replies cannot be identified."
    if several_count:
        yield f"{plural(several_count, 'sample')} with several replies; the first of each is used."
    # Whether more is better is stated of a metric, for all its filters.
    rising = read_mapping(within(results, "higher_is_better", task))
    names = {name for stated in scores.values() for name in stated}
    yield frozenset(name for name in names if rising.get(name.partition(",")[0]) is False)
    yield _describe_run(results, task, model)


def _name_task(file_name: str, results: Mapping[str, Any]) -> str:
    """Return the longest task of the results with which a log's name begins, else its name without the date."""
    name = _NAME.sub("", file_name)
    tasks: list[str] = sorted(results.get("results", {}), key=len, reverse=True)
    return next((task for task in tasks if name.startswith(task)), _DATE.sub("", name))


def _describe_run(results: Mapping[str, Any], task: str, model: object) -> dict[str, str]:
    options = read_mapping(within(results, "configs", task))
    return collect_facts(
        tool=TOOL,
        tool_version=results.get("lm_eval_version"),
        task_version=within(results, "versions", task),
        model=model,
        prompt=options.get("doc_to_text"),
        few_shot_examples=options.get("num_fewshot"),
        temperature=within(options, "generation_kwargs", "temperature"),
        max_tokens=within(options, "generation_kwargs", "max_gen_toks"),
        seed=within(results, "config", "random_seed"),
        **_describe_filters(options.get("filter_list")),
    )


def _describe_filters(filters: object) -> dict[str, str]:
    """Return how each filter of a task reads a reply, with its pattern, by the filter's name."""
    readings: dict[str, str] = {}
    for entry in list_objects(filters):
        steps: list[str] = []
        for step in list_objects(entry.get("filter")):
            options = {name: value for name, value in step.items() if name != "function"}
            steps.append(f"{step.get('function')} {json.dumps(options, ensure_ascii=False)}")
        readings[f"{FILTER} {entry.get('name')}"] = ", ".join(steps)
    return readings
