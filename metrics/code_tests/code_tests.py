"""Code tests: a row's tests of the program in a reply, run in the sandbox; the parent compares the values.

An assertion such as `assert f(1) == 2` is split: only `f(1)` meets the program, which never sees the 2. One that
does more, such as `assert abs(f(1) - g(1)) < 1e-6`, is evaluated where the program cannot reach it, and asks for
what it returns; with the program itself only where the script hands it functions of its own.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import metric
from basic_control.data.options import Frozen
from basic_control.data.programs.tree import join_programs
from basic_control.data.records import (
    Expectation,
    Found,
    Outcome,
    Program,
    ProgramUnderTest,
    Sample,
    Score,
)
from basic_control.data.shown import Shown
from basic_control.data.values import describe_value, format_value, has_same_type, read_simple_name
from basic_control.metrics._replies import NO_REPLY, program_reply
from basic_control.metrics.code_tests.checks import Check, as_json
from basic_control.metrics.code_tests.harness import CALLED, RUNNER, checker, stdin_program
from basic_control.metrics.code_tests.packages import find_package
from basic_control.metrics.code_tests.programs import find_code_before, find_completion, find_script
from basic_control.metrics.code_tests.scripts import Test, entry_of, imports_of, read_tests

KEY = "reply"
FAILED_SHOWN = 5
"""Maximum number of failed tests with details."""


class Options(Frozen):
    """The columns of the tests, and what they test."""

    tests: str = Field(
        "tests", description="the column with assertions: a list of scripts, one script, or a `check(candidate)`"
    )
    inputs: str = Field("inputs", description="the column with inputs: lists of arguments, or texts for stdin")
    outputs: str = Field("outputs", description="the column with what is expected for each input")
    entry: str = Field("", description="the function's name, or the column that holds it; else the tests tell it")
    prompt_code: str = Field(
        "", description="a column with code (imports, a signature) that a completion of a body continues"
    )
    setup: str = Field("", description="a column with code that stands before the program, such as imports")
    language: Literal["python"] = Field("python", description="of the programs")
    timeout_s: float = Field(
        2.0, gt=0, le=600, description="CPU seconds of a test; one that needs more fails, and the others go on"
    )
    program_timeout_s: float = Field(20.0, gt=0, le=3600, description="CPU seconds of all tests of a reply")


def needs(options: Mapping[str, Any]) -> list[str]:
    """Return the columns that a row must have: those that are configured; the default ones are optional."""
    usual = Options()
    columns = ("tests", "inputs", "outputs", "prompt_code", "setup")
    # The usual columns need not be there: a row has tests or pairs.
    return [options[name] for name in columns if options[name] != getattr(usual, name)]


def _read_list(value: Any) -> list[Any]:
    """Return a column's list, which may be JSON text."""
    if isinstance(value, str):
        parsed = None
        with suppress(ValueError, RecursionError):
            parsed = json.loads(value)
        if isinstance(parsed, list):
            return parsed
    if isinstance(value, list | tuple):
        return list(value)
    if value is None or value == "":
        return []
    return [value]


def _read_texts(sample: Sample, column: str) -> tuple[str, ...]:
    if not column:
        return ()
    return tuple(text for text in _read_list(sample.get(column)) if isinstance(text, str))


def entry(sample: Sample, options: Mapping[str, Any]) -> str:
    """Return the tested function's name; '' if a whole program is tested."""
    column = options["entry"]
    # The option is a column, or else the name itself.
    name = (sample.get(column) if column else None) or column
    if not isinstance(name, str) or not name.isidentifier():
        return entry_of(_read_texts(sample, options["tests"]))
    return name


def _build_test(number: int, arguments: Any, expected: Any, name: str) -> Test:
    if not name:
        check = Check("lines", str(expected))
        call = f"{CALLED}_main({str(arguments)!r})"
        return Test(number, "", (call,), ((check,),), format_value(arguments))
    if isinstance(arguments, Mapping):
        call = f"{name}(**{dict(arguments)!r})"
    elif isinstance(arguments, list | tuple):
        call = f"{name}(*{arguments!r})"
    else:
        call = f"{name}({arguments!r})"
    return Test(number, "", (call,), ((Check("pair", expected),),), call)


def row_tests(sample: Sample, options: Mapping[str, Any]) -> tuple[Test, ...]:
    """Return a row's tests: those of its scripts, then those of its pairs."""
    name = entry(sample, options)
    scripts = _read_texts(sample, options["tests"])
    inputs = _read_list(sample.get(options["inputs"]))
    outputs = _read_list(sample.get(options["outputs"]))
    tests: list[Test] = []
    if name:
        tests += read_tests(scripts, name)
    # Pairs that do not match are no tests at all.
    if len(inputs) == len(outputs):
        for number, (arguments, expected) in enumerate(zip(inputs, outputs, strict=True), len(scripts)):
            tests.append(_build_test(number, arguments, expected, name))
    return tuple(tests)


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return whether a row has tests that can be run."""
    if row_tests(sample, options):
        return Expectation()
    columns = filter(sample.get, (options["tests"], options["inputs"]))
    column = next(columns, options["tests"])
    return Expectation("expected tests of a named function, or as many outputs as inputs", column=column)


def _build_program(sample: Sample, options: Mapping[str, Any]) -> str | None:
    """Return the reply's program with the row's set-up and the imports of its tests; None without a program."""
    text, name = str(sample.get("response") or ""), entry(sample, options)
    setup = "\n".join(_read_texts(sample, options["setup"]))
    if not name:
        script = find_script(text)
        if script is None:
            return None
        return join_programs(setup, script, "")
    head = "".join(_read_texts(sample, options["prompt_code"]))
    program = find_completion(text, name, head)
    if program is None:
        return None
    return join_programs(setup, program, imports_of(_read_texts(sample, options["tests"])))


def programs(sample: Sample, options: Mapping[str, Any]) -> Mapping[str, Program]:
    """Return the reply's program with its tests as calls; nothing without code or tests."""
    tests, name = row_tests(sample, options), entry(sample, options)
    source = _build_program(sample, options) if tests and program_reply(sample) else None
    if source is None:
        return {}
    apart = frozenset(index for index, test in enumerate(tests) if test.apart)
    own_checker = ""
    # Some tests are run where the program cannot reach them.
    if apart:
        head = "".join(_read_texts(sample, options["prompt_code"]))
        setup = "\n".join(_read_texts(sample, options["setup"]))
        own_checker = checker(name, join_programs(setup, find_code_before(head, name)))
    program = ProgramUnderTest(
        options["language"],
        join_programs(source, RUNNER) if name else stdin_program(source),
        CALLED,
        tuple((test.script, test.setup, _write_tuple(test.values)) for test in tests),
        cpu_s=options["program_timeout_s"],
        call_s=options["timeout_s"],
        fresh=tuple((test.script, test.fresh, _write_tuple(test.values)) for test in tests),
        checker=own_checker,
        apart=apart,
    )
    return {KEY: program}


