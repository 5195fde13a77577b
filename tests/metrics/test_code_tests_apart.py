# ruff: noqa: E501 - a program stands on one line
"""Tests that do more than compare what a call returns run where the program cannot reach them."""

from typing import Any

import pytest

from basic_control.data.options import options_of
from basic_control.data.records import Score
from basic_control.metrics.code_tests.code_tests import code_tests
from basic_control.metrics.code_tests.scripts import read_tests
from basic_control.tasks.sandbox import run_programs

CPU_S = 0.3


def score_of(program: str, tests: Any, **row: Any) -> Score:
    """Run tests of a program and score it; `entry` is f."""
    sample = {"response": f"```python\n{program}\n```", "tests": tests, **row}
    used = options_of(code_tests, {"timeout_s": CPU_S, "entry": "f", "setup": "setup", "prompt_code": "head"})
    (found,) = run_programs(code_tests, [sample], used)
    return code_tests.score(sample, found, used)


def by_python(program: str, script: str) -> bool:
    """Say whether a script of ours passes in one namespace with a program of ours."""
    names: dict[str, Any] = {}
    try:
        exec(f"{program}\n{script}", names)  # noqa: S102 - our own text
    except Exception:  # noqa: BLE001 - an assertion that fails, or cannot be evaluated
        return False
    return True


