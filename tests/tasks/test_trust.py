"""What a judge was measured at stands over how large it is; without a measurement a small judge is not believed."""

from dataclasses import replace

import pytest

from config.settings import Settings
from data.suites import Suite
from metrics.corrected import NO_PASSPORT, CorrectedMean
from metrics.passports import Share
from metrics.stats.calibration import TOO_WEAK, Rate, informedness_limits
from metrics.stats.intervals import Interval
from prompts.phrases import translated
from tasks.judges.trust import TOO_SMALL, distrusted

SMALL, LARGE = "tiny:0.5b", "large:70b"


def settings(*judges: str) -> Settings:
    given = {
        "models": (),
        "judges": [{"name": name, "provider": "ollama"} for name in judges],
        "suites": ("rag",),
        "rag": {"factual_correctness": {"enabled": False}, "data": "sample"},
    }
    return Settings.model_validate(given)


def row(judge: str, yes: tuple[int, int], no: tuple[int, int], reason: str = "") -> CorrectedMean:
    """Return a judged mean whose judge the exam found to have this sensitivity and specificity."""
    n = yes[1] + no[1]
    value = None if reason else 0.5
    found = CorrectedMean(
        "rag", "m", "response_groundedness", judge, "en", 9, 9, 0.6, Interval(), value, Interval(), 0.0, n, reason
    )
    return replace(found, sensitivity=Share.of(*yes), specificity=Share.of(*no)) if n else found


def why(rows: list[CorrectedMean], *judges: str) -> str:
    given = settings(*judges)
    (suite,) = given.suites
    assert isinstance(suite, Suite)
    return distrusted(given, suite, rows)


def test_without_a_passport_size_decides() -> None:
    none = row(SMALL, (0, 0), (0, 0), NO_PASSPORT)
    assert why([none], SMALL) == TOO_SMALL.format(judges=SMALL)
    assert why([replace(none, judge=LARGE)], LARGE) == ""


@pytest.mark.parametrize("judge", [SMALL, LARGE])
def test_a_judge_that_is_measured_to_be_none_is_not_believed_whatever_its_size(judge: str) -> None:
    """Wilson's interval of 0 of 4 ends at 3.84 / 7.84 = 49 %, that of 2 of 2 begins at 2 / 5.84 = 34 %."""
    said = why([row(judge, (2, 2), (0, 4), TOO_WEAK)], judge)
    assert said == (
        f"this judge cannot measure this: {judge}: response_groundedness (en), "
        "sensitivity 2/2 = 100% (34.2% – 100%), specificity 0/4 = 0% (0% – 49%)"
    )
    assert translated(said, "ru") == (
        f"этот судья не может этого измерить: {judge}: response_groundedness (en), "
        "чувствительность 2/2 = 100% (34.2% – 100%), специфичность 0/4 = 0% (0% – 49%)"
    )


def test_a_small_judge_that_is_shown_to_measure_is_believed() -> None:
    assert why([row(SMALL, (19, 20), (38, 40))], SMALL) == ""


def test_a_few_right_answers_do_not_show_that_a_small_judge_measures() -> None:
    """2 of 2 and 4 of 4: each might be 34 % and 51 %, so both together no better than chance."""
    said = why([row(SMALL, (2, 2), (4, 4))], SMALL)
    assert said.startswith(f"{SMALL} is too small to judge, and its exam does not show that it can: {SMALL}: ")
    assert "sensitivity 2/2" in said
    assert "мал" in translated(said, "ru")


def test_one_judge_that_measures_is_enough() -> None:
    rows = [row(SMALL, (2, 2), (0, 4), TOO_WEAK), row(LARGE, (0, 0), (0, 0), NO_PASSPORT)]
    assert why(rows, SMALL, LARGE) == ""


def test_where_the_best_label_is_told_from_the_others_but_not_these_from_each_other_it_says_so() -> None:
    said = why([row(LARGE, (20, 20), (40, 40), TOO_WEAK)], LARGE)
    assert said.endswith(", but it does not tell the other labels apart")
    assert translated(said, "ru").endswith("прочие метки он не различает")


def test_informedness_has_an_interval_by_hand() -> None:
    """Sensitivity 0.9 [0.826, 0.945], specificity 0.8 [0.711, 0.867], each of 100 (Wilson)."""
    found = informedness_limits(Rate(90, 100), Rate(80, 100))
    assert found.low == pytest.approx(0.7 - (0.0744**2 + 0.0888**2) ** 0.5, abs=2e-3)
    assert found.high == pytest.approx(0.7 + (0.0448**2 + 0.0666**2) ** 0.5, abs=2e-3)
    assert informedness_limits(Rate(0, 0), Rate(1, 1)).low is None
