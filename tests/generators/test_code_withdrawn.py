"""A program that its reply takes back is not the answer, whatever stands in its place or fails to."""

import html
import json

import pytest

from data.programs.python import find_python
from generators.code_gen.kotlin import find_kotlin
from tests.helpers.bounds import bounded

RIGHT = "def twice(n: int) -> int:\n    return n * 2"
WRONG_CODE = "def twice(n: int) -> int:\n    return n * 3"
HEAD = "def twice(n: int) -> int:"
TAKEN_BACK = (
    "Wait, this is wrong. The corrected version:", "Oops, there is a bug. Here is the fixed code:", "Fixed:",
    "Hmm, that does not work for zero.\n\nHere is the right one:", "This is incorrect. It should be:",
    "Sorry, I made a mistake. Let me fix that:", "### Corrected solution", "Actually, the code above is wrong.",
    "Стоп, это неверно. Исправленная версия:", "Ой, здесь ошибка. Правильно так:", "Исправленный код:",
    "Этот вариант неправильный, поэтому:", "Нет, это не работает.\n\nВот верный вариант:", "Исправляю:",
)  # fmt: skip
INSTEAD = {
    "a stub": f"```python\n{HEAD}\n    pass\n```",
    "a documented stub": f'```python\n{HEAD}\n    """Double it."""\n    ...\n```',
    "an error": f"```python\n{HEAD}\n    raise NotImplementedError\n```",
    "a header": f"```python\n{HEAD}\n",
    "half a header": "```python\ndef twi",
    "an opened fence": "```python\n",
    "a cut one": f"```python\n{HEAD}\n    return (",
    "a broken one": f"```python\n{HEAD}\n    return ((\n```",
    "another function": "```python\ndef double(n: int) -> int:\n    return n * 2\n```",
    "a method": f"```python\nclass S:\n    {HEAD}\n        return n * 2\n```",
    "a wrong one": f"```python\n{WRONG_CODE}\n```",
    "a wrong one without a fence": WRONG_CODE,
    "a stub without a fence": f"{HEAD}\n    pass",
}
NO_CORRECTION = {
    "a skeleton": f"Skeleton:\n\n```python\n{HEAD}\n    pass\n```",
    "a signature that was asked for": f"The signature for your notes:\n\n```python\n{HEAD} ...\n```",
    "what not to write": f"Do not write this, it is wrong:\n\n```python\n{HEAD}\n    pass\n```",
    "what not to write, in Russian": f"Не пишите так, это неправильно:\n\n```python\n{HEAD}\n    pass\n```",
    "a use": "If the text is wrong, it fails. The correct call:\n\n```python\nprint(twice(1))\n```",
    "a corrected test": "Wait, the test is wrong. Corrected:\n\n```python\ndef test():\n    assert twice(1)\n```",
    "a correction of a word": "Wait, the comment is wrong. Corrected: it doubles.",
}  # fmt: skip


def fence(code: str) -> str:
    return f"```python\n{code}\n```"


def result(reply: str) -> object:
    """Return what the program of a reply makes of 21; None where it makes nothing."""
    names: dict[str, object] = {}
    try:
        exec(find_python(reply, "twice") or "", names)  # noqa: S102 - sources of this file
        found = names.get("twice")
        return found(21) if callable(found) else None
    except (SyntaxError, NameError, NotImplementedError):
        return None


@pytest.mark.parametrize("instead", list(INSTEAD))
@pytest.mark.parametrize("words", TAKEN_BACK)
def test_a_program_taken_back_is_not_the_answer(words: str, instead: str) -> None:
    assert result(f"{fence(RIGHT)}\n\n{words}\n\n{INSTEAD[instead]}") != 42
    if instead != "an opened fence":
        assert result(f"{RIGHT}\n\n{words}\n\n{INSTEAD[instead]}") != 42


@pytest.mark.parametrize("words", TAKEN_BACK)
def test_what_stands_in_its_place_is(words: str) -> None:
    assert result(f"{fence(WRONG_CODE)}\n\n{words}\n\n{fence(RIGHT)}") == 42
    assert result(f"{fence(WRONG_CODE)}\n\n{words}\n\n{RIGHT}\n") == 42
    helped = RIGHT.replace("* 2", "* FACTOR")
    assert result(f"{fence('FACTOR = 2')}\n{fence(WRONG_CODE)}\n\n{words}\n\n{fence(helped)}") == 42


@pytest.mark.parametrize("words", TAKEN_BACK)
def test_a_correction_of_a_helper_is_run_with_the_program(words: str) -> None:
    wrong = "def by(n):\n    return 3 * n"
    program = f"{wrong}\n\n\n{HEAD}\n    return by(n)"
    assert result(f"{fence(program)}\n\n{words}\n\n{fence(wrong.replace('3', '2'))}") == 42
    assert result(f"{fence(program.replace('3', '2'))}\n\n{words}\n\n{fence(wrong)}") == 63