PROGRAMS = {
    "numbers": "def f(x): return x * 1.5",
    "in place": "def f(xs, key=None):\n    xs.sort()\n    xs.append(0)\n    return xs",
    "grid": "def f(grid):\n    for row in grid:\n        row[0] = 7\n    grid.append([1])",
    "dict": "def f(d, **more):\n    d['a'] = more\n    return d",
    "generator": "def f(n):\n    a, b = 0, 1\n    for _ in range(n):\n        yield a\n        a, b = b, a + b",
    "closure": "def f(n):\n    def add(x):\n        return x + n\n    return add",
    "errors": (
        "class Refused(ValueError):\n    def __init__(self, code):\n        super().__init__(f'code {code}')\n"
        "        self.code = code\nclass Worse(Refused): pass\ndef f(x):\n    if x < 0: raise Refused(x)\n"
        "    if x == 0: raise Worse(x)\n    if x > 9: raise KeyError(x)\n    return {}[x]"
    ),
    "class": (
        "from dataclasses import dataclass, field\n@dataclass\nclass P:\n    x: int = 0\n    y: list = field(default_factory=list)\n"
        "    def moved(self, n): return P(self.x + n, [*self.y, n])\n    def __len__(self): return self.x\n"
        "    def __getitem__(self, k): return self.y[k]\n    def __add__(self, other): return P(self.x + other.x, [])\n"
        "    def __enter__(self):\n        self.x += 1\n        return self\n    def __exit__(self, *e): self.x += 10\n"
        "def f(x): return P(x)"
    ),
    "linked": (
        "class Node:\n    def __init__(self, v, next=None):\n        self.v, self.next, self.children = v, next, []\n"
        "def f(node):\n    last = None\n    while node: node.next, last, node = last, node, node.next\n    return last"
    ),
    "kinds": (
        "import collections, datetime, enum, decimal, fractions\nclass Colour(enum.Enum):\n    RED = 1\n"
        "P = collections.namedtuple('P', 'x y')\nLIMIT = 5\nLOG = []\n"
        "def f(k):\n    LOG.append(k)\n    return [collections.Counter('aab'), collections.deque([1, 2], 5), P(1, 2), Colour.RED, range(3),\n"
        "        datetime.date(2020, 1, 2), decimal.Decimal('1.50'), fractions.Fraction(1, 3), 2 ** 70, 1 + 2j,\n"
        "        frozenset({1}), b'x', {1: (2,)}, map(str, [1, 2]), collections.defaultdict(list, {1: [2]}), {'b': 1, 'a': 2}.keys()][k]"
    ),
}  # fmt: skip
SCRIPTS = {
    "numbers": [
        "assert abs(f(2) - 3.0000001) ** 2 < 1e-12", "assert f(2) + f(4) == 9", "assert isinstance(f(1), float)",
        "import math\nassert math.fabs(f(2) - 3) < 1e-9 and f(1) < f(2)", "assert [f(n) for n in range(3)] == [0, 1.5, 3.0]",
        "total = 0\nfor n in range(3):\n    total += f(n)\nassert total > 4.4", "assert max(map(f, [1, 3, 2])) == 4.5",
        "assert round(f(1)) == 2 and str(f(1)) == '1.5'", "assert f(1) > f(2)", "assert sum(f(x) for x in (1, 2)) == 4.5",
        "assert f('a') == 1 or True", "assert f(1) == g(1)", "def near(a, b): return abs(a - b) < 1e-6\nassert near(f(1), 1.5)",
        "assert callable(f) and f.__name__ == 'f'", "assert sorted([3, 1, 2], key=f) == [1, 2, 3]", "x = f(2)\nassert x > 2 and x < 4",
        "try:\n    f('a')\n    assert False\nexcept TypeError:\n    pass", "assert f(range(2)) is None or 1", "assert not f(0) or f(1)",
        "from functools import reduce\nassert reduce(max, map(f, [1, 5, 2])) == 7.5",
        "import random\nfor _ in range(50):\n    x = random.random()\n    assert f(x) == x * 1.5",
    ],
    "in place": [
        "xs = [3, 1]\nassert f(xs) is xs and xs == [1, 3, 0]", "xs = [3, 1]\nys = xs\nf(xs)\nassert len(ys) == 3 and ys[0] == 1",
        "xs = (3, 1)\nassert len(f(list(xs))) == 3", "xs = [2]\nassert f(xs[:]) is not xs", "assert len(f([1.5, -1])) == 3",
        "assert len(f([n for n in (3, 2)])) == 3", "xs = [1]\nf(xs)\nf(xs)\nassert sum(xs) == 1 and len(xs) == 3",
    ],
    "grid": [
        "g = [[1, 2], [3]]\nrow = g[0]\nassert f(g) is None and row == [7, 2] and len(g) == 3", "g = [[1]]\nf(grid=g)\nassert len(g) > 0",
    ],
    "dict": [
        "d = {'a': 1, 'b': 2}\nassert len(f(d, x=5)) == 2 and d['a'] == {'x': 5}", "d = {}\nassert f(d) is d and list(d) == ['a']",
        "d = {1: 2}\nf(d)\nassert set(d) - {1} == {'a'}",
    ],
    "generator": [
        "assert list(f(5)) == [0, 1, 1, 2, 3]", "g = f(3)\nassert next(g) == 0 and next(g) == 1 and next(g, None) == 1 and next(g, 'end') == 'end'",
        "from itertools import islice\nassert sum(islice(f(100), 6)) == 12", "assert sum(1 for _ in f(7)) == 7", "a, b = f(2)\nassert a < b",
        "import types\nassert isinstance(f(1), types.GeneratorType)", "assert 3 in [*f(9)] and 4 not in [*f(9)]", "assert [*f(2), 9] == [0, 1, 9]",
        "assert dict(enumerate(f(2))) == {0: 0, 1: 1}", "assert len(f(3)) == 3", "for n in f(3):\n    assert n < 2",
    ],
    "closure": [
        "assert f(1)(2) == 3 and callable(f(1))", "add = f(5)\nassert list(map(add, [1, 2])) == [6, 7]", "assert f(1) != f(1)",
        "g = f(2)\nassert g == g and g(1) > 2", "assert not callable(f(1)(1))",
    ],
    "errors": [
        "try:\n    f(-1)\nexcept Refused as e:\n    assert e.code == -1 and str(e) == 'code -1'\nelse:\n    assert False",
        "try:\n    f(-1)\n    assert False\nexcept ValueError as e:\n    assert 'code' in str(e)", "try:\n    f(0)\nexcept Refused as e:\n    assert isinstance(e, Worse)",
        "try:\n    f(-1)\nexcept Worse:\n    pass", "try:\n    f(10)\nexcept KeyError as e:\n    assert e.args[0] == 10", "try:\n    f(5)\nexcept LookupError:\n    ok = 1\nassert ok",
        "try:\n    f(5)\nexcept IndexError:\n    pass", "try:\n    f(1, 2)\nexcept TypeError:\n    done = True\nassert done", "f(3)", "f(-3)",
        "raised = []\nfor n in (-1, 0, 10):\n    try:\n        f(n)\n    except Exception as e:\n        raised.append(type(e).__name__)\nassert raised == ['Refused', 'Worse', 'KeyError']",
        "assert issubclass(Worse, Refused) and issubclass(Refused, ValueError)",
    ],
    "class": [
        "p = f(3)\nassert p.x == 3 and p.moved(2).x == 5 and p.moved(2).y == [2]", "assert f(1) == P(1) and f(1) != P(2)", "assert isinstance(f(1), P) and not isinstance(3, P)",
        "p = P(2)\np.y.append(5)\np.y.append(6)\nassert p.y == [5, 6] and p[1] == 6 and len(p.y) == 2", "p = P()\np.x = 9\nassert p.x == 9 and len(p) == 9 and not P()",
        "p = f(1)\nwith p as q:\n    assert q.x == 2\nassert p.x == 12", "assert (f(1) + P(2)).x == 3", "ps = [P(n) for n in range(3)]\nassert [p.x for p in ps] == [0, 1, 2] and ps[1] in ps",
        "import copy\np = f(1)\nq = copy.deepcopy(p)\nq.y.append(1)\nassert p.y == [] and q != p and q is not p", "assert f(2).__class__.__name__ == 'P' or True", "assert hasattr(f(1), 'x') and not hasattr(f(1), 'z')",
        "assert repr(f(1)) == 'P(x=1, y=[])' and str(f(1)).startswith('P')", "p = f(1)\np.y += [4]\nassert p.y == [4]", "assert sorted([f(2).x, f(1).x]) == [1, 2]", "assert f(1).z == 3", "p = f(1)\ndel p.x\nassert not hasattr(p, 'x') or True",
        "p = f(1)\np.y.extend([3, 1])\np.y.sort()\nassert p.y[0] == 1 and p.y + [9] == [1, 3, 9] and max(p.y) == 3 and p.y < [2]",
    ],
    "linked": [
        "a = Node(1, Node(2, Node(3)))\nb = f(a)\nout = []\nwhile b:\n    out.append(b.v)\n    b = b.next\nassert out == [3, 2, 1]", "n = Node(1)\nn.children.append(Node(2))\nassert n.children[0].v == 2 and len(n.children) == 1",
        "def build(xs):\n    node = None\n    for x in reversed(xs):\n        node = Node(x, node)\n    return node\nassert f(build([1, 2])).v == 2", "a = Node(1)\nassert f(a) is a and f(None) is None", "a = Node(1)\na.next = Node(5)\nassert a.next.v == 5 and a.next.next is None",
    ],
    "kinds": [
        "assert f(0).most_common(1) == [('a', 2)] and f(0)['a'] == 2 and f(0) == {'a': 2, 'b': 1} and isinstance(f(0), dict)", "d = f(1)\nassert d[0] == 1 and len(d) == 2 and d.maxlen == 5", "assert f(2) == (1, 2) and f(2).x == 1 and isinstance(f(2), tuple) and len(f(2)) == 2",
        "assert f(3) == Colour.RED and f(3) is Colour.RED and f(3).value == 1", "assert not f(4) != range(len(f(4)))", "import datetime\nassert f(5) == datetime.date(2020, 1, 2) and f(5).year == 2020", "from decimal import Decimal\nassert f(6) * 2 == Decimal(3)",
        "assert f(7) * 3 == 1", "assert f(8) - 2 ** 70 == 0", "assert abs(f(9)) ** 2 - 5 < 1e-9", "assert 1 in f(10) and len(f(10)) == 1", "assert f(11) + b'y' == b'xy'", "assert f(12)[1][0] == 2", "assert list(f(13)) == ['1', '2']", "assert f(14)[1] == [2] and len(f(14)) == 1",
        "assert list(f(15)) == ['b', 'a'] and f(15) == {'a', 'b'} and 'a' in f(15)", "assert LIMIT - 1 < 5 and LIMIT == 5", "f(1)\nassert LOG == [1] and len(LOG) == 1", "assert f(99) or 1", "assert f(5) < f(5)", "assert UNKNOWN == 1", "assert f(0) + f(0) == {'a': 4, 'b': 2}",
    ],
}  # fmt: skip
CASES = [(name, script) for name, scripts in SCRIPTS.items() for script in scripts]


