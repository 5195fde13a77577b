"""Shapes of word problems: the numbers drawn, the steps of the right solution, and units."""

from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from tests.acceptance.chains.sums import Expression, Number, ends, read, value

# A line a shape: its name | numbers drawn as `name from to unit` (or `from:step to`) | steps as `name = sum unit`.
LINES = """
pens | a 3 12 box, b 4 24 pen, c 5 90 pen | boxes = a*b pen; total = boxes+c pen
shop | a 2 9 book, p 6 45 money, n 3 12 pen, q 1:0.25 4 money | x = a*p money; y = n*q money; z = x+y money
change | a 3 15 apple, p 0.5:0.25 3 money, g 50:10 100 money | x = a*p money; y = g-x money
discount | p 100:20 3000 money, s 5:5 45 pct | x = p*s money; y = p-x money
reading | t 120:60 720 page, f 0 0 frac, d 2 6 day | x = t*f page; y = t-x page; z = y/d page
wages | h 4 9 hour, d 4 6 day, w 9 38 money | x = h*d hour; y = x*w money
overtime | w 12:2 40 money, o 2 9 hour, h 35 40 hour | x = w*h money; y = w*1.5 money; z = y*o money; s = x+z money
drive | v 45:5 110 kmh, t 2 7 hour, r 900:10 1500 km | x = v*t km; y = r-x km
return | r 120:60 960 km, v 40:20 80 kmh | x = r/v hour; y = x*2 hour
fence | l 12 60 metre, w 5 40 metre, p 7 45 money | x = 2*(l+w) metre; y = x*p money
tiles | l 4 18 metre, w 3 12 metre, k 4:5 24 - | x = l*w sqm; y = x*k tile; z = y+20 tile
eggs | h 6 24 hen, e 1 4 egg, p 3 7 money | x = h*e egg; y = x*7 egg; z = y/12 dozen; s = z*p money
ages | a 6 18 year, k 3 14 year | x = a+k year; y = x*2 year; z = a+x+y year
later | a 5 19 year, n 4 15 year | x = a*3 year; y = x+n year; z = a+n year; s = y-z year
saving | e 300:50 900 money, s 120:10 260 money, g 1000:10 4000 money | x = e-s money; y = g/x week
class | t 20:20 60 pupil, s 20:5 60 pct | x = t*s pupil; y = t-x pupil
mean | a 60 99 point, b 60 99 point, c 60 99 point, d 60 99 point | x = a+b+c+d point; y = x/4 point
interest | p 1000:500 20000 money, s 2 9 pct, n 2 6 year | x = p*s money; y = x*n money; z = p+y money
tank | r 12 45 litre, t 10 25 min, c 1300:50 2400 litre | x = r*t litre; y = c-x litre; z = y/20 min
pizza | n 3 9 pizza, p 4 11 pupil, k 2 3 slice | x = n*8 slice; y = p*k slice; z = x-y slice
rows | r 12 38 row, s 14 40 seat, e 20 90 seat, p 5 25 money | x = r*s seat; y = x-e seat; z = y*p money
harvest | t 12 60 tree, y 20 85 kg, s 10:10 80 pct, p 2 9 money | x = t*y kg; z = x*s kg; m = z*p money
fuel | r 150:50 900 km, c 5:0.5 9 litre, p 1.2:0.1 2 money | x = r/100*c litre; y = x*p money
crates | a 3 12 crate, k 4:0.5 15 kg, b 2 9 bag, m 1:0.25 5 kg | x = a*k+b*m kg
dogs | n 7 18 dog, a 5 12 min, b 3 9 min, c 2:0.25 5 min | x = n*(a+b+c) min
profit | n 20 160 cake, p 12 30 money, q 3 11 money | x = n*p money; y = n*q money; z = x-y money
bus | a 25 50 person, b 3 15 person, c 2 17 person, d 4 12 person | x = a-b+c person; y = x-d person
phone|m 200:10 600 min, f 60:10 150 min, r 0.05:0.05 0.5 money, b 15 45 money|x=m-f min; y=x*r money; z=b+y money
pages | a 8 35 page, b 8 35 page, d 7:7 28 day | x = (a+b)*d page; y = x/7 page
thrice | a 4 40 ticket, n 0 0 frac | x = a*2 ticket; y = x*3 ticket; z = a+x+y ticket
tax | a 2 9 book, p 10:5 90 money, s 4 20 pct | x = a*p money; y = x*s money; z = x+y money
split | a 40 190 money, b 20 150 money, c 12 90 money, n 2 6 person | x = a+b+c money; y = x/n money
sweets | a 60 200 sweet, b 5 25 sweet, n 3 9 pupil | x = a-b sweet; y = x/n sweet
paint | l 4 9 metre, w 3 8 metre, h 2:0.5 4 metre, k 2:2 10 - | x = 2*(l+w)*h sqm; y = x/k litre
rise | p 1000:100 9000 money, s 3 15 pct | x = p*s money; y = p+x money; z = y*12 money
sale | p 100:20 3000 money, s 5:5 45 pct, n 2 6 book | x = p-s money; y = x*n money
growth | a 100:20 3000 person, s 5:5 60 pct, b 10 90 person | x = a+s person; y = x+b person
share | a 5:5 60 pupil, b 20:20 80 pupil | x = a+b pupil; y = a/x pct
work | a 3 9 person, h 5 9 hour, d 3 8 day, b 300:20 900 hour | x = a*(h*d) hour; y = b-x hour
"""
FRACTIONS = tuple(Fraction(one) for one in ("1/2", "1/3", "2/3", "1/4", "3/4", "2/5", "5/6"))
FLOATING = frozenset({"money", "kg", "km", "kmh", "metre", "sqm", "litre", "hour", "min", "point", "pct"})
PATIENCE = 400


