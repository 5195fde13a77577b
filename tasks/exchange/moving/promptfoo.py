"""A promptfooconfig.yaml as a configuration of ours.

Source: promptfoo's documentation of configurations, test cases and expected outputs.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError
from basic_control.tasks.exchange.moving.arranging import ConvertedCase, Group, arrange, make_suite, split_models
from basic_control.tasks.exchange.moving.assertions import convert_assertion
from basic_control.tasks.exchange.moving.cases import CaseReader, check_keys
from basic_control.tasks.exchange.moving.conversions import STAND_IN, Account, Case, Conversion, ConvertedCheck
from basic_control.tasks.exchange.moving.foreign_files import Folder
from basic_control.tasks.exchange.moving.foreign_models import convert_provider, name_apart, name_provider
from basic_control.tasks.exchange.moving.prompts import (
    AFFIXES,
    ConvertedPrompt,
    Prompt,
    add_affix,
    convert_prompts,
    rename_variables,
)
from basic_control.tasks.exchange.moving.row_columns import (
    RESERVED,
    check_printed,
    fill_columns,
    list_columns,
    settle_case,
    unify_columns,
)
from basic_control.tasks.exchange.moving.variables import (
    UntakenError,
    is_number,
    mapping_of,
    match_names,
    wrap,
    write_text,
)

TOOL = "promptfoo"
JUDGE = {"name": "judge", "provider": "openai", "model": "gpt-6-luna"}
"""Where a grader is needed and none is named."""
PROMPTS = "\0prompts"
"""Key of a model, until suites are made, for the prompts that are its alone."""
_KEYS = {"prompts", "providers", "targets", "tests", "defaultTest", "scenarios", "assertionTemplates"}
_SILENT = {"description", "$schema", "tags", "metadata"}
_OTHERS = {
    *("outputPath", "evaluateOptions", "commandLineOptions", "env", "extensions", "nunjucksFilters", "sharing"),
    *("derivedMetrics", "redteam", "writeLatestResults", "tracing", "version", "metadata", "plugins", "strategies"),
}
"""Keys of promptfoo without an equal."""


def fits(raw: Mapping[str, Any]) -> bool:
    """Return whether a file is a promptfoo configuration."""
    has_models = bool({"providers", "targets"} & raw.keys())
    return "suites" not in raw and "models" not in raw and "prompts" in raw and (has_models or "tests" in raw)


def convert(raw: Mapping[str, Any], path: Path) -> Conversion:
    """Return a configuration as ours, with an account of every part.

    Raises:
        InputError: nothing of it can be taken over, a file that it names is not there or cannot be read, a key
            looks like another's, or a prompt names what no test has.
    """
    conversion, folder = Conversion(TOOL), Folder(path.parent, path)
    account = conversion.account
    # What is misspelt is told at once; what has no equal is only noted.
    check_keys(raw, _KEYS | _SILENT | _OTHERS, str(path), account)
    for key in sorted(raw.keys() & _OTHERS):
        account.add(f"`{key}`", "left out", "no equal")
    prompts = convert_prompts(raw.get("prompts"), folder, account)
    if not prompts:
        raise _make_refusal(path, "prompt", account)
    prompt_names = {name: [name, *prompt.aliases] for name, prompt in prompts.items()}
    aliases = _add_models(conversion, raw.get("providers", raw.get("targets", [])), prompt_names, folder)
    names = {"prompts": prompt_names, "providers": aliases}
    judges: dict[str, str] = {}
    cases = []
    for case in CaseReader(raw, folder, account).read():
        # Assertions name variables by the file's names, rows have them under ours.
        converted = _convert_case(case, judges, folder, conversion)
        selection = {key: _select(case.keys.get(key), names[key], account) for key in names}
        cases.append(replace(converted, case=settle_case(case, selection, account)))
    if not cases:
        raise _make_refusal(path, "test", account)
    account.n_tests = len(cases)
    groups = arrange(cases, account)
    # Each is asked all the same: its reply can be read.
    untested = [case.checks for case in cases].count([])
    if untested:
        account.add("tests without a check", "changed", f"{untested}: asked, and no check decides on them")
    columns = {column for group in groups for column in list_columns(group.rows)}
    for affix in AFFIXES:
        if affix in columns:
            prompts = {name: add_affix(prompt, affix, account) for name, prompt in prompts.items()}
    _add_suites(conversion, groups, prompts, path)
    return conversion


def _add_models(
    conversion: Conversion, providers: Any, prompts: Mapping[str, Sequence[str]], folder: Folder
) -> dict[str, list[str]]:
    """Add the models with the prompts that are theirs alone; return by their names what tests may call them."""
    models, ids = list[dict[str, Any]](), list[str]()
    for entry in wrap(providers):
        selection = _select(mapping_of(entry).get("prompts"), prompts, conversion.account)
        for model in convert_provider(entry, folder, conversion.account):
            models.append({**model, PROMPTS: selection} if selection else model)
            ids.append(name_provider(entry))
    if not models:
        conversion.account.add(
            "providers", "changed", "none could be taken over; the model in the package stands in"
        )
        models, ids = [STAND_IN], [""]
    conversion.models = name_apart(models)
    aliases: dict[str, list[str]] = {}
    for model, provider in zip(conversion.models, ids, strict=True):
        aliases[model["name"]] = [model["name"], provider]
    return aliases


def _select(selection: Any, names: Mapping[str, Sequence[str]], account: Account) -> list[str]:
    """Return the prompts or models that a test is for; none stands for all."""
    if selection is None:
        return []
    patterns = [*map(write_text, wrap(selection))]
    chosen = match_names(patterns, names)
    if not chosen:
        account.add(f"tests for {', '.join(patterns)}", "changed", "none is of that name; asked of all")
    if len(chosen) == len(names):
        return []
    return chosen


def _convert_case(case: Case, judges: dict[str, str], folder: Folder, conversion: Conversion) -> ConvertedCase:
    """Return a test with what its assertions come to, and add its judge."""
    checks, losses = list[ConvertedCheck](), list[str]()
    for assertion in case.assertions:
        check = _convert_check(assertion, case, folder, conversion.account)
        if check is not None:
            checks.append(check)
        elif assertion.get("weight") != 0:
            losses.append(write_text(assertion.get("type")) or "assertion without a type")
    providers = [check.judge or case.keys.get("provider") for check in checks if check.criterion]
    names = [_name_judge(provider, judges, folder, conversion) for provider in providers]
    if not names:
        return ConvertedCase(case, checks, losses=losses)
    if len({*names}) > 1:
        conversion.account.add("judges", "changed", f"one for all criteria of a test: {names[0]}")
    return ConvertedCase(case, checks, names[0], losses)


def _convert_check(
    assertion: Mapping[str, Any], case: Case, folder: Folder, account: Account
) -> ConvertedCheck | None:
    """Return what an assertion comes to; None if it has no equal, which the account says."""
    kind = write_text(assertion.get("type")) or "assertion without a type"
    account.n_assertions += 1
    weight = assertion.get("weight", 1)
    if weight == 0:
        account.add(kind, "left out", "its weight is 0: it decides nothing")
        return None
    if weight != 1 and case.keys.get("threshold") is None:
        account.add(f"{kind}: weight", "left out", "without a test's threshold every check must hold")
    try:
        check = convert_assertion(assertion, case.variables, folder)
    except UntakenError as error:
        account.add(kind, "left out", str(error))
        return None
    account.add(kind, "changed" if check.change else "taken", check.change)
    account.n_taken += 1
    if is_number(weight) and 0 <= weight <= 10**6:
        check = replace(check, weight=float(weight))
    return check


def _make_refusal(path: Path, part: str, account: Account) -> InputError:
    notes = [note for note, _ in account.list_notes() if note.outcome == "left out"]
    reasons = "; ".join(f"{note.subject}: {note.reason}" for note in notes)
    return InputError(f"{path}: no {part} of it can be taken over ({reasons[:400] or 'there is none'}).")


def _name_judge(provider: Any, judges: dict[str, str], folder: Folder, conversion: Conversion) -> str:
    """Return the name of the judge that a criterion names, ours where it names none; add it once."""
    if isinstance(provider, dict) and "id" not in provider:
        provider = provider.get("text")
    key = json.dumps(provider, sort_keys=True)
    if key in judges:
        return judges[key]
    entries: list[dict[str, Any]] = []
    if provider:
        entries = convert_provider(provider, folder, conversion.account)
    if not entries:
        entries = [JUDGE]
        conversion.account.add("judge", "changed", f"none is named; {JUDGE['model']} stands in: see judges")
    judges[key] = entries[0]["name"]
    if entries[0] not in conversion.judges:
        conversion.judges.append(entries[0])
    return judges[key]


def _add_suites(
    conversion: Conversion, groups: list[Group], prompts: Mapping[str, ConvertedPrompt], path: Path
) -> None:
    """Add a suite for each group, and for models of it that have prompts of their own."""
    own_prompts: dict[str, list[str]] = {}
    for model in conversion.models:
        own_prompts[model["name"]] = model.pop(PROMPTS, [*prompts])
    for group in groups:
        rules = make_suite(group, conversion.judges)
        for names, models in split_models(group, own_prompts).items():
            selection: dict[str, Any] = {}
            if len(models) < len(own_prompts):
                selection["models"] = models
            chosen = {name: prompts[name] for name in names}
            _add_suite(conversion, group.rows, chosen, selection | rules, path)


def _add_suite(
    conversion: Conversion,
    rows: list[dict[str, Any]],
    prompts: Mapping[str, ConvertedPrompt],
    rules: Mapping[str, Any],
    path: Path,
) -> None:
    """Add a suite of rows with these prompts and `rules`; every row gets every column that a prompt names."""
    number = len(conversion.suites) + 1
    name = f"tests-{number}" if number > 1 else "tests"
    suite: dict[str, Any] = {"name": name, "items": {}}
    if any("id" in row for row in rows):
        suite["items"] = {"columns": {"id": "id"}}
    check_printed(rows, prompts.values(), str(path))
    for key, prompt in prompts.items():
        fill_columns(rows, prompt, f"{path}: prompt {key}")
    unify_columns(rows)
    suite["prompts"] = {key: _write_prompt(prompt, conversion) for key, prompt in prompts.items()}
    # A prompt that stands alone needs no name.
    if len(prompts) == 1:
        (suite["prompt"],) = suite.pop("prompts").values()
    conversion.suites.append({**suite, **rules})
    conversion.rows[name] = rows


def _write_prompt(prompt: ConvertedPrompt, conversion: Conversion) -> Prompt:
    """Return a prompt as a suite has it: its text, or the path of its file, which the conversion then has too."""
    renamed = rename_variables(prompt, RESERVED)
    if not renamed.file or not isinstance(renamed.content, str):
        return renamed.content
    text = f"{renamed.content}\n"
    # The parts of a file have names that another file may have.
    if conversion.texts.setdefault(renamed.file, text) != text:
        return renamed.content
    return renamed.file
