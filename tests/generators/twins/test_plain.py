"""References in plain equations: the twins of annotated ones or none, and those that a reader solved afresh."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from data.draw import source
from generators.twins.base import Refused, Renewed
from generators.twins.numbers import renew
from metrics.cot.chain import annotate
from tests.helpers.gsm8k_twins import renewed, renewed_plain
from tests.helpers.twin_replay import stated, value

READ_OTHERWISE = {119, 515, 988}
"""Rows whose originals' references read the question otherwise too: 35 % taken off where it was added; $4 a bag,
not a pack; shoes counted in pairs."""


def test_a_plain_reference_gives_the_twin_of_the_annotated_one_or_none(shared: Path) -> None:
    path = shared / "gsm8k_test.parquet"
    found = Counter[str]()
    for (_, _, twin), (_, _, plain) in zip(renewed(path), renewed_plain(path), strict=True):
        if isinstance(twin, Renewed) and isinstance(plain, Renewed):
            assert (plain.answer, plain.facts["question"]) == (twin.answer, twin.facts["question"])
            assert "<<" not in plain.facts["reference"]
        found[f"{isinstance(twin, Renewed)} {isinstance(plain, Renewed)}"] += 1
    assert found["True False"] <= 2, "465 of 467 are read without their annotations"
    assert found["True True"] + found["False True"] >= 0.39 * found.total()


def test_what_a_reader_solved_afresh_has_the_same_answer(shared: Path) -> None:
    """All that plain equations and few changed numbers add, read as questions alone before seeing our answers."""
    path = shared / "gsm8k_test.parquet"
    lines = (Path(__file__).parent / "solved.jsonl").read_text(encoding="utf-8").splitlines()
    other = set()
    for one in map(json.loads, lines):
        _, _, twin = (renewed_plain if one["plain"] else renewed)(path)[one["row"]]
        assert isinstance(twin, Renewed)
        assert [float(number) for number in stated(twin.facts["question"])[0]] == one["numbers"], "the solved one"
        if value(twin.answer) != one["answer"]:
            other.add(one["row"])
    assert other == READ_OTHERWISE


QUESTION = "A shop sells 8 boxes of 24 pens and then 50 loose pens. How many pens does it sell?"
ROWS = {
    "equations": "Boxes hold 8 × 24 = 192 pens.\nAll are 192 pens + 50 pens = 242 pens.",
    "in one line": "8 * 24 = 192, and 192 + 50 = 242.",
    "with a last line": "8 boxes * 24 = 192 pens\n192 + 50 = 242\n#### 242",
}


@pytest.mark.parametrize("form", ROWS)
def test_own_rows_need_equations_and_an_answer(form: str) -> None:
    twin = renew(QUESTION, ROWS[form], "en", source(1), answer="242", annotated=annotate(ROWS[form]))
    boxes, each, loose = stated(twin.facts["question"])[0]
    assert value(twin.answer) == boxes * each + loose
    assert {boxes, each, loose}.isdisjoint({8, 24, 50})
    assert stated(twin.facts["reference"])[0][-1] == value(twin.answer)


REFUSED = {
    "an equation that is not read": (ROWS["equations"] + "\nx + 8 = 250", "without annotation"),
    "one beside annotations": ("8*24 = 192\n192+50=<<192+50=242>>242", "without annotation"),
    "one in words": ("Half of 16 + 184 = 192\n192 + 50 = 242", "without annotation"),
    "a wrong one": ("8 * 24 = 190\n190 + 52 = 242", "without annotation|without a source"),
    "a result that goes on": ("8 * 24 = 96 * 2 = 192\n192 + 50 = 242", "without annotation"),
    "none": ("It is 242.", "without annotations"),
    "a quantity that is left out": ("8 * 24 = 192", "does not use"),
    "an answer that is not the last result": (ROWS["equations"] + "\n242 - 50 = 192", "last calculation"),
    "a number from nowhere": ("8 * 24 + 50 + 3 - 3 = 242", "without a source"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_plain_equation_outside_of_what_is_traced_is_refused(case: str) -> None:
    reference, reason = REFUSED[case]
    with pytest.raises(Refused, match=reason):
        renew(QUESTION, reference, "en", source(1), answer="242", annotated=annotate(reference))


def test_annotations_are_written_beside_what_stands_there() -> None:
    draw, signs = source("hostile"), "0123456789+-*/=≈＝().,%$ x×÷—a<>#\n\\^√"
    texts = ["".join(draw.choices(signs, k=60)).replace("<<", "<") for _ in range(1000)]
    for text in [*texts, *ROWS.values(), "1+1=2 " * 2000, "(1+" * 900]:
        assert re.sub(r"<<[^<>]*>>", "", annotate(text)) == text
    assert annotate(ROWS["equations"]).count("<<") == 2
    assert annotate("40 * 25% = 10") == "40 * 25% = <<40*25*0.01=10>>10"
