"""The four levels of a chain of thought: seed 004's example, the real data set, mutants, and hostile responses."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basic_control.data.number_words import list_given_numbers
from basic_control.data.options import options_of
from basic_control.data.plugins import metrics
from basic_control.data.records import Score
from basic_control.metrics.cot import cot
from basic_control.metrics.cot.chain import parse_annotation, read
from tests.helpers import word_problems

QUESTION = (
    "Farmer Red has three milk cows: Bess, Brownie, and Daisy. Bess, the smallest cow, gives him two pails of milk "
    "every day. Brownie, the largest cow, produces three times that amount. Then Daisy makes one pail more than "
    "Bess. How many pails of milk does Farmer Red get from them each week?"
)
REFERENCE = """Bess produces 2 pails every day.
Brownie produces 3 times as much * 2 = <<3*2=6>>6 pails every day.
Daisy produces 2 + 1 more pail than Bess = <<2+1=3>>3 pails every day.
Bess, Brownie, and Daisy together produce 2 + 6 + 3 = <<2+6+3=11>>11 pails every day.
A week is 7 days, so Farmer Red gets 11 * 7 = <<11*7=77>>77 pails each week.
#### 77"""
RESPONSE = """Bess gives 2 pails of milk every day because <<2=2>>2.\x20\x20
Brownie gives three times Bess's daily amount because <<2*3=6>>6.\x20\x20
Daisy gives one pail more than Bess because <<2+1=3>>3.\x20\x20
Total daily milk from all cows is <<2+6+3=11>>11.\x20\x20
A week has 7 days because <<7=7>>7.\x20\x20
Total weekly milk is <<11*7=77>>77.\x20\x20
#### 77"""


def score(response: str, reference: str = REFERENCE, question: str = QUESTION, **options: Any) -> Score:
    sample = {"question": question, "reference": reference, "response": response, "language": "en"}
    return cot.cot.score(sample, {}, options_of(cot.cot, options))


def part(result: Score, name: str) -> float:
    value = result.parts[name]
    assert value is not None
    return value


class TestGolden:
    """Seed 004's milk cows."""

    def test_levels(self) -> None:
        result = score(RESPONSE)
        assert [round(part(result, name), 3) for name in ("l1", "l2", "l3", "l4")] == [1.0, 1.0, 0.853, 0.917]
        assert result.details["ratio"] == 1.2

    def test_weighted(self) -> None:
        value = score(RESPONSE).value
        assert value is not None
        assert round(value, 2) == 0.95
        assert round(value, 4) == 0.9455

    def test_the_seven_from_nowhere_is_named_and_stays_unknown_when_restated(self) -> None:
        details = score(RESPONSE).details
        assert details["unsupported"] == [{"step": 5, "operand": "7"}, {"step": 6, "operand": "7"}]
        assert details["first_wrong_step"] is None
        assert details["rule"] == "marker"

    def test_a_known_constant_is_known(self) -> None:
        result = score(RESPONSE, known_constants=(7.0,))
        assert result.parts["coherence"] == 1.0
        assert result.details["calculations"][5]["origins"] == {"11": "calculation 4", "7": "constant"}

    def test_is_found_as_a_metric(self) -> None:
        assert metrics()["cot"] is cot.cot


WRONG_IN_GOLD = {"97d0c439577d397d": "3/4*364=364/4", "2374dd5f8a38c584": "32-20=300"}
"""References of the test set with a calculation that is wrong, by the hash of their text."""


class TestRealData:
    """GSM8K's test set against itself."""

    def test_references_are_perfect(self, shared: Path) -> None:
        """L1 = L2 = L3 = 1.0 for all 1319, and accuracy 1.0 wherever they calculate."""
        rows = pl.read_parquet(shared / "gsm8k_test.parquet").to_dicts()
        scores = [score(row["answer"], row["answer"], row["question"]) for row in rows]
        assert len(scores) == 1319
        for name in ("l1", "l2", "l3"):
            assert {one.parts[name] for one in scores} == {1.0}
        wrong = {
            sha256(row["answer"].encode()).hexdigest()[:16]: calculation["text"]
            for row, one in zip(rows, scores, strict=True)
            for calculation in one.details["calculations"]
            if not calculation["right"]
        }
        assert wrong == WRONG_IN_GOLD
        assert sum(one.parts["accuracy"] is None for one in scores) <= 10
        coherent = [one.parts["coherence"] for one in scores if one.parts["coherence"] is not None]
        assert round(sum(coherent) / len(coherent), 3) == 0.844  # as the docstring of `coherence` says

    def test_every_annotation_is_right(self, shared: Path) -> None:
        for name in ("test", "train"):
            answers = pl.read_parquet(shared / f"gsm8k_{name}.parquet")["answer"]
            inside = answers.str.extract_all("<<(.*?)>>").explode().drop_nulls().str.slice(2).str.head(-2).unique()
            assert [text for text in inside if not parse_annotation(text).right] == []


