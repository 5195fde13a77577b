"""Of several numbers the answer is the one that is asked for: by its unit, by what was computed, after a list."""

import pytest

from basic_control.data.reading.numbers import read_number
from basic_control.data.reading.quantity import AskedQuantity, find_asked_quantity
from tests.helpers.bounds import bounded, of_each_size

DOLLARS = "How much does Kylar need to pay for them?"
ROUBLES, MINUTES, APPLES = "Сколько стоят 8 стержней?", "Сколько минут длится фильм?", "Сколько яблок она купит?"

SEVERAL = [
    # the unit or the currency that the question asks for
    (DOLLARS, "Answer: Kylar needs to pay $64 for the 16 glasses.", "64"),
    (DOLLARS, "Answer: The 16 glasses cost Kylar $64.", "64"),
    (DOLLARS, "Answer: 16 glasses cost 64 dollars.", "64"),
    (DOLLARS, "So Kylar needs to pay $64 for the 16 glasses", "64"),
    (DOLLARS, "**Answer:** for 16 glasses he pays **$64**, at $4 each.", "64"),
    (DOLLARS, "The answer is that all 16 glasses come to $64.", "64"),
    ("How many apples can she buy?", "Answer: With $10 she can buy 5 apples.", "5"),
    ("How many apples can she buy?", "Answer: $10 buys 5 apples.", "5"),
    ("If each apple costs $2, how many apples can she buy?", "Answer: For $10, 5 red apples.", "5"),
    ("How long is it, in minutes?", "Answer: 2 hours are 120 minutes.", "120"),
    ("How many hours does it take?", "Answer: 120 minutes, so 2 hours.", "2"),
    ("What percentage of the 20 cars are red?", "Answer: 5 of the 20 cars, 25%.", "25"),
    ("How many children are there?", "She has 3 dogs and 4 children, as her 2 friends say.", "4"),
    (ROUBLES, "Ответ: 8 стержней стоят 12 $", "12"),
    (ROUBLES, "Ответ: 8 стержней обойдутся в 12 долларов.", "12"),
    (ROUBLES, "За 8 стержней она заплатит 12 руб. за 1 день", "12"),
    (APPLES, "Ответ: на 10 рублей она купит 5 яблок.", "5"),
    (APPLES, "Ответ: 10 рублей хватит на 5 яблок.", "5"),
    (MINUTES, "Ответ: 2 часа — это 120 минут.", "120"),
    ("Сколько часов она работает?", "Ответ: за 3 дня она работает 24 часа", "24"),
    ("凯勒需要付多少钱？", "答案：16 个杯子一共 64 美元。", "64"),
    ("她能买多少个苹果？", "答案：10 美元可以买 5 个苹果。", "5"),
    ("需要多少分钟？", "答案：2 小时就是 120 分钟。", "120"),
    ("他一共跑了多少米？", "答：他 3 天跑了 540 米。", "540"),
    # the last one computed, where nothing tells what is asked for
    ("", "4 * 16 = 64\nAnswer: The 16 glasses come to 64.", "64"),
    (
        "",
        "8 * 5 = 40, 8 * 3 = 24\n40 + 24 = 64\nAnswer: Kylar spends 40 and 24, and pays 64 for the 16 glasses.",
        "64",
    ),
    ("", "8 × 1,5 = 12\nОтвет: 8 стержней — это 12.", "12"),
    ("", "8 × 1.5 = 12\n答案：8 根共 12。", "12"),
    ("", "Ответ: 8 стержней стоят 12 $", "12"),
    ("", "Answer: 8 rods cost $12.", "12"),
    ("", "So he needs to pay $64 for the 16 glasses", "64"),
    ("", "16 * 4 = 64\nSo that makes 64, as the 16 show", "64"),
    ("", "9 * 2 = 18\n24 - 18 = 6\nAnswer: 18 eggs, which leaves 6.", "18"),
    # what held before
    ("", "Answer: She makes $18 for 9 eggs.", "18"),
    ("", "The answer is 18, as 2 steps show.", "18"),
    ("How much does she make?", "She sells 9 eggs at $2 each: 9 * 2 = 18 dollars", "18"),
    ("How much does she make?", "9 * 2 = 18\nShe sells 9 eggs for $2 each, making 18.", "18"),
    ("How many minutes?", "Answer: 18", "18"),
]
LISTS = [
    ("Answer: 1) $250 is the first price. 2) $250 + $1125 is the sum. 3) $1375", "1375"),
    ("Answer: 1) $250 2) $1125 3) $1375", "1375"),
    ("Answer:\n1. 48 / 2 = 24 clips in May\n2. 48 + 24 = 72 clips in all", "72"),
    ("**Answer:**\n\n1. In May she sold 24.\n\n2. In all she sold 72.\n\nI hope 1 of these helps", "72"),
    ("Answer: 48/2 = 24. 48 + 24 = 72.", "72"),
    ("Answer: In May she sold 48/2 = 24 clips. In all she sold 48+24 = 72 clips.", "72"),
    ("Answer:\n- 48/2 = 24\n- 48+24 = 72", "72"),
    ("Answer: First, she sold 48 clips. Then she sold half as many, 24. So she sold 72.", "72"),
    ("Answer: She also owes a $2.00 fee. Therefore she owes $4.00 + $2.00 = $6.00.", "6"),
    ("Ответ: 1) 250 $ за стол 2) 1125 $ за стулья 3) 1375 $ за всё", "1375"),
    ("Ответ:\n1. 48 / 2 = 24\n2. 48 + 24 = 72", "72"),
    ("Ответ: Сначала она продала 48 скрепок. Потом ещё 24. Всего 72 скрепки.", "72"),
    ("Ответ: 48 : 2 = 24. 48 + 24 = 72.", "72"),
    ("答案：\n1. 48 / 2 = 24\n2. 48 + 24 = 72", "72"),
    ("答案：首先，五月卖了 48/2 = 24 个。然后一共 48 + 24 = 72 个。", "72"),
    # an explanation after the answer is no derivation
    ("Answer: 72 clips. She sold 48/2 = 24 in May.", "72"),
    ("Answer: 72. Because 48 / 2 = 24. And 48 + 24 = 72.", "72"),
    ("Answer: 2 * 9 = 18. Check: 18 / 9 = 2.", "18"),
    ("Answer: 1. There are 2 reasons.", "1"),
    ("The answer is 2 * 9 = 18. Then 18 / 9 = 2.", "18"),
]  # fmt: skip
WRITTEN = [
    ("The answer is 2:00 pm.", "2"), ("Answer: 2:00 p.m.", "2"), ("#### 2:00", "2"), ("Ответ: 14:00", "14"),
    ("答案：下午2:00", "2"), ("Answer: 2:30 pm", None), ("#### 12:00:00", None),
    ("Answer: 2:00-3:00 pm", None), ("答案：２：００", "2"),
    ("Ответ: 60 минут (или 1 час)", "60"), ("Ответ: 60 минут или 1 час.", "60"),
    ("Ответ: 1 час, или 60 минут", "1"),
    ("Answer: 60 minutes (or 1 hour)", "60"), ("The answer is 60 minutes, or 1 hour.", "60"),
    ("#### 120 cents (or $1.20)", "120"), ("答案：60 分钟（或 1 小时）", "60"), ("答案：60分钟或1小时", "60"),
    ("Answer: 24 inches or 2 feet", "24"), ("Answer: 60 minutes or 2 hours", None),
    ("Answer: 18 eggs or 20 eggs", None),
    ("Ответ: 18 или 20", None), ("Answer: 60 minutes or 1 day", None),
    ("#### ١٨", "18"), ("Answer: १८", "18"), ("The answer is 𝟏𝟖.", "18"), ("\\boxed{１，０８０}", "1080"),
    ("الجواب: ١٬٠٨٠٫٥", "2161/2"), ("Answer: ๑๘", "18"), ("Ответ: −১৮", "-18"),
    ("The answer is 18 + x.", None), ("#### 18 + x", None), ("\\boxed{18 + x}", None), ("Answer: x - 18", None),
    ("Answer: 18 - x", None), ("\\boxed{18 \\times n}", None), ("Ответ: 18 + х", None),
    ("Ответ: 18 + число яиц", None),
    ("答案：18 + x", None), ("Answer: 18 × eggs", None), ("#### 18 + Sally's age", None),
    ("Answer: 18 + x = 20, so x = 2", "2"), ("Answer: x = 18", "18"), ("Answer: 18+ eggs", "18"),
    ("Answer: 18 - a good result", "18"), ("**18** *eggs*", "18"), ("Plan A - 18 dollars", "18"),
    ("Answer: *18* eggs", "18"), ("Ответ: 18 - в день", "18"),
]  # fmt: skip


