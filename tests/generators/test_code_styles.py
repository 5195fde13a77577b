"""A right program is found in the styles that models reply in, whatever stands before it."""

import ast
import html
import json
from typing import Any

import pytest

from basic_control.data.programs.code_blocks import cut_answer
from basic_control.data.programs.python_code import find_python
from basic_control.generators.code_gen.kotlin_code import find_kotlin
from tests.helpers.bounds import bounded, of_each_size

RIGHT = """def max_sum(xs):
    max_sum = 0
    # the best sum so far
    best = xs[0]
    for x in xs:
        max_sum = max(max_sum + x, x)
        if max_sum > best and x < 10**9:
            best = max_sum
    return best"""
BODY = "\n".join(RIGHT.split("\n")[1:])
WRONG_CODE = "def max_sum(xs):\n    return sum(xs) & 3"
HELPER = """def max_sum(xs):
    return best_of(xs)

def best_of(xs):
    max_sum = run = xs[0]
    for x in xs[1:]:
        run = max(run + x, x)
        max_sum = max(max_sum, run)
    return max_sum"""


def fence(code: str, tag: str = "python") -> str:
    return f"```{tag}\n{code}\n```"


def each_line(code: str, before: str) -> str:
    return "\n".join(before + line for line in code.split("\n"))


def escaped(code: str) -> str:
    return html.escape(code).replace("\n", "<br>").replace("  ", "&nbsp;&nbsp;")


def is_right(reply: str) -> bool:
    """Run a reply's program as the sandbox does, statement by statement, and call it."""
    source = find_python(reply, "max_sum")
    if source is None:
        return False
    names: dict[str, object] = {}
    found = None
    try:
        for statement in ast.parse(source).body:
            try:
                exec(compile(ast.Module([statement], []), "reply", "exec"), names)  # noqa: S102 - sources of this file
            except (ImportError, NameError, OSError, EOFError, SystemExit, AssertionError):
                continue
            found = names["max_sum"] if callable(names.get("max_sum")) else found
    except SyntaxError:
        return False
    names["max_sum"] = found
    return callable(found) and (found([1, -2, 3, 4]), found([-3, -1])) == (7, -1)


