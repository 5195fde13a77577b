"""What the terminal says of a run's verdict."""

from dataclasses import replace

import pytest

from metrics.analysis.verdict import ModelResult, RunVerdict, SuiteResult
from metrics.stats.intervals import Interval
from tasks.report import terminal
from tests.helpers.suites import shipped
from tests.tasks.report.runs import settings

COUNTS = dict.fromkeys(("asked", "cached", "answered", "failed"), 0)


def lines(language: str) -> list[str]:
    """Return what is said of a model that is undecided in a suite with a headline beside its score."""
    around = Interval(0.7, 0.9, "wilson", 40)
    name = shipped("cot").name
    suite = SuiteResult(
        name, 0.82, around, 1.0, n_asked=40, n_scored=40, threshold=0.8, outcome="undecided", n_deciding=1440
    )
    suite = replace(suite, beside={"cot.sound": 0.5})
    model = ModelResult("m", 0.82, (suite,), around, outcome="undecided", n_deciding=1440)
    given = settings(suites=[name], report={"language": language})
    return list(terminal.lines({"final": RunVerdict("interval", (model,)).as_dict(), "totals": {}}, COUNTS, given))


SAID = {
    "en": "  cot: 82%, threshold 80% – undecided: about 1440 scored answers would decide it if the mean and spread "
    "stay the same; cot.sound 50%",
    "ru": "  cot: 82%, порог 80% – не решено: решили бы около 1440 оценённых ответов при тех же среднем и "
    "разбросе; cot.sound 50%",
}


@pytest.mark.parametrize(("language", "worth"), [("en", "98.5 % of chains"), ("ru", "98.5 % цепочек")])
def test_what_is_undecided_says_how_many_answers_would_decide(language: str, worth: str) -> None:
    told = lines(language)
    assert SAID[language] in told
    assert told[told.index(SAID[language]) - 1] == "m:", "scores stand below the model that they are of"
    assert any(worth in line for line in told), "what the score is worth stands beside it"
