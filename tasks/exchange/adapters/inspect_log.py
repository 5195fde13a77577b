"""Logs of Inspect (`.eval`, `.json`).

Source: inspect_ai.log, version 2 of its form.
"""

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from basic_control.data.errors import InputError
from basic_control.data.messages import write_transcript
from basic_control.metrics.stats.missing import UNSTATED
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

TOOL = "Inspect"
_MARKS: Mapping[Any, float] = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Inspect's values for correct, incorrect, partial and no answer."""
_REASONS = {"stop": "stop", "max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}
# A sample's zip member, with its id and epoch: `samples/17_epoch_1.json`.
_SAMPLE = re.compile(r"samples/(?:(?P<id>\d{1,18})_)?.+\.json", re.DOTALL)
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
    sent = ""
    if len(turns.before) == 1:
        sent = turns.before[0].content
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
        material=Material(choices=tuple(map(str, sample.get("choices") or ())), sent=sent),
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
