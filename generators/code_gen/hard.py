"""Function templates of level hard on numbers: recurrences, dynamic programming, number theory, simulation."""

from random import Random

from generators.code_gen.draws import between, distinct, integers, pick, word
from generators.code_gen.function import FunctionTemplate

RECURRENCE = FunctionTemplate(
    name="recurrence",
    names=("sequence_term", "nth_term", "recurrent", "term_of_sequence", "generalized_fibonacci"),
    python="""
        def NAME(n: int) -> int:
            if n < 0:
                raise ValueError("n is negative")
            if n < 2:
                return A if n == 0 else B
            return P * NAME(n - 1) «OP» Q * NAME(n - 2)
    """,
    kotlin="""
        {
            require(n >= 0) { "n is negative" }
            if (n < 2) return if (n == 0) A else B
            return P * NAME(n - 1) «OP» Q * NAME(n - 2)
        }
    """,
    mutants=(
        ("P * NAME(n - 1) «OP» Q * NAME(n - 2)", "Q * NAME(n - 1) «OP» P * NAME(n - 2)"),
        ("return A if n == 0 else B", "return B if n == 0 else A"),
        ('raise ValueError("n is negative")', "return 0"),
        ("«OP» Q", "«OTHER» Q"),
    ),
    edges=lambda rng, _: [(0,), (-between(rng, 1, 9),), (between(rng, 3, 8),)],
    example=lambda rng, _: (between(rng, 2, 8),),
    constant_names=("A", "B", "P", "Q"),
    constants=lambda rng: {
        "A": between(rng, 0, 5), "B": between(rng, 6, 9), "P": between(rng, 2, 4), "Q": pick(rng, (1, 5, 6)),
    },
    forms=({"WORD": "plus", "OP": "+", "OTHER": "-"}, {"WORD": "minus", "OP": "-", "OTHER": "+"}),
)  # fmt: skip

BASE = FunctionTemplate(
    name="base",
    names=("to_base", "convert_base", "number_in_base", "write_in_base", "base_digits"),
    python="""
        def NAME(n: int) -> str:
            if n < 0:
                raise ValueError("n is negative")
            digits = ""
            while n > 0:
                digits = "0123456789abcdef"[n % BASE] + digits
                n //= BASE
            return PREFIX + (digits or "0")
    """,
    kotlin="""
        {
            require(n >= 0) { "n is negative" }
            return PREFIX + n.toString(BASE)
        }
    """,
    mutants=(
        ('(digits or "0")', "digits"),
        ('"0123456789abcdef"[n % BASE] + digits', 'digits + "0123456789abcdef"[n % BASE]'),
        ('raise ValueError("n is negative")', 'return "-"'),
        ("while n > 0:", "while n > 1:"),
    ),
    edges=lambda rng, c: [
        (0,),
        (-between(rng, 1, 99),),
        (c["BASE"] ** 2 + 2 * c["BASE"],),
        (between(rng, 50, 9999),),
    ],
    example=lambda rng, _: (between(rng, 1, 9999),),
    constant_names=("BASE", "PREFIX"),
    constants=lambda rng: {
        "BASE": pick(rng, (3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16)),
        "PREFIX": pick(rng, ("#", "n", "x:", "b_", "~")),
    },
)

FACTORS = FunctionTemplate(
    name="factors",
    names=("prime_factors", "factorize", "prime_powers", "factor_table", "decompose"),
    python="""
        def NAME(n: int) -> dict[int, int]:
            if n < 2:
                raise ValueError("n has no prime factors")
            powers = {}
            divisor = 2
            while n > 1:
                while n % divisor == 0:
                    powers[divisor] = powers.get(divisor, 0) + 1
                    n //= divisor
                divisor += 1
            return {p: k for p, k in powers.items() if p «OP» LEAST}
    """,
    kotlin="""
        {
            require(n >= 2) { "n has no prime factors" }
            val powers = mutableMapOf<Int, Int>()
            var rest = n
            var divisor = 2
            while (rest > 1) {
                while (rest % divisor == 0) {
                    powers[divisor] = (powers[divisor] ?: 0) + 1
                    rest /= divisor
                }
                divisor++
            }
            return powers.filterKeys { it «OP» LEAST }
        }
    """,
    mutants=(
        ("p «OP» LEAST", "p «EDGE» LEAST"),
        ("powers.get(divisor, 0) + 1", "1"),
        ("while n > 1:", "while divisor * divisor <= n:"),
        ('raise ValueError("n has no prime factors")', "return {}"),
    ),
    edges=lambda rng, c: [
        (between(rng, -5, 1),),
        (c["LEAST"] ** 2 * pick(rng, (2, 3, 11, 13)),),
        (pick(rng, (2, 17, 19)) * pick(rng, (2, 23, 29)),),
        (pick(rng, (12, 45, 360, 98, 700)),),
    ],
    example=lambda rng, _: (between(rng, 2, 900),),
    constant_names=("LEAST",),
    constants=lambda rng: {"LEAST": pick(rng, (3, 5, 7, 11, 13))},
    forms=({"WORD": "at_least", "OP": ">=", "EDGE": ">"}, {"WORD": "at_most", "OP": "<=", "EDGE": "<"}),
)

