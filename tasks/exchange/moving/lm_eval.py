"""A task of lm-evaluation-harness, of generated replies, as a configuration of ours.

Source: lm-evaluation-harness' guide to tasks.
"""

import ast
import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError
from basic_control.data.files import read_file_rows as rows_of
from basic_control.metrics._patterns import compile_pattern
from basic_control.prompts import fill
from basic_control.tasks.exchange.moving.arranging import ANSWER
from basic_control.tasks.exchange.moving.conversions import STAND_IN, Account, Conversion
from basic_control.tasks.exchange.moving.foreign_files import PROGRAM_TAG, Folder, UnreadableError, read_rows
from basic_control.tasks.exchange.moving.variables import list_of, mapping_of, wrap, write_text

TOOL = "lm-evaluation-harness"
MOST_ROWS = 100_000
QUESTION = "question"
_LOADERS = ("json", "csv", "parquet", "text")
_KEYS = {
    *("task", "dataset_path", "dataset_name", "dataset_kwargs", "output_type", "doc_to_text", "doc_to_target"),
    *("test_split", "validation_split", "training_split", "fewshot_split", "fewshot_config", "num_fewshot"),
    *("generation_kwargs", "filter_list", "metric_list", "description", "target_delimiter", "fewshot_delimiter"),
    "gen_prefix",
}
_SILENT = {"tag", "group", "metadata", "task_alias", "repeats"}
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_GROUP = re.compile(r"(?<!\\)\((?!\?)|\(\?P?<[A-Za-z]")  # a group that captures: (a), (?P<year>…)


def fits(raw: Mapping[str, Any]) -> bool:
    """Return whether a file is a task of the harness."""
    return "task" in raw and bool({"doc_to_text", "dataset_path", "output_type"} & raw.keys())


def convert(raw: Mapping[str, Any], path: Path) -> Conversion:
    """Return a task as ours; its questions, examples included, are filled in at once.

    Raises:
        InputError: it compares likelihoods, or its data or templates cannot be read.
    """
    conversion, folder = Conversion(TOOL), Folder(path.parent)
    raw = _include(raw, folder, conversion.account)
    kind = raw.get("output_type", "generate_until")
    if kind != "generate_until":
        raise InputError(
            f"{path}: found output_type {str(kind)[:60]!r}; expected generate_until: likelihoods are no replies."
        )
    for key in sorted(raw.keys() - _KEYS - _SILENT):
        conversion.account.add(f"`{key}`", "left out", "no equal")
    try:
        rows = _convert_rows(raw, folder, conversion.account)
    except (UnreadableError, InputError) as error:
        raise InputError(f"{path}: its data cannot be taken over: {error}") from error
    if not rows:
        raise InputError(f"{path}: its data has no row.")
    conversion.account.add("rows", "taken", f"{len(rows)}, with their questions filled in")
    conversion.models = [{**STAND_IN, **_settings(raw.get("generation_kwargs"), conversion.account)}]
    conversion.account.add("model", "changed", "a task names none; the model in the package stands in")
    name = _NO_NAME.sub("-", str(raw.get("task"))).strip("-.")[:40] or "task"
    for filter_name, metrics in _list_metrics(raw, conversion.account):
        # One suite for each filter: the replies are asked for once, and read in several ways.
        suite = f"{name}-{filter_name}" if filter_name else name
        prompt = "{{ question }}"
        conversion.suites.append({"name": suite, "items": {}, "prompt": prompt, "metrics": metrics})
        conversion.rows[suite] = rows
    return conversion


def _include(raw: Mapping[str, Any], folder: Folder, account: Account) -> dict[str, Any]:
    """Return a task over the one that it includes."""
    base = raw.get("include")
    values: Any = {}
    if isinstance(base, str):
        try:
            values = folder.load(base)
            account.add("include", "taken")
        except UnreadableError as error:
            account.add("include", "left out", str(error))
    below = mapping_of(values)
    return {key: value for key, value in {**below, **raw}.items() if key != "include"}


