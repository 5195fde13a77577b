"""A promptfooconfig.yaml as a configuration of ours.

Source: promptfoo's documentation of configurations, test cases and expected outputs.
"""

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError
from basic_control.tasks.exchange.moving.arranging import Group, arrange, is_valid
from basic_control.tasks.exchange.moving.assertions import UntakenError, convert_assertion
from basic_control.tasks.exchange.moving.cases import CaseReader
from basic_control.tasks.exchange.moving.conversions import STAND_IN, Account, Case, Conversion, ConvertedCheck
from basic_control.tasks.exchange.moving.foreign_files import Folder
from basic_control.tasks.exchange.moving.foreign_models import convert_provider, name_apart
from basic_control.tasks.exchange.moving.prompts import Prompt, convert_prompts, read_names
from basic_control.tasks.exchange.moving.variables import write_text

TOOL = "promptfoo"
JUDGE = {"name": "judge", "provider": "openai", "model": "gpt-6-luna"}
"""Where a grader is needed and none is named."""
_KEYS = {"prompts", "providers", "targets", "tests", "defaultTest", "scenarios", "assertionTemplates"}
RESERVED = ("answer", "response", "id", "row", "template", "family", "level", "messages", "calls")
"""Columns with a meaning of their own: a variable of that name gets another."""
_SILENT = {"description", "$schema", "tags", "metadata"}


def fits(raw: Mapping[str, Any]) -> bool:
    """Return whether a file is a promptfoo configuration."""
    has_models = bool({"providers", "targets"} & raw.keys())
    return "suites" not in raw and "models" not in raw and "prompts" in raw and (has_models or "tests" in raw)


def convert(raw: Mapping[str, Any], path: Path) -> Conversion:
    """Return a configuration as ours, with an account of every part.

    Raises:
        InputError: nothing of it can be taken over.
    """
    conversion, folder = Conversion(TOOL), Folder(path.parent)
    account = conversion.account
    for key in sorted(raw.keys() - _KEYS - _SILENT):
        account.add(f"`{key}`", "left out", "no equal")
    prompts = convert_prompts(raw.get("prompts"), folder, account)
    if not prompts:
        raise _make_refusal(path, "prompt", account)
    models = convert_provider(raw.get("providers", raw.get("targets", [])), folder, account)
    if not models:
        account.add("providers", "changed", "none could be taken over; the model in the package stands in")
    conversion.models = name_apart(models or [STAND_IN])
    judges: dict[str, str] = {}
    cases = []
    for case in CaseReader(raw, folder, account).read():
        checks: list[ConvertedCheck] = []
        for assertion in case.assertions:
            checks += _convert_checks(assertion, case, folder, account)
        for check in checks:
            if check.metric == "rubric":
                _name_judge(check.judge or case.judge, judges, folder, conversion)
        # A variable may have the name of a column that means something here.
        renamed = {_rename(name): value for name, value in case.variables.items()}
        cases.append((replace(case, variables=renamed), checks))
    if not cases:
        raise _make_refusal(path, "test", account)
    groups = arrange(cases, account)
    untested = len(cases) - sum(map(bool, map(itemgetter(1), cases)))
    if untested:
        account.add("tests without a check", "changed", f"{untested}: only measured, whether there is a reply")
    _add_suites(conversion, groups, prompts)
    return conversion


def _rename(name: str) -> str:
    return f"{name}_var" if name in RESERVED else name


def _make_refusal(path: Path, part: str, account: Account) -> InputError:
    notes = [note for note, _ in account.list_notes() if note.outcome == "left out"]
    reasons = "; ".join(f"{note.subject}: {note.reason}" for note in notes)
    return InputError(f"{path}: no {part} of it can be taken over ({reasons[:400] or 'there is none'}).")


def _convert_checks(
    assertion: Mapping[str, Any], case: Case, folder: Folder, account: Account
) -> list[ConvertedCheck]:
    """Return an assertion's check in a list; an empty one if it has no equal, which the account says."""
    kind = write_text(assertion.get("type")) or "assertion without a type"
    account.n_assertions += 1
    weight = assertion.get("weight", 1)
    is_weight = isinstance(weight, int | float) and not isinstance(weight, bool) and 0 <= weight <= 10**6
    if weight == 0:
        account.add(kind, "left out", "its weight is 0: it decides nothing")
        return []
    if weight != 1 and case.threshold is None:
        account.add(f"{kind}: weight", "left out", "without a test's threshold every check must hold")
    try:
        check = convert_assertion(assertion, case.variables, folder)
    except UntakenError as error:
        account.add(kind, "left out", str(error))
        return []
    problem = is_valid(check)
    if problem:
        account.add(kind, "left out", problem)
        return []
    if is_weight:
        check = replace(check, weight=float(weight))
    return [check]


def _name_judge(provider: Any, judges: dict[str, str], folder: Folder, conversion: Conversion) -> None:
    """Add the judge that a rubric names, once; ours where it names none."""
    if isinstance(provider, dict) and "id" not in provider:
        provider = provider.get("text")
    key = json.dumps(provider, sort_keys=True)
    if key in judges:
        return
    entries: list[dict[str, Any]] = []
    if provider:
        entries = convert_provider(provider, folder, conversion.account)
    if not entries:
        entries = [JUDGE]
        conversion.account.add("judge", "changed", f"none is named; {JUDGE['model']} stands in: see judges")
    judges[key] = entries[0]["name"]
    if entries[0] not in conversion.judges:
        conversion.judges.append(entries[0])


def _add_suites(conversion: Conversion, groups: list[Group], prompts: Mapping[str, Prompt]) -> None:
    """Add a suite for each group, with every column that a prompt names in every row."""
    prompts = {name: _rename_variables(prompt) for name, prompt in prompts.items()}
    names = set().union(*map(read_names, prompts.values()))
    keys: dict[str, Any] = {"prompts": dict(prompts)}
    if len(prompts) == 1:
        (keys["prompt"],) = keys.pop("prompts").values()
    for number, group in enumerate(groups, start=1):
        name = f"tests-{number}" if len(groups) > 1 else "tests"
        conversion.suites.append({"name": name, "items": {}, **keys, **group.suite})
        conversion.rows[name] = _fill_rows(group.rows, names)


def _rename_variables(prompt: Prompt) -> Prompt:
    """Return a prompt that finds the variables of reserved names under their other names."""
    if isinstance(prompt, list):
        return [{**message, "content": _rename_variables(message["content"])} for message in prompt]
    names = [name for name in RESERVED if name in read_names(prompt)]
    return "".join(f"{{% set {name} = {name}_var %}}" for name in names) + prompt


def _fill_rows(rows: list[dict[str, Any]], names: set[str]) -> list[dict[str, Any]]:
    """Return rows of the same columns; a column that holds values of several kinds holds texts."""
    columns = dict.fromkeys(itertools.chain(*rows, sorted(names)))
    filled_rows: list[dict[str, Any]] = [{} for _ in rows]
    for column in columns:
        values = [row.get(column, "") for row in rows]
        # A table has one type for a column.
        if len({*map(type, values)}) > 1:
            values = [*map(write_text, values)]
        for row, value in zip(filled_rows, values, strict=True):
            row[column] = value
    return filled_rows
