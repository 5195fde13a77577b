"""Code tests: a row's tests of the program in a reply, run in the sandbox; the parent compares the values.

An assertion such as `assert f(1) == 2` is split: only `f(1)` meets the program, which never sees the 2. One that
does more, such as `assert abs(f(1) - g(1)) < 1e-6`, is evaluated where the program cannot reach it, and asks for
what it returns; with the program itself only where the script hands it functions of its own.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import metric
from basic_control.data.options import Frozen
from basic_control.data.programs.scripts import code_before, find_completion, find_script
from basic_control.data.programs.tree import join_programs
from basic_control.data.records import (
    Expectation,
    Found,
    Outcome,
    Program,
    ProgramUnderTest,
    Sample,
    Score,
    Status,
)
from basic_control.data.shown import Shown
from basic_control.data.values import describe, format_value, has_same_type, read_simple_name
from basic_control.metrics._replies import NO_REPLY, program_reply
from basic_control.metrics.code_tests.checks import Check, as_json
from basic_control.metrics.code_tests.packages import find_package
from basic_control.metrics.code_tests.runners import CALLED, RUNNER, checker, stdin_program
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
    return [options[name] for name in columns if options[name] != getattr(usual, name)]


def _listed(value: Any) -> list[Any]:
    """Return a column's list, which may be JSON text."""
    if isinstance(value, str):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            read = None
        value = read if isinstance(read, list) else value
    if isinstance(value, list | tuple):
        return list(value)
    return [] if value is None or value == "" else [value]


def _texts(sample: Sample, column: str) -> tuple[str, ...]:
    return tuple(one for one in _listed(sample.get(column)) if isinstance(one, str)) if column else ()


def entry(sample: Sample, options: Mapping[str, Any]) -> str:
    """Return the tested function's name; '' if a whole program is tested."""
    named = options["entry"]
    name = sample.get(named) if named and sample.get(named) else named
    if not isinstance(name, str) or not name.isidentifier():
        return entry_of(_texts(sample, options["tests"]))
    return name


def _pair(number: int, given: Any, expected: Any, name: str) -> Test:
    if not name:
        check = Check("lines", str(expected))
        return Test(number, "", (f"{CALLED}_main({str(given)!r})",), ((check,),), format_value(given))
    if isinstance(given, Mapping):
        call = f"{name}(**{dict(given)!r})"
    else:
        call = f"{name}(*{given!r})" if isinstance(given, list | tuple) else f"{name}({given!r})"
    return Test(number, "", (call,), ((Check("pair", expected),),), call)


def row_tests(sample: Sample, options: Mapping[str, Any]) -> tuple[Test, ...]:
    """Return a row's tests: those of its scripts, then those of its pairs."""
    name = entry(sample, options)
    scripts = _texts(sample, options["tests"])
    inputs, outputs = (_listed(sample.get(options[column])) for column in ("inputs", "outputs"))
    pairs = zip(inputs, outputs, strict=True) if len(inputs) == len(outputs) else ()
    made = [_pair(number, *pair, name) for number, pair in enumerate(pairs, len(scripts))]
    return (*(read_tests(scripts, name) if name else ()), *made)


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return whether a row has tests that can be run."""
    if row_tests(sample, options):
        return Expectation()
    column = next((options[name] for name in ("tests", "inputs") if sample.get(options[name])), options["tests"])
    return Expectation("expected tests of a named function, or as many outputs as inputs", column=column)


def _find_source(sample: Sample, options: Mapping[str, Any]) -> str | None:
    """Return the reply's program with the row's set-up and the imports of its tests; None without a program."""
    text, name = str(sample.get("response") or ""), entry(sample, options)
    head = "".join(_texts(sample, options["prompt_code"]))
    program = find_completion(text, name, head) if name else find_script(text)
    if program is None:
        return None
    setup = "\n".join(_texts(sample, options["setup"]))
    return join_programs(setup, program, imports_of(_texts(sample, options["tests"])) if name else "")


def programs(sample: Sample, options: Mapping[str, Any]) -> Mapping[str, Program]:
    """Return the reply's program with its tests as calls; nothing without code or tests."""
    listed, name = row_tests(sample, options), entry(sample, options)
    if not listed or not program_reply(sample) or (source := _find_source(sample, options)) is None:
        return {}
    head = "".join(_texts(sample, options["prompt_code"]))
    setup = "\n".join(_texts(sample, options["setup"]))
    apart = frozenset(place for place, test in enumerate(listed) if test.apart)
    program = ProgramUnderTest(
        options["language"],
        join_programs(source, RUNNER) if name else stdin_program(source),
        CALLED,
        tuple((test.script, test.setup, _tuple(test.values)) for test in listed),
        cpu_s=options["program_timeout_s"],
        call_s=options["timeout_s"],
        fresh=tuple((test.script, test.fresh, _tuple(test.values)) for test in listed),
        checker=checker(name, join_programs(setup, code_before(head, name))) if apart else "",
        apart=apart,
    )
    return {KEY: program}


