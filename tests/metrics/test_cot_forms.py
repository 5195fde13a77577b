"""Forms in which models write numbers, units and numbered lines: the right one passes, the slip is found."""

from pathlib import Path

import polars as pl
import pytest

from basic_control.metrics.cot.chain import read
from tests.helpers.bounds import bounded, of_each_size


def verdicts(line: str) -> list[bool]:
    return [one.right for one in read(f"{line}\n#### 1").calculations]


PAIRS = {
    "decimals after groups": [
        ("716,8*7 = 5 017,60", "716,8*7 = 5 018,60"),
        ("1 018,4 × 2 = 2 036,8", "1 018,4 × 2 = 2 037,8"),
        ("1\u202f177.6*4 = 4\u202f710.4 руб.", "1\u202f177.6*4 = 4\u202f711.4 руб."),
    ],
    "LaTeX's ways to group": [
        (r"\[ 2~700 \times 0{,}06 = 162 \]", r"\[ 2~700 \times 0{,}06 = 163 \]"),
        ("4~284 - 918 = 3~366", "4~284 - 918 = 3~466"),
        (r"\frac{2{,}380}{70} = 34", r"\frac{2{,}380}{70} = 44"),
        ("$2{,}020 - 404 = 1{,}616$", "$2{,}020 - 404 = 1{,}626$"),
        (r"\frac{¥1{,}800}{¥450} = 4 \text{周}", r"\frac{¥1{,}800}{¥450} = 8 \text{周}"),
    ],
    "a division slash": [("250 ∕ 100 · 6,5 = 16,25", "250 ∕ 100 · 6,5 = 17,25"), ("175 ∕ 7 = 25", "175 ∕ 7 = 45")],
    "abbreviated units": [
        ("4800 р. x 13/100 = 624 р.", "4800 р. x 13/100 = 634 р."),
        ("7 р. × 3 = 21 р.", "7 р. × 3 = 22 р."),
        ("110 м*22 р./м = 2420 р.", "110 м*22 р./м = 2421 р."),
        ("48 часов × 13 ₽/час = 624 ₽", "48 часов × 13 ₽/час = 634 ₽"),
        (
            r"\[ 1\,530 \text{ руб.} \div 510 \text{ руб.} = 3 \]",
            r"\[ 1\,530 \text{ руб.} \div 510 \text{ руб.} = 4 \]",
        ),
        ("8 × 9 = 72 (m²)", "8 × 9 = 73 (m²)"),
        ("2 × (7 + 8) = 30 (м)", "2 × (7 + 8) = 31 (м)"),
    ],
    "a quantity in two units": [
        ("45 minutes + 30 minutes = 1 hour 15 minutes", "45 minutes + 30 minutes = 1 hour 25 minutes"),
        ("45 мин + 30 мин = 1 ч и 15 мин", "45 мин + 30 мин = 1 ч и 25 мин"),
        ("45分钟 + 30分钟 = 1小时15分钟", "45分钟 + 30分钟 = 1小时25分钟"),
        ("1 hour 15 minutes * 2 = 150 minutes", "1 hour 15 minutes * 2 = 160 minutes"),
    ],
    "a numbered line": [
        ("Step 1) 3 * 4 = 12", "Step 1) 3 * 4 = 13"),
        ("(a) 3 * 4 = 12", "(a) 3 * 4 = 13"),
        ("Шаг 1) 16 × 2 = 32 билета", "Шаг 1) 16 × 2 = 42 билета"),
        ("**步骤1)** 3 * 4 = 12", "**步骤1)** 3 * 4 = 13"),
    ],
    "in brackets after the result": [
        ("The new salary is 2987 (2900 + 87 = 2987).", "The new salary is 2978 (2900 + 87 = 2978)."),
        ("Получаем $130 (5*26 = $130).", "Получаем $125 (5*26 = $125)."),
        ("得到￥77（80 - 3 = ￥77）。", "得到￥87（80 - 3 = ￥87）。"),
    ],
    "in a box": [(r"\[ 9 \times 2 = \boxed{18} \]", r"\[ 9 \times 2 = \boxed{19} \]")],
    "in italics": [
        ("*26 * 2 = 52*", "*26 * 2 = 42*"),
        ("Цена: *1105 * 4 = 4420*", "Цена: *1105 * 4 = 4426*"),
        ("总时间: *8只*(12 + 3) = 120*", "总时间: *8只*(12 + 3) = 130*"),
    ],
    "ten times as much": [
        ("26 * 2 = 52 years", "26 * 2 = 520 years"),
        ("22 + 8 = 30 years", "22 + 8 = 300 years"),
        ("128 m * £10 = £1,280", "128 m * £10 = £12,800"),
        ("64 м² * 4 = 256 плиток", "64 м² * 4 = 2 560 плиток"),
        ("64米 * 4 = 256块", "64米 * 4 = 2560块"),
    ],
    "a unit that is not said": [
        ("2 km + 500 = 2500", "2 km + 500 = 2600"),
        ("3 * 50 cents = 1.50", "3 * 50 cents = 1.60"),
        ("5 тысяч * 3 = 15000", "5 тысяч * 3 = 16000"),
        ("500 + 1500 = 2 km", "500 + 1500 = 3 km"),
        ("3 * 50 cents = 1.50", "3 * 50 cents = 15"),
        ("2 m * 3 = 600 cm", "2 m * 3 = 60 cm"),
    ],
    "a factor beside a unit": [
        ("40 000 - 30 000 = 10 000 dollars", "40 000 - 30 000 = 1 000 dollars"),
        ("1000 - 400 = 600 dollars", "1000 - 400 = 60 dollars"),
        ("50 * 3 = 150 рублей", "50 * 3 = 15 рублей"),
        ("5 * 20 = 100 cents", "5 * 20 = 1 cents"),
    ],
    "a name defined twice": [
        ("X = 3 * 2. X = 6.", "X = 3 * 2. X = 7."),
        ("Total = 5 * 3\nTotal = 15", "Total = 5 * 3\nTotal = 14"),
        ("- Total cost = 5 * $3\n- Total cost = $15", "- Total cost = 5 * $3\n- Total cost = $18"),
        ("Всего = 5 * 3; значит, всего = 15.", "Всего = 5 * 3; значит, всего = 16."),
    ],
    "an amount": [("an average of 3/4*4000 = 3000 students", "an average of 3/4*4000 = 2000 students")],
    "a root with an exact value": [
        (r"\sqrt{16} \cdot \sqrt{9} = 12", r"\sqrt{16} \cdot \sqrt{9} = 11"),
        ("The square root of 64 is $\\sqrt{64} = 8$.", "The square root of 64 is $\\sqrt{64} = 7$."),
    ],
    "cut digits": [("20 / 3 = 6.66", "20 / 3 = 6.65"), ("150 / 1.32 = 113.63 euros", "150 / 1.32 = 113.53 euros")],
    "LaTeX": [
        (r"-\left(-\frac{1}{16}\right) = \frac{1}{16}", r"-\left(-\frac{1}{16}\right) = \frac{1}{15}"),
        (r"\frac1{20} \cdot 40 = 2", r"\frac1{20} \cdot 40 = 3"),
        (r"\frac{1}2 + \frac12 = 1", r"\frac{1}2 + \frac12 = 2"),
        (r"16 + 9 = 25 \neq 6^2", r"16 + 9 = 26 \neq 6^2"),
        (r"2 + 3 = 5 \checkmark", r"2 + 3 = 6 \checkmark"),
    ],
}


