"""The verdict's reasons in the reader's language."""

import re

import polars as pl
import pytest

from basic_control.metrics.analysis.failures import FailureCount, describe_all_failed, describe_lost
from basic_control.metrics.analysis.summary import summarise
from basic_control.metrics.stats.intervals import Interval
from basic_control.prompts.phrases import translate_reason
from basic_control.tasks.findings import UNSETTLED
from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.words import explain_outcome, money
from tests.helpers.suites import declared, headline
from tests.helpers.tables import four
from tests.helpers.verdicts import finalise

LATIN = re.compile("[a-z]{3,}")
NAMES = re.compile(
    "--only-failed|basic_control|citation|factual_correctness|response_groundedness|cot|rag|UNCERTAIN|one|two"
)


def row(item: str, metric: str, status: str, suite: str, family: str = "") -> dict[str, object]:
    """Return a score that is 1 where there is one."""
    return {"item_id": item, "suite": suite, "family": family, "metric": metric, "status": status}


def reasons(
    *rows: dict[str, object], suite: str, models: tuple[str, ...] = ("m",), threshold: float = 0.8
) -> set[str]:
    """Return the reasons of a suite's verdict, and of the whole."""
    table = pl.DataFrame(rows)
    items = table.select("item_id", "suite", "family", level=pl.lit(""), language=pl.lit(""), template=pl.lit(""))
    value = pl.when(pl.col("status") == "scored").then(1.0)
    scores = table.select(
        "item_id", "metric", "status", model=pl.lit("m"), repeat=pl.lit(0), value=value, reason=pl.lit("")
    )
    final = finalise(
        summarise(scores, items.unique("item_id")),
        models=models,
        suites=declared(suite, thresholds={suite: threshold}),
    )
    parts = (part for model in final.models for part in (model.overall, *model.headlines))
    return {part.decided.reason for part in parts if part.decided.reason}


FAILED = [
    FailureCount("model_error", "timeout", 3),
    FailureCount("model_error", "memory", 1),
    FailureCount("judge_failed", "off", 2),
]


def every() -> set[str]:
    """Provoke each reason that a verdict can have."""
    right = [row(str(n), "cot", "scored", "cot") for n in range(19)]
    failed = [row(str(n), "cot", "model_error" if n else "scored", "cot") for n in range(4)]
    flagged = finalise(four(), models=["m"], suites=declared("cot", "citation"), undecided={"citation": UNSETTLED})
    unscored = finalise(four(None), models=["m"], suites=declared("cot", "rag"))
    return {
        *reasons(row("1", "cot", "model_error", "cot"), suite="cot"),
        *reasons(row("1", "cot", "scored", "cot"), suite="cot", models=("m", "other")),
        *reasons(*failed, suite="cot"),
        *reasons(
            row("1", "correct", "scored", "basic_control", "one"),
            row("2", "correct", "model_error", "basic_control", "two"),
            suite="basic_control",
        ),
        *reasons(
            row("1", "factual_correctness", "judge_failed", "rag"),
            row("1", "response_groundedness", "scored", "rag"),
            suite="rag",
        ),
        *(model.overall.decided.reason for model in (*flagged.models, *unscored.models)),
        *(
            model.overall.decided.reason
            for model in finalise(four(None), models=["m"], suites=declared("cot", "rag")).models
        ),
        *reasons(*right, row("19", "cot", "model_error", "cot"), suite="cot", threshold=0.96),
        *(describe_lost(one) for one in (FAILED[:1], FAILED[:2], FAILED)),
        describe_all_failed(FAILED[:2]),
        UNSETTLED,
    }


def test_every_reason_has_its_russian() -> None:
    found = every()
    assert len(found) == 13, found
    for text in found:
        russian = translate_reason(text, "ru")
        assert not LATIN.search(NAMES.sub("", russian)), russian
        assert NAMES.findall(russian) == NAMES.findall(text) or "UNCERTAIN" in text
        assert translate_reason(text, "en") == text
    assert translate_reason("no such reason", "ru") == "no such reason"


@pytest.mark.parametrize(("language", "said"), [("en", "about 40 would do"), ("ru", "хватило бы около 40")])
def test_what_is_undecided_says_how_many_answers_would_decide(language: str, said: str) -> None:
    around = Interval(0.5, 0.9)
    with use_language(language):
        assert said in explain_outcome(headline("s", 0.7, around, outcome="undecided", n_deciding=40))
        assert explain_outcome(headline("s", 0.7, around, outcome="pass", n_deciding=40)) == ""
        assert explain_outcome(headline("s", 0.7, outcome="undecided")) == ""


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "too close to the threshold to tell"), ("ru", "слишком близко к порогу, чтобы решить")],
)
def test_what_ten_times_as_many_answers_would_not_decide_is_too_close(language: str, said: str) -> None:
    with use_language(language):
        assert explain_outcome(headline("s", 0.7, Interval(0.5, 0.9), outcome="undecided")) == said


def test_a_small_sum_is_not_written_as_nothing() -> None:
    values = (0, 0.0000361, 0.00098, 0.0123, 0.5, 12.345)
    written = [money(value, "USD").partition(" ")[0] for value in values]
    assert written == ["0.00", "0.000036", "0.00098", "0.0123", "0.5000", "12.35"]
