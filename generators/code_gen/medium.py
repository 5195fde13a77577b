"""What is drawn for the functions of level medium (`medium.yaml`): constants, calls at the edges, examples."""

from collections.abc import Mapping
from random import Random

from generators.code_gen.draws import LETTERS, between, distinct, integers, letters, pick, word, words
from generators.code_gen.function import Constants, Draws


def _near(rng: Random, limit: int, count: int) -> list[int]:
    """Return integers around a limit, the limit among them."""
    numbers = [limit, *integers(rng, count - 1, limit - 9, limit + 9)]
    rng.shuffle(numbers)
    return numbers


def _ends(rng: Random, c: Constants) -> list[tuple[list[int]]]:
    limit = c["LIMIT"]
    up, down = limit + between(rng, 1, 9), limit - between(rng, 1, 9)
    return [([down, up, limit, down, up, limit, up, down],), ([limit, limit],), ([],), ([up, down, down, up],)]


def _letter_set(rng: Random) -> str:
    found = ""
    while len(found) < 4:  # noqa: PLR2004 - four letters are enough to make a rule of one's own
        letter = pick(rng, LETTERS)
        found += letter if letter not in found else ""
    return found


def _shouted(rng: Random, chosen: str) -> str:
    """Return text with chosen letters in both cases."""
    return f"{word(rng)} {chosen[0].upper()}{chosen[1]}{letters(rng, 3)} {chosen[2]}{chosen[2].upper()}"


def _sentence(rng: Random, length: int) -> str:
    return " ".join([letters(rng, length), *words(rng, 2), letters(rng, length - 1), letters(rng, length + 1)])


def _counts(rng: Random, key: str, least: int) -> dict[str, int]:
    return {key: between(rng, 1, least), word(rng): between(rng, 1, 2 * least)}


_LINKS = ("=", ":", "->", "~", "is")

_PARTS = (";", ",", "|", "/", "&")


def _entries(rng: Random, c: Constants, count: int) -> str:
    pairs = [f"{word(rng)}{c['LINK']}{between(rng, -9, 99)}" for _ in range(count)]
    return str(c["SEP"]).join(pairs)


def _repeated(rng: Random, c: Constants) -> str:
    """Return entries of which one is negative and one name stands twice."""
    link, sep = c["LINK"], c["SEP"]
    return f"size{link}{between(rng, 1, 9)}{sep}cost{link}-5{sep}size{link}{between(rng, 10, 99)}"


def _cases(rng: Random, length: int) -> str:
    """Return words of a length and around it, in both cases."""
    shorter, longer = letters(rng, length - 1).upper(), letters(rng, 5)
    return f"{word(rng)} {letters(rng, length)} {shorter} {word(rng).upper()} Bea{longer}"


