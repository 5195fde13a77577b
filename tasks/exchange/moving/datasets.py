"""A data set of DeepEval or ragas as a configuration of ours: questions, references, contexts, replies."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError, plural
from basic_control.data.notations import parse_list
from basic_control.data.usual_columns import CONTEXTS, USUAL_NAMES
from basic_control.tasks.exchange.moving.conversions import REPLIED, STAND_IN, Account, Conversion
from basic_control.tasks.exchange.moving.dataset_metrics import is_measured, list_equivalents
from basic_control.tasks.exchange.moving.foreign_files import (
    load_configuration,
    read_rows,
    read_text,
    read_value,
)
from basic_control.tasks.exchange.moving.variables import wrap, write_text

DEEPEVAL, RAGAS = "DeepEval", "ragas"
MARKS = {
    DEEPEVAL: ("actual_output", "expected_output", "retrieval_context", "actualOutput", "expectedOutput"),
    RAGAS: ("user_input", "retrieved_contexts", "ground_truth", "ground_truths", "contexts"),
}
"""Columns that only this tool's data sets have."""
ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson")
JUDGE = {"name": "rules", "provider": "rules", "exam": 10}
STATED = "scores that the tool gave, which `gate FILE` reads"
_LISTS = ("test_cases", "goldens", "examples", "data", "samples")
_OPENERS = ("[", "{")


