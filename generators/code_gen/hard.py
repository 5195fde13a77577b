"""What is drawn for the functions of level hard (`hard.yaml`): constants, calls at the edges, examples."""

from collections.abc import Mapping
from random import Random

from generators.code_gen.draws import LETTERS, between, distinct, integers, letters, pick, word
from generators.code_gen.function import Constants, Draws


def _misspelt(rng: Random) -> tuple[str, str]:
    text = word(rng)
    place = between(rng, 0, len(text) - 2)
    wrong = (text[:place] + text[place + 1 :], text[:place] + "q" + text[place + 1 :], text + "s")
    return text, pick(rng, wrong)


_COSTS = tuple(
    (insert, delete, replace)
    for insert in range(2, 7)
    for delete in range(2, 7)
    for replace in range(2, 9)
    if insert != delete and replace < insert + delete
)

_BRACKETS = ("()", "[]", "{}", "<>")


def _pairs(rng: Random) -> Constants:
    first = pick(rng, _BRACKETS)
    return {"ONE": first, "TWO": pick(rng, [pair for pair in _BRACKETS if pair != first])}


def _bracketed(rng: Random, c: Constants) -> tuple[str]:
    one, two = (c["ONE"], c["TWO"]) if rng.random() < 0.5 else (c["TWO"], c["ONE"])  # noqa: PLR2004 - a coin's toss
    a, b = letters(rng, 1), letters(rng, 2)
    shapes = (
        f"{one[0]}{a}{two[0]}{b}{two[1]}{one[1]}", f"{one[0]}{a}{one[1]}{b}{two[0]}", f"{a}{one[1]}{b}{one[0]}",
        f"{two[0]}{two[0]}{a}{two[1]}{b}{two[1]}", f"{one[0]}{two[0]}{a}{one[1]}{two[1]}{b}",
    )  # fmt: skip
    return (pick(rng, shapes),)


def _runs(rng: Random, least: int) -> str:
    parts = [letters(rng, 1, "abcd") * least, letters(rng, 1, "efgh"), letters(rng, 1, "klmn") * (least - 1)]
    return "".join([*parts, letters(rng, 1, "pqrs") * (least + between(rng, 1, 2))])


def _table(rng: Random, rows: int, columns: int) -> tuple[list[list[int]]]:
    return ([integers(rng, columns, 0, 99) for _ in range(rows)],)


def _intervals(rng: Random, gap: int) -> list[tuple[int, int]]:
    found, at = [], between(rng, 0, 9)
    for _ in range(between(rng, 3, 4)):
        end = at + between(rng, 1, 6)
        found.append((at, end))
        at = end + gap + between(rng, -2, 2)
    rng.shuffle(found)
    return found


def _text(rng: Random) -> str:
    common = (word(rng), word(rng), word(rng))
    return " ".join(pick(rng, (str.lower, str.title, str.upper))(pick(rng, common)) for _ in range(6))