def value(question: str, reply: str) -> str | None:
    answer = read_number(reply, question).answer
    return None if answer is None or answer.value is None else str(answer.value)


@pytest.mark.parametrize(("question", "reply", "expected"), SEVERAL)
def test_of_several_numbers_the_one_that_is_asked_for(question: str, reply: str, expected: str) -> None:
    assert value(question, reply) == expected


@pytest.mark.parametrize(("reply", "expected"), LISTS)
def test_a_list_or_a_derivation_after_the_cue_gives_what_it_comes_to(reply: str, expected: str) -> None:
    assert value("", reply) == expected
    assert value("", f"She sold 5 of them.\n{reply}") == expected


@pytest.mark.parametrize(("reply", "expected"), WRITTEN)
def test_times_other_units_scripts_and_unknowns(reply: str, expected: str | None) -> None:
    assert value("", reply) == expected


def test_the_unit_asked_for_goes_before_the_first_of_two() -> None:
    assert value("Сколько часов длится фильм?", "Ответ: 60 минут (или 1 час)") == "1"
    assert value("How many hours is it?", "The answer is 60 minutes, or 1 hour.") == "1"
    assert value("一共几小时？", "答案：60分钟或1小时") == "1"


def test_the_steps_of_a_chain_do_not_end_at_a_heading_above_it() -> None:
    assert read_number("Answer:\n1. 48 / 2 = 24\n2. 48 + 24 = 72").anchor is None
    assert read_number("48 / 2 = 24\nAnswer: 24").anchor == 12


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (DOLLARS, AskedQuantity(money=True)),
        ("She has $5. How many eggs does she eat?", AskedQuantity(words=frozenset({"egg"}))),
        ("If a box costs $3, how much does it weigh?", AskedQuantity()),
        ("How much money, in cents, does she have?", AskedQuantity(words=frozenset({"cent"}))),
        ("How long does it take, in minutes?", AskedQuantity(words=frozenset({"minut"}))),
        ("What percentage of the cars are red?", AskedQuantity(percent=True)),
        ("Сколько долларов она заработала?", AskedQuantity(money=True)),
        ("Сколько ног у кошки?", AskedQuantity(words=frozenset({"ног"}))),
        ("他要付多少钱？", AskedQuantity(money=True)),
        ("一共有多少米？", AskedQuantity(words=frozenset({"米"}))),
        ("", AskedQuantity()),
    ],
)
def test_a_question_tells_what_it_asks_for(question: str, expected: AskedQuantity) -> None:
    assert find_asked_quantity(question) == expected