def read_table(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a data set; none if the file holds something else.

    Raises:
        InputError: it cannot be read.
    """
    value: Any = None
    if path.suffix.lower() in ENDINGS:
        value = read_rows(path)
    # A configuration in YAML is read later, and once.
    elif read_text(path).lstrip().startswith(_OPENERS):
        value = read_value(path)
    if isinstance(value, dict):
        value = _rows_of(value)
    if isinstance(value, list) and all(isinstance(row, dict) for row in value):
        return value
    return []


def _rows_of(value: Mapping[str, Any]) -> Any:
    """Return the rows in a mapping: a list under a name, or columns of equal lengths."""
    for name in _LISTS:
        if isinstance(value.get(name), list):
            return value[name]
    columns = {name: cells for name, cells in value.items() if isinstance(cells, list)}
    lengths = {len(cells) for cells in columns.values()}
    if len(lengths) != 1:
        return None
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def find_tool(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the tool whose columns the rows have; '' if none."""
    names = set().union(*rows[:100])
    for tool, marks in MARKS.items():
        if not names.isdisjoint(marks):
            return tool
    return ""


def convert_rows(tool: str, rows: Sequence[Mapping[str, Any]], path: Path) -> Conversion:
    """Return a data set as ours.

    Raises:
        InputError: no row has a question of text.
    """
    conversion = Conversion(tool)
    converted = list(filter(None, (_convert_row(row, conversion.account) for row in rows)))
    if not converted:
        raise InputError(f"{path}: no row of it has a question; expected a text under input or user_input.")
    n_filled = Counter[str]()
    for row in converted:
        n_filled.update(name for name, cell in row.items() if cell)
    suite: dict[str, Any] = {"name": "answers", "items": {}}
    n_empty = len(converted) - n_filled["response"]
    if n_empty > len(converted) / 2:
        # A row with a reply among others without would be asked all the same.
        for row in converted:
            row.pop("response")
        conversion.models = [STAND_IN]
        suite["prompt"] = "{{ question }}"
        if n_filled[CONTEXTS]:
            suite["prompt"] = _PROMPT
        why = "a model is asked: the package's stands in"
        if n_filled["response"]:
            why = f"{plural(n_empty, 'row')} of {len(converted)} have none: {why}"
        conversion.account.add("replies", "changed", why)
    elif n_empty:
        # What was asked and came back empty is a reply, and a bad one.
        conversion.account.add("replies", "changed", f"empty in {plural(n_empty, 'row')}, and scored as such")
    conversion.suites, conversion.rows = [suite], {"answers": converted}
    # Each row has a reply by then: its own, or a model's.
    n_filled["response"] = len(converted)
    _choose_metrics(conversion, n_filled)
    return conversion


def _choose_metrics(conversion: Conversion, n_filled: Mapping[str, int]) -> None:
    """Give a data set the metrics that its columns allow; `n_filled` counts the rows in which each is not empty."""
    tool, account = conversion.tool, conversion.account
    (suite,), rows = conversion.suites, conversion.rows["answers"]
    columns = [*filter(n_filled.get, USUAL_NAMES)]
    metrics: dict[str, Any] = {}
    without_score: dict[str, list[str]] = {"reference": [], CONTEXTS: [], "response": []}
    for equivalent in list_equivalents(tool, columns):
        conversion.remarks.append(equivalent.describe(tool))
        if equivalent.judge == "model":
            account.add(equivalent.metric, "left out", "name a judge that is a model, then add it to `metrics`")
            continue
        metrics[equivalent.metric] = {}
        for column in equivalent.columns:
            without_score[column].append(equivalent.metric)
        if equivalent.judge:
            conversion.judges = [JUDGE]
        else:
            _prepare_computed(suite, rows)
    suite["metrics"] = metrics or REPLIED
    for column, names in without_score.items():
        if names and n_filled[column] < len(rows):
            subject = f"{column}, empty in {plural(len(rows) - n_filled[column], 'row')}"
            account.add(subject, "changed", f"{', '.join(names)}: no score there")
    if conversion.judges:
        # A verdict on shared words would be one on meaning that nobody reads.
        account.add(
            "metrics",
            "changed",
            "a data set names none: those whose columns are there; by the judge rules, which compares words and "
            "reads no meaning: no threshold, hence no verdict, until you name a judge",
        )
    if not metrics:
        account.add("metrics", "changed", "a data set names none; here: whether there is a reply")
    if conversion.remarks:
        names = ", ".join(columns)
        conversion.remarks.insert(
            0, f"Metrics by the columns that are there ({names}), and their equals in {tool}:"
        )


def _prepare_computed(suite: dict[str, Any], rows: Sequence[dict[str, Any]]) -> None:
    """Give rows the column with which computed metrics compare a reply; rows without a reference are left out."""
    for row in rows:
        row["answer"] = row["reference"]
        if not row["answer"]:
            suite["skip_unreadable"] = True


_PROMPT = (
    "{% if retrieved_contexts %}Answer from these texts.\n\n{% for text in retrieved_contexts %}- {{ text }}\n"
    "{% endfor %}\n{% endif %}{{ question }}"
)


def _convert_row(row: Mapping[str, Any], account: Account) -> dict[str, Any] | None:
    """Return a row by our names; None if its question is no text, as a conversation is."""
    converted: dict[str, Any] = {}
    for name, columns in USUAL_NAMES.items():
        cells = (row.get(column) for column in (name, *columns))
        value = next((cell for cell in cells if cell not in (None, "", [])), None)
        read = _read_texts if name == CONTEXTS else _read_text
        converted[name] = read(value)
    if not converted["question"]:
        account.add("row", "left out", "its question is no text, such as a conversation")
        return None
    names = {*USUAL_NAMES, *chain.from_iterable(USUAL_NAMES.values())}
    for name in row:
        if name not in names:
            account.add(f"column {name}", "left out", STATED if is_measured(name) else "no equal")
    account.add("row", "taken")
    return converted


def _read_text(value: Any) -> str:
    """Return a cell's text; of a list of one text that text, and '' of longer ones."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, list | dict):
        return ""
    return write_text(value).strip()


def _read_texts(value: Any) -> list[str]:
    """Return a cell's texts: a list, one in JSON or Python notation, or texts between semicolons."""
    if isinstance(value, str):
        value = parse_list(value)
    if isinstance(value, str):
        value = value.split(";")
    texts = [write_text(part).strip() for part in wrap(value)]
    return [text for text in texts if text]


def load_any(path: Path) -> tuple[str, list[dict[str, Any]], dict[str, Any]]:
    """Return the tool and the rows of a data set, or '' and the keys of a configuration.

    Raises:
        InputError: the file is neither.
    """
    rows = read_table(path)
    tool = find_tool(rows)
    if tool:
        return tool, rows, {}
    return "", [], load_configuration(path)
