"""Function templates of level hard on texts and nested lists: parsing, encoding, intervals, tables, windows."""

from random import Random

from generators.code_gen.draws import LETTERS, between, integers, letters, pick, word
from generators.code_gen.function import Constants, FunctionTemplate

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


BRACKETS = FunctionTemplate(
    name="brackets",
    names=("is_balanced", "brackets_match", "check_brackets", "is_well_nested", "valid_brackets"),
    python="""
        def NAME(text: str) -> bool:
            opened = []
            for c in text:
                if c == ONE[0] or c == TWO[0]:
                    opened.append(c)
                elif c == ONE[1] or c == TWO[1]:
                    if not opened or opened.pop() + c not in (ONE, TWO):
                        return False
            return not opened
    """,
    kotlin="""
        {
            val opened = ArrayDeque<Char>()
            for (c in text) {
                if (c == ONE[0] || c == TWO[0]) {
                    opened.addLast(c)
                } else if (c == ONE[1] || c == TWO[1]) {
                    if (opened.isEmpty() || "${opened.removeLast()}$c" !in listOf(ONE, TWO)) return false
                }
            }
            return opened.isEmpty()
        }
    """,
    mutants=(
        ("opened.pop() + c not in (ONE, TWO)", "not opened.pop()"),
        ("return not opened", "return True"),
        ("not opened or ", ""),
        ("c == ONE[0] or c == TWO[0]", "c == ONE[0]"),
    ),
    edges=lambda rng, c: [
        (f"{c['ONE'][0]}{letters(rng, 1)}{c['TWO'][0]}{c['ONE'][1]}{c['TWO'][1]}",),
        (f"{c['ONE'][0]}{c['TWO'][0]}{letters(rng, 2)}{c['TWO'][1]}",),
        (f"{letters(rng, 1)}{c['ONE'][1]}{c['ONE'][0]}",),
        (f"{c['TWO'][0]}{c['ONE']}{letters(rng, 1)}{c['TWO'][1]}{c['ONE']}",),
    ],
    example=_bracketed,
    constant_names=("ONE", "TWO"),
    constants=_pairs,
)


def _runs(rng: Random, least: int) -> str:
    parts = [letters(rng, 1, "abcd") * least, letters(rng, 1, "efgh"), letters(rng, 1, "klmn") * (least - 1)]
    return "".join([*parts, letters(rng, 1, "pqrs") * (least + between(rng, 1, 2))])


ENCODE = FunctionTemplate(
    name="encode",
    names=("compress", "run_length_encode", "encode_runs", "shorten_text", "pack_letters"),
    python="""
        def NAME(text: str) -> str:
            parts = []
            start = 0
            while start < len(text):
                end = start
                while end < len(text) and text[end] == text[start]:
                    end += 1
                size = end - start
                parts.append(«PACKED» if size >= LEAST else text[start:end])
                start = end
            return SEP.join(parts)
    """,
    kotlin="""
        {
            val parts = mutableListOf<String>()
            var start = 0
            while (start < text.length) {
                var end = start
                while (end < text.length && text[end] == text[start]) end++
                val size = end - start
                parts.add(if (size >= LEAST) «KPACKED» else text.substring(start, end))
                start = end
            }
            return parts.joinToString(SEP)
        }
    """,
    mutants=(
        ("size >= LEAST", "size > LEAST"),
        ("«PACKED» if", "«OTHER» if"),
        ("SEP.join(parts)", '"".join(parts)[:1] + SEP.join(parts)[1:] + SEP'),
        ("text[start:end])", "text[start])"),
    ),
    edges=lambda rng, c: [(_runs(rng, c["LEAST"]),), (_runs(rng, c["LEAST"] + 1),), ("",), (word(rng),)],
    example=lambda rng, c: (_runs(rng, c["LEAST"]),),
    constant_names=("LEAST", "SEP"),
    constants=lambda rng: {"LEAST": between(rng, 3, 5), "SEP": pick(rng, ("-", ".", "/", "_", " ", "+", "|"))},
    forms=(
        {
            "WORD": "after", "PACKED": "text[start] + str(size)", "OTHER": "str(size) + text[start]",
            "KPACKED": '"${text[start]}$size"',
        },
        {
            "WORD": "before", "PACKED": "str(size) + text[start]", "OTHER": "text[start] + str(size)",
            "KPACKED": '"$size${text[start]}"',
        },
    ),
)  # fmt: skip


def _table(rng: Random, rows: int, columns: int) -> tuple[list[list[int]]]:
    return ([integers(rng, columns, 0, 99) for _ in range(rows)],)


_TURNS = {
    "clockwise": (
        "zip(*matrix[::-1])",
        "matrix[0].indices.map { c -> matrix.indices.reversed().map { r -> matrix[r][c] + K } }",
    ),
    "counterclockwise": (
        "list(zip(*matrix))[::-1]",
        "matrix[0].indices.reversed().map { c -> matrix.map { it[c] + K } }",
    ),
    "transposed": ("zip(*matrix)", "matrix[0].indices.map { c -> matrix.map { it[c] + K } }"),
}
_OPPOSITE = {"clockwise": "counterclockwise", "counterclockwise": "transposed", "transposed": "clockwise"}

