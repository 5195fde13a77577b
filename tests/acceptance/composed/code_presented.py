"""How models put a program into a reply."""

import html
import json
import re
from collections.abc import Mapping
from random import Random
from textwrap import indent

from data.records import Item
from tests.acceptance.composed.code_rewritten import REWRITTEN
from tests.acceptance.composed.common import Template
from tests.acceptance.composed.programs import Program, example, mutants, right


def led(source: str, first: str, others: str, blank: str | None = None) -> str:
    """Put one lead before the lines that begin a statement of the module and another before all others."""
    return "\n".join(
        (first if line and not line.startswith(" ") else others if line or blank is None else blank) + line
        for line in source.splitlines()
    )


def numbered(source: str, form: str) -> str:
    return "\n".join(form.format(number) + line for number, line in enumerate(source.splitlines(), 1))


def words(program: Program, other: str) -> dict[str, str]:
    """Say what the templates' letters stand for: the program given, another one, and what is said of them."""
    item, source = program.item, program.source
    shown = example(item)
    found = {
        "c": source,  # the program
        "w": other,  # a wrong program
        "x": right(item).source,  # the right program
        "n": program.name,
        "s": right(item).header,
        "p": item.prompt,
        "t": item.prompt.split("\n\n")[1],
        "i": indent(source, "    "),
        "j": indent(source, "   "),
        "q": indent(source, "> ", lambda _: True),
        "d": indent(source, "+", lambda _: True),
        "m": indent(other, "-", lambda _: True),
        "a": str(len(source.splitlines())),
        "g": led(source, ">>> ", "... "),
        "N": numbered(source, "{}"),
        "I": f"In [1]: {source}".replace("\n", "\n   ...: "),
        "h": html.escape(source),
        "J": json.dumps(source),
        "U": json.dumps(source, ensure_ascii=False),
        "l": numbered(source, "{}: "),
        "b": numbered(source, "{:>3} | "),
        "o": numbered(source, "{:>2}  "),
        "z": indent(source, "\u200b", lambda _: True),
        "Z": source.replace(" ", "\u200b ", 1).replace("(", "(\u200b", 1).replace(":\n", ":\u2060\n", 1),
        "y": re.sub(r"^ +", lambda lead: "\u00a0" * len(lead[0]), source, flags=re.MULTILINE),
        "Y": source.replace("return ", "return\u00a0", 1),
        "R": source.replace("\n", "\r\n"),
        "S": "\n".join(line + "  " for line in source.splitlines()),
        "L": source.replace("\n", "\n\n"),
    }
    if shown:
        found |= {"u": shown[0], "v": shown[1]}
    return found


def right_words(item: Item, rng: Random) -> Mapping[str, str]:
    return words(right(item), rng.choice(mutants(item)))


def wrong_words(item: Item, rng: Random) -> Mapping[str, str]:
    return words(Program(item, rng.choice(mutants(item))), rng.choice(mutants(item)))


def longer_words(item: Item, rng: Random) -> Mapping[str, str]:
    """Say what the letters stand for when the program given is a longer writing of the right one."""
    made = REWRITTEN[rng.choice(LONGER)](right(item))
    return words(Program(item, made), rng.choice(mutants(item))) if made else {}


def longer_wrong_words(item: Item, rng: Random) -> Mapping[str, str]:
    made = REWRITTEN[rng.choice(LONGER)](Program(item, rng.choice(mutants(item))))
    return words(Program(item, made), rng.choice(mutants(item))) if made else {}


# Rewritings that read as well in every presentation, but for those that show a program line by line.
LONGER = (
    "docstring", "short docstring", "comments", "typing names", "helper above", "helper below", "two helpers",
    "imports", "used import", "missing unused import", "constant above", "constant below", "main guard", "prints",
    "static method", "nested function", "decorator", "dataclass", "unittest", "input in the guard", "long header",
)  # fmt: skip
LINE_BY_LINE = ("console", "console pycon", "notebook")

