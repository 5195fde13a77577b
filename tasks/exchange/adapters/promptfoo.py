"""Results of promptfoo: `eval -o results.json`, and its CSV as far as possible.

Source: promptfoo 0.121, version 3 of its results.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from basic_control.data.errors import InputError
from basic_control.data.files import open_file
from basic_control.data.messages import write_transcript
from basic_control.data.records import Message
from basic_control.metrics.stats.missing import UNSTATED
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
    find_first,
    list_objects,
    read_count,
    read_expected,
    read_mapping,
    text_of,
    within,
)
from basic_control.tasks.exchange.source import Source
from basic_control.tasks.exchange.turns import read_calls_of_output, read_messages_of_file

TOOL = "promptfoo"
Varying = Mapping[str, set[str]]
"""The variables that, beside a question, say what is asked."""
_ERROR = 2
"""The `failureReason` of a call that failed; 1 is an assertion's."""
_QUESTIONS = ("question", "query", "input", "prompt", "message", "text")
_EXPECTED = ("expected", "answer", "reference", "ideal", "target", "__expected")
_JUDGED = re.compile(
    r"(not-)?(llm-rubric|model-graded|factuality|g-eval|answer-relevance|context-|select-best|pi|agent-rubric)"
)
_ASSERTED = {"equals", "icontains", "contains", "iequals"}
_LINE = {"testCase", "promptIdx", "provider"}
_HEAD = {"Status", "Score", "Grader Reason"}
_TARGET = re.compile(r"\[(?P<provider>[^\]]*)\] ?(?P<prompt>.*)", re.DOTALL)


def fits(source: Source) -> bool:
    """Return whether a file is promptfoo's JSON, its JSON lines, or its CSV."""
    inner = read_mapping(source.head.get("results"))
    known = isinstance(inner.get("results"), list) or {"prompts", "stats"} <= inner.keys()
    return known or source.head.keys() >= _LINE or source.head.keys() >= _HEAD


def _question(given: Mapping[str, Any], prompt: str) -> str:
    """Return a test's question: its variable of a known name, else all of them, else the prompt."""
    asked = {name: value for name, value in given.items() if name not in _EXPECTED and not name.startswith("__")}
    found = find_first(asked, _QUESTIONS) if len(asked) > 1 else next(iter(asked.values()), None)
    if found is None and asked:
        found = "\n".join(f"{name}: {text_of(value)}" for name, value in asked.items())
    return text_of(found) or prompt


def _varying(tests: Iterable[tuple[Mapping[str, Any], str]]) -> Varying:
    """Return each question's variables that differ among its tests, if a prompt shows them or none is known."""
    values: dict[str, dict[str, set[str]]] = {}
    shown: dict[str, set[str]] = {}
    for given, prompt in tests:
        question = _question(given, prompt)
        for name, value in given.items():
            if name in _EXPECTED or name.startswith("__"):
                continue
            text = text_of(value)
            values.setdefault(question, {}).setdefault(name, set()).add(text)
            if not prompt or text in prompt or json.dumps(text, ensure_ascii=False)[1:-1] in prompt:
                shown.setdefault(question, set()).add(name)
    return {
        question: {name for name, texts in own.items() if len(texts) > 1 and name in shown.get(question, ())}
        for question, own in values.items()
    }


def _others(given: Mapping[str, Any], question: str, varying: Varying) -> tuple[str, ...]:
    """Return a test's other variables with which its question is another one."""
    return tuple(f"{name}: {text_of(given[name])}" for name in given if name in varying.get(question, ()))


def _scores(row: Mapping[str, Any]) -> dict[str, Stated]:
    graded = read_mapping(row.get("gradingResult"))
    kinds = [read_mapping(part.get("assertion")) for part in list_objects(graded.get("componentResults"))]
    judged = [text_of(one.get("provider")) or UNNAMED_JUDGE for one in kinds if _JUDGED.match(str(one.get("type")))]
    error = (text_of(row.get("error")) or UNSTATED) if row.get("failureReason") == _ERROR else ""
    values: dict[str, Any] = {"pass": row.get("success"), "score": row.get("score")}
    if error:  # such a row has no named scores; its assertions name them
        asserted = [*list_objects(within(row, "testCase", "assert"))]
        asserted += [part for one in asserted for part in list_objects(one.get("assert"))]
        values |= {f"score.{name}": None for one in asserted if (name := text_of(one.get("metric")))}
    values |= {f"score.{name}": value for name, value in read_mapping(row.get("namedScores")).items()}
    judge, why = next(iter(judged), ""), graded.get("reason")
    return {name: build_score(value, judge=judge, reason=why, error=error) for name, value in values.items()}


def _recorded(
    row: Mapping[str, Any], name: str, targets: Mapping[tuple[str, int], str], varying: Varying
) -> Recorded:
    response, test = read_mapping(row.get("response")), read_mapping(row.get("testCase"))
    given, prompt = _asked(row)
    failed, output = row.get("failureReason") == _ERROR, response.get("output")
    # The value of a test's one assertion about an answer.
    asserted = [one.get("value") for one in list_objects(test.get("assert")) if one.get("type") in _ASSERTED]
    answer = asserted[0] if len(asserted) == 1 and isinstance(asserted[0], str) else ""
    question = _question(given, prompt)
    turns = Turns(_read_sent(row), read_calls_of_output(output))
    return Recorded(
        text_of(within(test, "metadata", "id")),
        question,
        read_expected(find_first(given, _EXPECTED) or answer),
        None if failed or output is None else _read_text(output),
        _scores(row),
        targets.get((name, read_count(row.get("promptIdx")) or 0), name),
        text_of(test.get("suite")),
        finish_reason=text_of(response.get("finishReason")),
        error=text_of(row.get("error")) if failed else "",
        usage=Usage(
            read_count(within(response, "tokenUsage", "prompt")),
            read_count(within(response, "tokenUsage", "completion")),
        ),
        material=Material(contexts=_others(given, question, varying)),
        turns=turns if turns.is_chat or turns.calls else Turns(),
    )


