"""A log as a suite: its rows as JSONL, and a configuration that scores them here, without a call."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from basic_control.data.characters import make_visible
from basic_control.data.errors import InputError, plural
from basic_control.data.messages import write_message
from basic_control.data.records import Message
from basic_control.tasks.exchange.log_files import read as read_log
from basic_control.tasks.exchange.logs import FILTER, Log, Recorded, name_our_metric, read_share

ROWS, RUN = "rows.jsonl", "run.yaml"
# What a suite's name may not have: the spaces and `:` of `gsm8k: cot, 5 shots`.
_UNSAFE = re.compile(r"[^a-zA-Z0-9_.-]")
_COMPARED = 1_000
"""Replies that are scored to choose a metric."""
_CANDIDATES = ("exact_match", "number", "math", "contains")
_NEAR = 0.005
# An expected answer that is a number, with its currency or unit: `-1,250.50`, `$18`, `12 %`.
_NUMBER = re.compile(r"[-−+]?[$€£]?\d[\d., ]*%?")


@dataclass(frozen=True, slots=True)
class Replay:
    """One model's replies to one task, to be scored here; `metric` names the tool's score to compare with ours.

    `reading` is how the tool took from a reply what it scored so, '' if the log does not say.
    """

    tool: str
    task: str
    model: str
    metric: str
    rows: tuple[Recorded, ...]
    remarks: tuple[str, ...] = ()
    reading: str = ""

    def get_stated(self, row: Recorded) -> float | None:
        """Return the tool's own score of a reply, in [0, 1]; None if it has none."""
        if self.metric not in row.scores:
            return None
        return read_share(row.scores[self.metric].value)

    @property
    def accuracy(self) -> float | None:
        """The mean of the tool's own scores; None if there are none."""
        values = [value for value in map(self.get_stated, self.rows) if value is not None]
        if not values:
            return None
        return sum(values) / len(values)

    def as_row(self, number: int) -> dict[str, Any]:
        """Return a reply as a row of a suite's data, without unknown fields."""
        reply = self.rows[number]
        row_id = reply.id or str(number)
        # Repeats of a question are rows of their own, which need ids of their own.
        if reply.repeat is not None:
            row_id += f", repeat {reply.repeat + 1}"
        row: dict[str, Any] = {
            "id": row_id,
            "question": reply.question,
            "answer": reply.answer,
            "response": reply.response,
            "stated": self.get_stated(reply),
            "finish_reason": reply.finish_reason,
            "tokens_in": reply.usage.tokens_in,
            "tokens_out": reply.usage.tokens_out,
        }
        if reply.material.choices:
            row["options"] = [*reply.material.choices]
        if self.is_chat:
            messages = reply.turns.before or (Message("user", reply.question),)
            row["messages"] = [*map(write_message, messages)]
        if reply.turns.calls:
            row["tool_calls"] = [*map(dict, reply.turns.calls)]
        return row

    @property
    def is_chat(self) -> bool:
        """Whether any of its questions is a conversation."""
        return any(row.turns.is_chat for row in self.rows)


def read(path: Path, *, metric: str = "", task: str = "") -> Replay:
    """Read any supported tool's log as replies that can be scored here.

    `metric` names the tool's score to compare with ours, `task` one of several; by default the first.

    Raises:
        InputError: the file is missing, of no known tool, or has no reply of one model.
    """
    log = read_log(path)
    tasks = list(dict.fromkeys(row.suite for row in log.rows))
    if task and task not in tasks:
        raise InputError(f"{path}: found no evaluation {task!r}; expected one of {', '.join(tasks)}.")
    chosen = task or next(iter(tasks), "")
    task_rows = [row for row in log.rows if row.suite == chosen]
    models = list(dict.fromkeys(row.target for row in task_rows))
    if len(models) > 1:
        raise InputError(f"{path}: found {len(models)} models ({', '.join(models)}), expected one; split the file.")
    rows = tuple(row for row in task_rows if row.response is not None and not row.error)
    if not rows:
        raise InputError(
            f"{path}: none of its {len(task_rows)} samples has a generated reply, so there is nothing to verify."
        )
    # What a reader of the scores has to know: which rows they leave out, and what was chosen for him.
    remarks = [*log.remarks]
    if len(tasks) > 1:
        remarks.append(
            f"Only {chosen!r} is read, of {len(tasks)} evaluations in the file; choose another with --task."
        )
    error_count = sum(bool(row.error) for row in task_rows)
    if error_count:
        remarks.append(f"{plural(error_count, 'reply')} failed with an error in the tool; left out.")
    silent_count = len(task_rows) - len(rows) - error_count
    if silent_count:
        remarks.append(f"{plural(silent_count, 'sample')} without generated text; left out.")
    if any(row.repeat for row in rows):
        remarks.append("Each repeat of a question becomes a separate item.")
    stated_metric = _choose_metric(path, log, metric, remarks)
    # A score by a filter is called after both: exact_match,strict-match
    reading = log.facts.get(f"{FILTER} {stated_metric.partition(',')[2]}", "")
    return Replay(log.tool, chosen or path.stem, models[0], stated_metric, rows, tuple(remarks), reading)


