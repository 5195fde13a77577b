# ruff: noqa: E501 - a program stands on one line
"""What fails for want of a package: scored 0, counted 1 in the upper bound, and told from what fails by itself."""

from typing import Any

import pytest

from basic_control.data.options import options_of
from basic_control.data.records import Score
from basic_control.metrics.code_tests.code_tests import code_tests
from basic_control.tasks.sandbox import run_programs

TESTS = ["assert f([1, 2, 3]) == 6", "assert f([]) == 0"]
STREAM: dict[str, Any] = {"inputs": ["1 2 3", "4"], "outputs": ["6", "4"]}


def score_of(program: str, **row: Any) -> Score:
    sample = {"response": f"```python\n{program}\n```", **(row or {"tests": TESTS})}
    used = options_of(code_tests, {})
    (found,) = run_programs(code_tests, [sample], used)
    return code_tests.score(sample, found, used)


@pytest.mark.parametrize(
    ("program", "package"),
    [
        ("import numpy as np\ndef f(xs):\n    return int(np.sum(xs))", "numpy"),
        ("import numpy\ndef f(xs):\n    return int(numpy.sum(xs))", "numpy"),
        ("from scipy.special import comb\ndef f(xs):\n    return comb(3, 1)", "scipy"),
        ("import pandas.core.frame as frame\ndef f(xs):\n    return frame.DataFrame(xs).sum()", "pandas"),
        ("def f(xs):\n    import networkx as nx\n    return nx.Graph()", "networkx"),
        ("def f(xs):\n    from sympy import symbols\n    return symbols('x')", "sympy"),
        ("from numba import njit\n@njit\ndef f(xs):\n    return sum(xs)", "numba"),
        ("import numpy as np\nLIMIT = np.inf\ndef f(xs):\n    return sum(xs) if xs != [LIMIT] else 0", "numpy"),
        ("import torch\nclass A(torch.nn.Module): pass\ndef f(xs):\n    return A()(xs)", "torch"),
        ("import gmpy2 as g\ndef f(xs, zero=g.mpz(0)):\n    return sum(xs, zero)", "gmpy2"),
        ("try:\n    import numpy as np\nexcept ImportError:\n    pass\ndef f(xs):\n    return np.sum(xs)", "numpy"),
    ],
)
def test_a_program_that_needs_a_package_may_be_right(program: str, package: str) -> None:
    score = score_of(program)
    assert (score.value, score.status, score.reason) == (0.0, "unsupported", f"needs {package}")
    assert score.parts == {"all": 0.0}


@pytest.mark.parametrize(
    ("program", "value", "reason"),
    [
        ("import numpy as np\ndef f(xs):\n    return sum(xs)", 1.0, "all tests pass"),
        ("try:\n    import numpy as np\nexcept ImportError:\n    np = None\ndef f(xs): return sum(xs)", 1.0, "all tests pass"),
        ("import numpy as np\ndef f(xs):\n    return sum(xs) + 1", 0.0, "wrong value"),
        ("import numpy as np\ndef f(xs):\n    return np.sum(xs) if xs else 7", 0.0, "exception NameError"),
        ("def f(xs):\n    return np.sum(xs)", 0.0, "exception NameError"),
        ("from solution import f", 0.0, "no such function"),
        ("from my_module import g\ndef f(xs):\n    return g(xs)", 0.0, "exception NameError"),
        ("import distutils_of_old, tkinter\ndef f(xs):\n    return tkinter.Tk()", 0.0, "exception NameError"),
        ("def f(xs):\n    raise ModuleNotFoundError(\"No module named 'numpy'\")", 0.0, "exception ModuleNotFoundError"),
        ("import f\nimport numpy\ndef g(xs): return f.f(xs)", 0.0, "no such function"),
    ],
)  # fmt: skip
def test_what_fails_without_need_of_a_package_is_wrong(program: str, value: float, reason: str) -> None:
    score = score_of(program)
    assert (score.value, score.status, score.reason) == (value, "scored", reason)


def test_whole_programs_and_tests_that_need_a_package() -> None:
    whole = "import numpy as np\nprint(int(np.sum(list(map(int, input().split())))))"
    assert score_of(whole, **STREAM).reason == "needs numpy"
    test = "import numpy as np\nassert np.allclose(f([1, 2]), 3)"
    assert score_of("def f(xs): return sum(xs)", tests=[test]).reason == "needs numpy"


def test_a_test_that_needs_none_keeps_its_share() -> None:
    program = "def f(xs):\n    if not xs: return 0\n    import numpy as np\n    return int(np.sum(xs))"
    score = score_of(program)
    assert (score.value, score.status, score.parts) == (0.5, "unsupported", {"all": 0.0})
