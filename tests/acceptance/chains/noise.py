"""Innocuous lines: right calculations in odd forms, and what is no calculation at all."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from random import Random

from tests.acceptance.chains.noise_lines import COMMON, LINES

Line = Callable[[Random], str]


def slots(random: Random) -> dict[str, str]:
    """Draw numbers that stand in known relations, for lines to be filled with."""
    a, b, c = random.randint(2, 12), random.randint(3, 19), random.randint(2, 9)
    p = random.choice((5, 10, 15, 20, 25, 30, 40, 60, 75))
    base = 100 * random.randint(1, 40)
    n, d = random.choice(((10, 3), (37, 11), (100, 7), (50, 3), (200, 9), (25, 6), (1000, 13), (17, 6), (85, 7)))
    exact = Fraction(n, d)
    long = f"{int(exact * 10**6) / 10**6:.6f}"
    h = random.randint(2, 9)
    q = 4 * random.randint(2, 25)
    part = random.choice((10, 20, 25, 40, 50, 75))
    numbers: dict[str, object] = {
        "a": a, "b": b, "c": c, "ab": a * b, "abc": a * b * c, "bc": b * c, "s": a + b, "sc": (a + b) * c,
        "k": a + b * c, "g": a * b + c, "big": f"{base:,}", "base": base, "p": p, "rest": 100 - p,
        "cut": base * p // 100, "less": base - base * p // 100, "more": base + base * p // 100,
        "bigless": f"{base - base * p // 100:,}", "n": n, "d": d, "two": f"{round(float(exact), 2):.2f}",
        "one": f"{round(float(exact), 1):.1f}", "whole": int(exact), "left": n - int(exact) * d,
        "dots": long[:5] + "...", "dots2": long[:6] + "…", "six": f"{round(float(exact), 6):.6f}",
        "near": round(float(exact)), "up": int(exact) + 1, "h": h, "m": h * 60, "hm": f"{h * 60 + 15}",
        "kg": h * 1000, "ft": h * 12, "dz": h * 12, "cents": a * 100, "half": f"{b}.5", "twice": 2 * b + 1,
        "q": q, "q2": q // 2, "q4": q // 4, "q34": 3 * q // 4, "y": 1950 + b * 3, "yy": 1950 + b * 3 + a,
        "sq": a * a, "cube": a**3, "x2": 2 * a, "x2b": 2 * a + b, "part": part, "of": 100 * c, "share": part * c,
        "neg": -1000 * b, "start": 1000 * a, "fall": 1000 * (a + b), "late": h + 3, "wan": a, "wan2": a * 2,
        "pdec": f"{p / 100:g}", "ratio": f"{a}:{b}", "ratio2": f"{a * c}:{b * c}", "ac": a * c, "e": a + 20,
        "ea": a + 20 - b,
    }  # fmt: skip
    return {name: str(one) for name, one in numbers.items()}


def filler(text: str) -> Line:
    """Make a drawer of one line."""
    return lambda random: text.format_map(slots(random))


def read(lines: str) -> dict[str, Sequence[Line]]:
    """Read lines `kind | text`; texts of one kind stand together."""
    found: dict[str, list[Line]] = {}
    for line in lines.strip().splitlines():
        kind, _, text = line.partition(" | ")
        found.setdefault(kind.strip(), []).append(filler(text))
    return {kind: tuple(texts) for kind, texts in found.items()}


NOISE: Mapping[str, Mapping[str, Sequence[Line]]] = {
    language: {kind: (*common.get(kind, ()), *own.get(kind, ())) for kind in (*common, *own)}
    for language in ("en", "ru", "zh")
    for common, own in ((read(COMMON), read(LINES[language])),)
}