def _tuple(expressions: Iterable[str]) -> str:
    """Return the expression of a tuple: `f(1), f(2)` -> `(f(1), f(2), )`."""
    return f"({''.join(f'{expression}, ' for expression in expressions)})"


def _wrong(test: Test, found: Outcome, name: str) -> str:
    """Return the kind of mistake in a test's outcome; '' if it passes."""
    if found.kind == "exception":
        return _raised(test, found, name)
    if found.kind != "value":
        return "syntax error" if found.kind == "syntax" else found.kind
    if type(found.value) is not tuple or len(found.value) != len(test.checks):
        return "wrong value"
    for value, checks in zip(found.value, test.checks, strict=True):
        for check in checks:
            if not check.holds(value):
                mistyped = check.how == "pair" and not has_same_type(check.expected, as_json(value))
                return "wrong type" if mistyped else "wrong output" if check.how == "lines" else "wrong value"
    return ""


def _raised(test: Test, found: Outcome, name: str) -> str:
    if not test.checks and found.error == "AssertionError":
        return "an assertion failed"
    if found.error == "NameError" and found.message == f"name {name!r} is not defined":
        return "no such function"
    return "syntax error" if found.error == "SyntaxError" else f"exception {read_simple_name(found.error)}"


def _got(found: Outcome) -> str:
    alone = found.kind == "value" and type(found.value) is tuple and len(found.value) == 1
    return format_value(found.value[0]) if alone else describe(found)


def _find_lacked_package(sample: Sample, options: Mapping[str, Any], failures: Sequence[Outcome]) -> str:
    """Return the package for lack of which tests failed, all that did; '' if one failed for another reason."""
    source = _find_source(sample, options) or ""
    packages = [find_package(source, outcome, {entry(sample, options)}) for outcome in failures]
    return packages[0] if all(packages) else ""


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
def code_tests(sample: Sample, replies: Found, options: Mapping[str, Any]) -> Score:
    """Return the share of the row's tests that pass; part `all` is 1 if every one does.

    A test that uses up its time fails alone; tests without time left, as the others used up the program's, do not
    pass. Where all that failed did for lack of a package, such as numpy, the score is `unsupported`.

    Source: SPEC 14; HumanEval (Chen et al. 2021) and MBPP (Austin et al. 2021) for the forms of tests.
    """
    listed = row_tests(sample, options)
    if not listed:
        return Score(None, "not_applicable", "the row has no tests", parts={"all": None})
    if not program_reply(sample):
        return Score(0.0, NO_REPLY.status, NO_REPLY.reason, parts={"all": 0.0})
    outcomes: Sequence[Outcome] | None = replies.get("programs", {}).get(KEY)
    if outcomes is None:
        return Score(0.0, "no_answer", "no code in the reply", parts={"all": 0.0})
    if any(outcome.kind == "unavailable" for outcome in outcomes):
        return Score(None, "not_applicable", "no runner for the language", parts={"all": None})
    name = entry(sample, options)
    wrong = [_wrong(test, outcome, name) for test, outcome in zip(listed, outcomes, strict=True)]
    failed = [
        {"test": test.text[:200], "got": _got(outcome), "reason": reason}
        for test, outcome, reason in zip(listed, outcomes, wrong, strict=True)
        if reason
    ]
    passed = len(wrong) - len(failed)
    details: dict[str, Any] = {"tests": len(wrong), "passed": passed}
    if not failed:
        return Score(1.0, reason="all tests pass", details=details, parts={"all": 1.0})
    details["failed"] = failed[:FAILED_SHOWN]
    package = _find_lacked_package(sample, options, [outcomes[k] for k, reason in enumerate(wrong) if reason])
    status: Status = "unsupported" if package else "scored"
    reason = f"needs {package}" if package else failed[0]["reason"]
    return Score(passed / len(wrong), status, reason, details, {"all": 0.0})
