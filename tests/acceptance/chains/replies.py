"""Whole replies: right ones with innocuous lines between, and the same with one slip."""

from dataclasses import dataclass
from random import Random

from tests.acceptance.chains.noise import NOISE
from tests.acceptance.chains.notation import SLIP, Notation, amount, write
from tests.acceptance.chains.page import Page
from tests.acceptance.chains.shapes import SHAPES, Problem, pose
from tests.acceptance.chains.styles import CHAINED, STYLES
from tests.acceptance.chains.words import Words
from tests.acceptance.chains.words_en import ENGLISH
from tests.acceptance.chains.words_ru import RUSSIAN
from tests.acceptance.chains.words_zh import CHINESE

LANGUAGES = {"en": ENGLISH, "ru": RUSSIAN, "zh": CHINESE}
MEASURED = frozenset({"money", "pct", "frac", "km", "kg", "kmh"})  # units that a question's own words leave out


@dataclass(frozen=True)
class Reply:
    """A reply, what it answers, and the number of the step with the slip (from 1, None without one)."""

    style: str
    noise: str
    question: str
    reference: str
    answer: str
    text: str
    slip: int | None


def question(problem: Problem, words: Words) -> str:
    """Put a problem in words."""
    way = Notation(money=words.money[0])
    shown = {name: amount(one, way, words, unit=one.unit in MEASURED) for name, one in problem.numbers.items()}
    return words.problems[problem.shape][0].format_map(shown)


def reference(problem: Problem, words: Words) -> tuple[str, str]:
    """Write the solution as the data set does, and give its answer."""
    way = Notation(signs={"+": "+", "-": "-", "*": "*", "/": "/"}, share="hundredth")
    lines = []
    for index, step in enumerate(problem.steps):
        left, right = write(step.left, way, words), write(step.result, way, words)
        lines.append(f"{words.problems[problem.shape][1 + index]}: {left}=<<{left}={right}>>{right}")
    answer = write(problem.answer, Notation(), words).rstrip("%")
    return "\n".join([*lines, f"#### {answer}"]), answer


def compose(language: str, seed: str, *, slip: bool) -> Reply:
    """Write one reply: the seed decides everything about it."""
    random = Random(seed)
    words = LANGUAGES[language]
    style = random.choice(tuple(STYLES))
    problem = pose(random.choice(SHAPES), random)
    page = Page(problem, words, random)
    if slip:
        kind = random.choice(("end", "carried", "middle"))
        choices = page.long() if kind == "middle" and style in CHAINED else []
        at = random.choice(choices or list(range(len(problem.steps))))
        page = Page(
            problem,
            words,
            random,
            slip_at=at,
            kind=kind if choices or kind != "middle" else "end",
            currency=page.currency,
        )
    lines = STYLES[style](page)
    if random.random() < 0.5:
        lines = [random.choice(words.head), *lines]
    noise = random.choice(tuple(NOISE[language])) if random.random() < 0.6 else ""
    if noise and style != "table":
        at = random.choice([0, len(lines)] if style == "aligned" else range(len(lines) + 1))
        lines.insert(at, random.choice(NOISE[language][noise])(random))
    final = random.choice(words.finals).format(**page.answer(page.numbers()))
    text = "\n".join([*lines, *([""] if random.random() < 0.5 else []), final])
    stated, answer = reference(problem, words)
    found = None
    if slip:
        full = [line for line in text.split("\n") if line.strip()]
        marked = [number for number, line in enumerate(full, 1) if SLIP in line]
        found = marked[0] if marked else 0
    return Reply(style, noise, question(problem, words), stated, answer, text.replace(SLIP, ""), found)
