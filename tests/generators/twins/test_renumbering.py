"""Renewed numbers of word problems: right by a second replay, of their original's kind, refused in doubt.

At the end those whose references are plain equations: the twins of annotated ones or none, and those that a reader
solved afresh.
"""

import json
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from basic_control.data.draw import source
from basic_control.generators.twins.base import Refused, Renewed
from basic_control.generators.twins.renumbering import renew
from basic_control.metrics.cot.chain import annotate
from tests.helpers.gsm8k_twins import read_problems, renew_plain_row, renew_row
from tests.helpers.twin_replay import renaming, replay, stated, value

LEAST = 0.35
HALF = 0.88
"""The share of twins in which at least half of the numbers change; in the others, at least one."""
OFF = 0.06
"""How much smaller the shares may be among every eighth problem."""


@pytest.fixture(
    scope="module", params=[pytest.param(8, id="every eighth"), pytest.param(1, id="all", marks=pytest.mark.slow)]
)
def rows(request: pytest.FixtureRequest, shared: Path) -> range:
    """Return the rows of GSM8K that are renewed."""
    return range(0, len(read_problems(shared / "gsm8k_test.parquet")), request.param)


@pytest.fixture(scope="module")
def made(shared: Path, rows: range) -> list[tuple[str, str, Renewed]]:
    renewals = [renew_row(shared / "gsm8k_test.parquet", row) for row in rows]
    return [(question, solution, twin) for question, solution, twin in renewals if isinstance(twin, Renewed)]


def test_a_second_implementation_agrees_on_every_twin(made: list[tuple[str, str, Renewed]]) -> None:
    for question, solution, twin in made:
        assert replay(question, solution, twin.facts["question"]) == value(twin.answer), question


def test_every_calculation_of_a_twins_reference_is_right(made: list[tuple[str, str, Renewed]]) -> None:
    for _, _, twin in made:
        *lines, last = twin.facts["reference"].splitlines()
        assert last == f"#### {twin.answer}"
        for left, right in re.findall(r"<<(.*?)=(.*?)>>", "\n".join(lines)):
            assert eval(re.sub(r"(?<![\d.])0+(?=\d)", "", left)) == pytest.approx(float(right)), left  # noqa: S307 - our own


def test_no_twin_is_its_original_and_quantities_keep_their_kind(
    rows: range, made: list[tuple[str, str, Renewed]]
) -> None:
    half = 0
    for question, solution, twin in made:
        new = twin.facts["question"]
        assert new != question
        assert value(twin.answer) != value(solution.rpartition("####")[2].strip())
        changed = 0
        for old, other in renaming(question, new).items():
            assert (old.denominator == 1) == (other.denominator == 1)
            assert len(str(int(old))) == len(str(int(other)))
            assert (old < 1) == (other < 1)
            assert other >= 0
            changed += old != other
        half += 2 * changed >= len([one for one in renaming(question, new) if one not in {0, 1}])
        results = [Fraction(one) for one in re.findall(r"=([0-9.]+)>>", twin.facts["reference"])]
        before = [value(one) for one in re.findall(r"=([0-9.,]+)>>", solution)]
        assert [one.denominator == 1 for one in results] == [one.denominator == 1 for one in before]
        assert all(one >= 0 for one in results)
    assert half >= (HALF - OFF * (rows.step > 1)) * len(made)


def test_no_quantity_is_absurd(made: list[tuple[str, str, Renewed]]) -> None:
    """Unless the original's is: nothing then is larger than what it says."""
    most = {
        "(?:year-old|years? old)": 99, "days? (?:a|per|each|every) week": 7, "hours (?:a|per|each|every) day": 12,
        "hours?": 24, "minutes?": 60, "%": 99, "months?": 12, "(?:kids|children)": 6,
        "(?:mph|miles (?:per|an) hour)": 85,
    }  # fmt: skip
    for question, _, twin in made:
        for unit, limit in most.items():
            before, after = (
                [value(one) for one in re.findall(rf"([0-9][0-9,.]*)[ -]?{unit}(?!\w)", text)]
                for text in (question, twin.facts["question"])
            )
            assert all(new <= limit or new <= old for old, new in zip(before, after, strict=True)), (unit, question)