# One program and nothing that takes it back.
ALONE: Mapping[str, Template] = {
    "python": "```python\n%c\n```",
    "py": "```py\n%c\n```",
    "python3": "```python3\n%c\n```",
    "Python": "```Python\n%c\n```",
    "PYTHON": "```PYTHON\n%c\n```",
    "ipython": "```ipython\n%c\n```",
    "version after the word": "```python 3\n%c\n```",
    "five tildes": "~~~~~python\n%c\n~~~~~",
    "rule after": "```python\n%c\n```\n\n---",
    "html comment before": "<!-- %n -->\n```python\n%c\n```",
    "code in the prose": (
        "I use `if`, `len(x)` and `a == b`:\n\n```python\n%c\n```\n\nThen `return` ends it.",
        "Здесь нужны `if`, `len(x)` и `a == b`:\n\n```python\n%c\n```\n\nВ конце `return`.",
    ),
    "steps before": (
        "**Step 1.** Read the task.\n**Step 2.** Write `%n`.\n\n```python\n%c\n```",
        "**Шаг 1.** Читаем задание.\n**Шаг 2.** Пишем `%n`.\n\n```python\n%c\n```",
    ),
    "bare fence": "```\n%c\n```",
    "space before the word": "``` python\n%c\n```",
    "tildes": "~~~\n%c\n~~~",
    "tildes python": "~~~python\n%c\n~~~",
    "four backticks": "````python\n%c\n````",
    "attributes": '```python title="solution.py" linenums="1"\n%c\n```',
    "braces": "```{.python}\n%c\n```",
    "blank lines inside": "```python\n\n\n%c\n\n\n```\n\n",
    "fence not closed": "```python\n%c\n",
    "fence closed with spaces": "```python  \n%c\n```   \n",
    "fence indented": "   ```python\n%j\n   ```",
    "fence in a list": (
        "1. Here is the function:\n\n   ```python\n%j\n   ```\n\n2. It handles the edge cases.",
        "1. Вот функция:\n\n   ```python\n%j\n   ```\n\n2. Крайние случаи учтены.",
    ),
    "fence in a deep list": (
        "- Solution:\n  - code:\n\n    ```python\n%i\n    ```\n",
        "- Решение:\n  - код:\n\n    ```python\n%i\n    ```\n",
    ),
    "quoted fence": "> ```python\n%q\n> ```",
    "indented code": ("Here is the function:\n\n%i\n\nThat is all.", "Вот функция:\n\n%i\n\nЭто всё."),
    "no fence": "%c",
    "no fence, blank lines": "\n\n%c\n\n",
    "no fence, prose before": ("Here is the function you asked for:\n\n%c", "Вот нужная вам функция:\n\n%c"),
    "no fence, prose after": (
        "%c\n\nThis function works for every valid argument.",
        "%c\n\nЭта функция работает при любых допустимых аргументах.",
    ),
    "no fence, prose around": (
        "Sure! The function below does it.\n\n%c\n\nIt's simple, isn't it? Let me know if you need more.",
        "Конечно! Функция ниже решает задачу.\n\n%c\n\nЕсли нужны пояснения (или тесты), напишите.",
    ),
    "no fence, prose at once": ("Solution:\n%c\nExplanation: the body follows the task.", "Решение:\n%c\nГотово!"),
    "name of the language first": "python\n%c",
    "prose before": (
        "Certainly! Here's a Python function that solves the task:\n\n```python\n%c\n```",
        "Конечно! Вот функция на Python, решающая задачу:\n\n```python\n%c\n```",
    ),
    "prose after": (
        "```python\n%c\n```\n\nThe function `%n` takes its arguments and returns the value asked for. It's O(n).",
        "```python\n%c\n```\n\nФункция `%n` принимает аргументы и возвращает искомое значение. Сложность — O(n).",
    ),
    "headings": (
        ("## Solution\n\n```python\n%c\n```\n\n### Explanation\n\n* **Input**: see the signature `%s`\n"
        "* **Output**: as asked\n"),
        ("## Решение\n\n```python\n%c\n```\n\n### Пояснение\n\n* **Вход**: по сигнатуре `%s`\n"
        "* **Выход**: как в задании\n"),
    ),
    "answer marker": ("ANSWER:\n```python\n%c\n```", "ОТВЕТ:\n```python\n%c\n```"),
    "bold file name": ("**%n.py**\n\n```python\n%c\n```", "**Файл %n.py**\n\n```python\n%c\n```"),
    "fence at once after prose": ((
        "Here it is: \n```python\n%c\n```\n"
        "Done!"
    ), "Вот она: \n```python\n%c\n```\nГотово!"),
    "details": "<details>\n<summary>Code</summary>\n\n```python\n%c\n```\n\n</details>",
    "task restated": (
        "The task: %t\n\n```python\n%c\n```",
        "Задача: %t\n\n```python\n%c\n```",
    ),
    "prompt and answer": "%p\n\n```python\n%c\n```",
    "emoji": (
        "🐍 Python:\n\n```python\n%c\n```\n\n✅ Done! 🎉",
        "🐍 Python:\n\n```python\n%c\n```\n\n✅ Готово! 🎉",
    ),
    "pre": "<pre>\n%h\n</pre>",
    "pre code": '<p>%n:</p>\n<pre><code class="language-python">%h\n</code></pre>',
    "code tag": '<code language="python">\n%c\n</code>',
    "answer tag": "<answer>\n```python\n%c\n```\n</answer>",
    "answer tag, no fence": "<answer>\n%c\n</answer>",
    "python brackets": "[PYTHON]\n%c\n[/PYTHON]",
    "json": '{"code": %J}',
    "json fence": '```json\n{\n  "language": "python",\n  "code": %U\n}\n```',
    "json answer": (
        '{"explanation": "It follows the task.", "answer": %J}',
        '{"explanation": "Всё по заданию.", "answer": %U}',
    ),
    "json with a fence inside": ((
        '{"answer": "see below"}\n\n```python\n%c\n'
        '```'
    ), '{"ответ": "ниже"}\n\n```python\n%c\n```'),
    "diff": "```diff\n%d\n```",
    "diff with a head": "```diff\n--- /dev/null\n+++ b/solution.py\n@@ -0,0 +1,%a @@\n%d\n```",
    "console": "```python\n%g\n```",
    "console pycon": "```pycon\n%g\n...\n>>> %u\n%v\n```",
    "notebook": "```\n%I\n```",
    "notebook cell": "In [1]:\n\n```python\n%c\n```\n\nOut[1]:\n",
    "numbers and colons": "```\n%l\n```",
    "numbers and bars": "```python\n%b\n```",
    "numbers and spaces": "```python\n%o\n```",
    "byte order mark": "\ufeff%c",
    "byte order mark in the fence": "```python\n\ufeff%c\n```",
    "zero-width lines": "```python\n%z\n```",
    "zero-width inside": "```python\n%Z\n```",
    "no-break indentation": "```python\n%y\n```",
    "no-break space": "```python\n%Y\n```",
    "carriage returns": "```python\r\n%R\r\n```\r\n",
    "carriage returns, no fence": "%R\r\n",
    "spaces at the ends": "```python\n%S\n```",
    "blank lines between": "```python\n%L\n```",
    "end of text": "```python\n%c\n```<|im_end|>",
    "thinking": (
        ("<think>\nOkay, %t\n\nMaybe:\n```python\n%w\n```\nNo, that is wrong. Let me redo it.\n</think>\n\n"
        "```python\n%c\n```"),
        "<think>\nИтак: %t\n\nМожет быть:\n```python\n%w\n```\nНет, неверно.\n</think>\n\n```python\n%c\n```",
    ),
    "thinking tag": "<thinking>\n%t\n</thinking>\n\n```python\n%c\n```",
    "thinking's end": ((
        "Hmm, not\n%w\n</think>\n\n```python\n%c\n"
        "```"
    ), "Хм, не\n%w\n</think>\n\n```python\n%c\n```"),
    "empty thinking": "<think>\n\n</think>\n\n```python\n%c\n```",
    "usage in another fence": (
        "```python\n%c\n```\n\nUsage:\n\n```python\nprint(%u)  # %v\n```",
        "```python\n%c\n```\n\nПример использования:\n\n```python\nprint(%u)  # %v\n```",
    ),
    "usage and output": (
        "```python\n%c\n\nprint(%u)\n```\n\nOutput:\n\n```\n%v\n```",
        "```python\n%c\n\nprint(%u)\n```\n\nВывод:\n\n```\n%v\n```",
    ),
    "tests in another fence": (
        "```python\n%c\n```\n\nTests:\n\n```python\ndef test_%n():\n    assert %u == %v\n```",
        "```python\n%c\n```\n\nТесты:\n\n```python\ndef test_%n():\n    assert %u == %v\n```",
    ),
    "tests import it": (
        "`%n.py`:\n\n```python\n%c\n```\n\n`test_%n.py`:\n\n```python\nfrom %n import %n\n\nassert %u == %v\n```",
        ("Файл `%n.py`:\n\n```python\n%c\n```\n\nФайл с тестами:\n\n```python\nfrom %n import %n\n\n"
        "assert %u == %v\n```"),
    ),
    "shell before": (
        "Save as `solution.py`.\n\n```python\n%c\n```\n\n```bash\n$ python solution.py\n```",
        "```bash\npython --version\n```\n\n```python\n%c\n```",
    ),
    "console after": "```python\n%c\n```\n\n```\n>>> %u\n%v\n```",
    "signature before": ("The signature is:\n\n```python\n%s\n```\n\nSo:\n\n```python\n%c\n```",
                         "Сигнатура:\n\n```python\n%s\n```\n\nИтак:\n\n```python\n%c\n```"),
    "stub before": (
        "Begin with the skeleton:\n\n```python\n%s\n    pass\n```\n\nNow fill it in:\n\n```python\n%c\n```",
        "Начнём с заготовки:\n\n```python\n%s\n    pass\n```\n\nТеперь заполним её:\n\n```python\n%c\n```",
    ),
    "pseudocode before": (
        ("```\nfunction %n:\n    for each case, do as the task says\n    return the result\n```\n\n```python\n%c\n"
        "```"),
        ("```\nфункция %n:\n    для каждого случая сделать по условию\n    вернуть результат\n```\n\n```python\n"
        "%c\n```"),
    ),
    "examples before": (
        "Examples:\n\n```\n%u -> %v\n```\n\nSolution:\n\n```python\n%c\n```",
        "Примеры:\n\n```\n%u -> %v\n```\n\nРешение:\n\n```python\n%c\n```",
    ),
    "piece after": (
        "```python\n%c\n```\n\nThe signature line\n\n```python\n%s\n```\n\nis as you gave it.",
        "```python\n%c\n```\n\nСтрока сигнатуры\n\n```python\n%s\n```\n\nвзята из задания.",
    ),
    "other language after": (
        "```python\n%c\n```\n\nIn JavaScript it would begin so:\n\n```javascript\nfunction %n() {}\n```",
        "```python\n%c\n```\n\nНа JavaScript начало было бы таким:\n\n```javascript\nfunction %n() {}\n```",
    ),
    "json after": '```python\n%c\n```\n\n```json\n{"status": "done"}\n```',
    "table after": "```python\n%c\n```\n\n| | O |\n|---|---|\n| time | n |\n| space | 1 |",
    "twice": (
        "```python\n%c\n```\n\nOnce more, the whole function:\n\n```python\n%c\n```",
        "```python\n%c\n```\n\nЕщё раз функция целиком:\n\n```python\n%c\n```",
    ),
    "corrected": (
        "```python\n%w\n```\n\nWait, this is wrong. The corrected version:\n\n```python\n%c\n```",
        "```python\n%w\n```\n\nСтоп, здесь ошибка. Исправленная версия:\n\n```python\n%c\n```",
    ),
    "first attempt": (
        "First attempt (fails for some arguments):\n\n```python\n%w\n```\n\nFinal solution:\n\n```python\n%c\n```",
        ("Первая попытка (не проходит часть тестов):\n\n```python\n%w\n```\n\nОкончательное решение:\n\n"
        "```python\n%c\n```"),
    ),
    "mistake shown before": (
        "A common mistake is:\n\n```python\n%w\n```\n\nThe right way:\n\n```python\n%c\n```",
        "Частая ошибка:\n\n```python\n%w\n```\n\nПравильно так:\n\n```python\n%c\n```",
    ),
    "replacing diff": (
        "I mend my draft:\n\n```diff\n%m\n%d\n```",
        "Исправляю черновик:\n\n```diff\n%m\n%d\n```",
    ),
}  # fmt: skip

