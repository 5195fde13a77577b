"""Count the items that are alike in both languages, of 1 002 a family: `python -m tests.benchmarks.parity`."""

import sys

from basic_control.data.plugins import family
from tests.helpers.parity import READERS, differs, pairs

N = 334


def main(n: int = N) -> None:
    """Print, for each family and direction, how many items agree in facts and answers of how many."""
    for name in READERS:
        for languages in (("en", "ru"), ("ru", "en")):
            found = [differs(name, *pair, languages) for pair in pairs(family(name), languages, n)]
            print(f"{name}, {' to '.join(languages)}: {found.count('')} of {len(found)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
