"""Replies to expressions of whole numbers."""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from random import Random

from data.records import Item
from tests.acceptance.composed.common import (
    ECHOES,
    EMPTY,
    MARKED,
    Style,
    Template,
    by_language,
    styles,
)

# %x the number given, %w another number, %e the expression, %L the same for LaTeX, %t the steps.
WORKED: Mapping[str, Template] = {
    "equation": "%e = %x",
    "equation dot": ("So %e = %x.", "Итак, %e = %x."),
    "equation bold": "%e = **%x**",
    "equals": "= %x",
    "equation in the marker": ("ANSWER: %e = %x", "ОТВЕТ: %e = %x"),
    "latex inline": r"\( %L = %x \)",
    "latex display": "\\[\n%L = \\boxed{%x}\n\\]",
    "latex dollars": "$$%L = %x$$",
    "value is": ("The value of the expression is %x.", "Значение выражения равно %x."),
    "value is bold": ("The value of the expression is **%x**.", "Значение выражения равно **%x**."),
    "equals in words": ("%e equals %x.", "%e равно %x."),
    "json number": '{"answer": %x}',
    "json number fence": '```json\n{"answer": %x}\n```',
    "json result": '{"expression": "%e", "result": %x}',
    "output": ("```python\nprint(%e)\n```\n\n```\n%x\n```\n\nANSWER: %x", "```python\nprint(%e)\n```\n\nОТВЕТ: %x"),
    "steps": ("%t\n\nANSWER: %x", "%t\n\nОТВЕТ: %x"),
    "steps chatty": (
        "To calculate this, we follow the order of operations:\n\n%t\n\nSo the result is %x.\n\nANSWER: %x",
        "Чтобы вычислить значение, соблюдаем порядок действий:\n\n%t\n\nТаким образом, получаем %x.\n\nОТВЕТ: %x",
    ),
    "steps markdown": (
        "### Step-by-step\n\n%t\n\n### Result\n\n**ANSWER: %x**",
        "### Решение по действиям\n\n%t\n\n### Результат\n\n**ОТВЕТ: %x**",
    ),
    "steps boxed": ("%t\n\nThe answer is $\\boxed{%x}$.", "%t\n\nОтвет: $\\boxed{%x}$"),
    "steps boxed last": "%t\n\n$$\\boxed{%x}$$",
    "steps bold last": "%t\n\n**%x**",
    "steps the answer is": ("%t\nThe answer is %x.", "%t\nОтвет — %x."),
    "steps final answer": ("%t\n\n**Final Answer:** %x", "%t\n\n**Итоговый ответ:** %x"),
    "steps therefore": ("%t\n\nTherefore, the value of the expression is %x.", "%t\n\nЗначит, значение равно %x."),
    "steps hashes": "%t\n#### %x",
    "steps aligned": (
        "\\begin{align*}\n%L &= \\ldots \\\\\n&= %x\n\\end{align*}\n\nANSWER: %x",
        "\\begin{align*}\n%L &= \\ldots \\\\\n&= %x\n\\end{align*}\n\nОТВЕТ: %x",
    ),
    "steps table": (
        "| Step | Result |\n|------|--------|\n| 1 | %w |\n| 2 | %x |\n\nANSWER: %x",
        "| Действие | Результат |\n|---|---|\n| 1 | %w |\n| 2 | %x |\n\nОТВЕТ: %x",
    ),
    "carriage returns": ("First %w.\r\n\r\nThen %x.\r\n\r\nANSWER: %x\r\n", "%w, потом %x.\r\n\r\nОТВЕТ: %x\r\n"),
    "restated": ("We need %e.\n\n%t\n\nANSWER: %x", "Нужно вычислить %e.\n\n%t\n\nОТВЕТ: %x"),
    "let me check": (
        "I get %w at first. Let me check:\n%t\n\nSo it is not %w.\n\nANSWER: %x",
        "Сначала получается %w. Проверим:\n%t\n\nЗначит, не %w.\n\nОТВЕТ: %x",
    ),
    "self-correction": (
        "ANSWER: %w\n\nWait, I added before multiplying. Rerun:\n%t\n\nANSWER: %x",
        "ОТВЕТ: %w\n\nСтоп, порядок действий нарушен. Ещё раз:\n%t\n\nОТВЕТ: %x",
    ),
    "thinking": (
        "<think>\nOkay. %t\nOr is it %w? ANSWER: %w? No.\n</think>\n\nANSWER: %x",
        "<think>\nТак. %t\nИли %w? ОТВЕТ: %w? Нет.\n</think>\n\nОТВЕТ: %x",
    ),
    "thinking's end": ("so not %w.\n</think>\n\nANSWER: %x", "значит, не %w.\n</think>\n\nОТВЕТ: %x"),
    "not the other but": ("ANSWER: not %w but %x", "ОТВЕТ: не %w, а %x"),
    "asks and answers": ("Is it %w? No.\n\nANSWER: %x", "Это %w? Нет.\n\nОТВЕТ: %x"),
    "question and number": ("What is %e?\n\n%x", "Чему равно %e?\n\n%x"),
    "question and answer": ("Q: %e = ?\nA: %x", "Вопрос: %e = ?\nОтвет: %x"),
    "sentence and offer": ("It is %x.\n\nDo you want to see the steps?", "Получится %x.\n\nПоказать решение?"),
    "exactly": ("The answer is exactly %x.", "Ответ: ровно %x."),
    "without dot": ("So the value is %x", "Значит, значение равно %x"),
    "not the other": ("ANSWER: %x, not %w", "ОТВЕТ: %x, а не %w"),
    "brackets after": ("ANSWER: %x (%e = %x)", "ОТВЕТ: %x (%e = %x)"),
    "reasons after": ("ANSWER: %x\n\nExplanation:\n%t", "ОТВЕТ: %x\n\nПояснение:\n%t"),
    "offer after": (
        "ANSWER: %x\n\nDo you have 1 or 2 more expressions for me? 😊",
        "ОТВЕТ: %x\n\nЕсть ещё 1 или 2 выражения? 😊",
    ),
    "inline marker": ("First comes %w, then the rest. ANSWER: %x", "Сначала %w, потом остальное. ОТВЕТ: %x"),
    "echo and answer": ("%e\n\nANSWER: <number>\n\nANSWER: %x", "%e\n\nОТВЕТ: <число>\n\nОТВЕТ: %x"),
}  # fmt: skip

