"""The first wrong step of a chain: its kind, its place, its sentence, and how often people name the same one."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.data.number_words import list_given_numbers
from basic_control.data.options import options_of
from basic_control.metrics.cot.chain import read
from basic_control.metrics.cot.cot import cot
from basic_control.metrics.cot.first_error import MOST, REASONS, find_first_error

QUESTION = (
    "A box holds 12 pens. Ann buys 4 boxes and gives 5 pens away. She sells the rest at $2 each. How much is that?"
)
REFERENCE = "Pens: 12 * 4 = <<12*4=48>>48\nLeft: 48 - 5 = <<48-5=43>>43\nMoney: 43 * 2 = $<<43*2=86>>86\n#### 86"


def score(response: str) -> Any:
    sample = {"question": QUESTION, "reference": REFERENCE, "response": response}
    return cot.score(sample, {}, options_of(cot, {}))


@pytest.mark.parametrize(
    ("response", "step", "kind", "said"),
    [
        ("12 * 4 = 49\n49 - 5 = 44\n44 * 2 = 88\n#### 88", 1, "slip", "step 1: 12 × 4 = 49, which should be 48"),
        (
            "12 * 4 = 48\n48 - 5 = 43\n43 * 5 = 215\n#### 215", 3, "operand",
            "step 3: 43 × 5 = 215, where the reference multiplies 43 by 2",
        ),
        (
            "12 + 4 = 16\n16 - 5 = 11\n11 * 2 = 22\n#### 22", 1, "operation",
            "step 1: 12 + 4 = 16, where the reference multiplies 12 by 4",
        ),
        (
            "12 * 4 = 48\n48 * 2 = 96\n#### 96", 2, "omission",
            "step 2: 48 × 2 = 96, where the reference multiplies 43 by 2",
        ),
        (
            "12 * 4 = 48\n48 - 9 = 39\n39 * 2 = 78\n#### 78", 2, "invented number",
            "step 2: 48 - 9 = 39, where the reference subtracts 5 from 48",
        ),
        (
            "12 * 4 = 48\n48 - 5 = 43\n#### 43", 3, "stopped early",
            "step 3: the answer, where the reference has 43 × 2 = 86 yet",
        ),
        (
            "12 * 4 = 48\n48 - 5 = 43\n43 * 2 = 86\n#### 43", 4, "misread final",
            "step 4: the answer is 43, though the chain has 43 × 2 = 86",
        ),
    ],
)  # fmt: skip
def test_kinds(response: str, step: int, kind: str, said: str) -> None:
    found = score(response)
    first = found.details["first_error"]
    assert (first["step"], first["kind"], first["said"]["en"]) == (step, kind, said)
    assert first["said"]["ru"].startswith(f"шаг {step}: ")
    assert found.reason.endswith(REASONS[kind])  # pyrefly: ignore[bad-index] # a kind, as text


def test_reports_count_typical_errors_by_these_kinds() -> None:
    shown = {one.name: one for one in cot.shown.distributions}["first_error"]
    assert set(shown.labels) == {"none", *REASONS}
    wrong = score("12 * 4 = 48\n48 - 5 = 43\n43 * 5 = 215\n#### 215")
    assert [*shown.of(wrong.details)] == ["operand"]
    assert wrong.reason == "wrong answer, valid chain; wrong operand"


@pytest.mark.parametrize(
    "response",
    [
        "12 * 4 - 5 = 43\n2 * 43 = 86\n#### 86",  # two steps in one, commuted
        "12 * 2 = 24\n4 * 24 = 96\n5 * 2 = 10\n96 - 10 = 86\n#### 86",  # another way
        "It is 86.\n#### 86",
    ],
)
def test_a_right_answer_without_a_slip_is_left_alone(response: str) -> None:
    assert score(response).details["first_error"] is None


def test_another_way_is_followed_to_where_it_goes_wrong() -> None:
    """12 - 5 is no value of the reference, but a way to none of its values either; 4 * 12 is, commuted."""
    assert score("4 * 12 = 48\n48 - 5 = 43\n43 + 2 = 45\n#### 45").details["first_error"]["step"] == 3


def test_an_endless_chain_ends() -> None:
    chain = read("\n".join(f"{n} + {n + 1} = {2 * n + 1}" for n in range(2000)) + "\n#### 1")
    assert len(chain.calculations) > MOST
    assert find_first_error(chain, read(REFERENCE), list_given_numbers(QUESTION), right=False) is not None


def test_people_name_the_same_step(shared: Path) -> None:
    """Of 170 solutions with a wrong step that people marked, ours is the same in 97 (57 %)."""
    same = 0
    for row in pl.read_parquet(shared / "mr_gsm8k_dev.parquet").to_dicts():
        reference = read(row["gold_solution"])
        chain = read("\n".join(step.replace("\n", " ") for step in row["steps"]), row["question"])
        answers = (chain.answer, reference.answer)
        right = None not in answers and answers[0].value == answers[1].value  # pyrefly: ignore[missing-attribute] # neither is None
        found = find_first_error(chain, reference, list_given_numbers(row["question"]), right=right)
        same += found is not None and str(found.step) == row["first_error_step"]
    assert same >= 0.55 * 170


def test_right_solutions_of_models_are_left_alone(shared: Path) -> None:
    """Of 615 right answers, six have a chain with a calculation that is wrong; each was read."""
    accused = right = 0
    for row in pl.read_ndjson(shared / "gsm8k_model_solutions_dev.jsonl").to_dicts():
        for one in row.values():
            if isinstance(one, dict):
                sample = {
                    "question": row["question"], "reference": row["ground_truth"], "response": one["solution"],
                }  # fmt: skip
                found = cot.score(sample, {}, options_of(cot, {}))
                right += bool(found.details["right"])
                accused += bool(found.details["right"] and found.details["first_error"])
    assert accused <= 6
    assert right > 600
