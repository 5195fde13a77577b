"""A run says what the exam found of its judges: how often they were right, who is weak, what was unreadable."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from basic_control.metrics.analysis.judged import JudgeStatus
from basic_control.metrics.analysis.passports import ExamResult, Passport, passports
from basic_control.metrics.stats.intervals import Share
from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.passports import panel, tables_of
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.words import headlines_of

YES, NO = "SUPPORTED", "NEUTRAL"


def examine(right_yes: int, right_no: int, n: int = 30, *, n_unread: int = 0, exam: str = "entails") -> Passport:
    """Return a passport of a judge: so many right of `n` questions of either truth, others unread."""
    pairs = [[YES, YES]] * right_yes + [[YES, NO]] * (n - right_yes)
    pairs += [[NO, NO]] * right_no + [[NO, YES]] * (n - right_no)
    results = [ExamResult("gpt", exam, "en", str(k), "scored", {"pairs": [pair]}) for k, pair in enumerate(pairs)]
    results += [ExamResult("gpt", exam, "en", f"u{k}", "judge_failed", {}) for k in range(n_unread)]
    (passport,) = passports(results)
    return passport


def list_lines(data: ReportData, statuses: Sequence[JudgeStatus]) -> list[str]:
    """Return a screen's lines on judges, of a run whose judges have these statuses."""
    judged = replace(data.results.judged, statuses=statuses, self_judged={})
    agreement = {}
    for name, metric in judged.agreement.items():
        first, *_ = metric.judges
        agreement[name] = replace(metric, judges=(replace(first, judge="gpt"),))
    return [*panel(headlines_of(data.verdict.models), replace(judged, agreement=agreement))]


def build_status(passport: Passport) -> JudgeStatus:
    """Return a status by a passport, of any suite."""
    return JudgeStatus(
        "rag", "factual_correctness", passport.exam, "gpt", "en",
        measured=True, counts=passport.counts, right=passport.right, kappa=passport.kappa,
    )  # fmt: skip


def test_of_a_judge_that_counts_the_screen_says_how_often_it_was_right(data: ReportData) -> None:
    good, weak = build_status(examine(28, 29)), build_status(examine(15, 26))
    assert list_lines(data, [good])[0].endswith("(70 ratings, right on 95% of questions with known answers)")
    (line, *_) = list_lines(data, [good, weak])
    worst = "right on 68.3% of questions with known answers, hardly better than chance at entails (en))"
    assert line.endswith(worst), "the step at which it was least often right"
    # A step at which it is right more often may be the weak one: there, hardly any reply is wrong.
    uneven = replace(good, exam="useful", kappa=0.1)
    (line, *_) = list_lines(data, [replace(weak, kappa=0.5), uneven])
    assert line.endswith(worst.replace("entails", "useful"))
    # Of no question nobody was right.
    assert "known answers" not in list_lines(data, [replace(good, right=Share.of(0, 0))])[0]
    # Of a judge that was not examined, or does not count, nothing of the kind is said.
    unexamined = JudgeStatus("rag", "factual_correctness", "entails", "gpt", "en")
    assert "exam" not in list_lines(data, [unexamined, replace(weak, counts=False)])[0]
    with use_language("ru"):
        assert "немногим лучше случая" in list_lines(data, [weak])[0]


@pytest.mark.parametrize(
    ("passport", "verdict"),
    [
        (examine(28, 29), "usable"),
        (examine(15, 26), "usable, but hardly better than chance"),
        (examine(0, 0, 0, n_unread=4), "none of its replies in the exam could be read"),
    ],
)
def test_the_exams_verdict_says_what_was_found(passport: Passport, verdict: str) -> None:
    (table,) = tables_of("gpt", [passport])
    assert table.rows[0][-1] == verdict


def test_unreadable_replies_are_the_cause_where_a_judge_is_left_out() -> None:
    unread = examine(0, 0, 0, n_unread=4)
    assert unread.explain_exclusion() == "none of its replies in the exam could be read: entails (en)"
    pairs = [ExamResult("gpt", "entails", "en", str(k), "scored", {"pairs": [[YES, YES]]}) for k in range(3)]
    partly = passports([*pairs, ExamResult("gpt", "entails", "en", "u", "judge_failed", {})])[0]
    assert partly.exclusion == "too few of its replies in the exam could be read"
    assert passports(pairs)[0].exclusion == "its exam had right replies only, or wrong ones only"


def test_what_the_rates_of_splits_are_is_said_where_there_are_splits() -> None:
    marks = {"facts": 3, "alone": 1, "joined": 2, "claims": 2, "extra": 0}
    details = {"pairs": [["alone", "alone"], ["alone", "joined"]], "marks": marks}
    (split,) = passports([ExamResult("gpt", "split", "en", "a", "scored", details)])
    (table,) = tables_of("gpt", [split])
    assert "Of `split`, right are facts that stand in a claim of their own" in table.caption
    (table,) = tables_of("gpt", [examine(28, 29)])
    assert table.caption == ""
