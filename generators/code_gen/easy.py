"""Function templates of level easy on numbers and pairs: one comparison or one line of arithmetic."""

from generators.code_gen.draws import between, integers, pick
from generators.code_gen.function import FunctionTemplate

_COMPARISONS = (
    {"WORD": "above", "OP": ">", "EDGE": ">="},
    {"WORD": "below", "OP": "<", "EDGE": "<="},
    {"WORD": "at_least", "OP": ">=", "EDGE": ">"},
    {"WORD": "at_most", "OP": "<=", "EDGE": "<"},
)

SIGN = FunctionTemplate(
    name="sign",
    names=("is_«WORD»", "check_«WORD»", "number_is_«WORD»", "has_«WORD»_sign", "looks_«WORD»"),
    python="""
        def NAME(n: int) -> bool:
            return n «OP» 0
    """,
    kotlin="= n «OP» 0",
    mutants=(
        ("n «OP» 0", "n «EDGE» 0"),
        ("n «OP» 0", "not n «OP» 0"),
        ("n «OP» 0", "n «OP» 1"),
        ("n «OP» 0", "int(n «OP» 0)"),
    ),
    edges=lambda rng, _: [(0,), (1,), (-between(rng, 1, 99),)],
    example=lambda rng, _: (between(rng, -999, 999),),
    forms=(
        {"WORD": "positive", "OP": ">", "EDGE": ">="},
        {"WORD": "negative", "OP": "<", "EDGE": "<="},
        {"WORD": "non_negative", "OP": ">=", "EDGE": ">"},
        {"WORD": "non_positive", "OP": "<=", "EDGE": "<"},
    ),
)

LIMIT = FunctionTemplate(
    name="limit",
    names=("is_«WORD»_limit", "check_«WORD»", "stays_«WORD»", "is_allowed", "passes"),
    python="""
        def NAME(n: int) -> bool:
            return n «OP» LIMIT
    """,
    kotlin="= n «OP» LIMIT",
    mutants=(
        ("n «OP» LIMIT", "n «EDGE» LIMIT"),
        ("n «OP» LIMIT", "not n «OP» LIMIT"),
        ("n «OP» LIMIT", "LIMIT if n «OP» LIMIT else 0"),
    ),
    edges=lambda rng, c: [(c["LIMIT"],), (c["LIMIT"] + between(rng, 1, 9),), (c["LIMIT"] - between(rng, 1, 9),)],
    example=lambda rng, c: (c["LIMIT"] + between(rng, -50, 50),),
    constant_names=("LIMIT",),
    constants=lambda rng: {"LIMIT": between(rng, 2, 500)},
    forms=_COMPARISONS,
)

OF_TWO = FunctionTemplate(
    name="of_two",
    names=("«WORD»_of_two", "pick_«WORD»", "choose_«WORD»", "get_«WORD»", "«SHORT»_of_two"),
    python="""
        def NAME(a: int, b: int) -> int:
            return a if a «OP» b else b
    """,
    kotlin="= if (a «OP» b) a else b",
    mutants=(
        ("a if a «OP» b else b", "b if a «OP» b else a"),
        ("a if a «OP» b else b", "a"),
        ("a if a «OP» b else b", "b"),
        ("a if a «OP» b else b", "a if abs(a) «OP» abs(b) else b"),
    ),
    edges=lambda rng, _: [
        (-between(rng, 1, 50), -between(rng, 51, 99)),
        (between(rng, 1, 50), between(rng, 51, 99)),
        (between(rng, 51, 99), between(rng, 1, 50)),
    ],
    example=lambda rng, _: (between(rng, -500, 500), between(rng, -500, 500)),
    forms=(
        {"WORD": "larger", "OP": ">", "SHORT": "max"},
        {"WORD": "smaller", "OP": "<", "SHORT": "min"},
    ),
)