@dataclass(frozen=True)
class Step:
    """One calculation of the right solution."""

    name: str
    left: Expression
    result: Number


@dataclass(frozen=True)
class Problem:
    """A shape with its numbers drawn and its steps worked out; the answer is the last step's result."""

    shape: str
    numbers: dict[str, Number]
    steps: tuple[Step, ...]

    @property
    def answer(self) -> Number:
        return self.steps[-1].result


@dataclass(frozen=True)
class Shape:
    """A shape as its line says it."""

    name: str
    draws: tuple[tuple[str, str, str, str], ...]
    steps: tuple[tuple[str, str, str], ...]


def _shape(line: str) -> Shape:
    name, draws, steps = (part.strip() for part in line.split("|"))
    drawn = [part.split() for part in draws.split(",")]
    stated = [part.split("=") for part in steps.split(";")]
    return Shape(
        name,
        tuple((one[0], one[1], one[2], one[3].strip("-")) for one in drawn),
        tuple((left.strip(), right.split()[0], right.split()[1]) for left, right in stated),
    )


SHAPES = tuple(_shape(line) for line in LINES.strip().splitlines())


def _draw(low: str, high: str, unit: str, random: Random) -> Number:
    if unit == "frac":
        return Number(random.choice(FRACTIONS), unit)
    start, _, by = low.partition(":")
    first, last, step = Fraction(start), Fraction(high), Fraction(by or "1")
    drawn = first + step * random.randint(0, int((last - first) / step))
    return Number(drawn / 100 if unit == "pct" else drawn, unit)


def solve(shape: Shape, numbers: dict[str, Number]) -> tuple[Step, ...] | None:
    """Work a shape's steps out: None where a result is not positive or cannot be written out."""
    known, steps = dict(numbers), []
    for name, text, unit in shape.steps:
        left = read(text, known)
        result = Number(value(left), unit)
        if result.value <= 0 or not ends(result.value) or (unit not in FLOATING and result.value.denominator != 1):
            return None
        known[name] = result
        steps.append(Step(name, left, result))
    return tuple(steps)


def pose(shape: Shape, random: Random) -> Problem:
    """Draw numbers until a shape's solution comes out well."""
    for _ in range(PATIENCE):
        numbers = {name: _draw(low, high, unit, random) for name, low, high, unit in shape.draws}
        steps = solve(shape, numbers)
        if steps is not None:
            return Problem(shape.name, numbers, steps)
    raise ValueError(f"{shape.name}: no numbers that come out well in {PATIENCE} draws")


def carry(problem: Problem, at: int, wrong: Fraction) -> tuple[Step, ...] | None:
    """Work the steps after one out again from a wrong result of it: None where they do not come out well."""
    shape = next(one for one in SHAPES if one.name == problem.shape)
    known, steps = dict(problem.numbers), []
    for index, (name, text, unit) in enumerate(shape.steps):
        left = read(text, known)
        result = Number(wrong if index == at else value(left), unit)
        if result.value <= 0 or not ends(result.value):
            return None
        known[name] = result
        steps.append(replace(problem.steps[index], left=left, result=result))
    return tuple(steps)
