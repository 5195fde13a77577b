"""The final answer is found in every form that models write it in, and not found where there is none."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basic_control.data.reading.numbers import NumberAnswer, read_number
from basic_control.data.sentences import split_sentences
from tests.helpers.bounds import bounded, of_each_size

MARKER, BOXED, CUE, LAST = "marker", "box", "cue", "last sentence"

FORMS: list[tuple[str, str | None, str]] = [
    # the marker
    ("#### 18", "18", MARKER),
    ("####18", "18", MARKER),
    ("#### 18.", "18", MARKER),
    ("#### 18.00", "18", MARKER),
    ("#### $18.00", "18", MARKER),
    ("#### \\$18", "18", MARKER),
    ("#### 18 dollars", "18", MARKER),
    ("#### 18$", "18", MARKER),
    ("#### €18", "18", MARKER),
    ("#### 18 €", "18", MARKER),
    ("#### **18**", "18", MARKER),
    ("#### `18`", "18", MARKER),
    ("#### _18_", "18", MARKER),
    ("The answer is _-18_.", "-18", CUE),
    ("Answer: __18__", "18", CUE),
    ("_18_", "18", LAST),
    ("Answer: x_18", None, ""),
    ("Answer: two dozen", "24", CUE),
    ("\\boxed{\\text{two and a half}}", "5/2", BOXED),
    ("#### -5", "-5", MARKER),
    ("There are 18 left, not 20.", "18", LAST),
    ("Answer: not 18", None, ""),
    ("It isn't 18.", None, ""),
    *(
        (f"\\boxed{{{said}}}", None, "")
        for said in (r"2\pi", r"2\sqrt{3}", r"\frac{\pi}{2}", r"\pm 5", r"\ln 2", r"7 \bmod 4")
    ),
    ("\\sqrt{16} = 4", "4", LAST),
    ("Осталось 18 яиц, а не 20.", "18", LAST),
    ("剩下18个，而不是20个。", "18", LAST),
    ("#### minus 5", "-5", MARKER),
    ("ANSWER: negative 39", "-39", CUE),
    ("The answer is minus thirty-nine.", "-39", CUE),
    ("Ответ: минус 39", "-39", CUE),
    ("答案是负39。", "-39", CUE),
    ("答案是负三十九。", "-39", CUE),
    ("\\boxed{\\text{negative } 5}", "-5", BOXED),
    ("12 minus 51 is minus 39.", "-39", LAST),
    ("20 eggs minus 2", "2", LAST),
    ("#### −5", "-5", MARKER),
    ("#### –5", "-5", MARKER),
    ("#### - 5", "-5", MARKER),
    ("#### -$5", "-5", MARKER),
    ("#### $-5", "-5", MARKER),
    ("#### +5", "5", MARKER),
    ("#### 1,080", "1080", MARKER),
    ("#### 1,450,000", "1450000", MARKER),
    ("#### 1 234", "1234", MARKER),
    ("#### 1\u00a0234", "1234", MARKER),
    ("#### 1\u2009234\u2009567", "1234567", MARKER),
    ("#### 1\u202f234,50", "2469/2", MARKER),
    ("#### 1'234", "1234", MARKER),
    ("#### 1’234’567.5", "2469135/2", MARKER),
    ("#### 1.234.567", "1234567", MARKER),
    ("#### 1.234,56", "30864/25", MARKER),
    ("#### 1,00,000", "100000", MARKER),
    ("#### 12,34,567", "1234567", MARKER),
    ("#### 0.5", "1/2", MARKER),
    ("#### .5", "1/2", MARKER),
    ("#### 0,5", "1/2", MARKER),
    ("#### 0,125", "1/8", MARKER),
    ("#### 2,5", "5/2", MARKER),
    ("#### 3,14159", "314159/100000", MARKER),
    ("#### 5%", "5", MARKER),
    ("#### 12.5 %", "25/2", MARKER),
    ("#### 5\\%", "5", MARKER),
    ("#### 3/4", "3/4", MARKER),
    ("#### 1 3/4", "7/4", MARKER),
    ("#### -1 3/4", "-7/4", MARKER),
    ("#### ½", "1/2", MARKER),
    ("#### 2½", "5/2", MARKER),
    ("#### \\frac{3}{4}", "3/4", MARKER),
    ("#### 2\\frac{1}{3}", "7/3", MARKER),
    ("#### 18...", "18", MARKER),
    ("#### 18…", "18", MARKER),
    ("#### 18 (2 × 9)", "18", MARKER),
    ("#### 18 (2 * 9 = 18)", "18", MARKER),
    ("#### 2 * 9 = 18", "18", MARKER),
    ("#### x = 18", "18", LAST),
    ("#### = 18", "18", MARKER),
    ("#### Answer: 18", "18", CUE),
    ("#### The final answer is 18.", "18", CUE),
    ("#### Total: $18 per day", "18", LAST),
    ("#### 18 eggs in 7 days", "18", MARKER),
    ("#### 1.5 million", "1500000", MARKER),
    ("#### 5k", "5000", MARKER),
    ("#### 300 K", "300", MARKER),
    ("#### $300 K", "300000", MARKER),
    ("#### 1.5e3", "1500", MARKER),
    ("#### 1.5 × 10^3", "1500", MARKER),
    ("#### 2\\times 10^{6}", "2000000", MARKER),
    ("#### １８", "18", MARKER),
    ("#### １，０８０", "1080", MARKER),
    ("＃＃＃＃ 18", "18", MARKER),
    ("##### 18", "18", MARKER),
    ("#### 20\nOh, I was wrong.\n#### 18", "18", MARKER),
    ("#### 20 #### 18", "18", MARKER),
    ("The answer is 20.\n#### 18", "18", MARKER),
    ("\\boxed{20}\n#### 18", "18", MARKER),
    ("####\n18", "18", LAST),
    ("#### eighteen", "18", MARKER),
    ("#### двадцать пять", "25", MARKER),
    ("#### 一百二十", "120", MARKER),
    ("#### 18\n\nI hope 1 or 2 of these steps help!", "18", MARKER),
    ("#### 1 000 000 руб.", "1000000", MARKER),
    ("#### 3 тыс. руб.", "3000", MARKER),
    ("#### 2万", "20000", MARKER),
    ("#### 0", "0", MARKER),
    ("#### 007", "7", MARKER),
    ("#### USD18", "18", MARKER),
    ("#### 18kg", "18", MARKER),
    ("#### 18 km/h", "18", MARKER),
    ("#### 18 m^2", "18", MARKER),
    ("#### 18 cm²", "18", MARKER),
    # the box
    ("\\boxed{18}", "18", BOXED),
    ("$\\boxed{18}$", "18", BOXED),
    ("\\[ \\boxed{18} \\]", "18", BOXED),
    ("\\boxed{\\$18.00}", "18", BOXED),
    ("\\boxed{1,080}", "1080", BOXED),
    ("\\boxed{1{,}080}", "1080", BOXED),
    ("\\boxed{1\\,080}", "1080", BOXED),
    ("\\boxed{-5}", "-5", BOXED),
    ("\\boxed{\\frac{3}{4}}", "3/4", BOXED),
    ("\\boxed{\\dfrac{3}{4}}", "3/4", BOXED),
    ("\\boxed{\\frac34}", "3/4", BOXED),
    ("\\boxed{18 \\text{ dollars}}", "18", BOXED),
    ("\\boxed{\\text{18}}", "18", BOXED),
    ("\\boxed{x = 18}", "18", LAST),
    ("\\boxed{5\\%}", "5", BOXED),
    ("\\fbox{18}", "18", LAST),
    ("\\boxed{20} No: \\boxed{18}", "18", BOXED),
    ("The answer is 20. \\boxed{18}", "18", BOXED),
    ("\\boxed{18", "18", BOXED),
    ("\\boxed 18", "18", LAST),
    ("\\boxed{\\textbf{18}}", "18", BOXED),
    # cue phrases
    ("The answer is 18.", "18", CUE),
    ("The answer is $18.00.", "18", CUE),
    ("The final answer is: 18", "18", CUE),
    ("So the answer is **18**.", "18", CUE),
    ("the answer would be 18 dollars", "18", CUE),
    ("The answer is therefore $1,080.", "1080", CUE),
    ("The answer to the question is 18.", "18", CUE),
    ("Answer: 18", "18", CUE),
    ("ANSWER: 18", "18", CUE),
    ("ANSWER: -7", "-7", CUE),
    ("**Answer:** 18", "18", CUE),
    ("**Answer**: 18", "18", CUE),
    ("Answer = 18", "18", CUE),
    ("Answer - 18", "18", CUE),
    ("Answer (in dollars): 18", "18", CUE),
    ("## Final Answer\n18", "18", CUE),
    ("**Final Answer**\n\n$18", "18", CUE),
    ("Final answer:\n\n18 eggs", "18", CUE),
    ("A: 18", "18", CUE),
    ("A: -200", "-200", CUE),
    ("A: $2,085.50", "4171/2", CUE),
    ("There are 5 ducks.\nA: 18\n", "18", CUE),
    ("The answer is 2 * 9 = 18.", "18", CUE),
    ("The answer is 18 = 2 * 9.", "18", CUE),
    ("The answer is 18 (2 x 9).", "18", CUE),
    ("Answer: She makes $18 for 9 eggs.", "18", CUE),
    ("Answer: In 7 days she earns 126 dollars.", "126", CUE),
    ("Answer: eighteen", "18", CUE),
    ("The answer is 20. Wait. The answer is 18.", "18", CUE),
    ("The answer is 18. There were 4 steps.", "18", CUE),
    ("The answer is 18, as 2 steps show.", "18", CUE),
    ("ОТВЕТ: 18", "18", CUE),
    ("Ответ: 18 долларов.", "18", CUE),
    ("Ответ – 18", "18", CUE),
    ("Ответ: –18", "-18", CUE),
    ("**Ответ:** 2,5 кг", "5/2", CUE),
    ("Ответ: 1 234,5 рубля", "2469/2", CUE),
    ("Ответ: она зарабатывает 18 долларов за 9 яиц.", "18", CUE),
    ("Ответ: двадцать пять", "25", CUE),
    ("Правильный ответ равен 18.", "18", CUE),
    ("Итого: 18", "18", CUE),
    ("答案是 18。", "18", CUE),
    ("答案：１８", "18", CUE),
    ("答案為18元", "18", CUE),
    ("最终答案是：18 美元", "18", CUE),
    ("答：她每天赚 18 美元。", "18", CUE),
    ("答案是一百二十。", "120", CUE),
    ("所以答案是-5。", "-5", CUE),
    ("温度为−5度", "-5", LAST),
    ("大约3天-5天", "5", LAST),
    ("\\boxed{18^\\circ}", "18", BOXED),
    ("\\boxed{30^{\\circ}\\text{C}}", "30", BOXED),
    ("答案是3万元", "30000", CUE),
    # the last number
    ("She makes 9 * 2 = 18 dollars.", "18", LAST),
    ("She makes $18", "18", LAST),
    ("18", "18", LAST),
    ("18 (2 × 9)", "18", LAST),
    ("So she makes 18 dollars (9 eggs × $2).", "18", LAST),
    ("She makes $18 per day ($126 per week).", "18", LAST),
    ("Each gets 3 (remainder 2).", "3", LAST),
    ("She makes that (18).", "18", LAST),
    ("1. She has 9 eggs.\n2. She makes $18.\n3. Done.", "18", LAST),
    ("She makes $18 as shown in step 3", "18", LAST),
    ("It takes 12 hours, usually 10-15.", "12", LAST),
    ("It takes 12 hours, between 10 and 15.", "12", LAST),
    ("Всего 18 долларов.", "18", LAST),
    ("一共 18 美元。", "18", LAST),
    ("The room is 18 m^2", "18", LAST),
    ("The temperature falls to -5", "-5", LAST),
    ("9*2=18", "18", LAST),
    ("5 - 3 = 2", "2", LAST),
    ("The answer is not 20 but 18", "18", CUE),
    ("To answer this, we have 9 eggs at $2 each, so $18", "18", LAST),
    ("#### Step 2: add\nThat makes 18", "18", LAST),
    ("#### 2. Add the numbers\nThat makes 18", "18", LAST),
    ("half of COVID-19 cases", "19", LAST),
    # no answer
    ("", None, ""),
    ("I do not know.", None, ""),
    ("#### unknown", None, ""),
    ("#### unknown (18 would be a guess)", None, ""),
    ("#### cannot be determined from 18 and 20", None, ""),
    ("#### неизвестно (возможно, 18)", None, ""),
    ("#### 无法确定（18？）", None, ""),
    ("Answer: N/A (18?)", None, ""),
    ("9 + 9 = 18\n#### None", None, ""),
    ("#### 16-20", None, ""),
    ("#### 16 – 20", None, ""),
    ("#### 16 to 20", None, ""),
    ("#### 18 or 20", None, ""),
    ("#### 18 или 20", None, ""),
    ("The answer is 18 or 20.", None, ""),
    ("The answer is between 10 and 20.", None, ""),
    ("\\boxed{18 \\text{ or } 20}", None, ""),
    ("\\boxed{\\text{none}}", None, ""),
    ("#### 2 + 9", None, ""),
    ("#### 12/05/2024", None, ""),
    ("#### 3:30", None, ""),
    ("#### 1/0", None, ""),
    ("#### " + "9" * 5_000, None, ""),
    ("#### 1e999999999", None, ""),
    ("10 × 5", None, ""),
    ("H2O and CO2", None, ""),
    ("####", None, ""),
    ("\\boxed{}", None, ""),
    ("Ответ: нет решения", None, ""),
    ("答案是未知", None, ""),
]


def single(text: str, question: str = "", *, cut: bool = False) -> NumberAnswer | None:
    """Return the answer that a text gives; None for none, or for no single number."""
    answer = read_number(text, question, cut=cut).answer
    return None if answer is None or answer.value is None else answer


def test_the_table_has_at_least_150_forms() -> None:
    assert len(FORMS) >= 150
    assert len({text for text, _, _ in FORMS}) == len(FORMS)


@pytest.mark.parametrize(("text", "value", "rule"), FORMS, ids=[repr(text)[:60] for text, _, _ in FORMS])
def test_reads(text: str, value: str | None, rule: str) -> None:
    answer = single(text)
    assert (answer.value if answer else None) == (None if value is None else Fraction(value))
    assert (answer.rule if answer else "") == rule


def test_two_equal_candidates_are_no_contradiction() -> None:
    found = single("#### 18 or 18.00")
    assert found is not None
    assert found.value == 18


def test_says_where_and_how_it_is_written() -> None:
    reading = read_number("So she makes that.\nThe answer is $1,080.00 today.")
    assert reading.answer is not None
    assert (reading.answer.text, reading.anchor) == ("$1,080.00", 23)


def test_a_refused_marker_still_stands_somewhere() -> None:
    """The steps of a chain end where its marker stands, even if no number follows."""
    assert read_number("2 + 2 = 4\n#### none").anchor == 10
    assert read_number("2 + 2 = 4").anchor is None


def test_agrees_with_the_labels_of_real_outputs(shared: Path) -> None:
    """Of 1600 outputs of four models, labelled right or wrong, at least 99.5 % are judged alike."""
    agreed = asked = 0
    with (shared / "gsm8k_model_solutions_dev.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            expected = single(row["ground_truth"])
            assert expected is not None
            for output in row.values():
                if isinstance(output, dict):
                    found = single(output["solution"])
                    asked += 1
                    agreed += (found is not None and found.value == expected.value) == output["is_correct"]
    assert asked == 1600
    assert agreed / asked >= 0.995


def test_right_solutions_without_their_answers_line_are_read(shared: Path) -> None:
    """Of right solutions whose last sentence with a number ends with the right one, 99.9 %, as lines or as one."""
    read = asked = 0
    for row in map(json.loads, (shared / "gsm8k_model_solutions_dev.jsonl").read_text("utf-8").splitlines()):
        expected = single(row["ground_truth"])
        assert expected is not None
        for output in row.values():
            body = output["solution"].rpartition("\nA:")[0] if isinstance(output, dict) else ""
            for text in (body, " ".join(re.sub(r"<<[^>]*>>", "", body).split())):
                said = [re.sub(r"<<[^>]*>>", "", text[start:end]) for start, end in split_sentences(text)]
                numbers = [re.findall(r"-?[0-9][0-9,]*(?:\.[0-9]+)?", sentence) for sentence in said]
                last = next((found[-1] for found in reversed(numbers) if found), "")
                if last and output["is_correct"] and Fraction(last.replace(",", "")) == expected.value:
                    found = single(text, row["question"])
                    asked += 1
                    read += found is not None and found.value == expected.value
    assert asked > 1000
    assert read >= 0.999 * asked


@given(
    st.integers(-(10**12), 10**12), st.sampled_from(["#### {}", "The answer is {}.", "\\boxed{{{}}}", "Ответ: {}"])
)
def test_any_integer_survives_english_thousands(number: int, form: str) -> None:
    found = single(form.format(f"{number:,}"))
    assert found is not None
    assert found.value == number


@given(st.text(alphabet="0123456789.,/-−$%#{}\\ABoxed nsweri:\n答案Ответ=()×*", max_size=80))
@settings(max_examples=300)
def test_never_raises(text: str) -> None:
    single(text)


@pytest.mark.parametrize(
    "unit",
    ["9", "1,", "1 ", "111,", "1.", "1/", "#### ", "\\boxed{", "answer ", "answer is ", "A:\n", "\\frac{", "$", "-",
     "1 or ", "(", "答案", "1 x ", "1e5", "=1", "²"],
)  # fmt: skip
@of_each_size
def test_a_megabyte_takes_bounded_time(unit: str, share: int) -> None:
    with bounded(10 / share):
        single(unit * (1_000_000 // share // len(unit)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She has 9 + 9 = 18", None),
        ("9 + 9 = 18\nSo", None),
        ("9 + 9 = 18\n#### ", None),
        ("The answer is 18. Let me check: 18 - 9 =", "18"),
        ("\\boxed{18}\nTo verify, 18 /", "18"),
        ("#### 18", "18"),
    ],
)
def test_a_cut_reply_has_only_what_it_has_said(text: str, expected: str | None) -> None:
    found = single(text, cut=True)
    assert (None if found is None else str(found.value)) == expected
    assert found is None or found.is_said


def test_an_answer_is_said_or_inferred() -> None:
    how = {
        text: found.is_said
        for text in ("#### 18", "\\boxed{18}", "Ответ: 18", "It makes 18.")
        if (found := single(text))
    }
    assert how == {"#### 18": True, "\\boxed{18}": True, "Ответ: 18": True, "It makes 18.": False}
