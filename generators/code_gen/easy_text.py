"""Function templates of level easy on texts, lists, dictionaries and sets."""

from random import Random

from generators.code_gen.draws import between, integers, letters, pick, word
from generators.code_gen.function import Constants, FunctionTemplate

_SEPARATORS = ("-", "+", "/", "::", "_", "=", ".", "|", "~", "->", ", ", "; ")
_OPENINGS = ("Hello, ", "Dear ", "Hi, ", "Good morning, ", "Welcome, ", "Thank you, ", "<<", "[", "To: ", "Order: ")
_CLOSINGS = ("!", "!!", "?", ".", " :)", ">>", "]", " and friends", ", please", " (new)")

REPEAT = FunctionTemplate(
    name="repeat",
    names=("repeat_text", "multiply_text", "say_again", "echo_text", "join_copies"),
    python="""
        def NAME(text: str) -> str:
            return SEP.join([text] * N)
    """,
    kotlin="= List(N) { text }.joinToString(SEP)",
    mutants=(
        ("[text] * N", "[text] * (N + 1)"),
        ("[text] * N", "[text] * (N - 1)"),
        ("SEP.join([text] * N)", "(text + SEP) * N"),
        ("SEP.join([text] * N)", "text * N"),
    ),
    edges=lambda rng, _: [("",), (word(rng),), (letters(rng, 1),)],
    example=lambda rng, _: (word(rng),),
    constant_names=("SEP", "N"),
    constants=lambda rng: {"SEP": pick(rng, _SEPARATORS), "N": between(rng, 2, 7)},
)

WRAP = FunctionTemplate(
    name="wrap",
    names=("wrap_text", "decorate", "make_message", "frame_text", "format_name", "build_line"),
    python="""
        def NAME(text: str) -> str:
            return OPEN + text«FOLD» + CLOSE
    """,
    kotlin="= OPEN + text«KFOLD» + CLOSE",
    mutants=(
        ("OPEN + ", ""),
        (" + CLOSE", ""),
        ("OPEN + text«FOLD» + CLOSE", "CLOSE + text«FOLD» + OPEN"),
        ("OPEN + text«FOLD»", "OPEN + text.title()"),
    ),
    edges=lambda rng, _: [(word(rng),), ("",), (f"{word(rng)} {word(rng).title()}",)],
    example=lambda rng, _: (word(rng),),
    constant_names=("OPEN", "CLOSE"),
    constants=lambda rng: {"OPEN": pick(rng, _OPENINGS), "CLOSE": pick(rng, _CLOSINGS)},
    forms=(
        {"WORD": "plain", "FOLD": "", "KFOLD": ""},
        {"WORD": "upper", "FOLD": ".upper()", "KFOLD": ".uppercase()"},
    ),
)


def _mixed(rng: Random, letter: str) -> str:
    return f"{word(rng)}{letter}{letters(rng, 2)}{letter.upper()}{letter}"


COUNT_LETTER = FunctionTemplate(
    name="count_letter",
    names=("count_letter", "letter_count", "how_many", "count_in_text", "number_of_letters"),
    python="""
        def NAME(text: str) -> int:
            return text«FOLD».count(LETTER)
    """,
    kotlin="= text«KFOLD».count { it == LETTER.single() }",
    mutants=(
        ("return text«FOLD»", "return text«OTHER»"),
        ("text«FOLD».count(LETTER)", "len(text)"),
        ("text«FOLD».count(LETTER)", "min(1, text«FOLD».count(LETTER))"),
        ("text«FOLD».count(LETTER)", "text«FOLD».find(LETTER)"),
    ),
    edges=lambda rng, c: [(_mixed(rng, c["LETTER"]),), (c["LETTER"].upper() + word(rng),), ("",)],
    example=lambda rng, c: (word(rng) + c["LETTER"] + word(rng),),
    constant_names=("LETTER",),
    constants=lambda rng: {"LETTER": letters(rng, 1)},
    forms=(
        {"WORD": "exact", "FOLD": "", "KFOLD": "", "OTHER": ".lower()"},
        {"WORD": "folded", "FOLD": ".lower()", "KFOLD": ".lowercase()", "OTHER": ""},
    ),
)

ENDS = FunctionTemplate(
    name="ends",
    names=("«WORD»_items", "take_«WORD»", "get_«WORD»", "keep_«WORD»", "«WORD»_numbers"),
    python="""
        def NAME(numbers: list[int]) -> list[int]:
            return numbers[«SLICE»]
    """,
    kotlin="= numbers.«TAKE»(N)",
    mutants=(
        ("«SLICE»", "«LESS»"),
        ("«SLICE»", "«MORE»"),
        ("«SLICE»", "«WRONG»"),
        ("numbers[«SLICE»]", "tuple(numbers[«SLICE»])"),
    ),
    edges=lambda rng, c: [
        (integers(rng, c["N"] + between(rng, 2, 3), -99, 99),),
        (integers(rng, c["N"] - 1, 0, 9),),
        ([],),
    ],
    example=lambda rng, c: (integers(rng, c["N"] + 1, -99, 99),),
    constant_names=("N",),
    constants=lambda rng: {"N": between(rng, 2, 5)},
    forms=(
        {"WORD": "first", "TAKE": "take", "SLICE": ":N", "LESS": ":N - 1", "MORE": ":N + 1", "WRONG": "-N:"},
        {"WORD": "last", "TAKE": "takeLast", "SLICE": "-N:", "LESS": "-N + 1:", "MORE": "-N - 1:", "WRONG": ":N"},
    ),
)


