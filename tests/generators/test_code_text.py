# ruff: noqa: E501 - a response stands on one line
"""Which program is read from a response, in all the shapes that models answer in."""

from collections.abc import Callable
from random import Random

import pytest

from basic_control.data.programs.code_blocks import SOURCE_CAP, cut_answer
from basic_control.data.programs.python_code import find_python
from basic_control.generators.code_gen.code_gen import LEVELS, code_gen, program, reference, verify
from basic_control.generators.code_gen.kotlin_code import find_kotlin
from tests.helpers.bounds import bounded

DEF = "def f(x):\n    return x + 1"
OTHER = "def f(x):\n    return x - 1"
INDENTED = "    def f(x):\n        return x + 1"


def called(source: str) -> object:
    """Run a program of these tests' own, and call what was asked for."""
    namespace: dict[str, object] = {}
    exec(source, namespace)  # noqa: S102 - sources written in this file
    function = namespace["f"]
    assert callable(function)
    return function(1)


RIGHT = {
    "a fenced block": f"```python\n{DEF}\n```",
    "a fence without a tag": f"```\n{DEF}\n```",
    "a fence with an upper-case tag": f"```Python\n{DEF}\n```",
    "a fence with a short tag": f"```py\n{DEF}\n```",
    "a fence with attributes": f"```{{.python}}\n{DEF}\n```",
    "a fence with a title": f"```python title=solution.py\n{DEF}\n```",
    "a tilde fence": f"~~~python\n{DEF}\n~~~",
    "a long fence": f"````python\n{DEF}\n````",
    "a fence closed at the end of the code": f"```python\n{DEF}```",
    "a fence closed at the end of the code, output after": f"```python\n{DEF}```\nOutput:\n```\n2\n```",
    "a fence closed at the end of the code, usage after": f"```python\n{DEF}``` \n\nUsage:\n```python\nf(1)\n```",
    "a fence named at the end of a line": f"```python\n{DEF}  # ends before the ```\n```",
    "a future import after a constant's block": "```python\nK = 1\n```\n```python\nfrom __future__ import annotations\n\ndef f(x: Number):\n    return x + K\n```",
    "an unclosed fence": f"```python\n{DEF}",
    "an unclosed fence, then prose": f"```python\n{DEF}\n\nThis function adds one to its argument.",
    "a wrong tag": f"```javascript\n{DEF}\n```",
    "prose around": f"Here is the function:\n\n```python\n{DEF}\n```\n\nIt adds one. Hope this helps!",
    "no fence": DEF,
    "no fence, prose around": f"Sure! Here it is.\n\n{DEF}\n\nThis works because x + 1 is the next number.",
    "no fence, indented": f"The code:\n\n{INDENTED}\n\nDone.",
    "no fence, a list in the prose": f"1. Define f.\n2. Return.\n\n{DEF}\n\n- x: the number\n- result = x + 1",
    "an indented block": f"```python\n{INDENTED}\n```",
    "a fence in a list": "1. Do this:\n   ```python\n   def f(x):\n       return x + 1\n   ```\n2. Done.",
    "a quoted fence": "> ```python\n> def f(x):\n>     return x + 1\n> ```",
    "windows line ends": f"```python\n{DEF}\n```".replace("\n", "\r\n"),
    "a byte order mark": f"\ufeff```python\n{DEF}\n```",
    "tabs": "```python\ndef f(x):\n\treturn x + 1\n```",
    "a thought before": f"<think>\n```python\n{OTHER}\n```\n</think>\n```python\n{DEF}\n```",
    "a thought after": f"```python\n{DEF}\n```\n<think>\n```python\n{OTHER}\n```\n</think>",
    "a thought without its opening tag": f"Maybe {OTHER}\n</think>\n\n{DEF}",
    "the last of two": f"First try:\n```python\n{OTHER}\n```\nBetter:\n```python\n{DEF}\n```",
    "usage after": f"```python\n{DEF}\n```\nUsage:\n```python\nprint(f(1))\n```",
    "output after": f"```python\n{DEF}\n```\nOutput:\n```\n2\n```",
    "another language after": f"```python\n{DEF}\n```\nIn JavaScript:\n```js\nfunction f(x) {{ return x - 1 }}\n```",
    "a broken draft after": f"```python\n{DEF}\n```\nOr:\n```python\ndef f(x):\n    return (x\n```",
    "an install block before": f"```bash\npip install numpy\n```\n```python\n{DEF}\n```",
    "a helper in the block": "```python\ndef g(x):\n    return x + 1\n\ndef f(x):\n    return g(x)\n```",
    "a helper after, no fence": "def f(x):\n    return g(x)\n\ndef g(x):\n    return x + 1\n\nThat is all.",
    "a helper in its own block": "```python\ndef g(x):\n    return x + 1\n```\nand\n```python\ndef f(x):\n    return g(x)\n```",
    "a helper's helper": (
        "```python\nONE = 1\n```\n```python\ndef g(x):\n    return x + ONE\n```\n"
        "```python\ndef f(x):\n    return g(x)\n```"
    ),
    "an import in its own block": "```python\nimport math\n```\n```python\ndef f(x):\n    return math.floor(x) + 1\n```",
    "imports, no fence": "We need this.\n\nimport math\nfrom math import (\n    floor,\n)\n\ndef f(x):\n    return floor(x) + 1",
    "a class beside": "```python\nclass Step:\n    size = 1\n\ndef f(x):\n    return x + Step.size\n```",
    "a constant beside, no fence": "STEP = 1\n\ndef f(x: int) -> int:\n    return x + STEP\n",
    "a decorator, no fence": "from functools import cache\n\n@cache\ndef f(x):\n    return x + 1\n\nIt is cached.",
    "types": "```python\nfrom __future__ import annotations\nfrom typing import Optional\ndef f(x: Optional[int]) -> int | None:\n    return x + 1\n```",
    "a docstring with prompts": '```python\ndef f(x):\n    """Add.\n\n    >>> f(1)\n    2\n    """\n    return x + 1\n```',
    "a docstring with a fence": '```python\ndef f(x):\n    """Add.\n\n```\nf(1)\n```\n    """\n    return x + 1\n```',
    "a session": "```pycon\n>>> def f(x):\n...     return x + 1\n...\n>>> f(1)\n2\n```",
    "a session, no fence": ">>> def f(x):\n...     return x + 1\n>>> f(1)\n2",
    "an inline span": "Use `def f(x): return x + 1` for that.",
    "a fence on one line": "```python def f(x): return x + 1```",
    "code on the fence's line": "```python def f(x):\n    return x + 1\n```",
    "a lambda": "```python\nf = lambda x: x + 1\n```",
    "a definition under if": "```python\nif True:\n    def f(x):\n        return x + 1\n```",
    "a long text in the code, no fence": 'def f(x):\n    text = """\nnot indented\n"""\n    return x + 1\n\nDone.',
    "a method and the function": "```python\nclass A:\n    def f(self, x):\n        return 0\n\ndef f(x):\n    return x + 1\n```",
    "blocks that follow without closing": f"```python\n{OTHER}\n```python\n{DEF}\n```",
    "a block in a markdown block": f"```markdown\nThe code:\n```python\n{DEF}\n```\n```",
    "a name that is part of another": f"```python\n{DEF}\n```\n```python\ndef ff(x):\n    return 0\n```",
    "Russian prose": f"Вот функция:\n\n{DEF}\n\nОна прибавляет единицу.",
}