def _convert_rows(raw: Mapping[str, Any], folder: Folder, account: Account) -> list[dict[str, Any]]:
    """Return rows of question and answer: the description, the examples and the row's text in one."""
    split = raw.get("test_split") or raw.get("validation_split") or "test"
    documents = list(itertools.islice(_read_split(raw, split, folder), MOST_ROWS + 1))
    if len(documents) > MOST_ROWS:
        raise UnreadableError(f"more than {MOST_ROWS:,} rows")
    examples = _examples(raw, split, folder, account)
    description = write_text(raw.get("description"))
    before = description + "".join(examples)
    rows = []
    for document in documents:
        question, answer = _fill(raw, "doc_to_text", document), _fill(raw, "doc_to_target", document)
        beginning = _fill_prefix(raw, document)
        if beginning:
            question += write_text(raw.get("target_delimiter", " ")) + beginning
        rows.append({QUESTION: before + question, ANSWER: _read_answers(answer)})
    if raw.get("gen_prefix"):
        account.add("gen_prefix", "changed", "ends the question, and does not begin the reply")
    return rows


def _fill_prefix(raw: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    if not raw.get("gen_prefix"):
        return ""
    return _fill(raw, "gen_prefix", document)


def _read_answers(text: str) -> str | list[str]:
    """Return what is expected; a text such as `['Rome', 'Roma']` is any of a list, as for the harness."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return text
    try:
        values = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    if not isinstance(values, list) or not values:
        return text
    return [write_text(value) for value in values]


def _read_split(raw: Mapping[str, Any], split: Any, folder: Folder) -> Iterator[dict[str, Any]]:
    """Yield the rows of a split's files."""
    files = mapping_of(raw.get("dataset_kwargs")).get("data_files")
    if raw.get("dataset_path") not in _LOADERS or not files:
        name = str(raw.get("dataset_path"))[:60]
        raise UnreadableError(
            f"data set {name!r} is not fetched; save it beside the task, and name it in data_files"
        )
    chosen = files.get(str(split)) if isinstance(files, dict) else files
    for reference in wrap(chosen):
        if not isinstance(reference, str):
            raise UnreadableError(f"no file of the split {split!r} is named")
        for path in folder.find(reference):
            read = rows_of if path.suffix.lower() == ".parquet" else read_rows
            for row in read(path):
                yield _require_row(row)


def _require_row(row: Any) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise UnreadableError("expected rows with named columns")
    return {str(name): value for name, value in row.items()}


def _fill(raw: Mapping[str, Any], key: str, document: Mapping[str, Any]) -> str:
    """Return a row's text: of a column that the key names, or of its template."""
    template = raw.get(key)
    if isinstance(template, str) and template in document:
        return write_text(document[template])
    if isinstance(template, int | float):
        return str(template)
    if not isinstance(template, str) or template.startswith(PROGRAM_TAG):
        raise UnreadableError(f"{key} is no template; a program is not run")
    text = fill(template, "en", document, may_print_lists=True)
    # Jinja drops a line break at the end, which the harness keeps.
    if template.endswith("\n") and not text.endswith("\n"):
        text += "\n"
    return text


def _examples(raw: Mapping[str, Any], split: Any, folder: Folder, account: Account) -> list[str]:
    """Return the texts of the examples before each question."""
    number = raw.get("num_fewshot")
    if not isinstance(number, int) or number <= 0:
        return []
    samples = mapping_of(raw.get("fewshot_config")).get("samples")
    source = raw.get("fewshot_split") or raw.get("training_split")
    if isinstance(samples, list):
        documents = [_require_row(sample) for sample in samples[:number]]
        account.add("num_fewshot", "taken")
    elif source and source != split:
        documents = list(itertools.islice(_read_split(raw, source, folder), number))
        account.add("num_fewshot", "changed", "the first rows of their split, not drawn anew for each question")
    else:
        account.add("num_fewshot", "left out", "the rows that are asked would be examples of themselves")
        return []
    between = write_text(raw.get("target_delimiter", " "))
    after = write_text(raw.get("fewshot_delimiter", "\n\n"))
    examples = []
    for document in documents:
        question = _fill(raw, "doc_to_text", document)
        answer = _fill(raw, "doc_to_target", document)
        prefix = _fill_prefix(raw, document)
        # The reply of an example begins with what each reply is begun with.
        start = f"{between}{prefix} " if prefix else between
        examples.append(f"{question}{start}{answer}{after}")
    return examples


def _settings(generation: Any, account: Account) -> dict[str, Any]:
    """Return the settings of the model that a task asks for."""
    settings: dict[str, Any] = {}
    for key, value in mapping_of(generation).items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if key == "temperature" and is_number:
            settings["temperature"] = value
        elif key in {"max_gen_toks", "max_new_tokens"} and is_number:
            settings["max_tokens"] = value
        elif key == "until":
            settings["extra"] = {"stop": wrap(value)}
        elif key != "do_sample":
            account.add(f"generation_kwargs.{key}", "left out", "no equal")
    return settings


def _list_metrics(raw: Mapping[str, Any], account: Account) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the metrics of each filter, with its name; of no filter once, without a name."""
    options = _match_options(raw.get("metric_list"), account)
    # What a filter's metric has in common with exact_match.
    match_options = options["exact_match"]
    shared = {key: match_options[key] for key in ("ignore", "case_sensitive") if key in match_options}
    entries = [entry for entry in list_of(raw.get("filter_list")) if isinstance(entry, dict)]
    is_any = False
    for entry in entries:
        name = _NO_NAME.sub("-", str(entry.get("name", "filter"))).strip("-.")[:20]
        pattern = _read_pattern(name, entry.get("filter"), account)
        if pattern is None:
            continue
        is_any = True
        suffix = name if len(entries) > 1 else ""
        if pattern:
            yield suffix, {"regex": {"pattern": pattern, "group": 1, **shared}}
        else:
            yield suffix, options
    if not is_any:
        yield "", options


def _match_options(metrics: Any, account: Account) -> dict[str, Any]:
    """Return exact_match with the options of the harness's; other metrics are left out."""
    options: dict[str, Any] = {"raw": True}
    for entry in list_of(metrics):
        metric = mapping_of(entry)
        if metric.get("metric") != "exact_match":
            account.add(f"metric {str(metric.get('metric'))[:60]}", "left out", "no equal")
            continue
        folds = {key: metric.get(key) is True for key in ("ignore_case", "ignore_punctuation")}
        if any(folds.values()):
            options = {"case_sensitive": not folds["ignore_case"], "punctuation": folds["ignore_punctuation"]}
            account.add("exact_match", "changed", "notation and white space do not count either")
        else:
            account.add("exact_match", "taken")
        patterns = metric.get("regexes_to_ignore")
        if patterns and _are_patterns(wrap(patterns)):
            options["ignore"] = wrap(patterns)
            account.add("exact_match.regexes_to_ignore", "taken")
        elif patterns:
            account.add("exact_match.regexes_to_ignore", "left out", "not regular expressions")
    return {"exact_match": options}


def _are_patterns(values: list[Any]) -> bool:
    """Return whether all values are regular expressions."""
    try:
        return all(isinstance(value, str) and compile_pattern(value) for value in values)
    except ValueError:
        return False


def _read_pattern(name: str, steps: Any, account: Account) -> str | None:
    """Return a filter's pattern, whose group is the answer; '' if it takes replies whole, None if no equal."""
    pattern = ""
    for step in list_of(steps):
        function = mapping_of(step).get("function")
        if function == "regex" and not pattern and isinstance(step.get("regex_pattern", ""), str):
            pattern = _select(step.get("regex_pattern", r"#### (\-?[0-9\.\,]+)"), step.get("group_select", 0))
        elif function != "take_first":
            pattern = ""
        if function not in ("regex", "take_first") or (function == "regex" and not pattern):
            account.add(f"filter {name}: {str(function)[:40]}", "left out", "no equal")
            return None
    account.add(f"filter {name}", "taken")
    return pattern


def _select(pattern: str, which: Any) -> str:
    """Return a pattern of the first or the last match, in which one group captures; '' for others."""
    groups = len(_GROUP.findall(pattern))
    if which not in (0, -1) or groups > 1:
        return ""
    captured = pattern if groups else f"({pattern})"
    if which == 0:
        # The metric reads the last match; one from the reply's beginning is the first.
        return rf"\A[\s\S]*?(?:{captured})"
    return captured
