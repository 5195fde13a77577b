"""Final answers in the styles that the rules name, each with the one number that it gives."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

SCRIPTS = {"arabic": 0x660, "persian": 0x6F0, "devanagari": 0x966, "bengali": 0x9E6, "thai": 0xE50, "full": 0xFF10}
# A line: kind | reply. {n} is the answer, {k} and {j} other numbers, {a} x {b} = {n}, {c} + {d} = {n}.
COMMON = r"""
marker | #### {n}
marker | ####{n}
marker | #### **{n}**
marker | #### {n}.
marker | #### 3\n{n} = {n}\n#### {n}
box | \boxed{{{n}}}
box | \[ \boxed{{{n}}} \]
box | $\boxed{{{n}}}$
box | $$\boxed{{{n}}}$$
box | \[\n\boxed{{{n}}}\n\]
box | \( \boxed{{{n}}} \)
box | {a} \times {b} = \boxed{{{n}}}
decimals | #### {n}.00
decimals | \boxed{{{n}.00}}
"""
ENGLISH = r"""
marker | #### ${n}
marker | #### {n} dollars
marker | #### {n}\n\nLet me know if you want {k} more examples.
box | \boxed{{\${n}}}
box | \boxed{{{n} \text{{ dollars}}}}
box | The answer is $\boxed{{{n}}}$ dollars for {k} glasses.
box | Therefore, \(\boxed{{{n}}}\). This holds for {k} days.
cue | The answer is {n}.
cue | The answer is ${n}.
cue | The answer is **{n}**.
cue | The answer is: {n}
cue | the answer is {n} dollars
cue | So the answer is {n}!
cue | **Answer:** {n}
cue | **Answer: ${n}**
cue | Answer: {n} dollars
cue | ANSWER: {n}
cue | Final answer: {n}
cue | The final answer is {n}.
cue | Therefore, the final answer is ${n}.
cue | The answer is ${n}. I hope this helps with question {k}!
decimals | The answer is ${n}.00.
decimals | The answer is {n}...
several | The answer is ${n} for the {k} glasses.
several | Answer: She needs to pay ${n} for the {k} glasses.
several | Answer: {k} glasses cost ${n}.
several | The answer is that for {k} glasses and {j} plates she pays ${n}.
several | Answer: ${n} for {k} glasses over {j} days
derived | Answer: {a} * {b} = {n}
derived | The answer is {c} + {d} = {n}.
derived | Answer: {c} + {d} = ${n}
derived | The answer is {a} × {b} = **${n}**.
list | Answer: 1) ${c} 2) ${d} 3) ${c} + ${d} = ${n}
list | Answer:\n1. Glasses: ${c}\n2. Plates: ${d}\n3. Total: ${c} + ${d} = ${n}
parentheses | The answer is {n} ({a} × {b}).
parentheses | Answer: ${n} ({c} + {d})
parentheses | Answer: {n} dollars (that is, {a} * {b})
last | So she pays {n} dollars.
last | {a} x {b} = {n}
last | She needs ${n}.
last | In {k} days that makes {j} glasses, for which she pays ${n}.
unsolved | The answer is {n} + x.
unsolved | Answer: {n} + x
unsolved | #### {n} + x
"""
RUSSIAN = r"""
marker | #### {n} руб.
marker | #### {n} рублей
marker | #### {n}\n\nЕсли нужно, разберу ещё {k} примера.
box | \boxed{{{n} \text{{ руб.}}}}
box | Ответ: $\boxed{{{n}}}$ рублей за {k} стаканов.
box | Итак, \(\boxed{{{n}}}\). Это верно для {k} дней.
cue | Ответ: {n}
cue | Ответ: {n}.
cue | Ответ: {n} руб.
cue | **Ответ:** {n} рублей
cue | **Ответ: {n}**
cue | ОТВЕТ: {n}
cue | Ответ — {n}.
cue | Ответ - {n} рублей
cue | Окончательный ответ: {n}
cue | Ответ: {n} ₽
cue | Итоговый ответ: **{n}** рублей.
cue | Ответ: {n}. Надеюсь, задача {k} теперь понятна!
decimals | Ответ: {n},00 руб.
decimals | Ответ: {n},0
decimals | Ответ: {n}...
several | Ответ: {n} рублей за {k} стаканов.
several | Ответ: {k} стаканов стоят {n} рублей.
several | Ответ: за {k} стаканов и {j} тарелок нужно заплатить {n} руб.
several | **Ответ:** {n} руб. за {k} стаканов на {j} дней
derived | Ответ: {a} * {b} = {n}
derived | Ответ: {c} + {d} = {n} руб.
derived | Ответ: {a} · {b} = **{n}** рублей.
list | Ответ: 1) {c} руб. 2) {d} руб. 3) {c} + {d} = {n} руб.
list | Ответ:\n1. Стаканы: {c} руб.\n2. Тарелки: {d} руб.\n3. Всего: {c} + {d} = {n} руб.
parentheses | Ответ: {n} ({a} × {b}).
parentheses | Ответ: {n} рублей ({c} + {d})
parentheses | Ответ: {n} руб. (то есть {a} * {b})
last | Значит, она заплатит {n} рублей.
last | {a} · {b} = {n}
last | Ей нужно {n} руб.
last | За {k} дней выходит {j} стаканов, за них она платит {n} рублей.
unsolved | Ответ: {n} + x
unsolved | Ответ: {n} + x рублей
unsolved | #### {n} + x
"""
CHINESE = r"""
marker | #### {n}元
marker | #### {n} 元
marker | #### {n}\n\n如有需要，我可以再讲{k}个例子。
box | \boxed{{{n}元}}
box | \boxed{{{n} \text{{ 元}}}}
box | 答案是 $\boxed{{{n}}}$ 元，共{k}个杯子。
cue | 答案是{n}。
cue | 答案是 {n} 元。
cue | 答案：{n}
cue | 答案: {n}元
cue | **答案：{n}元**
cue | **答案**：{n}
cue | 答案为{n}元。
cue | 最终答案：{n}
cue | 最终答案是 **{n}** 元。
cue | 所以答案是{n}元。
cue | 答案是{n}元。希望第{k}题对你有帮助！
cue | 正确答案是{n}。
decimals | 答案是{n}.00元。
decimals | 答案：{n}.0
several | 答案是{k}个杯子共{n}元。
several | 答案：{k}个杯子和{j}个盘子一共要付{n}元。
several | 答案：{n}元，共{k}个杯子。
derived | 答案：{a} × {b} = {n}
derived | 答案是{c}+{d}={n}元。
derived | 答案：{c} + {d} = **{n}**元
list | 答案：1）{c}元 2）{d}元 3）{c} + {d} = {n}元
list | 答案：\n1. 杯子：{c}元\n2. 盘子：{d}元\n3. 总共：{c} + {d} = {n}元
parentheses | 答案是{n}（{a}×{b}）。
parentheses | 答案：{n}元（{c}+{d}）
parentheses | 答案是{n}元（即{a} × {b}）。
last | 所以她要付{n}元。
last | 答：一共要付{n}元。
last | {a}×{b}={n}
last | 她需要{n}元。
last | {k}天共{j}个杯子，要付{n}元。
unsolved | 答案是{n} + x。
unsolved | 答案：{n}+x
unsolved | #### {n} + x
"""
# Replies that stand alone: kind | question | reply | answer.
SINGLE = {
    "en": r"""
