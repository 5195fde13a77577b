"""Function templates of level medium on numbers: filters, groups, searches, and errors on empty input."""

from random import Random

from generators.code_gen.draws import between, distinct, integers, pick
from generators.code_gen.function import Constants, FunctionTemplate


def _near(rng: Random, limit: int, count: int) -> list[int]:
    """Return integers around a limit, the limit among them."""
    numbers = [limit, *integers(rng, count - 1, limit - 9, limit + 9)]
    rng.shuffle(numbers)
    return numbers


MEAN = FunctionTemplate(
    name="mean",
    names=("mean_«WORD»", "average_«WORD»", "get_average", "mean_of_chosen", "average_of_kept"),
    python="""
        def NAME(numbers: list[int]) -> float:
            kept = [n for n in numbers if n «OP» LIMIT]
            if not kept:
                raise ValueError("nothing to average")
            return sum(kept) / len(kept)
    """,
    kotlin="""
        {
            val kept = numbers.filter { it «OP» LIMIT }
            if (kept.isEmpty()) throw IllegalArgumentException("nothing to average")
            return kept.average()
        }
    """,
    mutants=(
        ('raise ValueError("nothing to average")', "return 0.0"),
        ("sum(kept) / len(kept)", "sum(kept) // len(kept)"),
        ("sum(kept) / len(kept)", "sum(kept) / len(numbers)"),
        ("n «OP» LIMIT", "n «EDGE» LIMIT"),
    ),
    edges=lambda rng, c: [
        ([],),
        ([c["LIMIT"], c["LIMIT"] + 3, c["LIMIT"] + 4, c["LIMIT"] - 3, c["LIMIT"] - 4],),
        (_near(rng, c["LIMIT"], 5),),
    ],
    example=lambda rng, c: ([*_near(rng, c["LIMIT"], 3), c["LIMIT"] + 1, c["LIMIT"] - 1],),
    constant_names=("LIMIT",),
    constants=lambda rng: {"LIMIT": between(rng, 5, 90)},
    forms=(
        {"WORD": "at_least", "OP": ">=", "EDGE": ">"},
        {"WORD": "at_most", "OP": "<=", "EDGE": "<"},
    ),
)

MULTIPLES = FunctionTemplate(
    name="multiples",
    names=("«WORD»_multiples", "«WORD»_divisible", "select_and_scale", "process_numbers", "filter_and_multiply"),
    python="""
        def NAME(numbers: list[int]) -> list[int]:
            return [n * M for n in numbers if n % K «OP» 0]
    """,
    kotlin="= numbers.filter { it % K «OP» 0 }.map { it * M }",
    mutants=(
        ("n % K «OP» 0", "n % K «OTHER» 0"),
        ("n * M for", "n for"),
        (" if n % K «OP» 0", ""),
        ("[n * M for n in numbers if n % K «OP» 0]", "[n * M for n in sorted(numbers) if n % K «OP» 0]"),
    ),
    edges=lambda rng, c: [
        ([c["K"] * 3, c["K"] * 5 + 1, c["K"] * 2, c["K"] + 1, -c["K"] * between(rng, 1, 9)],),
        ([],),
        (integers(rng, 5, -30, 30),),
    ],
    example=lambda rng, c: ([c["K"] * between(rng, 1, 9), *integers(rng, 3, 1, 50)],),
    constant_names=("K", "M"),
    constants=lambda rng: {"K": between(rng, 2, 9), "M": between(rng, 2, 12)},
    forms=({"WORD": "keep", "OP": "==", "OTHER": "!="}, {"WORD": "drop", "OP": "!=", "OTHER": "=="}),
)

REMAINDERS = FunctionTemplate(
    name="remainders",
    names=("group_by_remainder", "remainder_groups", "split_by_remainder", "classify", "bucket_numbers"),
    python="""
        def NAME(numbers: list[int]) -> dict[int, list[int]]:
            groups = {}
            for n in numbers:
                groups.setdefault(n % K, []).append(n)
            return groups
    """,
    kotlin="= numbers.groupBy { it % K }",
    mutants=(
        ("n % K", "n // K"),
        ("n % K", "str(n % K)"),
        (".append(n)", ".insert(0, n)"),
        ("groups.setdefault(n % K, []).append(n)", "groups[n % K] = [n]"),
    ),
    edges=lambda rng, c: [([between(rng, 1, 9), c["K"] * 2 + 1, 1, *integers(rng, 3, 0, 60)],), ([],)],
    example=lambda rng, _: (integers(rng, 4, 0, 60),),
    constant_names=("K",),
    constants=lambda rng: {"K": between(rng, 2, 12)},
)

