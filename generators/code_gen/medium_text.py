"""Function templates of level medium on texts and dictionaries."""

from random import Random

from generators.code_gen.draws import LETTERS, between, letters, pick, word, words
from generators.code_gen.function import Constants, FunctionTemplate


def _letter_set(rng: Random) -> str:
    found = ""
    while len(found) < 4:  # noqa: PLR2004 - four letters are enough to make a rule of one's own
        letter = pick(rng, LETTERS)
        found += letter if letter not in found else ""
    return found


def _shouted(rng: Random, chosen: str) -> str:
    """Return text with chosen letters in both cases."""
    return f"{word(rng)} {chosen[0].upper()}{chosen[1]}{letters(rng, 3)} {chosen[2]}{chosen[2].upper()}"


COUNT_SET = FunctionTemplate(
    name="count_set",
    names=("count_letters", "count_chosen", "letters_from_set", "count_matching", "letter_total"),
    python="""
        def NAME(text: str) -> int:
            return sum(1 for c in text.lower() if c «IN» SET)
    """,
    kotlin="= text.lowercase().count { it «KIN» SET }",
    mutants=(
        ("text.lower()", "text"),
        ("c «IN» SET", "c «OTHER» SET"),
        ("text.lower()", "set(text.lower())"),
        ("c «IN» SET", "c «IN» SET[1:]"),
    ),
    edges=lambda rng, c: [(_shouted(rng, c["SET"]),), (c["SET"] + c["SET"].upper(),), ("",)],
    example=lambda rng, c: (f"{word(rng).title()} {word(rng)} {c['SET'][0]}",),
    constant_names=("SET",),
    constants=lambda rng: {"SET": _letter_set(rng)},
    forms=(
        {"WORD": "inside", "IN": "in", "KIN": "in", "OTHER": "not in"},
        {"WORD": "outside", "IN": "not in", "KIN": "!in", "OTHER": "in"},
    ),
)


def _sentence(rng: Random, length: int) -> str:
    return " ".join([letters(rng, length), *words(rng, 2), letters(rng, length - 1), letters(rng, length + 1)])


LENGTHS = FunctionTemplate(
    name="lengths",
    names=("word_lengths", "lengths_of_words", "measure_words", "length_table", "words_with_lengths"),
    python="""
        def NAME(text: str) -> dict[str, int]:
            return {w: len(w) for w in text.split() if len(w) «OP» N}
    """,
    kotlin='= text.split(" ").filter { it.isNotEmpty() && it.length «OP» N }.associateWith { it.length }',
    mutants=(
        ("len(w) «OP» N", "len(w) «EDGE» N"),
        (" if len(w) «OP» N", ""),
        ("w: len(w)", "w: text.count(w[0])"),
        ("{w: len(w) for", "{len(w): w for"),
    ),
    edges=lambda rng, c: [(_sentence(rng, c["N"]),), ("",), (" ".join(words(rng, 4)),)],
    example=lambda rng, c: (f"{word(rng)} {letters(rng, c['N'])} {word(rng)}",),
    constant_names=("N",),
    constants=lambda rng: {"N": between(rng, 3, 8)},
    forms=({"WORD": "at_least", "OP": ">=", "EDGE": ">"}, {"WORD": "at_most", "OP": "<=", "EDGE": "<"}),
)

CAESAR = FunctionTemplate(
    name="caesar",
    names=("shift_«WORD»", "caesar_«WORD»", "move_letters", "encode_text", "rotate_letters"),
    python="""
        def NAME(text: str) -> str:
            return "".join(chr((ord(c) - 97 «OP» K) % 26 + 97) if "a" <= c <= "z" else c for c in text)
    """,
    kotlin="""
        = text.map { if (it in 'a'..'z') 'a' + Math.floorMod((it - 'a') «OP» K, 26) else it }.joinToString("")
    """,
    mutants=(
        ("97 «OP» K", "97 «OTHER» K"),
        ("(ord(c) - 97 «OP» K) % 26 + 97", "ord(c) «OP» K"),
        (' if "a" <= c <= "z" else c', ""),
        ("«OP» K", "«OP» K «OP» 1"),
    ),
    edges=lambda rng, _: [
        (f"xyz {word(rng)} abc",),
        (f"{word(rng).title()}, {between(rng, 10, 99)} {word(rng).upper()}!",),
        ("",),
    ],
    example=lambda rng, _: (f"{word(rng)} {word(rng)}",),
    constant_names=("K",),
    constants=lambda rng: {"K": pick(rng, (*range(2, 13), *range(14, 25)))},
    forms=({"WORD": "forward", "OP": "+", "OTHER": "-"}, {"WORD": "back", "OP": "-", "OTHER": "+"}),
)


def _counts(rng: Random, key: str, least: int) -> dict[str, int]:
    return {key: between(rng, 1, least), word(rng): between(rng, 1, 2 * least)}


MERGE = FunctionTemplate(
    name="merge",
    names=("merge_counts", "add_counts", "combine_totals", "join_stocks", "sum_dictionaries"),
    python="""
        def NAME(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
            totals = dict(first)
            for key, count in second.items():
                totals[key] = totals.get(key, 0) + count
            return {key: total for key, total in totals.items() if total >= N}
    """,
    kotlin="""
        {
            val totals = (first.keys + second.keys).associateWith { (first[it] ?: 0) + (second[it] ?: 0) }
            return totals.filterValues { it >= N }
        }
    """,
    mutants=(
        ("totals.get(key, 0) + count", "count"),
        (" if total >= N", ""),
        ("total >= N", "total > N"),
        ("in second.items():", "in second.items() & first.items():"),
    ),
    edges=lambda rng, c: [
        (
            {"tea": c["N"] - 1, "oil": 0, "soap": c["N"] + 3},
            {"tea": 1, "milk": c["N"] + between(rng, 0, 9), "salt": 0},
        ),
        ({}, {word(rng): c["N"] + 1}),
        (_counts(rng, "rice", c["N"]), _counts(rng, "rice", c["N"])),
    ],
    example=lambda rng, c: (_counts(rng, "corn", c["N"]), _counts(rng, "corn", c["N"])),
    constant_names=("N",),
    constants=lambda rng: {"N": between(rng, 3, 50)},
)

