"""Make the word problems of the shipped sample: the project's own templates, with exact annotated solutions.

`python -m tests.helpers.word_problems` writes `data/samples/word_problems.jsonl` again, byte for byte the same.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from random import Random

import yaml

from basic_control.data.draw import content_id, source
from basic_control.data.loaders.word_problems import SAMPLE
from basic_control.data.patterns import pattern

TEXTS = yaml.load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
"""What the problems say, by template and language."""
MADE_BY = "Basic Control, tests/helpers/word_problems.py"
SEED = 50
EACH: Mapping[str, int] = {"en": 4, "ru": 2}
"""Problems of each template in the sample, by language."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "en": ("Alice", "Bruno", "Carla", "Dmitri", "Elena", "Farid", "Grace", "Hugo", "Irina", "Jonas"),
    "ru": ("Анна", "Борис", "Вера", "Глеб", "Дарья", "Егор", "Зоя", "Игорь", "Лариса", "Максим"),
}


_FIELD = pattern(r"\{(\w+)(?:\|([^{}]+))?\}")


def agree(number: int, forms: str) -> str:
    """Return the form of a noun that agrees with a number: of two (English) or three (Russian)."""
    words = forms.split()
    if len(words) == 2:
        return words[number != 1]
    if number % 10 == 1 and number % 100 != 11:
        return words[0]
    return words[1] if number % 10 in {2, 3, 4} and number % 100 not in {12, 13, 14} else words[2]


def fill(text: str, values: Mapping[str, int | str]) -> str:
    """Fill a text with numbers, names and agreeing nouns."""

    def one(match: re.Match[str]) -> str:
        value = values[match[1]]
        return f"{value} {agree(int(value), match[2])}" if match[2] else str(value)

    return _FIELD.sub(one, text)


def _boxes(rng: Random) -> dict[str, int]:
    a, b = rng.randint(3, 9), rng.randint(6, 24)
    sold = rng.randint(5, a * b - 5)
    return {"a": a, "b": b, "all": a * b, "sold": sold, "answer": a * b - sold}


def _wages(rng: Random) -> dict[str, int]:
    h, r, t = rng.randint(4, 9), rng.randint(11, 35), rng.randint(5, 60)
    return {"h": h, "r": r, "pay": h * r, "tips": t, "answer": h * r + t}


def _savings(rng: Random) -> dict[str, int]:
    week, weeks, have = rng.randint(6, 25), rng.randint(4, 15), rng.randint(10, 90)
    return {"week": week, "have": have, "price": have + week * weeks, "rest": week * weeks, "answer": weeks}


