"""Hold n draws of every kind against the rules: `python -m tests.oracle N [SEED] [KIND …]`."""

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.oracle.kinds import KINDS


def hold_draws(name: str, n: int, number: int) -> int:
    """Hold n draws of a kind against the rules; show what disagrees, and return how often that was."""
    problems = Counter[str]()
    for draw in range(n):
        example = KINDS[name].draw(random.Random(number * 1_000_000 + draw))
        with tempfile.TemporaryDirectory() as folder:
            try:
                KINDS[name].hold(example, Path(folder))
            except Exception as error:  # noqa: BLE001 - whatever it is, the other draws are told
                problems[f"{type(error).__name__}: {str(error)[:300]}"] += 1
                if len(problems) <= 3:
                    print(f"{name}, seed {number}, draw {draw}: {error!r}\n{example}\n")  # noqa: T201 - a command
    print(f"{name}: {n} draws of seed {number}, {problems.total()} disagree {[*problems]}", flush=True)  # noqa: T201 - a command
    return problems.total()


def main(words: list[str]) -> int:
    """Return 1 if a draw disagrees."""
    numbers = [int(word) for word in words if word.isdigit()] + [random.randrange(10**6)]
    names = [word for word in words if not word.isdigit()] or [*KINDS]
    n, number = (numbers[0], numbers[1]) if len(numbers) > 1 else (100, numbers[0])
    return int(sum(hold_draws(name, n, number) for name in names) > 0)


sys.exit(main(sys.argv[1:]))
