# ruff: noqa: E501 - a response stands on one line
"""SPEC 14, code_tests: forms of tests, what the program sees of them, and programs over standard input."""

import ast
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.data.errors import InputError
from basic_control.data.options import options_of
from basic_control.data.records import Score
from basic_control.metrics.code_tests.checks import take_apart
from basic_control.metrics.code_tests.code_tests import code_tests, programs, row_tests
from basic_control.metrics.code_tests.scripts import entry_of, read_tests
from basic_control.tasks import sandbox
from basic_control.tasks.sandbox import run_programs

ADD = "```python\ndef add(a, b):\n    return a + b\n```"


def scored(row: dict[str, Any], **options: Any) -> Score:
    """Run a row's tests in the sandbox and score it."""
    used = options_of(code_tests, {"timeout_s": 0.5, **options})
    asked = programs(row, used)
    outcomes = dict(zip(asked, sandbox.run(list(asked.values())), strict=True))
    return code_tests.score(row, {"programs": outcomes}, used)


def passes(row: dict[str, Any], **options: Any) -> tuple[Any, str]:
    score = scored(row, **options)
    return score.value, score.reason


VALUES = [
    "3", "3.0", "True", "False", "None", "0", "[1, 2]", "(1, 2)", "'ab'", "{1, 2}", "{'a': 1}", "2.5", "2.5000004",
    "-1", "float('nan')", "float('inf')", "10 ** 30", "b'x'", "frozenset({1, 2})", "[[1], (2,)]", "''", "[]", "{}",
    "{'a': 1}.keys()", "__import__('collections').Counter('aab')",
    "__import__('collections').namedtuple('P', 'x y')(1, 2)",
]  # fmt: skip
ASSERTIONS = [
    "assert f() == 3", "assert 3 == f()", "assert f() != 3", "assert f() == 3.0", "assert f() == True",
    "assert f() is True", "assert f() is not None", "assert f() is None", "assert f() == [1, 2]",
    "assert f() == (1, 2)", "assert f() == {1, 2}", "assert f() == {'a': 1}", "assert f() == 'ab'",
    "assert f() in (1, 2, 3)", "assert f() not in [1, 2]", "assert 1 in f()", "assert 'a' in f()",
    "assert not f()", "assert f()", "assert not f() == 3", "assert f() > 2", "assert 2 < f() <= 3",
    "assert f() >= 2 and f() < 4", "assert abs(f() - 2.5) < 1e-6", "assert abs(2.5 - f()) <= 1e-3",
    "assert 1e-3 > abs(f() - 2.5)", "assert math.isclose(f(), 2.5, rel_tol=1e-6)", "assert math.isclose(f(), 3)",
    "assert math.isclose(2.5, f(), abs_tol=0.001)", "assert len(f()) == 2", "assert sorted(f()) == [1, 2]",
    "assert isinstance(f(), int)", "assert f() == set([1, 2])", "assert f() == tuple([1, 2])",
    "assert f() == 10 ** 30", "assert f() == float('inf')", "assert f() == -1", "assert (f() == 3) == True",
    "assert f() == [[1], (2,)], 'message'", "assert f() == 3 or f() is None", "assert not (f() == 3 and f() == 4)",
    "assert f() == f()", "assert f() == b'x'",
    "assert str(f()) == '3'", "assert f() == {'a': 2, 'b': 1}", "assert f() == 'a' + 'b'", "assert f() == [1] * 2",
]  # fmt: skip


def by_python(assertion: str, value: str) -> bool:
    """Say whether an assertion of ours holds, as Python itself has it."""
    try:
        exec(f"import math\ndef f():\n    return {value}\n{assertion}", {})  # noqa: S102 - our own text
    except Exception:  # noqa: BLE001 - an assertion that fails, or cannot be evaluated
        return False
    return True


