"""Results of promptfoo: `eval -o results.json`, and its CSV as far as possible.

Source: promptfoo 0.121, version 3 of its results.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError
from basic_control.data.files import open_file
from basic_control.data.messages import write_transcript
from basic_control.data.records import Message
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
    find_first,
    join_parts,
    list_objects,
    read_count,
    read_expected,
    read_mapping,
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
# An assertion that a model grades: `llm-rubric`, `not-g-eval`, `context-recall`.
_JUDGED = re.compile(
    r"(not-)?(llm-rubric|model-graded|factuality|g-eval|answer-relevance|context-|select-best|pi|agent-rubric)"
)
_ASSERTED = {"equals", "icontains", "contains", "iequals"}
_LINE = {"testCase", "promptIdx", "provider"}
_HEAD = {"Status", "Score", "Grader Reason"}
# The head of a target's column in the CSV: `[openai:gpt-4o] Answer briefly: {{question}}`.
_TARGET = re.compile(r"\[(?P<provider>[^\]]*)\] ?(?P<prompt>.*)", re.DOTALL)


def fits(source: Source) -> bool:
    """Return whether a file is promptfoo's JSON, its JSON lines, or its CSV."""
    inner = read_mapping(source.head.get("results"))
    is_document = isinstance(inner.get("results"), list) or {"prompts", "stats"} <= inner.keys()
    return is_document or source.head.keys() >= _LINE or source.head.keys() >= _HEAD


def _is_asked(variable: str) -> bool:
    """Say whether a test's variable is part of its question: not an expected answer, nor promptfoo's own."""
    return variable not in _EXPECTED and not variable.startswith("__")


def _find_question(variables: Mapping[str, Any], prompt: str) -> str:
    """Return a test's question: its variable of a known name, else all of them, else the prompt."""
    parts = {name: value for name, value in variables.items() if _is_asked(name)}
    question = next(iter(parts.values()), None)
    if len(parts) > 1:
        question = find_first(parts, _QUESTIONS)
    if question is None and parts:
        question = "\n".join(f"{name}: {join_parts(value)}" for name, value in parts.items())
    return join_parts(question) or prompt


def _find_varying(tests: Iterable[tuple[Mapping[str, Any], str]]) -> Varying:
    """Return each question's variables that differ among its tests, if a prompt shows them or none is known."""
    values: dict[str, dict[str, set[str]]] = {}
    visible: dict[str, set[str]] = {}
    for variables, prompt in tests:
        question = _find_question(variables, prompt)
        for name in filter(_is_asked, variables):
            text = join_parts(variables[name])
            values.setdefault(question, {}).setdefault(name, set()).add(text)
            # A prompt of messages is JSON, in which quotes and line breaks are escaped.
            if not prompt or text in prompt or json.dumps(text, ensure_ascii=False)[1:-1] in prompt:
                visible.setdefault(question, set()).add(name)
    varying = dict[str, set[str]]()
    for question, texts_by_name in values.items():
        names = {name for name, texts in texts_by_name.items() if len(texts) > 1}
        varying[question] = names & visible.get(question, set())
    return varying


def _list_contexts(variables: Mapping[str, Any], question: str, varying: Varying) -> tuple[str, ...]:
    """Return a test's other variables with which its question is another one."""
    names = varying.get(question, ())
    return tuple(f"{name}: {join_parts(value)}" for name, value in variables.items() if name in names)


def _find_judge(grading: Mapping[str, Any]) -> str:
    """Name the model behind the first assertion that a model grades; '' if none does."""
    for part in list_objects(grading.get("componentResults")):
        assertion = read_mapping(part.get("assertion"))
        if _JUDGED.match(str(assertion.get("type"))):
            return join_parts(assertion.get("provider")) or UNNAMED_JUDGE
    return ""


