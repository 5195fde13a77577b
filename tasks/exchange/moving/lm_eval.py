"""A task of lm-evaluation-harness, of generated replies, as a configuration of ours.

Source: lm-evaluation-harness' guide to tasks.
"""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError
from basic_control.tasks.exchange.moving.conversions import STAND_IN, Account, Conversion
from basic_control.tasks.exchange.moving.foreign_files import PROGRAM_TAG, Folder
from basic_control.tasks.exchange.moving.lm_documents import ID, DocumentReader
from basic_control.tasks.exchange.moving.lm_scoring import NO_NAME, NO_PROGRAM, list_metrics, read_generation
from basic_control.tasks.exchange.moving.variables import UntakenError, mapping_of

TOOL = "lm-evaluation-harness"
_KEYS = {
    *("task", "dataset_path", "dataset_name", "dataset_kwargs", "output_type", "doc_to_text", "doc_to_target"),
    *("test_split", "validation_split", "training_split", "fewshot_split", "fewshot_config", "num_fewshot"),
    *("generation_kwargs", "filter_list", "metric_list", "description", "target_delimiter", "fewshot_delimiter"),
    "gen_prefix",
}
_SILENT = {"tag", "group", "group_alias", "metadata", "task_alias", "repeats"}
_REASONS = {
    "doc_to_choice": "not needed: doc_to_target has the answers",
    "process_docs": f"{NO_PROGRAM}: rows are taken as their file has them",
    "process_results": f"{NO_PROGRAM}: what it scores, exact_match may score otherwise",
    "custom_dataset": NO_PROGRAM,
    "use_prompt": "its text is in another package, which is not read",
    "should_decontaminate": "no equal; `fetch` tells what models may have seen",
    "unsafe_code": "no equal; programs run in the sandbox",
}
_OF_DATA = {"data_files"}


def fits(raw: Mapping[str, Any]) -> bool:
    """Return whether a file is a task of the harness."""
    return "task" in raw and bool({"doc_to_text", "dataset_path", "output_type"} & raw.keys())


def convert(raw: Mapping[str, Any], path: Path) -> Conversion:
    """Return a task as ours; its questions are filled in at once.

    Raises:
        InputError: it compares likelihoods, or its data or templates cannot be read.
    """
    conversion, folder = Conversion(TOOL), Folder(path.parent)
    account = conversion.account
    raw = _include(raw, folder, account)
    _require_generated(raw, path)
    _account_for_keys(raw, account)
    try:
        questions = DocumentReader(raw, folder, account).read()
    except (UntakenError, InputError) as error:
        missing = [note.reason for note in account.notes if note.subject == "include" and note.reason]
        hint = f" (its include was not read: {missing[0]})" if missing else ""
        raise InputError(f"{path}: its data cannot be taken over: {error}{hint}") from error
    if not questions.rows:
        raise InputError(f"{path}: its data has no row.")
    account.add("rows", "taken", f"{len(questions.rows)}, with their questions filled in")
    # A task is asked of whatever model is named at the command line.
    conversion.models = [STAND_IN]
    account.add("model", "changed", "a task names none; the model in the package stands in")
    shared: dict[str, Any] = {"items": {}, "prompt": questions.prompt}
    if ID in questions.rows[0]:
        shared["items"] = {"columns": {ID: ID}}
        account.add("ids", "taken")
    settings = read_generation(raw, account)
    name = NO_NAME.sub("-", str(raw.get("task"))).strip("-.")[:40] or "task"
    for number, (filter_name, metrics) in enumerate(_join_filters([*list_metrics(raw, account)])):
        suite = f"{name}-{filter_name}" if filter_name else name
        keys = {"name": suite, **shared, **settings, "metrics": metrics}
        # The replies are asked for once, and read in several ways: none of them counts twice.
        if number:
            keys["weight"] = 0
            reason = "the same replies read in another way: `weight: 0`, beside the overall score"
            account.add(f"suite {suite}", "changed", reason)
        if questions.examples:
            keys["examples"] = {"n": questions.n_examples, "as": "text"}
            conversion.examples[suite] = questions.examples
        conversion.suites.append(keys)
        conversion.rows[suite] = questions.rows
    return conversion


def _join_filters(readings: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """Return one suite's metrics where each filter is another metric; else those of a suite for each filter."""
    joined: dict[str, Any] = {}
    for _, metrics in readings:
        joined |= metrics
    if len(joined) < sum(len(metrics) for _, metrics in readings):
        return readings
    return [("", joined)]


def _require_generated(raw: Mapping[str, Any], path: Path) -> None:
    """Refuse a task that compares likelihoods."""
    kind = raw.get("output_type", "generate_until")
    if kind == "generate_until":
        return
    hint = ""
    if kind == "multiple_choice":
        hint = (
            " Ask for an option's letter instead, and read it by the metric `choice`: "
            "basic-control init --kind choice; of a target that is an index, `choice: {index: 0}`."
        )
    raise InputError(
        f"{path}: found output_type {str(kind)[:60]!r}; expected generate_until: likelihoods are no replies.{hint}"
    )


def _account_for_keys(raw: Mapping[str, Any], account: Account) -> None:
    """Say which keys of a task are left out, and why."""
    for key in sorted(raw.keys() - _KEYS - _SILENT):
        reason = _REASONS.get(key, "no equal")
        close = difflib.get_close_matches(key, _KEYS | _SILENT, n=1, cutoff=0.8)
        if str(raw[key]).startswith(PROGRAM_TAG) and key not in _REASONS:
            reason = NO_PROGRAM
        elif close and key not in _REASONS:
            reason = f"no key of a task; did you mean `{close[0]}`?"
        account.add(f"`{key}`", "left out", reason)
    for key in sorted(map(str, mapping_of(raw.get("dataset_kwargs")).keys() - _OF_DATA)):
        account.add(f"dataset_kwargs.{key}", "left out", "no equal")
    if raw.get("repeats", 1) not in (None, 0, 1):
        account.add("repeats", "left out", "the harness scores the first of them; set `repeats` to score each")


def _include(raw: Mapping[str, Any], folder: Folder, account: Account) -> dict[str, Any]:
    """Return a task over the one that it includes."""
    base = raw.get("include")
    values: Any = {}
    if isinstance(base, str):
        try:
            values = folder.load(base)
            account.add("include", "taken")
        except UntakenError as error:
            account.add("include", "left out", f"{base[:60]}: {error}")
    below = mapping_of(values)
    return {key: value for key, value in {**below, **raw}.items() if key != "include"}