class TestAnswer:
    """L1."""

    @pytest.mark.parametrize(
        "response", ["#### 77.00", "\\boxed{77}", "The answer is $77.", "Ответ: 77", "it is 77"]
    )
    def test_equal_in_value_is_right(self, response: str) -> None:
        assert score(response).parts["l1"] == 1.0

    @pytest.mark.parametrize("response", ["#### 78", "#### 7.7", "#### 770", "#### -77", "77 of them\n#### 78"])
    def test_anything_else_is_wrong(self, response: str) -> None:
        result = score(response)
        assert (result.status, result.parts["l1"]) == ("scored", 0.0)

    def test_no_answer_scores_zero_there_and_the_other_levels_all_the_same(self) -> None:
        result = score(RESPONSE.replace("#### 77", "#### unknown"))
        assert (result.status, result.parts["l1"], result.parts["l2"]) == ("no_answer", 0.0, 1.0)
        assert result.value is not None
        assert round(result.value, 4) == 0.5455

    def test_an_empty_response(self) -> None:
        result = score("")
        assert result.status == "no_answer"
        assert dict(result.parts) | {"accuracy": None} == {
            "l1": 0.0, "l2": 0.2, "l3": 0.0, "l4": 0.0, "accuracy": None, "coherence": None,
            "right_answer_invalid_chain": None, "sound": 0.0,
        }  # fmt: skip


def steps(count: int) -> str:
    return "\n".join(["a step"] * count + ["#### 1"])


class TestSteps:
    """L2."""

    @pytest.mark.parametrize(
        ("response", "reference", "expected"),
        [
            (4, 5, 1.0), (5, 5, 1.0), (6, 5, 1.0),  # the bounds 0.8 and 1.2 themselves
            (3, 5, 0.75), (2, 5, 0.5), (1, 5, 0.25), (1, 10, 0.2), (0, 5, 0.2),
            (7, 5, 6 / 7), (10, 5, 0.6), (12, 5, 0.5), (100, 5, 0.5),
            (5, 0, None), (0, 0, None),
        ],
    )  # fmt: skip
    def test_ratio(self, response: int, reference: int, expected: float | None) -> None:
        assert cot.compare_step_counts(read(steps(response)), read(steps(reference))) == pytest.approx(expected)

    def test_steps_are_the_lines_before_the_answer(self) -> None:
        assert len(read("one\n\n  \ntwo\nSo 4.\n#### 4\nafterwards").steps) == 3
        assert len(read("one\ntwo\nThe answer is 4.\nafterwards").steps) == 2
        assert len(read("one\ntwo\nthree").steps) == 3


class TestSimilarity:
    """L3."""

    def test_weights_of_operators_numbers_and_words(self) -> None:
        reference, response = read("we add <<2+3=5>>5\n#### 5"), read("we multiply <<2*3=6>>6\n#### 6")
        # operators 0 of 2; numbers {2, 3} of {2, 3, 5, 6}; words {we} of {we, add, multiply}
        assert cot.compare_steps(response, reference) == pytest.approx(0.4 * 0 + 0.4 * 2 / 4 + 0.2 * 1 / 3)

    def test_two_empty_sets_are_alike(self) -> None:
        assert cot.compare_steps(read("so it is\n#### 5"), read("clearly\n#### 5")) == 1.0

    def test_every_sign_of_an_operation_is_that_operation(self) -> None:
        chain = read("<<2×3=6>> <<6÷2=3>> <<3−1=2>> <<2x4=8>> <<8\\times 2=16>> <<16 : 2=8>> <<2(3+1)=8>>\nx")
        assert cot.collect_features(chain)[0] == {"*", "/", "-", "+"}
        assert cot.measure_accuracy(chain) == 1.0

    def test_words(self) -> None:
        chain = read("Bess's 2 PAILS, a <<1+1=2>>2 later words\nno calculation here\n#### 2")
        assert cot.collect_features(chain)[2] == {"bess's", "pails"}