TOP = FunctionTemplate(
    name="top",
    names=("top_«WORD»", "find_«WORD»", "«WORD»_distinct", "select_«WORD»", "best_«WORD»"),
    python="""
        def NAME(numbers: list[int]) -> list[int]:
            return sorted(set(numbers), reverse=«REVERSE»)[:N]
    """,
    kotlin="= numbers.distinct().«SORTED»().take(N)",
    mutants=(
        ("set(numbers)", "numbers"),
        ("reverse=«REVERSE»", "reverse=not «REVERSE»"),
        ("[:N]", "[:N + 1]"),
        (
            "sorted(set(numbers), reverse=«REVERSE»)[:N]",
            "sorted(sorted(set(numbers), reverse=«REVERSE»)[:N])[::-«STEP»]",
        ),
    ),
    edges=lambda rng, c: [
        ([*distinct(rng, c["N"] + 2, 1, 40), 0, 0, 41, 41],),
        ([7] * between(rng, 2, 4),),
        (integers(rng, c["N"] + 3, 0, 9),),
    ],
    example=lambda rng, c: (integers(rng, c["N"] + 2, -20, 20),),
    constant_names=("N",),
    constants=lambda rng: {"N": between(rng, 2, 5)},
    forms=(
        {"WORD": "largest", "REVERSE": "True", "SORTED": "sortedDescending", "STEP": "-1"},
        {"WORD": "smallest", "REVERSE": "False", "SORTED": "sorted", "STEP": "1"},
    ),
)


def _ends(rng: Random, c: Constants) -> list[tuple[list[int]]]:
    limit = c["LIMIT"]
    up, down = limit + between(rng, 1, 9), limit - between(rng, 1, 9)
    return [([down, up, limit, down, up, limit, up, down],), ([limit, limit],), ([],), ([up, down, down, up],)]


INDEX = FunctionTemplate(
    name="index",
    names=("«WHICH»_index_«WORD»", "find_«WHICH»", "«WHICH»_position", "search_«WORD»", "index_of_«WHICH»"),
    python="""
        def NAME(numbers: list[int]) -> int | None:
            for index in «RANGE»(len(numbers))«END»:
                if numbers[index] «OP» LIMIT:
                    return index
            return None
    """,
    kotlin="= numbers.indexOf«CAMEL» { it «OP» LIMIT }.takeIf { it >= 0 }",
    mutants=(
        ("«RANGE»(len(numbers))«END»", "«OTHER»(len(numbers))«TAIL»"),
        ("«OP» LIMIT", "«EDGE» LIMIT"),
        ("return None", "return -1"),
        ("return index", "return index + 1"),
    ),
    edges=_ends,
    example=lambda rng, c: (_near(rng, c["LIMIT"], 5),),
    constant_names=("LIMIT",),
    constants=lambda rng: {"LIMIT": between(rng, -20, 90)},
    forms=tuple(
        {**which, **comparison}
        for which in (
            {
                "WHICH": "first", "CAMEL": "First", "RANGE": "range", "END": "", "OTHER": "reversed(range",
                "TAIL": ")",
            },
            {
                "WHICH": "last", "CAMEL": "Last", "RANGE": "reversed(range", "END": ")", "OTHER": "range",
                "TAIL": "",
            },
        )
        for comparison in (
            {"WORD": "above", "OP": ">", "EDGE": ">="},
            {"WORD": "below", "OP": "<", "EDGE": "<="},
        )
    ),
)  # fmt: skip