@pytest.mark.parametrize("value", VALUES)
def test_every_form_of_assertion_passes_exactly_where_python_says_so(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{code_tests.score.__module__}.FAILED_SHOWN", len(ASSERTIONS))
    row = {"response": f"```python\nimport math\ndef f():\n    return {value}\n```", "tests": ASSERTIONS}
    failed = {one["test"] for one in scored(row).details.get("failed", [])}
    expected = {ast.unparse(ast.parse(one)) for one in ASSERTIONS if not by_python(one, value)}
    assert failed == expected


@pytest.mark.parametrize("assertion", [one for one in ASSERTIONS if "f() == f()" not in one and " or " not in one])
def test_what_is_expected_stays_outside(assertion: str) -> None:
    """Nothing of an assertion reaches the sandbox but what has to be evaluated there."""
    (test,) = read_tests((assertion,), "f")
    for secret in ("2.5", "10 ** 30", "'ab'", "{1, 2}", "(1, 2)", "[1, 2]", "1e-6", "0.001", "-1", "'message'"):
        assert secret not in f"{test.setup} {test.values}"


def test_what_cannot_be_taken_apart_runs_whole() -> None:
    for text in ("f(1) == g(1)", "True", "not (f(1) == 1 and f(2) == 2)"):
        assert take_apart(ast.parse(text, mode="eval").body) is None


@pytest.mark.parametrize(
    ("response", "value", "reason"),
    [
        (ADD, 1.0, "all tests pass"),
        ("def add(a, b):\n    return a + b", 1.0, "all tests pass"),
        ("Вот решение:\n\n```python\ndef add(a, b):\n    # сложение\n    return a + b\n```\nГотово.", 1.0,
         "all tests pass"),
        ("```python\nadd = lambda a, b: a + b\n```", 1.0, "all tests pass"),
        ("<think>```python\ndef add(a, b): return 0\n```</think>" + ADD, 1.0, "all tests pass"),
        (ADD.replace("a + b", "a - b"), 1 / 3, "wrong value"),
        (ADD.replace("a + b", "a / b"), 0.0, "wrong value"),
        (ADD.replace("add", "plus"), 0.0, "no such function"),
        (ADD.replace("a + b", "a + c"), 0.0, "exception NameError"),
        (ADD.replace("return a + b", "return a +"), 0.0, "syntax error"),
        (ADD.replace("return a + b", "while True: pass"), 0.0, "timeout"),
        (ADD.replace("return a + b", "exit()"), 0.0, "exception SystemExit"),
        (ADD.replace("return a + b", "return object()"), 0.0, "bad value"),
        (ADD.replace("return a + b", "pass"), 0.0, "wrong value"),
        ("I cannot help with that.", 0.0, "no code in the reply"),
        ("", 0.0, "empty reply"),
        ("<think>def add(a, b): return a + b</think>", 0.0, "empty reply"),
    ],
)  # fmt: skip
def test_replies_to_assertions_as_mbpp_has_them(response: str, value: float, reason: str) -> None:
    asserts = ["assert add(1, 2) == 3", "assert add(-1, 1) == 0", "assert add(2, 0) == 2"]
    timeout_s = 0.1 if reason == "timeout" else 0.3
    score = scored({"response": response, "tests": asserts}, timeout_s=timeout_s)
    assert score.value == pytest.approx(value)
    assert score.reason == reason
    assert score.parts == {"all": float(value == 1.0)}
    assert score.status == ("no_answer" if reason in {"no code in the reply", "empty reply"} else "scored")


HEAD = (
    "from typing import List\n\nRATE = 2\n\ndef half(x: int) -> int:\n    return x // RATE\n\n\n"
    'def halves(xs: List[int]) -> List[int]:\n    """ Halve each.\n    >>> halves([4])\n    [2]\n    """\n'
)
BODY = "    found = []\n    for x in xs:\n        found.append(half(x))\n    return found\n"
CHECK = """
METADATA = {"author": "us"}


def check(candidate):
    assert candidate([4, 6]) == [2, 3]
    assert candidate([]) == []
    assert True, "this prints if this assert fails"
    for n in range(3):
        assert candidate([n]) == [n // 2]
"""


@pytest.mark.parametrize(
    "response",
    [
        BODY, BODY.strip(), BODY.rstrip(), f"```python\n{BODY}```", f"```\n{BODY}```",
        f"```python\n{HEAD}{BODY}```",
        HEAD + BODY, f"{BODY}\n\nprint(halves([1]))\n", f"{BODY}\n\ndef other():\n    pass\n",
        f"{BODY}\n\nif __name__ == '__main__':\n    import doctest\n    doctest.testmod()\n",
        "    return [half(x) for x in xs]", "return [half(x) for x in xs]", "    return list(map(half, xs))\n",
        "```python\nfound = []\nfor x in xs:\n    found.append(half(x))\nreturn found\n```",
        "```python\ndef halves(xs: List[int]) -> List[int]:\n    return [half(x) for x in xs]\n```",
        "Тело функции:\n```python\n    return [x // 2 for x in xs]\n```\nОно делит каждое число.",
        "```python\nfrom __future__ import annotations\ndef halves(xs: List[int]):\n    return [x // 2 for x in xs]\n```",
        "```python\nclass A: pass\n\ndef halves(xs):\n    return [int(x / 2) for x in xs]\n```",
    ],
)  # fmt: skip
def test_completions_as_humaneval_asks_for_them(response: str) -> None:
    row = {"response": response, "test": CHECK, "name": "halves", "prompt": HEAD}
    score = scored(row, tests="test", entry="name", prompt_code="prompt")
    assert (score.value, score.reason, score.details["tests"]) == (1.0, "all tests pass", 3)


@pytest.mark.parametrize(
    ("response", "value", "reason"),
    [
        ("    return xs", 1 / 3, "wrong value"),
        ("    pass", 0.0, "no code in the reply"),
        ("I do not know.", 0.0, "no code in the reply"),
        ("Не знаю, как это сделать.", 0.0, "no code in the reply"),
        ("```python\ndef halves(xs):\n    return None\n```", 0.0, "wrong value"),
        ("    return [missing(x) for x in xs]", 1 / 3, "exception NameError"),
    ],
)
def test_wrong_completions(response: str, value: float, reason: str) -> None:
    row = {"response": response, "test": CHECK, "prompt": HEAD}
    found = passes(row, tests="test", entry="halves", prompt_code="prompt")
    assert found[0] == pytest.approx(value)
    assert found[1] == reason


READS = [
    "n = int(input())\nprint(sum(int(input()) for _ in range(n)))",
    "import sys\nn, *xs = map(int, sys.stdin.read().split())\nprint(sum(xs))",
    ("import sys\ndef main():\n    _, *xs = sys.stdin.buffer.read().split()\n    sys.stdout.write(str(sum(map(int, xs))))\n"
    "if __name__ == '__main__':\n    main()"),
    "import sys\nlines = sys.stdin.readlines()\nprint(sum(map(int, lines[1:])), end='\\n\\n')\nsys.exit(0)",
    ("from dataclasses import dataclass\n@dataclass\nclass N:\n    v: int\nn = int(input())\n"
    "print(sum(N(int(input())).v for _ in range(n)))"),
    "import sys\ninput = sys.stdin.readline\nt = 0\nfor _ in range(int(input())):\n    t += int(input())\nprint(t, '')",
]  # fmt: skip
PAIRS: dict[str, Any] = {"inputs": ["2\n3\n4\n", "1\n-5\n", "0\n"], "outputs": ["7\n", "-5", "0"]}


@pytest.mark.parametrize("source", READS)
@pytest.mark.parametrize("style", ["fenced", "bare", "prose", "ru", "example"])
def test_programs_that_read_and_print(source: str, style: str) -> None:
    written = {
        "fenced": f"```python\n{source}\n```",
        "bare": source,
        "prose": f"Here is the program:\n\n{source}\n\nIt reads the numbers and prints their sum.",
        "ru": f"Программа:\n\n```py\n{source}\n```\n\nПример ввода:\n```\n2\n3\n4\n```\nВывод:\n```\n7\n```",
        "example": f"```python\n{source}\n```\n\nThe sum alone:\n\n```python\nprint(sum([3, 4]))\n```",
    }
    assert passes({"response": written[style], **PAIRS}) == (1.0, "all tests pass")


@pytest.mark.parametrize(
    ("source", "value", "reason"),
    [
        ("print(7)", 1 / 3, "wrong output"),
        ("print('7 ')\nprint()", 1 / 3, "wrong output"),
        ("print(int(input()) * 0)", 1 / 3, "wrong output"),
        ("print(int(input('n = ')) * 0 + 7)", 0.0, "wrong output"),
        ("import sys\nprint(7)\nsys.exit(1)", 0.0, "exception SystemExit"),
        ("while True:\n    input()", 0.0, "exception EOFError"),
        ("n = int(input()\nprint(n)", 0.0, "syntax error"),
        ("print(undefined)", 0.0, "exception NameError"),
        ("while True: pass", 0.0, "timeout"),
    ],
)
def test_programs_that_print_something_else(source: str, value: float, reason: str) -> None:
    # Each of the tests uses up the time of a program that does not end.
    timeout_s = 0.1 if reason == "timeout" else 0.3
    found = passes({"response": f"```python\n{source}\n```", **PAIRS}, timeout_s=timeout_s)
    assert found[0] == pytest.approx(value)
    assert found[1] == reason


@pytest.mark.parametrize("response", ["I cannot.", "7", "No.", "Не могу.", "```\n7\n```", "```text\nprint\n```"])
def test_a_reply_without_a_program_is_no_answer(response: str) -> None:
    score = scored({"response": response, **PAIRS})
    assert (score.value, score.status, score.reason) == (0.0, "no_answer", "no code in the reply")


@pytest.mark.parametrize(
    ("source", "inputs", "outputs", "value"),
    [
        ("def f(a, b): return a + b", [[1, 2], [3, 4]], [3, 7], 1.0),
        ("def f(a, b): return a + b", [{"a": 1, "b": 2}, {"b": 3, "a": 4}], [3, 8], 0.5),
        ("def f(a): return a * 2", ["ab", 3], ["abab", 6], 1.0),
        ("def f(xs): return sorted(xs)", [[[3, 1]], [[]]], [[1, 3], []], 1.0),
        ("def f(xs): return tuple(sorted(xs))", [[[3, 1]], [[]]], [[1, 3], []], 1.0),
        ("def f(x): return x / 2", [[4], [3]], [2.0, 1.5], 1.0),
        ("def f(x): return x / 2", [[4], [3]], [2, 1.5], 0.5),
        ("def f(x): return x * 0.1", [[3], [1]], [0.3, 0.1], 1.0),
        ("def f(x): return x > 1", [[2], [1]], [True, False], 1.0),
        ("def f(x): return int(x > 1)", [[2], [1]], [True, False], 0.0),
        ("def f(x): return None", [[2], [1]], [None, 0], 0.5),
        ("def f(x): return {'n': (x, [x])}", [[1]], [{"n": [1, [1]]}], 1.0),
    ],
)
def test_pairs_for_a_function(source: str, inputs: list[Any], outputs: list[Any], value: float) -> None:
    row = {"response": f"```python\n{source}\n```", "inputs": inputs, "outputs": outputs, "fn": "f"}
    assert passes(row, entry="fn")[0] == value
    assert passes({**row, "inputs": json.dumps(inputs), "outputs": json.dumps(outputs)}, entry="f")[0] == value


@pytest.mark.parametrize(
    ("script", "n", "value"),
    [
        ("x = [3, 1]\nassert add(x, [2]) == [3, 1, 2]\nx.sort()\nassert add(x, []) == [1, 3]", 2, 1.0),
        ("import math\nassert math.isclose(add(0.1, 0.2), 0.3)", 1, 1.0),
        ("def t(a, b, c):\n    assert add(a, b) == c\nt(1, 2, 3)\nt(1, 2, 4)", 2, 0.5),
        ("for a in range(5):\n    assert add(a, 1) == a + 1", 1, 1.0),
        ("try:\n    add(1, 'a')\n    assert False\nexcept TypeError:\n    pass", 1, 1.0),
        ("if add(1, 1) != 3:\n    raise ValueError('no')", 1, 0.0),
        ("def test_a():\n    assert add(1, 1) == 2\n\ndef test_b():\n    x = 4\n    assert add(x, x) == 9", 2, 0.5),
        ("def test_one():\n    assert add(1, 1) == 2\ntest_one()", 1, 1.0),
        ("def check(f):\n    assert f(1, 1) == 2\n    assert f(2, 2) == 5\n\ncheck(add)", 2, 0.5),
        ("def check(f):\n    if f(0, 0):\n        return\n    assert f(1, 1) == 2\n\ncheck(add)", 1, 1.0),
        (("class P:\n    def __init__(self, v): self.v = v\n    def __add__(self, o): return P(self.v + o.v)\n"
         "assert add(P(1), P(2)).v == 3"), 1, 1.0),
        ("add(1, 2)", 1, 1.0),
        ("add(1)", 1, 0.0),
    ],
)  # fmt: skip
def test_scripts_of_other_forms(script: str, n: int, value: float) -> None:
    score = scored({"response": ADD, "tests": script})
    assert (score.details["tests"], score.value) == (n, value)


@pytest.mark.parametrize(
    ("scripts", "entry"),
    [
        (["assert set(similar((1, 2), (2, 3))) == set((2,))"], "similar"),
        (["import math\nassert math.isclose(area(2), 12.5)"], "area"),
        (["def check(candidate):\n    assert candidate(1) == 1\n\ncheck(solve)"], "solve"),
        (["x = 5", "assert test_duplicate([x]) == False"], "test_duplicate"),
        (["assert True"], ""),
        (["not Python at all", "assert f(1) == 2"], "f"),
    ],
)
def test_the_function_that_tests_call_is_found(scripts: list[str], entry: str) -> None:
    assert entry_of(scripts) == entry


def test_setup_stands_before_the_program_and_a_list_entry_without_tests_before_the_others() -> None:
    response = "```python\ndef f(n: Node) -> int:\n    return math.floor(n.value)\n```"
    row = {
        "response": response,
        "imports": ["import math", "class Node:\n    def __init__(self, value): self.value = value"],
        "tests": ["shared = Node(2.5)", "assert f(shared) == 2", "assert f(Node(3.5)) == 3"],
    }
    assert passes(row, setup="imports") == (1.0, "all tests pass")


@pytest.mark.parametrize(
    "row",
    [{}, {"tests": None}, {"tests": []}, {"tests": ""}, {"tests": 5}, {"tests": [None]}, {"tests": ["not python"]},
     {"tests": ["assert True"]}, {"inputs": ["1"], "outputs": []}, {"tests": "x = 1"}],
)  # fmt: skip
def test_a_row_without_tests_is_not_applicable(row: dict[str, Any]) -> None:
    score = scored({"response": ADD, **row})
    assert (score.value, score.status, score.reason) == (None, "not_applicable", "the row has no tests")


CHEATS = {
    "always equal": "class E:\n    def __eq__(self, o): return True\n    __hash__ = None\ndef f(x): return E()",
    "always equal list": "class E(list):\n    def __eq__(self, o): return True\ndef f(x): return E()",
    "leaves": "import os\ndef f(x): os._exit(0)",
    "reads frames": (
        "import sys\ndef f(x):\n    frame, seen = sys._getframe(), []\n    while frame:\n"
        "        seen += [str(v) for v in frame.f_locals.values()]\n        frame = frame.f_back\n"
        "    text = ' '.join(seen)\n    return 7919 if '7919' in text else 0"
    ),
    "reads the source": "def f(x):\n    import gc\n    return max((o for o in gc.get_objects() if o == 7919), default=0)",
    "patches eval": "import builtins\nbuiltins.eval = lambda *a: (True,)\ndef f(x): return 0",
    "raises what asserts raise": "def f(x): raise AssertionError",
    "prints": "def f(x): print('OK 1 passed')",
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_program_that_cheats_passes_nothing(name: str) -> None:
    row = {"response": f"```python\n{CHEATS[name]}\n```", "tests": ["assert f(1) == 7919", "assert 7919 == f(2)"]}
    assert scored(row).value == 0.0


def test_a_program_with_names_of_its_own_for_pythons_is_no_worse_off() -> None:
    source = "list = 1\ntuple = 2\nmap = str\nbool = len\neval = exec = None\ntype = isinstance = dict = set = 3\n"
    response = f"```python\n{source}def f(x):\n    return x\n```"
    row = {"response": response, "tests": ["assert f(3) == 3", "assert f(1)"]}
    assert scored(row).value == 1.0


@pytest.mark.parametrize(
    "response",
    ["```python\n" * 3_000, "def f(" * 20_000, "```python\ndef f(x):\n" + " " * 100_000,
     "\ud800def f(x): return \0", "(" * 100_000, "def f(x):\n    return " + "1 + " * 40_000 + "1", "```\n```python\ndef f" * 1_000],
    ids=range(7),
)  # fmt: skip
def test_no_reply_raises(response: str) -> None:
    for tested in ({"tests": ["assert f(1) == 1"]}, {"inputs": ["1"], "outputs": ["1"]}):
        assert scored({"response": response, **tested}).value == 0.0
    row = {"response": response, "tests": ["assert f(1) == 1"], "head": "def f(x):\n"}
    assert scored(row, prompt_code="head").value == 0.0


@pytest.mark.parametrize("options", [{"language": "kotlin"}, {"test": "x"}, {"tests": 3}])
def test_options_that_do_not_fit_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="code_tests"):
        options_of(code_tests, options)


def test_the_order_of_tests_is_that_of_scripts_then_pairs() -> None:
    row = {"tests": ["assert f(1) == 2", "assert f(2) == 3"], "inputs": [[5]], "outputs": [6]}
    listed = row_tests(row, options_of(code_tests, {"entry": "f"}))
    assert [test.text for test in listed] == ["assert f(1) == 2", "assert f(2) == 3", "f(*[5])"]


INPUTS = {
    "open(0)": "D = open(0).read()",
    "open(0) by lines": "D = ' '.join(open(0).readlines())",
    "/dev/stdin": "D = open('/dev/stdin').read()",
    "a path": "from pathlib import Path\nD = Path('/dev/stdin').read_text()",
    "os.read": "import os\nD = os.read(0, 1 << 20).decode()",
    "its size": "import os\nD = os.read(0, os.fstat(0).st_size).decode()",
    "os.fdopen": "import os\nD = os.fdopen(0).read()",
    "fileno": "import os, sys\nD = os.read(sys.stdin.fileno(), 100).decode()",
    "__stdin__": "import sys\nD = sys.__stdin__.read()",
    "buffer": "import sys\nD = sys.stdin.buffer.read().decode()",
    "fileinput": "import fileinput\nD = ' '.join(fileinput.input())",
    "input": "D = input() + ' ' + input()",
    "lines": "import sys\nD = ' '.join(line for line in sys.stdin)",
}
OUTPUTS = {
    "print": "print(total)",
    "os.write": "import os\nos.write(1, f'{total}\\n'.encode())",
    "__stdout__": "import sys\nprint(total, file=sys.__stdout__)",
    "buffer": "import sys\nsys.stdout.buffer.write(b'%d\\n' % total)",
    "open(1)": "open(1, 'w').write(f'{total}\\n')",
    "at exit": "import atexit\natexit.register(print, total)",
    "own buffer": "import io, os, sys\nsys.stdout = io.TextIOWrapper(io.BufferedWriter(sys.stdout.buffer))\nprint(total)",
}
RUNS = {
    "thread": "import threading\nt = threading.Thread(target=main)\nt.start()\nt.join()",
    "large stack": "import resource, sys, threading\nresource.setrlimit(resource.RLIMIT_STACK, (-1, -1))\n"
    "sys.setrecursionlimit(10**7)\nthreading.stack_size(2**27)\nthreading.Thread(target=main).start()",
    "pool": "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as pool:\n    pool.submit(main).result()",
    "asyncio": "import asyncio\nasync def run():\n    await asyncio.sleep(0.001)\n    main()\nasyncio.run(run())",
    "gather": "import asyncio\nasync def run():\n    await asyncio.gather(asyncio.to_thread(main))\nasyncio.run(run())",
}


def whole(program: str) -> Score:
    row = {"inputs": ["3\n1 2 3\n", "1\n5\n"], "outputs": ["6\n", "5\n"]}
    return scored({"response": f"```python\n{program}\n```", **row})


@pytest.mark.parametrize("way", INPUTS)
def test_a_program_reads_its_input_in_every_way(way: str) -> None:
    assert whole(f"{INPUTS[way]}\nprint(sum(map(int, D.split()[1:])))").value == 1.0


@pytest.mark.parametrize("way", OUTPUTS)
def test_a_program_writes_its_output_in_every_way(way: str) -> None:
    assert whole(f"input()\ntotal = sum(map(int, input().split()))\n{OUTPUTS[way]}").value == 1.0


@pytest.mark.parametrize("way", RUNS)
def test_a_thread_and_an_event_loop_run_in_place(way: str) -> None:
    main = "def main():\n    input()\n    print(sum(map(int, input().split())))"
    assert whole(f"{main}\n{RUNS[way]}").value == 1.0


@pytest.mark.parametrize(
    ("row", "program"),
    [
        ({"tests": ["assert sum(10, 15) == 5"]}, "def sum(a, b):\n    return b - a"),
        (
            {"tests": ["import math\nassert math.isclose(area(1), 3.14159, rel_tol=1e-3)"]},
            "def area(r):\n    return math.pi * r * r",
        ),
        ({"tests": ["assert f(1) == 1 + 2j"]}, "def f(x):\n    return x + 2j"),
        ({"tests": ["assert f(1) == 3"]}, "from decimal import Decimal\ndef f(x):\n    return Decimal(3)"),
        ({"tests": ["assert f(1) == 0.5"]}, "from fractions import Fraction\ndef f(x):\n    return Fraction(x, 2)"),
        ({"tests": ["assert f(20000) == 2 ** 20000"]}, "def f(x):\n    return 2 ** x"),
        (
            {"tests": ["assert two(1, 2) == [1, 2]"]},
            "class Solution:\n    def two(self, a, b):\n        return [a, b]",
        ),
        (
            {"tests": ["assert Solution().two(1, 2) == [1, 2]"]},
            "class Solution:\n    def two(self, a, b):\n        return [a, b]",
        ),
    ],
)
def test_forms_of_public_data_sets_are_run(row: dict[str, Any], program: str) -> None:
    """A builtin's name, imports of the tests that the program uses, values of other kinds, LeetCode's class."""
    assert scored({"response": f"```python\n{program}\n```", **row}).value == 1.0


SLOW = "```python\ndef f(x):\n    while x == 2: pass\n    return x + 1\n```"


@pytest.mark.parametrize(
    "tests",
    [
        ["assert f(1) == 2", "assert f(2) == 3", "assert f(3) == 4"],
        "def check(g):\n    xs = [1, 2, 3]\n    assert g(xs[0]) == 2\n    assert g(xs[1]) == 3\n    assert g(xs[2]) == 4",
        "def check(g):\n    assert g(2) == 3\n    assert g(1) == 2\n    assert g(3) == 4",
        "a = f(1)\nassert a == 2\na = f(2)\nassert a == 3\na = f(3)\nassert a == 4",
    ],
)
def test_a_test_that_uses_up_its_time_fails_alone(tests: Any) -> None:
    """The others go on in a fresh interpreter, where what their script prepared is prepared again."""
    score = scored({"response": SLOW, "tests": tests}, timeout_s=0.2, entry="f")
    assert (score.value, score.reason) == (pytest.approx(2 / 3), "timeout")


def test_all_tests_together_have_a_limit_too() -> None:
    row = {"response": "```python\ndef f(x):\n    while x: pass\n    return 0\n```", "inputs": [[1]] * 40 + [[0]]}
    used = options_of(code_tests, {"timeout_s": 0.2, "program_timeout_s": 0.5, "entry": "f"})
    (program,) = programs({**row, "outputs": [0] * 41}, used).values()
    (outcomes,) = sandbox.run([program])
    assert [outcome.kind for outcome in outcomes] == ["timeout"] * 41


def test_what_sleeps_or_ends_the_interpreter_fails_alone_too() -> None:
    body = "    if x == 1: time.sleep(100)\n    if x == 2: os._exit(0)\n    return x"
    response = f"```python\nimport os, time\ndef f(x):\n{body}\n```"
    score = scored({"response": response, "tests": [f"assert f({n}) == {n}" for n in range(4)]}, timeout_s=0.1)
    assert (score.value, [failure["reason"] for failure in score.details["failed"]]) == (
        0.5,
        ["timeout", "exception SystemExit"],
    )


def test_a_program_whose_loading_never_ends_fails_all_tests_at_once() -> None:
    row = {"response": "```python\nwhile True: pass\ndef f(x): return x\n```", "tests": ["assert f(1) == 1"] * 90}
    assert passes(row, timeout_s=0.1) == (0.0, "timeout")


@pytest.mark.slow
def test_real_programs_get_the_verdicts_of_their_data_sets(shared: Path) -> None:
    """Where we differ we are right, but for one revised program that takes the last of two (54) and one for scipy.

    A label is wrong where the reply's own examples failed, or its fence was part of the program.
    """
    rows = pl.read_parquet(shared / "replies_real.parquet").filter(pl.col("bench").is_in(["humaneval", "mbpp"]))
    rejected = {"humaneval": 0, "mbpp": 0}
    for bench, options in (
        ("humaneval", {"tests": "test", "entry": "entry_point", "prompt_code": "question"}),
        ("mbpp", {"tests": "test"}),
    ):
        settled = options_of(code_tests, options)
        replies = rows.filter(bench=bench, label=True)
        samples = [
            {**json.loads(item), "question": question, "response": reply}
            for item, question, reply in replies.select("item", "question", "reply").iter_rows()
        ]
        for sample, found in zip(samples, run_programs(code_tests, samples, settled), strict=True):
            rejected[bench] += code_tests.score(sample, found, settled).parts["all"] != 1.0
    assert rejected == {"humaneval": 2, "mbpp": 0}
