"""Draw constants and arguments for the levels' files; faster than Random.randint and choice."""

from collections.abc import Mapping, Sequence
from itertools import product
from random import Random
from typing import TypeVar

from basic_control.data.beside import read_beside

T = TypeVar("T")

_TABLES: Mapping[str, Sequence[str]] = read_beside(__file__)
WORDS, SEPARATORS = _TABLES["words"], _TABLES["separators"]
OPENINGS, CLOSINGS = _TABLES["openings"], _TABLES["closings"]
COSTS = tuple(
    (insert, delete, replace)
    for insert, delete, replace in product(range(2, 7), range(2, 7), range(2, 9))
    # All three differ from an edit distance without costs.
    if insert != delete and replace < insert + delete
)
"""Of inserting, deleting and replacing a letter."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def between(rng: Random, low: int, high: int) -> int:
    """Return an integer from low to high, both inclusive."""
    return low + int(rng.random() * (high - low + 1))


def pick(rng: Random, options: Sequence[T]) -> T:
    """Return one of the options."""
    return options[int(rng.random() * len(options))]


def integers(rng: Random, count: int, low: int, high: int) -> list[int]:
    """Return `count` integers from low to high."""
    draw, span = rng.random, high - low + 1
    return [low + int(draw() * span) for _ in range(count)]


def distinct(rng: Random, count: int, low: int, high: int) -> list[int]:
    """Return `count` distinct integers from low to high, in random order."""
    numbers: list[int] = []
    while len(numbers) < count:
        number = between(rng, low, high)
        if number not in numbers:
            numbers.append(number)
    return numbers


def word(rng: Random) -> str:
    """Return a lower-case word of at least four letters."""
    return WORDS[int(rng.random() * len(WORDS))]


def words(rng: Random, count: int) -> list[str]:
    """Return `count` words, repeats allowed."""
    return [word(rng) for _ in range(count)]


def letters(rng: Random, count: int, alphabet: str = LETTERS) -> str:
    """Return a text of `count` letters."""
    return "".join([alphabet[int(rng.random() * len(alphabet))] for _ in range(count)])


def stock(rng: Random, key: str, amount: int) -> dict[str, int]:
    """Map `key` to the amount, after another word with a random amount."""
    return {word(rng): between(rng, 1, 99), key: amount}


def counts(rng: Random, key: str, least: int) -> dict[str, int]:
    """Map `key` to a count up to `least`, then another word to one up to twice that."""
    return {key: between(rng, 1, least), word(rng): between(rng, 1, 2 * least)}


def integers_near(rng: Random, limit: int, count: int) -> list[int]:
    """Return integers around a limit, including the limit."""
    numbers = [limit, *integers(rng, count - 1, limit - 9, limit + 9)]
    rng.shuffle(numbers)
    return numbers


def ends(rng: Random, limit: int) -> list[tuple[list[int]]]:
    """Return lists that begin and end above, below and at a limit."""
    up, down = limit + between(rng, 1, 9), limit - between(rng, 1, 9)
    return [([down, up, limit, down, up, limit, up, down],), ([limit, limit],), ([],), ([up, down, down, up],)]


def letter_set(rng: Random) -> str:
    """Return four distinct letters, enough for a custom rule."""
    chosen = ""
    while len(chosen) < 4:  # noqa: PLR2004 - as above
        letter = pick(rng, LETTERS)
        if letter not in chosen:
            chosen += letter
    return chosen


def entries(rng: Random, sep: str, link: str, count: int) -> str:
    """Return names, each linked to a number."""
    return sep.join([f"{word(rng)}{link}{between(rng, -9, 99)}" for _ in range(count)])


def cases(rng: Random, length: int) -> str:
    """Return words of about the given length, in both cases."""
    shorter, longer = letters(rng, length - 1).upper(), letters(rng, 5)
    return f"{word(rng)} {letters(rng, length)} {shorter} {word(rng).upper()} Bea{longer}"


def misspelt(rng: Random) -> tuple[str, str]:
    """Return a word, and a copy with one letter left out, changed or added."""
    text = word(rng)
    index = between(rng, 0, len(text) - 2)
    return text, pick(rng, (text[:index] + text[index + 1 :], text[:index] + "q" + text[index + 1 :], text + "s"))


def brackets(rng: Random) -> dict[str, str]:
    """Return two kinds of brackets as constants."""
    kinds = ("()", "[]", "{}", "<>")
    first = pick(rng, kinds)
    return {"ONE": first, "TWO": pick(rng, [pair for pair in kinds if pair != first])}


def draw_bracketed(rng: Random, first: str, second: str) -> str:
    """Return letters in two kinds of brackets, balanced or not."""
    outer, inner = first, second
    if rng.random() >= 0.5:  # noqa: PLR2004 - a coin's toss
        outer, inner = second, first
    a, b = letters(rng, 1), letters(rng, 2)
    shapes = (
        f"{outer[0]}{a}{inner[0]}{b}{inner[1]}{outer[1]}", f"{outer[0]}{a}{outer[1]}{b}{inner[0]}",
        f"{a}{outer[1]}{b}{outer[0]}", f"{inner[0]}{inner[0]}{a}{inner[1]}{b}{inner[1]}",
        f"{outer[0]}{inner[0]}{a}{outer[1]}{inner[1]}{b}",
    )  # fmt: skip
    return pick(rng, shapes)


def runs(rng: Random, least: int) -> str:
    """Return letters repeated `least` times, once, and about as often."""
    parts = [letters(rng, 1, "abcd") * least, letters(rng, 1, "efgh"), letters(rng, 1, "klmn") * (least - 1)]
    return "".join([*parts, letters(rng, 1, "pqrs") * (least + between(rng, 1, 2))])


def table(rng: Random, rows: int, columns: int) -> list[list[int]]:
    """Return rows of integers."""
    return [integers(rng, columns, 0, 99) for _ in range(rows)]


def intervals(rng: Random, gap: int) -> list[tuple[int, int]]:
    """Return intervals about a gap apart, in random order."""
    drawn, start = [], between(rng, 0, 9)
    for _ in range(between(rng, 3, 4)):
        end = start + between(rng, 1, 6)
        drawn.append((start, end))
        start = end + gap + between(rng, -2, 2)
    rng.shuffle(drawn)
    return drawn


def text(rng: Random) -> str:
    """Return six of three words, in various cases."""
    common = words(rng, 3)
    return " ".join(pick(rng, (str.lower, str.title, str.upper))(pick(rng, common)) for _ in range(6))