@pytest.mark.parametrize(("name", "script"), CASES)
def test_an_honest_program_passes_exactly_where_python_says_so(name: str, script: str) -> None:
    """Each script runs apart, alone as one assertion; a script that fails in Python fails here."""
    score = score_of(PROGRAMS[name], script)
    assert all(test.apart for test in read_tests((script,), "f")), "it should run apart"
    assert (score.value == 1.0) == by_python(PROGRAMS[name], script), score


HEAD = "import math\ndef poly(xs, x):\n    return sum(c * x ** n for n, c in enumerate(xs))\n\ndef f(xs):\n"
WHOLE = {
    # As HumanEval 32, 38 and 50 and MBPP 596 have them, and other forms in which a value is computed with.
    "root": "import math, random\nrng = random.Random(42)\nfor _ in range(20):\n    xs = [rng.randint(1, 9), 1]\n"
    "    assert math.fabs(poly(xs, f(xs[:]))) < 1e-4",
    "inverse": "from random import randint\nfor _ in range(20):\n    n = randint(0, 99)\n    assert f([n * 2]) == n",
    "size": "import sys\nassert sys.getsizeof(f([1])) > 10 ** 4",
    "far": "assert abs(f([3]) - 19.25) < 1e-6 or f([3]) is None",
    "near": "assert abs(19.25 - f([3])) ** 2 < 1e-6",
    "not": "assert not (f([3]) - 19.25) != 0",
    "in": "assert 19.25 in [f([3])] or 19.25 in list(f([3]))[:5]",
    "type": "assert isinstance(f([3]), complex)",
    "all": "assert all(f([n]) == n + 0.25 for n in range(9))",
    "less": "assert 19.25 < f([3]) < 19.26 and f([3]) < f([4])",
    "length": "assert len(f([3])) == 9 and sorted(f([3]))[2] == 77.5",
    "empty": "assert not set(f([3])) ^ {19.25, 3}",
    "rest": "assert 7 == f([7])[0] == f([8])[0] - 1",
    "equal": "assert f([3]) == complex(19.25, len('ab'))",
}
PATCHES = {
    "exec": "import builtins\nbuiltins.exec = builtins.eval = builtins.compile = lambda *a, **k: None",
    "abs": "import builtins, math, sys\nbuiltins.abs = math.fabs = math.isclose = builtins.round = lambda *a, **k: 0\nsys.getsizeof = lambda *a: 10 ** 9",
    "all": "import builtins\nbuiltins.all = builtins.any = builtins.isinstance = lambda *a: True\nbuiltins.len = builtins.sum = lambda *a: 9",
    "containers": "import builtins\nbuiltins.list = builtins.set = builtins.sorted = lambda *a, **k: E()\nbuiltins.tuple = lambda *a: (True,)",
    "errors": "import builtins\nbuiltins.AssertionError = type('A', (BaseException,), {'__new__': lambda *a: exit()})",
    "imports": "import builtins\nbuiltins.__import__ = lambda *a, **k: E()",
    "random": "import random\nrandom.Random = random.randint = lambda *a: E()",
    "helpers": "def poly(*a): return 0\ncandidate = check = poly",
    "modules": "import sys\nfor name in list(sys.modules):\n    sys.modules[name] = E()",
    "run": "import tasks.sandbox.component.scripts as s\ns.run_beside = s.run_apart = s._run = s.simplify = lambda *a: ()",
    "handles": "import tasks.sandbox.component.handles as h\nh.ask = lambda *a, **k: 0\nh.Handle.__eq__ = lambda *a: True",
    "frames": "import sys, gc\nfor o in gc.get_objects():\n    if type(o) is dict and 'assert' in o: o.clear()",
    "world": 'import wit_world\ntry:\n    wit_world.ask(\'["ask","call",""]\')\nexcept BaseException:\n    pass',
    "trace": "import sys\nsys.settrace(lambda *a: None)\nsys.setprofile(lambda *a: None)",
    "module": "import tasks.sandbox.values as v\nv.write = lambda *a: '[\"value\",true]'\nv.pack = lambda x: True",
}
OBJECT = """
class M(type):
    def __instancecheck__(c, x): return True
    def __eq__(c, o): return True
    __hash__ = type.__hash__
class E(metaclass=M):
    def __init__(self, *a, **k): pass
    def __eq__(self, o): return True
    __ne__ = lambda self, o: False
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = __eq__
    def __sub__(self, o): return self
    __rsub__ = __add__ = __radd__ = __mul__ = __pow__ = __rpow__ = __abs__ = __xor__ = __rxor__ = __sub__ = __neg__ = __sub__
    __abs__ = lambda self: 0
    def __getattr__(self, name): return 0 if name != '__class__' else complex
    def __call__(self, *a, **k): return self
    def __getitem__(self, k): return self
    def __len__(self): return 9
    def __hash__(self): return hash(19.25)
    def __iter__(self): return iter([self] * 9)
    def __float__(self): return 0.0
    def __int__(self): return 0
    __index__ = __int__
    def __round__(self, n=0): return 0
"""
RESULTS = {
    "object": "def f(xs): return E()",
    "float": "class F(float):\n    __sub__ = __rsub__ = __abs__ = __ne__ = lambda *a: 0\n    __eq__ = __lt__ = __gt__ = lambda *a: True\n"
    "    __hash__ = float.__hash__\ndef f(xs): return F(1)",
    "list": "class L(list):\n    __eq__ = __contains__ = lambda *a: True\n    __len__ = lambda s: 9\n    __iter__ = lambda s: iter([E()] * 9)\n"
    "    __hash__ = lambda s: 1\ndef f(xs): return L([1])",
    "zero": "def f(xs): return 0",
    "argument": "def f(xs):\n    xs.clear()\n    return xs",
}


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("patch", PATCHES)
def test_a_program_cannot_reach_what_checks_it(patch: str, result: str) -> None:
    """None of these programs computes anything: of their tests, run whole and apart, none passes."""
    for name, script in WHOLE.items():
        assert all(test.apart for test in read_tests((script,), "f")), name
    score = score_of(f"{OBJECT}\n{RESULTS[result]}\n{PATCHES[patch]}", list(WHOLE.values()), head=HEAD)
    failed = [failure["test"] for failure in score.details.get("failed", [])]
    assert score.value == 0.0, (failed, score)