clock | At what hour does the train arrive? | The answer is {h}:00 pm. | {h}
clock | At what hour does it end? | It starts at 11:00 am. Answer: {h}:00 PM | {h}
clock | At what hour do they meet? | #### {h}:00 pm | {h}
unit | How many minutes does it take? | The answer is {m} minutes (or {h} hours). | {m}
unit | How many minutes does it take? | Answer: {m} minutes ({h} hours) | {m}
unit | How many apples can she buy? | Answer: {n} apples for ${k}. | {n}
unit | How many apples are left? | The answer is {n} apples of the {k} kg. | {n}
minus | What is the balance? | The answer is −{n}. | -{n}
minus | What is the temperature in degrees? | Answer: −{n} degrees | -{n}
minus | What is the balance? | #### -{n} | -{n}
percent | What percentage is left? | The answer is {p}%. | {p}
percent | What percentage is left? | \boxed{{{p}\%}} | {p}
percent | What percentage is left? | Answer: {p} % of the {k} pupils | {p}
fraction | What fraction is left? | The answer is 3/{q}. | 3/{q}
fraction | What fraction is left? | \boxed{{\frac{{3}}{{{q}}}}} | 3/{q}
""",
    "ru": r"""
clock | В котором часу придёт поезд? | Ответ: {h}:00 | {h}
clock | В котором часу они встретятся? | #### {h}:00 | {h}
unit | Сколько минут это займёт? | Ответ: {m} минут (или {h} часа). | {m}
unit | Сколько минут это займёт? | Ответ: {m} минут ({h} часа) | {m}
unit | Сколько яблок она купит? | Ответ: {n} яблок за {k} руб. | {n}
unit | Сколько долларов стоят стержни? | Ответ: {k} стержней стоят {n} $ | {n}
minus | Каков остаток? | Ответ: −{n}. | -{n}
minus | Какова температура? | Ответ: −{n} градусов | -{n}
percent | Сколько процентов осталось? | Ответ: {p}%. | {p}
percent | Сколько процентов осталось? | Ответ: {p} % от {k} учеников | {p}
fraction | Какая часть осталась? | Ответ: 3/{q}. | 3/{q}
fraction | Какая часть осталась? | \boxed{{\frac{{3}}{{{q}}}}} | 3/{q}
""",
    "zh": r"""
