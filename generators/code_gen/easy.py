"""What is drawn for the functions of level easy (`easy.yaml`): constants, calls at the edges, examples."""

from collections.abc import Mapping
from random import Random

from generators.code_gen.draws import between, integers, letters, pick, word
from generators.code_gen.function import Constants, Draws

_TELLING = (1, 2, 3, 4, 6, 7, 8, 9)

"""Digits that tell -n % 10 from n % 10."""

_SEPARATORS = ("-", "+", "/", "::", "_", "=", ".", "|", "~", "->", ", ", "; ")

_OPENINGS = ("Hello, ", "Dear ", "Hi, ", "Good morning, ", "Welcome, ", "Thank you, ", "<<", "[", "To: ", "Order: ")

_CLOSINGS = ("!", "!!", "?", ".", " :)", ">>", "]", " and friends", ", please", " (new)")


def _mixed(rng: Random, letter: str) -> str:
    return f"{word(rng)}{letter}{letters(rng, 2)}{letter.upper()}{letter}"


def _stock(rng: Random, key: str, amount: int) -> dict[str, int]:
    return {word(rng): between(rng, 1, 99), key: amount}


def _around(rng: Random, c: Constants) -> tuple[list[int]]:
    limit = c["LIMIT"]
    return ([limit, limit + between(rng, 1, 9), limit - between(rng, 1, 9), limit],)


