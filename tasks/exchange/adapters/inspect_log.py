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
from basic_control.tasks.exchange.records import (
    UNNAMED_JUDGE,
    Found,
    Material,
    Recorded,
    Stated,
    Turns,
    Usage,
    build_score,
    collect_facts,
    list_objects,
    read_count,
    read_expected,
    read_mapping,
    text_of,
    within,
)
from basic_control.tasks.exchange.source import LARGEST, Source, refuse_large
from basic_control.tasks.exchange.turns import cut_before_reply, find_text, read_messages_of_file

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessage
    from inspect_ai.tool import ToolCall

TOOL = "Inspect"
FORM = "inspect"
WRITES = ".eval, which its viewer opens"
_MARKS: Mapping[Any, float] = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Inspect's values for correct, incorrect, partial and no answer."""
_REASONS = {"stop": "stop", "max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}
_SAMPLE = re.compile(r"samples/(?:(?P<id>\d{1,18})_)?.+\.json", re.DOTALL)
"""A sample's zip member: an id, then `_epoch_` and a number."""
_ZSTD = 93
_LOCAL, _LENGTHS = 30, struct.Struct("<HH")  # a zip member's own header, before its name, ends with two lengths


def fits(source: Source) -> bool:
    """Return whether a file is a log of Inspect."""
    return source.path.suffix.lower() == ".eval" or {"eval", "status", "version"} <= source.head.keys()


def _member(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    """Return a member's content; Inspect compresses with Zstandard, which Python's reader supports from 3.14."""
    opened = packed.fp
    if opened is None or member.file_size > LARGEST:
        raise ValueError(f"{member.filename} cannot be unpacked")
    if member.compress_type != _ZSTD:
        return json.loads(packed.read(member))
    import pyarrow as pa

    opened.seek(member.header_offset + _LOCAL - _LENGTHS.size)
    opened.seek(sum(_LENGTHS.unpack(opened.read(_LENGTHS.size))), 1)
    data = opened.read(member.compress_size)
    return json.loads(pa.decompress(data, member.file_size, codec="zstd").to_pybytes())


def _parts(source: Source) -> Iterator[Mapping[str, Any]]:
    """Yield a log's header, then its samples, one at a time."""
    if source.path.suffix.lower() != ".eval":
        yield source.head
        yield from (one for one in source.head.get("samples") or () if isinstance(one, Mapping))
        return
    try:
        with zipfile.ZipFile(source.path) as packed:
            refuse_large(source.path, sum(member.file_size for member in packed.infolist()))
            by_name = {member.filename: member for member in packed.infolist()}
            head = by_name.get("header.json") or by_name.get("_journal/start.json")
            yield read_mapping(_member(packed, head)) if head else {}
            named = [(int(one["id"] or 0), name) for name in by_name if (one := _SAMPLE.fullmatch(name))]
            for _, name in sorted(named):
                yield read_mapping(_member(packed, by_name[name]))
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, struct.error, zlib.error) as error:
        raise InputError(
            f"{source.path}: cannot be read as a log of Inspect ({type(error).__name__}: {error})."
        ) from error


def _scores(sample: Mapping[str, Any], facts: Mapping[str, str], error: str) -> dict[str, Stated]:
    """Return the scorers' values: one each, or several by name."""
    scores = dict[str, Stated]()
    for scorer, given in read_mapping(sample.get("scores")).items():
        told = f"judge of {scorer}".replace("_", " ")  # as `stated_facts` names it
        judge = facts.get(told, UNNAMED_JUDGE) if scorer.startswith("model_graded") else ""
        value, why = within(given, "value"), within(given, "explanation")
        several = isinstance(value, Mapping)
        values = {f"{scorer}.{name}": one for name, one in value.items()} if several else {scorer: value}
        for name, one in values.items():
            marked = _MARKS.get(one, one) if isinstance(one, str) else one
            scores[name] = build_score(None, error=error) if error else build_score(marked, judge=judge, reason=why)
    return scores


def _recorded(sample: Mapping[str, Any], facts: Mapping[str, str], epochs: int) -> Recorded:
    output, epoch = read_mapping(sample.get("output")), read_count(sample.get("epoch")) or 1
    attached = read_mapping(sample.get("attachments"))
    choices = output.get("choices") or [{}]
    first = read_mapping(choices[0]) if isinstance(choices, list) else {}
    failure, reply = sample.get("error"), output.get("completion")
    error = str(within(failure, "message") or UNSTATED) if failure else ""
    if not isinstance(reply, str):
        reply = text_of(within(first.get("message"), "content"))
    asked = read_messages_of_file(sample.get("input"), attached)
    question = write_transcript(asked) if asked else find_text(text_of(sample.get("input")), attached)
    turns = cut_before_reply(read_messages_of_file(sample.get("messages"), attached))

    return Recorded(
        text_of(sample.get("id")),
        question,
        read_expected(sample.get("target")),
        None if error else find_text(reply, attached),
        _scores(sample, facts, error),
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
        turns=turns if turns.is_chat or turns.calls else Turns(),
    )


def _facts(header: Mapping[str, Any]) -> dict[str, str]:
    told = read_mapping(header.get("eval"))
    asked = read_mapping(within(header, "plan", "config")) or read_mapping(told.get("model_generate_config"))
    judges = {
        f"judge of {one.get('name')}": within(one, "options", "model") for one in list_objects(told.get("scorers"))
    }
    return collect_facts(
        tool=TOOL,
        tool_version=within(told, "packages", "inspect_ai"),
        task=str(told.get("task") or "").rpartition("/")[2],
        task_version=told.get("task_version"),
        model=told.get("model"),
        solvers=", ".join(str(one.get("solver")) for one in list_objects(within(header, "plan", "steps"))),
        temperature=asked.get("temperature"),
        max_tokens=asked.get("max_tokens"),
        seed=asked.get("seed"),
        **judges,
    )


def read(source: Source) -> Iterator[Found]:
    """Read a log of Inspect, every scorer and epoch.

    Raises:
        InputError: it cannot be read.
    """
    samples = _parts(source)
    header = next(samples)
    epochs = read_count(within(header, "eval", "config", "epochs")) or 1
    facts = _facts(header)
    rows: list[Recorded] = []
    turns = 0
    for sample in samples:
        turns = max(turns, sum(one.get("role") == "assistant" for one in list_objects(sample.get("messages"))))
        rows.append(_recorded(sample, facts, epochs))
    names = dict.fromkeys(name for one in rows for name in one.scores)
    for one in rows:
        lost = build_score(None, error=one.error or UNSTATED)
        yield one._replace(scores={**dict.fromkeys(names, lost), **one.scores})
    yield facts
    if header.get("status") != "success":
        yield f"The log's status is {header.get('status')}: it may be incomplete."
    if turns > 1:
        yield "Some samples are multi-turn conversations; only the last reply is verified."


def _sample(row: ScoredReply, target: str) -> "EvalSample":
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, ModelUsage, StopReason
    from inspect_ai.scorer import Score

    calls = _write_calls(row.calls, prefix=f"{row.item_id}-reply")
    reply = ChatMessageAssistant(content=row.text, source="generate", model=target, tool_calls=calls or None)
    asked = [_write_message(message, read_number) for read_number, message in enumerate(row.messages)]
    output = ModelOutput.from_content(target, row.text)
    output.choices[0].message = reply
    ended = row.finish_reason.strip().lower()
    known: dict[str, StopReason] = {"": "unknown", "content_filter": "content_filter"}
    output.choices[0].stop_reason = "max_tokens" if ended in LIMITS else known.get(ended, "stop")
    if row.tokens_in is not None and row.tokens_out is not None:
        total = row.tokens_in + row.tokens_out
        output.usage = ModelUsage(input_tokens=row.tokens_in, output_tokens=row.tokens_out, total_tokens=total)
    return EvalSample(
        id=row.item_id,
        epoch=row.repeat + 1,
        # A message alone is its text, as Inspect itself writes it.
        input=asked if is_chat(row.messages) else row.prompt,
        target=row.answer,
        messages=[*(asked or [ChatMessageUser(content=row.prompt, source="input")]), reply],
        output=output,
        scores={name: Score(value=value, explanation=row.reasons.get(name)) for name, value in row.scores.items()},
        error=EvalError(message=row.error, traceback="", traceback_ansi="") if row.error else None,
    )


def _write_message(message: Message, read_number: int) -> "ChatMessage":
    """Return a message of a question in Inspect's form."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser

    content = message.content
    if message.role in SYSTEM:
        return ChatMessageSystem(content=content, source="input")
    if message.role == "assistant":
        calls = _write_calls(message.tool_calls, prefix=str(read_number))
        return ChatMessageAssistant(content=content, source="input", tool_calls=calls or None)
    if message.role in {"tool", "function"}:
        function, identifier = message.name or None, message.tool_call_id or None
        return ChatMessageTool(content=content, source="input", function=function, tool_call_id=identifier)
    return ChatMessageUser(content=content, source="input")


def _write_calls(calls: Iterable[Mapping[str, Any]], prefix: str) -> "list[ToolCall]":
    """Return calls in Inspect's form, whose ids it requires."""
    from inspect_ai.tool import ToolCall

    written = []
    for read_number, call in enumerate(calls):
        identifier = str(call.get("id") or f"{prefix}-{read_number}")
        written.append(ToolCall(id=identifier, function=call["name"], arguments=dict(call["arguments"])))
    return written


def write(evaluations: Iterable[Evaluation], folder: Path, *, run: Mapping[str, Any]) -> Iterator[Path]:
    """Yield a log for Inspect's viewer for each suite and model, with replies and scores.

    `run` has the run's id (`run`) and when it `started`.

    Raises:
        InputError: the extra is not installed.
    """
    taken = set[str]()
    yield from (_log(one, folder, run, taken) for one in evaluations if one.rows)


def _log(evaluation: Evaluation, folder: Path, run: Mapping[str, Any], taken: set[str]) -> Path:
    named = "_".join("".join(c if c.isalnum() or c in "-." else "-" for c in part) for part in (
        evaluation.suite, evaluation.target, str(run["run"])))  # fmt: skip
    if named.casefold() in taken:
        named += f"_{hashlib.sha256(repr((evaluation.suite, evaluation.target)).encode()).hexdigest()[:8]}"
    taken.add(named.casefold())
    path = folder / f"{named}.eval"
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

    ids = list(dict.fromkeys(row.item_id for row in evaluation.rows))
    epochs = 1 + max(row.repeat for row in evaluation.rows)
    scores = []
    for name in evaluation.metrics():
        mean = EvalMetric(name="mean", value=evaluation.cells[name].value.mean or 0.0)
        scores.append(EvalScore(name=name, scorer=name, metrics={"mean": mean}))
    log = EvalLog(
        eval=EvalSpec(
            created=str(run["started"]),
            task=evaluation.suite,
            dataset=EvalDataset(name=evaluation.suite, samples=len(ids), sample_ids=list(ids)),
            model=evaluation.target,
            config=EvalConfig(epochs=epochs),
        ),
        status="success",
        results=EvalResults(
            total_samples=len(evaluation.rows),
            completed_samples=sum(not row.error for row in evaluation.rows),
            scores=scores,
        ),
        samples=[_sample(row, evaluation.target) for row in evaluation.rows],
    )
    write_eval_log(log, str(path))
    return path