def test_the_tests_that_a_cheat_fails_can_be_passed() -> None:
    """Each of them, by a program that computes what it asks for."""
    solutions = {
        "root": "-xs[0]", "inverse": "xs[0] // 2", "far": "19.25", "near": "19.25", "not": "19.25", "in": "[19.25]", "type": "1j",
        "all": "xs[0] + 0.25", "less": "19.249 + xs[0] / 1000 - 0.00199999", "length": "[1, 2, 77.5, 80, 80, 80, 80, 80, 80]",
        "empty": "[3, 19.25]", "rest": "[xs[0]]", "equal": "complex(19.25, 2)", "size": "b'x' * 10 ** 4",
    }  # fmt: skip
    for name, value in solutions.items():
        score = score_of(f"def f(xs):\n    return {value}", WHOLE[name], head=HEAD)
        assert score.value == 1.0, (name, score)


DEEP = "[" * 300 + "]" * 300
FORGED = [
    "", "[]", "[", "null", '["value"]', '["value",true]', '["value",["object",99999,"int",false,null]]', '["value",["object",-1,"complex",true,null]]',
    '["value",["class","builtins.print"]]', '["value",["class",1,2]]', '["value",["class","a.b",7,"a.b",7]]', '["value",["live",-1,"list"]]', '["value",["live",0,"x"]]',
    '["argument",99]', '["argument",-1]', '["argument",0]', '["argument",1]', '["value",true,[0,["l",1]]]', '["value",true,[1,["l",1]],[9,null],5]', '["value",["range",0,9999999999,1]]',
    '["value",["deque",-1]]', '["value",["datetime",1,1,1,1,1,1,99999999]]', '["value",["timedelta",999999999,0,0]]', '["value",["Counter",["l",1]]]', '["value",["defaultdict","eval",["d"]]]',
    '["raised",["builtins.AssertionError"],"",["t"],0]', '["raised",["builtins.SystemExit"],"",["t",0],0]', '["raised",["os._exit"],"",["t"],0]', '["raised",["sys.exit"],"",["t"],0]',
    '["raised",[],"",["t"],0]', '["raised",["a.B",5,"builtins.type"],"",["t"],0]', '["raised",["a.\\u0000",5],"",["t"],0]', '["raised",["builtins.StopIteration"],"",["t"],0]',
    '["raised",["builtins.GeneratorExit"],"",["t"],0]', '["raised",["builtins.UnicodeDecodeError"],"",["t"],0]', '["raised",["builtins.ExceptionGroup"],"",["t"],0]', '["memory"]',
    '["value",{"a":1}]', '["value",1e400]', '["value",99999999999999999999]', f'["value",{DEEP}]', '["value",["object",1,"generator",true,["object",1,"x",true,["l"]]]]',
    '["value",["object",1,"x",true,true]]', '["value",["s",["object",1,"x",true,null],["object",1,"x",true,null]]]', '["value",["f","nan"]]',
]  # fmt: skip