DRAWS: Mapping[str, Draws] = {
    "mean": Draws(
        edges=lambda rng, c: [
            ([],),
            ([c["LIMIT"], c["LIMIT"] + 3, c["LIMIT"] + 4, c["LIMIT"] - 3, c["LIMIT"] - 4],),
            (_near(rng, c["LIMIT"], 5),),
        ],
        example=lambda rng, c: ([*_near(rng, c["LIMIT"], 3), c["LIMIT"] + 1, c["LIMIT"] - 1],),
        constants=lambda rng: {"LIMIT": between(rng, 5, 90)},
    ),
    "multiples": Draws(
        edges=lambda rng, c: [
            ([c["K"] * 3, c["K"] * 5 + 1, c["K"] * 2, c["K"] + 1, -c["K"] * between(rng, 1, 9)],),
            ([],),
            (integers(rng, 5, -30, 30),),
        ],
        example=lambda rng, c: ([c["K"] * between(rng, 1, 9), *integers(rng, 3, 1, 50)],),
        constants=lambda rng: {"K": between(rng, 2, 9), "M": between(rng, 2, 12)},
    ),
    "remainders": Draws(
        edges=lambda rng, c: [([between(rng, 1, 9), c["K"] * 2 + 1, 1, *integers(rng, 3, 0, 60)],), ([],)],
        example=lambda rng, _: (integers(rng, 4, 0, 60),),
        constants=lambda rng: {"K": between(rng, 2, 12)},
    ),
    "top": Draws(
        edges=lambda rng, c: [
            ([*distinct(rng, c["N"] + 2, 1, 40), 0, 0, 41, 41],),
            ([7] * between(rng, 2, 4),),
            (integers(rng, c["N"] + 3, 0, 9),),
        ],
        example=lambda rng, c: (integers(rng, c["N"] + 2, -20, 20),),
        constants=lambda rng: {"N": between(rng, 2, 5)},
    ),
    "index": Draws(
        edges=_ends,
        example=lambda rng, c: (_near(rng, c["LIMIT"], 5),),
        constants=lambda rng: {"LIMIT": between(rng, -20, 90)},
    ),
    "sets": Draws(
        edges=lambda rng, c: [
            ({c["LIMIT"], c["LIMIT"] + 2, c["LIMIT"] - 2}, {c["LIMIT"], c["LIMIT"] - 2, c["LIMIT"] + 9}),
            ({c["LIMIT"], c["LIMIT"] - 4, c["LIMIT"] + 3}, {c["LIMIT"] + 3, c["LIMIT"] + between(rng, 4, 8)}),
            (set(), {c["LIMIT"] + 1}),
        ],
        example=lambda rng, c: (
            set(integers(rng, 4, c["LIMIT"] - 4, c["LIMIT"] + 6)),
            set(integers(rng, 4, c["LIMIT"] - 4, c["LIMIT"] + 6)),
        ),
        constants=lambda rng: {"LIMIT": between(rng, 5, 60)},
    ),
    "extremes": Draws(
        edges=lambda rng, _: [([],), (distinct(rng, between(rng, 3, 5), -60, 60),), ([between(rng, 1, 50)],)],
        example=lambda rng, _: (integers(rng, between(rng, 3, 5), -60, 60),),
        constants=lambda rng: {"K": between(rng, 2, 25)},
    ),
    "digits": Draws(
        edges=lambda rng, c: [
            (-int(f"9{c['D']}{between(rng, 1, 9)}1"),),
            (int(f"1{c['D']}8{c['D']}"),),
            (between(rng, 100, 99999),),
        ],
        example=lambda rng, _: (pick(rng, (1, -1)) * between(rng, 100, 99999),),
        constants=lambda rng: {"D": between(rng, 2, 7), "M": between(rng, 2, 9)},
    ),
    "count_set": Draws(
        edges=lambda rng, c: [(_shouted(rng, c["SET"]),), (c["SET"] + c["SET"].upper(),), ("",)],
        example=lambda rng, c: (f"{word(rng).title()} {word(rng)} {c['SET'][0]}",),
        constants=lambda rng: {"SET": _letter_set(rng)},
    ),
    "lengths": Draws(
        edges=lambda rng, c: [(_sentence(rng, c["N"]),), ("",), (" ".join(words(rng, 4)),)],
        example=lambda rng, c: (f"{word(rng)} {letters(rng, c['N'])} {word(rng)}",),
        constants=lambda rng: {"N": between(rng, 3, 8)},
    ),
    "caesar": Draws(
        edges=lambda rng, _: [
            (f"xyz {word(rng)} abc",),
            (f"{word(rng).title()}, {between(rng, 10, 99)} {word(rng).upper()}!",),
            ("",),
        ],
        example=lambda rng, _: (f"{word(rng)} {word(rng)}",),
        constants=lambda rng: {"K": pick(rng, (*range(2, 13), *range(14, 25)))},
    ),
    "merge": Draws(
        edges=lambda rng, c: [
            (
                {"tea": c["N"] - 1, "oil": 0, "soap": c["N"] + 3},
                {"tea": 1, "milk": c["N"] + between(rng, 0, 9), "salt": 0},
            ),
            ({}, {word(rng): c["N"] + 1}),
            (_counts(rng, "rice", c["N"]), _counts(rng, "rice", c["N"])),
        ],
        example=lambda rng, c: (_counts(rng, "corn", c["N"]), _counts(rng, "corn", c["N"])),
        constants=lambda rng: {"N": between(rng, 3, 50)},
    ),
    "every": Draws(
        edges=lambda rng, c: [
            (letters(rng, c["K"] * 3 + 2),),
            (letters(rng, c["K"]),),
            ("abcdefghijklmnopqrstuvwxyz"[: between(rng, c["K"] * 2 + 1, 26)],),
        ],
        example=lambda rng, c: (letters(rng, c["K"] * 2 + between(rng, 1, 3)),),
        constants=lambda rng: {"K": between(rng, 2, 6)},
    ),
    "parse": Draws(
        edges=lambda rng, c: [
            (_repeated(rng, c),),
            (f"{_entries(rng, c, 1)}{c['SEP']}{pick(rng, ('lost', 'empty', 'blue'))}",),
            (_entries(rng, c, 3),),
        ],
        example=lambda rng, c: (_entries(rng, c, between(rng, 1, 3)),),
        constants=lambda rng: {"SEP": pick(rng, _PARTS), "LINK": pick(rng, _LINKS[:4])},
    ),
    "initials": Draws(
        edges=lambda rng, c: [
            (_cases(rng, c["N"]),),
            ("",),
            (f"{word(rng).title()} {letters(rng, c['N'])} {word(rng)}",),
        ],
        example=lambda rng, _: (f"{word(rng)} {word(rng).title()} of {word(rng)}",),
        constants=lambda rng: {"SEP": pick(rng, (".", "-", ":", "/", "_", ";", "+")), "N": between(rng, 2, 4)},
    ),
}