clock | 火车几点到？ | 答案是下午{h}:00。 | {h}
clock | 几点结束？ | 答案：{h}:00 | {h}
unit | 需要多少分钟？ | 答案是{m}分钟（或{h}小时）。 | {m}
unit | 需要多少分钟？ | 答案：{m}分钟（{h}小时） | {m}
unit | 能买多少个苹果？ | 答案：{n}个苹果，花费{k}元。 | {n}
minus | 余额是多少？ | 答案是−{n}。 | -{n}
minus | 气温是多少度？ | 答案：−{n}度 | -{n}
percent | 还剩百分之几？ | 答案是{p}%。 | {p}
percent | 还剩百分之几？ | 答案：{k}名学生的{p}% | {p}
fraction | 还剩几分之几？ | 答案是3/{q}。 | 3/{q}
fraction | 还剩几分之几？ | \boxed{{\frac{{3}}{{{q}}}}} | 3/{q}
""",
}
STYLES = {"en": COMMON + ENGLISH, "ru": COMMON + RUSSIAN, "zh": COMMON + CHINESE}
QUESTIONS = {
    "en": "Ann buys {k} glasses at ${b} each. How many dollars does she pay?",
    "ru": "Аня покупает {k} стаканов по {b} руб. Сколько рублей она заплатит?",
    "zh": "小红买了{k}个杯子，每个{b}元。一共要付多少元？",
}
LEADS = {
    "en": ("", "First we look at the price.\n", "{j} + {k} = {jk}\n", "She buys {k} of them.\n\n"),
    "ru": ("", "Сначала смотрим на цену.\n", "{j} + {k} = {jk}\n", "Она берёт {k} штук.\n\n"),
    "zh": ("", "先看价格。\n", "{j} + {k} = {jk}\n", "她买了{k}个。\n\n"),
}


@dataclass(frozen=True)
class Final:
    """A reply, the answer that it is compared with, and whether it is right."""

    kind: str
    style: str
    question: str
    text: str
    answer: str
    right: bool


def _rows(lines: str) -> list[list[str]]:
    return [
        [part.strip().replace("\\n", "\n") for part in line.split(" | ")] for line in lines.splitlines() if line
    ]


def _numbers(random: Random) -> dict[str, int]:
    """Draw an answer with its factors, its summands and numbers that are not it."""
    while True:
        a, b, k, j = random.randint(3, 60), random.randint(4, 60), random.randint(3, 29), random.randint(31, 59)
        c, q = random.randint(5, 90), random.choice((4, 5, 7, 8, 10))
        n, h, p = a * b, random.randint(2, 9), random.randint(2, 95)
        numbers = {
            "a": a,
            "b": b,
            "n": n,
            "k": k,
            "j": j,
            "jk": j + k,
            "c": c,
            "d": n - c,
            "h": h,
            "m": h * 60,
            "p": p,
            "q": q,
        }
        if n > c and n not in {k, j, j + k, c, n - c} and p != k:
            return numbers


def _format(number: int, language: str, random: Random) -> str:
    if number < 1000:
        return str(number)
    marks = {"en": ("", ","), "ru": ("", " ", "\u00a0", "\u202f"), "zh": ("", ",")}[language]
    return f"{number:,}".replace(",", random.choice(marks))


def final(language: str, index: int) -> Final:
    """Write the reply of that index: the styles take turns."""
    random = Random(f"final/{language}/{index}")
    rows, single = _rows(STYLES[language]), _rows(SINGLE[language])
    numbers = _numbers(random)
    at = index % (len(rows) + len(single) + len(SCRIPTS))
    if at < len(rows):
        kind, text = rows[at]
        shown: Mapping[str, str] = {name: _format(one, language, random) for name, one in numbers.items()}
        lead = "" if kind == "unsolved" else random.choice(LEADS[language])
        asked = QUESTIONS[language].format_map(numbers)
        return Final(kind, text, asked, (lead + text).format_map(shown), str(numbers["n"]), kind != "unsolved")
    if at < len(rows) + len(single):
        kind, asked, text, answer = single[at - len(rows)]
        return Final(kind, text, asked, text.format_map(numbers), answer.format_map(numbers), right=True)
    name = tuple(SCRIPTS)[at - len(rows) - len(single)]
    digits = "".join(chr(SCRIPTS[name] + int(one)) for one in str(numbers["n"]))
    cue = {"en": "The answer is {}.", "ru": "Ответ: {}", "zh": "答案是{}。"}[language]
    text = random.choice((cue, "#### {}", "\\boxed{{{}}}")).format(digits)
    return Final("script", name, QUESTIONS[language].format_map(numbers), text, str(numbers["n"]), right=True)