LOOSE = RIGHT.replace("    # the", "# the")
WRAPPED = {
    "JSON": json.dumps({"code": RIGHT}),
    "JSON in a fence": fence(json.dumps({"language": "python", "code": RIGHT}, indent=1), "json"),
    "JSON with lines": fence(json.dumps({"code": RIGHT.split("\n")}), "json"),
    "JSON with a fence": json.dumps({"answer": fence(RIGHT)}),
    "JSON in prose": f"Take {{1, 2}}: {json.dumps({'code': RIGHT})} Hope it helps.",
    "JSON with bare line ends": f'{{"code": "{RIGHT}"}}',
    "JSON escaped twice": json.dumps({"code": RIGHT.replace("\n", "\\n")}),
    "a list of JSON": json.dumps([{"type": "code", "content": RIGHT}]),
    "Russian JSON": json.dumps({"пояснение": 'Ищем "максимум"', "код": RIGHT}, ensure_ascii=False),
    "a tool's call": f"<tool_call>\n{json.dumps({'name': 'python', 'arguments': {'code': RIGHT}})}\n</tool_call>",
    "HTML": f'<p>Here:</p><pre><code class="language-python">{html.escape(RIGHT)}</code></pre><p>Done</p>',
    "HTML not escaped": f"<pre>\n{RIGHT}\n</pre>",
    "HTML in a fence": fence(f"<pre>{html.escape(RIGHT)}</pre>", "html"),
    "HTML with line breaks": f"<code>{escaped(RIGHT)}</code>",
    "entities in a fence": fence(html.escape(RIGHT)),
    "CDATA": f"<code><![CDATA[{RIGHT}]]></code>",
    "a tag around": f"<answer>{RIGHT}</answer>",
    "a tag around a fence": f"<answer>\n{fence(RIGHT)}\n</answer>",
    "brackets around": f"[PYTHON]{RIGHT}[/PYTHON]",
    "LaTeX": f"\\begin{{verbatim}}\n{RIGHT}\n\\end{{verbatim}}",
    "a diff": fence(f"--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,9 @@\n{each_line(RIGHT, '+')}", "diff"),
    "a diff of a wrong one": fence(f"@@\n{each_line(WRONG_CODE, '-')}\n{each_line(RIGHT, '+')}", "diff"),
    "a diff with context": fence(f"@@\n def max_sum(xs):\n-    return 0\n{each_line(BODY, '+')}", "diff"),
    "a diff with a space": fence(each_line(RIGHT, "+ "), "diff"),
    "a diff, no fence": f"The patch:\n\n{each_line(RIGHT, '+')}\n\nApply it.",
    "a notebook": fence("In [1]: " + RIGHT.replace("\n", "\n   ...: ") + "\n\nIn [2]: max_sum([1])\nOut[2]: 1"),
    "a session": ">>> " + RIGHT.replace("\n", "\n... ") + "\n>>> max_sum([1])\n1",
    "numbered lines": fence("\n".join(f"{n:2} | {line}" for n, line in enumerate(RIGHT.split("\n"), 1))),
    "magic lines": fence(f"%%time\n!pip install numpy\n{RIGHT}"),
    "a button's label": f"python\nCopy code\n{RIGHT}",
    "a label on the line": f"Answer: {RIGHT}",
    "a Russian label": f"Ответ: {RIGHT}",
    "single backticks": f"`{RIGHT}`",
    "YAML": fence(f"code: |\n{each_line(RIGHT, '  ')}", "yaml"),
    "a fence in a fence": f"````markdown\nHere:\n{fence(RIGHT)}\n````",
    "a fence in a nameless one": f"````\n{fence(WRONG_CODE)}\nBetter:\n{fence(RIGHT)}\n````",
    "zero-width spaces": fence(RIGHT).replace("def ", "def\u200b ").replace("return", "\u200breturn"),
    "a zero-width joiner in the name": fence(RIGHT.replace("max_sum", "max\u200d_sum")),
    "a byte order mark in the fence": fence(f"\ufeff{RIGHT}"),
    "no-break spaces": fence(RIGHT.replace(" ", "\u00a0")),
}
TABLE = "ONE = {}\nfor n in range(2):\n    ONE[n] = n"
LOOP = "for x in xs:\n    max_sum = max(max_sum + x, x)"
TEST = "from solution import max_sum\nassert max_sum([1]) == 1"
METHOD = f"class S:\n    def run(self, xs):\n{each_line(BODY, '    ')}"
BESIDE = {
    "no fence": RIGHT,
    "no fence, a comment at the margin": f"{LOOSE}\n\nThat is all.",
    "no fence, an open bracket in prose": f"Here:\n\n{RIGHT}\n\nThis keeps (a running sum.\n",
    "a helper after, no fence": f"Sure.\n\n{HELPER}\n\nDone.",
    "a helper after, a fence that stays open": f"```python\n{HELPER}\n\nExplanation: none needed.",
    "a table filled at the margin": f"{TABLE}\n\n{RIGHT.replace('= 0', '= ONE[0]')}",
    "the name is taken by its result": fence(f"{RIGHT}\n\nmax_sum = max_sum([1, 2])\nprint(max_sum)"),
    "a block takes the name": f"{fence(RIGHT)}\nUsage:\n{fence('max_sum = max_sum([1, 2])')}",
    "a block of lines explained": f"{fence(RIGHT)}\nWe begin with\n{fence('    max_sum = 0')}\nand loop.",
    "a loop explained": f"{fence(RIGHT)}\n2. Loop:\n{fence(LOOP)}",
    "a stub after": f"{fence(RIGHT)}\nSignature:\n{fence('def max_sum(xs: list[int]) -> int: ...')}",
    "a skeleton after": f"{fence(RIGHT)}\nSkeleton:\n{fence('def max_sum(xs):' + chr(10) + '    pass')}",
    "a stub before": f"{fence('def max_sum(xs: list[int]) -> int:' + chr(10) + '    ...')}\n{fence(RIGHT)}",
    "a thought's tag in a text": fence(f"def max_sum(xs):\n    s = 'a</think>b'\n{BODY}"),
    "thoughts' tags in a comment": fence(f"def max_sum(xs):\n    # no </think>, no <think>\n{BODY}"),
    "a thought's tag in a docstring": fence(f'def max_sum(xs):\n    """Skip the <think> tag."""\n{BODY}'),
    "a thought's tag in backticks": f"The tag `</think>` is no matter.\n{fence(RIGHT)}",
    "a thought with an open fence": f"<think>The user's wish:\n```python\n{WRONG_CODE}\n</think>\n{fence(RIGHT)}",
    "packages that are not there": fence(f"import numpy as np\nfrom sortedcontainers import SortedList\n{RIGHT}"),
    "input below": fence(f"{RIGHT}\n\nn = list(map(int, open('missing')))\nprint(max_sum(n))"),
    "a wrong assert below": fence(f"{RIGHT}\n\nassert max_sum([1]) == 5"),
    "a test that imports it": f"{fence(RIGHT)}\n{fence(TEST)}",
    "a method by another name": fence(f"{METHOD}\n\nmax_sum = S().run"),
}  # fmt: skip
CORRECTED = (
    "The bug is fixed here:", "That is wrong. Don't use it. Corrected version:", "Good:", "Use this instead:",
    "Wait, this fails on negative numbers. Use this:", "Hmm, that does not work for an empty list.",
    "Actually, the code above has a mistake: it ignores the order.", "Better, without the wrong sum:",
    "Ой, это неверно. Исправленный вариант:", "Этот вариант неправильный, поэтому:", "Правильно:",
    "Но этот вариант не работает для отрицательных чисел, поэтому:", "## Solution", "## Решение",
)  # fmt: skip