@pytest.mark.parametrize("shape", list(RIGHT))
def test_the_program_is_found(shape: str) -> None:
    source = find_python(RIGHT[shape], "f")
    assert source is not None
    assert called(source) == 2


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n\t",
        "I do not know.",
        "The function f takes x and returns x + 1.",
        "```\n```",
        "```text\nf(1) is 2\n```",
        '```json\n{"f": 1}\n```',
        f"<think>\n{DEF}\n",
        f"<think>```python\n{DEF}\n```</think> I cannot tell.",
        "Signature: `def f(x: int) -> int`",
        "```python\n```",
    ],
)  # fmt: skip
def test_where_there_is_no_code_nothing_is_found(reply: str) -> None:
    assert find_python(reply, "f") is None


@pytest.mark.parametrize(
    "reply",
    [
        "```python\ndef g(x):\n    return x + 1\n```",
        "```python\nclass Solution:\n    def f(self, x):\n        return x + 1\n```",
        "```python\nprint('f')\n```",
        "```python\nfrom solution import f\n```",
        "```python\ndef f(x:\n    return x + 1\n```",
        "```python\ndef f(x) return x + 1\n```",
        "def g(x):\n    return x + 1",
        "def f(x):\n    return (x +",
    ],
)
def test_wrong_code_is_an_answer_and_runs_as_it_stands(reply: str) -> None:
    """A method is not the function that was asked for, nor is a function of another name: both are run, and fail."""
    source = find_python(reply, "f")
    assert source is not None
    with pytest.raises((SyntaxError, KeyError, ModuleNotFoundError)):
        called(source)