class TestCalculations:
    """Recomputation: the accuracy in L4."""

    @pytest.mark.parametrize(
        "text",
        [
            "2+3=5", "10/4=2.5", "10/3=3.33", "10/3=3.3", "10/3=3", "2/3=0.67", "2/3=.667", "3/4=3/4", "1/2=0.50",
            "(1+2)*(3+4)=21", "2*-3=-6", "-5+8=3", "1,000*2=2,000", "20%*50=10", "50*20/100=10", "100%-20%=80%",
            "100-20%=80%", "7=7", "0.1+0.2=0.3", "0.1+0.2=0.30000000000000004", "$5*2=$10",
            "5 apples * 2 = 10 apples",
            "2+3=5=5", "1 1/2*2=3", "2,5*2=5", "6//2=3", "\\frac{1}{2}*4=2", "[2+3]*2=10", "5-(-3)=8",
        ],
    )  # fmt: skip
    def test_right(self, text: str) -> None:
        assert parse_annotation(text).right

    @pytest.mark.parametrize(
        "text",
        [
            "2+3=6", "10/3=3.34", "10/3=3.4", "10/3=4", "2/3=0.66", "7=8", "5/0=1", "9**9**9=1", "2^3=9",
            "sqrt(2)=2", "2+=5", "=5", "5=", "5", "x=5", "2x=10", "(2+3=5", "2+3)=5", "1.2.3=1", "2+3=5=6",
            "abc", "__import__('os')=1", "2 3=6", "*=*", "((((((((1=1", "1e3=1000", "10/4=3.5", "2+2=22/10",
        ],
    )  # fmt: skip
    def test_wrong(self, text: str) -> None:
        assert not parse_annotation(text).right

    def test_an_empty_annotation_is_nothing(self) -> None:
        assert read("<<>> and << >>\n#### 1").calculations == ()

    @pytest.mark.parametrize(
        ("line", "texts"),
        [
            ("So 2 + 6 + 3 = 11 pails.", ["2+6+3=11"]),
            ("She makes 9 * $2 = $18 every day.", ["9*2=18"]),
            ("3 boxes * 4 pens per box = 12 pens", ["3*4=12"]),
            ("**2 + 3 = 5**", ["2+3=5"]),
            ("- 2 + 3 = 5", ["2+3=5"]),
            ("1. 2 + 3 = 5", ["2+3=5"]),
            ("Step 1: 2 + 3 = 5", ["2+3=5"]),
            ("\\( 2 \\times 3 = 6 \\)", ["2*3=6"]),
            ("10 / 4 = 2.5 and 2.5 + 1 = 3.5.", ["10/4=2.5", "2.5+1=3.5"]),
            ("2 * 9 = 9 + 9 = 18", ["2*9=9+9", "9+9=18"]),
            ("3 / 2 = 1.5 + 3 = 4.5", ["3/2=1.5", "1.5+3=4.5"]),
            ("12 : 3 = 4", ["12/3=4"]),
            ("(2 + 3) * 4 = 20", ["(2+3)*4=20"]),
            ("20% * 50 = 10", ["20%*50=10"]),
            ("12 * 1 = 12 inches = 1 foot", ["12*1=12"]),
            ("共１２×８＝９６个", ["12*8=96"]),
            ("Total = 5", []),
            ("2x + 8 = 22", []),
            ("x + 2x + 4x = 700", []),
            ("half of 10 + 3 = 8", []),
            ("11:00 - 8:00 = 3 hours", []),
            ("30* = 90", []),
            ("5 = 5", []),
            ("no equation", []),
        ],
    )
    def test_a_plain_equation_counts_in_a_step_without_annotation(self, line: str, texts: list[str]) -> None:
        assert [calculation.text for calculation in read(f"{line}\n#### 1").calculations] == texts

    @pytest.mark.parametrize(
        ("line", "texts"),
        [
            ("2 + 2 = 5 so <<2+2=4>>4", ["2+2=4", "2+2=5"]),
            ("There are 2 * 8 = 19 lamps. So 4 + 16 = <<4+16=20>>20", ["2*8=19", "4+16=20"]),
            ("two dozen * 12 = <<2*12=24>>24, and 24 - 4 = 20", ["2*12=24", "24-4=20"]),
            ("4 + 16 = <<4+16=20>>21", ["4+16=20", "4+16=21"]),
            ("He pays 5 * $3 = $<<5*3=15>>15 and $20 - $15 = $4", ["5*3=15", "20-15=4"]),
            ("3 + <<2*2=4>>4 = 7", ["2*2=4", "3+4=7"]),
        ],
    )
    def test_an_annotation_is_one_calculation_among_others(self, line: str, texts: list[str]) -> None:
        assert [c.text for c in read(f"{line}\n#### 4").calculations] == texts

    def test_identical_calculations_count_once(self) -> None:
        chain = read("<<2+2=5>>\n<<2 + 2=5>>\n<<1+1=2>>\n#### 2")
        assert cot.measure_accuracy(chain) == 0.5
        assert chain.step_numbers == (1, 3)