# Here %x is the right number and %w a wrong one, and the right one is not given as the answer.
UNDECIDED: Mapping[str, Template] = {
    "negated": ("ANSWER: not %x", "ОТВЕТ: не %x"),
    "negated sentence": ("The answer is not %x.", "Ответ — не %x."),
    "negated it is": ("It isn't %x.", "Это не %x."),
    "negated any but": ("ANSWER: anything but %x", "ОТВЕТ: что угодно, но не %x"),
    "negated unequal": ("ANSWER: ≠ %x", "ОТВЕТ: ≠ %x"),
    "negated for the other": ("ANSWER: not %x but %w", "ОТВЕТ: не %x, а %w"),
    "question": ("Is it %x?", "Это %x?"),
    "question marker": ("ANSWER: %x?", "ОТВЕТ: %x?"),
    "question bold": ("**Is it %x?**", "**Может быть, %x?**"),
    "question equation": "%e = %x?",
    "question unsure": ("%x? I am not sure.", "%x? Не уверен."),
    "question boxed": (r"Is it $\boxed{%x}$?", r"Это $\boxed{%x}$?"),
    "negated boxed": (r"$\boxed{\text{not } %x}$", r"$\boxed{\text{не } %x}$"),
    "negated equation": "%e ≠ %x",
    "negated equation latex": r"$%L \neq %x$",
    "negated opinion": ("I don't think it is %x.", "Не думаю, что это %x."),
    "negated equals": ("The value does not equal %x.", "Значение не равно %x."),
    "hedged or": ("ANSWER: %x or %w", "ОТВЕТ: %x или %w"),
    "hedged or reversed": ("ANSWER: %w or %x", "ОТВЕТ: %w или %x"),
    "hedged and": ("ANSWER: %x and %w", "ОТВЕТ: %x и %w"),
    "hedged between": ("ANSWER: between %b and %c", "ОТВЕТ: от %b до %c"),
    "hedged between the ends": ("ANSWER: between %x and %c", "ОТВЕТ: от %x до %c"),
    "hedged either": ("The answer is either %x or %w.", "Ответ: либо %x, либо %w."),
    "hedged lines": "%x\n%w",
    "hedged bullets": "- %x\n- %w",
    "hedged json": '{"answer": [%x, %w]}',
    "hedged boxed": r"$\boxed{%x \text{ or } %w}$",
    "hedged opinions": ("One way gives %x, another gives %w. Both look right.", "Можно получить %x, а можно %w."),
    "hedged more": ("ANSWER: more than %x", "ОТВЕТ: больше %x"),
    "hedged less": ("ANSWER: less than %x", "ОТВЕТ: меньше %x"),
    "hedged greater": ("ANSWER: > %x", "ОТВЕТ: > %x"),
    "last marker wrong": ("ANSWER: %x\nANSWER: %w", "ОТВЕТ: %x\nОТВЕТ: %w"),
    "right only in thought": ("<think>\nANSWER: %x\n</think>\n\nANSWER: %w", "<think>\n%x\n</think>\n\nОТВЕТ: %w"),
    "right in the steps only": ("%e = %x\n\nANSWER: %w", "%e = %x\n\nОТВЕТ: %w"),
    "goes on": ("ANSWER: %x + 1", "ОТВЕТ: %x + 1"),
    "goes on times": ("ANSWER: %x * 2 + 1", "ОТВЕТ: %x * 2 + 1"),
    "goes on fraction": ("ANSWER: %x + 1/2", "ОТВЕТ: %x + 1/2"),
    "half more": ("ANSWER: %x.5", "ОТВЕТ: %x,5"),
    "chain of equals": ("ANSWER: %x = %w", "ОТВЕТ: %x = %w"),
    "unevaluated": ("ANSWER: %e", "ОТВЕТ: %e"),
    "unevaluated bare": "%e",
    "unevaluated equals": "%e =",
    "unevaluated question": "%e = ?",
    "breaks off at the marker": ("%e\n\nANSWER:", "%e\n\nОТВЕТ:"),
    "breaks off in bold": ("%e\n\n**ANSWER:", "%e\n\n**ОТВЕТ:"),
    "breaks off at the verdict": ("Let me calculate %e. The answer is", "Вычислим %e. Ответ —"),
    "placeholder": ("ANSWER: <number>", "ОТВЕТ: <число>"),
    "letter": ("ANSWER: x", "ОТВЕТ: x"),
    "number's name": ("ANSWER: a number", "ОТВЕТ: число"),
    "unknown": ("ANSWER: unknown", "ОТВЕТ: неизвестно"),
    "not a number": ("ANSWER: NaN", "ОТВЕТ: NaN"),
    "infinity": ("ANSWER: ∞", "ОТВЕТ: ∞"),
    "steps without numbers": (
        "First do the parentheses, then multiply, then add and subtract from left to right.",
        "Сначала скобки, затем умножение, затем сложение и вычитание слева направо.",
    ),
    "code alone": "```python\nprint(%e)\n```",
}  # fmt: skip