EVERY = FunctionTemplate(
    name="every",
    names=("every_letter", "skip_letters", "thin_out", "take_every", "sample_text"),
    python="""
        def NAME(text: str) -> str:
            return text[«START»::K]
    """,
    kotlin="= text.filterIndexed { index, _ -> index % K == «AT» }",
    mutants=(
        ("[«START»::K]", "[«OTHER»::K]"),
        ("[«START»::K]", "[«START»::K + 1]"),
        ("[«START»::K]", "[«START»::K][::-1]"),
    ),
    edges=lambda rng, c: [
        (letters(rng, c["K"] * 3 + 2),),
        (letters(rng, c["K"]),),
        ("abcdefghijklmnopqrstuvwxyz"[: between(rng, c["K"] * 2 + 1, 26)],),
    ],
    example=lambda rng, c: (letters(rng, c["K"] * 2 + between(rng, 1, 3)),),
    constant_names=("K",),
    constants=lambda rng: {"K": between(rng, 2, 6)},
    forms=(
        {"WORD": "first", "START": "", "OTHER": "K - 1", "AT": "0"},
        {"WORD": "kth", "START": "K - 1", "OTHER": "", "AT": "K - 1"},
    ),
)

_LINKS = ("=", ":", "->", "~", "is")
_PARTS = (";", ",", "|", "/", "&")


def _entries(rng: Random, c: Constants, count: int) -> str:
    pairs = [f"{word(rng)}{c['LINK']}{between(rng, -9, 99)}" for _ in range(count)]
    return str(c["SEP"]).join(pairs)


def _repeated(rng: Random, c: Constants) -> str:
    """Return entries of which one is negative and one name stands twice."""
    link, sep = c["LINK"], c["SEP"]
    return f"size{link}{between(rng, 1, 9)}{sep}cost{link}-5{sep}size{link}{between(rng, 10, 99)}"


PARSE = FunctionTemplate(
    name="parse",
    names=("parse_pairs", "read_settings", "parse_entries", "text_to_table", "read_pairs"),
    python="""
        def NAME(text: str) -> dict[str, int]:
            values = {}
            for part in text.split(SEP):
                key, link, value = part.partition(LINK)
                if not link:
                    raise ValueError("no link in " + part)
                values[key] = int(value)
            return values
    """,
    kotlin="""
        {
            val values = mutableMapOf<String, Int>()
            for (part in text.split(SEP)) {
                require(LINK in part) { "no link in $part" }
                values[part.substringBefore(LINK)] = part.substringAfter(LINK).toInt()
            }
            return values
        }
    """,
    mutants=(
        ("int(value)", "value"),
        ('raise ValueError("no link in " + part)', "continue"),
        ("values[key] = int(value)", "values.setdefault(key, int(value))"),
        ("int(value)", "abs(int(value))"),
    ),
    edges=lambda rng, c: [
        (_repeated(rng, c),),
        (f"{_entries(rng, c, 1)}{c['SEP']}{pick(rng, ('lost', 'empty', 'blue'))}",),
        (_entries(rng, c, 3),),
    ],
    example=lambda rng, c: (_entries(rng, c, between(rng, 1, 3)),),
    constant_names=("SEP", "LINK"),
    constants=lambda rng: {"SEP": pick(rng, _PARTS), "LINK": pick(rng, _LINKS[:4])},
)


def _cases(rng: Random, length: int) -> str:
    """Return words of a length and around it, in both cases."""
    shorter, longer = letters(rng, length - 1).upper(), letters(rng, 5)
    return f"{word(rng)} {letters(rng, length)} {shorter} {word(rng).upper()} Bea{longer}"


INITIALS = FunctionTemplate(
    name="initials",
    names=("initials", "short_name", "make_acronym", "first_letters", "abbreviate"),
    python="""
        def NAME(text: str) -> str:
            return SEP.join(w[0].«CASE»() for w in text.split() if len(w) >= N)
    """,
    kotlin='= text.split(" ").filter { it.length >= N }.joinToString(SEP) { it.take(1).«KCASE»() }',
    mutants=(
        (" if len(w) >= N", ""),
        ("len(w) >= N", "len(w) > N"),
        (".«CASE»()", ""),
        ("w[0]", "w[-1]"),
    ),
    edges=lambda rng, c: [
        (_cases(rng, c["N"]),),
        ("",),
        (f"{word(rng).title()} {letters(rng, c['N'])} {word(rng)}",),
    ],
    example=lambda rng, _: (f"{word(rng)} {word(rng).title()} of {word(rng)}",),
    constant_names=("SEP", "N"),
    constants=lambda rng: {"SEP": pick(rng, (".", "-", ":", "/", "_", ";", "+")), "N": between(rng, 2, 4)},
    forms=(
        {"WORD": "upper", "CASE": "upper", "KCASE": "uppercase"},
        {"WORD": "lower", "CASE": "lower", "KCASE": "lowercase"},
    ),
)

FUNCTIONS = (COUNT_SET, LENGTHS, CAESAR, MERGE, EVERY, PARSE, INITIALS)
