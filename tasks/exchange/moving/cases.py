"""promptfoo's tests as cases: from the configuration and the files that it names, with its defaults."""

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from basic_control.data.errors import InputError
from basic_control.tasks.exchange.moving.assertions import INVERSE, is_carried
from basic_control.tasks.exchange.moving.conversions import Account, Case
from basic_control.tasks.exchange.moving.csv_tests import TYPES, read_cell, read_row
from basic_control.tasks.exchange.moving.foreign_files import SCHEME, Folder, read_rows
from basic_control.tasks.exchange.moving.prompts import AFFIXES
from basic_control.tasks.exchange.moving.variables import (
    UntakenError,
    fill_variables,
    is_number,
    list_of,
    mapping_of,
    wrap,
    write_text,
)

MOST_CASES = 100_000
_DEEPEST = 5
"""How often a variable may stand for another."""
_KEYS = frozenset(
    (
        *("description", "vars", "provider", "providers", "prompts", "providerOutput", "assert", "threshold"),
        *("assertScoringFunction", "options", "metadata"),
    )
)
"""The keys of a test."""
_ASSERTION_KEYS = frozenset(
    (
        *("type", "value", "config", "threshold", "weight", "provider", "rubricPrompt", "metric", "transform"),
        *("contextTransform", "assert"),
    )
)
_SETS_AND_OTHERS = (
    *("assert-set", "select-best", "max-score", "human", "agent-rubric", "skill-used", "rouge-l", "rouge-s"),
    *("trajectory:goal-success", "trajectory:step-count", "trajectory:tool-args-match"),
    *("trajectory:tool-sequence", "trajectory:tool-used"),
)
_KINDS = (*TYPES, *_SETS_AND_OTHERS, *(f"{INVERSE}{kind}" for kind in TYPES))
"""The kinds of assertions."""
_OPTIONS = ("transform", "postprocess", "transformVars", "rubricPrompt")
_TRANSFORMS = ("transform", "postprocess")
_CLOSE = 0.8
"""How alike an unknown key and a known one are if one is meant for the other."""


def check_keys(values: Mapping[str, Any], known_keys: Collection[str], source: str, account: Account) -> None:
    """Note unknown keys as left out.

    Raises:
        InputError: one looks like a key that is known.
    """
    for key in sorted(values.keys() - {*known_keys}):
        matches = get_close_matches(key, known_keys, n=1, cutoff=_CLOSE)
        if matches:
            raise InputError(f"{source}: unknown key {key!r}. Did you mean {matches[0]!r}?")
        account.add(f"`{key}`", "left out", "no key that is known here")


def check_assertion(assertion: Mapping[str, Any], source: str, account: Account) -> None:
    """Note an assertion's unknown keys as left out.

    Raises:
        InputError: a key or its kind looks like one that is known.
    """
    kind = write_text(assertion.get("type"))
    check_keys(assertion, _ASSERTION_KEYS, f"{source}: assertion {kind or 'without a type'}", account)
    if kind and kind not in _KINDS:
        for match in get_close_matches(kind.lower(), _KINDS, n=1, cutoff=_CLOSE):
            raise InputError(f"{source}: unknown type {kind!r} of an assertion. Did you mean {match!r}?")