SETS = FunctionTemplate(
    name="sets",
    names=("«WORD»_values", "«WORD»_items", "compare_sets", "combine_sets", "select_«WORD»"),
    python="""
        def NAME(first: set[int], second: set[int]) -> set[int]:
            return {n for n in first «OP» second if n >= LIMIT}
    """,
    kotlin="= («KOTLIN»).filter { it >= LIMIT }.toSet()",
    mutants=(
        ("first «OP» second", "first «OTHER» second"),
        (" if n >= LIMIT", ""),
        ("n >= LIMIT", "n > LIMIT"),
        ("{n for n in first «OP» second if n >= LIMIT}", "sorted(n for n in first «OP» second if n >= LIMIT)"),
    ),
    edges=lambda rng, c: [
        ({c["LIMIT"], c["LIMIT"] + 2, c["LIMIT"] - 2}, {c["LIMIT"], c["LIMIT"] - 2, c["LIMIT"] + 9}),
        ({c["LIMIT"], c["LIMIT"] - 4, c["LIMIT"] + 3}, {c["LIMIT"] + 3, c["LIMIT"] + between(rng, 4, 8)}),
        (set(), {c["LIMIT"] + 1}),
    ],
    example=lambda rng, c: (
        set(integers(rng, 4, c["LIMIT"] - 4, c["LIMIT"] + 6)),
        set(integers(rng, 4, c["LIMIT"] - 4, c["LIMIT"] + 6)),
    ),
    constant_names=("LIMIT",),
    constants=lambda rng: {"LIMIT": between(rng, 5, 60)},
    forms=(
        {"WORD": "common", "OP": "&", "OTHER": "|", "KOTLIN": "first intersect second"},
        {"WORD": "only_first", "OP": "-", "OTHER": "^", "KOTLIN": "first subtract second"},
        {
            "WORD": "unshared", "OP": "^", "OTHER": "-",
            "KOTLIN": "(first union second) subtract (first intersect second)",
        },
    ),
)  # fmt: skip

EXTREMES = FunctionTemplate(
    name="extremes",
    names=("extremes", "«WORD»", "find_range", "bounds_of", "scaled_extremes"),
    python="""
        def NAME(numbers: list[int]) -> tuple[int, int]:
            if not numbers:
                raise ValueError("no numbers")
            return («ONE»(numbers) * K, «TWO»(numbers) * K)
    """,
    kotlin="""
        {
            require(numbers.isNotEmpty()) { "no numbers" }
            return Pair(numbers.«ONE»() * K, numbers.«TWO»() * K)
        }
    """,
    mutants=(
        ("«ONE»(numbers) * K, «TWO»(numbers) * K", "«TWO»(numbers) * K, «ONE»(numbers) * K"),
        ("(«ONE»(numbers) * K, «TWO»(numbers) * K)", "[«ONE»(numbers) * K, «TWO»(numbers) * K]"),
        ('raise ValueError("no numbers")', "return (0, 0)"),
        ("«TWO»(numbers) * K", "«TWO»(numbers)"),
    ),
    edges=lambda rng, _: [([],), (distinct(rng, between(rng, 3, 5), -60, 60),), ([between(rng, 1, 50)],)],
    example=lambda rng, _: (integers(rng, between(rng, 3, 5), -60, 60),),
    constant_names=("K",),
    constants=lambda rng: {"K": between(rng, 2, 25)},
    forms=(
        {"WORD": "low_and_high", "ONE": "min", "TWO": "max"},
        {"WORD": "high_and_low", "ONE": "max", "TWO": "min"},
    ),
)

DIGITS = FunctionTemplate(
    name="digits",
    names=("digit_sum", "sum_digits", "sum_of_«WORD»_digits", "add_digits", "digit_total"),
    python="""
        def NAME(n: int) -> int:
            return sum(int(d) for d in str(abs(n)) if int(d) «OP» D) * M
    """,
    kotlin="= Math.abs(n).toString().map { it.digitToInt() }.filter { it «OP» D }.sum() * M",
    mutants=(
        ("str(abs(n))", "str(n)"),
        ("int(d) «OP» D", "int(d) «EDGE» D"),
        (" * M", ""),
        ("sum(int(d) for", "sum(1 for"),
    ),
    edges=lambda rng, c: [
        (-int(f"9{c['D']}{between(rng, 1, 9)}1"),),
        (int(f"1{c['D']}8{c['D']}"),),
        (between(rng, 100, 99999),),
    ],
    example=lambda rng, _: (pick(rng, (1, -1)) * between(rng, 100, 99999),),
    constant_names=("D", "M"),
    constants=lambda rng: {"D": between(rng, 2, 7), "M": between(rng, 2, 9)},
    forms=({"WORD": "high", "OP": ">=", "EDGE": ">"}, {"WORD": "low", "OP": "<=", "EDGE": "<"}),
)

FUNCTIONS = (MEAN, MULTIPLES, REMAINDERS, TOP, INDEX, SETS, EXTREMES, DIGITS)