def _choose_metric(path: Path, log: Log, metric: str, remarks: list[str]) -> str:
    """Return the score to compare with ours: `metric`, else the first from 0, the worst, to 1, the best."""
    excluded = {*log.lower_is_better}
    for row in log.rows:
        for name, score in row.scores.items():
            if score.value is not None and read_share(score.value) is None:
                excluded.add(name)
    candidates = [name for name in log.metrics if name not in excluded]
    if metric and metric not in candidates:
        names = ", ".join(candidates) or "none"
        raise InputError(f"{path}: found no score {metric!r} between 0 and 1; expected one of {names}.")
    if len(candidates) > 1 and not metric:
        remarks.append(
            f"The log has several scores ({', '.join(candidates)}); the first is used. "
            "Choose another with --stated."
        )
    return metric or next(iter(candidates), "")


def choose_own_metric(log: Replay) -> str:
    """Return the metric of ours that fits the expected answers: `choice`, `number` or `exact_match`."""
    if all(row.material.choices for row in log.rows):
        return "choice"
    answers: list[str] = []
    for row in log.rows:
        if isinstance(row.answer, list):
            answers += row.answer
        else:
            answers.append(row.answer)
    if answers and all(_NUMBER.fullmatch(answer.strip()) for answer in answers):
        return "number"
    return "exact_match"


@dataclass(frozen=True, slots=True)
class StatedComparison:
    """How a metric of ours scores a log's replies: its mean, and on how many of `n` it differs from the tool's."""

    metric: str
    mean: float
    n_differing: int
    n: int


def compare_with_stated(log: Replay, metric: str) -> StatedComparison | None:
    """Score a log's first replies by a metric of ours, beside the tool's scores; None without either."""
    from basic_control.tasks.exchange.verifying import add_our_scores  # metrics, which reading a file does not need

    rows = tuple(row for row in log.rows[:_COMPARED] if log.get_stated(row) is not None)
    try:
        scored_rows = add_our_scores(Log(log.tool, rows), metric).rows
    except InputError:
        return None
    ours: list[float] = []
    n_differing = 0
    for row in scored_rows:
        score = row.scores.get(name_our_metric(metric))
        value = score.value if score else None
        ours.append(value or 0.0)
        n_differing += value is None or abs(value - (log.get_stated(row) or 0.0)) > _NEAR
    return StatedComparison(metric, sum(ours) / len(ours), n_differing, len(ours))


def find_agreeing_metric(log: Replay) -> str:
    """Return the metric that fits the expected answers; another one if the stated scores hold under it alone."""
    usual = choose_own_metric(log)
    best = compare_with_stated(log, usual)
    for name in _CANDIDATES:
        if best is None or not best.n_differing:
            break
        agreement = compare_with_stated(log, name)
        if agreement and agreement.n_differing < best.n_differing:
            best = agreement
    return best.metric if best else usual


def write(log: Replay, folder: Path, *, metric: str = "", language: str = "en") -> str:
    """Write a log into a folder, `rows.jsonl` and a `run.yaml` that scores it; return its metric.

    Raises:
        InputError: the folder already has such files, or cannot be written.
    """
    for name in (ROWS, RUN):
        if (folder / name).exists():
            raise InputError(f"{folder / name} already exists; choose another folder with --to.")
    chosen = metric or find_agreeing_metric(log)
    metrics: dict[str, Any] = {chosen: {}}
    if log.accuracy is not None:
        metrics["stated"] = {}
    prompt = "{{ question }}"
    if log.is_chat:
        prompt = "{{ messages }}"
    suite = {
        "name": _UNSAFE.sub("_", log.task).lstrip("_.-")[:64] or "recorded",
        "title": log.task,
        "items": {"data": str(folder / ROWS), "language": language},
        "prompt": prompt,
        "metrics": metrics,
        "score": [chosen],
        "responses_of": log.model,
    }
    lines = (json.dumps(log.as_row(number), ensure_ascii=False) + "\n" for number in range(len(log.rows)))
    heading = f"# Read from a log of {log.tool}; rows.jsonl has its {len(log.rows)} replies.\n"
    if log.reading:
        # A stranger's text ends no comment.
        reading = " ".join(make_visible(f"{log.metric} there: {log.reading}").splitlines())
        heading += f"# {reading}\n"
    text = yaml.safe_dump({"suites": [suite]}, allow_unicode=True, sort_keys=False, width=110)
    # The configuration is written last: a folder that has it has its rows too.
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ROWS).write_text("".join(lines), encoding="utf-8")
        (folder / RUN).write_text(heading + text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}).") from error
    return chosen
