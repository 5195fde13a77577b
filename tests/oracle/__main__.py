"""Hold n draws of every kind against the rules: `python -m tests.oracle N [SEED] [KIND …]`."""

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.oracle.kinds import KINDS, Kind


def list_draws(kind: Kind, n: int, number: int) -> list[Any]:
    """Draw n times, each from a seed of its own: draws of one seed are mostly the last one, changed a little."""
    return [_draw(kind, number * 1_000_000 + place) for place in range(n)]


def _draw(kind: Kind, number: int) -> Any:
    """Draw from a seed; the first example of each is the simplest one."""
    drawn: list[Any] = []

    @seed(number)
    @settings(max_examples=2, database=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck])
    @given(kind.draws)
    def draw(example: Any) -> None:
        drawn.append(example)

    draw()
    return drawn[-1]


def hold_draws(name: str, n: int, number: int) -> int:
    """Hold n draws of a kind against the rules; show what disagrees, and return how often that was."""
    kind, problems = KINDS[name], Counter[str]()
    for place, example in enumerate(list_draws(kind, n, number)):
        with tempfile.TemporaryDirectory() as folder:
            try:
                kind.check(kind.drive(example, Path(folder)), example)
            except Exception as error:  # noqa: BLE001 - whatever it is, the other draws are told
                problems[f"{type(error).__name__}: {str(error)[:300]}"] += 1
                if len(problems) <= 3:
                    print(f"{name}, seed {number}, draw {place}: {error!r}\n{example}\n")  # noqa: T201 - a command
    print(f"{name}: {n} draws of seed {number}, {problems.total()} disagree {[*problems]}", flush=True)  # noqa: T201 - a command
    return problems.total()


def main(words: list[str]) -> int:
    """Return 1 if a draw disagrees."""
    numbers = [int(word) for word in words if word.isdigit()] + [random.randrange(10**6)]
    names = [word for word in words if not word.isdigit()] or [*KINDS]
    n, number = (numbers[0], numbers[1]) if len(numbers) > 1 else (100, numbers[0])
    return int(sum(hold_draws(name, n, number) for name in names) > 0)


sys.exit(main(sys.argv[1:]))