class TestOrigins:
    """Where operands come from: the coherence in L4."""

    def coherent(self, question: str, lines: str) -> list[bool]:
        chain = read(lines + "\n#### 1")
        return [support.coherent for support in cot.trace_operands(chain, list_given_numbers(question))]

    def test_question_and_results_are_known(self) -> None:
        assert self.coherent("two cows and 3 goats", "<<2+3=5>>\n<<5*2=10>>\n<<10-5=5>>") == [True, True, True]

    def test_a_number_from_nowhere_taints_what_is_built_on_it(self) -> None:
        assert self.coherent("2 cows", "<<2*7=14>>\n<<14+2=16>>\n<<2+2=4>>") == [False, False, True]

    def test_restating_a_number_from_nowhere_does_not_make_it_known(self) -> None:
        assert self.coherent("2 cows", "<<7=7>>\n<<2*7=14>>") == [False, False]
        assert self.coherent("20 cows", "<<200/10=20>>\n<<200/10=20>>\n<<200+20=220>>") == [False, False]

    def test_a_wrong_result_that_is_shown_is_known_afterwards(self) -> None:
        assert self.coherent("2 and 3", "<<2+3=6>>\n<<6*2=12>>") == [True, True]

    def test_a_result_is_unknown_before_it_is_calculated(self) -> None:
        assert self.coherent("2 and 3", "<<5*2=10>>\n<<2+3=5>>") == [False, True]

    def test_words_give_numbers(self) -> None:
        assert (
            self.coherent("twice as many, a third, 20% off", "<<2*3=6>>\n<<6*1/3=2>>\n<<6*20/100=1.2>>")
            == [True] * 3
        )
        assert self.coherent("вдвое больше, двадцать пять", "<<25*2=50>>") == [True]
        assert self.coherent("一百二十个，一半", "<<120/2=60>>") == [True]


class TestComposite:
    """The weighted sum."""

    def test_levels_that_do_not_apply_leave_the_weights(self) -> None:
        """MGSM has no reasoning: L1 alone counts, right or wrong."""
        right, wrong = score(RESPONSE, "#### 77"), score(RESPONSE, "#### 78")
        assert (right.value, wrong.value) == (1.0, 0.0)
        assert {name: right.parts[name] for name in ("l2", "l3", "l4")} == {"l2": None, "l3": None, "l4": None}
        assert score("no idea", "#### 77").status == "no_answer"

    def test_no_calculations_where_the_reference_has_some_is_zero(self) -> None:
        assert score("Surely\n#### 77").parts["l4"] == 0.0

    def test_no_calculations_on_either_side_is_not_applicable(self) -> None:
        result = score("Surely\n#### 77", "Clearly\n#### 77")
        assert result.parts["l4"] is None
        assert result.value == pytest.approx(1.0 - 0.2 * 0.0)

    def test_weights_are_options(self) -> None:
        weights = {"l1": 0.0, "l2": 0.0, "l3": 0.0, "l4": 1.0}
        assert score(RESPONSE, weights=weights).value == pytest.approx(0.75 + 0.25 * 4 / 6)
        assert score(RESPONSE, "#### 77", weights=weights).status == "not_applicable"

    def test_right_answer_with_invalid_chain(self) -> None:
        cell = "right_answer_invalid_chain"
        broken = RESPONSE.replace("2+6+3=11>>11", "2+6+3=12>>12")
        assert score(RESPONSE).parts[cell] == 0.0
        assert score(broken).parts[cell] == 1.0
        assert score(broken).details["first_wrong_step"] == 4
        assert score(broken).reason == "right answer, invalid chain; slip in a calculation"
        assert score(broken.replace("#### 77", "#### 78")).parts[cell] == 0.0