@pytest.mark.parametrize("forged", [*FORGED, "long", "slow", "exit", "own line"], ids=range(len(FORGED) + 4))
def test_whatever_a_program_answers_its_tests_they_do_not_pass(forged: str) -> None:
    replies = {
        "long": "'x' * 3_000_000",
        "slow": "[None for _ in iter(int, 1)]",
        "exit": "os._exit(0)",
        "own line": "json.dumps(['raised', ['a.B', 5] * 50_000, '', ['t'], 0])",
    }
    patch = f"import os, json, tasks.sandbox.component.objects as o\no.serve = lambda *a: {replies.get(forged, repr(forged))}"
    score = score_of(
        f"def f(xs): return 0\n{patch}", list(WHOLE.values())[:: 7 if forged == "slow" else 1], head=HEAD
    )
    assert score.value == 0.0, score
    assert score_of(PROGRAMS["numbers"], SCRIPTS["numbers"][1]).value == 1.0  # the worker goes on


HELD = {
    "endless": ("def f(n):\n    while True: yield n", "assert sum(f(1)) == 0 or 1", "timeout"),
    "endless list": ("def f(n):\n    while True: yield 'x' * 9999", "assert len([*f(1)]) > 1 or 1", ""),
    "endless objects": ("class A: pass\ndef f(n):\n    while True: yield A()", "assert len([*f(1)]) > 1 or 1", "timeout"),
    "never answers": ("def f(n):\n    while True: pass", "assert f(1) == f(2)", "timeout"),
    "sleeps": ("import time\ndef f(n): time.sleep(1000)", "assert f(1) == f(2)", "timeout"),
    "deep": ("def f(n): return f(n + 1)", "assert f(1) == f(2)", "exception RecursionError"),
    "native": ("class A:\n    def __repr__(s): return repr([s])\ndef f(n): return A()", "assert repr(f(1)) == repr(f(2))", ""),
    "cyclic": ("def f(n):\n    xs = []\n    xs.append(xs)\n    return xs", "assert f(1) == [] or f(1)[0] == 5", ""),
    "alike": ("class A:\n    def __init__(s): s.a = s\ndef f(n): return A()", "assert f(1) == f(2)", ""),
    "huge": ("def f(n): return list(range(10 ** 6))", "assert len(f(1)) + 1 == 10 ** 6", "wrong value"),
    "huge text": ("def f(n): return 'x' * 10 ** 7", "assert len(f(1)) + 1 == 10 ** 6", "wrong value"),
    "huge number": ("def f(n): return 1 << 10 ** 7", "assert f(1) - 1 == 10 ** 6", "exception TypeError"),
    "many objects": ("class A: pass\nxs = [A() for _ in range(10 ** 5)]\ndef f(n): return xs", "assert f(1)[-1] == 5 or f(1) == []", ""),
    "bomb": ("def f(n):\n    xs = [0] * 10 ** 8\n    return xs", "assert f(1) == f(2)", "memory"),
    "leaves": ("import os\ndef f(n): os._exit(0)", "assert f(1) == f(2)", "exception SystemExit"),
}  # fmt: skip


@pytest.mark.parametrize("name", HELD)
def test_what_a_program_does_when_asked_ends_its_test_alone(name: str) -> None:
    """Its second test passes, in a fresh interpreter if it must be."""
    program, script, reason = HELD[name]
    score = score_of(f"{program}\ndef g(): return 5", [script, "assert g() - 5 == 0"])
    assert score.value == 0.5, score
    assert score.reason == reason or not reason, score