@pytest.mark.parametrize(
    "line",
    [
        r"\sqrt{20} \approx 4.47",
        r"\sqrt{20} = 4.4721",
        r"(2+\sqrt{3})(2-\sqrt{3}) = 2^2 - (\sqrt{3})^2 = 4 - 3 = 1",
        r"\sqrt{24} = \sqrt{4 \cdot 6} = 2\sqrt{6}",
        r"2 \times 8\sqrt{3} = 16\sqrt{3}",
        r"s = \sqrt[3]{1728} = 12 \text{ inches}",
        r"3 + \sqrt[3]{8} = 5",
        "(1728)^(1/3) = 12",
        "3 * ∛8 = 7",
        "5.2 / 4.25 ≈ 1.3",
        "Thus, the units digit of 18^6 is 4.",
        "the remainder when 55 is divided by 9 is 1.",
        "Остаток от деления 55 / 9 равен 1.",
        "a_1 + 3(75) = 200",
        r"96^3 = 216 + 3 \sum_{i < j} a_i a_j",
        r"\binom{6}{2} 7^2 \cdot 5 = 3675",
        r"0.\overline{3} \cdot 3 = 1",
        r"90^\circ - 30^\circ = 50^\circ",
        r"1 + 2 + \dots + 9 + 10 = 55",
        r"2 \cdot 3 \cdots 9 \cdot 10 = 3628800",
        r"\frac{5 - 5}{7 - 7} = \frac{0}{0}",
        "There are 100/6 = 16 such numbers.",
        "x = 3 * 2, x = 4 * 5",
        "1. Apples = 5 * 3\n2. Pears = 14",
    ],
)
def test_what_is_not_decidable_accuses_nobody(line: str) -> None:
    assert False not in verdicts(line)