DIVISIBLE = FunctionTemplate(
    name="divisible",
    names=("is_«WORD»", "check_«WORD»", "number_is_«WORD»", "seems_«WORD»", "found_«WORD»"),
    python="""
        def NAME(n: int) -> bool:
            return n % K «OP» 0
    """,
    kotlin="= n % K «OP» 0",
    mutants=(
        ("n % K «OP» 0", "n % K «OTHER» 0"),
        ("n % K «OP» 0", "n % (K + 1) «OP» 0"),
        ("n % K «OP» 0", "n // K «OP» 0"),
        ("n % K «OP» 0", "n % K «OP» 1"),
    ),
    edges=lambda rng, c: [
        (c["K"] * between(rng, 1, c["K"]),),
        (c["K"] * between(rng, 1, 20) + between(rng, 1, c["K"] - 1),),
        (-c["K"] * between(rng, 1, c["K"]),),
        (0,),
    ],
    example=lambda rng, c: (c["K"] * between(rng, 1, 40) + between(rng, 0, 1),),
    constant_names=("K",),
    constants=lambda rng: {"K": between(rng, 2, 60)},
    forms=(
        {"WORD": "divisible", "OP": "==", "OTHER": "!="},
        {"WORD": "indivisible", "OP": "!=", "OTHER": "=="},
    ),
)

LINEAR = FunctionTemplate(
    name="linear",
    names=("transform", "scale_number", "compute", "apply_rule", "convert_number", "adjust"),
    python="""
        def NAME(n: int) -> int:
            return n * A «OP» B
    """,
    kotlin="= n * A «OP» B",
    mutants=(
        ("n * A «OP» B", "(n «OP» B) * A"),
        ("n * A «OP» B", "n * B «OP» A"),
        ("n * A «OP» B", "n * A «OTHER» B"),
        ("n * A «OP» B", "float(n * A «OP» B)"),
    ),
    edges=lambda rng, _: [(0,), (between(rng, 2, 30),), (-between(rng, 2, 30),)],
    example=lambda rng, _: (between(rng, -99, 99),),
    constant_names=("A", "B"),
    constants=lambda rng: {"A": between(rng, 2, 30), "B": between(rng, 31, 99)},
    forms=({"WORD": "add", "OP": "+", "OTHER": "-"}, {"WORD": "subtract", "OP": "-", "OTHER": "+"}),
)

CLAMP = FunctionTemplate(
    name="clamp",
    names=("clamp", "limit_range", "keep_in_range", "bound_value", "restrict", "clip_number"),
    python="""
        def NAME(n: int) -> int:
            return max(LOW, min(HIGH, n))
    """,
    kotlin="= maxOf(LOW, minOf(HIGH, n))",
    mutants=(
        ("max(LOW, min(HIGH, n))", "max(LOW, n)"),
        ("max(LOW, min(HIGH, n))", "min(HIGH, n)"),
        ("max(LOW, min(HIGH, n))", "max(LOW, min(HIGH - 1, n))"),
        ("max(LOW, min(HIGH, n))", "n if LOW <= n <= HIGH else LOW"),
    ),
    edges=lambda rng, c: [
        (c["LOW"] - between(rng, 1, 99),),
        (c["HIGH"] + between(rng, 1, 99),),
        (between(rng, c["LOW"] + 1, c["HIGH"] - 1),),
    ],
    example=lambda rng, c: (between(rng, c["LOW"] - 50, c["HIGH"] + 50),),
    constant_names=("LOW", "HIGH"),
    constants=lambda rng: {"LOW": between(rng, -50, 40), "HIGH": between(rng, 50, 200)},
)

PRICE = FunctionTemplate(
    name="price",
    names=("final_price", "price_after_«WORD»", "apply_«WORD»", "get_price", "price_with_«WORD»"),
    python="""
        def NAME(price: float) -> float:
            return price * (100 «OP» P) / 100
    """,
    kotlin="= price * (100 «OP» P) / 100",
    mutants=(
        ("price * (100 «OP» P) / 100", "price * (100 «OTHER» P) / 100"),
        ("price * (100 «OP» P) / 100", "price * (100 «OP» P) // 100"),
        ("price * (100 «OP» P) / 100", "price «OP» P"),
        ("price * (100 «OP» P) / 100", "price * P / 100"),
    ),
    edges=lambda rng, _: [(between(rng, 1, 300) + 0.25,), (between(rng, 1, 300) * 1.0,), (0.0,)],
    example=lambda rng, _: (between(rng, 100, 90000) / 100,),
    constant_names=("P",),
    constants=lambda rng: {"P": between(rng, 1, 49)},
    forms=({"WORD": "discount", "OP": "-", "OTHER": "+"}, {"WORD": "markup", "OP": "+", "OTHER": "-"}),
)

