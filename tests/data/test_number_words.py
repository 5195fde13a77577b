"""What a question gives counts as given, however it is written."""

from fractions import Fraction

import pytest

from basic_control.data.number_words import list_given_numbers, parse_spelled
from tests.helpers.bounds import bounded

F = Fraction


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("He has 3 cows and $1,080.50", {3, F("1080.5")}),
        ("three milk cows, two pails, one more", {3, 2, 1}),
        ("twenty-five eggs", {25}),
        ("twenty five eggs", {25}),
        ("one hundred and five", {105}),
        ("two thousand three hundred forty-one", {2341}),
        ("a hundred sheep", {100}),
        ("nineteen eighty", {19, 80}),
        ("twice as many", {2}),
        ("she doubled it", {2}),
        ("half as many", {2, F(1, 2)}),
        ("triple the amount, thrice", {3}),
        ("a third of them", {3, F(1, 3)}),
        ("two thirds of them", {2, 3, F(1, 3), F(2, 3)}),
        ("three-quarters", {3, 4, F(1, 4), F(3, 4)}),
        ("a quarter", {4, F(1, 4)}),
        ("one-fifth", {1, 5, F(1, 5)}),
        ("a dozen eggs", {12}),
        ("half a dozen", {2, F(1, 2), 12, 6}),
        ("two and a half hours", {2, F(1, 2), F(5, 2)}),
        ("a 20% discount", {20, F(1, 5), 100}),
        ("twenty percent", {20, F(1, 5), 100}),
        ("3/4 of a mile", {F(3, 4), 3, 4}),
        ("1 1/2 cups", {F(3, 2), 1, 2}),
        ("at 3:30", {3, 30}),
        ("-5 degrees", {-5, 5}),
        ("$1.5 million", {1_500_000, F(3, 2)}),
        ("a three-hour tour", {3}),
        ("a couple of dogs", {2}),
        ("often, alone, someone, tenth-grade", {10, F(1, 10)}),
        ("двадцать пять яиц", {25}),
        ("двадцатью пятью яйцами", {25}),
        ("ста двадцати трёх рублей", {123}),
        ("пятьсот сорок", {540}),
        ("две тысячи триста", {2300}),
        ("вдвое больше", {2}),
        ("дважды в день", {2}),
        ("в три раза", {3}),
        ("втрое меньше", {3}),
        ("половину оставшихся", {2, F(1, 2)}),
        ("полтора часа", {F(3, 2)}),
        ("треть учеников", {3, F(1, 3)}),
        ("две трети", {2, 3, F(1, 3), F(2, 3)}),
        ("четверть часа", {4, F(1, 4)}),
        ("одна пятая часть", {1, 5, F(1, 5)}),
        ("дюжина яиц", {12}),
        ("20 процентов", {20, F(1, 5), 100}),
        ("20 % скидки", {20, F(1, 5), 100}),
        ("пятнадцать процентов", {15, F(15, 100), 100}),
        ("трёхчасовой урок", {3}),
        ("четырёх котов, двое детей", {4, 2}),
        ("2,5 кг и 1 234 рубля", {F(5, 2), 1234}),
        ("一百二十个", {120}),
        ("两只鸭子", {2}),
        ("三百零五", {305}),
        ("一百二", {120}),
        ("三万五千", {35_000}),
        ("十五分钟", {15}),
        ("一半", {1, 2, F(1, 2)}),
        ("三倍", {3}),
        ("两个半小时", {2, F(1, 2), F(5, 2)}),
        ("三分之二", {3, 2, F(2, 3)}),
        ("百分之二十", {100, 20, F(1, 5)}),
        ("一起一共一些", set()),
        ("5千克", {5}),
        ("１８元", {18}),
        ("no numbers here", set()),
    ],
)
def test_gives(text: str, numbers: set[int | Fraction]) -> None:
    assert set(list_given_numbers(text)) == numbers


def test_each_number_knows_the_words_that_give_it() -> None:
    assert list_given_numbers("twice as many as twenty-five, less 20%") == {
        2: "twice", 25: "twenty-five", 20: "20%", F(1, 5): "20%", 100: "20%",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("eighteen", 18),
        (" двадцать пять рублей", 25),
        ("一百二十", 120),
        ("six or seven", None),
        ("none", None),
        ("two dozen eggs", 24),
        ("two and a half hours", F(5, 2)),
        ("three quarters", F(3, 4)),
        ("one", 1),
        ("две трети", F(2, 3)),
        ("minus five", -5),
        ("two-thirds", F(2, 3)),
        ("one-third", F(1, 3)),
        ("twenty-third", 20),
        ("one half", F(1, 2)),
        ("三分之二", F(2, 3)),
        ("百分之五", 5),
    ],
)
def test_spells_one_number(text: str, value: int | Fraction | None) -> None:
    assert parse_spelled(text) == value


@pytest.mark.parametrize("unit", ["一", "二分之", "half ", "one hundred ", "1 1/2 ", "两个", "20% ", "пять "])
def test_a_long_question_takes_bounded_time(unit: str) -> None:
    with bounded(10):
        list_given_numbers(unit * (50_000 // len(unit)))