@pytest.mark.parametrize("style", [*WRAPPED, *BESIDE])
def test_the_program_is_found_in_every_style(style: str) -> None:
    assert is_right({**WRAPPED, **BESIDE}[style])


@pytest.mark.parametrize("words", CORRECTED)
def test_a_correction_is_the_answer(words: str) -> None:
    assert is_right(f"{fence(WRONG_CODE)}\n\n{words}\n\n{fence(RIGHT)}")


@pytest.mark.parametrize("words", ["", "Alternatively:", "Do not write this:", "Исправленный вариант:"])
def test_the_last_block_that_defines_the_function_is_the_answer_whatever_is_said_of_it(words: str) -> None:
    assert is_right(f"{fence(WRONG_CODE)}\n\n{words}\n\n{fence(RIGHT)}")
    assert not is_right(f"{fence(RIGHT)}\n\n{words}\n\n{fence(WRONG_CODE)}")
    assert not is_right(json.dumps({"code": RIGHT, words: WRONG_CODE}))


def test_a_method_is_no_function_with_or_without_a_fence() -> None:
    method = "class Solution:\n    @staticmethod\n" + each_line(RIGHT, "    ")
    assert not is_right(fence(method))
    assert not is_right(f"The code:\n\n{method}\n\nDone.")


@pytest.mark.parametrize("mark", ["'</think>", '"<think>', "`</think>", "# </think>\n", '"\\"</think>'])
@of_each_size
def test_tags_without_end_take_little_time(mark: str, share: int) -> None:
    marks = mark * (100_000 // share)
    with bounded(4 / share):
        cut_answer(marks)
        find_python(f"def f(x):\n    return {marks}", "f")


KOTLIN = "fun maxOf3(a: Int, b: Int): Int {\n    return if (a > b && a < 99) a else b\n}"
KOTLIN_HEAD = "fun maxOf3(a: Int, b: Int): Int"
KOTLIN_WRONG = "fun maxOf3(a: Int, b: Int): Int {\n    return a\n}"
KOTLIN_STYLES = {
    "JSON": json.dumps({"code": KOTLIN}),
    "JSON in a fence": fence(json.dumps({"code": KOTLIN}), "json"),
    "HTML": f"<pre><code>{html.escape(KOTLIN)}</code></pre>",
    "a diff": fence(f"@@ -1 +1 @@\n{each_line(KOTLIN, '+')}", "diff"),
    "zero-width spaces": fence(KOTLIN.replace("fun ", "fun\u200b "), "kotlin"),
    "a package with a comment": fence(f"package demo // mine\n\n{KOTLIN}", "kotlin"),
    "a print below": fence(f"{KOTLIN}\n\nprintln(maxOf3(1, 2))", "kotlin"),
    "a check below, over lines": fence(f"{KOTLIN}\n\ncheck(\n    maxOf3(1, 2) == 2\n)", "kotlin"),
    "a draft before": f"{fence(KOTLIN_WRONG, 'kotlin')}\n\nИсправлено:\n{fence(KOTLIN, 'kotlin')}",
    "a signature after": f"{fence(KOTLIN, 'kotlin')}\n\nSignature:\n{fence(KOTLIN_HEAD, 'kotlin')}",
    "a stub after": f"{fence(KOTLIN, 'kotlin')}\n\nStub:\n{fence(KOTLIN_HEAD + ' = TODO()', 'kotlin')}",
    "a fence in a fence": f"````markdown\n{fence(KOTLIN, 'kotlin')}\n````",
    "a local of that name, no fence": f"Sure.\n\n{KOTLIN}\n\nThe value maxOf3 = 3 is found.",
}  # fmt: skip


@pytest.mark.parametrize("style", list(KOTLIN_STYLES))
def test_the_kotlin_program_is_found_in_every_style(style: str) -> None:
    assert (find_kotlin(KOTLIN_STYLES[style], "maxOf3") or "").strip() == KOTLIN


def test_annotations_of_the_file_stay_first() -> None:
    head = '@file:Suppress("UNUSED")'
    block = fence(f"{head}\npackage demo\n\nimport kotlin.math.abs\n\nfun f(x: Int) = g(abs(x))", "kotlin")
    source = find_kotlin(
        f"{fence('import kotlin.math.max' + chr(10) + 'fun g(x: Int) = max(x, 1)', 'kotlin')}\n{block}", "f"
    )
    assert source is not None
    lines = [line for line in source.split("\n") if line]
    assert lines[0] == head
    assert [line.startswith("import") for line in lines] == [False, True, True, False, False]
    loose = find_kotlin(f"Sure.\n\n{head}\n\nimport kotlin.math.abs\n\nfun f(x: Int) = abs(x)\n\nDone.", "f")
    assert loose == f"{head}\nimport kotlin.math.abs\nfun f(x: Int) = abs(x)"


HEAD = "def twice(n: int) -> int:"


def twice(reply: str) -> object:
    """Return what the program of a reply makes of 21."""
    names: dict[str, Any] = {}
    exec(find_python(reply, "twice") or "", names)  # noqa: S102 - sources of this file
    return names["twice"](21)


@pytest.mark.parametrize("opening", ["<pre>", "<pre><code>", "<pre><code class='x'>", '<pre><code class="python">'])
@pytest.mark.parametrize("before", ["", "<p>Code:</p>\n", "Code:\n", '<p class="a" id="b">Код:</p>\n'])
@pytest.mark.parametrize("gap", ["", "\n"])
def test_the_line_of_a_tag_is_read(opening: str, before: str, gap: str) -> None:
    sources = (
        f"def by(n: int) -> int:\n    return n * 2\n\n\n{HEAD}\n    return by(n)",
        f"def by(n: int) -> int:\n    return n * TWO\n\n\n{HEAD}\n    return by(n)\n\n\nTWO = 2",
        f"TWO = 2\n\n\n{HEAD}\n    return TWO * n",
    )
    close = "</code></pre>" if "<code" in opening else "</pre>"
    for source in sources:
        assert twice(f"{before}{opening}{gap}{html.escape(source)}\n{close}") == 42
        styled = opening.replace(">", ' style="margin:0;" data-x="">', 1)
        assert twice(f"{before}{styled}{gap}{html.escape(source)}\n{close}") == 42


@pytest.mark.parametrize(
    "piece",
    [
        f"```python\n{HEAD}\n",
        "```\n",
        "def twice",
        '{"wrong": "def twice", ',
        f"```python\n{HEAD}\n    return n\n```\n",
    ],
)
@of_each_size
def test_hostile_replies_take_little_time(piece: str, share: int) -> None:
    reply = piece * (600_000 // share // len(piece))
    with bounded(8 / share):
        find_python(reply, "twice")
        find_kotlin(reply, "twice")