def _write_tuple(expressions: Iterable[str]) -> str:
    """Return the expression of a tuple: `f(1), f(2)` -> `(f(1), f(2), )`."""
    return f"({''.join(map('{}, '.format, expressions))})"


def _name_mistake(test: Test, result: Outcome, name: str) -> str:
    """Return the kind of mistake in a test's outcome; '' if it passes."""
    if result.kind == "exception":
        return _name_exception(test, result, name)
    if result.kind != "value":
        return "syntax error" if result.kind == "syntax" else result.kind
    if type(result.value) is not tuple or len(result.value) != len(test.checks):
        return "wrong value"
    for value, checks in zip(result.value, test.checks, strict=True):
        for check in checks:
            if not check.holds(value):
                return _name_misfit(check, value)
    return ""


def _name_misfit(check: Check, value: Any) -> str:
    """Return what is wrong with a value that does not pass a check."""
    if check.relation == "pair" and not has_same_type(check.expected, as_json(value)):
        return "wrong type"
    return "wrong output" if check.relation == "lines" else "wrong value"


def _name_exception(test: Test, result: Outcome, name: str) -> str:
    if not test.checks and result.error == "AssertionError":
        return "an assertion failed"
    if result.error == "NameError" and result.message == f"name {name!r} is not defined":
        return "no such function"
    if result.error == "SyntaxError":
        return "syntax error"
    return f"exception {read_simple_name(result.error)}"


def _describe_outcome(result: Outcome) -> str:
    if result.kind == "value" and type(result.value) is tuple and len(result.value) == 1:
        return format_value(result.value[0])
    return describe_value(result)


def _find_lacked_package(sample: Sample, options: Mapping[str, Any], failures: Sequence[Outcome]) -> str:
    """Return the package for lack of which tests failed, all that did; '' if one failed for another reason."""
    source = _build_program(sample, options) or ""
    packages = [find_package(source, outcome, {entry(sample, options)}) for outcome in failures]
    if not all(packages):
        return ""
    return packages[0]


@metric(
    version=5,
    options=Options,
    needs=needs,
    title={"en": "Code tests", "ru": "Тесты кода"},
    programs=programs,
    expects=expects,
    all_or_none=True,
    shown=Shown(parts={"all": {"en": "all tests pass", "ru": "пройдены все тесты"}}, headline=("all",)),
)
def code_tests(sample: Sample, replies: Found, options: Mapping[str, Any]) -> Score:  # noqa: PLR0911 - a return for each way to fail
    """Return the share of the row's tests that pass; part `all` is 1 if every one does.

    A test that uses up its time fails alone; tests without time left, as the others used up the program's, do not
    pass. Where all that failed did for lack of a package, such as numpy, the score is `unsupported`.

    Source: SPEC 14; HumanEval (Chen et al. 2021) and MBPP (Austin et al. 2021) for the forms of tests.
    """
    tests = row_tests(sample, options)
    if not tests:
        return Score(None, "not_applicable", "the row has no tests", parts={"all": None})
    if not program_reply(sample):
        return Score(0.0, NO_REPLY.status, NO_REPLY.reason, parts={"all": 0.0})
    outcomes: Sequence[Outcome] | None = replies.get("programs", {}).get(KEY)
    if outcomes is None:
        return Score(0.0, "no_answer", "no code in the reply", parts={"all": 0.0})
    if any(outcome.kind == "unavailable" for outcome in outcomes):
        return Score(None, "not_applicable", "no runner for the language", parts={"all": None})
    name = entry(sample, options)
    failures: list[Outcome] = []
    mistakes: list[dict[str, str]] = []
    for test, outcome in zip(tests, outcomes, strict=True):
        reason = _name_mistake(test, outcome, name)
        if reason:
            failures.append(outcome)
            mistakes.append({"test": test.text[:200], "got": _describe_outcome(outcome), "reason": reason})
    passed = len(tests) - len(failures)
    details: dict[str, Any] = {"tests": len(tests), "passed": passed}
    if not failures:
        return Score(1.0, reason="all tests pass", details=details, parts={"all": 1.0})
    details["failed"] = mistakes[:FAILED_SHOWN]
    # What may be right, but needs a package that is not here, is no failure of the model's.
    package = _find_lacked_package(sample, options, failures)
    if package:
        return Score(passed / len(tests), "unsupported", f"needs {package}", details, {"all": 0.0})
    return Score(passed / len(tests), "scored", mistakes[0]["reason"], details, {"all": 0.0})