# The answer is %w, which is wrong; %x is right, and not given as the answer.
TAKEN_BACK: Mapping[str, Template] = {
    "right one corrected away": (
        "```python\n%x\n```\n\nWait, this is wrong. The corrected version:\n\n```python\n%w\n```",
        "```python\n%x\n```\n\nСтоп, здесь ошибка. Исправленная версия:\n\n```python\n%w\n```",
    ),
    "right one as a first attempt": (
        "First attempt (fails for some arguments):\n\n```python\n%x\n```\n\nFinal solution:\n\n```python\n%w\n```",
        ("Первая попытка (не проходит часть тестов):\n\n```python\n%x\n```\n\nОкончательное решение:\n\n"
        "```python\n%w\n```"),
    ),
    "right one under another key": '{"wrong_code": %F, "code": %J}',
    "right one as a mistake before": (
        "A common mistake is:\n\n```python\n%x\n```\n\nThe right way:\n\n```python\n%w\n```",
        "Частая ошибка:\n\n```python\n%x\n```\n\nПравильно так:\n\n```python\n%w\n```",
    ),
    "right one only in thought": "<think>\n```python\n%x\n```\n</think>\n\n```python\n%w\n```",
    "right one in thought, then refusal": (
        "<think>\n```python\n%x\n```\n</think>\n\nI'm sorry, but I can't help with that.",
        "<think>\n```python\n%x\n```\n</think>\n\nИзвините, я не могу помочь с этим.",
    ),
    "right one overwritten": "```python\n%x\n\n\n%w\n```",
    "right one overwritten, no fence": "%x\n\n\n%w",
    "right one removed in a diff": "```diff\n%M\n%W\n```",
    "right one in a comment": "```python\n# %X\n%w\n```",
    "right one in a string": "```python\nCODE = '''\n%x\n'''\n\n\n%w\n```",
    "right one as the reference of the tests": (
        "```python\n%w\n```\n\nTests:\n\n```python\n%Q\n\n\nassert %n is not reference_solution\n```",
        "```python\n%w\n```\n\nТесты:\n\n```python\n%Q\n\n\nassert %n is not reference_solution\n```",
    ),
    "right one under if False": "```python\nif False:\n%V\nelse:\n%O\n```",
}  # fmt: skip


def taken_words(item: Item, rng: Random) -> Mapping[str, str]:
    """Say what the letters of TAKEN_BACK stand for; the wrong program is none that breaks off or does nothing."""
    source = right(item).source
    wrong = rng.choice([other for other in mutants(item) if "pass" not in other] or [""])
    if not wrong:
        return {}
    return words(Program(item, wrong), wrong) | {
        "M": indent(source, "-", lambda _: True),
        "W": indent(wrong, "+", lambda _: True),
        "X": source.replace("\n", "\n# "),
        "V": indent(source, "    "),
        "O": indent(wrong, "    "),
        "F": json.dumps(source),
        "Q": right(item).called("reference_solution"),
    }
