"""A log as a suite: its rows as JSONL, and a configuration that scores them here, without a call."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from basic_control.data.errors import InputError, plural
from basic_control.data.messages import write_message
from basic_control.data.records import Message
from basic_control.tasks.exchange.reading import read as read_log
from basic_control.tasks.exchange.records import Log, Recorded, read_share

ROWS, RUN = "rows.jsonl", "run.yaml"
_NUMBER = re.compile(r"[-−+]?[$€£]?\d[\d., ]*%?")


@dataclass(frozen=True, slots=True)
class Replay:
    """One model's replies to one task, to be scored here; `metric` names the tool's score to compare with ours."""

    tool: str
    task: str
    model: str
    metric: str
    rows: tuple[Recorded, ...]
    remarks: tuple[str, ...] = ()

    def stated(self, row: Recorded) -> float | None:
        """Return the tool's own score of a reply, in [0, 1]; None if it has none."""
        return read_share(row.scores[self.metric].value) if self.metric in row.scores else None

    @property
    def accuracy(self) -> float | None:
        """The mean of the tool's own scores; None if there are none."""
        stated = [value for row in self.rows if (value := self.stated(row)) is not None]
        return sum(stated) / len(stated) if stated else None

    def as_row(self, number: int) -> dict[str, Any]:
        """Return a reply as a row of a suite's data, without unknown fields."""
        row = self.rows[number]
        several = f", repeat {row.repeat + 1}" if row.repeat is not None else ""
        found: dict[str, Any] = {
            "id": (row.id or str(number)) + several,
            "question": row.question,
            "answer": row.answer,
            "response": row.response,
            "stated": self.stated(row),
            "finish_reason": row.finish_reason,
            "tokens_in": row.usage.tokens_in,
            "tokens_out": row.usage.tokens_out,
        }
        if row.material.choices:
            found["options"] = [*row.material.choices]
        if self.is_chat:
            asked = row.turns.before or (Message("user", row.question),)
            found["messages"] = [*map(write_message, asked)]
        if row.turns.calls:
            found["tool_calls"] = [dict(call) for call in row.turns.calls]
        return found

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
    remarks = [*log.remarks]
    tasks = list(dict.fromkeys(row.suite for row in log.rows))
    if task and task not in tasks:
        raise InputError(f"{path}: found no evaluation {task!r}; expected one of {', '.join(tasks)}.")
    chosen = task or next(iter(tasks), "")
    own = [row for row in log.rows if row.suite == chosen]
    models = list(dict.fromkeys(row.target for row in own))
    if len(models) > 1:
        raise InputError(f"{path}: found {len(models)} models ({', '.join(models)}), expected one; split the file.")
    rows = tuple(row for row in own if row.response is not None and not row.error)
    if not rows:
        raise InputError(
            f"{path}: none of its {len(own)} samples has a generated reply, so there is nothing to verify."
        )
    if len(tasks) > 1:
        remarks.append(
            f"Only {chosen!r} is read, of {len(tasks)} evaluations in the file; choose another with --task."
        )
    if failed := sum(bool(row.error) for row in own):
        remarks.append(f"{plural(failed, 'reply')} failed with an error in the tool; left out.")
    if silent := len(own) - len(rows) - failed:
        remarks.append(f"{plural(silent, 'sample')} without generated text; left out.")
    if any(row.repeat for row in rows):
        remarks.append("Each repeat of a question becomes a separate item.")
    return Replay(
        log.tool, chosen or path.stem, models[0], _stated(path, log, metric, remarks), rows, tuple(remarks)
    )


def _stated(path: Path, log: Log, wanted: str, remarks: list[str]) -> str:
    """Return the score to compare with ours: the one `wanted`, else the first from 0, the worst, to 1, the best."""
    known = [(name, one.value) for row in log.rows for name, one in row.scores.items() if one.value is not None]
    strange = {name for name, value in known if read_share(value) is None}
    able = [name for name in log.metrics if name not in strange | log.lower]
    if wanted and wanted not in able:
        there = ", ".join(able) or "none"
        raise InputError(f"{path}: found no score {wanted!r} between 0 and 1; expected one of {there}.")
    if len(able) > 1 and not wanted:
        remarks.append(
            f"The log has several scores ({', '.join(able)}); the first is used. Choose another with --stated."
        )
    return wanted or next(iter(able), "")


def fitting(log: Replay) -> str:
    """Return the metric that fits the expected answers: `choice`, `number` or `exact_match`."""
    if all(row.material.choices for row in log.rows):
        return "choice"
    answers = [one for row in log.rows for one in (row.answer if isinstance(row.answer, list) else [row.answer])]
    return "number" if answers and all(_NUMBER.fullmatch(one.strip()) for one in answers) else "exact_match"


def write(log: Replay, folder: Path, *, metric: str = "", language: str = "en") -> str:
    """Write a log into a folder, `rows.jsonl` and a `run.yaml` that scores it; return its metric.

    Raises:
        InputError: the folder already has such files, or cannot be written.
    """
    if there := next((name for name in (ROWS, RUN) if (folder / name).exists()), ""):
        raise InputError(f"{folder / there} already exists; choose another folder with --to.")
    chosen = metric or fitting(log)
    name = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "_" for c in log.task).lstrip("_.-")
    stated: dict[str, Any] = {"stated": {}} if log.accuracy is not None else {}
    suite = {
        "name": name[:64] or "recorded",
        "title": log.task,
        "items": {"data": str(folder / ROWS), "language": language},
        "prompt": "{{ messages }}" if log.is_chat else "{{ question }}",
        "metrics": {chosen: {}, **stated},
        "score": [chosen],
        "responses_of": log.model,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(log.as_row(n), ensure_ascii=False) + "\n" for n in range(len(log.rows)))
        (folder / ROWS).write_text("".join(lines), encoding="utf-8")
        heading = f"# Read from a log of {log.tool}; rows.jsonl has its {len(log.rows)} replies.\n"
        text = yaml.safe_dump({"suites": [suite]}, allow_unicode=True, sort_keys=False, width=110)
        (folder / RUN).write_text(heading + text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}).") from error
    return chosen