TURN = FunctionTemplate(
    name="turn",
    names=("turn_table", "turn_matrix", "rearrange", "transform_matrix", "rebuild_table"),
    python="""
        def NAME(matrix: list[list[int]]) -> list[list[int]]:
            return [[n + K for n in row] for row in «ROWS»]
    """,
    kotlin="= «KROWS»",
    mutants=(
        ("in «ROWS»]", "in «OTHER»]"),
        ("n + K", "n"),
        ("[n + K for n in row]", "tuple(n + K for n in row)"),
        ("in «ROWS»]", "in matrix]"),
    ),
    edges=lambda rng, _: [_table(rng, 2, 3), _table(rng, between(rng, 1, 3), 1), _table(rng, 3, 3)],
    example=lambda rng, _: _table(rng, 2, between(rng, 2, 3)),
    constant_names=("K",),
    constants=lambda rng: {"K": between(rng, 1, 50)},
    forms=tuple(
        {"WORD": turn, "ROWS": rows, "KROWS": kotlin, "OTHER": _TURNS[_OPPOSITE[turn]][0]}
        for turn, (rows, kotlin) in _TURNS.items()
    ),
)


def _intervals(rng: Random, gap: int) -> list[tuple[int, int]]:
    found, at = [], between(rng, 0, 9)
    for _ in range(between(rng, 3, 4)):
        end = at + between(rng, 1, 6)
        found.append((at, end))
        at = end + gap + between(rng, -2, 2)
    rng.shuffle(found)
    return found


INTERVALS = FunctionTemplate(
    name="intervals",
    names=("merge_intervals", "join_segments", "merge_ranges", "union_of_intervals", "glue_segments"),
    python="""
        def NAME(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
            merged = []
            for start, end in sorted(intervals):
                if merged and start - merged[-1][1] <= GAP:
                    merged[-1] = (merged[-1][0], max(merged[-1][1], end))
                else:
                    merged.append((start, end))
            return merged
    """,
    kotlin="""
        {
            val merged = mutableListOf<Pair<Int, Int>>()
            for ((start, end) in intervals.sortedWith(compareBy({ it.first }, { it.second }))) {
                val last = merged.lastOrNull()
                if (last != null && start - last.second <= GAP) {
                    merged[merged.size - 1] = Pair(last.first, maxOf(last.second, end))
                } else {
                    merged.add(Pair(start, end))
                }
            }
            return merged
        }
    """,
    mutants=(
        ("sorted(intervals)", "intervals"),
        ("<= GAP", "< GAP"),
        ("max(merged[-1][1], end)", "end"),
        ("merged.append((start, end))", "merged.append([start, end])"),
    ),
    edges=lambda rng, c: [
        ([(20 + c["GAP"], 30), (1, 9), (9 + c["GAP"], max(12, 9 + c["GAP"])), (2, between(rng, 3, 5))],),
        ([(1, 9), (2, 4), (10 + c["GAP"], 15 + c["GAP"])],),
        ([],),
        (_intervals(rng, c["GAP"]),),
    ],
    example=lambda rng, c: (_intervals(rng, c["GAP"]),),
    constant_names=("GAP",),
    constants=lambda rng: {"GAP": between(rng, 1, 6)},
)


def _text(rng: Random) -> str:
    common = (word(rng), word(rng), word(rng))
    return " ".join(pick(rng, (str.lower, str.title, str.upper))(pick(rng, common)) for _ in range(6))


FREQUENT = FunctionTemplate(
    name="frequent",
    names=("most_frequent", "top_words", "frequent_words", "popular_words", "word_ranking"),
    python="""
        def NAME(text: str) -> list[tuple[str, int]]:
            words = text.lower().split()
            return sorted(((w, words.count(w)) for w in set(words)), key=lambda pair: (-pair[1], «KEY»))[:N]
    """,
    kotlin="""
        {
            val words = text.lowercase().split(" ").filter { it.isNotEmpty() }
            val counts = words.groupingBy { it }.eachCount().toList()
            return counts.sortedWith(compareBy({ -it.second }, { «KKEY» }, { it.first })).take(N)
        }
    """,
    mutants=(
        ("text.lower()", "text"),
        ("-pair[1], ", "pair[1], "),
        ("(-pair[1], «KEY»)", "«KEY»"),
        ("[:N]", "[:N + 1]"),
    ),
    edges=lambda rng, _: [
        ("The end is THE end of it and it is the best Bee bee and",),
        (f"pear Fig pear fig {word(rng)} kiwi Kiwi plum PLUM plum nut",),
        ("",),
        (_text(rng),),
    ],
    example=lambda rng, _: (_text(rng),),
    constant_names=("N",),
    constants=lambda rng: {"N": between(rng, 2, 5)},
    forms=(
        {"WORD": "alphabet", "KEY": "pair[0]", "KKEY": "it.first"},
        {"WORD": "short", "KEY": "(len(pair[0]), pair[0])", "KKEY": "it.first.length"},
    ),
)