def test_a_block_is_run_as_it_stands() -> None:
    whole = "import sys\nsys.setrecursionlimit(2000)\nprint('hello')\ndef f(x):\n    return x + 1\nassert f(1) == 2"
    assert find_python(f"```python\n{whole}\n```", "f") == f"{whole}\n"


def test_unneeded_blocks_do_not_join() -> None:
    reply = f"```python\nimport os\nprint(1)\n```\n```python\n{DEF}\n```\n```python\ng = 3\n```"
    assert find_python(reply, "f") == f"{DEF}\n"


def test_prose_that_reads_like_code_does_not_join() -> None:
    reply = f"Note: this\nresult = unknown\n\n{DEF}\n\nExample\nx = input()\n"
    assert find_python(reply, "f") == DEF


def test_thoughts_are_told_from_answers_as_in_every_reply() -> None:
    assert cut_answer("a\n<think>b</think>c") == "a\nc"
    assert cut_answer("b\r\n</think>c") == "c"
    assert cut_answer("a\n<think>b") == "a"
    assert cut_answer("<THINK>b</THINK>c\n<thought>d</thought>e") == "c\ne"
    assert cut_answer('print("<think>")') == 'print("<think>")'


KOTLIN = "fun f(x: Int): Int {\n    return x + 1\n}"
KOTLIN_RIGHT = {
    "a fenced block": (f"```kotlin\n{KOTLIN}\n```", KOTLIN),
    "prose around": (f"Here:\n```kotlin\n{KOTLIN}\n```\nDone.", KOTLIN),
    "no tag": (f"```\n{KOTLIN}\n```", KOTLIN),
    "an unclosed fence, then prose": (f"```kotlin\n{KOTLIN}\n\nThis adds one.", KOTLIN),
    "no fence": (f"Sure.\n\n{KOTLIN}\n\nThis adds one.", KOTLIN),
    "an expression": ("Use `fun f(x: Int): Int = x + 1` here.", "fun f(x: Int): Int = x + 1"),
    "no fence, an expression": ("The code:\n\nfun f(x: Int) =\n    x + 1\n\nDone.", "fun f(x: Int) =\n    x + 1"),
    "a package line": (f"```kotlin\npackage demo\n\n{KOTLIN}\n```", KOTLIN),
    "the last of two": (f"```kotlin\nfun f(x: Int) = 0\n```\n```kotlin\n{KOTLIN}\n```", KOTLIN),
    "usage after": (f"```kotlin\n{KOTLIN}\n```\n```kotlin\nprintln(f(1))\n```", KOTLIN),
    "a thought": (f"<think>fun f(x: Int) = 0</think>```kotlin\n{KOTLIN}\n```", KOTLIN),
    "a generic function": ("```kotlin\nfun <T> f(x: T): T = x\n```", "fun <T> f(x: T): T = x"),
    "a helper in its own block": (
        "```kotlin\nfun g(x: Int) = x\n```\n```kotlin\nfun f(x: Int) = g(x)\n```",
        "fun f(x: Int) = g(x)\n\nfun g(x: Int) = x",
    ),
    "an import and a helper, no fence": (
        "import kotlin.math.abs\n\nfun f(x: Int) = g(abs(x))\n\nprivate fun g(x: Int) = x\n\nDone.",
        "import kotlin.math.abs\nfun f(x: Int) = g(abs(x))\nprivate fun g(x: Int) = x",
    ),
}


@pytest.mark.parametrize("shape", list(KOTLIN_RIGHT))
def test_the_kotlin_program_is_found(shape: str) -> None:
    reply, wanted = KOTLIN_RIGHT[shape]
    assert (find_kotlin(reply, "f") or "").strip() == wanted


def test_where_there_is_no_kotlin_nothing_is_found() -> None:
    for reply in ("", "I do not know.", "`fun` is a keyword; f is not.", f"<think>{KOTLIN}"):
        assert find_kotlin(reply, "f") is None
    assert find_kotlin("```kotlin\nfun g() = 1\n```", "f") == "fun g() = 1"


