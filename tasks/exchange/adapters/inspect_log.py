"""Logs of Inspect (`.eval`, `.json`): read as they are; written through Inspect's own package, the extra `inspect`.

Source: inspect_ai.log, version 2 of its form.
"""

import hashlib
import importlib.util
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from basic_control.data.errors import InputError
from basic_control.data.extras import format_install
from basic_control.data.messages import SYSTEM, is_chat, write_transcript
from basic_control.data.records import Message
from basic_control.data.truncation import LIMITS
from basic_control.metrics.stats.missing import UNSTATED
from basic_control.tasks.exchange.finished import Evaluation, ScoredReply
from basic_control.tasks.exchange.logs import (
    UNNAMED_JUDGE,
    Found,
    Material,
    Recorded,
    Stated,
    Turns,
    Usage,
    build_score,
    collect_facts,
    join_parts,
    list_objects,
    read_count,
    read_expected,
    read_mapping,
    within,
)
from basic_control.tasks.exchange.source import LARGEST, Source, refuse_large
from basic_control.tasks.exchange.turns import cut_before_reply, find_text, read_messages_of_file

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessage, ModelOutput
    from inspect_ai.tool import ToolCall

TOOL = "Inspect"
FORM = "inspect"
WRITES = ".eval, which its viewer opens"
_MARKS: Mapping[Any, float] = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Inspect's values for correct, incorrect, partial and no answer."""
_REASONS = {"stop": "stop", "max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}
# A sample's zip member, with its id and epoch: `samples/17_epoch_1.json`.
_SAMPLE = re.compile(r"samples/(?:(?P<id>\d{1,18})_)?.+\.json", re.DOTALL)
# What a log's name may not have, and `_`, which joins its parts: the `/` and `:` of `openai/gpt-4o:free`.
_UNSAFE = re.compile(r"[^\w.-]|_")
_ZSTD = 93
_LOCAL, _LENGTHS = 30, struct.Struct("<HH")  # a zip member's own header, before its name, ends with two lengths


def fits(source: Source) -> bool:
    """Return whether a file is a log of Inspect."""
    return source.path.suffix.lower() == ".eval" or {"eval", "status", "version"} <= source.head.keys()


def _read_member(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    """Return a member's content; Inspect compresses with Zstandard, which Python's reader supports from 3.14."""
    opened = packed.fp
    if opened is None or member.file_size > LARGEST:
        raise ValueError(f"{member.filename} cannot be unpacked")
    if member.compress_type != _ZSTD:
        return json.loads(packed.read(member))
    import pyarrow as pa

    # The member's own header ends with the lengths of its name and of its extra field, which follow it.
    opened.seek(member.header_offset + _LOCAL - _LENGTHS.size)
    opened.seek(sum(_LENGTHS.unpack(opened.read(_LENGTHS.size))), 1)
    data = opened.read(member.compress_size)
    return json.loads(pa.decompress(data, member.file_size, codec="zstd").to_pybytes())


def _read_parts(source: Source) -> Iterator[Mapping[str, Any]]:
    """Yield a log's header, then its samples, one at a time."""
    if source.path.suffix.lower() != ".eval":
        yield source.head
        yield from (sample for sample in source.head.get("samples") or () if isinstance(sample, Mapping))
        return
    try:
        with zipfile.ZipFile(source.path) as packed:
            refuse_large(source.path, sum(member.file_size for member in packed.infolist()))
            by_name = {member.filename: member for member in packed.infolist()}
            # A log that broke off has only the header of its start.
            header = by_name.get("header.json") or by_name.get("_journal/start.json")
            if header:
                yield read_mapping(_read_member(packed, header))
            else:
                yield {}
            for name in _sort_samples(by_name):
                yield read_mapping(_read_member(packed, by_name[name]))
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, struct.error, zlib.error) as error:
        raise InputError(
            f"{source.path}: cannot be read as a log of Inspect ({type(error).__name__}: {error})."
        ) from error


def _sort_samples(names: Iterable[str]) -> list[str]:
    """Return the names of those members that are samples, by their ids as numbers."""
    numbered: list[tuple[int, str]] = []
    for name in names:
        match = _SAMPLE.fullmatch(name)
        if match:
            numbered.append((int(match["id"] or 0), name))
    return [name for _, name in sorted(numbered)]


def _list_values(scorer: str, value: object) -> Iterator[tuple[str, Any]]:
    """Yield a scorer's values by the names of their metrics: one, or several with names of their own."""
    values = {scorer: value}
    if isinstance(value, Mapping):
        values = {f"{scorer}.{name}": part for name, part in value.items()}
    for name, mark in values.items():
        yield name, _MARKS.get(mark, mark) if isinstance(mark, str) else mark


def _read_scores(sample: Mapping[str, Any], facts: Mapping[str, str], error: str) -> dict[str, Stated]:
    """Return the scorers' values: one each, or several by name."""
    scores = dict[str, Stated]()
    for scorer, score in read_mapping(sample.get("scores")).items():
        judge, reason = "", within(score, "explanation")
        if scorer.startswith("model_graded"):
            # As `collect_facts` names it.
            fact = f"judge of {scorer}".replace("_", " ")
            judge = facts.get(fact, UNNAMED_JUDGE)
        for name, value in _list_values(scorer, within(score, "value")):
            if error:
                scores[name] = build_score(None, error=error)
            else:
                scores[name] = build_score(value, judge=judge, reason=reason)
    return scores


def _read_sample(sample: Mapping[str, Any], facts: Mapping[str, str], epochs: int) -> Recorded:
    output, epoch = read_mapping(sample.get("output")), read_count(sample.get("epoch")) or 1
    attached = read_mapping(sample.get("attachments"))
    choices = output.get("choices") or [{}]
    first = read_mapping(choices[0]) if isinstance(choices, list) else {}
    failure, error = sample.get("error"), ""
    if failure:
        error = str(within(failure, "message") or UNSTATED)
    # A log may have the reply as a message alone.
    reply_text = output.get("completion")
    if not isinstance(reply_text, str):
        reply_text = join_parts(within(first.get("message"), "content"))
    messages = read_messages_of_file(sample.get("input"), attached)
    question = write_transcript(messages)
    if not messages:
        question = find_text(join_parts(sample.get("input")), attached)
    turns = cut_before_reply(read_messages_of_file(sample.get("messages"), attached))
    # A single message without calls is asked as a text.
    if not turns.is_chat and not turns.calls:
        turns = Turns()
    return Recorded(
        join_parts(sample.get("id")),
        question,
        read_expected(sample.get("target")),
        None if error else find_text(reply_text, attached),
        _read_scores(sample, facts, error),
        facts.get("model", "model"),
        facts.get("task", ""),
        repeat=epoch - 1 if epochs > 1 or epoch > 1 else None,
        finish_reason=_REASONS.get(str(first.get("stop_reason")), ""),
        error=error,
        usage=Usage(
            read_count(within(output, "usage", "input_tokens")),
            read_count(within(output, "usage", "output_tokens")),
        ),
        material=Material(choices=tuple(map(str, sample.get("choices") or ()))),
        turns=turns,
    )


def _collect_facts(header: Mapping[str, Any]) -> dict[str, str]:
    spec = read_mapping(header.get("eval"))
    settings = read_mapping(within(header, "plan", "config")) or read_mapping(spec.get("model_generate_config"))
    solvers = [str(step.get("solver")) for step in list_objects(within(header, "plan", "steps"))]
    judges = dict[str, Any]()
    for scorer in list_objects(spec.get("scorers")):
        judges[f"judge of {scorer.get('name')}"] = within(scorer, "options", "model")
    return collect_facts(
        tool=TOOL,
        tool_version=within(spec, "packages", "inspect_ai"),
        task=str(spec.get("task") or "").rpartition("/")[2],
        task_version=spec.get("task_version"),
        model=spec.get("model"),
        solvers=", ".join(solvers),
        temperature=settings.get("temperature"),
        max_tokens=settings.get("max_tokens"),
        seed=settings.get("seed"),
        **judges,
    )


def read(source: Source) -> Iterator[Found]:
    """Read a log of Inspect, every scorer and epoch.

    Raises:
        InputError: it cannot be read.
    """
    samples = _read_parts(source)
    header = next(samples)
    epochs = read_count(within(header, "eval", "config", "epochs")) or 1
    facts = _collect_facts(header)
    rows: list[Recorded] = []
    names: dict[str, None] = {}
    turn_count = 0
    for sample in samples:
        roles = [message.get("role") for message in list_objects(sample.get("messages"))]
        turn_count = max(turn_count, roles.count("assistant"))
        row = _read_sample(sample, facts, epochs)
        names |= dict.fromkeys(row.scores)
        rows.append(row)
    for row in rows:
        # A sample that failed has no scores: it lost those that the others have.
        loss = build_score(None, error=row.error or UNSTATED)
        yield row._replace(scores={**dict.fromkeys(names, loss), **row.scores})
    yield facts
    if header.get("status") != "success":
        yield f"The log's status is {header.get('status')}: it may be incomplete."
    if turn_count > 1:
        yield "Some samples are multi-turn conversations; only the last reply is verified."


def _write_sample(row: ScoredReply, target: str) -> "EvalSample":
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ChatMessageUser
    from inspect_ai.scorer import Score

    output = _write_output(row, target)
    messages = [_write_message(message, number) for number, message in enumerate(row.messages)]
    scores = {name: Score(value=value, explanation=row.reasons.get(name)) for name, value in row.scores.items()}
    return EvalSample(
        id=row.item_id,
        epoch=row.repeat + 1,
        # A message alone is its text, as Inspect itself writes it.
        input=messages if is_chat(row.messages) else row.prompt,
        target=row.answer,
        messages=[*(messages or [ChatMessageUser(content=row.prompt, source="input")]), output.choices[0].message],
        output=output,
        scores=scores,
        error=EvalError(message=row.error, traceback="", traceback_ansi="") if row.error else None,
    )


def _write_output(row: ScoredReply, target: str) -> "ModelOutput":
    """Return a reply in Inspect's form: its message with calls, why it ended, and its tokens."""
    from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, StopReason

    calls = _write_calls(row.calls, prefix=f"{row.item_id}-reply")
    reply = ChatMessageAssistant(content=row.text, source="generate", model=target, tool_calls=calls or None)
    output = ModelOutput.from_content(target, row.text)
    output.choices[0].message = reply
    finish_reason = row.finish_reason.strip().lower()
    stop_reasons: dict[str, StopReason] = {"": "unknown", "content_filter": "content_filter"}
    stop_reason = stop_reasons.get(finish_reason, "stop")
    output.choices[0].stop_reason = "max_tokens" if finish_reason in LIMITS else stop_reason
    if row.tokens_in is not None and row.tokens_out is not None:
        total = row.tokens_in + row.tokens_out
        output.usage = ModelUsage(input_tokens=row.tokens_in, output_tokens=row.tokens_out, total_tokens=total)
    return output


def _write_message(message: Message, number: int) -> "ChatMessage":
    """Return a message of a question in Inspect's form; `number` is its position among them."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser

    content = message.content
    if message.role in SYSTEM:
        return ChatMessageSystem(content=content, source="input")
    if message.role == "assistant":
        calls = _write_calls(message.tool_calls, prefix=str(number))
        return ChatMessageAssistant(content=content, source="input", tool_calls=calls or None)
    if message.role in {"tool", "function"}:
        function, identifier = message.name or None, message.tool_call_id or None
        return ChatMessageTool(content=content, source="input", function=function, tool_call_id=identifier)
    return ChatMessageUser(content=content, source="input")


def _write_calls(calls: Iterable[Mapping[str, Any]], prefix: str) -> "list[ToolCall]":
    """Return calls in Inspect's form, whose ids it requires."""
    from inspect_ai.tool import ToolCall

    tool_calls = []
    for number, call in enumerate(calls):
        identifier = str(call.get("id") or f"{prefix}-{number}")
        tool_calls.append(ToolCall(id=identifier, function=call["name"], arguments=dict(call["arguments"])))
    return tool_calls


def write(evaluations: Iterable[Evaluation], folder: Path, *, run: Mapping[str, Any]) -> Iterator[Path]:
    """Yield a log for Inspect's viewer for each suite and model, with replies and scores.

    `run` has the run's id (`run`) and when it `started`.

    Raises:
        InputError: the extra is not installed.
    """
    used_names = set[str]()
    for evaluation in evaluations:
        if evaluation.rows:
            path = folder / f"{_name_log(evaluation, str(run['run']), used_names)}.eval"
            _write_log(evaluation, path, str(run["started"]))
            yield path


def _name_log(evaluation: Evaluation, run_name: str, used_names: set[str]) -> str:
    """Return a log's name, valid and unique on any system, and add it to those that are used, without case."""
    parts = (evaluation.suite, evaluation.target, run_name)
    name = "_".join(_UNSAFE.sub("-", part) for part in parts)
    if name.casefold() in used_names:
        name += f"_{hashlib.sha256(repr(parts[:2]).encode()).hexdigest()[:8]}"
    used_names.add(name.casefold())
    return name


def _write_log(evaluation: Evaluation, path: Path, started: str) -> None:
    if importlib.util.find_spec("inspect_ai") is None:
        raise InputError(
            f"{path}: to write logs of Inspect, install the extra `inspect`: {format_install('inspect')}"
        )
    from inspect_ai.log import (
        EvalConfig,
        EvalDataset,
        EvalLog,
        EvalMetric,
        EvalResults,
        EvalScore,
        EvalSpec,
        write_eval_log,
    )  # fmt: skip

    item_ids = list(dict.fromkeys(row.item_id for row in evaluation.rows))
    epochs = 1 + max(row.repeat for row in evaluation.rows)
    # Inspect requires a number where a metric has no mean.
    scores = []
    for name in evaluation.metrics():
        mean = EvalMetric(name="mean", value=evaluation.cells[name].value.mean or 0.0)
        scores.append(EvalScore(name=name, scorer=name, metrics={"mean": mean}))
    log = EvalLog(
        eval=EvalSpec(
            created=started,
            task=evaluation.suite,
            dataset=EvalDataset(name=evaluation.suite, samples=len(item_ids), sample_ids=list(item_ids)),
            model=evaluation.target,
            config=EvalConfig(epochs=epochs),
        ),
        status="success",
        results=EvalResults(
            total_samples=len(evaluation.rows),
            completed_samples=sum(not row.error for row in evaluation.rows),
            scores=scores,
        ),
        samples=[_write_sample(row, evaluation.target) for row in evaluation.rows],
    )
    write_eval_log(log, str(path))