def _stock(rng: Random, key: str, amount: int) -> dict[str, int]:
    return {word(rng): between(rng, 1, 99), key: amount}


LOOKUP = FunctionTemplate(
    name="lookup",
    names=("amount_of", "look_up", "find_amount", "get_amount", "stock_of", "quantity"),
    python="""
        def NAME(stock: dict[str, int], product: str) -> int:
            return stock.get(product, DEFAULT)
    """,
    kotlin="= stock[product] ?: DEFAULT",
    mutants=(
        ("stock.get(product, DEFAULT)", "stock.get(product) or DEFAULT"),
        ("stock.get(product, DEFAULT)", "stock.get(product, 0)"),
        ("stock.get(product, DEFAULT)", "stock[product]"),
        ("stock.get(product, DEFAULT)", "DEFAULT"),
    ),
    edges=lambda rng, _: [
        ({"milk": 0, word(rng): between(rng, 1, 99)}, "milk"),
        ({}, word(rng)),
        ({"salt": between(rng, 101, 200)}, "salt"),
    ],
    example=lambda rng, _: (_stock(rng, "sugar", between(rng, 1, 99)), pick(rng, ("sugar", "flour"))),
    constant_names=("DEFAULT",),
    constants=lambda rng: {"DEFAULT": pick(rng, (-1, between(rng, 1, 100)))},
)

LENGTH = FunctionTemplate(
    name="length",
    names=("length_is_«WORD»", "check_length", "has_length_«WORD»", "fits_length", "size_is_«WORD»"),
    python="""
        def NAME(text: str) -> bool:
            return len(text) «OP» N
    """,
    kotlin="= text.length «OP» N",
    mutants=(
        ("len(text) «OP» N", "len(text) «EDGE» N"),
        ("len(text) «OP» N", "not len(text) «OP» N"),
        ("len(text) «OP» N", "len(text.split()) «OP» N"),
        ("len(text) «OP» N", "len(text)"),
    ),
    edges=lambda rng, c: [
        (letters(rng, c["N"]),),
        (letters(rng, c["N"] - between(rng, 1, 2)),),
        (letters(rng, c["N"] + between(rng, 1, 2)),),
    ],
    example=lambda rng, _: (word(rng),),
    constant_names=("N",),
    constants=lambda rng: {"N": between(rng, 3, 9)},
    forms=(
        {"WORD": "above", "OP": ">", "EDGE": ">="},
        {"WORD": "below", "OP": "<", "EDGE": "<="},
        {"WORD": "at_least", "OP": ">=", "EDGE": ">"},
        {"WORD": "at_most", "OP": "<=", "EDGE": "<"},
    ),
)


def _around(rng: Random, c: Constants) -> tuple[list[int]]:
    limit = c["LIMIT"]
    return ([limit, limit + between(rng, 1, 9), limit - between(rng, 1, 9), limit],)


UNIQUE = FunctionTemplate(
    name="unique",
    names=("unique_«WORD»", "values_«WORD»", "collect_«WORD»", "distinct_«WORD»", "set_«WORD»"),
    python="""
        def NAME(numbers: list[int]) -> set[int]:
            return {n for n in numbers if n «OP» LIMIT}
    """,
    kotlin="= numbers.filter { it «OP» LIMIT }.toSet()",
    mutants=(
        ("n «OP» LIMIT", "n «EDGE» LIMIT"),
        (" if n «OP» LIMIT", ""),
        ("{n for n in numbers if n «OP» LIMIT}", "[n for n in numbers if n «OP» LIMIT]"),
    ),
    edges=lambda rng, c: [_around(rng, c), ([],), (integers(rng, 4, c["LIMIT"] - 2, c["LIMIT"] + 2),)],
    example=lambda rng, c: (integers(rng, 3, c["LIMIT"] - 20, c["LIMIT"] + 20),),
    constant_names=("LIMIT",),
    constants=lambda rng: {"LIMIT": between(rng, -20, 90)},
    forms=(
        {"WORD": "above", "OP": ">", "EDGE": ">="},
        {"WORD": "below", "OP": "<", "EDGE": "<="},
    ),
)

WITHOUT = FunctionTemplate(
    name="without",
    names=("without_value", "drop_value", "remove_all", "exclude", "clean_list"),
    python="""
        def NAME(numbers: list[int]) -> list[int]:
            return [n for n in numbers if n != VALUE]
    """,
    kotlin="= numbers.filter { it != VALUE }",
    mutants=(
        ("n != VALUE", "n == VALUE"),
        ("[n for n in numbers if n != VALUE]", "numbers"),
        ("[n for n in numbers if n != VALUE]", "sorted(n for n in numbers if n != VALUE)"),
        ("[n for n in numbers if n != VALUE]", "list({n: 0 for n in numbers if n != VALUE})"),
    ),
    edges=lambda rng, c: [
        ([c["VALUE"] + 5, c["VALUE"], c["VALUE"] + 5, c["VALUE"], c["VALUE"] - between(rng, 1, 9)],),
        ([c["VALUE"]],),
        ([],),
    ],
    example=lambda rng, c: ([between(rng, 0, 99), c["VALUE"], between(rng, 0, 99)],),
    constant_names=("VALUE",),
    constants=lambda rng: {"VALUE": between(rng, 0, 99)},
)

FUNCTIONS = (REPEAT, WRAP, COUNT_LETTER, ENDS, LOOKUP, LENGTH, UNIQUE, WITHOUT)