@pytest.mark.parametrize("after", list(NO_CORRECTION))
def test_what_is_not_said_to_replace_it_takes_nothing_back(after: str) -> None:
    assert result(f"{fence(RIGHT)}\n\n{NO_CORRECTION[after]}") == 42


@pytest.mark.parametrize(
    ("first", "second"),
    [("First attempt (fails for zero):", "Final solution:"), ("Черновик:", "Окончательное решение:")],
)
@pytest.mark.parametrize("instead", list(INSTEAD))
def test_a_draft_is_not_the_answer_though_nothing_better_follows(first: str, second: str, instead: str) -> None:
    assert result(f"{first}\n\n{fence(RIGHT)}\n\n{second}\n\n{INSTEAD[instead]}") != 42


WRONG_KEYS = (
    "wrong_code", "bad", "incorrect_solution", "buggyCode", "draft", "before", "code_before_fix", "not_correct",
    "original", "неверный_код", "неправильно", "черновик", "до", "было", "код до исправления", "плохой вариант",
)  # fmt: skip
RIGHT_KEYS = ("code", "solution", "fixed_code", "after", "final", "код", "исправленный_код", "стало")


@pytest.mark.parametrize("key", WRONG_KEYS)
def test_a_key_that_says_wrong_holds_no_answer(key: str) -> None:
    for other in RIGHT_KEYS:
        for first, second in [(RIGHT, WRONG_CODE), (WRONG_CODE, RIGHT), (RIGHT, f"{HEAD}\n    pass")]:
            expected = 42 if second == RIGHT else None if "pass" in second else 63
            for pairs in ({key: first, other: second}, {other: second, key: first}):
                assert result(json.dumps(pairs, ensure_ascii=False)) == expected, pairs
                assert result(f"```json\n{json.dumps(pairs)}\n```") == expected, pairs
            nested = {key: {"text": first}, other: {"text": second}}
            assert result(json.dumps(nested, ensure_ascii=False)) == expected, nested
        assert result(json.dumps({key: RIGHT, other: f"{HEAD}\n    return ("}, ensure_ascii=False)) != 42
        cut = json.dumps({key: RIGHT, other: f"{HEAD}\n    return n"}, ensure_ascii=False)[:-9]
        assert result(cut) != 42


def test_the_last_string_of_an_object_is_the_answer_and_an_alternative_is_not() -> None:
    assert result(json.dumps([{"code": WRONG_CODE}, {"code": RIGHT}])) == 42
    assert result(json.dumps({"solution": RIGHT, "alternative": WRONG_CODE})) == 42
    assert result(json.dumps({"wrong_code": RIGHT})) == 42  # alone it is what the model answered


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
        assert result(f"{before}{opening}{gap}{html.escape(source)}\n{close}") == 42
        styled = opening.replace(">", ' style="margin:0;" data-x="">', 1)
        assert result(f"{before}{styled}{gap}{html.escape(source)}\n{close}") == 42


KOTLIN_HEAD = "fun twice(n: Int): Int"
KOTLIN = f"{KOTLIN_HEAD} {{\n    return n * 2\n}}"


@pytest.mark.parametrize("instead", [KOTLIN_HEAD, f"{KOTLIN_HEAD} = TODO()", f"{KOTLIN}\n// x"])
@pytest.mark.parametrize("words", TAKEN_BACK)
def test_a_kotlin_program_taken_back_is_not_the_answer(words: str, instead: str) -> None:
    found = find_kotlin(f"```kotlin\n{KOTLIN}\n```\n\n{words}\n\n```kotlin\n{instead}\n```", "twice")
    assert (found or "").strip() == instead


def test_a_wrong_key_holds_no_kotlin_answer() -> None:
    reply = json.dumps({"wrong_code": KOTLIN, "code": KOTLIN.replace("2", "3")})
    assert find_kotlin(reply, "twice") == KOTLIN.replace("2", "3")


@pytest.mark.parametrize(
    "piece",
    [
        f"Wait, this is wrong. Corrected version:\n```python\n{HEAD}\n", "Wait, this is wrong:\n```\n",
        "Fixed:\ndef twice", '{"wrong": "def twice", ', "Oops, wrong. ", f"```python\n{RIGHT}\n```\nFixed code:\n",
    ],
)  # fmt: skip
def test_hostile_replies_take_little_time(piece: str) -> None:
    with bounded(8):
        find_python(piece * (600_000 // len(piece)), "twice")
        find_kotlin(piece * (600_000 // len(piece)), "twice")