WINDOW = FunctionTemplate(
    name="window",
    names=("«WORD»_window_sum", "best_window", "«WORD»_sum_of_neighbours", "window_«WORD»", "«WORD»_block"),
    python="""
        def NAME(numbers: list[int]) -> int | None:
            if len(numbers) < K:
                return None
            return «BEST»(sum(numbers[i:i + K]) for i in range(len(numbers) - K + 1))
    """,
    kotlin="= numbers.windowed(K).map { it.sum() }.«BEST»OrNull()",
    mutants=(
        ("return None", "return 0"),
        ("«BEST»(sum", "«OTHER»(sum"),
        ("range(len(numbers) - K + 1)", "range(len(numbers) - K)"),
        ("numbers[i:i + K]", "numbers[i:i + K - 1]"),
    ),
    edges=lambda rng, c: [
        (integers(rng, c["K"] - 1, -9, 9),),
        (integers(rng, c["K"], 1, 20),),
        (integers(rng, c["K"] + 4, -20, 40),),
    ],
    example=lambda rng, c: (integers(rng, c["K"] + 2, -20, 40),),
    constant_names=("K",),
    constants=lambda rng: {"K": between(rng, 2, 5)},
    forms=(
        {"WORD": "largest", "BEST": "max", "OTHER": "min"},
        {"WORD": "smallest", "BEST": "min", "OTHER": "max"},
    ),
)

FLATTEN = FunctionTemplate(
    name="flatten",
    names=("flatten_unique", "sorted_values", "merge_lists", "collect_sorted", "join_and_sort"),
    python="""
        def NAME(lists: list[list[int]]) -> list[int]:
            if not lists:
                raise ValueError("no lists")
            return sorted({n for row in lists for n in row if n % K «OP» 0}, reverse=«REVERSE»)
    """,
    kotlin="""
        {
            require(lists.isNotEmpty()) { "no lists" }
            return lists.flatten().filter { it % K «OP» 0 }.distinct().«SORTED»()
        }
    """,
    mutants=(
        ("{n for row in lists for n in row if n % K «OP» 0}", "[n for row in lists for n in row if n % K «OP» 0]"),
        ("n % K «OP» 0", "n % K «OTHER» 0"),
        ('raise ValueError("no lists")', "return []"),
        ("reverse=«REVERSE»", "reverse=not «REVERSE»"),
    ),
    edges=lambda rng, c: [
        ([],),
        ([[c["K"] * 2, 1, c["K"]], [], [c["K"] * 2, 1, c["K"] * 5 + 1, -c["K"]]],),
        ([integers(rng, 4, 0, 20), integers(rng, 4, 0, 20)],),
    ],
    example=lambda rng, _: ([integers(rng, 3, 0, 20), integers(rng, 3, 0, 20)],),
    constant_names=("K",),
    constants=lambda rng: {"K": between(rng, 2, 9)},
    forms=tuple(
        {**kept, **order}
        for kept in ({"WORD": "divisible", "OP": "==", "OTHER": "!="}, {"WORD": "other", "OP": "!=", "OTHER": "=="})
        for order in (
            {"ORDER": "rising", "REVERSE": "False", "SORTED": "sorted"},
            {"ORDER": "falling", "REVERSE": "True", "SORTED": "sortedDescending"},
        )
    ),
)

SHIFTED = FunctionTemplate(
    name="keyed",
    names=("encrypt", "keyed_cipher", "encode_with_key", "vigenere", "hide_text"),
    python="""
        def NAME(text: str) -> str:
            if not text.islower():
                raise ValueError("expected lower-case letters")
            alphabet = "abcdefghijklmnopqrstuvwxyz"
            result = ""
            for i, c in enumerate(text):
                step = alphabet.index(KEY[i % len(KEY)])
                result += alphabet[(alphabet.index(c) «OP» step) % 26]
            return result
    """,
    kotlin="""
        {
            require(text.isNotEmpty() && text.all { it in 'a'..'z' }) { "expected lower-case letters" }
            return text.mapIndexed { i, c ->
                'a' + Math.floorMod((c - 'a') «OP» (KEY[i % KEY.length] - 'a'), 26)
            }.joinToString("")
        }
    """,
    mutants=(
        ("«OP» step", "«OTHER» step"),
        ("KEY[i % len(KEY)]", "KEY[0]"),
        ('raise ValueError("expected lower-case letters")', "return text"),
        ("«OP» step", "«OP» step + 1"),
    ),
    edges=lambda rng, _: [("",), (f"xyz{word(rng)}",), (word(rng).upper(),), (letters(rng, between(rng, 5, 9)),)],
    example=lambda rng, _: (word(rng),),
    constant_names=("KEY",),
    constants=lambda rng: {"KEY": pick(rng, LETTERS[1:12]) + letters(rng, between(rng, 1, 3), LETTERS[14:24])},
    forms=({"WORD": "forward", "OP": "+", "OTHER": "-"}, {"WORD": "back", "OP": "-", "OTHER": "+"}),
)

FUNCTIONS = (BRACKETS, ENCODE, TURN, INTERVALS, FREQUENT, WINDOW, FLATTEN, SHIFTED)