def _discount(rng: Random) -> dict[str, int]:
    price, p = 20 * rng.randint(3, 30), rng.choice((5, 10, 15, 20, 25, 30, 35, 40))
    return {"price": price, "p": p, "off": price * p // 100, "answer": price - price * p // 100}


def _berries(rng: Random) -> dict[str, int]:
    n = 2 * rng.randint(4, 40)
    return {"n": n, "double": 2 * n, "half": n // 2, "answer": n + 2 * n + n // 2}


def _share(rng: Random) -> dict[str, int]:
    people, each, eaten = rng.randint(3, 9), rng.randint(4, 15), rng.randint(10, 30)
    return {"people": people, "all": people * each + eaten, "eaten": eaten, "left": people * each, "answer": each}


def _trip(rng: Random) -> dict[str, int]:
    v, t, w, u = rng.randint(50, 80), rng.randint(2, 5), rng.randint(10, 22), rng.randint(2, 4)
    return {"v": v, "t": t, "w": w, "u": u, "one": v * t, "two": w * u, "answer": v * t + w * u}


def _rows(rng: Random) -> dict[str, int]:
    rows, each = rng.randint(4, 14), rng.randint(8, 25)
    dead, new = rng.randint(3, 30), rng.randint(5, 40)
    return {
        "rows": rows, "each": each, "all": rows * each, "dead": dead, "alive": rows * each - dead, "new": new,
        "answer": rows * each - dead + new,
    }  # fmt: skip


def _ages(rng: Random) -> dict[str, int]:
    n, k = rng.randint(5, 16), rng.randint(3, 12)
    return {"n": n, "k": k, "old": 3 * n, "young_then": n + k, "old_then": 3 * n + k, "answer": 4 * n + 2 * k}


def _third(rng: Random) -> dict[str, int]:
    n = 12 * rng.randint(2, 25)
    return {"n": n, "third": n // 3, "quarter": n // 4, "some": n // 3 + n // 4, "answer": n - n // 3 - n // 4}


def _dozens(rng: Random) -> dict[str, int]:
    k, days = rng.randint(3, 9), rng.randint(3, 7)
    a_day = rng.randint(2, 12 * k // days - 1)
    return {
        "k": k, "days": days, "a_day": a_day, "all": 12 * k, "used": days * a_day, "answer": 12 * k - days * a_day,
    }  # fmt: skip


def _recipe(rng: Random) -> dict[str, int]:
    s, times, each = rng.randint(3, 6), rng.randint(2, 5), rng.randint(15, 60)
    return {
        "s": s, "all": s * times, "g": s * each, "each": each, "have": (have := rng.randint(10, 40)),
        "need": s * times * each, "answer": s * times * each - have,
    }  # fmt: skip


def _change(rng: Random) -> dict[str, int]:
    a, p, b = rng.randint(2, 6), rng.randint(3, 12), rng.randint(2, 6)
    q = rng.choice([price for price in range(3, 13) if price != p])  # two equal sums would repeat a step
    note = next(n for n in (50, 100, 200) if n > a * p + b * q)
    one, two = a * p, b * q
    return {
        "a": a, "p": p, "b": b, "q": q, "one": one, "two": two, "sum": one + two, "note": note,
        "answer": note - one - two,
    }  # fmt: skip


def _tank(rng: Random) -> dict[str, int]:
    i, m, there = rng.randint(9, 30), rng.randint(5, 20), rng.randint(40, 200)
    o = rng.randint(2, i - 3)
    return {
        "i": i, "o": o, "m": m, "net": i - o, "gain": (i - o) * m, "there": there, "answer": (i - o) * m + there,
    }  # fmt: skip


DRAWS: Mapping[str, Callable[[Random], dict[str, int]]] = {
    "boxes": _boxes, "wages": _wages, "savings": _savings, "discount": _discount,
    "berries": _berries, "share": _share, "trip": _trip, "rows": _rows,
    "ages": _ages, "third": _third, "dozens": _dozens, "recipe": _recipe,
    "change": _change, "tank": _tank,
}  # fmt: skip
"""The numbers of each template: what its question gives, the results of its steps, and the `answer`."""


def make(name: str, language: str, index: int, *, seed: int = SEED) -> dict[str, str]:
    """Make one problem of a template: `question`, `answer` in GSM8K's form, `template`, `language`, `id`."""
    rng = source("word_problems", name, language, seed, index)
    who, other = rng.sample(NAMES[language], 2)
    values: dict[str, int | str] = {**DRAWS[name](rng), "who": who, "other": other}
    question, *steps = (fill(text, values) for text in TEXTS[name][language])
    return {
        "id": f"sample-{content_id(language, question)[:8]}",
        "language": language,
        "template": name,
        "question": question,
        "answer": "\n".join([*steps, f"#### {values['answer']}"]),
        "made_by": MADE_BY,
    }


def sample() -> Iterator[dict[str, str]]:
    """Yield the problems of the shipped sample, template by turns; none stands there twice."""
    for language, each in EACH.items():
        made = [_distinct(name, language, each) for name in DRAWS]
        yield from chain.from_iterable(zip(*made, strict=True))


def _distinct(name: str, language: str, count: int) -> list[dict[str, str]]:
    """Make problems of a template until there are so many different ones."""
    made: dict[str, dict[str, str]] = {}
    index = 0
    while len(made) < count:
        problem = make(name, language, index)
        made.setdefault(problem["question"], problem)
        index += 1
    return [*made.values()]


def written() -> str:
    """Return the sample as JSONL."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in sample())


if __name__ == "__main__":
    SAMPLE.write_text(written(), "utf-8")