@dataclass(frozen=True, slots=True)
class CaseReader:
    """What reading tests needs: the configuration, its folder, and the account."""

    raw: Mapping[str, Any]
    folder: Folder
    account: Account

    def read(self) -> list[Case]:
        """Return the cases of a configuration, at most `MOST_CASES`.

        Raises:
            InputError: there are more.
        """
        default = self._default()
        entries = itertools.chain(self._entries(self.raw.get("tests")), self._scenarios())
        cases = itertools.chain.from_iterable(self._cases(default, entry) for entry in entries)
        # One more than allowed shows that there are too many, without making them all.
        first = list(itertools.islice(cases, MOST_CASES + 1))
        if len(first) > MOST_CASES:
            raise InputError(f"more than {MOST_CASES:,} tests, with all combinations of their variables.")
        return first

    def _default(self) -> Mapping[str, Any]:
        default = self.raw.get("defaultTest") or {}
        if isinstance(default, str):
            try:
                default = self.folder.load(default)
            except UntakenError as error:
                self.account.add("defaultTest", "left out", str(error))
        default = mapping_of(default)
        check_keys(default, _KEYS, f"{self.folder.source}: defaultTest", self.account)
        return default

    def _scenarios(self) -> Iterator[Mapping[str, Any]]:
        """Yield the tests of scenarios: each of a scenario's tests with each of its settings."""
        scenarios = self.raw.get("scenarios")
        for scenario in list_of(scenarios):
            if not isinstance(scenario, dict):
                self.account.add("scenarios", "left out", "expected their settings and tests")
                continue
            tests = list(self._entries(scenario.get("tests"))) or [{}]
            for setting, test in itertools.product(self._entries(scenario.get("config")), tests):
                yield _apply_setting(setting, test)

    def _entries(self, tests: Any) -> Iterator[Mapping[str, Any]]:
        """Yield tests, those in files included."""
        for number, entry in enumerate(wrap(tests), start=1):
            if isinstance(entry, str):
                yield from self._file(entry)
            elif isinstance(entry, dict) and "path" in entry and "vars" not in entry:
                yield from self._file(str(entry["path"]))
            elif isinstance(entry, dict):
                check_keys(entry, _KEYS, f"{self.folder.source}: test {number}", self.account)
                yield entry
            elif entry is not None:
                self.account.add("tests", "left out", "expected a test or a file of tests")

    def _file(self, reference: str) -> Iterator[Mapping[str, Any]]:
        try:
            paths = self.folder.find(reference)
        except UntakenError as error:
            self.account.add(f"tests: {reference}", "left out", str(error))
            return
        for path in paths:
            source = f"{self.folder.source}: {path}"
            is_table = path.suffix.lower() in {".csv", ".tsv"}
            for number, row in enumerate(read_rows(path), start=1):
                if is_table:
                    yield read_row(row, f"{source}: row {number}", self.account)
                elif isinstance(row, dict):
                    check_keys(row, _KEYS, f"{source}: test {number}", self.account)
                    yield row
                else:
                    raise InputError(f"{source}: expected a list of tests.")

    def _cases(self, default: Mapping[str, Any], test: Mapping[str, Any]) -> Iterator[Case]:
        """Yield a test for each combination of its variables' values."""
        options = {**mapping_of(default.get("options")), **mapping_of(test.get("options"))}
        for key in _OPTIONS:
            if key in _TRANSFORMS and options.get(key):
                self._note_transform(key, options[key])
            elif options.get(key):
                self.account.add(f"options.{key}", "left out", "replies and prompts are taken as they are")
        for key in ("provider", "providerOutput", "assertScoringFunction"):
            if test.get(key, default.get(key)) is not None:
                self.account.add(f"tests: {key}", "left out", "no equal in a test")
        # The default's checks come first, as promptfoo puts them.
        assertions = []
        if options.get("disableDefaultAsserts") is not True:
            assertions += self._assertions(default)
        assertions += self._assertions(test)
        # A check's own transform is of what the test's makes.
        transform = options.get("transform") or options.get("postprocess")
        if transform:
            assertions = [
                {**assertion, "transform": [transform, assertion.get("transform")]} for assertion in assertions
            ]
        try:
            variables = {**self._read_variables(default), **self._read_variables(test)}
        except UntakenError as error:
            self.account.add("tests: vars", "left out", str(error))
            return
        keys = self._read_keys(default, test, options)
        expanded = [variables] if options.get("disableVarExpansion") else _combine(variables)
        for combination in expanded:
            yield Case(_compose(combination), assertions, keys)

    def _note_transform(self, key: str, transform: Any) -> None:
        """Note what becomes of a test's transform; each check that it concerns says so itself."""
        if is_carried(transform):
            self.account.add(f"options.{key}", "taken")
        else:
            reason = "a program, which is not run; checks of what it makes are left out"
            self.account.add(f"options.{key}", "left out", reason)

    def _read_keys(
        self, default: Mapping[str, Any], test: Mapping[str, Any], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the keys of a test that decide, choose, or are kept."""
        keys: dict[str, Any] = {}
        threshold = test.get("threshold", default.get("threshold"))
        # Ours are shares: another threshold has no equal.
        if is_number(threshold) and 0 <= threshold <= 1:
            keys["threshold"] = threshold
        elif threshold is not None:
            self.account.add("test's threshold", "left out", "expected a share from 0 to 1; every check must hold")
        if isinstance(test.get("description"), str):
            keys["description"] = test["description"].strip()
        for key in ("prompts", "providers"):
            if test.get(key, default.get(key)) is not None:
                keys[key] = test.get(key, default.get(key))
        for key in ("provider", *AFFIXES):
            if options.get(key):
                keys[key] = options[key]
        metadata = {**mapping_of(default.get("metadata")), **mapping_of(test.get("metadata"))}
        keys["metadata"] = {name: value for name, value in metadata.items() if isinstance(value, str | int | float)}
        return keys

    def _read_variables(self, test: Mapping[str, Any]) -> dict[str, Any]:
        variables = test.get("vars") or {}
        if isinstance(variables, str):
            variables = self.folder.load(variables)
        if not isinstance(variables, dict):
            raise UntakenError("expected variables with their values")
        return {str(name): self._resolve_value(value) for name, value in variables.items()}

    def _resolve_value(self, value: Any) -> Any:
        if not isinstance(value, str) or not value.startswith(SCHEME):
            return value
        if "*" in value:
            paths = self.folder.find(value)
            return [self.folder.read(str(path.relative_to(self.folder.path))) for path in paths]
        if value.endswith((".json", ".yaml", ".yml")):
            return self.folder.load(value)
        return self.folder.read(value)

    def _assertions(self, test: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return a test's assertions, references resolved and sets without a threshold laid open."""
        assertions: list[dict[str, Any]] = []
        entries = test.get("assert")
        source = str(self.folder.source)
        if isinstance(test.get("description"), str):
            source += f": test {test['description'].strip()[:80]!r}"
        for entry in wrap(entries):
            assertion = self._resolve(entry)
            if isinstance(assertion, dict):
                check_assertion(assertion, source, self.account)
            if isinstance(assertion, dict) and assertion.get("type") == "assert-set":
                if assertion.get("threshold") is None:
                    assertions += self._assertions(assertion)
                else:
                    self.account.add("assert-set", "left out", "no equal: a threshold of some assertions")
            elif isinstance(assertion, dict):
                assertions.append(assertion)
            elif entry is not None:
                self.account.add("assert", "left out", "expected an assertion with its type")
        return assertions

    def _resolve(self, entry: Any) -> Any:
        """Return an assertion that another stands for: {$ref: '#/assertionTemplates/polite'}."""
        if isinstance(entry, str):
            return read_cell(entry)
        reference = mapping_of(entry).get("$ref")
        if not isinstance(reference, str):
            return entry
        value: Any = self.raw
        for step in reference.removeprefix("#/").split("/"):
            # Where a step leads nowhere, so do those after it.
            value = mapping_of(value).get(step)
        return value


def _apply_setting(setting: Mapping[str, Any], test: Mapping[str, Any]) -> dict[str, Any]:
    """Return a scenario's setting and a test as one test."""
    assertions = [*list_of(setting.get("assert")), *list_of(test.get("assert"))]
    variables = {**mapping_of(setting.get("vars")), **mapping_of(test.get("vars"))}
    return {**setting, **test, "vars": variables, "assert": assertions}


def _combine(variables: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the values of those variables that are lists of texts or numbers."""
    choices = []
    for value in variables.values():
        is_choice = isinstance(value, list) and value and not any(isinstance(entry, dict) for entry in value)
        choices.append(value if is_choice else [value])
    for values in itertools.product(*choices):
        yield dict(zip(variables, values, strict=True))


def _compose(variables: dict[str, Any]) -> dict[str, Any]:
    """Return variables with those filled in that their values name; what cannot be stays as it is."""
    for _ in range(_DEEPEST):
        before = dict(variables)
        for name, value in before.items():
            try:
                variables[name] = fill_variables(
                    value, {key: entry for key, entry in before.items() if key != name}
                )
            except UntakenError:
                variables[name] = value
        if variables == before:
            break
    return variables