COINS = FunctionTemplate(
    name="coins",
    names=("count_ways", "ways_to_pay", "payment_ways", "coin_ways", "combinations_of_coins"),
    python="""
        def NAME(amount: int) -> int:
            if amount < 0:
                raise ValueError("amount is negative")
            ways = [1] + [0] * amount
            for coin in COINS:
                for value in «RANGE»:
                    ways[value] += ways[value - coin]
            return ways[amount]
    """,
    kotlin="""
        {
            require(amount >= 0) { "amount is negative" }
            val ways = IntArray(amount + 1)
            ways[0] = 1
            for (coin in COINS) for (value in «KRANGE») ways[value] += ways[value - coin]
            return ways[amount]
        }
    """,
    mutants=(
        ("in «RANGE»:", "in «OTHER»:"),
        ("[1] + [0] * amount", "[0] + [0] * amount"),
        ('raise ValueError("amount is negative")', "return 0"),
        ("for coin in COINS:", "for coin in COINS[1:]:"),
    ),
    edges=lambda rng, c: [
        (0,),
        (-between(rng, 1, 20),),
        (c["COINS"][0] + c["COINS"][1],),
        (c["COINS"][0] * 2 + c["COINS"][-1],),
        (c["COINS"][0] * c["COINS"][1],),
    ],
    example=lambda rng, c: (c["COINS"][0] * between(rng, 1, 3) + c["COINS"][-1] * between(rng, 0, 2),),
    constant_names=("COINS",),
    constants=lambda rng: {"COINS": sorted(distinct(rng, between(rng, 3, 4), 2, 15))},
    forms=(
        {
            "WORD": "many", "RANGE": "range(coin, amount + 1)", "OTHER": "range(amount, coin - 1, -1)",
            "KRANGE": "coin..amount",
        },
        {
            "WORD": "once", "RANGE": "range(amount, coin - 1, -1)", "OTHER": "range(coin, amount + 1)",
            "KRANGE": "amount downTo coin",
        },
    ),
)  # fmt: skip

CIRCLE = FunctionTemplate(
    name="circle",
    names=("last_in_circle", "survivor", "josephus", "last_one_left", "final_player"),
    python="""
        def NAME(n: int) -> int:
            if n < 1:
                raise ValueError("nobody in the circle")
            people = list(range(1, n + 1))
            place = 0
            while len(people) > 1:
                place = (place + K - 1) % len(people)
                people.pop(place)
            return people[0]
    """,
    kotlin="""
        {
            require(n >= 1) { "nobody in the circle" }
            val people = (1..n).toMutableList()
            var place = 0
            while (people.size > 1) {
                place = (place + K - 1) % people.size
                people.removeAt(place)
            }
            return people[0]
        }
    """,
    mutants=(
        ("list(range(1, n + 1))", "list(range(n))"),
        ("(place + K - 1)", "(place + K)"),
        ('raise ValueError("nobody in the circle")', "return 0"),
        ("(place + K - 1) % len(people)", "(K - 1) % len(people)"),
    ),
    edges=lambda rng, _: [(1,), (-between(rng, 0, 5),), (between(rng, 5, 12),), (between(rng, 13, 30),)],
    example=lambda rng, _: (between(rng, 2, 40),),
    constant_names=("K",),
    constants=lambda rng: {"K": between(rng, 2, 9)},
)

PATHS = FunctionTemplate(
    name="paths",
    names=("count_paths", "grid_paths", "ways_through_grid", "number_of_routes", "robot_paths"),
    python="""
        def NAME(rows: int, columns: int, blocked: set[tuple[int, int]]) -> int:
            ways = {(0, 0): 1}
            for r in range(rows):
                for c in range(columns):
                    if (r, c) in blocked:
                        ways[r, c] = 0
                    elif (r, c) != (0, 0):
                        ways[r, c] = ways.get((r - 1, c), 0) + ways.get((r, c - 1), 0)«DIAGONAL»
            return ways[rows - 1, columns - 1]
    """,
    kotlin="""
        {
            val ways = mutableMapOf(Pair(0, 0) to 1)
            for (r in 0 until rows) for (c in 0 until columns) {
                if (Pair(r, c) in blocked) {
                    ways[Pair(r, c)] = 0
                } else if (r + c > 0) {
                    ways[Pair(r, c)] = (ways[Pair(r - 1, c)] ?: 0) + (ways[Pair(r, c - 1)] ?: 0)«KDIAGONAL»
                }
            }
            return ways.getValue(Pair(rows - 1, columns - 1))
        }
    """,
    mutants=(
        ("if (r, c) in blocked:", "if (c, r) in blocked:"),
        ("ways.get((r, c - 1), 0)«DIAGONAL»", "ways.get((r, c - 1), 0)«OTHER»"),
        ("if (r, c) in blocked:", "if False:"),
        ("return ways[rows - 1, columns - 1]", "return max(ways.values())"),
    ),
    edges=lambda rng, _: [
        (3, 4, {(0, 2), (1, between(rng, 0, 1))}),
        (2, between(rng, 3, 6), set()),
        (1, 3, {(0, 1)}),
        (3, 3, {(0, 1), (1, 0)} if rng.random() < 0.5 else {(2, 2)}),  # noqa: PLR2004 - a coin's toss
    ],
    example=lambda rng, _: (
        between(rng, 2, 4), between(rng, 3, 5), {(between(rng, 0, 1), between(rng, 1, 2)) for _ in range(2)},
    ),
    forms=(
        {"WORD": "two", "DIAGONAL": "", "OTHER": " + ways.get((r - 1, c - 1), 0)", "KDIAGONAL": ""},
        {
            "WORD": "three", "DIAGONAL": " + ways.get((r - 1, c - 1), 0)", "OTHER": "",
            "KDIAGONAL": " + (ways[Pair(r - 1, c - 1)] ?: 0)",
        },
    ),
)  # fmt: skip


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