def hostile(name: str) -> dict[str, Callable[[], str]]:
    """Return what writes responses that ask for time or memory, or that break parsers: 25 MB in all."""
    broken = f"```python\ndef {name}(x):\n    return (\n```\n"
    return {
        "1 MB of text": lambda: "word " * 200_000,
        "10 MB of source": lambda: f"```python\ndef {name}(x):\n    return x\n" + "y = 1\n" * 1_700_000 + "```",
        "10 MB of one line": lambda: f"```python\n{name} = " + "1 + " * 2_500_000 + "1\n```",
        "a NUL": lambda: f"```python\ndef {name}(x):\n    return '\0'\n```",
        "surrogates": lambda: f"```python\ndef {name}(x):\n    return '\udc80\ud800'\n```",
        "10 000 fences": lambda: "```\n" * 10_000,
        "10 000 broken blocks": lambda: broken * 10_000,
        "10 000 definitions": lambda: f"def {name}(x):\n    return (\n\n" * 10_000,
        "10 000 imports": lambda: "import os\n" * 10_000 + f"def {name}(x):\n    return missing\n",
        "10 000 helpers": lambda: (
            "".join(f"def g{n}(x):\n    return g{n + 1}(x)\n" for n in range(10_000))
            + f"def {name}(x):\n    return g0(x)\n"
        ),
        "open brackets": lambda: f"```python\n{name} = " + "(" * 30_000,
        "nested lists": lambda: f"```python\n{name} = " + "[" * 150 + "]" * 150,
        "nested calls": lambda: f"```python\n{name} = " + "f(" * 30_000,
        "minus signs": lambda: f"```python\n{name} = " + "-" * 60_000 + "1",
        "nots": lambda: f"```python\n{name} = " + "not " * 15_000 + "1",
        "lambdas": lambda: f"```python\n{name} = " + "lambda: " * 7_500 + "1",
        "attributes": lambda: f"```python\n{name} = a" + ".a" * 30_000,
        "a long sum": lambda: f"```python\n{name} = 1" + "+1" * 30_000,
        "comparisons": lambda: f"```python\n{name} = 1" + "<1" * 30_000,
        "a long elif": lambda: f"```python\nif 1: {name} = 1\n" + "elif 1: pass\n" * 4_500,
        "deep indentation": lambda: f"```python\n{name} = 1\n" + "".join(" " * n + "if 1:\n" for n in range(300)),
        "braces": lambda: f"```python\n{name} = " + "{1:" * 20_000,
        "f-strings": lambda: f"```python\n{name} = " + "f'{" * 20_000,
        "backticks": lambda: "`" * 200_000,
        "backticks and definitions": lambda: f"`def {name}(" * 16_000,
        "spaces": lambda: " " * 200_000 + name,
        "spaces in lines": lambda: (" " * 999 + "\n") * 200 + name,
        "new lines": lambda: "\n" * 200_000 + name,
        "quotes": lambda: ">" * 100_000 + "```" + name,
        "at signs": lambda: "@a\n" * 60_000 + f"def {name}(x): return 1",
        "thoughts": lambda: "<think>" * 28_000,
        "closing thoughts": lambda: "</think>" * 24_000,
        "prompts": lambda: ">>> " * 50_000 + f"\n>>> def {name}(x):\n" + "...\n" * 40_000,
        "names": lambda: f"{name} = " * 30_000,
        "annotations": lambda: f"{name}: " * 30_000,
        "generics": lambda: "fun <" * 40_000 + f" {name}(",
        "modifiers": lambda: "private " * 24_000 + f"fun {name}(",
        "every plane": lambda: (
            "".join(chr(n * 0x1000 + 0x41) for n in range(0x110) if not 0xD7 < n * 16 < 0xE00) * 500
        ),
    }


@pytest.mark.parametrize("shape", list(hostile("f")))
def test_hostile_responses_take_little_time_and_do_not_raise(shape: str) -> None:
    for code in ("python", "kotlin"):
        item = code_gen.generate(Random(1), level="easy", language="en", languages=(code,))
        reply = hostile(item.facts["function"])[shape]()
        with bounded(2):
            found = program(item, reply)
        assert found is None or len(found.source) <= SOURCE_CAP
        if found is None:
            assert verify(item, reply, None).correct is None


def test_the_prompt_itself_holds_no_program() -> None:
    """Repeating the question is no answer."""
    for level in LEVELS:
        for seed in range(100):
            for code in ("python", "kotlin"):
                for language in ("en", "ru"):
                    item = code_gen.generate(Random(seed), level=level, language=language, languages=(code,))
                    assert program(item, item.prompt) is None
                    assert program(item, item.prompt + "\n\n" + reference(item)) is not None