@pytest.mark.parametrize(
    "unit",
    [
        "Answer: 1) 2) ",
        "Answer: 2+2=4. ",
        "1+1=2 ",
        "2 or 3 (or ",
        "So 1+1=2.\n",
        "18 + x ",
        "1 час или ",
        "=",
        "$1 ",
        "cannot ",
        "It cannot be determined from 18. But ",
        "не могу один ",
        "определить нельзя ",
        "one ",
        "2^",
        "10⁶",
        "$3M 5 ",
        "$3$ million ",
        "12 of the 35, so ",
        "二十",
    ],
)
@of_each_size
def test_a_megabyte_takes_bounded_time(unit: str, share: int) -> None:
    with bounded(10 / share):
        read_number(unit * (1_000_000 // share // len(unit)), f"{unit * (1000 // share)}?")


LAST_SENTENCES = [  # no marker: the last sentence that states a number, and in it what is asked for, or the last
    ("", "He has 4 brown ones. A total of 12 are good.", "12"),
    ("", "He gave 4 away, so a total of 16 remain.", "16"),
    ("How many boxes does he need?", "7 / 2 = 3.5. Therefore, he needs 4 boxes.", "4"),
    ("Сколько коробок ему нужно?", "7 / 2 = 3,5. Поэтому ему нужно 4 коробки.", "4"),
    ("他需要多少个箱子？", "7 ÷ 2 = 3.5。因此，他需要4个箱子。", "4"),
    ("", "Bob has 12 pens. Thus he needs \\(7\\).", "7"),
    ("", "14 ÷ 4 = 3.5, so 4 boats are needed.", "4"),
    (
        "How many miles?",
        "The car part is 216 miles and the bike part is 19 miles, for a total of 235 miles.",
        "235",
    ),
    ("How many walk?", "Therefore, 12 out of the 35 students walk to school.", "12"),
    ("How many of the 28 marbles are red?", "So 9 of its 28 marbles are red.", "9"),
    ("有多少个好鸡蛋？", "所以44个鸡蛋中有15个是好的。", "15"),
    ("", "10 % от 220 — это 22.", "22"),
    ("", "25% of 80 is 20.", "20"),
    ("How many seats are free?", "There are 31 seats. 22 seats are taken, so 9 are free.", "9"),
    ("", "He needs 4 boxes, because 7 / 2 = 3.5.", "4"),
    ("", "It is 900 / 100 = 9 hours per week.", "9"),
    ("", "She has 9 eggs, which is 3 times as many.", "9"),
    ("", "After resting he adds 18 miles, which is 18 + 21 = 39 miles.", "39"),
    ("", "She has 18 eggs left. The 3 steps above show it, as does step 2.", "18"),
    ("How many steps does he take?", "He takes 300 steps.", "300"),
    ("", "That leaves her with twelve eggs.", "12"),
    ("", "9 + 9 = 18. One of them is red.", "18"),
    ("", "She has two dozen eggs", "24"),
    ("How many hours does it take?", "It takes 2.5 hours, or 150 minutes.", "5/2"),
    ("", "No one knows.", None),
    ("", "Всего шестнадцать.", "16"),
    ("", "有七十五个。", "75"),
]
CLAUSES = [  # the unit asked for prefers among numbers of one clause only
    ("How many 5 dollar bills does it pay out?", "#### 240 5 dollar bills", "240"),
    ("Сколько долларов они стоят?", "Ответ: 8 стержней стоят 12 $", "12"),
    ("How many hours is it open?", "#### 35 (… 5 hours x 7 days = 35 hours)", "35"),
    ("How many hours is it open?", "The answer is 35 (5 hours x 7 days = 35 hours).", "35"),
    ("How many dollars does he spend?", "Answer: 19 (he spent 7 dollars more on Monday)", "19"),
    ("How many dollars does he spend?", "Answer: 19, since each of 7 costs 2 dollars more.", "19"),
    ("How many hours?", "Answer: 120 minutes, so 2 hours.", "2"),
]
WITHHELD = [
    "Answer: no idea, maybe 18",
    "It cannot be determined from 18 and 20.",
    "9 + 9 = 18\nThere is not enough information to answer; we know only 18.",
    "I don't know the answer. The numbers 18 and 20 are given, but I can't combine them.",
    "**Answer:** Not enough information (the 18 is not explained).",
    "Ответ: не знаю, может быть 18",
    "Ответ определить нельзя, так как 18 не связано с 20.",
    "Недостаточно данных: известны только 18 и 20.",
    "答案：不知道，可能是18",
    "条件不足，只知道18和20，无法求出答案。",
]
STATED_AFTER = [
    "At first it seems that there is not enough information, but there is. The answer is 18.",
    "It cannot be determined at once. But 9 + 9 = 18.",
    "Казалось бы, определить нельзя, однако всё есть. Ответ: 18",
    "一开始好像无法确定，其实条件是够的。答案：18",
    "I don't know why 50 is mentioned. Anyway:\n\n#### 18",
    "Probably 18.",
    "I think the answer is 18, but I am not sure.",
]
MAGNITUDES = [
    ("It made $3M.", "3000000"), ("$3m", "3000000"), ("€2 bn", "2000000000"), ("$\\$4$ million", "4000000"),
    ("3 m", "3"),
    ("10^6", "1000000"), ("\\boxed{10^{5}}", "100000"), ("10⁶", "1000000"), ("6 × 10⁴", "60000"),
    ("Answer: 2^5", "32"),
    ("12 тыс.", "12000"), ("12 MB", "12"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "reply", "expected"), LAST_SENTENCES)
def test_without_a_marker_the_last_sentence_with_a_number_decides(
    question: str, reply: str, expected: str | None
) -> None:
    assert value(question, reply) == expected


@pytest.mark.parametrize(("question", "reply", "expected"), CLAUSES)
def test_the_unit_asked_for_prefers_within_a_clause(question: str, reply: str, expected: str) -> None:
    assert value(question, reply) == expected


@pytest.mark.parametrize("reply", WITHHELD)
def test_who_says_that_there_is_no_answer_gives_none(reply: str) -> None:
    assert value("", reply) is None


@pytest.mark.parametrize("reply", STATED_AFTER)
def test_an_answer_stated_after_that_counts_and_so_does_a_hedged_one(reply: str) -> None:
    assert value("", reply) == "18"


@pytest.mark.parametrize(("reply", "expected"), MAGNITUDES)
def test_short_magnitudes_and_powers(reply: str, expected: str) -> None:
    assert value("", reply) == expected


@pytest.mark.parametrize(
    ("question", "reply", "expected"),
    [
        ("", "The answer is 9 eggs, which is 3 times as many.", "9"),
        (DOLLARS, "The answer is $460, which is 20% of it.", "460"),
        ("How many hours?", "The answer is 2.5 hours, which is 150 minutes.", "5/2"),
        ("How many minutes?", "Answer: 2 hours, which is 120 minutes.", "120"),
        ("", "Answer: half of 36, which is 18.", "18"),
    ],
)
def test_a_remark_on_the_answer_is_not_the_answer(question: str, reply: str, expected: str) -> None:
    assert value(question, reply) == expected