def _list_metrics(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the metrics that a test's assertions name, and those of its sets of assertions."""
    assertions = list_objects(within(row, "testCase", "assert"))
    inner = [part for assertion in assertions for part in list_objects(assertion.get("assert"))]
    for assertion in (*assertions, *inner):
        name = join_parts(assertion.get("metric"))
        if name:
            yield name


def _read_scores(row: Mapping[str, Any]) -> dict[str, Stated]:
    grading = read_mapping(row.get("gradingResult"))
    judge, reason, error = _find_judge(grading), grading.get("reason"), ""
    values: dict[str, Any] = {"pass": row.get("success"), "score": row.get("score")}
    if row.get("failureReason") == _ERROR:
        error = join_parts(row.get("error")) or UNSTATED
        # Such a row has no named scores; its assertions name them.
        values |= {f"score.{name}": None for name in _list_metrics(row)}
    values |= {f"score.{name}": value for name, value in read_mapping(row.get("namedScores")).items()}
    return {name: build_score(value, judge=judge, reason=reason, error=error) for name, value in values.items()}


def _read_asserted(test: Mapping[str, Any]) -> str:
    """Return the text that a test's one assertion about a reply expects; '' if there are several, or none."""
    assertions = list_objects(test.get("assert"))
    values = [assertion.get("value") for assertion in assertions if assertion.get("type") in _ASSERTED]
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return ""


def _read_row(
    row: Mapping[str, Any], name: str, targets: Mapping[tuple[str, int], str], varying: Varying
) -> Recorded:
    response, test = read_mapping(row.get("response")), read_mapping(row.get("testCase"))
    variables, prompt = _read_asked(row)
    has_failed, output = row.get("failureReason") == _ERROR, response.get("output")
    asserted = _read_asserted(test)
    question = _find_question(variables, prompt)
    turns = Turns(_read_sent(row), read_calls_of_output(output))
    # A single message without calls is asked as a text.
    if not turns.is_chat and not turns.calls:
        turns = Turns()
    return Recorded(
        join_parts(within(test, "metadata", "id")),
        question,
        read_expected(find_first(variables, _EXPECTED) or asserted),
        None if has_failed or output is None else _read_text(output),
        _read_scores(row),
        targets.get((name, read_count(row.get("promptIdx")) or 0), name),
        join_parts(test.get("suite")),
        finish_reason=join_parts(response.get("finishReason")),
        error=join_parts(row.get("error")) if has_failed else "",
        usage=Usage(
            read_count(within(response, "tokenUsage", "prompt")),
            read_count(within(response, "tokenUsage", "completion")),
        ),
        material=Material(contexts=_list_contexts(variables, question, varying), sent=prompt),
        turns=turns,
    )


def _read_text(output: Any) -> str:
    """Return an output's text; of calls, and of a message, only what is said."""
    if not isinstance(output, Mapping):
        return join_parts(output)
    if output.get("role"):
        return join_parts(output.get("content"))
    return json.dumps(output, ensure_ascii=False)


def _read_asked(row: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return a row's variables, and the prompt that was sent."""
    variables = read_mapping(row.get("vars")) or read_mapping(within(row, "testCase", "vars"))
    sent = _read_sent(row)
    if sent:
        return variables, write_transcript(sent)
    return variables, join_parts(within(row, "prompt", "raw"))


def _read_sent(row: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return the messages of a prompt that is a list of them, as JSON; none of a text."""
    return read_messages_of_file(within(row, "prompt", "raw"))


def _name_provider(row: Mapping[str, Any]) -> str:
    return join_parts(within(row, "provider", "label")) or join_parts(within(row, "provider", "id")) or "provider"


def _name_targets(rows: Iterable[Any]) -> dict[tuple[str, int], str]:
    """Name targets by provider, prompt's label and prompt's number, each only where names are equal without it."""
    labels: dict[tuple[str, int], str] = {}
    for row in rows:
        if isinstance(row, Mapping):
            number = read_count(row.get("promptIdx")) or 0
            labels[_name_provider(row), number] = join_parts(within(row, "prompt", "label"))
    prompts_of_provider = Counter(provider for provider, _ in labels)
    names = dict[tuple[str, int], str]()
    for (provider, number), label in labels.items():
        names[provider, number] = provider
        if prompts_of_provider[provider] > 1:
            start = " ".join(label.split())[:40]
            names[provider, number] = f"{provider}: {start or number}"
    counts = Counter(names.values())
    for key, name in names.items():
        if counts[name] > 1:
            names[key] = f"{name} ({key[1]})"
    return names


def read(source: Source) -> Iterator[Found]:
    """Read results of promptfoo.

    Raises:
        InputError: it cannot be read.
    """
    inner = read_mapping(within(source.document, "results"))
    rows = inner.get("results") or ()
    is_table = source.head.keys() >= _HEAD
    if is_table:
        rows = [*_list_lines(source.path)]
    elif not inner:
        rows = [*source.rows()]
    # What tells rows apart is known only from all of them, so they are walked twice.
    targets = _name_targets(rows)
    varying = _find_varying(_read_asked(row) for row in rows if isinstance(row, dict))
    models: dict[str, None] = {}
    for row in rows:
        if isinstance(row, dict):
            name = _name_provider(row)
            models[name] = None
            yield _read_row(row, name, targets, varying)
    prompts = [join_parts(prompt.get("raw")) for prompt in list_objects(inner.get("prompts"))]
    yield collect_facts(
        tool=TOOL,
        tool_version=within(source.document, "metadata", "promptfooVersion"),
        model=", ".join(models),
        prompt=" | ".join(dict.fromkeys(prompts)),
        **_collect_settings(source),
    )
    if is_table:
        yield (
            "promptfoo's CSV has no ids, repeats column names and rounds scores to two digits; rows are paired by "
            "their variables. Its JSON (-o results.json) is more complete."
        )


def _collect_settings(source: Source) -> dict[str, str]:
    """Return the providers' settings of sampling, the different values of each joined."""
    settings: dict[str, dict[str, None]] = {"temperature": {}, "max_tokens": {}, "seed": {}}
    for provider in list_objects(within(source.document, "config", "providers")):
        options = read_mapping(provider.get("config"))
        for name in settings.keys() & options.keys():
            settings[name][str(options[name])] = None
    return {name: ", ".join(values) for name, values in settings.items()}


def _list_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the replies of a CSV in the form of the JSON.

    A line has variables, then for each provider and prompt its output and six columns of the same names.
    """
    csv.field_size_limit(1 << 27)
    try:
        with open_file(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
            lines = csv.reader(text, strict=True)
            header = next(lines, [])
            columns = [n for n in range(len(header)) if header[n + 1 : n + 2] == ["Status"]]
            for line in lines:
                variables = dict(zip(header[: next(iter(columns), 0)], line, strict=False))
                for number, column in enumerate(columns):
                    # A line may end before the columns of its last targets.
                    if len(line) >= column + 3:
                        row = _lay_out(header[column], *line[column : column + 3])
                        yield {"vars": variables, "promptIdx": number, **row}
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not promptfoo's CSV ({error}).") from error


def _lay_out(head: str, output: str, status: str, score: str) -> dict[str, Any]:
    """Return a reply of a CSV in the form of the JSON; `head` is that of its column."""
    match, provider, prompt = _TARGET.fullmatch(head), head, ""
    if match:
        provider, prompt = match.group("provider", "prompt")
    return {
        "provider": {"id": provider},
        "prompt": {"label": prompt},
        "response": {"output": output},
        "success": status,
        "score": score,
        "failureReason": _ERROR if status == "ERROR" else None,
        "error": output,
    }
