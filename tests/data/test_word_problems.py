"""The shipped word problems: what the script makes, solved exactly, in good Russian."""

import pytest

from basic_control.data.loaders.word_problems import SAMPLE, read_problems
from basic_control.data.options import options_of
from basic_control.metrics.cot.cot import cot
from tests.helpers.word_problems import DRAWS, agree, make, sample, written


def test_the_shipped_file_is_what_the_script_makes() -> None:
    assert SAMPLE.read_text("utf-8") == written()


def test_there_are_enough_and_none_twice() -> None:
    made = [*sample()]
    by_language = {language: sum(p["language"] == language for p in made) for language in ("en", "ru")}
    assert by_language["en"] >= 40
    assert by_language["ru"] >= 10
    assert len({p["template"] for p in made}) >= 10
    assert len({p["question"] for p in made}) == len({p["id"] for p in made}) == len(made)
    assert all("Basic Control" in p["made_by"] for p in made)


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("name", DRAWS)
def test_every_solution_is_right_and_uses_only_what_the_question_gives(name: str, language: str) -> None:
    for index in range(40):
        problem = make(name, language, index)
        facts = {"question": problem["question"], "reference": problem["answer"], "response": problem["answer"]}
        result = cot.score(facts, {}, options_of(cot, {}))
        assert result.value == 1.0, (problem, result.details)
        assert "{" not in problem["question"]
        assert float(result.details["answer"]) > 0


@pytest.mark.parametrize(
    ("number", "form"),
    [(1, "рубль"), (2, "рубля"), (5, "рублей"), (11, "рублей"), (12, "рублей"), (21, "рубль"), (104, "рубля"),
     (111, "рублей"), (1_000, "рублей")],
)  # fmt: skip
def test_russian_nouns_agree(number: int, form: str) -> None:
    assert agree(number, "рубль рубля рублей") == form


def test_english_nouns_agree() -> None:
    assert [agree(n, "egg eggs") for n in (1, 2, 21)] == ["egg", "eggs", "eggs"]


def test_the_loader_reads_the_sample() -> None:
    assert len(read_problems()) == len([*sample()])
    assert {item.language for item in read_problems(language="ru")} == {"ru"}