SHARE = FunctionTemplate(
    name="share",
    names=("equal_share", "share_each", "split_evenly", "part_for_each", "divide_total"),
    python="""
        def NAME(total: int, people: int) -> int | None:
            return None if people == 0 else (total «OP» K) // people
    """,
    kotlin="= if (people == 0) null else (total «OP» K) / people",
    mutants=(
        ("None if people == 0 else ", ""),
        ("None if", "0 if"),
        ("(total «OP» K) // people", "(total «OP» K) / people"),
        ("(total «OP» K) // people", "total // people"),
    ),
    edges=lambda rng, c: [
        (c["K"] + between(rng, 1, 99), 0),
        (c["K"] * 3 + 1, 2),
        (c["K"] + between(rng, 100, 500), between(rng, 1, 9)),
    ],
    example=lambda rng, c: (c["K"] + between(rng, 10, 500), between(rng, 1, 12)),
    constant_names=("K",),
    constants=lambda rng: {"K": between(rng, 5, 99)},
    forms=({"WORD": "deduct", "OP": "-"}, {"WORD": "add", "OP": "+"}),
)

SWAP = FunctionTemplate(
    name="swap",
    names=("swap_pair", "exchange", "flip_pair", "swap_and_add", "turn_pair"),
    python="""
        def NAME(pair: tuple[int, int]) -> tuple[int, int]:
            return (pair[1] + A, pair[0] «OP» B)
    """,
    kotlin="= Pair(pair.second + A, pair.first «OP» B)",
    mutants=(
        ("(pair[1] + A, pair[0] «OP» B)", "[pair[1] + A, pair[0] «OP» B]"),
        ("(pair[1] + A, pair[0] «OP» B)", "(pair[0] + A, pair[1] «OP» B)"),
        ("(pair[1] + A, pair[0] «OP» B)", "(pair[1] + B, pair[0] «OP» A)"),
    ),
    edges=lambda rng, _: [((between(rng, 1, 40), between(rng, 41, 99)),), ((0, -between(rng, 1, 9)),)],
    example=lambda rng, _: (tuple(integers(rng, 2, -99, 99)),),
    constant_names=("A", "B"),
    constants=lambda rng: {"A": between(rng, 1, 20), "B": between(rng, 21, 50)},
    forms=({"WORD": "add", "OP": "+"}, {"WORD": "subtract", "OP": "-"}),
)

_TELLING = (1, 2, 3, 4, 6, 7, 8, 9)
"""Digits that tell -n % 10 from n % 10."""

LAST_DIGIT = FunctionTemplate(
    name="last_digit",
    names=("last_digit_is", "ends_with_digit", "check_last_digit", "has_last_digit", "digit_at_end"),
    python="""
        def NAME(n: int) -> bool:
            return abs(n) % 10 «OP» D
    """,
    kotlin="= Math.abs(n) % 10 «OP» D",
    mutants=(
        ("abs(n) % 10 «OP» D", "n % 10 «OP» D"),
        ("abs(n) % 10 «OP» D", "abs(n) // 10 «OP» D"),
        ("abs(n) % 10 «OP» D", "abs(n) % 10 «OTHER» D"),
    ),
    edges=lambda rng, c: [
        (-10 * between(rng, 1, 90) - c["D"],),
        (100 * between(rng, 1, 9) + 10 * ((c["D"] + 1) % 10) + c["D"],),
        (10 * c["D"] + (c["D"] + between(rng, 1, 4)) % 10,),
    ],
    example=lambda rng, c: (10 * between(rng, 1, 99) + pick(rng, (c["D"], between(rng, 0, 9))),),
    constant_names=("D",),
    constants=lambda rng: {"D": pick(rng, _TELLING)},
    forms=({"WORD": "equal", "OP": "==", "OTHER": "!="}, {"WORD": "different", "OP": "!=", "OTHER": "=="}),
)

FUNCTIONS = (SIGN, LIMIT, OF_TWO, DIVISIBLE, LINEAR, CLAMP, PRICE, SHARE, SWAP, LAST_DIGIT)