DISTANCE = FunctionTemplate(
    name="distance",
    names=("edit_cost", "typing_cost", "change_cost", "edit_distance", "cost_of_changes"),
    python="""
        def NAME(source: str, target: str) -> int:
            row = [j * INSERT for j in range(len(target) + 1)]
            for i, a in enumerate(source, 1):
                above, row = row, [i * DELETE]
                for j, b in enumerate(target, 1):
                    change = above[j - 1] + (0 if a == b else REPLACE)
                    row.append(min(change, above[j] + DELETE, row[-1] + INSERT))
            return row[-1]
    """,
    kotlin="""
        {
            var row = List(target.length + 1) { it * INSERT }
            source.forEachIndexed { i, a ->
                val next = mutableListOf((i + 1) * DELETE)
                target.forEachIndexed { j, b ->
                    val change = row[j] + (if (a == b) 0 else REPLACE)
                    next.add(minOf(change, row[j + 1] + DELETE, next.last() + INSERT))
                }
                row = next
            }
            return row.last()
        }
    """,
    mutants=(
        ("min(change, above[j] + DELETE, row[-1] + INSERT)", "min(change, above[j] + INSERT, row[-1] + DELETE)"),
        ("(0 if a == b else REPLACE)", "REPLACE"),
        ("[i * DELETE]", "[i]"),
        ("(0 if a == b else REPLACE)", "(0 if a == b else 1)"),
    ),
    edges=lambda rng, _: [
        (word(rng), ""),
        ("", word(rng)),
        ("kitten", "mitten"),
        ("tea", "steak"),
        ("planet", "lane"),
    ],
    example=lambda rng, _: _misspelt(rng),
    constant_names=("INSERT", "DELETE", "REPLACE"),
    constants=lambda rng: dict(
        zip(("INSERT", "DELETE", "REPLACE"), pick(rng, _COSTS), strict=True),
    ),
)

RUN = FunctionTemplate(
    name="run",
    names=("longest_run", "longest_«WORD»_run", "run_length", "best_streak", "longest_streak"),
    python="""
        def NAME(numbers: list[int]) -> int:
            best = length = 0
            for index, n in enumerate(numbers):
                length = length + 1 if index > 0 and «STEP» >= K else 1
                best = max(best, length)
            return best
    """,
    kotlin="""
        {
            var best = 0
            var length = 0
            for ((index, n) in numbers.withIndex()) {
                length = if (index > 0 && «STEP» >= K) length + 1 else 1
                best = maxOf(best, length)
            }
            return best
        }
    """,
    mutants=(
        ("«STEP» >= K", "«STEP» > K"),
        ("return best", "return length"),
        ("«STEP» >= K else 1", "«STEP» >= K else length"),
        ("«STEP» >= K", "«OTHER» >= K"),
    ),
    edges=lambda rng, c: [
        ([0, c["K"], 2 * c["K"], 1, 5 * c["K"], -1],),
        ([7 * c["K"], 5 * c["K"], 4 * c["K"], 3 * c["K"], 9 * c["K"]],),
        ([],),
        (integers(rng, 7, 0, 4 * c["K"]),),
        ([0, 2 * c["K"], 5 * c["K"], 3 * c["K"], 8 * c["K"]],),
    ],
    example=lambda rng, c: (integers(rng, 5, 0, 4 * c["K"]),),
    constant_names=("K",),
    constants=lambda rng: {"K": between(rng, 2, 12)},
    forms=(
        {"WORD": "rising", "STEP": "n - numbers[index - 1]", "OTHER": "numbers[index - 1] - n"},
        {"WORD": "falling", "STEP": "numbers[index - 1] - n", "OTHER": "n - numbers[index - 1]"},
    ),
)

FUNCTIONS = (RECURRENCE, BASE, FACTORS, COINS, CIRCLE, PATHS, DISTANCE, RUN)