PROBLEMS = [*word_problems.sample()]
MUTANTS = ("wrong result", "swapped operand", "dropped step", "duplicated step", "invented number")


def mutate(kind: str, lines: list[str], at: int, number: int) -> list[str]:
    """Return a correct chain's lines (without the answer's) with one mistake in it."""
    before, rest = lines[at].split("<<")
    inside, after = rest.split(">>")
    left, result = inside.split("=")
    operators = [c for c in left if c in "+-*/"]
    operands = left.replace("-", "+").replace("*", "+").replace("/", "+").split("+")
    changed = list(lines)
    if kind == "wrong result":
        changed[at] = f"{before}<<{left}={int(result) + number}>>{after}"
    elif kind == "swapped operand":  # the first operand of another line
        other = lines[at - 1].split("<<")[1].split("=")[0]
        operands[0] = "".join(c if c.isdigit() else " " for c in other).split()[-1] + "77"
        joined = operands[0] + "".join(o + n for o, n in zip(operators, operands[1:], strict=True))
        changed[at] = f"{before}<<{joined}={result}>>{after}"
    elif kind == "dropped step":
        del changed[at]
    elif kind == "duplicated step":
        changed.insert(at, lines[at])
    else:
        changed.insert(at, f"And then <<{number + 90_001}+{number + 80_001}={2 * number + 170_002}>>.")
    return changed


@given(st.sampled_from(PROBLEMS), st.sampled_from(MUTANTS), st.integers(0, 9), st.integers(1, 999))
@settings(max_examples=200)
def test_a_mutant_lowers_the_level_that_should_notice(
    problem: Mapping[str, str], kind: str, place: int, number: int
) -> None:
    *lines, answer = problem["answer"].split("\n")
    at = place % len(lines)

    def judge(chain: list[str]) -> Score:
        return score("\n".join([*chain, answer]), problem["answer"], problem["question"])

    clean, mutant = judge(lines), judge(mutate(kind, lines, at, number))
    assert clean.value == 1.0
    assert part(mutant, "l1") == 1.0
    lowered = {name for name in ("l2", "l3", "accuracy", "coherence") if part(mutant, name) < 1}
    # A changed or missing number shows in L3 and may leave a later operand without origin; line counts in L2.
    must, may = {
        "wrong result": ({"accuracy"}, {"l3", "coherence"}),
        "swapped operand": ({"accuracy", "coherence"}, {"l3"}),
        "dropped step": (set(), {"l2", "l3", "coherence"}),
        "duplicated step": (set(), {"l2"}),
        "invented number": ({"coherence", "l3"}, {"l2"}),
    }[kind]
    assert must <= lowered <= must | may
    if kind == "dropped step":
        assert lowered
    if kind == "wrong result":
        assert mutant.details["first_wrong_step"] == at + 1
        assert mutant.reason == "right answer, invalid chain; slip in a calculation"
    if kind == "invented number":
        assert {entry["step"] for entry in mutant.details["unsupported"]} >= {at + 1}
    assert mutant.value is not None
    assert mutant.value <= 1.0


def test_known_constants_are_exact_decimals() -> None:
    result = score("<<0.1*2=0.2>>\n#### 1", known_constants=(0.1,))
    assert result.details["calculations"][0]["coherent"]
    assert options_of(cot.cot, {})["known_constants"] == ()


def test_a_cut_reply_is_never_right_by_its_last_number() -> None:
    sample = {"question": QUESTION, "reference": REFERENCE, "response": REFERENCE.rsplit("\n####", 1)[0]}
    options = options_of(cot.cot, {})
    assert cot.cot.score(sample, {}, options).parts["l1"] == 1.0
    cut = cot.cot.score({**sample, "response_cut": True}, {}, options)
    assert (cut.parts["l1"], cut.status) == (0.0, "no_answer")
    said = cot.cot.score({**sample, "response": f"{REFERENCE}\nTo check,", "response_cut": True}, {}, options)
    assert said.parts["l1"] == 1.0
