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
class Evaluation:
    """One target's replies to one suite, and the metrics' means, by name; the score is of those in `scored_by`.

    `rows` are those of its calls joined with their items, each with its rows of `scores`.
    """

    suite: str
    target: str
    scored_by: tuple[str, ...]
    means: Mapping[str, float]
    rows: tuple[Mapping[str, Any], ...]

    def metrics(self) -> list[str]:
        """Return the metrics that have a mean and at least one value: the score's own first."""
        valued: set[str] = set()
        for row in self.rows:
            valued |= {score["metric"] for score in row["scores"] or () if score["value"] is not None}
        present = self.means.keys() & valued
        score_metrics = [name for name in self.scored_by if name in present]
        return [*score_metrics, *sorted(present - {*self.scored_by})]


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
    # A reply has several scores, each in a row of its own.
    parts = pl.struct("metric", "value", "status", "reason").alias("scores")
    key = ["model", "item_id", "repeat"]
    scores = load_table(run, "scores", root).group_by(key, maintain_order=True).agg(parts)
    calls = load_calls(run, root).join(items, on="item_id", how="left", maintain_order="left")
    for suite in suites_in(run.configuration):
        suite_calls = calls.filter(suite=suite.name)
        for target in suite_calls["model"].unique(maintain_order=True):
            target_calls = suite_calls.filter(model=target).unique(["item_id", "repeat"], maintain_order=True)
            rows = target_calls.join(scores, on=key, how="left", maintain_order="left").iter_rows(named=True)
            target_means = means.get((suite.name, target), {})
            yield Evaluation(suite.name, target, suite.score_metrics, target_means, tuple(rows))


def _write_sample(row: Mapping[str, Any], target: str) -> "EvalSample":
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ChatMessageUser
    from inspect_ai.scorer import Score

    output = _write_output(row, target)
    prompt, sent = row["prompt"], _read_sent(row)
    messages = [_write_message(message, number) for number, message in enumerate(sent)]
    scores: dict[str, Score] = {}
    for score in row["scores"] or ():
        if score["value"] is not None:
            scores[score["metric"]] = Score(value=score["value"], explanation=score["reason"] or score["status"])
    _, error = find_loss(row) or ("", "")
    return EvalSample(
        id=row["item_id"],
        epoch=row["repeat"] + 1,
        # A message alone is its text, as Inspect itself writes it.
        input=messages if is_chat(sent) else prompt,
        target=_list_expected(row),
        messages=[*(messages or [ChatMessageUser(content=prompt, source="input")]), output.choices[0].message],
        output=output,
        scores=scores,
        error=EvalError(message=error, traceback="", traceback_ansi="") if error else None,
    )


def _write_output(row: Mapping[str, Any], target: str) -> "ModelOutput":
    """Return a reply in Inspect's form: its message with calls, why it ended, and its tokens."""
    from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, StopReason

    text, tokens_in, tokens_out = row["text"] or "", row["tokens_in"], row["tokens_out"]
    made_calls = json.loads(row["extra"] or "{}").get(TOOL_CALLS) or ()
    calls = _write_calls(made_calls, prefix=f"{row['item_id']}-reply")
    reply = ChatMessageAssistant(content=text, source="generate", model=target, tool_calls=calls or None)
    output = ModelOutput.from_content(target, text)
    output.choices[0].message = reply
    finish_reason = (row["finish_reason"] or "").strip().lower()
    stop_reasons: dict[str, StopReason] = {"": "unknown", "content_filter": "content_filter"}
    stop_reason = stop_reasons.get(finish_reason, "stop")
    output.choices[0].stop_reason = "max_tokens" if finish_reason in LIMITS else stop_reason
    if tokens_in is not None and tokens_out is not None:
        total = tokens_in + tokens_out
        output.usage = ModelUsage(input_tokens=tokens_in, output_tokens=tokens_out, total_tokens=total)
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

    samples = [_write_sample(row, evaluation.target) for row in evaluation.rows]
    item_ids = list(dict.fromkeys(sample.id for sample in samples))
    epochs = max(sample.epoch for sample in samples)
    # Metrics without a mean are not among them: Inspect requires a number.
    scores = []
    for name in evaluation.metrics():
        mean = EvalMetric(name="mean", value=evaluation.means[name])
        scores.append(EvalScore(name=name, scorer=name, metrics={"mean": mean}))
    log = EvalLog(
        eval=EvalSpec(
            created=started,
            task=evaluation.suite,
            dataset=EvalDataset(name=evaluation.suite, samples=len(item_ids), sample_ids=item_ids),
            model=evaluation.target,
            config=EvalConfig(epochs=epochs),
        ),
        status="success",
        results=EvalResults(
            total_samples=len(samples),
            completed_samples=sum(sample.error is None for sample in samples),
            scores=scores,
        ),
        samples=samples,
    )
    write_eval_log(log, str(path))