BOUNDED = {
    "a person's weight": (
        "Mark weighs 150 pounds and Susan weighs 20 pounds less. How many pounds do they weigh?",
        "Susan weighs 150-20=<<150-20=130>>130.\nIt is 150+130=<<150+130=280>>280.\n#### 280",
        "pounds and", 250, 280,
    ),
    "ages": (
        "Ann is 60 years old. Ben is 15 years older. How old is Ben?",
        "60+15=<<60+15=75>>75\n#### 75",
        "years old", 99, 99,
    ),
    "a runner's speed": (
        "Rosie runs 14 kilometers per hour for 20 minutes more than 35 minutes. How long is it? She ate 14 plums.",
        "20+35=<<20+35=55>>55\nand 14*55=<<14*55=770>>770 with 14+770=<<14+770=784>>784\n#### 784",
        "kilometers per hour", 16, 999,
    ),
    "hours of a day's work": (
        "Ann works 11 hours a day for 15 days and earns $20 an hour. How much is it?",
        "She works 11*15=<<11*15=165>>165 hours.\nShe earns 20*165=<<20*165=3300>>3300.\n#### 3300",
        "hours a day", 12, 9999,
    ),
    "people in a car": (
        "There are 20 cars with 3 people each and 25 bikes. How many people is this with one on each bike?",
        "20*3=<<20*3=60>>60\n60+25=<<60+25=85>>85\n#### 85",
        "people each", 6, 99,
    ),
    "an angle": (
        "The sun is 40 degrees above the horizon and climbs 12 degrees more. How high is it?",
        "40+12=<<40+12=52>>52\n#### 52",
        "degrees above", 90, 90,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", BOUNDED)
def test_what_people_can_weigh_and_do_bounds_a_twin(kind: str) -> None:
    question, steps, unit, most, highest = BOUNDED[kind]
    seen = set()
    for seed in range(40):
        twin = renew(question, steps, "en", source(seed))
        (said,) = re.findall(rf"([0-9]+) {unit}(?!\w)", twin.facts["question"])
        seen.add(int(said))
        assert int(said) <= most
        assert value(twin.answer) <= highest
    assert len(seen) > 1


def test_over_a_third_of_gsm8k_is_renewed_and_the_rest_is_counted(shared: Path, rows: range) -> None:
    assert rows.stop == 1319
    twins = [renew_row(shared / "gsm8k_test.parquet", row)[2] for row in rows]
    refused = Counter(twin for twin in twins if isinstance(twin, str))
    assert len(twins) - refused.total() >= (LEAST - OFF * (rows.step > 1)) * len(twins)
    assert {"an equation without annotation", "a number word that hides a quantity"} <= {*refused}


def test_a_twin_is_drawn_from_its_item_and_seed_alone(made: list[tuple[str, str, Renewed]]) -> None:
    question, solution, twin = made[3]
    assert renew(question, solution, "en", source("numbers", question, 0)) == twin
    others = {renew(question, solution, "en", source("numbers", question, seed)).answer for seed in range(1, 20)}
    assert len(others) > 1


BASIC = "A shop sells 8 boxes of 24 pens and then 50 loose pens. How many pens does it sell?"
STEPS = "Boxes hold 8*24=<<8*24=192>>192 pens.\nAll are 192+50=<<192+50=242>>242 pens.\n#### 242"


def test_a_plain_problem_is_renewed() -> None:
    twin = renew(BASIC, STEPS, "en", source(1))
    boxes, each, loose = stated(twin.facts["question"])[0]
    assert value(twin.answer) == boxes * each + loose
    assert {boxes, each, loose}.isdisjoint({8, 24, 50})


REFUSED = {
    "a quantity that is not used": (BASIC.replace("How", "It has 9 shelves. How"), STEPS, "does not use"),
    "an equation without annotation": (BASIC, STEPS.replace("<<192+50=242>>", ""), "without annotation"),
    "an annotation that calculates something else than its text": (
        "He has 12 pens and loses half of them, and buys 6 more. How many does he have?",
        "He loses 12/2=<<12-6=6>>6.\nSo 6+6=<<6+6=12>>12\n#### 12",
        "without annotation",
    ),
    "a number word": (BASIC.replace("8 boxes", "eight boxes"), STEPS, "number word"),
    "a literal without a source": (
        BASIC,
        STEPS.replace("192+50=<<192+50=242>>242", "192+50+3=<<192+50+3=245>>245").replace("#### 242", "#### 245"),
        "without a source",
    ),
    "a clock time": (BASIC.replace("A shop", "At 5:30 a shop"), STEPS, "date or a time"),
    "a year": (BASIC.replace("A shop", "In 1987 a shop"), STEPS, "date or a time"),
    "a date": (BASIC.replace("A shop", "On May 12 a shop"), STEPS, "date or a time"),
    "an answer that the question states as well": (
        BASIC.replace("50 loose", "50 loose pens, of 242 that it had,"),
        STEPS.replace("192+50=<<192+50=242>>242", "242-50=<<242-50=192>>192, 192+50=<<192+50=242>>242"),
        "the question states",
    ),
    "a deal for whole numbers": (BASIC.replace("How", "Buy 8, get more free. How"), STEPS, "deal"),
    "a second mention of a number that is used once": (
        BASIC.replace("How", "It has 8 shelves. How"),
        STEPS,
        "does not use",
    ),
    "ages of kin": (BASIC.replace("How", "His mother is older. How"), STEPS, "kin"),
    "a rounded result": (BASIC, STEPS.replace("192", "190").replace("242", "240"), "rounded"),
    "an answer that is not the last result": (BASIC, STEPS.replace("#### 242", "#### 192"), "last calculation"),
    "a division of two numbers that are equal by chance": (
        "He pays $3 for 2 bags of 3 pens. What is 1 pen?",
        "He pays 3*2=<<3*2=6>>6\n6/3/3*3=<<6/3/3*3=2>>2\n#### 2",
        "two sources",
    ),
    "a language without rules": (BASIC, STEPS, "language"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_could_make_a_twin_wrong_is_refused(case: str) -> None:
    question, solution, reason = REFUSED[case]
    with pytest.raises(Refused, match=reason):
        renew(question, solution, "zh" if "language" in case else "en", source(1))


def test_a_literal_with_two_sources_is_never_resolved_by_chance() -> None:
    """24 is what the question states, and what 3 times 8 comes to: the twin keeps both equal, or there is none."""
    question = "A shop has 3 rows of 8 pens and a box of 24 pens. It sells the box at $2 a pen. How much is that?"
    solution = "There are 3*8=<<3*8=24>>24 pens in rows.\nThe box brings 24*2=<<24*2=48>>48\n#### 48"
    for seed in range(20):
        try:
            twin = renew(question, solution, "en", source(seed))
        except Refused:
            continue
        rows, each, box, _ = stated(twin.facts["question"])[0]
        assert rows * each == box


def test_a_constant_of_the_language_stays() -> None:
    question = "A clerk works 6 hours on each of 35 days. How many minutes is that?"
    solution = "That is 6*35=<<6*35=210>>210 hours.\nIn minutes 210*60=<<210*60=12600>>12600\n#### 12600"
    for seed in range(5):
        twin = renew(question, solution, "en", source(seed))
        hours, days = stated(twin.facts["question"])[0]
        assert value(twin.answer) == hours * days * 60


def test_russian_nouns_still_agree() -> None:
    question = "В магазине 7 коробок по 25 ручек и ещё 36 ручек. Сколько всего ручек?"
    solution = "В коробках 7*25=<<7*25=175>>175.\nВсего 175+36=<<175+36=211>>211.\n#### 211"
    for seed in range(20):
        numbers = stated(renew(question, solution, "ru", source(seed)).facts["question"])[0]
        assert all(n % 10 in {0, 5, 6, 7, 8, 9} or n % 100 in range(11, 15) for n in numbers)


def test_hostile_texts_are_refused_and_nothing_is_evaluated() -> None:
    for left in ("(" * 300, "__import__('os')", "9**9**9", "1/0", "8*", "*8", "8 24", ")("):
        with pytest.raises(Refused):
            renew(BASIC, f"It is <<{left}=192>>192\n#### 192", "en", source(1))


READ_OTHERWISE = {119, 515, 988}
"""Rows whose originals' references read the question otherwise too: 35 % taken off where it was added; $4 a bag,
not a pack; shoes counted in pairs."""


@pytest.mark.slow
def test_a_plain_reference_gives_the_twin_of_the_annotated_one_or_none(shared: Path) -> None:
    path = shared / "gsm8k_test.parquet"
    found = Counter[str]()
    for row in range(len(read_problems(path))):
        (_, _, twin), (_, _, plain) = renew_row(path, row), renew_plain_row(path, row)
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
        _, _, twin = (renew_plain_row if one["plain"] else renew_row)(path, one["row"])
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


UNTRACED = {
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


@pytest.mark.parametrize("case", UNTRACED)
def test_a_plain_equation_outside_of_what_is_traced_is_refused(case: str) -> None:
    reference, reason = UNTRACED[case]
    with pytest.raises(Refused, match=reason):
        renew(QUESTION, reference, "en", source(1), answer="242", annotated=annotate(reference))


def test_annotations_are_written_beside_what_stands_there() -> None:
    draw, signs = source("hostile"), "0123456789+-*/=≈＝().,%$ x×÷—a<>#\n\\^√"
    texts = ["".join(draw.choices(signs, k=60)).replace("<<", "<") for _ in range(1000)]
    for text in [*texts, *ROWS.values(), "1+1=2 " * 2000, "(1+" * 900]:
        assert re.sub(r"<<[^<>]*>>", "", annotate(text)) == text
    assert annotate(ROWS["equations"]).count("<<") == 2
    assert annotate("40 * 25% = 10") == "40 * 25% = <<40*25*0.01=10>>10"