_OPERATIONS: Mapping[type[ast.operator], tuple[str, Callable[[int, int], int]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
}


def worked(expression: str) -> tuple[int, list[str], list[int]]:
    """Work an expression out: its value, the steps as lines and the steps' values."""
    lines: list[str] = []
    values: list[int] = []

    def value(node: ast.expr) -> int:
        if isinstance(node, ast.BinOp):
            sign, apply = _OPERATIONS[type(node.op)]
            left, right = value(node.left), value(node.right)
            result = apply(left, right)
            lines.append(f"{left} {sign} {f'({right})' if right < 0 else right} = {result}")
            values.append(result)
            return result
        assert isinstance(node, ast.Constant), expression
        assert isinstance(node.value, int), expression
        return node.value

    return value(ast.parse(expression, mode="eval").body), lines, values


def flat(expression: str) -> int:
    """Work an expression out from left to right, as if all operators and brackets were equal."""
    tokens = re.findall(r"\d+|[-+*]", expression)
    total = int(tokens[0])
    for sign, number in zip(tokens[1::2], tokens[2::2], strict=True):
        apply = {"+": operator.add, "-": operator.sub, "*": operator.mul}[sign]
        total = apply(total, int(number))
    return total


def slips(item: Item) -> dict[str, int]:
    """Say what the usual slips come to, where they differ from the right number."""
    right = int(item.answer)
    digits = str(abs(right))
    sign = -1 if right < 0 else 1
    _, _, values = worked(item.facts["expression"])
    found = {
        "one more": right + 1,
        "one less": right - 1,
        "ten more": right + 10,
        "hundred less": right - 100,
        "sign lost": -right,
        "tenfold": right * 10,
        "thousandfold": right * 1000,
        "digit lost": sign * int(digits[:-1] or "0"),
        "first digit lost": sign * int(digits[1:] or "0"),
        "digit doubled": sign * int(digits + digits[-1]),
        "digits swapped": sign * int(digits[::-1]),
        "order of operations": flat(item.facts["expression"]),
        "without brackets": worked(re.sub(r"[()]", "", item.facts["expression"]))[0],
        "last operation left out": values[-2],
        "far off": right + 12345,
    }
    return {slip: value for slip, value in found.items() if value != right}


def words(item: Item, given: int, other: int) -> dict[str, str]:
    """Say what the templates' letters stand for when `given` is the answer given."""
    expression = item.facts["expression"]
    latex = expression.replace("*", r"\times")
    value, lines, _ = worked(expression)
    if given != value:
        lines = lines[:-1]  # the step that would contradict the number given
    return {
        "x": str(given),
        "w": str(other),
        "b": str(given - 1),
        "c": str(given + 1),
        "e": expression,
        "L": latex,
        "t": "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)),
    }


def right_words(item: Item, rng: Random) -> Mapping[str, str]:
    assert worked(item.facts["expression"])[0] == int(item.answer)
    return words(item, int(item.answer), rng.choice(list(slips(item).values())))


def wrong_words(item: Item, rng: Random) -> Mapping[str, str]:
    return words(item, rng.choice(list(slips(item).values())), int(item.answer))


def thousands(separator: str, least: int = 1000) -> tuple[Style, Style]:
    """Make a right and a wrong style with the thousands set apart."""

    def write(item: Item, number: int) -> str | None:
        if abs(number) < least:
            return None
        return by_language(item, "ANSWER: ", "ОТВЕТ: ") + f"{number:,}".replace(",", separator)

    return (
        lambda item, _rng: write(item, int(item.answer)),
        lambda item, rng: write(item, rng.choice(list(slips(item).values()))),
    )


def minus(sign: str) -> tuple[Style, Style]:
    """Make a right and a wrong style with a minus of its own."""

    def write(item: Item, number: int) -> str | None:
        if number >= 0:
            return None
        return by_language(item, "ANSWER: ", "ОТВЕТ: ") + str(number).replace("-", sign)

    return (
        lambda item, _rng: write(item, int(item.answer)),
        lambda item, rng: write(item, rng.choice(list(slips(item).values()))),
    )


NUMERALS = {
    "comma": thousands(","),
    "space": thousands(" ", 10000),
    "no-break space": thousands("\u00a0", 10000),
    "narrow no-break space": thousands("\u202f"),
    "thin space": thousands("\u2009", 10000),
    "latex comma": thousands("{,}"),
    "latex thin space": thousands(r"\,"),
    "apostrophe": thousands("'"),
    "unicode minus": minus("\u2212"),
    "minus and space": minus("- "),
}  # fmt: skip


def slip(name: str) -> Style:
    def write(item: Item, _rng: Random) -> str | None:
        found = slips(item)
        return by_language(item, "ANSWER: ", "ОТВЕТ: ") + str(found[name]) if name in found else None

    return write


def point_zero(item: Item, _rng: Random) -> str:
    return by_language(item, "ANSWER: ", "ОТВЕТ: ") + item.answer + ".0"


def steps_cut(item: Item, rng: Random) -> str | None:
    """Break off inside the steps, before the last one (where no step before it comes to the same)."""
    right, lines, values = worked(item.facts["expression"])
    if right in values[:-1]:
        return None
    last = lines[-1].split("=")[0]
    return "\n".join([*lines[:-1], rng.choice(["", last, last + "="])])


def steps_cut_in_thought(item: Item, rng: Random) -> str | None:
    steps = steps_cut(item, rng)
    return None if steps is None else f"<think>\n{steps}"


def answer_cut(item: Item, _rng: Random) -> str | None:
    """Break off inside the number."""
    text = item.answer[:-1]
    return None if not text else by_language(item, "ANSWER: ", "ОТВЕТ: ") + text


def in_millions(item: Item, _rng: Random) -> str | None:
    return (
        None
        if item.answer == "0"
        else by_language(item, f"ANSWER: {item.answer} million", f"ОТВЕТ: {item.answer} млн")
    )


def group_before(item: Item, _rng: Random) -> str | None:
    """Set another group of thousands before the number."""
    if not re.fullmatch(r"\d{3}", item.answer):
        return None
    return by_language(item, f"ANSWER: 1,{item.answer}", f"ОТВЕТ: 1 {item.answer}")


RIGHT: dict[str, Style] = {
    **styles(MARKED, right_words),
    **styles(WORKED, right_words),
    **{f"numeral: {name}": right for name, (right, _) in NUMERALS.items()},
    "point zero": point_zero,
}

WRONG: dict[str, Style] = {
    **styles(MARKED, wrong_words, "wrong in: "),
    **styles(WORKED, wrong_words, "wrong in: "),
    **{f"wrong numeral: {name}": wrong for name, (_, wrong) in NUMERALS.items()},
    **styles(UNDECIDED, right_words),
    **{
        f"slip: {name}": slip(name)
        for name in (
            "one more", "one less", "ten more", "hundred less", "sign lost", "tenfold", "thousandfold",
            "digit lost", "first digit lost", "digit doubled", "digits swapped", "order of operations",
            "without brackets", "last operation left out", "far off",
        )
    },
    "steps cut": steps_cut,
    "steps cut in thought": steps_cut_in_thought,
    "answer cut": answer_cut,
    "in millions": in_millions,
    "group before": group_before,
    **EMPTY,
    **ECHOES,
}  # fmt: skip