def test_right_replies_of_models_are_left_alone(shared: Path) -> None:
    """Of 1015 right replies to MATH, 12 have a calculation that is wrong, of 1327 to MGSM 5; each was read."""
    replies = pl.read_parquet(shared / "replies_real.parquet").filter(
        pl.col("bench").is_in(["math", "mgsm"]), "label"
    )
    accused = {"math": 0, "mgsm": 0}
    for bench, question, reply in replies.select("bench", "question", "reply").iter_rows():
        accused[bench] += any(not calculation.right for calculation in read(reply, question).calculations)
    assert accused["math"] <= 12
    assert accused["mgsm"] <= 5


@pytest.mark.parametrize(("right", "slip"), [pair for pairs in PAIRS.values() for pair in pairs])
def test_what_is_right_passes_and_the_slip_is_found(right: str, slip: str) -> None:
    assert verdicts(right) == [True]
    assert verdicts(slip) == [False]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("550 / 100*6 = 5,5*6 = 33", [True, True]),
        ("550 / 100 * 6 = 5,5 * 6 = 33", [True, True]),
        ("550 / 100*6 = 5,5*6 = 34", [True, False]),
        ("3*4=12,12+5=17,17+3=20", [True, True, True]),
        ("3*4=12,12+5=17,17+3=21", [True, True, False]),
        ("50+50=100,100+5=105", [True, True]),
        ("3*4=12=12,12+5=17", [True, True]),
        ("100 / 100 × 6,6 = 6,6 × 1 = 6,6", [True, True]),  # here the last number before it only ends in 6
        ("100 / 100 × 6,6 = 6,6 × 1 = 7,6", [True, False]),
        ("2 × 50% × 5,5 = 5,5 × 2 = 11", [True, True]),
        ("1,1 × 5 = 5,5 × 2 = 11", [True, True]),
        ("50% + 5 = 5,5 × 2 = 11", [True, True]),
        ("20% × 2,75 × 10 = 5,5 × 2 = 11", [True, True]),
        ("5*3=15,2*4=8", [True, True]),
        ("5*3=15,2*4=9", [True, False]),
        ("小明买苹果5×3=15,2个香蕉,2×4=8", [True, True]),
        ("1500×8=12,000元", [True]),
        ("6100*2=12,200*3=36600", [True, True]),
    ],
)
def test_a_comma_parts_equations_only_where_the_first_is_right(line: str, expected: list[bool]) -> None:
    assert verdicts(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "9个苹果 / 18天 = 18个苹果 / x天",
        "9 apples/18 days = 18 apples/x days",
        "9 яблок/18 дней = 18 яблок/x дней",
        "45 + 30 = 1 hour 15 minutes",
    ],
)
def test_what_is_not_decidable_is_no_calculation(line: str) -> None:
    assert False not in verdicts(line)


@pytest.mark.parametrize("piece", ["1 h 2 min ", "*4*", "1(", "=1,1+", "=5,5*", "1 234,5 ", "р./", "1) "])
@of_each_size
def test_hostile_lines_take_no_long_time(piece: str, share: int) -> None:
    with bounded(5 / share):
        read(f"{piece * (200_000 // share)} = 3\n" + f"{piece * (300 // share)} = 3\n" * 20)


@pytest.mark.parametrize("line", [r"$9 * 2 = \boxed{18}$", r"9 * 2 = **\boxed{18}**", r"So 9 * 2 = \boxed{\$18}."])
def test_the_answers_box_is_the_result_of_its_equation(line: str) -> None:
    """The last calculation of a chain and its step: a right chain had one of each too few, or none."""
    chain = read(f"16 - 3 - 4 = 9\n{line}")
    assert [(one.key, one.right) for one in chain.calculations] == [("16-3-4=9", True), ("9*2=18", True)]
    assert (len(chain.steps), chain.answer and chain.answer.value) == (2, 18)
    assert read(line.replace("9 * 2 =", "The answer is")).steps == ()
