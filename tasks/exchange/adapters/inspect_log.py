"""Logs of Inspect (`.eval`, `.json`), through Inspect's own reader: the extra `inspect`.

Source: inspect_ai.log.
"""

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import InputError
from data.extras import installing
from tasks.exchange.finished import Evaluation, ScoredReply
from tasks.exchange.records import Log, Recorded, counted, share

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

TOOL = "Inspect"
FORM = "inspect"
_MARKS: Mapping[Any, float] = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Inspect's own values of correct, incorrect, partial and no answer."""
_REASONS = {"stop": "stop", "max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}


def fits(path: Path, head: Mapping[str, Any]) -> bool:
    """Tell whether a file is a log of Inspect."""
    return path.suffix == ".eval" or (path.suffix == ".json" and {"eval", "status"} <= head.keys())


def _wanted(path: Path) -> None:
    if importlib.util.find_spec("inspect_ai") is None:
        raise InputError(
            f"{path}: logs of Inspect need its package, which is not installed. Run: {installing('inspect')}"
        )


def _stated(value: object) -> float | None:
    return _MARKS[value] if isinstance(value, str) and value in _MARKS else share(value)


def _question(sample: "EvalSample") -> str:
    if isinstance(sample.input, str):
        return sample.input
    return "\n\n".join(message.text for message in sample.input)


def _recorded(sample: "EvalSample", scorer: str, epochs: int) -> Recorded:
    output, usage = sample.output, sample.output.usage
    score = (sample.scores or {}).get(scorer)
    reason = output.choices[0].stop_reason if output.choices else ""
    return Recorded(
        f"{sample.id}, epoch {sample.epoch}" if epochs > 1 else str(sample.id),
        _question(sample),
        sample.target if isinstance(sample.target, str) else list(sample.target),
        output.completion,
        None if score is None else _stated(score.value),
        _REASONS.get(reason, ""),
        counted(usage.input_tokens) if usage else None,
        counted(usage.output_tokens) if usage else None,
        tuple(sample.choices or ()),
    )


def _scorer(log: "EvalLog", path: Path, wanted: str) -> str:
    named = list(dict.fromkeys(name for sample in log.samples or () for name in sample.scores or {}))
    if wanted and wanted not in named:
        raise InputError(f"{path}: found no scorer {wanted!r}; there are: {', '.join(named) or 'none'}.")
    return wanted or next(iter(named), "")


def _remarks(log: "EvalLog", failed: int) -> Iterator[str]:
    samples = log.samples or []
    if failed:
        yield f"{failed} samples ended in an error of the tool; they are left out."
    if log.status != "success":
        yield f"The log's status is {log.status}: it may not hold the whole evaluation."
    if log.eval.config.epochs and log.eval.config.epochs > 1:
        yield "Each epoch is an item of its own."
    if any(sum(message.role == "assistant" for message in sample.messages) > 1 for sample in samples):
        yield "Some samples are conversations of several turns: only the last reply is verified."
    if len({name for sample in samples for name in sample.scores or {}}) > 1:
        yield "The log holds several scorers; one is read (--metric names it)."


def read(path: Path, *, metric: str = "", filtered: str = "", task: str = "") -> Log:  # noqa: ARG001 - others' options
    """Read a log of Inspect.

    Raises:
        InputError: the extra is not installed, or the log cannot be read, or holds no reply.
    """
    _wanted(path)
    from inspect_ai.log import read_eval_log

    try:
        log = read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # its reader raises what its parts raise: zip, zstd, pydantic
        raise InputError(
            f"{path}: Inspect's own reader cannot read it ({type(error).__name__}: {error})."
        ) from error
    scorer = _scorer(log, path, metric)
    whole = [sample for sample in log.samples or () if sample.error is None]
    rows = tuple(_recorded(sample, scorer, log.eval.config.epochs or 1) for sample in whole)
    if not rows:
        raise InputError(f"{path}: found no sample with a reply (status {log.status}).")
    remarks = tuple(_remarks(log, len(log.samples or ()) - len(whole)))
    return Log(TOOL, log.eval.task.rpartition("/")[2], log.eval.model, scorer, rows, remarks)


def _sample(row: ScoredReply, target: str) -> "EvalSample":
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, ModelUsage
    from inspect_ai.scorer import Score

    reply = ChatMessageAssistant(content=row.text, source="generate", model=target)
    output = ModelOutput.from_content(target, row.text)
    output.choices[0].message = reply
    output.choices[0].stop_reason = "max_tokens" if row.finish_reason == "length" else "stop"
    if row.tokens_in is not None and row.tokens_out is not None:
        total = row.tokens_in + row.tokens_out
        output.usage = ModelUsage(input_tokens=row.tokens_in, output_tokens=row.tokens_out, total_tokens=total)
    return EvalSample(
        id=row.item_id,
        epoch=row.repeat + 1,
        input=row.prompt,
        target=row.answer,
        messages=[ChatMessageUser(content=row.prompt, source="input"), reply],
        output=output,
        scores={name: Score(value=value, explanation=row.reasons.get(name)) for name, value in row.scores.items()},
        metadata={"error": row.error} if row.error else {},
    )


def write(
    evaluation: Evaluation, folder: Path, *, run: Mapping[str, Any], cells: Mapping[str, Mapping[str, Any]]
) -> tuple[Path, ...] | None:
    """Write a suite's replies and scores as a log that Inspect's viewer opens; None where there is no reply.

    `run` has the run's id (`run`) and when it `started`; `cells` are the means of the metrics, by name.

    Raises:
        InputError: the extra is not installed.
    """
    if not evaluation.rows:
        return None
    named = "_".join("".join(c if c.isalnum() or c in "-." else "-" for c in part) for part in (
        evaluation.suite, evaluation.target, str(run["run"])))  # fmt: skip
    path = folder / f"{named}.eval"
    _wanted(path)
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
    metrics = [name for name in evaluation.metrics() if name in cells]
    scores = [
        EvalScore(name=name, scorer=name, metrics={"mean": EvalMetric(name="mean", value=cells[name]["mean"])})
        for name in metrics
    ]
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
            total_samples=len(evaluation.rows), completed_samples=len(evaluation.rows), scores=scores
        ),
        samples=[_sample(row, evaluation.target) for row in evaluation.rows],
    )
    folder.mkdir(parents=True, exist_ok=True)
    write_eval_log(log, str(path))
    return (path,)