DRAWS: Mapping[str, Draws] = {
    "recurrence": Draws(
        edges=lambda rng, _: [(0,), (-between(rng, 1, 9),), (between(rng, 3, 8),)],
        example=lambda rng, _: (between(rng, 2, 8),),
        constants=lambda rng: {
            "A": between(rng, 0, 5),
            "B": between(rng, 6, 9),
            "P": between(rng, 2, 4),
            "Q": pick(rng, (1, 5, 6)),
        },
    ),
    "base": Draws(
        edges=lambda rng, c: [
            (0,),
            (-between(rng, 1, 99),),
            (c["BASE"] ** 2 + 2 * c["BASE"],),
            (between(rng, 50, 9999),),
        ],
        example=lambda rng, _: (between(rng, 1, 9999),),
        constants=lambda rng: {
            "BASE": pick(rng, (3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16)),
            "PREFIX": pick(rng, ("#", "n", "x:", "b_", "~")),
        },
    ),
    "factors": Draws(
        edges=lambda rng, c: [
            (between(rng, -5, 1),),
            (c["LEAST"] ** 2 * pick(rng, (2, 3, 11, 13)),),
            (pick(rng, (2, 17, 19)) * pick(rng, (2, 23, 29)),),
            (pick(rng, (12, 45, 360, 98, 700)),),
        ],
        example=lambda rng, _: (between(rng, 2, 900),),
        constants=lambda rng: {"LEAST": pick(rng, (3, 5, 7, 11, 13))},
    ),
    "coins": Draws(
        edges=lambda rng, c: [
            (0,),
            (-between(rng, 1, 20),),
            (c["COINS"][0] + c["COINS"][1],),
            (c["COINS"][0] * 2 + c["COINS"][-1],),
            (c["COINS"][0] * c["COINS"][1],),
        ],
        example=lambda rng, c: (c["COINS"][0] * between(rng, 1, 3) + c["COINS"][-1] * between(rng, 0, 2),),
        constants=lambda rng: {"COINS": sorted(distinct(rng, between(rng, 3, 4), 2, 15))},
    ),
    "circle": Draws(
        edges=lambda rng, _: [(1,), (-between(rng, 0, 5),), (between(rng, 5, 12),), (between(rng, 13, 30),)],
        example=lambda rng, _: (between(rng, 2, 40),),
        constants=lambda rng: {"K": between(rng, 2, 9)},
    ),
    "paths": Draws(
        edges=lambda rng, _: [
            (3, 4, {(0, 2), (1, between(rng, 0, 1))}),
            (2, between(rng, 3, 6), set()),
            (1, 3, {(0, 1)}),
            (3, 3, {(0, 1), (1, 0)} if rng.random() < 0.5 else {(2, 2)}),  # noqa: PLR2004 - a coin's toss
        ],
        example=lambda rng, _: (
            between(rng, 2, 4),
            between(rng, 3, 5),
            {(between(rng, 0, 1), between(rng, 1, 2)) for _ in range(2)},
        ),
    ),
    "distance": Draws(
        edges=lambda rng, _: [
            (word(rng), ""),
            ("", word(rng)),
            ("kitten", "mitten"),
            ("tea", "steak"),
            ("planet", "lane"),
        ],
        example=lambda rng, _: _misspelt(rng),
        constants=lambda rng: dict(
            zip(("INSERT", "DELETE", "REPLACE"), pick(rng, _COSTS), strict=True),
        ),
    ),
    "run": Draws(
        edges=lambda rng, c: [
            ([0, c["K"], 2 * c["K"], 1, 5 * c["K"], -1],),
            ([7 * c["K"], 5 * c["K"], 4 * c["K"], 3 * c["K"], 9 * c["K"]],),
            ([],),
            (integers(rng, 7, 0, 4 * c["K"]),),
            ([0, 2 * c["K"], 5 * c["K"], 3 * c["K"], 8 * c["K"]],),
        ],
        example=lambda rng, c: (integers(rng, 5, 0, 4 * c["K"]),),
        constants=lambda rng: {"K": between(rng, 2, 12)},
    ),
    "brackets": Draws(
        edges=lambda rng, c: [
            (f"{c['ONE'][0]}{letters(rng, 1)}{c['TWO'][0]}{c['ONE'][1]}{c['TWO'][1]}",),
            (f"{c['ONE'][0]}{c['TWO'][0]}{letters(rng, 2)}{c['TWO'][1]}",),
            (f"{letters(rng, 1)}{c['ONE'][1]}{c['ONE'][0]}",),
            (f"{c['TWO'][0]}{c['ONE']}{letters(rng, 1)}{c['TWO'][1]}{c['ONE']}",),
        ],
        example=_bracketed,
        constants=_pairs,
    ),
    "encode": Draws(
        edges=lambda rng, c: [(_runs(rng, c["LEAST"]),), (_runs(rng, c["LEAST"] + 1),), ("",), (word(rng),)],
        example=lambda rng, c: (_runs(rng, c["LEAST"]),),
        constants=lambda rng: {"LEAST": between(rng, 3, 5), "SEP": pick(rng, ("-", ".", "/", "_", " ", "+", "|"))},
    ),
    "turn": Draws(
        edges=lambda rng, _: [_table(rng, 2, 3), _table(rng, between(rng, 1, 3), 1), _table(rng, 3, 3)],
        example=lambda rng, _: _table(rng, 2, between(rng, 2, 3)),
        constants=lambda rng: {"K": between(rng, 1, 50)},
    ),
    "intervals": Draws(
        edges=lambda rng, c: [
            ([(20 + c["GAP"], 30), (1, 9), (9 + c["GAP"], max(12, 9 + c["GAP"])), (2, between(rng, 3, 5))],),
            ([(1, 9), (2, 4), (10 + c["GAP"], 15 + c["GAP"])],),
            ([],),
            (_intervals(rng, c["GAP"]),),
        ],
        example=lambda rng, c: (_intervals(rng, c["GAP"]),),
        constants=lambda rng: {"GAP": between(rng, 1, 6)},
    ),
    "frequent": Draws(
        edges=lambda rng, _: [
            ("The end is THE end of it and it is the best Bee bee and",),
            (f"pear Fig pear fig {word(rng)} kiwi Kiwi plum PLUM plum nut",),
            ("",),
            (_text(rng),),
        ],
        example=lambda rng, _: (_text(rng),),
        constants=lambda rng: {"N": between(rng, 2, 5)},
    ),
    "window": Draws(
        edges=lambda rng, c: [
            (integers(rng, c["K"] - 1, -9, 9),),
            (integers(rng, c["K"], 1, 20),),
            (integers(rng, c["K"] + 4, -20, 40),),
        ],
        example=lambda rng, c: (integers(rng, c["K"] + 2, -20, 40),),
        constants=lambda rng: {"K": between(rng, 2, 5)},
    ),
    "flatten": Draws(
        edges=lambda rng, c: [
            ([],),
            ([[c["K"] * 2, 1, c["K"]], [], [c["K"] * 2, 1, c["K"] * 5 + 1, -c["K"]]],),
            ([integers(rng, 4, 0, 20), integers(rng, 4, 0, 20)],),
        ],
        example=lambda rng, _: ([integers(rng, 3, 0, 20), integers(rng, 3, 0, 20)],),
        constants=lambda rng: {"K": between(rng, 2, 9)},
    ),
    "keyed": Draws(
        edges=lambda rng, _: [
            ("",),
            (f"xyz{word(rng)}",),
            (word(rng).upper(),),
            (letters(rng, between(rng, 5, 9)),),
        ],
        example=lambda rng, _: (word(rng),),
        constants=lambda rng: {"KEY": pick(rng, LETTERS[1:12]) + letters(rng, between(rng, 1, 3), LETTERS[14:24])},
    ),
}
