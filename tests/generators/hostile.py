"""Texts that no verifier may stumble over: empty, huge, binary, every Unicode plane, markers without an answer."""

import re
from collections.abc import Sequence
from random import Random

MEGABYTE = 1_000_000

FIXED: Sequence[str] = (
    "", " ", "\n" * 200, "\t \r\n\v\f", "\x00", "\x00" * 300, "\ufeff", "\u200b" * 20, "\u202eANSWER\u202c",
    "\x1b[31mANSWER:\x1b[0m \x1b[1m\x1b[0m", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\x07\x08\x7f",
    "\ud800", "\udfff\ud800", "a\ud83d", "ANSWER: \udc00", "é" * 5, "e\u0301" * 50, "İıſK", "ß" * 9,
    "ANSWER:", "ОТВЕТ:", "ANSWER:" * 100, "ОТВЕТ: " * 100, "**ANSWER:** ", "ANSWER: \nANSWER:\n\n", "answer: ?",
    "ANSWER: name", "ОТВЕТ: имя", "ANSWER: <number>", "ОТВЕТ: <число>", "#### ", "####", "\\boxed{}", "\\boxed{",
    "\\boxed" * 50, "####\n" * 50, "The answer is", "None", "null", "NaN", "ANSWER: NaN", "ANSWER: inf",
    "ANSWER: 1e400", "ANSWER: 1/0", "ANSWER: " + "9" * 6000, "9" * 6000, "-" * 500, "0." + "0" * 5000 + "1",
    "1,2,3,,,4", "٣٤٥", "１２３", "½", "1e-999999999", "0x1F", "--5", "−", "5%" * 20, "$" * 100,
    "{}", "[]", "{" * 3000, "[" * 3000, '{"a":' * 500, '{"emails": null, "phones": 5, "dates": {}}',
    "```json\n```",
    '{"emails": [[[]]], "phones": [null], "dates": [1e999]}', '{"emails": [], "phones": [], "dates": []}',
    '"' * 999,
    "```", "```python\n```", "```python\ndef f(:\n```", "```kotlin\nfun f() = f()\n```", "def f(): return f()",
    "import os; os.system('true')", "<data></data>", "<data>", "</data>" * 30, "<script>alert(1)</script>",
    "{{ 7 * 7 }}", "{% for x in y %}", "%s%s%s%n", "{0} {1} {answer}", "'; DROP TABLE items; --",
    "../../etc/passwd",
    "(" * 2000, ")" * 2000, "a" * 3000 + "!", "aA" * 2000, "@" * 500, "a@" * 500, "a@b" * 500, "+" * 500,
    "+7" * 500,
    ". " * 500, "... " * 300, "? ! . " * 200, "|" * 300, "- \n" * 300, "* **" * 300, "I cannot help with that.",
    "Я не могу ответить на этот вопрос.", "不知道", "🙂" * 50, "👨‍👩‍👧‍👦" * 20,
)  # fmt: skip

_SPICES = (
    "ANSWER: ",
    "ОТВЕТ: ",
    "####",
    "\\boxed{",
    "{",
    "}",
    '"',
    "<data>",
    "```",
    "\n",
    " ",
    "not ",
    "не ",
    ":",
    "@",
)


def _plane(rng: Random) -> str:
    """Draw a character of any plane, lone surrogates included."""
    return chr(rng.randrange(17) * 0x10000 + rng.randrange(0x10000))


def _random(rng: Random, words: Sequence[str]) -> str:
    """Draw a text: characters of all planes, bytes, digits, or the prompt's own words, with markers strewn in."""
    length = rng.randint(1, 60)
    kind = rng.randrange(5)
    if kind == 0:
        pieces = [_plane(rng) for _ in range(length)]
    elif kind == 1:
        pieces = [chr(rng.randrange(256)) for _ in range(length)]
    elif kind == 2:
        pieces = [str(rng.choice("0123456789.,-+ \n/e")) for _ in range(length)]
    else:
        pieces = [rng.choice(words) + rng.choice((" ", "\n", ", ", "")) for _ in range(length)]
    for _ in range(rng.randrange(4)):
        pieces.insert(rng.randrange(len(pieces) + 1), rng.choice(_SPICES))
    return "".join(pieces)


def texts(seed: object, prompt: str, count: int) -> list[str]:
    """Return the fixed texts, ones made of the prompt, and random ones: `count` in all."""
    rng = Random(repr(seed))
    words = prompt.split()
    lines = prompt.splitlines()
    made = [
        *FIXED,
        prompt.upper(),
        "\n".join(lines[::-1]),
        " ".join(sorted(words)),
        "\n".join(f"ANSWER: {word}" for word in words),
        "ОТВЕТ: " + ", ".join(words),
        "".join(_plane(rng) for _ in range(5000)),
    ]
    return made + [_random(rng, words) for _ in range(count - len(made))]


def huge(prompt: str, length: int = MEGABYTE) -> list[str]:
    """Return texts of a megabyte, or of another length, made to bring a careless pattern down."""
    units = ("9", "ANSWER: ", "not a. ", "\\boxed{", '{"emails": [', "a@b.", "+7 (", "1,", "\ud800", f"{prompt}\n")
    return [(unit * (length // len(unit) + 1))[:length] for unit in units]


def may_be_right(answer: str, text: str) -> bool:
    """Tell whether a text could hold the answer by chance: every word and number of it occurs there."""
    parts = re.findall(r"[^\W_]+", answer.lower())
    there = text.lower()
    return all(part in there for part in parts)
