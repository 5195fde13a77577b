"""Sample logs of lm-evaluation-harness: `samples_<task>_<date>.jsonl`, beside its `results_<date>.json`.

Source: lm-evaluation-harness 0.4, `--log_samples`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from data.errors import InputError
from data.files import rows as read_rows
from tasks.exchange.records import Log, Recorded, share, text_of

TOOL = "lm-evaluation-harness"
FORM = "lm-eval"
_KEYS = {"doc_id", "doc", "target", "arguments", "resps"}
_QUESTIONS = ("question", "Question", "query", "problem", "input", "prompt")


def fits(path: Path, head: Mapping[str, Any]) -> bool:
    """Tell whether a file's first line is a sample of lm-evaluation-harness."""
    return path.suffix != ".json" and head.keys() >= _KEYS


def _asked(row: Mapping[str, Any]) -> str:
    """Return the question: of the document where it has one, else the prompt that was sent."""
    doc = row["doc"]
    if isinstance(doc, Mapping):
        found = next((doc[key] for key in _QUESTIONS if isinstance(doc.get(key), str) and doc[key].strip()), None)
        if found is not None:
            return str(found)
    return _prompt(row)


def _prompt(row: Mapping[str, Any]) -> str:
    arguments = row["arguments"]
    first = arguments.get("gen_args_0") if isinstance(arguments, Mapping) else None
    sent = first.get("arg_0") if isinstance(first, Mapping) else None
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], list) and arguments[0]:
        sent = arguments[0][0]
    if isinstance(sent, list):
        sent = sent[0] if sent else ""
    try:
        messages = json.loads(sent) if isinstance(sent, str) else None
    except ValueError:
        messages = None
    if isinstance(messages, list) and messages and all(isinstance(one, Mapping) for one in messages):
        return "\n\n".join(text_of(one.get("content")) for one in messages)
    return sent if isinstance(sent, str) else ""


def _answer(row: Mapping[str, Any]) -> str | list[str]:
    target = row["target"]
    if isinstance(target, list):
        return [str(one) for one in target]
    return str(target).strip()


def _replies(row: Mapping[str, Any]) -> list[str]:
    """Return the generated texts; none where options were compared by their likelihood."""
    found = row["resps"]
    if not isinstance(found, list):
        return []
    return [
        one
        for listed in found
        for one in (listed if isinstance(listed, list) else [listed])
        if isinstance(one, str)
    ]


def _chosen(rows: Sequence[Mapping[str, Any]], where: Path, wanted: str) -> tuple[str, list[Mapping[str, Any]]]:
    """Return one filter's rows: with several filters, a log holds each sample once for each of them."""
    filters = list(dict.fromkeys(str(row.get("filter") or "none") for row in rows))
    if wanted and wanted not in filters:
        raise InputError(f"{where}: found no filter {wanted!r}; expected one of {', '.join(filters)}.")
    name = wanted or filters[0]
    return name, [row for row in rows if str(row.get("filter") or "none") == name]


def _metric(row: Mapping[str, Any], where: Path, wanted: str) -> str:
    named = row.get("metrics")
    metrics = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
    metrics = [one for one in metrics if share(row.get(one)) is not None]
    if wanted and wanted not in metrics:
        there = ", ".join(metrics) or "none"
        raise InputError(
            f"{where}: found no score {wanted!r} between 0 and 1 in its first sample; there are: {there}."
        )
    return wanted or next(iter(metrics), "")


def _results(path: Path) -> Mapping[str, Any]:
    """Return the results file that stands beside a sample log; empty where there is none that can be read."""
    for found in sorted(path.parent.glob("*results*.json"), reverse=True):
        try:
            read = json.loads(found.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(read, dict) and isinstance(read.get("results"), dict):
            return read
    return {}


def _task(path: Path, results: Mapping[str, Any]) -> str:
    named = path.name.removesuffix(".gz").removesuffix(".jsonl").removeprefix("lm_eval_").removeprefix("samples_")
    tasks = sorted(results.get("results", {}), key=len, reverse=True)
    return next((task for task in tasks if named.startswith(task)), named)


def _rows(rows: Sequence[Mapping[str, Any]], metric: str, remarks: list[str]) -> Iterator[Recorded]:
    silent = several = 0
    for number, row in enumerate(rows):
        replies = _replies(row)
        if not replies:
            silent += 1
            continue
        several += len(replies) > 1
        stated = share(row.get(metric)) if metric else None
        yield Recorded(str(row.get("doc_id", number)), _asked(row), _answer(row), replies[0], stated)
    if silent:
        remarks.append(
            f"{silent} samples hold no generated text (options compared by likelihood); they are left out."
        )
    if several:
        remarks.append(f"{several} samples hold several replies; the first of each is taken.")


def read(path: Path, *, metric: str = "", filtered: str = "", task: str = "") -> Log:  # noqa: ARG001 - others' option
    """Read a sample log.

    Raises:
        InputError: it cannot be read, or holds no generated reply, or not the filter or score that is named.
    """
    listed = list(read_rows(path))
    if strange := next((n for n, row in enumerate(listed, 1) if not row.keys() >= _KEYS), None):
        raise InputError(f"{path}, line {strange}: expected a sample of {TOOL} with {', '.join(sorted(_KEYS))}.")
    name, chosen = _chosen(listed, path, filtered)
    score = _metric(chosen[0], path, metric)
    results = _results(path)
    remarks: list[str] = []
    rows = tuple(_rows(chosen, score, remarks))
    if not rows:
        raise InputError(
            f"{path}: found no generated reply in {len(chosen)} samples; nothing can be verified here."
        )
    if len(chosen) < len(listed):
        remarks.append(f"Only the filter {name!r} is read; the log holds others (--filter names one).")
    remarks.append("The log does not say why replies ended: none can be identified as cut at the token limit.")
    model = str(results.get("model_name") or results.get("config", {}).get("model") or "model")
    return Log(TOOL, _task(path, results), model, f"{score}, {name}" if score else "", rows, tuple(remarks))