DRAWS: Mapping[str, Draws] = {
    "sign": Draws(
        edges=lambda rng, _: [(0,), (1,), (-between(rng, 1, 99),)],
        example=lambda rng, _: (between(rng, -999, 999),),
    ),
    "limit": Draws(
        edges=lambda rng, c: [
            (c["LIMIT"],),
            (c["LIMIT"] + between(rng, 1, 9),),
            (c["LIMIT"] - between(rng, 1, 9),),
        ],
        example=lambda rng, c: (c["LIMIT"] + between(rng, -50, 50),),
        constants=lambda rng: {"LIMIT": between(rng, 2, 500)},
    ),
    "of_two": Draws(
        edges=lambda rng, _: [
            (-between(rng, 1, 50), -between(rng, 51, 99)),
            (between(rng, 1, 50), between(rng, 51, 99)),
            (between(rng, 51, 99), between(rng, 1, 50)),
        ],
        example=lambda rng, _: (between(rng, -500, 500), between(rng, -500, 500)),
    ),
    "divisible": Draws(
        edges=lambda rng, c: [
            (c["K"] * between(rng, 1, c["K"]),),
            (c["K"] * between(rng, 1, 20) + between(rng, 1, c["K"] - 1),),
            (-c["K"] * between(rng, 1, c["K"]),),
            (0,),
        ],
        example=lambda rng, c: (c["K"] * between(rng, 1, 40) + between(rng, 0, 1),),
        constants=lambda rng: {"K": between(rng, 2, 60)},
    ),
    "linear": Draws(
        edges=lambda rng, _: [(0,), (between(rng, 2, 30),), (-between(rng, 2, 30),)],
        example=lambda rng, _: (between(rng, -99, 99),),
        constants=lambda rng: {"A": between(rng, 2, 30), "B": between(rng, 31, 99)},
    ),
    "clamp": Draws(
        edges=lambda rng, c: [
            (c["LOW"] - between(rng, 1, 99),),
            (c["HIGH"] + between(rng, 1, 99),),
            (between(rng, c["LOW"] + 1, c["HIGH"] - 1),),
        ],
        example=lambda rng, c: (between(rng, c["LOW"] - 50, c["HIGH"] + 50),),
        constants=lambda rng: {"LOW": between(rng, -50, 40), "HIGH": between(rng, 50, 200)},
    ),
    "price": Draws(
        edges=lambda rng, _: [(between(rng, 1, 300) + 0.25,), (between(rng, 1, 300) * 1.0,), (0.0,)],
        example=lambda rng, _: (between(rng, 100, 90000) / 100,),
        constants=lambda rng: {"P": between(rng, 1, 49)},
    ),
    "share": Draws(
        edges=lambda rng, c: [
            (c["K"] + between(rng, 1, 99), 0),
            (c["K"] * 3 + 1, 2),
            (c["K"] + between(rng, 100, 500), between(rng, 1, 9)),
        ],
        example=lambda rng, c: (c["K"] + between(rng, 10, 500), between(rng, 1, 12)),
        constants=lambda rng: {"K": between(rng, 5, 99)},
    ),
    "swap": Draws(
        edges=lambda rng, _: [((between(rng, 1, 40), between(rng, 41, 99)),), ((0, -between(rng, 1, 9)),)],
        example=lambda rng, _: (tuple(integers(rng, 2, -99, 99)),),
        constants=lambda rng: {"A": between(rng, 1, 20), "B": between(rng, 21, 50)},
    ),
    "last_digit": Draws(
        edges=lambda rng, c: [
            (-10 * between(rng, 1, 90) - c["D"],),
            (100 * between(rng, 1, 9) + 10 * ((c["D"] + 1) % 10) + c["D"],),
            (10 * c["D"] + (c["D"] + between(rng, 1, 4)) % 10,),
        ],
        example=lambda rng, c: (10 * between(rng, 1, 99) + pick(rng, (c["D"], between(rng, 0, 9))),),
        constants=lambda rng: {"D": pick(rng, _TELLING)},
    ),
    "repeat": Draws(
        edges=lambda rng, _: [("",), (word(rng),), (letters(rng, 1),)],
        example=lambda rng, _: (word(rng),),
        constants=lambda rng: {"SEP": pick(rng, _SEPARATORS), "N": between(rng, 2, 7)},
    ),
    "wrap": Draws(
        edges=lambda rng, _: [(word(rng),), ("",), (f"{word(rng)} {word(rng).title()}",)],
        example=lambda rng, _: (word(rng),),
        constants=lambda rng: {"OPEN": pick(rng, _OPENINGS), "CLOSE": pick(rng, _CLOSINGS)},
    ),
    "count_letter": Draws(
        edges=lambda rng, c: [(_mixed(rng, c["LETTER"]),), (c["LETTER"].upper() + word(rng),), ("",)],
        example=lambda rng, c: (word(rng) + c["LETTER"] + word(rng),),
        constants=lambda rng: {"LETTER": letters(rng, 1)},
    ),
    "ends": Draws(
        edges=lambda rng, c: [
            (integers(rng, c["N"] + between(rng, 2, 3), -99, 99),),
            (integers(rng, c["N"] - 1, 0, 9),),
            ([],),
        ],
        example=lambda rng, c: (integers(rng, c["N"] + 1, -99, 99),),
        constants=lambda rng: {"N": between(rng, 2, 5)},
    ),
    "lookup": Draws(
        edges=lambda rng, _: [
            ({"milk": 0, word(rng): between(rng, 1, 99)}, "milk"),
            ({}, word(rng)),
            ({"salt": between(rng, 101, 200)}, "salt"),
        ],
        example=lambda rng, _: (_stock(rng, "sugar", between(rng, 1, 99)), pick(rng, ("sugar", "flour"))),
        constants=lambda rng: {"DEFAULT": pick(rng, (-1, between(rng, 1, 100)))},
    ),
    "length": Draws(
        edges=lambda rng, c: [
            (letters(rng, c["N"]),),
            (letters(rng, c["N"] - between(rng, 1, 2)),),
            (letters(rng, c["N"] + between(rng, 1, 2)),),
        ],
        example=lambda rng, _: (word(rng),),
        constants=lambda rng: {"N": between(rng, 3, 9)},
    ),
    "unique": Draws(
        edges=lambda rng, c: [_around(rng, c), ([],), (integers(rng, 4, c["LIMIT"] - 2, c["LIMIT"] + 2),)],
        example=lambda rng, c: (integers(rng, 3, c["LIMIT"] - 20, c["LIMIT"] + 20),),
        constants=lambda rng: {"LIMIT": between(rng, -20, 90)},
    ),
    "without": Draws(
        edges=lambda rng, c: [
            ([c["VALUE"] + 5, c["VALUE"], c["VALUE"] + 5, c["VALUE"], c["VALUE"] - between(rng, 1, 9)],),
            ([c["VALUE"]],),
            ([],),
        ],
        example=lambda rng, c: ([between(rng, 0, 99), c["VALUE"], between(rng, 0, 99)],),
        constants=lambda rng: {"VALUE": between(rng, 0, 99)},
    ),
}
