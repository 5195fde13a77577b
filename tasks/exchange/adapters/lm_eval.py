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
from basic_control.tasks.exchange.records import (
    AggregatesAlone,
    Found,
    Material,
    Recorded,
    Stated,
    build_score,
    collect_facts,
    conversation,
    read_expected,
    read_mapping,
    read_number,
    within,
)
from basic_control.tasks.exchange.source import Source

TOOL = "lm-evaluation-harness"
_KEYS = {"doc_id", "doc", "target", "arguments", "resps"}
_NAME = re.compile(r"^(lm_eval_)?(samples_)?|(\.jsonl)?(\.gz)?$")
_DATE = re.compile(r"_\d{4}-\d\d-\d\dT[\d.:-]+$")
_QUESTIONS = ("question", "Question", "query", "problem", "input", "prompt")


def fits(source: Source) -> bool:
    """Return whether a file's first line is a sample of lm-evaluation-harness, or the file its results."""
    return source.head.keys() >= _KEYS or _aggregates(source)


def _aggregates(source: Source) -> bool:
    return isinstance(source.document, Mapping) and {"results", "configs", "n-shot"} <= source.head.keys()


def _asked(row: Mapping[str, Any]) -> str:
    """Return the question: the document's if it has one, else the prompt that was sent."""
    doc = read_mapping(row["doc"])
    if found := [doc[key] for key in _QUESTIONS if isinstance(doc.get(key), str) and doc[key].strip()]:
        return str(found[0])
    arguments = row["arguments"]
    sent = within(arguments, "gen_args_0", "arg_0")
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], list) and arguments[0]:
        sent = arguments[0][0]
    if isinstance(sent, list):
        sent = sent[0] if sent else ""
    with suppress(ValueError, RecursionError):
        sent = json.loads(sent) if isinstance(sent, str) and sent.startswith("[") else sent
    return conversation(sent)


def _document(row: Mapping[str, Any]) -> str:
    return content_id("document", json.dumps(row["doc"], sort_keys=True, default=str))


def _replies(row: Mapping[str, Any]) -> list[str]:
    """Return the generated texts; none if options were compared by likelihood."""
    found = row["resps"] if isinstance(row["resps"], list) else []
    parts = (one for listed in found for one in (listed if isinstance(listed, list) else [listed]))
    return [one for one in parts if isinstance(one, str)]


def _scores(row: Mapping[str, Any]) -> dict[str, Stated]:
    name, named = str(row.get("filter") or "none"), row.get("metrics")
    known = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
    end = "" if name == "none" else f",{name}"
    return {f"{one}{end}": build_score(row[one]) for one in known if read_number(row.get(one)) is not None}


def _results(path: Path) -> Mapping[str, Any]:
    """Return the results file beside a sample log, of its date if there is one; empty if none is readable."""

    def near(file: Path) -> tuple[bool, str]:
        date = _DATE.search(file.stem)
        return bool(date and date[0] in path.name), file.name

    for found in sorted(path.parent.glob("*results*.json"), key=near, reverse=True):
        try:
            read = json.loads(found.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(read, dict) and isinstance(read.get("results"), dict):
            return read
    return {}


def _apart(found: list[tuple[Recorded, str]]) -> Iterator[Recorded]:
    """Yield rows, with their document where one question is asked about several, such as passages."""
    about: dict[str, set[str]] = {}
    for one, document in found:
        about.setdefault(one.question, set()).add(document)
    for one, document in found:
        yield one._replace(material=Material(contexts=(document,))) if len(about[one.question]) > 1 else one


def read(source: Source) -> Iterator[Found]:
    """Read a sample log: each document once, with the scores of all filters.

    Raises:
        InputError: it cannot be read, or contains aggregates only.
    """
    if _aggregates(source):
        raise AggregatesAlone(
            f"{source.path}: found aggregates alone, which have no rows to pair. Run {TOOL} with --log_samples, "
            "and give its samples_*.jsonl."
        )
    results = _results(source.path)
    named = _NAME.sub("", source.path.name)
    tasks: list[str] = sorted(results.get("results", {}), key=len, reverse=True)
    task = next((task for task in tasks if named.startswith(task)), _DATE.sub("", named))
    model = results.get("model_name") or within(results, "config", "model")
    scores: dict[str, dict[str, Stated]] = {}  # each filter adds its own
    found: list[tuple[Recorded, str]] = []
    several = 0
    for line, row in enumerate(source.rows(), 1):
        if not row.keys() >= _KEYS:
            raise InputError(
                f"{source.path}, line {line}: expected a sample of {TOOL} with {', '.join(sorted(_KEYS))}."
            )
        replies, doc = _replies(row), str(row["doc_id"])
        if doc in scores:
            scores[doc] |= _scores(row)
            continue
        several += len(replies) > 1
        reply = replies[0] if replies else None
        scores[doc] = _scores(row)
        one = Recorded(
            "", _asked(row), read_expected(row["target"]), reply, scores[doc], str(model or "model"), task
        )
        found.append((one, _document(row)))
    yield from _apart(found)
    yield "The log does not say why replies ended, so truncated replies cannot be identified."
    if several:
        yield f"{plural(several, 'sample')} with several replies; the first of each is used."
    rising = read_mapping(within(results, "higher_is_better", task))
    named = {name for one in scores.values() for name in one}
    yield frozenset(name for name in named if rising.get(name.partition(",")[0]) is False)
    own = read_mapping(within(results, "configs", task))
    yield collect_facts(
        tool=TOOL,
        tool_version=results.get("lm_eval_version"),
        task_version=within(results, "versions", task),
        model=model,
        prompt=own.get("doc_to_text"),
        few_shot_examples=own.get("num_fewshot"),
        temperature=within(own, "generation_kwargs", "temperature"),
        max_tokens=within(own, "generation_kwargs", "max_gen_toks"),
        seed=within(results, "config", "random_seed"),
    )
