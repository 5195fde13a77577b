"""A finished run as logs of Inspect, one for each suite and target, through Inspect's own package."""

import hashlib
import importlib.util
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from basic_control.config.declared import suites_in
from basic_control.data.errors import InputError
from basic_control.data.extras import format_install
from basic_control.data.filters import find_loss
from basic_control.data.messages import SYSTEM, is_chat, read_messages
from basic_control.data.records import Message
from basic_control.data.tools import TOOL_CALLS
from basic_control.data.truncation import LIMITS
from basic_control.tasks.store.runs import Run, load_calls, load_results, load_table

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessage, ModelOutput
    from inspect_ai.tool import ToolCall

# What a log's name may not have, and `_`, which joins its parts: the `/` and `:` of `openai/gpt-4o:free`.
_UNSAFE = re.compile(r"[^\w.-]|_")


@dataclass(frozen=True, slots=True)
class ScoredReply:
    """One reply of a run with its scores; `scores` are those that have a value, by metric.

    `messages` are those that were sent, none if only a reply was given; `calls` are those that the reply made.
    """

    item_id: str
    repeat: int
    prompt: str
    answer: list[str]
    text: str
    error: str
    finish_reason: str
    tokens_in: int | None
    tokens_out: int | None
    scores: Mapping[str, float]
    reasons: Mapping[str, str]
    messages: tuple[Message, ...] = ()
    calls: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One target's replies to one suite, and the metrics' means, by name; the score is of those in `scored_by`."""

    suite: str
    target: str
    scored_by: tuple[str, ...]
    means: Mapping[str, float]
    rows: tuple[ScoredReply, ...]

    def metrics(self) -> list[str]:
        """Return the metrics that have a mean and at least one value: the score's own first."""
        valued = {name for row in self.rows for name in row.scores}
        present = self.means.keys() & valued
        score_metrics = [name for name in self.scored_by if name in present]
        return [*score_metrics, *sorted(present - {*self.scored_by})]


def _join_scores(calls: pl.DataFrame, scores: pl.DataFrame) -> Iterator[ScoredReply]:
    """Yield each reply with its scores: rows of `calls` and `scores` belong together by question and repeat."""
    # A reply has several scores, each in a row of its own.
    scores_of: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for score in scores.iter_rows(named=True):
        scores_of.setdefault((score["item_id"], score["repeat"]), []).append(score)
    for row in calls.iter_rows(named=True):
        reply_scores = scores_of.get((row["item_id"], row["repeat"]), [])
        values = {score["metric"]: score["value"] for score in reply_scores if score["value"] is not None}
        reasons = {score["metric"]: score["reason"] or score["status"] for score in reply_scores}
        _, error = find_loss(row) or ("", "")
        yield ScoredReply(
            row["item_id"], row["repeat"], row["prompt"], _list_expected(row), row["text"] or "",
            error, row["finish_reason"] or "", row["tokens_in"], row["tokens_out"],
            values, reasons, _read_sent(row), tuple(json.loads(row["extra"] or "{}").get(TOOL_CALLS) or ()),
        )  # fmt: skip


def _list_expected(row: Mapping[str, Any]) -> list[str]:
    """Return a row's expected answers: its one, or the alternatives among its facts."""
    facts = json.loads(row["facts"] or "{}")
    if isinstance(facts.get("answer"), list):
        return [*map(str, facts["answer"])]
    return [row["answer"]]


def _read_sent(row: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return the messages of a request."""
    sent = json.loads(row["payload"] or "{}").get("messages") or ()
    return read_messages(sent) if sent else ()


def list_evaluations(run: Run, root: str) -> Iterator[Evaluation]:
    """Yield a run's evaluations, in the order of its suites.

    Raises:
        InputError: the run's results cannot be read, or the store does not have its tables intact.
    """
    results, _ = load_results(run, whole=True)
    means: dict[tuple[str, str], dict[str, float]] = {}
    for cell in results.cells:
        if not (cell.family or cell.level or cell.language) and cell.value.mean is not None:
            means.setdefault((cell.suite, cell.model), {})[cell.metric] = cell.value.mean
    items = load_table(run, "items", root).select("item_id", "suite", "prompt", "answer", "facts")
    scores = load_table(run, "scores", root)
    calls = load_calls(run, root).join(items, on="item_id", how="left", maintain_order="left")
    for suite in suites_in(run.configuration):
        suite_calls = calls.filter(suite=suite.name)
        for target in suite_calls["model"].unique(maintain_order=True):
            target_calls = suite_calls.filter(model=target).unique(["item_id", "repeat"], maintain_order=True)
            item_ids = target_calls.select("item_id").unique()
            target_scores = scores.join(item_ids, on="item_id", how="semi").filter(model=target)
            key = (suite.name, str(target))
            rows = tuple(_join_scores(target_calls, target_scores))
            yield Evaluation(*key, suite.score_metrics, means.get(key, {}), rows)


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


def write_logs(run: Run, folder: Path, root: str = "") -> Iterator[Path]:
    """Write a log for Inspect's viewer for each suite and model of a run, with replies and scores; yield the files.

    Raises:
        InputError: the extra is not installed, the run's tables or results are not intact, or the folder cannot be
            written.
    """
    if importlib.util.find_spec("inspect_ai") is None:
        raise InputError(
            f"{folder}: to write logs of Inspect, install the extra `inspect`: {format_install('inspect')}"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield from write_evaluations(list_evaluations(run, root), folder, run.name, run.manifest.get("started", ""))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}).") from error


def write_evaluations(
    evaluations: Iterable[Evaluation], folder: Path, run_name: str, started: str
) -> Iterator[Path]:
    """Write a log for each evaluation of a run that has a reply; yield the files."""
    used_names = set[str]()
    for evaluation in evaluations:
        if evaluation.rows:
            path = folder / f"{_name_log(evaluation, run_name, used_names)}.eval"
            _write_log(evaluation, path, started)
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
    # Metrics without a mean are not among them: Inspect requires a number.
    scores = []
    for name in evaluation.metrics():
        mean = EvalMetric(name="mean", value=evaluation.means[name])
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
