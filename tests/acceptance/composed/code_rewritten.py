"""Programs that do the same as the one they are made of, in the ways in which models write them."""

import ast
import re
from collections.abc import Callable, Mapping
from textwrap import indent

from tests.acceptance.composed.common import by_language
from tests.acceptance.composed.programs import Program, example

Rewriting = Callable[[Program], str | None]
"""Makes another source of a program; None where the program gives no occasion for it."""


def said(program: Program, english: str, russian: str) -> str:
    return by_language(program.item, english, russian)


def unhinted(program: Program) -> str:
    """Take the type hints off the header."""
    return f"def {program.name}({program.passed}):\n{program.body}"


def renamed_parameters(program: Program) -> str:
    """Call the parameters otherwise: they are handed over by place."""
    tree = ast.parse(program.source)
    others = {name: f"arg_{number}" for number, name in enumerate(program.parameters)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = others.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = others.get(node.arg, node.arg)
    return ast.unparse(tree)


def typing_names(program: Program) -> str:
    """Hint as in the years before list[int]."""
    header = program.header
    for name in ("list", "dict", "set", "tuple"):
        header = re.sub(rf"\b{name}\[", f"{name.title()}[", header)
    header = re.sub(r"-> (\w+) \| None", r"-> Optional[\1]", header)
    return f"from typing import Dict, List, Optional, Set, Tuple\n\n\n{header}\n{program.body}"


def docstring(program: Program) -> str:
    text = said(program, "Return what the task asks for.", "Возвращает то, что требуется в задаче.")
    arguments = "\n".join(
        f"        {name}: {said(program, 'the argument', 'аргумент')}." for name in program.parameters
    )
    return (
        f'{program.header}\n    """{text}\n\n    Args:\n{arguments}\n\n    Returns:\n        {program.returns}\n'
        f'    """\n{program.body}'
    )


def short_docstring(program: Program) -> str:
    text = said(program, "Solve the task ('quoted', {braces}, 50 %).", "Решает задачу («кавычки», {скобки}, 50 %).")
    return f"{program.header}\n    '''{text}'''\n{program.body}"


def doctests(program: Program) -> str | None:
    """Show an example in the docstring, as the doctest module has it."""
    shown = example(program.item)
    if not shown:
        return None
    return (
        f'{program.header}\n    """\n    >>> {shown[0]}\n    {shown[1]}\n    """\n{program.body}\n\n\n'
        'if __name__ == "__main__":\n    import doctest\n    doctest.testmod()'
    )


def fenced_docstring(program: Program) -> str:
    """Show the usage in a fence inside of the docstring, indented with it."""
    return (
        f'{program.header}\n    """\n    Example:\n\n    ```python\n    {program.name}(...)\n    ```\n    """\n'
        f"{program.body}"
    )


def comments(program: Program) -> str:
    above = said(program, "# The function that was asked for: it's simple", "# Функция из задания: всё просто")
    inside = said(program, "# (1) don't forget the edge cases :)", "# (1) учитываем крайние случаи :)")
    return f'{above}\n{program.header}  # {program.name}\n    {inside}\n{program.body}  # "done"\n# {"-" * 20}'


def lambda_of(program: Program) -> str | None:
    if program.expression is None:
        return None
    return f"{program.name} = lambda {program.passed}: {program.expression}"


def hinted_lambda(program: Program) -> str | None:
    if program.expression is None:
        return None
    made = f"{program.name}: Callable = lambda {program.passed}: {program.expression}"
    return f"from collections.abc import Callable\n\n{made}"


def one_line(program: Program) -> str | None:
    return None if program.expression is None else f"{program.header} return {program.expression}"


def named_result(program: Program) -> str | None:
    """Keep the result in a local variable that is called as the function is."""
    if program.expression is None:
        return None
    return f"{program.header}\n    {program.name} = {program.expression}\n    return {program.name}"


def formula_walrus(program: Program) -> str | None:
    if program.expression is None:
        return None
    return (
        f"{program.header}\n    if (answer := {program.expression}) is not None:\n        return answer\n"
        f"    return None"
    )


def listed_generator(program: Program) -> str | None:
    if not program.returns.startswith("list"):
        return None
    return program.around(
        f"    def produce():\n        yield from compute_result({program.passed})\n\n    return list(produce())"
    )


def cached(program: Program) -> str | None:
    """Decorate with lru_cache, where the arguments have hashes."""
    if set(program.item.facts["types"][:-1]) - {"int", "str", "float"}:
        return None
    return f"from functools import lru_cache\n\n\n@lru_cache(maxsize=None)\n{program.source}"


def child_of_error(program: Program) -> str | None:
    """Raise a class of its own that is a ValueError."""
    if "raise ValueError(" not in program.source:
        return None
    raised = program.source.replace("raise ValueError(", "raise InvalidInputError(")
    return f"class InvalidInputError(ValueError):\n    pass\n\n\n{raised}"


def message_of_error(program: Program) -> str | None:
    """Raise with another message, written with braces."""
    if "raise ValueError(" not in program.source:
        return None
    message = said(program, "invalid value", "недопустимое значение")
    return re.sub(
        r"raise ValueError\(.*\)",
        f'raise ValueError(f"{{{{{message}}}}}: {{{program.parameters[0]}!r}}")',
        program.source,
    )


def other_order(program: Program) -> str | None:
    """Give a dictionary's entries in another order."""
    if not program.returns.startswith("dict"):
        return None
    return program.around(f"    return dict(reversed(list(compute_result({program.passed}).items())))")


def other_rounding(program: Program) -> str | None:
    """Differ in the last places of a float."""
    return (
        program.around(f"    return compute_result({program.passed}) * (1 + 1e-13)")
        if program.returns == "float"
        else None
    )


def checked(program: Program) -> str | None:
    """Check an example below the function."""
    shown = example(program.item)
    return shown and f"{program.source}\n\n\nassert {shown[0]} == {shown[1]}"


def printed_examples(program: Program) -> str | None:
    shown = example(program.item)
    return shown and f'{program.source}\n\n\nprint({shown[0]})  # {shown[1]}\nprint(f"{{{{x}}}} = {{{shown[0]}}}")'


def tested(program: Program) -> str | None:
    shown = example(program.item)
    return shown and (
        f"import unittest\n\n\n{program.source}\n\n\n"
        f"class Test{program.name.title().replace('_', '')}(unittest.TestCase):\n"
        f"    def test_example(self):\n        self.assertEqual({shown[0]}, {shown[1]})\n\n\n"
        'if __name__ == "__main__":\n    unittest.main()'
    )


def pytest_tests(program: Program) -> str | None:
    shown = example(program.item)
    return shown and f"{program.source}\n\n\ndef test_{program.name}():\n    assert {shown[0]} == {shown[1]}"


def guarded(program: Program) -> str | None:
    shown = example(program.item)
    return shown and f'{program.source}\n\n\nif __name__ == "__main__":\n    print({shown[0]})'


def kept_result(program: Program) -> str | None:
    shown = example(program.item)
    return shown and f"{program.source}\n\n\nresult = {shown[0]}\nprint(result)"


def renamed_in_main(program: Program) -> str | None:
    """Have another function below keep a result under the function's own name."""
    shown = example(program.item)
    return shown and (
        f"{program.source}\n\n\ndef main():\n    {program.name}_value = {shown[0]}\n"
        f"    print({program.name}_value)\n\n\n"
        f"def unused():\n    {program.name} = 0\n    return {program.name}\n\n\nif __name__ == '__main__':\n"
        f"    main()"
    )


def tabs(program: Program) -> str:
    return re.sub(r"^( {4})+", lambda found: "\t" * (len(found[0]) // 4), program.source, flags=re.MULTILINE)


def two_spaces(program: Program) -> str:
    return re.sub(r"^( {4})+", lambda found: "  " * (len(found[0]) // 4), program.source, flags=re.MULTILINE)


def long_header(program: Program) -> str:
    """Put every parameter on a line of its own."""
    function = ast.parse(program.source).body[0]
    assert isinstance(function, ast.FunctionDef)
    lines = "".join(f"    {ast.unparse(argument)},\n" for argument in function.args.args)
    return f"def {program.name}(\n{lines}){program.header[program.header.rindex(' ->') :]}\n{program.body}"


def static_beside(program: Program) -> str:
    method = indent(f"@staticmethod\n{program.source}", "    ")
    return f"class Solution:\n{method}\n\n\n{program.header}\n    return Solution.{program.name}({program.passed})"


def static_below(program: Program) -> str:
    method = f"    @staticmethod\n    def {program.name}({program.passed}):\n        return None"
    return f"{program.source}\n\n\nclass Unfinished:\n{method}"


def _around(lines: str, head: str = "", name: str = "compute_result") -> Rewriting:
    """Rewrite as a call of the program under another name; `()` stands for the call."""

    def rewrite(program: Program) -> str:
        return head + program.around(lines.replace("()", f"{name}({program.passed})", 1), name)

    return rewrite


def _above(lines: str) -> Rewriting:
    return lambda program: f"{lines}\n\n\n{program.source}"


def _below(lines: str) -> Rewriting:
    return lambda program: f"{program.source}\n\n\n{lines}"


_TIMED = """import functools


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper


@logged"""

REWRITTEN: Mapping[str, Rewriting] = {
    "as it is": lambda program: program.source,
    "no hints": unhinted,
    "other parameters": renamed_parameters,
    "typing names": typing_names,
    "future import": lambda program: f"from __future__ import annotations\n\n{program.source}",
    "docstring": docstring,
    "short docstring": short_docstring,
    "doctests": doctests,
    "fence in the docstring": fenced_docstring,
    "comments": comments,
    "lambda": lambda_of,
    "hinted lambda": hinted_lambda,
    "one line": one_line,
    "local of its own name": named_result,
    "local of its own name elsewhere": renamed_in_main,
    "walrus": formula_walrus,
    "walrus around": _around("    if (answer := ()) is not None:\n        return answer\n    return None"),
    "listed generator": listed_generator,
    "lru_cache": cached,
    "child of the error": child_of_error,
    "message of the error": message_of_error,
    "other order": other_order,
    "other rounding": other_rounding,
    "assert": checked,
    "prints": printed_examples,
    "unittest": tested,
    "pytest": pytest_tests,
    "main guard": guarded,
    "result kept": kept_result,
    "input in the guard": _below('if __name__ == "__main__":\n    value = input("> ")\n    print(value)'),
    "main function": _below('def main() -> None:\n    print("ok")\n\n\nif __name__ == "__main__":\n    main()'),
    "tabs": tabs,
    "two spaces": two_spaces,
    "long header": long_header,
    "static method": static_beside,
    "static method of its name below": static_below,
    "helper above": _around("    return ()", name="_helper"),
    "helper below": lambda program: (
        f"{program.header}\n    return _helper({program.passed})\n\n\n{program.called('_helper')}"
    ),
    "two helpers": lambda program: (
        f"def _first(value):\n    return value\n\n\n{program.header}\n"
        f"    return _first(_second({program.passed}))\n\n\n"
        f"{program.called('_second')}"
    ),
    "alias": lambda program: f"{program.called('solve')}\n\n\n{program.name} = solve",
    "partial": lambda program: (
        f"from functools import partial\n\n\n{program.called('solve')}\n\n\n{program.name} = partial(solve)"
    ),
    "nested function": lambda program: (
        f"{program.header}\n{indent(program.called('inner'), '    ')}\n\n    return inner({program.passed})"
    ),
    "nested of its name": lambda program: (
        f"{program.header}\n{indent(program.source, '    ')}\n\n    return {program.name}({program.passed})"
    ),
    "decorator": lambda program: f"{_TIMED}\n{program.source}",
    "constant above": _around("    return () if LIMIT else None", head="LIMIT = 10\nNAMES = {'a': 1}\n\n\n"),
    "constant below": lambda program: (
        f"{program.called('solve')}\n\n\n{program.header}\n"
        f"    return solve({program.passed}) if LIMIT else None\n\n\nLIMIT = 10"
    ),
    "used import": _around("    return copy.copy(())", head="import copy\n\n\n"),
    "imports": _above(
        "import math\nimport os, sys\nfrom collections import Counter, defaultdict\n"
        "import itertools as it"
    ),
    "missing unused import": _above("import numpy as np\nimport pandas as pd"),
    "missing unused from": _above("from sympy import isprime\nfrom numpy.typing import NDArray"),
    "missing import tried": _above("try:\n    import numpy as np\nexcept ImportError:\n    np = None"),
    "import inside": lambda program: (
        f"{program.header}\n    import math\n    from typing import Any\n"
        f"{program.body}"
    ),
    "logger": _above("import logging\n\nlogger = logging.getLogger(__name__)"),
    "shebang": lambda program: f"#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n\n{program.source}",
    "module docstring": lambda program: (
        f'"""{program.name}.py"""\n\n__all__ = ["{program.name}"]\n\n\n'
        f'{program.source}'
    ),
    "file name": lambda program: f"# {program.name}.py\n{program.source}\n# EOF",
    "optional parameter": lambda program: program.source.replace(") ->", ", *, verbose: bool = False) ->", 1),
    "star arguments": lambda program: (
        f"{program.called('solve')}\n\n\ndef {program.name}(*args):\n"
        f"    return solve(*args)"
    ),
    "try and raise": _around("    try:\n        return ()\n    except ValueError:\n        raise"),
    "while true": _around("    while True:\n        return ()"),
    "match": _around(
        "    match 1:\n        case 1:\n            return ()\n        case _:\n"
        "            return None"
    ),
    "braces in an f-string": _around(
        "    note = f\"{{{1 + 1}}} ``` {'</think>'}\"\n"
        "    return () if note else None"
    ),
    "thinking tag in a string": _around(
        "    return () if CLOSE else None", head='OPEN, CLOSE = "<think>", "</think>"\n\n\n'
    ),
    "fence in a string": _around("    return () if FENCE else None", head='FENCE = "```python"\n\n\n'),
    "semicolons": _around("    answer = (); return answer"),
    "continued line": _around("    answer = \\\n        ()\n    return answer"),
    "brackets and rest": _around("    return (\n        ()\n    )"),
    "Cyrillic names": _around("    результат = ()\n    return результат"),
    "dataclass": _above(
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Point:\n    x: int = 0\n"
        "    y: int = 0"
    ),
    "enumeration and others": _above(
        "from enum import Enum\nfrom typing import NamedTuple\n\n\nclass Kind(Enum):\n    A = 1\n\n\n"
        "class Pair(NamedTuple):\n    left: int\n    right: int"
    ),
    "type variable": _above('from typing import TypeVar\n\nT = TypeVar("T")'),
    "stub above": lambda program: f"{program.header}\n    pass\n\n\n{program.source}",
    "draft above": lambda program: f"{program.header}\n    return None  # TODO\n\n\n{program.source}",
    "under a condition": lambda program: f"if True:\n{indent(program.source, '    ')}",
    "unreachable end": _around("    return ()\n    raise AssertionError"),
    "recursion": lambda program: (
        f"{program.called('solve')}\n\n\ndef {program.name}({program.passed}, depth=3):\n"
        f"    if depth > 0:\n        return {program.name}({program.passed}, depth - 1)\n"
        f"    return solve({program.passed})"
    ),
}  # fmt: skip