def _read_text(output: Any) -> str:
    """Return an output's text; of calls, and of a message, only what is said."""
    if isinstance(output, Mapping):
        return text_of(output.get("content")) if output.get("role") else json.dumps(output, ensure_ascii=False)
    return text_of(output)


def _asked(row: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return a row's variables, and the prompt that was sent."""
    given = read_mapping(row.get("vars")) or read_mapping(within(row, "testCase", "vars"))
    sent = _read_sent(row)
    return given, write_transcript(sent) if sent else text_of(within(row, "prompt", "raw"))


def _read_sent(row: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return the messages of a prompt that is a list of them, as JSON; none of a text."""
    return read_messages_of_file(within(row, "prompt", "raw"))


def _name(row: Mapping[str, Any]) -> str:
    return text_of(within(row, "provider", "label")) or text_of(within(row, "provider", "id")) or "provider"


def _targets(rows: Iterable[Any]) -> dict[tuple[str, int], str]:
    """Name each provider and prompt: with the prompt if a provider was asked with several."""
    labels = {
        (_name(row), read_count(row.get("promptIdx")) or 0): text_of(within(row, "prompt", "label"))
        for row in rows
        if isinstance(row, Mapping)
    }
    return _named(labels)


def _named(labels: Mapping[tuple[str, int], str]) -> dict[tuple[str, int], str]:
    times = Counter(name for name, _ in labels)
    short = {key: _short(*key, label) if times[key[0]] > 1 else key[0] for key, label in labels.items()}
    alike = Counter(short.values())
    return {key: f"{name} ({key[1]})" if alike[name] > 1 else name for key, name in short.items()}


def _short(name: str, n: int, prompt: str) -> str:
    return f"{name}: {' '.join(prompt.split())[:40] or n}"


def read(source: Source) -> Iterator[Found]:
    """Read results of promptfoo.

    Raises:
        InputError: it cannot be read.
    """
    if source.head.keys() >= _HEAD:
        yield from _table(source)
        return
    inner = read_mapping(within(source.document, "results"))
    rows = inner.get("results") or () if inner else [*source.rows()]
    prompts = list_objects(inner.get("prompts"))
    targets, varying = _targets(rows), _varying(_asked(row) for row in rows if isinstance(row, dict))
    models: dict[str, None] = {}
    for row in rows:
        if isinstance(row, dict):
            models[name := _name(row)] = None
            yield _recorded(row, name, targets, varying)
    asked = [
        read_mapping(one.get("config")) for one in list_objects(within(source.document, "config", "providers"))
    ]
    yield collect_facts(
        tool=TOOL,
        tool_version=within(source.document, "metadata", "promptfooVersion"),
        model=", ".join(models),
        prompt=" | ".join(dict.fromkeys(text_of(one.get("raw")) for one in prompts)),
        **{
            name: ", ".join(dict.fromkeys(str(one[name]) for one in asked if name in one))
            for name in ("temperature", "max_tokens", "seed")
        },
    )


def _table(source: Source) -> Iterator[Found]:
    """Read the CSV: variables, then for each provider and prompt its output and six columns of the same names."""
    csv.field_size_limit(1 << 27)
    try:
        with open_file(source.path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
            lines = csv.reader(text, strict=True)
            header = next(lines, [])
            at = [n for n in range(len(header)) if header[n + 1 : n + 2] == ["Status"]]
            tests = [*lines]
            varying = _varying((_variables(header, at, line), "") for line in tests)
            for line in tests:
                yield from _of_line(header, at, line, varying)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{source.path}: not promptfoo's CSV ({error}).") from error
    yield collect_facts(tool=TOOL)
    yield (
        "promptfoo's CSV has no ids, repeats column names and rounds scores to two digits; rows are paired by "
        "their variables. Its JSON (-o results.json) is more complete."
    )


def _variables(header: list[str], at: list[int], line: list[str]) -> dict[str, str]:
    return dict(zip(header[: at[0]], line, strict=False)) if at else {}


def _of_line(header: list[str], at: list[int], line: list[str], varying: Varying) -> Iterator[Recorded]:
    given = _variables(header, at, line)
    named = [_TARGET.fullmatch(header[n]) for n in at]
    labels = {
        (one["provider"] if one else header[n], k): one["prompt"] if one else ""
        for k, (n, one) in enumerate(zip(at, named, strict=True))
    }
    question = _question(given, "")
    for n, target in zip(at, _named(labels).values(), strict=True):
        if len(line) < n + 3:
            continue
        output, status, score = line[n : n + 3]
        error = output if status == "ERROR" else ""
        yield Recorded(
            "",
            question,
            read_expected(find_first(given, _EXPECTED)),
            None if error else output,
            {"pass": build_score(status, error=error), "score": build_score(score, error=error)},
            target,
            error=error,
            material=Material(contexts=_others(given, question, varying)),
        )
