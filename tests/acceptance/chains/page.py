"""A solution on its way to paper: its steps, the planted slip, and the pieces that styles are made of."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random

from tests.acceptance.chains.notation import Notation, amount, digits, equation, result
from tests.acceptance.chains.shapes import Problem, Step, carry
from tests.acceptance.chains.sums import Expression, Number, Sum, count, ends, equal, leaves, sides
from tests.acceptance.chains.words import Words

PATIENCE = 60


def spoil(value: Fraction, random: Random, *, share: bool = False) -> Fraction:
    """Change a digit of a number, or put it off by ten, by one or by a power of ten."""
    kind = random.choice(("digit", "digit", "digit", "ten", "one", "power"))
    unit = Fraction(1, 100) if share else Fraction(1)
    if kind == "ten":
        return value + random.choice((-10, 10)) * unit
    if kind == "one":
        return value + random.choice((-1, 1)) * unit
    if kind == "power":
        return value * 10
    text = digits(value / unit, Notation())
    at = random.choice([index for index, letter in enumerate(text) if letter != "."])
    other = random.choice([one for one in "0123456789" if one != text[at]])
    return Fraction(text[:at] + other + text[at + 1 :]) * unit


def plant(found: list[Expression], at: int, random: Random) -> list[Expression] | None:
    """Change the number that a side of an equation newly brings: None where no certain slip came of it."""
    side = found[at]
    old = list(leaves(found[at - 1]))
    fresh = [leaf for leaf in leaves(side) if leaf not in old] if isinstance(side, Sum) else [side]
    for _ in range(PATIENCE if fresh else 0):
        leaf = random.choice(fresh)
        wrong = spoil(leaf.value, random, share=leaf.unit == "pct")
        spoilt = [*found[:at], _swap(side, leaf, replace(leaf, value=wrong, wrong=True)), *found[at + 1 :]]
        if wrong > 0 and ends(wrong, 4) and not equal(spoilt):
            return spoilt
    return None


def _swap(node: Expression, old: Number, new: Number) -> Expression:
    if isinstance(node, Number):
        return new if node is old else node
    return Sum(node.sign, _swap(node.left, old, new), _swap(node.right, old, new))


@dataclass
class Page:
    """What a style writes from; `slip_at` is the step (from 0) to spoil, `kind` how: end, middle or carried."""

    problem: Problem
    words: Words
    random: Random
    slip_at: int | None = None
    kind: str = "end"
    steps: tuple[Step, ...] = ()
    currency: str = ""
    _sides: dict[tuple[int, bool], list[Expression]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.steps = self.steps or self.problem.steps
        self.currency = self.currency or self.random.choice(self.words.money)
        if self.slip_at is not None and self.kind == "carried":
            self._carry(self.slip_at)

    def _carry(self, at: int) -> None:
        step = self.problem.steps[at]
        for _ in range(PATIENCE):
            spoilt = plant([step.left, step.result], 1, self.random)
            if spoilt is None:
                return
            wrong = spoilt[1]
            assert isinstance(wrong, Number)
            carried = carry(self.problem, at, wrong.value)
            if carried is not None:
                self.steps = carried
                for chained in (False, True):
                    self._sides[at, chained] = [*sides(step.left, step.result, chained=chained)[:-1], wrong]
                return

    def sides(self, index: int, *, chained: bool = False) -> list[Expression]:
        """Give the sides of a step's equation, with the slip where it is planted there."""
        if (index, chained) not in self._sides:
            step = self.steps[index]
            found = sides(step.left, step.result, chained=chained)
            if index == self.slip_at:
                middle = self.kind == "middle" and len(found) > 2
                at = self.random.randrange(1, len(found) - 1) if middle else len(found) - 1
                found = plant(found, at, self.random) or plant(found, len(found) - 1, self.random) or found
            self._sides[index, chained] = found
        return self._sides[index, chained]

    def eq(self, index: int, way: Notation, *, chained: bool = False) -> str:
        """Write a step's equation."""
        return equation(self.sides(index, chained=chained), way, self.words)

    def result(self, index: int, way: Notation, *, chained: bool = False) -> str:
        """Write a step's result alone."""
        last = self.sides(index, chained=chained)[-1]
        assert isinstance(last, Number)
        return result(replace(last, wrong=False), way, self.words)

    def long(self) -> list[int]:
        """Tell which steps have a chain to write: two operations or more."""
        return [index for index, step in enumerate(self.steps) if count(step.left) > 1]

    def label(self, index: int) -> str:
        return self.words.problems[self.problem.shape][1 + index]

    def sign(self, index: int) -> str:
        left = self.steps[index].left
        return left.sign if isinstance(left, Sum) else ""

    def operands(self, index: int, way: Notation) -> tuple[str, str] | None:
        """Write the two numbers that a step joins: None where it joins more."""
        left = self.steps[index].left
        if isinstance(left, Sum) and isinstance(left.left, Number) and isinstance(left.right, Number):
            return amount(left.left, way, self.words), amount(left.right, way, self.words)
        return None

    def fill(self, phrase: str, index: int, **slots: str) -> str:
        """Fill a phrase with a step's label and what else it asks for."""
        label = self.label(index)
        return phrase.format(label=label, Label=label[0].upper() + label[1:], i=index + 1, **slots)

    def numbers(self, *, latex: bool = False) -> Notation:
        """Draw a way with numbers and money that fits the language."""
        pick = self.random.choice
        way = Notation(money=self.currency, cents=pick((True, False)))
        times = pick((" * ", " × ", " * ", " × ", "*", "×"))
        signs = {"+": " + ", "-": " - ", "*": times, "/": pick((" / ", " ÷ ", " / ", "/"))}
        groups = {"en": ("", ","), "ru": ("", " ", "\u00a0", "\u202f"), "zh": ("", ",")}[self.words.language]
        decimal = pick((",", ",", ".")) if self.words.language == "ru" else "."
        share = pick(("sign", "decimal", "hundredth"))
        way = replace(way, signs=signs, group=pick(groups), decimal=decimal, share=share)
        if not latex:
            return way
        signs = {
            "+": " + ",
            "-": " - ",
            "*": pick((" \\times ", " \\cdot ", "\\times ")),
            "/": pick((" \\div ", " / ")),
        }
        groups = {"en": ("", ",", "{,}"), "ru": ("", "\\,", "~"), "zh": ("", ",", "{,}")}[self.words.language]
        decimal = "{,}" if decimal == "," else "."
        return replace(
            way, signs=signs, group=pick(groups), decimal=decimal, latex=True, fraction=pick((True, False))
        )

    def answer(self, way: Notation) -> dict[str, str]:
        """Write the answer with its unit (`n`) and without (`bare`)."""
        last = replace(self.steps[-1].result, wrong=False)
        if self.slip_at is not None and self.slip_at == len(self.steps) - 1 and self.kind == "carried":
            spoilt = self.sides(self.slip_at)[-1]
            assert isinstance(spoilt, Number)
            last = replace(spoilt, wrong=False)
        plain = replace(way, latex=False, decimal=way.decimal.strip("{}"), share="sign")
        bare = amount(last, plain, self.words, unit=False).rstrip("%")
        return {"n": amount(last, plain, self.words), "bare": bare}
